"""Modules, losses and optimizers of the object layer: as PyTorch's, and by themselves."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn, optim
from tapegrad.torch.func import vmap
from tapegrad.torch.nn import functional

X, Y = numbers(2, 3), numbers(2, 3, seed=1)
UNIT, OTHER = 1 / (1 + np.exp(-X)), 1 / (1 + np.exp(-Y))
LOGITS, SPATIAL = numbers(2, 5, seed=2), numbers(2, 5, 3, seed=3)
CLASSES, PLACES = np.array([1, 4]), np.array([[1, 2, 4], [0, 0, 1]])
WEIGHT = np.exp(numbers(5, seed=4))
IMAGES = numbers(2, 3, 6, 7, seed=5)
SOFT = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)

LOSSES = {
    "mse": lambda f, x, y: f.mse_loss(x, y),
    "mse sum": lambda f, x, y: f.mse_loss(x, y, reduction="sum"),
    "mse none": lambda f, x, y: f.mse_loss(x, y, reduction="none"),
    "mse row": lambda f, x, y: f.mse_loss(x, y[0]),
    "mse sides": lambda f, x, y: f.mse_loss(x, y[:, :2]),
    "mse word": lambda f, x, y: f.mse_loss(x, y, reduction="sums"),
    "l1": lambda f, x, y: f.l1_loss(x, y),
    "l1 equal": lambda f, x, y: f.l1_loss(x, x.detach(), reduction="sum"),
    "l1 none": lambda f, x, y: f.l1_loss(x, y, reduction="none"),
    "smooth l1": lambda f, x, y: f.smooth_l1_loss(x, y, beta=0.7),
    "huber": lambda f, x, y: f.huber_loss(x, y, delta=0.7),
    "huber none": lambda f, x, y: f.huber_loss(x, y, "none", 0.7),
    "huber delta": lambda f, x, y: f.huber_loss(x, y, delta=-1.0),
    "kl": lambda f, x, y: f.kl_div(x, y.exp(), reduction="batchmean"),
    "kl log": lambda f, x, y: f.kl_div(x, y, reduction="sum", log_target=True),
    "cosine": lambda f, x, y: f.cosine_similarity(x, y),
    "normalize": lambda f, x, y: f.normalize(x, p=1, dim=0),
    "logits": lambda f, x, y: f.binary_cross_entropy_with_logits(x, y.sigmoid()),
    "logits weight": lambda f, x, y: f.binary_cross_entropy_with_logits(
        x, y.sigmoid(), weight=y.detach().exp(), pos_weight=y[0].detach().exp()
    ),
    "logits large": lambda f, x, y: f.binary_cross_entropy_with_logits(1e3 * x, y.sigmoid()),
    "logits sides": lambda f, x, y: f.binary_cross_entropy_with_logits(x, y[0]),
}


@pytest.mark.parametrize("word", LOSSES)
def test_losses_of_pairs(word: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(lambda t, x, y: LOSSES[word](t.nn.functional, x, y), X, Y, order=2)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_binary_cross_entropy(reduction: str) -> None:
    agree(
        lambda t, x, y: t.nn.functional.binary_cross_entropy(x, y, reduction=reduction),
        UNIT,
        OTHER,
        order=2,
    )
    agree(
        lambda t, x, y: t.nn.functional.binary_cross_entropy(x, y.detach(), reduction=reduction),
        np.array([0.0, 1.0, 0.5]),
        np.array([0.0, 0.0, 1.0]),
        tolerance=1e-8,  # PyTorch's least denominator is one of single precision
    )
    agree(lambda t, x, y: t.nn.functional.binary_cross_entropy(x, y), X, OTHER)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(reduction: str, smoothing: float) -> None:
    def loss(t: Any, x: Any, y: Any, **options: Any) -> Any:
        return t.nn.functional.cross_entropy(
            x, y, reduction=reduction, label_smoothing=smoothing, **options
        )

    for x, y in ((LOGITS, CLASSES), (LOGITS[0], np.array(3)), (SPATIAL, PLACES), (LOGITS, SOFT)):
        agree(loss, x, y, order=2, name=smoothing == 0.0 and y.dtype.kind == "i")
    agree(lambda t, x, y: loss(t, x, y, ignore_index=4), LOGITS, CLASSES, name=False)
    agree(loss, LOGITS, np.array([1, -100]), name=False)
    agree(lambda t, x, y, w: loss(t, x, y, weight=w.detach()), LOGITS, CLASSES, WEIGHT, name=False)
    agree(lambda t, x, y, w: loss(t, x, y, weight=w.detach()), LOGITS, SOFT, WEIGHT, name=False)
    for y in (CLASSES, np.array([4, 4])):  # the weight of what is ignored is no part of a mean
        agree(
            lambda t, x, y, w: loss(t, x, y, weight=w.detach(), ignore_index=4),
            *(LOGITS, y, WEIGHT),
            name=False,
        )
    for wrong in (np.array([1, 5]), np.array([1, -3]), np.array([1, 2, 3]), SOFT[:, :4]):
        agree(loss, LOGITS, wrong)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss(reduction: str) -> None:
    for x, y in ((LOGITS, CLASSES), (LOGITS[0], np.array(3)), (SPATIAL, PLACES)):
        agree(lambda t, x, y: t.nn.functional.nll_loss(x, y, reduction=reduction), x, y)
    agree(
        lambda t, x, y, w: t.nn.functional.nll_loss(x, y, w.detach(), ignore_index=4),
        LOGITS,
        CLASSES,
        WEIGHT,
    )
    agree(lambda t, x, y: t.nn.functional.nll_loss(x, y), LOGITS, np.array([1, 5]))


def test_rows_of_huge_logits_have_a_finite_loss() -> None:
    x = torch.tensor([[1000.0, 0.0, -1000.0], [0.0, 0.0, 0.0]], requires_grad=True)
    loss = functional.cross_entropy(x, torch.tensor([1, 2]))
    loss.backward()
    assert loss.item() == pytest.approx((1000 + np.log(3)) / 2)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad[0].tolist(), [0.5, -0.5, 0.0])


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_against_differences(name: str) -> None:
    inputs = [torch.from_numpy(x.copy()).requires_grad_() for x in (X, Y)]
    call = getattr(functional, name)
    assert torch.autograd.gradcheck(call, inputs)
    assert torch.autograd.gradgradcheck(call, inputs)


def test_cross_entropy_against_differences() -> None:
    x, y = torch.from_numpy(LOGITS.copy()).requires_grad_(), torch.from_numpy(CLASSES.copy())
    assert torch.autograd.gradcheck(lambda x: functional.cross_entropy(x, y), x)
    assert torch.autograd.gradgradcheck(lambda x: functional.cross_entropy(x, y), x)


POOLS = [
    (2, {}),
    ((2, 3), {}),
    (2, {"ceil_mode": True}),
    (3, {"stride": 1, "padding": 1}),
    (3, {"stride": 2, "padding": 1, "count_include_pad": False}),
    (3, {"stride": 2, "padding": 1, "ceil_mode": True}),
    (3, {"stride": (3, 2), "padding": (0, 1), "ceil_mode": True, "count_include_pad": False}),
    (2, {"stride": 3, "ceil_mode": True}),
    (2, {"divisor_override": 3}),
    (2, {"padding": 2}),
    (9, {}),
]


@pytest.mark.parametrize(("kernel", "options"), POOLS)
def test_avg_pool2d(kernel: Any, options: dict[str, Any]) -> None:
    for images in (IMAGES, IMAGES[0], IMAGES[:, :, :4].copy()):
        agree(lambda t, x: t.nn.functional.avg_pool2d(x, kernel, **options), images, order=2)


def test_avg_pool2d_under_vmap_and_twice() -> None:
    x = torch.from_numpy(IMAGES.copy())
    pooled = vmap(lambda image: functional.avg_pool2d(image, 2))(x)
    np.testing.assert_allclose(pooled.numpy(), functional.avg_pool2d(x, 2).numpy())
    small = torch.from_numpy(IMAGES[0, :1].copy()).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: functional.avg_pool2d(x, 3, 2, 1) ** 2, small)


PADS = [
    ((1, 2), {}),
    ((1, 2, 0, 1), {"value": 3.0}),
    ((-1, 2, 0, 1), {}),
    ((1, 1, 1, 1, 1, 1, 1, 1, 1, 1), {}),
    ((1,), {}),
    ((1, 2, 1, 1), {"mode": "reflect"}),
    ((1, 2, 1, 1), {"mode": "replicate"}),
    ((1, 2, 1, 1), {"mode": "circular"}),
]


@pytest.mark.parametrize(("widths", "options"), PADS)
def test_pad(widths: Any, options: dict[str, Any]) -> None:
    agree(lambda t, x: t.nn.functional.pad(x, widths, **options), IMAGES)


def test_one_hot() -> None:
    agree(lambda t, x: t.nn.functional.one_hot(x), PLACES)
    agree(lambda t, x: t.nn.functional.one_hot(x, 7), PLACES)
    agree(lambda t, x: t.nn.functional.one_hot(x, 3), PLACES)
    agree(lambda t, x: t.nn.functional.one_hot(x), -PLACES)


def test_dropout() -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    made = functional.dropout(x, 0.25)
    made.sum().backward()
    assert sorted(set(made.tolist())) == [0.0, pytest.approx(4 / 3)]
    assert x.grad is not None
    assert x.grad.tolist() == made.tolist()
    assert functional.dropout(x, 0.25, training=False) is x
    assert functional.dropout(x, 1.0).sum().item() == 0
    with pytest.raises(ValueError, match="probability"):
        functional.dropout(x, 1.5)


# --- Modules ------------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 2, bias=False)])
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x: Any) -> Any:
        x = self.first(x).relu()
        for layer in self.rest:
            x = layer(x)
        return x * self.scale


PATHS = ["scale", "first.weight", "first.bias", "rest.0.weight", "rest.0.bias", "rest.1.weight"]


def test_a_module_knows_its_parameters_buffers_and_modules() -> None:
    net = Net()
    assert [path for path, _ in net.named_parameters()] == PATHS
    assert [path for path, _ in net.named_buffers()] == ["count", "scratch"]
    assert [path for path, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [path for path, _ in net.named_children()] == ["first", "rest"]
    assert net.get_submodule("rest.1") is net.rest[1]
    assert net.get_parameter("rest.0.bias") is net.rest[0].bias
    assert sum(p.numel() for p in net.parameters()) == 1 + 16 + 20 + 8
    net.rest[0].weight = net.rest[1].weight  # shared: counted once
    assert len(list(net.parameters())) == 5
    del net.scale
    with pytest.raises(AttributeError):
        net.scale  # noqa: B018


def test_what_may_be_assigned() -> None:
    net = Net()
    with pytest.raises(TypeError):
        net.scale = torch.ones(1)
    net.scale = None
    net.count = torch.ones(1)
    assert net.count.item() == 1
    with pytest.raises(TypeError):
        net.first = 3
    with pytest.raises(KeyError):
        net.register_parameter("a.b", None)
    with pytest.raises(KeyError):
        net.register_buffer("training", torch.ones(1))

    class Early(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(torch.ones(1))

    with pytest.raises(AttributeError):
        Early()
    with pytest.raises(NotImplementedError):
        nn.Module()(1)


def test_modes_and_gradients_of_a_module() -> None:
    net = Net()
    assert not net.eval().training
    assert not net.rest[0].training
    assert net.train().rest[0].training
    net(torch.ones(2, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all(not p.grad.any() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not net(torch.ones(2, 3)).requires_grad
    names = []
    net.apply(lambda module: names.append(type(module).__name__))
    assert names == ["Linear", "Linear", "Linear", "ModuleList", "Net"]


def test_dtypes_of_a_module() -> None:
    net = Net().double()
    assert {p.dtype for p in net.parameters()} == {torch.float64}
    assert net.count.dtype is torch.float64
    assert net.to(torch.float32).scale.dtype is torch.float32
    assert net.scale.requires_grad
    with pytest.raises(TypeError):
        net.to(torch.int64)


def test_state_is_saved_and_loaded() -> None:
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["scale", "count", *PATHS[1:]]
    assert not state["scale"].requires_grad
    found = other.load_state_dict(state)
    assert str(found) == "<All keys matched successfully>"
    for mine, given in zip(net.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(mine.detach().numpy(), given.detach().numpy())
    state["first.weight"].fill_(0)  # the memory is the module's own
    assert not net.first.weight.any()
    assert other.first.weight.any()
    del state["scale"]
    state["more"] = torch.ones(1)
    with pytest.raises(RuntimeError, match=r"(?s)Missing.*scale.*Unexpected.*more"):
        other.load_state_dict(state)
    found = other.load_state_dict(state, strict=False)
    assert found.missing_keys == ["scale"]
    assert found.unexpected_keys == ["more"]
    with pytest.raises(RuntimeError, match="size mismatch"):
        other.load_state_dict({**net.state_dict(), "scale": torch.ones(2)})


def test_copies_of_a_module_are_its_own() -> None:
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert isinstance(other.scale, nn.Parameter)
        assert other.scale.requires_grad
        other.first.weight.data.zero_()
        assert net.first.weight.any()
        np.testing.assert_array_equal(other.rest[0].weight.tolist(), net.rest[0].weight.tolist())


def test_containers() -> None:
    layers = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(layers) == 3
    assert isinstance(layers[-1], nn.Linear)
    assert [type(m).__name__ for m in layers[:2]] == ["Linear", "ReLU"]
    layers[1] = nn.Tanh()
    layers.append(nn.Identity()).insert(0, nn.Flatten())
    assert list(layers._modules) == ["0", "1", "2", "3", "4"]
    del layers[0]
    assert isinstance(layers[0], nn.Linear)
    assert layers(torch.ones(4, 2)).shape == (4, 1)
    with pytest.raises(IndexError):
        layers[9]
    named = nn.Sequential(OrderedDict(a=nn.Linear(2, 2), b=nn.ReLU()))
    assert named.a is named[0]
    table = nn.ModuleDict({"x": nn.Linear(1, 1)})
    assert "x" in table
    assert len(list(table.parameters())) == 2
    assert len(nn.ParameterList([torch.ones(1), torch.ones(2)])) == 2


def test_a_parameter_shares_the_memory_of_its_data() -> None:
    data = torch.zeros(3)
    parameter = nn.Parameter(data)
    data.fill_(2.0)
    assert parameter.tolist() == [2.0, 2.0, 2.0]
    assert parameter.is_leaf
    assert repr(parameter) == "Parameter containing:\ntensor([2., 2., 2.], requires_grad=True)"
    assert isinstance(parameter, torch.Tensor)
    assert type(parameter * 2) is torch.Tensor
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    with pytest.raises(RuntimeError):
        nn.Parameter(torch.arange(3))


PRINTED = {
    "Linear": lambda nn: nn.Linear(2, 3, bias=False),
    "nested": lambda nn: nn.Sequential(
        nn.Linear(2, 3), nn.Sequential(nn.ReLU(inplace=True), nn.AvgPool2d(2)), nn.Flatten()
    ),
    "empty": lambda nn: nn.Sequential(),
    "layers": lambda nn: nn.ModuleList([nn.Softmax(dim=1), nn.Dropout(0.3), nn.Tanh()]),
    "losses": lambda nn: nn.ModuleList([nn.MSELoss(), nn.CrossEntropyLoss(), nn.BCELoss()]),
}


@pytest.mark.parametrize("word", PRINTED)
def test_modules_print_as_those_of_pytorch(word: str) -> None:
    assert repr(PRINTED[word](nn)) == of_pytorch(lambda t: repr(PRINTED[word](t.nn)))


def test_layers_start_as_those_of_pytorch() -> None:
    def seen(t: Any) -> list[tuple[float, float]]:
        drawn = [p.detach().numpy() for p in t.nn.Linear(100, 200).parameters()]
        return [(float(abs(x).max()), float(x.std())) for x in drawn]

    for mine, theirs in zip(seen(torch), of_pytorch(seen), strict=True):
        assert mine[0] == pytest.approx(theirs[0], rel=0.05)
        assert mine[1] == pytest.approx(theirs[1], rel=0.15)


# --- Hooks --------------------------------------------------------------------------------------


def test_forward_hooks_see_and_replace() -> None:
    layer = nn.Linear(2, 2)
    seen = []
    first = layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    second = layer.register_forward_hook(lambda module, args, out: seen.append(args[0].tolist()))
    third = layer.register_forward_hook(lambda module, args, out: out * 0)
    assert layer(torch.ones(2)).tolist() == [0.0, 0.0]
    assert seen == [[2.0, 2.0]]
    for handle in (first, second, third):
        handle.remove()
    assert layer(torch.ones(2)).tolist() != [0.0, 0.0]
    with_words = nn.Identity()
    with_words.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"input": kwargs["input"] + 1}), with_kwargs=True
    )
    assert with_words(input=torch.ones(1)).item() == 2


def _hooked_gradients(t: Any, replace: bool) -> list[Any]:
    layer = t.nn.Linear(2, 2).double()
    with t.no_grad():
        for p in layer.parameters():
            p.copy_(t.arange(p.numel(), dtype=t.float64).reshape(p.shape))
    seen: list[Any] = []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.extend(g.tolist() for g in (*grad_input, *grad_output))
        return (grad_input[0] * 10,) if replace else None

    layer.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 2,))
    layer.register_full_backward_hook(hook)
    x = t.ones(3, 2, dtype=t.float64, requires_grad=True)
    (layer(x) ** 2).sum().backward()
    return [*seen, x.grad.tolist(), *(p.grad.tolist() for p in layer.parameters())]


@pytest.mark.parametrize("replace", [False, True])
def test_backward_hooks_agree_with_pytorch(replace: bool) -> None:
    theirs = of_pytorch(lambda t: _hooked_gradients(t, replace))
    assert _hooked_gradients(torch, replace) == theirs


def test_backward_hooks_without_a_gradient_of_the_input() -> None:
    layer = nn.Linear(2, 1)
    seen = []
    layer.register_full_backward_hook(
        lambda module, inputs, outputs: seen.append((inputs, outputs))
    )
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(torch.ones(3, 2)).sum().backward()
    ((inputs, outputs),) = seen
    assert inputs == (None,)
    assert outputs[0].tolist() == [[1.0]] * 3


# --- Optimizers ---------------------------------------------------------------------------------


def _trained(t: Any, make: Any, steps: int = 6) -> list[Any]:
    w = t.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=t.float64, requires_grad=True)
    b = t.tensor([0.1, 0.2], dtype=t.float64, requires_grad=True)
    unused = t.ones(2, dtype=t.float64, requires_grad=True)
    optimizer = make(t.optim, w, b, unused)
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((w @ b - 1) ** 2).sum() + (w**4).sum() / 10
        loss.backward()
        optimizer.step()
        path.append([*w.detach().reshape(-1).tolist(), *b.tolist(), loss.item()])
    return path


OPTIMIZERS = {
    "sgd": lambda o, *ps: o.SGD(ps, lr=0.05),
    "momentum": lambda o, *ps: o.SGD(ps, lr=0.05, momentum=0.9),
    "dampening": lambda o, *ps: o.SGD(ps, lr=0.05, momentum=0.9, dampening=0.3),
    "nesterov": lambda o, *ps: o.SGD(ps, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1),
    "maximize": lambda o, *ps: o.SGD(ps, lr=0.01, maximize=True, weight_decay=0.1),
    "adam": lambda o, *ps: o.Adam(ps, lr=0.05),
    "adam decay": lambda o, *ps: o.Adam(ps, lr=0.05, weight_decay=0.1, betas=(0.8, 0.9)),
    "amsgrad": lambda o, *ps: o.Adam(ps, lr=0.05, amsgrad=True, maximize=True),
    "adamw": lambda o, *ps: o.AdamW(ps, lr=0.05),
    "adamw amsgrad": lambda o, *ps: o.AdamW(ps, lr=0.05, amsgrad=True, weight_decay=0.2),
    "groups": lambda o, w, b, u: o.SGD([{"params": w}, {"params": [b, u], "lr": 0.2}], lr=0.01),
}


@pytest.mark.parametrize("word", OPTIMIZERS)
def test_optimizers_take_the_steps_of_pytorch(word: str) -> None:
    theirs = of_pytorch(lambda t: _trained(t, OPTIMIZERS[word]))
    np.testing.assert_allclose(_trained(torch, OPTIMIZERS[word]), theirs, rtol=1e-9)


def test_a_step_counts_as_a_write() -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    (w * w).sum().backward()
    kept = (w * w).sum()
    before = w._version
    optimizer.step()
    assert w._version == before + 1
    assert w.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()


def test_the_state_of_an_optimizer_is_saved_and_loaded() -> None:
    def made() -> tuple[Any, Any]:
        w = torch.ones(2, requires_grad=True)
        return w, optim.Adam([w], lr=0.1)

    def step(w: Any, optimizer: Any) -> list[float]:
        optimizer.zero_grad()
        (w**3).sum().backward()
        optimizer.step()
        return list(w.tolist())

    w, optimizer = made()
    step(w, optimizer)
    other, following = made()
    with torch.no_grad():
        other.copy_(w)
    following.load_state_dict(optimizer.state_dict())
    assert step(w, optimizer) == step(other, following)
    assert optimizer.state_dict()["param_groups"][0]["params"] == [0]


def test_closures_and_refused_arguments() -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = w.sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 2
    assert w.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="empty"):
        optim.SGD([], lr=0.1)
    with pytest.raises(ValueError, match="non-leaf"):
        optim.SGD([w * 2], lr=0.1)
    with pytest.raises(ValueError, match="learning rate"):
        optim.SGD([w], lr=-1)
    with pytest.raises(ValueError, match="more than one"):
        optimizer.add_param_group({"params": w})
    with pytest.raises(TypeError):
        optim.Adam(w)
    with pytest.raises(TypeError):
        optim.SGD([1.0], lr=0.1)


@pytest.mark.parametrize("loss", ["CrossEntropyLoss", "MSELoss"])
def test_a_net_is_trained_as_by_pytorch(loss: str) -> None:
    def trained(t: Any) -> list[float]:
        net = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.Tanh(), t.nn.Linear(8, 8), t.nn.ReLU())
        net.append(t.nn.Linear(8, 3)).double()
        draw = np.random.default_rng(3)
        with t.no_grad():
            for p in net.parameters():
                p.copy_(t.from_numpy(draw.normal(size=tuple(p.shape)) / 2))
        x = t.from_numpy(draw.normal(size=(16, 4)))
        y: Any = draw.integers(0, 3, 16) if loss[0] == "C" else draw.normal(size=(16, 3))
        y, judge = t.from_numpy(y), getattr(t.nn, loss)()
        optimizer = t.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            value = judge(net(x), y)
            value.backward()
            optimizer.step()
            losses.append(value.item())
        return losses

    np.testing.assert_allclose(trained(torch), of_pytorch(trained), rtol=1e-8)


def test_nets_under_functional_transforms() -> None:
    def found(t: Any) -> list[Any]:
        func = t.func
        net = t.nn.Sequential(t.nn.Linear(4, 5), t.nn.Tanh(), t.nn.Linear(5, 3)).double()
        draw = np.random.default_rng(0)
        params = {
            name: t.from_numpy(draw.normal(size=tuple(p.shape)))
            for name, p in net.named_parameters()
        }
        x, y = t.from_numpy(draw.normal(size=(6, 4))), t.from_numpy(draw.integers(0, 3, 6))
        entropy = t.nn.functional.cross_entropy

        def loss(params: Any, x: Any, y: Any) -> Any:
            return entropy(func.functional_call(net, params, (x[None],)), y[None])

        def whole(params: Any) -> Any:
            return entropy(func.functional_call(net, params, (x,)), y)

        each = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
        ones = {name: t.ones_like(p) for name, p in params.items()}
        second = func.jvp(func.grad(whole), (params,), (ones,))[1]
        return [p.numpy() for p in (*each.values(), *second.values())]

    for mine, theirs in zip(found(torch), of_pytorch(found), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
