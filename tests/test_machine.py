"""A machine that writes programs at random, of primitives, views, writes, branches and transforms.

Each program runs three times: traced; on finite differences; and on object arrays of naive dual
numbers, whose views and writes are NumPy's own and whose derivatives are a few lines below.
"""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tapegrad import (
    checkpoint,
    checkpoint_sequence,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vhp,
    vjp,
    vmap,
)

# --- The naive reference ------------------------------------------------------------------------


class Dual:
    """A number and its derivative; of dual numbers, for second derivatives."""

    __array_priority__ = 10.0

    def __init__(self, value, dot):
        self.value, self.dot = value, dot

    def __add__(self, other):
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.dot + other.dot)
        return Dual(self.value + other, self.dot)

    def __mul__(self, other):
        if isinstance(other, Dual):
            dot = self.value * other.dot + self.dot * other.value
            return Dual(self.value * other.value, dot)
        return Dual(self.value * other, self.dot * other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other):
        return self * (1.0 / other)

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -1.0 * other

    def __rsub__(self, other):
        return -self + other

    def __gt__(self, other):
        return number(self) > other

    def sin(self):
        return Dual(np.sin(self.value), np.cos(self.value) * self.dot)

    def cos(self):
        return Dual(np.cos(self.value), np.sin(self.value) * self.dot * -1.0)

    def tanh(self):
        out = np.tanh(self.value)
        return Dual(out, (1.0 - out * out) * self.dot)


def number(x):
    return number(x.value) if isinstance(x, Dual) else float(x)


def dot_of(x):
    return x.dot if isinstance(x, Dual) else 0.0


def duals(values, dots):
    out = np.empty(np.shape(values), object)
    for index in np.ndindex(out.shape):
        out[index] = Dual(values[index], dots[index])
    return out


# --- What programs are made of ------------------------------------------------------------------

UNARY = {
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "negative": np.negative,
    "square": lambda v: v * v,
    "copy": lambda v: v.copy(),
    "zeros": lambda v: np.zeros_like(v) + 0.0 * v,
    "cumsum": lambda v: np.cumsum(v, axis=-1),
    "mean": lambda v: np.mean(v, axis=-1, keepdims=True),
    "gather": lambda v: v[..., [0, -1, 0]],
    "roll": lambda v: np.roll(v, 1, axis=-1),
    "stack": lambda v: np.stack([v[..., 0], v[..., -1]], axis=-1),
}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "concatenate": lambda v, w: np.concatenate([np.ravel(v), np.ravel(w)])[:3],
    "inner": lambda v, w: np.sum(v * w, axis=-1, keepdims=True),
}
VIEWS = {
    "reverse": lambda v: v[..., ::-1],
    "tail": lambda v: v[..., -2:],
    "row": lambda v: v[:1],
    "transpose": lambda v: v.T,
    "flat": lambda v: v.reshape(-1),
    "new axis": lambda v: v[None, ...] if v.ndim == 1 else v,
    "every other": lambda v: v[..., ::2],
}
WRITES = {
    "set": lambda v, w: v.__setitem__(Ellipsis, w),
    "set part": lambda v, w: v.__setitem__((Ellipsis, slice(0, 1)), w[..., :1]),
    "set gathered": lambda v, w: v.__setitem__((Ellipsis, [-1]), w[..., -1:]),
    "add": lambda v, w: v.__iadd__(w),
    "multiply": lambda v, w: v.__imul__(w),
    "subtract part": lambda v, w: v[..., :1].__isub__(w[..., :1]),
}


def custom_reverse(v):
    f = custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * np.cos(x),))
    return f(v)


def custom_forward(v):
    f = custom_jvp(np.sin)
    f.defjvp(lambda primals, tangents: (np.sin(*primals), np.cos(*primals) * tangents[0]))
    return f(v)


def three_steps(v):
    return np.sin(np.sin(np.sin(v)))


def cubes(y):
    return np.sum(y * y * y)


