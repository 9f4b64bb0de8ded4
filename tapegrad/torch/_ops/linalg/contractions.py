"""Sums of products over any dimensions: einsum, tensordot, and what is made of several products.

Knows PyTorch's parameters; the derivatives are the core's. Must not know affine maps or modules.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad._warning import warn
from tapegrad.torch._ops.declare import operation, private, register
from tapegrad.torch._ops.elementwise.arithmetic import promoted
from tapegrad.torch._ops.linalg.checks import check_scalar_types
from tapegrad.torch._rules.blockwise import LARGE
from tapegrad.torch._rules.pairs import distances_between, distances_between_by
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import TensorLike


@register(method=False)
def einsum(*args: Any) -> Tensor:
    """Sums of products of tensors, by letters for their dimensions: `einsum("ij,jk->ik", x, y)`.

    Also `einsum(x, [0, 1], y, [1, 2], [0, 2])`, and a list of tensors after the equation.

    *args: The equation and the tensors, or each tensor with the numbers of its dimensions, and at
        the end those of the result.
    -> Tensor: The sums.
    """
    if args and not isinstance(args[0], str):
        args = _lettered(args)
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    if not operands:
        raise ValueError("einsum(): must provide at least one operand")
    if len(operands) == 1 and isinstance(operands[0], Tensor):
        view = _without_sums(equation, operands[0])
        if view is not None:
            return view
    return _einsum(equation, *operands)


def _without_sums(equation: str, x: Tensor) -> Tensor | None:
    """The view of one tensor, its dimensions in another order; None where the equation sums."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    rest = list(range(x.ndim - len(left.replace("...", ""))))  # dimensions of the ellipsis

    def named(word: str) -> list[Any]:
        before, dots, after = word.partition("...")
        return [*before, *(rest if dots else ()), *after]

    given = named(left)
    letters = (left + right).replace("...", "")
    wanted = named(right if arrow else "..." * ("..." in left) + "".join(sorted(letters)))
    if not letters.isalpha() or not len(given) == len(wanted) == x.ndim == len({*given}):
        return None
    return x.permute([given.index(name) for name in wanted]) if {*given} == {*wanted} else None


def _lettered(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The equation, and the tensors, of tensors each with the numbers of its dimensions."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    words = [_word_of(numbers) for numbers in args[1::2]]
    if len(args) % 2:
        return "->".join([",".join(words), _word_of(args[-1])]), *args[:-1:2]
    return ",".join(words), *args[::2]


def _word_of(numbers: Sequence[Any]) -> str:
    """Letters for the numbers of dimensions, in the same order: capitals are the first ones."""
    if not isinstance(numbers, (list, tuple)):
        raise TypeError("the subscripts for each operand must be a list or a tuple")
    if not all(n is ... or isinstance(n, int) for n in numbers):
        raise TypeError("each subscript must be either an integer or an ellipsis")
    if not all(n is ... or 0 <= n < 52 for n in numbers):
        raise ValueError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        )
    return "".join("..." if n is ... else chr(n + (65 if n < 26 else 71)) for n in numbers)


def _einsum_label(_equation: str, *operands: TensorLike) -> str:
    return "PermuteBackward0" if len(operands) == 1 else "ViewBackward0"


@private(_einsum_label, name="einsum", planned=True)
def _einsum(equation: str, *operands: Value) -> Value:
    for array in operands[1:]:
        check_scalar_types(operands[0], array)
    left, arrow, right = equation.partition("->")
    if arrow and "..." in left and "..." not in right:  # summed over, which NumPy refuses
        summed: Any = _einsum
        made = summed.compute(f"{left}->...{right}", *operands)
        return np.sum(made, axis=tuple(range(made.ndim - len(right.replace(" ", "")))))
    # NumPy's own sums of products cost several times as much as products of matrices.
    large = len(operands) > 1 and all(array.dtype.char in "fdFD" for array in operands)
    large = large and max(array.size for array in operands) >= LARGE
    try:
        made = np.einsum(equation, *operands, optimize=bool(large))
    except ValueError as error:
        raise RuntimeError(f"einsum(): {error}") from error
    return made.copy() if len(operands) == 1 else made  # NumPy returns a view


@operation("ViewBackward0", method=False, planned=True)
def tensordot(a: Value, b: Value, dims: Any = 2) -> Value:
    """Sums of products over pairs of dimensions: the last of `a` with the first of `b`, or lists.

    a: The first factor.
    b: The second factor, of the same dtype.
    dims (int or sequence of sequences of ints): How many dimensions, or which ones of
        `a` and which of `b`.
    -> Tensor: The sums, of the other dimensions of both.
    """
    if hasattr(dims, "shape"):
        dims = untraced(dims).tolist()
    _check_contracted(a, b, dims)
    if isinstance(dims, int):
        return np.tensordot(a, b, dims)
    return np.tensordot(a, b, (list(dims[0]), list(dims[1])))


