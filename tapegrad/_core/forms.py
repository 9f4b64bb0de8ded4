"""The seven forms in which a function is declared.

Knows what each form says about values, cotangents and tangents. Must not know which functions
exist, nor the class of traced arrays.

Rules are plain NumPy code over `(out, *args, **params)`: arrays are positional, everything else
goes by keyword. A parameter whose name starts with an underscore is not read: the tape keeps only
its shape and dtype for the replay. A rule ignores broadcasting and dtypes, because the replay fits
the returned cotangent to its argument.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad._core.backward import replay_backward
from tapegrad._core.entry import MINUS, Outputs, Spec
from tapegrad._core.fit import FEW, apart, fit_cotangent, has_nan, is_finite, is_sound, zeros_of
from tapegrad._core.forward_tape import ForwardTape
from tapegrad._core.out import write_out
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.rule import BATCH_WORDS, REGISTRY, Rule
from tapegrad._core.scatter import add_at, zeros_at_level_of
from tapegrad._core.settled import NUMBER, AllWays, summing
from tapegrad._core.tape import Tape
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value
from tapegrad._core.values import (
    PYTHON_NUMBERS,
    Mapped,
    Scatter,
    Traced,
    is_recorded_number,
    untraced,
)
from tapegrad._errors import NotDifferentiableError, RuleError, name_of

Partial = Function | int | None


def _reads(function: Function, skip: int, count: int) -> tuple[list[bool], bool]:
    """Which of `count` array arguments a derivative reads, and whether it reads `out`.

    `skip` parameters (a cotangent, say) come before `out`.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return [True] * count, True
    names = code.co_varnames[: code.co_argcount]
    reads_out = len(names) > skip and not names[skip].startswith("_")
    reads = [not name.startswith("_") for name in names[skip + 1 : skip + 1 + count]]
    return reads + [True] * (count - len(reads)), reads_out


