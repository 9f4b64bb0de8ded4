"""Reverse mode: vjp, grad, value_and_grad.

Knows how a transform opens a recording, runs a function and replays the recording backward. Must
not know rules, or how arrays log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isinf
from typing import Any, ClassVar

import numpy as np

from tapegrad._core.entry import spec_of
from tapegrad._core.fit import any_nan, is_foreign
from tapegrad._core.operands import elements_of, follows_numpy, name_of_kind
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.types import Cotangent, Function, Tangent, Tree, Value
from tapegrad._core.values import (
    Buffer,
    Traced,
    is_array,
    is_inexact,
    is_plain_number,
    strong,
    untraced,
)
from tapegrad._errors import (
    InputError,
    OutputError,
    ShapeMismatchError,
    add_note,
    describe,
    message,
    name_of,
    text_of,
)
from tapegrad._transforms.caught import heed, heed_replay
from tapegrad._transforms.failures import add_forward_note, first_of
from tapegrad._transforms.inputs import Argnums, Inputs, Selection, own_copy
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.recording import NUMBER, Recording
from tapegrad._transforms.tracebacks import fold
from tapegrad._transforms.wrapper import Transformed, require_function
from tapegrad._tree import LEAF, Structure, flatten, flatten_like, tree_map, unflatten
from tapegrad._warning import warn


class IndependentOutputWarning(UserWarning):
    """The output of a differentiated function does not depend on its input.

    grad and value_and_grad warn, and what is made of them (hessian, hvp, elementwise_grad).
    jacobian, vjp, jvp and linearize do not: to be zero is no mistake of a linear map, such as the
    Hessian of a linear function.
    """


_ONE = np.float64(1)


# --- Transforms ---------------------------------------------------------------------------------


def value_and_grad(
    f: Function,
    argnums: Argnums = None,
    *,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Transformed:
    """A function that returns `(f(...), gradient)`.

    Parameters
    ----------
    f : callable
        Function with a real scalar output, as for `grad`.
    argnums : int or sequence of int, optional
        The positional arguments to differentiate by, as for `grad`.
    argnames : str or sequence of str, optional
        The keyword arguments to differentiate by, as for `grad`.
    has_aux : bool, default False
        Whether f returns `(value, aux)`.
    holomorphic : bool, default False
        Whether inputs and output are complex, and f is analytic.

    Returns
    -------
    callable
        Function of f's arguments that returns `(value, gradient)`, and with `has_aux`
        `((value, aux), gradient)`. It raises and warns as that of `grad` does.

    See Also
    --------
    grad : The gradient alone.

    Examples
    --------
    >>> value, gradient = value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """
    run = _gradient_runner(f, argnums, argnames, has_aux, holomorphic)

    def evaluate(*args: Tree, **kwargs: Any) -> Any:
        try:
            value, gradient, aux = run(args, kwargs)
        except BaseException as error:
            fold(error)
            raise
        return ((value, aux), gradient) if has_aux else (value, gradient)

    return Transformed(
        value_and_grad,
        f,
        {
            "argnums": argnums,
            "argnames": argnames,
            "has_aux": has_aux,
            "holomorphic": holomorphic,
        },
        evaluate,
    )


def grad(
    f: Function,
    argnums: Argnums = None,
    *,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Transformed:
    """The gradient of a function with a real scalar output, by reverse mode.

    Parameters
    ----------
    f : callable
        Function of arrays or scalars of a floating or complex dtype, or of pytrees of them. It
        returns a real scalar.
    argnums : int or sequence of int, optional
        The positional arguments to differentiate by; several give a tuple of gradients. By default
        the first, or none where `argnames` is given.
    argnames : str or sequence of str, optional
        The keyword arguments to differentiate by; several give a dict of gradients.
    has_aux : bool, default False
        Whether f returns `(value, aux)`. The result is then `(gradient, aux)`.
    holomorphic : bool, default False
        Whether inputs and output are complex, and f is analytic.

    Returns
    -------
    callable
        Function of f's arguments that returns the gradient, with the containers, shapes and dtypes
        of the arguments. With both `argnums` and `argnames` it returns a pair, that of the
        positions first.

    Raises
    ------
    InputError
        Where an input is of integers, or no array: when the returned function is called.
    OutputError
        Where the output is not a real scalar.
    ConversionError
        Where a traced value is about to become a plain one (`math.exp(x)`); also where f catches
        that error and so returns another value than on plain values: f then runs again, on these.

    Warns
    -----
    ConversionWarning
        Where f, run again, returns the same value: the derivative may lack a part.
    IndependentOutputWarning
        Where the output does not depend on the inputs, as a count or `stop_gradient(x)`; the
        gradient is 0. Transforms with other outputs do not warn.

    See Also
    --------
    value_and_grad : The value as well.
    jacobian : Functions whose output is an array.

    Notes
    -----
    For a complex input x + iy of a real output u the gradient is du/dx - i du/dy.

    Examples
    --------
    >>> grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(np.array([1.0, 2.0]), 3.0)
    (array([3., 3.]), np.float64(3.0))
    """
    run = _gradient_runner(f, argnums, argnames, has_aux, holomorphic)

    def gradient(*args: Tree, **kwargs: Any) -> Any:
        try:
            _, result, aux = run(args, kwargs)
        except BaseException as error:
            fold(error)
            raise
        return (result, aux) if has_aux else result

    return Transformed(
        grad,
        f,
        {
            "argnums": argnums,
            "argnames": argnames,
            "has_aux": has_aux,
            "holomorphic": holomorphic,
        },
        gradient,
    )


def _gradient_runner(
    f: Function,
    argnums: Argnums,
    argnames: str | Sequence[str] | None,
    has_aux: bool,
    holomorphic: bool,
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, Any, Any]]:
    """The function that grad and value_and_grad call: it returns value, gradient, aux."""
    name = f"grad({name_of(f)})"
    selection = Selection(f"{name}(...)", argnums, argnames)

    def differentiated(recording: Recording, inputs: Inputs, keep: bool) -> tuple[Any, Any, Any]:
        out = inputs.call(f, recording.inputs(inputs.leaves))
        aux = None
        if has_aux:
            out, aux = split_aux(name, out)
        recording.finish((out, aux) if has_aux else out)
        try:
            bars = _pull_scalar(name, recording, out, inputs.leaves, holomorphic, keep)
        except Exception as error:
            again = first_of(f) if has_aux else f
            add_forward_note(error, partial(inputs.call, again), inputs.leaves, recording)
            raise
        result = None if bars is None else (inputs.result(bars),)
        if has_aux:
            aux = tree_map(recording.strip, aux)
        return recording.strip(out), result, aux

    def run(
        args: tuple[Tree, ...], kwargs: dict[str, Any], keep: bool = False
    ) -> tuple[Any, Any, Any]:
        inputs = Inputs(selection, args, kwargs)
        recording = Recording(name)
        out, found, aux = recording.run(differentiated, inputs, keep)
        if found is None:
            # A replay over huge arrays frees them as it goes. In the rare case that it must be
            # repeated, with strong products, f runs again as well.
            return run(args, kwargs, keep=True)
        result = found[0]
        if recording.tape.root.refused is not None:
            heed(name, recording.tape.root, f, inputs, (out, aux) if has_aux else out)
        return out, result, aux

    return run


def split_aux(call: str, out: Tree) -> tuple[Any, Any]:
    """The two results of a function with `has_aux`."""
    if isinstance(out, tuple) and len(out) == 2:
        return out
    raise OutputError(
        message(call, "a pair (value, aux), for has_aux=True", describe(out), "Return both")
    )


def _pull_scalar(
    name: str,
    recording: Recording,
    out: Tree,
    leaves: list[Value],
    holomorphic: bool,
    keep: bool,
) -> list[Any] | None:
    if holomorphic or not isinstance(out, Traced) or out.spec is not NUMBER:
        _check_scalar(name, out, leaves, holomorphic)
    slot = recording.slot_of(out)
    if slot is None:
        found: list[Any] | None = [None] * len(leaves)
    else:
        spec = out.spec
        if spec is NUMBER:
            one: Any = _ONE
        else:
            one = np.ones(spec.shape, spec.dtype) if spec.shape else spec.dtype.type(1)
        consume = recording.huge and not recording.shared and not keep
        found = recording.pull([slot], [one], out, consume)
    # No path leads from the output to an input. The first says no in the frequent case.
    if found and found[0] is None and all(bar is None for bar in found):
        warn(
            f"{name}: the output does not depend on the input; the gradient is zero.",
            IndependentOutputWarning,
        )
    return found


def _check_scalar(name: str, out: Tree, leaves: list[Value], holomorphic: bool) -> None:
    if not isinstance(out, Traced) and is_array(out):
        require_known(f"{name}(x)", out, leaves)
    dtype = out.dtype if isinstance(out, Traced) or is_array(out) else None
    real = not holomorphic and dtype is not None and dtype.kind == "f"
    if real and (not out.shape or out.size == 1):
        return
    kind = "f" if isinstance(out, float) else "c" if isinstance(out, complex) else ""
    kind = dtype.kind if dtype is not None else kind
    wanted = "complex" if holomorphic else "real"
    if kind == ("c" if holomorphic else "f") and getattr(out, "size", 1) == 1:
        if holomorphic and not all(leaf.dtype.kind == "c" for leaf in leaves):
            raise InputError(
                message(
                    f"{name}(x)",
                    "complex inputs, for holomorphic=True",
                    ", ".join(map(describe, leaves)),
                    "Pass x.astype(complex)",
                )
            )
        return
    if kind == "c":
        advice = "Return a real number (np.abs, np.real), or pass holomorphic=True"
    elif holomorphic:
        advice = "Leave holomorphic=True away for a real output"
    else:
        advice = _advice(name, out, kind)
    raise OutputError(message(f"{name}(x)", f"a {wanted} scalar output", describe(out), advice))


def _advice(name: str, out: Tree, kind: str) -> str:
    """Advice about an output that is not a real scalar."""
    function = name[5:-1]
    if out is None:
        return "Return the value: a return statement may be missing"
    if isinstance(out, tuple) and len(out) > 1:
        if len(out) == 2:
            return "Pass has_aux=True to differentiate the first and get the second as it is"
        return "Return (value, aux), with the rest in aux, and pass has_aux=True"
    if is_array(out) and kind == "f":
        return f"Reduce it with np.sum, or use jacobian({function})"
    if kind in ("i", "u", "b") or isinstance(out, int):
        return "Return a floating number: counts and truth values have no derivative"
    if flatten(out)[1] is not LEAF:
        return f"Return the number alone, or use jacobian({function})"
    return "Return a number"


def _nan_places(leaves: list[Value]) -> list[Any] | None:
    """Where each result is NaN, as all its derivatives are; None for nowhere."""
    values: list[Any] = [leaf._value if isinstance(leaf, Traced) else None for leaf in leaves]
    if len(values) == 1 and type(values[0]) is np.float64:  # the frequent case
        return [np.True_] if values[0] != values[0] else None
    values = [None if value is None or is_foreign(value) else value for value in values]
    before = VARIABLE.get()
    try:
        VARIABLE.set(SILENT)  # squares may overflow
        found = any_nan(values)
    finally:
        VARIABLE.set(before)
    if not found:
        return None
    return [None if value is None else np.isnan(untraced(value)) for value in values]


def with_nan(parts: list[Any], nan: list[Any] | None) -> list[Any]:
    """Tangents or cotangents of results, NaN where these are and they are not zero."""
    if nan is None:
        return parts
    return [
        part
        if part is None or where is None
        else np.where(where & (untraced(part) != 0), np.nan, part)
        for part, where in zip(parts, nan, strict=True)
    ]


class LinearMap:
    """A recorded run of a function, which each call replays."""

    __slots__ = (
        "f",
        "infinite",
        "inputs",
        "name",
        "nan",
        "out_leaves",
        "out_slots",
        "recording",
        "slots",
        "structure",
    )

    transform: ClassVar[str]  # that returns such a map, for names in errors
    f: Function | None

    def __init__(
        self,
        name: str,
        recording: Recording,
        inputs: Inputs,
        leaves: list[Value],
        structure: Structure,
    ) -> None:
        self.name, self.recording, self.inputs = name, recording, inputs
        self.f = None
        self.slots, self.structure = recording.slots, structure
        for leaf in leaves:
            require_known(name, leaf, inputs.leaves)
        self.out_slots = [recording.slot_of(leaf) for leaf in leaves]
        self.out_leaves = [spec_of(leaf) if is_array(leaf) else leaf for leaf in leaves]
        self.nan = _nan_places(leaves)
        # The only output, where it is an infinite number: no limit is tried there.
        self.infinite = None
        if len(leaves) == 1 and isinstance(leaves[0], Traced):
            value = leaves[0]._value
            if type(value) is np.float64 and isinf(value):
                self.infinite = value


def run_with_map(
    kind: type[LinearMap], f: Function, primals: tuple[Tree, ...], has_aux: bool, *, copies: bool
) -> Any:
    """`(f(*primals), map)` with a map of this kind, and with `has_aux` aux.

    `copies`: the map may be called after the program has changed its arrays.
    """
    require_function(kind.transform, f)
    name = f"{kind.transform}({name_of(f)})"
    inputs = Inputs(Selection.of_all(name, len(primals)), primals, {})

    def mapped(recording: Recording) -> tuple[Any, LinearMap, Any]:
        traced = recording.inputs(inputs.leaves)
        try:
            out = inputs.call(f, traced)
        except (AttributeError, TypeError) as error:
            if len(primals) == 1 and isinstance(primals[0], (tuple, list)):
                _refuse_container(name, kind.transform, primals[0], error)
            raise
        out, aux = split_aux(name, out) if has_aux else (out, None)
        recording.finish((out, aux) if has_aux else out)
        leaves, structure = flatten(out)
        made = kind(name, recording, inputs, leaves, structure)
        made.f = first_of(f) if has_aux else f
        out = unflatten(made.structure, [own_copy(recording.strip(leaf)) for leaf in leaves])
        if has_aux:
            aux = tree_map(lambda leaf: own_copy(recording.strip(leaf)), aux)
        return out, made, aux

    recording = Recording(name, copies)
    out, made, aux = recording.run(mapped)
    if recording.tape.root.refused is not None:
        heed(name, recording.tape.root, f, inputs, (out, aux) if has_aux else out)
    return (out, made, aux) if has_aux else (out, made)


# Python's messages for an operation on a tuple or list that f took for an array.
_NO_CONTAINER = ("'tuple'", "'list'", "multiply sequence", "can only concatenate", "inhomogeneous")


def _refuse_container(
    name: str, transform: str, primal: tuple[Tree, ...] | list[Tree], error: Exception
) -> None:
    """Raise InputError if f failed on the container in which its only primal came.

    f may take a tuple, and fail for another reason: then the error gets a note alone.
    """
    kind = type(primal).__name__
    advice = f"Pass primals one by one: {transform}(f, x, y)"
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    # f was not even entered: it takes several arguments
    alone = place is not None and place.tb_frame.f_globals.get("__name__") == Inputs.__module__
    if alone or any(word in text_of(error) for word in _NO_CONTAINER):
        got = f"one {kind}, on which f raised {type(error).__name__}: {error}"
        raise InputError(message(name, "primals that f takes", got, advice)) from error
    add_note(error, f"{name}: f got its only primal as one {kind}. {advice}.")


class Pullback(LinearMap):
    """The result of `vjp`; it can be called with a cotangent of the output many times."""

    __slots__ = ()

    transform = "vjp"

    def __call__(self, out_bar: Tree) -> tuple[Any, ...]:
        """One cotangent per primal, each with its primal's containers, shapes and dtypes.

        Parameters
        ----------
        out_bar : pytree
            Of the structure and shapes of the output; Python numbers stand for scalars.

        Returns
        -------
        tuple of pytree
            New arrays, one entry per primal.

        Raises
        ------
        InputError
            Where `out_bar` is not like the output.
        ShapeMismatchError
            Where a shape is not that of its output.
        """
        call = f"pullback of {self.name}"
        try:
            bars = flatten_like(self.structure, out_bar, call)
            slots, given = [], []
            for slot, bar, like in zip(self.out_slots, bars, self.out_leaves, strict=True):
                if slot is not None or is_inexact(like):
                    bar = as_tangent(bar, like, call, "cotangent")
                if slot is not None:
                    slots.append(slot)
                    given.append(bar)
            if self.nan is not None:
                pairs = zip(self.nan, self.out_slots, strict=True)
                given = with_nan(given, [where for where, slot in pairs if slot is not None])
            found = self.recording.pull(slots, given, self.infinite)
            assert found is not None  # nothing was consumed
            return tuple(self.inputs.result(found, given))
        except BaseException as error:
            if self.f is not None:
                add_forward_note(
                    error, partial(self.inputs.call, self.f), self.inputs.leaves, self.recording
                )
            fold(error)
            raise


def as_tangent(dot: Tangent, like: Value, call: str, what: str) -> Tangent:
    """A tangent or cotangent given by a user, checked against its value and cast to its dtype."""
    kind: Any = type(dot)
    if kind is float:
        dot, kind = np.float64(dot), np.float64
    if kind is np.ndarray or kind is np.float64:  # the frequent cases
        if dot.dtype is like.dtype and dot.shape == like.shape:
            return dot
    elif issubclass(kind, Buffer):
        dot = dot.value
    elif is_plain_number(dot) and not isinstance(dot, (bool, np.generic)):
        dot = np.complex128(dot) if isinstance(dot, complex) else np.float64(dot)
    else:
        dot = strong(dot)
    if not is_array(dot) or dot.dtype.kind not in "iufc":
        raise InputError(
            message(call, f"a {what} like {describe(like)}", describe(dot), "Pass an array")
        )
    kind = type(dot)
    if not follows_numpy(kind):
        raise InputError(
            message(
                call,
                f"a {what} like {describe(like)}",
                f"a {name_of_kind(kind)}",
                f"Pass {elements_of(kind)}",
            )
        )
    if kind is not np.ndarray and issubclass(kind, np.ndarray):
        dot = dot.view(np.ndarray)
    if like.dtype.kind != "c" and dot.dtype.kind == "c":
        raise InputError(
            message(call, f"a real {what}", describe(dot), f"Pass one like {describe(like)}")
        )
    if dot.shape != like.shape:
        raise ShapeMismatchError(
            message(
                call,
                f"a {what} of shape {like.shape}",
                describe(dot),
                f"Pass one like {describe(like)}",
            )
        )
    return dot if dot.dtype == like.dtype else dot.astype(like.dtype)


def vjp(f: Function, *primals: Tree, has_aux: bool = False) -> Any:
    """`(f(*primals), pullback)`: the pullback maps a cotangent of the output to the primals'.

    Parameters
    ----------
    f : callable
        Function of as many positional arguments as there are primals. It returns a pytree of
        arrays.
    *primals : pytree
        Where f is called: floating or complex arrays or scalars, in containers.
    has_aux : bool, default False
        Whether f returns `(out, aux)`.

    Returns
    -------
    out : pytree
        The result of f, untraced.
    pullback : callable
        Function of a cotangent with the containers and shapes of `out` that returns a tuple with
        one cotangent per primal. It may be called many times, and keeps the values that it needs.
    aux : pytree
        With `has_aux` alone: the second result of f.

    Raises
    ------
    ConversionError
        As from `grad`, with its warning.
    InputError
        Where a primal is of integers, or (from the pullback) a cotangent is not like the output.
    ShapeMismatchError
        From the pullback, where the shape of a cotangent is not that of its output.

    See Also
    --------
    jvp : Forward mode, in one direction.
    linearize : The linear map of tangents.

    Examples
    --------
    >>> out, pullback = vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 3., 40.]), array([ 1., 20.]))
    """
    try:
        return run_with_map(Pullback, f, primals, has_aux, copies=True)
    except BaseException as error:
        fold(error)
        raise


def pull_once(name: str, f: Function, primals: Sequence[Tree], bars: Sequence[Cotangent]) -> Any:
    """Cotangents of the primals from those of the arrays that f returns in a sequence.

    It is a `vjp` whose pullback is called once, at once, so that nothing has to be copied. A
    replay over huge arrays frees them as it goes, as a gradient's does.
    """
    found = _pulled_once(name, f, primals, bars, keep=False)
    return _pulled_once(name, f, primals, bars, keep=True) if found is None else found


def _pulled_once(
    name: str, f: Function, primals: Sequence[Tree], bars: Sequence[Cotangent], keep: bool
) -> Any:
    """`pull_once`; None if the replay must be repeated, and has freed the values for that."""
    inputs = Inputs(Selection.of_all(name, len(primals)), tuple(primals), {})

    def pulled(recording: Recording) -> Any:
        out = f(*inputs.trees(recording.inputs(inputs.leaves)))
        consume = recording.huge and not recording.shared and not keep
        recording.finish(out)
        pairs = zip(map(recording.slot_of, out), bars, strict=True)
        given = [(at, bar) for at, bar in pairs if at is not None]
        del out, pairs
        try:
            slots, cotangents = [at for at, _ in given], [bar for _, bar in given]
            return recording.pull(slots, cotangents, None, consume)
        except Exception as error:
            add_forward_note(
                error, lambda leaves: f(*inputs.trees(leaves)), inputs.leaves, recording
            )
            raise

    recording = Recording(name)
    found = recording.run(pulled)
    if recording.tape.root.refused is not None:
        heed_replay(name, recording.tape.root)
    return None if found is None else inputs.result(found, bars)
