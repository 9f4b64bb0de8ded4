"""Random programs with a planted NaN or infinity, as files, so that their lines are real."""

import importlib.util
import random

# Of bounded values: none makes a number that is not finite, forward or backward.
SOUND = (
    "np.sin({a})",
    "np.tanh({a} + {b})",
    "{a} * {b} / (1.0 + {b} * {b})",
    "np.cos({a}) - 0.5 * {b}",
    "{a}[::-1] * 0.5",
    "np.where({a} > {b}, np.sin({a}), {b} * 0.5)",
    "np.sum({a}) * np.tanh({b}) / 4.0",
    "np.maximum(np.cos({a}), {b}) * 0.5",
    "np.arctan2({a}, 2.0 + {b} * {b})",
    "np.cumsum({a}) / 4.0",
    "np.concatenate([{a}[:2], np.sin({b}[2:])])",
    "np.dot({a}, {b}) * np.sin({b}) / 8.0",
    "np.linalg.norm({a} + 3.0) * 0.1 + np.cos({b})",
    "np.sort({a}) * 0.7",
    "helper({a}, {b})",
    "in_place({a}, {b})",
    "doubled({a}) * 0.5",
)
FORWARD = (
    "np.log(-1.0 - {a} * {a})",
    "np.sqrt({a} - np.abs({a}) - 2.0)",
    "{a} / ({b} - {b})",
    "np.exp({a} * 0.0 + 1000.0)",
    "np.arcsin({a} * 0.0 + 2.0)",
    "np.log({a} * 0.0)",
    "np.power(-2.0 - {a} * {a}, 0.5)",
    "np.cosh(np.tanh({a})) * np.float64(1e308) * (10.0 + {b} * {b})",
    "np.arctanh({a} * 0.0 + 1.0)",
)
# An infinite partial by what x always moves: a zero partial on the way would repair it.
BACKWARD = (
    "{a} + np.sqrt(v0 - tapegrad.stop_gradient(v0))",
    "{a} + np.arccos(1.0 + (v0 - tapegrad.stop_gradient(v0)))",
    "{a} * 0.5 + np.cbrt(v0 - tapegrad.stop_gradient(v0))",
    "{a} + np.power(v0 - tapegrad.stop_gradient(v0), 0.5)",
    "{a} + unsound(v0)",
)
HEAD = """import numpy as np
import tapegrad


def helper(a, b):
    c = np.sin(a) * b
    return c + np.cos(c)


def in_place(a, b):
    c = np.sin(a)
    c[1:3] = b[1:3] * 0.5
    c *= 0.9
    return c


@tapegrad.custom_vjp
def doubled(a):
    return 2.0 * a


doubled.defvjp(lambda a: (2.0 * a, None), lambda _, g: (2.0 * g,))


@tapegrad.custom_vjp
def unsound(a):
    return 2.0 * a


unsound.defvjp(lambda a: (2.0 * a, None), lambda _, g: (g * np.nan,))


def f(x):
    v0 = x
"""


def write(path, seed, kind):
    """Write a program to a file; returns its function and the line of what was planted.

    kind: "forward", "backward", or None for a program without anything planted.
    """
    draw = random.Random(seed)
    count = draw.randint(4, 30)
    at = draw.randint(1, count) if kind else 0
    lines = []
    for i in range(1, count + 1):
        names = {"a": f"v{draw.randrange(i)}", "b": f"v{draw.randrange(i)}"}
        parts = SOUND if i != at else FORWARD if kind == "forward" else BACKWARD
        lines.append(f"    v{i} = {draw.choice(parts).format(**names)}")
    used = " + ".join(f"np.sum(v{i})" for i in range(count + 1))
    text = HEAD + "\n".join([*lines, f"    return {used}", ""])
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"planted_{seed}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f, HEAD.count("\n") + at
