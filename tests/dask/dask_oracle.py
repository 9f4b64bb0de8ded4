"""Losses that workers can import, and the sequential run that a pass has to equal to the bit.

Worker processes import this module: it needs NumPy and tapegrad alone.
"""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import numpy as np

import tapegrad
from tapegrad import tree

FAN_IN = 8


def sequential(loss, params, batches, *, combine="mean", weights=None):
    """`(value, gradient)` of one batch after the other, without Dask.

    Written on its own: the plain transform on each batch, then sums of eight neighbours at a time,
    from left to right.
    """
    if weights is None:
        weights = [rows_of(b) if combine == "mean" else 1.0 for b in batches]
    parts = []
    for batch, weight in zip(batches, weights, strict=True):
        if weight == 0 or rows_of(batch) == 0:
            parts.append(None)
            continue
        leaves = tree.leaves(tapegrad.value_and_grad(loss)(params, batch))
        if combine == "sum" and weight != 1:
            leaves = [leaf * float(weight) for leaf in leaves]  # no float64 of NumPy's
        parts.append((float(weight), leaves))
    while len(parts) > 1:
        parts = [summed(parts[i : i + FAN_IN], combine) for i in range(0, len(parts), FAN_IN)]
    _, leaves = parts[0]
    return tree.unflatten(tree.structure((0.0, params)), leaves)


def rows_of(batch):
    """Of the first array of a tree, or of a table."""
    return len(tree.leaves(batch)[0])


def summed(parts, combine):
    parts = [part for part in parts if part is not None]
    if not parts:
        return None
    whole = sum(weight for weight, _ in parts)
    total = None
    for weight, leaves in parts:
        share = weight / whole if combine == "mean" else 1.0
        terms = [leaf * share for leaf in leaves]
        total = terms if total is None else [a + b for a, b in zip(total, terms, strict=True)]
    return whole, total


def bits(found):
    """Key that two trees share if they are equal to the last bit, dtypes and shapes included."""
    return [(x.dtype.str, x.shape, x.tobytes()) for x in map(np.asarray, tree.leaves(found))]


def network(params, batch):
    """A mean over rows, nonlinear in every parameter."""
    hidden = np.tanh(batch["x"] @ params["w"] + params["b"])
    return np.mean((hidden - batch["y"]) ** 2)


def network_with_aux(params, batch):
    return network(params, batch), len(batch["y"])


def example(rows=61, columns=3, seed=0):
    """Parameters and data for `network`."""
    random = np.random.default_rng(seed)
    data = {"x": random.normal(size=(rows, columns)), "y": random.normal(size=rows)}
    return {"w": random.normal(size=columns), "b": 0.25}, data


def cut(data, sizes):
    """The batches of these numbers of rows."""
    ends = np.cumsum([0, *sizes])
    return [tree.map(lambda x, a=a, b=b: x[a:b], data) for a, b in itertools.pairwise(ends)]


class Fatal:
    """A loss that kills the process of the first worker which gets to a given row's batch."""

    def __init__(self, loss, row, folder):
        self.loss, self.row, self.marker = loss, row, Path(folder) / "killed"

    def __call__(self, params, batch):
        if self.row in batch["y"] and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        return self.loss(params, batch)


class Flaky:
    """A loss that fails once on the batch with a given row."""

    def __init__(self, loss, row, folder):
        self.loss, self.row, self.marker = loss, row, Path(folder) / "failed"

    def __call__(self, params, batch):
        if self.row in batch["y"] and not self.marker.exists():
            self.marker.touch()
            raise OSError("the disk did not answer")
        return self.loss(params, batch)
