"""vmap: what each example picks, writes and fills of its own, and the errors that name the fix."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tolerances import assert_close

import tapegrad.numpy
from tapegrad import BatchingError, grad, hessian, jvp, vjp, vmap

X = np.random.default_rng(3).normal(size=(4, 3))
ROWS = np.random.default_rng(4).normal(size=(4, 3, 3))
I = np.array([2, 0, 1, 0])  # noqa: E741
J = np.array([1, 1, 2, 0])
TABLE = np.array([0.5, -1.0, 2.0, 3.0, 0.25])


def loop(f, *batches):
    return np.stack([f(*(np.copy(x) for x in xs)) for xs in zip(*batches, strict=True)])


def assert_maps(f, *batches):
    """The values of f, and its derivatives by the first argument in all compositions."""
    got, wanted = vmap(f)(*batches), loop(f, *batches)
    assert got.dtype == wanted.dtype
    assert_close(got, wanted)
    if batches[0].dtype.kind != "f" or wanted.dtype.kind != "f":
        return

    def total(x, *rest):
        return np.sum(np.sin(f(x, *rest)))

    slope = loop(grad(total), *batches)
    assert_close(vmap(grad(total))(*batches), slope)
    assert_close(grad(lambda x: np.sum(vmap(total)(x, *batches[1:])))(batches[0]), slope)
    curve = loop(hessian(total), *batches)
    assert_close(vmap(hessian(total))(*batches), curve)
    if len(batches) > 1:
        first, rest = batches[0][0], batches[1:]

        def of_all(x):
            return np.sum(vmap(lambda *own: total(np.array(x, like=own[0]), *own))(*rest))

        each = [hessian(total)(first, *xs) for xs in zip(*rest, strict=True)]
        assert_close(hessian(of_all)(first), np.sum(each, axis=0))

    def along(x, *rest):
        return jvp(lambda x: f(x, *rest), (x,), (np.cos(x),))[1]

    assert_close(vmap(along)(*batches), loop(along, *batches))
    _, tangent = jvp(lambda x: vmap(f)(x, *batches[1:]), (batches[0],), (np.cos(batches[0]),))
    assert_close(tangent, loop(along, *batches))


# --- Indices of each example's own ---------------------------------------------------------------


def added_at(x, i, j):
    y = x * 1
    np.add.at(y, [i, j, i], x)
    np.add.at(y, i, x[0])
    return y


def changed_at(ufunc, *operands):
    def f(x, i, j):
        y = x * 1
        ufunc.at(y, np.stack([i, j, i]), *operands)
        return y

    return f


def put(x, i, j):
    y = x * 1
    np.put(y, [i, j], x[:2])
    np.put(y, i + 3, 2 * y[1], mode="wrap")
    return y


def put_along_axis(x, i, j):
    y = x * 1
    np.put_along_axis(y, np.stack([i, j]), x[:2], 0)
    return y


def swapped(x, i, j):
    y = x * 1
    y[[i, j]] = y[[j, i]]
    return y


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "f",
    [
        lambda x, i, j: x[[i, j]],
        lambda x, i, j: x[[i, 0, j]] * x[[j, i, i]],
        swapped,
        added_at,
        changed_at(np.subtract, 2.0),
        changed_at(np.multiply, 3.0),
        changed_at(np.divide, 3.0),
        changed_at(np.maximum, 0.5),
        changed_at(np.negative),
        put,
        put_along_axis,
        lambda x, i, j: [y := x * 1, y.__setitem__(slice(2), x[None, 1:] * i), y][-1],
        lambda x, i, j: np.take(x, [i, j]),
        lambda x, i, j: np.take_along_axis(x, np.stack([i, j]), 0),
        lambda x, i, j: np.choose(i, list(x)) * np.choose(j, [x[0], 2.0, x[1]]),
        lambda x, i, j: np.bincount(np.stack([i, j, i]), x, 3),
        lambda x, i, j: np.roll(x, i) * np.roll(x, (i, j), (0, 0)),
        lambda x, i, j: np.delete(x, i) * np.delete(x, -1 - j),
    ],
)
def test_each_example_has_indices_of_its_own(f):
    assert_maps(f, X, I, J)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i, j: x[[i, j], [j, i]],
        lambda x, i, j: x[:, [i, j]],
        lambda x, i, j: [y := x * 1, np.add.at(y, (i, slice(None)), x[j]), y][-1],
        lambda x, i, j: [y := x * 1, np.add.at(y, ([i, i], [j, j]), x[j, :2]), y][-1],
        lambda x, i, j: np.roll(x, (i, j), (0, 1)),
        lambda x, i, j: np.delete(x, i, 1),
        lambda x, i, j: np.sum(x, 0, where=np.arange(3) > i),
        lambda x, i, j: np.max(x, 1, where=np.arange(3)[:, None] > j - 1, initial=-3.0),
    ],
)
def test_each_example_has_rows_of_its_own(f):
    assert_maps(f, ROWS, I, J)


BOXES = np.random.default_rng(5).normal(size=(4, 3, 2, 3, 2))
# Parts of an index, of axes of two elements and more; None and ... take no axis.
OWN = {"i": lambda i, j: i, "j": lambda i, j: j, "ij": lambda i, j: np.stack([i, j])}
SHARED = {":": slice(None), "::-1": slice(None, None, -1), "-1": -1, "[-1 0]": [-1, 0]}
AXISLESS = {"None": None, "...": Ellipsis}


def any_index(seed):
    """The parts of an index of an array of four axes, by name: one at least of each example's."""
    draw = np.random.default_rng(seed)
    names = list(draw.choice([*OWN, *SHARED, ":"], draw.integers(1, 5)))
    names[draw.integers(len(names))] = str(draw.choice([*OWN]))
    for name in AXISLESS:
        if draw.random() < 0.3:
            names.insert(draw.integers(len(names) + 1), name)
    return ", ".join(map(str, names))


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "text",
    dict.fromkeys([":, i, :, j", "i, :, j", ":, ij, :, ij", "ij, -1", *map(any_index, range(40))]),
)
def test_any_index_picks_and_writes_as_numpys(text):
    """Indices from the end too, and the axes of arrays that others separate."""
    i, j = np.array([-1, 0, 1, -2]), np.array([1, -1, -2, 0])

    def index(i, j):
        known = {name: part(i, j) for name, part in OWN.items()} | SHARED | AXISLESS
        return tuple(known[name] for name in text.split(", "))

    def picked(x, i, j):
        return x[index(i, j)]

    def written(x, i, j):
        y = x * 1
        y[index(i, j)] = y[index(i, j)] * 2 + 1
        return y

    for f in (picked, written):
        np.testing.assert_array_equal(vmap(f)(BOXES, i, j), loop(f, BOXES, i, j))
        slope = grad(lambda x, i, j, f=f: np.sum(f(x, i, j) ** 2))
        np.testing.assert_array_equal(vmap(slope)(BOXES, i, j), loop(slope, BOXES, i, j))


