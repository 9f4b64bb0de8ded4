"""blame: the operation whose own derivative is wrong is named, and a right program has none."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import numpy as np
import pytest

import tapegrad
import tapegrad.torch as torch
from tapegrad._core.elementwise import Elementwise
from tapegrad._core.rule import REGISTRY
from tapegrad.testing import blame
from tapegrad.testing._blame import search
from tapegrad.testing._blame.search import _flat, first_culprit, quietly

X = np.array([0.5, 1.5, 0.7])


@contextmanager
def broken(function, change, at=0, *, forward=True):
    """The rule of a function, with what it gives for one argument changed."""
    rule = REGISTRY[function]
    saved = dict(vars(rule))
    rule.calls = None
    if isinstance(rule, Elementwise):
        rule.partials = list(rule.partials)
        partial = rule.partials[at]
        rule.partials[at] = (
            (lambda *_: change(np.float64(1.0)))
            if partial is None
            else (lambda *values: change(partial(*values)))
        )
        rule.x_partial = rule.partials[0]
        rule.y_partial = rule.partials[1] if len(rule.partials) == 2 else None
        rule.plain, rule.product, rule.fused_vjp, rule.broadcast_vjp = True, False, None, None
    else:
        pull, push = rule.pull, rule.push

        def changed_pull(*call):
            bars = list(pull(*call))
            bars[at] = None if bars[at] is None else change(bars[at])
            return bars

        def changed_push(dots, *call):
            dots = list(dots)
            dots[at] = None if dots[at] is None else change(dots[at])
            return push(dots, *call)

        rule.pull = changed_pull
        if forward:
            rule.push = rule.push_plainly = changed_push
    try:
        yield
    finally:
        vars(rule).clear()
        vars(rule).update(saved)
        if rule.calls:
            rule.calls.clear()


def culprit(f, *args, order=2):
    """The first culprit, also where the derivatives of the whole are right."""
    with quietly():
        return first_culprit(*_flat(f, args), order=order, seed=0)


def line():
    """The number of the line above the one that asks."""
    return sys._getframe(1).f_lineno - 1


# --- Faults that are found ----------------------------------------------------------------------


def test_the_whole_function_is_asked_no_more_than_whether_it_is_right():
    calls = []
    square = tapegrad.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, g: (-2 * x * g,))

    def function(x):
        calls.append(x)
        return np.sum(np.sin(square(x)))

    assert blame(function, (X,)).derivative == "vjp"
    assert len(calls) < 150  # not where it is wrong: the calls within are asked that


def test_the_operation_the_line_the_argument_and_the_element_are_named():
    def only_second(bar):
        bar = np.array(bar)
        bar[1] *= 2
        return bar

    wrong = tapegrad.custom_vjp(lambda x, y: x * y)
    wrong.defvjp(
        lambda x, y: (x * y, (x, y)), lambda kept, g: (g * kept[1], only_second(g * kept[0]))
    )

    def f(x):
        y = np.cos(x)
        z = np.sin(wrong(np.exp(x), y))
        f.line = line()
        return np.sum(z * y)

    found = blame(f, (X,), order=1)
    assert found.line == f.line
    assert found.file == __file__
    assert (found.operation, found.derivative, found.order) == ("<lambda>", "vjp", 1)
    assert (found.argument, found.element) == ("argument 1", (1,))
    np.testing.assert_allclose(found.got, 2 * found.expected)
    assert f"line {f.line}" in str(found)
    assert "z = np.sin(wrong" in str(found)


CHANGES = {
    "sign": lambda v: -v,
    "factor": lambda v: 1.01 * v,
    "missing": lambda v: 0 * v,
}


@pytest.mark.part(4)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("function", "call"),
    [
        (np.sin, np.sin),
        (np.multiply, lambda x: x * x[::-1]),
        (np.divide, lambda x: 2.0 / x),
        (np.subtract, lambda x: np.sum(x) - x),
        (np.sum, lambda x: x.sum() * x),
        (np.matmul, lambda x: x @ x[::-1]),
        (np.concatenate, lambda x: np.concatenate([x, x])),
        (np.linalg.inv, lambda x: np.linalg.inv(np.outer(x, x) + np.eye(3))),
    ],
)
def test_a_rule_of_each_form_is_found(function, call, change):
    with broken(function, CHANGES[change]):
        found = blame(lambda x: np.exp(np.cos(call(x))), (X,))
    assert found.operation == REGISTRY[function].name


@tapegrad.primitive
def wave(x):
    return np.sin(x)


tapegrad.composite(wave, lambda x: np.sin(x) * 1.0)


@pytest.mark.parametrize("order", [1, 2])
def test_calls_within_calls_are_followed_so_deep_and_no_deeper(order, monkeypatch):
    with broken(np.sin, tapegrad.stop_gradient if order == 2 else lambda value: 1.3 * value):
        within = blame(wave, (X,))
        monkeypatch.setattr(search, "DEEPEST", 0)
        whole = blame(wave, (X,))
    assert within.operation == "np.sin"
    assert whole.operation == "wave"
    assert within.order == whole.order == order


def test_a_second_derivative_is_found_where_the_first_is_right():
    with broken(np.sin, tapegrad.stop_gradient):
        found = blame(lambda x: np.sum(np.exp(np.sin(x))), (X,))
        assert blame(lambda x: np.sum(np.exp(np.sin(x))), (X,), order=1) is None
    assert (found.operation, found.order) == ("np.sin", 2)
    assert "first derivatives are right" in str(found)


def test_an_operation_of_which_another_is_made_is_named():
    with broken(np.cos, lambda v: -v):  # the derivative of np.sin
        found = blame(np.sin, (X,))
    assert found.operation == "np.cos"
    assert found.within == ("np.sin",)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "around",
    [
        tapegrad.checkpoint,
        tapegrad.vmap,
        tapegrad.compile,
        lambda g: tapegrad.grad(lambda x: np.sum(g(x))),
        lambda g: lambda x: tapegrad.jvp(g, (x,), (np.ones(3),))[1],
        lambda g: lambda x: tapegrad.vmap(tapegrad.grad(g))(x),
        lambda g: lambda x: tapegrad.grad(lambda y: np.sum(tapegrad.vmap(g)(y)))(x),
    ],
)
def test_a_rule_is_found_within_transforms(around):
    inner = lambda x: np.tanh(x) * x  # noqa: E731
    with broken(np.tanh, lambda v: 1.5 * v):
        found = blame(lambda x: np.sum(around(inner)(x)), (X,))
    assert found.operation == "np.tanh"
    assert found.line == inner.__code__.co_firstlineno


def test_writes_and_reads_are_found(monkeypatch):
    with broken(np.copy, lambda v: -v):

        def f(x):
            y = np.sin(x)
            y[1:] = 2 * y[:-1]
            z = y.copy()
            f.line = line()
            z[0] += 1
            return z * y

        found = blame(f, (X,))
    assert (found.operation, found.line) == ("np.copy", f.line)


def by_vjp(function, backward):
    made = tapegrad.custom_vjp(function)
    made.defvjp(lambda x: (function(x), x), backward)
    return made


def layout_matters(x, g):
    return (np.cos(x) * (g if x.flags.c_contiguous else 2 * g),)


def test_a_rule_that_is_wrong_for_one_layout_is_found():
    x = np.linspace(0.1, 1.2, 12).reshape(3, 4)
    wrong = by_vjp(np.sin, layout_matters)
    assert blame(lambda x: np.sum(wrong(x.T)), (x,)).order == 1
    assert blame(wrong, (x.T,)).order == 1
    assert blame(wrong, (x,)) is None


@pytest.mark.parametrize(
    "take",
    [
        lambda cube: tapegrad.grad(lambda x: np.sum(cube(x))),
        lambda cube: tapegrad.vmap(tapegrad.grad(cube)),
        lambda cube: tapegrad.compile(tapegrad.grad(lambda x: np.sum(cube(x)))),
        lambda cube: tapegrad.checkpoint(tapegrad.grad(lambda x: np.sum(cube(x)))),
    ],
)
def test_what_f_itself_differentiates_is_asked_where_f_is_right_as_it_is_computed(take):
    wrong = by_vjp(lambda x: x**3, lambda x, g: (2 * x**2 * g,))
    right = by_vjp(lambda x: x**3, lambda x, g: (3 * x**2 * g,))
    assert blame(lambda x: np.sum(take(wrong)(np.sin(x))), (X,)).operation == "<lambda>"
    assert blame(lambda x: np.sum(take(right)(np.sin(x))), (X,)) is None


# --- Tensors ------------------------------------------------------------------------------------


def tensor():
    return torch.tensor(X, dtype=torch.float64, requires_grad=True)


class Cube(torch.autograd.Function):
    """x**3 * y, with a backward that is wrong by x."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x**3 * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 2 * x**2 * y * g, x**3 * g


