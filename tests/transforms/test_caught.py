"""Errors of refused conversions that a program catches: an error, a warning, or nothing."""

from __future__ import annotations

import contextlib
import math
import operator
import pickle
import random
import re
import sys
import threading
import types
import warnings

import numpy as np
import pytest
from backends import BACKENDS

import tapegrad
import tapegrad.torch as torch
from tapegrad import (
    BatchingError,
    ConversionError,
    ConversionWarning,
    EagerWarning,
    NotDifferentiableError,
    checkpoint,
    checkpoint_sequence,
    compile,
    elementwise_grad,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from tapegrad._core.tape import attempting

X = np.array([0.5, 0.6])
CAUGHT = "the program caught an error of tapegrad's"


def scale(x):
    try:
        return math.exp(x)
    except TypeError:
        return 1.0


def scaled(x):
    return x * scale(x)


def bounded(x):
    try:
        return x * math.exp(x)
    except Exception:  # noqa: BLE001
        return 1e30 + 0 * x


def right(x):
    """Its own values, and derivatives, whatever is caught."""
    try:  # noqa: SIM105 - as programs write it
        x = float(x)
    except TypeError:
        pass
    return x**2


TRANSFORMS = {
    "grad": lambda f: grad(f)(0.5),
    "value_and_grad": lambda f: value_and_grad(f)(0.5)[1],
    "float32": lambda f: grad(f)(np.float32(0.5)),
    "argnames": lambda f: grad(lambda *, y: f(y), argnames="y")(y=0.5),
    "vjp": lambda f: vjp(f, 0.5)[1](1.0)[0],
    "jvp": lambda f: jvp(f, (0.5,), (1.0,))[1],
    "linearize": lambda f: linearize(f, 0.5)[1](1.0),
    "jacobian": lambda f: jacobian(f)(0.5),
    "jacrev": lambda f: jacrev(f)(0.5),
    "jacfwd": lambda f: jacfwd(f)(0.5),
    "elementwise_grad": lambda f: elementwise_grad(f)(0.5),
    "checkpoint": lambda f: grad(checkpoint(f))(0.5),
    "checkpoint in jvp": lambda f: jvp(checkpoint(f), (0.5,), (1.0,))[1],
    "checkpoint in vjp": lambda f: vjp(checkpoint(f), 0.5)[1](1.0)[0],
    "vmap of grad": lambda f: vmap(grad(f))(X)[0],
    "grad of vmap": lambda f: grad(lambda x: np.sum(vmap(f)(x)))(X)[0],
    **{
        f"compiled by {backend}": lambda f, backend=backend: compile(grad(f), backend=backend)(0.5)
        for backend in BACKENDS
    },
    "grad of compiled": lambda f: grad(compile(f, backend="numpy"))(0.5),
    "autograd": lambda f: tapegrad.autograd.grad(f)(0.5),
}
SECOND = {
    "hessian": lambda f: hessian(f)(0.5),
    "hvp": lambda f: hvp(f, (0.5,), (1.0,)),
    "grad of grad": lambda f: grad(grad(f))(0.5),
    "forward over reverse": lambda f: jvp(grad(f), (0.5,), (1.0,))[1],
}


def told(*ignored):
    """Warnings within, but for these."""
    caught = warnings.catch_warnings(record=True)
    seen = caught.__enter__()
    warnings.simplefilter("always")
    for category in ignored:
        warnings.simplefilter("ignore", category)
    return caught, seen


@pytest.mark.parametrize("f", [scaled, bounded])
@pytest.mark.parametrize("name", TRANSFORMS | SECOND)
@pytest.mark.filterwarnings("ignore::tapegrad._transforms.reverse.IndependentOutputWarning")
def test_another_value_is_the_error_that_was_caught(name, f):
    line = r"test_caught\.py:\d+: .*math\.exp\(x\)"
    with pytest.raises((ConversionError, BatchingError), match=line) as found:
        (TRANSFORMS | SECOND)[name](f)
    assert CAUGHT in str(found.value)


@pytest.mark.parametrize("name", TRANSFORMS | SECOND)
def test_the_same_value_is_one_warning(name):
    caught, seen = told(EagerWarning)
    try:
        found = (TRANSFORMS | SECOND)[name](right)
    finally:
        caught.__exit__(None, None, None)
    assert found == (1.0 if name in TRANSFORMS else 2.0)
    assert [each.category for each in seen] == [ConversionWarning]
    assert seen[0].filename == __file__
    assert re.search(r"test_caught\.py:\d+: .*float\(", str(seen[0].message))


def test_a_vmap_compares_each_example():
    with pytest.raises(BatchingError, match=r"returned 0\.5, where it returns 0\.824"):
        vmap(scaled)(X)

    def second(x):  # the first example is right
        return x * (scale(x - 0.5) if np.shape(x) == () else 1.0)

    with pytest.raises(BatchingError, match=r"returned 0\.6, where it returns 0\.66"):
        vmap(second)(X)
    with pytest.warns(ConversionWarning):
        np.testing.assert_array_equal(vmap(right)(X), X**2)

    def branching(x):
        try:
            return 2 * x if x > 0.55 else x
        except BatchingError:
            return 2 * x

    with pytest.raises(BatchingError, match=r"bool\(\) of a batched value"):
        vmap(branching)(X)
    with pytest.warns(ConversionWarning), pytest.raises(BatchingError, match="where it returns"):
        vmap(branching, chunk_size=1)(X[::-1])
    with pytest.raises(BatchingError, match=r"returned another float64\[3\] than on plain"):
        vmap(lambda x, y: y * scale(x), in_axes=(0, None), out_axes=-1)(X, np.ones(3))


def test_values_may_be_in_aux_and_in_containers():
    with pytest.raises(ConversionError, match=CAUGHT):
        grad(lambda x: (x * x, {"scale": scale(x)}), has_aux=True)(0.5)
    with pytest.raises(ConversionError, match=CAUGHT):
        vjp(lambda x: (x * x, scale(x)), 0.5)
    with pytest.raises(ConversionError, match=CAUGHT):
        grad(lambda x: (x * x, "big" if scale(x) > 1 else "small"), has_aux=True)(0.5)


def test_where_plain_values_raise_it_is_the_error():
    def logged(x):
        try:
            return x * math.log(x)
        except TypeError:
            return 0 * x

    with pytest.raises(ConversionError, match=r"went on, where it raises ValueError"):
        grad(logged)(-1.0)


# --- Catches that lose nothing ------------------------------------------------------------------


def indexed(x):
    try:
        return np.sum(x) * [1.0, 2.0][operator.index(x[0])]
    except TypeError:
        return np.sum(x)


def number(x):
    try:
        return float(x) ** 2
    except TypeError:
        return np.sum(x**2)


def asked(x):
    return np.sum(x) * (1.0 if hasattr(x, "__array_interface__") else 2.0)


@pytest.mark.parametrize("f", [indexed, number, asked])
def test_what_plain_values_refuse_as_well_is_no_refusal(f):
    runs = []
    grad(lambda x: runs.append(1) or f(x))(X)
    jvp(f, (X,), (X,))
    vmap(f)(np.array([X, X]))
    assert runs == [1]


def test_where_nothing_is_refused_the_function_runs_once():
    runs = []

    def f(x):
        runs.append(1)
        return np.sum(np.sin(x))

    grad(f)(X)
    vmap(f)(X)
    jvp(f, (X,), (X,))
    assert len(runs) == 3


LIBRARY = """
import math

def is_number(x):
    try:
        float(x)
    except (TypeError, ValueError):
        return False
    return True

def number_or_array(x):
    try:
        return float(x)
    except TypeError:
        return x

def growth(x):
    try:
        return math.exp(x)
    except Exception:
        return 1.0
"""


@pytest.fixture
def library():
    made = types.ModuleType("library")
    file = f"{sys.prefix}/lib/site-packages/library.py"
    exec(builtins_compile(LIBRARY, file, "exec"), vars(made))
    return made


builtins_compile = (
    __builtins__["compile"] if isinstance(__builtins__, dict) else __builtins__.compile
)


def test_a_library_that_loses_nothing_is_silent(library):
    for f in (
        lambda x: x**2 if library.number_or_array(x) is x else library.number_or_array(x) ** 2,
        lambda x: library.number_or_array(x) ** 2,
        lambda x: [library.is_number(x)] and x**2,
    ):
        for name, transform in TRANSFORMS.items():
            if "checkpoint" not in name and not name.startswith("compiled"):
                assert transform(f) == 1.0
        assert hessian(f)(0.5) == 2.0
        np.testing.assert_array_equal(vmap(f)(X), X**2)


def test_a_library_is_silent_only_if_it_is_right_nearby(library):
    with pytest.warns(ConversionWarning, match=r"site-packages.library\.py:\d+"):
        assert grad(lambda x: x + library.growth(x))(0.0) == 1.0  # right 2: exp(0) is 1, too
    with pytest.raises(ConversionError, match=CAUGHT):
        grad(lambda x: x + library.growth(x))(0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.array_equal([x, 1.0], [x, 1.0]),
        lambda x: np.isscalar(x),
        lambda x: np.iterable(x),
        lambda x: repr(x) + str([x]),
        lambda x: isinstance(x, (float, int, np.floating)),
        lambda x: (*np.shape(x), np.ndim(x)),
    ],
)
def test_numpy_asks_without_a_word(call):
    def f(x):
        call(x)
        return x * x

    assert grad(f)(0.5) == 1.0
    assert jvp(f, (0.5,), (1.0,))[1] == 1.0


