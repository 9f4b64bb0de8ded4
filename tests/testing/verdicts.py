"""Verdicts of checks on a whole program: ours, and others' by their arithmetic.

As a program it prints the figures: `python verdicts.py [COUNT OF RIGHT PROGRAMS]`.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from contextlib import nullcontext
from typing import Any

import numpy as np
from broken_rules import broken_rules, program_of

import tapegrad
from tapegrad.testing import LawError, Program, check
from tapegrad.testing._programs.drawing import random_program

# The laws by which a broken rule is looked for: of first and second derivatives.
LAWS = ("gradient", "jvp", "adjoint", "mixed_modes", "symmetric_hessian")


def by_check(program: Program, laws: Any = LAWS, *, blame: bool = True) -> LawError | None:
    """The error of `check`, or None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            check(program, program.args, laws, blame=blame)
        except LawError as error:
            return error
    return None


def is_blamed(error: LawError, broken: Any) -> bool:
    """Whether the operation that is named is the broken one."""
    blame = error.blame
    return (
        blame is not None and blame.operation.rpartition(".")[2] == broken.name.rpartition(".")[2]
    )


def by_gradcheck(program: Program, order: int = 1) -> bool:
    """Whether each element agrees with differences: eps 1e-6, atol 1e-5, rtol 1e-3 (PyTorch's)."""
    args = program.args
    gradient = tapegrad.vjp(program, *args)[1](1.0)
    if order == 2:
        return all(_agree_by_element(_inner(program), args, _gradient(_inner(program), args)))
    return all(_agree_by_element(program, args, gradient))


def _gradient(f: Any, args: Any) -> Any:
    return tapegrad.vjp(f, *args)[1](1.0)


def _inner(program: Program) -> Any:
    """The gradient, with random weights: what a check of the second order looks at."""
    random = np.random.default_rng(1)
    weights = [random.standard_normal(np.shape(x)) for x in program.args]

    def of(*args: Any) -> Any:
        bars = tapegrad.vjp(program, *args)[1](1.0)
        return sum(np.sum(np.real(bar) * w) for bar, w in zip(bars, weights, strict=True))

    return of


def _agree_by_element(f: Any, args: Any, gradient: Any, eps: float = 1e-6) -> list[bool]:
    agree = []
    for position, (x, bar) in enumerate(zip(args, gradient, strict=True)):
        for at in np.ndindex(np.shape(x)):
            for unit in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                step = np.zeros(np.shape(x), x.dtype)
                step[at] = eps * unit
                ends = [
                    float(f(*args[:position], x + sign * step, *args[position + 1 :]))
                    for sign in (1, -1)
                ]
                expected = (ends[0] - ends[1]) / (2 * eps)
                found = float(np.real(unit * np.asarray(bar)[at]))
                agree.append(abs(found - expected) <= 1e-5 + 1e-3 * abs(expected))
    return agree


def by_check_grads(program: Program, order: int = 2, seed: int = 0) -> bool:
    """Whether random directions agree to order 2, as check_grads of JAX has it.

    In float64 and complex128 its tolerances are 1e-5, its step is 1e-4.
    """
    random = np.random.default_rng(seed)
    f, args = program, program.args
    for _ in range(order):
        if not _agrees_along(f, args, random):
            return False
        f = _inner(program)
    return True


def _agrees_along(f: Any, args: Any, random: np.random.Generator, eps: float = 1e-4) -> bool:
    dots = []
    for x in args:
        dot = random.standard_normal(np.shape(x))
        if x.dtype.kind == "c":
            dot = dot + 1j * random.standard_normal(np.shape(x))
        dots.append(np.asarray(dot).astype(x.dtype)[()])
    ends = [float(f(*[x + s * eps * d for x, d in zip(args, dots, strict=True)])) for s in (1, -1)]
    expected = (ends[0] - ends[1]) / (2 * eps)
    pushed = float(tapegrad.jvp(f, tuple(args), tuple(dots))[1])
    pulled = float(
        sum(np.sum(np.real(bar * dot)) for bar, dot in zip(_gradient(f, args), dots, strict=True))
    )
    return all(abs(got - expected) <= 1e-5 + 1e-5 * abs(expected) for got in (pushed, pulled))


