"""Calls of transforms that go through `compile`, or through a `vmap` of one example.

Knows what a transform returns, and the transforms that take their point at once. Must not know
pytest. Only the outermost call goes another way: what a transform calls within is its own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

import tapegrad
from tapegrad import _tree
from tapegrad._arrays.buffers import is_inside
from tapegrad._block import contextmanager
from tapegrad._compile.compiled import Compiled
from tapegrad._core.values import in_trace, is_inexact
from tapegrad._profile.switch import Place, Switch
from tapegrad._program.numpy_program import RECORDINGS
from tapegrad._transforms.wrapper import Transformed

Call = Callable[..., Any]

PRODUCTS = ("jvp", "hvp", "vhp", "ggnvp")  # the derivative times vectors, at once
LINEAR = ("vjp", "linearize")  # these return a function of vectors
_BY_NAME = frozenset({"primals", "tangents", "vectors"})

_INSIDE: ContextVar[bool] = ContextVar("tapegrad_inside", default=False)


@contextmanager
def going(name: str) -> Iterator[None]:
    """Within the block the outermost calls of derivatives go by the way of that name."""
    with Switch().holding_places(lambda: _places(WAYS[name])):
        yield


def _compiled(call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of the program: the calls before it, which are recorded, get copies."""
    __tracebackhide__ = True
    fast = tapegrad.compile(call, backend="numpy")
    for _ in range(RECORDINGS):
        given, named = _tree.tree_map(_copied, (args, kwargs))
        fast(*given, **named)
    return fast(*args, **kwargs)


def _copied(leaf: Any) -> Any:
    return leaf.copy() if type(leaf) is np.ndarray else leaf


def _mapped(call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The one result of a vmap over all floating and complex leaves, of one example."""
    __tracebackhide__ = True
    leaves, structure = _tree.flatten((args, kwargs))
    places = [i for i, x in enumerate(leaves) if isinstance(x, (float, complex)) or is_inexact(x)]
    if not places:
        return call(*args, **kwargs)

    @functools.wraps(_named(call), updated=())
    def of_leaves(*given: Any) -> Any:
        __tracebackhide__ = True
        filled = list(leaves)
        for place, value in zip(places, given, strict=True):
            filled[place] = value
        args, kwargs = _tree.unflatten(structure, filled)
        return call(*args, **kwargs)

    examples = [np.asarray(leaves[place])[np.newaxis] for place in places]
    return _tree.tree_map(lambda leaf: leaf[0], tapegrad.vmap(of_leaves)(*examples))


def _named(call: Call) -> Call:
    """The function whose name errors shall say: that of which a transform was asked."""
    while isinstance(call, functools.partial) and not isinstance(call, Transformed):
        call = call.args[0] if call.args else call.func
    return call


WAYS: dict[str, Call] = {"compiled": _compiled, "vmap": _mapped}


def _goes(way: Call, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call by a way, unless it is within a transform, a recording, or another such call."""
    __tracebackhide__ = True
    if _INSIDE.get() or is_inside() or any(map(in_trace, _tree.flatten((args, kwargs))[0])):
        return call(*args, **kwargs)
    before = _INSIDE.get()
    try:
        _INSIDE.set(True)
        return way(call, args, kwargs)
    finally:
        _INSIDE.set(before)


def _places(way: Call) -> Iterator[Place]:
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        plain = functools.partial.__call__
        if isinstance(self, Compiled):
            return plain(self, *args, **kwargs)
        return _goes(way, functools.partial(plain, self), args, kwargs)

    yield Place(Transformed, "__call__", called)
    instead = {getattr(tapegrad, name): _product(way, name) for name in PRODUCTS}
    instead |= {getattr(tapegrad, name): _linear(way, name) for name in LINEAR}
    for name, module in list(sys.modules.items()):
        own = name.partition(".")[0] == "tapegrad" and name != "tapegrad"
        for attribute, value in () if own else list(getattr(module, "__dict__", {}).items()):
            if type(value) is type(_places) and value in instead:
                yield Place(module, attribute, instead[value])


def _product(way: Call, name: str) -> Call:
    transform: Call = getattr(tapegrad, name)

    @functools.wraps(transform)
    def made(f: Call, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        given = {key: options.pop(key) for key in _BY_NAME & options.keys()}
        return _goes(way, functools.partial(transform, f, **options), args, given)

    return made


def _linear(way: Call, name: str) -> Call:
    transform: Call = getattr(tapegrad, name)

    @functools.wraps(transform)
    def made(f: Call, *primals: Any, **options: Any) -> Any:
        found = transform(f, *primals, **options)
        linear = found[1]
        at = _tree.tree_map(_copied, primals)  # what the program writes there later is not asked

        def both(primals: Any, given: Any) -> Any:
            return transform(f, *primals, **options)[1](*given)

        @functools.wraps(linear, updated=())
        def map_of(*given: Any) -> Any:
            __tracebackhide__ = True
            if _INSIDE.get() or any(map(in_trace, _tree.flatten((at, given))[0])):
                return linear(*given)
            return _goes(way, both, (at, given), {})

        return (found[0], map_of, *found[2:])

    return made


__all__ = ["WAYS", "going"]
