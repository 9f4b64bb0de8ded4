"""Meanings of the parameters of operations, by their names: for the docstrings of operations.

A function whose parameter means something else says so in a section Parameters of its own. The
words by which members of a family of 1, 2 and 3 dimensions differ stand here, too. Knows no
operation.
"""

from __future__ import annotations

import itertools
import re
import textwrap

from tapegrad.torch._docstrings.entries import ENTRIES

# For signals, images and volumes. A text has them in braces: Convolution of {inputs}.
WORDS = {
    "borders": (
        "two: before and after",
        "four: left, right, top, bottom",
        "six: left, right, top, bottom, front, back",
    ),
    "extent": (
        "length of the result",
        "height and width of the result; None stands for that of the input",
        "sizes of the result; None stands for that of the input",
    ),
    "flat": ("signals", "flattened images", "flattened volumes"),
    "ints": ("int", "int or tuple of int", "int or tuple of int"),
    "inputs": ("signals", "images", "volumes"),
    "Inputs": ("Signals", "Images", "Volumes"),
    "kernel": ("kernel length", "kernel height, kernel width", "kernel depth, height, width"),
    "last": ("dimension", "two dimensions", "three dimensions"),
    "ranks": ("2 or 3", "3 or 4", "4 or 5"),
    "shape": (
        "(n, channels, length) or (channels, length)",
        "(n, channels, height, width) or (channels, height, width)",
        "(n, channels, depth, height, width) or without n",
    ),
    "sides": ("4", "4, 4", "4, 4, 4"),
    "size": ("length", "size", "size"),
}

_WIDTH = 95  # of a line in a docstring that is indented by 4
_NUMBER = re.compile(r"([123])d")
_PLACE = re.compile(r"\{(\w+)\}")


def filled(text: str, name: str, *, prose: bool = True) -> str:
    """A text with the words for the dimensions of what has this name, as `LazyConv2d`.

    `{nd}` stands for the end of the name, 2d, `{name}` for all of it, and `{plain}` for Conv2d.
    prose: whether lines are filled, which those of an example are not.
    """
    number = _NUMBER.search(name) if "{" in text else None
    if number is None:
        return text
    known = {word: of_each[int(number[1]) - 1] for word, of_each in WORDS.items()}
    known |= {"nd": number[0], "name": name, "plain": name.removeprefix("Lazy")}
    if not prose:
        return _PLACE.sub(lambda place: known[place[1]], text)
    lines: list[str] = []
    for margin, run in itertools.groupby(text.splitlines(), _margin):
        block = list(run)
        whole = " ".join(map(str.strip, block))
        put = _PLACE.sub(lambda place: known[place[1]], whole)
        lines += block if put == whole else _wrapped(put, " " * margin)
    return "\n".join(lines)


def entry_text(text: str) -> str:
    """The text of an entry, as it stands in a docstring below the name."""
    if "\n" in text:
        text = " ".join(map(str.strip, text.splitlines()))
    return f"    {text}" if len(text) < _WIDTH - 3 else "\n".join(_wrapped(text, "    "))


def _wrapped(text: str, margin: str) -> list[str]:
    if len(margin) + len(text) <= _WIDTH:
        return [margin + text]
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip()) if line else -1


# Annotations, as readers of a docstring are told them; others stand for themselves.
TYPES = {
    "Any": "object",
    "DType": "dtype",
    "Device": "device or str",
    "Callable[..., Any]": "callable",
    "Dim": "int or sequence of ints",
    "Function": "callable",
    "MemoryFormat": "memory_format",
    "Number": "number",
    "Sequence[Tensor]": "sequence of Tensors",
    "Sequence[Value]": "sequence of Tensors",
    "Sequence[int]": "sequence of ints",
    "Sizes": "int or sequence of ints",
    "Sizes | None": "int or sequence of ints",
    "Tensor | None": "Tensor",
    "TensorLike": "Tensor or number",
    "Tree": "object",
    "Value": "Tensor",
    "_dtypes.dtype": "dtype",
    "np.dtype[Any] | None": "dtype",
}

# Types that one name has everywhere, whatever the annotation.
ALWAYS = {
    "device": "device or str",
    "dtype": "dtype",
    "exponent": "Tensor or number",
    "layout": "layout",
    "max": "Tensor or number",
    "memory_format": "memory_format",
    "min": "Tensor or number",
    "out": "Tensor",
    "pin_memory": "bool",
    "requires_grad": "bool",
    "values": "Tensor",
}

