"""Values of other libraries beside traced ones: each call is right, or says what to do.

The table is library x function x side: all public callables of NumPy and the operators.
"""

from __future__ import annotations

import collections
import gc
import importlib
import warnings
import weakref
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from foreign import LIBRARIES, Library
from foreign_cells import (
    ELEMENTWISE,
    FOR_OPERATORS,
    OPERATORS,
    Call,
    cells,
    forward,
    plain_of,
    reverse,
    says_why,
)
from generic_calls import SHORT, patterns, public_callables, public_ufuncs
from judging import inputs_of

import tapegrad
from tapegrad import grad, jacobian, jvp, value_and_grad, vjp, vmap
from tapegrad._errors import InputError, OutputError, TapegradError

# The packages of the rows whose name is not that of a package.
PACKAGES = {
    "pint, no unit": "pint",
    "xarray on Dask": "xarray",
    "np.ma": "numpy",
    "np.matrix": "numpy",
    "np.recarray": "numpy",
    "subclass": "numpy",
    "subclass with __array_ufunc__": "numpy",
    "file": "numpy",
    "Fraction": "fractions",
    "Decimal": "decimal",
}


def library(name: str) -> Library:
    package = PACKAGES.get(name, name.split(".", maxsplit=1)[0])
    if name == "xarray on Dask":
        pytest.importorskip("dask.array", reason="needs Dask")
    pytest.importorskip(package, reason=f"needs {package}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an import
        return LIBRARIES[name]()


each_library = pytest.mark.parametrize("name", LIBRARIES)


def silent(name, used: Library, functions: dict[str, Any], text: str, mode) -> list[str]:
    """Errors in the row of a library: wrong derivatives, and errors without words."""
    found = list(cells(name, used, functions, text, mode))
    print(name, collections.Counter(cell.outcome for cell in found))  # pytest -rP shows it
    return [str(cell) for cell in found if cell.outcome not in ("right", "refused")]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@pytest.mark.slow
@each_library
def test_a_call_of_numpy_is_right_or_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # np.save and its kin
    assert silent(name, library(name), public_callables(), SHORT, reverse) == []


@pytest.mark.part(12)
@pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param(
            name,
            mode,
            id=f"{mode.__name__}-{name}",
            marks=[pytest.mark.slow] * (mode is forward and "dask" in name.lower()),
        )
        for mode in (reverse, forward)
        for name in LIBRARIES
    ],
)
def test_an_operator_is_right_or_refused(name, mode):
    used = library(name)
    assert silent(name, used, OPERATORS, FOR_OPERATORS, mode) == []
    if mode is forward:
        assert silent(name, used, public_ufuncs(), SHORT, mode) == []


@pytest.mark.part(4)
@each_library
def test_a_call_inside_vmap_is_right_or_refused(name):
    used = library(name)
    problems = []
    for label, function in ELEMENTWISE.items():
        for pattern in patterns("f(v, V)  f(V, v)"):
            (x,) = inputs_of(pattern, symmetric=False)
            rows = np.stack([x, x[::-1] * 1.1])
            try:
                known = [Call(function, pattern, used.plain)(row.copy()) for row in rows]
            except Exception:  # noqa: BLE001
                continue
            try:
                found = vmap(Call(function, pattern, used.make, used))(rows)
            except Exception as error:  # noqa: BLE001
                if not says_why(error, name):
                    problems.append(f"{label} {pattern.text}: {type(error).__name__}: {error}")
                continue
            for part, *examples in zip(found, *known, strict=True):
                if not np.allclose(plain_of(part), np.stack(examples), rtol=1e-9, equal_nan=True):
                    problems.append(f"{label} {pattern.text}: SILENTLY WRONG")
    assert problems == []


# --- Inputs and outputs -------------------------------------------------------------------------

X = np.array([1.0, 2.0, 3.0])
WRAPPERS = ("xarray", "xarray.Variable", "pint", "astropy")


@pytest.mark.part(3)
@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize(
    "transform",
    [
        grad,
        value_and_grad,
        jacobian,
        tapegrad.jacfwd,
        tapegrad.hessian,
        lambda f: lambda x: vjp(f, x),
        lambda f: lambda x: jvp(f, (x,), (x,)),
        lambda f: lambda x: tapegrad.linearize(f, x),
        lambda f: grad(tapegrad.checkpoint(f)),
    ],
)
def test_an_output_that_may_hide_a_traced_value_is_refused(name, transform):
    used = library(name)
    value = used.make(X)
    with pytest.raises(OutputError, match=r"expected .*, got a .*Return its \."):
        transform(lambda x: value.sum())(X)
    with pytest.raises(TapegradError):
        transform(lambda x: (value * x).sum())(X)


