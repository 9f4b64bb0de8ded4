"""Complex arithmetic as machine code: in real and imaginary parts, with NumPy's values.

NumPy multiplies with fused multiply-adds where the processor has them, so that of a product that
nearly vanishes it has other digits, and of one that overflows another infinity: products are
compared by what their terms are rounded to, and do not overflow here.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from test_native import runner_of

import tapegrad
from tapegrad._native import complex_runs
from tapegrad._native.complex_arithmetic import TO_COMPLEX, TO_REAL
from tapegrad._native.complex_memory import REAL_OF

SPECIAL = [0.0, -0.0, 1.0, -2.5, 3e-30, 709.0, np.inf, -np.inf, np.nan]
# Units in the last place; 1 of other functions.
LARGEST = dict.fromkeys((np.exp, np.sign, np.absolute, np.log), 2)
LARGEST |= dict.fromkeys((np.sqrt, np.sin, np.cos, np.sinh, np.cosh), 4)
LARGEST |= {np.tan: 10, np.tanh: 10}
DTYPES = ["complex128", pytest.param("complex64", marks=pytest.mark.slow)]


@pytest.fixture
def in_any_case(monkeypatch):
    """All runs are taken by parts, also those that are too short to pay."""
    monkeypatch.setattr(complex_runs.Runs, "_paying", lambda runs, blocks: set(runs.run))


def numbers(dtype):
    """All pairs of special numbers, and others."""
    draw = np.random.default_rng(0)
    special = [complex(a, b) for a, b in itertools.product(SPECIAL, SPECIAL)]
    others = draw.standard_normal(300) * 3 + 3j * draw.standard_normal(300)
    with np.errstate(all="ignore"):
        return np.concatenate([special, others]).astype(dtype)


def compiled(f, *args):
    """Results of f as machine code, and itself; it runs natively in one path."""
    fast = tapegrad.compile(f, backend="llvm")
    with np.errstate(all="ignore"):
        for _ in range(5):
            got = fast(*args)
        (way,) = runner_of(fast).paths
        return got, f(*args), [call.node for call in way.path.lowered.calls if call.node]


def parts(x):
    return [x.real, x.imag] if np.iscomplexobj(x) else [x]


def assert_parts_agree(got, expected, most, size=None):
    """Equal NaNs, infinities and signs of zeros; else so many units of the largest term apart."""
    assert (type(got), got.dtype, got.shape) == (type(expected), expected.dtype, expected.shape)
    for a, b in zip(parts(got), parts(expected), strict=True):
        if b.dtype == bool:
            np.testing.assert_array_equal(a, b)
            continue
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        a, b = a[finite], b[finite]
        unit = np.spacing(np.abs(b) if size is None else np.maximum(size[finite], np.abs(b)))
        assert np.all(np.abs(a - b) <= most * unit)
        if size is None:
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def partners(ufunc, z):
    """The lists of arguments with which a function is called."""
    if ufunc.nin == 1:
        return [(z,)]
    w = np.random.default_rng(1).permutation(z)
    real = REAL_OF[z.dtype].type
    return [(z, w), (z, w.real.copy()), (w.real.copy(), z), (z, real(2.5)), (z, 2), (z, 1j)]


@pytest.mark.part(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ufunc", [*TO_COMPLEX, *TO_REAL], ids=lambda ufunc: ufunc.__name__)
def test_functions_give_numpys_values(ufunc, dtype, in_any_case):
    for args in partners(ufunc, numbers(dtype)):
        arrays = [x for x in args if type(x) is np.ndarray]

        def f(*xs, args=args):
            given = iter(xs)
            out = ufunc(*[next(given) if type(x) is np.ndarray else x for x in args])
            return np.negative(np.conjugate(out)) if np.iscomplexobj(out) else out

        got, expected, calls = compiled(f, *arrays)
        assert not any(isinstance(call.function, np.ufunc) for call in calls)
        size = None
        if ufunc in (np.multiply, np.square):
            with np.errstate(all="ignore"):
                size = np.abs(args[0]) * np.abs(args[-1])
                size[~np.isfinite(size)] = 0
        assert_parts_agree(got, expected, LARGEST.get(ufunc, 1), size)


@pytest.mark.parametrize(("dtype", "most"), [("complex64", 88), ("complex128", 709)])
def test_exponentials_of_which_only_one_factor_overflows(dtype, most, in_any_case):
    z = most + np.array([1 + 1.5707963j, 6 + 1e-5j, 20j, 2 * most + 1j])
    z = z.astype(dtype)
    got, expected, _ = compiled(lambda z: -np.exp(z), z)
    assert np.isfinite(expected[0].real)
    assert_parts_agree(got, expected, 2)


def test_signs_of_numbers_whose_size_overflows(in_any_case):
    z = np.array([1e308 + 1.7e308j, -1.7e308 - 1e308j, 1.7e308 + 0j])
    assert_parts_agree(*compiled(lambda z: -np.sign(z), z)[:2], 0)


def wave(x):
    z = np.exp((0.1 + 1j) * x)
    for _ in range(5):
        z = z * z / (1 + 0.1 * np.abs(z))
    return np.sum((z * np.conj(z)).real)


def lens(x):
    field = np.exp(2j * x) * np.exp(-(x**2))
    return np.sum(np.abs(np.fft.ifft(np.fft.fft(field) * np.exp(-0.5j * x**2))) ** 4)


def resonance(x):
    impedance = 1 / (1 / (50 + 1j * x) + 1j * x)
    return np.sum(np.abs(impedance / (impedance + 50)) ** 2)


def parts_of_parts(x):
    z = np.exp(1j * x.reshape(4, 5))
    row = z[1:3, ::2].T * z[0, :3][:, None]
    return np.abs(np.sum(row, axis=0)).sum() + np.sum(row.real * row.imag) + z.sum().imag


def chosen(x):
    z = (1 + 1j * x) * x
    return np.sum(np.abs(np.where(x > 0.5, z, 2 - z) - np.conj(z)) ** 2)


def single(x):
    z = np.exp(1j * x.astype(np.float32))
    return np.sum(np.abs(z * z - z))


def written(x):
    z = np.zeros_like(x * 1j).reshape(4, 5)
    z[:, 1:] = np.exp(1j * x[:16].reshape(4, 4))
    z[1:] += z[:-1] * x[0]
    z[2] -= x[:5]
    both = np.stack([z, np.conj(z) * 1j])
    return np.sum(np.abs(both.sum(axis=(0, 2))) ** 2) + both[0, 1, 2].imag


SLOW_HESSIAN = pytest.param("hessian", marks=pytest.mark.slow)
PROGRAMS = [wave, lens, resonance, parts_of_parts, chosen, single, written]


@pytest.mark.part(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", ["grad", "vmap", SLOW_HESSIAN])
def test_programs(program, transform, in_any_case):
    x = np.linspace(0.1, 1.3, 20)
    derivative = {
        "grad": tapegrad.value_and_grad(program),
        "hessian": tapegrad.hessian(program),
        "vmap": tapegrad.vmap(tapegrad.grad(program)),
    }[transform]
    args = np.stack([x, 1.1 * x]) if transform == "vmap" else x
    got, expected, _ = compiled(derivative, args)
    for a, b in zip(*(tapegrad._tree.flatten(v)[0] for v in (got, expected)), strict=True):
        most = 1e-4 if program is single else 1e-12
        np.testing.assert_allclose(a, b, rtol=most, atol=most * np.max(np.abs(b)))


def test_complex_arguments_and_results(in_any_case):
    """Among them one that lies by columns, and a view beside the whole."""
    draw = np.random.default_rng(3)
    z = draw.standard_normal((4, 3)) + 1j * draw.standard_normal((4, 3))
    got, expected, _ = compiled(lambda z: ((w := z * z + 1 / z), w.real, w.T, w.sum(0)), z.T)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert got[0].strides == expected[0].strides
    holomorphic = tapegrad.vjp(lambda z: np.exp(z) * z, z)[1]
    got, expected, _ = compiled(lambda v: holomorphic(v * (1 + 2j) - v), z)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-13)


def test_real_arrays_made_after_the_shape_of_complex_ones(in_any_case):
    z = np.exp(1j * np.linspace(0, 1, 6)).reshape(2, 3)

    def f(z):
        w = z * z
        real = np.ones_like(w, dtype=float)
        real[0] = w[0].imag
        return w, real, np.zeros_like(w, dtype=int), np.zeros_like(w, dtype="complex64")

    for a, b in zip(*compiled(f, z)[:2], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [1, 3, -1, -2, 5, 0.5, -0.5, 1.7, -2.3, 120])
def test_powers(exponent, dtype, in_any_case):
    """As near as NumPy's, whose logarithm times the exponent is rounded, too."""
    z = numbers(dtype)
    for power in (lambda z: z**exponent, lambda z: np.power(z, exponent))[: 1 + (exponent != -1)]:
        got, expected, calls = compiled(lambda z, power=power: -power(z), z)
        assert [call for call in calls if isinstance(call.function, np.ufunc)] == []
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
        unit = np.spacing(np.abs(expected[finite]))
        most = 4 + 12 * abs(exponent)
        assert np.all(np.abs(got[finite] - expected[finite]) <= most * unit)


