"""Anomaly mode: finds the forward call behind an error or a NaN in a backward pass.

Knows nodes, and the calls of a Python program. Must not know operations, or how passes run.

Unlike PyTorch's, it also names the first call whose result held a NaN or an infinity.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Self

import numpy as np

from tapegrad._block import Block, contextmanager, setting, undoing
from tapegrad._core.types import Cotangent, Tree, Value
from tapegrad._core.values import untraced
from tapegrad._errors import add_note, mark
from tapegrad._look.findings import arrays_of, error_of, is_bad
from tapegrad._look.lines import Frame
from tapegrad._look.searches import LAYERS
from tapegrad._warning import is_ours, warn
from tapegrad.torch._graph import modes as _modes
from tapegrad.torch._graph.node import Node, is_on_graph, made_since, title
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._tensor.tensor import Tensor

# The node that is running in a backward pass, to which the traces of the nodes it makes refer.
RUNNING: ContextVar[Node | None] = ContextVar("tapegrad_torch_running", default=None)


class Trace:
    """Where a call was made."""

    __slots__ = ("frames", "given", "name", "number", "origin", "parent")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.number: int = next_number()
        self.frames: list[Any] = _user_frames()
        self.parent: Node | None = RUNNING.get()
        self.given: bool = False  # whether an argument already held a NaN or an infinity
        self.origin: Trace | None = None  # the first call with a NaN or infinity behind its result

    def text(self) -> str:
        """The frames as Python shows them, the innermost last."""
        lines = traceback.StackSummary.from_list(self.frames).format()
        return "".join(lines)

    def place(self) -> str:
        """The call in one line."""
        if not self.frames:
            return self.name
        file, line, *_ = self.frames[-1]
        given = ", of an argument with one" if self.given else ""
        return f'{self.name}, File "{file}", line {line}{given}'


def _user_frames() -> list[Any]:
    """The stack without this package's own frames, the innermost last."""
    found = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_ours(code.co_filename):
            found.append((code.co_filename, frame.f_lineno, code.co_name, None))
        frame = frame.f_back
    return found[::-1]


class Anomaly:
    """Records calls while anomaly mode is on, and checks backward passes."""

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan

    # -- forward ---------------------------------------------------------------------------------

    def note(self, name: str, args: Iterable[object], made: Tree, nodes: Iterable[Node]) -> None:
        """Record where the call was made that computed `made` from `args` and made the nodes."""
        trace = Trace(name)
        results = made if isinstance(made, (tuple, list)) else (made,)
        if any(isinstance(part, Tensor) and _is_bad(part._value) for part in results):
            trace.origin = _origin_of(args) or trace
            trace.given = any(isinstance(arg, Tensor) and _is_bad(arg._value) for arg in args)
            for part in results:
                if isinstance(part, Tensor):
                    part._origin = trace.origin  # type: ignore[attr-defined]
        for node in nodes:
            if node._trace is None:
                node._trace = trace

    def begin_write(self, tensor: Tensor) -> None:
        """A call is about to write to a tensor."""

    # -- backward --------------------------------------------------------------------------------

    @contextmanager
    def around(self, node: Node, nodes: Sequence[Node]) -> Iterator[None]:
        """Context in which a node runs; an error warns of the forward call that made the node."""
        try:
            with setting(RUNNING, node):
                yield
        except Exception as error:
            if mark(error, "_told"):
                text, *induced = _reports(node)
                first = first_bad(nodes or [node])
                if first is not None:
                    where = f"The first call with a NaN or an infinity in its result: {first}."
                    text += f"\n{where}"
                    add_note(error, where)
                for part in (text, *induced):
                    try:
                        warn(part)
                    except Warning as raised:  # by the program's filter: the error goes first
                        print(f"{type(raised).__name__}: {raised}", file=sys.stderr)
            raise

    def check(self, node: Node, g: Cotangent, parts: Sequence[Cotangent], start: int) -> None:
        """Raise RuntimeError for a NaN in the cotangents of a node's arguments.

        g: the cotangent of its result. start: a number from before the node ran; it made the nodes
        with later numbers.
        """
        self._trace_made(node, parts, start)
        if not self.check_nan:
            return
        for position, part in enumerate(parts):
            if part is not None and _has_nan(part):
                raise RuntimeError(
                    f"Function '{title(node)}' returned nan values in its {position}th output."
                )

    def _trace_made(self, node: Node, parts: Sequence[Cotangent], start: int) -> None:
        trace = None
        for part in parts:
            if is_on_graph(part) and isinstance(part.slot, Node):
                for made in made_since([part.slot], start):
                    if made._trace is None:
                        trace = trace or Trace(type(node).__name__)
                        made._trace = trace


