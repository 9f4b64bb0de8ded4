"""Products of vectors and matrices: matmul and its relatives, einsum, and affine maps as one node.

Knows PyTorch's shape rules and names, and the layout of entries, in which the products that nets
are made of log themselves. Must not know decompositions (`linalg`) or modules (`nn`).
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad._forms import General
from tapegrad._rule import REGISTRY, plain
from tapegrad._tape import spec_of
from tapegrad.rules.products import _matmul_x, _matmul_y
from tapegrad.torch._call import OPERATIONS, operation
from tapegrad.torch._dtypes import of_numpy, word_of
from tapegrad.torch._graph import name_nodes, new, next_number, node_class
from tapegrad.torch._modes import MODE
from tapegrad.torch._tensor import LEAF, Tensor, accumulator_of, ndarray

Operation = Callable[..., Any]
mode_of = MODE.get
MATMUL = REGISTRY[np.matmul]
MM = node_class("MmBackward0")
ADDMM = node_class("AddmmBackward0")


# --- What fits together -------------------------------------------------------------------------

# What PyTorch's messages call a dtype: the type's name in C++.
_WORDS_OF_C = {
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "int32": "int",
    "int64": "long int",
    "bool": "bool",
}


def _c_word(x: Any) -> str:
    return _WORDS_OF_C.get(of_numpy(x.dtype).name, of_numpy(x.dtype).name)


def _check_dtypes(x: Any, y: Any) -> None:
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_c_word(x)} != {_c_word(y)}"
        )
    _refuse_bool(x)


def _refuse_bool(x: Any) -> None:
    if x.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


def _sides(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _check_matrices(x: Any, y: Any) -> None:
    """RuntimeError unless two shapes are those of matrices that can be multiplied."""
    if len(x.shape) != 2:
        raise RuntimeError("self must be a matrix")
    if len(y.shape) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if x.shape[1] != y.shape[0]:
        _raise_product(x.shape, y.shape)


def _raise_product(x: Sequence[int], y: Sequence[int]) -> NoReturn:
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_sides(x)} and {_sides(y)})")


def _check_vector(x: Any, y: Any) -> None:
    if len(x.shape) != 2 or len(y.shape) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {len(x.shape)}, {len(y.shape)}"
        )
    if x.shape[1] != y.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({x.shape[0]}), mat ({_sides(x.shape)}), vec ({y.shape[0]})"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{word_of(y.dtype)}, {word_of(x.dtype)}, and {word_of(y.dtype)}"
        )


def _check_vectors(x: Any, y: Any) -> None:
    if len(x.shape) != 1 or len(y.shape) != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {len(x.shape)}D and {len(y.shape)}D tensors"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{word_of(x.dtype)} and {word_of(y.dtype)}"
        )
    if x.shape != y.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{y.shape[0]}] to "
            f"have the same number of elements, but got {x.shape[0]} and {y.shape[0]} elements "
            "respectively"
        )


def _check_batches(x: Any, y: Any) -> None:
    for name, given in (("batch1", x), ("batch2", y)):
        if len(given.shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    expected = [x.shape[0], x.shape[2]]
    if list(y.shape[:2]) != expected:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{list(y.shape[:2])}."
        )
    _check_scalar_types(x, y)


def _check_scalar_types(x: Any, y: Any) -> None:
    if x.dtype != y.dtype:
        raise RuntimeError(f"expected scalar type {word_of(x.dtype)} but found {word_of(y.dtype)}")


def _check_expands(input: Any, shape: tuple[int, ...]) -> None:
    """RuntimeError unless what is added broadcasts to the shape of the product."""
    given = tuple(input.shape)
    lead = len(shape) - len(given)
    if lead < 0:
        raise RuntimeError(
            f"The expanded size of the tensor ({len(shape)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({len(given)})"
        )
    for axis, (side, own) in enumerate(zip(shape[lead:], given, strict=True)):
        if own not in (1, side):
            raise RuntimeError(
                f"The expanded size of the tensor ({side}) must match the existing size ({own}) "
                f"at non-singleton dimension {lead + axis}.  Target sizes: {list(shape)}.  "
                f"Tensor sizes: {list(given)}"
            )


# The node of a product by the numbers of dimensions of its factors.
_LABELS = {
    (1, 1): "DotBackward0",
    (2, 1): "MvBackward0",
    (1, 2): "SqueezeBackward4",
    (2, 2): "MmBackward0",
}


def _product_label(input: Any, other: Any) -> str:
    return _LABELS.get((input.ndim, other.ndim), "UnsafeViewBackward0")


def _linear_label(input: Any, weight: Any, bias: Any = None) -> str:
    if bias is None:
        return _product_label(input, weight)
    return "AddmmBackward0" if input.ndim == 2 else "ViewBackward0"


# --- matmul -------------------------------------------------------------------------------------


@operation(_product_label, name="matmul")
def _matmul(input: Any, other: Any) -> Any:
    """`input @ other`: of vectors, matrices, and stacks of matrices that broadcast."""
    if not hasattr(other, "dtype"):
        raise TypeError(
            f"matmul(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}"
        )
    _check_product(input, other)
    return np.matmul(input, other)


def _check_product(x: Any, y: Any) -> None:
    ranks = len(x.shape), len(y.shape)
    if 0 in ranks:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {ranks[0]}D and "
            f"{ranks[1]}D"
        )
    if ranks == (1, 1):
        _check_vectors(x, y)
    elif ranks == (2, 1):
        _check_vector(x, y)
    elif max(ranks) <= 2:
        left = (1, *x.shape) if ranks[0] == 1 else x.shape
        if left[1] != y.shape[0]:
            _raise_product(left, y.shape)
        _check_dtypes(x, y)
    else:
        _check_stacks(x, y)
    _refuse_bool(x)


def _check_stacks(x: Any, y: Any) -> None:
    inner = y.shape[-2] if len(y.shape) > 1 else y.shape[0]
    if x.shape[-1] != inner:
        if len(x.shape) > 2 and len(y.shape) > 2:
            raise RuntimeError(
                "Expected size for first two dimensions of batch2 tensor to be: "
                f"{[x.shape[0], x.shape[-1]]} but got: {list(y.shape[-3:-1])}."
            )
        _raise_product(x.shape, y.shape)
    before, other = x.shape[:-2], y.shape[:-2]
    for axis in range(1, min(len(before), len(other)) + 1):
        a, b = before[-axis], other[-axis]
        if a != b and 1 not in (a, b):
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                f"non-singleton dimension {max(len(before), len(other)) - axis}"
            )
    _check_scalar_types(x, y)


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """`input @ other`: of vectors, matrices, and stacks of matrices that broadcast.

    input: (..., n, k) or (k); other: (..., k, m) or (k), of the same dtype. Returns (..., n, m),
    without the dimensions that a vector lacks. RuntimeError where shapes or dtypes do not fit.

    >>> import tapegrad.torch as torch
    >>> torch.ones(2, 3) @ torch.ones(3)
    tensor([3., 3.])
    """
    x = input.value if type(input) is Tensor else None
    y = other.value if isinstance(other, Tensor) else None
    if (
        out is None
        and type(x) is ndarray
        and type(y) is ndarray
        and x.ndim == 2 == y.ndim
        and x.dtype is y.dtype
        and x.dtype.kind == "f"
        and x.shape[1] == y.shape[0]
    ):
        mode = mode_of()
        if mode is None or not (mode.grad or mode.inference or mode.watchers):
            return _logged_product(input, other, x, y, mode is None)
    return _matmul(input, other) if out is None else _matmul(input, other, out=out)


def _logged_product(input: Any, other: Any, x: Any, y: Any, logs: bool) -> Tensor:
    """The product of two matrices: the frequent case, whose entry is made here."""
    result: Tensor = new(Tensor)
    result.value = out = np.matmul(x, y)
    x_node, y_node = input.node, other.node
    if not logs or (x_node is None and y_node is None):
        result.node = None
        return result
    kept_x, kept_y = x, y
    if x_node is LEAF:
        x_node = accumulator_of(input)
    elif x_node is None:
        x_node, kept_y = -1, spec_of(y)
    if y_node is LEAF:
        y_node = accumulator_of(other)
    elif y_node is None:
        y_node, kept_x = -1, spec_of(x)
    result.node = node = new(MM)
    node._number = next_number()
    node._entry = MATMUL, spec_of(out), (kept_x, kept_y), {}, (x_node, y_node), None
    return result


OPERATIONS["matmul"] = matmul
matmul.compute = _matmul.compute  # type: ignore[attr-defined]
setattr(Tensor, "matmul", matmul)  # noqa: B010 - which Tensor does not declare


def _matmul_operator(self: Any, other: Any) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _matmul_inplace(self: Any, other: Any) -> Any:
    return self.copy_(matmul(self, other)) if isinstance(other, Tensor) else NotImplemented


for _word, _call in (("__matmul__", _matmul_operator), ("__imatmul__", _matmul_inplace)):
    setattr(Tensor, _word, _call)


# --- Products of fixed dimensions ---------------------------------------------------------------


@operation("MmBackward0")
def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices."""
    _check_matrices(input, mat2)
    _check_dtypes(input, mat2)
    return np.matmul(input, mat2)


