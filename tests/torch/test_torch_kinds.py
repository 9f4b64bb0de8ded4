"""Which kinds of numbers activations, norms and losses take, and batches of nothing."""

import copy

import pytest

import tapegrad.torch as torch

nn, F = torch.nn, torch.nn.functional

# Functions of floats alone, with the name of the kernel in PyTorch's error.
KERNELS = {
    "leaky_relu": "leaky_relu_cpu",
    "elu": "elu_cpu",
    "selu": "elu_cpu",
    "celu": "elu_cpu",
    "gelu": "GeluKernelImpl",
    "softplus": "softplus_cpu",
    "hardswish": "hardswish_cpu",
    "hardsigmoid": "hardsigmoid_cpu",
    "mish": "mish_cpu",
    "logsigmoid": "log_sigmoid_cpu",
    "softshrink": "softshrink_check",
    "hardshrink": "hardshrink_cpu",
    "glu": "glu_cpu",
}
OTHERS = {
    "LayerNormKernelImpl": lambda x: F.layer_norm(x, (2,)),
    "GroupNormKernelImpl": lambda x: F.group_norm(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "mse_cpu": lambda x: F.mse_loss(x, x),
    "huber_cpu": lambda x: F.huber_loss(x, x),
    "smooth_l1_cpu": lambda x: F.smooth_l1_loss(x, x),
    "prelu_cpu": lambda x: F.prelu(x, x[0, :1]),
    "softmax_lastdim_kernel_impl": lambda x: F.softmax(x, 1),
}
WORDS = {torch.int64: "Long", torch.bool: "Bool", torch.complex64: "ComplexFloat"}
CALLS = [(kernel, getattr(F, name)) for name, kernel in KERNELS.items()]


@pytest.mark.parametrize("dtype", WORDS)
@pytest.mark.parametrize(("kernel", "call"), CALLS + list(OTHERS.items()))
def test_functions_of_floats_refuse_other_numbers(kernel, call, dtype):
    text = f"\"{kernel}\" not implemented for '{WORDS[dtype]}'"
    with pytest.raises(NotImplementedError, match=text):
        call(torch.tensor([[1, 0], [0, 1]], dtype=dtype))


def test_functions_that_clamp_take_integers_and_nothing_without_order():
    given = torch.tensor([-3, 5])
    assert F.hardtanh(given).tolist() == [-1, 1]
    assert F.hardtanh(given).dtype == torch.int64
    assert F.softsign(given).dtype == F.tanhshrink(given).dtype == torch.float32
    assert F.relu6(given).dtype == F.relu(given).dtype == torch.int64
    for call in (F.relu, F.relu6, F.hardtanh):
        with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
            call(torch.ones(2, dtype=torch.complex64))
        with pytest.raises(RuntimeError, match=r"Bool(ean)? inputs not supported for"):
            call(torch.ones(2, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="kl_div: Integral inputs not supported"):
        F.kl_div(given, given, reduction="sum")
    with pytest.raises(RuntimeError, match="prelu: Type promoting not supported"):
        F.prelu(given, torch.ones(1))


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_classes_are_of_long_or_byte(loss):
    logits = torch.zeros(2, 3)
    for dtype, word in ((torch.int32, "Int"), (torch.bool, "Bool"), (torch.float32, "Float")):
        with pytest.raises(RuntimeError, match=f"to be Long or Byte, but got {word}"):
            loss(logits, torch.zeros(2, dtype=dtype))
    assert loss(logits, torch.zeros(2, dtype=torch.uint8)) == loss(logits, torch.tensor([0, 0]))
    with pytest.raises(ValueError, match=r"batch_size \(2\) to match target batch_size \(3\)"):
        loss(logits, torch.zeros(3))
    with pytest.raises(RuntimeError, match="0D or 1D target tensor expected"):
        loss(logits, torch.zeros(2, 1))


def test_probabilities_of_classes_are_floats():
    with pytest.raises(RuntimeError, match="target with class probabilities, got Long"):
        F.cross_entropy(torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.long))


EMPTY = [
    (nn.Conv1d(2, 4, 3), (0, 2, 5)),
    (nn.Conv2d(2, 4, 3, groups=2, stride=2, padding=1), (0, 2, 5, 5)),
    (nn.Conv2d(2, 4, 3, padding_mode="circular", padding=1), (0, 2, 5, 5)),
    (nn.Conv3d(1, 1, 2), (0, 1, 3, 3, 3)),
    (nn.ConvTranspose2d(2, 3, 2, stride=2), (0, 2, 4, 4)),
    (nn.MaxPool2d(2), (0, 2, 4, 4)),
    (nn.LayerNorm(4), (0, 4)),
    (nn.GroupNorm(2, 4), (0, 4, 2)),
    (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (0, 3, 4)),
    (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (2, 0, 4)),
    (nn.GRU(2, 3, batch_first=True), (0, 4, 2)),
]


@pytest.mark.parametrize(("layer", "shape"), EMPTY, ids=lambda x: type(x).__name__)
def test_a_batch_of_nothing_has_gradients_of_zero(layer, shape):
    layer = copy.deepcopy(layer)
    x = torch.zeros(shape, requires_grad=True)
    out = layer(x)
    out = out[0] if isinstance(out, tuple) else out
    out.sum().backward()
    assert x.grad.shape == x.shape
    assert 0 in out.shape
    assert all(not param.grad.any() for param in layer.parameters())


def test_examples_of_nothing_under_vmap():
    x, w = torch.zeros(3, 0, 2, 5), torch.ones(3, 4, 2, 3)
    assert torch.func.vmap(F.conv1d)(x, w).shape == (3, 0, 4, 3)


def test_distributions_show_what_they_have_computed():
    made = torch.distributions.Categorical(logits=torch.zeros(3))
    assert repr(made) == "Categorical(logits: torch.Size([3]))"
    assert made.probs is made.probs
    assert repr(made) == "Categorical(probs: torch.Size([3]), logits: torch.Size([3]))"
    assert made.expand((2,)).logits.shape == (2, 3)
    one = torch.distributions.Normal(torch.ones(1), 1.0)
    assert repr(one) == "Normal(loc: tensor([1.]), scale: tensor([1.]))"


def test_an_optimizer_of_ones_own_gets_no_settings_that_it_has_not():
    class Plain(torch.optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

    made = Plain([torch.ones(1, requires_grad=True)])
    made.load_state_dict(made.state_dict())
    assert set(made.param_groups[0]) == {"lr", "params"}


@pytest.mark.parametrize("call", [torch.cat, torch.stack, torch.hstack, torch.vstack])
@pytest.mark.parametrize(("part", "kind"), [(1, "int"), (None, "NoneType"), ("a", "str")])
def test_an_element_that_is_no_tensor_is_named(call, part, kind):
    text = f"expected Tensor as element 1 in argument 0, but got {kind}"
    with pytest.raises(TypeError, match=text):
        call([torch.ones(1), part])


def test_a_copied_parameter_keeps_its_layout():
    layer = nn.Linear(2, 2)
    layer.weight = nn.Parameter(torch.ones(2, 2).t())
    assert copy.deepcopy(layer).weight.stride() == (1, 2)