MEANINGS = {
    "A": "Matrices (..., n, n), floating or complex.",
    "B": "The right-hand sides, of the dtype of the matrix.",
    "L": "Triangular factors (..., n, n), as `cholesky` returns them.",
    "LD": "What `ldl_factor` returned.",
    "LU": "What `lu_factor` returned.",
    "LU_data": "The matrix that `linalg.lu_factor` returned.",
    "LU_pivots": "The swaps of rows that `linalg.lu_factor` returned.",
    "N": "The number of powers; the length of `x` unless given.",
    "UPLO": "The triangle that is read.",
    "accumulate": "Whether values are added to what is there, also where a position comes twice.",
    "adjoint": "Whether the equation is one of the adjoint of A.",
    "alpha": "A factor.",
    "as_tuple": "Whether to return a tensor for each dimension.",
    "atol": "The absolute tolerance.",
    "axis0": "One dimension.",
    "axis1": "The other one.",
    "batch1": "Matrices (b, n, m).",
    "batch2": "Matrices (b, m, p).",
    "beta": "The factor of `input`.",
    "center": "Whether the means of the columns are subtracted first.",
    "check_errors": "Whether a matrix that does not do is an error even so.",
    "chunks": "The number of parts.",
    "copy": "Whether a copy is made also where none is needed.",
    "decimals": "How many digits after the point are kept; before it, if negative.",
    "density": "Whether counts are divided by their sum and the widths of the bins.",
    "descending": "Whether the greatest element comes first.",
    "device": 'The CPU ("cpu"), or "meta": a shape without data.',
    "diagonal": "The number of the diagonal: above the main one if positive, below if negative.",
    "dim": "The dimension along which it is done, counted from either end.",
    "dim0": "One dimension.",
    "dim1": "The first of the two dimensions.",
    "dim2": "The second of the two dimensions.",
    "dims": "The dimensions, counted from either end.",
    "driver": "The name of LAPACK's routine.",
    "dtype": "The dtype of the result; that of the arguments, or the default one, unless given.",
    "dx": "The distance of neighbours; 1 unless given.",
    "enabled": "The setting.",
    "end": "Where to stop; not included.",
    "equal_nan": "Whether a NaN equals a NaN.",
    "exponent": "The powers; the shapes broadcast.",
    "fill_value": "The number that all elements get.",
    "full_matrices": "Whether U and Vh are square.",
    "generator": "Where the random numbers come from; the default generator unless given.",
    "hermitian": "Whether A is Hermitian (symmetric, if real), of which one triangle is read.",
    "include_self": "Whether the elements that are there take part.",
    "index": "Whole numbers: positions along the dimension.",
    "indices": "Whole numbers: positions along the dimension.",
    "inplace": "Whether the result is written into `input`.",
    "input": "The tensor.",
    "keepdim": "Whether the result keeps the dimensions that are reduced, with length 1.",
    "layout": "None or `torch.strided`: no other layout is known.",
    "left": "Whether A stands on the left: A @ X. Else it is X @ A.",
    "length": "How many positions.",
    "lambd": "The threshold, not negative.",
    "mask": "Truth values, of a shape that broadcasts with that of `input`.",
    "mat": "A matrix (n, m).",
    "mat1": "A matrix (n, m).",
    "mat2": "A matrix (m, p).",
    "max": "The upper bound.",
    "memory_format": "The order of the elements in memory, as `torch.channels_last`.",
    "min": "The lower bound.",
    "n": "A whole number.",
    "non_blocking": "Changes nothing: there is no other device.",
    "norm": '"backward" (1/n in inverse transforms, as None), "forward", or "ortho".',
    "offset": "The number of the diagonal: above the main one if positive, below if negative.",
    "ord": "The order of the norm.",
    "other": "The second operand; the shapes broadcast, and the dtypes are promoted to one.",
    "out": "Where the result is written; it must not require grad.",
    "p": "The order of the norm.",
    "periodic": "Whether n is the length, as for `stft`; else it is one less: a symmetric window.",
    "pin_memory": "Changes nothing: there is no other device.",
    "pivot": "Whether rows are swapped, so that no pivot is 0 unless the matrix is singular.",
    "pivots": "The swaps of rows that the factorization returned.",
    "q": "Probabilities from 0 to 1: a number or a vector, of the dtype of `input`.",
    "rcond": "Singular values up to this times the largest count as 0.",
    "replacement": "Whether an index may be drawn again.",
    "requires_grad": "Whether the result is a leaf whose `grad` a backward pass fills.",
    "return_counts": "Whether to return how often each occurs.",
    "return_inverse": "Whether to return where each element of `input` is in the result.",
    "right": "Whether a value that equals a boundary goes to the right of it.",
    "out_int32": "Whether the result is of int32 instead of int64.",
    "rounding_mode": 'None for a true division, "trunc" towards zero, "floor" downwards.',
    "rtol": "The relative tolerance.",
    "size": "The sizes, as a tuple of ints.",
    "sizes": "The sizes, as several ints or one tuple.",
    "sorted": "Whether the result is in order; it always is.",
    "source": "The elements to write, of the dtype of `input`.",
    "some": "Whether the factors are reduced.",
    "src": "The elements to write.",
    "stable": "Whether equal elements keep their order; they always do.",
    "start": "Where to begin.",
    "step": "The distance from one to the next.",
    "storage_offset": "Where it begins, counted from the start of the memory in elements.",
    "stride": "How many elements apart neighbours lie in memory, for each dimension.",
    "tau": "The factors (..., k) of the reflections, as `geqrf` returns them.",
    "tensor1": "The first factor.",
    "tensor2": "The second factor, or the divisor.",
    "tensors": "The tensors.",
    "transpose": "Whether the adjoint of the matrix is meant.",
    "unbiased": "An older form of `correction`: 1 if true, else 0.",
    "unitriangular": "Whether the diagonal counts as ones, unread.",
    "upper": "Whether the upper triangle is meant.",
    "value": "A number.",
    "values": "The values.",
    "vec": "A vector (m).",
    "vec1": "A vector (n).",
    "vec2": "A vector (m).",
    "weight": "The weights; the shapes broadcast.",
    "window_length": "The number of elements.",
    "words": "The parameter by its name.",
    "x": "The positions of the samples; 0, 1, ... times `dx` unless given.",
    "y": "The samples.",
}

