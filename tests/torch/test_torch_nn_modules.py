"""Modules of activations, dropout, padding and losses: reprs, states, values as the functions'."""

from __future__ import annotations

import inspect
import traceback
import warnings

import numpy as np
import pytest
from agreement import agree, numbers
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.nn import functional

X = numbers(4, 6) * 2

# Calls of constructors, and an input for those that take one tensor.
UNITS = """
ELU() ELU(0.5,True) CELU() CELU(alpha=2.0,inplace=True) SELU() SELU(True) GELU() GELU('tanh')
SiLU() SiLU(inplace=True) Mish() Mish(True) GLU() GLU(dim=0) ReLU6() ReLU6(True) LeakyReLU()
LeakyReLU(0.3,inplace=True) Hardtanh() Hardtanh(-2,0.5) Hardtanh(inplace=True) Hardshrink()
Hardshrink(1) Hardsigmoid() Hardsigmoid(True) Hardswish() Hardswish(True) LogSigmoid() Softplus()
Softplus(2,3) Softshrink() Softshrink(1.5) Softsign() Softmin(1) Softmin(dim=0) Tanhshrink()
Threshold(0.1,20) Threshold(0.5,-1.0,True) Softmax(1) LogSoftmax(1) Sigmoid() Tanh() ReLU()
PReLU(dtype=double) PReLU(6,0.1,dtype=double) ReLU(True)
""".split()
OTHERS = """
RReLU() RReLU(0.1,0.2,True) Softmin() LogSoftmax() PReLU() PReLU(3,init=0.1) Softmax2d()
Dropout1d() Dropout2d(0.1) Dropout3d(p=0.2,inplace=True) AlphaDropout() FeatureAlphaDropout(0.3)
ConstantPad1d(2,3.5) ConstantPad2d((1,2,3,4),0) ConstantPad3d(1,value=-1.0) ZeroPad1d(2)
ZeroPad2d((1,2,3,4)) ZeroPad3d(1) ReflectionPad1d(2) ReflectionPad2d((1,2,3,4)) ReflectionPad3d(1)
ReplicationPad1d((2,1)) ReplicationPad2d(1) ReplicationPad3d(3) CircularPad1d(1) CircularPad2d(2)
CircularPad3d((1,2,3,4,5,6)) PixelShuffle(2) PixelUnshuffle(3) ChannelShuffle(2)
Upsample(3) Upsample(scale_factor=2,mode='bilinear') Upsample(scale_factor=(2,1)) Upsample((2,3))
UpsamplingNearest2d(4) UpsamplingBilinear2d(scale_factor=2) Unflatten(1,(2,3)) Unflatten(-1,[2,3])
Bilinear(2,3,4) Bilinear(2,3,4,bias=False) PairwiseDistance() PairwiseDistance(1,keepdim=True)
MarginRankingLoss() HingeEmbeddingLoss(0.5) CosineEmbeddingLoss(margin=0.1) MultiMarginLoss()
MultiLabelMarginLoss() MultiLabelSoftMarginLoss() SoftMarginLoss() PoissonNLLLoss()
GaussianNLLLoss(full=True) TripletMarginLoss(2.0) TripletMarginWithDistanceLoss() CTCLoss(1)
AdaptiveLogSoftmaxWithLoss(16,20,[4,9])
""".split()


def built(t, text):
    return eval(f"nn.{text}", {"nn": t.nn, "double": t.float64})


@pytest.mark.parametrize("text", [*UNITS, *OTHERS])
def test_modules_show_and_hold_what_pytorchs_do(text):
    def held(t):
        module = built(t, text)
        public = {
            name: value
            for name, value in vars(module).items()
            if not name.startswith("_") and isinstance(value, (int, float, str, tuple, type(None)))
        }
        return repr(module), list(module.state_dict()), public

    shown, names, public = of_pytorch(held)
    mine = built(torch, text)
    assert repr(mine) == shown
    assert list(mine.state_dict()) == names
    assert {name: getattr(mine, name) for name in public} == public


@pytest.mark.parametrize("text", UNITS)
def test_units_agree_with_pytorch(text):
    agree(lambda t, x: built(t, text)(x * 1), X, order=2, tolerance=1e-6)


@pytest.mark.part(2)
@pytest.mark.parametrize("text", UNITS)
def test_units_have_the_derivatives_of_differences(text):
    module = built(torch, text)
    x = torch.tensor(X, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: module(x * 1), [x])
    assert torch.autograd.gradgradcheck(lambda x: module(x * x), [x], atol=1e-4)
    for parameter in module.parameters():
        assert torch.autograd.gradcheck(lambda w: functional.prelu(x.detach(), w), [parameter])


WITHIN = "relu elu celu selu leaky_relu hardtanh rrelu".split()


