"""Names of other libraries: the error says what it is called here."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad
from tapegrad import optimize, testing
from tapegrad._transforms import foreign_names


def norm(x):
    return np.sum(x**2)


def test_names_of_other_libraries():
    with pytest.raises(AttributeError, match=r"'jit'\. Here it is tapegrad\.compile\.$"):
        _ = tapegrad.jit
    with pytest.raises(AttributeError, match=r"'jitter'$"):
        _ = tapegrad.jitter
    assert not hasattr(tapegrad, "lax")


def test_what_is_said_to_be_here_is_here():
    pytest.importorskip("scipy")
    for name, here in foreign_names._HERE.items():
        assert name not in dir(tapegrad)
        for word in here.replace(",", " ").split():
            path = word.split("(")[0].rstrip(".")
            if path.startswith("tapegrad."):
                found = tapegrad
                for part in path.split(".")[1:]:
                    found = getattr(found, part)


@pytest.mark.parametrize(
    ("call", "note"),
    [
        (lambda: tapegrad.vmap(norm, in_dims=0), "in_dims: it is in_axes"),
        (lambda: tapegrad.vmap(norm, axis_name="i"), "axis_name: there are no collectives"),
        (lambda: tapegrad.compile(norm, static_argnums=1), "static_argnums: leave it away"),
        (lambda: tapegrad.checkpoint(norm, policy=None), "policy: leave it away"),
        (lambda: optimize.adam(lr=0.1), "lr: it is rate"),
        (lambda: optimize.adamw(0.1, betas=(0.9, 0.99)), "betas: they are b1 and b2"),
        (lambda: optimize.run(norm, 1.0, optimize.sgd(0.1), epochs=1), "epochs: it is steps"),
        (lambda: optimize.minimize(norm, np.ones(2), jac=True), "jac: leave it away"),
        (lambda: optimize.minimize(norm, np.ones(2), hessp=norm), "hessp: write hess='hvp'"),
        (
            lambda: optimize.curve_fit(np.multiply, np.ones(3), np.ones(3), 1.0, nan_policy=None),
            "nan_policy: pick the data before",
        ),
        (lambda: optimize.root(norm, np.ones(2), jac=norm), "jac: leave it away"),
    ],
)
def test_keywords_of_other_libraries(call, note):
    if "nan_policy" in note:
        pytest.importorskip("scipy")
    with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
        call()
    (found,) = caught.value.__notes__
    assert found.startswith(note)


def test_a_keyword_of_nobody_gets_no_note():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'") as caught:
        tapegrad.vmap(norm, colour="red")
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("name", ["blame", "check", "check_grads", "compare"])
def test_arguments_without_a_tuple_are_refused(name):
    with pytest.raises(
        tapegrad.InputError, match=rf"{name}\(norm\): expected arguments in a tuple, got ndarray"
    ):
        getattr(testing, name)(norm, np.ones(1))


def test_a_fit_shows_how_sure_it_is():
    pytest.importorskip("scipy")
    t = np.arange(5.0)
    fit = optimize.curve_fit(lambda t, a, b: a * t + b, t, t + np.cos(t), p0=[1.0, 0.0])
    assert [line.split(":")[0].strip() for line in repr(fit).splitlines()] == [
        *("CurveFit", "x", "standard_errors", "success", "message", "runs")
    ]
    assert repr(fit.standard_errors) in repr(fit)
    found = optimize.minimize(norm, np.ones(2))
    assert {"nit", "grad"} <= {line.split(":")[0].strip() for line in repr(found).splitlines()}
