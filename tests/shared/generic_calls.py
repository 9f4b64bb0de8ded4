"""Calls of all of NumPy's functions with generic arguments.

A pattern is the text of a call: small letters are differentiated (`v` and `w` vectors, `m` and `n`
matrices, `s` a scalar, `z` a complex vector), capital letters are plain.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

MATRIX = np.array([[2.31, 0.42, -0.17], [0.36, 1.67, 0.29], [-0.23, 0.13, 2.93]])
DIFFERENTIATED = {
    "v": np.array([0.63, 0.21, 0.87, 0.46]),
    "w": np.array([0.34, 0.92, 0.15, 0.71]),
    "m": MATRIX,
    "n": MATRIX[::-1] * 0.7 + 0.11,
    "s": np.array(0.37),
    "z": np.array([0.63 + 0.2j, 0.21 - 0.5j, 0.87 + 0.1j, -0.46 + 0.3j]),
}
PLAIN = {
    "V": np.array([0.17, 0.38, 0.59, 0.83]),
    "M": MATRIX + 0.05,
    "S": 0.42,
    "MASK": np.array([True, False, True, False]),
    "INDEX": np.array([2, 0]),
    "TRIANGLE": np.array([[2, 0, 1], [1, 2, 0], [0, 1, 2]]),
}
SHORT = """
f(v)  f(m)  f(s)  f(v, w)  f(v, V)  f(V, v)  f(m, n)  f(m, v[:3])  f(m, M)  f(M, m)  f([v, w])
f([v, V])  f((v, V, w))  f([s, 1.0])  f([[s, 0.2], [0.1, s]])  f([m, n])  f(v, 1)  f(v, 0.5)
f(v, s)  f(s, v)  f(2, v)  f(0.5, v)  f(m, 0)  f(m, 1)  f(m, 2, 1)  f(v, w, V)  f(v, 0.2, 0.7)
f(v, s, 0.9)  f(V, v, w)  f(MASK, v)  f(MASK, v, 0.5)  f(v, MASK, w)  f(v, INDEX)  f(v, INDEX, s)
f(V, INDEX, w[:2])  f(v, [1, 2], 0.5)  f(m, TRIANGLE, 0)  f(m, axis=0)  f(m, axis=-1)
f(m, n, axis=1)  f([v, w], axis=0)  f(m, 0.3, axis=0)  f(v, axis=0)  f((4,), s)  f((2, 4), v)
f(v, (2, 2))  f(v, (2, 4))  f(3, like=v)  f(v, like=w)  f(0.1, s, 5)  f(s, 1.0, 5)
f("ij,jk", m, n)  f("ij->i", m)  f(np.sort, 0, m)  f(np.sum, m, 0)  f(v, [v > 0.4], [w, 0.5])
f([v > 0.4], [v * 2])  f(V, out=v)  f(v, out=V)  f(v, V, out=w)  f(v, axis=0, where=MASK)
f(v, keepdims=True)  f(v, dtype=complex)  f(v, dtype=int)  f(z)  f(z, v)
"""
LONG = """
f(v, weights=w)  f(v, weights=V)  f(v, initial=0.3)  f(v, initial=s)  f(v, ddof=1)
f(v, mode="same")  f(v, w, "full")  f(v, 2, "wrap")  f(v, (1, 2), "reflect")
f(v, 1, "constant", constant_values=s)  f(m, axis=None)  f(m, axis=(0, 1))
f(m, axis=1, keepdims=True)  f(m, 0.3, axis=1, keepdims=True)  f(m, None)  f(m, (1, 0))  f(m, -1)
f(m, 1, axis=1)  f(m, [0, 2], axis=1)  f(m, INDEX, 0)  f(m, [0, 2], v[:3], 1)  f(v, [0, 3], axis=0)
f(v, 1, s)  f(v, -1)  f(v, 2.0)  f(v, 3)  f(v, -0.3)  f(m, n, v[:3])  f(m, m)  f(v, v)  f(m[:2], m)
f(m, n[:, :2])  f(m, M, n)  f(v[:3], m)  f(z, z)  f(z, 2)  f([z, v])  f(z, V)  f(m + 1j * n)
f(v[None])  f(v[:0])  f(m[:, :0])  f(v[:1])  f(s, s)  f(s, 2)  f(2.5, s)  f(s, S)
f(float(S), v, w)  f([s, s, 0.3], 2)  f([[v], [w]])  f(v, [0.25, 0.75])  f(v, [s, 0.6])
f(m, [s, 0.6], axis=1)  f(V, V, v)  f(s, V, v)  f(v, V, w)  f(v, bins=3)  f(v, 3, weights=w)
f(v, 3, (0.0, 1.0))  f(v, V, weights=w)  f([0, 1, 1, 2], v)  f(m, 1, 0)  f(m, 0, 1)  f(m, 0, 0, 1)
f(v, (2, -1))  f(v, order="F")  f(m, order="F")  f(m, "F")  f(m, "fro")  f(m, "nuc")  f(m, 2)
f(v, ord=1)  f(v, ord=np.inf)  f(m, ord=-np.inf)  f(m, UPLO="U")  f(m, "r")  f(m, "complete")
f(m, full_matrices=False)  f(m, compute_uv=False)  f(m, upper=True)  f(m, M, None)  f(v, n=6)
f(v, 3, 0)  f(m, norm="ortho")  f(m, (2, 3))  f(v, norm="forward")  f([0, 1, 1, 0], [v, w])
f([[0, 1], [1, 0]], [v[:2], w[:2]])  f(v, [0, 1, 1, 0])  f(v, s, axis=0)  f(v, dtype=np.float32)
f(v, copy=True)  f(v, nan=s)  f(v, prepend=s)  f(v, append=0.2)  f(v, dx=s)  f(m, V[:3], axis=0)
f(v, x=V)  f(v, x=w)  f(v, period=s)  f(v, left=s)  f(v, V, w, s)  f(v, V, w, period=1.5)
f(v, 1, 2)  f(v, 0, s)  f(m, n, 1)  f(m, n, ([0], [1]))  f(m, n, rowvar=False)  f(v, w, 2)
f(v, w, True)  f("ij,j->i", m, v[:3])  f("i,i", v, w)  f("ii", m)  f("...i->...", m, optimize=True)
f([v > 0.4, v > 0.8], [v, w], s)  f(v, [v > 0.4, v <= 0.4], [np.sin, np.cos])
f(v, axis=None, where=MASK, initial=s)  f(v, out=w, where=MASK)  f(np.max, 1, m)
f(np.mean, m, [0, 1])  f(v, keepdims=True, axis=0)  f(v, w, out=V, where=MASK)  f(m, v[:3], out=n)
f(v, V, out=(w,))  f(v, w, dtype=complex)  f(v, casting="unsafe", dtype=np.float32)  f(m, k=1)
f(m, offset=1)  f(m, 1, 0, 1)  f(3, s)  f((3, 3), s, like=v)  f((2, 2), like=s)  f(v, shape=(2, 2))
f(v, 2, writeable=True)  f(v, shape=4)  f(2, 3, like=v)  f(s, 2.0, 5, endpoint=False)  f(v, w, 3)
f(V, v, 3)  f(0, s, num=4, axis=0)  f(v, assume_unique=True)  f(v, return_counts=True)
f(v, decimals=1)  f(v, min=s)  f(v, max=0.5)  f(v, None, s)  f(v, equal_nan=True)  f(v, rtol=s)
"""
# Calls of the methods of ufuncs.
METHODS = {
    "reduce": """
