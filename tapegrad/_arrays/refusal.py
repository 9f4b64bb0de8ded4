"""Refused conversions of values in a trace: the errors, and what to do instead.

Knows the words for each caller, and how to find a refusal behind the error that NumPy or another
library raised in its place. Must not know how the caller is found, tapes, or transforms.
"""

from __future__ import annotations

import builtins
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from types import ModuleType, TracebackType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tapegrad._arrays.caller import (
    Caller,
    Place,
    asking_place,
    caller,
    caller_at,
    extension_of,
    innermost,
    is_adopted,
    is_library,
    is_library_code,
    line_of,
    place_of,
)
from tapegrad._core.forms import Unsupported
from tapegrad._core.rule import rule_of
from tapegrad._core.values import Traced, in_trace
from tapegrad._core.values import innermost as innermost_value
from tapegrad._errors import BatchingError, ConversionError, TapegradError, add_note, text_of

# --- Words --------------------------------------------------------------------------------------

_PLAIN = "for plain numbers use tapegrad.stop_gradient(x)"
_OURS = "import tapegrad.numpy as np, or put @tapegrad.adopt over the function"
_OF_NUMPY = (
    f"To build arrays of traced values, or to fill one, {_OURS}; NumPy's own way is np.stack, and "
    "np.zeros_like(x, shape=shape); " + _PLAIN
)
_ELSEWHERE = (
    "It takes plain values only: compute with NumPy's functions, declare a derivative of the call "
    "with tapegrad.primitive, or pass tapegrad.stop_gradient(x) where none is wanted"
)
_MIRRORED = (
    "It has no derivative by this argument, or by what a function among its arguments closes "
    "over: pass tapegrad.stop_gradient(x) where none is wanted"
)
_BYTES = "Use np.asarray(tapegrad.stop_gradient(x)), whose memory is plain"
_LIST = (
    "A ufunc is NumPy's own, which takes no list of traced values: make an array of it, "
    "np.array([x, y]), or put @tapegrad.adopt over the function"
)
_LAW = "Take the distribution from tapegrad.scipy.stats, free or frozen"
_INTEGER = "Sizes and indices are integers, which have no derivative: use int(x)"

# The way out, by the function that asks or the first parts of its name.
_INSTEAD = {
    "builtins": "",
    "builtins.bytearray": _BYTES,
    "builtins.bytes": _BYTES,
    "builtins.memoryview": _BYTES,
    "json": "Write float(tapegrad.stop_gradient(x)) of a number, "
    "np.asarray(tapegrad.stop_gradient(x)).tolist() of an array",
    "matplotlib": "Plot tapegrad.stop_gradient(x), or what the transform returns",
    "numpy": _OF_NUMPY,
    "operator": "",
    "numpy.frombuffer": _BYTES,
    "numpy.lib.stride_tricks.as_strided": "Windows that have a derivative are made with "
    "np.lib.stride_tricks.sliding_window_view(x, shape)",
    "numpy.random": "Draw standard numbers and transform them: mean + scale * "
    "rng.standard_normal(size); " + _PLAIN,
    "numpy.zeros": _INTEGER,
    "pandas": "Compute on arrays inside the transform, s.to_numpy() of a Series; make Series and "
    "DataFrames of what it returns, or of tapegrad.stop_gradient(x)",
    "scipy": "tapegrad has no rule for it: compute with NumPy's functions or those of "
    "tapegrad.scipy, declare a derivative of the call with tapegrad.primitive, or pass "
    "tapegrad.stop_gradient(x) where none is wanted",
    "scipy.optimize": "Use tapegrad.optimize, or the solvers of tapegrad.scipy.optimize, whose "
    "solutions have derivatives, or say with tapegrad.implicit what the solution fulfils",
    "scipy.sparse": "Operators of sparse matrices take traced values: A @ x for A.dot(x), and "
    "A * x of a sparse array for A.multiply(x). For matrices of traced elements call csr_array "
    "and its kin of tapegrad.scipy.sparse",
    "scipy.stats.rv_continuous": _LAW,
    "scipy.stats.rv_discrete": _LAW,
    "struct": "Pack float(tapegrad.stop_gradient(x))",
    "torch": "PyTorch cannot see tapegrad's derivatives: compute with NumPy's functions or those "
    "of tapegrad.torch, or make a tensor of tapegrad.stop_gradient(x)",
}
_OF_OPERATION = {
    "write": (
        "z[...] = x",
        f"A plain array z cannot hold a traced value. To make one that can, {_OURS}; NumPy's own "
        "way is np.zeros_like(x, shape=shape), or np.stack; " + _PLAIN,
    ),
    "format": ('"%..." % x', 'Write f"{x:.3f}"'),
    "index": ("a[x]", "Indices are integers, which have no derivative: use int(x)"),
}
_OF_CONVERSION = {
    "float": (
        "float(x), or a write of x into a plain array",
        "Leave the conversion away: arithmetic and NumPy functions take traced values (np.sqrt "
        f"for math.sqrt). To fill an array {_OURS}, or make it with np.zeros_like(x, "
        "shape=shape); " + _PLAIN,
    ),
    "complex": ("complex(x)", "Use x + 0j; " + _PLAIN),
    "index": ("operator.index(x)", _INTEGER),
    "ratio": (
        "x.as_integer_ratio()",
        "Integers have no derivative: use tapegrad.stop_gradient(x).as_integer_ratio()",
    ),
    "array": ("np.asarray(x) or a write into a plain array", _OF_NUMPY),
    "dlpack": ("x.__dlpack__()", "Use tapegrad.stop_gradient(x)"),
}


