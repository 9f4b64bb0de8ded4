"""The native back end computes in NumPy's integer dtypes, and in booleans, as NumPy does."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from test_native import runner_of
from test_native_ulps import assert_within

import tapegrad

WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = [*WHOLE, "bool"]
ONE = "negative absolute square sign invert logical_not positive".split()
TWO = (
    "add subtract multiply divide floor_divide remainder maximum minimum fmax fmin less "
    "less_equal greater greater_equal equal not_equal bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift logical_and logical_or logical_xor"
).split()
OTHERS = {
    "sum": np.sum,
    "sums": lambda x: np.sum(x, axis=0),
    "max": np.max,
    "min": lambda x: np.min(x, axis=1),
    "argmax": lambda x: np.argmax(x, axis=1),
    "argmin": lambda x: np.argmin(x, axis=0),
    "prod": np.prod,
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "any": np.any,
    "all": lambda x: np.all(x, axis=1),
    "count_nonzero": np.count_nonzero,
    "count_nonzero of sums": lambda x: np.count_nonzero(x[1:] != x[:-1]),
    "slices": lambda x: x[1:, ::2] * x[:-1, ::2],
    "where": lambda x: np.where(x > 2, x, x[::-1]),
    "concatenate": lambda x: np.concatenate([x, x[:1]]),
    "quotient": lambda x: x * 2.5,
    "sum with one": lambda x: x + 1,
    "difference from 3": lambda x: 3 - x,
    "of bits": lambda x: x.view(f"u{x.itemsize}") if x.dtype != bool else x,
}


def numbers(dtype, draw):
    """Numbers of the whole range, and small ones, among them 0 and -1."""
    if dtype == "bool":
        return draw.random((4, 6)) > 0.5, draw.random((4, 6)) > 0.5
    limits = np.iinfo(dtype)
    x = draw.integers(limits.min, limits.max, (4, 6), dtype, endpoint=True)
    x[0, :3] = limits.min, limits.max, 0
    y = draw.integers(max(limits.min, -3), 9, (4, 6)).astype(dtype)
    y[0, :3] = np.array(-1).astype(dtype) if limits.min else 1, 1, 0
    return x, y


def known(functions, *args):
    """The functions that NumPy has for such arguments, as one, and what it gives."""
    found = []
    for f in functions:
        try:
            found.append((f, f(*args)))
        except (TypeError, OverflowError, ValueError):
            continue
    return [f for f, _ in found], [value for _, value in found]


def assert_native(functions, *args, calls=0):
    with np.errstate(all="ignore"):
        functions, expected = known(functions, *args)
        fast = tapegrad.compile(lambda *xs: tuple(f(*xs) for f in functions), backend="llvm")
        for _ in range(3):
            got = fast(*args)
    (way,) = runner_of(fast).paths
    for a, b in zip(got, expected, strict=True):
        assert_within(a, b, 0)
    made = [call.node for call in way.path.lowered.calls]
    assert len(made) <= calls, [node.function for node in made]


@pytest.mark.part(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations(dtype):
    x, y = numbers(dtype, np.random.default_rng(0))
    assert_native([getattr(np, name) for name in ONE], x)
    apart = dtype == "bool"  # shifts, and remainders, of booleans are those of int8
    assert_native([getattr(np, name) for name in TWO], x, y, calls=8 * apart)


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays(dtype):
    x, _ = numbers(dtype, np.random.default_rng(1))
    assert_native(OTHERS.values(), x)


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(dtype):
    x, _ = numbers(dtype, np.random.default_rng(2))
    kinds = [*DTYPES, "float32", "float64"]
    assert_native([lambda x, kind=kind: x.astype(kind) for kind in kinds], x)
    y = np.linspace(-3, 7, 6)
    for other in kinds:
        z = y.astype(other)
        functions = [np.multiply, np.add, np.less, np.maximum, lambda a, b: np.where(a < 2, a, b)]
        apart = {"uint64"} & {dtype, other} and {dtype, other} != {"uint64"}
        assert_native(functions, x, z, calls=3 * bool(apart))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_pythons(dtype):
    """One beyond a dtype's range is no number of it, where NumPy takes it at all."""
    x, _ = numbers(dtype, np.random.default_rng(3))
    functions = [lambda x: x < 300, lambda x: x > -1, lambda x: np.maximum(x, 7)]
    functions += [lambda x: np.clip(x, 0, 5), lambda x: x * -1, lambda x: x == 1 << 40]
    assert_native(functions, x, calls=3)


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", WHOLE)
def test_indices(dtype):
    _, y = numbers(dtype, np.random.default_rng(4))
    z = np.sin(np.arange(20.0))
    listed = y[0, :3].copy()
    functions = [lambda z, y: z[y], lambda z, y: np.take(z, y), lambda z, _y: z[listed]]

    def added(z, y):
        made = z * 0
        np.add.at(made, y.ravel(), 1.0)
        return made

    apart = dtype == "uint64"  # which may be beyond all places of an axis
    assert_native([*functions, added], z, y, calls=4 * apart)
    fast = tapegrad.compile(functions[0], backend="llvm")
    for _ in range(3):
        fast(z, y)
    y[1, 1] = 30
    with pytest.raises(IndexError):
        fast(z, y)


