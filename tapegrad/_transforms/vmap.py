"""vmap: it maps a function of one example over all examples in one run.

Knows how inputs and outputs get and lose their axis of examples. Must not know rules, or how a
batched array computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tapegrad._arrays.refusal import explained
from tapegrad._batched.level import VmapLevel
from tapegrad._core.quiet import VARIABLE
from tapegrad._core.recorded import recorded_too
from tapegrad._core.tape import CURRENT, RUNNING, hand_over
from tapegrad._core.types import Function, Tree, Value
from tapegrad._core.values import Traced, is_array
from tapegrad._errors import (
    BatchingError,
    InputError,
    ShapeMismatchError,
    describe,
    message,
    name_of,
    text_of,
)
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.caught import heed_examples
from tapegrad._transforms.chunks import (
    AUTO,
    Chosen,
    ChunkSize,
    Joined,
    in_budget,
    measures,
    require_chunk_size,
)
from tapegrad._transforms.draws import RandomnessCheck
from tapegrad._transforms.foreign_names import explaining
from tapegrad._transforms.inputs import own_copy
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.tracebacks import fold
from tapegrad._transforms.wrapper import Transformed
from tapegrad._tree import flatten, flatten_prefix, unflatten


def called(f: Function, args: tuple[Tree, ...], kwargs: dict[str, Any]) -> Any:
    """f's result for batched values, in one place, which can be watched."""
    return f(*args, **kwargs)


