"""Modules, their hooks and containers as in PyTorch."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import container_programs  # noqa: F401 - declares programs
import module_hook_programs  # noqa: F401 - declares programs
import numpy as np
import pytest
from module_programs import PROGRAMS
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn


def _answer(library: Any, word: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [repr(part) for part in PROGRAMS[word](library)]


@pytest.mark.parametrize("word", PROGRAMS)
def test_programs_over_modules_answer_as_under_pytorch(word: str) -> None:
    theirs = of_pytorch(lambda t: _answer(t, word))
    for mine, its in zip(_answer(torch, word), theirs, strict=True):
        assert mine == its


# --- What only this library can be asked --------------------------------------------------------


class _Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("count", torch.zeros(1))
        self.layer.register_forward_pre_hook(_doubled)
        self.layer._register_load_state_dict_pre_hook(_noted, with_module=True)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def _doubled(module: Any, args: Any) -> Any:
    return (args[0] * 2,)


def _noted(module: Any, *_: Any) -> None:
    module.noted = True


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_keep_their_hooks_and_share_nothing(copied: Any) -> None:
    net = _Counted()
    net.layer.weight.tag = "kept by pickles"
    other = copied(net)
    x = torch.ones(2)
    np.testing.assert_array_equal(net(x).tolist(), other(x).tolist())
    net.layer._forward_pre_hooks.clear()
    assert net(x).tolist() != other(x).tolist()
    other.load_state_dict(net.state_dict())
    assert other.layer.noted
    assert not hasattr(net.layer, "noted")
    handle = other.layer.register_forward_pre_hook(_doubled)  # takes the place of no other hook
    assert len(other.layer._forward_pre_hooks) == 2
    handle.remove()
    assert len(other.layer._forward_pre_hooks) == 1


def test_handles_are_pickled_with_their_module() -> None:
    net = nn.Identity()
    handle = net.register_forward_hook(_fourfold, with_kwargs=True)
    net, handle = pickle.loads(pickle.dumps((net, handle)))
    assert net(1) == 4
    handle.remove()
    assert net(1) == 1
    assert not net._forward_hooks_with_kwargs


def _fourfold(module: Any, args: Any, kwargs: Any, out: Any) -> Any:
    return out * 4


def test_a_module_goes_on_to_the_next_class_if_asked() -> None:
    class Base:
        def __init__(self, word: str) -> None:
            self.word = word

    class Both(nn.Module, Base):
        call_super_init = True

        def __init__(self) -> None:
            super().__init__(word="given")

    assert Both().word == "given"


def test_a_parameter_of_a_subclass_is_of_that_class() -> None:
    class Tagged(torch.Tensor):
        pass

    tagged = torch.ones(2).as_subclass(Tagged)
    parameter = nn.Parameter(tagged)
    assert isinstance(parameter, nn.Parameter)
    assert type(parameter) is Tagged
    assert parameter.requires_grad
    assert not isinstance(tagged, nn.Parameter)
    net = nn.Module()
    net.p = parameter
    assert list(net.state_dict()) == ["p"]
    assert isinstance(nn.Parameter(nn.Parameter(torch.ones(1))), nn.Parameter)


def test_an_unstarted_module_says_so() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            pass

    with pytest.raises(AttributeError, match="object has no attribute"):
        Early()(1)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_a_buffer_that_is_registered_again_is_saved_as_was_said_last(first, second):
    net = nn.Module()
    net.register_buffer("b", torch.ones(1), persistent=first)
    assert ("b" in net.state_dict()) is first
    net.register_buffer("b", torch.zeros(1), persistent=second)
    assert ("b" in net.state_dict()) is second
    other = nn.Module()
    other.register_buffer("b", torch.ones(1), persistent=second)
    other.load_state_dict(net.state_dict())
    assert other.b.item() == (0.0 if second else 1.0)
    del net.b
    net.register_buffer("b", torch.ones(1))
    assert "b" in net.state_dict()