f(v)  f(m)  f(m, 1)  f(m, axis=None)  f(m, axis=(0, 1))  f(m, axis=-1, keepdims=True)
f(m, axis=())  f(m, initial=0.3)  f(v, initial=s)  f(m, axis=1, where=m > 0.5, initial=0.4)
f(m, out=v[:3])  f(m, axis=0, dtype=complex)  f([v, w])  f(v[:0])  f(v[:0], initial=s)  f(v[:1])
f(v, where=MASK)  f(m, (1, 0), None, None, True)  f(m, axis=(0, 1), initial=0.3, where=m > 0.5)
f(s)  f(z)
""",
    "accumulate": "f(v)  f(m)  f(m, 1)  f(m, axis=-1)  f(v, out=w)  f(v, 0, complex)  f([v, w])",
    "reduceat": "f(v, [0, 2])  f(m, [0, 2, 1], 1)  f(v, [3, 1, 1])  f(v, INDEX, out=w[:2])",
    "outer": "f(v, w)  f(v, V)  f(V, v)  f(m, v)  f(0.5, v)  f(s, w)  f(v, [0.5, 2.0])  f(z, v)",
    "at": """
f(v, [0, 2, 0])  f(v, [0, 2, 0], w[:3])  f(v, INDEX, s)  f(v, slice(1, 3), V[:2])  f(v, MASK, 0.5)
f(m, ([0, 1], [1, 1]), 0.5)  f(m, [0, 0], v[:3])  f(m, (0, [1, 1]), s)  f(V, [0, 1], w[:2])
f(v, 1)  f(v, 2, s)  f(m, (Ellipsis, [0, 0]), n[:, :2])  f(m, slice(None), n)  f(z, [1, 1], w[:2])
""",
}
# What no function's call reaches: indexers, classes, iterators, writes, Python's own functions.
OBJECTS = """
np.r_[v, 1.0]  np.c_[v, w]  np.r_["0,2", v, w]  np.mgrid[0:s:3j]  np.ogrid[0:s:3j]  np.s_[s]
np.poly1d(v)(s)  np.poly1d(v)(V)  np.poly1d(V)(s)  np.poly1d(v).deriv()  np.poly1d(v).roots
np.polynomial.Polynomial(v)(s)  np.polynomial.Polynomial(V)(v)  np.polynomial.Polynomial(V)(s)
np.polynomial.Chebyshev(v)(s)  np.polynomial.Polynomial(v).integ()  np.polynomial.Legendre(V)(v)
np.polynomial.Polynomial.fit(V, v, 1)  np.polynomial.Polynomial(v) * np.polynomial.Polynomial(w)
np.vectorize(lambda a: a * a)(v)  np.vectorize(lambda a, b: a if a > b else b)(v, w)
np.frompyfunc(lambda a: a * a, 1, 1)(v)  [x * 1 for x in np.nditer(v)]  list(np.broadcast(v, w))
[x for _, x in np.ndenumerate(v)]  np.array([v, w])  np.array([s, 1.0])  np.asarray(v)
np.array(v, ndmin=2)  np.fromiter(iter([s, s]), float)  np.fromiter(v, float)  np.float64(s)
np.matrix(v)  v.flat[1]  list(v.flat)  np.asarray(v.flat)  np.ma.array(v)  np.ma.sum(v)
np.lib.stride_tricks.sliding_window_view(v, 2)  np.lib.stride_tricks.as_strided(v, (2,), (8,))
np.random.default_rng(0).normal(v)  np.random.default_rng(0).permutation(v)
np.random.default_rng(0).choice(v)  np.einsum_path("i,i", v, w)  np.char.add(v, w)
[float(x) for x in v]  sum(v)  max(v)  sorted(v)  list(reversed(v))  [*map(abs, v)]  pow(s, 2)
divmod(s, 0.3)  complex(s)  v.tolist()  [V.fill(s), V]  [V.put([0], s), V]
[V.__setitem__(0, s), V]  [V.__setitem__(slice(None), v), V]  [V.__iadd__(v), V]
[np.copyto(V, v), V]  [V.flat.__setitem__(0, s), V]  [np.add(V, v, V), V]
[np.add.at(V, [0], s), V]  memoryview(v)  bytes(v)  v.__array_interface__  v.data
v[v.argmax()]  v[v > s]  v[[0, 0]]  m[:, None, 1]  m[..., ::-1]  m[np.ix_([0, 2], [1])]  V[int(s)]
V * v.size  [v.__setitem__(0, s), v]  [v.__setitem__(V > 0.5, 0.0), v]  [v.sort(), v]
[v.fill(s), v]  [v.partition(2), v]  [v.put([0, 1], w[:2]), v]  [v.__imul__(w), v]
"""
HERMITIAN = "f(m)  f(m, hermitian=True)  f(m, UPLO='U')  f(m + 1j * (n - n.T))"

SPACES = {
    "np": np,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "np.emath": np.emath,
    **{
        f"np.polynomial.{name}": importlib.import_module(f"numpy.polynomial.{name}")
        for name in (
            "polynomial",
            "chebyshev",
            "hermite",
            "hermite_e",
            "laguerre",
            "legendre",
        )
    },
}
LEFT_OUT = {
    # Their values are whatever the memory held.
    "empty",
    "empty_like",
    "ndarray",
    "recarray",
    # They take no array, and change NumPy's own state, print, or start something.
    "info",
    "printoptions",
    "set_printoptions",
    "setbufsize",
    "seterr",
    "seterrcall",
    "errstate",
    "show_config",
    "show_runtime",
    "test",
}


def public_callables(spaces: dict[str, Any] = SPACES) -> dict[str, Callable[..., Any]]:
    """All public callables by name, classes among them, each object once."""
    found: dict[int, tuple[str, Callable[..., Any]]] = {}
    for space, module in spaces.items():
        for name in dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and name not in LEFT_OUT and callable(value):
                found.setdefault(id(value), (f"{space}.{name}", value))
    return dict(sorted(found.values()))


def public_ufuncs() -> dict[str, np.ufunc]:
    """NumPy's ufuncs by name, each once."""
    callables = public_callables({"np": np}).items()
    return {name: f for name, f in callables if isinstance(f, np.ufunc) and not f.signature}


