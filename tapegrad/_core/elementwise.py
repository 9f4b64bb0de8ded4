"""Functions of each element by itself, and the strong product.

Knows partials, broadcasting, and how zero times infinity comes to zero. Must not know which
functions exist, nor the class of traced arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import MINUS
from tapegrad._core.fit import (
    RAISED_BY_NUMBERS,
    Over,
    are_absorbing,
    is_finite,
    multiplied,
)
from tapegrad._core.reads import either, of_count, reads_of, require_parameters
from tapegrad._core.rule import Partial, Rule, register
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted
from tapegrad._core.values import (
    PYTHON_NUMBERS,
    Mapped,
    Traced,
    as_one,
    in_place,
    is_numpy_number,
    untraced,
    without_traces,
)


def strong_product(g: Cotangent, partial: Value) -> Value:
    """`g * partial`, but exactly zero where g is zero, even if the partial is inf or NaN.

    A branch that `np.where` did not take gets a cotangent of zero, which must stay zero.

    >>> with np.errstate(invalid="ignore"):
    ...     strong_product(np.array([0.0, 2.0, np.inf]), np.array([np.inf, 3.0, 0.0]))
    array([ 0.,  6., nan])
    """
    if isinstance(g, Traced) or isinstance(partial, Traced):
        return STRONG.apply_bound([g, partial], {})
    product = g * partial
    if isinstance(product, Mapped):
        made = as_one(product, strong_product, g, partial)
        if made is not NotImplemented:
            return made
    whole = isinstance(product, (np.ndarray, Mapped)) and not is_numpy_number(product)
    if whole and is_finite(product):
        return product  # the frequent case costs one sum
    made = np.where(g == 0, 0, product)
    return made if whole else made[()]  # of numbers a number, as the product is


def resolved_product(g: Cotangent, partial: Value) -> Value:
    """`g * partial`, in a rule of the form `general` whose partial may be infinite.

    A zero times an infinity is NaN, so that the replay that tells structural zeros from others
    is asked. In that one, zeros of g absorb; it finds out by itself where one was computed.
    """
    return strong_product(g, partial) if are_absorbing() else g * partial


def selecting_product(g: Cotangent, partial: Value) -> Value:
    """The same with a partial whose zeros absorb too, as what it is zero for has no effect."""
    product = g * partial
    if isinstance(product, np.ndarray) and is_finite(product):
        return product
    return strong_product(np.where(untraced(partial) == 0, 0, g), partial)


class Elementwise(Rule):
    """out[i] depends on the i-th element of each argument; there is one partial per argument.

    A replay uses the ordinary product as long as no cotangent is infinite, except for rules that
    are declared `strong`. It calls `x_partial` and `y_partial`, which may raise for a number of
    Python's (see `_also_of_numbers`), and then the same one of `partials`.
    """

    form = "elementwise"
    times: Function = staticmethod(strong_product)

    def __init__(
        self,
        function: Function,
        partials: Sequence[Partial],
        *,
        strong: bool = False,
        to_real: bool = False,
        product: bool = False,
        fused_vjp: Function | None = None,
        never_nan: bool = False,
        broadcast_vjp: Function | None = None,
        selects: bool | Sequence[bool] = False,
        zeros: Sequence[int | None] = (),
        along: Function | None = None,
        kink: Function | None = None,
        opposite: bool = False,
        **options: Any,
    ) -> None:
        """`to_real`: the result is real for complex arguments too (np.absolute).

        `product`: the function is np.multiply, or computes the same. `fused_vjp`: a function of
        `wanted` that gives one for all cotangents `(g, out, *args)` of a call, where they share
        work, or cost less than products with partials. It gets real arrays of one dtype, and
        Python numbers, and returns None for a call that it leaves to the partials; the last
        cotangents may be left out. Those of a strong rule are asked as well where it gives one
        that is not finite. `never_nan`: the function of numbers is a number, never NaN.
        `broadcast_vjp`: the same as `fused_vjp` of arguments that broadcast, given a sum to the
        shape of each, or None, in place of `wanted` (False: not wanted); it gives the sums.
        `selects`: where a partial is zero the result does not depend on the argument; or for each
        one. `zeros`: for each argument the other one that has the same effect where it is a
        constant zero, or None. `kink`: a test of the arguments, for where the derivative is known
        on each side alone: that of `along`, the function of series (`_core/series.py`) on one
        side. Here it is NaN, and a replay takes the limit. `opposite`: at a kink the values on
        both sides are opposite, so that a linear program needs no limit (`settled_kinks`).
        """
        if selects:
            self.times = selecting_product
        self.selects, self.zeros = selects, (1, 0) if product and not zeros else zeros
        self.broadcast_vjp = broadcast_vjp
        if len(partials) == 2 or fused_vjp is not None:
            options["plan"] = lambda *call, **params: self.plan_of_form(*call, **params)
            options["numbers"] = fused_vjp is not None
        self.fused_vjp = fused_vjp
        super().__init__(function, arrays=len(partials), **options)
        self.declared = len(partials)
        for partial in partials:
            own = getattr(partial, "by", partial)
            rule = own if callable(own) else None
            require_parameters(self.name, rule, "out", function, len(partials), alone=True)
        self.partials = [_as_partial(partial) for partial in partials]
        self.along, self.sides = along or function, self.partials
        self.opposite = opposite
        if kink is not None:
            self.partials = [_unknown_at(kink, partial) for partial in self.partials]
        self.x_partial = self.partials[0]
        self.y_partial = self.partials[1] if len(partials) == 2 else None
        self.plain = not product and not isinstance(self.x_partial, Over)
        self.y_plain = not isinstance(self.y_partial, Over)
        self.unary = len(partials) == 1
        self.to_real = to_real
        self.strong = strong
        self.product = product
        self._reads = [_reads(partial, len(partials)) for partial in self.partials]
        if len(partials) == 2 and not product:
            for position, (reads, _) in enumerate(self._reads):
                if reads[1 - position]:
                    self.partials[position] = _also_of_numbers(self.partials[position])
        if strong and not never_nan:
            self.x_unseen = self._reads[0][1]
            self.y_unseen = len(partials) == 2 and self._reads[1][1]
        # Which values the short path of the traced array keeps, by (is x traced, is y traced).
        self.keeps = {
            wanted: (*map(bool, self.needs(wanted)[0]), self.needs(wanted)[1])
            for wanted in (
                [(True,)] if self.unary else [(True, False), (False, True), (True, True)]
            )
            if len(partials) <= 2
        }

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        args, out = [False] * len(wanted), False
        for want, (reads, reads_out) in zip(wanted, self._reads, strict=False):
            if want:
                args, out = either(args, of_count(reads, len(wanted))), out or reads_out
        return args, out

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        return self._pulled(operator.mul, g, out, args, wanted)

    def pull_strongly(
        self, g: Cotangent, out: Value, args: Values, _params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        """`pull` by strong products."""
        return self._pulled(self.times, g, out, args, wanted)

    def _pulled(
        self, times: Function, g: Cotangent, out: Value, args: Values, wanted: Wanted
    ) -> Sequence[Cotangent]:
        bars: list[Any] = []
        for partial, want in zip(self.partials, wanted, strict=False):
            if not want:
                bars.append(None)
            elif partial is None:
                bars.append(g)
            elif partial is MINUS:
                bars.append(-g)
            else:
                bars.append(multiplied(times, g, partial, out, args))
        return bars

    def plan_of_form(self, specs: Any, out: Any, wanted: Wanted, /, **params: Any) -> Any:
        """None: `fast/` plans the calls whose arguments broadcast."""

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        terms = [
            dot
            if partial is None
            else -dot
            if partial is MINUS
            else multiplied(operator.mul, dot, partial, out, args)
            for dot, partial in zip(dots, self.partials, strict=False)
            if dot is not None
        ]
        return add_up(terms)


def _reads(partial: Any, count: int) -> tuple[list[bool], bool]:
    """Which of the arguments a partial reads, and whether it reads the result."""
    if partial is None or partial is MINUS:
        return [False] * count, False
    if type(partial) is not Over:
        return reads_of(partial, 0, count)
    reads, out = reads_of(partial.by, 0, count)
    return reads, out or partial.of_out


def _also_of_numbers(partial: Any) -> Function:
    """A partial by one of two arguments, for calls whose other one may be a Python number.

    Entries keep a number as the program wrote it, and Python's arithmetic raises where NumPy's
    gives inf or nan: `1 / 0.0`, or a float of `10**200 * 10**200`. Then the partial is computed
    again with a NumPy scalar, of the dtype that NumPy gives the number beside the array. A partial
    that reads no array becomes a Python number again, which leaves the cotangent its dtype. An
    `Over` divides by the number still.
    """

    def of_numbers(out: Value, x: Value, y: Value) -> Any:
        try:
            return partial(out, x, y)
        except RAISED_BY_NUMBERS:
            first = type(x) in PYTHON_NUMBERS
            if not first and type(y) not in PYTHON_NUMBERS:
                raise
        beside = y if first else x
        if beside is None:
            beside = out
        pair = (_typed(x, beside), y) if first else (x, _typed(y, beside))
        found = partial(out, *pair)
        return found.item() if beside is None else found

    if type(partial) is Over:
        return Over(partial.by, of_out=partial.of_out, factor=of_numbers)
    return of_numbers


def _unknown_at(kink: Function, partial: Any) -> Function:
    """A partial that is NaN at a kink, and whose derivatives are those of the formula."""

    def unknown(out: Value, *args: Value) -> Value:
        made = partial(out, *args)
        return in_place(made, np.where(kink(*args), np.nan, without_traces(made)))

    return unknown


def _typed(number: Any, beside: Value) -> Any:
    """A Python number as a NumPy scalar, in double precision where nothing is beside it."""
    if beside is None:
        return np.complex128(number) if type(number) is complex else np.float64(number)
    dtype = beside.dtype  # a floating or complex one
    if type(number) is complex and dtype.kind != "c":
        dtype = np.result_type(dtype, 1j)
    return dtype.type(number)


def _as_partial(partial: Partial) -> Function | None:
    """None for a partial of 1 (the cotangent passes unchanged); constants become functions."""
    if partial == 1:
        return None
    if partial == -1:
        return MINUS
    if callable(partial) or partial is None:
        return partial
    constant = partial
    return lambda _out, *_args: constant


def add_up(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


# The strong product has a rule of its own, for second derivatives, where it is strong as well.
STRONG = register(
    Elementwise(
        strong_product,
        (lambda _out, _g, partial: partial, lambda _out, g, _partial: g),
        strong=True,
        zeros=(1, 0),
        along=np.multiply,
        batch="align",
    )
)
