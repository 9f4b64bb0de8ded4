"""State that is found in odd places, or under two names: calls leave it as the function does."""

import dataclasses
import functools
import types
import warnings

import numpy as np
import pytest

import tapegrad

POINTS = np.random.default_rng(0).normal(size=(12, 3))


def seen(value):
    """What there is, with types and dtypes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, np.round(value, 9).tolist()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [seen(part) for part in value]
    if isinstance(value, dict):
        return [(name, seen(part)) for name, part in value.items()]
    if hasattr(value, "__dict__"):
        return seen(vars(value))
    return type(value), round(value, 9) if isinstance(value, float) else value


# Each yields what is to be the same, with `wrap` as without.


def tells_an_argument_from_its_state(wrap):
    s = types.SimpleNamespace(last=None, value=None, hits=0)

    def f(x):
        if x is s.last:
            s.hits += 1
            return s.value
        s.last, s.value = x, np.sum(x**2)
        return s.value

    fast = wrap(f)
    a, b = POINTS[0].copy(), POINTS[1].copy()
    for n in range(10):
        yield fast(a if n % 3 else b), s.hits
        a += 1


def tells_two_arguments_from_one(wrap):
    fast = wrap(lambda x, y, more=None: np.sum(x) * (10 if x is y else 1 if y is more else 2))
    a = POINTS[0]
    for _ in range(3):
        yield fast(a, POINTS[1])
        yield fast(a, a)
        yield fast(a, POINTS[1], more=POINTS[1])
        yield fast(a, a, more=a)
        b = POINTS[1]
        yield fast(a, b, more=b)


def keeps_views_of_a_new_array(wrap):
    s = types.SimpleNamespace(whole=np.zeros(3), part=np.zeros(2), count=0)

    def f(x):
        s.whole = np.zeros(3)
        s.part = s.whole[:2]
        s.count += 1
        return np.sum(x) * s.count

    fast = wrap(f)
    for x in POINTS:
        yield fast(x)
        s.whole[0] = 7
        yield s


def binds_names_of_a_class(wrap):
    class A:
        count, mean = 0, np.zeros(3)

        @classmethod
        def step(cls, x):
            cls.count += 1
            cls.mean = cls.mean + x
            return cls.mean.sum() * cls.count

    class B(A):
        pass

    fast = wrap(B.step)
    for n, x in enumerate(POINTS):
        yield fast(x), A.count, A.mean, B.count, B.mean, "count" in vars(B)
        if n == 5:
            A.mean = np.ones(3)
        elif n == 7:
            del B.count


def has_attributes_beside_fields(wrap):
    @dataclasses.dataclass
    class Part:
        mean: np.ndarray
        count: int = 0

    s = types.SimpleNamespace(part=Part(np.zeros(3)))

    def f(x):
        more = getattr(s.part, "more", 0)
        s.part = Part(s.part.mean + x, s.part.count + 1)
        s.part.more = more + 2
        return s.part.mean.sum() * s.part.more

    fast = wrap(f)
    for x in POINTS:
        yield fast(x), s

    passed = wrap(lambda part: np.sum(part.mean) * getattr(part, "more", 1))
    for x in POINTS:
        s.part.mean = x
        yield passed(s.part)


def fills_a_cache(wrap):
    s = types.SimpleNamespace(count=0, factor=1.0)

    @functools.lru_cache
    def weights(k):
        s.count += 1
        return np.full(3, k * s.factor)

    fast = wrap(lambda x, k: np.sum(x * weights(k)) + s.count)
    for n, x in enumerate(POINTS):
        yield fast(x, n % 3), s
        if n == 6:
            s.factor = 2.0
            weights.cache_clear()


def fills_a_cache_with_its_state(wrap):
    s = types.SimpleNamespace(count=0)

    @functools.cache
    def weights(k):
        return np.full(3, k * 1.0) * s.count

    def f(x, k):
        s.count += 1
        return np.sum(x * weights(k)) + s.count

    fast = wrap(f)
    for n, x in enumerate(POINTS):
        yield fast(x, n % 3), s


def is_shown_between_calls(wrap):
    s = types.SimpleNamespace(count=0, mean=np.zeros(3))

    def f(x):
        s.count += 1
        s.mean += x
        return s.mean.sum() * s.count

    fast = wrap(f)
    for n, x in enumerate(POINTS):
        yield fast(x), s
        if n == 6:
            s.mean[:] = 1
        if fast is not f:
            fast.prepare(x)
            assert fast.program(x)


FOUND = [
    *(tells_an_argument_from_its_state, tells_two_arguments_from_one, keeps_views_of_a_new_array),
    *(binds_names_of_a_class, has_attributes_beside_fields, fills_a_cache),
    *(fills_a_cache_with_its_state, is_shown_between_calls),
]


def as_it_is(f):
    return f


@pytest.mark.parametrize("found", FOUND, ids=lambda found: found.__name__)
def test_calls_leave_what_the_function_leaves(found):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tapegrad.EagerWarning)
        mine = [seen(x) for x in found(functools.partial(tapegrad.compile, backend="numpy"))]
    assert mine == [seen(x) for x in found(as_it_is)]
