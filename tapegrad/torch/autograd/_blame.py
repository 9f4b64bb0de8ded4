"""`culprit_of`: the operation on tensors whose own derivative is wrong, for gradcheck.

Knows operations on tensors, and `testing._blame`, which asks each of them by itself. Must not know
single operations.

The calls that a function makes are noted as a profile would. Each is made again alone, by its
backward pass and in forward mode; where one is wrong, the calls of arrays that it is made of are
asked in turn.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._errors import name_of
from tapegrad._look.lines import Sites
from tapegrad._profile.switch import Place, Switch
from tapegrad._tree import flatten, paths_of, unflatten
from tapegrad.testing._blame.calls import Call
from tapegrad.testing._blame.culprit import Blame
from tapegrad.testing._blame.redone import argument_at, laid_out
from tapegrad.testing._blame.search import blamed_for, first_culprit, outcome_of, quietly
from tapegrad.testing._blame.trial import Subject
from tapegrad.testing._measuring.directions import direction
from tapegrad.torch._engine.function_call import call as _call
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.autograd import _recorded, forward_ad
from tapegrad.torch.autograd import function as _function
from tapegrad.torch.autograd._passes import grad
from tapegrad.torch.autograd.grad_mode import enable_grad, no_grad

# Functions without a derivative, on purpose.
CUT = frozenset(("aten::detach", "aten::detach_"))

NONE = (
    "No operation is wrong by itself: the function is noisy or discontinuous, changes with each "
    "call, or has a derivative cut off (detach, a hook)."
)


def culprit_of(func: Function, inputs: Sequence[Any], order: int, seed: int = 0) -> Blame | None:
    """The first operation of `func(*inputs)` whose own derivative is wrong, or None."""
    with quietly():
        noting = _Noting(sys._getframe(1))
        with noting.switched(), enable_grad(), suppress(Exception):
            func(*inputs)
        for each in range(1, order + 1):
            for call in noting.calls:
                found = _asked(call, noting.sites, each, seed)
                if found is not None:
                    return found
        with suppress(Exception):  # operations within a functional transform are seen there alone
            whole = _Call(func, name_of(func), tuple(inputs), {})
            return first_culprit(whole, whole.leaves, order=order, seed=seed)
    return None


def raising_of(func: Function, inputs: Sequence[Any], order: int) -> str:
    """Which operation's own derivative raises, and its line; empty where none does."""
    with quietly():
        noting = _Noting(sys._getframe(1))
        with noting.switched(), enable_grad(), suppress(Exception):
            func(*inputs)
        for call in noting.calls:
            try:
                subject = _subject(call)
                outs = call.plain(*call.leaves)
                subject.pulls[0](call.leaves)(outs)
                if order > 1:
                    subject = _second(call, 0)
                    subject.pulls[0](subject.leaves)(call.leaves)
            except Exception as error:  # noqa: BLE001 - of any Function
                site = noting.sites.sites()[call.site]
                place = f', called in File "{site[0].file}", line {site[0].line}' if site else ""
                return f"The derivative of {call.operation} raises {type(error).__name__}{place}."
    return ""


# --- The calls of a function --------------------------------------------------------------------


