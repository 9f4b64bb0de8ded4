"""Kernels that are generated from the functions of a rule give what these give.

Of small and of large arrays, also at zeros, bounds, infinities and NaN, and for tensors that are
no whole arrays. A call is planned when it comes for the third time.
"""

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad._core.entry import spec_of
from tapegrad._core.forms import General
from tapegrad.torch._ops import learning
from tapegrad.torch._rules import blockwise, generated, pairs
from tapegrad.torch._rules.declare import Fused
from tapegrad.torch.nn import functional

UNITS = {
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "hardtanh": functional.hardtanh,
    "relu6": functional.relu6,
    "hardswish": functional.hardswish,
    "hardsigmoid": functional.hardsigmoid,
    "softshrink": functional.softshrink,
    "elu": functional.elu,
    "elu scaled": lambda x: functional.elu(x, 0.5),
    "celu": lambda x: functional.celu(x, 2.0),
    "selu": functional.selu,
    "gelu": functional.gelu,
    "gelu tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "mish": functional.mish,
    "softplus": functional.softplus,
    "softplus scaled": lambda x: functional.softplus(x, 2.0, 3.0),
    "softplus low": lambda x: functional.softplus(x, 1.0, 1.0),
    "logsigmoid": functional.logsigmoid,
    "sigmoid": torch.sigmoid,
    "erf": torch.erf,
    "clamp": lambda x: torch.clamp(x, -1.0, 2.0),
    "clamp in the wrong order": lambda x: torch.clamp(x, 2.0, -1.0),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, -30.0, 40.0, 1e-40, -1e-35, 1e-25]
WILD = [np.nan, np.inf, -np.inf]
TOLERANCE = {"float32": {"rtol": 2e-6, "atol": 2e-6}, "float64": {"rtol": 1e-13, "atol": 1e-14}}


def weights(values):
    return np.linspace(0.5, 1.5, len(values)).astype(values.dtype)


def value_and_slope(function, values):
    x = torch.tensor(values, requires_grad=True)
    out = function(x)
    out.backward(torch.tensor(weights(values)))
    return out.detach().numpy(), x.grad.numpy()


@pytest.fixture
def kernels(monkeypatch):
    """The kernels that are generated during a test, and whether their bits were right."""
    made = []
    written, same = generated._written, learning._is_same_array
    monkeypatch.setattr(generated, "_written", lambda *a: made.append(written(*a)) or made[-1])
    monkeypatch.setattr(
        learning, "_is_same_array", lambda *a: made.append(same(*a) or None) or made[-1]
    )
    return made


@pytest.mark.part(3)
@pytest.mark.parametrize("count", [40, 1000, 5000])
@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNITS)
def test_kernels_agree_with_formulas(name, dtype, wild, count, kernels):
    function = UNITS[name]
    special = SPECIAL + (WILD if wild else [])
    values = np.concatenate([np.random.default_rng(0).normal(size=count) * 3, special])
    values = values.astype(dtype)
    first, _, again, last = [value_and_slope(function, values) for _ in range(4)]
    assert name == "relu" or kernels
    assert None not in kernels
    few = [value_and_slope(function, part) for part in (values[:-20], values[-20:])]
    for at, found in enumerate(last):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, again[at])
        np.testing.assert_allclose(found, first[at], **TOLERANCE[dtype])
    np.testing.assert_allclose(last[0][-20:], few[1][0], **TOLERANCE[dtype])
    slopes, few_slopes = last[1] / weights(values), few[1][1] / weights(values[-20:])
    np.testing.assert_allclose(slopes[-20:], few_slopes, **TOLERANCE[dtype])


def test_parts_are_joined(monkeypatch):
    values = np.random.default_rng(0).normal(size=5500).astype(np.float32)
    for function in (functional.gelu, functional.silu, functional.softplus):
        monkeypatch.setattr(blockwise, "PART", 1000)
        found = value_and_slope(function, values)
        monkeypatch.setattr(blockwise, "PART", 1 << 15)
        for mine, whole in zip(found, value_and_slope(function, values), strict=True):
            np.testing.assert_array_equal(mine, whole)


def test_a_graph_is_replayed_twice():
    for name, function in UNITS.items():
        x = torch.randn(50, requires_grad=True)
        for _ in range(3):
            out = function(x)
        first, again = (torch.autograd.grad(out.sum(), x, retain_graph=True)[0] for _ in range(2))
        assert torch.equal(first, again), name


