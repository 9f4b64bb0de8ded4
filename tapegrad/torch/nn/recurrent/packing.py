"""Sequences of different lengths in one tensor: packed, or padded.

Knows how rows are sorted by length and time. Must not know recurrent layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._ops.create.data import tensor as _tensor
from tapegrad.torch._ops.declare import OPERATIONS, private
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Packed):
    """The elements of several sequences, in order of time: `pack_padded_sequence` makes it.

    data (Tensor): Of shape (elements, ...): first the first element of every sequence, longest
        sequence first.
    batch_sizes (Tensor): How many sequences reach each time, int64; without it `data` is a pair of
        both.
    sorted_indices (Tensor): The places that the sequences had; None where they were sorted.
    unsorted_indices (Tensor): The inverse permutation; computed unless given.
    AssertionError: For no `batch_sizes`, and no pair as `data`.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])]).data
    tensor([1, 4, 2, 3])
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> Any:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with_data(self, data: Tensor) -> PackedSequence:
        return type(self)(data, *tuple(self)[1:])

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences with `data.to(...)`; itself where that changes nothing.

        *args: What `to` is called with.
        **kwargs: What `to` is called with, by name.
        """
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with_data(data)

    def cpu(self) -> PackedSequence:
        """The same sequences, as the CPU is the only device.

        -> PackedSequence: Itself.
        """
        return self

    @property
    def is_cuda(self) -> bool:
        """Whether another device has it: False."""
        return False

    def is_pinned(self) -> bool:
        """Whether its memory is pinned: False.

        -> bool: False.
        """
        return False

    def pin_memory(self) -> PackedSequence:
        """The same sequences, as memory is not pinned.

        -> PackedSequence: Itself.
        """
        return self

    def double(self) -> PackedSequence:
        """The same sequences with data of float64."""
        return self._with_data(self.data.double())

    def float(self) -> PackedSequence:
        """The same sequences with data of float32."""
        return self._with_data(self.data.float())

    def half(self) -> PackedSequence:
        """The same sequences with data of float16."""
        return self._with_data(self.data.half())

    def long(self) -> PackedSequence:
        """The same sequences with data of int64."""
        return self._with_data(self.data.long())

    def int(self) -> PackedSequence:
        """The same sequences with data of int32."""
        return self._with_data(self.data.int())


def invert_permutation(permutation: Tensor | None) -> Any:
    """The permutation that undoes one.

    permutation (Tensor or None): The permutation.
    -> Tensor or None: Its inverse; None for None.

    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else of_value(np.argsort(plain_of(permutation)))


def _lengths_of(lengths: Any) -> Value:
    found = plain_of(lengths) if isinstance(lengths, Tensor) else np.asarray(lengths)
    return found.astype(np.int64)