@pytest.mark.parametrize("name", ["xarray", "xarray.Variable", "pint, no unit", "astropy"])
def test_the_way_out_of_a_wrapper_has_the_derivative(name):
    used = library(name)
    value = used.make(X)

    def f(x):
        product = value * x
        assert isinstance(product, used.kinds)
        return np.sum(used.elements(product) ** 2)

    if name == "astropy":  # its arrays are memory, which holds no traced value
        with pytest.raises(TapegradError):
            grad(f)(X)
    else:
        np.testing.assert_allclose(grad(f)(X), 2 * X**3)


@pytest.mark.parametrize("name", [*WRAPPERS, "pandas", "np.ma", "np.matrix"])
def test_an_input_that_is_more_than_its_elements_is_refused(name):
    value = library(name).make(X)
    for transform in (grad, jacobian, lambda f: lambda x: jvp(f, (x,), (X,))):
        with pytest.raises(InputError, match=r"expected .*Pass "):
            transform(np.sum)(value)


@pytest.mark.parametrize("name", [*WRAPPERS, "pandas", "np.ma", "np.matrix"])
def test_a_cotangent_or_tangent_that_is_more_than_its_elements_is_refused(name):
    value = library(name).make(X)
    with pytest.raises(InputError, match=r"expected a cotangent .*Pass "):
        vjp(np.sin, X)[1](value)
    with pytest.raises(InputError, match=r"expected a tangent .*Pass "):
        jvp(np.sin, (X,), (value,))


@pytest.mark.parametrize("name", ["np.recarray", "subclass"])
def test_a_cotangent_of_a_subclass_is_an_array(name):
    (found,) = vjp(np.sin, X)[1](library(name).make(X))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, np.cos(X) * X)


def test_several_outputs_of_a_jacobian_are_judged_one_by_one():
    xarray = pytest.importorskip("xarray", reason="needs xarray")
    with pytest.raises(OutputError, match=r"xarray\.Dataset"):
        jacobian(lambda x: (x * 2, xarray.Dataset({"a": ("i", X)})))(X)


def test_an_array_of_objects_is_no_constant():
    def f(x):
        made = np.empty(1, object)
        made[0] = np.sum(x)
        return made

    for transform in (jacobian, lambda f: lambda x: vjp(f, x), grad):
        with pytest.raises(OutputError):
            transform(f)(X)


# --- Dask ---------------------------------------------------------------------------------------


def dask_data():
    array = pytest.importorskip("dask.array", reason="needs Dask")
    random = np.random.default_rng(0)
    rows, targets = random.normal(size=(6, 3)), random.normal(size=6)
    return array, rows, targets, array.from_array(rows, chunks=2), array.from_array(targets, 2)


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "loss",
    [
        lambda D, y, w: np.sum((D @ w - y) ** 2),
        lambda D, y, w: np.sum((np.matmul(D, w) - y) ** 2),
        lambda D, y, w: np.sum((y - np.dot(D, w)) ** 2),
        lambda D, y, w: ((D * w - w) ** 2).sum(),
        lambda D, y, w: np.sum((D - w) ** 3 / (1 + (D * w) ** 2)),
    ],
)
def test_parameters_of_numpy_with_data_of_dask(loss):
    _, rows, targets, D, y = dask_data()
    w = np.array([0.3, -0.5, 0.7])
    known = grad(lambda w: loss(rows, targets, w))(w)
    np.testing.assert_allclose(plain_of(grad(lambda w: loss(D, y, w))(w)), known)
    dot = jvp(lambda w: loss(D, y, w), (w,), (np.ones(3),))[1]
    np.testing.assert_allclose(plain_of(dot), known.sum())


@pytest.mark.part(3)
@pytest.mark.parametrize("second", ["+=", "-=", "*=", "/=", "**="])
@pytest.mark.parametrize("first", ["+=", "*="])
def test_writes_of_dask_one_after_the_other(first, second):
    """The cotangent `g[...]` of the value is g itself with Dask, and was cleared with it."""
    _, rows, _, D, _ = dask_data()
    w = np.array([0.3, 0.5, 0.7])
    scope: dict[str, Any] = {"np": np}
    lines = f"out = abs(D) * 0 + w[2]\n    out {first} abs(D)\n    out {second} w[1]"
    exec(f"def loss(D, w):\n    {lines}\n    out *= D\n    return np.sum(out)", scope)
    loss = scope["loss"]
    known = grad(lambda w: loss(rows, w))(w)
    np.testing.assert_allclose(plain_of(grad(lambda w: loss(D, w))(w)), known)
    dot = jvp(lambda w: loss(D, w), (w,), (np.ones(3),))[1]
    np.testing.assert_allclose(plain_of(dot), known.sum())