# --- The function runs again --------------------------------------------------------------------


def test_random_numbers_are_drawn_again_alike():
    generator = np.random.default_rng(0)
    for draw in (
        lambda f: lambda x: f(x) * generator.normal(),
        lambda f: lambda x: f(x) * random.random(),
        lambda f: lambda x: f(x) * np.random.uniform(),  # noqa: NPY002
    ):
        with pytest.warns(ConversionWarning, match="is that on plain values"):
            grad(draw(right))(0.5)
        with pytest.raises(ConversionError, match=CAUGHT):
            grad(draw(scaled))(0.5)
    state = np.random.default_rng(1)
    twin = np.random.default_rng(1)
    with pytest.warns(ConversionWarning):
        grad(lambda x: right(x) * state.normal())(0.5)
    twin.normal()
    assert state.normal() == twin.normal()  # the runs again have left no trace


def test_a_state_that_changes_is_told():
    count = []

    def counted(x):
        count.append(1)
        return right(x) * len(count)

    with pytest.warns(ConversionWarning, match="differs from run to run"):
        grad(counted)(0.5)
    with pytest.warns(ConversionWarning, match="differs from run to run"):
        vmap(counted)(X)


def test_arguments_are_as_the_first_run_left_them():
    held = np.zeros(2)

    def writes(x, held):
        held += 1
        return right(x)

    with pytest.warns(ConversionWarning):
        assert grad(writes)(0.5, held) == 1.0
    np.testing.assert_array_equal(held, 1)

    def own(x):
        right(x[0])
        x *= 2
        return np.sum(x)

    given = X.copy()
    with pytest.warns(ConversionWarning):
        np.testing.assert_array_equal(grad(own)(given), [2, 2])
    np.testing.assert_array_equal(given, X)


