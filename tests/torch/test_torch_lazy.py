"""Modules without shapes, states of older versions, and modules of many processes and devices."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch import nn

# (name, arguments, the module that it becomes, a shape of its inputs)
LAZY: list[tuple[str, tuple[Any, ...], Any, tuple[int, ...]]] = [
    ("LazyLinear", (5,), nn.Linear(3, 5), (2, 3)),
    ("LazyLinear", (5, False), nn.Linear(3, 5, False), (2, 4, 3)),
    ("LazyConv1d", (4, 3), nn.Conv1d(2, 4, 3), (2, 2, 8)),
    ("LazyConv2d", (4, 3, 2, 1), nn.Conv2d(2, 4, 3, 2, 1), (2, 2, 8, 8)),
    ("LazyConv2d", (4, 3), nn.Conv2d(2, 4, 3), (2, 8, 8)),
    ("LazyConv3d", (4, 2), nn.Conv3d(2, 4, 2), (2, 2, 3, 3, 3)),
    ("LazyConvTranspose1d", (4, 3), nn.ConvTranspose1d(2, 4, 3), (2, 2, 8)),
    ("LazyConvTranspose2d", (4, 3, 2), nn.ConvTranspose2d(2, 4, 3, 2), (2, 2, 5, 5)),
    ("LazyConvTranspose3d", (4, 2), nn.ConvTranspose3d(2, 4, 2), (2, 2, 3, 3, 3)),
    ("LazyBatchNorm1d", (), nn.BatchNorm1d(3), (4, 3)),
    ("LazyBatchNorm2d", (1e-3, 0.2, False), nn.BatchNorm2d(3, 1e-3, 0.2, False), (4, 3, 2, 2)),
    ("LazyBatchNorm3d", (), nn.BatchNorm3d(3), (4, 3, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), nn.InstanceNorm1d(3, affine=True), (4, 3, 5)),
    ("LazyInstanceNorm2d", (), nn.InstanceNorm2d(3, affine=True), (4, 3, 2, 2)),
    ("LazyInstanceNorm3d", (), nn.InstanceNorm3d(3, affine=True), (4, 3, 2, 2, 2)),
]
ROWS = pytest.mark.parametrize("row", LAZY, ids=lambda row: f"{row[0]}-{len(row[1])}")


def lazy(row: Any) -> Any:
    return getattr(nn, row[0])(*row[1])


def plain(row: Any) -> Any:
    made = copy.deepcopy(row[2])
    if "Instance" in row[0]:  # lazy ones track their statistics
        made = type(made)(3, affine=True, track_running_stats=True)
    return made


@ROWS
def test_the_first_call_gives_shapes_and_another_class(row: Any) -> None:
    module, wanted = lazy(row), plain(row)
    assert module.has_uninitialized_params()
    torch.manual_seed(0)
    out = module(torch.rand(*row[3]))
    assert type(module) is type(wanted)
    assert not hasattr(module, "_load_hook")
    assert not module._forward_pre_hooks
    assert repr(module) == repr(wanted)
    ours, theirs = module.state_dict(), wanted.state_dict()
    assert {k: (v.shape, v.dtype) for k, v in ours.items()} == {
        k: (v.shape, v.dtype) for k, v in theirs.items()
    }
    wanted.load_state_dict(ours)
    assert type(next(iter(module.parameters()), nn.Parameter())) is nn.Parameter
    if "Norm" not in row[0]:
        torch.manual_seed(0)
        same = module(torch.rand(*row[3]))
        np.testing.assert_array_equal(out.detach().numpy(), same.detach().numpy())


@ROWS
def test_states_of_both_kinds_load_into_both(row: Any) -> None:
    empty = lazy(row).state_dict()
    assert all(nn.parameter.is_lazy(v) for k, v in empty.items() if "num_" not in k)
    module = lazy(row)
    assert repr(module.load_state_dict(empty)) == "<All keys matched successfully>"
    assert module.has_uninitialized_params()
    for assign in (False, True):
        full = plain(row).state_dict()
        module = lazy(row)
        module.load_state_dict(full, assign=assign)
        assert not module.has_uninitialized_params()
        for name, value in module.state_dict().items():
            np.testing.assert_array_equal(value.numpy(), full[name].numpy())
        module(torch.rand(*row[3]))
        assert type(module) is type(plain(row))
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        nn.Linear(3, 5).load_state_dict(nn.LazyLinear(5).state_dict())


@ROWS
def test_copies_dtypes_and_pickles_stay_lazy(row: Any) -> None:
    module = lazy(row).double()
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(made) is type(module)
        made(torch.rand(*row[3], dtype=torch.float64))
        assert type(made) is type(row[2])
        assert all(p.dtype == torch.float64 for p in made.parameters())
    assert module.has_uninitialized_params()


def weight() -> Any:
    return nn.LazyLinear(5).weight


REFUSED = [
    lambda: weight() + 1,
    lambda: torch.relu(weight()),
    lambda: weight().sum(),
    lambda: weight().dim(),
    lambda: weight().numel(),
    lambda: weight().detach(),
    lambda: weight() == 1,
    lambda: nn.functional.linear(torch.ones(2, 3), weight()),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_operations_refuse_what_has_no_shape(number: int) -> None:
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        REFUSED[number]()


def test_what_is_known_of_a_parameter_without_a_shape() -> None:
    w = nn.UninitializedParameter(requires_grad=False, dtype=torch.float64)
    assert (w.dtype, w.requires_grad, w.is_leaf, w.ndim) == (torch.float64, False, True, 1)
    assert repr(w) == str(w) == "<UninitializedParameter>"
    assert tuple(w.size()) == (0,)
    assert w.is_floating_point()
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        _ = w.shape
    with pytest.raises(RuntimeError, match="Can't share memory"):
        w.share_memory_()
    w.materialize((2, 3))
    assert type(w) is nn.Parameter
    assert tuple(w.shape) == (2, 3)
    assert w.dtype == torch.float64
    b = nn.UninitializedBuffer(persistent=False)
    assert isinstance(b, nn.Buffer)
    assert not b.persistent
    b.materialize((4,), dtype=torch.float16)
    assert type(b) is torch.Tensor
    assert b.dtype == torch.float16
    optimizer = torch.optim.SGD(nn.LazyLinear(3).parameters(), lr=0.1)
    assert len(optimizer.param_groups[0]["params"]) == 2


def test_lazy_modules_say_what_is_wrong() -> None:
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input"):
        nn.LazyConv2d(4, 3)(torch.zeros(3))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(4, 3, groups=2)(torch.zeros(3, 8, 8))
    layer = nn.LazyLinear(3)
    layer.load_state_dict(nn.Linear(4, 3).state_dict())
    with pytest.raises(AssertionError, match="The in_features inferred from input: 5 is not"):
        layer(torch.zeros(2, 5))

    class Half(nn.modules.lazy.LazyModuleMixin, nn.Linear):
        def __init__(self) -> None:
            super().__init__(1, 1)
            self.weight = nn.UninitializedParameter()

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented"):
        Half()(torch.ones(1))

    class Forgetful(Half):
        def initialize_parameters(self, *_: Any) -> None:
            pass

    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(torch.ones(1))


def test_a_lazy_net_trains() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1)
    )
    x, y = torch.randn(8, 2, 5, 5), torch.randn(8, 1)
    net(x)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3


# --- States of older versions -------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, 1])
@pytest.mark.parametrize("make", [nn.BatchNorm2d, lambda n: nn.LazyBatchNorm2d()])
def test_batch_norms_load_states_without_a_count(
    make: Any, version: int | None, tmp_path: Any
) -> None:
    source = nn.BatchNorm2d(3)
    source(torch.randn(2, 3, 4, 4))
    old: Any = OrderedDict((k, v) for k, v in source.state_dict().items() if "num_" not in k)
    if version is not None:
        old._metadata = OrderedDict({"": {"version": version}})
    torch.save(old, tmp_path / "old.pt")
    norm = make(3)
    norm.load_state_dict(torch.load(tmp_path / "old.pt"))
    assert norm.num_batches_tracked.item() == 0
    np.testing.assert_array_equal(norm.running_mean.numpy(), source.running_mean.numpy())
    new = source.state_dict()
    del new["num_batches_tracked"]
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "num_batches_tra'):
        make(3).load_state_dict(new)
    assert source.state_dict()._metadata[""] == {"version": 2}


def test_instance_norms_refuse_the_statistics_of_old_states() -> None:
    old = {"running_mean": torch.zeros(3), "running_var": torch.ones(3)}
    with pytest.raises(RuntimeError, match=r'buffer.s. "running_mean" and "running_var" for Inst'):
        nn.InstanceNorm2d(3).load_state_dict(old)
    norm = nn.InstanceNorm2d(3, track_running_stats=True)
    norm.load_state_dict(old)
    assert norm.num_batches_tracked.item() == 0


# --- One process, one device --------------------------------------------------------------------


def test_data_parallel_calls_its_module() -> None:
    layer = nn.Linear(2, 3)
    parallel = nn.DataParallel(layer)
    x = torch.randn(4, 2)
    assert parallel(x).tolist() == layer(x).tolist()
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
    assert parallel.device_ids == []
    assert nn.parallel.data_parallel(layer, x).tolist() == layer(x).tolist()


@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_weights_with_channels_last(kind: Any) -> None:
    layer = nn.Sequential(kind(3, 4, 3))
    x = torch.randn(2, 3, 6, 6)
    before = layer(x)
    shape = layer[0].weight.shape
    nn.utils.convert_conv2d_weight_memory_format(layer, torch.channels_last)
    assert layer[0].weight.stride() == (9 * shape[1], 1, 3 * shape[1], shape[1])
    np.testing.assert_allclose(layer(x).detach().numpy(), before.detach().numpy(), atol=1e-5)
    layer(x).sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.1).step()
    nn.utils.convert_conv2d_weight_memory_format(layer, torch.contiguous_format)
    assert layer[0].weight.is_contiguous()


# --- Older names --------------------------------------------------------------------------------


def test_older_modules_warn() -> None:
    with pytest.warns(FutureWarning, match="`NLLLoss2d` has been deprecated"):
        loss = nn.NLLLoss2d()
    x = torch.randn(2, 3, 4, 4).log_softmax(1)
    target = torch.zeros(2, 4, 4, dtype=torch.int64)
    assert loss(x, target).item() == nn.NLLLoss()(x, target).item()
    with pytest.warns(FutureWarning, match="`nn.Container` is deprecated"):
        made = nn.Container(one=nn.ReLU())
    assert [name for name, _ in made.named_children()] == ["one"]


def test_cross_map_norms() -> None:
    for channels, size in itertools.product((1, 2, 5, 7), (1, 2, 3, 4, 9)):
        x = torch.randn(2, channels, 3, 3)
        found = nn.CrossMapLRN2d(size, 0.5, 0.6, 2.0)(x).numpy()
        square = (x.numpy() ** 2).astype(float)
        ahead = (size - 1) // 2
        total = [square[:, : ahead + 1].sum(1)]
        for c in range(1, channels):  # a channel comes in and one goes, at first none, as there
            total.append(total[-1].copy())
            if c + ahead < channels:
                total[-1] += square[:, c + ahead]
            if c - ahead > 1:
                total[-1] -= square[:, c - ahead - 1]
        wanted = x.numpy() / (2 + 0.5 / size * np.stack(total, 1)) ** 0.6
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="CrossMapLRN2d: Expected input to be 4D, got 2D instead"):
        nn.CrossMapLRN2d(2)(torch.ones(2, 3))
    x = torch.randn(1, 4, 2, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(nn.CrossMapLRN2d(3, 0.5), x)
    assert repr(nn.CrossMapLRN2d(3)) == "CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)"


def test_keywords_of_factories() -> None:
    assert nn.factory_kwargs(None) == {}
    assert nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"device": 2}}) == {
        "dtype": 1,
        "device": 2,
    }
    with pytest.raises(TypeError, match="unexpected kwargs"):
        nn.factory_kwargs({"a": 1})
    with pytest.raises(TypeError, match="dtype specified twice"):
        nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}})


def test_a_shape_of_one_side_is_a_number():
    parameter = torch.nn.UninitializedParameter()
    parameter.materialize(10)
    assert parameter.shape == (10,)