def advice_for(name: str) -> str:
    """Advice in place of a call of a library's function, or "" for one of the language."""
    module, _, last = name.rpartition(".")
    if module in ("math", "cmath") and hasattr(np, last):
        return f"Use np.{last}(x), or put @tapegrad.adopt over the function"
    parts = name.split(".")
    if name.startswith("tapegrad.numpy.") and isinstance(getattr(np, parts[2], None), np.ufunc):
        return _LIST
    if parts[0] == "scipy":
        for count in range(len(parts) - 1, 1, -1):  # a function, or a method of an object
            home = ".".join(parts[:count])
            of_class = isinstance(getattr(sys.modules.get(home), parts[count], None), type)
            if has_mirror(home, parts[count]) and not (of_class and parts[count + 1 :]):
                parent, _, own = f"tapegrad.{home}".rpartition(".")
                call = ".".join((own, *parts[count:]))
                rule = rule_of(getattr(sys.modules[f"tapegrad.{home}"], parts[count]))
                if isinstance(rule, Unsupported):
                    return f"It has no derivative: {rule.reason}"
                return (
                    f"Import it with a derivative, from {parent} import {own}, and call {call}(x)"
                )
    for count in range(len(parts), 0, -1):
        found = _INSTEAD.get(".".join(parts[:count]))
        if found is not None:
            return found
    return of_extension(name) or _ELSEWHERE


def of_extension(name: str) -> str:
    """Advice about a function of a package's extension module, "" for any other."""
    file = extension_of(name)
    return file and (
        f"It is written in C, in {os.path.basename(file)}, where no derivative is seen: declare "
        "one of the call with tapegrad.primitive, or call a function of Python that computes the "
        "same; pass tapegrad.stop_gradient(x) where none is wanted"
    )


def has_mirror(module: str, name: str) -> bool:
    """Whether tapegrad offers a function of SciPy's with a derivative: scipy.linalg, solve."""
    home = f"tapegrad.{module}"
    try:
        found, theirs = importlib.import_module(home), getattr(sys.modules[module], name)
        return getattr(found, name) is not theirs and not isinstance(theirs, ModuleType)
    except (ImportError, AttributeError, KeyError):
        return False


def batched_advice_for(name: str) -> str:
    """The same for a batched value, or "" where the words depend on its dtype."""
    advice = advice_for(name).removesuffix(f"; {_PLAIN}") if name else ""
    if advice in ("", _OF_NUMPY.removesuffix(f"; {_PLAIN}"), _INTEGER):
        return ""
    if "tapegrad." not in advice.replace("@tapegrad.adopt", ""):
        return f"{advice}."
    return "It takes plain values only: call it outside of the vmap, on one example at a time."


