"""Functions whose derivatives the user gives: custom_vjp, custom_jvp, stop_gradient.

Knows the forms of rules and the tape's logging. A custom function differs from other rules in two
ways: its arguments are pytrees, and a replay may use the residuals that its forward pass saved.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._block import setting
from tapegrad._core.entry import spec_of
from tapegrad._core.fit import apart, zeros_of
from tapegrad._core.forms import General, transpose_linear
from tapegrad._core.reads import parameters_of, positional_count
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Tree, Value, Values, Wanted
from tapegrad._core.values import (
    Mapped,
    Traced,
    deepest_tape,
    is_inexact,
    is_mapped,
    level_of,
    strong,
    transformed,
    untraced,
)
from tapegrad._errors import MissingRuleError, RuleError, describe, message, name_of
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.vmap import vmap
from tapegrad._transforms.wrapper import found_by_name
from tapegrad._tree import flatten, flatten_like, tree_map, unflatten


def stop_gradient(x: Tree) -> Any:
    """The untraced value of x: a constant for every transform.

    Parameters
    ----------
    x : pytree
        Anything; arrays and numbers in containers.

    Returns
    -------
    pytree
        The same containers, with the values of what is traced. The rest is as it was.

    Examples
    --------
    >>> import tapegrad
    >>> tapegrad.grad(lambda x: x * stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return tree_map(_stopped, x)


def _stopped(leaf: Any) -> Any:
    if isinstance(leaf, Traced):
        value = untraced(leaf)
        stopped = _stopped(value)
        return value.copy() if stopped is value else stopped
    if is_mapped(leaf):  # what is traced may lie within a vmap
        inner = _stopped(leaf._value)
        return leaf if inner is leaf._value else type(leaf)(inner, leaf.vmap_level)
    return leaf


class CustomCall(General):
    """The rule of one call of a custom function, made for that call."""

    form = "custom"

    def __init__(
        self, name: str, forward: Function, pull: Function | None, push: Function | None
    ) -> None:
        self.name = name
        self.function = self.implementation = forward
        self.sequence = False
        self.batch = "loop"
        self.view = False
        self.singular = None
        self._needed = {}
        self._pull = pull
        self._push = push

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), True

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        g = [zeros_of(o) if part is None else part for part, o in zip(g, out, strict=True)]
        if self._pull is None:
            return self._transposed_jvp(g, out, args, params, wanted)
        return self._pulled(self._pull, g, args)

    def _pulled(self, pull: Function, g: Sequence[Cotangent], args: Values) -> Sequence[Cotangent]:
        """Cotangents of the arguments, by a function that may have transforms inside."""
        if transformed([*g, *args]) is not None:
            return [self._as_value(bar) for bar in pull(apart(g), args)]
        # So a transform inside opens a tape of its own, and drops its entries when it returns.
        with setting(CURRENT, None):
            return [self._as_value(apart(bar)) for bar in pull(apart(g), args)]

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        if self._push is not None:
            filled = [
                zeros_of(x) if dot is None else dot for dot, x in zip(dots, args, strict=True)
            ]
            return self._push(filled, args)
        return self._transposed_vjp(dots, out, args, params)

    def _transposed_jvp(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        push = self._push
        assert push is not None
        active = [i for i, want in enumerate(wanted) if want]

        def tangents_of(given: list[Any]) -> list[Any]:
            dots = [zeros_of(x) for x in args]
            for position, dot in zip(active, given, strict=True):
                dots[position] = dot
            return list(push(dots, args))

        bars: list[Any] = [None] * len(args)
        found = transpose_linear(tangents_of, [args[i] for i in active], g)
        for position, bar in zip(active, found, strict=True):
            bars[position] = bar
        return bars


def check_closure(name: str, parts: Sequence[Value], tape: Any) -> None:
    """Raise RuleError if a run on untraced arguments has a result that `tape` traces.

    `tape` is the tape of the arguments. The function then closes over a value of it, or of a
    transform inside. It may close over values of outer transforms.
    """
    if any(
        isinstance(part, Traced) and part.tape.root is tape.root or level_of(part) > tape.level
        for part in parts
    ):
        raise RuleError(
            f"{name}: it closes over a traced value, by which its derivative is not declared. "
            "Pass that value as an argument."
        )


class _Custom:
    """The base of custom_vjp and custom_jvp: it splits a call into leaves, and logs it."""

    _missing = "a derivative"

    def __init__(self, function: Function, nondiff_argnums: int | Sequence[int] = ()) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        fixed = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else nondiff_argnums
        self.nondiff_argnums = tuple(fixed)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _split(self, args: tuple[Value, ...]) -> tuple[list[Any], list[Any]]:
        """The arguments that are not differentiated, and those that are."""
        fixed = [args[i] for i in self.nondiff_argnums]
        return fixed, [x for i, x in enumerate(args) if i not in self.nondiff_argnums]

    def _joined(self, fixed: list[Any], trees: Sequence[Any]) -> list[Any]:
        rest = iter(trees)
        by_position = dict(zip(self.nondiff_argnums, fixed, strict=True))
        count = len(fixed) + len(trees)
        return [by_position[i] if i in by_position else next(rest) for i in range(count)]

    def _bound(self, args: tuple[Value, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not kwargs:
            return args
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise RuleError(
                message(
                    name_of(self.function),
                    "arguments that can be passed by position",
                    f"keywords {sorted(bound.kwargs)}",
                    "Make them positional parameters",
                )
            )
        return bound.args

    def __call__(self, *args: Tree, **kwargs: Any) -> Any:
        args = self._bound(args, kwargs)
        fixed, trees = self._split(args)
        leaves, structure = flatten(tuple(trees))
        inner = transformed(leaves)
        if inner is None:
            return self.function(*args)
        if isinstance(inner, Mapped):
            return self._mapped(inner, fixed, leaves, structure)
        run = self._call_of(fixed, structure)
        differentiable = [
            i for i, leaf in enumerate(leaves) if isinstance(leaf, Traced) or is_inexact(leaf)
        ]
        rule = run.rule(leaves, differentiable)
        parts = rule.apply_bound([leaves[i] for i in differentiable], {})
        return unflatten(run.out_structure, parts)

    def _mapped(self, inner: Value, fixed: list[Any], leaves: list[Value], structure: Any) -> Any:
        """A call inside vmap: a custom function of all examples, made by vmap of its functions."""
        vmap_level = inner.vmap_level
        arrays = [hasattr(leaf, "shape") for leaf in leaves]
        fronts = [
            vmap_level.front(leaf) if is_one else leaf
            for leaf, is_one in zip(leaves, arrays, strict=True)
        ]
        axes = list(unflatten(structure, [0 if is_one else None for is_one in arrays]))
        trees: list[Any] = list(unflatten(structure, fronts))
        in_axes = self._joined([None] * len(fixed), axes)
        out = self._vectorized(in_axes, len(fixed))(*self._joined(fixed, trees))
        return tree_map(vmap_level.wrap, out)

    def _vectorized(self, in_axes: list[Any], fixed: int) -> _Custom:
        raise NotImplementedError

    def _call_of(self, fixed: list[Any], structure: Any) -> _Run:
        raise NotImplementedError

    def __reduce_ex__(self, protocol: Any) -> Any:
        return found_by_name(self) or super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {name_of(self.function)}>"


class _Run:
    """One call of a custom function: its arguments that are not differentiated, and its trees."""

    def __init__(self, custom: Any, fixed: list[Any], structure: Any) -> None:
        self.custom = custom
        self.fixed = fixed
        self.structure = structure
        self.out_structure: Any = None
        self.residuals: Any = None
        self.name = name_of(custom.function)

    def rule(self, leaves: list[Value], differentiable: list[int]) -> CustomCall:
        def with_arrays(arrays: Sequence[Value]) -> list[Any]:
            filled = list(leaves)
            for position, array in zip(differentiable, arrays, strict=True):
                filled[position] = array
            trees: list[Any] = list(unflatten(self.structure, filled))
            return trees

        tape = deepest_tape(leaves)
        assert tape is not None

        def forward(*arrays: Value) -> tuple[Any, ...]:
            out = self.run(with_arrays(arrays))
            parts, self.out_structure = flatten(out)
            check_closure(self.name, parts, tape)
            for part in parts:
                require_known(self.name, part, arrays)
            return tuple(strong(part) for part in parts)

        return self.rule_of(forward, with_arrays, differentiable)

    def run(self, trees: list[Any]) -> Any:
        raise NotImplementedError

    def rule_of(
        self, forward: Function, with_arrays: Function, differentiable: list[int]
    ) -> CustomCall:
        raise NotImplementedError


def _require_taking(call: str, rule: Function, given: Sequence[str]) -> None:
    """Raise RuleError for a rule that cannot take the arguments that it gets."""
    names = parameters_of(rule)
    if names is None:
        return
    least = positional_count(rule)
    if not least <= len(given) <= len(names):
        expected = f"a function that takes ({', '.join(given)})"
        got = f"one that takes ({', '.join(names)})"
        raise RuleError(message(call, expected, got, "Declare it with these parameters"))


def _pair(call: str, given: Any, first: str, second: str) -> tuple[Any, Any]:
    """The two results of a rule."""
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return given[0], given[1]
    count = len(given) if isinstance(given, (tuple, list)) else None
    got = describe(given) if count is None else f"a {type(given).__name__} of {count}"
    expected = f"a pair ({first}, {second})"
    raise RuleError(message(call, expected, got, f"Return both: return {first}, {second}"))


class _VjpRun(_Run):
    def run(self, trees: list[Any]) -> Any:
        out, self.residuals = self.forward(trees)
        return out

    def forward(self, trees: list[Any]) -> tuple[Any, Any]:
        """The result, and what backward gets of it."""
        made = self.custom.forward(*self.custom._joined(self.fixed, trees))
        return _pair(f"forward of {self.name}", made, "out", "residuals")

    def rule_of(
        self, forward: Function, with_arrays: Function, differentiable: list[int]
    ) -> CustomCall:
        def pull(g: list[Cotangent], args: Values) -> list[Cotangent]:
            residuals = self.residuals
            if deepest_tape(list(args)) is not None:
                # A transform differentiates this replay: the residuals must be traced as well.
                residuals = self.forward(with_arrays(args))[1]
            out_bar = unflatten(self.out_structure, g)
            bars = self.custom.backward(*self.fixed, residuals, out_bar)
            leaves = self._cotangent_leaves(bars)
            return [leaves[position] for position in differentiable]

        return CustomCall(self.name, forward, pull, None)

    def _cotangent_leaves(self, bars: Cotangent) -> list[Any]:
        """The leaves of the cotangents that backward returned; None for zeros of an argument."""
        children = self.structure.children
        if not isinstance(bars, (tuple, list)) or len(bars) != len(children):
            got = f"{len(bars)}" if isinstance(bars, (tuple, list)) else type(bars).__name__
            raise RuleError(
                message(
                    f"backward of {self.name}",
                    f"a tuple of {len(children)} cotangents",
                    got,
                    "Return one (or None) for each argument that is differentiated",
                )
            )
        leaves: list[Any] = []
        for child, bar in zip(children, bars, strict=True):
            if bar is None:
                leaves += [None] * child.leaf_count
            else:
                leaves += flatten_like(child, bar, f"backward of {self.name}")
        return [strong(leaf) for leaf in leaves]


class _JvpRun(_Run):
    def run(self, trees: list[Any]) -> Any:
        return self.custom.function(*self.custom._joined(self.fixed, trees))

    def rule_of(
        self, forward: Function, with_arrays: Function, differentiable: list[int]
    ) -> CustomCall:
        def push(dots: Sequence[Tangent], args: Values) -> list[Tangent]:
            primals = with_arrays(args)
            tangents = [_zero_tangent(leaf) for leaf in flatten(tuple(primals))[0]]
            for position, dot in zip(differentiable, dots, strict=True):
                tangents[position] = dot
            tangents = unflatten(self.structure, tangents)
            call = f"jvp of {self.name}"
            made = self.custom.jvp(*self.fixed, tuple(primals), tangents)
            out, out_dot = _pair(call, made, "out", "out_dot")
            parts = flatten_like(self.out_structure, out_dot, call)
            for part, like in zip(parts, flatten(out)[0], strict=False):
                _require_fit(call, part, like)
            return [strong(part) for part in parts]

        return CustomCall(self.name, forward, None, push)


def _require_fit(call: str, dot: Tangent, like: Value) -> None:
    """Raise RuleError for a tangent that does not broadcast to its value."""
    shape, whole = np.shape(dot), np.shape(like)
    sides = zip(shape[::-1], whole[::-1], strict=False)
    if len(shape) > len(whole) or any(side not in (1, room) for side, room in sides):
        expected = f"an out_dot like out, {describe(like)}"
        raise RuleError(message(call, expected, describe(dot), "Return a tangent of that shape"))


def _zero_tangent(leaf: Value) -> Tangent:
    return zeros_of(spec_of(leaf)) if hasattr(leaf, "dtype") else 0.0


class custom_vjp(_Custom):
    """A function whose reverse derivative the user gives, as `jax.custom_vjp` does.

    Forward mode works too: it transposes backward. Higher derivatives differentiate forward and
    backward, which `defvjp` declares.

    Parameters
    ----------
    function : callable
        Function of pytrees; it is called as it is where nothing is differentiated.
    nondiff_argnums : int or sequence of int, default ()
        The positions of arguments that are not differentiated. They are passed first to backward.

    See Also
    --------
    custom_jvp : By the forward derivative.
    primitive : For functions of arrays: less to write, and faster.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1, 1),))
    >>> tapegrad.grad(lambda x: 10 * clipped(x))(2.0)
    np.float64(1.0)
    """

    forward: Function
    backward: Function

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Declare the derivative.

        Parameters
        ----------
        forward : callable
            Function `forward(*args)` that returns `(out, residuals)`.
        backward : callable
            Function `backward(residuals, out_bar)` that returns a tuple of cotangents, one (or
            None) for each argument that is differentiated.

        Raises
        ------
        RuleError
            Where one of them cannot take its arguments; from a transform, where it returns
            something else.
        """
        given = [*[f"fixed{i}" for i in self.nondiff_argnums], "residuals", "out_bar"]
        _require_taking(f"backward of {name_of(self.function)}", backward, given)
        known = parameters_of(self.function)
        if known is not None:
            _require_taking(f"forward of {name_of(self.function)}", forward, known)
        self.forward = forward
        self.backward = backward

    def _vectorized(self, in_axes: list[Any], fixed: int) -> _Custom:
        whole = custom_vjp(vmap(self.function, tuple(in_axes)), self.nondiff_argnums)
        whole.defvjp(
            vmap(self.forward, tuple(in_axes)), vmap(self.backward, (*[None] * fixed, 0, 0))
        )
        return whole

    def _call_of(self, fixed: list[Any], structure: Any) -> _Run:
        if not hasattr(self, "forward"):
            raise MissingRuleError(
                f"{name_of(self.function)}: no derivative yet. Call defvjp first."
            )
        return _VjpRun(self, fixed, structure)


class custom_jvp(_Custom):
    """A function whose forward derivative the user gives, as `jax.custom_jvp` does.

    Reverse mode works too: it transposes the rule, which must be linear in the tangents. `defjvp`
    or `defjvps` declares it.

    Parameters
    ----------
    function : callable
        Function of pytrees; it is called as it is where nothing is differentiated.
    nondiff_argnums : int or sequence of int, default ()
        The positions of arguments that are not differentiated. They are passed first to the rule.

    See Also
    --------
    custom_vjp : By the reverse derivative.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + np.exp(x))) * x_dot
    >>> tapegrad.grad(log1pexp)(0.0)
    np.float64(0.5)
    """

    jvp: Function

    def defjvp(self, jvp: Function) -> Function:
        """Declare the derivative. Usable as a decorator.

        Parameters
        ----------
        jvp : callable
            Function `jvp(primals, tangents)` of two tuples that returns `(out, out_dot)`.

        Returns
        -------
        callable
            The function that was given.

        Raises
        ------
        RuleError
            Where it cannot take these; from a transform, where it returns something else.
        """
        given = [*[f"fixed{i}" for i in self.nondiff_argnums], "primals", "tangents"]
        _require_taking(f"jvp of {name_of(self.function)}", jvp, given)
        self.jvp = jvp
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Declare the derivative by one function per argument, in place of `defjvp`.

        Parameters
        ----------
        *jvps : callable or None
            Function `(x_dot, out, *args)` that returns its part of the tangent; None where that is
            0.
        """

        def jvp(primals: Sequence[Tree], tangents: Sequence[Any]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                call = f"defjvps of {name_of(self.function)}"
                expected = f"{len(primals)} functions (or None), one for each argument"
                raise RuleError(message(call, expected, f"{len(jvps)}", "Declare one for each"))
            out = self(*primals)
            terms = [
                rule(dot, out, *primals)
                for rule, dot in zip(jvps, tangents, strict=True)
                if rule is not None
            ]
            return out, sum(terms[1:], start=terms[0]) if terms else zeros_of(out)

        self.jvp = jvp

    def _vectorized(self, in_axes: list[Any], fixed: int) -> _Custom:
        whole = custom_jvp(vmap(self.function, tuple(in_axes)), self.nondiff_argnums)
        differentiable = tuple(
            axis for i, axis in enumerate(in_axes) if i not in self.nondiff_argnums
        )
        whole.defjvp(vmap(self.jvp, (*[None] * fixed, differentiable, differentiable)))
        return whole

    def _call_of(self, fixed: list[Any], structure: Any) -> _Run:
        if not hasattr(self, "jvp"):
            raise MissingRuleError(
                f"{name_of(self.function)}: no derivative yet. Call defjvp first."
            )
        return _JvpRun(self, fixed, structure)