@pytest.mark.parametrize("ufunc", [np.sqrt, np.log], ids=lambda ufunc: ufunc.__name__)
def test_roots_and_logarithms_where_sizes_overflow_or_vanish(ufunc, in_any_case):
    sizes = [5e-324, 3e-310, 1e-200, 1.0, 1e200, 1.7e308]
    z = np.array([complex(a, b) for a, b in itertools.product(sizes, sizes)])
    got, expected, _ = compiled(lambda z: -ufunc(z), np.concatenate([z, -z]))
    assert_parts_agree(got, expected, 4)


def test_logarithms_on_the_unit_circle_keep_their_digits(in_any_case):
    angles = np.linspace(0.1, 6, 2000)
    z = (np.exp(1j * angles) * (1 + 1e-12 * np.sin(7 * angles))).astype("complex64")
    got, _, _ = compiled(lambda z: -np.log(z), z)
    expected = -np.log(z.astype("complex128"))
    np.testing.assert_allclose(got.real, expected.real, rtol=2e-7)


def test_complex_values_of_numpys_calls_are_read_and_written_in_place():
    """Neither a part, nor what is joined of two, is a call."""
    draw = np.random.default_rng(5)
    a = draw.standard_normal((5, 5)) + 1j * draw.standard_normal((5, 5))

    def f(x):
        whole = np.linalg.inv(a * x[:, None])
        return np.sum(np.abs(whole.T * 2) ** 2), whole, whole.imag

    got, expected, calls = compiled(f, np.linspace(1, 2, 5))
    assert [call.function.__name__ for call in calls] == ["inv"]
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("size", [100, 50_000])
@pytest.mark.parametrize("order", ["C", "F", "steps"])
def test_complex_arguments_of_all_sizes_and_layouts(size, order):
    z = np.exp(1j * np.linspace(0, 5, size)).reshape(-1, 10)
    z = z[::2] if order == "steps" else np.asarray(z, order=order)
    got, expected, calls = compiled(lambda z: (z * (2 + 1j) + z, z, z.real), z)
    assert calls == []
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)


