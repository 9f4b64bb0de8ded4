"""Arrays made inside a transform by `tapegrad.numpy`: to the program they are NumPy's own."""

from __future__ import annotations

import copy
import pickle

import numpy as plain  # noqa: ICN001 - ours has its name here
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
import tapegrad.numpy as np
from tapegrad import compile, grad, hessian, jacobian, jvp, vmap

P = 0.7


def close(found, known, tolerance):
    plain.testing.assert_allclose(found, known, tolerance, tolerance)


def filled(p):
    z = np.zeros((2, 2))
    z[0, 0] = p
    row = z[1]
    row[0] = p * p
    row[1] = 3.0
    return np.sum(z * z)


def recurrence(p):
    t = np.zeros(5)
    for i in range(1, 5):
        t[i] = t[i - 1] * p + i
    return np.sum(t)


def by_views(p):
    x = np.linspace(0.0, 1.0, 4)
    x.reshape(2, 2).T[1, 0] = p
    x.ravel()[3:] = p * p
    x.shape = (2, 2)
    return np.sum(x @ x)


def by_shapes(p):
    x = np.zeros(4)
    x[0] = p
    before = x[1:]
    x.shape = (2, 2)
    before[0] = 3.0 * p
    part = x.T[1]
    part.shape = (2, 1)
    part[1] = p * p
    y = p * plain.arange(6.0)
    y.shape = (2, 3)
    return np.sum(x * np.array([[1.0, 2.0], [3.0, 4.0]])) + y[1, 0] * y[1, 2]


def in_place(p):
    z = np.ones(3)
    z += 1.0
    half = z[:2]
    half *= p
    z -= np.array([p, 0.0, 0.0])
    np.add(z, p, out=z)
    return np.sum(z**2)


def out_of_several(p):
    whole, part = np.zeros(2), np.zeros(2)
    first, second = np.divmod(np.array([p, 3.3]), 2.0, out=(whole, part))
    first[0] = p * p
    second *= p
    also, _ = np.modf(np.array([4.1 * p, 1.0]), out=(None, whole))
    also[1] = p
    return np.sum(whole * part) + np.sum(also**2) + first[1] * p


def derived(p):
    a = np.arange(4.0) * 2.0
    b = np.concatenate([a, np.full(2, 1.0)])
    c = np.where(b > 3.0, b, 0.5).copy()
    c[::2] = p
    d = np.linalg.inv(np.eye(2) * 2.0)
    d[0] = c[:2] * d[0, 0]
    return np.sum(c**2 * b) + np.sum(d)


def by_functions(p):
    z, w, v = np.empty(4), np.zeros((3, 3)), np.zeros(3)
    z.fill(p)
    z.put([1], 2.0 * p)
    np.fill_diagonal(w, [p, p * p, 1.0])
    np.copyto(v, np.array([p, 1.0, p]))
    np.add.at(v, [0, 0], p)
    z.flat[0] = p**3
    z.sort()
    return np.sum(z[:2]) + np.sum(w @ v)


def beside_traced(p):
    x = p * plain.arange(3.0)
    b = np.ones(3)
    y = x + b + b * x + np.dot(b, x)
    y[0] = b[0]
    y[1:] = np.zeros(2)
    both = np.stack([b, x]) + np.array([b, [p, p, p]])
    return np.sum(y) + np.sum(both**2)


def beside_lists(p):
    x, z = np.ones(2) * [p, 3.0], [1.0, p] - np.zeros(2)
    y = np.zeros(2)
    y += [p, p * p]
    return np.sum(x * z * y)


def of_rows(p):
    z = np.zeros((3, 2))
    for i, row in enumerate(z):
        row[:] = p * i
    return np.sum(z.mean(axis=0) ** 2) + z.max()


PROGRAMS = [
    filled,
    recurrence,
    by_views,
    by_shapes,
    in_place,
    derived,
    by_functions,
    beside_traced,
    beside_lists,
    of_rows,
]


def slope(f, p=P, h=1e-5):
    return (8 * (f(p + h) - f(p - h)) - (f(p + 2 * h) - f(p - 2 * h))) / (12 * h)