@pytest.mark.parametrize(
    "f",
    [
        lambda i, j: np.bincount(np.stack([i, j, i]), minlength=3),
        lambda i, j: np.bincount(np.stack([i, j, i]), TABLE[:3], 3),
        lambda i, j: np.choose(i, [10.0, 20.0, 30.0]),
        lambda i, j: np.stack([i, j]).choose([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        lambda i, j: np.take_along_axis(TABLE, np.stack([i, j]), 0),
        lambda i, j: np.asarray(TABLE, like=i)[i],
        lambda i, j: np.asarray(TABLE, like=i)[[i, j]],
        lambda i, j: np.asarray(ROWS[0], like=i)[i, j],
        lambda i, j: np.take(np.asarray(TABLE, like=i), [i, j]),
    ],
)
def test_indices_into_what_all_share(f):
    np.testing.assert_array_equal(vmap(f)(I, J), loop(f, I, J))


@pytest.mark.parametrize(
    "look_up",
    [
        lambda w, i: np.asarray(w, like=i)[i],
        lambda w, i: np.take(np.asarray(w, like=i), i),
        lambda w, i: w[i],
        lambda w, i: np.take(w, i),
        lambda w, i: np.array(w, like=i)[i],
    ],
)
def test_a_table_that_is_differentiated(look_up):
    def total(w):
        return np.sum(vmap(lambda i: look_up(w, i) ** 3)(I))

    def plainly(w):
        return np.sum(w[I] ** 3)

    assert_close(grad(total)(TABLE), grad(plainly)(TABLE))
    assert_close(hessian(total)(TABLE), hessian(plainly)(TABLE))
    assert_close(jvp(total, (TABLE,), (TABLE,))[1], jvp(plainly, (TABLE,), (TABLE,))[1])
    inside = vmap(lambda i: grad(lambda w: look_up(w, i) ** 3)(TABLE))(I)
    assert_close(inside, np.stack([grad(lambda w, i=i: w[i] ** 3)(TABLE) for i in I]))


# --- Conditions of each example's own ------------------------------------------------------------


def changed_later(x, c):
    y, now = x * 1, c.copy()
    picked = y[now]
    now[0] = ~now[0]
    y[c] = picked * 2
    return y


def scaled(x, c):
    y = x * 1
    y[c] *= 2
    return y


def logs(x, c):
    y = x * 1
    positive = y > 0
    y[positive] = np.log(y[positive]) * y[positive]
    y[~positive & c] = 0
    y[~positive] += 0.5
    return y


def of_another(x, c):
    y, z = x * 1, np.sin(x)
    y[c] = z[c] - 2 / y[c] ** 2
    return y


def earlier(x, c):
    y = x * 1
    picked = y[c]
    y[...] = 0.0
    y[c] = picked * 2
    return y


def set_to(value):
    def f(x, c):
        y = x * 1
        y[c] = value(x)
        return y

    return f


def filled(function, value):
    def f(x, c):
        y = x * 1
        function(y, c, value(x))
        return y

    return f


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "f",
    [
        scaled,
        logs,
        of_another,
        earlier,
        changed_later,
        set_to(lambda x: 0.0),
        set_to(np.sum),
        set_to(lambda x: x[:1]),
        lambda x, c: [y := x * 1, y.__setitem__((c, ...), 3.0), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__((c,), y[c,] / 2), y][-1],
        lambda x, c: [y := x * 1, y[1:].__setitem__(c[1:], x[0]), y][-1],
        lambda x, c: [y := x * 1, np.add.at(y, c, x[0]), y][-1],
        filled(np.putmask, lambda x: x[0]),
        filled(np.putmask, lambda x: np.exp(x)),
        filled(np.putmask, lambda x: x[:2]),
        filled(np.place, lambda x: [x[0], 5.0]),
        filled(lambda y, c, v: np.copyto(y, v, where=c), np.exp),
        lambda x, c: np.piecewise(x, [c], [np.exp, -2.0]),
        lambda x, c: np.piecewise(x, [x < 0, x > 0.5], [lambda z: np.log(-z), np.log, np.sin]),
        lambda x, c: np.sum(x, where=c) * np.max(x, where=c, initial=-1.0),
    ],
)
def test_each_example_has_a_condition_of_its_own(f):
    assert_maps(f, X, X**2 > 0.3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: [y := x * 1, y.__setitem__(c, np.arange(3.0)), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__(c, y[c] * x[0]), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__((c, 1), x[0, 0]), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__((1, c), y[1, c] ** 2), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__((slice(None), c), x[:, :1]), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__((..., c), y[..., c] * 3), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__((c, None), 4.0), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__(c[0], 4.0), y][-1],
        lambda x, c: [y := x * 1, y.__setitem__(x > 0, x[0, 0]), y][-1],
    ],
)
def test_a_condition_among_other_indices(f):
    assert_maps(f, ROWS, X**2 > 0.3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: np.sum(x[c]),
        lambda x, c: x[c].mean(),
        lambda x, c: len(x[c]),
        lambda x, c: x[c][0],
        lambda x, c: x[c],
        lambda x, c: list(x[c]),
        lambda x, c: x[c] + x,
        lambda x, c: x[c] * x[~c],
        lambda x, c: set_to(lambda x: x)(x, c),
        lambda x, c: set_to(lambda x: x[~c])(x, c),
        lambda x, c: [x, x.__setitem__(slice(2), x[c])][0],
        lambda x, c: [x, np.add(x, x[c], out=x)][0],
        lambda x, c: np.concatenate([x[c], x]),
        lambda x, c: np.asarray(x[c]),
        lambda x, c: np.piecewise(x, [c], [np.sum, np.exp]),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: grad(lambda x, c: np.sum(f(x, c)))])
