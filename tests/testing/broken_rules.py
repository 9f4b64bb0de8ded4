"""A hundred rules that are broken on purpose, one at a time, and programs that show each.

Of NumPy's functions the rule in the registry is changed for a block: its partials, or what it
makes of a cotangent and a tangent, and with it every shorter way of a call that came before. Rules
of a user's own (custom_vjp, custom_jvp, primitives) are declared wrong.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

import tapegrad
from tapegrad._arrays import ufuncs
from tapegrad._core.forms import partials_of
from tapegrad._core.rule import REGISTRY
from tapegrad.testing import Program, own_operation
from tapegrad.testing._programs.drawing import random_program

COUNT = 20  # statements of a program


class Broken(NamedTuple):
    """A rule that is broken on purpose."""

    kind: str  # "sign", "factor", ...
    name: str  # of the operation, as blame has it
    including: str  # what the program must have
    options: dict[str, Any]  # of the program
    order: int  # the order of the derivatives that are wrong
    block: Callable[[], Any]  # a context in which the rule is broken

    def __str__(self) -> str:
        return f"{self.kind} of {self.name}"


# --- Rules of the registry ----------------------------------------------------------------------


def _forget() -> None:
    """Forget what calls came before: they are planned as what the rules were."""
    for table in (ufuncs.UNARY, ufuncs.REAL, ufuncs.LOOPS):
        table.clear()
    for rule in REGISTRY.values():
        if rule.calls is not None:
            rule.calls.clear()


@contextmanager
def changed(function: Any, change: Callable[[Any, Any], None]) -> Iterator[None]:
    """The rule of a function, changed for the block by `change(rule, what it was)`."""
    rule = REGISTRY[function]
    before = dict(rule.__dict__)
    _forget()
    rule.__dict__.update(calls=None)
    rule.plan = lambda *_args, **_kwargs: None
    try:
        change(rule, copy.copy(rule))
        yield
    finally:
        rule.__dict__.clear()
        rule.__dict__.update(before)
        _forget()


def partial_changed(at: int, wrong: Callable[..., Any]) -> Callable[[Any, Any], None]:
    """A partial of an elementwise function in place of which `wrong(partial, out, *args)` is."""

    def change(rule: Any, _right: Any) -> None:
        partial = partials_of(rule.function)[at]  # type: ignore[index]
        rule.partials = list(rule.partials)
        rule.partials[at] = lambda out, *args: wrong(partial(out, *args), out, *args)
        rule.x_partial = rule.partials[0]
        rule.y_partial = rule.partials[1] if len(rule.partials) == 2 else None
        rule.product, rule.plain = False, True
        rule.fused_vjp = rule.broadcast_vjp = None

    return change


def pull_changed(wrong: Callable[..., Any], at: int = 0) -> Callable[[Any, Any], None]:
    """A cotangent of the argument `at`, in place of which `wrong(bar)` is given."""

    def change(rule: Any, right: Any) -> None:
        def pull(g: Any, out: Any, args: Any, params: Any, wanted: Any) -> Any:
            bars = list(right.pull(g, out, args, params, wanted))
            if at < len(bars) and bars[at] is not None:
                bars[at] = wrong(bars[at])
            return bars

        rule.pull = pull

    return change


def push_changed(wrong: Callable[..., Any]) -> Callable[[Any, Any], None]:
    """The tangent, in place of which `wrong(dot)` is given."""

    def change(rule: Any, right: Any) -> None:
        def push(dots: Any, out: Any, args: Any, params: Any) -> Any:
            return wrong(right.push(dots, out, args, params))

        rule.push = rule.push_plainly = push

    return change


def at_one_element(value: Any, factor: float = 1.2) -> Any:
    """The value with its last element scaled."""
    scales = np.ones(np.shape(value))
    scales.flat[-1] = factor
    return value * (scales if np.shape(value) else factor)


def _times(factor: float) -> Callable[..., Any]:
    return lambda value, *_: factor * value


def _element(value: Any, *_: Any) -> Any:
    return at_one_element(value)


def _conjugate(value: Any, *_: Any) -> Any:
    return np.conj(value)


def _hidden(value: Any, *_: Any) -> Any:
    """The same to first order: that it depends on the arguments is hidden from the second."""
    return tapegrad.stop_gradient(value)


def _flipped(bar: Any) -> Any:
    return np.flip(bar)


def _averaged(bar: Any) -> Any:
    """As a cotangent that is summed over the wrong axis, and broadcast again."""
    return (
        np.mean(bar, axis=0, keepdims=True) + np.zeros(np.shape(bar))
        if np.ndim(bar)
        else 0.5 * bar
    )


def _summed(bar: Any) -> Any:
    """As a cotangent that is summed over all elements, and broadcast again."""
    return np.sum(bar) + np.zeros(np.shape(bar))


def _first_dropped(bar: Any) -> Any:
    keep = np.ones(np.shape(bar))
    keep.flat[0] = 0.0
    return bar * keep


# Of a sum of terms, one is left out.
MISSING: dict[Any, Callable[..., Any]] = {
    np.tanh: lambda _p, out, x: 1.0 + 0.0 * out,
    np.arctan: lambda _p, _out, x: 1.0 / (1.0 + np.abs(x)),
    np.sqrt: lambda _p, out, x: 0.5 + 0.0 * out,
    np.arcsinh: lambda _p, _out, x: 1.0 / (1.0 + x * x),
    np.log1p: lambda _p, _out, x: 1.0 / (2.0 + x),
    np.square: lambda _p, _out, x: 1.0 * x,
}
PLAIN: dict[str, Any] = {"kinks": False}
COMPLEX: dict[str, Any] = {"dtypes": ("complex128",)}


def _name(function: Any) -> str:
    return REGISTRY[function].name


def _of_partial(
    kind: str,
    function: Any,
    wrong: Callable[..., Any],
    *,
    at: int = 0,
    order: int = 1,
    options: dict[str, Any] = PLAIN,
    including: str | None = None,
) -> Broken:
    block = functools.partial(changed, function, partial_changed(at, wrong))
    return Broken(kind, _name(function), including or _name(function), options, order, block)


def _of_pull(
    kind: str, function: Any, wrong: Any, *, at: int = 0, including: str | None = None
) -> Broken:
    block = functools.partial(changed, function, pull_changed(wrong, at))
    return Broken(kind, _name(function), including or _name(function), PLAIN, 1, block)


def _of_push(kind: str, function: Any, wrong: Any, including: str | None = None) -> Broken:
    block = functools.partial(changed, function, push_changed(wrong))
    return Broken(kind, _name(function), including or _name(function), PLAIN, 1, block)


def _of_registry() -> Iterator[Broken]:
    for function in (np.sin, np.tanh, np.exp, np.log, np.arctan, np.cosh, np.expm1, np.log2):
        yield _of_partial("sign", function, _times(-1.0))
    yield _of_partial("sign", np.subtract, _times(-1.0), at=1)
    yield _of_partial("sign", np.divide, _times(-1.0), at=1)
    for function in (np.cos, np.sqrt, np.sinh, np.arcsinh, np.square, np.cbrt, np.tan, np.arcsin):
        yield _of_partial("factor", function, _times(2.0))
    for function in (np.exp2, np.arctanh, np.log10, np.radians, np.reciprocal):
        yield _of_partial("factor", function, _times(1.01))
    yield _of_partial("factor", np.multiply, _times(0.9), at=1)
    yield _of_partial("factor", np.hypot, _times(1.5), at=1)
    yield _of_partial("factor", np.logaddexp, _times(0.5))
    for function in (np.sin, np.exp, np.tanh, np.cos, np.arctan, np.square, np.negative):
        yield _of_partial("element", function, _element)
    yield _of_partial("element", np.add, _element)
    yield _of_partial("element", np.arctan2, _element, at=1)
    for function, wrong in MISSING.items():
        yield _of_partial("missing term", function, wrong)
    yield _of_partial("missing term", np.power, _times(0.0), at=1)
    yield _of_partial("missing term", np.logaddexp2, _times(0.0), at=1)
    for function in (np.sin, np.exp, np.square, np.cos):
        yield _of_partial("conjugate", function, _conjugate, options=COMPLEX)
    yield _of_partial("conjugate", np.multiply, _conjugate, options=COMPLEX)
    for function in (np.sin, np.tanh, np.exp, np.log1p, np.square, np.sqrt, np.arctan):
        yield _of_partial("second order", function, _hidden, order=2)
    yield _of_pull("axis", np.cumsum, _flipped)
    yield _of_pull("axis", np.swapaxes, _flipped)
    yield _of_pull("axis", np.transpose, _flipped)
    yield _of_pull("axis", np.rot90, _flipped)
    yield _of_pull("axis", np.matmul, _flipped, at=1)
    yield _of_pull("broadcast", np.cumsum, _averaged)
    yield _of_pull("broadcast", np.flip, _averaged)
    yield _of_pull("broadcast", np.concatenate, _averaged)
    yield _of_pull("broadcast", np.matmul, _summed)
    yield _of_pull("factor", np.sum, _times(0.5))
    yield _of_pull("factor", np.linalg.inv, _times(2.0))
    yield _of_pull("factor", np.linalg.eigh, _times(0.8))
    yield _of_pull("factor", np.convolve, _times(1.3), at=1)
    yield _of_pull("sign", np.inner, _times(-1.0), at=1)
    yield _of_pull("sign", np.linalg.cholesky, _times(-1.0))
    yield _of_pull("element", np.prod, at_one_element)
    yield _of_pull("element", np.linalg.det, at_one_element)
    yield _of_pull("element", np.matmul, at_one_element)
    yield _of_pull("missing term", np.repeat, _first_dropped)
    yield _of_push("factor", np.linalg.solve, _times(1.1))
    yield _of_push("sign", np.cumprod, _times(-1.0))


# --- Rules of a user's own ----------------------------------------------------------------------

GOOD = (lambda x: np.sin(x) * x, lambda x: np.cos(x) * x + np.sin(x))


def _by_vjp(name: str, backward: Callable[[Any, Any], Any]) -> Any:
    """x sin x by a custom_vjp."""

    def function(x: Any) -> Any:
        return GOOD[0](x)

    function.__name__ = function.__qualname__ = name
    made = tapegrad.custom_vjp(function)
    made.defvjp(lambda x: (GOOD[0](x), x), lambda x, g: (backward(x, g),))
    return made


def _by_jvp(name: str, slope: Callable[[Any], Any]) -> Any:
    """x sin x by a custom_jvp."""

    def function(x: Any) -> Any:
        return GOOD[0](x)

    function.__name__ = function.__qualname__ = name
    made = tapegrad.custom_jvp(function)
    made.defjvp(lambda primals, tangents: (GOOD[0](primals[0]), slope(primals[0]) * tangents[0]))
    return made


def _primitive(name: str, function: Callable[..., Any]) -> Any:
    function.__name__ = function.__qualname__ = name
    return tapegrad.primitive(function)


def _of_user(kind: str, made: Any, name: str, signature: str = "()", *, order: int = 1) -> Broken:
    own = own_operation(made, signature, name=name)
    return Broken(kind, name, name, {"own": (own,)}, order, nullcontext)


def _of_users() -> Iterator[Broken]:
    slope = GOOD[1]
    vjps: dict[str, Callable[[Any, Any], Any]] = {
        "sign": lambda x, g: -slope(x) * g,
        "factor": lambda x, g: 1.02 * slope(x) * g,
        "missing term": lambda x, g: np.sin(x) * g,
        "element": lambda x, g: at_one_element(slope(x) * g),
        "axis": lambda x, g: slope(x) * np.flip(g) + np.flip(x),
        "broadcast": lambda x, g: slope(x) * np.mean(g) * 0.5,
        "second order": lambda x, g: tapegrad.stop_gradient(slope(x)) * g,
    }
    for number, (kind, backward) in enumerate(vjps.items()):
        name = f"by_vjp_{number}"
        yield _of_user(kind, _by_vjp(name, backward), name, order=1 + (kind == "second order"))
    jvps: dict[str, Callable[[Any], Any]] = {
        "sign": lambda x: -slope(x),
        "factor": lambda x: 0.97 * slope(x),
        "missing term": lambda x: np.cos(x) * x,
        "element": lambda x: at_one_element(slope(x)),
        "second order": lambda x: tapegrad.stop_gradient(slope(x)),
    }
    for number, (kind, wrong) in enumerate(jvps.items()):
        name = f"by_jvp_{number}"
        yield _of_user(kind, _by_jvp(name, wrong), name, order=1 + (kind == "second order"))
    yield from _of_primitives()


def _of_primitives() -> Iterator[Broken]:
    def elementwise(kind: str, name: str, function: Any, *partials: Any, order: int = 1) -> Broken:
        made = _primitive(name, function)
        tapegrad.elementwise(made, *partials)
        signature = ",".join(["()"] * len(partials))
        return _of_user(kind, made, name, signature, order=order)

    yield elementwise("factor", "cubed", lambda x: x**3, lambda _o, x: 2 * x**2)
    yield elementwise("sign", "bell", lambda x: np.exp(-(x**2)), lambda o, x: 2 * x * o)
    yield elementwise(
        "missing term", "swish", lambda x: x / (1 + np.exp(-x)), lambda _o, x: 1 / (1 + np.exp(-x))
    )
    yield elementwise(
        "second order",
        "quartic",
        lambda x: x**4 / 8,
        lambda _o, x: tapegrad.stop_gradient(x**3 / 2),
        order=2,
    )
    yield elementwise("factor", "twice_less", lambda x, y: x - 2 * y, 1, -1)
    yield elementwise(
        "missing term", "mixed", lambda x, y: x * y + y**2, lambda _o, x, y: y, lambda _o, x, y: x
    )
    for kind, name, transpose in (
        ("axis", "backwards", lambda g, _out, _x: 2 * g),
        ("factor", "doubled_backwards", lambda g, _out, _x: 3 * g[::-1]),
    ):
        made = _primitive(name, lambda x: 2 * x[::-1])
        tapegrad.linear(made, transpose)
        yield _of_user(kind, made, name, "(n)")
    made = _primitive("row_sums", lambda x: np.sum(x, axis=1))
    tapegrad.linear(made, lambda g, _out, x: np.broadcast_to(g[:, None] * 0.5, x.shape))
    yield _of_user("broadcast", made, "row_sums", "(m,n)")
    made = _primitive("energy", lambda x: np.sum(x**2))
    tapegrad.general(made, vjp=lambda g, _out, x: g * x)
    yield _of_user("factor", made, "energy", "(m,n)")
    made = _primitive("quadratic", lambda a, x: x @ a @ x)
    tapegrad.general(
        made,
        vjp=[lambda g, _out, a, x: g * np.outer(x, x), lambda g, _out, a, x: g * 2 * (a @ x)],
    )
    yield _of_user("missing term", made, "quadratic", "(n,n),(n)")
    made = _primitive("whitened", lambda x: x - np.mean(x))
    tapegrad.linear(made, lambda g, _out, _x: g)
    yield _of_user("broadcast", made, "whitened", "(n)")


@functools.cache
def broken_rules() -> tuple[Broken, ...]:
    """All of them, in an order that does not change."""
    return (*_of_registry(), *_of_users())


# --- Programs that show them --------------------------------------------------------------------


def directional(program: Program, step: float = 1e-4) -> tuple[float, list[Any]]:
    """The difference of a program along a direction, and the direction."""
    random = np.random.default_rng(7)
    dots = [_direction(random, x) for x in program.args]

    def at(k: int) -> float:
        return float(program(*[x + k * step * d for x, d in zip(program.args, dots, strict=True)]))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step), dots


def _direction(random: np.random.Generator, x: Any) -> Any:
    dot = random.standard_normal(np.shape(x))
    return dot + 1j * random.standard_normal(np.shape(x)) if x.dtype.kind == "c" else dot


def _along(gradients: Any, dots: list[Any]) -> float:
    # Of a real result, to x + iy, the gradient is the slope by x minus i times the one by y.
    pairs = zip(gradients, dots, strict=True)
    return float(sum(np.sum(np.real(g * d)) for g, d in pairs))


def gradient_along(program: Program, args: Any, dots: list[Any], *, forward: bool) -> float:
    """Derivative of the program along a direction."""
    if forward:
        return float(tapegrad.jvp(program, tuple(args), tuple(dots))[1])
    return float(_along(tapegrad.vjp(program, *args)[1](1.0), dots))


def shows(broken: Broken, program: Program) -> bool:
    """Whether the break changes a derivative of the program, by more than differences err."""
    if broken.including not in program.operations:
        return False
    with np.errstate(all="ignore"):
        if broken.block is not nullcontext and _first_differs(program):
            return False  # it differs with right rules as well: it is differences that fail
        with broken.block():
            if broken.order == 1:
                return _first_differs(program)
            return not _first_differs(program, 1e-5) and _second_differs(program)


def _first_differs(program: Program, tolerance: float = 1e-3) -> bool:
    expected, dots = directional(program)
    found = [gradient_along(program, program.args, dots, forward=way) for way in (False, True)]
    scale = max(abs(expected), 0.1)
    return any(abs(one - expected) > tolerance * scale for one in found)


def _second_differs(program: Program, step: float = 1e-4) -> bool:
    """Whether the derivative of the derivative is not that of its differences."""
    _, dots = directional(program)

    def slope(k: int) -> float:
        moved = [x + k * step * d for x, d in zip(program.args, dots, strict=True)]
        return gradient_along(program, moved, dots, forward=False)

    expected = (slope(1) - slope(-1)) / (2 * step)

    def of(*args: Any) -> Any:
        return sum(
            np.sum(g * d) for g, d in zip(tapegrad.vjp(program, *args)[1](1.0), dots, strict=True)
        )

    found = float(tapegrad.jvp(of, program.args, tuple(dots))[1])
    return abs(found - expected) > 1e-2 * max(abs(expected), 0.1)


@functools.cache
def program_of(position: int) -> Program:
    """The first program of 20 statements that shows the rule at a position of the list."""
    broken = broken_rules()[position]
    for seed in range(200):
        program = random_program(
            1000 * position + seed, COUNT, including=broken.including, **broken.options
        )
        if shows(broken, program):
            return program
    raise AssertionError(f"no program shows {broken}")


__all__ = ["Broken", "broken_rules", "changed", "program_of", "shows"]