def _positional_count(function: Function) -> int:
    """How many arguments without a default a rule's function takes by position."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return 3
    return int(code.co_argcount) - len(getattr(function, "__defaults__", None) or ())


def _of_count(reads: list[bool], count: int) -> list[bool]:
    """What a derivative reads of a call with another number of arguments, as *args allow."""
    return reads if len(reads) == count else [*reads, *[True] * count][:count]


def _either(first: Sequence[bool], second: Sequence[bool]) -> list[bool]:
    return [a or b for a, b in zip(first, second, strict=True)]


def strong_product(g: Cotangent, partial: Value) -> Value:
    """`g * partial`, but exactly zero where one factor is zero, even if the other is inf or NaN.

    A branch that `np.where` did not take gets a cotangent of zero, which must stay zero. An
    infinite cotangent, as a square root gives at 0, must not turn the zero in `2 * x` into NaN.

    >>> with np.errstate(invalid="ignore"):
    ...     strong_product(np.array([0.0, 2.0, np.inf]), np.array([np.inf, 3.0, 0.0]))
    array([0., 6., 0.])
    """
    if isinstance(g, Traced) or isinstance(partial, Traced):
        return STRONG.apply_bound([g, partial], {})
    product = g * partial
    whole = isinstance(product, (np.ndarray, Mapped)) and not is_recorded_number(product)
    if whole and is_finite(product):
        return product  # the frequent case costs one sum
    return np.where((g == 0) | (partial == 0), 0, product)


class Elementwise(Rule):
    """out[i] depends on the i-th element of each argument; there is one partial per argument.

    A replay uses the ordinary product as long as no cotangent is infinite, except for rules that
    are declared `strong`. It calls `x_partial` and `y_partial`, which may raise for a number of
    Python's (see `_also_of_numbers`), and then the same one of `partials`.
    """

    form = "elementwise"
    times = staticmethod(strong_product)

    def __init__(
        self,
        function: Function,
        partials: Sequence[Partial],
        *,
        strong: bool = False,
        to_real: bool = False,
        product: bool = False,
        together: Function | None = None,
        **options: Any,
    ) -> None:
        """`to_real`: the result is real for complex arguments too (np.absolute).

        `product`: the function is np.multiply, or computes the same. `together`: a function of
        `wanted` that gives one for all cotangents `(g, out, *args)` of a call, where they share
        work, or cost less than products with partials. It gets real arrays of one dtype, and
        Python numbers, and returns None for a call that it leaves to the partials; the last
        cotangents may be left out. Those of a strong rule are asked as well where it gives one
        that is not finite.
        """
        if len(partials) == 2 or together is not None:
            options["settle_all"] = self._settle_together
            options["numbers"] = together is not None
        self.together = together
        super().__init__(function, arrays=len(partials), **options)
        self.declared = len(partials)
        self.partials = [_as_partial(partial) for partial in partials]
        self.x_partial = self.partials[0]
        self.y_partial = self.partials[1] if len(partials) == 2 else None
        self.unary = len(partials) == 1
        self.to_real = to_real
        self.strong = strong
        self.product = product
        self._reads = [
            ([False] * len(partials), False)
            if partial is None or partial is MINUS
            else _reads(partial, 0, len(partials))
            for partial in self.partials
        ]
        if len(partials) == 2 and not product:
            for position, (reads, _) in enumerate(self._reads):
                if reads[1 - position]:
                    self.partials[position] = _also_of_numbers(self.partials[position])
        # Which values the short path of the traced array keeps, by (is x traced, is y traced).
        self.keeps = {
            wanted: (*map(bool, self.needs(wanted)[0]), self.needs(wanted)[1])
            for wanted in (
                [(True,)] if self.unary else [(True, False), (False, True), (True, True)]
            )
            if len(partials) <= 2
        }

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        args, out = [False] * len(wanted), False
        for want, (reads, reads_out) in zip(wanted, self._reads, strict=False):
            if want:
                args, out = _either(args, _of_count(reads, len(wanted))), out or reads_out
        return args, out

    def pull(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
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
                bars.append(self.times(g, partial(out, *args)))
        return bars

    def _settle_together(
        self, specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, **params: Any
    ) -> AllWays | None:
        """The ways of a call whose arguments broadcast, by sums that are known beforehand."""
        if params or any(spec.dtype is not out.dtype and spec is not NUMBER for spec in specs):
            return None
        if self.together is not None and not (out.shape and out.dtype.char in "fd"):
            return None
        sums = [
            summing(out.shape, spec.shape) if want else None
            for want, spec in zip(wanted, specs, strict=True)
        ]
        pull = self._by_partials(operator.mul, wanted, sums)
        strong = self._by_partials(self.times, wanted, sums) if self.strong else None
        if self.together is not None:
            pull = _summed(self.together(tuple(wanted)), sums, strong or pull)
        return AllWays(pull, self._settled_push(out), strong)

    def _settled_push(self, out: Spec) -> Function:
        """The tangent of such a call: that of each argument is multiplied as a cotangent is."""
        if self.together is None and len(self.partials) == 2:
            return self._settled_push_of_two(out)
        shape, times, together = out.shape, self.times, self.together
        count = len(self.partials)
        alone: list[Function] = []
        if together is not None:
            each = [tuple(at == i for i in range(count)) for at in range(count)]
            alone = [_silent(together(wanted)) for wanted in each]

        def by_partials(dots: Sequence[Tangent], out: Value, *args: Value) -> Tangent:
            dot = self._pushed(times, dots, out, args)
            return dot if dot.shape == shape else np.broadcast_to(dot, shape)

        def push(dots: Sequence[Tangent], out: Value, *args: Value) -> Tangent:
            total = None
            for at, dot in enumerate(dots):
                if dot is None:
                    continue
                terms = alone[at](dot, out, *args)
                if terms is None or self.strong and not is_finite(terms[at]):
                    return by_partials(dots, out, *args)
                total = terms[at] if total is None else total + terms[at]
            return by_partials(dots, out, *args) if has_nan(total) else total

        return by_partials if together is None else push

    def _settled_push_of_two(self, out: Spec) -> Function:
        """The same by two partials; products are strong ones if others make a NaN."""
        along_x, along_y = (_step(partial, operator.mul, None) for partial in self.partials)
        has_product = not {None, MINUS}.issuperset(self.partials)
        shape, dtype, small = out.shape, out.dtype, out.size <= FEW

        def push(dots: Sequence[Tangent], out: Value, x: Value, y: Value) -> Tangent:
            x_dot, y_dot = dots
            if x_dot is None:
                dot = along_y(y_dot, out, x, y)
            elif y_dot is None:
                dot = along_x(x_dot, out, x, y)
            else:
                dot = along_x(x_dot, out, x, y)
                dot = dot + along_y(y_dot, out, x, y)
            if has_product and has_nan(dot):
                dot = self._pushed(self.times, dots, out, (x, y))
            if dot.shape == shape:
                return dot
            if not small:
                return np.broadcast_to(dot, shape)
            made = np.empty(shape, dtype)  # at a tenth of the price of np.broadcast_to
            made[...] = dot
            return made

        return push

    def _by_partials(
        self, times: Function, wanted: Sequence[bool], sums: Sequence[Function | None]
    ) -> Function:
        """The cotangents of a call with two arguments, or more, summed to their shapes."""
        steps = [
            _step(partial, times, total) if want else None
            for partial, want, total in zip(self.partials, wanted, sums, strict=True)
        ]
        if len(steps) != 2:
            return lambda *call: [None if step is None else step(*call) for step in steps]
        by_x, by_y = steps

        def pull(g: Cotangent, out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
            return (
                None if by_x is None else by_x(g, out, x, y),
                None if by_y is None else by_y(g, out, x, y),
            )

        return pull

    def push(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
        dot = self._pushed(operator.mul, dots, out, args)
        return dot if is_sound(dot) else self._pushed(self.times, dots, out, args)

    def push_plainly(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
        times = self.times if self.strong else operator.mul
        return self._pushed(times, dots, out, args)

    def _pushed(
        self, times: Function, dots: Sequence[Tangent], out: Value, args: Sequence[Value]
    ) -> Tangent:
        terms = [
            dot
            if partial is None
            else -dot
            if partial is MINUS
            else times(dot, partial(out, *args))
            for dot, partial in zip(dots, self.partials, strict=False)
            if dot is not None
        ]
        return _add_up(terms)


def _step(partial: Any, times: Function, total: Function | None) -> Function:
    """The cotangent of one of several arguments, summed to its shape."""
    if partial is None:
        return (lambda g, *_: g) if total is None else (lambda g, *_: total(g))
    if partial is MINUS:
        return (lambda g, *_: -g) if total is None else (lambda g, *_: -total(g))
    if total is None:
        return lambda g, out, *args: times(g, partial(out, *args))
    return lambda g, out, *args: total(times(g, partial(out, *args)))


def _silent(function: Function) -> Function:
    """A function without NumPy's warnings: where it would warn, the partials are asked as well."""

    def called(*args: Value) -> Any:
        token = VARIABLE.set(SILENT)
        try:
            return function(*args)
        finally:
            VARIABLE.reset(token)

    return called