@pytest.mark.parametrize("dtype", WHOLE)
def test_numbers_of_numpys(dtype):
    x = np.dtype(dtype).type(1)
    assert_native([np.add, np.multiply, lambda a, b: a < b], x, np.dtype(dtype).type(0))
    assert_native([lambda a, b: a * b], x, np.linspace(0, 1, 5))


def test_what_is_mostly_complex_is_numpys_program():
    """Its calls one by one, with nothing native between, take longer."""

    def f(x):
        z = np.arctan(0.1j * x)  # which has no meaning in real and imaginary parts here
        for _ in range(5):
            z = np.arcsinh(np.arctan(z))
        return z

    x = np.linspace(0, 1, 20)
    fast = tapegrad.compile(f, backend="llvm")
    for _ in range(3):
        f(x)
        got = fast(x)
    assert not runner_of(fast).paths
    np.testing.assert_array_equal(got, f(x))
    spectrum = tapegrad.compile(
        lambda x: np.sum(np.abs(np.fft.rfft(np.sin(x) * x))), backend="llvm"
    )
    for _ in range(3):
        spectrum(x)
    assert runner_of(spectrum).paths


@pytest.mark.parametrize("whole", ["i8", "i4", "i1"])
@pytest.mark.parametrize("real", ["f8", "f4"])
def test_reals_as_whole_numbers(whole, real):
    """Those that no whole number is near are what NumPy makes of them."""
    x = np.linspace(-120.5, 60.5, 37).astype(real)
    f = lambda x: (np.floor(x).astype(whole) * 2, (x * 1.5).astype(whole))  # noqa: E731
    fast = tapegrad.compile(f, backend="llvm")
    x /= 1.5
    for _ in range(3):
        fast(x)
    (way,) = runner_of(fast).paths
    assert way.path.lowered.calls == []
    for special in (1, 1e30, -1e30, np.nan, np.inf, 2.0**31, -(2.0**31), 2.0**63, 127, -129, 1):
        x[7] = special
        with np.errstate(all="ignore"):
            for a, b in zip(fast(x), f(x), strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)


def test_a_plain_array_is_read_at_places_that_are_computed():
    """As a plain array it would not be seen; the warning says how it is."""
    image = np.random.default_rng(0).standard_normal((40, 50))

    def shifted(p, like):
        y, x = np.meshgrid(np.arange(40), np.arange(50), indexing="ij")
        x = np.clip(x + p[0] * y, 0, 48.5)
        i = np.floor(x).astype(int)
        source = np.asarray(image, like=i) if like else image
        return np.sum(source[y, i] * (1 + i - x) + source[y, i + 1] * (x - i))

    p = np.array([0.3])
    slope = tapegrad.grad(lambda p: shifted(p, like=True))
    fast = tapegrad.compile(slope, backend="llvm")
    for _ in range(4):
        got = fast(p)
    np.testing.assert_allclose(got, slope(p), rtol=1e-12)
    (way,) = runner_of(fast).paths
    assert way.path.lowered.calls == []
    plain = tapegrad.compile(tapegrad.grad(lambda p: shifted(p, like=False)))
    with pytest.warns(tapegrad.EagerWarning, match=r"np\.asarray\(a, like=i\)\[i\]"):
        np.testing.assert_allclose(plain(p), slope(p), rtol=1e-12)
