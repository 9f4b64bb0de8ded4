"""Exception classes, and the one formatter of their messages.

Knows nothing of tapes or arrays: callers describe what they got in words (`describe` helps).
Every message has the same four parts: the call as written, what was expected, what came, what to
do.
"""

from __future__ import annotations

from typing import Any


class TapegradError(Exception):
    """Base class of every error that tapegrad raises on its own account."""


class InputError(TapegradError, TypeError):
    """An argument of a transform has the wrong type, dtype or structure."""


class SettingError(InputError, AttributeError):
    """`tapegrad.config` has no setting of such a name, or none that takes such a value."""


class OutputError(TapegradError, TypeError):
    """A differentiated function returned something that the transform cannot use."""


class OutOfMemoryError(TapegradError, MemoryError, RuntimeError):
    """A Jacobian or a Hessian has more bytes than there is memory; nothing of it was computed.

    A RuntimeError too, as in PyTorch.
    """


class ShapeMismatchError(TapegradError, ValueError):
    """A tangent, cotangent or derivative has another shape than its value."""


class StaleProgramError(TapegradError):
    """A program's result differs from the function's own: `compile(f, check=n)` found it."""


class EagerWarning(UserWarning):
    """A compiled function is called as it is: its calls, or some kinds of them, are no program."""


class ConversionWarning(UserWarning):
    """The program caught the error of a refused conversion inside a transform.

    A ConversionError, most often, which `except TypeError` catches too: the derivative may lack a
    part. Where the value is another one than on plain values the transform raises the error.
    """


class ExactTieWarning(UserWarning):
    """An exact tie decided `==` or `!=` of traced values, where `config` asks to be told."""


class LeakedValueError(TapegradError, RuntimeError):
    """A traced value was used after the transform that made it had returned."""


class ChangedConstantError(TapegradError, RuntimeError):
    """A program changed a plain array after a derivative had come to depend on it."""


class NonFiniteError(TapegradError, FloatingPointError):
    """A NaN or an infinity came out of finite numbers, under `tapegrad.debug_nans`.

    Attributes
    ----------
    operation : str
        As users write it, `np.log`.
    file : str
        Of the user's program, where the operation was called; empty if it is not known.
    line : int
        The line there; 0 if it is not known.
    backward : bool
        Whether it is the operation's derivative that is not finite.
    index : tuple of int
        Of the element.
    value : complex
        What it is there.
    """

    operation: str = ""
    file: str = ""
    line: int = 0
    backward: bool = False
    index: tuple[int, ...] = ()
    value: complex = float("nan")


class NotDifferentiableError(TapegradError, TypeError):
    """A function without a derivative rule was called on a traced value."""


class ConversionError(TapegradError, TypeError):
    """A traced value was about to be turned into a plain one, which loses its derivative."""


class MemoryAttributeError(ConversionError, AttributeError):
    """A traced or batched value was asked for an attribute of its memory; hasattr says no."""


class BatchingError(TapegradError, TypeError):
    """A program inside vmap asked what may differ from example to example."""


class RuleError(TapegradError, TypeError):
    """A derivative rule was declared wrongly, or returned something that does not fit."""


class MissingRuleError(RuleError, NotImplementedError):
    """A function for which no derivative has been declared was called on a traced value."""


def message(call: str, expected: str, got: str, advice: str) -> str:
    """The text of an error: `call: expected ..., got .... advice.`"""
    return f"{call}: expected {expected}, got {got}. {advice}."


def describe(value: Any) -> str:
    """A short name for a value in a message: `float64[3]`, `float64 scalar`, `str 'abc'`."""
    if value is None:
        return "None"
    kind = _kind(value)
    if kind is not None:
        return kind
    text = " ".join(_part(value, 40).split())
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def _kind(value: Any) -> str | None:
    """The dtype and shape of an array, or None."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or not isinstance(shape, tuple) or isinstance(value, type):
        return None  # a delayed value has whatever one asks for
    return f"{dtype}[{','.join(map(str, shape))}]" if shape else f"{dtype} scalar"


def _part(value: Any, levels: int) -> str:
    """The repr of a value, down to some levels, in which arrays are described."""
    if type(value) in (dict, list, tuple) and not levels:
        return "..."
    if type(value) is dict:
        pairs = [f"{key!r}: {_part(part, levels - 1)}" for key, part in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if type(value) in (list, tuple):
        inner = ", ".join([_part(part, levels - 1) for part in value])
        comma = "," if type(value) is tuple and len(value) == 1 else ""
        return f"[{inner}]" if type(value) is list else f"({inner}{comma})"
    return _kind(value) or repr(value)


def name_of(function: Any) -> str:
    """The name by which a user knows a callable; partials and instances get their class's name."""
    inner = getattr(function, "__wrapped__", function)
    own: str | None = getattr(function, "__name__", None)
    inherited: str = getattr(inner, "__name__", type(function).__name__)
    return own or inherited


# Errors are classes of others: one may refuse new attributes, as frozen dataclasses do, or fail
# to say its words. What is done to an error of the program must never take its place.


def text_of(error: BaseException) -> str:
    """The words of an error; none if it fails to say them."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return ""


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error, also to one that refuses attributes; once if it is there already."""
    notes = _attributes(error).get("__notes__", [])
    if isinstance(notes, list) and note not in notes:
        BaseException.__setattr__(error, "__notes__", [*notes, note])


def mark(error: BaseException, name: str) -> bool:
    """Mark an error by an attribute, which shows nowhere; whether it was not marked before."""
    is_new = name not in _attributes(error)
    BaseException.__setattr__(error, name, True)
    return is_new


def _attributes(error: BaseException) -> dict[str, Any]:
    found: dict[str, Any] = BaseException.__getattribute__(error, "__dict__")
    return found