# The overloads above, where the annotation is the second one.
VARIANTS = {
    ("correction", "Number"): "What the divisor is less than the number of elements; 1 at first.",
    ("dim", "Dim"): "The dimensions that are reduced, counted from either end; all unless given.",
    ("dim", "int | None"): "The dimension, counted from either end.",
    ("index", "int"): "The position along the dimension.",
    ("n", "int | None"): "The number of points, to which the input is cut or padded with zeros.",
    ("s", "Sizes"): "The number of points along each axis, to which the input is cut or padded "
    "with\n    zeros; -1 for as many as there are.",
    ("tensors", "Sequence[Value]"): "The tensors, whose dtypes are promoted to one.",
}


_ENTRY = re.compile(r"^(-> .+?|\S+) \((.+?)\): (.*\n(?:    .*\n)*)", re.MULTILINE)
_TABLES = {
    room: {name: (kind, entry_text(meaning)) for name, kind, meaning in _ENTRY.findall(text)}
    for room, text in ENTRIES.items()
}


def shared(name: str, _annotation: str, default: str, module: str) -> str:
    """The entry of a parameter from the table of the room of a module, or empty."""
    room = module.removeprefix("tapegrad.torch.")
    while room:
        if name in _TABLES.get(room, ()):
            kind, meaning = _TABLES[room][name]
            return f"{name} : {kind}{ending(default)}\n{meaning}"
        room = room.rpartition(".")[0]
    return ""


def shared_result(annotation: str, module: str) -> str:
    """The section Returns that the room of a module has for an annotation, or empty."""
    return shared(f"-> {annotation}", annotation, "", module).partition(" : ")[2]


def ending(default: str) -> str:
    """The default of a parameter behind its type, from how the signature shows it."""
    if not default:
        return ""
    if default[0] == "'":
        default = f'"{default[1:-1]}"'
    return ", optional" if default == "None" else f", default {default}"


def kind_of(name: str, annotation: str) -> str:
    """The type of a parameter, as readers of a docstring are told it."""
    known = ALWAYS.get(name.lstrip("*")) or TYPES.get(annotation)
    return known or annotation.removesuffix(" | None")


def described(name: str, annotation: str, default: str, module: str) -> str:
    """The entry of a parameter in a section Parameters; default: as the signature shows it."""
    known = shared(name, annotation, default, module)
    if known:
        return known
    bare = name.lstrip("*")
    kind = kind_of(name, annotation) + ending(default)
    meaning = VARIANTS.get((bare, annotation)) or MEANINGS.get(bare) or "PyTorch's parameter."
    return f"{name} : {kind}\n    {meaning}"


__all__ = ["described", "ending", "entry_text", "filled", "kind_of", "shared", "shared_result"]
