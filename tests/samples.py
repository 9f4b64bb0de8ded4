"""The table of samples: how the arguments of each function are drawn, one line a function.

`sample(function, *parts, **params)`: each part is a constant, a Hypothesis strategy, or a maker: a
Python function of the `Draw` that makes the part from what was drawn before. The first array is
`d.x`. Domains keep away from poles and branch points; arrays of one draw share no element.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from tapegrad.testing import arrays, shapes

REAL, ALL, LAPACK, LAPACK_REAL = "dfg", "dfgDF", "dfDF", "df"


class Draw:
    """One example while it is drawn."""

    def __init__(self, data: st.DataObject, dtype: str, domains: tuple[tuple[float, float], ...]):
        self.data = data
        self.dtype = np.dtype(dtype)
        self.domains = domains
        self.arrays: list[Any] = []

    @property
    def x(self) -> Any:
        return self.arrays[0]

    def __call__(self, strategy: Any) -> Any:
        return self.data.draw(strategy)

    def array(self, shape: Any) -> Any:
        count = len(self.arrays)
        low, high = self.domains[min(count, len(self.domains) - 1)]
        phase = (0.37 + 0.23 * count) % 1  # another one for each array
        made = self(arrays(self.dtype, shape, low=low, high=high, phase=phase))
        self.arrays.append(made)
        return made

    def part(self, part: Any) -> Any:
        if isinstance(part, types.FunctionType):
            return part(self)
        return self(part) if isinstance(part, st.SearchStrategy) else part


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
ABSENT = types.SimpleNamespace()  # a parameter that is not passed


def sample(
    function: Any, *parts: Any, on: Any = (-2.0, 2.0), dtypes: str = ALL, via: Any = None,
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


# --- Makers -------------------------------------------------------------------------------------


def array(*shape: int, dims: tuple[int, int] = (0, 3), side: int = 0) -> Any:
    """An array of a shape, or of any with so many dimensions and sides of `side` to 3."""
    return lambda d: d.array(shape or shapes(*dims, min_side=side))


def beside(d: Draw) -> Any:
    """An array that broadcasts with x, either way."""
    shape = list(d.x.shape[d(st.integers(0, d.x.ndim)) :])
    for axis in range(len(shape)):
        if shape[axis] == 1:
            shape[axis] = d(st.integers(0, 3))
        elif d(st.booleans()):
            shape[axis] = 1
    lead = d(st.lists(st.integers(1, 2), max_size=1)) if len(shape) == d.x.ndim < 3 else []
    return d.array((*lead, *shape))


def like(d: Draw) -> Any:
    return d.array(d.x.shape)


def axis(d: Draw) -> Any:
    return d(st.integers(-d.x.ndim, d.x.ndim - 1))


def axis_or_none(d: Draw) -> Any:
    return d(st.none()) if d.x.ndim == 0 or d(st.booleans()) else axis(d)


def axes(d: Draw) -> Any:
    """None, one axis, or a tuple of axes, some of them negative."""
    if d.x.ndim == 0 or d(st.booleans()):
        return axis_or_none(d)
    chosen = d(st.permutations(range(d.x.ndim)))[: d(st.integers(0, d.x.ndim))]
    return tuple(a - d.x.ndim if d(st.booleans()) else a for a in chosen)


def permutation(d: Draw) -> Any:
    return d(st.none() | st.permutations(range(d.x.ndim)).map(tuple))


def mask(d: Draw) -> Any:
    size = d.x.size
    return np.array(d(st.lists(st.booleans(), min_size=size, max_size=size)), bool).reshape(d.x.shape)


def mask_or_absent(d: Draw) -> Any:
    return mask(d) if d(st.booleans()) else ABSENT


def maybe(part: Any) -> Any:
    return lambda d: d.part(part) if d(st.booleans()) else ABSENT


def other_shape(d: Draw) -> Any:
    """A shape with as many elements as x."""
    kept = [side for side in d.x.shape if side != 1]
    return d(st.sampled_from([(-1,) if d.x.size else (0,), d.x.shape[::-1], (1, *kept), (*kept, 1, 1)]))


def wider_shape(d: Draw) -> Any:
    """A shape that x broadcasts to."""
    sides = [d(st.integers(0, 3)) if side == 1 else side for side in d.x.shape]
    return (*d(st.lists(st.integers(0, 2), max_size=1)), *sides)


def positions(count: int | None = None) -> Any:
    """Positions within x, negative ones among them, of any shape or so many."""

    def made(d: Draw) -> Any:
        within = st.integers(-d.x.size, d.x.size - 1)
        flat = d(st.lists(within, min_size=count or 0, max_size=count or 4))
        return np.array(flat, np.intp)

    return made


def several(part: Any, least: int = 1) -> Any:
    """A list or a tuple of arrays."""

    def made(d: Draw) -> Any:
        parts = [d.part(part) for _ in range(d(st.integers(least, 3)))]
        return d(st.sampled_from([list, tuple]))(parts)

    return made


def joined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A joining function of an axis drawn with the parts: `function(parts, axis)` of a pair."""
    return lambda pair: function(pair[0], axis=pair[1])