# What a program calls when it is traced, and what that is in closed form.
TRANSFORMS = {
    "grad": (lambda v, w: grad(lambda y: np.sum(np.sin(y) * w))(v * w),
             lambda v, w: np.cos(v * w) * w),
    "value_and_grad": (lambda v, w: value_and_grad(cubes)(v)[1] * w, lambda v, w: 3.0 * v * v * w),
    "vjp": (lambda v, w: vjp(lambda y: np.sin(y) * y, v)[1](v)[0] * w,
            lambda v, w: (np.cos(v) * v + np.sin(v)) * v * w),
    "jvp": (lambda v, w: jvp(np.tanh, (v,), (v,))[1] * w,
            lambda v, w: (1.0 - np.tanh(v) * np.tanh(v)) * v * w),
    "linearize": (lambda v, w: linearize(np.sin, v)[1](v) + w, lambda v, w: np.cos(v) * v + w),
    "jacrev": (lambda v, w: np.sum(jacrev(np.sin)(v.reshape(-1)), axis=0).reshape(v.shape) * w,
               lambda v, w: np.cos(v) * w),
    "jacfwd": (lambda v, w: np.sum(jacfwd(np.sin)(v.reshape(-1)), axis=0).reshape(v.shape) * w,
               lambda v, w: np.cos(v) * w),
    "hessian": (lambda v, w: np.sum(hessian(cubes)(v.reshape(-1)), axis=0).reshape(v.shape) * w,
                lambda v, w: 6.0 * v * w),
    "hvp": (lambda v, w: hvp(cubes, (v,), (v,)) * w, lambda v, w: 6.0 * v * v * w),
    "vmap": (lambda v, w: vmap(lambda y: np.sin(y) * np.sum(y))(v) * w,
             lambda v, w: np.sin(v) * (v if v.ndim == 1 else np.sum(v, -1, keepdims=True)) * w),
    "vmap of grad": (lambda v, w: vmap(grad(cubes))(v) * w, lambda v, w: 3.0 * v * v * w),
    "checkpoint": (lambda v, w: checkpoint(lambda a, b: np.sin(a) * b)(v, w),
                   lambda v, w: np.sin(v) * w),
    "sequence": (lambda v, w: checkpoint_sequence(np.sin, v, 3, snapshots=2) * w,
                 lambda v, w: three_steps(v) * w),
    "custom_vjp": (lambda v, w: custom_reverse(v) * w, lambda v, w: np.sin(v) * w),
    "custom_jvp": (lambda v, w: custom_forward(v) * w, lambda v, w: np.sin(v) * w),
}  # fmt: skip

START = np.array([0.6, -1.1, 0.9])
ALONG = np.array([0.7, 0.25, -0.5])
CONSTANT = np.array([0.3, 0.8, -0.4])


def run(steps, x):
    """The program: its variables are in a list, and its result is a sum over all of them."""
    variables = [x * 1.0, x * CONSTANT]
    for step in steps:
        step(variables)
    total = 0.0
    for i, v in enumerate(variables):
        total = total + np.sum(np.cos(v)) * (1.0 + 0.1 * i)
    return total


names = st.integers(0, 7)