class _Noting:
    """Watcher of the calls of operations, as the recorder of a profile is."""

    def __init__(self, outermost: Any) -> None:
        self.sites = Sites(outermost)
        self.calls: list[_Call] = []
        self.thread = threading.get_ident()
        self.inside = False

    def recording(self, function: Function, name: Any, *_: Any) -> Function:
        """A function that notes the outermost of its calls on tensors that require grad."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.inside or threading.get_ident() != self.thread:
                return function(*args, **kwargs)
            self.inside = True
            try:
                label = name(*args, **kwargs) if callable(name) else name
                made = (
                    None
                    if label is None or label in CUT
                    else _Call(function, str(label), args, kwargs)
                )
                if made is None or not made.leaves:
                    self.inside = False
                    return function(*args, **kwargs)
                made.site = self.sites.here()
                result = function(*args, **kwargs)
                made.note_writes()
                self.calls.append(made)
                return result
            finally:
                self.inside = False

        return call

    def places(self) -> Iterator[Place]:
        """The operations, and the calls of custom Functions."""
        yield from _recorded._operations(self)

        def applied(kind: Any, args: Any) -> Any:
            apply = self.recording(lambda *given: _call(kind, given), f"{kind.__name__}.apply")
            return apply(*args)

        yield Place(_function, "call", applied)

    def switched(self) -> Any:
        """A context in which calls are noted."""
        return Switch().holding_places(self.places)


class _Call(Call):
    """A call of an operation, as a function of the values of tensors that require grad."""

    def __init__(
        self, function: Function, label: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        super().__init__(label.replace("aten::", "torch."), -1)
        self.function = function
        given, self.structure = flatten((args, kwargs))
        self.given = [_copied(x) for x in given]
        self.tensors: list[Tensor] = []
        self.places: list[list[int]] = []
        self.names: list[str] = []
        paths = list(paths_of((args, kwargs)))
        for at, x in enumerate(given):
            if not (isinstance(x, Tensor) and x.requires_grad and x._value.dtype.kind in "fc"):
                continue
            same = next((i for i, other in enumerate(self.tensors) if other is x), None)
            if same is None:
                self.tensors.append(x)
                self.places.append([at])
                self.names.append(f"argument {argument_at(paths[at])}")
            else:
                self.places[same].append(at)
                self.names[same] += f" and {argument_at(paths[at])}"
        self.leaves = [_array_of(x) for x in self.tensors]
        self.before = [x._version for x in self.tensors]
        self.written: list[int] = []

    def note_writes(self) -> None:
        """The call has returned: note which tensors it has written to."""
        pairs = zip(self.tensors, self.before, strict=True)
        self.written = [i for i, (x, version) in enumerate(pairs) if x._version != version]
        self.tensors = []

    def on_tensors(self, given: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The floating results of the call, and what it has written to, for other tensors."""
        filled = [_copied(x) for x in self.given]
        # A leaf that requires grad cannot be written to.
        own = [x.clone() if i in self.written else x for i, x in enumerate(given)]
        for x, places in zip(own, self.places, strict=True):
            for at in places:
                filled[at] = x
        args, kwargs = unflatten(self.structure, filled)
        results = flatten(self.function(*args, **kwargs))[0]
        found = [x for x in results if isinstance(x, Tensor) and x._value.dtype.kind in "fc"]
        return (*found, *(own[i] for i in self.written))

    def __call__(self, *leaves: Value) -> tuple[Value, ...]:
        """The same for arrays: traced ones in a functional transform."""
        outs = self.on_tensors([of_value(_array(x)) for x in leaves])
        return tuple(_value_of(out) for out in outs)

    def plain(self, *leaves: Value) -> tuple[Value, ...]:
        """The same for plain arrays, without history."""
        with no_grad():
            return self(*map(_copied, leaves))


def _copied(x: Any) -> Any:
    if isinstance(x, Tensor):
        return of_value(_array_of(x))
    return laid_out(x, x) if type(x) is np.ndarray else x


def _array_of(x: Tensor) -> Any:
    """A copy of a tensor's elements, laid out in memory as they are."""
    return _copied(np.asarray(plain_of(x)))


def _array(x: Value) -> Value:
    return np.asarray(x) if isinstance(x, np.generic) else x


def _value_of(out: Tensor) -> Any:
    value = out._value
    return np.array(plain_of(out)) if type(value) is np.ndarray or out.node is not None else value


# --- Their derivatives --------------------------------------------------------------------------