def parts_and_axis(d: Draw) -> Any:
    """Arrays that agree but along one axis."""
    first = d.array(shapes(1, 3))
    at = axis(d)
    shape = list(first.shape)
    parts = [first]
    for _ in range(d(st.integers(0, 2))):
        shape[at] = d(st.integers(0, 3))
        parts.append(d.array(tuple(shape)))
    return parts, at


def alike_and_axis(d: Draw) -> Any:
    """Arrays of one shape, and an axis of their stack."""
    parts = [d.array(shapes()), *(like(d) for _ in range(d(st.integers(0, 2))))]
    return parts, d(st.integers(-d.x.ndim - 1, d.x.ndim))


def matrix(*core: str) -> Any:
    """Arrays with core sides by letter after 0 or 1 loop sides, the same letter the same side."""

    def made(d: Draw) -> Any:
        sides = d.__dict__.setdefault("sides", {})
        lead = d.__dict__.setdefault("lead", d(st.lists(st.integers(1, 2), max_size=1)))
        lead = lead if d(st.booleans()) else []
        return d.array((*lead, *(sides.setdefault(c, d(st.integers(1, 3))) for c in core)))

    return made


def bare(*core: str) -> Any:
    """As `matrix` without loop sides; sides of 0 are among them."""

    def made(d: Draw) -> Any:
        sides = d.__dict__.setdefault("sides", {})
        return d.array(tuple(sides.setdefault(c, d(st.integers(0, 3))) for c in core))

    return made


def square(d: Draw) -> Any:
    """Well-conditioned square matrices without symmetry."""
    made = matrix("n", "n")(d)
    raised = 0.4 * made + 3 * np.arange(1, made.shape[-1] + 1) * np.eye(made.shape[-1])
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def positive(d: Draw) -> Any:
    """Well-conditioned Hermitian positive definite matrices."""
    made = square(d)
    d.arrays[-1] = (made @ np.conj(np.swapaxes(made, -1, -2))).astype(d.dtype)
    return d.arrays[-1]


def symmetric(d: Draw) -> Any:
    """Symmetric matrices with distinct eigenvalues."""
    made = square(d)
    d.arrays[-1] = ((made + np.conj(np.swapaxes(made, -1, -2))) / 2).astype(d.dtype)
    return d.arrays[-1]


def tall(d: Draw) -> Any:
    """Matrices of full rank, with more rows than columns or fewer, and distinct singular values."""
    made = matrix("m", "n")(d)
    raised = 0.4 * made + 4 * np.eye(*made.shape[-2:]) * np.arange(1, made.shape[-1] + 1)
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def tall_alone(d: Draw) -> Any:
    """One matrix with at least as many rows as columns, of full rank."""
    columns = d(st.integers(1, 3))
    d.array((columns + d(st.integers(0, 1)), columns))
    d.arrays[-1] = (d.x + 5 * np.eye(*d.x.shape)).astype(d.dtype)
    return d.x


def tensor(d: Draw) -> Any:
    """A tensor that is a well-conditioned matrix from its last side to the others."""
    made = d.array((2, 3, 6)) + 5 * np.eye(6).reshape(2, 3, 6)
    d.arrays[-1] = made.astype(d.dtype)
    return d.x


