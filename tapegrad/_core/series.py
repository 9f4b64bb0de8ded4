"""Power series in fractional powers of a small step: what arrays near a point are made of.

Knows the arithmetic of such series, and by its rule any other function of each element. Must not
know how entries are replayed.

A series stands for an array along a line `x + d * e` as e falls to zero: each element is a sum of
coefficients times `e ** (k / root)`, and may have one term more, a multiple of `log(e)`. These are
the series of V. Puiseux (1850). Arithmetic on them is exact but for rounding, so that where zero
meets infinity the leading terms tell the limit. Each element says up to which power it is known,
and whether the line is outside of the domain of a function there.

A change is a series from the value that an entry keeps. Its constant term is a jump: from the
value at a kink to that on this side of it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tapegrad._block import contextmanager
from tapegrad._core.careful import push_function
from tapegrad._core.quiet import silence
from tapegrad._core.rule import declared_rule


class _Grid(threading.local):
    """Which powers of the step are kept: from `low / root` up to `high / root`."""

    root, low, high, width = 12, -36, 60, 96
    taylor: dict[Any, list[Any] | None] | None = None  # derivatives of smooth functions at points


GRID = _Grid()


@contextmanager
def remembering() -> Iterator[None]:
    """Ask for the derivatives of a function at a point once: all lines end there."""
    before = GRID.taylor
    try:
        GRID.taylor = {}
        yield
    finally:
        GRID.taylor = before


@contextmanager
def grid(root: int, low: int, high: int) -> Iterator[None]:
    """Keep powers from low up to high, and those between them that a root of this order makes."""
    before = GRID.root, GRID.low, GRID.high, GRID.width
    try:
        GRID.root, GRID.low, GRID.high = root, low * root, high * root
        GRID.width = GRID.high - GRID.low
        yield
    finally:
        GRID.root, GRID.low, GRID.high, GRID.width = before


EXACT = 1 << 20  # the power up to which polynomials are known, none of whose terms is left out
OUTSIDE = -EXACT  # that up to which an element is known that lies outside of a domain
REFUSED = OUTSIDE // 4 - 1  # and one of which no grid of powers tells anything
# Of a change, what the value is: the kept one and its constant term; that term; unknown; 0.
HERE, THERE, LOST, ZERO = range(4)
ROUNDING = 1e-12  # of two terms, below which their sum is what rounding leaves of a zero
MOST = 5  # derivatives that are asked for the series of a smooth function
LONGEST = 600  # numbers of a recording of these, for each element
BESIDE = 5e-2, 5e-4, 5e-6  # steps at which its series is compared with its values
STEP = 1e-7  # the distance at which a function is asked what it is on this side


class UnknownSeries(Exception):  # noqa: N818 - no error: the caller gives up the limit
    """A function whose series is not known was asked for one."""


class NoSeries(UnknownSeries):
    """One that has none here, whatever powers are kept."""


class Series(NDArrayOperatorsMixin):
    """An array of series.

    `terms[k]` are the coefficients of power `GRID.low + k`; `known` is the first power, for each
    element, of which nothing is known; `logs` are the coefficients of `log(e)`. `state` says of a
    change what its constant term is, and `side` is the value on this side, if that was computed.
    """

    __slots__ = ("known", "logs", "side", "state", "terms")

    def __init__(self, terms: Any, known: Any, logs: Any = None, state: Any = None) -> None:
        place = np.arange(GRID.low, GRID.high).reshape((-1,) + (1,) * (terms.ndim - 1))
        self.terms = np.where(place < known, terms, 0.0)
        lost = ~np.isfinite(self.terms).all(axis=0)
        outside, refused = known <= OUTSIDE, known == REFUSED
        kept = np.minimum(np.maximum(known, GRID.low), GRID.high)
        known = np.where(lost, GRID.low, np.where(known >= EXACT, EXACT, kept))
        self.known = np.where(outside, OUTSIDE, np.where(refused, REFUSED, known))
        self.terms[:, lost] = 0
        self.logs = np.zeros(self.known.shape) if logs is None else logs
        self.state = np.zeros(self.known.shape, int) if state is None else state
        self.side: Any = None

    # -- as an array -----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self.known.shape

    @property
    def ndim(self) -> int:
        """That of the array."""
        return self.known.ndim

    @property
    def size(self) -> int:
        """That of the array."""
        return self.known.size

    @property
    def dtype(self) -> Any:
        """That of the coefficients."""
        return self.terms.dtype

    @property
    def real(self) -> Series:
        """The real part."""
        return Series(_part(self.terms, self.terms.real), self.known, self.logs, self.state)

    @property
    def imag(self) -> Series:
        """The imaginary part."""
        logs = np.zeros(self.known.shape)
        return Series(_part(self.terms, self.terms.imag), self.known, logs, self.state)

    def astype(self, dtype: Any, **_: Any) -> Series:
        """The same: series are of double precision."""
        if np.dtype(dtype).kind not in "fc":
            raise UnknownSeries
        return self if np.dtype(dtype).kind == "c" else self.real

    def __getitem__(self, index: Any) -> Series:
        inner = (slice(None), *(index if type(index) is tuple else (index,)))
        made = Series(self.terms[inner], self.known[index], self.logs[index], self.state[index])
        made.side = None if self.side is None else self.side[index]
        return made

    def copy(self) -> Series:
        """A copy that can be written to."""
        return Series(self.terms.copy(), self.known.copy(), self.logs.copy(), self.state.copy())

    def put(self, index: Any, value: Any) -> None:
        """Write at an index."""
        value = as_series(value)
        inner = (slice(None), *(index if type(index) is tuple else (index,)))
        lead = self.terms[inner].ndim - value.terms.ndim
        terms = (
            value.terms.reshape((GRID.width,) + (1,) * lead + value.shape)
            if lead > 0
            else value.terms
        )
        if terms.dtype.kind == "c":
            self.terms = self.terms.astype(complex)
        self.terms[inner], self.known[index], self.logs[index] = terms, value.known, value.logs
        self.state[index] = value.state

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise UnknownSeries
        return applied(ufunc, args)

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        if kwargs or function not in _FUNCTIONS:
            raise UnknownSeries
        return _FUNCTIONS[function](*args)

    def __bool__(self) -> bool:
        raise UnknownSeries

    # -- what they tell --------------------------------------------------------------------------

    @property
    def lead(self) -> Any:
        """The first power with a coefficient that is not zero, or `known` without one."""
        found = np.argmax(self.terms != 0, axis=0) + GRID.low
        return np.where((self.terms != 0).any(axis=0), found, self.known)

    @property
    def sign(self) -> Any:
        """The sign that each element has for small e; NaN where it is not known."""
        require_real(self)
        found = np.sign(_first(self))
        found = np.where((found == 0) & (self.known < EXACT), np.nan, found)
        return np.where((self.logs != 0) & (self.lead >= 0), -np.sign(self.logs), found)

    @property
    def limit(self) -> Any:
        """The limit of each element: NaN where that is not known."""
        found = np.where(self.known > 0, self.terms[-GRID.low], np.nan)
        return self._or_infinite(found, 0)

    @property
    def slope(self) -> Any:
        """The limit of a change divided by e, but for a jump."""
        if self.logs.any():
            raise UnknownSeries
        found = np.where(self.known > GRID.root, self.terms[GRID.root - GRID.low], np.nan)
        still = self.terms.copy()
        still[-GRID.low] = 0
        rest = Series(still, self.known)
        # Falling from infinity, the slope has the other sign: e ** -1 has -e ** -2.
        return rest._or_infinite(found, GRID.root, np.sign(rest.lead))

    def _or_infinite(self, found: Any, power: int, sign: Any = 1) -> Any:
        """The same, and infinities where there are powers below one."""
        if self.terms.dtype.kind == "c":
            infinite: Any = np.nan
        else:
            with silence():
                infinite = np.inf * sign * _first(self)
        found = np.where((self.lead < power) & (self.lead < self.known), infinite, found)
        return np.where(self.logs != 0, np.nan, found)

    def at(self, step: float) -> Any:
        """The value for a step, by the terms of positive powers."""
        powers = np.arange(GRID.width + GRID.low) / GRID.root
        return np.tensordot(step**powers, self.terms[-GRID.low :], 1)

    @property
    def infinite(self) -> Any:
        """Where an element has no finite limit."""
        return (self.lead < np.minimum(self.known, 0)) | (self.logs != 0)

    @property
    def outside(self) -> Any:
        """Where the line leaves the domain of a function."""
        return self.known <= OUTSIDE

    @property
    def refused(self) -> Any:
        """Where nothing is known, whatever powers are kept."""
        return self.known == REFUSED

    @property
    def moved(self) -> Any:
        """Of a change: where the value on this side is not the one that is kept."""
        return (self.state == THERE) | (self.state == LOST) | (self.terms[-GRID.low] != 0)

    def change(self, value: Any = None, jumps: Any = False) -> Series:
        """The change from a value, which whoever reads it knows.

        jumps: where the value may be another one on this side. Where there is no finite value,
        or the series has no finite limit, the change is the series itself.
        """
        terms, constant = self.terms.copy(), self.terms[-GRID.low]
        kept = constant if value is None else np.broadcast_to(value, self.shape)
        jump = np.where(jumps, constant - kept, 0)
        near = np.abs(jump) <= ROUNDING * (np.abs(constant) + np.abs(kept))
        known = np.isfinite(kept)
        jump = np.where(near, 0, np.where(known, jump, constant))
        terms[-GRID.low] = np.where(self.infinite, constant, jump)
        missing = jumps & (value is None)
        state = np.where(~known, THERE, np.where(missing, LOST, HERE))
        return Series(terms, self.known, self.logs, np.where(self.infinite, THERE, state))

    def beside(self, value: Any) -> Series:
        """A change from a value, with the value."""
        terms = self.terms.copy()
        value = np.broadcast_to(value, self.shape)
        if value.dtype.kind == "c":
            terms = terms.astype(complex)
        finite = np.isfinite(value)
        there = (self.state == THERE) | (self.state == ZERO)
        terms[-GRID.low] = np.where(there | ~finite, terms[-GRID.low], terms[-GRID.low] + value)
        unknown = ~there & (~finite | (self.state == LOST))
        if self.side is not None and unknown.any():
            told = unknown & np.isfinite(self.side)
            terms[-GRID.low] = np.where(told, self.side, terms[-GRID.low])
            unknown = unknown & ~told
        known = np.where(unknown, np.minimum(self.known, 0), self.known)
        return Series(terms, known, self.logs)

    def value_beside(self, value: Any) -> Any:
        """Of a change the value on this side; None where nothing tells it. value: the kept one."""
        constant = self.terms[-GRID.low]
        side = self.side if value is None else value + constant
        if value is not None and self.side is not None:
            side = np.where(np.isnan(side), self.side, side)
        if side is None:
            return constant if ((self.state == THERE) | (self.state == ZERO)).all() else None
        return np.where(self.infinite, np.nan, np.where(self.state == THERE, constant, side))

    @property
    def zero(self) -> Any:
        """Where an element is zero to every power."""
        return (self.known >= EXACT) & (self.lead >= EXACT) & (self.logs == 0)

    def each(self) -> list[int]:
        """The powers, counted from GRID.low, with a coefficient that is not zero."""
        return np.flatnonzero((self.terms != 0).reshape(GRID.width, -1).any(axis=1)).tolist()


def _part(whole: Any, part: Any) -> Any:
    """The real or imaginary part, without what rounding leaves of a zero."""
    return np.where(np.abs(part) <= ROUNDING * np.abs(whole), 0, part)


def _first(x: Series) -> Any:
    """The leading coefficients."""
    place = (np.clip(x.lead, GRID.low, GRID.high - 1) - GRID.low)[None]
    return np.take_along_axis(x.terms, place, 0)[0]


def state_of_sum(states: Sequence[Any], constants: bool = False) -> Any:
    """The state of a sum of changes; constants: whether there are other terms, which stay."""
    found = np.asarray(states)
    whole = ((found == THERE) | (found == ZERO)).all(axis=0) & (not constants)
    there = np.where(whole, THERE, LOST)
    plain = (found != THERE).all(axis=0) & (found != LOST).all(axis=0)
    zero = (found == ZERO).all(axis=0) & (not constants)
    return np.where(zero, ZERO, np.where(plain, HERE, there))


def constant(value: Any) -> Series:
    """The series of an array that does not change; infinities and NaNs have none."""
    value = np.asarray(value)
    value = value.astype(complex if value.dtype.kind == "c" else float)
    terms = np.zeros((GRID.width, *value.shape), value.dtype)
    terms[-GRID.low] = value
    return Series(terms, np.where(np.isfinite(value), EXACT, REFUSED))


def step(direction: Any, bend: Any = 0.0) -> Series:
    """The series of `direction * e + bend * e**2`."""
    terms = np.zeros((GRID.width, *direction.shape), np.result_type(direction, bend, float))
    terms[GRID.root - GRID.low] = direction
    terms[2 * GRID.root - GRID.low] = bend
    return Series(terms, np.full(direction.shape, EXACT))


def unknown(shape: tuple[int, ...], kind: Any = float, why: Any = None) -> Series:
    """Series of which nothing is known; why: what was raised for want of them."""
    known = REFUSED if isinstance(why, NoSeries) else GRID.low
    return Series(np.zeros((GRID.width, *shape), kind), np.full(shape, known))


def as_series(value: Any) -> Series:
    """A series, or that of a constant."""
    return value if isinstance(value, Series) else constant(value)


def as_partial(value: Any) -> Series:
    """The series of a partial, which is the constant NaN outside of a domain."""
    if isinstance(value, Series):
        return value
    made = constant(value)
    made.known = np.where(np.isnan(value), OUTSIDE, made.known)
    return made


def require_real(x: Series) -> None:
    """Raise UnknownSeries for complex numbers."""
    if x.dtype.kind == "c":
        raise UnknownSeries


# --- Arithmetic ---------------------------------------------------------------------------------


def _aligned(x: Series, y: Series) -> tuple[Any, Any]:
    """The terms of both, ready to broadcast."""
    ndim = max(x.ndim, y.ndim)
    a, b = (
        each.terms.reshape((GRID.width,) + (1,) * (ndim - each.ndim) + each.shape)
        for each in (x, y)
    )
    return a, b


def _add(x: Any, y: Any) -> Series:
    x, y = as_series(x), as_series(y)
    a, b = _aligned(x, y)
    total = a + b
    total = np.where(np.abs(total) <= ROUNDING * (np.abs(a) + np.abs(b)), 0.0, total)
    return Series(total, np.minimum(x.known, y.known), x.logs + y.logs)


def _negative(x: Series) -> Series:
    return Series(-x.terms, x.known, -x.logs)


def _multiply(x: Any, y: Any) -> Series:
    x, y = as_series(x), as_series(y)
    if x.logs.any() or y.logs.any():
        return _multiply_logs(x, y)
    a, b = _aligned(x, y)
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, b))
    size = np.zeros(total.shape)
    high = low = np.zeros(total.shape[1:], bool)  # where terms are beyond those that are kept
    for i in np.flatnonzero((a != 0).reshape(GRID.width, -1).any(axis=1)):
        shift = int(i) + GRID.low  # the power of this term
        split = GRID.width - shift if shift >= 0 else -shift
        kept, beyond = (b[:split], b[split:]) if shift >= 0 else (b[split:], b[:split])
        met = (a[i] != 0) & (beyond != 0).any(axis=0)
        high, low = (high | met, low) if shift >= 0 else (high, low | met)
        part = a[i] * kept
        # A product that underflows is no zero.
        low = low | ((a[i] != 0) & (kept != 0) & (part == 0)).any(axis=0)
        place = slice(shift, None) if shift >= 0 else slice(None, shift)
        total[place] += part
        size[place] += np.abs(part)
    total = np.where(np.abs(total) <= ROUNDING * size, 0.0, total)
    known = np.minimum(_sum(x.known, y.lead), _sum(y.known, x.lead))
    known = np.where(high, np.minimum(known, GRID.high), known)
    # Of what nothing is known, not even the first power is.
    known = np.where(low | (x.known <= GRID.low) | (y.known <= GRID.low), GRID.low, known)
    refused = x.refused & (y.refused | (y.lead < y.known)) | y.refused & (x.lead < x.known)
    known = np.where(refused, REFUSED, known)
    known = np.where(x.outside | y.outside, OUTSIDE, known)
    return Series(total, np.where(x.zero | y.zero, EXACT, known))


def _sum(known: Any, lead: Any) -> Any:
    """Up to which power a product is known; a factor that is zero to all that is kept is zero."""
    return np.where((known >= EXACT) | (lead >= EXACT), EXACT, known + lead)


def _multiply_logs(x: Series, y: Series) -> Series:
    """A product with a number: that of a logarithm with anything else is no series."""
    for logs, other in ((x, y), (y, x)):
        alone = other.lead == 0
        number = np.where(alone, other.terms[-GRID.low], 0)
        only = (other.terms[: -GRID.low] == 0).all(axis=0) & (
            other.terms[1 - GRID.low :] == 0
        ).all(axis=0)
        if not other.logs.any() and (only | (logs.logs == 0)).all():
            plain = _multiply(Series(logs.terms, logs.known), other)
            return Series(plain.terms, plain.known, logs.logs * number)
    raise UnknownSeries


def _shifted(terms: Any, by: Any) -> Any:
    """The terms of each element moved to lower powers by its own number."""
    place = np.arange(GRID.width).reshape((-1,) + (1,) * by.ndim) + by
    found = np.take_along_axis(terms, np.clip(place, 0, GRID.width - 1), 0)
    return np.where((place >= 0) & (place < GRID.width), found, 0.0)


def _power(x: Any, p: float, root: Callable[[Any], Any]) -> Series:
    """x ** p by its leading term; `root` gives the power of the leading coefficient.

    The recurrence of L. Euler: D. Knuth, Seminumerical algorithms, section 4.7.
    """
    x = as_series(x)
    if x.logs.any() or x.dtype.kind == "c" and p != -1:
        raise UnknownSeries
    lead = x.lead
    zero = lead >= x.known
    lead = np.where(zero, 0, lead)
    a = _shifted(x.terms, lead - GRID.low)  # from index 0 on
    a[0] = np.where(zero, 1.0, a[0])
    made = lead * p
    place = np.round(made).astype(int)
    w = np.zeros_like(a)
    with silence():
        w[0] = root(a[0])
        used = [j for j in range(1, GRID.width) if a[j].any()]
        for k in range(1, GRID.width):
            total = np.zeros_like(a[0])
            for j in used:
                if j > k:
                    break
                total = total + (j * p - (k - j)) * a[j] * w[k - j]
            w[k] = total / (k * a[0])
    exact = x.known >= EXACT
    known = np.minimum(place + np.where(exact, GRID.width, x.known - lead), GRID.high)
    alone = exact & (a[1:] == 0).all(axis=0)  # one term alone has one, which may be out of reach
    known = np.where(alone & (place < GRID.high), EXACT, known)
    sound = (np.abs(place - made) < 1e-9) & (place >= GRID.low) & (w[0] != 0)
    known = np.where(sound, known, GRID.low)
    known = np.where(np.isnan(w[0]) & ~zero, OUTSIDE, known)
    result = Series(_shifted(w, GRID.low - place), known)
    if zero.any():
        exact = exact & zero
        result.terms[:, zero] = 0
        # Of a zero up to a power the root is zero up to its root.
        rest = np.where(x.known > 0, np.floor(x.known * max(p, 0)), GRID.low).astype(int)
        rest = rest if p > 0 else np.where(exact, REFUSED, GRID.low)
        rest = np.where(rest == REFUSED, REFUSED, np.clip(rest, GRID.low, GRID.high))
        rest = np.where(exact & (p > 0), EXACT, rest)
        result.known = _of_lost(x, np.where(zero, rest, result.known))
    return result


def _of_lost(x: Series, known: Any) -> Any:
    """Up to which power a function of x is known, which is lost where x is."""
    return np.where(x.outside | x.refused, x.known, known)


def _reciprocal(x: Any) -> Series:
    return _power(x, -1.0, lambda first: 1 / first)


def _is_small(x: Series) -> Any:
    """Where an element has a finite limit."""
    return ((x.terms[: -GRID.low] == 0).all(axis=0)) & (x.known > 0)


def _exp(x: Any) -> Series:
    x = as_series(x)
    require_real(x)
    a = x.terms[-GRID.low :]
    count = len(a)
    w = np.zeros_like(x.terms)
    with silence():
        w[-GRID.low] = np.exp(a[0])
        used = [j for j in range(1, count) if a[j].any()]
        for k in range(1, count):
            total = np.zeros_like(a[0])
            for j in used:
                if j > k:
                    break
                total = total + j * a[j] * w[k - j - GRID.low]
            w[k - GRID.low] = total / k
    small = _is_small(x) & (w[-GRID.low] != 0)
    # Faster than any power, but with what grows as fast it is no zero: only known to be small.
    falls = (x.lead < 0) & (_first(x) < 0) & (x.lead < x.known)
    w = np.where(small, w, 0.0)
    kept = np.minimum(x.known, GRID.high)
    known = np.where(falls, GRID.high, np.where(small, kept, GRID.low))
    plain = Series(w, _of_lost(x, known))
    if not x.logs.any():
        return plain
    moved = x.logs * GRID.root
    place = np.round(moved).astype(int)
    known = np.where(np.abs(place - moved) < 1e-9, _sum(plain.known, place), GRID.low)
    return Series(_shifted(plain.terms, -place), _of_lost(x, known))


def _log(x: Any) -> Series:
    x = as_series(x)
    require_real(x)
    if x.logs.any():
        raise UnknownSeries
    lead = x.lead
    zero = lead >= x.known
    a = _shifted(x.terms, np.where(zero, 0, lead) - GRID.low)
    w = np.zeros_like(x.terms)
    with silence():
        w[-GRID.low] = np.log(a[0])
        used = [j for j in range(1, GRID.high) if a[j].any()]
        for k in range(1, GRID.high):
            total = np.zeros_like(a[0])
            for j in used:
                if j >= k:
                    break
                total = total + (k - j) * a[j] * w[k - j - GRID.low]
            w[k - GRID.low] = (a[k] - total / k) / a[0]
    known = np.where(x.known >= EXACT, GRID.high, x.known - lead)
    known = np.where(zero, GRID.low, np.where(np.isnan(w[-GRID.low]), OUTSIDE, known))
    known = _of_lost(x, np.where(x.zero, REFUSED, known))
    return Series(w, known, np.where(zero, 0.0, lead / GRID.root))


def _circular(x: Any, sign: float, first: Callable[..., Any], second: Callable[..., Any]) -> Any:
    """Two functions of which each is the other's slope, the second's with a sign."""
    x = as_series(x)
    require_real(x)
    if x.logs.any():
        raise UnknownSeries
    a = x.terms[-GRID.low :]
    s, c = np.zeros_like(x.terms), np.zeros_like(x.terms)
    with silence():
        s[-GRID.low], c[-GRID.low] = first(a[0]), second(a[0])
        used = [j for j in range(1, len(a)) if a[j].any()]
        for k in range(1, len(a)):
            for j in used:
                if j > k:
                    break
                s[k - GRID.low] += j * a[j] * c[k - j - GRID.low] / k
                c[k - GRID.low] += sign * j * a[j] * s[k - j - GRID.low] / k
    known = np.where(_is_small(x), np.minimum(x.known, GRID.high), GRID.low)
    known = np.where(x.outside, OUTSIDE, known)
    return Series(s, known), Series(c, known)


# --- Functions by their partials ----------------------------------------------------------------


def by_partials(partials: Sequence[Any], out: Any, args: Sequence[Any]) -> Series:
    """The series of a function, from its value and its partials `(out, *args)`.

    Its change is the integral of the partials times the changes of the arguments. A partial that
    reads the result gets more of it each time, until no more becomes known.
    """
    moving = [at for at, x in enumerate(args) if isinstance(x, Series)]
    slopes = [_slope(args[at]) for at in moving]
    shape = np.broadcast_shapes(*(args[at].shape for at in moving), np.shape(out))
    found = constant(np.broadcast_to(out, shape))
    found = Series(found.terms, np.minimum(found.known, 1))
    for _ in range(GRID.width):
        total: Any = 0.0
        for at, slope in zip(moving, slopes, strict=True):
            total = _add(total, _multiply(as_partial(partials[at](found, *args)), slope))
        made = _integral(total, out)
        if (made.known <= found.known).all():
            return made
        found = made
    return found


def _slope(x: Series) -> Series:
    """The derivative by the root of e, times that root."""
    if x.logs.any():
        raise UnknownSeries
    powers = np.arange(GRID.low, GRID.high).reshape((-1,) + (1,) * x.ndim)
    return Series(x.terms * powers, x.known)


def _integral(x: Series, start: Any) -> Series:
    powers = np.arange(GRID.low, GRID.high).reshape((-1,) + (1,) * x.ndim)
    terms = x.terms / np.where(powers == 0, 1, powers)
    logs = x.terms[-GRID.low] / GRID.root * (x.known > 0)
    terms[-GRID.low] = 0
    start = np.broadcast_to(start, x.shape)
    finite = np.isfinite(start)
    terms[-GRID.low] = np.where(finite, start, 0)
    found = Series(terms, np.where(finite, x.known, np.minimum(x.known, 0)), logs)
    # Beside an infinity the constant is not known.
    return Series(terms, np.where(found.infinite, np.minimum(found.known, 0), found.known), logs)


def applied(function: Any, args: Sequence[Any]) -> Any:
    """A ufunc of series and constants."""
    known = UFUNCS.get(function)
    if known is None:
        along = getattr(declared_rule(function), "along", function)
        return smooth(function, args) if along is function else along(*args)
    return known(*args)


def smooth(function: Callable[..., Any], args: Sequence[Any]) -> Series:
    """The series of a function of each element, by its derivatives at the limit of one argument.

    These are known of a point alone, at which the function may have a kink, a jump or an end of
    its domain that its rule treats apart: so values beside it must be those of the series.
    """
    moving = [at for at, x in enumerate(args) if isinstance(x, Series)]
    if len(moving) != 1 or args[moving[0]].dtype.kind == "c":
        raise UnknownSeries
    (at,) = moving
    x = args[at]
    finite = np.isfinite(x.limit)
    shape = np.broadcast_shapes(*(np.shape(limit_of(each)) for each in args))
    start = np.broadcast_to(np.where(finite, x.limit, 1.0), shape)

    def f(value: Any) -> Any:
        return function(*args[:at], value, *args[at + 1 :])

    key = (
        function,
        at,
        shape,
        *(np.asarray(each).tobytes() for each in (start, *args) if each is not x),
    )
    taylor = GRID.taylor if GRID.taylor is not None else {}
    if key not in taylor:
        taylor[key] = _derivatives(f, start)
    values = taylor[key]
    if values is None:
        raise UnknownSeries
    beside = [f(x.at(step)) for step in BESIDE]
    change = _add(x, -start)
    found: Any = 0.0
    for k in range(len(values) - 1, -1, -1):
        found = _add(_multiply(found, change), values[k] / math.factorial(k))
    known = np.minimum(found.known, np.minimum(change.lead * len(values), GRID.high))
    found = Series(found.terms, known)
    return _unless(~(finite & agrees(found, beside)), found, x)


def agrees(found: Series, beside: Sequence[Any]) -> Any:
    """Whether a series is that of a function of these values at the steps `BESIDE`.

    The error falls with the step, by the first power that is not known; an infinite series is
    believed.
    """
    errors = [np.abs(found.at(by) - there) for by, there in zip(BESIDE, beside, strict=True)]
    power = np.clip(found.known, 0, GRID.high) / GRID.root
    sound = np.ones(found.shape, bool)
    for at, room in ((1, 5), (2, 2)):
        falls = errors[at] <= room * errors[at - 1] * (BESIDE[at] / BESIDE[at - 1]) ** power
        sound = sound & (falls | (errors[at] <= 1e-11 * np.abs(beside[at])))
    unasked = found.infinite | found.outside | (found.known <= 0)
    return sound | unasked


def at_step(x: Any, by: float) -> Any:
    """The value of a series at a step; a plain one as it is."""
    return x.at(by) if isinstance(x, Series) else x


def but_outside(x: Series, *given: Any) -> Series:
    """A series, outside where one of those is that it is made of."""
    lost = [np.broadcast_to(each.outside, x.shape) for each in given if isinstance(each, Series)]
    known = np.where(np.any(lost, axis=0), OUTSIDE, x.known) if lost else x.known
    return Series(x.terms, known, x.logs)


def _derivatives(function: Callable[[Any], Any], x: Any) -> list[Any] | None:
    """The value of a function of each element, and its derivatives; None if these are unknown."""
    values: list[Any] = []
    try:
        for _ in range(MOST):
            values.append(function(x))
            function = _derivative(function)
    except OverflowError:  # of a recording that would be long
        pass
    except Exception:  # noqa: BLE001 - a rule of the program's, at a point that it did not choose
        return None
    return values if all(np.result_type(value).kind == "f" for value in values) else None


def _derivative(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The derivative of a function of each element."""

    def derivative(x: Any) -> Any:
        one = np.ones(np.shape(x))
        most = LONGEST * max(one.size, 1)
        found, _ = push_function(lambda given: function(given[0]), [x], [one], [one], most)
        return one * 0 if found is None else found

    return derivative


