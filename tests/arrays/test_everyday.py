"""Derivatives can do all that functions can: be a method, a pickle, a copy; run in threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import copy
import functools
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import tapegrad
from tapegrad import (
    checkpoint,
    checkpoint_sequence,
    custom_jvp,
    custom_vjp,
    elementwise_grad,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    primitive,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)

X = np.array([0.5, -1.25, 2.0])


def loss(x: np.ndarray, power: int = 2) -> float:
    """How wrong it is."""
    return np.sum(np.sin(x) ** power)


TRANSFORMS = {
    "grad": grad,
    "value_and_grad": value_and_grad,
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "jacobian": jacobian,
    "hessian": hessian,
    "elementwise_grad": elementwise_grad,
    "vmap": vmap,
    "checkpoint": checkpoint,
    "grad of checkpoint": lambda f: grad(checkpoint(f)),
    "vmap of hessian": lambda f: vmap(hessian(f)),
    "jacfwd of grad": lambda f: jacfwd(grad(f)),
}
each_transform = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)


def point_for(name):
    return np.stack([X, 2 * X]) if name.startswith("vmap") else X


def same(a, b):
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
        return
    np.testing.assert_array_equal(a, b)


# --- Names and signatures -----------------------------------------------------------------------


@each_transform
def test_name_docstring_and_signature_are_those_of_the_function(transform):
    made = transform(loss)
    assert made.__name__ == "loss"
    assert made.__qualname__ == "loss"
    assert made.__module__ == __name__
    assert made.__doc__ == "How wrong it is."
    assert inspect.signature(made) == inspect.signature(loss)
    assert inspect.unwrap(made) is loss
    assert callable(made)


@pytest.mark.parametrize("kind", [custom_vjp, custom_jvp, primitive])
def test_custom_functions_keep_name_docstring_and_signature(kind):
    made = kind(loss)
    assert made.__name__ == "loss"
    assert made.__doc__ == "How wrong it is."
    assert inspect.signature(made) == inspect.signature(loss)


def test_a_transform_names_itself_in_its_repr():
    assert repr(grad(loss)) == "<grad of loss>"
    assert repr(hessian(loss)) == "<jacfwd of loss>"
    assert repr(vmap(functools.partial(loss, power=3))).startswith("<vmap of functools.partial(")


@each_transform
def test_functions_without_a_name_of_their_own(transform):
    class Model:
        def __call__(self, x):
            return loss(x)

    x = X if transform is not vmap else X[:, None]
    if transform is TRANSFORMS["vmap of hessian"]:
        x = np.stack([X, X])
    for f in (functools.partial(loss, power=2), lambda x: loss(x), Model(), Model().__call__):
        same(transform(f)(x), transform(loss)(x))


# --- Methods ------------------------------------------------------------------------------------


class Quadratic:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def value(self, x):
        return self.scale * np.sum(x**2)

    @functools.partial(grad, argnums=1)
    def slope(self, x):
        """The gradient of the value."""
        return self.value(x)

    @checkpoint
    def kept(self, x):
        return self.value(x)

    @functools.partial(vmap, in_axes=(None, 0))
    def each(self, x):
        return self.value(x)

    @staticmethod
    @grad
    def alone(x):
        return np.sum(x**3)

    @classmethod
    @functools.partial(grad, argnums=1)
    def of_class(cls, x):
        return cls(2.0).value(x)


def test_transforms_decorate_methods():
    model = Quadratic(3.0)
    np.testing.assert_array_equal(model.slope(X), 6 * X)
    np.testing.assert_array_equal(Quadratic.slope(model, X), 6 * X)
    np.testing.assert_array_equal(grad(model.kept)(X), 6 * X)
    np.testing.assert_array_equal(model.each(np.ones((2, 3))), [9.0, 9.0])
    np.testing.assert_allclose(Quadratic.alone(X), 3 * X**2)
    np.testing.assert_array_equal(Quadratic.of_class(X), 4 * X)
    assert model.slope.__doc__ == "The gradient of the value."
    assert list(inspect.signature(model.slope).parameters) == ["x"]


def test_transforms_of_bound_methods():
    model = Quadratic(3.0)
    np.testing.assert_array_equal(grad(model.value)(X), 6 * X)
    again = pickle.loads(pickle.dumps(grad(model.value)))
    np.testing.assert_array_equal(again(X), 6 * X)


# --- Pickles and copies -------------------------------------------------------------------------


@grad
def decorated(x):
    return np.sum(x**2)


@checkpoint
def kept(x):
    return np.sum(x**2)


@custom_vjp
def clipped(x):
    return np.sum(x)


def clipped_forward(x):
    return np.sum(x), x


def clipped_backward(x, g):
    return (np.clip(g * x, -1, 1),)


clipped.defvjp(clipped_forward, clipped_backward)


def plain_sum(x):
    return np.sum(x)


undecorated = custom_vjp(plain_sum)
undecorated.defvjp(clipped_forward, clipped_backward)


@custom_jvp
def doubled(x):
    return np.sum(x)


@doubled.defjvp
def doubled_jvp(primals, tangents):
    return np.sum(primals[0]), 2 * np.sum(tangents[0])


@primitive
def squared(x):
    return x * x


tapegrad.elementwise(squared, lambda _, x: 2 * x)


@pytest.mark.part(4)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", TRANSFORMS)
def test_pickled_transforms(name, protocol):
    made = TRANSFORMS[name](loss)
    again = pickle.loads(pickle.dumps(made, protocol))
    same(again(point_for(name)), made(point_for(name)))
    assert again.__name__ == "loss"


@pytest.mark.parametrize("name", TRANSFORMS)
def test_copies(name):
    made = TRANSFORMS[name](loss)
    for again in (copy.copy(made), copy.deepcopy(made)):
        assert again is not made
        same(again(point_for(name)), made(point_for(name)))


def test_a_deep_copy_has_a_deep_copy_of_a_callable_object():
    model = Quadratic(3.0)
    made = copy.deepcopy(grad(model.value))
    model.scale = 1.0
    np.testing.assert_array_equal(made(X), 6 * X)
    np.testing.assert_array_equal(copy.copy(grad(model.value))(X), 2 * X)


def test_options_are_pickled():
    made = value_and_grad(with_aux, argnums=(1,), has_aux=True)
    again = pickle.loads(pickle.dumps(made))
    assert again(2.0, 3.0) == ((6.0, "aux"), (2.0,))
    again = pickle.loads(pickle.dumps(jacobian(np.multiply, 1, mode="forward", chunk_size=1)))
    np.testing.assert_array_equal(again(X, X), np.diag(X))
    again = pickle.loads(pickle.dumps(vmap(np.dot, in_axes=(0, None), out_axes=0)))
    np.testing.assert_array_equal(again(np.eye(3), X), X)


def with_aux(x, y):
    return x * y, "aux"


@pytest.mark.parametrize(
    "made", [decorated, kept, clipped, doubled, squared], ids=lambda made: made.__name__
)
def test_decorated_functions_are_pickled_by_name(made):
    assert pickle.loads(pickle.dumps(made)) is made
    assert copy.copy(made) is made
    assert copy.deepcopy(made) is made


def test_a_custom_function_under_another_name_is_pickled_whole():
    again = pickle.loads(pickle.dumps(undecorated))
    assert again is not undecorated
    np.testing.assert_array_equal(grad(again)(X), np.clip(X, -1, 1))
    np.testing.assert_array_equal(grad(copy.deepcopy(undecorated))(X), np.clip(X, -1, 1))


@pytest.mark.parametrize("made", [clipped, doubled, kept], ids=lambda made: made.__name__)
def test_transforms_of_decorated_functions_are_pickled(made):
    again = pickle.loads(pickle.dumps(grad(made)))
    np.testing.assert_array_equal(again(X), grad(made)(X))


def test_what_cannot_be_pickled_says_so():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(grad(lambda x: x))


@each_transform
def test_cloudpickled_lambdas(transform):
    cloudpickle = pytest.importorskip("cloudpickle")
    x = np.ones((2, 1, 3)) if transform is TRANSFORMS["vmap of hessian"] else X
    made = transform(lambda x: np.sum(x**2))
    same(pickle.loads(cloudpickle.dumps(made))(x), made(x))


@pytest.mark.slow
def test_a_cloudpickle_is_read_in_another_process():
    cloudpickle = pytest.importorskip("cloudpickle")
    scale = 3.0
    text = cloudpickle.dumps(grad(checkpoint(lambda x: scale * np.sum(x**2)))).hex()
    program = (
        "import pickle, numpy as np\n"
        f"f = pickle.loads(bytes.fromhex('{text}'))\n"
        "print(*f(np.array([1.0, 2.0])))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ["6.0", "12.0"]


# --- Threads ------------------------------------------------------------------------------------


def piece_of_work(seed: int) -> None:
    """Some of everything, with an answer that is known."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 40))
    x, v = generator.normal(size=(2, n))
    a = generator.normal(size=(n, n))

    def f(x):
        y = np.empty_like(x)
        y[...] = np.sin(x)
        y[0] *= 2.0
        return np.sum(y * (a @ y))

    symmetric = a + a.T
    weight = np.ones(n)
    weight[0] = 2.0

    def gradient(x):
        return weight * np.cos(x) * (symmetric @ (weight * np.sin(x)))

    expected = gradient(x)
    product = (
        weight * np.cos(x) * (symmetric @ (weight * np.cos(x) * v))
        - weight * np.sin(x) * (symmetric @ (weight * np.sin(x))) * v
    )
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(grad(checkpoint(f))(x), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(jvp(f, (x,), (v,))[1], expected @ v, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(hessian(f)(x) @ v, product, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        vmap(grad(f))(np.stack([x, v])), [expected, gradient(v)], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(linearize(f, x)[1](v), expected @ v, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_eight_threads_at_the_same_time():
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    barrier = threading.Barrier(8)

    def work(thread: int) -> None:
        barrier.wait()
        for i in range(25):
            piece_of_work(100 * thread + i)

    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(work, thread) for thread in range(8)]:
                done.result()
    finally:
        sys.setswitchinterval(switch)


@pytest.mark.slow
def test_threads_share_a_function_and_its_large_input():
    x = np.linspace(0.0, 1.0, 30_000)  # large enough to be locked while a transform runs
    f = value_and_grad(lambda x: np.sum(np.sin(x) * x))
    _, expected = f(x)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for _, found in pool.map(f, [x] * 64):
                np.testing.assert_array_equal(found, expected)
    finally:
        sys.setswitchinterval(switch)
    assert x.flags.writeable


def test_one_pullback_in_eight_threads():
    _, pullback = vjp(lambda x: np.sin(x) * x, X)
    _, pushforward = linearize(lambda x: np.sin(x) * x, X)
    slopes = np.cos(X) * X + np.sin(X)

    def pull(i: int) -> None:
        np.testing.assert_allclose(pullback(np.full(3, float(i)))[0], i * slopes)
        np.testing.assert_allclose(pushforward(np.full(3, float(i))), i * slopes)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(pull, range(200)))


def test_a_thread_started_inside_a_transform():
    """It has no part in the transform around it, unless it is handed the context."""

    def f(x):
        answers = []
        context = contextvars.copy_context()
        for run in (lambda g: g(), context.copy().run):
            thread = threading.Thread(
                target=lambda run=run: answers.append(run(lambda: grad(loss)(X)))
            )
            thread.start()
            thread.join()
        for answer in answers:
            np.testing.assert_array_equal(answer, grad(loss)(X))
        return np.sum(x * answers[0])

    np.testing.assert_array_equal(grad(f)(X), grad(loss)(X))


# --- asyncio ------------------------------------------------------------------------------------


def test_tasks_that_take_turns():
    async def work(i: int) -> None:
        x = X * (i + 1)
        out, pullback = vjp(lambda x: np.sin(x) * x, x)
        await asyncio.sleep(0)
        _, pushforward = linearize(lambda x: pullback(x)[0], x)
        await asyncio.sleep(0)
        slopes = np.cos(x) * x + np.sin(x)
        np.testing.assert_allclose(pushforward(X), slopes * X)
        await asyncio.sleep(0)
        np.testing.assert_allclose(grad(loss)(x), np.sin(2 * x))
        await asyncio.sleep(0)
        np.testing.assert_allclose(pullback(X)[0], slopes * X)

    async def all_of_them() -> None:
        await asyncio.gather(*(work(i) for i in range(20)))

    asyncio.run(all_of_them())


def test_a_loop_inside_a_transform():
    """Coroutines that wait for each other inside one run of a function."""

    def f(x):
        async def part(i):
            y = x[i] * x[i]
            await asyncio.sleep(0)
            z = np.sin(y) * grad(lambda t: t**3)(x[i])
            await asyncio.sleep(0)
            return z

        async def total():
            return sum(await asyncio.gather(*(part(i) for i in range(3))))

        return asyncio.run(total())

    expected = grad(lambda x: np.sum(np.sin(x * x) * 3 * x**2))(X)
    np.testing.assert_allclose(grad(f)(X), expected)
    np.testing.assert_allclose(jvp(f, (X,), (X,))[1], expected @ X)


def test_generators_that_take_turns_inside_a_transform():
    def f(x):
        def steps(y):
            for _ in range(3):
                y = np.sin(y)
                yield y

        a, b = steps(x), steps(2 * x)
        return sum(np.sum(p * q) for p, q in zip(a, b, strict=True))

    def straight(x):
        total, y, z = 0.0, x, 2 * x
        for _ in range(3):
            y, z = np.sin(y), np.sin(z)
            total = total + np.sum(y * z)
        return total

    np.testing.assert_allclose(grad(f)(X), grad(straight)(X))


# --- Processes ----------------------------------------------------------------------------------


def answers(x):
    return grad(loss)(x), hessian(loss)(x), vmap(grad(loss))(np.stack([x, x]))


METHODS = [
    m for m in ("fork", "spawn", "forkserver") if m in multiprocessing.get_all_start_methods()
]


# Python warns of forks beside threads, and so does JAX where another test has loaded it.
forking = pytest.mark.filterwarnings(
    "ignore:.*fork.*:DeprecationWarning", "ignore:.*fork.*:RuntimeWarning"
)


@pytest.mark.slow
@forking
@pytest.mark.parametrize("method", METHODS)
def test_transforms_in_other_processes(method):
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for made in (grad(loss), jacfwd(grad(loss)), checkpoint(loss), grad(clipped), decorated):
            same(pool.submit(made, X).result(), made(X))
        for found, expected in zip(pool.submit(answers, X).result(), answers(X), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@forking
def test_a_fork_inside_a_transform():
    """Both processes go on with the run that was open when they parted."""

    def f(x):
        y = np.sin(x)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                inner = grad(lambda t: np.sum(np.sin(t) ** 2))(X)
                os.write(writer, inner.tobytes())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            inner = np.frombuffer(pipe.read())
        os.waitpid(child, 0)
        return np.sum(y * inner)

    np.testing.assert_allclose(grad(f)(X), np.cos(X) * np.sin(2 * X))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@forking
def test_a_pullback_survives_a_fork():
    _, pullback = vjp(np.sin, X)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, pullback(X)[0].tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found = np.frombuffer(pipe.read())
    os.waitpid(child, 0)
    np.testing.assert_array_equal(found, pullback(X)[0])


# --- Everything takes any callable --------------------------------------------------------------


def test_transforms_that_run_at_once_take_any_callable():
    class Cube:
        def __call__(self, x):
            return x**3

        def method(self, x):
            return x**3

    for f in (Cube(), Cube().method, functools.partial(np.power, x2=3), lambda x: x**3):
        if isinstance(f, functools.partial):
            f = functools.partial(lambda x, power: x**power, power=3)
        np.testing.assert_allclose(jvp(f, (X,), (X,))[1], 3 * X**3)
        np.testing.assert_allclose(linearize(f, X)[1](X), 3 * X**3)
        np.testing.assert_allclose(vjp(f, X)[1](X)[0], 3 * X**3)
        np.testing.assert_allclose(
            grad(lambda x, f=f: np.sum(checkpoint_sequence(f, x, 1)))(X), 3 * X**2
        )
    np.testing.assert_array_equal(
        linear_transpose(functools.partial(np.multiply, 2.0), X)(X)[0], 2 * X
    )
    assert stop_gradient(3.0) == 3.0
