"""A call of one of SciPy's solvers: run on plain values, with a result that is differentiable.

Knows SciPy's forms of results, and what a call depends on. Must not know what holds at a solution:
`Conditions` say it.

Outside of any transform a call is SciPy's. Inside, SciPy's solver runs on plain values, and the x
that it found, to the last bit, becomes a function of all that the call depends on.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from tapegrad._arrays.buffers import is_inside, value_of
from tapegrad._block import setting
from tapegrad._core.forms import constant, general
from tapegrad._core.recorded import is_recording
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function, Value
from tapegrad._core.values import Traced, in_place, in_trace, is_mapped, raw_value, records
from tapegrad._errors import ChangedConstantError, NotDifferentiableError, name_of
from tapegrad._transforms.closures import Hoisted
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy.optimize._conditions import Arguments, Conditions
from tapegrad.scipy.optimize._known import known

# Arrays that have the same shape in every example of a vmap; the others have none there.
_FIXED = frozenset(("x", "root", "fun", "jac", "grad", "hess_inv", "fvec"))


def solver(name: str, holds: Callable[[Arguments], Conditions]) -> Function:
    """SciPy's solver of a name, differentiable by what holds at its solution."""
    theirs = getattr(scipy.optimize, name)
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_inside():
            return theirs(*args, **kwargs)
        args, kwargs = value_of(args), value_of(kwargs)
        hoisted = Hoisted((args, kwargs))
        if not hoisted.values:
            with _outside():
                return theirs(*args, **kwargs)
        return _Call(theirs, signature, holds, hoisted).result(*args, **kwargs)

    call.__module__, call.__qualname__ = "tapegrad.scipy.optimize", name
    return call


def _outside() -> contextlib.AbstractContextManager[None]:
    """As outside of any transform: new arrays are plain, solvers called within are SciPy's."""
    return setting(CURRENT, None)


_LAST = threading.local()


