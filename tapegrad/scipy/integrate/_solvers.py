"""SciPy's solvers of initial value problems, run on plain numbers: forward and backward.

Knows solve_ivp, odeint and the numerics of the adjoint equation: how the trajectory is kept, where
the backward solution starts again, and how the integrals for the parameters are taken. Must not
know rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace
from tapegrad._errors import NotDifferentiableError, RuleError
from tapegrad._transforms.jacobians import jacobian
from tapegrad.scipy.integrate._backward import STIFF, Backward, Piece
from tapegrad.scipy.integrate._quick import Quick


class Settings(NamedTuple):
    """How a problem is solved, and its adjoint.

    options: those of SciPy's solve_ivp. adjoint: those that its backward solution has besides
    or instead (method, rtol, atol, ...). checkpoints: None, or how many states are kept.
    """

    name: str
    method: Any
    options: dict[str, Any]
    gradient: str
    adjoint: dict[str, Any]
    checkpoints: int | None
    states: Callable[..., Any] | None = None  # who solves for the states, if not solve_ivp


class Solution(NamedTuple):
    """A solution that was computed already, and for what."""

    given: Sequence[Any]
    times: Any
    states: Any
    dense: Any


class Solver:
    """How the states of a problem and their adjoints are computed."""

    def __init__(
        self, settings: Settings, solution: Solution | None = None, *, derived: bool = False
    ) -> None:
        """`derived`: whether the equation is made of another, and can be differentiated again."""
        self.settings, self.solution, self.derived = settings, solution, derived
        self._sensitivities: tuple[Any, Any] | None = None

    def of_pairs(self) -> Solver:
        """The solver of a problem whose state is twice as long."""
        options = {
            name: value
            for name, value in self.settings.options.items()
            if name in ("rtol", "atol", "max_step", "min_step")
        }
        if np.ndim(options.get("atol", 0.0)):
            options["atol"] = np.concatenate([options["atol"]] * 2)
        return Solver(self.settings._replace(options=options), derived=True)

    def states(
        self, problem: Any, times: Value, start: Value, state: Value, *parameters: Value
    ) -> Any:
        known = self.solution
        if known is not None and _same(known.given, (start, state, *parameters)):
            if np.array_equal(known.times, times):
                return known.states.copy()
            if known.dense is not None:
                return _at(known.dense, times)
        f = self._plain(problem, parameters)
        if self.settings.states is not None:
            return self.settings.states(f, state, start, times, self.settings.options)
        end = _farthest(times, start)
        if end == start:
            return np.repeat(state[None], len(times), axis=0)
        return _at(self._solve(f, start, end, state, **self._jac(f)).sol, times)

    def _jac(self, f: Function) -> dict[str, Any]:
        """The Jacobian for an implicit method: differences of tangents would be too rough."""
        if not self.derived or self.settings.method not in STIFF:
            return {}
        by_y = Quick(lambda t, y: jacobian(lambda y: f(t, y))(y))
        return {"jac": lambda t, y: by_y(np.float64(t), y)}

    def _plain(self, problem: Any, parameters: Sequence[Value]) -> Function:
        f = problem.bind(parameters)
        if self.derived:  # a tangent, which is worth a program
            quick = Quick(lambda t, y, *p: problem.bind(p)(t, y))
            return lambda t, y: quick(np.float64(t), y, *parameters)

        def checked(t: float, y: Value) -> Any:
            out = f(t, y)
            if in_trace(out) and not in_trace(y):
                raise RuleError(
                    f"{self.settings.name}: the function depends on a traced value that was not "
                    "found in its closure, its defaults or the attributes of its object. Pass it "
                    "in args."
                )
            return out

        return checked

    def _solve(self, f: Function, start: Any, end: Any, state: Any, **changes: Any) -> Any:
        options = {"method": self.settings.method, **self.settings.options, **changes}
        options.setdefault("dense_output", True)
        found = scipy.integrate.solve_ivp(f, (float(start), float(end)), state, **options)
        if not found.success:
            raise NotDifferentiableError(
                f"{self.settings.name}: a solution that its derivative needs failed "
                f"({found.message}). Choose another method, tolerances, or gradient=."
            )
        return found

    def pulled(
        self, problem: Any, g: Any, times: Any, start: Any, state: Any, *parameters: Any
    ) -> tuple[Any, ...]:
        """S'(x)^T g by the first state and the parameters."""
        is_real = all(x.dtype.kind == "f" for x in (g, state, *parameters))
        if self.settings.gradient == "forward" and is_real:  # a Jacobian knows no conjugates
            return self._by_sensitivities(problem, g, times, start, state, parameters)
        size = np.max(np.abs(g), initial=0.0)
        if not np.isfinite(size):
            bars = [np.full(x.shape, np.nan, np.result_type(x, g)) for x in (state, *parameters)]
            return tuple(bars)
        if size == 0:
            return tuple(map(np.zeros_like, (state, *parameters)))
        backward = Backward(self, problem, state, parameters, np.result_type(state, g))
        for piece in self._pieces(problem, times, start, state, parameters):
            backward.through(piece, times, g / size)
        backward.add(times, g / size, start)
        return tuple(bar * size for bar in (backward.state_bar, *backward.bars))

    def _pieces(
        self, problem: Any, times: Any, start: Any, state: Any, parameters: Sequence[Any]
    ) -> Iterator[Any]:
        """Parts of the trajectory as dense solutions, the last one first."""
        end = _farthest(times, start)
        if end == start:
            return
        known = self.solution
        given = (start, state, *parameters)
        if known is not None and known.dense is not None and _same(known.given, given):
            yield Piece(known.dense, start, end)
            return
        f = self._plain(problem, parameters)
        if self.settings.checkpoints is None:
            yield Piece(self._solve(f, start, end, state, **self._jac(f)).sol, start, end)
            return
        for begin, y in reversed(self._kept(f, start, end, state)):
            if begin != end:
                yield Piece(self._solve(f, begin, end, y, **self._jac(f)).sol, begin, end)
                end = begin

    def _kept(self, f: Function, start: Any, end: Any, state: Any) -> list[Any]:
        """Some states along the trajectory, at most `checkpoints`, about evenly spread."""
        settings = self.settings
        kinds = {"LSODA": scipy.integrate.LSODA, "Radau": scipy.integrate.Radau}
        method = settings.method
        if isinstance(method, str):
            method = kinds.get(method) or getattr(scipy.integrate, method)
        solver = method(f, float(start), state, float(end), **settings.options)
        kept, stride, count = [(start, state)], 1, 0
        while solver.status == "running":
            problem = solver.step()
            if solver.status == "failed":
                raise NotDifferentiableError(f"{settings.name}: the solution failed ({problem}).")
            count += 1
            if count % stride == 0:
                kept.append((solver.t, solver.y.copy()))
            if len(kept) > max(1, settings.checkpoints or 1):
                kept, stride = kept[::2], 2 * stride
        return kept

    def _by_sensitivities(
        self, problem: Any, g: Any, times: Any, start: Any, state: Any, parameters: Sequence[Any]
    ) -> tuple[Any, ...]:
        """The same, by the sensitivities of the states, which are solved forward with them."""
        given = (state, *parameters)
        found = self._sensitivities
        if found is None or not _same(found[0], (times, start, *given)):
            by_given = self._sensitivities_of(problem, times, start, given)
            found = self._sensitivities = ((times, start, *given), by_given)
        total = np.einsum("mi,mij->j", g, found[1])
        parts = np.split(total, np.cumsum([x.size for x in given])[:-1])
        return tuple(np.reshape(part, x.shape) for part, x in zip(parts, given, strict=True))

    def _sensitivities_of(self, problem: Any, times: Any, start: Any, given: Sequence[Any]) -> Any:
        """The derivatives (times, size, elements) of the states by all elements of `given`."""
        state, parameters = given[0], given[1:]
        size = len(state)
        scales = np.concatenate([np.ravel(sizes_of(x)) for x in given])
        argnums = tuple(range(1, 1 + len(given)))
        by_all = Quick(jacobian(lambda t, y, *p: problem.bind(p)(t, y), argnums, mode="forward"))
        seeds = np.zeros((size, len(scales)), state.dtype)
        seeds[:, :size] = np.diag(scales[:size])
        f = problem.bind(parameters)
        widths_of_seeds = scales[size:]

        def extended(t: Any, z: Any) -> Any:
            y, moved = z[:size], np.reshape(z[size:], seeds.shape)
            by_state, *parts = by_all(t, y, *parameters)
            rate = np.reshape(by_state, (size, size)) @ moved
            if parts:
                flat = [np.reshape(part, (size, -1)) for part in parts]
                forced = np.concatenate(flat, axis=1) * widths_of_seeds
                rate = rate + np.concatenate([np.zeros((size, size)), forced], axis=1)
            return np.concatenate([f(t, y), np.reshape(rate, (-1,))])

        by_z = Quick(lambda t, z: jacobian(lambda z: extended(t, z))(z))

        def jac(t: float, z: Any) -> Any:
            return by_z(np.float64(t), z)

        first = np.concatenate([state, np.ravel(seeds)])
        given_jac = {"jac": jac} if self.settings.method in STIFF else {}
        options = self._for_sensitivities(1 + len(scales))
        end = _farthest(times, start)
        if end == start:
            found = np.repeat(first[None], len(times), axis=0)
        else:
            right = lambda t, z: extended(np.float64(t), z)  # noqa: E731
            solution = Solver(options)._solve(right, start, end, first, **given_jac)
            found = _at(solution.sol, times)
        return np.reshape(found[:, size:], (len(times), *seeds.shape)) / scales

    def _for_sensitivities(self, count: int) -> Settings:
        options = dict(self.of_pairs().settings.options)
        atol = self.settings.options.get("atol", 1e-6)
        options["atol"] = np.tile(atol, count) if np.ndim(atol) else atol
        return self.settings._replace(options=options)


def sizes_of(x: Any) -> Any:
    """The size of each element, or that of the largest, or one, where it is zero."""
    size = np.abs(x)
    return np.where(size == 0, np.max(size, initial=0.0) or 1.0, size)


def _same(given: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(
        x is y or np.array_equal(x, y, equal_nan=True) for x, y in zip(given, others, strict=True)
    )


def _farthest(times: Any, start: Any) -> Any:
    """The time that is farthest from the start."""
    if not len(times):
        return start
    return times[np.argmax(np.abs(times - start))]


def _at(dense: Any, times: Any) -> Any:
    """States (times, size)."""
    return np.ascontiguousarray(dense(np.asarray(times)).T)


__all__ = ["STIFF", "Settings", "Solution", "Solver", "sizes_of"]