def test_what_would_count_the_chosen_is_refused(f, transform):
    with pytest.raises(BatchingError, match=r"np\.where"):
        vmap(transform(f))(X, X > 0)


# --- One vmap in another -------------------------------------------------------------------------


def outer_into_inner(body):
    got = vmap(lambda x, i: vmap(lambda y: body(x, i, y))(X))(X[:2, 0], I[:2])
    wanted = [np.stack([body(x, i, y) for y in X]) for x, i in zip(X[:2, 0], I[:2], strict=True)]
    assert_close(got, np.stack(wanted))


@pytest.mark.parametrize(
    "body",
    [
        lambda x, i, y: [a := np.zeros_like(y), a.__setitem__(0, x), a][-1],
        lambda x, i, y: [a := np.copy(y), a := a.__iadd__(x), a][-1],
        lambda x, i, y: [a := np.copy(y), a.__setitem__(i, x), np.add.at(a, [i, i], y[0]), a][-1],
        lambda x, i, y: [a := np.copy(y), a.__setitem__([i, 1], x * y[:2]), a][-1],
        lambda x, i, y: [a := np.copy(y), np.multiply(a, x, out=a), np.put(a, i, 5.0), a][-1],
        lambda x, i, y: [a := np.copy(y), a.__setitem__(y > x, x), a][-1],
        lambda x, i, y: [a := y * 1, c := y > x, a.__setitem__(c, a[c] * x + 1), a][-1],
        lambda x, i, y: [
            a := np.copy(y) + np.zeros_like(x),
            v := a[1:],
            v.__iadd__(x),
            a.__setitem__(0, x),
            a,
        ][-1],
    ],
)
def test_values_of_an_outer_vmap_in_arrays_of_an_inner_one(body):
    outer_into_inner(body)


BOTH = np.array([[0, 1, 2, 0], [2, 2, 1, 0]]), np.random.default_rng(5).normal(size=(2, 4, 3))