def _pulled(
    function: Callable[..., Any], leaves: Sequence[Value], bars: Sequence[Cotangent]
) -> list[Any]:
    """Cotangents by a backward pass; the engine's are the conjugates of PyTorch's gradients."""
    with enable_grad():
        given = [of_value(_copied(np.asarray(x))).requires_grad_() for x in leaves]
        outs = function(given)
        pairs = [
            (out, of_value(np.array(np.conj(bar))))
            for out, bar in zip(outs, bars, strict=True)
            if out.requires_grad
        ]
        if not pairs:
            return [np.zeros_like(x) for x in leaves]
        found: list[Any] = [
            *grad(
                tuple(out for out, _ in pairs),
                tuple(given),
                tuple(bar for _, bar in pairs),
                allow_unused=True,
            )
        ]
    return [
        np.zeros_like(x) if g is None else np.conj(np.array(plain_of(g)))
        for g, x in zip(found, leaves, strict=True)
    ]


def _pushed(
    function: Callable[..., Any], leaves: Sequence[Value], dots: Sequence[Tangent]
) -> list[Any]:
    with forward_ad.dual_level():
        given = [
            forward_ad.make_dual(of_value(_copied(np.asarray(x))), of_value(np.array(dot)))
            for x, dot in zip(leaves, dots, strict=True)
        ]
        found = []
        for out in function(given):
            primal, dot = forward_ad.unpack_dual(out)
            found.append(np.zeros(primal.shape) if dot is None else np.array(plain_of(dot)))
    return found


def _subject(call: _Call) -> Subject:
    return Subject(
        call.plain,
        call.leaves,
        call.names,
        [lambda leaves: lambda bars: _pulled(call.on_tensors, leaves, bars)],
        [lambda leaves: lambda dots: _pushed(call.on_tensors, leaves, dots)],
    )


def _second(call: _Call, seed: int) -> Subject:
    """The backward pass of a call, as a function of its leaves and of cotangents."""
    random = np.random.default_rng(seed)
    count = len(call.leaves)
    outs = call.plain(*call.leaves)
    bars = [direction(random, out) for out in outs]

    def cotangents(*given: Value) -> tuple[Value, ...]:
        return tuple(_pulled(call.on_tensors, given[:count], given[count:]))

    def on_tensors(given: Sequence[Tensor]) -> tuple[Tensor, ...]:
        made = call.on_tensors(given[:count])
        pairs = [
            (out, bar.conj() if bar.is_complex() else bar)
            for out, bar in zip(made, given[count:], strict=True)
            if out.requires_grad
        ]
        found: list[Any] = [
            *grad(
                tuple(out for out, _ in pairs),
                tuple(given[:count]),
                tuple(bar for _, bar in pairs),
                create_graph=True,
                allow_unused=True,
            )
        ]
        return tuple(
            of_value(np.zeros_like(plain_of(x)))
            if g is None
            else (g.conj() if g.is_complex() else g)
            for g, x in zip(found, given, strict=False)
        )

    return Subject(
        cotangents,
        [*call.leaves, *bars],
        [*call.names, *["the cotangent of the result"] * len(bars)],
        [lambda leaves: lambda cotangents: _pulled(on_tensors, leaves, cotangents)],
        [],
    )


def _asked(call: _Call, sites: Sites, order: int, seed: int) -> Blame | None:
    """Who is to blame for the derivatives of an order of a call, if they are wrong."""
    try:
        subject = _subject(call) if order == 1 else _second(call, seed)
    except Exception:  # noqa: BLE001 - a call that cannot be made again
        return None
    outcome = outcome_of(subject, seed)
    if outcome.wrong is None:
        return None
    site = sites.sites()[call.site]
    inner = None
    with suppress(Exception):  # what has no way under functional transforms is not taken apart
        inner = first_culprit(call, call.leaves, order=order, seed=seed)
    if inner is not None:
        within = (call.operation, *(x for x in inner.within if x != call.operation))
        return replace(inner, site=site, within=within)
    return blamed_for(call.operation, outcome, " of its vjp" if order > 1 else "", order, site)


def text_of(func: Function, inputs: Sequence[Any], order: int) -> str:
    """Addition to gradcheck's error: the culprit, or that there is none."""
    found = culprit_of(func, inputs, order)
    return f"{NONE} ({name_of(func)})" if found is None else str(found)
