"""Error and gamma functions without SciPy are as accurate as with it; rules without PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy import special

import tapegrad.torch as torch
from tapegrad import grad, jvp, vmap
from tapegrad.testing import check_grads
from tapegrad.torch._ops.elementwise import activations, comparison, functions
from tapegrad.torch._ops.reduce import sums
from tapegrad.torch._rules import special as _special

NUMBERS = np.concatenate([np.linspace(-9.7, 9.9, 197), np.geomspace(1e-9, 150, 60)])


def agrees(found, expected, times=8):
    np.testing.assert_allclose(found, expected, times * np.finfo(float).eps, 1e-300)


def test_functions_by_numbers():
    agrees(_special.by_number(_special.math.erf)(NUMBERS), special.erf(NUMBERS))
    tail = NUMBERS[NUMBERS < 5]  # beyond, an error of erfc is that of the square in its exponent
    agrees(_special.by_number(_special.math.erfc)(tail), special.erfc(tail), 40)
    values = _special.by_number(_special._log_gamma)(NUMBERS)
    np.testing.assert_allclose(values, special.gammaln(NUMBERS), 1e-14, 1e-14)
    assert _special._log_gamma(0.0) == _special._log_gamma(-2.0) == np.inf


def test_inverse_of_erf():
    y = np.concatenate([np.linspace(-1, 1, 201), 1 - np.geomspace(1e-16, 0.1, 30), [1e-300, 1e-9]])
    agrees(_special.inverse_of_erf(y), special.erfinv(y), 16)
    assert np.isnan(_special.inverse_of_erf(np.array([1.5]))).all()


def test_digamma():
    x = NUMBERS[np.abs(NUMBERS - np.round(NUMBERS)) > 1e-3]
    np.testing.assert_allclose(_special.log_derivative_of_gamma(x), special.psi(x), 2e-14, 2e-15)
    near = 1.4616321449683622 + np.linspace(-0.2, 0.2, 41)
    agrees(_special.log_derivative_of_gamma(near), special.psi(near), 30)
    assert _special.log_derivative_of_gamma(np.array([0.0]))[0] == -np.inf


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_polygamma(n):
    x = np.geomspace(1e-3, 200, 50)
    agrees(_special.polygamma(x, n), special.polygamma(n, x), 20)


def test_without_scipy_the_results_stay(monkeypatch):
    x = np.linspace(-0.9, 0.9, 7)
    names = ["erf", "erfc", "erfinv", "lgamma", "digamma"]
    before = [getattr(_special, name)(x) for name in names]
    monkeypatch.setattr(_special, "scipy_function", lambda name: None)
    for name, value in zip(names, before, strict=True):
        agrees(getattr(_special, name)(x), value, 20)
        assert getattr(_special, name)(x.astype(np.float32)).dtype == np.float32


def _of_arrays(activation):
    """The function of arrays of an activation, below what plans its calls and writes in place."""
    return activation.__wrapped__.__wrapped__


RULES = {
    "erf": (_special.erf, ()),
    "erfc": (_special.erfc, ()),
    "erfinv": (lambda x: _special.erfinv(x / 5), ()),
    "lgamma": (_special.lgamma, ()),
    "digamma": (_special.digamma, ()),
    "sigmoid": (functions.sigmoid_of, ()),
    "relu": (activations.relu_of, ()),
    "gelu": (activations._gelu, ()),
    "gelu tanh": (activations._gelu_tanh, ()),
    "silu": (_of_arrays(activations.silu), ()),
    "mish": (_of_arrays(activations.mish), ()),
    "logsigmoid": (activations.logsigmoid.compute, ()),
    "softplus": (activations.softplus.compute, (2.0, 20.0)),
    "elu": (activations._elu, (1.3, 1.0, 0.7)),
    "leaky": (activations._leaky, (0.2,)),
    "clamp": (functions._clamped, (-0.5, 0.9)),
    "lerp": (functions._lerp, (np.array([0.1, 0.3, 0.5]), 0.3)),
    "xlogy": (functions._xlogy, (np.array([0.1, 0.3, 0.5]),)),
    "fmax": (comparison._fmax, (np.array([0.1, 0.3, 0.5]),)),
    "softmax": (lambda x: activations.softmax_of(x, axis=-1), ()),
    "log_softmax": (lambda x: activations.log_softmax_of(x, axis=-1), ()),
    "logsumexp": (lambda x: sums._logsumexp(x, axis=-1, keepdims=False), ()),
    "norm": (lambda x: sums._euclidean(x, axis=None, keepdims=False), ()),
    "floor": (lambda x: functions._fraction(x) * x, ()),
}


@pytest.mark.parametrize("word", RULES)
def test_rules_in_functional_transforms(word):
    function, rest = RULES[word]
    x = np.array([0.3, -1.2, 1.7])
    check_grads(lambda x: function(x, *rest), (x,), order=2)
    rows = np.stack([x, x + 0.1, x - 0.17])
    batched = vmap(lambda x: function(x, *rest))(rows)
    np.testing.assert_allclose(batched, [function(row, *rest) for row in rows], 1e-12)
    # Derivatives within derivatives, and of examples.
    inner = grad(lambda x: np.sum(np.sin(function(x, *rest))))
    slope = jvp(inner, (x,), (np.ones(3),))[1]
    step = 1e-6
    np.testing.assert_allclose(slope, (inner(x + step) - inner(x - step)) / (2 * step), 1e-5, 1e-7)
    np.testing.assert_allclose(vmap(inner)(rows), [inner(row) for row in rows], 1e-10)


def test_kinks_hold_in_nested_transforms():
    assert grad(lambda x: grad(activations.relu_of)(x) * x + activations.relu_of(x))(0.0) == 0
    assert jvp(activations.relu_of, (np.zeros(1),), (np.ones(1),))[1] == 0


def test_one_node_for_one_operation():
    x = torch.tensor([[0.5, -1.0], [2.0, 0.1]], requires_grad=True)
    made = [
        torch.relu(x),
        x.sigmoid(),
        torch.softmax(x, 1),
        x.log_softmax(0),
        x.logsumexp(1),
        x.cumsum(0),
        x.cumprod(1),
        x.max(1).values,
        x.max(1, keepdim=True).values,
        x.sort().values,
        x.topk(1).values,
        x.clamp(0, 1),
        x.clamp(min=0),
        torch.where(x > 0, x, 0.0),
        x.sum(),
        x.sum(1),
        x.mean(),
        x.var(),
        x.std(0),
        x.norm(),
        x.amax(0),
        x.prod(),
        torch.erf(x),
        torch.lerp(x, x.detach(), 0.3),
        activations.gelu(x),
        x.round(),
    ]
    for y in made:
        following = [node for node, _ in y.grad_fn.next_functions if node is not None]
        assert {type(node).__name__ for node in following} == {"AccumulateGrad"}, y
        assert following