@private("PackPaddedSequenceBackward0")
def _pack(input: Value, steps: Value, examples: Value, batch_first: bool) -> Value:
    whole = np.swapaxes(input, 0, 1) if batch_first else input
    return whole[steps, examples]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Padded sequences as a PackedSequence.

    input: Of shape (time, batch, ...).
    RuntimeError: For lengths that do not fit, that are 0, or that grow with `enforce_sorted`.

    >>> padded = torch.tensor([[1, 2, 3], [4, 0, 0]])
    >>> torch.nn.utils.rnn.pack_padded_sequence(padded, [3, 1], batch_first=True).data
    tensor([1, 4, 2, 3])
    """
    counts = _lengths_of(lengths)
    order = None
    if not enforce_sorted:
        order = np.argsort(-counts, kind="stable")
        counts = counts[order]
    batch = input.shape[0 if batch_first else 1]
    if len(counts) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={batch})"
        )
    if np.any(counts <= 0):
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if np.any(np.diff(counts) > 0):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    room = input.shape[1 if batch_first else 0]
    if counts[0] > room:
        raise RuntimeError(
            f"Expected `lengths` to be at most the length of the input, but got {counts[0]} for "
            f"an input of length {room}"
        )
    sizes, steps, examples = _places(counts)
    if order is not None:
        examples = order[examples]
    data = _pack(input, steps, examples, batch_first)
    sorted_indices = None if order is None else of_value(order)
    return PackedSequence(data, of_value(sizes), sorted_indices)


def _places(counts: Value) -> tuple[Value, Value, Value]:
    """The sizes of the steps; and of each row, its step and its example."""
    taken = np.arange(counts[0])[:, None] < counts
    steps, examples = np.nonzero(taken)
    return np.sum(taken, 1), steps, examples


@private("PadPackedSequenceBackward0")
def _pad(data: Value, rows: Value, empty: Value, padding_value: float, batch_first: bool) -> Value:
    padded = data[rows]
    shape = empty.shape + (1,) * (len(data.shape) - 1)
    padded = np.where(np.reshape(empty, shape), np.asarray(padding_value, data.dtype), padded)
    return np.swapaxes(padded, 0, 1) if batch_first else padded


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Any, Any]:
    """A PackedSequence as a padded tensor, and the lengths.

    sequence: The sequences.
    padding_value: What stands after the end of a sequence.
    total_length: The time, at least that of the longest; that unless given.
    -> tuple of Tensor: The padded tensor, (time, batch, ...), and the lengths, int64.
    ValueError: For a shorter `total_length`.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([4])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [4, 0]]), tensor([2, 1]))
    """
    sizes = plain_of(sequence.batch_sizes)
    longest = len(sizes)
    room = longest if total_length is None else total_length
    if room < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    taken = sizes[:, None] > np.arange(sizes[0])
    rows = np.where(taken, (np.cumsum(sizes) - sizes)[:, None] + np.arange(sizes[0]), 0)
    rows = np.concatenate([rows, np.zeros((room - longest, sizes[0]), rows.dtype)])
    empty = np.concatenate([~taken, np.ones((room - longest, sizes[0]), bool)])
    lengths = np.sum(taken, 0)
    if sequence.unsorted_indices is not None:
        back = plain_of(sequence.unsorted_indices)
        rows, empty, lengths = rows[:, back], empty[:, back], lengths[back]
    padded = _pad(sequence.data, rows, empty, padding_value, batch_first)
    return padded, of_value(lengths)


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of different lengths as one tensor.

    padding_value: What stands there.
    padding_side ({"right", "left"}): Whether the padding stands after or before a sequence.
    -> Tensor: Of shape (time, batch, ...).
    RuntimeError: For no sequences, for what is not iterable, and another side.

    >>> torch.nn.utils.rnn.pad_sequence([torch.ones(3), torch.ones(1)], batch_first=True)
    tensor([[1., 1., 1.],
            [1., 0., 0.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    parts: list[Any] = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    room = max(part.shape[0] for part in parts)
    whole = []
    for part in parts:
        missing = room - part.shape[0]
        if missing:
            space = part.new_full((missing, *part.shape[1:]), padding_value)
            both = [part, space] if padding_side == "right" else [space, part]
            part = OPERATIONS["cat"](both)
        whole.append(part)
    return OPERATIONS["stack"](whole, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded tensor, each with its own length.

    padded_sequences: Of shape (time, batch, ...).
    -> list of Tensor: The sequences.

    >>> padded = torch.tensor([[1, 2, 3], [4, 0, 0]])
    >>> torch.nn.utils.rnn.unpad_sequence(padded, [3, 1], batch_first=True)
    [tensor([1, 2, 3]), tensor([4])]
    """
    whole: Any = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [whole[i, :count] for i, count in enumerate(_lengths_of(lengths).tolist())]


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of different lengths as a PackedSequence.

    RuntimeError: For lengths that grow with `enforce_sorted`, and for no sequences.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([4])]).data
    tensor([1, 4, 2])
    """
    lengths = _tensor([part.shape[0] for part in sequences])
    padded = pad_sequence(sequences)
    return pack_padded_sequence(padded, lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences of a PackedSequence, each with its own length.

    packed_sequences: The sequences.
    -> list of Tensor: The sequences.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([4])])
    >>> torch.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([4])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
