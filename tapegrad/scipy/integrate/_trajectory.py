"""Derivatives of a right-hand side along a known trajectory, at many times in one call.

Knows vmap of a right-hand side, and what a function must be for it. Must not know solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._batched.conversions import AGREEING, DisagreementError
from tapegrad._core.tape import attempting
from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.jacobians import jacobian
from tapegrad._transforms.reverse import vjp
from tapegrad._transforms.vmap import vmap

_MOST_ELEMENTS = 1_000_000  # of Jacobians in one call
_MOST_WAYS = 64  # calls for parts of the times that go their own ways at branches
_FEW = 12  # elements of a state, up to which one pass of f for each is cheapest


class NotMappedError(Exception):
    """The right-hand side cannot be called for many times at once."""


class Trajectory:
    """The Jacobians and the parameters' cotangents of `problem` along `dense`, a dense solution.

    Times at which the function goes another way at a branch are called apart from others. Any
    error of a mapped call is a NotMappedError, as is a mapped value that is not that of a plain
    call, of a function with a memory.
    """

    def __init__(self, problem: Any, parameters: Sequence[Any], dense: Any) -> None:
        self.problem, self.parameters, self.dense = problem, tuple(parameters), dense
        self._is_checked = False

    def jacobians(self, times: Any) -> Any:
        """The Jacobians (times, size, size) by the state."""
        states = self.states(times)
        size = states.shape[1]
        by_state = self._few if size <= _FEW else self._many
        at_once = max(1, _MOST_ELEMENTS // size**2)
        found = np.empty((*states.shape, size))
        for first in range(0, len(times), at_once):
            part = np.arange(first, min(first + at_once, len(times)))
            calls = _ways(lambda rows: by_state(times[rows], states[rows]), part)
            for rows, (rates, jacobians) in calls:
                if not self._is_checked:
                    self._check(times[rows], states[rows], rates)
                found[rows] = jacobians
        return found

    def _few(self, times: Any, states: Any) -> tuple[Any, Any]:
        """The rates and their Jacobians, each state once for each of its elements: one pass."""
        f = self.problem.bind(self.parameters)
        count, size = states.shape
        repeated = np.repeat(times, size)
        rates, moved = jvp(
            lambda states: vmap(lambda y, t: f(t, y))(states, repeated),
            (np.repeat(states, size, axis=0),),
            (np.tile(np.eye(size), (count, 1)),),
        )
        return rates[::size], np.swapaxes(np.reshape(moved, (count, size, size)), 1, 2)

    def _many(self, times: Any, states: Any) -> tuple[Any, Any]:
        f = self.problem.bind(self.parameters)
        by_state = jacobian(lambda y, t: _twice(f(t, y)), mode="forward", has_aux=True)
        found, rates = vmap(by_state)(states, times)
        return rates, found

    def states(self, times: Any) -> Any:
        return np.ascontiguousarray(self.dense(times).T)

    def cotangents(self, times: Any, values: Any, weights: Sequence[Any]) -> list[list[Any]]:
        """The parameters' cotangents, from those of the rates, summed with each of some weights.

        values: (times, size). weights: arrays (times,).
        """
        states = self.states(times)

        def pulled(rows: Any) -> list[list[Any]]:
            _, pull = vjp(self._rates(times[rows], states[rows]), *self.parameters)
            return [list(pull(w[rows, None] * values[rows])) for w in weights]

        parts = [part for _, part in _ways(pulled, np.arange(len(times)))]
        return [
            [sum(bars[1:], bars[0]) for bars in zip(*each, strict=True)]
            for each in zip(*parts, strict=True)
        ]

    def tangents(self, times: Any, direction: Sequence[Any]) -> Any:
        """The derivatives (times, size) of the rates along a direction of the parameters."""
        states = self.states(times)
        found = np.empty_like(states)

        def moved(rows: Any) -> Any:
            rates = self._rates(times[rows], states[rows])
            return jvp(rates, self.parameters, tuple(direction))[1]

        for rows, part in _ways(moved, np.arange(len(times))):
            found[rows] = part
        return found

    def _rates(self, times: Any, states: Any) -> Function:
        def rates(*parameters: Value) -> Value:
            f = self.problem.bind(parameters)
            return vmap(lambda y, t: f(t, y))(states, times)

        return rates

    def _check(self, times: Any, states: Any, rates: Any) -> None:
        f = self.problem.bind(self.parameters)
        for i in {0, len(times) // 2}:
            plain = f(times[i], states[i])
            if in_trace(plain) or not np.allclose(plain, rates[i], rtol=1e-9, equal_nan=True):
                raise NotMappedError
        self._is_checked = True


def _twice(rate: Value) -> tuple[Value, Value]:
    return rate, rate


def _ways(call: Callable[[Any], Any], rows: Any) -> list[tuple[Any, Any]]:
    """Parts of the rows, and the call of each; rows that go another way at a branch are apart."""
    waiting, found = [rows], []
    before = AGREEING.get()
    try:
        AGREEING.set(True)
        while waiting:
            rows = waiting.pop()
            try:
                with attempting():
                    found.append((rows, call(rows)))
            except DisagreementError as error:
                answers = np.reshape(error.answers, (len(rows), -1))
                if (answers != answers[:, :1]).any() or len(waiting + found) > _MOST_WAYS:
                    raise
                waiting += [rows[answers[:, 0]], rows[~answers[:, 0]]]
    except Exception as error:
        raise NotMappedError from error
    finally:
        AGREEING.set(before)
    return found


__all__ = ["NotMappedError", "Trajectory"]
