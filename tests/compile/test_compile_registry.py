"""Every rule of the registry as a program: eager's bits by NumPy's calls, natively within ulps.

Each function with a sample is differentiated at drawn arguments in both directions, in one
program. The default run has one draw each; the slow one has more, second derivatives, vmap, and
machine code.
"""

from __future__ import annotations

import functools
import warnings
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
from compiled import rounded
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from samples import SAMPLES

import tapegrad
from tapegrad import _tree, jvp, vjp
from tapegrad._compile.calls import RECORDINGS
from tapegrad._core.rule import REGISTRY, rules_of_form
from tapegrad.testing._rules import Call

# The functions whose calls are f's own, and why.
OWN = dict.fromkeys((np.array2string, np.array_repr, np.array_str), "it makes a text")

NATIVELY = pytest.mark.skipif(find_spec("llvmlite") is None, reason="llvmlite is not installed")
X = np.array([0.3, -1.2, 0.7, 2.1])
Z = np.array([0.5 + 1j, -0.25j, 2.0, 1 - 1j])
AT = np.array([0, 2, 0])


class Beside(NamedTuple):
    """A call that no sample has."""

    name: str
    call: Any
    args: tuple[Any, ...]

    def draw(self, data):
        return self.args, {}


def at(ufunc):
    def call(x, v):
        y = np.copy(x)
        ufunc.at(y, AT, v)
        return y

    return call


def method(ufunc, way, x):
    return getattr(ufunc, way)(x)


def part_written(name):
    def call(z, x):
        y = np.copy(z)
        setattr(y, name, x)
        return y

    return call


BESIDE = [
    *[
        Beside(f"np.{ufunc.__name__}.at", at(ufunc), (X, np.array([1.5, -0.5, 0.25])))
        for ufunc in (np.add, np.subtract, np.multiply, np.maximum, np.minimum)
    ],
    *[
        Beside(f"np.{ufunc.__name__}.reduceat", lambda x, u=ufunc: u.reduceat(x, [0, 2]), (X,))
        for ufunc in (np.add, np.multiply, np.maximum, np.minimum)
    ],
    *[
        Beside(f"np.{ufunc.__name__}.{way}", functools.partial(method, ufunc, way), (X,))
        for ufunc in (np.add, np.multiply, np.maximum, np.logaddexp)
        for way in ("reduce", "accumulate")
    ],
    Beside("np.diagonal", lambda x: np.diagonal(x, axis1=1, axis2=2), (X.reshape(1, 2, 2),)),
    Beside("np.multiply.outer", np.multiply.outer, (X, X[:2])),
    Beside("z.real =", part_written("real"), (Z, X)),
    Beside("z.imag =", part_written("imag"), (Z, X)),
    Beside("astype", lambda x: x.astype(np.float32) * 2, (X,)),
    Beside("x[i]", lambda x: x[AT] * x[1:], (X,)),
    Beside("x[i] +=", lambda x: tapegrad.jvp(at(np.add), (x, x[1:]), (x, x[1:]))[1], (X,)),
    Beside("x[::-1]", lambda x: np.arctan2(x, 0.5), (X[::-1],)),
    Beside("x[::2]", lambda x: np.exp(x), (np.repeat(X, 2)[::2],)),
]
ENTRIES = [(REGISTRY[entry.function].name, entry) for entry in SAMPLES.values()]
ENTRIES += [(entry.name, entry) for entry in BESIDE]
each_entry = pytest.mark.parametrize(
    "entry", [entry for _, entry in ENTRIES], ids=[name for name, _ in ENTRIES]
)


# --- What is compiled ---------------------------------------------------------------------------


def itself(call):
    return lambda leaves, bars, dots: call(*leaves)


def first(call):
    def both(leaves, bars, dots):
        out, pullback = vjp(call, *leaves)
        return out, pullback(bars), jvp(call, leaves, dots)

    return both


def second(call):
    def both(leaves, bars, dots):
        def gradient(*leaves):
            return vjp(call, *leaves)[1](bars)

        out, pullback = vjp(gradient, *leaves)
        return out, pullback(dots), jvp(gradient, leaves, dots)

    return both


def mapped(call):
    def both(leaves, bars, dots):
        def gradient(*leaves):
            out, pullback = vjp(call, *leaves)
            return out, pullback(bars)

        # The second example is nearer to zero: a quantile has to lie between 0 and 1.
        lesser = [leaf * (1 - dot / 4) for leaf, dot in zip(leaves, dots, strict=True)]
        pairs = [np.stack(pair) for pair in zip(leaves, lesser, strict=True)]
        return tapegrad.vmap(gradient)(*pairs)

    return both


def directions(values, phase):
    """Numbers between a half and three halves, of the shapes and dtypes of some values."""
    found = []
    for value in values:
        x = 1 + np.sin(phase + np.arange(value.size)).reshape(value.shape) / 2
        if value.dtype.kind == "c":
            x = x + 1j * np.cos(x)
        made = np.asarray(x.astype(value.dtype))
        found.append(made if isinstance(value, np.ndarray) else made[()])
    return tuple(found)


