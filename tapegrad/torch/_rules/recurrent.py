"""Recurrent layers over a sequence: one rule for all steps of a layer in one direction.

Knows arrays, the cells and rules. Must not know tensors, layers or packed sequences' sorting.

The product of the inputs with their weights is made before, for all steps at once: its rows come
here in order of time, and `sizes` says how many there are at each step. A step multiplies the
state with `w_hh` and calls the cell. Backward, the gradient of `w_hh` is one product over all
steps. A cell is a function and its pullback in NumPy: the rule keeps what the pullback needs of
untraced calls, and runs the steps again where these are differentiated themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.recorded import is_recording
from tapegrad._core.types import Cotangent, Params, Value, Wanted
from tapegrad.torch._rules.declare import Found, Whole, ruled

Sizes = tuple[int, ...]
Values = tuple[Value, ...]


class Cell(NamedTuple):
    """One step for n examples.

    step: `(gates, hidden, states)` to new states and what `pull` needs; `hidden` is the product of
    the state with its weights. pull: `(saved, state cotangents)` to the cotangents of gates, of
    hidden, and of the states beside `hidden` (or None).
    """

    step: Callable[[Value, Value, Values], tuple[Values, Values]]
    pull: Callable[[Values, Values], tuple[Value, Value, Sequence[Value]]]
    states: int
    biased: bool  # whether the product of the state has a bias of its own


class Step(NamedTuple):
    """One step as it was made."""

    start: int
    rows: int
    states: Values  # before it, of the examples that take part
    saved: Values
    full: Value  # the hidden state before the projection, or None


# --- Cells --------------------------------------------------------------------------------------


def _sigmoid(x: Value) -> Value:
    """1 / (1 + exp(-x)) by the hyperbolic tangent, which does not overflow."""
    return np.tanh(x * 0.5) * 0.5 + 0.5


def _tanh_step(gates: Value, hidden: Value, _states: Values) -> tuple[Values, Values]:
    out = np.tanh(gates + hidden)
    # The program may write to the result.
    return (out,), (out.copy() if type(out) is np.ndarray else out,)


def _tanh_pull(saved: Values, bars: Values) -> tuple[Value, Value, Sequence[Value]]:
    bar = bars[0] * (1 - np.square(saved[0]))
    return bar, bar, (None,)


def _relu_step(gates: Value, hidden: Value, _states: Values) -> tuple[Values, Values]:
    before = gates + hidden
    positive = before > 0
    out = np.where(positive, before, 0)
    return (out,), (positive,)


def _relu_pull(saved: Values, bars: Values) -> tuple[Value, Value, Sequence[Value]]:
    bar = np.where(saved[0], bars[0], 0)
    return bar, bar, (None,)


def _lstm_step(gates: Value, hidden: Value, states: Values) -> tuple[Values, Values]:
    size = states[1].shape[-1]
    half, rest, _ = _lstm_numbers(size, gates.dtype)
    all_four = np.tanh((gates + hidden) * half) * half + rest
    enter, forget, new, leave = _four(all_four, size)
    c = forget * states[1] + enter * new
    bounded = np.tanh(c)
    return (leave * bounded, c), (all_four, bounded, states[1])


def _lstm_pull(saved: Values, bars: Values) -> tuple[Value, Value, Sequence[Value]]:
    all_four, bounded, c = saved
    size = c.shape[-1]
    enter, forget, new, leave = _four(all_four, size)
    h_bar, c_bar = bars
    c_bar = c_bar + h_bar * leave * (1 - np.square(bounded))
    # s (1 - s) of a sigmoid, (1 + t) (1 - t) of a tanh
    slopes = (all_four + _lstm_numbers(size, all_four.dtype)[2]) * (1 - all_four)
    bar = np.concatenate([c_bar * new, c_bar * c, c_bar * enter, h_bar * bounded], 1) * slopes
    return bar, bar, (None, c_bar * forget)


def _four(gates: Value, size: int) -> list[Value]:
    return [gates[:, at * size : (at + 1) * size] for at in range(4)]


@functools.lru_cache(1 << 8)
def _lstm_numbers(size: int, dtype: np.dtype[Any]) -> tuple[Value, Value, Value]:
    """By which all gates are one tanh(x * half) * half + rest: a sigmoid, of one of them a tanh.

    And ones for that one.
    """
    tanhs = np.zeros(4 * size, dtype)
    tanhs[2 * size : 3 * size] = 1
    half = (1 + tanhs) / dtype.type(2)
    return half, 1 - half, tanhs


def _gru_step(gates: Value, hidden: Value, states: Values) -> tuple[Values, Values]:
    size = states[0].shape[-1]
    both = _sigmoid(gates[:, : 2 * size] + hidden[:, : 2 * size])
    reset, keep = both[:, :size], both[:, size:]
    own = hidden[:, 2 * size :]
    new = np.tanh(gates[:, 2 * size :] + reset * own)
    difference = states[0] - new
    return (new + keep * difference,), (reset, keep, own, new, difference)


def _gru_pull(saved: Values, bars: Values) -> tuple[Value, Value, Sequence[Value]]:
    reset, keep, own, new, difference = saved
    (bar,) = bars
    new_bar = bar * (1 - keep) * (1 - np.square(new))
    first = new_bar * own * (reset * (1 - reset))
    second = bar * difference * (keep * (1 - keep))
    of_gates = np.concatenate([first, second, new_bar], 1)
    of_hidden = np.concatenate([first, second, new_bar * reset], 1)
    return of_gates, of_hidden, (bar * keep,)


CELLS = {
    "RNN_TANH": Cell(_tanh_step, _tanh_pull, 1, biased=False),
    "RNN_RELU": Cell(_relu_step, _relu_pull, 1, biased=False),
    "LSTM": Cell(_lstm_step, _lstm_pull, 2, biased=False),
    "GRU": Cell(_gru_step, _gru_pull, 1, biased=True),
}

# --- All steps ----------------------------------------------------------------------------------


def _order(sizes: Sizes, backwards: bool) -> list[tuple[int, int]]:
    """The first row and the number of rows of each step, in the order in which they are made."""
    places, start = [], 0
    for count in sizes:
        places.append((start, count))
        start += count
    return places[::-1] if backwards else places


def _first(state: Value, count: int) -> Value:
    return state if count == state.shape[0] else state[:count]


def _with_rest(part: Value, whole: Value) -> Value:
    """A state of which the first rows are replaced."""
    count = part.shape[0]
    return part if count == whole.shape[0] else np.concatenate([part, whole[count:]])


def _in_order_of_time(parts: list[Value], reverse: bool) -> Value:
    return np.concatenate(parts[::-1] if reverse else parts)


def _run(
    arrays: Sequence[Value], mode: str, sizes: Sizes, reverse: bool
) -> tuple[Value, Values, list[Step]]:
    """The hidden state of each step, the last states, and the steps."""
    cell = CELLS[mode]
    gates, states, weights = (
        arrays[0],
        tuple(arrays[1 : 1 + cell.states]),
        arrays[1 + cell.states :],
    )
    turned = np.ascontiguousarray(weights[0].T) if type(weights[0]) is np.ndarray else weights[0].T
    projected = len(weights) == 2 and not cell.biased
    outs, steps = [], []
    for start, count in _order(sizes, reverse):
        now = tuple([_first(state, count) for state in states])
        hidden = np.matmul(now[0], turned)
        if cell.biased:
            hidden = hidden + weights[1]
        new, saved = cell.step(gates[start : start + count], hidden, now)
        full = None
        if projected:
            full = new[0]
            new = (np.matmul(full, weights[1].T), *new[1:])
        steps.append(Step(start, count, now, saved, full))
        outs.append(new[0])
        states = tuple([_with_rest(part, whole) for part, whole in zip(new, states, strict=True)])
    return _in_order_of_time(outs, reverse), states, steps


def _sequence(
    *arrays: Value, mode: str, sizes: Sizes, reverse: bool = False, kept: Found | None = None
) -> Any:
    """gates, states, w_hh and perhaps a bias or a projection, as `recurrent` takes them."""
    out, states, steps = _run(arrays, mode, sizes, reverse)
    if kept is not None and type(arrays[0]) is np.ndarray:
        kept.of, kept.found = arrays, steps
    return (out, states[1]) if CELLS[mode].states == 2 else out


class Recurrence(Whole):
    """The rule of `count` arrays: gates, one state or two, w_hh, and what else the cell has."""

    def spares(
        self, value: Value, args: Sequence[Value], parents: Sequence[Any], params: Any
    ) -> bool:
        """Whether a plain pull does not read an argument, which one that logs itself does."""
        params = getattr(params, "params", params)
        states = 1 + CELLS[params["mode"]].states
        if CELLS[params["mode"]].biased and value is args[-1]:
            return True
        outer = any(parent != -1 for parent in parents[1:states])
        return value is args[states] and len(params["sizes"]) == 1 and not outer

    def pull(
        self, g: Cotangent, out: Value, args: Sequence[Value], params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        mode, sizes = params["mode"], params["sizes"]
        reverse, kept = params.get("reverse", False), params.get("kept")
        cell = CELLS[mode]
        if (
            kept is not None
            and kept.of
            and all(x is y for x, y in zip(kept.of, args, strict=True))
        ):
            steps = kept.found
        else:
            steps = _run(args, mode, sizes, reverse)[2]
        initial, weights = args[1 : 1 + cell.states], args[1 + cell.states :]
        parts = list(g) if cell.states == 2 else [g]
        bars = [np.zeros_like(initial[0]), *parts[1:]]
        if cell.states == 2 and bars[1] is None:
            bars[1] = np.zeros_like(initial[1])
        return _pulled(cell, steps, parts[0], bars, weights, wanted, reverse)


def _pulled(
    cell: Cell,
    steps: list[Step],
    g: Cotangent,
    bars: list[Value],
    weights: Sequence[Value],
    wanted: Wanted,
    reverse: bool,
) -> list[Cotangent]:
    """The cotangents of all arrays. g: those of all steps; bars: those of the last states."""
    of_gates, of_hidden, of_full = [], [], []
    projected = steps[0].full is not None
    for start, count, _states, saved, _full in reversed(steps):
        now = [_first(bar, count) for bar in bars]
        if g is not None:
            now[0] = now[0] + g[start : start + count]
        if projected:
            of_full.append(now[0])
            now[0] = np.matmul(now[0], weights[1])
        gates_bar, hidden_bar, more = cell.pull(saved, tuple(now))
        of_gates.append(gates_bar)
        of_hidden.append(hidden_bar)
        if len(of_gates) == len(steps) and not any(wanted[1 : 1 + cell.states]):
            break  # nothing before it is asked for
        before = np.matmul(hidden_bar, weights[0])
        new = [before if more[0] is None else before + more[0], *more[1:]]
        bars = [_with_rest(part, whole) for part, whole in zip(new, bars, strict=True)]
    gates_bar = _in_order_of_time(of_gates, not reverse)
    hidden_bar = gates_bar
    if cell.biased:
        hidden_bar = _in_order_of_time(of_hidden, not reverse)
    result: list[Cotangent] = [gates_bar, *bars]
    weight_wanted, *last_wanted = wanted[1 + cell.states :]
    states = _in_order_of_time([step.states[0] for step in steps], reverse)
    result.append(np.matmul(hidden_bar.T, states) if weight_wanted else None)
    if cell.biased:
        result.append(np.sum(hidden_bar, 0) if last_wanted[0] else None)
    elif projected:
        full = _in_order_of_time([step.full for step in steps], reverse)
        full_bar = _in_order_of_time(of_full, not reverse)
        result.append(np.matmul(full_bar.T, full) if last_wanted[0] else None)
    return result


MOST_RECORDED = 1000  # steps that are recorded call by call, each some 30 calls with its pull

_BY_COUNT = {
    count: ruled("RecurrentBackward0", Recurrence, count, name="recurrent", batch="loop")(
        _sequence
    )
    for count in (3, 4, 5)
}


def recurrent(arrays: list[Value], mode: str, sizes: Sizes, *, reverse: bool = False) -> Any:
    """All steps of a layer in one direction.

    arrays: gates (rows, k * hidden), which are products of the inputs with their weights plus
    biases, in order of time; h (batch, hidden), for "LSTM" c (batch, hidden); w_hh (k * hidden,
    hidden); for "GRU" the bias of the state (3 * hidden); for "LSTM" perhaps the projection
    (projected, hidden). mode: a key of `CELLS`. sizes: the number of rows at each step, not
    growing. reverse: from the last step to the first. Returns the hidden states (rows, hidden),
    for "LSTM" also the last c (batch, hidden).
    """
    params: dict[str, Any] = {"mode": mode, "sizes": sizes}
    if not is_recording() or len(sizes) > MOST_RECORDED:
        params["kept"] = Found()
    if reverse:
        params["reverse"] = True
    return _BY_COUNT[len(arrays)](*arrays, **params)
