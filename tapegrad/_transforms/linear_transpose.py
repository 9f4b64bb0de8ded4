"""The transpose of a linear function, and the test that a function is linear.

Knows jvp and vjp. Must not know tapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Tree, Value
from tapegrad._core.values import is_array, is_plain_number, is_scalar, raw_value
from tapegrad._errors import InputError, message, name_of
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.reverse import vjp
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten, unflatten


@folding
def linear_transpose(f: Function, *primals: Tree) -> Function:
    """The transpose of a linear function: it maps a cotangent of the output to the primals'.

    Parameters
    ----------
    f : callable
        Linear function of as many positional arguments as there are primals. It may be linear over
        the real numbers only (np.conj, np.real).
    *primals : pytree
        Examples of the arguments. Only their containers, shapes and dtypes matter: anything with a
        shape and a dtype will do.

    Returns
    -------
    callable
        Function of a tree like f's output that returns a tuple, one entry per primal, as the
        pullback of `vjp` does.

    Raises
    ------
    InputError
        Where f is not linear, which is tested by running f on random values, and where a primal is
        not floating or complex.

    Examples
    --------
    >>> linear_transpose(lambda x: 2 * x[::-1], np.zeros(2))(np.array([1.0, 10.0]))
    (array([20.,  2.]),)
    """
    name = f"linear_transpose({name_of(f)})"
    leaves, structure = flatten(primals)
    generator = np.random.default_rng(0)
    at = [_random_like(leaf, generator) for leaf in leaves]
    # Another point, with all signs reversed, also detects functions with a kink at 0 alone.
    other = [x * -generator.uniform(0.6, 2.0, x.shape).astype(x.real.dtype) for x in at]
    first, second = unflatten(structure, at), unflatten(structure, other)
    expected = flatten(jvp(f, first, second)[1])[0]

    def values(vectors: list[Tree]) -> list[Any]:
        with silence():
            return flatten(f(*unflatten(structure, vectors)))[0]

    rounding = _rounding(values, other, generator)
    # Large and small multiples make a nonlinear part grow beyond the linear one.
    for scale in _scales(at):
        found = values([x * x.dtype.type(scale) for x in other])
        if not all(map(_are_multiples, found, expected, rounding, [scale] * len(found))):
            raise InputError(
                message(
                    name,
                    "a linear function",
                    "one whose derivative at one point does not give its value at another",
                    "Take linearize or vjp of it at a point",
                )
            )
    transposed: Function = vjp(f, *first)[1]
    return transposed


def _random_like(leaf: Value, generator: np.random.Generator) -> Any:
    """Random numbers of a leaf's shape, dtype and kind, none of which rounds to 0."""
    dtype = np.dtype(leaf.dtype) if hasattr(leaf, "dtype") else np.result_type(leaf)
    shape = leaf.shape if hasattr(leaf, "shape") else ()
    if dtype.kind not in "fc":
        raise InputError(
            message("linear_transpose", "floating or complex inputs", str(dtype), "Pass floats")
        )
    values = generator.uniform(1.0, 4.0, shape) * generator.choice([-1.0, 1.0], shape)
    if dtype.kind == "c":
        values = values + 1j * generator.uniform(1.0, 4.0, shape)
    scalar = is_plain_number(leaf) or is_scalar(leaf)
    return dtype.type(values) if scalar else np.asarray(values, dtype)


def _scales(leaves: list[Value]) -> tuple[float, float, float]:
    """1, a large and a small power of 2: products with these do not change the rounding."""
    exponent = min((np.finfo(x.dtype).maxexp // 25 for x in leaves), default=1)
    return 1.0, 2.0**exponent, 2.0**-8


def _rounding(values: Function, vectors: list[Tree], generator: np.random.Generator) -> list[Any]:
    """How much each element of the values changes when the vectors are rounded differently.

    An element that is small because larger terms cancel changes much. Only this distinguishes it
    from an element that is small beside others on which it does not depend.
    """
    before = values(vectors)
    moved: list[Any] = [0.0] * len(before)
    for _ in range(3):
        nudged = [_nudged(x, generator) for x in vectors]
        with silence():
            moved = [
                np.maximum(far, np.abs(raw_value(a) - raw_value(b)))
                if _has_derivative(raw_value(b))
                else far
                for far, a, b in zip(moved, values(nudged), before, strict=True)
            ]
    return moved


def _nudged(x: Value, generator: np.random.Generator) -> Any:
    by = 1 + generator.uniform(-8, 8, x.shape) * float(np.finfo(x.dtype).eps)
    return x * np.asarray(by).astype(x.real.dtype)


def _has_derivative(value: Value) -> bool:
    """Whether an untraced value is a floating or complex array."""
    return is_array(value) and value.dtype.kind in "fc"


def _are_multiples(found: Value, expected: Value, rounding: Value, scale: float) -> bool:
    """Whether each element of a result is `scale` times the expected one, up to rounding."""
    found, expected = raw_value(found), raw_value(expected)
    if not _has_derivative(found):
        return True
    limits = np.finfo(found.dtype)
    with silence():
        expected = expected * expected.dtype.type(scale)
        close = np.abs(found - expected) <= (
            float(limits.eps) ** 0.4 * np.maximum(np.abs(found), np.abs(expected))
            + 100 * scale * rounding
            + float(limits.smallest_normal)
        )
    alike = (found == expected) | (np.isnan(found) & np.isnan(expected))
    finite = np.isfinite(found) & np.isfinite(expected)
    # An overflow at a large scale says nothing.
    return bool(np.all(np.where(finite, close, alike | (scale > 1))))


__all__ = ["linear_transpose"]
