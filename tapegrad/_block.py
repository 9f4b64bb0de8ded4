"""Context managers whose `with` block is undone wherever an interrupt strikes.

Knows where Python raises the KeyboardInterrupt of Ctrl-C: at the start of a function of Python's,
when a call of a function of C has returned, and when a loop goes back. Must not know what is set.

So `token = variable.set(x)` before `try:` loses the token, and the first line of an `__exit__`, or
the last of an `__enter__`, may not be reached. Nothing is lost where

- the old value is read first, the new one is set inside `try`, and `finally` begins with the call
  of C that sets the old one back: an interrupt comes before `try`, or after that call;
- the block of a `with` statement is a generator that the statement alone holds. It is entered by
  `generator.__next__`, which is C. Leaving it may be interrupted; then the statement lets go of
  the generator, and Python closes it, which runs its `finally`, before anything else runs.

`contextmanager` makes such managers of generator functions, in place of contextlib's; a class that
has more to offer derives from `Block`. Several steps are undone by `undoing`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator
from contextvars import ContextVar
from functools import partial
from inspect import GEN_CREATED, getgeneratorstate
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar
from weakref import ref

_P = ParamSpec("_P")
_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_F = TypeVar("_F", bound=Callable[..., Any])


def _leave(
    generator: ref[Generator[Any]],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> bool:
    """Resume the generator at its `yield`, with the error of the block if there is one.

    It has a weak reference, since a traceback keeps what a frame names. True swallows the error.
    """
    if error is None:
        if next(generator(), _leave) is not _leave:  # type: ignore[arg-type]
            raise RuntimeError("a context manager: expected one yield, got two.")
        return False
    try:
        generator().throw(error)  # type: ignore[union-attr]
    except StopIteration as stop:
        return stop is not error
    except BaseException as raised:
        stopped = isinstance(raised, RuntimeError) and isinstance(error, StopIteration)
        if raised is error or (stopped and raised.__cause__ is error):
            error.with_traceback(trace)
            return False
        raise
    raise RuntimeError("a context manager: expected one yield, got two.")


class _Enter:
    """`__enter__`: the start of a new generator, or of that which `__exit__` shall leave."""

    def __get__(self, block: Block[Any] | None, _: object = None) -> Callable[..., Any]:
        if block is None:
            return _enter_now
        generator = None if block._left is None else block._left()
        if generator is None or getgeneratorstate(generator) != GEN_CREATED:
            generator = block._opened()
            block._generators = (*block._generators, generator)
        return generator.__next__


class _Exit:
    """`__exit__`: a `with` statement asks for it before it enters, and holds the generator.

    From Python 3.14 on it asks for `__exit__` first, before for `__enter__` first.
    """

    def __get__(self, block: Block[Any] | None, _: object = None) -> Callable[..., Any]:
        if block is None:
            return _exit_now
        if block._generators:
            generator = block._generators[-1]
            if generator.gi_suspended:  # as in `block.__exit__(None, None, None)`
                return partial(_exit_now, block)
            block._generators = block._generators[:-1]
        else:
            generator = block._opened()
        block._left = ref(generator)
        leave = partial(_leave, block._left)
        leave.generator = generator  # type: ignore[attr-defined]
        return leave


def _enter_now(block: Block[_T]) -> _T:
    """`type(block).__enter__(block)`, as an ExitStack calls it."""
    return block.__enter__()


def _exit_now(block: Block[Any], *error: Any) -> bool:
    *rest, generator = block._generators
    block._generators = tuple(rest)
    return _leave(ref(generator), *error)


class Block(Generic[_T_co]):
    """A context manager; each `with` statement runs a generator of its own."""

    _generators: tuple[Any, ...] = ()  # those that no `with` statement holds
    _left: ref[Any] | None = None  # that for which `__exit__` was asked last

    def _opened(self) -> Generator[_T_co]:
        """Set what the block needs inside `try`, yield once, and undo it in `finally`."""
        raise NotImplementedError

    if TYPE_CHECKING:

        def __enter__(self) -> _T_co: ...
        def __exit__(self, *error: object) -> None: ...
    else:
        __enter__, __exit__ = _Enter(), _Exit()


class _Called(Block[_T_co]):
    """The block of a generator function's call."""

    def __init__(self, opened: Callable[[], Any]) -> None:
        self._opened = opened  # type: ignore[method-assign]

    def __call__(self, function: _F) -> _F:
        """Decorate a function, each call of which runs in a block."""
        opened = self._opened

        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with _Called(opened):
                return function(*args, **kwargs)

        return within  # type: ignore[return-value]


def contextmanager(function: Callable[_P, Iterator[_T]]) -> Callable[_P, _Called[_T]]:
    """`contextlib.contextmanager`, of blocks that are undone wherever an interrupt strikes."""

    @functools.wraps(function)
    def block(*args: _P.args, **kwargs: _P.kwargs) -> _Called[_T]:
        return _Called(partial(function, *args, **kwargs))

    return block


@contextmanager
def setting(variable: ContextVar[_T], value: _T) -> Iterator[None]:
    """Let a context variable have a value within the block."""
    before = variable.get()
    try:
        variable.set(value)
        yield
    finally:
        variable.set(before)


@contextmanager
def undoing(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` at the end of the block, and once more where an interrupt strikes within it.

    So a second call must do what is left of the first.
    """
    try:
        yield
    finally:
        try:
            undo()
        except BaseException:
            undo()
            raise


class Turn:
    """A lock for which nobody waits."""

    def __init__(self) -> None:
        self._line: dict[object, None] = {}  # the first has it

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Take the lock for the block if it is free; whether it is."""
        mine = object()
        try:
            self._line[mine] = None
            is_first = list(self._line)[0] is mine  # noqa: RUF015 - other threads change it
            if not is_first:
                self._line.pop(mine)
            yield is_first
        finally:
            self._line.pop(mine, None)


__all__ = ["Block", "Turn", "contextmanager", "setting", "undoing"]