@pytest.mark.parametrize("order", [2, 3])
def test_higher_derivatives_of_large_arrays_go_by_formulas(order):
    values = np.random.default_rng(0).normal(size=5000)
    for function in (functional.gelu, functional.silu, functional.softplus, torch.sigmoid):
        found = []
        for count in (5000, 100):
            x = torch.tensor(values[:count], requires_grad=True)
            y = function(x)
            for _ in range(order):
                (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            found.append(y.detach().numpy()[:100])
        np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-12)


def test_a_transposed_array_goes_by_the_formula():
    x = torch.randn(80, 90)
    for function in (functional.gelu, functional.hardswish, torch.sigmoid):
        straight, turned = x.clone().requires_grad_(), x.clone().requires_grad_()
        weight = torch.randn(90, 80)
        (function(straight.t()) * weight).sum().backward()
        (function(turned) * weight.t().contiguous()).sum().backward()
        torch.testing.assert_close(straight.grad, turned.grad)


LOSSES = {
    "mse_loss": functional.mse_loss,
    "l1_loss": functional.l1_loss,
    "smooth_l1_loss": functional.smooth_l1_loss,
    "smooth_l1_loss narrow": lambda x, y, **words: functional.smooth_l1_loss(
        x, y, beta=0.3, **words
    ),
    "smooth_l1_loss sharp": lambda x, y, **words: functional.smooth_l1_loss(x, y, beta=0, **words),
    "huber_loss": lambda x, y, **words: functional.huber_loss(x, y, delta=0.7, **words),
    "binary_cross_entropy_with_logits": functional.binary_cross_entropy_with_logits,
}


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_large_arrays_are_those_of_their_elements(name, reduction, wanted):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 100)), rng.uniform(size=(60, 100))
    values[1][0, :5] = values[0][0, :5]
    found = []
    for whole in (True, False):
        x, y = (torch.tensor(v, requires_grad=w) for v, w in zip(values, wanted, strict=True))
        if whole:
            loss = LOSSES[name](x, y, reduction=reduction)
        else:
            loss = LOSSES[name](x, y, reduction="none")
            loss = loss.mean() if reduction == "mean" else loss.sum()
        (3 * loss).backward()
        found.append([loss.item(), *(p.grad.numpy() for p in (x, y) if p.requires_grad)])
    for mine, expected in zip(*found, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("value", WILD)
def test_losses_of_large_arrays_with_infinities(value):
    for name, function in LOSSES.items():
        values = np.random.default_rng(0).uniform(size=5000)
        values[7] = value
        x = torch.tensor(values, requires_grad=True)
        y = torch.full((5000,), 0.5, dtype=x.dtype)
        function(x, y, reduction="sum").backward()
        small = torch.tensor(values[:50], requires_grad=True)
        function(small, y[:50], reduction="sum").backward()
        np.testing.assert_allclose(x.grad.numpy()[:50], small.grad.numpy(), err_msg=name)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_large_arrays(name, dim):
    values = np.random.default_rng(0).normal(size=(60, 90)) * 5
    leaves = [torch.tensor(values, requires_grad=True) for _ in range(2)]
    out = getattr(torch, name)(leaves[0], dim)
    powers = leaves[1].exp()
    expected = powers / powers.sum(dim, keepdim=True)
    expected = expected if name == "softmax" else expected.log()
    weight = torch.tensor(values[::-1].copy())
    for result in (out, expected):
        result.backward(weight)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(leaves[0].grad, leaves[1].grad)
    assert weight.tolist() == values[::-1].tolist()  # the gradient is not written over


# --- Norms --------------------------------------------------------------------------------------


def normalized(x, weight, bias):
    """Layer norm by operations that have derivatives of their own."""
    apart = x - x.mean(-1, keepdim=True)
    return apart / torch.sqrt((apart * apart).mean(-1, keepdim=True) + 1e-5) * weight + bias


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("mean", ["small", "large", "of some rows"])
def test_layer_norm_of_long_rows(mean, bias):
    rng = np.random.default_rng(0)
    moved = {"small": 0.3, "large": 1e3, "of some rows": 1e3 * (np.arange(60) > 30)[:, None]}
    values = rng.normal(size=(60, 100)) + moved[mean]
    parameters = [values, rng.normal(size=100), rng.normal(size=100) * bias]
    weight = torch.tensor(rng.normal(size=(60, 100)))
    found = []
    for function in (
        lambda x, w, b: functional.layer_norm(x, (100,), w, b if bias else None),
        normalized,
    ):
        leaves = [torch.tensor(value, requires_grad=True) for value in parameters]
        out = function(*leaves)
        (out * weight).sum().backward()
        grads = [leaf.grad for leaf in leaves[: 2 + bias]]
        found.append([out.detach(), *grads])
    for mine, expected in zip(*found, strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-9, atol=1e-10)


def test_layer_norm_of_long_rows_keeps_the_digits_of_single_precision():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=(50, 784)) + 0.5, rng.normal(size=784)
    found = []
    for dtype in (torch.float32, torch.float64):
        x, w = (torch.tensor(v, dtype=dtype, requires_grad=True) for v in (values, weight))
        out = functional.layer_norm(x, (784,), w)
        out.backward(torch.tensor(values, dtype=dtype).cos())
        found.append([out.detach().double(), x.grad.double(), w.grad.double()])
    for mine, expected in zip(*found, strict=True):
        torch.testing.assert_close(mine, expected, rtol=2e-5, atol=1e-5)