def looped_twice(f):
    return np.stack([np.stack(list(map(f, X.copy(), *own))) for own in zip(*BOTH, strict=True)])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i, w: x[i] * w[[i, 0]],
        lambda x, i, w: np.asarray(TABLE, like=w)[i] * x,
        lambda x, i, w: [y := x * 1, y.__setitem__(i, 0.0), y][-1],
        lambda x, i, w: [y := np.copy(x) * 1, y.__setitem__(i, w[0]), y.__iadd__(w), y][-1],
        lambda x, i, w: [y := x * 1, np.add.at(y, [i, i], w[:2]), y][-1],
        lambda x, i, w: [y := x * 1, np.multiply.at(y, [i, 0], w[:2]), y][-1],
        lambda x, i, w: [y := x * 1, np.put(y, [i, 0], w[:2]), y][-1],
        lambda x, i, w: [y := np.zeros(3, like=x), y.__setitem__(i, x[0]), y][-1],
        lambda x, i, w: [y := x * 1, c := w > 0, y.__setitem__(c, y[c] * w[0] + w[c]), y][-1],
        lambda x, i, w: [y := x * 1, np.putmask(y, w > 0, w[:2]), y][-1],
        lambda x, i, w: [y := x * 1, np.place(y, w > 0, w[:2]), y][-1],
        lambda x, i, w: np.bincount(np.stack([i, i, i * 0]), x * w, 3),
        lambda x, i, w: np.roll(x, i)[:2] * np.delete(w, i) * np.take(x, [i, 0]),
        lambda x, i, w: np.choose(i, [x, w * x, x**2]),
        lambda x, i, w: np.piecewise(x, [w > 0], [np.sin, np.cos]),
        lambda x, i, w: np.interp(x, np.arange(3.0), w) * np.max(x, where=w > 0, initial=0.0),
    ],
)
def test_two_vmaps_that_map_different_arguments(f):
    """x is mapped by the inner vmap alone, what stands beside it by both."""
    assert_close(vmap(lambda i, w: vmap(f)(X, i, w))(*BOTH), looped_twice(f))
    for transform in (
        lambda f: grad(lambda *xs: np.sum(np.sin(f(*xs)))),
        lambda f: hessian(lambda *xs: np.sum(np.sin(f(*xs)))),
        lambda f: lambda x, *rest: jvp(lambda x: f(x, *rest), (x,), (x,))[1],
    ):
        g = transform(f)
        assert_close(vmap(lambda i, w, g=g: vmap(g)(X, i, w))(*BOTH), looped_twice(g))


@pytest.mark.parametrize(
    "write",
    [
        lambda a, y, i: a.__setitem__(0, y[0]),
        lambda a, y, i: a.__iadd__(y),
        lambda a, y, i: a.__setitem__(i, 1.0),
        lambda a, y, i: np.add.at(a, 0, y[0]),
        lambda a, y, i: np.add.at(a, i, 1.0),
        lambda a, y, i: np.copyto(a, y),
        lambda a, y, i: a.__setitem__(y > 0, 1.0),
    ],
)
def test_values_of_an_inner_vmap_do_not_fit_arrays_of_an_outer_one(write):
    def refused(x):
        a = np.zeros_like(x, shape=3)
        return vmap(lambda y, i: [write(a, y, i), a * 1][-1])(X, I)

    def advised(x):
        def body(y, i):
            a = np.zeros(3) + x + np.zeros_like(y, shape=3)
            write(a, y, i)
            return a

        return vmap(body)(X, I)

    with pytest.raises(BatchingError, match=r"np\.zeros_like\(v"):
        vmap(refused)(X[:2, 0])
    wanted = []
    for x in X[:2, 0]:
        buffers = [np.zeros(3) + x for _ in X]
        for a, y, i in zip(buffers, X, I, strict=True):
            write(a, y, i)
        wanted.append(np.stack(buffers))
    assert_close(vmap(advised)(X[:2, 0]), np.stack(wanted))


def test_a_view_is_found_before_an_outer_value_is_written_through_it():
    def body(x, y):
        a = np.copy(y)
        v = a[1:]
        v += x
        return a

    with pytest.raises(BatchingError, match=r"np\.zeros_like"):
        vmap(lambda x: vmap(lambda y: body(x, y))(X))(X[:2, 0])


def test_a_view_written_to_keeps_its_layout_inside_a_gradient():
    def f(x):
        turned = x.T
        turned *= 2.0
        flat = np.ravel(x)
        x *= np.sum(x)
        return np.sum(np.sin(x) * x) + np.sum(flat**2)

    assert_close(vmap(grad(f))(ROWS), np.stack([grad(f)(x) for x in ROWS]))