@explaining(
    axis_name="there are no collectives; combine the examples outside of the mapped function",
    axis_size="the size is that of the mapped arguments",
    in_dims="it is in_axes, as in JAX",
    out_dims="it is out_axes, as in JAX",
)
def vmap(
    f: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> Function:
    """A function that calls f on each example of its arguments, all of them in one run of f.

    f sees one example. Draws of random numbers in functions that f calls are not noticed.

    Parameters
    ----------
    f : callable
        Function of one example: of arrays and pytrees, which returns arrays.
    in_axes : int, None or tuple of pytree, default 0
        Which axis of each positional argument counts the examples: an integer for all arguments,
        or a tuple with an entry for each, which is an integer, None (the same for every example)
        or a pytree of these. Keyword arguments are mapped over axis 0.
    out_axes : int, None or pytree, default 0
        The same of the outputs; None is for an output that is the same for all examples.
    chunk_size : int or "auto", optional
        How many examples run at once, which bounds the memory; by default all. "auto" takes as
        many as fit into `tapegrad.config.memory_budget`: f runs on a few examples first, to see
        what they need, and again from the start with half as many after a MemoryError; the results
        are those of that number. Inside another transform "auto" means all, for the tape keeps
        what they make.
    randomness : {"error", "same", "different"}, default "error"
        What a draw from a NumPy generator does that f names or gets as an argument. "error": it
        raises, because it would be one draw for all examples. "same": that is meant. "different":
        f runs once per example, in a loop in which each draws its own numbers; numbers passed as
        an argument are faster.
    progress : bool or class, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    callable
        Function of f's arguments with an axis of examples each. Its results have one more axis.

    Raises
    ------
    BatchingError
        For a draw (see `randomness`), and for a conversion that could make the examples take
        different branches (`if x > 0`, `int(x)`, `range(x)`); also where f catches that error and
        so returns another value than on plain examples, on each of which it then runs again.
    InputError
        Where nothing is mapped, an axis does not exist, or an option is none.
    ShapeMismatchError
        Where the numbers of examples differ.

    Warns
    -----
    ConversionWarning
        Where f catches a BatchingError of a conversion, and returns the values of plain examples.

    Examples
    --------
    >>> vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    name = f"vmap({name_of(f)})"
    _require_options(name, in_axes, chunk_size, randomness)
    at_once: ChunkSize = 1 if randomness == "different" else chunk_size

    def mapped(*args: Tree, **kwargs: Any) -> Any:
        try:
            call = _Call(name, f, args, kwargs, in_axes, out_axes, draws=randomness != "error")
            if at_once == AUTO and measures():
                return _in_budget(call, progress)
            count = call.size if at_once is None or at_once == AUTO else int(at_once)
            if count >= call.size and not progress:
                out, (out_structure, _) = call.run(0, call.size)
                return unflatten(out_structure, out)
            return _in_chunks(call, count, progress)
        except BaseException as error:
            fold(error)
            raise

    options = {
        "in_axes": in_axes,
        "out_axes": out_axes,
        "chunk_size": chunk_size,
        "randomness": randomness,
        "progress": progress,
    }
    return Transformed(vmap, f, options, mapped)


class _Call:
    """One call of vmap(f): the arguments with their axis of examples in front, which f runs on."""

    def __init__(
        self,
        name: str,
        f: Function,
        args: tuple[Tree, ...],
        kwargs: dict[str, Any],
        in_axes: Any,
        out_axes: Any,
        *,
        draws: bool,
    ) -> None:
        self.name, self.f, self.out_axes = name, f, out_axes
        self.may_draw = draws  # whether f may draw random numbers
        self.leaves, self.structure = flatten((args, kwargs))
        self.axes = _axes_of(name, in_axes, args, kwargs)
        self.fronts = [
            leaf if axis is None else _to_front(name, leaf, axis)
            for leaf, axis in zip(self.leaves, self.axes, strict=True)
        ]
        pairs = zip(self.fronts, self.axes, strict=True)
        self.size = _size(name, [x for x, axis in pairs if axis is not None])

    def run(self, start: int, stop: int) -> tuple[list[Any], Any]:
        """Run f on some examples: the outputs, and their structure with the axes of all."""
        vmap_level = VmapLevel(self.name, stop - start)
        made = self._made(vmap_level, start, stop)
        if vmap_level.refused is not None:
            self._heed(vmap_level, start, stop, made)
        return made

    def _made(self, vmap_level: VmapLevel, start: int, stop: int) -> tuple[list[Any], Any]:
        draws = None if self.may_draw else RandomnessCheck(self.f, self.leaves)
        # A transform inside starts a tape of its own, whose entries hold batched values.
        outer, warns = CURRENT.get(), VARIABLE.get()
        RUNNING.append(None)
        try:
            CURRENT.set(vmap_level)
            given = [
                x if axis is None else vmap_level.wrap(_own_copy(x[start:stop]))
                for x, axis in zip(self.fronts, self.axes, strict=True)
            ]
            args, kwargs = unflatten(self.structure, given)
            leaves, structure = flatten(called(self.f, args, kwargs))
            if draws is not None and draws.before:
                draws.refuse(self.name)
            axes = flatten_prefix(structure, self.out_axes, f"out_axes of {self.name}")
            return [
                _output(self.name, vmap_level, leaf, axis, self.leaves)
                for leaf, axis in zip(leaves, axes, strict=True)
            ], (structure, axes)
        except Exception as error:
            known = _size_error(self.name, error) or explained(error, vmap_level)
            if known is None:
                raise
            raise known from known.__cause__
        except BaseException:  # an interrupt, maybe of an np.errstate of NumPy's or f's
            VARIABLE.set(warns)
            raise
        finally:
            vmap_level.open = False
            CURRENT.set(outer)
            RUNNING.pop()
            if vmap_level.refused is not None:
                hand_over(vmap_level)

    def _heed(self, vmap_level: VmapLevel, start: int, stop: int, made: Any) -> None:
        """Compare the examples with runs of f on plain values: a refusal within it was caught."""

        def example(at: int) -> Any:
            given = [
                own_copy(x) if axis is None else own_copy(x[at])
                for x, axis in zip(self.fronts, self.axes, strict=True)
            ]
            args, kwargs = unflatten(self.structure, given)
            return self.f(*args, **kwargs)

        def examples(made: Any) -> list[Tree]:
            out, (structure, axes) = made
            return [
                unflatten(
                    structure,
                    [
                        x if axis is None else np.moveaxis(x, axis, 0)[at]
                        for x, axis in zip(out, axes, strict=True)
                    ],
                )
                for at in range(stop - start)
            ]

        pairs = zip(examples(made), range(start, stop), strict=True)
        heed_examples(
            self.name,
            vmap_level,
            self.f,
            (self.fronts, self.structure),
            [(found, partial(example, at)) for found, at in pairs],
            lambda: examples(self._made(VmapLevel(self.name, stop - start), start, stop)),
        )


def _require_options(name: str, in_axes: Any, chunk_size: Any, randomness: str) -> None:
    """Raise InputError for options that are none."""
    if is_array(in_axes) and in_axes.shape:
        raise InputError(
            message(
                name,
                "in_axes of integers or None",
                describe(in_axes),
                "Pass 0, or one an argument; the arguments of the function come in a second call, "
                "vmap(f)(x)",
            )
        )
    require_chunk_size(name, chunk_size)
    if randomness not in ("error", "same", "different"):
        raise InputError(
            message(
                name,
                'randomness "error", "same" or "different"',
                repr(randomness),
                'Draws of each example\'s own are "different", or numbers passed as an argument',
            )
        )
    if randomness == "same" and chunk_size == AUTO:
        raise InputError(
            message(
                name,
                'a number or None for chunk_size, with randomness="same"',
                '"auto"',
                "To measure a chunk is to run it, which would draw numbers",
            )
        )


def _in_chunks(
    call: _Call, count: int, progress: Progress, run_first: Function | None = None
) -> Any:
    """The outputs for all examples, at most `count` at once.

    run_first: runs the first of them, in place of `call.run`.
    """
    wholes: list[Joined | None] = []
    same: list[Any] = []
    structure: Any = None
    with Bar(call.name, progress, call.size) as bar:
        for start in range(0, call.size or 1, count or 1):
            stop = min(start + count, call.size)
            run = call.run if start or run_first is None else run_first
            out, (structure, axes) = run(start, stop)
            if not start:
                wholes = [None if axis is None else Joined(axis, call.size) for axis in axes]
                same = [x if axis is None else None for x, axis in zip(out, axes, strict=True)]
            for at, whole in enumerate(wholes):
                if whole is not None:
                    whole.add(out[at])
            del out  # the next chunk needs the memory
            bar.step(stop - start)
        joined = zip(wholes, same, strict=True)
        leaves = [x if whole is None else whole.result() for whole, x in joined]
        return unflatten(structure, leaves)


def _in_budget(call: _Call, progress: Progress) -> Any:
    """The outputs for all examples, with as many at once as fit into the budget of memory."""
    chosen = Chosen(lambda count: call.run(0, count), call.size)

    def run_first(start: int, stop: int) -> Any:
        out = chosen.measured(stop - start, call.run, start, stop)
        if chosen.is_over and stop - start > 1:
            raise MemoryError  # which begins again with fewer
        return out

    return in_budget(chosen, lambda count: _in_chunks(call, count, progress, run_first))


def _size_error(name: str, error: Exception) -> BatchingError | None:
    """The BatchingError for a batched value in a shape, which NumPy refuses in its own words."""
    if "single integer, got 'Batched(" not in text_of(error):
        return None
    return BatchingError(
        f"{name}: expected sizes that are the same for all examples, got a batched value in a "
        "shape. Make the array of the largest size, and use np.where(np.arange(size) < x, y, 0) "
        "for what is beyond an example's own."
    ).with_traceback(error.__traceback__)


def _axes_of(name: str, in_axes: Any, args: tuple[Tree, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The mapped axis of each leaf, or None."""
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise InputError(
            message(
                name,
                f"in_axes for {len(args)} positional arguments",
                f"{len(in_axes)}",
                "Give an integer, or one entry an argument",
            )
        )
    by_argument = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    axes: list[Any] = []
    for arg, axis in zip(args, by_argument, strict=True):
        axes += flatten_prefix(flatten(arg)[1], axis, f"in_axes of {name}")
    return axes + [0] * len(flatten(kwargs)[0])


def _to_front(name: str, leaf: Value, axis: Any) -> Any:
    if not is_array(leaf) or not leaf.shape:
        raise InputError(
            message(
                name,
                "an array with an axis of examples",
                describe(leaf),
                "Pass in_axes=None for what is the same for all examples",
            )
        )
    ndim = len(leaf.shape)
    if not isinstance(axis, (int, np.integer)):
        raise InputError(message(name, "in_axes of integers or None", describe(axis), "Pass 0"))
    if not -ndim <= axis < ndim:
        raise InputError(
            message(name, f"an axis of {describe(leaf)}", f"in_axes {axis}", "Pass one it has")
        )
    return leaf if axis % ndim == 0 else np.moveaxis(leaf, axis, 0)


def _size(name: str, fronts: list[Any]) -> int:
    if not fronts:
        raise InputError(
            message(name, "at least one mapped argument", "none", "Map one with in_axes=0")
        )
    sizes = [x.shape[0] for x in fronts]
    if len(set(sizes)) > 1:
        raise ShapeMismatchError(
            message(
                name,
                "the same number of examples in every mapped argument",
                ", ".join(map(str, sizes)),
                "Choose the axes with in_axes",
            )
        )
    return int(sizes[0])


def _own_copy(x: Value) -> Any:
    """A copy, because f may write into its arguments."""
    recorded = recorded_too(x)
    return x.copy() if recorded is x else recorded  # what f writes into it may be recorded


def _output(
    name: str, vmap_level: VmapLevel, leaf: Value, axis: Any, inputs: Sequence[Value]
) -> Any:
    """A result with its axis of examples at `axis`."""
    batched = vmap_level.owns(leaf)
    if not batched:
        require_known(name, leaf, inputs)
    if axis is None:
        if batched:
            raise InputError(
                message(
                    name,
                    "an output that is the same for all examples, for out_axes=None",
                    f"a batched one, {describe(leaf)}",
                    "Give it an axis",
                )
            )
        return leaf
    if isinstance(leaf, Traced):
        leaf.tape.require_open()
    whole = vmap_level.front(leaf)
    if not batched:
        whole = whole.copy()
    axis = axis if axis >= 0 else axis + len(whole.shape)
    if not 0 <= axis < len(whole.shape):
        raise InputError(
            message(name, f"out_axes within {describe(whole)}", str(axis), "Pass one it has")
        )
    return np.moveaxis(whole, 0, axis) if axis else whole


__all__ = ["vmap"]
