"""One step of a recurrent network: one rule for the whole cell, with its products.

Knows arrays, the cells and rules. Must not know tensors or modules.

A program that loops over a cell calls it with the same shapes each time: such calls are planned,
and the forward pass keeps the gates for the pull. What is differentiated further is computed again
from the arguments, by NumPy's functions, which log themselves.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.recorded import is_recording
from tapegrad._core.types import Cotangent, Params, Value, Wanted
from tapegrad.torch._rules.declare import Fused, Kept, Whole, ruled
from tapegrad.torch._rules.generated import generated_kernels
from tapegrad.torch._rules.recurrent import CELLS, Values
from tapegrad.torch._rules.symbols import is_own


def _stepped(arrays: Sequence[Value], mode: str) -> tuple[Values, Values]:
    """The new states, and what the pull of the cell needs.

    arrays: x, the states, both weights, and perhaps both biases.
    """
    count = CELLS[mode].states
    x, states, (w_ih, w_hh, *biases) = arrays[0], tuple(arrays[1 : 1 + count]), arrays[1 + count :]
    gates = np.matmul(x, np.swapaxes(w_ih, 0, 1))
    hidden = np.matmul(states[0], np.swapaxes(w_hh, 0, 1))
    if biases and CELLS[mode].biased:
        gates, hidden = gates + biases[0], hidden + biases[1]
    elif biases:
        gates = gates + (biases[0] + biases[1])
    return CELLS[mode].step(gates, hidden, states)


def _step(*arrays: Value, mode: str, kept: Kept | None = None) -> Any:
    new, saved = _stepped(arrays, mode)
    if kept is not None and is_own(arrays[0]):
        kept.found = arrays, saved
    return new if len(new) > 1 else new[0]


def _pulled(
    mode: str, arrays: Sequence[Value], saved: Values, bars: Values, wanted: Wanted
) -> list[Cotangent]:
    """The cotangents of all arrays from those of the new states."""
    count = CELLS[mode].states
    x, h, (w_ih, w_hh) = arrays[0], arrays[1], arrays[1 + count : 3 + count]
    gates_bar, hidden_bar, more = CELLS[mode].pull(saved, bars)
    result: list[Cotangent] = [None] * len(arrays)
    if wanted[0]:
        result[0] = np.matmul(gates_bar, w_ih)
    if wanted[1]:
        before = np.matmul(hidden_bar, w_hh)
        result[1] = before if more[0] is None else before + more[0]
    if count == 2 and wanted[2]:
        result[2] = more[1]
    at = 1 + count
    if wanted[at]:
        result[at] = np.matmul(np.swapaxes(gates_bar, 0, 1), x)
    if wanted[at + 1]:
        result[at + 1] = np.matmul(np.swapaxes(hidden_bar, 0, 1), h)
    if len(arrays) > at + 2:
        total = np.add.reduce(gates_bar, 0)
        if wanted[at + 2]:
            result[at + 2] = total
        if wanted[at + 3]:
            alone = hidden_bar is not gates_bar
            result[at + 3] = np.add.reduce(hidden_bar, 0) if alone else total
    return result


class OneStep(Whole, Fused):
    """The rule of a step of `count` arrays."""

    def spares(
        self, value: Value, args: Sequence[Value], parents: Sequence[Any], params: Any
    ) -> bool:
        """Whether a plain pull does not read an argument, which one that logs itself does."""
        params = getattr(params, "params", params)
        at = 1 + CELLS[params["mode"]].states
        readers = {0: at, 1: at + 1, at: 0, at + 1: 1}  # the factors of the two products
        for place, arg in enumerate(args):
            read = place < at + 2 and (place not in readers or parents[readers[place]] != -1)
            if arg is value and read:
                return False
        return True

    def pull(
        self, g: Cotangent, out: Value, args: Sequence[Value], params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        mode, kept = params["mode"], params.get("kept")
        of, saved = ((), ()) if kept is None or kept.found is None else kept.found
        if not of or not all(map(operator.is_, of, args)):
            saved = _stepped(args, mode)[1]
        bars = g if isinstance(g, (list, tuple)) else (g,)
        states = args[1 : 1 + len(bars)]
        whole = [np.zeros_like(x) if b is None else b for b, x in zip(bars, states, strict=True)]
        return _pulled(mode, args, saved, tuple(whole), wanted)

    def kernels(
        self, specs: Sequence[Any], out: Any, wanted: tuple[bool, ...], **params: Any
    ) -> Kernels | None:
        return generated_kernels(self, specs, out, wanted, {**params, "kept": Kept()})


_BY_COUNT = {
    count: ruled("AddBackward0", OneStep, count, name="recurrent_step", batch="loop")(_step)
    for count in (4, 5, 6, 7)
}


def recurrent_step(arrays: Sequence[Value], mode: str) -> Any:
    """The new state of a cell, for "LSTM" the new h and c.

    arrays: x (batch, features), h (batch, hidden), for "LSTM" c (batch, hidden), w_ih (k * hidden,
    features), w_hh (k * hidden, hidden), and perhaps two biases (k * hidden). mode: a key of
    `CELLS`.
    """
    kept = {} if is_recording() else {"kept": Kept()}
    return _BY_COUNT[len(arrays)](*arrays, mode=mode, **kept)
