"""tanhsinh and nsum: integrals and sums whose elements belong to elements of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from tapegrad._core.forms import general
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import in_trace, innermost, lift, raw_value
from tapegrad._errors import BatchingError, InputError, message
from tapegrad._transforms.closures import Hoisted
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.primitives import primitive
from tapegrad._warning import warn
from tapegrad.scipy._questions import holds_mapped
from tapegrad.scipy._undetermined import without_derivative
from tapegrad.scipy.integrate._quadrature import as_float

_LOST = 1e-7  # the relative error from which on an integral is suspected of a jump


class _Sum(NamedTuple):
    """One call: its routine, how its function is made, and which of its arrays may move.

    The arrays are two limits, `elements` arguments that go by elements, and what the function
    closes over, of which `bind` makes the function.
    """

    name: str
    bind: Function
    elements: int
    options: dict[str, Any]
    moves: tuple[bool, ...]

    @property
    def key(self) -> str:
        return "integral" if self.name == "tanhsinh" else "sum"

    def parts(self, arrays: Sequence[Value]) -> tuple[Any, Any, tuple[Any, ...], tuple[Any, ...]]:
        end = 2 + self.elements
        return arrays[0], arrays[1], tuple(arrays[2:end]), tuple(arrays[end:])

    def computed(self, f: Function, a: Any, b: Any, args: Any) -> Any:
        return getattr(scipy.integrate, self.name)(f, a, b, args=args, **self.options)

    def partial(self, k: int, arrays: Sequence[Value]) -> Any:
        """The derivative of each element by that of a limit or an argument."""
        a, b, args, held = self.parts(arrays)
        if k < 2:
            return self.bind(held)(arrays[k], *args) * (1 if k else -1)

        def moved(x: Any, *args: Any) -> Any:
            args = tuple(map(np.copy, args))  # SciPy's are np.broadcast_arrays', whose flags warn
            dots = [
                np.ones_like(y) if i == k - 2 else np.zeros_like(y) for i, y in enumerate(args)
            ]
            return jvp(lambda *args: self.bind(held)(x, *args), args, tuple(dots))[1]

        return self._again(moved, a, b, args)

    def along(self, dots: Sequence[Tangent], arrays: Sequence[Value]) -> Any:
        """The derivative where what the function closes over moves."""
        a, b, args, held = self.parts(arrays)
        filled = tuple(
            np.zeros_like(x) if dot is None else dot for x, dot in zip(held, dots, strict=True)
        )

        def moved(x: Any, *args: Any) -> Any:
            return jvp(lambda *held: self.bind(held)(x, *args), held, filled)[1]

        return self._again(moved, a, b, args)

    def _again(self, f: Function, a: Any, b: Any, args: Any) -> Any:
        return _by_elements(self.name, f, a, b, args, self.options)[self.key]


@primitive
def _value(*arrays: Value, call: _Sum) -> Value:
    a, b, args, held = call.parts(arrays)
    return np.asarray(call.computed(call.bind(held), a, b, args)[call.key])


def _value_jvp(dots: Sequence[Tangent], _out: Value, *arrays: Value, call: _Sum) -> Tangent:
    end = 2 + call.elements
    terms = [call.partial(k, arrays) * dots[k] for k in range(end) if dots[k] is not None]
    if any(dot is not None for dot in dots[end:]):
        terms.append(call.along(dots[end:], arrays))
    return sum(terms[1:], terms[0])


def _value_vjp(g: Cotangent, _out: Value, *arrays: Value, call: _Sum) -> Any:
    end = 2 + call.elements
    bars: list[Any] = [
        _summed(g * call.partial(k, arrays), arrays[k]) if call.moves[k] else None
        for k in range(end)
    ]
    held = arrays[end:]
    for k, x in enumerate(held):
        row = []
        for unit in np.eye(int(np.prod(x.shape))):
            dots: list[Any] = [None] * len(held)
            dots[k] = np.reshape(unit, x.shape)
            row.append(np.sum(g * call.along(dots, arrays)))
        bars.append(np.reshape(np.stack(row), x.shape))
    return bars


def _summed(bar: Value, like: Value) -> Any:
    """A cotangent summed over the axes that its argument was repeated along."""
    extra = bar.ndim - like.ndim
    if extra > 0:
        bar = np.sum(bar, axis=tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(like.shape) if n == 1 and bar.shape[i] != 1)
    return np.sum(bar, axis=axes, keepdims=True) if axes else bar


general(_value, jvp=_value_jvp, vjp=_value_vjp, name="scipy.integrate.tanhsinh")


def _by_elements(name: str, f: Function, a: Any, b: Any, args: Any, options: Any) -> Any:
    """The result of `tanhsinh` or `nsum`, with its value traced where something is."""
    args = args if isinstance(args, tuple) else (args,)
    named = options.get("kwargs") or {}
    hoisted = Hoisted(f)
    if innermost([a, b, *map(lift, (*args, *named.values())), *hoisted.values]) is None:
        return getattr(scipy.integrate, name)(f, a, b, args=args, **options)
    if named:
        options = {key: value for key, value in options.items() if key != "kwargs"}
        hoisted, args = Hoisted(_by_place(f, tuple(named))), (*args, *named.values())
    given = [a, b, *map(lift, args), *hoisted.values]
    whole = f"scipy.integrate.{name}"
    if options.get("log") or options.get("preserve_shape"):
        got = "log=True" if options.get("log") else "preserve_shape=True"
        advice = "Take np.log of the result, or a call for each element"
        raise InputError(message(whole, "neither log nor preserve_shape", got, advice))
    if any(map(holds_mapped, given)):
        raise BatchingError(
            f"{whole}: not under vmap. Pass arrays in args, with one element each."
        )
    moves = tuple(map(in_trace, given))
    call = _Sum(name, hoisted.then().filled, len(args), options, moves)
    given = [as_float(x) for x in given]
    plain_a, plain_b, plain_args, held = call.parts([raw_value(x) for x in given])
    found = call.computed(hoisted.filled(held), plain_a, plain_b, plain_args)
    value = _value(*given, call=call)
    found[call.key] = _unless_lost(found, value, given) if name == "tanhsinh" else value
    return found


def _unless_lost(found: Any, value: Value, given: Sequence[Value]) -> Value:
    """The integrals, without a derivative by all that is given where they did not converge.

    A jump at a place that moves may be the reason, which the derivative at the nodes does not see.
    """
    lost = np.abs(found.error) > _LOST * np.abs(found.integral)
    lost = lost & ~np.asarray(found.success)
    if not np.any(lost):
        return value
    warn(
        "scipy.integrate.tanhsinh: the integral did not converge, and its derivative is NaN: the "
        "integrand may jump at a place that moves. Split the integral at the jump."
    )
    source = sum(np.sum(np.real(x)) for x in given)
    return np.where(lost, without_derivative(value, source), value)


def _by_place(f: Function, names: tuple[str, ...]) -> Function:
    """A function that takes its arguments of these names as its last ones."""

    def call(x: Any, *args: Any) -> Any:
        first = len(args) - len(names)
        return f(x, *args[:first], **dict(zip(names, args[first:], strict=True)))

    return call


def tanhsinh(f: Function, a: Any, b: Any, *, args: Any = (), **options: Any) -> Any:
    """Integrate by the tanh-sinh rule, as SciPy's tanhsinh, with derivatives.

    They are those by finite limits, args and what f closes over. Each element of an array that f
    closes over costs one more integral. A plain call is SciPy's.

    Parameters
    ----------
    f : callable
        The integrand, `f(x, *args)`, elementwise.
    a, b : array_like
        The limits, which broadcast with each other and args.
    args : tuple of array_like, default ()
        Further arguments of the function.
    **options : object
        SciPy's: kwargs, maxlevel, minlevel, atol, rtol, callback; of plain values log and
        preserve_shape too.

    Returns
    -------
    object
        SciPy's result. The integral is traced, the rest is plain. Each element belongs to those of
        a, b and args.

    Raises
    ------
    InputError
        Of log and preserve_shape, and of a limit that is traced and infinite.
    BatchingError
        Under vmap.

    Warns
    -----
    UserWarning
        If an integral does not converge: its derivative is NaN.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> total = lambda b: np.sum(tanhsinh(np.exp, 0.0, b).integral)
    >>> bool(np.allclose(tapegrad.grad(total)(np.array([0.5, 1.0])), np.exp([0.5, 1.0])))
    True
    """
    for end in (a, b):
        if in_trace(end) and not np.all(np.isfinite(raw_value(end))):
            raise InputError(
                message(
                    "scipy.integrate.tanhsinh",
                    "finite limits where they are traced",
                    "infinite ones",
                    "An infinite limit is a constant",
                )
            )
    return _by_elements("tanhsinh", f, a, b, args, options)


def nsum(f: Function, a: Any, b: Any, *, step: Any = 1, args: Any = (), **options: Any) -> Any:
    """Sum a series, as SciPy's nsum, with derivatives by args and what f closes over.

    A plain call is SciPy's.

    Parameters
    ----------
    f : callable
        The terms, `f(x, *args)`, elementwise.
    a, b : array_like
        The first and the last term; constants.
    step : array_like, default 1
        The step; a constant.
    args : tuple of array_like, default ()
        Further arguments of the function.
    **options : object
        SciPy's: kwargs, maxterms, tolerances; of plain values log too.

    Returns
    -------
    object
        SciPy's result. The sum is traced, the rest is plain.

    Raises
    ------
    InputError
        If a, b or step is traced, or of log.
    BatchingError
        Under vmap.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> zeta = lambda s: nsum(lambda k: k**-s, 1, np.inf).sum
    >>> bool(np.isclose(tapegrad.grad(zeta)(2.0), -0.937548254316))
    True
    """
    for key, value in {"a": a, "b": b, "step": step}.items():
        if in_trace(lift(value)):
            raise InputError(
                message("scipy.integrate.nsum", f"a constant {key}", "a traced one", "")
            )
    return _by_elements("nsum", f, a, b, args, {**options, "step": step})


__all__ = ["nsum", "tanhsinh"]