@operation("MvBackward0")
def mv(input: Any, vec: Any) -> Any:
    """The product of a matrix and a vector."""
    if len(input.shape) != 2 or len(vec.shape) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(vec.shape)}, {len(input.shape)}, "
            f"{len(vec.shape)}"
        )
    _check_vector(input, vec)
    return np.matmul(input, vec)


@operation("BmmBackward0")
def bmm(input: Any, mat2: Any) -> Any:
    """The products of two stacks of matrices, pair by pair."""
    _check_batches(input, mat2)
    return np.matmul(input, mat2)


@operation("DotBackward0")
def dot(input: Any, tensor: Any) -> Any:
    """The sum of the products of two vectors' elements, without a conjugate."""
    _check_vectors(input, tensor)
    return np.dot(input, tensor)


@operation("VdotBackward0")
def vdot(input: Any, other: Any) -> Any:
    """`dot` of the conjugate of `input` and `other`."""
    _check_vectors(input, other)
    return np.vdot(input, other)


@operation("ViewBackward0")
def inner(input: Any, other: Any) -> Any:
    """Sums of products over the last dimensions of both; of a number, the product."""
    if not input.shape or not other.shape:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return np.inner(input, other)


def _outer(input: Any, vec2: Any) -> Any:
    """The products of every element of one vector with every element of another."""
    for name, given in (("self", input), ("vec2", vec2)):
        if len(given.shape) != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {name}, but got {len(given.shape)}-D"
            )
    from tapegrad.torch._pointwise import promoted

    x, y = promoted(input, vec2)
    return np.reshape(x, (-1, 1)) * y