# --- No examples ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::tapegrad.IndependentOutputWarning")  # of the counts
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.interp(x, [0.0, 1.0], [1.0, 2.0]),
        lambda x: np.digitize(x, [0.0, 1.0]),
        lambda x: np.histogram(x, bins=4, range=(0, 1))[0],
        lambda x: np.histogram(x)[1],
        lambda x: np.histogram2d(x, x)[0],
        lambda x: np.searchsorted(np.sort(x), 2.0),
        lambda x: np.isin(x, [1.0]),
        lambda x: np.polyfit(np.arange(3.0), x, 1),
        lambda x: np.linalg.lstsq(np.ones((3, 1)), x)[0],
        lambda x: np.convolve(x, x),
        lambda x: np.polymul(x, x),
        lambda x: np.tensordot(x, x, 1),
        lambda x: np.inner(x[:, None], x[:, None]),
        lambda x: np.median(x[:, None], axis=(0, 1)),
        lambda x: np.quantile(x, np.abs(x) * 0),
        lambda x: np.linalg.inv(x[:, None] * x + np.eye(3)),
    ],
)
def test_no_examples_have_the_shapes_of_some(f):
    one = np.asarray(f(np.ones(3)))
    none = vmap(f)(np.ones((0, 3)))
    assert none.shape == (0, *one.shape)
    assert none.dtype == one.dtype
    if one.dtype.kind == "f":
        assert vmap(grad(lambda x: np.sum(f(x))))(np.ones((0, 3))).shape == (0, 3)
        assert grad(lambda x: np.sum(vmap(f)(x)))(np.ones((0, 3))).shape == (0, 3)


# --- Errors, and whether what they advise works -------------------------------------------------

PLAIN = np.arange(3.0)


@pytest.mark.parametrize(
    ("wrong", "says", "right", "loops"),
    [
        (
            lambda x, i: TABLE[i],
            "np.take",
            lambda x, i: tapegrad.numpy.take(TABLE, i, axis=0),
            lambda x, i: TABLE[i],
        ),
        (
            lambda x, i: np.take(TABLE, i),
            "np.take",
            lambda x, i: tapegrad.numpy.take(TABLE, i, axis=0),
            lambda x, i: np.take(TABLE, i),
        ),
        (
            lambda x, i: PLAIN.copy()[x > 0].sum(),
            r"where=x",
            lambda x, i: np.sum(PLAIN, where=x > 0),
            lambda x, i: PLAIN[x > 0].sum(),
        ),
        (
            lambda x, i: PLAIN.copy().__setitem__(0, x[0]),
            "np.zeros_like",
            lambda x, i: [
                p := PLAIN + np.zeros_like(x, shape=PLAIN.shape),
                p.__setitem__(0, x[0]),
                p,
            ][-1],
            lambda x, i: [p := PLAIN.copy(), p.__setitem__(0, x[0]), p][-1],
        ),
        (
            lambda x, i: PLAIN.copy().__setitem__(slice(None), x),
            "np.zeros_like",
            lambda x, i: [p := np.zeros_like(x, shape=3), p.__setitem__(slice(None), x), p][-1],
            lambda x, i: x,
        ),
        (
            lambda x, i: PLAIN.copy().__setitem__(i, 1.0),
            "np.zeros_like",
            lambda x, i: [
                p := PLAIN + np.zeros_like(i, shape=PLAIN.shape),
                p.__setitem__(i, 1.0),
                p,
            ][-1],
            lambda x, i: [p := PLAIN.copy(), p.__setitem__(i, 1.0), p][-1],
        ),
        (
            lambda x, i: PLAIN.copy().__iadd__(x),
            r"x = x \+ y",
            lambda x, i: PLAIN + x,
            lambda x, i: PLAIN + x,
        ),
        (
            lambda x, i: np.add(x, 1, out=PLAIN.copy()),
            "np.zeros_like",
            lambda x, i: np.add(x, 1, out=PLAIN + np.zeros_like(x, shape=PLAIN.shape)),
            lambda x, i: x + 1,
        ),
        (
            lambda x, i: np.sum(PLAIN[:, None] * x, 0, initial=i),
            r"np.sum\(x\) \+ v",
            lambda x, i: np.sum(PLAIN[:, None] * x, 0) + i,
            lambda x, i: np.sum(PLAIN[:, None] * x, 0, initial=i),
        ),
        (
            lambda x, i: np.add.reduce(x, initial=x[0]),
            r"np.sum\(x\) \+ v",
            lambda x, i: np.sum(x) + x[0],
            lambda x, i: np.sum(x, initial=x[0]),
        ),
        (
            lambda x, i: np.max(x, initial=i),
            "np.maximum",
            lambda x, i: np.maximum(np.max(x), i),
            lambda x, i: np.max(x, initial=i),
        ),
        (
            lambda x, i: np.sum(np.ones(i)),
            "the same for all",
            lambda x, i: np.sum(np.where(np.arange(3) < i, np.ones(3), 0)),
            lambda x, i: np.sum(np.ones(i)),
        ),
        (
            lambda x, i: np.zeros((i, 2)),
            "the same for all",
            lambda x, i: x,
            lambda x, i: x,
        ),
        (
            lambda x, i: x[i : i + 2],
            r"x \+ np.arange\(n\)",
            lambda x, i: np.tile(x, 2)[i + np.arange(2)],
            lambda x, i: np.tile(x, 2)[i : i + 2],
        ),
        (lambda x, i: np.where(x > 0)[0], r"np\.where", lambda x, i: x, lambda x, i: x),
        (lambda x, i: np.arange(i, like=i), "the same for all", lambda x, i: x, lambda x, i: x),
        (lambda x, i: x[:2].reshape(i, 1), "the same for all", lambda x, i: x, lambda x, i: x),
        (
            lambda x, i: np.full(3, x[0]),
            "np.full_like",
            lambda x, i: np.full_like(x[0], x[0], shape=3),
            lambda x, i: np.full(3, x[0]),
        ),
        (
            lambda x, i: np.repeat(x, i),
            "np.take",
            lambda x, i: np.take(x, np.stack([i, i]), axis=0),
            lambda x, i: np.repeat(x[i], 2),
        ),
        (
            lambda x, i: np.insert(x, i, 7.0),
            "np.where",
            lambda x, i: np.where(
                np.arange(4) == i,
                7.0,
                x[np.clip(np.arange(4) - (np.arange(4) > i), 0, 2)],
            ),
            lambda x, i: np.insert(x, i, 7.0),
        ),
        (lambda x, i: np.delete(x, np.stack([i, i])), "np.where", lambda x, i: x, lambda x, i: x),
    ],
)
def test_an_error_names_what_works(wrong, says, right, loops):
    with pytest.raises(BatchingError, match=says):
        vmap(wrong)(X, I)
    assert_close(vmap(right)(X, I), loop(loops, X, I))