def of_tensors(x):
    y = torch.sin(x) * 2
    y[0] += 1
    return (y.tanh() @ x).sum()


def test_gradcheck_names_a_custom_function():
    def f(x):
        z = Cube.apply(torch.sin(x) * 2, x.exp())
        f.line = line()
        return (z.cos() @ x).sum()

    with pytest.raises(RuntimeError, match="Jacobian mismatch") as info:
        torch.autograd.gradcheck(f, (tensor(),), blame=True)
    text = str(info.value)
    assert "The derivative of Cube is wrong" in text
    assert f"line {f.line}, in" in text
    assert "by argument 0, at element [0]" in text


@pytest.mark.parametrize(
    ("rule", "check"),
    [(np.sin, torch.autograd.gradcheck), (np.cos, torch.autograd.gradgradcheck)],
)
def test_gradcheck_names_an_operation_and_the_rule_in_it(rule, check):
    with broken(rule, lambda v: -v), pytest.raises(RuntimeError) as info:
        check(of_tensors, (tensor(),), blame=True)
    assert f"The derivative of {REGISTRY[rule].name} is wrong, within" in str(info.value)
    with broken(rule, lambda v: -v), pytest.raises(RuntimeError) as info:
        check(of_tensors, (tensor(),))
    assert "The derivative of" not in str(info.value)


