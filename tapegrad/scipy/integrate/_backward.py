"""The adjoint equation of an initial value problem, solved backward along a known trajectory.

Knows how the backward solution starts again at each time that has a cotangent, and how the
integrals for the parameters are taken. Must not know rules, nor how the trajectory was found.

Where the right-hand side can be called for many times at once, the Jacobians along the trajectory
are a few such calls: the linear equation of a small state is then solved by `_collocation`, that
of a larger one by SciPy's solver with Jacobians in between interpolated. Else the solver asks for
one product with a Jacobian after another. The parameters' cotangents are integrals, which
`_resolved` takes: they may need other steps than the states.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.jacobians import jacobian
from tapegrad._transforms.reverse import vjp
from tapegrad.scipy.integrate._collocation import (
    MOST_ROWS,
    Interpolated,
    UnresolvedError,
    solved,
    stages_for,
)
from tapegrad.scipy.integrate._quick import Quick
from tapegrad.scipy.integrate._resolved import resolved
from tapegrad.scipy.integrate._trajectory import NotMappedError, Trajectory

STIFF = ("Radau", "BDF", "LSODA")
_MOST_INTERPOLATED = 4_000_000  # elements of Jacobians at the nodes between the trajectory's steps
_UNRESOLVED = (
    "{}: the derivative by a parameter is an integral over the times that takes too many of them: "
    "the function's derivative by that parameter jumps or oscillates too often. Choose larger "
    'tolerances, or gradient="forward".'
)


class Piece(NamedTuple):
    """The states from one time to another, and where the steps of the solver lie."""

    dense: Any
    begin: Any
    end: Any

    def edges(self, stops: Sequence[float]) -> Any:
        """The times of the steps and the stops, ascending."""
        low, high = sorted((self.begin, self.end))
        steps = self.dense.ts
        return np.unique([*stops, *steps[(steps > low) & (steps < high)]])


class Backward:
    """The backward solution: the cotangents of the state and of the parameters so far."""

    def __init__(
        self, solver: Any, problem: Any, state: Any, parameters: Sequence[Any], dtype: Any
    ) -> None:
        self.solver, self.problem, self.parameters = solver, problem, tuple(parameters)
        self.state_bar = np.zeros(state.shape, dtype)
        self.bars = [np.zeros(x.shape, np.result_type(x, dtype)) for x in parameters]
        settings = solver.settings
        given = settings.options
        self.options: dict[str, Any] = {
            name: given[name] for name in ("rtol", "max_step") if name in given
        }
        self.options["atol"] = float(np.min(given.get("atol", 1e-6)))
        self.options |= {"method": settings.method, **settings.adjoint}
        self.rtol = self.options.get("rtol", 1e-3)
        self.is_mapped = all(x.dtype.kind == "f" for x in (self.state_bar, state, *parameters))
        self.collocates = (
            self.is_mapped
            and stages_for(self.rtol) * state.size <= MOST_ROWS
            and not {"method", "max_step"} & set(settings.adjoint)
        )
        self.programs = _Programs(problem, self.parameters)

    def add(self, times: Any, g: Any, at: Any) -> None:
        """Add the cotangents of the states at a time."""
        here = times == at
        if here.any():
            self.state_bar = self.state_bar + np.sum(g[here], axis=0)

    def through(self, piece: Piece, times: Any, g: Any) -> None:
        """Go backward through a piece of the trajectory, to its begin."""
        low, high = sorted((piece.begin, piece.end))
        inside = np.unique(times[(times > low) & (times < high) & np.any(g != 0, axis=1)])
        stops = [low, *inside, high]
        if piece.end > piece.begin:
            stops.reverse()
        path = Trajectory(self.problem, self.parameters, piece.dense)
        if self.collocates:
            self.collocates = self._collocate(path, piece.edges(stops), stops, times, g)
            if self.collocates:
                return
        products = self._products(path, piece.edges(stops))
        for here, below in itertools.pairwise(stops):
            self.add(times, g, here)
            if self.state_bar.any():
                self._step(products, here, below)

    def _collocate(
        self, path: Trajectory, edges: Any, stops: Sequence[float], times: Any, g: Any
    ) -> bool:
        """Go from the first stop to the last, all steps at once; False if that is not possible."""
        added = {float(at): np.sum(g[times == at], axis=0) for at in stops[:-1]}
        added[float(stops[0])] = added[float(stops[0])] + self.state_bar
        if not any(bar.any() for bar in added.values()):
            return True
        bars: list[Any] = []
        try:
            found = solved(
                edges if stops[0] == edges[0] else edges[::-1],
                lambda times: -np.swapaxes(path.jacobians(times), 1, 2),
                added,
                rtol=self.rtol,
                atol=self.options["atol"],
            )
            if self.bars:
                bars = self._integrals(path, found.edges, found.at)
        except NotMappedError:
            self.is_mapped = False
            return False
        except UnresolvedError:
            return False
        self.state_bar = found.values[-1]
        self._add(bars)
        return True

    def _products(self, path: Trajectory, edges: Any) -> Any:
        """Products with Jacobians of the trajectory."""
        count = stages_for(self.rtol) * len(edges) * self.state_bar.size**2
        if self.is_mapped and count <= _MOST_INTERPOLATED:
            try:
                return _Interpolating(path, Interpolated(edges, path.jacobians, self.rtol))
            except NotMappedError:
                self.is_mapped = False
            except UnresolvedError:
                pass
        return _Following(path, self.programs)

    def _step(self, products: Any, here: float, below: float) -> None:
        options = dict(self.options)
        if options["method"] in STIFF:
            options["jac"] = lambda t, _bar: -products.jacobian(t).T
        found = self.solver._solve(
            lambda t, bar: -products.pulled(t, bar), here, below, self.state_bar, **options
        )
        self.state_bar = found.y[:, -1]
        if self.bars:
            self._add_integrals(products, found.sol, here, below)

    def _add_integrals(self, products: Any, bars: Any, here: float, below: float) -> None:
        """Add the integral of the parameters' cotangents, between the steps of both solutions."""
        low, high = sorted((here, below))
        steps = np.concatenate([bars.ts, products.path.dense.ts])
        steps = np.unique([low, *steps[(steps > low) & (steps < high)], high])
        edges = steps[::-1] if here > below else steps

        def at(_cells: Any, times: Any) -> Any:
            return np.reshape(bars(np.ravel(times)).T, (*times.shape, -1))

        try:
            if self.is_mapped:
                try:
                    return self._add(self._integrals(products.path, edges, at))
                except NotMappedError:
                    self.is_mapped = False
            followed = _Following(products.path, self.programs)
            return self._add(self._integrals(followed, edges, at))
        except UnresolvedError:
            raise NotDifferentiableError(_UNRESOLVED.format(self.solver.settings.name)) from None

    def _integrals(self, linear: Any, edges: Any, at: Any) -> list[Any]:
        tolerances = {"rtol": self.rtol, "atol": self.options["atol"]}
        found = resolved(linear, edges[:-1], edges[1:], at, **tolerances)
        return [-x for x in found]

    def _add(self, parts: Sequence[Any]) -> None:
        self.bars = [bar + x for bar, x in zip(self.bars, parts, strict=True)] if parts else []