def _summed(
    together: Function, sums: Sequence[Function | None], by_partials: Function
) -> Function:
    """The cotangents of a rule's own function, or by its partials, summed to their shapes."""
    none = all(total is None for total in sums)

    def pull(*call: Value) -> Sequence[Cotangent]:
        token = VARIABLE.set(SILENT)  # `_silent`, written out
        try:
            found: Sequence[Cotangent] | None = together(*call)
        finally:
            VARIABLE.reset(token)
        if found is None:
            return by_partials(*call)
        if none:
            return found
        return [
            bar if bar is None or total is None else total(bar)
            for bar, total in zip(found, sums, strict=False)
        ]

    return pull


def _also_of_numbers(partial: Any) -> Function:
    """A partial by one of two arguments, for calls whose other one may be a Python number.

    Entries keep a number as the program wrote it, and Python's arithmetic raises where NumPy's
    gives inf or nan: `1 / 0.0`, or a float of `10**200 * 10**200`. Then the partial is computed
    again with a NumPy scalar, of the dtype that NumPy gives the number beside the array. A partial
    that reads no array becomes a Python number again, which leaves the cotangent its dtype.
    """

    def of_numbers(out: Value, x: Value, y: Value) -> Any:
        try:
            return partial(out, x, y)
        except (ZeroDivisionError, OverflowError):
            first = type(x) in PYTHON_NUMBERS
            if not first and type(y) not in PYTHON_NUMBERS:
                raise
        beside = y if first else x
        if beside is None:
            beside = out
        pair = (_typed(x, beside), y) if first else (x, _typed(y, beside))
        found = partial(out, *pair)
        return found.item() if beside is None else found

    return of_numbers


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


