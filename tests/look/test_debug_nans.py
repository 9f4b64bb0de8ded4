"""`tapegrad.debug_nans` finds the first operation that makes a NaN or an infinity."""

import inspect
import threading

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from planting import BATCHED, planted

import tapegrad
from tapegrad import NonFiniteError
from tapegrad.testing import programs
from tapegrad.testing._programs.drawing import random_program

# Of plain runs: these are not watched, and infinities=False leaves infinities.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

TRANSFORMS = {
    "grad": lambda f, x: tapegrad.grad(f)(x),
    "vjp": lambda f, x: tapegrad.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: tapegrad.jvp(f, (x,), (1.0 + 0.1 * np.cos(x),)),
    "linearize": lambda f, x: tapegrad.linearize(f, x)[1](1.0 + 0.1 * np.cos(x)),
    "vmap": lambda f, x: tapegrad.vmap(tapegrad.grad(f))(np.stack([x, x + 1e-4])),
    "checkpoint": lambda f, x: tapegrad.grad(tapegrad.checkpoint(lambda x: f(x)))(x),
    "jacobian": lambda f, x: tapegrad.jacobian(f)(x),
}


def line_of(function, words):
    """The line of the file where a function has these words."""
    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if words in line)


def check(program, seed, kind, name):
    """Plant something in a program, and look for it through one of the transforms."""
    f, line = planted(program, seed, kind)
    with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
        TRANSFORMS[name](f, *f.args)
    error = caught.value
    assert (error.line, error.file) == (line, f.file), (name, f)
    assert error.backward == (kind == "backward" and name not in ("jvp", "linearize")), (name, f)


def options(name):
    """Of programs that a transform takes."""
    return {"operations": BATCHED} if name == "vmap" else {}


def drawn(count, name):
    """Programs of one argument that a transform takes."""
    return programs(count, inputs=1, **options(name))


@pytest.mark.part(3)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_is_planted_is_found_at_its_line(name):
    @draws(4, 60)
    @given(drawn(20, name), st.integers(0, 2**16), st.sampled_from(["forward", "backward"]))
    def found(program, seed, kind):
        check(program, seed, kind, name)

    found()