class _Search(Anomaly):
    """Anomaly mode under `tapegrad.debug_nans`: what is not finite is an error, forward too."""

    is_open = True  # whether its block has not ended
    outer: Anomaly | None = None  # what was on when it began

    def __init__(self, infinities: bool) -> None:
        super().__init__(check_nan=True)
        self.infinities = infinities
        self.written: tuple[Any, list[Any]] = (None, [])  # a tensor, and what it was before

    def begin_write(self, tensor: Tensor) -> None:
        self.written = tensor, [array.copy() for array in arrays_of(_plain(tensor))]

    def note(self, name: str, args: Iterable[object], made: Tree, nodes: Iterable[Node]) -> None:
        given = [arg for arg in args if arrays_of(_plain(arg))]
        super().note(name, given, made, nodes)
        before = [array for arg in given for array in arrays_of(_plain(arg))]
        if made is self.written[0]:
            before = [*self.written[1], *before]
            self.written = None, []
        found = self._made(arrays_of(_plain(made)), before)
        if found is not None:
            site = _site(Trace(name))
            raise error_of(
                f"{name} made",
                name,
                found,
                before,
                site,
                infinities=is_bad(found, infinities=True) and self.infinities,
            )

    def check(self, node: Node, g: Cotangent, parts: Sequence[Cotangent], start: int) -> None:
        self._trace_made(node, parts, start)
        for part in parts:
            found = self._made(arrays_of(_plain(part)), arrays_of(_plain(g)))
            if found is not None:
                raise error_of(
                    f"The derivative of {title(node)} made",
                    title(node),
                    found,
                    (),
                    _forward_site(node),
                    infinities=self.infinities,
                    backward=True,
                )

    def _made(self, arrays: Sequence[Any], before: Sequence[Any]) -> Any:
        """The array that has a NaN or infinity which none of those before explains, or None."""
        if any(is_bad(array, infinities=False) for array in before):
            return None
        infinities = self.infinities and not any(is_bad(a, infinities=True) for a in before)
        return next((array for array in arrays if is_bad(array, infinities=infinities)), None)


def _plain(value: object) -> Any:
    """The arrays of tensors, also in lists and tuples."""
    if type(value) in (list, tuple):
        return [_plain(part) for part in value]  # type: ignore[attr-defined]
    return untraced(value._value) if isinstance(value, Tensor) else value


def _site(trace: Trace) -> tuple[Frame, ...]:
    return tuple(Frame(file, line, name) for file, line, name, _ in reversed(trace.frames))


def _forward_site(node: Node) -> tuple[Frame, ...]:
    """Where the forward call was made: also for a node that a backward pass has made."""
    while node._trace is not None and node._trace.parent is not None:
        node = node._trace.parent
    return () if node._trace is None else _site(node._trace)


@contextmanager
def _searching(infinities: bool) -> Iterator[None]:
    search, now = _Search(infinities), _modes.current()
    search.outer = now.anomaly
    see = _modes.Watcher()  # operations that no history logs take the way on which they are noted

    def leave() -> None:  # blocks of generators may end in another order than they began
        search.is_open = False
        found, watchers = _modes.current().anomaly, _modes.current().watchers
        while isinstance(found, _Search) and not found.is_open:
            found = found.outer
        others = tuple([watcher for watcher in watchers if watcher is not see])
        _modes.change(anomaly=found, watchers=others)

    with undoing(leave):
        _modes.change(anomaly=search, watchers=(*now.watchers, see))
        yield


LAYERS.append(_searching)


