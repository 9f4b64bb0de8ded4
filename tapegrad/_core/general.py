"""Functions by a vjp, a jvp or both: one that is missing is derived by transposing the other.

Knows what such functions may return, and that a replay of a linear function transposes it. Must
not know which functions exist, nor the class of traced arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad._block import contextmanager, setting
from tapegrad._core import replay
from tapegrad._core.entry import Outputs
from tapegrad._core.fit import apart, fit_cotangent, zeros_of
from tapegrad._core.reads import either, positional_count, reads_of, require_parameters
from tapegrad._core.rule import Rule
from tapegrad._core.scatter import add_at, zeros_at_level_of
from tapegrad._core.tape import Tape
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted
from tapegrad._core.values import Scatter, Traced
from tapegrad._errors import RuleError, name_of

# The tangents that rules of Hermitian matrices have got, and None for each replay backward, where
# a check wants to know them.
_WATCHED: ContextVar[list[Any] | None] = ContextVar("tapegrad_watched", default=None)


@contextmanager
def watching() -> Iterator[list[Any]]:
    """Collect the tangents of matrices that are Hermitian by promise: see `general`."""
    seen: list[Any] = []
    with setting(_WATCHED, seen):
        yield seen


def _watch(dot: Tangent) -> None:
    seen = _WATCHED.get()
    if seen is not None:
        seen.append(dot)


class General(Rule):
    """Any other function, by a vjp, a jvp or both; a missing one is derived by transposing."""

    form = "general"
    planned_from_rule = 1

    def __init__(
        self,
        function: Function,
        *,
        vjp: Function | Sequence[Function | None] | None = None,
        jvp: Function | None = None,
        hermitian: bool = False,
        formula: Function | None = None,
        **options: Any,
    ) -> None:
        """`vjp(g, out, *args, **params)`: one function per argument, or one that returns them all.

        `jvp(dots, out, *args, **params)` gets one tangent (or None) per argument. Either may be
        left out: it is then derived by transposing the other, to any order. `formula(*args,
        **params)` says by other functions what it is, for a limit at a kink.
        """
        self.formula = formula
        self._each = None if vjp is None or callable(vjp) else list(vjp)
        self._joint = vjp if callable(vjp) else None
        if vjp is None and jvp is None:
            raise RuleError(f"{name_of(function)}: expected a vjp or a jvp, got neither.")
        if self._each is not None:
            options.setdefault("arrays", len(self._each))
        else:
            given = self._joint or jvp
            assert given is not None
            options.setdefault("arrays", positional_count(given) - 2)
        super().__init__(function, **options)
        self._jvp = jvp
        self.declared = None if self._each is None else len(self._each)
        self.hermitian = hermitian
        for each in self._each or [self._joint]:
            require_parameters(self.name, each, "g, out", function, self.declared or 0)
        require_parameters(self.name, jvp, "dots, out", function, self.declared or 0)

    @property
    def vjp(self) -> Any:
        """The declared vjp: a function for all arguments, a list of functions, or None."""
        return self._joint or self._each

    @property
    def jvp(self) -> Function | None:
        """The declared jvp, or None."""
        return self._jvp

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        count = len(wanted)
        reads: list[tuple[list[bool], bool]] = []
        if self._joint is not None:
            reads.append(reads_of(self._joint, 1, count))
        for vjp, want in zip(self._each or [], wanted, strict=False):
            if vjp is not None and want:
                reads.append(reads_of(vjp, 1, count))
        if self._jvp is not None:
            reads.append(reads_of(self._jvp, 1, count))
        args, out = [False] * count, False
        for more, more_out in reads:
            args, out = either(args, more), out or more_out
        return args, out

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
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
        wanted: Wanted,
    ) -> Sequence[Any]:
        """Results of the functions of the vjp, one (or None) per argument, unchecked."""
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

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        if self.hermitian:
            _watch(dots[0])
        if self._jvp is not None:
            out_dot = self._jvp(dots, out, *args, **params)
            if isinstance(out, Outputs):
                return self._checked(out_dot, out)
            return self._as_value(out_dot)
        return self._transposed_vjp(dots, out, args, params)

    def _transposed_vjp(
        self, dots: Sequence[Tangent], out: Value, args: Values, params: Params
    ) -> Tangent:
        """The tangent by the transpose of the vjp: the vjp is linear in g."""
        several = isinstance(out, Outputs)
        wanted = [dot is not None for dot in dots]

        def cotangents_of(gs: list[Cotangent]) -> list[Any]:
            bars = self.pull(gs if several else gs[0], out, args, params, wanted)
            return [
                None if dot is None or bar is None else fit_cotangent(dense(bar, arg), arg, self)
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
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
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


def dense(bar: Cotangent, like: Value) -> Cotangent:
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
    function: Callable[[list[Any]], list[Any]],
    values: Sequence[Value],
    bars: Sequence[Cotangent],
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
        replay.replay_backward(replay.emptying(tape.entries), table)
        return [table[slot] for slot in slots]
    finally:
        tape.close()