@pytest.mark.scheduled
@pytest.mark.parametrize("seed", range(200))
def test_what_is_planted_is_found_at_its_line_in_200_programs(seed):
    name = list(TRANSFORMS)[seed // 2 % len(TRANSFORMS)]
    program = random_program(seed, 4 + seed % 27, inputs=1, **options(name))
    check(program, seed, ("forward", "backward")[seed % 2], name)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_nothing_is_found_where_nothing_is_planted(name):
    @draws(3, 60)
    @given(drawn(20, name))
    def found_nothing(program):
        before = TRANSFORMS[name](program, *program.args)
        with tapegrad.debug_nans():
            after = TRANSFORMS[name](program, *program.args)
        assert repr(after) == repr(before)

    found_nothing()


@pytest.mark.parametrize("within", [np.linalg.pinv, np.linalg.eigvalsh])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_nan_is_found_before_a_later_call_refuses_it(name, within):
    """jacobian looks at the result's size first: its run, too, is of traced values."""

    def f(x):
        y = np.log(x - 4.0)
        return np.sum(within(y))

    with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
        TRANSFORMS[name](f, np.arange(9.0).reshape(3, 3))
    assert (caught.value.operation, caught.value.line) == ("np.log", line_of(f, "np.log"))


@pytest.mark.parametrize("has_aux", [False, True])
def test_a_jacobian_is_the_same_within_a_block(has_aux):
    def f(x, y):
        out = {"a": np.sin(x) * y, "b": [np.sum(x), np.float64(3.0)]}
        return (out, "aux") if has_aux else out

    def found():
        return tapegrad.jacobian(f, argnums=(0, 1), has_aux=has_aux)(np.arange(3.0), 2.0)

    before = found()
    with tapegrad.debug_nans():
        assert repr(found()) == repr(before)


def test_the_error_tells_range_and_element():
    def f(x):
        return np.sum(np.log(x - 1.0))

    with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
        tapegrad.grad(f)(np.array([3.0, 0.5, 1.0]))
    error = caught.value
    assert (error.operation, error.index, error.backward) == ("np.log", (1,), False)
    assert np.isnan(error.value)
    assert error.line == line_of(f, "np.log")
    assert "from -0.5 to 2, 1 zero, 1 negative, there -0.5" in str(error)
    assert "return np.sum(np.log(x - 1.0))" in str(error)
    assert isinstance(error, FloatingPointError)


def test_a_branch_that_is_not_taken_is_no_error():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    with tapegrad.debug_nans():
        gradient = tapegrad.grad(f)(np.array([4.0, 0.0]))
    assert np.array_equal(gradient, [0.25, 0.0])


def test_infinities_count_by_default():
    def f(x):
        return np.sum(np.exp(-np.where(x > 0, -np.log(x), np.inf)))

    x = np.array([0.0, 2.0])
    with tapegrad.debug_nans(infinities=False):
        tapegrad.grad(f)(x)
    with tapegrad.debug_nans(), pytest.raises(NonFiniteError, match=r"np\.log made an infinity"):
        tapegrad.grad(f)(x)


def test_second_order():
    def f(x):
        y = x * x
        return np.sum(y**1.5)

    with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
        tapegrad.hessian(lambda x: np.sum(np.sqrt(np.abs(x))))(np.array([1.0, 0.0]))
    assert caught.value.backward or "derivative" in str(caught.value)
    with tapegrad.debug_nans():
        tapegrad.hessian(f)(np.array([1.0, 2.0]))


def test_a_nan_that_comes_in_is_made_by_no_operation():
    missing = np.array([1.0, np.nan, 3.0])
    with tapegrad.debug_nans():
        tapegrad.grad(lambda x: np.nansum(x * np.array([1.0, np.nan, 2.0])))(np.ones(3))
        assert np.isnan(tapegrad.grad(lambda x: np.sum(np.sin(x)))(missing)[1])


def test_compiled_functions_are_searched_too():
    fast = tapegrad.compile(tapegrad.grad(lambda x: np.sum(np.log(x))))
    for _ in range(4):
        fast(np.ones(3))
    with tapegrad.debug_nans(), pytest.raises(NonFiniteError, match=r"np\.log"):
        fast(np.array([1.0, 0.0, 2.0]))


def test_a_pullback_from_before_the_block_has_no_line():
    _, pullback = tapegrad.vjp(lambda x: np.sum(np.sqrt(x)), np.array([0.0, 1.0]))
    with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
        pullback(1.0)
    assert (caught.value.operation, caught.value.line) == ("np.sqrt", 0)


def test_other_threads_are_searched():
    found = []

    def work():
        try:
            tapegrad.grad(lambda x: np.sum(np.log(x)))(np.zeros(2))
        except NonFiniteError as error:
            found.append(error.operation)

    with tapegrad.debug_nans():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == ["np.log"]


def _filled_by_elements(x):
    y = np.full_like(x, np.nan)
    for i in range(x.size):
        y[i] = 2.0 * x[i]
    return np.sum(y)


def _filled_where_finite(x):
    y = np.full_like(x, np.nan)
    np.log(x, out=y, where=x > 0)
    return np.nansum(y)


@tapegrad.custom_vjp
def _product(f, a, b, c):
    """The first argument is callable, as those of NumPy's protocols are."""
    return a * b + c


_product.defvjp(
    lambda f, a, b, c: (a * b + c, (a, b)), lambda kept, g: (None, g * kept[1], g * kept[0], g)
)


def _added_at(x):
    y = 1.0 * x
    np.add.at(y, [0, 0], x[:2])
    return np.sum(np.add.reduceat(y, [0, 1]))


@pytest.mark.parametrize(
    "f",
    [
        _filled_by_elements,
        _filled_where_finite,
        _added_at,
        lambda x: np.sum(_product(np.sin, x, x, x)),
        # derivatives of eigenvectors of a matrix with equal eigenvalues add rows at places
        lambda x: np.trace(np.linalg.eigh(np.eye(3) * x[1])[1]),
    ],
)
@pytest.mark.parametrize("transform", [tapegrad.grad, tapegrad.hessian])
def test_nothing_is_found_where_what_was_there_explains_it(transform, f):
    x = np.array([0.0, 1.0, 2.0])
    expected = transform(f)(x)
    with tapegrad.debug_nans():
        assert np.array_equal(transform(f)(x), expected)


def _divided_in_place(x):
    y = 2.0 * x
    y /= x  # bad
    return np.sum(y)


def _written_to_its_argument(x):
    y = 2.0 * x
    np.log(y, out=y)  # bad
    return np.sum(y)


def _divided_at(x):
    y = 1.0 + x
    np.divide.at(y, [0, 1], np.array([0.0, 1.0]))  # bad
    return np.sum(y)


@tapegrad.custom_vjp
def _with_containers(p):
    return {"out": np.log(p["a"])}


_with_containers.defvjp(lambda p: (_with_containers(p), None), lambda _, g: ({"a": g["out"]},))


def _in_a_dictionary(x):
    return np.sum(_with_containers({"a": x})["out"])  # bad


@pytest.mark.parametrize(
    "f", [_divided_in_place, _written_to_its_argument, _divided_at, _in_a_dictionary]
)
def test_what_is_written_in_place_or_held_by_a_container_is_found(f):
    x = np.array([0.0, 1.0, 2.0])
    for run in (tapegrad.grad(f), lambda x: tapegrad.vmap(f)(np.stack([x, x]))):
        with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
            run(x)
        assert caught.value.line == line_of(f, "# bad")
        assert not caught.value.backward


def _masked(x):
    y = np.zeros_like(x)
    positive = x > 0
    y[positive] = np.log(x[positive])
    y[y > 1.0] *= 2.0
    return np.sum(y)


def _masked_badly(x):
    y = 1.0 * x
    small = x < 1.5
    y[small] = np.log(x[small])  # bad
    return np.sum(y)


def test_elements_that_each_example_of_a_vmap_selects():
    x = np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 0.5]])
    expected = tapegrad.vmap(tapegrad.grad(_masked))(x)
    with tapegrad.debug_nans():
        assert np.array_equal(tapegrad.vmap(tapegrad.grad(_masked))(x), expected)
    with tapegrad.debug_nans(), pytest.raises(NonFiniteError, match=r"np\.log") as caught:
        tapegrad.vmap(_masked_badly)(x)
    assert caught.value.line == line_of(_masked_badly, "# bad")


