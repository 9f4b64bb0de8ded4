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

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import KernelsAll
from tapegrad._core.forms import General
from tapegrad._core.types import Cotangent, Params, Value
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules.declare import Declared
from tapegrad.torch._rules.fused import Fused, Kept
from tapegrad.torch._rules.recurrent import CELLS, Values


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
    if kept is not None and type(arrays[0]) is np.ndarray:
        kept.found = arrays, saved
    return new if len(new) > 1 else new[0]


def _pulled(
    mode: str, arrays: Sequence[Value], saved: Values, bars: Values, wanted: Sequence[bool]
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


class OneStep(General, Fused):
    """The rule of a step of `count` arrays."""

    def __init__(self, function: Declared, count: int) -> None:
        super().__init__(
            function,
            vjp=lambda g, _out, *arrays: (g, arrays),
            arrays=count,
            name="recurrent_step",
            batch="loop",
        )
        name_nodes(self, "AddBackward0")

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), False

    def pull(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
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
    ) -> KernelsAll | None:
        mode, kinds = params["mode"], {getattr(spec, "dtype", None) for spec in specs}
        if len(kinds) > 1 or any(type(spec) is not Spec for spec in specs):
            return None
        if mode == "LSTM":
            return _lstm_kernels(specs, wanted)

        def keep(*arrays: Value) -> Any:
            (new,), saved = _stepped(arrays, mode)
            return new, saved

        def pull(g: Cotangent, _out: Value, *args: Value) -> list[Cotangent]:
            *arrays, saved = args
            return _pulled(mode, arrays, saved, (g,), wanted)

        return KernelsAll(pull, keep=keep)


def _lstm_kernels(specs: Sequence[Spec], wanted: tuple[bool, ...]) -> KernelsAll:
    """The kernels of a step of an LSTM, with all gates in one array."""
    size, dtype = specs[1].shape[1], specs[0].dtype
    one = dtype.type(1)
    biased = len(specs) > 5
    half = np.full(4 * size, 0.5, dtype)  # of the sigmoids; a tanh is taken as it is
    half[2 * size : 3 * size] = 1
    other = one - half
    tanhs = np.zeros(4 * size, dtype)
    tanhs[2 * size : 3 * size] = 1
    enter, forget, new, leave = ((slice(None), slice(i * size, (i + 1) * size)) for i in range(4))
    shape = (specs[0].shape[0], 4 * size)
    zeros = np.zeros(specs[1].shape, dtype)
    x_wanted, h_wanted, c_wanted, ih_wanted, hh_wanted, *biases_wanted = wanted

    def keep(x: Value, h: Value, c: Value, w_ih: Value, w_hh: Value, *biases: Value) -> Any:
        gates = np.matmul(x, w_ih.T)
        if biased:
            gates += biases[0] + biases[1]
        gates += np.matmul(h, w_hh.T)
        gates *= half
        np.tanh(gates, gates)
        gates *= half
        gates += other
        state = gates[forget] * c
        state += gates[enter] * gates[new]
        bounded = np.tanh(state)
        return (gates[leave] * bounded, state), (gates, bounded)

    def pull(
        g: list[Cotangent],
        _out: Any,
        x: Value,
        h: Value,
        c: Value,
        w_ih: Value,
        w_hh: Value,
        *rest: Any,
    ) -> list[Cotangent]:
        gates, bounded = rest[-1]
        h_bar, c_bar = g
        bar = np.empty(shape, dtype)
        if h_bar is None:
            whole = zeros if c_bar is None else c_bar
            bar[leave] = 0
        else:
            whole = one - bounded * bounded
            whole *= gates[leave]
            whole *= h_bar
            if c_bar is not None:
                whole += c_bar
            np.multiply(h_bar, bounded, bar[leave])
        np.multiply(whole, gates[new], bar[enter])
        np.multiply(whole, c, bar[forget])
        np.multiply(whole, gates[enter], bar[new])
        slopes = gates + tanhs  # s (1 - s) of a sigmoid, (1 + t) (1 - t) of a tanh
        slopes *= one - gates
        bar *= slopes
        total = np.add.reduce(bar, 0) if True in biases_wanted else None
        return [
            np.matmul(bar, w_ih) if x_wanted else None,
            np.matmul(bar, w_hh) if h_wanted else None,
            whole * gates[forget] if c_wanted else None,
            np.matmul(bar.T, x) if ih_wanted else None,
            np.matmul(bar.T, h) if hh_wanted else None,
            *[total if want else None for want in biases_wanted],
        ]

    return KernelsAll(pull, keep=keep)


def _declared(count: int) -> Declared:
    made = Declared(_step)
    made.rule = OneStep(made, count)
    return made


_BY_COUNT = {count: _declared(count) for count in (4, 5, 6, 7)}


def recurrent_step(arrays: Sequence[Value], mode: str) -> Any:
    """The new state of a cell, for "LSTM" the new h and c.

    arrays: x (batch, features), h (batch, hidden), for "LSTM" c (batch, hidden), w_ih (k * hidden,
    features), w_hh (k * hidden, hidden), and perhaps two biases (k * hidden). mode: a key of
    `CELLS`.
    """
    return _BY_COUNT[len(arrays)](*arrays, mode=mode, kept=Kept())


__all__ = ["recurrent_step"]