@pytest.mark.parametrize("word", [*WITHIN, "threshold"])
def test_activations_are_written_into_their_argument(word):
    words = {"threshold": 0.3, "value": -2.0} if word == "threshold" else {}
    x, plain = (torch.tensor(X, requires_grad=True) for _ in range(2))
    written = x * 1
    assert getattr(functional, f"{word}_")(written, **words) is written
    expected = getattr(functional, word)(plain, **words)
    assert written.equal(expected)
    written.sum().backward()
    expected.sum().backward()
    np.testing.assert_array_equal(x.grad, plain.grad)
    version = written._version
    assert getattr(functional, word)(written, inplace=True, **words)._version == version + 1


@pytest.mark.parametrize("word", [*WITHIN, "threshold"])
def test_what_is_in_which_namespace_is_as_in_pytorch(word):
    def has(t):
        names = {word, f"{word}_"} - {"leaky_relu"}
        return {name: (hasattr(t, name), hasattr(t.Tensor, name)) for name in sorted(names)}

    assert has(torch) == of_pytorch(has)


def test_softmax_of_channels_wants_images():
    x = torch.tensor(numbers(2, 3, 2, 2))
    assert nn.Softmax2d()(x).equal(x.softmax(1))
    assert nn.Softmax2d()(x[0]).equal(x[0].softmax(0))
    with pytest.raises(ValueError, match="expected input to be 3D or 4D, got 2D instead"):
        nn.Softmax2d()(x[0, 0])


def test_hardtanh_keeps_its_bounds_in_order():
    with pytest.raises(AssertionError, match=r"max_val \(0\) must be greater than min_val \(1\)"):
        nn.Hardtanh(1, 0)
    with pytest.warns(FutureWarning, match="`min_value` is deprecated and renamed to `min_val`"):
        assert nn.Hardtanh(min_value=-3.0).min_val == -3.0


def test_unflatten_wants_integers():
    assert nn.Unflatten(1, (2, 3))(torch.ones(4, 6)).shape == (4, 2, 3)
    with pytest.raises(TypeError, match="but found element of type str at pos 1"):
        nn.Unflatten(1, (2, "a"))
    with pytest.raises(TypeError, match="but found type int"):
        nn.Unflatten(1, 3)


def test_a_circle_wants_dimensions():
    with pytest.raises(ValueError, match=r"expected 3D or 4D input \(got 2D input\)"):
        nn.CircularPad2d(1)(torch.ones(2, 3))


# --- Noise --------------------------------------------------------------------------------------

DROPPED = {
    "dropout": (400, 10),
    "dropout1d": (400, 10, 3),
    "dropout2d": (400, 10, 2, 2),
    "dropout3d": (400, 10, 2, 1, 2),
}


@pytest.mark.parametrize("word", DROPPED)
def test_dropout_keeps_the_mean_and_whole_channels(word):
    torch.manual_seed(0)
    x = torch.ones(DROPPED[word], dtype=torch.float64, requires_grad=True)
    made = getattr(functional, word)(x, 0.25)
    values = made.detach().numpy()
    assert set(np.unique(values)) == {0, 1 / 0.75}
    assert abs(values.mean() - 1) < 0.05
    whole = values.reshape(400, 10, -1)
    assert (whole == whole[:, :, :1]).all()
    made.sum().backward()
    np.testing.assert_array_equal(x.grad, values)
    assert getattr(functional, word)(x, 0.25, False) is x or word in ("dropout1d", "dropout3d")
    assert not getattr(functional, word)(x, 1.0).any()
    written = torch.ones(DROPPED[word])
    assert getattr(functional, word)(written, 0.5, inplace=True)._version == 1
    assert not written.all()


def test_alpha_dropout_keeps_mean_and_variance():
    torch.manual_seed(1)
    x = torch.randn(600, 50, dtype=torch.float64)
    for word in ("alpha_dropout", "feature_alpha_dropout"):
        made = getattr(functional, word)(x, 0.3, training=True)
        assert abs(made.mean().item()) < 0.05
        assert abs(made.var().item() - 1) < 0.05
        assert getattr(functional, word)(x, 0.3) is x
    whole = functional.feature_alpha_dropout(torch.ones(50, 3, 4), 0.5, True)
    assert whole.equal(whole[..., :1].expand(50, 3, 4))


@pytest.mark.parametrize("kind", ["Dropout1d", "AlphaDropout", "FeatureAlphaDropout", "Dropout2d"])
def test_modules_of_noise_follow_their_mode(kind):
    shape = (40, 3, 2, 2) if kind == "Dropout2d" else (40, 3, 4)
    module, x = getattr(nn, kind)(0.5), torch.ones(shape)
    assert not module(x).equal(x)
    assert module.eval()(x).equal(x)
    with pytest.raises(ValueError, match="has to be between 0 and 1, but got 2"):
        getattr(nn, kind)(2)