def slope_along(out: Series, x: Series) -> Series:
    """The derivative of a function by its argument, which moves, from the series of both."""
    return _multiply(_slope(out), _reciprocal(_slope(x)))


def limit_of(x: Any) -> Any:
    return x.limit if isinstance(x, Series) else x


def beside_limit(x: Any) -> Any:
    """A little beside the limit of a series, on its side; a value as it is."""
    if not isinstance(x, Series):
        return x
    limit = x.limit
    if x.dtype.kind == "c":
        return limit
    finite = np.isfinite(limit)
    way = np.nan_to_num((x - constant(np.where(finite, limit, 0))).sign)
    return np.where(finite, limit + STEP * np.maximum(np.abs(limit), 1) * way, limit)


def _raised(x: Any, p: Any) -> Series:
    if isinstance(p, Series):
        raise NoSeries
    exponents = np.unique(p)
    if exponents.size != 1:
        raise UnknownSeries
    (number,) = exponents.tolist()
    if number == 0:
        return constant(np.ones(np.broadcast_shapes(x.shape, np.shape(p))))
    return _power(x, number, lambda first: first**number)


def _sign(x: Series) -> Any:
    """The signs, all of which must be known but for those outside of a domain."""
    found = np.where(x.outside, 0.0, x.sign)
    if x.refused.any():
        raise NoSeries
    if np.isnan(found).any():
        raise UnknownSeries
    return found


