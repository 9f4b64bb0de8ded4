# ruff: noqa: N999 - PyTorch's name
"""`torch.distributions.studentT`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._gammas import StudentT

__all__ = ["StudentT"]
