"""Expansion of a function of our own for given values: the calls of NumPy's that it makes.

Knows how such a function is recorded anew, and when the record can stand for it. Must not know
paths, nor which functions are taken apart.
"""

from __future__ import annotations

import types
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.composite import Composite
from tapegrad._core.recorded import recorded_too
from tapegrad._core.rule import REGISTRY
from tapegrad._native.small_matrices import BY_ELEMENTS
from tapegrad._program.functions import defined, function_of, kinds_of
from tapegrad._program.program import OWN, Node, Ref, Segment, Step, are_close
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import Recorder
from tapegrad._program.recording import Recording
from tapegrad._tree import flatten, unflatten

MOST_NODES = 5_000  # of one call

# Functions of NumPy's that are taken apart into what our rules define them by.
COMPOSED: frozenset[Any] = frozenset(
    getattr(np, name)
    for name in (
        "average cross ediff1d gradient kron linspace nanmax nanmean nanmin nanprod nansum "
        "nanstd nanvar nan_to_num polyval ptp select trapezoid"
    ).split()
) | frozenset(
    getattr(np.fft, name) for name in "fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn".split()
)


TAKEN_APART = COMPOSED | BY_ELEMENTS.keys()


class Definition(NamedTuple):
    """The calls that a function makes of its arguments: the inputs 0, 1 ... of `root`."""

    root: Segment
    out: Any  # the result, with references
    values: dict[int, Any]  # of the calls, by position, as far as they are kept


def definition_of(
    node: Node, positions: list[int], values: dict[int, Any], expected: Any, *, careful: bool
) -> Definition | None:
    """The calls that a node's function makes, if they give what is expected of it.

    positions: of the values among its arguments. careful: whether what is right for each answer
    about infinities and NaNs is taken.
    """
    function = _with_buffers(_definition(node.function))
    return _recorded(function, node, positions, values, expected, careful=careful)


class _Keeping(Recorder):
    """A recorder that keeps the values of calls, unless some write into others."""

    values: dict[int, Any]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.values = {}
        self.writes = False

    def log(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        value: Any,
        steps: tuple[Step, ...] | None = None,
        shares: int = OWN,
        shaped: bool = False,
    ) -> int:
        at = super().log(function, args, kwargs, value, steps, shares, shaped)
        if steps is not None:
            self.writes = True
            self.values.clear()
        elif not self.writes:
            self.values[at] = value
        return at


def _recorded(
    function: Any,
    node: Node,
    positions: list[int],
    values: dict[int, Any],
    expected: Any,
    *,
    careful: bool,
) -> Definition | None:
    root = Segment(None, len(positions))
    recorder = _Keeping(
        root, len(positions), MOST_NODES, 1, careful=careful, assumes_worst=careful
    )
    given = {x: Recorded(_own(values[x]), i, recorder) for i, x in enumerate(positions)}
    try:
        with Recording(recorder):
            out = function(*_with(node.args, given), **_with(node.kwargs, given))
            leaves, structure = flatten(out)
            known = all(issubclass(type(x), Recorded) or x is None for x in leaves)
            if not known or not _are_alike(leaves, flatten(expected)[0]):
                return None
            found = [Ref(x.at) if issubclass(type(x), Recorded) else x for x in leaves]
            recorder.finish(found, structure, ())
    except Exception:  # noqa: BLE001 - it is not made for such arrays, and stays one call
        return None
    if recorder.unfit is not None or not _has_few_answers(root):
        return None
    return Definition(root, unflatten(structure, found), recorder.values)


class _Namespace:
    """NumPy, but that new buffers can take recorded values."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, *args: Any, **kwargs: Any) -> Any:
        return recorded_too(np.zeros(*args, **kwargs))

    empty = zeros

    def ones(self, *args: Any, **kwargs: Any) -> Any:
        return recorded_too(np.ones(*args, **kwargs))

    def full(self, *args: Any, **kwargs: Any) -> Any:
        return recorded_too(np.full(*args, **kwargs))


_NAMESPACE = _Namespace()


def _definition(function: Any) -> Any:
    """The function that another is taken apart as: the definition that our rule has, or itself."""
    function = defined(function)
    known = function_of(function)
    if known in BY_ELEMENTS:
        return BY_ELEMENTS[known]
    rule = REGISTRY.get(known) if known in COMPOSED else None
    return rule.definition if isinstance(rule, Composite) else function


def _has_few_answers(root: Segment) -> bool:
    """Whether all that is asked has two answers, or is a shape: numbers seldom come again."""
    segment: Segment | None = root
    while segment is not None and segment.read is not None:
        ((key, following),) = segment.children.items()
        if key[0] is not bool and segment.read.question is not kinds_of:
            return False
        segment = following
    return True


def _with_buffers(function: Any) -> Any:
    """A function of ours, whose buffers are recorded arrays."""
    if type(function) is not types.FunctionType or function.__globals__.get("np") is not np:
        return function
    known = {**function.__globals__, "np": _NAMESPACE}
    made = types.FunctionType(
        function.__code__, known, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _own(value: Any) -> Any:
    return value.copy("K") if type(value) is np.ndarray else value


def _with(template: Any, given: dict[int, Any]) -> Any:
    """Arguments with recorded values in place of references."""
    kind = type(template)
    if kind is Ref:
        return given[template.at]
    if kind is tuple or kind is list:
        return kind([_with(part, given) for part in template])
    if kind is dict:
        return {key: _with(part, given) for key, part in template.items()}
    return template


def _are_alike(found: list[Any], expected: list[Any]) -> bool:
    """Whether recorded results are those that were expected, but for rounding."""
    return len(found) == len(expected) and all(
        are_close(None if x is None else x._value, y) for x, y in zip(found, expected, strict=True)
    )


__all__ = ["TAKEN_APART", "definition_of"]