def _unless(unknown: Any, x: Series, *given: Series) -> Series:
    """A series, of which nothing is known where the condition holds."""
    outside = np.any([np.broadcast_to(each.outside, x.shape) for each in given], axis=0)
    known = np.where(unknown, np.where(outside, OUTSIDE, GRID.low), x.known)
    return Series(x.terms, known, x.logs)


def _direction(x: Any) -> Series:
    """x over its magnitude: the sign on this side."""
    x = as_series(x)
    if x.dtype.kind == "c":
        return _multiply(x, _reciprocal(_absolute(x)))
    sign = x.sign
    return _unless(np.isnan(sign), constant(np.nan_to_num(sign)), x)


def _absolute(x: Any) -> Series:
    x = as_series(x)
    if x.dtype.kind == "c":
        return _power(_multiply(x, _conjugate(x)).real, 0.5, np.sqrt)
    sign = x.sign
    return _unless(np.isnan(sign), _multiply(x, constant(np.nan_to_num(sign))), x)


def _signed(x: Any, y: Any) -> Series:
    if not isinstance(y, Series):
        return _multiply(_absolute(x), np.copysign(1.0, y))
    way = _direction(y)
    if way.zero.any():  # of a zero that stays, whose sign bit is not known
        raise UnknownSeries
    return _multiply(_absolute(x), way)


