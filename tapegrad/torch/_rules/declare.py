"""Functions of arrays with a derivative rule of this layer's own.

Knows the forms of rules, and what is planned of a call. Must not know tensors, or which functions
there are.

PyTorch has functions that NumPy has not, and derivatives of its own at kinks. A `Declared` is a
function of arrays: on traced arrays it logs one node and runs on their values, which an outer
transform may be tracing too.

A function such as a norm or a loss finds much that its derivative needs as well. Where a call runs
for the first time it keeps that in a `Kept` among its parameters. A call that is planned has no
parameters of its own: there `kernels` says how such calls are made, with `Kernels.keep`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.forms import Elementwise, General
from tapegrad._core.recorded import OPEN, recorded_among
from tapegrad._core.rule import Partial, Rule
from tapegrad._core.types import Cotangent, Function, Params, Value, Values, Wanted
from tapegrad._core.values import innermost
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules.generated import generated_kernels


class Kept:
    """Holds what a call has found for its backward pass: a parameter of that call alone."""

    __slots__ = ("found", "instead")

    def __init__(self) -> None:
        self.found: Any = None
        self.instead: Any = None  # an array with the derivatives of the first one: see `Instead`


class Found:
    """Holds what an untraced call has found for its backward pass, and the array that it is of.

    Calls with one are not planned, unlike those with a `Kept`.
    """

    __slots__ = ("found", "of")

    def __init__(self) -> None:
        self.of: Any = None
        self.found: Any = None


class Instead(tuple[Any, ...]):
    """Second result of `keep`, after an array that is kept in the place of the first argument.

    The derivatives at that array are those at the argument, to which the program may write.
    """

    __slots__ = ()


class Fused(Rule):
    """A rule with kernels of its own for calls of the object layer that come again."""

    given: Callable[..., Kernels | None] | None = None  # instead of a method

    def call(self, arrays: Values, params: Params) -> Any:
        """The function; of arrays whose calls are recorded it is one call, as of plain ones."""
        found = recorded_among(arrays) if OPEN and not self.sequence else None
        if found is None or innermost(arrays) is not found:
            return super().call(arrays, params)
        return found.call_rule(self, list(arrays), params)

    def kernels(
        self, specs: Sequence[Any], out: Spec, wanted: tuple[bool, ...], **params: Any
    ) -> Kernels | None:
        """The kernels of calls with these arrays, or None for those that the rule leaves.

        specs: of the arrays; an argument that is a number, and the same for all such calls, is
        that number. Products of these kernels are never 0 times an infinity, or the rule is not
        strong.
        """
        if self.given is not None:
            return self.given(specs, out, wanted, **params)
        return generated_kernels(self, specs, out, wanted, params)


class Declared:
    """A function of arrays and its rule."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.__name__ = function.__name__.lstrip("_")
        self.__doc__ = function.__doc__
        self.rule: Rule

    def __call__(self, *arrays: Value, **params: Any) -> Value:
        if innermost(arrays) is None:
            return self.function(*arrays, **params)
        return self.rule.apply_bound(list(arrays), params)


def with_names(declared: Declared) -> Function:
    """A declared function that also takes its parameters by name, and has their defaults."""
    signature = inspect.signature(declared.function)
    count = len(signature.parameters)

    @functools.wraps(declared.function)
    def call(*args: Any, **words: Any) -> Any:
        if len(args) == count and not words:
            return declared(*args)
        bound = signature.bind(*args, **words)
        bound.apply_defaults()
        return declared(*bound.args)

    return call


class FusedElementwise(Elementwise, Fused):
    """An elementwise rule with kernels of its own."""


class FusedGeneral(General, Fused):
    """Any other rule with kernels of its own."""


class Whole(General):
    """A rule of `count` arrays, whose `pull` gives the cotangents of all, and reads them all."""

    def __init__(self, function: Function, count: int, **words: Any) -> None:
        super().__init__(function, vjp=lambda g, _out, *arrays: (g, arrays), arrays=count, **words)

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), False


class PlainElementwise(FusedElementwise):
    """An elementwise rule whose partials are finite, so that a product with them may be plain.

    What meets an infinite cotangent is not here: the replay pulls the finite part alone.
    """

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        if type(g) is not np.ndarray or not callable(self.partials[0]) or any(wanted[1:]):
            return super().pull(g, out, args, params, wanted)
        # One expression: NumPy reuses the memory of a large temporary factor.
        bar = g * self.partials[0](out, *args) if wanted[0] else None
        return [bar] + [None] * (len(wanted) - 1)


def elementwise(
    label: str,
    *partials: Partial,
    strong: bool = False,
    selects: bool = False,
    kernels: Callable[..., Any] | None = None,
) -> Callable[[Function], Declared]:
    """Declare an elementwise function by one partial `(out, *args)` an argument.

    label: the name of its nodes. A partial of 0 stands for an argument that is a plain number, and
    for a function that is piecewise constant. kernels: of calls that come again, as of `Fused`.
    """

    def decorate(function: Function) -> Declared:
        made = Declared(function)
        form = FusedElementwise if strong else PlainElementwise
        name = made.__name__
        rule = form(made, partials, strong=strong, selects=selects, batch="align", name=name)
        made.rule, rule.given = rule, kernels
        name_nodes(rule, label)
        return made

    return decorate


def general(
    label: str,
    vjp: Function,
    jvp: Function | None = None,
    *,
    batch: str | Function = "axis",
    kernels: Callable[..., Any] | None = None,
) -> Callable[[Function], Declared]:
    """Declare a function of one array by `vjp(g, out, x, ...)`, and `jvp(dots, out, x, ...)`.

    A jvp that is left out transposes the vjp. kernels: of calls that come again, as of `Fused`.
    """

    def decorate(function: Function) -> Declared:
        made = Declared(function)
        rule = FusedGeneral(made, vjp=[vjp], jvp=jvp, batch=batch, name=made.__name__)
        made.rule, rule.given = rule, kernels
        name_nodes(rule, label)
        return made

    return decorate


def refused(text: str, error: type[Exception] = NotImplementedError) -> Function:
    """A derivative that there is not: an error with this text."""

    def refuse(*_args: Any, **_params: Any) -> Any:
        raise error(text)

    return refuse


def ruled(
    label: str, form: Callable[..., Rule], *derivatives: Any, **words: Any
) -> Callable[[Function], Declared]:
    """Declare a function by a rule of any form of the core's: `form(function, *derivatives, ...)`.

    label: the name of its nodes. The rule has the name of the function, which also runs batches,
    unless `words` say something else.
    """

    def decorate(function: Function) -> Declared:
        made = Declared(function)
        made.rule = form(made, *derivatives, **{"name": made.__name__, "batch": made, **words})
        name_nodes(made.rule, label)
        return made

    return decorate