@pytest.mark.parametrize(
    "call",
    [
        lambda da, D, w: da.matmul(D, w),
        lambda da, D, w: da.where(D > 0, D, w),
        lambda da, D, w: da.from_array(w),
        lambda da, D, w: da.multiply(D, w),
        lambda da, D, w: D.map_blocks(lambda block: block * w),
    ],
)
def test_no_graph_of_dask_loses_a_derivative(call):
    da, _, _, D, _ = dask_data()
    w = np.array([0.3, -0.5, 0.7])
    with pytest.raises(TapegradError):
        grad(lambda w: call(da, D, w).sum())(w)


# --- Others -------------------------------------------------------------------------------------


def test_labels_in_another_order_are_not_ignored():
    """pandas aligns `x * a + x * b` by label; elementwise it would be a permuted gradient."""
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    a = pandas.Series(X, index=[0, 1, 2])
    b = pandas.Series(X, index=[2, 1, 0])
    for f in (
        lambda x: np.sum(x * a + x * b),
        lambda x: (a * x + b * x).sum(),
        lambda x: np.sum(np.multiply(x, a) + np.multiply(b, x)),
    ):
        with pytest.raises(TapegradError, match="to_numpy"):
            grad(f)(X)


def test_labels_are_kept():
    xarray = pytest.importorskip("xarray", reason="needs xarray")
    da = xarray.DataArray(X, dims="i", coords={"i": [5, 6, 7]})

    def f(x):
        for product in (x * da, da * x, np.multiply(x, da), np.multiply(da, x)):
            assert isinstance(product, xarray.DataArray)
            assert list(product.coords["i"].values) == [5, 6, 7]
        return np.sum(product.data)

    np.testing.assert_array_equal(grad(f)(X), X)


def test_an_array_in_place_is_not_replaced():
    """`x *= da` would bind x to a DataArray, and leave the other names of x unchanged."""
    xarray = pytest.importorskip("xarray", reason="needs xarray")
    da = xarray.DataArray(X, dims="i")

    def f(x):
        y = x * 1.0
        y *= da
        return np.sum(y)

    with pytest.raises(TapegradError, match=r"xarray\.DataArray beside a traced value"):
        grad(f)(X)


def test_a_class_with_reflected_operators_has_its_turn():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def __rmul__(self, other):
            return other * self.factor

    np.testing.assert_array_equal(grad(lambda x: np.sum(x * Scaled(3.0)))(X), 3 * np.ones(3))
    with pytest.raises(TypeError, match="unsupported operand"):
        grad(lambda x: np.sum(x + Scaled(3.0)))(X)


def test_the_advice_names_the_library():
    decimal = importlib.import_module("decimal")
    with pytest.raises(TapegradError, match=r"decimal\.Decimal .* Pass float\(\.\.\.\) of it"):
        grad(lambda x: np.sum(np.multiply(x, decimal.Decimal(2))))(X)


def test_a_class_that_a_program_makes_as_it_runs_is_not_kept_alive():
    def of_one_program():
        class Length(Fraction):
            pass

        assert grad(lambda x: x * Length(1, 3))(2.0) == 1 / 3
        assert grad(lambda x: np.sum(np.stack([x, np.dot(Length(2), x)])))(1.0) == 3.0
        return weakref.ref(Length)

    gone = of_one_program()
    gc.collect()
    assert gone() is None


def test_an_operator_is_left_to_a_class_of_a_higher_priority_as_by_numpys_arrays():
    """A class of matrices with operators of its own, whose elements functions of NumPy read."""

    class Matrix:
        __array_priority__ = 1

        def __init__(self, elements):
            self.elements = elements

        def __array__(self, dtype=None, copy=None):
            return self.elements

        def __rmatmul__(self, other):
            return 2 * (other @ self.elements)

    matrix, x = Matrix(np.arange(4.0).reshape(2, 2)), np.array([1.0, 2.0])
    np.testing.assert_array_equal(x @ matrix, 2 * (x @ matrix.elements))
    found = jacobian(lambda x: x @ matrix)(x)
    np.testing.assert_array_equal(found, 2 * matrix.elements.T)
    found = jacobian(lambda x: np.dot(x, matrix))(x)
    np.testing.assert_array_equal(found, matrix.elements.T)
    with pytest.raises(TapegradError, match=r"Pass np\.asarray of it"):
        grad(lambda x: np.sum(np.matmul(x, matrix)))(x)
