"""Import lines of real programs: the files of PyTorch that programs take names from."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import distributions
from tapegrad.torch.distributions import utils
from tapegrad.torch.nn.modules.utils import (
    _pair,
    _reverse_repeat_tuple,
    consume_prefix_in_state_dict_if_present,
)

# As `from torch.<module> import <names>`.
LINES = """
version: __version__ cuda
types: Number Device Tensor _size _int _dtype
functional: Tensor einsum norm meshgrid
amp.autocast_mode: autocast
amp.grad_scaler: GradScaler
nn.common_types: _size_2_t _ratio_2_t
nn.modules.utils: _single _pair _triple _quadruple _ntuple _list_with_default
utils.hooks: RemovableHandle
utils.data._utils.collate: default_collate
utils.data.dataloader: DataLoader default_collate
distributions.normal: Normal
distributions.one_hot_categorical: OneHotCategorical OneHotCategoricalStraightThrough
distributions.relaxed_categorical: RelaxedOneHotCategorical
distributions.utils: broadcast_all lazy_property
optim.adam: Adam
optim.adamw: AdamW
optim.sparse_adam: SparseAdam
distributions.exp_family: ExponentialFamily
nn.modules.batchnorm: _BatchNorm
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_names_can_be_imported(line: str) -> None:
    module, _, names = line.partition(": ")
    found = importlib.import_module(f"tapegrad.torch.{module}")
    assert not [name for name in names.split() if not hasattr(found, name)]


def test_each_family_is_in_a_file_of_its_own() -> None:
    found = [each.name for each in pkgutil.iter_modules(distributions.__path__)]
    files = {name for name in found if not name.startswith("_")}
    for name in sorted(files - {"utils"}):
        module: Any = getattr(distributions, name)
        for word in filter(lambda word: word[0].isupper(), module.__all__):
            known = getattr(distributions, word, getattr(module, word))
            assert getattr(module, word) is known, (name, word)
    with pytest.raises(AttributeError, match="no attribute 'gaussian'"):
        distributions.gaussian  # noqa: B018
    assert torch.version.cuda is None
    assert torch.version.__version__ == torch.__version__


def test_sizes_as_tuples() -> None:
    assert _pair(3) == (3, 3)
    assert _pair([1, 2]) == (1, 2)
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)


def test_a_prefix_is_taken_from_a_state_dict() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 1))
    state = torch.nn.ModuleDict({"module": model}).state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    model.load_state_dict(state)
    assert list(state) == ["0.weight", "0.bias"]
    assert "0" in state._metadata


def error_of(t: Any, call: Any) -> str:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the text is compared
        call(t, t.distributions.utils)
    return str(raised.value)


def test_what_distributions_are_written_with() -> None:
    p = np.array([[0.0, 0.3, 0.7], [1.0, 0.5, 0.2]])
    square = np.arange(9.0).reshape(3, 3)
    for call in (
        lambda t, u: u.clamp_probs(t.tensor(p)),
        lambda t, u: u.probs_to_logits(t.tensor(p)),
        lambda t, u: u.probs_to_logits(t.tensor(p), is_binary=True),
        lambda t, u: u.logits_to_probs(t.tensor(p)),
        lambda t, u: u.logits_to_probs(t.tensor(p), True),
        lambda t, u: u.tril_matrix_to_vec(t.tensor(square)),
        lambda t, u: u.tril_matrix_to_vec(t.tensor(square), -1),
        lambda t, u: u.vec_to_tril_matrix(t.tensor(square[:2])[:, :3]),
        lambda t, u: u.vec_to_tril_matrix(t.tensor(square[:, :3]), -1),
        lambda t, u: u.broadcast_all(1, t.tensor(p))[0],
    ):
        theirs = of_pytorch(lambda t, call=call: call(t, t.distributions.utils).numpy())
        np.testing.assert_allclose(call(torch, utils).numpy(), theirs)
    for call in (
        lambda t, u: u.broadcast_all("a", t.tensor(p)),
        lambda t, u: u.tril_matrix_to_vec(t.tensor(square), 3),
        lambda t, u: u.vec_to_tril_matrix(t.tensor(square)[:, :2]),
    ):
        for raised in (error_of(torch, call), of_pytorch(lambda t, call=call: error_of(t, call))):
            assert re.search("must all be|outside|square", raised)
