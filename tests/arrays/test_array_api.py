"""The Array API standard, over traced arrays: each call as array-api-strict answers it."""

from __future__ import annotations

import numpy as np
import pytest
import traced_namespace
from array_api_calls import ANY, FUNCTIONS, OBJECTS, REAL, WRITES, arguments
from hypothesis import given
from hypothesis.extra.array_api import make_strategies_namespace

import tapegrad
import tapegrad.numpy
from tapegrad import Array, vjp
from tapegrad._core.values import untraced
from tapegrad._numpy_versions import EIGVALS_STAY_COMPLEX, SORTS_DESCENDING

DTYPES = {"float32": (ANY, REAL), "float64": (ANY, REAL), "complex128": (ANY,)}
CALLS = [
    (dtype, f"xp.{call}" if not call.startswith("xp.") else call)
    for dtype, kinds in DTYPES.items()
    for kind in kinds
    for calls in FUNCTIONS[kind].values()
    for call in calls
]
EXPRESSIONS = [
    (dtype, call) for dtype, kinds in DTYPES.items() for kind in kinds for call in OBJECTS[kind]
]

# Results of these are plain though floating: they are piecewise constant.
PLAIN = (
    "ceil floor trunc round sign floor_divide zeros_like ones_like empty_like full_like "
    "fftfreq rfftfreq finfo iinfo result_type arange"
).split()


def leaves(value):
    """Arrays and other results of a call, one list."""
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def run(call, xp, names):
    scope = {"xp": xp, "linalg": getattr(xp, "linalg", None), "fft": getattr(xp, "fft", None)}
    return leaves(eval(call.replace("xp.xp.", "xp."), {**scope, **names}))


def of_traced(call, dtype):
    """Results of a call in tapegrad.numpy, all floating arguments traced."""
    traced, constants = arguments(dtype)
    found = []

    def program(values):
        xp = values["x"].__array_namespace__()
        assert xp is tapegrad.numpy
        found.extend(run(call, xp, {**values, **constants}))
        return values["x"]

    vjp(program, traced)
    return found


def strict():
    return pytest.importorskip("array_api_strict")


def of_strict(call, dtype):
    xp = strict()
    traced, constants = arguments(dtype)
    names = {name: xp.asarray(x) for name, x in {**traced, **constants}.items()}
    return run(call, xp, names)


def as_numpy(value):
    value = untraced(value)
    return np.asarray(value) if hasattr(value, "shape") else value


