"""Which factors make a product, and what is a matrix: PyTorch's rules, and its errors.

Knows the error messages of each function. Must not know how anything is computed or logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from tapegrad._core.types import Value
from tapegrad.torch._dims import clash_of
from tapegrad.torch._dtypes import of_numpy, word_of

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


def _c_word(x: Value) -> str:
    return _WORDS_OF_C.get(of_numpy(x.dtype).name, of_numpy(x.dtype).name)


def check_dtypes(x: Value, y: Value) -> None:
    """RuntimeError unless two factors have one dtype, and not that of booleans."""
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_c_word(x)} != {_c_word(y)}"
        )
    _refuse_bool(x)


def _refuse_bool(x: Value) -> None:
    if x.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


def _sides(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def check_matrices(x: Value, y: Value) -> None:
    """RuntimeError unless two shapes are those of matrices that can be multiplied."""
    if len(x.shape) != 2:
        raise RuntimeError("self must be a matrix")
    if len(y.shape) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if x.shape[1] != y.shape[0]:
        raise_product(x.shape, y.shape)


def check_factors(x: Value, y: Value) -> None:
    """RuntimeError where the factors of a product that is added differ in their dtypes."""
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {word_of(x.dtype)} and "
            f"{word_of(y.dtype)}"
        )


def raise_product(x: Sequence[int], y: Sequence[int]) -> NoReturn:
    """The error for matrices of shapes that cannot be multiplied."""
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_sides(x)} and {_sides(y)})")


def check_vector(x: Value, y: Value) -> None:
    """RuntimeError unless a matrix can be multiplied with a vector."""
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


def check_vectors(x: Value, y: Value) -> None:
    """RuntimeError unless two vectors have one length and dtype."""
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


def check_batches(x: Value, y: Value) -> None:
    """RuntimeError unless two stacks of matrices can be multiplied, pair by pair."""
    for name, given in (("batch1", x), ("batch2", y)):
        if len(given.shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    expected = [x.shape[0], x.shape[2]]
    if list(y.shape[:2]) != expected:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{list(y.shape[:2])}."
        )
    check_scalar_types(x, y)


def check_scalar_types(x: Value, y: Value) -> None:
    """RuntimeError unless two factors have one dtype."""
    if x.dtype != y.dtype:
        raise RuntimeError(f"expected scalar type {word_of(x.dtype)} but found {word_of(y.dtype)}")


def check_terms(added: Value, *factors: Value) -> None:
    """RuntimeError unless what is added has the dtype of the factors."""
    for given in factors:
        if added.dtype != given.dtype:
            raise RuntimeError(
                "self and mat2 must have the same dtype, but got "
                f"{word_of(added.dtype)} and {word_of(given.dtype)}"
            )


def check_expands(input: Value, shape: tuple[int, ...]) -> None:
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


def check_product(x: Value, y: Value) -> None:
    """RuntimeError unless matmul takes two factors: vectors, matrices or stacks of them."""
    ranks = len(x.shape), len(y.shape)
    if 0 in ranks:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {ranks[0]}D and "
            f"{ranks[1]}D"
        )
    if ranks == (1, 1):
        check_vectors(x, y)
    elif ranks == (2, 1):
        check_vector(x, y)
    elif max(ranks) <= 2:
        left = (1, *x.shape) if ranks[0] == 1 else x.shape
        if left[1] != y.shape[0]:
            raise_product(left, y.shape)
        check_dtypes(x, y)
    else:
        _check_stacks(x, y)
    _refuse_bool(x)


def _check_stacks(x: Value, y: Value) -> None:
    inner = y.shape[-2] if len(y.shape) > 1 else y.shape[0]
    if x.shape[-1] != inner:
        if len(x.shape) > 2 and len(y.shape) > 2:
            raise RuntimeError(
                "Expected size for first two dimensions of batch2 tensor to be: "
                f"{[x.shape[0], x.shape[-1]]} but got: {list(y.shape[-3:-1])}."
            )
        raise_product(x.shape, y.shape)
    error = clash_of(x.shape[:-2], y.shape[:-2])
    if error is not None:
        raise error
    check_scalar_types(x, y)


# --- Matrices -----------------------------------------------------------------------------------


def require_two_dimensions(x: Value, text: str) -> None:
    """RuntimeError with this text for vectors and numbers: PyTorch has one for each function."""
    if len(x.shape) < 2:
        raise RuntimeError(text)


def require_matrices(word: str, x: Value, *, square: bool = False) -> None:
    """RuntimeError unless x holds matrices of inexact numbers, square ones where asked."""
    if len(x.shape) < 2:
        raise RuntimeError(f"{word}: The input tensor A must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{word}: A must be batches of square matrices, but they are {x.shape[-2]} by "
            f"{x.shape[-1]} matrices"
        )
    require_inexact(word, x)


def require_inexact(word: str, x: Value) -> None:
    """RuntimeError unless x holds real or complex floats."""
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            f"{word}: Expected a floating point or complex tensor as input. Got {word_of(x.dtype)}"
        )