def _values(value: Value) -> Value:
    found = untraced(value)
    return found if getattr(getattr(found, "dtype", None), "kind", "") in "fc" else None


def _is_bad(value: Value) -> bool:
    found = _values(value)
    return found is not None and not bool(np.isfinite(found).all())


def _has_nan(value: Value) -> bool:
    found = _values(value)
    return found is not None and bool(np.isnan(found).any())


def _origin_of(args: Iterable[object]) -> Trace | None:
    """The first call with a NaN or an infinity on which one of the arguments depends."""
    found: Trace | None = None
    for arg in args:
        origin = getattr(arg, "_origin", None) if isinstance(arg, Tensor) else None
        if isinstance(arg, (tuple, list)):
            origin = _origin_of(arg)
        if origin is not None and (found is None or origin.number < found.number):
            found = origin
    return found


def first_bad(nodes: Iterable[Node]) -> str | None:
    """Of the calls that made the nodes, the first whose result held a NaN or an infinity."""
    found: Trace | None = None
    for node in nodes:
        origin = None if node._trace is None else node._trace.origin
        if origin is not None and (found is None or origin.number < found.number):
            found = origin
    return None if found is None else found.place()


def _reports(node: Node) -> list[str]:
    """The message for a node, and one for each node whose run in a backward pass made it."""
    if node._trace is None:
        text = (
            f"Error detected in {title(node)}. No forward pass information available. Enable "
            "detect anomaly during forward pass for more information."
        )
        return [text]
    text = (
        f"Error detected in {title(node)}. Traceback of forward call that caused the error:\n"
        f"{node._trace.text()}"
    )
    found = [text]
    parent = node._trace.parent
    while parent is not None:
        text = f"\n\nPrevious calculation was induced by {title(parent)}. "
        if parent._trace is None:
            found.append(f"{text}No forward pass information available.")
            break
        found.append(
            f"{text}Traceback of forward call that induced the previous calculation:\n"
            f"{parent._trace.text()}"
        )
        parent = parent._trace.parent
    return found


# --- Managers -----------------------------------------------------------------------------------


class detect_anomaly(_modes.Manager):
    """Context manager of anomaly mode: finds the call behind an error or a NaN of a backward pass.

    Where a backward pass raises, a warning tells where the forward call was made, and which call
    first had a NaN or an infinity in its result.

    UserWarning: Where it is made: it makes programs slow.
    See also set_detect_anomaly: Also as a function.

    >>> import warnings
    >>> x = torch.tensor(-1.0, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
    ...     try:
    ...         x.sqrt().backward()
    ...     except RuntimeError as error:
    ...         print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.changes: dict[str, Any] = {"anomaly": Anomaly(check_nan)}
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging."
        )

    def clone(self) -> _modes.Manager:
        """A manager without the warning.

        -> Manager: Entered once; each call of a decorated function enters one of its own.
        """
        return _Changed({"anomaly": Anomaly(self.check_nan)})


class _Changed(_modes.Manager):
    """A manager of given changes."""

    def __init__(self, changes: dict[str, Any]) -> None:
        self.changes = changes


class set_detect_anomaly(Block[Any]):
    """Turn anomaly mode on or off: at once, and until the end of the block where it is a manager.

    mode: Whether it is on.
    See also detect_anomaly: A context manager alone.

    >>> x = torch.tensor(-1.0, requires_grad=True)
    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     x.sqrt().backward()
    >>> x.grad
    tensor(nan)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = _modes.MODE.get()
        try:
            _modes.change(anomaly=Anomaly(check_nan) if mode else None)
        except BaseException:
            _modes.MODE.set(self.before)
            raise

    def _opened(self) -> Generator[Self]:
        try:
            yield self
        finally:
            _modes.MODE.set(self.before)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on.

    -> bool: In this thread.

    >>> torch.is_anomaly_enabled()
    False
    """
    return _modes.current().anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether a NaN in a backward pass is an error, in anomaly mode.

    -> bool: True also while the mode is off.

    >>> torch.is_anomaly_check_nan_enabled()
    True
    """
    anomaly = _modes.current().anomaly
    return anomaly is None or anomaly.check_nan


__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_detect_anomaly",
]