# --- Orders and distances -----------------------------------------------------------------------


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", ["plain", "ties", "nan", "infinite"])
def test_long_rows_are_sorted_stably(kind, descending):
    values = np.random.default_rng(0).normal(size=(20, 300)).astype(np.float32)
    if kind == "ties":
        values[::2] = np.round(values[::2])
        values[1, :4] = [0.0, -0.0, 0.0, -0.0]
    elif kind == "nan":
        values[3, ::50] = np.nan
    elif kind == "infinite":
        values[2, :6] = [np.inf, -np.inf] * 3
    found = torch.sort(torch.tensor(values), 1, descending)
    key = values if not descending else -values
    order = np.argsort(key, 1, kind="stable")
    if kind == "nan" and descending:  # NaN is the largest
        order = np.lexsort((np.broadcast_to(np.arange(300), key.shape), key, ~np.isnan(key)), 1)
    np.testing.assert_array_equal(found.indices.numpy(), order)
    top = torch.topk(torch.tensor(values), 20, 1, largest=descending)
    np.testing.assert_array_equal(top.indices.numpy(), order[:, :20])
    np.testing.assert_array_equal(top.values.numpy(), np.take_along_axis(values, order[:, :20], 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_by_products_have_the_digits_of_small_ones(dtype):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(60, 40)) + 100).astype(dtype)
    y = (rng.normal(size=(70, 40)) + 100).astype(dtype)
    y[:20] = x[:20] + (1e-3 * rng.normal(size=(20, 40))).astype(dtype)
    y[20:25] = x[20:25]
    assert pairs._euclidean(x, y) is not None
    apart = x[:, None].astype(np.float64) - y
    exact = np.sqrt(np.sum(apart * apart, -1))
    near = {"rtol": 2e-6 if dtype == "float32" else 1e-14}
    np.testing.assert_allclose(
        torch.cdist(torch.tensor(x), torch.tensor(y)).numpy(), exact, **near
    )
    whole = np.concatenate([x, y])
    found = functional.pdist(torch.tensor(whole)).numpy()
    apart = (whole[:, None].astype(np.float64) - whole)[np.triu_indices(130, 1)]
    np.testing.assert_allclose(found, np.sqrt(np.sum(apart * apart, -1)), **near)


def test_distances_of_rows_with_infinities():
    x, y = np.ones((60, 40)), np.zeros((70, 40))
    x[3, 5] = np.inf
    found = torch.cdist(torch.tensor(x), torch.tensor(y)).numpy()
    assert np.isinf(found[3]).all()
    np.testing.assert_allclose(np.delete(found, 3, 0), np.sqrt(40))


