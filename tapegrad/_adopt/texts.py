"""Texts that show values in a trace, in adopted code: a number read from one has no derivative.

`float(f"{x:.6f}")` would give a derivative of 0 in silence. Where a text is that of one call, such
as `str(x)`, it is marked; reading a number from a marked text is refused.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tapegrad._arrays.buffers import value_of
from tapegrad._core.recorded import end_program
from tapegrad._core.values import holds_in_trace, peeked, untraced
from tapegrad._errors import ConversionError, message


class ShownNumber(str):
    """The text of a value in a trace."""

    __slots__ = ()


def refuse_text(name: str, text: str) -> NoReturn:
    """Raise the error of a number that is read from the text of a value in a trace."""
    raise ConversionError(
        message(
            f"{name}({str(text)!r})",
            "a number",
            "the text of a traced one, which has no derivative",
            "Use the value itself, or tapegrad.stop_gradient(x) where no derivative is wanted",
        )
    )


def _marked(made: Any, shown: Any) -> Any:
    return ShownNumber(made) if type(made) is str and holds_in_trace(shown) else made


def as_text(x: Any) -> str:
    """`str(x)` in adopted code."""
    return _marked(str(x), x)


def by_spec(x: Any, spec: str = "") -> str:
    """`format(x, spec)` and `f"{x:spec}"` in adopted code."""
    return _marked(format(x, spec), x)


def by_format(text: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`"...".format(x)` in adopted code."""
    made = text.format(*args, **kwargs)
    return _marked(made, (args, list(kwargs.values()))) if type(text) is str else made


def by_percent(text: str, x: Any) -> str:
    """`"%..." % x` in adopted code."""
    if type(x) is tuple:
        return _marked(text % tuple([untraced(value_of(part)) for part in x]), x)
    if type(x) is dict:
        plain = {name: untraced(value_of(part)) for name, part in x.items()}
        return _marked(text % plain, list(x.values()))
    return _marked(text % untraced(value_of(x)), x)


def unseen(x: Any) -> Any:
    """A value in a text that only an error shows: the plain one, also where calls are recorded."""
    return peeked(value_of(x))


def shown(error: Any) -> Any:
    """An error, or its text, that shows values: no program knows these."""
    end_program("it prints, or formats, a value")
    return error


__all__ = [
    "ShownNumber",
    "as_text",
    "by_format",
    "by_percent",
    "by_spec",
    "refuse_text",
    "shown",
    "unseen",
]
