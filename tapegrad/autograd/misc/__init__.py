"""Flattening, optimizers, fixed points and graphs, by the names of HIPS autograd."""

from __future__ import annotations

from tapegrad.autograd.misc.flatten import flatten
from tapegrad.autograd.misc.tracers import const_graph

__all__ = ["const_graph", "flatten"]
