"""The rule of one call of a primitive whose derivatives are given as HIPS autograd takes them.

`vjpmaker(argnums, ans, args, kwargs)` returns a function of the cotangent; `jvpmaker(argnums,
gs, ans, args, kwargs)` the tangent. Either does: the other follows by transposing. Knows tapes
and vmaps. Must not know which functions are primitives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad._batched.batching_rules import call_one_by_one
from tapegrad._block import setting
from tapegrad._core.entry import Outputs
from tapegrad._core.fit import apart, zeros_of
from tapegrad._core.forms import General
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Tree, Value, Values, Wanted
from tapegrad._core.values import (
    PYTHON_NUMBERS,
    Traced,
    any_true,
    in_trace,
    innermost,
    is_array,
    is_mapped,
    raw_value,
)
from tapegrad._errors import LeakedValueError, MissingRuleError, RuleError
from tapegrad._transforms.custom import check_closure
from tapegrad._tree import LEAF, Structure, flatten, flatten_like, unflatten
from tapegrad.autograd._spaces import SparseObject

# The derivatives that are declared, by primitive.
primitive_vjps: dict[Any, Callable[..., Any]] = {}
primitive_jvps: dict[Any, Callable[..., Any]] = {}


# Whether one replay after another pulls the rows of a Jacobian.
PULLS_ROWS: ContextVar[bool] = ContextVar("tapegrad_pulls_rows", default=False)

# How many jvps are being transposed, each within a replay of the one before.
_DEPTH: ContextVar[int] = ContextVar("tapegrad_transposing", default=0)
_DEEPEST = 12


# The types of an argument that is certainly no container, and holds nothing in a trace.
PLAIN = frozenset({*PYTHON_NUMBERS, np.ndarray, np.float64, str, type(None)})


class _Argument:
    """An argument of one call: its leaves, and the positions of those in a trace."""

    __slots__ = ("leaves", "places", "structure")

    def __init__(self, value: Tree) -> None:
        kind = type(value)
        if kind in PLAIN or issubclass(kind, Traced):  # the frequent cases
            self.leaves, self.structure = [value], LEAF
            self.places: tuple[int, ...] = () if kind in PLAIN else (0,)
            return
        self.leaves, self.structure = flatten(value)
        self.places = tuple([i for i, leaf in enumerate(self.leaves) if in_trace(leaf)])

    def arrays(self) -> list[Any]:
        """The leaves in a trace, which the argument does not keep."""
        found = [self.leaves[i] for i in self.places]
        for i in self.places:
            self.leaves[i] = None
        return found

    def tree(self, arrays: Sequence[Any]) -> Any:
        """The argument with arrays at its places."""
        if self.structure is LEAF:
            return arrays[0] if arrays else self.leaves[0]
        leaves = list(self.leaves)
        for place, array in zip(self.places, arrays, strict=True):
            leaves[place] = array
        return unflatten(self.structure, leaves)

    def parts(self, tree: Tree, call: str) -> list[Any]:
        """The leaves of a cotangent of the argument, at its places; None for zeros."""
        if type(tree) is SparseObject:
            tree = tree.dense()
        if self.structure is LEAF or tree is None:
            return [tree] * len(self.places)
        wanted = [False] * len(self.leaves)
        for place in self.places:
            wanted[place] = True
        leaves = _leaves_like(self.structure, tree, call, wanted)
        return [_dense(leaves[place]) for place in self.places]


def _leaves_like(
    structure: Structure, tree: Tree, call: str, wanted: Sequence[bool] | None = None
) -> list[Any]:
    """The leaves of a tree of this structure, of which those that are not wanted may be missing.

    A tuple may stand for a list or a namedtuple, and so may an array, for its rows. None stands
    for zeros.
    """
    if wanted is not None and (tree is None or not any(wanted)):
        return [None] * len(wanted)
    if structure.kind in (tuple, list) and is_array(tree) and tree.ndim:
        tree = list(tree)
    if isinstance(tree, (tuple, list)) and len(tree) == len(structure.children):
        leaves: list[Any] = []
        for child, part in zip(structure.children, tree, strict=True):
            count = child.leaf_count
            own = None if wanted is None else wanted[len(leaves) : len(leaves) + count]
            leaves.extend(_leaves_like(child, part, call, own))
        return leaves
    return flatten_like(structure, tree, call)


def _without(tape: Any, part: Any) -> Any:
    """A value of a tape as the value that it has."""
    while issubclass(type(part), Traced) and part.tape is tape:
        part = part._value
    return part


def _dense(part: Any) -> Any:
    return part.dense() if type(part) is SparseObject else part


class PrimitiveCall(General):
    """The rule of one call, made for that call: its arrays are the values in a trace."""

    def __init__(
        self, primitive: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.called, self.kwargs = primitive, kwargs
        self.arguments = arguments = [_Argument(arg) for arg in args]
        # Where the arrays stand, if no argument is a container; None otherwise.
        self.positions: list[int] | None = None
        if all(argument.structure is LEAF for argument in arguments):
            self.positions = [i for i, argument in enumerate(arguments) if argument.places]
        self.name = getattr(primitive, "__name__", "primitive")
        self.function = self.implementation = self._run
        self.sequence = self.view = False
        self.singular = None
        self.batch = "loop"
        self._needed = {}
        self.out_structure: Any = LEAF
        self.tape: Any = None  # of the innermost transform, if it is no vmap
        self._transposing = False  # whether the vjp is called for a tangent
        self._made: tuple[list[Any], Function] | None = None  # see `_vjp_of`
        self._vjp = primitive_vjps.get(primitive)
        self._jvp: Function | None = self._push if primitive in primitive_jvps else None
        if self._vjp is None and self._jvp is None:
            argnums = tuple(i for i, arg in enumerate(self.arguments) if arg.places)
            raise MissingRuleError(
                f"{self.name}: VJP wrt argnums {argnums} not defined. Declare it with defvjp, or "
                "a JVP with defjvp."
            )

    def call_traced(self) -> Any:
        """The result of the call, on the tape of the innermost transform."""
        arrays = [array for argument in self.arguments for array in argument.arrays()]
        inner = arrays[0] if len(arrays) == 1 else innermost(arrays)
        self.tape = inner.tape if issubclass(type(inner), Traced) else None
        out = self.apply_bound(arrays, {})
        if self.out_structure is LEAF and not isinstance(out, (tuple, list)):
            return out
        return unflatten(self.out_structure, out)

    def _run(self, *arrays: Value) -> Any:
        """The function on the values inside the trace; several results are a tuple of leaves."""
        out = self.called(*self._args(arrays), **self.kwargs)
        if type(out) is np.ndarray or type(out) is np.float64:
            return out  # the frequent cases
        leaves, self.out_structure = flatten(out)
        if self.tape is not None:
            check_closure(self.name, leaves, self.tape)
        parts = [np.float64(x) if type(x) is float else x for x in leaves]
        parts = [np.complex128(x) if type(x) is complex else x for x in parts]
        alone = self.out_structure is LEAF and (is_array(parts[0]) or in_trace(parts[0]))
        return parts[0] if alone else tuple(parts)

    def _args(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        if self.positions is not None:
            args = [argument.leaves[0] for argument in self.arguments]
            for position, array in zip(self.positions, arrays, strict=True):
                args[position] = array
            return tuple(args)
        trees = zip(self.arguments, self._split(arrays), strict=True)
        return tuple(argument.tree(given) for argument, given in trees)

    def _split(self, parts: Sequence[Any]) -> list[Sequence[Any]]:
        """Values that belong to the arrays of the call, by argument."""
        split, start = [], 0
        for argument in self.arguments:
            end = start + len(argument.places)
            split.append(parts[start:end])
            start = end
        return split

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), True

    # -- replays ---------------------------------------------------------------------------------

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        if self._vjp is None:
            if isinstance(out, Outputs):
                g = [zeros_of(o) if b is None else b for b, o in zip(g, out, strict=True)]
            return self._transposed(g, out, args, params, wanted)
        if isinstance(out, Outputs):
            outs = list(out)
            pairs = zip(g, outs, strict=True)
            gs = [zeros_of(o) if bar is None and is_array(o) else bar for bar, o in pairs]
        else:
            gs, outs = [g], [out]
        if self.positions is not None:
            places = zip(self.positions, wanted, strict=True)
            argnums = tuple([position for position, want in places if want])
        else:
            argnums = tuple(i for i, part in enumerate(self._split(wanted)) if any(part))
        bars = self._plainly(self._bars, argnums, apart(gs), outs, list(args))
        if self._transposing:
            ones = [np.ones(bar.shape, bar.dtype) if is_array(bar) else bar for bar in gs]
            self._require_linear(
                gs, bars, lambda: self._plainly(self._bars, argnums, ones, outs, list(args))
            )
        return bars

    def _require_linear(self, gs: list[Any], bars: list[Any], of_ones: Function) -> None:
        """Raise MissingRuleError for a vjp that takes the value out of its traced cotangents.

        A part that depends on none of them is zero for all.
        """
        tapes = {id(g.tape) for g in gs if isinstance(g, Traced)}
        lost = [
            i
            for i, bar in enumerate(bars)
            if bar is not None and not (isinstance(bar, Traced) and id(bar.tape) in tapes)
        ]
        if not lost:
            return
        plain = of_ones()
        if any(any_true(np.not_equal(raw_value(plain[i]), 0)) for i in lost):
            raise MissingRuleError(
                f"{self.name}: JVP not defined, and its VJP cannot be transposed: it takes the "
                "value out of its cotangent. Declare the JVP with defjvp, or use reverse mode: "
                "jacobian for make_jvp, jacobian(jacobian(f)) for second derivatives."
            )

    def _transposed(self, g: Any, out: Any, args: Any, params: Any, wanted: Any) -> Any:
        """The cotangents by transposing the declared jvp, which must not call the function."""
        depth = _DEPTH.get()
        if depth == _DEEPEST:
            raise MissingRuleError(
                f"{self.name}: VJP not defined, and its JVP cannot be transposed: it calls "
                f"{self.name} itself. Declare the VJP with defvjp."
            )
        with setting(_DEPTH, depth + 1):
            return self._transposed_jvp(g, out, args, params, wanted)

    def _plainly(self, function: Any, argnums: Any, gs: Any, outs: Any, args: Any) -> Any:
        """Call a function of the program's rules: one example of a vmap after another."""
        parts = [*gs, *outs, *args]
        inner: Any = None if PLAIN.issuperset(map(type, parts)) else innermost(parts)
        if is_mapped(inner):
            found = call_one_by_one(
                inner.vmap_level,
                lambda gs, outs, args: self._plainly(function, argnums, gs, outs, args),
                (gs, outs, args),
                {},
            )
            return list(found)
        before = CURRENT.get()
        try:  # a transform inside opens a tape of its own, and drops its entries when it returns
            if inner is None:
                CURRENT.set(None)
            return function(argnums, gs, outs, args)
        except LeakedValueError:
            if inner is not None or not self._is_over():
                raise
            with self.tape.open_again(), setting(PULLS_ROWS, False):
                parts = [_without(self.tape, part) for part in function(argnums, gs, outs, args)]
            if any(map(in_trace, parts)):
                raise
            return parts
        finally:
            CURRENT.set(before)

    def _is_over(self) -> bool:
        """Whether a rule that is run plainly may meet values of the forward pass, as constants.

        HIPS's rules may: an argument that is no container may hold them. Within another derivative
        they would lose theirs by that one, so there they raise.
        """
        return self.tape is not None and self.tape.parent is None and self.tape.is_closed()

    def _bars(self, argnums: Any, gs: list[Any], outs: list[Any], args: list[Any]) -> Any:
        vjp = self._vjp_of(argnums, outs, args)
        trees = list(vjp(self._out(gs)))
        if len(trees) != len(argnums):
            raise RuleError(
                f"{self.name}: its VJP returned {len(trees)} cotangents, expected {len(argnums)}."
            )
        by_argument = dict(zip(argnums, trees, strict=True))
        if self.positions is not None:
            found = map(by_argument.get, self.positions)
            return [None if part is None else self._as_value(_dense(part)) for part in found]
        call = f"VJP of {self.name}"
        return [
            None if part is None else self._as_value(part)
            for i, argument in enumerate(self.arguments)
            for part in argument.parts(by_argument.get(i), call)
        ]

    def _vjp_of(self, argnums: Any, outs: list[Any], args: list[Any]) -> Function:
        """The function of cotangents, made once for the rows of a Jacobian at the same values.

        A maker may take long, as one by differences.
        """
        assert self._vjp is not None
        if not PULLS_ROWS.get():
            return self._vjp(argnums, self._out(outs), self._args(args), self.kwargs)
        values = [argnums, *outs, *args]
        if self._made is not None:
            before, vjp = self._made
            if argnums == before[0] and all(map(operator.is_, before[1:], values[1:])):
                return vjp
        vjp = self._vjp(argnums, self._out(outs), self._args(args), self.kwargs)
        if PLAIN.issuperset(map(type, values[1:])):
            self._made = values, vjp
        return vjp

    def _out(self, leaves: list[Any]) -> Any:
        if self.out_structure is LEAF:
            return leaves[0]
        return unflatten(self.out_structure, leaves)

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        if self._jvp is None:
            self._transposing = True
            return self._transposed_vjp(dots, out, args, params)
        return self._jvp(dots, out, *args)

    def _push(self, dots: Sequence[Tangent], out: Value, *args: Value) -> Any:
        """The tangent of the result by the declared jvp."""
        outs = list(out) if isinstance(out, Outputs) else [out]
        split = self._split(dots)
        argnums = tuple(i for i, part in enumerate(split) if any(dot is not None for dot in part))
        filled = [zeros_of(x) if dot is None else dot for dot, x in zip(dots, args, strict=True)]
        parts = self._plainly(self._dots, argnums, filled, outs, list(args))
        return parts if isinstance(out, Outputs) else parts[0]

    def _dots(self, argnums: Any, dots: list[Any], outs: list[Any], args: list[Any]) -> Any:
        split = self._split(dots)
        trees = [self.arguments[i].tree(split[i]) for i in argnums]
        maker = primitive_jvps[self.called]
        dot = maker(argnums, trees, self._out(outs), self._args(args), self.kwargs)
        if type(dot) is SparseObject:
            dot = dot.dense()
        leaves = _leaves_like(self.out_structure, dot, f"JVP of {self.name}")
        return [None if leaf is None else self._as_value(_dense(leaf)) for leaf in leaves]


__all__ = ["PLAIN", "PrimitiveCall", "primitive_jvps", "primitive_vjps"]
