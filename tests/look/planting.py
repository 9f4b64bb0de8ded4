"""Plants a NaN or an infinity in a program that programs() drew; its lines are real."""

from __future__ import annotations

import random

import numpy as np

import tapegrad
from tapegrad.testing import Program
from tapegrad.testing._programs.drawing import known_operations

# What values decide cannot be batched: no example of a vmap may go another way than the others.
DECIDED = ("if", "while", "x[mask]", "x[argmax]")
# What is constant between jumps is a plain array, into which no traced value may be written.
FLAT = ("flat", "planted")
BATCHED = tuple(o.name for o in known_operations() if o.name not in DECIDED and o.kind not in FLAT)

FORWARD = (
    "np.log(-1.0 - {a} * {a})",
    "np.sqrt({a} - np.abs({a}) - 2.0)",
    "{a} / ({a} - {a})",
    "np.exp({a} * 0.0 + 1000.0)",
    "np.arcsin({a} * 0.0 + 2.0)",
    "np.log({a} * 0.0)",
    "np.power(-2.0 - {a} * {a}, 0.5)",
    "np.cosh(np.tanh({a})) * np.float64(1e308) * (10.0 + {a} * {a})",
    "np.arctanh({a} * 0.0 + 1.0)",
)
# An infinite partial by what x always moves: a zero partial on the way would repair it. The
# values stay what they are, so all else stays inside of its domain.
ZERO = "np.sum({x} - tapegrad.stop_gradient({x}))"
BACKWARD = (
    "{a} + np.sqrt(" + ZERO + ")",
    "{a} + np.arccos(1.0 + " + ZERO + ")",
    "{a} + np.cbrt(" + ZERO + ")",
    "{a} + np.power(" + ZERO + ", 0.5)",
    "{a} + unsound(" + ZERO + ")",
)


@tapegrad.custom_vjp
def unsound(a):
    return 2.0 * a


unsound.defvjp(lambda a: (2.0 * a, None), lambda _, g: (g * np.nan,))


def planted(program: Program, seed: int, kind: str) -> tuple[Program, int]:
    """The program with something planted after a statement, and the line of it.

    kind: "forward" or "backward". What follows reads the result, and the sum that is returned
    has it, too: by a factor with which what the program does to it does not cancel.
    """
    draw = random.Random(seed)
    x = program.made.names[0]
    lines = program.source.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("def f(")) + 1
    places = [(at, x)]
    for statement in program.made.statements:
        at += len(statement.lines)
        if statement.name is not None:
            places.append((at, statement.name))
    end = at  # of the statements; the result follows
    assert lines[end].startswith("    return ")
    at, name = draw.choice(places)
    text = draw.choice(FORWARD if kind == "forward" else BACKWARD).format(a=name, x=x)
    lines[end] += " + np.sum(planted) * np.pi"
    lines[at:at] = [f"    planted = {text}", f"    {name} = planted * 1.0"]
    source = "\n".join(lines) + "\n"
    return Program(source, program.args, (), {"unsound": unsound, **program.given}), at + 1