class _Programs:
    """Products with the Jacobians of a right-hand side, at one time each."""

    def __init__(self, problem: Any, parameters: Sequence[Any]) -> None:
        bind = problem.bind
        self.parameters = parameters
        self._by_state = Quick(
            lambda t, y, bar, *p: vjp(lambda y: bind(p)(t, y), y)[1](bar)[0]  # by y alone
        )
        self._by_parameters = Quick(
            lambda t, y, bar, *p: vjp(lambda *p: bind(p)(t, y), *p)[1](bar)
        )
        self._along = Quick(
            lambda t, y, moved, *p: jvp(lambda *p: bind(p)(t, y), p, tuple(moved))[1]
        )
        self._jacobian = Quick(lambda t, y, *p: jacobian(lambda y: bind(p)(t, y))(y))

    def by_state(self, t: float, y: Any, bar: Any) -> Any:
        return self._by_state(np.float64(t), y, bar, *self.parameters)

    def by_parameters(self, t: float, y: Any, bar: Any) -> Any:
        return self._by_parameters(np.float64(t), y, bar, *self.parameters)

    def along(self, t: float, y: Any, direction: Sequence[Any]) -> Any:
        return self._along(np.float64(t), y, list(direction), *self.parameters)

    def jacobian(self, t: float, y: Any) -> Any:
        return self._jacobian(np.float64(t), y, *self.parameters)


class _Following(NamedTuple):
    """Products with the Jacobians where the trajectory is, each by a call of its own."""

    path: Trajectory
    programs: _Programs

    def pulled(self, t: float, bar: Any) -> Any:
        return self.programs.by_state(t, self.path.dense(t), bar)

    def jacobian(self, t: float) -> Any:
        return self.programs.jacobian(t, self.path.dense(t))

    def cotangents(self, times: Any, values: Any, weights: Sequence[Any]) -> list[list[Any]]:
        by_time = map(self.programs.by_parameters, times, self.path.states(times), values)
        found: list[list[Any]] = [[0.0] * len(self.programs.parameters) for _ in weights]
        for bars, *at in zip(by_time, *weights, strict=True):
            for sums, w in zip(found, at, strict=True):
                sums[:] = [total + w * bar for total, bar in zip(sums, bars, strict=True)]
        return found

    def tangents(self, times: Any, direction: Sequence[Any]) -> Any:
        states = self.path.states(times)
        pairs = zip(times, states, strict=True)
        return np.stack([self.programs.along(t, y, direction) for t, y in pairs])


class _Interpolating(NamedTuple):
    """Products with Jacobians that are known at many times."""

    path: Trajectory
    jacobian: Interpolated

    def pulled(self, t: float, bar: Any) -> Any:
        return bar @ self.jacobian(t)


__all__ = ["STIFF", "Backward", "Piece"]