def _check_contracted(a: Value, b: Value, dims: Any) -> None:
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(len(a.shape), len(b.shape)):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        pairs = [(len(a.shape) - dims + i, i) for i in range(dims)]
    else:
        if len(dims[0]) != len(dims[1]):
            raise RuntimeError("both dimension lists should have same length")
        pairs = list(zip(dims[0], dims[1], strict=True))
    for one, two in pairs:
        if a.shape[one] != b.shape[two] and 1 not in (a.shape[one], b.shape[two]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[one]} in dim "
                f"{one} and second has size {b.shape[two]} in dim {two}"
            )
    check_scalar_types(a, b)


@operation("UnsafeViewBackward0", planned=True)
def kron(input: Value, other: Value) -> Value:
    """The Kronecker product: every element of `input` times the whole of `other`.

    other: The second factor.
    -> Tensor: The product, whose sizes are the products of the sizes.
    """
    return np.kron(*promoted(input, other))


def cross_along(input: Value, other: Value, dim: int) -> Value:
    """The cross products of vectors of three elements along a dimension."""
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and "
            f"{other.shape[dim]}"
        )
    if len(input.shape) != len(other.shape):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    return np.cross(input, other, axis=dim)


@operation("LinalgCrossBackward0", planned=True)
def cross(input: Value, other: Value, dim: int | None = None) -> Value:
    """The cross products of vectors of three elements along `dim`: the first of length 3.

    dim: The dimension of length 3; the first such one unless given, with a UserWarning.
    other: The second vectors; the shapes broadcast.
    -> Tensor: Vectors, of the shape to which the shapes broadcast.
    """
    if dim is None:
        warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross."
        )
        found = [axis for axis, side in enumerate(input.shape) if side == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    return cross_along(input, other, dim)


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of matrices, in the order that costs least; the ends may be vectors.

    tensors: Matrices, each with as many rows as the one before has columns; the first and the last
        may be vectors.
    out: Where the result is written; it must not require grad.
    -> Tensor: The product.
    RuntimeError: If there are fewer than two tensors, or the shapes do not fit.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    return _multi_dot(tensors) if out is None else _multi_dot(tensors, out=out)


@private("ViewBackward0", name="multi_dot")
def _multi_dot(tensors: Sequence[Value]) -> Value:
    for place, (x, y) in enumerate(itertools.pairwise(tensors)):
        if x.shape[-1] != y.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes {list(x.shape)} and "
                f"{list(y.shape)} cannot be multiplied"
            )
    return np.linalg.multi_dot(tensors)


@register(method=False)
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """`linalg.multi_dot` of matrices, its old name.

    *matrices: Matrices, each with as many rows as the one before has columns.
    -> Tensor: A matrix.
    UserWarning: Always.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more parameters."
    )
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    if len(matrices) == 1:
        return matrices[0]
    return multi_dot(matrices, out=out)


_POWER_LABELS = {-1: "LinalgInvExBackward0", 0: "CopyBackwards", 1: "CloneBackward0"}


@operation(lambda input, n: _POWER_LABELS.get(n, "MmBackward0"))
def matrix_power(input: Value, n: int) -> Value:
    """A square matrix multiplied n times; of its inverse where n is negative.

    input: Matrices (..., m, m).
    n: The exponent.
    -> Tensor: Matrices (..., m, m).
    RuntimeError: If the matrix is not square.
    """
    if len(input.shape) < 2 or input.shape[-1] != input.shape[-2]:
        sides = " by ".join(map(str, input.shape[-2:]))
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they are "
            f"{sides} matrices"
        )
    made = np.linalg.matrix_power(input, n)
    if n == 0 and made.dtype.kind in "fc":
        return np.where(True, made, input)  # a constant that requires grad
    return made.copy() if n == 1 else made


@operation("TraceBackward0", planned=True)
def trace(input: Value) -> Value:
    """The sum of the diagonal of a matrix.

    input: A matrix (n, m).
    -> Tensor: One number.
    """
    if len(input.shape) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(input.shape)}")
    return np.trace(input, dtype=np.int64 if input.dtype.kind in "bui" else None)


_COMPUTE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


@operation("CdistBackward0", method=False, planned=True)
def cdist(
    x1: Value, x2: Value, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Value:
    """The distances, by the p-norm, of every row of one matrix to every row of another.

    x1: Rows (..., n, d).
    x2: Rows (..., m, d).
    p: The order of the norm, from 0 on.
    compute_mode: Or "use_mm_for_euclid_dist", or "donot_use_mm_for_euclid_dist": how PyTorch
        computes, which changes no more than roundings there, and nothing here.
    -> Tensor: Distances (..., n, m).
    """
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, given in (("X1", x1), ("X2", x2)):
        if len(given.shape) < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {len(given.shape)}D"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} "
            f"X2: {x2.shape[-1]}"
        )
    if p == 2 and x1.dtype == x2.dtype and x1.dtype in (np.float32, np.float64):
        return distances_between(x1, x2)
    return distances_between_by(x1, x2, p=float(p))