outer = operation("MulBackward0", name="outer")(_outer)
ger = operation("MulBackward0", name="ger")(_outer)


# --- Affine maps: one node each -----------------------------------------------------------------


def _added_product(input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`; what is multiplied by beta = 0 does not count."""
    product = np.matmul(mat1, mat2)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (input if beta == 1 else input * beta)


def _pull_added(g: Any, _out: Any, _input: Any, *_: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return g if beta == 1 else g * beta


def _pull_left(
    g: Any, _out: Any, _input: Any, _mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1
) -> Any:
    return _matmul_x(g if alpha == 1 else g * alpha, None, _mat1, mat2)


def _pull_right(
    g: Any, _out: Any, _input: Any, mat1: Any, _mat2: Any, beta: Any = 1, alpha: Any = 1
) -> Any:
    return _matmul_y(g if alpha == 1 else g * alpha, None, mat1, _mat2)


def _push_added(
    dots: Any, _out: Any, _input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1
) -> Any:
    input_dot, left_dot, right_dot = dots
    total: Any = 0 if input_dot is None else input_dot * beta
    if left_dot is not None:
        total = total + np.matmul(left_dot, mat2) * alpha
    return total if right_dot is None else total + np.matmul(mat1, right_dot) * alpha


def _added_examples(input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    vectors = mat2.ndim == 2
    product = np.matmul(mat1, mat2[..., None])[..., 0] if vectors else np.matmul(mat1, mat2)
    missing = product.ndim - input.ndim
    aligned = np.reshape(input, (input.shape[0], *(1,) * missing, *input.shape[1:]))
    return aligned * beta + product * alpha


ADDED_PRODUCT = General(
    _added_product,
    vjp=[_pull_added, _pull_left, _pull_right],
    jvp=_push_added,
    arrays=3,
    name="addmm",
    batch=_added_examples,
)
name_nodes(ADDED_PRODUCT, "AddmmBackward0")


def _added(input: Any, x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    """An affine map of arrays whose product fits."""
    rows = (x.shape[-2], y.shape[-1])
    shape = x.shape[:1] if len(y.shape) == 1 else (*x.shape[:-2], *rows)
    _check_expands(input, shape)
    for given in (x, y):
        if input.dtype != given.dtype:
            raise RuntimeError(
                "self and mat2 must have the same dtype, but got "
                f"{word_of(input.dtype)} and {word_of(given.dtype)}"
            )
    if input.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    return ADDED_PRODUCT.apply(input, x, y, **_scales(beta, alpha))


def _scales(beta: Any, alpha: Any) -> dict[str, Any]:
    given = {"beta": beta, "alpha": alpha}
    return {name: value for name, value in given.items() if type(value) is not int or value != 1}


@operation("AddmmBackward0", inplace=True)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)` of matrices; input broadcasts."""
    _check_matrices(mat1, mat2)
    return _added(input, mat1, mat2, beta, alpha)


@operation("AddmvBackward0", inplace=True)
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat @ vec)`."""
    _check_vector(mat, vec)
    return _added(input, mat, vec, beta, alpha)


@operation("AddrBackward0", inplace=True)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    column, row = np.reshape(vec1, (-1, 1)), np.reshape(vec2, (1, -1))
    return _added(input, column, row, beta, alpha)


@operation("BaddbmmBackward0", inplace=True)
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    _check_batches(batch1, batch2)
    return _added(input, batch1, batch2, beta, alpha)


@operation("AddbmmBackward0", inplace=True)
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha *` the sum of the products of two stacks of matrices."""
    _check_batches(batch1, batch2)
    count, rows, inner = batch1.shape
    left = np.reshape(np.swapaxes(batch1, 0, 1), (rows, count * inner))
    right = np.reshape(batch2, (count * inner, batch2.shape[2]))
    return _added(input, left, right, beta, alpha)


# --- linear: the layer of nets ------------------------------------------------------------------


def _flipped(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def _affine(bias: Any, x: Any, weight: Any) -> Any:
    return np.matmul(x, _flipped(weight)) + bias


def _affine_examples(bias: Any, x: Any, weight: Any) -> Any:
    return np.matmul(x, _flipped(weight)) + np.expand_dims(bias, 1)


def _push_affine(dots: Any, _out: Any, _bias: Any, x: Any, weight: Any) -> Any:
    bias_dot, x_dot, weight_dot = dots
    total: Any = 0 if bias_dot is None else bias_dot
    if x_dot is not None:
        total = total + np.matmul(x_dot, _flipped(weight))
    return total if weight_dot is None else total + np.matmul(x, _flipped(weight_dot))


class _Affine(General):
    """`x @ weight.T + bias` for matrices x and weight."""

    def pull(
        self, g: Any, out: Any, args: Sequence[Any], params: dict[str, Any], wanted: Sequence[bool]
    ) -> Sequence[Any]:
        return (
            np.add.reduce(g, 0) if wanted[0] else None,
            np.matmul(g, args[2]) if wanted[1] else None,
            np.matmul(_flipped(g), args[1]) if wanted[2] else None,
        )


AFFINE = _Affine(
    _affine,
    vjp=[
        lambda g, _out, _bias, _x, _weight: g,
        lambda g, _out, _bias, _x, weight: np.matmul(g, weight),
        lambda g, _out, _bias, x, _weight: np.matmul(_flipped(g), x),
    ],
    jvp=_push_affine,
    name="linear",
    batch=_affine_examples,
)
name_nodes(AFFINE, "AddmmBackward0")


@operation(_linear_label, method=False, function=False, name="linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    if len(weight.shape) == 1:
        if len(input.shape) == 1:
            product = np.dot(input, weight)
        else:
            _check_product(input, weight)
            product = np.matmul(input, weight)
        return product if bias is None else product + bias
    if len(weight.shape) != 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(weight.shape)}D"
        )
    lead, count = input.shape[:-1], weight.shape[0]
    rows = input if len(input.shape) == 2 else np.reshape(input, (-1, input.shape[-1]))
    if rows.shape[1] != weight.shape[1]:
        _raise_product(rows.shape, weight.shape[::-1])
    if bias is None:
        _check_dtypes(input, weight)
        made = np.matmul(rows, _flipped(weight))
    else:
        _check_expands(bias, (rows.shape[0], count))
        for given in (input, weight):
            if bias.dtype != given.dtype:
                raise RuntimeError(
                    "self and mat2 must have the same dtype, but got "
                    f"{word_of(bias.dtype)} and {word_of(given.dtype)}"
                )
        made = AFFINE.apply(bias, rows, weight)
    return made if len(input.shape) == 2 else np.reshape(made, (*lead, count))


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`, as one node of the graph.

    input: (..., n). weight: (m, n), or (n). bias: (m), or None. Returns (..., m). RuntimeError
    where shapes or dtypes do not fit.

    >>> import tapegrad.torch as torch
    >>> torch.nn.functional.linear(torch.ones(2, 3), torch.ones(1, 3), torch.ones(1))
    tensor([[4.],
            [4.]])
    """
    if type(input) is Tensor and isinstance(bias, Tensor) and isinstance(weight, Tensor):
        x, w, b = input.value, weight.value, bias.value
        if (
            type(x) is ndarray
            and type(w) is ndarray
            and type(b) is ndarray
            and x.ndim == 2 == w.ndim
            and x.dtype is w.dtype is b.dtype
            and x.dtype.kind == "f"
            and b.shape == w.shape[:1]
            and x.shape[1] == w.shape[1]
        ):
            mode = mode_of()
            if mode is None or not (mode.grad or mode.inference or mode.watchers):
                out = np.matmul(x, w.T)
                out += b
                return _logged_affine(input, weight, bias, out, mode is None)
    return _linear(input, weight, bias)


def _logged_affine(input: Any, weight: Any, bias: Any, out: Any, logs: bool) -> Tensor:
    result: Tensor = new(Tensor)
    result.value = out
    x_node, w_node, b_node = input.node, weight.node, bias.node
    if not logs or (x_node is None and w_node is None and b_node is None):
        result.node = None
        return result
    x, w = input.value, weight.value
    if x_node is LEAF:
        x_node = accumulator_of(input)
    elif x_node is None:
        x_node, w = -1, spec_of(w)
    if w_node is LEAF:
        w_node = accumulator_of(weight)
    elif w_node is None:
        w_node, x = -1, spec_of(x)
    if b_node is LEAF:
        b_node = accumulator_of(bias)
    elif b_node is None:
        b_node = -1
    result.node = node = new(ADDMM)
    node._number = next_number()
    kept = spec_of(bias.value), x, w
    node._entry = AFFINE, spec_of(out), kept, {}, (b_node, x_node, w_node), None
    return result


# --- Any contraction ----------------------------------------------------------------------------


def einsum(*args: Any) -> Any:
    """Sums of products of tensors, by letters for their dimensions: `einsum("ij,jk->ik", x, y)`.

    Also `einsum(x, [0, 1], y, [1, 2], [0, 2])`, and a list of tensors after the equation.

    >>> import tapegrad.torch as torch
    >>> torch.einsum("ij,j->i", torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if args and not isinstance(args[0], str):
        return _einsum("", *_numbered(args))
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    if not operands:
        raise ValueError("einsum(): must provide at least one operand")
    return _einsum(equation, *operands)


def _numbered(args: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    return args


def _einsum_label(equation: str, *operands: Any) -> str:
    return "PermuteBackward0" if len(operands) <= 2 - bool(equation) else "ViewBackward0"


@operation(_einsum_label, method=False, function=False, name="einsum")
def _einsum(equation: str, *operands: Any) -> Any:
    arrays = operands if equation else operands[::2]
    if not equation and len(operands) % 2:
        arrays = operands[:-1:2]
    for array in arrays[1:]:
        _check_scalar_types(arrays[0], array)
    given = (equation, *operands) if equation else operands
    try:
        made = np.einsum(*given)
    except ValueError as error:
        raise RuntimeError(f"einsum(): {error}") from error
    return made.copy() if len(arrays) == 1 else made  # a view of NumPy's, which nobody would know


OPERATIONS["einsum"] = einsum


@operation("ViewBackward0", method=False)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Sums of products over pairs of dimensions: the last of a with the first of b, or lists."""
    if hasattr(dims, "shape"):
        dims = plain(dims).tolist()
    _check_contracted(a, b, dims)
    if isinstance(dims, int):
        return np.tensordot(a, b, dims)
    return np.tensordot(a, b, (list(dims[0]), list(dims[1])))


def _check_contracted(a: Any, b: Any, dims: Any) -> None:
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
    _check_scalar_types(a, b)


@operation("UnsafeViewBackward0")
def kron(input: Any, other: Any) -> Any:
    """The Kronecker product: every element of `input` times the whole of `other`."""
    from tapegrad.torch._pointwise import promoted

    return np.kron(*promoted(input, other))


def cross_along(input: Any, other: Any, dim: int) -> Any:
    """The cross products of vectors of three elements along a dimension."""
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and "
            f"{other.shape[dim]}"
        )
    if len(input.shape) != len(other.shape):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    return np.cross(input, other, axis=dim)


@operation("LinalgCrossBackward0")
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The cross products of vectors of three elements along `dim`: the first of length 3."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross.",
            UserWarning,
            stacklevel=3,
        )
        found = [axis for axis, side in enumerate(input.shape) if side == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    return cross_along(input, other, dim)


def multi_dot(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """The product of matrices, in the order that costs least; the ends may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    return _multi_dot(tensors) if out is None else _multi_dot(tensors, out=out)


@operation("ViewBackward0", method=False, function=False, name="multi_dot")
def _multi_dot(tensors: Sequence[Any]) -> Any:
    for place, (x, y) in enumerate(itertools.pairwise(tensors)):
        if x.shape[-1] != y.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes {list(x.shape)} and "
                f"{list(y.shape)} cannot be multiplied"
            )
    return np.linalg.multi_dot(tensors)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """`linalg.multi_dot` of matrices, its old name."""
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    if len(matrices) == 1:
        return matrices[0]
    return multi_dot(matrices, out=out)


OPERATIONS["chain_matmul"] = chain_matmul


_POWER_LABELS = {0: "CopyBackwards", 1: "CloneBackward0"}


@operation(lambda input, n: _POWER_LABELS.get(n, "MmBackward0"))
def matrix_power(input: Any, n: int) -> Any:
    """A square matrix multiplied n times; of its inverse where n is negative."""
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


@operation("TraceBackward0")
def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix."""
    if len(input.shape) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(input.shape)}")
    return np.trace(input)


@operation("CdistBackward0", method=False)
def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    """The distances, by the p-norm, of every row of one matrix to every row of another."""
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
    apart = np.expand_dims(x1, -2) - np.expand_dims(x2, -3)
    return np.linalg.norm(apart, p, -1)