def test_an_error_that_leaves_an_inner_transform_is_caught_outside():
    def program(x):
        try:
            return grad(lambda y: y * math.exp(y))(x)
        except TypeError:
            return x

    def other(x):
        try:
            return jvp(lambda y: y * math.exp(y), (x,), (1.0,))[1]
        except TypeError:
            return x * 0 + (2.0 if type(x) is np.float64 else 1.0)

    with pytest.warns(ConversionWarning):
        assert grad(program)(0.5) == 1.0
    with pytest.raises(ConversionError, match=CAUGHT):
        grad(other)(0.5)
    with pytest.raises(ConversionError, match=CAUGHT):
        vmap(other)(X)


def test_other_refusals_count_as_well():
    def counted(x):
        try:
            return x * np.busday_count(x, x)
        except TypeError:
            return x

    def keyed(x):
        try:
            return x * {0.5: 3.0}[x]
        except TypeError:
            return x

    def pickled(x):
        try:
            return x * len(pickle.dumps(x))
        except TypeError:
            return x

    for f in (counted, keyed, pickled):
        for run in (grad(f), lambda x, f=f: vmap(f)(np.array([x]))):
            with pytest.raises((ConversionError, NotDifferentiableError, BatchingError)) as found:
                run(0.5)
            assert CAUGHT in str(found.value)