def call_of(name: str) -> str:
    """A call of a function on x as a program writes it."""
    if "." not in name and not hasattr(builtins, name):
        return f"a call of {name}"
    for module, short in (("numpy.", "np."), ("builtins.", "")):
        if name.startswith(module):
            name = short + name.removeprefix(module)
    return f"{name}(x)"


# --- Errors -------------------------------------------------------------------------------------

# Whether a replay runs a part of the program once more, on traced values, of which only that the
# results are the same is known.
REPLAYING: ContextVar[bool] = ContextVar("tapegrad_replaying", default=False)


class Refusal(NamedTuple):
    """An error of ours, which a library may replace by its own, or the program catch."""

    place: Place  # the instruction that asked
    again: Callable[[], TapegradError]  # the same error without a traceback
    ours: bool  # whether the plain value gives what was asked for
    replayed: bool  # whether a replay ran the program once more, after a run on plain values

    @property
    def is_library(self) -> bool:
        """Whether an installed package asked, or Python's own library."""
        return is_library_code(self.place[0])

    @property
    def line(self) -> str:
        """Where it asked: `/home/me/model.py:12`."""
        return f"{self.place[0].co_filename}:{line_of(self.place)}"


def refuse(x: Any, call: str, advice: str) -> NoReturn:
    """Raise the error of a use of a traced x that would lose the derivative, and keep it."""
    keep_refusal(holder_of(x), asking_place(), lambda: _conversion_error(call, advice))


def _conversion_error(call: str, advice: str) -> ConversionError:
    return ConversionError(
        f"{call}: expected a plain value, got a traced one, whose derivative would be lost. "
        f"{advice.removesuffix('.')}."
    )


def refuse_conversion(x: Any, conversion: str) -> NoReturn:
    """Raise the error of a conversion of a traced x, and keep it.

    conversion: one of "float", "complex", "index", "ratio", "array", "dlpack".
    """
    found = caller()
    call, advice = _words(found, conversion)
    # A float is no index, and an array of several elements no number.
    ours = conversion in ("array", "dlpack") or conversion != "index" and x.size == 1
    keep_refusal(x.tape.root, found.place, lambda: _conversion_error(call, advice), ours)


def holder_of(x: Any) -> Any:
    """Holder of the refusals of a value of a transform; None where no transform asks."""
    return x.tape.root if isinstance(x, Traced) else x.vmap_level


def keep_refusal(
    holder: Any, place: Place, error: Callable[[], TapegradError], ours: bool = True
) -> NoReturn:
    """Raise an error, and keep it in `holder.refused`: for `explained`, and in case it is caught.

    holder: None where no transform would ask. ours: whether the plain value gives what was asked
    for.
    """
    if holder is None:
        raise error()
    if holder.refused is None:
        holder.refused = {}
    holder.refused.pop(place, None)  # the last refusal is the last one there
    holder.refused[place] = Refusal(place, error, ours, REPLAYING.get())
    raise error()


def refuse_unsupported(error: TapegradError, values: Iterable[Any]) -> NoReturn:
    """Raise the error of a function without a derivative, called on such values, and keep it."""
    inner = innermost_value(values)
    keep_refusal(holder_of(inner), asking_place(), lambda: type(error)(*error.args))


Unsupported.refuse = staticmethod(refuse_unsupported)


def _words(found: Caller, conversion: str) -> tuple[str, str]:
    """The call and the advice."""
    if found.operation:
        return _OF_OPERATION[found.operation]
    call, advice = _OF_CONVERSION[conversion]
    if not found.name or conversion == "dlpack" and found.name.startswith("numpy."):
        return call, advice
    if found.mirrored:
        return call_of(found.name), _MIRRORED
    own = advice_for(found.name)
    if found.package and (own is _ELSEWHERE or found.package != found.name.partition(".")[0]):
        own = _of_package(found)
    return call_of(found.name), own or advice


