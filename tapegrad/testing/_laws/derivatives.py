"""The laws of derivatives: against differences, of both modes together, and of second order.

Knows both modes and differences. Each law takes a `Trial`, and returns its findings, or raises
`Skipped` where it cannot be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad._errors import describe
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.reverse import vjp
from tapegrad.testing._laws import slopes
from tapegrad.testing._laws.agreement import Difference, Sides, differ
from tapegrad.testing._laws.claims import rounds_of
from tapegrad.testing._laws.report import Finding, Skipped
from tapegrad.testing._laws.trial import Trial
from tapegrad.testing._measuring.directions import scale_of
from tapegrad.testing._measuring.lines import place_of
from tapegrad.testing._measuring.verdicts import EDGE, KINK, SMOOTH


def gradient(trial: Trial) -> list[Finding]:
    """The vjp is the derivative that differences show."""
    return slopes.against_differences(trial, "gradient")


def jvp_law(trial: Trial) -> list[Finding]:
    """The jvp is the derivative that differences show."""
    return slopes.against_differences(trial, "jvp")


def adjoint(trial: Trial) -> list[Finding]:
    """Re<vjp(g), t> = Re<g, jvp(t)>."""
    for each in rounds_of(trial):

        def both(leaves: Sequence[Value], dots: Sequence[Value] = each.dots) -> Sides:
            is_here = leaves is trial.leaves
            bars = trial.gradient if is_here else _pulled(trial, leaves, trial.bars)
            pushed = trial.push(dots)[1] if not is_here or dots is not trial.dots else None
            out_dots = trial.forward[1] if pushed is None else pushed
            if not is_here:
                out_dots = jvp(trial.function, tuple(leaves), tuple(dots))[1]
            return [_paired(bars, dots)[0]], [_paired(trial.bars, out_dots)[0]]

        sizes = _paired(trial.gradient, each.dots)[1]
        found = _differ(trial, both, [max(float(sizes), trial.pairing_size)])
        if found is not None:
            return [
                Finding(
                    "adjoint",
                    "the vjp is not the adjoint of the jvp: Re<vjp(g), t> != Re<g, jvp(t)>\n"
                    + _two(found, "by vjp", "by jvp"),
                    *_numbers(found),
                )
            ]
    return []


def _pulled(trial: Trial, leaves: Sequence[Value], bars: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(vjp(trial.function, *leaves)[1](tuple(bars)))


def _paired(bars: Sequence[Value], dots: Sequence[Value]) -> tuple[Value, Value]:
    """The real part of the sum of products, and the sum of their sizes."""
    with silence():
        products = [
            np.where(np.asarray(dot) == 0, 0, np.asarray(bar, np.clongdouble) * dot)
            for bar, dot in zip(bars, dots, strict=True)
        ]
        total = sum((np.sum(product.real) for product in products), np.longdouble(0))
        size = sum((np.sum(np.abs(product)) for product in products), np.longdouble(0))
    return np.asarray(total), size


def linearity(trial: Trial) -> list[Finding]:
    """Both directions are linear: the derivative along a sum is the sum of the derivatives."""
    if not all(np.all(np.isfinite(bar)) for bar in trial.gradient):
        raise Skipped("the derivative is not finite here")
    findings = []
    a, b = 0.75, -1.25
    other_dots, other_bars = trial.direction(1), trial.cotangents(1)

    def pushed(leaves: Sequence[Value]) -> Sides:
        one, two, both = (
            jvp(trial.function, tuple(leaves), tuple(dots))[1]
            for dots in (trial.dots, other_dots, _combined(a, trial.dots, b, other_dots))
        )
        return list(both), _combined(a, one, b, two)

    def pulled(leaves: Sequence[Value]) -> Sides:
        pullback = trial.pullback
        if leaves is not trial.leaves:
            made = vjp(trial.function, *leaves)[1]
            pullback = lambda bars: tuple(made(tuple(bars)))  # noqa: E731
        one, two, both = (
            pullback(bars)
            for bars in (trial.bars, other_bars, _combined(a, trial.bars, b, other_bars))
        )
        return list(both), _combined(a, one, b, two)

    for mode, sides, natural in (
        ("vjp", pulled, trial.gradient_sizes),
        ("jvp", pushed, trial.sizes),
    ):
        found = _differ(trial, sides, natural)
        if found is not None:
            findings.append(
                Finding(
                    "linearity",
                    f"the {mode} is not linear: of a sum it is not the sum\n"
                    + _two(found, "of the sum", "as the sum"),
                    *_numbers(found),
                )
            )
    return findings


def _combined(a: float, one: Sequence[Value], b: float, two: Sequence[Value]) -> list[Value]:
    return [(a * x + b * y).astype(x.dtype) for x, y in zip(one, two, strict=True)]


def dtype_and_shape(trial: Trial) -> list[Finding]:
    """A cotangent is like its argument, a tangent like its result."""
    findings = []
    for name, leaf, bar in zip(trial.names, trial.leaves, trial.gradient, strict=True):
        if describe(bar) != describe(leaf) or type(bar) is not type(leaf):
            findings.append(
                _unlike("dtype_and_shape", f"the cotangent of {name}", "the argument", leaf, bar)
            )
    try:
        outs, out_dots = trial.forward
    except Exception:  # noqa: BLE001 - the law of the jvp says so
        return findings
    for number, (out, dot) in enumerate(zip(outs, out_dots, strict=True)):
        if describe(out) != describe(dot):
            findings.append(
                _unlike("dtype_and_shape", f"the tangent of result {number}", "it", out, dot)
            )
    return findings


def _unlike(law: str, what: str, like: str, expected: Value, got: Value) -> Finding:
    return Finding(
        law,
        f"{what} has another shape, dtype or type than {like}\n"
        f"expected {type(expected).__name__} {describe(expected)}\n"
        f"got      {type(got).__name__} {describe(got)}",
        describe(expected),
        describe(got),
    )


def finite(trial: Trial) -> list[Finding]:
    """No NaN or infinity is in a derivative where differences are finite."""
    if all(np.all(np.isfinite(bar)) for bar in trial.gradient):
        return []
    if not np.all(np.isin(trial.measured.verdict, (SMOOTH, KINK, EDGE))):
        raise Skipped("the differences are not finite either")
    for name, bar in zip(trial.names, trial.gradient, strict=True):
        bad = np.argwhere(~np.isfinite(bar))
        if bad.size or (np.ndim(bar) == 0 and not np.isfinite(bar)):
            index = tuple(int(i) for i in bad[0]) if np.ndim(bar) else ()
            at = f" at {list(index)}" if index else ""
            text = (
                f"the gradient by {name}{at} is not finite, and differences are\n"
                f"expected a finite number\ngot      {np.asarray(bar)[index]}"
            )
            return [Finding("finite", text, None, bar[index], leaf=name, index=index)]
    return []


def chain_rule(trial: Trial) -> list[Finding]:
    """The derivative of what stands between two functions is the product of three."""
    random = np.random.default_rng([trial.options.seed, 3000])
    curves = [random.uniform(-1.0, 1.0) for _ in trial.value]
    bars = trial.bars

    def wrapped(*quarters: Value) -> Value:
        outs = trial.function(*(4 * quarter for quarter in quarters))
        total = 0.0
        for out, bar, curve in zip(outs, bars, curves, strict=True):
            part = np.sum((bar * out).real)
            total = total + part + curve * np.sin(part)
        return total

    def both(leaves: Sequence[Value]) -> Sides:
        quarters = [leaf / 4 for leaf in leaves]
        found = vjp(wrapped, *quarters)[1](1.0)
        outs, pullback = vjp(trial.function, *leaves)
        factors = [
            1 + curve * np.cos(np.sum((bar * out).real))
            for out, bar, curve in zip(outs, bars, curves, strict=True)
        ]
        seeds = tuple(
            (bar * factor).astype(bar.dtype) for bar, factor in zip(bars, factors, strict=True)
        )
        expected = [(4 * bar).astype(bar.dtype) for bar in pullback(seeds)]
        return expected, list(found)

    if not trial.value:
        raise Skipped("the function returns no floating or complex array")
    found = _differ(trial, both, [4 * size for size in trial.gradient_sizes])
    if found is None:
        return []
    return [_by_leaf(trial, "chain_rule", "the gradient of h(f(4 x))", found, "h' f' 4", "vjp")]


# --- Second order --------------------------------------------------------------------------------


def _gradient_function(trial: Trial) -> Callable[..., tuple[Value, ...]]:
    def cotangents(*leaves: Value) -> tuple[Value, ...]:
        return _pulled(trial, leaves, trial.bars)

    return cotangents


def _second(trial: Trial, dots: Sequence[Value], leaves: Sequence[Value] | None = None) -> Any:
    """Forward over reverse: the tangents of the cotangents of the leaves."""
    given = trial.copies() if leaves is None else tuple(leaves)
    return tuple(jvp(_gradient_function(trial), given, tuple(dots))[1])


def _require_squares(trial: Trial) -> None:
    """Second derivatives of log and the like have squares of their arguments within."""
    for leaf in trial.leaves:
        size, limits = scale_of(leaf), np.finfo(leaf.dtype)
        if not float(limits.tiny) ** 0.5 < size < float(limits.max) ** 0.5:
            raise Skipped(f"squares of arguments of the size {size:.1g} are out of range")


def _has_second(trial: Trial) -> bool:
    """Whether the gradient has a derivative here, as far as differences of it can tell."""
    measured = slopes.measured_gradient(trial, _gradient_function(trial))
    if np.all(measured.verdict == SMOOTH):
        return True
    trial.noted("the gradient has no derivative here")
    return False


def mixed_modes(trial: Trial) -> list[Finding]:
    """Forward over reverse, reverse over forward, and differences of the gradient are the same."""

    def forward_derivative(*leaves: Value) -> Value:
        out_dots = jvp(trial.function, leaves, tuple(trial.dots))[1]
        return sum(
            (np.sum((bar * dot).real) for bar, dot in zip(trial.bars, out_dots, strict=True)), 0.0
        )

    def both(leaves: Sequence[Value]) -> Sides:
        one = _second(trial, trial.dots, leaves)
        two = vjp(forward_derivative, *leaves)[1](1.0)
        return list(one), list(two)

    _require_squares(trial)
    sides = both(trial.leaves)
    trial.shared["second"] = tuple(sides[0])
    found = _differ(
        trial,
        lambda leaves: sides if leaves is trial.leaves else both(leaves),
        trial.gradient_sizes,
    )
    if found is not None and _has_second(trial):
        what = "the second derivative"
        return [
            _by_leaf(
                trial,
                "mixed_modes",
                what,
                found,
                "forward over reverse",
                "reverse over forward",
            )
        ]
    return slopes.second_against_differences(
        trial, _gradient_function(trial), trial.shared["second"]
    )


def symmetric_hessian(trial: Trial) -> list[Finding]:
    """The second derivative is symmetric: t1 H t2 = t2 H t1."""
    _require_squares(trial)
    other = trial.direction(1)

    def both(leaves: Sequence[Value]) -> Sides:
        one = trial.shared.get("second") if leaves is trial.leaves else None
        if one is None:
            one = _second(trial, trial.dots, leaves)
        two = _second(trial, other, leaves)
        return [_paired(one, other)[0]], [_paired(two, trial.dots)[0]]

    first = trial.shared.get("second") or _second(trial, trial.dots)
    sizes = _paired(first, other)[1]
    found = _differ(trial, both, [max(float(sizes), trial.pairing_size)])
    if found is None or not _has_second(trial):
        return []
    return [
        Finding(
            "symmetric_hessian",
            "the second derivative is not symmetric\n" + _two(found, "as t2 H t1", "as t1 H t2"),
            *_numbers(found),
        )
    ]


# --- Messages ------------------------------------------------------------------------------------


def _differ(
    trial: Trial, sides: Callable[[Sequence[Any]], Sides], natural: Sequence[float]
) -> Difference | None:
    options = trial.options
    return differ(
        sides,
        trial.leaves,
        natural=natural,
        coarse=lambda: trial.coarseness,
        rtol=options.rtol,
        atol=options.atol,
    )


def _two(found: Difference, left: str, right: str) -> str:
    return (
        f"expected {found.left:.9g} ± {found.left_noise:.1g} {left}\n"
        f"got      {found.right:.9g} ± {found.right_noise:.1g} {right} "
        f"(allowed {found.allowed:.1g})"
    )


def _numbers(found: Difference) -> tuple[float, float, float, float]:
    return found.left, found.right, found.left_noise, found.right_noise


def _by_leaf(
    trial: Trial, law: str, what: str, found: Difference, left: str, right: str
) -> Finding:
    number, index, _ = place_of(trial.leaves, found.at)
    at = f" at {list(index)}" if index else ""
    text = f"{what} by {trial.names[number]}{at} depends on how it is computed\n"
    return Finding(
        law,
        text + _two(found, f"by {left}", f"by {right}"),
        *_numbers(found),
        leaf=trial.names[number],
        index=index,
    )