class Linear(Rule):
    """A function linear in all its arrays together: its pushforward is the function itself."""

    form = "linear"

    def __init__(
        self,
        function: Function,
        transposes: Sequence[Function | None],
        *,
        fixed: int = 0,
        variadic: bool = False,
        **options: Any,
    ) -> None:
        """`fixed`: how many leading arrays are not differentiated (the condition of np.where)."""
        options.setdefault("arrays", fixed + len(transposes))
        super().__init__(function, **options)
        self.declared = None if variadic else fixed + len(transposes)
        self.transposes = transposes
        self.fixed = fixed
        self.variadic = variadic

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [position < self.fixed for position in range(len(wanted))], False

    def pull(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Cotangent]:
        if self.variadic:
            transpose = self.transposes[0]
            assert transpose is not None
            return list(transpose(g, out, *args, wanted=wanted, **params))
        bars: list[Any] = [None] * self.fixed
        for transpose, want in zip(self.transposes, wanted[self.fixed :], strict=False):
            bars.append(transpose(g, out, *args, **params) if want and transpose else None)
        return bars + [None] * (len(args) - len(bars))

    def push(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
        given = next(dot for dot in dots if dot is not None)
        filled = [
            dot
            if dot is not None
            else arg
            if position < self.fixed or arg is None
            else _zero_tangent(arg, given)
            for position, (arg, dot) in enumerate(zip(args, dots, strict=True))
        ]
        return _called(self, filled, params)


def _zero_tangent(arg: Value, given: Tangent) -> Tangent:
    """The tangent of a constant argument of a linear function."""
    if not hasattr(arg, "shape"):
        return 0
    return np.zeros(arg.shape, arg.dtype if arg.dtype.kind in "fc" else given.dtype)


class Multilinear(Rule):
    """A function linear in each of its arrays, with one transpose per argument.

    Its tangent is the sum over the arguments of the function with that argument's tangent.
    """

    form = "multilinear"

    def __init__(
        self,
        function: Function,
        transposes: Sequence[Function],
        *,
        variadic: bool = False,
        **options: Any,
    ) -> None:
        options.setdefault("arrays", len(transposes))
        super().__init__(function, **options)
        self.declared = None if variadic else len(transposes)
        self.transposes = transposes
        self.variadic = variadic
        # A product reads every other argument, whatever its transposes look like.

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        others = [any(wanted[:i]) or any(wanted[i + 1 :]) for i in range(len(wanted))]
        return others, False

    def pull(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Cotangent]:
        if self.variadic:
            return list(self.transposes[0](g, out, *args, wanted=wanted, **params))
        if len(args) == 2 == len(self.transposes):  # the frequent case
            by_x, by_y = self.transposes
            return (
                by_x(g, out, *args, **params) if wanted[0] else None,
                by_y(g, out, *args, **params) if wanted[1] else None,
            )
        bars = [
            transpose(g, out, *args, **params) if want else None
            for transpose, want in zip(self.transposes, wanted, strict=False)
        ]
        return bars + [None] * (len(args) - len(bars))

    def push(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
        terms = []
        for position, dot in enumerate(dots):
            if dot is not None:
                replaced = [*args[:position], dot, *args[position + 1 :]]
                terms.append(_called(self, replaced, params))
        return _add_up(terms)


def _called(rule: Rule, arrays: list[Value], params: Params) -> Any:
    """The rule's function of tangents; of NumPy's own arrays without a search for traced ones."""
    for array in arrays:
        if type(array) is not np.ndarray:
            return rule.apply_bound(arrays, params)
    return rule.call(arrays, params)


# The tangents that rules of Hermitian matrices have got, and None for each replay backward, where
# a check wants to know them.
_WATCHED: ContextVar[list[Any] | None] = ContextVar("tapegrad_watched", default=None)


@contextmanager
def watching() -> Iterator[list[Any]]:
    """Collect the tangents of matrices that are Hermitian by promise: see `general`."""
    seen: list[Any] = []
    token = _WATCHED.set(seen)
    try:
        yield seen
    finally:
        _WATCHED.reset(token)


def _watch(dot: Tangent) -> None:
    seen = _WATCHED.get()
    if seen is not None:
        seen.append(dot)


class General(Rule):
    """Any other function, by a vjp, a jvp or both; a missing one is derived by transposing."""

    form = "general"

    def __init__(
        self,
        function: Function,
        *,
        vjp: Function | Sequence[Function | None] | None = None,
        jvp: Function | None = None,
        hermitian: bool = False,
        **options: Any,
    ) -> None:
        """`vjp(g, out, *args, **params)`: one function per argument, or one that returns them all.

        `jvp(dots, out, *args, **params)` gets one tangent (or None) per argument. Either may be
        left out: it is then derived by transposing the other, to any order.
        """
        self._each = None if vjp is None or callable(vjp) else list(vjp)
        self._joint = vjp if callable(vjp) else None
        if vjp is None and jvp is None:
            raise RuleError(f"{name_of(function)}: expected a vjp or a jvp, got neither.")
        if self._each is not None:
            options.setdefault("arrays", len(self._each))
        else:
            given = self._joint or jvp
            assert given is not None
            options.setdefault("arrays", _positional_count(given) - 2)
        super().__init__(function, **options)
        self._jvp = jvp
        self.declared = None if self._each is None else len(self._each)
        self.hermitian = hermitian

    @property
    def vjp(self) -> Any:
        """The declared vjp: a function for all arguments, a list of functions, or None."""
        return self._joint or self._each

    @property
    def jvp(self) -> Function | None:
        """The declared jvp, or None."""
        return self._jvp

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        count = len(wanted)
        reads: list[tuple[list[bool], bool]] = []
        if self._joint is not None:
            reads.append(_reads(self._joint, 1, count))
        for vjp, want in zip(self._each or [], wanted, strict=False):
            if vjp is not None and want:
                reads.append(_reads(vjp, 1, count))
        if self._jvp is not None:
            reads.append(_reads(self._jvp, 1, count))
        args, out = [False] * count, False
        for more, more_out in reads:
            args, out = _either(args, more), out or more_out
        return args, out

    def pull(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Cotangent]:
        if self.hermitian:
            _watch(None)
        if isinstance(out, Outputs):
            g = [zeros_of(o) if part is None else part for part, o in zip(g, out, strict=True)]
        if self.foreign:
            g = apart(g)
        bars: Sequence[Any]
        if self._joint is None and self._each is None:
            bars = self._transposed_jvp(g, out, args, params, wanted)
        elif self._each and len(args) == 1 and self._each[0] is not None:  # the frequent case
            bars = (self._as_value(self._each[0](g, out, args[0], **params)),)
        else:
            bars = self._checked(self.cotangents(g, out, args, params, wanted), args)
        return apart(bars) if self.foreign else bars

    def cotangents(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Any],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Any]:
        """What the functions of the vjp return, one (or None) per argument, unchecked."""
        if self._joint is not None:
            given = self._joint(g, out, *args, **params)
            return given if isinstance(given, (tuple, list)) else (given,)
        found = [
            vjp(g, out, *args, **params) if want and vjp is not None else None
            for vjp, want in zip(self._each or (), wanted, strict=False)
        ]
        return found + [None] * (len(args) - len(found))

    def _checked(self, parts: Sequence[Value], like: Sequence[Value]) -> Sequence[Any]:
        """The values that a rule returned, one (or None) per argument; numbers become arrays."""
        if len(parts) != len(like):
            raise RuleError(
                f"{self.name}: its rule returned {len(parts)} values, expected {len(like)}. "
                "Return one (or None) each."
            )
        return [self._as_value(part) for part in parts]

    def _as_value(self, part: Value) -> Any:
        if (
            type(part) is np.ndarray
            or part is None
            or hasattr(part, "shape")
            or isinstance(part, Scatter)
        ):
            return part
        if isinstance(part, (int, float, complex)):
            return np.asarray(part)
        raise RuleError(
            f"{self.name}: its rule returned a {type(part).__name__} as a cotangent or tangent. "
            "Return an array, or None for zeros."
        )

    def push(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
        if self.hermitian:
            _watch(dots[0])
        if self._jvp is not None:
            out_dot = self._jvp(dots, out, *args, **params)
            if isinstance(out, Outputs):
                return self._checked(out_dot, out)
            return self._as_value(out_dot)
        return self._transposed_vjp(dots, out, args, params)

    def _transposed_vjp(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
        """The tangent by the transpose of the vjp: the vjp is linear in g."""
        several = isinstance(out, Outputs)
        wanted = [dot is not None for dot in dots]

        def cotangents_of(gs: list[Cotangent]) -> list[Any]:
            bars = self.pull(gs if several else gs[0], out, args, params, wanted)
            return [
                None if dot is None or bar is None else fit_cotangent(_dense(bar, arg), arg, self)
                for bar, dot, arg in zip(bars, dots, args, strict=True)
            ]

        parts = list(out) if several else [out]
        results = transpose_linear(cotangents_of, parts, dots)
        filled = [
            zeros_of(part) if dot is None else dot
            for part, dot in zip(parts, results, strict=True)
        ]
        if not several:
            return filled[0]
        return filled

    def _transposed_jvp(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Cotangent]:
        jvp = self._jvp
        assert jvp is not None
        several = isinstance(out, Outputs)
        active = [i for i, want in enumerate(wanted) if want]

        def tangents_of(given: list[Tangent]) -> list[Any]:
            dots: list[Any] = [None] * len(args)
            for position, dot in zip(active, given, strict=True):
                dots[position] = dot
            out_dot = jvp(dots, out, *args, **params)
            return list(out_dot) if several else [out_dot]

        bars: list[Any] = [None] * len(args)
        found = transpose_linear(tangents_of, [args[i] for i in active], g if several else [g])
        for position, bar in zip(active, found, strict=True):
            bars[position] = bar
        return bars


def _dense(bar: Cotangent, like: Value) -> Cotangent:
    """A cotangent as an array, also one that is a `Scatter`."""
    if not hasattr(bar, "index"):
        return bar
    return add_at(zeros_at_level_of(bar._value, like), bar.index, bar._value)


def transpose_linear(
    function: Callable[[list[Any]], list[Any]], likes: Sequence[Value], bars: Sequence[Cotangent]
) -> list[Any]:
    """Cotangents of the inputs of a linear function, from those of its outputs.

    The function runs once on zeros of the shapes of `likes`, on a tape of its own. It may close
    over values that another tape traces: the result is then differentiable on that tape.
    """
    return transpose_at(function, [np.zeros(like.shape, like.dtype) for like in likes], bars)


def transpose_at(
    function: Callable[[list[Any]], list[Any]], values: Sequence[Value], bars: Sequence[Cotangent]
) -> list[Any]:
    """The same for any function, at these values of its inputs."""
    tape = Tape("transpose_linear")
    try:
        inputs = [tape.wrap(value, tape.fresh()) for value in values]
        slots = [x.slot for x in inputs]
        outputs = function(list(inputs))
        table: list[Any] = [None] * (tape.fresh() + 1)
        for out, bar in zip(outputs, bars, strict=True):
            if bar is not None and isinstance(out, Traced) and out.tape is tape and out.slot >= 0:
                before = table[out.slot]
                table[out.slot] = bar if before is None else before + bar
        replay_backward(tape.entries, table, consume=True)
        return [table[slot] for slot in slots]
    finally:
        tape.close()


class Composite(Rule):
    """A function expressed by others, which are called with the arguments as they came.

    A call that is settled has an entry of its own. What it is settled to serves NumPy's own
    arrays; any other replay of the entry takes the definition, on a tape of its own.
    """

    form = "composite"

    def __init__(
        self,
        function: Function,
        definition: Function,
        *,
        primitive: Function | None = None,
        linear: bool = False,
        fixed: Sequence[int] = (),
        **options: Any,
    ) -> None:
        """`primitive`: of the arguments of a call, the `(rule, arrays, params)` it comes to.

        None for a call that the definition makes more of. It need not look at what the arrays are:
        where one is neither NumPy's, nor a number, nor of this tape, the definition is called.

        Of calls that are settled by `settle_all`: `linear`, whether they are linear, and `fixed`,
        which arrays are positions.
        """
        super().__init__(function, **options)
        self.definition = definition
        self.several = True
        self.primitive = primitive
        self.linear, self._fixed = linear, frozenset(fixed)

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        if self.deprecated:
            self.refuse_deprecated(kwargs)
        args, kwargs = self.split_out(args, kwargs)
        out = kwargs.pop("out", None)
        result = self.definition(*args, **kwargs)
        return result if out is None else write_out(out, result, self.name)

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [not self.linear or at in self._fixed for at in range(len(wanted))], False

    def defined(self, args: Sequence[Value], params: Params) -> Any:
        """The definition's result; arguments that no derivative reads may be specs."""
        arrays = [np.zeros(x.shape, x.dtype) if type(x) is Spec else x for x in args]
        return self.definition(*((arrays,) if self.sequence else arrays), **params)

    def pull(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Cotangent]:
        likes = [
            np.zeros(x.shape, x.dtype) if type(x) is Spec else x
            for x, want in zip(args, wanted, strict=True)
            if want
        ]
        found = iter(transpose_at(lambda xs: [self._at(xs, args, params, wanted)], likes, [g]))
        return [next(found) if want else None for want in wanted]

    def _at(
        self, given: Sequence[Value], args: Sequence[Value], params: Params, wanted: Sequence[bool]
    ) -> Any:
        """The definition with other values for some of the arguments."""
        values = iter(given)
        mixed = [next(values) if want else x for x, want in zip(args, wanted, strict=True)]
        return self.defined(mixed, params)

    def push(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
        tape = ForwardTape(self.name)
        try:
            given = []
            for x, dot in zip(args, dots, strict=True):
                if dot is not None:
                    cell = tape.fresh()
                    cell.tangent = dot
                    x = tape.wrap(np.zeros(x.shape, x.dtype) if type(x) is Spec else x, cell)
                given.append(x)
            made = self.defined(given, params)
            if not isinstance(made, Traced) or made.tape is not tape or made.slot == -1:
                return zeros_of(out)
            dot = made.slot.tangent
            return zeros_of(out) if dot is None else dot
        finally:
            tape.close()


class Constant(Rule):
    """A piecewise constant function: its derivative is zero, and its result is untraced."""

    form = "constant"

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self.split_out(args, kwargs)
        out = kwargs.get("out")
        traced_out = any(
            isinstance(x, Traced) for x in (out if isinstance(out, tuple) else (out,))
        )
        if traced_out:
            kwargs.pop("out")
        named = {name: untraced(value) for name, value in kwargs.items()}
        result = self.implementation(*map(untraced, args), **named)
        if not traced_out:
            return result
        return write_out(out, result, self.name, broadcast=isinstance(self.function, np.ufunc))


class Unsupported(Rule):
    """A function without a derivative: a call of it on traced values is an error."""

    form = "unsupported"

    def __init__(self, function: Function, reason: str, **options: Any) -> None:
        super().__init__(function, **options)
        self.reason = reason

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        raise NotDifferentiableError(f"{self.name}: not differentiable ({self.reason}).")


def _add_up(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _register(rule: Rule) -> Rule:
    known = REGISTRY.get(rule.function)
    if known is not None:
        raise RuleError(f"{rule.name}: already declared as {known.form}. Declare it once.")
    word = rule.batch
    if isinstance(word, str) and word not in BATCH_WORDS and not word.startswith("("):
        raise RuleError(f"{rule.name}: unknown batch={rule.batch!r}.")
    REGISTRY[rule.function] = rule
    return rule


def elementwise(function: Function, *partials: Partial, **options: Any) -> Rule:
    """Declare an elementwise function by one partial per argument.

    A partial is a function `(out, *args)` of broadcastable arrays, or 1 (or another number) where
    it is constant. `strong=True` where a partial can be infinite at a finite point: an exactly
    zero cotangent then stays zero. For a real result of a complex argument the partial is du/dx -
    i du/dy.

    >>> import numpy as np, tapegrad
    >>> @tapegrad.primitive
    ... def cube(x):
    ...     return x * x * x
    >>> tapegrad.elementwise(cube, lambda _, x: 3 * x**2)
    <elementwise cube>
    >>> tapegrad.grad(cube)(2.0)
    np.float64(12.0)
    """
    options.setdefault("batch", "align")
    return _register(Elementwise(function, partials, **options))


def partials_of(function: Function) -> list[Function] | None:
    """The partials `(out, *args)` of an elementwise or constant function; else None.

    A constant function has no partials. Those that are constant return a number.
    """
    rule = REGISTRY.get(function)
    if isinstance(rule, Constant):
        return []
    if not isinstance(rule, Elementwise):
        return None
    return [_as_function(partial) for partial in rule.partials]


def _as_function(partial: Any) -> Function:
    if partial is not None and partial is not MINUS:
        function: Function = partial
        return function
    number = 1 if partial is None else -1
    return lambda _out, *_args: number


def linear(function: Function, *transposes: Function | None, **options: Any) -> Rule:
    """Declare a linear function by its transposes `(g, out, *args, **params)`, one per argument.

    A transpose gets only the shapes and dtypes of the arguments. `fixed=k`: the first k arrays are
    not differentiated, and transposes get their values. `variadic=True`: one transpose returns all
    cotangents and gets `wanted`, one truth value per argument. `sequence=True`: the first argument
    is a list of arrays.
    """
    return _register(Linear(function, transposes, **options))


def multilinear(function: Function, *transposes: Function, **options: Any) -> Rule:
    """Declare a product, linear in each array, by a transpose `(g, out, *args, **params)` each."""
    return _register(Multilinear(function, transposes, **options))


def general(function: Function, **options: Any) -> Rule:
    """Declare any other function by `vjp=`, `jvp=` or both; one that is left out is derived.

    `vjp`: functions `(g, out, *args, **params)`, one per argument, or one for all that returns a
    tuple. `jvp`: a function `(dots, out, *args, **params)`, with None for an absent tangent. With
    several results, `g` and `out` are tuples, and the jvp returns one tangent (or None) for each.
    `hermitian=True`: the first argument is a matrix that is Hermitian (or symmetric) by promise,
    which has a derivative along Hermitian directions; these `tapegrad.testing` takes.
    """
    return _register(General(function, **options))


def composite(function: Function, definition: Function, **options: Any) -> Rule:
    """Declare a function by an equivalent definition in terms of differentiable functions.

    `linear=True`: a settled call (`settle=`) is linear in its arrays together, but for those at
    the positions `fixed=`, which are constants.
    """
    options.setdefault("batch", "align")
    return _register(Composite(function, definition, **options))


def constant(*functions: Function, **options: Any) -> None:
    """Declare functions whose derivative is zero where it exists; their results are untraced."""
    options.setdefault("batch", "align")
    for function in functions:
        _register(Constant(function, **options))


def unsupported(*functions: Function, reason: str, **options: Any) -> None:
    """Declare functions that cannot be differentiated, and why."""
    for function in functions:
        _register(Unsupported(function, reason, **options))


# Modules whose functions have no derivatives, and why; by name, so that none is imported.
UNSUPPORTED_MODULES: dict[str, str] = {}


def unsupported_module(name: str, reason: str) -> None:
    """Declare every function of a module as `unsupported` does, without importing it."""
    UNSUPPORTED_MODULES[name] = reason


# The strong product has a rule of its own, for second derivatives, where it is strong as well.
STRONG = elementwise(
    strong_product, lambda _out, _g, partial: partial, lambda _out, g, _partial: g, strong=True
)