# --- Arrays without axes ------------------------------------------------------------------------

MAKE = {
    "np.copy": lambda np, x: np.copy(x),
    "np.zeros_like": lambda np, x: np.zeros_like(x),
    "np.full_like": lambda np, x: np.full_like(x, 2.0),
    "np.array": lambda np, x: np.array(x),
    "np.asarray": lambda np, x: np.asarray(x),
    "np.copy of a copy": lambda np, x: np.copy(x).copy(),
    "x * 1": lambda np, x: np.array(x * 1.0),
}


def all_of_it(np, y, x):
    y[()] = 3 * x
    return y


def by_ellipsis(np, y, x):
    y[...] = 3 * x
    return y


def by_another_name(np, y, x):
    other = y
    y += x
    return other


def through_reshape(np, y, x):
    row = y.reshape((1,))
    row[0] = 3 * x
    return y


def through_a_view(np, y, x):
    view = y[...]
    view += x * x
    return y


def through_ravel(np, y, x):
    row = np.ravel(y)
    row *= x
    return y


def of_a_copy(np, y, x):
    row = np.copy(y).reshape(1)
    row += x
    return y + row[0]


WRITE = (all_of_it, by_ellipsis, by_another_name, through_reshape, through_a_view, through_ravel)


@pytest.mark.parametrize("write", [*WRITE, of_a_copy])
@pytest.mark.parametrize("make", MAKE)
def test_arrays_without_axes_are_written_to_as_numpys_are(make, write):
    """np.copy(2.0) is an array of one number: other names and views of it see what is written."""
    namespace = tapegrad.numpy

    def f(x):
        return np.sum(write(namespace, MAKE[make](namespace, x), x)) * x

    points = np.array([2.0, -0.5])
    expected = np.array([f(point) for point in points])
    slopes = np.array([(f(p + 1e-6) - f(p - 1e-6)) / 2e-6 for p in points])
    np.testing.assert_allclose([vjp(f, p)[0] for p in points], expected)
    np.testing.assert_allclose(vmap(f)(points), expected)
    np.testing.assert_allclose([grad(f)(p) for p in points], slopes, rtol=1e-6)
    np.testing.assert_allclose(vmap(grad(f))(points), slopes, rtol=1e-6)
    np.testing.assert_allclose(grad(lambda p: np.sum(vmap(f)(p)))(points), slopes, rtol=1e-6)
    np.testing.assert_allclose(jvp(vmap(f), (points,), (np.ones(2),))[1], slopes, rtol=1e-6)
    np.testing.assert_allclose(vmap(vmap(f))(points[:, None] + np.zeros(3))[:, 1], expected)


NUMBERS = {
    "x.copy()": lambda x: x.copy(),
    'x.copy("K")': lambda x: x.copy("K"),
    'x.copy(order="F")': lambda x: x.copy(order="F"),
    "copy.copy(x)": copy.copy,
    "copy.deepcopy(x)": copy.deepcopy,
    "x[...]": lambda x: x[...],
    "x[...][()]": lambda x: x[...][()],
    "x[..., None][0]": lambda x: x[..., None][0],
    "x[...].copy()": lambda x: x[...].copy(),
    "np.copy(x)": np.copy,
}


def by_a_name(y, x):
    z = y
    y += x
    return z


def by_a_view(y, x):
    z = y[...]
    z.T[...] = 2 * x
    return y * z


def by_a_row(y, x):
    row = y.reshape(-1)
    row[0] = 2 * x
    return y * row[0]


