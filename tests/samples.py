"""The table of samples: how the arguments of each function are drawn, one line a function.

`sample(function, *parts, **params)`: each part is a constant, a Hypothesis strategy, or a maker: a
Python function of the `Draw` that makes the part from what was drawn before. The first array is
`d.x`. Domains keep away from poles and branch points; arrays of one draw share no element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from makers import (
    ABSENT,
    Draw,
    alike_and_axis,
    array,
    axes,
    axis,
    axis_or_none,
    bare,
    beside,
    joined,
    like,
    mask,
    mask_or_absent,
    matrix,
    maybe,
    of_hermitian_part,
    other_shape,
    parts_and_axis,
    permutation,
    positions,
    positive,
    settled,
    several,
    square,
    symmetric,
    tall,
    tall_alone,
    tensor,
    unsigned,
    upper,
    wider_shape,
    written,
)

la = np.linalg
REAL, ALL, LAPACK, LAPACK_REAL = "dfg", "dfgDF", "dfDF", "df"


class Sample(NamedTuple):
    """How the arguments of one function are drawn."""

    function: Callable[..., Any]
    parts: tuple[Any, ...]
    params: dict[str, Any]
    dtypes: str
    domains: tuple[tuple[float, float], ...]
    call: Callable[..., Any]  # the function, or what makes a function of its writes

    def draw(self, data: st.DataObject) -> tuple[list[Any], dict[str, Any]]:
        draw = Draw(data, data.draw(st.sampled_from(self.dtypes)), self.domains)
        args = [draw.part(part) for part in self.parts]
        params = {name: draw.part(part) for name, part in self.params.items()}
        return args, {name: value for name, value in params.items() if value is not ABSENT}


SAMPLES: dict[Callable[..., Any], Sample] = {}


def sample(
    function: Any,
    *parts: Any,
    on: Any = (-2.0, 2.0),
    dtypes: str = ALL,
    via: Any = None,
    **params: Any,
) -> None:
    """`on`: bounds of all arrays, or a list of bounds, one an array."""
    assert function not in SAMPLES, f"{function} has a sample already"
    domains = tuple(on) if isinstance(on, list) else (on,)
    call = via(function) if via else function
    SAMPLES[function] = Sample(function, parts, params, dtypes, domains, call)


def each(functions: Any, *parts: Any, **options: Any) -> None:
    """The same sample for each of several functions."""
    for function in functions:
        sample(function, *parts, **options)


def pick(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


X, X1, X2 = array(), array(dims=(1, 3)), array(dims=(2, 3))
N, N1, N2 = array(side=1), array(dims=(1, 3), side=1), array(dims=(2, 3), side=1)
FLAGS = st.booleans()
SMALL = st.integers(-3, 3)
SIDES = np.array([True, False, True])

# --- Ufuncs -------------------------------------------------------------------------------------

each([np.add, np.subtract, np.multiply], X, beside)
sample(np.divide, X, beside, on=[(-2, 2), (0.5, 3)])
each([np.negative, np.positive, np.square, np.exp, np.exp2, np.expm1], X)
each([np.sin, np.cos, np.sinh, np.cosh, np.tanh, np.conjugate, np.real, np.imag, np.sign], X)
each([np.reciprocal, np.sqrt, np.log, np.log2, np.log10], X, on=(0.3, 3))
each([np.cbrt, np.fabs, np.degrees, np.rad2deg, np.radians, np.deg2rad], X, dtypes=REAL)
sample(np.log1p, X, on=(-0.7, 2))
each([np.tan, np.arctan, np.arcsinh], X, on=(-0.9, 0.9))
each([np.arcsin, np.arccos, np.arctanh], X, on=(-0.8, 0.8))
sample(np.arccosh, X, on=(1.2, 3))
sample(np.absolute, X)
sample(np.power, X, beside, on=[(0.3, 2), (-2, 2)])
sample(np.float_power, X, beside, on=[(0.3, 2), (-2, 2)])
each([np.remainder, np.fmod, np.divmod], X, beside, on=[(-2, 2), (2.5, 3.5)], dtypes=REAL)
each([np.logaddexp, np.logaddexp2, np.arctan2, np.hypot, np.copysign], X, beside, dtypes=REAL)
sample(np.heaviside, X, beside, dtypes=REAL)
sample(np.ldexp, X, SMALL, dtypes=REAL)
each([np.maximum, np.minimum, np.fmax, np.fmin], X, beside, dtypes=REAL)
each([np.modf, np.frexp], X, dtypes=REAL)
sample(np.angle, X, deg=FLAGS, on=(0.2, 2))

# --- Reductions ---------------------------------------------------------------------------------

sample(np.sum, X, axis=axes, keepdims=FLAGS, where=mask_or_absent, initial=maybe(2.5))
sample(np.mean, N, axis=axes, keepdims=FLAGS)
sample(np.average, N, axis=axis_or_none, weights=maybe(like), on=[(-2, 2), (0.3, 2)])
each([np.var, np.std], N, axis=axes, keepdims=FLAGS)
sample(np.prod, X, axis=axes, keepdims=FLAGS, where=mask_or_absent, initial=maybe(2.5))
each([np.max, np.min, np.amax, np.amin], N, axis=axes, keepdims=FLAGS, dtypes=REAL)
sample(np.ptp, N, axis=axes, keepdims=FLAGS, dtypes=REAL)
sample(np.clip, X, beside, lambda d: d.array(()), on=[(-2, 2), (-1, 0), (0.2, 1)], dtypes=REAL)
each([np.cumsum, np.cumprod], X1, axis=axis_or_none)

# --- Shapes -------------------------------------------------------------------------------------

sample(np.reshape, X, other_shape, order=pick("C", "F"))
sample(np.ravel, X, order=pick("C", "F"))
each([np.transpose], X, permutation)
sample(np.matrix_transpose, X2)
sample(np.swapaxes, X1, axis, axis)
sample(np.moveaxis, X1, axis, axis)
sample(np.rollaxis, X1, axis, lambda d: d(st.integers(-d.x.ndim, d.x.ndim)))
sample(np.squeeze, array(1, 3, 1), axis=pick(None, 0, -1, (0, 2)))
sample(np.expand_dims, X, axis=pick(0, -1, (0, -1)))
sample(np.flip, X, axis=axes)
sample(np.rot90, X2, SMALL, axes=pick((0, 1), (1, 0), (-2, -1)))
sample(np.fliplr, X2)
sample(np.flipud, X1)
sample(np.roll, X1, st.integers(-4, 4), axis=axis_or_none)
sample(np.copy, X)
each([np.atleast_1d, np.atleast_2d, np.atleast_3d], X)
sample(np.broadcast_to, X, wider_shape)
sample(np.broadcast_arrays, X, beside)
sample(np.repeat, N1, lambda d: d(st.integers(0, 3)), axis=axis_or_none)
sample(np.tile, X, st.integers(0, 2) | st.lists(st.integers(0, 2), max_size=4).map(tuple))
sample(np.concatenate, parts_and_axis, via=joined)
sample(np.stack, alike_and_axis, via=joined)
each([np.hstack, np.vstack, np.dstack, np.column_stack], several(array(2, 2)))
sample(np.append, X1, like, axis=axis_or_none)
sample(np.block, lambda d: [[array(2, 1)(d), array(2, 2)(d)], [array(1, 3)(d)]])
sample(np.split, array(2, 4), pick(2, [1, 3], [3, 1]), axis=pick(1, -1))
sample(np.array_split, X1, st.integers(1, 4), axis=axis)
each([np.hsplit], array(2, 4), pick(2, [1, 3]))
each([np.vsplit], array(4, 2), pick(2, [1, 3]))
each([np.dsplit], array(1, 2, 4), pick(2, [1, 3]))
sample(np.pad, N1, pick(0, 2, (1, 2)), mode=pick("constant", "edge", "wrap", "symmetric"))

# --- Positions and conditions -------------------------------------------------------------------

sample(np.where, SIDES, array(2, 3), beside)
sample(np.take, N, positions(), axis=None, mode=pick("raise", "wrap", "clip"))
sample(np.take_along_axis, array(2, 3), np.array([[2, 0, 0, 1]]), axis=pick(1, -1))
sample(np.compress, SIDES, array(3, 3), axis=pick(None, 0, -1))
sample(np.extract, np.array([SIDES] * 2), array(2, 3))
sample(np.diagonal, X2, offset=SMALL)
sample(np.diag, array(dims=(1, 2)), k=SMALL)
sample(np.diagflat, X, k=SMALL)
each([np.tril, np.triu], X2, k=SMALL)
sample(np.copyto, X, lambda d: d.array(d.x.shape[-1:]), where=maybe(mask), via=written)
sample(np.put, N, positions(3), array(2), mode=pick("raise", "wrap", "clip"), via=written)
sample(np.putmask, N, mask, array(2), via=written)
sample(np.place, array(2, 3), np.array([SIDES] * 2), array(2), via=written)
sample(np.fill_diagonal, array(3, 4), lambda d: d.array(()), via=written)
sample(np.sort, X1, axis=axis_or_none, dtypes=REAL)
sample(np.partition, array(3, 4), st.integers(0, 2), axis=axis, dtypes=REAL, via=settled)

# --- Products -----------------------------------------------------------------------------------

sample(np.dot, bare("i", "j"), bare("j", "k"))
sample(np.inner, bare("i", "j"), bare("k", "j"))
sample(np.vdot, bare("i", "j"), bare("i", "j"))
each([np.matmul, la.matmul], matrix("i", "j"), matrix("j", "k"))
each([np.vecdot, la.vecdot], matrix("i"), matrix("i"))
each([f for f in (getattr(np, "matvec", None),) if f], matrix("i", "j"), matrix("j"))
each([f for f in (getattr(np, "vecmat", None),) if f], matrix("i"), matrix("i", "j"))
each([np.tensordot, la.tensordot], array(2, 1, 3), array(1, 3, 2), axes=pick(2, ([1, -1], [0, 1])))
# NumPy 2.4's einsum writes past the end of its result for axes of no elements: none is here.
sample(np.einsum, pick("ij,jk", "ij,jk->j", "...j,jk->k..."), array(2, 3), array(3, 1))
each([np.outer], X, X)
each([la.outer], bare("i"), bare("j"))
sample(np.kron, bare("i", "j"), bare("k", "l"))
each([np.cross, la.cross], array(2, 3), array(2, 3))
sample(la.multi_dot, lambda d: [bare("i", "j")(d), bare("j", "k")(d), bare("k", "l")(d)])
sample(la.matrix_power, square, st.integers(-2, 3), dtypes=LAPACK)
each([np.trace], X2, offset=SMALL)
each([la.trace, la.diagonal], X2, offset=SMALL)
sample(la.matrix_transpose, X2)

# --- Linear algebra -----------------------------------------------------------------------------

each([la.inv, la.det, la.slogdet, la.pinv], square, dtypes=LAPACK)
sample(la.solve, square, matrix("n", "k"), dtypes=LAPACK)
sample(la.tensorinv, tensor, ind=2, dtypes=LAPACK_REAL)
sample(la.tensorsolve, tensor, array(2, 3), dtypes=LAPACK_REAL)
sample(la.cholesky, positive, upper=FLAGS, dtypes=LAPACK, via=of_hermitian_part)
each([la.eigh], symmetric, UPLO=pick("L", "U"), dtypes=LAPACK_REAL, via=of_hermitian_part)
sample(la.eigvalsh, symmetric, UPLO=pick("L", "U"), dtypes=LAPACK, via=of_hermitian_part)
sample(la.svd, tall, full_matrices=False, compute_uv=FLAGS, dtypes=LAPACK_REAL)
sample(la.svdvals, tall, dtypes=LAPACK)
sample(la.qr, tall, dtypes=LAPACK)
sample(la.lstsq, tall_alone, lambda d: d.array((d.x.shape[0], 2)), rcond=None, dtypes=LAPACK_REAL)
sample(la.eigvals, upper, dtypes=LAPACK_REAL)
sample(la.eig, upper, dtypes=LAPACK_REAL, via=unsigned)
sample(la.norm, N1, axis=axis_or_none, keepdims=FLAGS)
sample(la.vector_norm, N1, ord=pick(1, 2, 3, np.inf, -np.inf), axis=axes, keepdims=FLAGS)
sample(la.matrix_norm, tall, ord=pick("fro", "nuc", 1, -1, 2, -2, np.inf), dtypes=LAPACK)
sample(la.cond, square, dtypes=LAPACK)

# --- Piecewise constant functions, and functions of shapes --------------------------------------

each([np.floor, np.ceil, np.trunc, np.spacing, np.signbit], X, dtypes=REAL)
each([np.rint, np.isfinite, np.isinf, np.isnan, np.logical_not], X)
each([np.floor_divide, np.nextafter], X, beside, dtypes=REAL)
each([np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_xor], X, beside)
each([np.less, np.less_equal, np.greater, np.greater_equal], X, beside)
each([np.round, np.around], X, decimals=st.integers(0, 2))
each([np.fix, np.isposinf, np.isneginf], X, dtypes=REAL)
each([np.argmax, np.argmin, np.argsort], N1, axis=axis_or_none)
sample(np.argpartition, array(3, 4), st.integers(0, 2), axis=axis)
each([np.argwhere, np.nonzero], X1)
each([np.flatnonzero, np.shape, np.ndim, np.size, np.isreal, np.iscomplex], X)
each([np.iscomplexobj, np.isrealobj, np.array2string, np.array_repr], X)
sample(np.array_str, N1)
each([np.count_nonzero, np.any, np.all], X, axis=axes, keepdims=FLAGS)
sample(np.searchsorted, np.array([-1.0, 0.5]), X, side=pick("left", "right"), dtypes=REAL)
sample(np.digitize, X, np.array([-1.0, 0.5]), right=FLAGS, dtypes="df")
each([np.isclose, np.allclose, np.isin, np.array_equiv], X, beside)
each([np.array_equal, np.result_type, np.common_type], X, like)
each([np.shares_memory, np.may_share_memory], X, like)
sample(np.can_cast, lambda d: d.array(()).dtype, np.float64)
sample(np.min_scalar_type, array(2))
sample(np.lexsort, lambda d: (array(3)(d), array(3)(d)))
each([np.zeros_like, np.ones_like], X)
sample(np.full_like, X, lambda d: d.array(d.x.shape[-1:]))
sample(la.matrix_rank, square, dtypes=LAPACK)
sample(np.einsum_path, "ij,jk->ik", array(2, 3), array(3, 2))