STEPS = [
    lambda a, b, x: a + b,
    lambda a, b, x: a * b,
    lambda a, b, x: a - 0.5 * b,
    lambda a, b, x: a / (b + 3),
    lambda a, b, x: np.exp(0.1 * a),
    lambda a, b, x: np.conj(a) * 1j,
    lambda a, b, x: np.abs(a) * b,
    lambda a, b, x: a.real + 1j * b.imag,
    lambda a, b, x: np.where(x > 0, a, b),
    lambda a, b, x: a[::-1] + a[:1],
    lambda a, b, x: np.sum(a, axis=0) * b,
    lambda a, b, x: np.sqrt(a * a + 5) + np.sign(b),
]


def drawn(seed):
    """A program of random calls, of complex values and one real, and its arguments."""
    draw = np.random.default_rng(seed)
    steps = draw.integers(0, len(STEPS), 8)
    picks = draw.integers(0, 1000, (8, 2))

    def f(z, x):
        values = [z, z * x, x + 1j]
        for step, (i, j) in zip(steps, picks, strict=True):
            values.append(STEPS[step](values[i % len(values)], values[j % len(values)], x))
        return tuple(values[3:])

    z = draw.standard_normal((4, 3)) + 1j * draw.standard_normal((4, 3))
    return f, z, draw.standard_normal((4, 3))


@pytest.mark.parametrize(
    "ten", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 20)]]
)
def test_drawn_programs(ten, in_any_case):
    for seed in range(10 * ten, 10 * ten + 10):
        f, z, x = drawn(seed)
        fast = tapegrad.compile(f, backend="llvm")
        for _ in range(3):
            got = fast(z, x)
        for a, b in zip(got, f(z, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.max(np.abs(b)))
