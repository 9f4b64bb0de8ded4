"""docs/migrating.md: no name that users of another library call is left out."""

from __future__ import annotations

import importlib
import re
import types
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "migrating.md"

# Modules whose public names users call, and what of them is not theirs to call: constants,
# imports and parts that the library's own code is made of, or what stands there as a group.
USED = {
    "autograd": "",
    "autograd.extend": "",
    "autograd.misc.flatten": "",
    "autograd.misc.optimizers": "unflatten_optimizer wraps",
    "autograd.misc.fixed_points": "fixed_point_vjp",
    "autograd.misc.tracers": "ConstGraphNode FullGraphNode Node const_graph_unary partial repeat "
    "subvals toposort trace wraps",
    "autograd.test_util": "EPS RTOL TOL get_name make_numerical_jvp scalar_close unary_to_nary",
    "mygrad": "TYPE_CHECKING",
    "mygrad.nnet.activations": "",
    "mygrad.nnet.initializers": "",
    "mygrad.nnet.layers": "",
    "mygrad.nnet.losses": "",
    "jax.tree": "static",
    "jax.flatten_util": "",
    "jax.ops": "",
    "jax.nn": "get_scaled_dot_general_config scaled_dot_general scaled_matmul identity",
    "jax.test_util": "",
    "torch.func": "",
    "torch.autograd": "NestedIOFunction grad_mode variable",
    "torch.autograd.functional": "",
}

# Of jax.random: what makes keys of other kinds, and rare distributions.
USED["jax.random"] = (
    "bits clone double_sided_maxwell generalized_normal key_data key_dtype key_impl loggamma "
    "random_gamma_p wrap_key_data"
)


def public(module) -> set[str]:
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    return {n for n in names if not isinstance(getattr(module, n), types.ModuleType)}


@pytest.mark.peers
@pytest.mark.parametrize("name", USED)
def test_every_name_of_another_library_has_an_answer(name):
    pytest.importorskip(name.partition(".")[0])
    words = set(re.findall(r"\w+", PAGE.read_text(encoding="utf-8")))
    # MyGrad has NumPy's functions under NumPy's names, which stay.
    kept = set(dir(importlib.import_module("numpy"))) if name == "mygrad" else set()
    left = public(importlib.import_module(name)) - words - kept - set(USED[name].split())
    assert not left, f"docs/migrating.md says nothing of {sorted(left)}"
