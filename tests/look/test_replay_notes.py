"""Errors raised within replays name the forward line."""

import dataclasses
import inspect

import numpy as np
import pytest

import tapegrad


@tapegrad.custom_vjp
def failing(x):
    return 2.0 * x


def _fail(_, g):
    raise ValueError("no derivative today")


failing.defvjp(lambda x: (2.0 * x, None), _fail)


def loss(x):
    y = np.sin(x)
    z = failing(y)
    return np.sum(z)


LINE = inspect.getsourcelines(loss)[1] + 2
X = np.array([0.3, 0.4])


@pytest.mark.parametrize(
    "call",
    [
        lambda: tapegrad.grad(loss)(X),
        lambda: tapegrad.value_and_grad(loss)(X),
        lambda: tapegrad.grad(lambda x: (loss(x), 2.0 * x), has_aux=True)(X),
        lambda: tapegrad.vjp(lambda x: (loss(x), 2.0 * x), X, has_aux=True)[1](1.0),
        lambda: tapegrad.vjp(loss, X)[1](1.0),
        lambda: tapegrad.jacobian(loss)(X),
        lambda: tapegrad.hessian(loss)(X),
        lambda: tapegrad.grad(tapegrad.checkpoint(loss))(X),
        lambda: tapegrad.vmap(tapegrad.grad(loss))(np.ones((3, 2))),
        lambda: tapegrad.grad(lambda x: np.sum(tapegrad.grad(loss)(x)))(X),
        lambda: tapegrad.grad(loss)(np.ones(100_000)),  # the replay uses up what it has read
    ],
)
def test_the_note_has_the_line_of_the_forward_call(call):
    with pytest.raises(ValueError, match="no derivative today") as caught:
        call()
    (note,) = caught.value.__notes__
    assert f'File "{__file__}", line {LINE}, in loss' in note
    assert "derivative of failing" in note
    assert "z = failing(y)" in note


def test_a_function_that_does_something_else_the_second_time_gets_no_line():
    calls = []

    def fickle(x):
        calls.append(1)
        return np.sum(failing(x) if len(calls) == 1 else np.cos(x))

    with pytest.raises(ValueError, match="no derivative today") as caught:
        tapegrad.grad(fickle)(X)
    assert "something else" in caught.value.__notes__[0]
    assert len(calls) == 2


def test_a_function_that_fails_the_second_time_gets_no_line():
    calls = []

    def fickle(x):
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("gone")
        return np.sum(failing(x))

    with pytest.raises(ValueError, match="no derivative today") as caught:
        tapegrad.grad(fickle)(X)
    assert "raised KeyError" in caught.value.__notes__[0]


def test_an_error_of_the_function_itself_gets_no_note():
    calls = []

    def wrong(x):
        calls.append(1)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        tapegrad.grad(wrong)(X)
    assert not getattr(caught.value, "__notes__", [])
    assert len(calls) == 1


def test_an_output_that_is_refused_does_not_run_the_function_again():
    calls = []

    def vector(x):
        calls.append(1)
        return x * 2.0

    with pytest.raises(tapegrad.OutputError):
        tapegrad.grad(vector)(X)
    assert len(calls) == 1


def test_a_pullback_that_failed_may_be_called_again():
    """An error that is raised before the next replay is none of the replay's."""
    runs = []

    def f(x):
        runs.append(x)
        return failing(x)

    _, pullback = tapegrad.vjp(f, X)
    with pytest.raises(ValueError, match="no derivative"):
        pullback(X)
    assert len(runs) == 2
    with pytest.raises(tapegrad.ShapeMismatchError) as caught:
        pullback(np.ones(7))
    assert len(runs) == 2
    assert not getattr(caught.value, "__notes__", [])


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):  # noqa: N818
    """An error that refuses attributes, so that it cannot be raised by `error.x = ...`."""

    number: int


class Speechless(Exception):  # noqa: N818
    """An error whose words fail."""

    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("error", [Frozen(3), Speechless()], ids=["frozen", "speechless"])
def test_the_error_stays_that_of_the_program(error):
    def fail(*_):
        raise error

    @tapegrad.custom_vjp
    def named(x):
        return 2.0 * x

    named.defvjp(lambda x: (2.0 * x, None), fail)
    for call in (
        lambda: tapegrad.grad(lambda x: np.sum(named(x)))(X),
        lambda: tapegrad.vjp(named, X)[1](X),
        lambda: tapegrad.grad(fail)(X),
        lambda: tapegrad.vmap(fail)(X),
        lambda: tapegrad.jvp(fail, (X,), (X,)),
    ):
        with pytest.raises(type(error)) as caught:
            call()
        assert caught.value is error
    (note,) = error.__notes__
    assert "Raised in the derivative of named" in note


def test_a_profile_and_a_search_leave_the_error_as_it_is():
    """Whoever watches replays is told of entries that have raised."""
    with pytest.raises(ValueError, match="no derivative"):
        tapegrad.profile(tapegrad.grad(loss))(X)
    with tapegrad.debug_nans(), pytest.raises(ValueError, match="no derivative"):
        tapegrad.profile(tapegrad.grad(loss))(X)
    with tapegrad.debug_nans():  # and the pass that has failed is not taken for a running one
        assert np.array_equal(tapegrad.grad(lambda x: np.sum(x * x))(X), 2 * X)