class _Call:
    """One call inside a transform."""

    def __init__(
        self,
        theirs: Function,
        signature: inspect.Signature,
        holds: Callable[[Arguments], Conditions],
        hoisted: Hoisted,
    ) -> None:
        self.theirs, self.signature, self.holds, self.hoisted = theirs, signature, holds, hoisted
        self.then = hoisted.then()  # SciPy's solver calls the program's own functions
        self.last: Any = None  # SciPy's result
        self.state = hoisted.state() if is_recording() else None

    def __eq__(self, other: object) -> bool:
        """Whether another is the same function of its values: so a program knows it again."""
        if not isinstance(other, _Call):
            return NotImplemented
        return (
            self is other
            or self.state is not None
            and ((self.theirs, self.holds, self.state) == (other.theirs, other.holds, other.state))
        )

    def __hash__(self) -> int:
        return hash(self.theirs)

    def look(self) -> None:
        """Raise in a program whose call reads something else than when it was recorded."""
        if self.state is not None and self.hoisted.state() != self.state:
            raise ChangedConstantError(f"{self.theirs.__name__}: what it reads has changed")

    def conditions(self, values: Sequence[Any]) -> Conditions:
        """The conditions at the solution, where the call depends on these values."""
        args, kwargs = self.then.filled(values)
        return self._conditions(args, kwargs)

    def _conditions(self, args: Any, kwargs: Any) -> Conditions:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        if self.theirs is scipy.optimize.newton and isinstance(given["args"], list):
            given["args"] = tuple(given["args"])  # to the others a list is one argument
        return self.holds(given)

    def run(self, values: Sequence[Any]) -> Any:
        """SciPy's result of plain values in one vector, which vmap and compile can take."""
        self.look()
        args, kwargs = self.hoisted.filled(values)
        with _outside():
            self.last = _LAST.result = self.theirs(*args, **kwargs)
        parts = [np.ravel(leaf) for _, leaf in _numbers(self.last)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def result(self, *args: Any, **kwargs: Any) -> Any:
        """SciPy's result, whose numbers are functions of what the call depends on."""
        packed = outcome(*self.hoisted.values, call=self)
        self.last = _LAST.result  # perhaps of a call that is equal
        found = self._unpacked(packed) if in_trace(packed) else self.last
        x = _point(found)
        if x is None:
            return found
        # Of the program's own objects, in which its functions may keep what they compute.
        conditions = self._conditions(args, kwargs)
        name = f"scipy.optimize.{self.theirs.__name__}({name_of(conditions.function)})"
        x = known(name, self, conditions, x, _success(found))
        return _rebuilt(found, {"x": x, "root": x, **conditions.outputs(x, found)}, x)

    def message(self) -> str:
        """Message of SciPy on its last run."""
        last = self.last
        parts = last if isinstance(last, tuple) else (last,)
        words = [part for part in parts if isinstance(part, str)]
        for part in parts:
            if isinstance(part, dict):
                words += [str(part[key]) for key in ("message", "flag", "task") if key in part]
        return " ".join(" ".join(words).split())

    def _unpacked(self, packed: Value) -> Any:
        """SciPy's last result with the numbers of all examples, or of a recorded run."""
        made, at = {}, 0
        for path, leaf in _numbers(self.last):
            size, shape = np.size(leaf), np.shape(leaf)
            piece = packed[at : at + size].reshape(shape) if shape else packed[at]
            at += size
            if np.asarray(leaf).dtype.kind in "biu":
                piece = _answer(piece, leaf)
            made[path] = piece
        return _replaced(self.last, made, ())


def _answer(piece: Value, leaf: Any) -> Any:
    """A flag or a count, plain where it is the same in all examples."""
    if not records(piece) and np.all(raw_value(piece) == leaf):
        return leaf
    return piece != 0 if np.asarray(leaf).dtype.kind == "b" else piece


@primitive
def outcome(*values: Value, call: _Call) -> Any:
    """All numbers of SciPy's result, in one vector."""
    return call.run(values)


constant(outcome, batch="loop")


# --- The forms of SciPy's results ---------------------------------------------------------------


def _numbers(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The numbers and arrays of a result, as far as their shapes are those of every example."""
    if isinstance(found, dict):
        for key, part in found.items():
            yield from _numbers(part, (*path, key))
    elif isinstance(found, tuple):
        for i, part in enumerate(found):
            yield from _numbers(part, (*path, i))
    elif isinstance(found, int | float | complex | np.generic | np.ndarray):
        fixed = not path or path[-1] in _FIXED or len(path) == 1 and path[0] in (0, 1, 2)
        if np.asarray(found).dtype.kind in "biufc" and (fixed or not np.shape(found)):
            yield path, found


def _replaced(found: Any, made: dict[Any, Any], path: tuple[Any, ...]) -> Any:
    """A result with other numbers; arrays of which there are none are left out."""
    if path in made:
        return made[path]
    if isinstance(found, dict):
        named = {key: _replaced(part, made, (*path, key)) for key, part in found.items()}
        return _with(found, {key: part for key, part in named.items() if part is not _ABSENT})
    if isinstance(found, tuple):
        parts = [_replaced(part, made, (*path, i)) for i, part in enumerate(found)]
        return _tuple_like(found, [None if part is _ABSENT else part for part in parts])
    return _ABSENT if isinstance(found, _ARRAYS) else found


_ABSENT = object()
_ARRAYS = (np.ndarray, list, scipy.optimize.LbfgsInvHessProduct)


def _with(found: Any, parts: dict[str, Any]) -> Any:
    made = copy.copy(found)
    made.clear()
    made.update(parts)
    return made


def _tuple_like(found: Any, parts: list[Any]) -> Any:
    return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)


def _point(found: Any) -> Any:
    """The solution in a result."""
    if isinstance(found, tuple):
        return found[0]
    if isinstance(found, dict):
        return found.get("x", found.get("root"))
    return found


def _success(found: Any) -> Any:
    """Whether SciPy says that it has found a solution."""
    if isinstance(found, dict):
        return found.get("success", found.get("converged", True))
    if isinstance(found, tuple):
        for part in found[1:]:
            if isinstance(part, dict) and ("converged" in part or "warnflag" in part):
                return part["converged"] if "converged" in part else part["warnflag"] == 0
        return np.all(getattr(found, "converged", True))
    return True


def _rebuilt(found: Any, made: dict[Any, Any], x: Value, path: tuple[Any, ...] = ()) -> Any:
    """A result with its differentiable parts; other arrays refuse derivatives.

    made: these parts, by the name that each has, or its place in a tuple.
    """
    if path in ((), (0,)) and not isinstance(found, dict | tuple):
        return x
    if path and path[-1] in made and not isinstance(found, dict):
        return _shown(made[path[-1]], found)
    if isinstance(found, dict):
        return _with(
            found, {key: _rebuilt(part, made, x, (*path, key)) for key, part in found.items()}
        )
    if isinstance(found, tuple) and not path:
        return _tuple_like(found, [_rebuilt(part, made, x, (i,)) for i, part in enumerate(found)])
    if isinstance(found, list) and path[-1] != "allvecs":  # of which there may be many
        return [_rebuilt(part, made, x, path) for part in found]
    if isinstance(found, scipy.optimize.LbfgsInvHessProduct):
        made_anew = copy.copy(found)
        made_anew.sk = opaque(found.sk, x, name=str(path[-1]))
        return made_anew
    if in_trace(found) or isinstance(found, np.ndarray) and found.dtype.kind in "fc":
        return opaque(found, x, name=str(path[-1])) if np.shape(found) else found
    return found


def _shown(exact: Any, found: Any) -> Any:
    """The part that is known exactly, with the number that SciPy has for it."""
    inside = exact
    while is_mapped(inside):
        inside = inside._value
    if not isinstance(inside, Traced) or np.shape(exact) != np.shape(found):
        return exact if np.shape(exact) != np.shape(found) else found
    if records(exact) or exact.dtype != np.result_type(found):
        return exact
    return in_place(exact, found if in_trace(found) else np.asarray(found)[()])


@primitive
def opaque(value: Value, x: Value, name: str) -> Any:
    """A part of a result that has no derivative here, though it depends on what x does."""
    return value


def _refuse(*_: Any, name: str) -> Any:
    raise NotDifferentiableError(
        f"scipy.optimize: {name} of a result is the solver's own estimate, which has no "
        "derivative. Compute it from x, with tapegrad.hessian or tapegrad.jacobian."
    )


def _unknown(_dots: Any, out: Value, *_: Any, name: str) -> Any:
    return np.full_like(out, np.nan)  # forward mode meets it, whether it is used or not


general(opaque, vjp=_refuse, jvp=_unknown, batch="loop", arrays=2)


__all__ = ["solver"]