def test_the_element_is_the_nan_where_infinities_were_given():
    def f(x):
        return np.sum(np.array([np.inf, np.inf, 1.0]) * x + np.array([1.0, -np.inf, 1.0]))

    expected = "made a NaN out of other numbers"
    with tapegrad.debug_nans(), pytest.raises(NonFiniteError, match=expected) as caught:
        tapegrad.grad(f)(np.ones(3))
    assert caught.value.index == (1,)


def nan_at(index):
    """A function of one argument, whose cotangent is NaN at an index."""

    @tapegrad.custom_vjp
    def same(x):
        return 1.0 * x

    def backward(_, g):
        g = g.copy()
        g[index] = np.nan
        return (g,)

    same.defvjp(lambda x: (x, None), backward)
    return same


LATER_STEPS = {
    "slice": lambda x: x[:1],
    "index": lambda x: x[[0, 1]],
    "mask": lambda x: x[np.array([True, True, False])],
    "element": lambda x: x[0] * np.ones(1),
    "itself": lambda x: x,
    "write": lambda x: np.copy(x)[::-1][-1:],
}


@pytest.mark.parametrize("step", LATER_STEPS)
def test_the_error_is_of_the_first_step_whatever_the_later_ones_write(step):
    """A replay adds to its buffers in place."""

    def f(x):
        later = nan_at(0)(LATER_STEPS[step](x))
        first = nan_at(2)(x)
        return np.sum(later) + np.sum(first) + np.sum(2 * x)

    with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
        tapegrad.grad(f)(np.ones(3))
    assert caught.value.index == (2,)
    assert caught.value.line == line_of(f, "first =")


def test_blocks_may_be_nested_and_end_in_any_order():
    overflow = tapegrad.grad(lambda x: np.sum(np.exp(x)))
    before = dict(vars(tapegrad.Array))
    nans, both = tapegrad.debug_nans(infinities=False), tapegrad.debug_nans()
    nans.__enter__()
    overflow(np.full(2, 1e3))
    both.__enter__()
    with pytest.raises(NonFiniteError):
        overflow(np.full(2, 1e3))
    nans.__exit__(None, None, None)  # as that of another thread may
    with pytest.raises(NonFiniteError):
        overflow(np.full(2, 1e3))
    both.__exit__(None, None, None)
    assert dict(vars(tapegrad.Array)) == before


def test_a_block_may_begin_while_another_thread_replays():
    """A replay that ends with a NaN has a second pass, which may be watched without the first."""
    ready, go, failed = threading.Event(), threading.Event(), []

    @tapegrad.custom_vjp
    def waiting(x):
        return 1.0 * x

    def wait(_, g):
        ready.set()
        go.wait(10)
        return (g * np.inf,)

    waiting.defvjp(lambda x: (1.0 * x, None), wait)

    def work():
        try:
            x = np.array([0.0, 1.0])
            with np.errstate(all="ignore"):
                tapegrad.grad(lambda x: np.sum(np.where(x > 0, waiting(x), 0.0)))(x)
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(10)
    with tapegrad.debug_nans():
        go.set()
        thread.join()
    assert not failed


def test_it_is_a_decorator_and_can_be_nested():
    @tapegrad.debug_nans()
    def gradient(x):
        return tapegrad.grad(lambda x: np.sum(np.log(x)))(x)

    for _ in range(2):
        with pytest.raises(NonFiniteError):
            gradient(np.zeros(2))
    # A decorated function may be called by another one, and by several threads at once.
    with tapegrad.debug_nans(), pytest.raises(NonFiniteError):
        gradient(np.zeros(2))
    assert np.all(gradient(np.ones(2)) == 1.0)


