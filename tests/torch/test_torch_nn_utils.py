"""`nn.utils` and `nn.init`: as PyTorch's, and what they promise by themselves."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from module_programs import error_of, filled
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.nn.utils import parametrizations, parametrize

W = numbers(4, 3, 2)

# --- Gradients cut off ---------------------------------------------------------------------------


def _with_gradients(t: Any, scale: float = 1.0) -> list[Any]:
    draw = np.random.default_rng(1)
    found = []
    for shape in ((3,), (2, 2), (), (2,)):
        p = t.tensor(draw.normal(size=shape)).requires_grad_()
        if shape != (2,):  # one has no gradient
            p.grad = t.tensor(draw.normal(size=shape)) * scale
        found.append(p)
    return found


@pytest.mark.parametrize("order", [0.5, 1, 2, 3.0, float("inf")])
@pytest.mark.parametrize("most", [0.1, 100.0])
def test_gradients_are_scaled_to_a_norm(order: float, most: float) -> None:
    found = _with_gradients(torch)
    before = np.concatenate([p.grad.numpy().ravel() for p in found[:3]])
    total = nn.utils.clip_grad_norm_(iter(found), most, norm_type=order)
    after = np.concatenate([p.grad.numpy().ravel() for p in found[:3]])
    norm = (abs(before) ** order).sum() ** (1 / order) if order < 9 else abs(before).max()
    assert total.item() == pytest.approx(norm)
    np.testing.assert_allclose(after, before * min(1.0, most / (norm + 1e-6)))
    assert found[3].grad is None


@pytest.mark.parametrize("order", [0.5, 1, 2, 3.0, float("inf")])
def test_norms_of_gradients_agree(order: float) -> None:
    def seen(t: Any) -> list[Any]:
        found = _with_gradients(t)
        total = t.nn.utils.get_total_norm([p.grad for p in found[:3]], order)
        t.nn.utils.clip_grads_with_norm_(found, 0.5, total)
        other = t.nn.utils.clip_grad_norm_(found[0], 0.1, order)
        t.nn.utils.clip_grad_value_(found[1], 0.07)
        return [total.item(), other.item(), *(p.grad.tolist() for p in found[:3])]

    for mine, theirs in zip(seen(torch), of_pytorch(seen), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_gradients_that_cannot_be_scaled() -> None:
    found = _with_gradients(torch, scale=np.inf)
    with pytest.raises(RuntimeError, match=r"total norm of order 2\.0 .* is non-finite"):
        nn.utils.clip_grad_norm_(found, 1.0, error_if_nonfinite=True)
    with pytest.warns(UserWarning, match="empty generator"):
        assert nn.utils.clip_grad_norm_((p for p in ()), 1.0).item() == 0.0
    assert nn.utils.get_total_norm([]).item() == 0
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        nn.utils.clip_grad_norm(_with_gradients(torch), 1.0)
    found = _with_gradients(torch)
    nn.utils.clip_grad_value_(found, 0.2)
    assert max(abs(p.grad.numpy()).max() for p in found[:3]) == 0.2
    assert not found[0].grad.requires_grad


def test_parameters_as_a_vector() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (13,)
    assert vector.requires_grad
    other = torch.arange(13, dtype=torch.float32)
    nn.utils.vector_to_parameters(other, net.parameters())
    assert net[0].weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    other[0] = 7  # one memory
    assert net[0].weight[0, 0] == 7
    assert net[1].bias.is_leaf
    with pytest.raises(TypeError, match=r"expected torch\.Tensor, but got: list"):
        nn.utils.vector_to_parameters([1.0], net.parameters())


def test_a_module_without_first_values() -> None:
    torch.manual_seed(0)
    layer = nn.utils.skip_init(nn.Linear, 3, 2, bias=False)
    first = torch.rand(3).tolist()
    torch.manual_seed(0)
    assert torch.rand(3).tolist() == first
    assert layer.weight.shape == (2, 3)
    with pytest.raises(RuntimeError, match="Expected a Module"):
        nn.utils.skip_init(int)
    with pytest.raises(RuntimeError, match="'device' arg"):
        nn.utils.skip_init(nn.Identity)


def test_functional_call_where_pytorch_had_it_first() -> None:
    layer = nn.Linear(2, 1, bias=False)
    with pytest.warns(FutureWarning, match="functional_call"):
        made = nn.utils.stateless.functional_call(
            layer, {"weight": torch.ones(1, 2)}, torch.tensor([1.0, 2.0])
        )
    assert made.item() == 3


# --- Weights by hooks ----------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_norms_except_along_one_dimension(dim: int) -> None:
    agree(lambda t, v: t.norm_except_dim(v, 2, dim), W, order=2, name=False)
    agree(
        lambda t, v: t._weight_norm(v, t.norm_except_dim(v.detach(), 2, dim).exp(), dim),
        W,
        name=False,
    )


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_weights_of_given_norms_against_differences(dim: int) -> None:
    """To the second order, too, where PyTorch 2.13 takes the norms of v for constants."""
    v = torch.from_numpy(W.copy()).requires_grad_()
    g = torch.norm_except_dim(v.detach(), 2, dim).exp().requires_grad_()
    assert torch.autograd.gradcheck(lambda v, g: torch._weight_norm(v, g, dim), (v, g))
    assert torch.autograd.gradgradcheck(lambda v, g: torch._weight_norm(v, g, dim), (v, g))


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim: int | None) -> None:
    layer = nn.Linear(3, 2).double()
    weight, x = layer.weight.detach().clone(), torch.from_numpy(numbers(4, 3))
    with pytest.warns(FutureWarning, match="weight_norm"):
        nn.utils.weight_norm(layer, dim=dim)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_g", "weight_v"]
    np.testing.assert_allclose(layer.weight.tolist(), weight.tolist())
    layer.weight_g.data *= 2
    np.testing.assert_allclose(layer(x).tolist(), (2 * (x @ weight.T) + layer.bias).tolist())
    layer(x).sum().backward()
    along = (layer.weight_v.grad * layer.weight_v).sum()  # a direction has no length
    assert abs(along.item()) < 1e-12
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="two weight_norm hooks"):
        nn.utils.weight_norm(layer)
    nn.utils.remove_weight_norm(layer)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight"]
    np.testing.assert_allclose(layer.weight.tolist(), (2 * weight).tolist())
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in Linear"):
        nn.utils.remove_weight_norm(layer)


def test_spectral_norm() -> None:
    layer = nn.utils.spectral_norm(nn.Linear(4, 3).double(), n_power_iterations=5)
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    for _ in range(20):
        layer(torch.ones(4, dtype=torch.float64))
    assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1.0)
    kept = layer.weight_u.tolist()
    layer.eval()(torch.ones(4, dtype=torch.float64)).sum().backward()
    assert layer.weight_u.tolist() == kept
    assert layer.weight_orig.grad is not None
    state = layer.state_dict()
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    other = nn.utils.spectral_norm(nn.Linear(4, 3).double())
    other.load_state_dict(state)
    older = {**state, "weight": layer.weight.detach()}  # without v, as of before version 1
    del older["weight_v"]
    other.weight_v.zero_()
    other.load_state_dict(older)
    np.testing.assert_allclose(abs(other.weight_v.numpy()), abs(layer.weight_v.numpy()))
    copied = copy.deepcopy(other.eval())
    np.testing.assert_allclose(
        copied(torch.ones(4).double()).tolist(), layer(torch.ones(4).double()).tolist()
    )
    nn.utils.remove_spectral_norm(layer)
    assert [*layer.state_dict()] == ["bias", "weight"]
    assert not layer._state_dict_hooks
    assert not layer._load_state_dict_pre_hooks
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found"):
        nn.utils.remove_spectral_norm(layer)


# --- Parametrizations ----------------------------------------------------------------------------


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x: Any) -> Any:
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return 2 * x

    def right_inverse(self, x: Any) -> Any:
        return x / 2


def _parametrized(t: Any) -> list[Any]:
    """Observable state of modules with parametrizations."""

    class Sum(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

        def right_inverse(self, z: Any) -> Any:
            return z / 3, z * 2 / 3

    class Grown(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return t.cat([x, x])

    class Other(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x.to(t.float32)

    class Wrong(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return 3

    class Half(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x / 2

        def right_inverse(self, x: Any) -> Any:
            return t.cat([x, x])

    p = t.nn.utils.parametrize
    net = filled(t, t.nn.Linear(2, 2))
    seen: list[Any] = [net.weight.tolist()]
    p.register_parametrization(net, "weight", Sum())
    seen += [repr(net), type(net).__name__, [n for n, _ in net.named_parameters()]]
    seen += [list(net.state_dict()), net.weight.tolist(), p.is_parametrized(net)]
    p.register_parametrization(net, "weight", t.nn.Tanh(), unsafe=True)
    p.register_parametrization(net, "bias", t.nn.Tanh())
    seen += [net.weight.tolist(), repr(net.parametrizations.weight.original0)]
    seen.append([p.is_parametrized(net, "bias"), p.is_parametrized(net, "x")])
    seen.append(p.type_before_parametrizations(net) is t.nn.Linear)
    net(t.ones(1, 2, dtype=t.float64)).sum().backward()
    seen.append(net.parametrizations.weight.original0.grad.tolist())
    seen.append(error_of(lambda: setattr(net, "weight", t.ones(2, 2, dtype=t.float64))))
    seen.append(error_of(lambda: p.register_parametrization(net, "nothing", Sum())))
    seen += [error_of(lambda: p.register_parametrization(net, "weight", Grown()))]
    seen += [error_of(lambda: p.register_parametrization(net, "weight", Other()))]
    seen += [error_of(lambda: p.register_parametrization(net, "weight", Wrong()))]
    seen += [error_of(lambda: p.register_parametrization(net, "weight", Half()))]
    fresh = filled(t, t.nn.Linear(2, 2))
    seen += [
        error_of(lambda kind=kind: p.register_parametrization(fresh, "weight", kind()))
        for kind in (Grown, Other, Wrong)
    ]
    seen.append(error_of(lambda: net.__getstate__()))
    seen.append(error_of(lambda: p.remove_parametrizations(net, "weight", False)))
    seen.append(error_of(lambda: p.remove_parametrizations(fresh, "weight")))
    p.remove_parametrizations(net, "bias", leave_parametrized=False)
    p.remove_parametrizations(net, "weight")
    seen += [type(net).__name__, net.weight.tolist(), net.bias.tolist(), list(net.state_dict())]
    return seen


def test_parametrized_modules_agree_with_pytorch() -> None:
    both = zip(_parametrized(torch), of_pytorch(_parametrized), strict=True)
    for place, (mine, theirs) in enumerate(both):
        if isinstance(mine, list) and mine and isinstance(mine[0], (list, float)):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
        else:
            assert mine == theirs, place


def test_a_parametrized_weight_is_a_function_of_its_original() -> None:
    layer = nn.Linear(3, 3).double()
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert layer.parametrizations.weight.original is weight
    parametrize.register_parametrization(layer, "weight", Doubled())
    np.testing.assert_allclose(layer.weight.tolist(), layer.weight.T.tolist())
    target = torch.from_numpy(numbers(3, 3))
    target = target + target.T
    layer.weight = target
    np.testing.assert_allclose(layer.weight.tolist(), target.tolist())
    np.testing.assert_allclose(weight.tolist(), target.triu().div(2).tolist())
    other = copy.deepcopy(layer)
    other.weight = target * 3
    np.testing.assert_allclose(layer.weight.tolist(), target.tolist())
    assert type(other).__name__ == "ParametrizedLinear"
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)
    moved = parametrize.transfer_parametrizations_and_params(layer, nn.Linear(3, 3).double())
    np.testing.assert_allclose(moved.weight.tolist(), target.tolist())
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is weight
    assert type(layer) is nn.Linear
    np.testing.assert_allclose(layer.weight.tolist(), target.tolist())
    layer(torch.ones(3).double()).sum().backward()
    assert weight.grad is not None


def test_cached_tensors_are_computed_once() -> None:
    calls = []

    class Counted(nn.Module):
        def forward(self, x: Any) -> Any:
            calls.append(1)
            return x * 2

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Counted())
    calls.clear()
    with parametrize.cached():
        with parametrize.cached():
            first = layer.weight
        assert layer.weight is first
    assert len(calls) == 1
    assert layer.weight is not first
    assert len(calls) == 2


MAPS = ["matrix_exp", "cayley", "householder"]


@pytest.mark.part(3)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3), (2, 5, 3)])
@pytest.mark.parametrize("kind", [None, *MAPS])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_weights(shape: Any, kind: str | None, trivial: bool) -> None:
    net = nn.Module()
    net.weight = nn.Parameter(torch.from_numpy(numbers(*shape)))
    parametrizations.orthogonal(net, orthogonal_map=kind, use_trivialization=trivial)
    by = net.parametrizations.weight[0].orthogonal_map

    def small(w: Any) -> Any:
        return w @ w.mT if shape[-2] < shape[-1] else w.mT @ w

    def check() -> None:
        made = small(net.weight)
        one = np.broadcast_to(np.eye(made.shape[-1]), made.shape)
        np.testing.assert_allclose(made.tolist(), one, atol=1e-12)

    check()
    original = net.parametrizations.weight.original
    target = net.weight.detach()
    draw = torch.from_numpy(numbers(*shape, seed=4))
    (net.weight * draw).sum().backward()
    assert abs(original.grad.numpy()).max() > 1e-3
    with torch.no_grad():
        original -= 0.1 * original.grad
    check()
    if trivial or by == "householder":
        net.weight = target
        np.testing.assert_allclose(net.weight.tolist(), target.tolist(), atol=1e-12)
    else:
        with pytest.raises(NotImplementedError, match="not possible to assign"):
            net.weight = target
    with pytest.raises(ValueError, match="Expected a matrix or batch"):
        net.parametrizations.weight[0].right_inverse(torch.ones(7, 7))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 5, 3)])
@pytest.mark.parametrize("kind", MAPS)
def test_orthogonal_weights_are_pytorchs(shape: Any, kind: str) -> None:
    def seen(t: Any) -> list[Any]:
        net = t.nn.Module()
        net.weight = t.nn.Parameter(t.from_numpy(numbers(*shape)))
        t.nn.utils.parametrizations.orthogonal(net, orthogonal_map=kind, use_trivialization=False)
        (net.weight * t.from_numpy(numbers(*shape, seed=2))).sum().backward()
        made = [net.weight, net.parametrizations.weight.original.grad]
        if kind == "householder":
            q, _ = t.linalg.qr(t.from_numpy(numbers(max(shape[-2:]), min(shape[-2:]), seed=3)))
            q = q.mT if shape[-2] < shape[-1] else q
            net.weight = q.expand(shape).clone()
            made += [net.weight, net.parametrizations.weight.original]
        return [x.detach().numpy() for x in made]

    for mine, theirs in zip(seen(torch), of_pytorch(seen), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-11)


def test_refused_orthogonal_weights() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="no parameter or buffer with name 'x'"):
        parametrizations.orthogonal(layer, "x")
    with pytest.raises(ValueError, match="of 1 dimensions"):
        parametrizations.orthogonal(layer, "bias")
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        parametrizations.orthogonal(layer, orthogonal_map="rotation")


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weights_of_a_length(dim: int | None) -> None:
    layer = nn.Linear(3, 2).double()
    weight = layer.weight.detach().clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        older = nn.utils.weight_norm(copy.deepcopy(layer), dim=dim).state_dict()
    parametrizations.weight_norm(layer, dim=dim)
    names = [f"parametrizations.weight.original{place}" for place in (0, 1)]
    assert list(layer.state_dict()) == ["bias", *names]
    np.testing.assert_allclose(layer.weight.tolist(), weight.tolist())
    older["weight_g"] *= 3
    layer.load_state_dict(older)  # as the hook saved it
    np.testing.assert_allclose(layer.weight.tolist(), (3 * weight).tolist())
    layer.weight = weight
    np.testing.assert_allclose(layer.weight.tolist(), weight.tolist())


def test_weights_of_spectral_norm_one() -> None:
    net = nn.Module()
    net.weight = nn.Parameter(torch.from_numpy(numbers(4, 3, 2)))
    parametrizations.spectral_norm(net, dim=1, n_power_iterations=3)
    net.register_buffer("v", torch.ones(4))
    parametrizations.spectral_norm(net, "v", dim=0)
    assert net.v.tolist() == [0.5] * 4
    for _ in range(30):
        made = net.weight
    matrix = made.detach().permute(1, 0, 2).reshape(3, 8).numpy()
    assert np.linalg.norm(matrix, 2) == pytest.approx(1.0)
    (made * torch.from_numpy(numbers(4, 3, 2, seed=1))).sum().backward()
    net.eval()
    assert net.weight.tolist() == net.weight.tolist()
    with pytest.raises(IndexError, match="Dimension out of range"):
        parametrizations.spectral_norm(nn.Linear(2, 2), dim=4)
    with pytest.raises(ValueError, match="to be positive"):
        parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)


# --- First values --------------------------------------------------------------------------------

FILLS: dict[str, Callable[[Any], Any]] = {
    "uniform_": lambda x: nn.init.uniform_(x, -1.0, 2.0),
    "normal_": lambda x: nn.init.normal_(x, 0.5, 3.0),
    "trunc_normal_": lambda x: nn.init.trunc_normal_(x, 1.0, 2.0, 0.0, 2.0),
    "tail": lambda x: nn.init.trunc_normal_(x, 0.0, 1.0, 1.0, 4.0),
    "xavier_uniform_": lambda x: nn.init.xavier_uniform_(x, 2.0),
    "xavier_normal_": nn.init.xavier_normal_,
    "kaiming_uniform_": lambda x: nn.init.kaiming_uniform_(x, mode="fan_out"),
    "kaiming_normal_": lambda x: nn.init.kaiming_normal_(x, nonlinearity="selu"),
}
# The mean and the standard deviation of each, of a weight (200, 300).
MOMENTS = {
    "uniform_": (0.5, 3 / 12**0.5),
    "normal_": (0.5, 3.0),
    "trunc_normal_": (1.0, 0.5656),
    "tail": (1.5247, 0.4440),
    "xavier_uniform_": (0.0, 2 * (2 / 500) ** 0.5),
    "xavier_normal_": (0.0, (2 / 500) ** 0.5),
    "kaiming_uniform_": (0.0, (2 / 200) ** 0.5),
    "kaiming_normal_": (0.0, 0.75 / 300**0.5),
}


@pytest.mark.parametrize("word", FILLS)
def test_random_first_values(word: str) -> None:
    torch.manual_seed(3)
    weight = nn.Parameter(torch.empty(200, 300))
    before = weight._version
    assert FILLS[word](weight) is weight
    assert weight.is_leaf
    assert weight._version > before
    mean, deviation = MOMENTS[word]
    values = weight.detach().numpy()
    assert values.mean() == pytest.approx(mean, abs=0.02 * deviation)
    assert values.std() == pytest.approx(deviation, rel=0.02)
    generator = torch.Generator().manual_seed(1)
    first = nn.init.trunc_normal_(torch.empty(5), generator=generator).tolist()
    assert (
        nn.init.trunc_normal_(torch.empty(5), generator=generator.manual_seed(1)).tolist() == first
    )


def test_truncated_values_stay_between_the_ends() -> None:
    for ends in ((-0.1, 0.1), (1.0, 1.5), (-2.0, 2.0)):
        values = nn.init.trunc_normal_(torch.empty(1000), 0.0, 1.0, *ends).numpy()
        assert ends[0] <= values.min()
        assert values.max() <= ends[1]
    with pytest.warns(UserWarning, match="mean is more than 2 std"):
        nn.init.trunc_normal_(torch.empty(3), 9.0)


def test_first_values_that_are_not_random() -> None:
    assert nn.init.eye_(torch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert nn.init.ones_(torch.empty(2)).tolist() == [1, 1]
    assert nn.init.zeros_(torch.ones(2)).tolist() == [0, 0]
    assert nn.init.constant_(torch.empty(2), 0.5).tolist() == [0.5, 0.5]
    x = nn.Parameter(torch.empty(2, 2))
    assert nn.init.eye_(x).requires_grad
    for shape in ((4, 2, 3), (4, 2, 3, 2), (4, 2, 3, 2, 1)):
        for groups in (1, 2):
            made = nn.init.dirac_(torch.empty(shape), groups).numpy()
            middle = made[(slice(None), slice(None), *(side // 2 for side in shape[2:]))]
            assert made.sum() == middle.sum() == (2 * groups)
            per_group = middle.reshape(groups, 4 // groups, 2)
            assert (per_group == np.eye(4 // groups, 2)).all()
    for shape in ((5, 3), (3, 5), (3, 2, 4)):
        flat = nn.init.orthogonal_(torch.empty(shape), gain=2.0).reshape(shape[0], -1)
        small = flat @ flat.T if flat.shape[0] < flat.shape[1] else flat.T @ flat
        np.testing.assert_allclose(small.tolist(), 4 * np.eye(len(small)), atol=1e-5)
    made = nn.init.sparse_(torch.empty(10, 4), 0.25).numpy()
    assert ((made == 0).sum(0) == 3).all()
    assert abs(made).max() < 0.1


def _refused_fills(t: Any) -> list[str]:
    init, vector, empty = t.nn.init, t.empty(3), t.empty(3, 3)
    return [
        error_of(call)
        for call in (
            lambda: init.eye_(vector),
            lambda: init.dirac_(empty),
            lambda: init.dirac_(t.empty(3, 3, 3), 2),
            lambda: init.xavier_uniform_(vector),
            lambda: init.kaiming_normal_(empty, mode="fan"),
            lambda: init.kaiming_normal_(empty, nonlinearity="gelu"),
            lambda: init.orthogonal_(vector),
            lambda: init.sparse_(vector, 0.1),
            lambda: init.calculate_gain("leaky_relu", True),
            lambda: init.calculate_gain("x"),
        )
    ] + [
        str(init.calculate_gain(word))
        for word in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")
    ]


def test_refused_fills_agree() -> None:
    assert _refused_fills(torch) == of_pytorch(_refused_fills)


@pytest.mark.parametrize(
    "word", "uniform normal xavier_normal kaiming_uniform orthogonal eye".split()
)
def test_older_names_of_fills(word: str) -> None:
    with pytest.warns(FutureWarning, match=f"`nn.init.{word}` is now deprecated in favor of"):
        getattr(nn.init, word)(torch.empty(2, 2))


def test_nothing_to_fill() -> None:
    for fill in (nn.init.kaiming_normal_, nn.init.kaiming_uniform_):
        with pytest.warns(UserWarning, match="no-op"):
            fill(torch.empty(0, 3))
    assert nn.init.orthogonal_(torch.empty(0, 3)).shape == (0, 3)
