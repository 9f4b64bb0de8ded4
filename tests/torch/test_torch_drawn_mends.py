"""Single cases behind what drawn programs found, which run without PyTorch."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch import func

X = torch.linspace(0.1, 1.0, 3, dtype=torch.float64)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: func.jacrev(lambda x: 3.0)(X), RuntimeError, r"^vjp\(f, \*primals\): expected f"),
        (lambda: func.jacfwd(lambda x: 3.0)(X), RuntimeError, r"^jvp\(f, primals, tangents\): ex"),
        (lambda: func.jvp(lambda x: None, (X,), (X,)), RuntimeError, r"output = \[None\]\)$"),
        (lambda: func.vjp(lambda x: (x, None), X), RuntimeError, "unsupported type <class 'None"),
        (lambda: func.vjp(lambda x: x.argmax(), X), RuntimeError, "got Tensor with dtype torch.i"),
        (
            lambda: func.vjp(lambda x: (x, x), X)[1](X),
            RuntimeError,
            r"cotangents: \*, primal output: \(\*, \*\)$",
        ),
        (
            lambda: torch.vmap(lambda d: d["a"], in_dims=({"b": 0},))({"a": X}),
            ValueError,
            r"structure TreeSpec\(tuple, None, \[TreeSpec\(dict, \['b'\], \[\*\]\)\]\) but",
        ),
        (
            lambda: torch.vmap(lambda x: x, out_dims=(0, 1))(X),
            ValueError,
            r"structure TreeSpec\(tuple, None, \[\*,\n  \*\]\) but outputs has structure \*\.$",
        ),
        (lambda: torch.vmap(lambda x: (x, None))(X), ValueError, "got type <class 'NoneType'>"),
        (
            lambda: func.linearize(torch.sin, X)[1](X[:2]),
            RuntimeError,
            r"^tangent:0 with shape torch.Size\(\[2\]\) in flattened pytree doesn't match",
        ),
        (
            lambda: func.linearize(torch.sin, X)[1](X.float()),
            RuntimeError,
            "^tangent:0 with dtype torch.float32",
        ),
        (lambda: func.linearize(torch.sin, X)[1](X, X), RuntimeError, "have the same argspec"),
    ],
)
def test_texts_of_transforms(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_what_is_no_tensor_passes_through_linearize():
    out, push = func.linearize(lambda x: {"a": x.sin(), "b": 3.0, "c": None}, X)
    assert out["b"] == push(X)["b"] == 3.0
    assert out["c"] is push(X)["c"] is None
    assert torch.equal(push(X)["a"], X.cos() * X)


def _stepped(name, **options):
    x = torch.nn.Parameter(X.clone())
    optimizer = getattr(torch.optim, name)([x], **options)

    def closure():
        optimizer.zero_grad()
        loss = (x**4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return optimizer, closure


@pytest.mark.parametrize("name", ["LBFGS", "Adafactor", "SGD"])
def test_a_loaded_state_has_the_settings_that_the_optimizer_has(name):
    optimizer, _ = _stepped(name)
    names = list(optimizer.param_groups[0])
    for _ in range(2):
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        assert sorted(optimizer.param_groups[0]) == sorted(names)


def test_lbfgs_keeps_its_state_in_the_order_of_pytorch():
    optimizer, closure = _stepped("LBFGS", max_iter=3)
    optimizer.step(closure)
    (state,) = optimizer.state_dict()["state"].values()
    names = "func_evals n_iter al d t old_dirs old_stps ro H_diag prev_flat_grad prev_loss"
    assert list(state) == names.split()


def test_asgd_falls_in_single_precision_where_its_state_is_wider():
    optimizer, closure = _stepped("ASGD", lr=0.05)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    optimizer.step(closure)
    (state,) = optimizer.state_dict()["state"].values()
    exact = 0.05 / (1 + 1e-4 * 0.05 * 2) ** 0.75
    assert state["eta"].dtype == torch.float64
    assert state["eta"].item() == float(np.float32(exact)) != exact


def test_parameters_are_of_the_module_of_parameters():
    assert torch.nn.Parameter.__module__ == "tapegrad.torch.nn.parameter"


def test_gradgradcheck_refuses_checks_of_a_pass_that_it_does_not_make():
    x = X.clone().requires_grad_()
    once = {"check_fwd_over_rev": True, "check_rev_over_rev": False}
    assert torch.autograd.gradgradcheck(torch.sin, x, **once, check_undefined_grad=False)
    with pytest.raises(AssertionError, match="check_undefined_grad=True requires"):
        torch.autograd.gradgradcheck(torch.sin, x, **once)
    with pytest.raises(AssertionError, match="Expected at least one of"):
        torch.autograd.gradgradcheck(torch.sin, x, check_rev_over_rev=False)


def test_numbers_that_are_not_compare_as_different_in_gradcheck():
    x = torch.full((2,), float("nan"), dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(torch.sin, x)