def _conjugate(x: Series) -> Series:
    return Series(np.conjugate(x.terms), x.known, x.logs)


def _compared(how: Callable[..., Any]) -> Callable[..., Any]:
    def compare(x: Any, y: Any) -> Any:
        return how(_sign(_add(x, _negative(as_series(y)))), 0)

    return compare


def _where(condition: Any, x: Any, y: Any) -> Series:
    if isinstance(condition, Series):
        raise UnknownSeries
    x, y = as_series(x), as_series(y)
    a, b = _aligned(x, y)
    return Series(
        np.where(condition, a, b),
        np.where(condition, x.known, y.known),
        np.where(condition, x.logs, y.logs),
    )


def _larger(of_larger: int) -> Callable[..., Any]:
    def choose(x: Any, y: Any) -> Series:
        x, y = as_series(x), as_series(y)
        sign = of_larger * _add(x, _negative(y)).sign
        return _unless(np.isnan(sign), _where(sign >= 0, x, y), x, y)

    return choose


UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: _add,
    np.subtract: lambda x, y: _add(x, _negative(as_series(y))),
    np.negative: _negative,
    np.positive: lambda x: x,
    np.conjugate: _conjugate,
    np.multiply: _multiply,
    np.divide: lambda x, y: _multiply(x, _reciprocal(y)),
    np.reciprocal: _reciprocal,
    np.square: lambda x: _multiply(x, x),
    np.sqrt: lambda x: _power(x, 0.5, np.sqrt),
    np.cbrt: lambda x: _power(x, 1 / 3, np.cbrt),
    np.power: _raised,
    np.float_power: _raised,
    np.exp: _exp,
    np.expm1: lambda x: _add(_exp(x), -1.0),
    np.log: _log,
    np.log1p: lambda x: _log(_add(x, 1.0)),
    np.log2: lambda x: _multiply(_log(x), 1 / np.log(2)),
    np.log10: lambda x: _multiply(_log(x), 1 / np.log(10)),
    np.sin: lambda x: _circular(x, -1, np.sin, np.cos)[0],
    np.cos: lambda x: _circular(x, -1, np.sin, np.cos)[1],
    np.sinh: lambda x: _circular(x, 1, np.sinh, np.cosh)[0],
    np.cosh: lambda x: _circular(x, 1, np.sinh, np.cosh)[1],
    np.absolute: _absolute,
    np.fabs: _absolute,
    np.sign: _direction,
    np.copysign: _signed,
    np.hypot: lambda x, y: _power(_add(_multiply(x, x), _multiply(y, y)), 0.5, np.sqrt),
    np.maximum: _larger(1),
    np.fmax: _larger(1),
    np.minimum: _larger(-1),
    np.fmin: _larger(-1),
    np.greater: _compared(np.greater),
    np.greater_equal: _compared(np.greater_equal),
    np.less: _compared(np.less),
    np.less_equal: _compared(np.less_equal),
    np.equal: _compared(np.equal),
    np.not_equal: _compared(np.not_equal),
}
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.real: lambda x: x.real,
    np.imag: lambda x: x.imag,
    np.zeros_like: lambda x: np.zeros(x.shape),
    np.ones_like: lambda x: np.ones(x.shape),
}

__all__ = [
    "BESIDE",
    "GRID",
    "HERE",
    "LOST",
    "OUTSIDE",
    "ROUNDING",
    "THERE",
    "UFUNCS",
    "ZERO",
    "NoSeries",
    "Series",
    "UnknownSeries",
    "agrees",
    "as_partial",
    "as_series",
    "at_step",
    "beside_limit",
    "but_outside",
    "by_partials",
    "constant",
    "grid",
    "limit_of",
    "remembering",
    "slope_along",
    "smooth",
    "state_of_sum",
    "step",
    "unknown",
]