def test_slopes_of_manhattan_distances():
    values = np.random.default_rng(0).normal(size=(40, 6))
    values[3, :4] = values[5, :4]
    x, same = (torch.tensor(values, requires_grad=True) for _ in range(2))
    weight = torch.randn(40 * 39 // 2, dtype=x.dtype)
    (functional.pdist(x, 1.0) * weight).sum().backward()
    rows, columns = np.triu_indices(40, 1)
    apart = same[torch.tensor(rows)] - same[torch.tensor(columns)]
    (apart.abs().sum(1) * weight).sum().backward()
    torch.testing.assert_close(x.grad, same.grad)


@pytest.mark.parametrize("word", ["silu", "gelu", "hardswish", "mish", "softplus", "logsigmoid"])
@pytest.mark.parametrize("side", [5, 100])
def test_a_result_may_be_written_into(word, side):
    """The pass reads the argument alone, as PyTorch's does."""
    x = torch.randn(side, side, requires_grad=True)
    for _ in range(3):
        x.grad = None
        getattr(functional, word)(x * 1).mul_(2).sum().backward()
    (once,) = torch.autograd.grad(getattr(functional, word)(x).sum(), x)
    torch.testing.assert_close(x.grad, 2 * once)


def test_a_state_of_a_cell_may_be_written_into():
    """Its pull needs the state, of which the call keeps a copy."""
    torch.manual_seed(0)
    x, h, w_ih, w_hh = (torch.randn(*shape) for shape in ((2, 3), (2, 4), (4, 3), (4, 4)))
    w_ih.requires_grad_()
    found = []
    for factor in (1, 1, 1, 2):
        state = torch.rnn_tanh_cell(x, h, w_ih, w_hh)
        state.mul_(factor)
        found.append(torch.autograd.grad(state.sum(), w_ih)[0])
    torch.testing.assert_close(found[-1], 2 * found[0])


def test_classes_of_a_transposed_array():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=(5, 8)), rng.normal(size=8)
    classes = torch.tensor(rng.integers(0, 5, 8))
    for reduction in ("mean", "none"):
        found = []
        for turned in (False, True, True, True):
            x = torch.tensor(values, requires_grad=True)
            given = x.T if turned else x.T.contiguous()
            loss = functional.cross_entropy(given, classes, reduction=reduction)
            (loss * torch.tensor(weight)).sum().backward()
            found.append(x.grad)
        for grad in found[1:]:
            torch.testing.assert_close(grad, found[0])


def test_large_arrays_that_one_step_gives_again_are_not_kept():
    x, w = torch.randn(128, 200, requires_grad=True), torch.ones(200, requires_grad=True)
    for _ in range(3):
        out = functional.layer_norm(x, (200,), w)
    *_, besides = out.node._entry[2]
    assert 0 < sum(part.size for part in besides) < 10 * 128


def test_functions_that_refuse_symbols_are_called_as_they_are(monkeypatch):
    """Those by Python's floats, as of special functions without SciPy."""
    monkeypatch.setattr("tapegrad.torch._rules.special.scipy_function", lambda _name: None)
    x = torch.linspace(0.5, 2.0, 7, dtype=torch.float64, requires_grad=True)
    for function in (torch.lgamma, torch.erf, torch.digamma, functional.gelu):
        found = [torch.autograd.grad(function(x).sum(), x)[0] for _ in range(4)]
        torch.testing.assert_close(found[-1], found[0])


class _Reshaping(General, Fused):
    """A rule whose first cotangent is a view of what the second is computed from."""

    def __init__(self):
        super().__init__(np.multiply, vjp=lambda g, _out, x, y: (g * y, g * x), arrays=2)

    def needs(self, _wanted):
        return [True, True], False

    def pull(self, g, _out, args, _params, _wanted):
        x, y = args
        product = g * y * x
        return [np.reshape(np.reshape(product, (-1,)), x.shape), product * 2.0]


def test_memory_that_a_result_is_a_view_of_is_not_written_to():
    x, y = np.random.default_rng(0).random((2, 3, 4))
    rule, spec, g = _Reshaping(), spec_of(x), np.ones((3, 4))
    kernels = generated.generated_kernels(rule, [spec, spec], spec, (True, True), {})
    first, second = kernels.pull(g, x * y, x, y)
    np.testing.assert_allclose(first, x * y)
    np.testing.assert_allclose(second, 2 * x * y)


def test_a_result_of_a_cell_may_be_written_into_in_every_call():
    cell = torch.nn.RNNCell(2, 2, dtype=torch.float64)
    values = torch.tensor([[0.5, -1.0]], dtype=torch.float64)
    found = []
    for _ in range(4):
        for in_place in (True, False):
            x = values.clone().requires_grad_()
            h = cell(x)
            if in_place:
                h *= 2.0
            else:
                h = h * 2.0
            h.sum().backward()
            found.append(x.grad.numpy())
    np.testing.assert_allclose(found, [found[1]] * 8)


def test_weights_of_classes_leave_the_dtype_of_a_gradient():
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    for _ in range(4):
        x = torch.zeros(3, 4, requires_grad=True)
        functional.cross_entropy(x, torch.tensor([0, 2, 1]), weight=weight).backward()
        assert x.grad.dtype is torch.float32