def ndarray_method(name: str) -> Callable[..., Any]:
    """A method of ndarray as a function."""

    def method(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    return method


class Pattern(NamedTuple):
    """The text of a call, compiled."""

    text: str
    names: tuple[str, ...]  # the differentiated ones
    call: Callable[..., Any]  # of the function, then of values for the names


@functools.cache  # each of six hundred functions is called by all of them
def patterns(text: str) -> tuple[Pattern, ...]:
    made = []
    for call in (part for line in text.split("\n") for part in line.split("  ") if part):
        used = {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}
        names = tuple(name for name in DIFFERENTIATED if name in used)
        plain = ", ".join(name for name in PLAIN if name in used)
        head = ", ".join(["f", *names])
        source = f"lambda {head}, *, {plain}: {call}" if plain else f"lambda {head}: {call}"
        made.append(Pattern(call, names, eval(source, {"np": np})))
    return tuple(made)


def expressions(text: str) -> tuple[Pattern, ...]:
    """Expressions in a namespace `np`, as calls of a function that passes a namespace on."""
    parts = [part for line in text.split("\n") for part in line.split("  ") if part]
    return patterns("  ".join(f"f(lambda np: {part})" for part in parts))


def plain_arguments(call: Callable[..., Any]) -> dict[str, Any]:
    """New copies of the plain arguments, for a call may write into them."""
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in ((name, PLAIN[name]) for name in plain_names(call))
    }