def test_all_is_as_before_afterwards():
    before = dict(vars(tapegrad.Array))
    with pytest.raises(NonFiniteError), tapegrad.debug_nans():
        tapegrad.grad(lambda x: np.sum(np.log(x)))(np.zeros(2))
    assert dict(vars(tapegrad.Array)) == before
    assert np.all(np.isinf(tapegrad.grad(lambda x: np.sum(np.log(x)))(np.zeros(2))))


class TestTensors:
    """The object layer."""

    def test_a_result(self):
        torch = pytest.importorskip("tapegrad.torch")
        a = torch.tensor([0.5, -1.0], requires_grad=True)

        def f():
            return torch.log(a * 2.0).sum()

        with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
            f()
        assert caught.value.line == line_of(f, "torch.log")
        assert not caught.value.backward

    @pytest.mark.filterwarnings("ignore:Error detected")
    def test_a_derivative(self):
        torch = pytest.importorskip("tapegrad.torch")
        a = torch.tensor([0.0, 1.0], requires_grad=True)

        def f():
            y = torch.sqrt(a)
            return y.sum()

        with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
            f().backward()
        assert caught.value.line == line_of(f, "torch.sqrt")
        assert caught.value.backward

    def test_nothing_is_logged(self):
        torch = pytest.importorskip("tapegrad.torch")
        a = torch.tensor([0.5, -1.0], requires_grad=True)
        with torch.no_grad(), pytest.raises(NonFiniteError), tapegrad.debug_nans():
            a.log()
        with pytest.raises(NonFiniteError), tapegrad.debug_nans(), torch.no_grad():
            a.log()

    def test_what_was_there_explains_it(self):
        torch = pytest.importorskip("tapegrad.torch")
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        with tapegrad.debug_nans():
            x = torch.full((2,), float("nan"))
            x += 1.0
            x[0] = 1.0
            x[1:] = 2.0
            (x * a).sum().backward(torch.tensor(float("nan")))

    @pytest.mark.filterwarnings("ignore::UserWarning")
    def test_a_second_derivative_has_the_forward_line(self):
        torch = pytest.importorskip("tapegrad.torch")
        a = torch.tensor([0.0, 1.0], requires_grad=True)

        def f():
            y = a**1.5
            (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
            return g.sum()

        with tapegrad.debug_nans(), pytest.raises(NonFiniteError) as caught:
            f().backward()
        assert (caught.value.line, caught.value.backward) == (line_of(f, "a**1.5"), True)

    def test_transforms_of_tensors(self):
        torch = pytest.importorskip("tapegrad.torch")
        with tapegrad.debug_nans(), pytest.raises(NonFiniteError):
            torch.func.grad(lambda a: a.log().sum())(torch.tensor([0.0, 1.0]))


def writes_in_place(x):
    y = x * 1.0
    y /= x
    return np.sum(y)


def fills(x):
    y = np.full_like(x, -np.inf)
    y[0] = x[0]
    y[1:] = x[1:]
    y += 1.0
    return np.sum(y[:1])


def divides_into(x):
    y = x * 1.0
    np.divide(1.0, x, out=y)
    return np.sum(y)


def narrows(x):
    y = np.zeros_like(x, dtype=np.float32)
    y[0] = x[0] * 1e300
    return np.sum(y)


@pytest.mark.parametrize(
    ("function", "operation"),
    [(writes_in_place, "np.divide"), (divides_into, "np.divide"), (narrows, "x[...] =")],
)
def test_what_is_written_in_place_is_compared_with_what_was_there(function, operation):
    with pytest.raises(tapegrad.NonFiniteError) as found, tapegrad.debug_nans():
        tapegrad.grad(function)(np.array([1.0, 0.0]))
    assert (found.value.operation, found.value.backward) == (operation, False)


def test_writes_beside_an_infinity_that_was_there_are_no_findings():
    with tapegrad.debug_nans():
        assert np.array_equal(tapegrad.grad(fills)(np.array([1.0, 2.0])), [1.0, 0.0])


def test_writes_into_tensors_are_compared_with_what_was_there():
    torch = pytest.importorskip("tapegrad.torch")
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    with tapegrad.debug_nans():
        y = torch.full((2,), -np.inf)
        y[0] = x[0]
        y[1:] = x[1:]
        y.mul_(2.0).sum().backward()
        with pytest.raises(NonFiniteError) as found:
            (x * 1.0).div_(x)
        assert (found.value.operation, found.value.index) == ("div_", (1,))
        y = x * 1.0
        with pytest.raises(NonFiniteError):
            y.div_(y)