def upper(d: Draw) -> Any:
    """Matrices whose eigenvalues are real and apart."""
    made = matrix("n", "n")(d)
    raised = 0.1 * made + 3 * np.arange(1, made.shape[-1] + 1) * np.eye(made.shape[-1])
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def written(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes to its first argument, as one that returns what was written."""

    def result(x: Any, *args: Any, **params: Any) -> Any:
        y = np.copy(x)
        function(y, *args, **params)
        return y

    return result


def settled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of np.partition what it promises: the element at one position."""
    return lambda x, kth, axis: np.take(function(x, kth, axis=axis), kth, axis)


def of_hermitian_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Hermitian matrices as one of all: it reads one triangle and implies the other."""

    def result(a: Any, **params: Any) -> Any:
        return function((a + np.conj(np.swapaxes(a, -1, -2))) / 2, **params)

    return result


X, X1, X2 = array(), array(dims=(1, 3)), array(dims=(2, 3))
N, N1, N2 = array(side=1), array(dims=(1, 3), side=1), array(dims=(2, 3), side=1)
FLAGS = st.booleans()
SMALL = st.integers(-3, 3)

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
sample(np.average, N, axis=axis_or_none, weights=lambda d: like(d) if d(FLAGS) else None, on=[(-2, 2), (0.3, 2)])
each([np.var, np.std], N, axis=axes, keepdims=FLAGS)
sample(np.prod, X, axis=axes, keepdims=FLAGS, where=mask_or_absent, initial=maybe(2.5))
each([np.max, np.min], N, axis=axes, keepdims=FLAGS, dtypes=REAL)
sample(np.ptp, N, axis=axes, keepdims=FLAGS, dtypes=REAL)
sample(np.clip, X, beside, lambda d: d.array(()), on=[(-2, 2), (-1, 0), (0.2, 1)], dtypes=REAL)
each([np.cumsum, np.cumprod], X1, axis=axis_or_none)

# --- Shapes -------------------------------------------------------------------------------------

sample(np.reshape, X, other_shape, order=st.sampled_from("CF"))
sample(np.ravel, X, order=st.sampled_from("CF"))
each([np.transpose], X, permutation)
sample(np.matrix_transpose, X2)
sample(np.swapaxes, X1, axis, axis)
sample(np.moveaxis, X1, axis, axis)
sample(np.rollaxis, X1, axis, lambda d: d(st.integers(-d.x.ndim, d.x.ndim)))
sample(np.squeeze, array(1, 3, 1), axis=st.sampled_from([None, 0, -1, (0, 2)]))
sample(np.expand_dims, X, axis=st.sampled_from([0, -1, (0, -1)]))
sample(np.flip, X, axis=axes)
sample(np.rot90, X2, SMALL, axes=st.sampled_from([(0, 1), (1, 0), (-2, -1)]))
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
sample(np.split, array(2, 4), st.sampled_from([2, [1, 3], [3, 1]]), axis=st.sampled_from([1, -1]))
sample(np.array_split, X1, st.integers(1, 4), axis=axis)
each([np.hsplit], array(2, 4), st.sampled_from([2, [1, 3]]))
each([np.vsplit], array(4, 2), st.sampled_from([2, [1, 3]]))
each([np.dsplit], array(1, 2, 4), st.sampled_from([2, [1, 3]]))
sample(np.pad, N1, st.sampled_from([0, 2, (1, 2)]), mode=st.sampled_from(["constant", "edge", "wrap", "symmetric"]))

# --- Positions and conditions -------------------------------------------------------------------

sample(np.where, lambda d: np.array(d(st.lists(FLAGS, min_size=3, max_size=3))), array(2, 3), beside)
sample(np.take, N, positions(), axis=None, mode=st.sampled_from(["raise", "wrap", "clip"]))
sample(np.take_along_axis, array(2, 3), np.array([[2, 0, 0, 1]]), axis=st.sampled_from([1, -1]))
sample(np.compress, np.array([True, False, True]), array(3, 3), axis=st.sampled_from([None, 0, -1]))
sample(np.extract, np.array([[True, False, True]] * 2), array(2, 3))
sample(np.diagonal, X2, offset=SMALL)
sample(np.diag, array(dims=(1, 2)), k=SMALL)
sample(np.diagflat, X, k=SMALL)
each([np.tril, np.triu], X2, k=SMALL)
sample(np.copyto, X, lambda d: d.array(d.x.shape[-1:]), where=maybe(mask), via=written)
sample(np.put, N, positions(3), array(2), mode=st.sampled_from(["raise", "wrap", "clip"]), via=written)
sample(np.putmask, N, mask, array(2), via=written)
sample(np.place, array(2, 3), np.array([[True, False, True]] * 2), array(2), via=written)
sample(np.fill_diagonal, array(3, 4), lambda d: d.array(()), via=written)
sample(np.sort, X1, axis=axis_or_none, dtypes=REAL)
sample(np.partition, array(3, 4), st.integers(0, 2), axis=axis, dtypes=REAL, via=settled)

# --- Products -----------------------------------------------------------------------------------

sample(np.dot, bare("i", "j"), bare("j", "k"))
sample(np.inner, bare("i", "j"), bare("k", "j"))
sample(np.vdot, bare("i", "j"), bare("i", "j"))
each([np.matmul, np.linalg.matmul], matrix("i", "j"), matrix("j", "k"))
each([np.vecdot, np.linalg.vecdot], matrix("i"), matrix("i"))
each([f for f in (getattr(np, "matvec", None),) if f], matrix("i", "j"), matrix("j"))
each([f for f in (getattr(np, "vecmat", None),) if f], matrix("i"), matrix("i", "j"))
each([np.tensordot, np.linalg.tensordot], bare("i", "j", "k"), bare("j", "k", "l"), axes=st.sampled_from([2, ([1, -1], [0, 1])]))
each([np.einsum], st.sampled_from(["ij,jk->ik", "ij,jk", "ij,jk->j", "...j,jk->k..."]), bare("i", "j"), bare("j", "k"))
each([np.outer], X, X)
each([np.linalg.outer], bare("i"), bare("j"))
sample(np.kron, bare("i", "j"), bare("k", "l"))
each([np.cross, np.linalg.cross], array(2, 3), array(2, 3))
sample(np.linalg.multi_dot, lambda d: [bare("i", "j")(d), bare("j", "k")(d), bare("k", "l")(d)])
sample(np.linalg.matrix_power, square, st.integers(-2, 3), dtypes=LAPACK)
each([np.trace], X2, offset=SMALL)
each([np.linalg.trace, np.linalg.diagonal], X2, offset=SMALL)
sample(np.linalg.matrix_transpose, X2)

# --- Linear algebra -----------------------------------------------------------------------------

each([np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.pinv], square, dtypes=LAPACK)
sample(np.linalg.solve, square, matrix("n", "k"), dtypes=LAPACK)
sample(np.linalg.tensorinv, tensor, ind=2, dtypes=LAPACK_REAL)
sample(np.linalg.tensorsolve, tensor, array(2, 3), dtypes=LAPACK_REAL)
sample(np.linalg.cholesky, positive, upper=FLAGS, dtypes=LAPACK, via=of_hermitian_part)
each([np.linalg.eigh], symmetric, UPLO=st.sampled_from("LU"), dtypes=LAPACK_REAL, via=of_hermitian_part)
sample(np.linalg.eigvalsh, symmetric, UPLO=st.sampled_from("LU"), dtypes=LAPACK, via=of_hermitian_part)
sample(np.linalg.svd, tall, full_matrices=False, compute_uv=FLAGS, dtypes=LAPACK_REAL)
sample(np.linalg.svdvals, tall, dtypes=LAPACK)
sample(np.linalg.qr, tall, dtypes=LAPACK)
sample(np.linalg.lstsq, tall_alone, lambda d: d.array((d.x.shape[0], 2)), rcond=None, dtypes=LAPACK_REAL)
sample(np.linalg.eigvals, upper, dtypes=LAPACK_REAL)
sample(np.linalg.eig, upper, dtypes=LAPACK_REAL)
sample(np.linalg.norm, N1, axis=axis_or_none, keepdims=FLAGS)
sample(np.linalg.vector_norm, N1, ord=st.sampled_from([1, 2, 3, np.inf, -np.inf]), axis=axes, keepdims=FLAGS)
sample(np.linalg.matrix_norm, tall, ord=st.sampled_from(["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]), keepdims=FLAGS, dtypes=LAPACK)
sample(np.linalg.cond, square, dtypes=LAPACK)

# --- Piecewise constant functions, and functions of shapes ------------------------------------------

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
sample(np.searchsorted, np.array([-1.0, 0.5]), X, side=st.sampled_from(["left", "right"]), dtypes=REAL)
sample(np.digitize, X, np.array([-1.0, 0.5]), right=FLAGS, dtypes="df")
each([np.isclose, np.allclose, np.isin, np.array_equiv], X, beside)
each([np.array_equal, np.shares_memory, np.may_share_memory, np.result_type, np.common_type], X, like)
sample(np.can_cast, lambda d: d.array(()).dtype, np.float64)
sample(np.min_scalar_type, array(2))
sample(np.lexsort, lambda d: (array(3)(d), array(3)(d)))
each([np.zeros_like, np.ones_like], X)
sample(np.full_like, X, lambda d: d.array(d.x.shape[-1:]))
sample(np.linalg.matrix_rank, square, dtypes=LAPACK)
sample(np.einsum_path, "ij,jk->ik", array(2, 3), array(3, 2))