NODES = {
    "dropout": (lambda t, x: t.dropout(x, 0.5, True)),
    "feature": (lambda t, x: t.feature_dropout(x, 0.5, True)),
    "alpha": (lambda t, x: t.alpha_dropout(x, 0.5, True)),
    "alpha1": (lambda t, x: t.alpha_dropout(x, 1.0, True)),
    "alpha feature": (lambda t, x: t.feature_alpha_dropout(x, 0.5, True)),
    "within": (lambda t, x: t.alpha_dropout_(x * 1, 0.5, True)),
    "within1": (lambda t, x: t.feature_dropout_(x * 1, 0.5, True)),
    "1d": (lambda t, x: t.nn.functional.dropout1d(x)),
    "3d": (lambda t, x: t.nn.functional.dropout3d(x[:, :, None, None])),
    "gumbel": (lambda t, x: t.nn.functional.gumbel_softmax(x)),
    "hard": (lambda t, x: t.nn.functional.gumbel_softmax(x, hard=True)),
    "rrelu": (lambda t, x: t.nn.functional.rrelu(x, training=True)),
    "rrelu off": (lambda t, x: t.nn.functional.rrelu(x)),
    "few": (lambda t, x: t.feature_dropout(x[0, 0], 0.5, True)),
    "few1": (lambda t, x: t.nn.functional.dropout1d(x[0, 0])),
    "p": (lambda t, x: t.dropout(x, 2.0, True)),
    "p1": (lambda t, x: t.nn.functional.alpha_dropout(x, 2.0, True)),
}


def seen(t, call):
    t.manual_seed(0)
    try:
        made = call(t, t.ones(2, 3, 4, requires_grad=True))
    except Exception as error:  # noqa: BLE001 - its text is compared
        return type(error).__name__, str(error)
    return type(made.grad_fn).__name__, tuple(made.shape), str(made.dtype)


@pytest.mark.parametrize("word", NODES)
def test_noise_has_pytorchs_nodes_and_errors(word):
    assert seen(torch, NODES[word]) == of_pytorch(lambda t: seen(t, NODES[word]))


def test_channels_of_other_dimensions_warn():
    with pytest.warns(UserWarning, match="Received a 3D input to dropout2d"):
        functional.dropout2d(torch.ones(2, 3, 4))
    with pytest.warns(UserWarning, match="Received a 2-D input to dropout2d"):
        functional.dropout2d(torch.ones(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        functional.dropout3d(torch.ones(2, 3, 4, 5))


def test_gumbel_softmax_draws_by_the_probabilities():
    torch.manual_seed(0)
    logits = torch.tensor([0.1, 0.6, 0.3], dtype=torch.float64).log().expand(4000, 3)
    drawn = functional.gumbel_softmax(logits, hard=True)
    np.testing.assert_allclose(drawn.mean(0), [0.1, 0.6, 0.3], atol=0.03)
    soft = functional.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.sum(1), np.ones(4000))
    x = torch.zeros(5, 3, dtype=torch.float64, requires_grad=True)
    (functional.gumbel_softmax(x, hard=True) * torch.arange(3)).sum().backward()
    assert x.grad.any()
    np.testing.assert_allclose(x.grad.sum(1), np.zeros(5), atol=1e-12)


def test_to_takes_a_dtype_of_python_and_refuses_what_is_none():
    layer, cpu = torch.nn.Linear(1, 1), torch.device("cpu")
    for given in ((float,), (cpu, float), (None, torch.float64), (torch.float64, True)):
        assert layer.to(torch.float32).to(*given).weight.dtype is torch.float64
    assert layer.to(torch.float32).to(dtype=float).weight.dtype is torch.float64
    for given in ((cpu, True), (None, True), ([],), ({},), (cpu, torch.tensor(3.0)), ("cpu", 1.5)):
        with pytest.raises(TypeError, match="to\\(\\) received an invalid combination of argum"):
            layer.to(*given)


# --- Layers that follow from their functions ----------------------------------------------------

TOLD = [kind for name in nn.__all__ if "_made_of" in vars(kind := getattr(nn, name))]


@pytest.mark.parametrize("kind", TOLD, ids=lambda kind: kind.__name__)
def test_a_layer_takes_the_parameters_of_its_function(kind):
    known = inspect.signature(getattr(functional, kind._made_of)).parameters
    if "__init__" in vars(kind):
        assert inspect.signature(kind).parameters.keys() <= known.keys()
        assert kind.__init__.__qualname__ == f"{kind.__name__}.__init__"
    if "forward" in vars(kind):
        assert inspect.signature(kind.forward).parameters.keys() - {"self"} <= known.keys()
        assert kind.forward.__code__.co_filename == inspect.getsourcefile(kind)


def test_a_traceback_shows_the_class_of_a_layer():
    with pytest.raises(TypeError) as caught:
        nn.ELU()(3)
    frames = traceback.extract_tb(caught.value.__traceback__)
    (line,) = [frame.line for frame in frames if frame.filename.endswith("activation/modules.py")]
    assert line == "class ELU(Module):"


def test_a_setting_that_is_the_default_is_not_shown_by_repr():
    layer = nn.Conv2d(2, 4, 3, padding=1, groups=2, bias=False)
    shown = "2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2, bias=False"
    assert repr(layer) == f"Conv2d({shown})"
    assert repr(nn.ReLU()) == "ReLU()"
    assert repr(nn.ReLU(inplace=True)) == "ReLU(inplace=True)"
