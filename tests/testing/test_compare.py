"""One function under several libraries: who agrees, differs, is missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapegrad
from tapegrad.testing import compare
from tapegrad.testing._compare import libraries
from tapegrad.testing._compare.namespaces import within

POINT = np.array([0.3, -0.7, 1.1])
PEERS = ("jax", "torch", "autograd", "mygrad")


def helper(x):
    return np.sin(x) * x


def by_globals(x, tree):
    return np.sum(helper(x) * tree["w"]) + tree["b"]


def by_parameter(x, *, xp):
    return xp.sum(xp.exp(x) * x)


def first_of_all(xp, x):
    return xp.sum(xp.exp(x) * x)


def asking(x):
    xp = x.__array_namespace__()
    return xp.sum(xp.exp(x) * x)


@pytest.mark.parametrize("f", [by_parameter, first_of_all, asking, lambda x: np.exp(x) * x])
def test_ways_to_write_a_function(f):
    found = compare(f, (POINT,), ("tapegrad compiled", "finite differences"), timing=False)
    assert found.agree
    assert [row.agrees for row in found.rows] == [True, True, None]
    assert found.reference_error < 1e-11


def test_names_are_replaced_in_what_is_called():
    class Namespace:
        sin = staticmethod(lambda x: ("sin", x))
        sum = staticmethod(lambda x: x)

    assert within(lambda x: helper(x)[0], Namespace)(2) == "sin"
    inner = np

    def closed(x):
        return inner.sin(x)

    assert within(closed, Namespace)(3) == ("sin", 3)
    assert closed(0.0) == 0.0  # itself, as before


def test_trees_constants_and_scalars():
    tree = {"w": np.ones(3), "b": 2.0, "n": 4}
    found = compare(by_globals, (POINT, tree), (), timing=False)
    x, rest = found.rows[0].gradient
    np.testing.assert_allclose(x, np.sin(POINT) + POINT * np.cos(POINT))
    np.testing.assert_allclose(rest["w"], helper(POINT))
    assert rest["b"] == 1.0
    assert rest["n"] is None


def wrong(factor):
    f = tapegrad.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, g: (factor * 2.0 * x * g,))
    return f


@settings(max_examples=20)
@given(st.floats(-3.0, 3.0))
def test_a_wrong_gradient_differs_and_a_right_one_agrees(factor):
    found = compare(wrong(factor), (POINT,), "finite differences", timing=False)
    assert found.row("tapegrad").error == pytest.approx(abs(factor - 1.0), abs=1e-11)
    assert found.agree == (abs(factor - 1.0) < 1e-8)
    assert ("differs" in str(found)) != found.agree


def test_kinks_and_float32():
    found = compare(
        lambda x: np.sum(np.maximum(x, 0.0)), (np.array([0.0, 1.0], np.float32),), (), timing=False
    )
    assert found.agree
    assert "kink" in found.words
    assert "there is a kink" in str(found)
    assert found.rows[0].gradient.dtype == np.float32


def test_many_elements_are_measured_along_some_directions():
    found = compare(lambda x: np.sum(np.sin(x)), (np.ones(100),), "finite differences")
    assert found.agree
    assert found.row("finite differences").gradient is None
    assert "along 8 random directions" in str(found)
    assert not compare(wrong(1.001), (np.ones(100),), (), timing=False).agree


def test_complex_gradients_are_in_our_convention():
    z = np.array([3.0 + 4.0j])
    found = compare(lambda z: np.sum(np.abs(z) ** 2), (z,), "finite differences", timing=False)
    assert found.agree
    np.testing.assert_allclose(found.row("finite differences").gradient, [6 - 8j], rtol=1e-10)


def test_what_is_missing_or_fails_says_why(monkeypatch):
    class Missing(libraries.Library):
        name = "missing"

        def prepared(self, problem):
            import no_such_library

            return no_such_library

    class Failing(libraries.Library):
        name = "failing"

        def prepared(self, problem):
            raise ValueError("no such thing\nmore of it")

    monkeypatch.setitem(libraries.LIBRARIES, "missing", Missing)
    monkeypatch.setitem(libraries.LIBRARIES, "failing", Failing)
    found = compare(np.sin, (POINT,), ("missing", "failing"), timing=False)
    assert found.row("missing").note == "not installed: No module named 'no_such_library'"
    assert found.row("failing").note == "ValueError: no such thing"
    assert found.agree


def test_times_are_measured_and_shown():
    found = compare(np.sin, (POINT,), "tapegrad compiled")
    assert found.rows[0].time > 0.0
    assert found.rows[0].ratio == 1.0
    assert found.rows[1].ratio > 0.0
    assert str(found) == repr(found)
    page = found._repr_html_()
    assert page.count("<tr>") == 3
    assert "compare(sin)" in page


def test_names_that_are_not_known():
    with pytest.raises(tapegrad.InputError, match="names out of tapegrad"):
        compare(np.sin, (POINT,), "tensorflow")
    with pytest.raises(tapegrad.InputError, match="a floating or complex argument"):
        compare(np.sin, (3,))


@pytest.mark.peers
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("kind", ["real", "complex", "float32", "tree"])
def test_other_libraries(name, kind):
    pytest.importorskip(name)
    if kind == "complex":
        if name == "mygrad":
            pytest.skip("it has no complex numbers")

        def f(z, xp):
            return xp.exp(z) * xp.conj(z)

        args = (np.array([0.1 + 0.2j, 0.3]),)
    elif kind == "tree":
        f, args = by_globals, (POINT, {"w": np.ones(3), "b": 2.0, "n": 4})
    else:
        f, args = by_parameter, (POINT.astype("f4" if kind == "float32" else "f8"),)
    found = compare(f, args, name)
    row = found.row(name)
    assert row.agrees, str(found)
    assert row.time > 0.0
    if kind != "tree":
        ours = found.row("tapegrad").gradient
        np.testing.assert_allclose(row.gradient, ours, rtol=1e-5 if kind == "float32" else 1e-12)
        assert row.gradient.dtype == args[0].dtype


@pytest.mark.peers
def test_jax_where_python_looks_at_values():
    pytest.importorskip("jax")
    found = compare(lambda x: np.sum(x**2) if x[0] > 0 else x[1], (np.ones(2),), "jax")
    assert found.agree
    assert found.row("jax").note == "not jitted: Python looks at values"
