"""Compares a derivative with central differences, for the command line to report.

Knows functions, points and derivatives as trees of arrays. Must not know how the derivatives were
computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import _tree
from tapegrad._progress import Bar
from tapegrad.testing._promises import Promises

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad._core.types import Function, Tangent, Tree, Value

    Place = tuple[int, tuple[int, ...]]  # which leaf of the arguments, and which of its elements

MOST = 100
"""The largest number of partials to compare; of more, a random sample with a fixed seed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing a derivative with central differences.

    `error` is the largest relative error of a partial. A partial far smaller than the function's
    value is lost in the rounding of that value, so errors are relative to the larger of the two.
    `analytic` is False for a complex function of complex arguments whose derivative is that of its
    real part alone, as that of np.conj (docs/complex.md).
    """

    error: float
    tolerance: float
    compared: int
    total: int
    worst: str
    analytic: bool = True

    @property
    def passed(self) -> bool:
        return self.error <= self.tolerance  # NaN fails

    def __str__(self) -> str:
        some = "all" if self.compared == self.total else f"{self.compared} of"
        which = "" if self.analytic else " of the real part (f is not analytic)"
        return f"{some} {self.total} partials{which}, max relative error {self.error:.2g}"


def compare(f: Function, args: tuple[Tree, ...], derivative: Tree) -> Comparison:
    """Compare a derivative of `f` at `args` with central differences.

    If the output is not a scalar, the output and its Jacobian are first contracted with random
    weights. Then each element of an input has a single partial, in which all outputs count. A
    matrix that a rule takes to be Hermitian moves along Hermitian directions.

    Args:
        f: a function of `*args` with real or complex outputs, one array or a tree of arrays.
        args: positional arguments: trees of floating point or complex arrays and numbers.
        derivative: for each leaf of the output a tree like `args`, with arrays of shape
            `output.shape + input.shape`; du/dx - i du/dy for complex inputs, where u is the
            output, or its real part.

    Returns:
        The largest error of a partial, and whether it is within the precision of differences.
    """
    inputs, structure = _tree.flatten(args)
    outputs = [np.asarray(leaf) for leaf in _tree.flatten(f(*args))[0]]
    weights = _weights(outputs)
    gradient = _contract(weights, _tree.flatten(derivative)[0], len(inputs))

    def value_at(leaves: Sequence[Value]) -> Any:
        leaves_out = _tree.flatten(f(*_tree.unflatten(structure, leaves)))[0]
        return sum(np.sum(w * y) for w, y in zip(weights, leaves_out, strict=True))

    promises = Promises(lambda *leaves: f(*_tree.unflatten(structure, leaves)), inputs)
    step = _step([*map(np.asarray, inputs), *outputs])
    floor = 100 * step * abs(value_at(inputs))  # rounding of the value, in units of the tolerance
    places, total = _places(inputs)
    worst = {True: _Worst(), False: _Worst()}  # of complex inputs, of real ones: imaginary parts
    real = _Worst()
    promised = promises.exist()
    with Bar("differences", total=len(places)) as bar:
        for number, index in places:
            exact, near = _Pair(), _Pair()
            is_complex = np.iscomplexobj(inputs[number])
            for unit in (1, 1j) if is_complex else (1,):
                dots = _unit(inputs, (number, index), unit)
                dots = promises.along(dots) if promised else dots
                h = step * max(1.0, abs(np.asarray(inputs[number])[index]))
                moved = dots[number] != 0
                exact.add(unit, np.sum((gradient[number] * dots[number])[moved]))
                near.add(unit, _difference(value_at, inputs, dots, h))
            real.look(exact.real, near.real, floor)
            if any(map(np.iscomplexobj, outputs)):
                worst[is_complex].look(exact.imag, near.imag, floor)
            bar.step(worst=real.error)
    analytic = not (worst[True].error > step and real.error <= step)
    found = max([real, worst[False], *([worst[True]] if analytic else [])], key=_Worst.rank)
    return Comparison(found.error, step, len(places), total, found.text, analytic)


class _Pair:
    """A partial of the real part of a value, and one of its imaginary part: du/dx - i du/dy."""

    def __init__(self) -> None:
        self.real = self.imag = 0j

    def add(self, unit: complex, change: Any) -> None:
        """Change of the value along an axis of the complex plane."""
        self.real += np.conjugate(unit) * complex(change).real
        self.imag += np.conjugate(unit) * complex(change).imag


class _Worst:
    """The largest relative error so far, and what it was; NaN is larger than all."""

    def __init__(self) -> None:
        self.error, self.text = -1.0, ""

    def rank(self) -> float:
        return np.inf if np.isnan(self.error) else self.error

    def look(self, exact: complex, near: complex, floor: float) -> None:
        error = float(abs(exact - near) / (max(abs(exact), abs(near), floor) or 1.0))
        if not error <= self.error:
            self.error = error
            self.text = f"{_number(exact)} by tapegrad, {_number(near)} by differences"


def _weights(outputs: Sequence[Value]) -> list[Value]:
    if len(outputs) == 1 and outputs[0].size == 1:
        return [np.ones_like(outputs[0])]
    generator = np.random.default_rng(0)
    return [generator.uniform(0.5, 1.5, output.shape) for output in outputs]


def _contract(weights: Sequence[Value], blocks: Sequence[Value], count: int) -> list[Value]:
    """Sum over the outputs by weight: `blocks` holds `count` arrays for each of the outputs."""
    rows = [blocks[k * count : (k + 1) * count] for k in range(len(weights))]
    return [
        sum(np.tensordot(w, row[j], w.ndim) for w, row in zip(weights, rows, strict=True))
        for j in range(count)
    ]


def _step(arrays: Sequence[Value]) -> float:
    """Choose the relative step: the cube root of the coarsest precision, which balances errors."""
    return max(float(np.finfo(array.dtype).eps) ** (1 / 3) for array in arrays)


def _places(inputs: Sequence[Value]) -> tuple[list[Place], int]:
    places = [(n, index) for n, leaf in enumerate(inputs) for index in np.ndindex(np.shape(leaf))]
    if len(places) <= MOST:
        return places, len(places)
    chosen = np.random.default_rng(0).choice(len(places), MOST, replace=False)
    return [places[i] for i in sorted(chosen)], len(places)


def _unit(inputs: Sequence[Value], place: Place, unit: complex) -> list[Any]:
    """The direction of one element: its real axis, or its imaginary one."""
    number, index = place
    dots = [np.zeros_like(np.asarray(leaf)) for leaf in inputs]
    dots[number][index] = unit
    return dots


def _difference(
    value_at: Callable[[Sequence[Any]], Any],
    inputs: Sequence[Value],
    dots: list[Tangent],
    h: float,
) -> Any:
    """Compute the central difference along a direction."""

    def at(step: float) -> Any:
        # [()] keeps a scalar a scalar
        return value_at(
            [
                (np.asarray(x) + step * d).astype(d.dtype)[()]
                for x, d in zip(inputs, dots, strict=True)
            ]
        )

    return (at(h) - at(-h)) / (2 * h)


def _number(value: complex) -> str:
    return f"{value:.9g}" if value.imag else f"{value.real:.9g}"