# Kinks, noise, float32, complex numbers, several results, linear algebra that is conditioned ill.
RIGHT: tuple[dict[str, Any], ...] = (
    {},
    {"kinks": True},
    {"dtypes": ("float32",)},
    {"dtypes": ("float64", "float32", "complex128"), "inputs": 3},
    {"output": "any"},
    {"writes": False, "nested": False, "kinks": True, "dtypes": ("float32", "float64")},
)


def noisy(program: Program, size: float) -> Any:
    """The program with values that are rounded otherwise at each call, as those of a solver."""

    def function(*args: Any) -> Any:
        return _Noise(size)(program(*args), args)

    return function


class _Noise:
    """Adds a tiny constant that depends on the bits of the arguments."""

    def __init__(self, size: float) -> None:
        self.size = size

    def __call__(self, value: Any, args: Any) -> Any:
        bits = sum(float(np.sum(np.real(tapegrad.stop_gradient(x)))) for x in args)
        return value * (1.0 + self.size * (np.modf(np.abs(bits) * 1e9)[0] - 0.5))


def ill_conditioned(seed: int) -> tuple[Any, tuple[Any, ...]]:
    """A solution, an inverse or a determinant of a matrix with a condition of 1e4 to 1e9."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 5))
    u, v = (np.linalg.qr(random.standard_normal((n, n)))[0] for _ in range(2))
    matrix = u @ np.diag(np.logspace(0, -float(random.integers(4, 10)), n)) @ v
    b = random.standard_normal(n)
    functions = (
        lambda a, b: np.sum(np.linalg.solve(a, b)),
        lambda a, b: np.sum(np.linalg.inv(a) @ b),
        lambda a, b: np.linalg.slogdet(a)[1] + np.sum(b),
        lambda a, b: np.sum(np.sin(np.linalg.solve(a, b) * 1e-3)),
    )
    # Every eighth subject is of this kind: the seeds are alike but for their multiples of 8.
    return functions[seed // 8 % len(functions)], (matrix, b)


def right_subject(number: int) -> tuple[Any, tuple[Any, ...]]:
    """The right function with a number, and its arguments."""
    kind = number % (len(RIGHT) + 2)
    if kind == len(RIGHT):
        return ill_conditioned(number)
    options = RIGHT[kind] if kind < len(RIGHT) else {}
    program = random_program(10**6 + number, 3 + number % 18, **options)
    if kind == len(RIGHT) + 1:
        return noisy(program, 1e-9), program.args
    return program, program.args


def false_alarm(number: int, laws: Any = LAWS) -> str | None:
    """Verdict of `check` on the right function with a number, or None."""
    f, args = right_subject(number)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            check(f, args, laws, blame=False)
        except LawError as error:
            return f"{number}: {error}"
    return None


def controls(program: Program) -> tuple[str, ...]:
    """Which checks of others' find fault with the program."""
    first = by_gradcheck(program)
    verdicts = {
        "gradcheck": first,
        "gradcheck and gradgradcheck": first and by_gradcheck(program, order=2),
        "check_grads": by_check_grads(program),
    }
    return tuple(name for name, passed in verdicts.items() if not passed)


def main(right: int) -> None:
    found: Counter[str] = Counter()
    unbroken: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    for position, broken in enumerate(broken_rules()):
        program = program_of(position)
        with broken.block(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            error = by_check(program)
            found["check"] += error is not None
            if error is None:
                print("missed:", position, broken)
            elif is_blamed(error, broken):
                found["blamed"] += 1
            else:
                print(
                    "blamed otherwise:",
                    position,
                    broken,
                    "->",
                    error.blame and error.blame.operation,
                )
            found.update(controls(program))
        if broken.block is not nullcontext:
            unbroken["programs"] += 1
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                unbroken["check"] += by_check(program) is not None
                unbroken.update(controls(program))
        by_kind[broken.kind] += 1
    print("rules by kind:", dict(by_kind))
    print("found:", dict(found))
    print("found in the same programs with right rules:", dict(unbroken))
    alarms = [text for number in range(right) if (text := false_alarm(number))]
    print(f"false alarms: {len(alarms)} of {right}")
    for text in alarms:
        print(text)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
