"""Errors that leave a transform show the program's frames: all of them, and ours folded."""

from __future__ import annotations

import builtins
import contextlib
import os
import pdb
import subprocess
import sys
import threading
import traceback
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tapegrad
from tapegrad import (
    config,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from tapegrad._transforms import tracebacks

HERE = __file__
OURS = os.path.dirname(tapegrad.__file__) + os.sep
MARK = tracebacks.__file__, tracebacks.frames_of_tapegrad.__code__.co_firstlineno + 2
YIELDED = (
    "yield \"left out: tapegrad.config.tracebacks = 'full', or TAPEGRAD_TRACEBACKS=full, "
    'shows them"'
)
X = np.array([0.5, 1.5])


def frames(error):
    """The file, line and function of each frame of an error."""
    return [
        (frame.filename, frame.lineno, frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
    ]


def names(error):
    """The functions of the frames, with tapegrad's in brackets."""
    return [f"[{name}]" if file.startswith(OURS) else name for file, _, name in frames(error)]


def raised_by(call, *args):
    try:
        call(*args)
    except BaseException as error:  # noqa: BLE001
        return error
    return None


def inner(x):
    return x @ np.ones((4, 2))


def loss(x):
    return np.sum(inner(x))


CALLS = {
    "grad": lambda: grad(loss)(X),
    "value_and_grad": lambda: value_and_grad(loss)(X),
    "vjp": lambda: vjp(loss, X),
    "jvp": lambda: jvp(loss, (X,), (X,)),
    "linearize": lambda: linearize(loss, X),
    "vmap": lambda: vmap(loss)(np.ones((3, 2))),
    "checkpoint": lambda: tapegrad.checkpoint(loss)(X),
    "compile": lambda: tapegrad.compile(loss)(X),
    "compile of grad": lambda: tapegrad.compile(grad(loss))(X),
    "jacobian": lambda: jacobian(loss)(X),
    "hessian": lambda: hessian(loss)(X),
    "hvp": lambda: hvp(loss, (X,), (X,)),
    "vhp": lambda: tapegrad.vhp(loss, (X,), (X,)),
    "ggnvp": lambda: tapegrad.ggnvp(loss, (X,), (X,)),
    "elementwise_grad": lambda: tapegrad.elementwise_grad(loss)(X),
    "linear_transpose": lambda: tapegrad.linear_transpose(loss, X),
    "tape": lambda: tapegrad.tape(loss, X),
    "vmap of grad": lambda: vmap(grad(loss))(np.ones((3, 2))),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_programs_frames_and_one_line_of_ours(name):
    error = raised_by(CALLS[name])
    assert type(error) is ValueError
    assert names(error) == ["raised_by", "<lambda>", "[frames_of_tapegrad]", "loss", "inner"]
    assert not hasattr(error, "__notes__")
    with config(tracebacks="full"):
        full = raised_by(CALLS[name])
    ours = [frame[:2] for frame in frames(full) if frame[0].startswith(OURS)]
    assert ours
    assert MARK not in ours


def test_the_line_says_how_to_see_the_rest():
    text = "".join(traceback.format_exception(raised_by(CALLS["grad"])))
    (at,) = (i for i, line in enumerate(text.splitlines()) if "frames_of_tapegrad" in line)
    shown = text.splitlines()[at + 1]
    assert shown.strip() == YIELDED
    assert "^" not in text.splitlines()[at + 2]


def test_errors_of_our_own_end_at_the_programs_line():
    assert names(raised_by(grad(inner), np.ones(4))) == ["raised_by"]
    assert names(raised_by(lambda: vjp(np.sin, X)[1](np.ones(7)))) == ["raised_by", "<lambda>"]

    def converts(x):
        return float(x[0])

    error = raised_by(grad(converts), X)
    assert names(error) == ["raised_by", "[frames_of_tapegrad]", "converts"]


def test_the_innermost_frame_stays_where_no_line_of_the_program_is_inside(monkeypatch):
    import tapegrad.torch as torch

    error = raised_by(lambda: torch.ones(2, requires_grad=True).backward())
    assert names(error) == ["raised_by", "<lambda>", "[frames_of_tapegrad]", "[root_of]"]
    scope = {}
    text = "def replay(*_, **__):\n    raise KeyboardInterrupt"
    exec(builtins.compile(text, OURS + "_made.py", "exec"), scope)
    monkeypatch.setattr("tapegrad._transforms.recording.replay_backward", scope["replay"])
    error = raised_by(grad(np.sum), X)
    assert type(error) is KeyboardInterrupt
    assert names(error) == ["raised_by", "[frames_of_tapegrad]", "[replay]"]


def test_a_backward_pass_of_the_programs_own():
    @tapegrad.custom_vjp
    def f(x):
        return x * 2

    def backward(_, g):
        try:
            {}["first"]
        except KeyError as error:
            raise ValueError("second") from error

    f.defvjp(lambda x: (f(x), None), backward)
    error = raised_by(grad(lambda x: np.sum(f(x))), X)
    assert names(error) == ["raised_by", "[frames_of_tapegrad]", "backward"]
    assert names(error.__cause__) == ["backward"]


def test_numpys_own_frames_stay_innermost():
    error = raised_by(grad(lambda x: np.sum(np.linalg.inv(x))), np.zeros((2, 2)))
    assert names(error)[:3] == ["raised_by", "[frames_of_tapegrad]", "<lambda>"]
    assert names(error)[-1] == "_raise_linalgerror_singular"


def test_an_error_that_the_program_handles_is_whole():
    seen = []

    def handles(x):
        try:
            return loss(x)
        except ValueError as error:
            seen.append(error)
            return np.sum(x)

    np.testing.assert_array_equal(grad(handles)(X), np.ones(2))
    assert names(seen[0])[0] == "handles"


def test_an_inner_transform_leaves_it_to_the_outermost():
    def handles(x):
        error = raised_by(grad(loss), x)
        raise error

    error = raised_by(grad(handles), X)
    inside = ["handles", "raised_by", "loss", "inner"]
    assert names(error) == ["raised_by", "[frames_of_tapegrad]", *inside]


def test_groups():
    def several(x):
        errors = [raised_by(inner, x), raised_by(inner, x)]
        raise ExceptionGroup("several", errors)

    error = raised_by(grad(several), X)
    assert names(error) == ["raised_by", "[frames_of_tapegrad]", "several"]
    assert [names(part) for part in error.exceptions] == [["raised_by", "inner"]] * 2


def test_a_long_chain():
    def chained(x):
        error = None
        for i in range(5000):
            made = ValueError(i)
            made.__context__, error = error, made
        raise error

    error = raised_by(grad(chained), X)
    assert names(error) == ["raised_by", "[frames_of_tapegrad]", "chained"]


def test_warnings_as_errors_end_at_the_programs_line():
    def f(x):
        return np.sum(np.log(x * 0))

    for module in ({}, {"module": __name__}):
        with warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.filterwarnings("error", **module)
            error = raised_by(grad(f), X)
        assert names(error) == ["raised_by", "[frames_of_tapegrad]", "f"]


def test_a_debugger_steps_through_the_programs_frames():
    error = raised_by(CALLS["grad"])
    stack, at = pdb.Pdb().get_stack(None, error.__traceback__)
    assert [frame.f_code.co_name for frame, _ in stack] == [
        *("raised_by", "<lambda>", "frames_of_tapegrad", "loss", "inner")
    ]
    assert stack[at][0].f_locals["x"].shape == (2,)


def test_threads_have_blocks_of_their_own():
    found = {}

    def work(how):
        with config(tracebacks=how):
            found[how] = len(frames(raised_by(CALLS["grad"])))

    threads = [threading.Thread(target=work, args=[how]) for how in ("full", "folded")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["folded"] == 5 < found["full"]


def test_nothing_keeps_our_frames():
    trace, kept = raised_by(CALLS["grad"]).__traceback__, 0
    while trace is not None:
        kept += trace.tb_frame.f_code.co_filename.startswith(OURS)
        trace = trace.tb_next
    assert kept == 1


# --- The object layer, and others ----------------------------------------------------------------


def test_the_object_layer():
    import tapegrad.torch as torch

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if x.sum() > 5:
                raise ValueError("large")
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("no derivative")

    def product(x):
        return (x @ torch.ones(7)).sum()

    x = torch.ones(2, requires_grad=True)
    mark = "[frames_of_tapegrad]"
    for call, inside in (
        (lambda: Twice.apply(x * 9), ["forward"]),
        (lambda: Twice.apply(x).sum().backward(), ["backward"]),
        (lambda: torch.autograd.backward(Twice.apply(x).sum()), ["backward"]),
        (lambda: torch.autograd.grad(Twice.apply(x).sum(), x), ["backward"]),
        (lambda: torch.func.grad(product)(torch.ones(2)), ["product"]),
        (lambda: torch.func.vjp(product, torch.ones(2)), ["product"]),
        (lambda: torch.func.jvp(product, (torch.ones(2),), (torch.ones(2),)), ["product"]),
        (lambda: torch.func.jacrev(product)(torch.ones(2)), ["product"]),
        (lambda: torch.vmap(product)(torch.ones(3, 2)), ["product"]),
        (lambda: torch.autograd.functional.jacobian(product, torch.ones(2)), ["product"]),
    ):
        assert names(raised_by(call)) == ["raised_by", "<lambda>", mark, *inside]


def test_functions_that_call_transforms():
    pytest.importorskip("scipy")
    import tapegrad.autograd
    from tapegrad import implicit, optimize, sparse, testing

    mark = "[frames_of_tapegrad]"
    for call in (
        lambda: optimize.minimize(loss, X),
        lambda: optimize.root(inner, X),
        lambda: optimize.least_squares(inner, X),
        lambda: optimize.run(loss, X, optimize.sgd(0.1), steps=2),
        lambda: implicit.root(inner, X),
        lambda: sparse.jacobian(inner)(X),
        lambda: tapegrad.autograd.grad(loss)(X),
        lambda: testing.check_grads(loss, (X,)),
    ):
        found = names(raised_by(call))
        assert found[:3] == ["raised_by", "<lambda>", mark]
        assert found[-1] == "inner"
        assert "[" not in "".join(found[3:])
        assert set(found[3:]) <= {"loss", "inner"}


# --- A law ---------------------------------------------------------------------------------------


def of_scalar(make):
    """A layer: a function of an array, which is a scalar, of another such function."""

    def layer(f):
        def call(x):
            return np.sum(make(f, x))

        return call

    return layer


def called_with_context(f, x):
    with contextlib.nullcontext(), np.errstate(over="ignore"):
        return f(x)


def from_another(f, x):
    try:
        return f(x)
    except Exception as error:
        raise RuntimeError("from another") from error


def during_another(f, x):
    try:
        return f(x)
    except Exception:  # noqa: BLE001
        raise LookupError("during another")  # noqa: B904


def in_a_group(f, x):
    try:
        return f(x)
    except Exception as error:  # noqa: BLE001
        raise ExceptionGroup("several", [error, ValueError("another")]) from None


def custom(f, x):
    g = tapegrad.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, bar: (bar * np.ones_like(x),))
    return g(x)


def recursive(f, x):
    def again(n):
        return f(x) if n == 0 else again(n - 1)

    return again(3)


LAYERS = [
    of_scalar(make)
    for make in (
        lambda f, x: f(x),
        called_with_context,
        from_another,
        during_another,
        in_a_group,
        custom,
        recursive,
        lambda f, x: grad(f)(x),
        lambda f, x: value_and_grad(f)(x)[1],
        lambda f, x: vjp(f, x)[1](1.0)[0],
        lambda f, x: jvp(f, (x,), (x,))[1],
        lambda f, x: linearize(f, x)[1](x),
        lambda f, x: vmap(f)(np.stack([x, x])),
        lambda f, x: tapegrad.checkpoint(f)(x),
        lambda f, x: jacobian(f)(x),
        lambda f, x: hvp(f, (x,), (x,)),
        lambda f, x: tapegrad.compile(f)(x),
    )
]


def raises(x):
    raise KeyError("of the program")


def of_numpy(x):
    return x @ np.ones((5, 7))


def refused(x):
    return float(x.sum()) if isinstance(x, tapegrad.Array) else x @ np.ones((5, 7))


def in_a_rule(x):
    return np.sum(failing(x))


@tapegrad.custom_vjp
def failing(x):
    return x


def fails(_, g):
    raise ZeroDivisionError


failing.defvjp(lambda x: (x, None), fails)
LEAVES = [raises, of_numpy, refused, in_a_rule]


def chain(error):
    """An error, and all that it was raised from, during, and of which it is a group."""
    seen, waiting = [], [error]
    while waiting:
        one = waiting.pop()
        if one is None or any(one is other for other in seen):
            continue
        seen.append(one)
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return seen


def is_programs(file):
    return file == HERE


@given(st.lists(st.sampled_from(LAYERS), max_size=5), st.sampled_from(LEAVES))
def test_no_frame_of_the_program_is_lost(layers, leaf):
    f = leaf
    for layer in layers:
        f = layer(f)

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grad(f)(X)

    with config(tracebacks="full"):
        full = raised_by(run)
    assume(full is not None)  # not so where a custom derivative passes over the rule that fails
    folded = raised_by(run)
    for one, other in zip(chain(full), chain(folded), strict=True):
        assert type(one) is type(other)
        whole, shown = frames(one), frames(other)
        wanted = [frame for frame in whole if is_programs(frame[0])]
        assert [frame for frame in shown if is_programs(frame[0])] == wanted
        ours = [frame for frame in shown if frame[0].startswith(OURS)]
        assert [frame for frame in ours[:-1] if frame[:2] != MARK] == []
        assert len(ours) <= 2
        if not ours[1:] and ours and ours[0][:2] != MARK:
            assert shown[-1] == ours[0]


# --- As it is printed ----------------------------------------------------------------------------

PROGRAM = """
import numpy as np, tapegrad
def f(x):
    return x @ np.ones((4, 2))
def g(x):
    return np.sum(f(x))
tapegrad.grad(g)(np.ones(2))
"""


def printed(file, **environment):
    """Output of the program with the tapegrad that this process imports: the folder of a
    clone or what is installed."""
    file.write_text(PROGRAM.lstrip(), encoding="utf-8")
    environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(OURS))
    run = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stderr


@pytest.mark.slow
def test_what_a_program_prints(tmp_path):
    file = tmp_path / "program.py"
    lines = [line.strip() for line in printed(file).splitlines() if set(line.strip()) - set("~^")]
    assert lines[:-1] == [
        "Traceback (most recent call last):",
        f'File "{file}", line 6, in <module>',
        "tapegrad.grad(g)(np.ones(2))",
        f'File "{MARK[0]}", line {MARK[1]}, in frames_of_tapegrad',
        YIELDED,
        f'File "{file}", line 5, in g',
        "return np.sum(f(x))",
        f'File "{file}", line 3, in f',
        "return x @ np.ones((4, 2))",
    ]
    assert lines[-1].startswith("ValueError: matmul: ")
    full = printed(file, TAPEGRAD_TRACEBACKS="full")
    assert "in gradient" in full
    assert "frames_of_tapegrad" not in full


@pytest.mark.parametrize("grouped", [False, True])
def test_a_chain_may_be_longer_than_calls_may_be_deep(grouped):
    def f(x):
        error = ValueError(0)
        for i in range(2 * sys.getrecursionlimit()):
            inner = error
            error = ExceptionGroup("all", [inner]) if grouped else ValueError(i)
            error.__cause__ = None if grouped else inner
        raise error

    with pytest.raises(ExceptionGroup if grouped else ValueError) as caught:
        tapegrad.grad(f)(1.0)
    error = caught.value
    while error is not None:  # pytest's own report of it would be as long
        inner = error.exceptions[0] if isinstance(error, ExceptionGroup) else error.__cause__
        error.__cause__, error = None, inner