def test_gradcheck_says_so_where_no_operation_is_wrong():
    assert torch.autograd.gradcheck(of_tensors, (tensor(),), blame=True)
    assert torch.autograd.gradgradcheck(of_tensors, (tensor(),), blame=True)
    with pytest.raises(RuntimeError, match="No operation is wrong by itself"):
        torch.autograd.gradcheck(lambda x: x.detach() * x, (tensor(),), blame=True)


# --- Faults that are not ------------------------------------------------------------------------


@pytest.mark.part(6)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.abs(x - 0.5)),  # a kink at the point
        lambda x: np.maximum(x, 0.5) * np.copysign(x - 0.5, x - 0.5),
        lambda x: np.round(x) * x,
        lambda x: np.sort(np.concatenate([x, x])),
        lambda x: np.linalg.norm(x - x),
        lambda x: np.sqrt(x - 0.5),
        lambda x: np.linalg.inv(np.outer(x, x) + 1e-9 * np.eye(3)),
        lambda x: (x.astype(np.float32) ** 2).astype(float),
        lambda x: np.empty_like(x)[:0].sum() + x,
        lambda x: x + np.random.default_rng().normal(size=3) * x,
        # The vectors of a diagonal matrix jump to their negatives beside it.
        pytest.param(
            lambda x: np.linalg.eigh(np.diag(np.floor(x) + x * np.arange(3)))[1] ** 2,
            marks=pytest.mark.slow,
        ),
        pytest.param(lambda x: np.linalg.qr(np.diag(x))[0] * x, marks=pytest.mark.slow),
        # As do those that these two are made of.
        lambda x: np.linalg.svdvals(np.outer(x, 1j * x[::-1] + 1) + np.diag(x)),
        lambda x: np.linalg.eigvalsh(np.outer(x, 1j * x) - 1j * np.outer(x, x) + np.diag(x)),
        lambda x: np.cross(x * (1 + 2j), x * (1 + 2j)),  # zero but for rounding
        lambda x: np.linalg.eigh(np.outer(x, 1j * x) - 1j * np.outer(x, x) + np.diag(x))[1],
    ],
)
def test_right_rules_are_not_blamed(f):
    assert culprit(f, X) is None
    assert blame(f, (X,)) is None


def test_whole_numbers_among_the_arguments_are_constants():
    wrong = tapegrad.custom_vjp(lambda x: x * x)
    wrong.defvjp(lambda x: (x * x, x), lambda x, g: (-2 * x * g,))
    found = blame(lambda x, at: np.sum(np.sin(wrong(x))[at]), (X, np.array([0, 2])))
    assert found is not None
    assert found.argument == "argument 0"


def _product():
    return tapegrad.primitive(lambda a, b: a * b)


def _general():
    f = _product()
    tapegrad.general(f, vjp=lambda g, _, _a, b: (g * b, None))
    return f


def _listed():
    f = _product()
    tapegrad.general(f, vjp=[lambda g, _, _a, b: g * b, None])
    return f


def _pushed():
    f = _product()
    tapegrad.general(f, jvp=lambda dots, _, _a, b: 0 * b if dots[0] is None else dots[0] * b)
    return f


def _transposed():
    f = tapegrad.primitive(lambda a, b: 2 * a + b)
    tapegrad.linear(f, lambda g, _, _a, _b: 2 * g, None)
    return f


def _backward():
    f = tapegrad.custom_vjp(lambda a, b: a * b)
    f.defvjp(lambda a, b: (a * b, b), lambda b, g: (g * b, None))
    return f


def _forward():
    f = tapegrad.custom_jvp(lambda a, b: a * b)
    f.defjvps(lambda dot, _, _a, b: dot * b, None)
    return f


def _ignoring():
    f = tapegrad.custom_jvp(lambda a, b: a * b)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * primals[1]))
    return f


@pytest.mark.part(4)
@pytest.mark.parametrize("x", [X, 0.5])
@pytest.mark.parametrize(
    "made", [_general, _listed, _pushed, _transposed, _backward, _forward, _ignoring]
)
def test_a_rule_that_leaves_out_an_argument_is_blamed(made, x):
    f = made()
    found = blame(lambda a, b: np.sum(np.sin(f(a, b))), (x, x + 1.0))
    assert found is not None
    assert (found.operation, found.argument, found.order) == ("<lambda>", "argument 1", 1)
    assert np.all(found.got == 0)
    with pytest.raises(tapegrad.testing.LawError, match="The derivative of <lambda> is wrong"):
        tapegrad.testing.check(lambda a, b: np.sum(f(a, b)), (x, x + 1.0), "gradient")


def test_an_only_argument_that_is_left_out_is_blamed():
    f = tapegrad.primitive(lambda a: a * a)
    tapegrad.general(f, vjp=lambda _g, _out, _a: (None,))
    found = blame(lambda a: np.sum(f(a) + a), (X,))
    assert found is not None
    assert found.operation == "<lambda>"
