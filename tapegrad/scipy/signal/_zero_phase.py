"""Filters run forward and backward: `filtfilt`, `sosfiltfilt`.

Made of `lfilter` and `sosfilt`, so that they have derivatives by coefficients, too. Gustafsson's
initial conditions: F. Gustafsson, Determining the initial states in forward-backward filtering,
IEEE Transactions on Signal Processing 46 (1996), 988-992.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Value
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy._questions import agreed
from tapegrad.scipy.signal import _filters as filters
from tapegrad.scipy.signal._arrays import HERE, along, as_array, padded, part

filtfilt, sosfiltfilt = mirror(ss.filtfilt, HERE), mirror(ss.sosfiltfilt, HERE)


def _extended(x: Value, padtype: Any, edge: int, axis: int, name: str) -> Value:
    """The signal with `edge` elements more at both ends, odd, even or constant about these."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"{name}: expected padtype='odd', 'even', 'constant' or None, got {padtype!r}."
        )
    if x.shape[axis] <= edge:
        raise ValueError(
            f"{name}: expected more than padlen={edge} elements, got {x.shape[axis]}."
        )
    if edge < 1:
        return x
    return extension(x, padtype, edge, axis)


def extension(x: Value, kind: str, edge: int, axis: int) -> Value:
    """The signal with `edge` elements more at both ends: "odd", "even", "constant", "zeros"."""
    size = x.shape[axis]
    if size <= edge and kind in ("odd", "even"):
        raise ValueError(f"scipy.signal: an extension by {edge} needs more than {size} elements.")
    first, last = part(x, 0, 1, axis), part(x, size - 1, size, axis)
    if kind in ("odd", "even"):
        before = np.flip(part(x, 1, edge + 1, axis), axis)
        after = np.flip(part(x, size - edge - 1, size - 1, axis), axis)
        if kind == "odd":
            before, after = 2 * first - before, 2 * last - after
    else:
        before, after = (np.repeat(end, edge, axis) for end in (first, last))
        if kind == "zeros":
            before, after = (np.zeros(end.shape, end.dtype) for end in (before, after))
    return np.concatenate([before, x, after], axis=axis)


def _both_ways(run: Function, x: Value, axis: int, edge: int) -> Value:
    """`run(x, start)` forward and backward, cut to what was there before `edge` more."""
    y = run(x, part(x, 0, 1, axis))
    y = np.flip(y, axis)
    y = np.flip(run(y, part(y, 0, 1, axis)), axis)
    return part(y, edge, y.shape[axis] - edge, axis) if edge else y


def _filtfilt(
    b: Value,
    a: Value,
    x: Value,
    axis: int,
    padtype: Any,
    padlen: int | None,
    method: str,
    irlen: int | None,
) -> Value:
    b, a, x = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a)), as_array(x)
    if method == "gust":
        return _gustafsson(b, a, x, axis, irlen)
    if method != "pad":
        raise ValueError(
            f"scipy.signal.filtfilt: expected method='pad' or 'gust', got {method!r}."
        )
    count = max(b.shape[0], a.shape[0])
    edge = 0 if padtype is None else 3 * count if padlen is None else padlen
    extended = _extended(x, padtype, edge, axis, "scipy.signal.filtfilt")
    if count == 1:
        return (b[0] / a[0]) ** 2 * x
    state = along(filters.lfilter_zi(b, a), x.ndim, axis)

    def run(x: Value, start: Value) -> Value:
        return filters.lfilter(b, a, x, axis, state * start)[0]

    return _both_ways(run, extended, axis, edge)


def _spare_taps(sos: Value) -> int:
    """How many sections are of the first order: the last coefficients of both sides are 0."""
    return int(min(np.sum(sos[:, 2] == 0), np.sum(sos[:, 5] == 0)))


def _sosfiltfilt(
    sos: Value, x: Value, axis: int = -1, padtype: Any = "odd", padlen: int | None = None
) -> Value:
    sos, x = filters.sections(sos), as_array(x)
    edge = 0 if padtype is None else padlen
    if edge is None:
        spare = agreed(_spare_taps, sos, "scipy.signal.sosfiltfilt", "sos without padlen=")
        edge = 3 * (2 * sos.shape[0] + 1 - spare)
    extended = _extended(x, padtype, edge, axis, "scipy.signal.sosfiltfilt")
    states = filters.sosfilt_zi(sos)
    shape = [sos.shape[0]] + [1] * x.ndim
    shape[axis % x.ndim + 1] = 2
    states = np.reshape(states, shape)

    def run(x: Value, start: Value) -> Value:
        return filters.sosfilt(sos, x, axis, states * start)[0]

    return _both_ways(run, extended, axis, edge)


def _gustafsson(b: Value, a: Value, x: Value, axis: int, irlen: int | None) -> Value:
    """The states for which forward-backward and backward-forward filtering agree best."""
    order = max(b.shape[0], a.shape[0]) - 1
    if order == 0:
        return (b[0] / a[0]) ** 2 * x
    x = np.moveaxis(x, axis, -1)
    size = x.shape[-1]
    length = size if irlen is None or size <= 2 * irlen else irlen
    # Column k: what a state of one in its element k sends out.
    impulse = padded(np.ones(1), 0, length - 1, 0)
    unit = filters.fixed_or_traced(np.ones(1), a / a[0], impulse)
    observed = np.stack(
        [np.concatenate([np.zeros(k), unit[: length - k]]) for k in range(order)], axis=-1
    )
    reverse = observed[::-1]
    sent = filters.lfilter(b, a, reverse, 0)
    sent_back = sent[::-1]
    first, last = sent_back - observed, reverse - sent
    forward = filters.lfilter(b, a, filters.lfilter(b, a, x)[..., ::-1])[..., ::-1]
    backward = filters.lfilter(b, a, filters.lfilter(b, a, x[..., ::-1])[..., ::-1])
    gap = backward - forward
    if length == size:
        system, answer = np.concatenate([first, last], 1), np.concatenate([sent_back, reverse], 1)
        change = _least_squares(system, gap) @ answer.T
    else:
        head = _least_squares(first, gap[..., :length]) @ sent_back.T
        tail = _least_squares(last, gap[..., -length:]) @ reverse.T
        middle = np.zeros((*x.shape[:-1], size - 2 * length))
        change = np.concatenate([head, middle, tail], axis=-1)
    return np.moveaxis(forward + change, -1, axis)


def _least_squares(system: Value, right: Value) -> Value:
    return right @ np.linalg.pinv(system).T


expressed_by(filtfilt, _filtfilt)
composite(sosfiltfilt, _sosfiltfilt)
