"""The modes of a thread: whether operations are logged, and which profilers and hooks are active.

Knows one context variable. Must not know tensors or the graph.

The usual state (gradients enabled, no profiler or hook) is None, so that an operation makes a
single test: `MODE.get() is None`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, overload

from tapegrad._block import Block
from tapegrad._core.types import Function
from tapegrad._warning import warn

_F = TypeVar("_F", bound=Callable[..., Any])
_M = TypeVar("_M")


class Watcher:
    """Who is told of the operations of a thread, and of the steps of backward passes."""

    def called(self, name: str, args: Any, kwargs: Any, made: Any, start: int) -> None:
        """After an operation. start: the number before those of the nodes that it made."""

    def ran(self, node: Any, needed: Any, start: int, end: int) -> None:
        """After a node. needed: those whose gradients are, None for all.

        start, end: the numbers around those of the nodes that a pass which logs itself has made.
        """


class Mode(NamedTuple):
    """The state of a thread or task."""

    grad: bool = True  # whether operations are logged
    inference: bool = False  # whether new tensors can never be differentiated
    anomaly: Any = None  # keeps the traceback of each logged call, in anomaly mode
    saved: tuple[Any, ...] = ()  # pairs of functions that pack and unpack saved tensors
    watchers: tuple[Watcher, ...] = ()
    floor: float = 0  # the level of transforms up to which nothing is logged, if any


USUAL = Mode()
UNLOGGED = Mode(grad=False)
PLAIN = (None, UNLOGGED)  # the modes in which no profiler, hook or transform is told of calls
MODE: ContextVar[Mode | None] = ContextVar("tapegrad_torch_mode", default=None)


def current() -> Mode:
    """The state of this thread or task."""
    return MODE.get() or USUAL


def change(**changes: Any) -> Mode | None:
    """Set parts of the state, and return the state before.

    Call it inside `try`, with `MODE.get()` from before it and `MODE.set` first in `finally`.
    """
    before = MODE.get()
    after = (before or USUAL)._replace(**changes)
    MODE.set(None if after == USUAL else UNLOGGED if after == UNLOGGED else after)
    return before


def stop_logging() -> Mode | None:
    """`change(grad=False)`, which is frequent."""
    before = MODE.get()
    if before is None:
        MODE.set(UNLOGGED)
    elif before.grad:
        MODE.set(before._replace(grad=False))
    return before


def is_grad_enabled() -> bool:
    """Whether operations of this thread are logged, so that they can be differentiated.

    -> bool: Whether it is so.

    >>> torch.is_grad_enabled()
    True
    """
    mode = MODE.get()
    return mode is None or mode.grad


def is_logging() -> bool:
    """Whether operations of this thread are logged, which they never are in inference mode."""
    mode = MODE.get()
    return mode is None or (mode.grad and not mode.inference)


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread.

    -> bool: Whether it is so.

    >>> torch.is_inference_mode_enabled()
    False
    """
    mode = MODE.get()
    return mode is not None and mode.inference


class Manager(Block[Any]):
    """A context manager that changes parts of the state; it also decorates functions."""

    changes: Mapping[str, Any]

    def _opened(self) -> Generator[Any]:
        before = MODE.get()
        try:
            self._change()
            yield self
        finally:
            MODE.set(before)

    def _change(self) -> None:
        change(**self.changes)

    def clone(self) -> Manager:
        """Another manager of the same kind.

        -> Manager: Entered once; each call of a decorated function enters one of its own.
        """
        return type(self)()

    def __call__(self, function: _F) -> _F:
        if inspect.isclass(function):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
            )
            made = self._decorate(lambda *args, **kwargs: function(*args, **kwargs))
        elif inspect.isgeneratorfunction(function):
            made = self._decorate_generator(function)
        else:
            made = self._decorate(function)
        return cast("_F", made)

    def _decorate(self, function: Function) -> Function:
        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return within

    def _decorate_generator(self, function: Function) -> Function:
        """Decorate a generator: it runs in the changed state, which each `yield` restores."""

        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume: Callable[[], Any] = functools.partial(next, generator)
            while True:
                try:
                    with self.clone():
                        given = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield given
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - every exception goes into the generator
                    resume = functools.partial(generator.throw, error)
                else:
                    resume = functools.partial(generator.send, sent)

        return within


class _Bare(type):
    """Lets a manager without arguments decorate without parentheses: `@torch.no_grad`."""

    if TYPE_CHECKING:

        @overload
        def __call__(cls: type[_M]) -> _M: ...
        @overload
        def __call__(cls, function: _F, /) -> _F: ...
        def __call__(cls, *args: Any, **kwargs: Any) -> Any: ...
    else:

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if len(args) == 1 and callable(args[0]) and not kwargs:
                return cls()(args[0])
            return super().__call__(*args, **kwargs)


class no_grad(Manager, metaclass=_Bare):
    """Operations are not logged: their results do not require grad. Manager and decorator.

    Parameters
    ----------
    *args : callable
        As `@torch.no_grad`, without parentheses, the function that it decorates; else nothing.
    **kwargs : object
        Nothing.

    See Also
    --------
    inference_mode : Whose tensors can never be part of a graph.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     (2 * x).requires_grad
    False
    """

    changes: Mapping[str, Any] = MappingProxyType({"grad": False})

    def _change(self) -> None:
        stop_logging()


class enable_grad(Manager, metaclass=_Bare):
    """Operations are logged, also within `no_grad`. Manager and decorator.

    Parameters
    ----------
    *args : callable
        As `@torch.enable_grad`, without parentheses, the function that it decorates; else nothing.
    **kwargs : object
        Nothing.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     (2 * x).requires_grad
    True
    """

    changes: Mapping[str, Any] = MappingProxyType({"grad": True})


class set_grad_enabled(Manager):
    """Turn logging on or off: at once, and until the end of the block where it is a manager.

    mode: Whether operations are logged.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.set_grad_enabled(False):
    ...     (2 * x).requires_grad
    False
    >>> (2 * x).requires_grad
    True
    """

    def __init__(self, mode: bool) -> None:
        self.mode: bool = bool(mode)
        self.changes: dict[str, Any] = {"grad": self.mode}
        self.early: list[Mode | None] = [MODE.get()]
        try:
            self._change()
        except BaseException:
            MODE.set(self.early[0])
            raise

    def _opened(self) -> Generator[Any]:
        before = self.early[0] if self.early else MODE.get()
        try:
            self.early.clear()
            self._change()
            yield self
        finally:
            MODE.set(before)

    def clone(self) -> Manager:
        return set_grad_enabled(self.mode)

    def __call__(self, function: _F) -> _F:
        if self.early:
            MODE.set(self.early.pop())
        return super().__call__(function)


class inference_mode(Manager):
    """Like `no_grad`; the tensors that are made within can never be part of a graph.

    mode (bool): False for the opposite: operations are logged. As `@torch.inference_mode` the
        function.

    >>> with torch.inference_mode():
    ...     x = torch.ones(2)
    >>> x.is_inference()
    True
    """

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode
        self.changes: dict[str, Any] = {"grad": not mode, "inference": bool(mode)}

    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode):
            return cls()(mode)
        return super().__new__(cls)

    def clone(self) -> Manager:
        return inference_mode(self.mode)