def arguments(entry, data, transform):
    """A function, and the arguments of its call: leaves, cotangents, tangents."""
    args, params = entry.draw(data)
    call = Call(entry.call, args, params)
    leaves = tuple(call.everything[i] for i in call.positions)
    if not leaves:  # nothing is differentiable: the function itself, of its arrays
        call.positions = [
            i for i, x in enumerate(call.everything) if isinstance(x, (np.ndarray, np.generic))
        ]
        leaves = tuple(call.everything[i] for i in call.positions)
        return itself(call), (leaves, (), ())
    bars = directions(call.inexact(*leaves), 0.2)
    return transform(call.inexact), (leaves, bars, directions(leaves, 0.7))


def check(entry, data, transform, backend, compare):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        f, args = arguments(entry, data, transform)
        try:
            expected = _tree.flatten(f(*args))[0]
        except tapegrad.TapegradError:
            return  # no vmap of what has a shape by values
        fast = tapegrad.compile(f, backend=backend)
        for _ in range(RECORDINGS + 1):
            compare(_tree.flatten(fast(*args))[0], expected, args[0])
        (program,) = fast.call.programs.values() or [None]
        if program.runner is None and not program.eager:  # it learned while it was recorded
            for _ in range(2 * RECORDINGS):
                compare(_tree.flatten(fast(*args))[0], expected, args[0])
        if program.runner is not None and all(is_finite(x) for x in expected):
            fast.call.f = never  # the function itself would hide that its program fails
            compare(_tree.flatten(fast(*args))[0], expected, args[0])
    own = getattr(entry, "function", None) in OWN
    assert (program.runner is None) == own, program.why


def is_finite(leaf):
    return getattr(leaf, "dtype", np.dtype("O")).kind not in "fc" or np.isfinite(leaf).all()


def never(*args):
    raise AssertionError("its program fails")


def assert_same(got, expected, leaves):
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert rounded(a, b), f"a program gave {a!r}, not {b!r}"


def assert_close(got, expected, leaves):
    """Equal but for rounding in the coarsest dtype at hand, and NaNs where there are some."""
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert type(a) is type(b)
        if not isinstance(b, (np.ndarray, np.generic, float, complex)):
            assert a == b
            continue
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b)
            continue
        kinds = [x.dtype for x in (*leaves, b) if x.dtype.kind in "fc"]
        allowed = 64 * max(float(np.finfo(kind).eps) for kind in kinds)
        size = float(np.max(np.abs(b), initial=1, where=np.isfinite(b)))
        np.testing.assert_allclose(a, b, rtol=allowed, atol=allowed * size, equal_nan=True)


def settings_of(count):
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )


# --- Tests --------------------------------------------------------------------------------------


@pytest.mark.part(3)
@each_entry
def test_a_rule_is_the_same_as_a_program(entry):
    draws = []

    @settings_of(2)
    @given(data=st.data())
    def drawn(data):
        draws.append(data)
        if len(draws) == 2 - isinstance(entry, Beside):  # the first draw is the simplest there is
            check(entry, data, first, "numpy", assert_same)

    drawn()


def last_draw(entry):
    """A function and its arguments: the second draw, as the first is the simplest there is."""
    draws = []

    @settings_of(2)
    @given(data=st.data())
    def drawn(data):
        draws.append(arguments(entry, data, first))

    drawn()
    return draws[-1]


@NATIVELY
def test_elementwise_rules_are_the_same_natively():
    """All of them in one program: machine code of many is made sooner than many times."""
    rules = rules_of_form("elementwise")
    calls = [last_draw(SAMPLES[rule.function]) for rule in rules if rule.function in SAMPLES]
    functions, arguments_of = zip(*calls, strict=True)

    def all_of_them(several):
        return [f(*args) for f, args in zip(functions, several, strict=True)]

    fast = tapegrad.compile(all_of_them, backend="llvm")
    with np.errstate(all="ignore"):
        expected = all_of_them(arguments_of)
        for _ in range(3 * RECORDINGS):
            got = fast(arguments_of)
    (program,) = fast.call.programs.values()
    assert program.runner is not None, program.why
    assert len(got) > 50
    for a, b, (leaves, *_) in zip(got, expected, arguments_of, strict=True):
        assert_close(_tree.flatten(a)[0], _tree.flatten(b)[0], leaves)


@pytest.mark.scheduled
@each_entry
@pytest.mark.parametrize("transform", [first, second, mapped])
def test_a_rule_is_the_same_as_a_program_at_many_arguments(entry, transform):
    @settings_of(8)
    @given(data=st.data())
    def drawn(data):
        check(entry, data, transform, "numpy", assert_same)

    drawn()


@pytest.mark.slow
@NATIVELY
@each_entry
@pytest.mark.parametrize("transform", [first, second])
def test_a_rule_is_the_same_natively(entry, transform):
    @settings_of(3)
    @given(data=st.data())
    def drawn(data):
        check(entry, data, transform, "llvm", assert_close)

    drawn()