@pytest.mark.filterwarnings("ignore:Setting the shape")  # which NumPy 2.5 advises against
@pytest.mark.parametrize("f", PROGRAMS)
def test_programs_that_fill_arrays(f):
    known = slope(f)
    value, found = jvp(f, (P,), (1.0,))
    assert value == f(P)
    close(found, known, 1e-8)
    close(grad(f)(P), known, 1e-8)
    second = slope(lambda p: grad(f)(p), h=1e-4)
    close(grad(grad(f))(P), second, 1e-6)
    close(jvp(grad(f), (P,), (1.0,))[1], second, 1e-6)
    close(hessian(f)(P), second, 1e-6)
    points = plain.array([P, P, 0.4])
    close(vmap(grad(f))(points), [known, known, slope(f, 0.4)], 1e-8)
    close(grad(lambda q: np.sum(vmap(f)(q * plain.ones(3))))(P), 3 * known, 1e-8)
    close(compile(grad(f))(P), known, 1e-8)
    close(compile(f)(P), f(P), 1e-14)


def test_several_results_are_written_to_the_buffers_that_come_back():
    f, known = out_of_several, slope(out_of_several)
    value, found = jvp(f, (P,), (1.0,))
    assert value == f(P)
    close(found, known, 1e-8)
    close(grad(f)(P), known, 1e-8)
    close(vmap(grad(f))(plain.array([P, P])), [known] * 2, 1e-8)
    with pytest.warns(tapegrad.EagerWarning, match="writes a value into a plain array"):
        close(compile(f)(P), f(P), 1e-14)


def test_results_that_are_arrays():
    def f(p):
        z = np.zeros((2, 2))
        z[0] = p
        return {"z": z, "rest": (np.ones(2), z[0])}

    value, found = jvp(f, (2.0,), (3.0,))
    assert type(value["z"]) is type(found["z"]) is plain.ndarray
    assert found["z"].tolist() == [[3.0, 3.0], [0.0, 0.0]]
    assert found["rest"][1].tolist() == [3.0, 3.0]
    assert jacobian(lambda p: f(p)["z"])(2.0).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert vmap(lambda p: f(p)["z"])(plain.ones(3)).shape == (3, 2, 2)
    assert grad(lambda p: p * tapegrad.vjp(lambda b: np.sum(b * p), np.ones(2))[0])(2.0) == 8.0


def test_before_a_write_it_is_a_plain_array():
    def f(p):
        z = np.arange(4.0)
        assert isinstance(z, plain.ndarray)
        assert float(z[1]) == 1.0
        assert int(z[2]) == 2
        assert complex(z[3]) == 3.0
        assert f"{z[1]:.1f} {z}" == "1.0 [0. 1. 2. 3.]"
        assert repr(z) == "array([0., 1., 2., 3.])"
        assert type(plain.asarray(z)) is plain.ndarray
        assert type(pickle.loads(pickle.dumps(z))) is plain.ndarray
        assert z.tolist() == [0.0, 1.0, 2.0, 3.0]
        assert len(z) == 4
        assert 2.0 in z
        assert z.tobytes() == plain.arange(4.0).tobytes()
        assert plain.ones(9)[z.astype(int)].size == 4
        assert z.dtype == float
        assert z.nbytes == 32
        assert z.T.shape == (4,)
        assert np.asarray(z) is z
        assert np.array(z) is not z
        assert z.argmax() == 3
        assert (z > 1).tolist() == [False, False, True, True]
        assert copy.copy(z) is not z
        assert copy.deepcopy(z)[1] == 1.0
        with pytest.raises(TypeError, match="unhashable"):
            hash(z)
        with pytest.raises(IndexError):
            z[9]
        with pytest.raises(ValueError, match="could not broadcast"):
            z[:] = np.ones(3)
        return p

    assert grad(f)(1.0) == 1.0


def test_memory_that_other_code_holds_is_not_left_behind():
    def gone(p):
        z = np.linspace(0.0, 1.0, 4)
        plain.asarray(z[1:]).sum()
        z[2] = p
        return z.sum()

    assert jvp(gone, (2.0,), (1.0,))[1] == 1.0

    def kept(p, view):
        z = np.linspace(0.0, 1.0, 4)
        held = view(z)
        z[2] = p
        return z.sum() + held[0]

    for view in (plain.asarray, lambda z: plain.asarray(z[1:]), lambda z: z.data):
        for transform in (grad, hessian):
            with pytest.raises(tapegrad.ConversionError, match="holds its memory"):
                transform(kept)(2.0, view)
        with pytest.raises(tapegrad.TapegradError, match="holds its memory"):
            vmap(lambda p, view=view: kept(p, view))(plain.ones(2))


def test_a_copy_and_what_was_read_before_do_not_change():
    def f(p):
        z = np.zeros(2)
        before, twin, view = z[0], z.copy(), z[:]
        z[:] = p
        return before + np.sum(twin) + 2.0 * np.sum(view)

    assert jvp(f, (3.0,), (1.0,)) == (12.0, 4.0)