class Programs(RuleBasedStateMachine):
    """Writes a program a step at a time; `plain` is the state it is in on plain arrays."""

    @initialize()
    def start(self):
        self.steps = []
        self.plain = [START * 1.0, START * CONSTANT]
        self.branches = False
        self.margin = 1.0

    def take(self, step):
        """Add a step, if it can be done and the numbers stay moderate."""
        trial = [START * 1.0, START * CONSTANT]
        for known in self.steps:
            known(trial)
        try:
            step(trial)
        except (ValueError, IndexError):  # shapes that do not go together
            return
        if len(trial) > 8 or any(v.size > 6 or np.max(np.abs(v)) > 50.0 for v in trial):
            return
        self.steps.append(step)
        self.plain = trial

    def index(self, i):
        return i % len(self.plain)

    @rule(i=names, name=st.sampled_from(sorted(UNARY)))
    def unary(self, i, name):
        i = self.index(i)
        self.take(lambda variables: variables.append(UNARY[name](variables[i])))

    @rule(i=names, j=names, name=st.sampled_from(sorted(BINARY)))
    def binary(self, i, j, name):
        i, j = self.index(i), self.index(j)
        self.take(lambda variables: variables.append(BINARY[name](variables[i], variables[j])))

    @rule(i=names, name=st.sampled_from(sorted(VIEWS)))
    def view(self, i, name):
        i = self.index(i)
        self.take(lambda variables: variables.append(VIEWS[name](variables[i])))

    @rule(i=names, j=names, name=st.sampled_from(sorted(WRITES)))
    def write(self, i, j, name):
        i, j = self.index(i), self.index(j)
        self.take(lambda variables: WRITES[name](variables[i], variables[j]))

    @rule(i=names, j=names)
    def branch(self, i, j):
        i, j = self.index(i), self.index(j)
        condition = self.plain[i].reshape(-1)[0]
        self.branches = True
        self.margin = min(self.margin, abs(float(condition)))

        def step(variables):
            v = variables[j]
            above = variables[i].reshape(-1)[0] > 0.0
            variables.append(np.sin(v) if above else v * v * 0.5)

        self.take(step)

    @rule(i=names, j=names, name=st.sampled_from(sorted(TRANSFORMS)))
    def transform(self, i, j, name):
        i, j = self.index(i), self.index(j)
        traced, closed = TRANSFORMS[name]

        def step(variables):
            v, w = variables[i], variables[j]
            if np.broadcast_shapes(v.shape, w.shape) != v.shape:
                raise ValueError("shapes")
            variables.append((closed if v.dtype == object else traced)(v, w))

        self.take(step)

    @rule()
    def derivatives_are_right(self):
        def f(x):
            return run(self.steps, x)

        value, gradient = value_and_grad(f)(START)
        first = run(self.steps, duals(START, ALONG))
        # What is plain after all has no derivative.
        slope = number(dot_of(first))
        near = {"rtol": 1e-8, "atol": 1e-8}
        np.testing.assert_allclose(value, number(first), **near)
        np.testing.assert_allclose(value, f(START), rtol=1e-12)
        np.testing.assert_allclose(gradient @ ALONG, slope, **near)
        np.testing.assert_allclose(jvp(f, (START,), (ALONG,))[1], slope, **near)
        np.testing.assert_allclose(linearize(f, START)[1](ALONG), slope, **near)
        np.testing.assert_allclose(grad(checkpoint(f))(START) @ ALONG, slope, **near)

        inner = duals(START, ALONG)
        zeros = [Dual(along, 0.0) for along in ALONG]
        twice = run(self.steps, duals(inner, np.array(zeros, object)))
        bend = number(dot_of(dot_of(twice)))
        far = {"rtol": 1e-6, "atol": 1e-6}
        np.testing.assert_allclose(hvp(f, (START,), (ALONG,)) @ ALONG, bend, **far)
        np.testing.assert_allclose(vhp(f, (START,), (ALONG,)) @ ALONG, bend, **far)
        matrix = hessian(f)(START)
        np.testing.assert_allclose(ALONG @ matrix @ ALONG, bend, **far)
        np.testing.assert_allclose(matrix, matrix.T, **far)

        if self.margin > 1e-3:
            h = 1e-5
            difference = (f(START + h * ALONG) - f(START - h * ALONG)) / (2 * h)
            scale = 1.0 + abs(slope) + abs(bend)
            np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-4 * scale)

    @precondition(lambda self: not self.branches)
    @rule()
    def a_mapped_program_is_a_loop(self):
        def f(x):
            return run(self.steps, x)

        points = np.stack([START, 0.9 * START, START + 0.1 * ALONG])
        near = {"rtol": 1e-8, "atol": 1e-8}
        np.testing.assert_allclose(vmap(f)(points), [f(x) for x in points], **near)
        np.testing.assert_allclose(vmap(grad(f))(points), [grad(f)(x) for x in points], **near)
        np.testing.assert_allclose(
            grad(lambda p: np.sum(vmap(f)(p)))(points), [grad(f)(x) for x in points], **near
        )

    def teardown(self):
        if getattr(self, "steps", None):
            self.derivatives_are_right()
            if not self.branches:
                self.a_mapped_program_is_a_loop()


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(
    max_examples=60,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