@functools.cache
def plain_names(call: Callable[..., Any]) -> tuple[str, ...]:
    names = inspect.signature(call).parameters
    return tuple(name for name in PLAIN if name in names)


class Program:
    """A function called as a pattern says: inputs to leaves of the result and of the arguments."""

    def __init__(self, function: Callable[..., Any], pattern: Pattern) -> None:
        self.function, self.pattern = function, pattern

    def __call__(self, *inputs: Any) -> list[Any]:
        written: list[Any] = []

        def recorded(*args: Any, **kwargs: Any) -> Any:
            written.extend([args, kwargs])
            return self.function(*args, **kwargs)

        result = self.pattern.call(recorded, *inputs, **plain_arguments(self.pattern.call))
        return [*leaves_of(result), *leaves_of(written)]


def leaves_of(value: Any) -> Iterator[Any]:
    """Numbers, arrays, texts in a result; polynomials by their coefficients."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves_of(part)
    elif isinstance(value, dict):
        yield from leaves_of(list(value.values()))
    elif isinstance(value, np.poly1d):
        yield value.coeffs
    elif isinstance(value, np.polynomial.Polynomial.__base__):
        yield from (value.coef, value.domain, value.window)
    else:
        yield value


def is_floating(leaf: Any) -> bool:
    dtype = getattr(leaf, "dtype", None)
    return isinstance(leaf, (float, complex)) or (
        isinstance(dtype, np.dtype) and dtype.kind in "fc"
    )


# --- Which calls have one answer ----------------------------------------------------------------

# They read one triangle of a matrix, if only by hermitian=True: their derivative is that of a
# function of symmetric matrices.
SYMMETRIC = {
    np.linalg.cholesky,
    np.linalg.eigh,
    np.linalg.eigvalsh,
    np.linalg.svd,
    np.linalg.pinv,
    np.linalg.matrix_rank,
}
# Calls without one right answer: vectors with a phase or a basis that is LAPACK's choice
# (docs/kinks.md), points between which np.interp says to have no meaning unless they increase,
# remainders whose length depends on which of their coefficients rounding makes zero, and divisors
# that lead with a zero.
CHOICES: dict[Any, set[str]] = {
    np.linalg.svd: {
        "f(v[None])",
        "f(m + 1j * n)",
        "f([v, w])",
        "f([v, V])",
        "f([z, v])",
        "f([[v], [w]])",
    },
    np.linalg.eig: {"f(m + 1j * n)"},
    np.interp: {"f(v, w, V)", "f(V, v, w)", "f(v, MASK, w)", "f(float(S), v, w)"},
    np.polydiv: {"f(v, [0, 1, 1, 0])"},
    SPACES["np.polynomial.polynomial"].polydiv: {"f(z, z)"},
    SPACES["np.polynomial.chebyshev"].chebdiv: {"f(z, z)"},
}
HERMITIAN_CHOICES: dict[Any, set[str]] = {
    np.linalg.svd: {"f(m + 1j * (n - n.T))"},
    np.linalg.eigh: {"f(m + 1j * (n - n.T))"},
}


def meaningful_calls(function: Any, text: str) -> Iterator[tuple[Any, Pattern, bool]]:
    """The calls of a function whose derivative is no one's choice: function, pattern, symmetric.

    Symmetric: its matrix is, and moves so.
    """
    triangular = function in SYMMETRIC
    for pattern in patterns(text):
        if pattern.text in CHOICES.get(function, ()) or (triangular and "m" in pattern.names):
            continue
        yield function, pattern, False
    for pattern in patterns(HERMITIAN) if triangular else ():
        if pattern.text not in HERMITIAN_CHOICES.get(function, ()):
            yield function, pattern, True