def test_arrays_of_the_program_are_no_buffers():
    outside = plain.zeros(3)

    def f(p):
        assert np.asarray(outside) is outside
        assert type(np.asarray(outside, float)) is plain.ndarray
        view = np.reshape(outside, (3, 1))
        assert type(view) is plain.ndarray
        outside[0] = p
        return p

    with pytest.raises(tapegrad.ConversionError, match="cannot hold a traced value"):
        grad(f)(1.0)
    assert outside.tolist() == [0.0, 0.0, 0.0]


def test_outside_a_transform_there_are_plain_arrays():
    for made in (np.zeros(3), np.array([1.0]), np.eye(2), np.concatenate([np.ones(1)])):
        assert type(made) is plain.ndarray


def test_a_buffer_of_an_outer_transform_and_of_an_inner_one():
    def f(p):
        z = np.zeros(2)
        z[0] = p

        def inner(q):
            w = np.zeros(2)
            w[0], w[1] = q * z[0], p
            return np.sum(w**2)

        return grad(inner)(p)  # 2 q p^2 at q = p

    assert grad(f)(3.0) == 54.0
    close(vmap(grad(f))(plain.array([3.0, 1.0])), [54.0, 6.0], 1e-14)

    def leaks(p):
        z = np.zeros(2)

        def inner(q):
            z[0] = q
            return np.sum(z * p)

        slope = grad(inner)(p)
        return slope + z[0]

    with pytest.raises(tapegrad.LeakedValueError):
        grad(leaks)(3.0)


def test_a_buffer_kept_beyond_its_transform_is_an_array():
    kept = []

    def f(p):
        kept.append(np.ones(2))
        return p

    grad(f)(1.0)
    kept[0][1] = 5.0
    assert (kept[0] + 1.0).tolist() == [2.0, 6.0]


def test_complex_numbers_go_into_complex_arrays_alone():
    def f(p):
        z = np.zeros(2)
        z[0] = 1j * p
        return np.sum(z)

    with pytest.raises(TypeError, match="expected real values"):
        grad(f)(1.0)

    def g(p):
        z = np.zeros(2, complex)
        z[0] = 1j * p
        return np.abs(np.sum(z)) ** 2

    assert grad(g)(1.5) == 3.0


# --- Drawn programs -----------------------------------------------------------------------------

VIEWS = (
    lambda z: z,
    lambda z: z[1],
    lambda z: z[:, 1],
    lambda z: z.T[::-1],
    lambda z: z.reshape(-1)[2:5],
    lambda z: np.ravel(z)[::2],
    lambda z: np.swapaxes(z, 0, 1)[0],
    lambda z: z[..., None][1:, 0],
)


def write(view, value):
    view[...] = value


def add(view, value):
    view += value


def scale(view, value):
    view *= value


def first(view, value):
    view.flat[0] = value


def swapped(view, value):
    view[:] = view[::-1] + value


WRITES = (write, add, scale, first, swapped)
VALUES = (
    lambda p, z: p,
    lambda p, z: 2.0,
    lambda p, z: z[0, 0] * p,
    lambda p, z: float(z.shape[0]),
    lambda p, z: np.sum(z) * 0.1,
    lambda p, z: np.sin(z[1, 1]),
)

steps = st.lists(
    st.tuples(
        st.sampled_from(VIEWS), st.sampled_from(WRITES), st.sampled_from(VALUES), st.booleans()
    ),
    min_size=1,
    max_size=8,
)


@given(steps)
def test_drawn_programs_of_views_and_writes(program):
    def f(p):
        z = np.arange(6.0).reshape(2, 3) * 0.3
        held = [view(z) for view, _, _, early in program if early]
        for view, act, value, early in program:
            act(held.pop(0) if early else view(z), value(p, z))
        return z

    value, found = jvp(f, (P,), (1.0,))
    assert plain.array_equal(value, f(P))
    close(found, slope(f), 1e-6)
    close(jacobian(f)(P), found, 1e-12)
    close(vmap(f)(plain.array([P, 0.2]))[1], f(0.2), 1e-14)


def test_a_buffer_that_the_program_has_locked():
    def f(x):
        a = np.zeros(3)
        a.flags.writeable = False
        a[0] = x
        return np.sum(a)

    with pytest.raises(ValueError, match="read-only"):
        grad(f)(1.0)
