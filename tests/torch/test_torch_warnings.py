"""Warnings of the object layer point at the line of the program, however deep they are raised."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import tapegrad.torch as torch

X = torch.ones(3, requires_grad=True)
CALLS = {
    "mse_loss": lambda: torch.nn.functional.mse_loss(torch.ones(3, 1), torch.ones(3)),
    "MSELoss": lambda: torch.nn.MSELoss()(torch.ones(3, 1), torch.ones(3)),
    "size_average": lambda: torch.nn.MSELoss(size_average=False),
    "kl_div": lambda: torch.nn.functional.kl_div(torch.zeros(2), torch.ones(2)),
    "softmax": lambda: torch.nn.functional.softmax(torch.ones(2, 2)),
    "tensor of a tensor": lambda: torch.tensor(torch.ones(2)),
    "from_numpy": lambda: torch.from_numpy(np.broadcast_to(1.0, (2,))),
    "list as index": lambda: torch.ones(2, 2)[[slice(0, 1), [0]]],
    "uint8 as index": lambda: torch.ones(2)[torch.ones(2, dtype=torch.uint8)],
    "x.T": lambda: torch.ones(2, 2, 2).T,
    "float(x)": lambda: float(X.sum()),
    "meshgrid": lambda: torch.meshgrid(torch.ones(2), torch.ones(2)),
    "cross": lambda: torch.cross(torch.ones(2, 3), torch.ones(2, 3)),
    "grad of no leaf": lambda: (X * 2).grad,
    "out of another shape": lambda: torch.add(X.detach(), 1, out=torch.ones(2)),
    "init": lambda: torch.nn.init.kaiming_uniform_(torch.ones(0, 2)),
    "detect_anomaly": lambda: torch.autograd.detect_anomaly(),
    "gradcheck": lambda: torch.autograd.gradcheck(
        torch.sin, (X,), eps=1e-2, atol=1e-2, raise_exception=False
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_line_of_the_program(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert {warning.filename for warning in caught} == {__file__}


def test_shapes_that_clash_are_named_at_the_last_dimension():
    with pytest.raises(RuntimeError, match=r"\(3\).*\(5\) at non-singleton dimension 1"):
        torch.broadcast_tensors(torch.ones(2, 3), torch.ones(4, 5))


@pytest.mark.slow
def test_a_nan_does_not_warn_as_numpy_does():
    program = """
import numpy as np, tapegrad.torch as torch
for grad in (False, True):
    x = torch.tensor([float("inf"), 0.0], requires_grad=grad)
    y = x - x, x * 0.0, x * x.flip(0), torch.sin(x), x.reshape(1, 2) @ x.reshape(2, 1)
    x.detach().clone().sub_(x.detach()), torch.tensor([3e38]) * 10
(y[0] * y[1]).sum().backward()
"""
    for after, warned in (("", ""), ("np.ones(1) * np.inf * 0", "invalid value")):
        made = subprocess.run(
            [sys.executable, "-W", "error", "-c", program + after],
            capture_output=True,
            text=True,
            check=False,
        )
        assert warned in made.stderr
        assert bool(made.stderr) == bool(warned)