def test_replays_are_compared_too():
    def steps(x):
        return checkpoint_sequence(lambda s: s * scale(s), x, 3)

    for run in (grad(steps), lambda x: jvp(steps, (x,), (1.0,)), lambda x: vjp(steps, x)[1](1.0)):
        with pytest.raises(ConversionError, match="in a replay"):
            run(0.5)


def test_compiled_functions_stay_eager():
    compiled = compile(grad(right), backend="numpy")
    caught, seen = told()
    try:
        for _ in range(4):
            assert compiled(0.5) == 1.0
    finally:
        caught.__exit__(None, None, None)
    kinds = [each.category for each in seen]
    assert kinds.count(ConversionWarning) == 4  # from its own runs
    (eager,) = [str(each.message) for each in seen if each.category is EagerWarning]
    assert "a conversion of a traced value was refused in it" in eager


def test_a_refusal_keeps_no_array():
    def f(x):
        for ask in (float, bool, int, np.asarray):
            with contextlib.suppress(BatchingError):
                ask(x)
        if type(x) is not np.float64:
            kept.extend(refusal.again for refusal in x.vmap_level.refused.values())
        return x

    kept = []
    with pytest.warns(ConversionWarning):
        vmap(f)(X)
    assert kept
    assert {type(part) for again in kept for part in again.args} == {str}


def test_threads_do_not_disturb_each_other():
    errors = []

    def run():
        try:
            grad(scaled)(0.5)
        except ConversionError:
            errors.append(1)

    workers = [threading.Thread(target=run) for _ in range(4)]
    for worker in workers:
        worker.start()
    assert grad(lambda x: x * np.exp(x))(0.0) == 1.0
    for worker in workers:
        worker.join()
    assert len(errors) == 4


def test_what_another_thread_asks_counts():
    def f(x):
        found = []
        worker = threading.Thread(target=lambda: found.append(scale(x)))
        worker.start()
        worker.join()
        return x * found[0]

    for run in (lambda: grad(f)(0.5), lambda: jvp(f, (0.5,), (1.0,)), lambda: vmap(f)(X)):
        with pytest.raises((ConversionError, BatchingError), match=CAUGHT):
            run()


def test_what_code_of_ours_tries_in_vain_is_no_loss():
    def f(x):
        try:
            with attempting():
                grad(lambda y: math.exp(y))(x)
        except ConversionError:
            runs.append(1)
        return x * x

    runs = []
    assert grad(f)(0.5) == 1.0
    assert vmap(f)(X)[0] == 0.25
    assert len(runs) == 2


def test_tensors_in_functional_transforms():
    def plain(t):
        try:
            return t * torch.tensor(np.exp(np.asarray(t)))
        except TypeError:
            return t

    def item(t):
        try:
            return t * math.exp(t)
        except TypeError:
            return t

    half = torch.tensor(0.5, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=CAUGHT):
        torch.func.grad(plain)(half)
    with pytest.raises(RuntimeError, match=CAUGHT):
        torch.func.vmap(item)(torch.tensor([0.5, 0.6], dtype=torch.float64))


def test_what_the_user_detached_is_silent():
    assert grad(lambda x: x * stop_gradient(x) + int(x))(0.5) == 0.5