def _of_package(found: Caller) -> str:
    """Advice about a package that asks, for somebody who cannot edit it."""
    line = f"{found.line}, {found.called}(x)" if found.called else found.line
    compiled = of_extension(found.called)
    if compiled:
        return f"{line}, asks. {compiled}"
    if found.adopted:
        return (
            f"{line}, asks. The package is adopted, but this name is plain: it comes from a "
            "package that is not adopted (adopt that too), or from code in C. Or declare a "
            "derivative of the call with tapegrad.primitive, or pass tapegrad.stop_gradient(x) "
            "where none is wanted"
        )
    return (
        f'{line}, asks. Call tapegrad.adopt("{found.package}") before the package is '
        "imported: its numpy and math then mean tapegrad's. Or declare a derivative of the call "
        "with tapegrad.primitive, or pass tapegrad.stop_gradient(x) where none is wanted"
    )


def explained(error: BaseException | None, holder: Any) -> TapegradError | None:
    """The refusal in whose place a library raised an error that leaves a transform, or None.

    It is to be raised from its own cause. Where there is none, but a library failed on a value in
    a trace, the error gets a note.
    """
    trace = None if error is None else innermost(error.__traceback__)
    if error is None or trace is None or isinstance(error, TapegradError):
        return None
    cause = _cause_of(error)
    # A SystemError says that C code went on although a call of ours had failed.
    if cause is not None and (is_library(trace.tb_frame) or isinstance(error, SystemError)):
        return type(cause)(*cause.args).with_traceback(error.__traceback__)
    refusal: Refusal | None = next(reversed((holder.refused or {}).values()), None)
    if refusal is not None and _passes(error, trace, refusal.place):
        made = refusal.again().with_traceback(error.__traceback__)
        # C code that dropped the refusal may have failed for another reason as well.
        made.__cause__ = error if cause is None else None
        return made
    if isinstance(error, Exception):
        _note(error, trace)
    return None


def _passes(error: BaseException, innermost_entry: TracebackType, place: Place) -> bool:
    """Whether an error comes from the instruction that got a refusal, and so from the refusal.

    C code of a library (the root finders of SciPy) may go on after a refusal, and call the
    program's function again with the error still set, in which any lookup may fail.
    """
    if place_of(innermost_entry) == place:
        return not isinstance(error, LookupError)
    entry = error.__traceback__
    while entry is not None:
        if place_of(entry) == place and is_library(entry.tb_frame):
            return True
        entry = entry.tb_next
    return False


def _cause_of(error: BaseException) -> TapegradError | None:
    """The refusal that an error was raised from, or None."""
    cause = error.__cause__
    while cause is not None and not isinstance(cause, (BatchingError, ConversionError)):
        cause = cause.__cause__
    return cause


def _note(error: Exception, trace: TracebackType) -> None:
    """Say which call got a value in a trace, if a library failed on one."""
    if is_adopted(trace.tb_frame):
        return  # it computes with values in a trace, and raises errors of its own
    if is_library(trace.tb_frame):
        met = any(map(in_trace, trace.tb_frame.f_locals.values()))
    else:
        words = "" if isinstance(error, AttributeError) else text_of(error)
        met = _OUR_TYPES.search(words) is not None
    if met:
        name = caller_at(trace.tb_frame, trace.tb_lasti).name
        if not name.startswith("numpy.") or name in _INSTEAD:
            call = f"{call_of(name)}: " if name else ""
            advice = (name and advice_for(name)) or _ELSEWHERE
            add_note(error, f"{call}got a value inside a transform. {advice}.")


# The types of values in a trace, in an error of C code about the type of its argument.
_OUR_TYPES = re.compile(r"(?<![\w.])(Array|Batched)\b")


__all__ = [
    "REPLAYING",
    "Refusal",
    "advice_for",
    "batched_advice_for",
    "call_of",
    "explained",
    "holder_of",
    "keep_refusal",
    "of_extension",
    "refuse",
    "refuse_conversion",
    "refuse_unsupported",
]