def assert_same(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        if not hasattr(theirs, "shape"):
            same_dtype = hasattr(theirs, "_np_dtype") and theirs._np_dtype == ours
            assert same_dtype or str(theirs).removeprefix("Device('").rstrip("')") in str(ours)
            continue
        ours, theirs = as_numpy(ours), np.asarray(theirs)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        tolerance = 1e-5 if ours.dtype.itemsize <= 4 or ours.dtype == np.complex64 else 1e-12
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.part(2)
@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dtype", "call"), CALLS)
def test_a_function_of_the_standard(dtype, call):
    assert_same(of_traced(call, dtype), of_strict(call, dtype))


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dtype", "call"), EXPRESSIONS)
def test_an_attribute_or_operator_of_the_standard(dtype, call):
    assert_same(of_traced(call, dtype), of_strict(call, dtype))


@pytest.mark.peers
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_of_the_standard(write, dtype):
    def written(names):
        exec(write, names)
        return [names[write[0]]]

    xp = strict()
    traced, constants = arguments(dtype)
    found = []

    def program(values):
        found.extend(written({**values, **constants}))
        return found[0]

    vjp(program, traced)
    names = {name: xp.asarray(x) for name, x in {**traced, **constants}.items()}
    assert_same(found, written(names))


@pytest.mark.peers
def test_the_calls_cover_the_standard():
    xp = strict()
    own = {"fft", "linalg", "Device", "__version__", "e", "inf", "nan", "pi", "newaxis"}
    own |= {name for name in xp.__all__ if "flags" in name.lower() or name.startswith("__")}
    dtypes = {name for name in xp.__all__ if isinstance(getattr(xp, name), type(xp.float64))}
    covered = {name for calls in FUNCTIONS.values() for name in calls}
    assert set(xp.__all__) - own - dtypes - covered == set()
    assert {f"linalg.{name}" for name in xp.linalg.__all__} <= covered
    assert {f"fft.{name}" for name in xp.fft.__all__} <= covered
    constants = ["e", "inf", "pi", *dtypes]
    assert all(getattr(tapegrad.numpy, name) is getattr(np, name) for name in constants)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", sorted({dtype for dtype, _ in CALLS}))
def test_no_floating_result_is_detached(dtype):
    plain = [*(f"{name}(" for name in PLAIN), "(b"]
    calls = [call for kind, call in CALLS if kind == dtype]
    detached = [
        call
        for call in calls
        if not any(text in call for text in plain)
        for leaf in of_traced(call, dtype)
        if getattr(leaf, "dtype", np.dtype(int)).kind in "fc" and not isinstance(leaf, Array)
    ]
    assert calls
    assert detached == []


def test_the_namespace_of_an_array():
    def program(x):
        assert x.__array_namespace__() is tapegrad.numpy
        assert x.__array_namespace__(api_version="2023.12") is tapegrad.numpy
        with pytest.raises(ValueError, match="1066"):
            x.__array_namespace__(api_version="1066.01")
        return x

    tapegrad.grad(program)(1.0)
    with pytest.raises(tapegrad.ConversionError, match="__dlpack__"):
        tapegrad.grad(np.from_dlpack)(1.0)


def test_hypothesis_draws_arrays_of_the_namespace():
    strategies = make_strategies_namespace(tapegrad.numpy)

    @given(strategies.arrays(strategies.floating_dtypes(), strategies.array_shapes()))
    def drawn(x):
        bars = vjp(lambda x: x.__array_namespace__().positive(x), x)[1](np.ones_like(x))
        np.testing.assert_array_equal(bars[0], np.ones_like(x))

    drawn()


def test_what_numpy_has_otherwise_than_the_standard():
    def program(x):
        for function in (tapegrad.numpy.sort, tapegrad.numpy.argsort):
            if SORTS_DESCENDING:
                made = tapegrad.stop_gradient(function(x, descending=True))
                np.testing.assert_array_equal(made, [2, 1, 0])
                continue
            with pytest.raises(TypeError, match="descending"):
                function(x, descending=True)
        # The standard says complex, NumPy before 2.5 real where all values are.
        values = tapegrad.numpy.linalg.eigvals(np.eye(3) * x)
        assert values.dtype == (np.complex128 if EIGVALS_STAY_COMPLEX else np.float64)
        assert isinstance(tapegrad.numpy.zeros(3), np.ndarray)
        assert isinstance(tapegrad.numpy.zeros(3, like=x), Array)
        return np.sum(x)

    tapegrad.grad(program)(np.arange(3.0))


def test_information_about_the_namespace_is_numpys():
    info = tapegrad.numpy.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert info.default_dtypes() == np.__array_namespace_info__().default_dtypes()
    assert tapegrad.numpy.__array_api_version__ == np.__array_api_version__


# --- The namespace on which the public suite runs -----------------------------------------------


def test_new_arrays_of_the_traced_namespace_are_traced():
    found = []

    def test():
        xp = traced_namespace
        found.extend([xp.asarray([1.0, 2.0]), xp.zeros(2, dtype=xp.complex64), xp.full((), 3.0)])
        found.append(xp.sum(found[0] * 2.0))
        found.append(xp.asarray([1, 2]))

    traced_namespace.run_traced(test)
    assert [isinstance(x, tapegrad.Array) for x in found] == [True] * 4 + [False]
    assert type(traced_namespace.asarray([1.0])) is np.ndarray  # outside of a test
    assert traced_namespace.sin is np.sin
