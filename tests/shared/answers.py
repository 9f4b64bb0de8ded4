"""Answers of tapegrad to a call: all results without tracing, and their derivative, by mode."""

from __future__ import annotations

import importlib

import numpy as np
from generic_calls import is_floating
from judging import Answer

from tapegrad import jvp, vjp
from tapegrad._core.values import untraced


def floating_part(program, leaves):
    """The program with floating results alone; all results are left in `leaves`, untraced."""

    def floating(*xs):
        found = program(*xs)
        leaves[:] = map(untraced, found)
        return tuple(leaf for leaf in found if is_floating(leaf))

    return floating


def forward(program, inputs, tangents, _cotangents):
    leaves = []
    _, dots = jvp(floating_part(program, leaves), inputs, tangents)
    return Answer(leaves, list(dots), None)


def reverse(program, inputs, tangents, cotangents):
    leaves = []
    outs, pullback = vjp(floating_part(program, leaves), *inputs)
    bars = pullback(tuple(like_of(g, out) for g, out in zip(cotangents, outs, strict=True)))
    product = sum(np.sum((bar * t).real) for bar, t in zip(bars, tangents, strict=True))
    return Answer(leaves, None, product)


def like_of(cotangent, out):
    return cotangent if isinstance(out, np.ndarray) else cotangent[()]


TAPEGRAD = (forward, reverse)


def by_name(name):
    """The object of `tapegrad.numpy` under a name of NumPy's; np.emath is NumPy's own there."""
    space, _, last = name.removeprefix("np").rpartition(".")
    module = np.emath if space == ".emath" else importlib.import_module(f"tapegrad.numpy{space}")
    return getattr(module, last)