@pytest.mark.parametrize("write", [by_a_name, by_a_view, by_a_row])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_made_of_a_number_is_a_number_or_an_array_as_numpy_says(name, write):
    """The copy of a number is a number, which never changes; x[...] is an array of its own."""

    def f(x):
        s = x * 1.5
        return write(NUMBERS[name](s), x) * s

    points = np.array([2.0, -0.5])
    expected = np.array([f(point) for point in points])
    slopes = np.array([(f(p + 1e-6) - f(p - 1e-6)) / 2e-6 for p in points])
    np.testing.assert_allclose([vjp(f, p)[0] for p in points], expected)
    np.testing.assert_allclose([jvp(f, (p,), (1.0,))[0] for p in points], expected)
    np.testing.assert_allclose(vmap(f)(points), expected)
    np.testing.assert_allclose([grad(f)(p) for p in points], slopes, rtol=1e-6)
    np.testing.assert_allclose(vmap(grad(f))(points), slopes, rtol=1e-6)
    np.testing.assert_allclose(grad(lambda p: np.sum(vmap(f)(p)))(points), slopes, rtol=1e-6)


def test_a_sum_without_axes_is_kept_in_nested_vmaps():
    def f(x, y):
        total = np.zeros((), like=y)
        for i in range(3):
            total += x[i] * y
        return total

    x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0])
    found = vmap(vmap(f, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    np.testing.assert_allclose(found, x.sum(1)[:, None] * y)


def tripled(v):
    """The value of a name after an in-place product: NumPy changes arrays, not numbers."""
    other = v
    other *= 3.0
    return v


def after(v, change):
    change(v)
    return v


KINDS = {
    "v @ v": lambda x: tripled(np.stack([x, x]) @ np.stack([x, x])),
    "plain @ v": lambda x: tripled(np.ones(2) @ np.stack([x, x])),
    "np.vdot": lambda x: tripled(np.vdot(np.copy(x), np.copy(x))),
    "np.flip": lambda x: tripled(np.flip(np.copy(x))),
    "np.nan_to_num": lambda x: tripled(np.nan_to_num(np.copy(x))),
    "np.full_like of x": lambda x: tripled(np.full_like(x, x)),
    "np.where": lambda x: tripled(np.where(x > 0, x, 0.0)),
    "np.sum": lambda x: tripled(np.sum(np.stack([x, x]))),
    "an element": lambda x: tripled(np.stack([x, x])[0]),
    "x": lambda x: tripled(x),
    "astype": lambda x: tripled(np.copy(x).astype(float)),
    "through real": lambda x: after(np.copy(x), lambda v: tripled(v.real)),
    "through np.squeeze": lambda x: after(np.copy(x), lambda v: tripled(np.squeeze(v))),
    "through squeeze": lambda x: after(np.copy(x), lambda v: tripled(v.squeeze())),
    "through T": lambda x: after(np.copy(x), lambda v: tripled(v.T)),
    "through astype": lambda x: after(np.copy(x), lambda v: tripled(v.astype(float, copy=False))),
    "a row, then all": lambda x: tripled(after(np.copy(x), lambda v: v.reshape(1).fill(2.0))) * x,
    "part of a row": lambda x: np.sum(after(np.stack([x, x]), lambda v: tripled(v[0, ...]))),
    "np.multiply(out=)": lambda x: after(np.ones_like(x), lambda v: np.multiply(2, 3, out=v)) * x,
    "np.sin(out=)": lambda x: np.sum(
        after(np.stack([x, x]), lambda v: np.sin(np.arange(2.0), out=v)) * x
    ),
    "np.matmul(out=)": lambda x: np.sum(
        after(np.stack([x, x]), lambda v: np.matmul(np.eye(2) * 2, v * x, out=v))
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_numbers_and_0d_arrays_are_what_numpy_makes(name):
    f = KINDS[name]
    points = np.array([0.3, 0.9])
    expected = [f(point) for point in points]
    slopes = np.array([(f(p + 1e-6) - f(p - 1e-6)) / 2e-6 for p in points])
    np.testing.assert_allclose(vmap(f)(points), expected)
    np.testing.assert_allclose([grad(f)(p) for p in points], slopes, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(vmap(grad(f))(points), slopes, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        grad(lambda p: np.sum(vmap(f)(p)))(points), slopes, rtol=1e-6, atol=1e-9
    )
    found = vmap(lambda p: jvp(f, (p,), (1.0,))[1])(points)
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64])
def test_positions_of_narrow_dtypes_that_differ(dtype):
    table = np.arange(1500.0).reshape(500, 3)
    rows = np.array([99, 50, 1])
    picked = rows.astype(dtype)
    np.testing.assert_array_equal(
        vmap(lambda i: np.asarray(table, like=i)[i])(picked), table[rows]
    )
    np.testing.assert_array_equal(
        vmap(lambda i: np.asarray(table, like=i)[i, 1])(picked), table[rows, 1]
    )
    expected = np.zeros_like(table)
    expected[rows] = 2
    found = grad(lambda x: np.sum(vmap(lambda i: x[i] * 2)(picked)))(table)
    np.testing.assert_array_equal(found, expected)


LAID_OUT = {
    "asfortranarray": lambda np, v: np.asfortranarray(v),
    "asfortranarray of v.T": lambda np, v: np.asfortranarray(v.T),
    "ascontiguousarray": lambda np, v: np.ascontiguousarray(v),
    "ascontiguousarray of v.T": lambda np, v: np.ascontiguousarray(v.T),
    "asarray in order F": lambda np, v: np.asarray(v, order="F"),
    "require F": lambda np, v: np.require(v, requirements="F"),
    "asarray": lambda np, v: np.asarray(v),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_an_array_in_another_order_is_a_copy(name):
    def f(x):
        v = np.copy(x)
        LAID_OUT[name](tapegrad.numpy, v)[...] *= 2
        return np.sum(v * np.arange(4.0).reshape(2, 2))

    batch = ROWS[:, :2, :2]
    np.testing.assert_allclose(vmap(f)(batch), [f(x) for x in batch])
    np.testing.assert_allclose(vmap(grad(f))(batch), [grad(f)(x) for x in batch])
    slope = np.arange(4.0).reshape(2, 2) * (f(batch[0]) / np.sum(batch[0].ravel() * np.arange(4)))
    np.testing.assert_allclose(grad(f)(batch[0]), slope)


@pytest.mark.parametrize("x", [2.0, np.array([2.0, -1.0])])
def test_a_ufunc_of_plain_numbers_where_a_condition_of_each_example_holds(x):
    def f(v, condition):
        y = np.zeros_like(v)
        np.multiply(x, 3.0, out=y, where=condition)
        return y * v

    conditions = np.array([[True, False], [False, True]])
    expected = [f(v, condition) for v, condition in zip(X[:2, :2], conditions, strict=True)]
    np.testing.assert_array_equal(vmap(f)(X[:2, :2], conditions), expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros((3, 3), like=x),
        lambda x: np.ones((3, 3), like=x),
        lambda x: np.full((3, 3), 2.0, like=x),
        lambda x: np.eye(3, like=x),
        lambda x: np.array(np.eye(3), like=x),
        lambda x: np.arange(9.0, like=x).reshape(3, 3),
        lambda x: np.fromfunction(lambda i, j: i + 2.0 * j, (3, 3), like=x),
        lambda x: np.zeros_like(x, shape=(3, 3)),
    ],
)
def test_views_of_an_array_made_like_a_value_that_is_traced_outside(make):
    def assembled(x):
        matrix = make(x)
        lower = matrix[1:]
        for e in range(2):
            matrix[e : e + 2, e : e + 2] += x[e] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        lower *= x[2]
        return np.sum(matrix**3)

    # Quarters, of which all sums and products here are exact in any order.
    batch = np.random.default_rng(0).integers(-8, 9, size=(4, 3)) / 4
    gradients = np.stack([grad(assembled)(x) for x in batch])
    curvature = np.stack([grad(lambda x: np.sum(grad(assembled)(x) ** 2))(x) for x in batch])

    def total(x):
        return np.sum(vmap(assembled)(x))

    np.testing.assert_allclose(grad(total)(batch), gradients, rtol=1e-12)
    np.testing.assert_allclose(
        grad(lambda x: np.sum(grad(total)(x) ** 2))(batch), curvature, rtol=1e-10
    )
    pairs = np.stack([batch, batch[::-1]])
    values = np.stack([assembled(x) for x in batch])
    np.testing.assert_allclose(vmap(vmap(assembled))(pairs), [values, values[::-1]], rtol=1e-12)
    np.testing.assert_allclose(vmap(grad(total))(pairs), [gradients, gradients[::-1]], rtol=1e-12)


@pytest.mark.parametrize(
    "write",
    [
        lambda y, i, j: y.__setitem__(j, 2 * y[j] * y[i]),
        lambda y, i, j: y.__setitem__(..., np.sin(y)),
        lambda y, i, j: y.__imul__(y[j, 0]),
        lambda y, i, j: y[::-1].__setitem__(slice(2), y[j, 1]),
    ],
)
@pytest.mark.parametrize("part", [lambda row: row, lambda row: row[1:], lambda row: row[::-1]])
def test_a_row_of_each_example_sees_later_writes(write, part):
    def f(x, i, j):
        y = x * 1
        row = part(y[i])
        before = row * 1
        write(y, i, j)
        return np.sum(before * row * row)

    pairs = [(x, int(i), int(j)) for x, i, j in zip(ROWS, I, J, strict=True)]
    slopes = np.stack([grad(f)(*each) for each in pairs])
    assert_close(vmap(f)(ROWS, I, J), np.stack([f(*each) for each in pairs]))
    assert_close(vmap(grad(f))(ROWS, I, J), slopes)
    assert_close(grad(lambda x: np.sum(vmap(f)(x, I, J)))(ROWS), slopes)


@pytest.mark.parametrize("place", [3, -4])
def test_the_first_place_beyond_an_axis_is_numpys_error(place):
    at = np.array([0, place, 1, 2])
    for f in (
        lambda x, i: x[:, i],
        lambda x, i: x[i, i],
        lambda x, i: [y := x * 1, y.__setitem__((0, i), 1.0), y][-1],
    ):
        with pytest.raises(IndexError, match="out of bounds"):
            vmap(f)(ROWS, at)
