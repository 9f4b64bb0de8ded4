"""Equal values in other memory: orders, strides, alignment.

Knows plain NumPy, and how a layout is written down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._strategies.asking import asked_words, refuse
from tapegrad.testing._strategies.drawing import Draw, drawn, hypothesis, is_strategy, noted
from tapegrad.testing._strategies.drawing import strategy as strategy_of
from tapegrad.testing._strategies.source import array_source

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# Those that `arrays` draws from, and all that there are.
LAYOUTS = ("C", "F", "strided", "reversed")
ALL_LAYOUTS = (*LAYOUTS, "rolled", "unaligned", "readonly")


def _strided(values: Value) -> Value:
    return np.repeat(values, 2, axis=-1)[..., ::2]


def _reversed(values: Value) -> Value:
    backward = (slice(None, None, -1),) * values.ndim
    return np.ascontiguousarray(values[backward])[backward]


def _rolled(values: Value) -> Value:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(values, 0, -1)), -1, 0)


def _unaligned(values: Value) -> Value:
    if not values.size:
        return values
    memory = bytearray(1) + values.tobytes()
    return np.frombuffer(memory, values.dtype, offset=1).reshape(values.shape)


def _readonly(values: Value) -> Value:
    return np.broadcast_to(values, values.shape)


_MADE: dict[str, Callable[[Value], Value]] = {
    "F": np.asfortranarray,
    "strided": _strided,
    "reversed": _reversed,
    "rolled": _rolled,
    "unaligned": _unaligned,
    "readonly": _readonly,
}


def laid_out(values: Value, layout: str) -> Value:
    """Equal values in another memory layout; a 0-d array not in C order becomes a scalar."""
    if layout == "C":
        return values
    if values.ndim == 0:
        return values[()]
    return _MADE[layout](values)


def layout_source(values: Value, layout: str) -> str:
    """The source of what `laid_out` returned for these values."""
    text = array_source(values)
    if layout == "C" or not isinstance(values, np.ndarray) or values.ndim == 0:
        return text
    backward = "[" + ", ".join(["::-1"] * values.ndim) + "]"
    made = {
        "F": f"np.asfortranarray({text})",
        "strided": f"np.repeat({text}, 2, axis=-1)[..., ::2]",
        "reversed": f"{text}{backward}.copy(){backward}",
        "rolled": f"np.moveaxis(np.moveaxis({text}, 0, -1).copy(), -1, 0)",
        "readonly": f"np.broadcast_to({text}, {values.shape})",
    }
    if layout == "unaligned" and values.size:
        made["unaligned"] = (
            f"(lambda x: np.frombuffer(bytearray(1) + x.tobytes(), x.dtype, offset=1)"
            f".reshape(x.shape))({text})"
        )
    return made.get(layout, text)


def noted_layout(values: Value, layout: str) -> Value:
    """The values in a layout, printed as source."""
    found = laid_out(values, layout)
    return noted(found, lambda: layout_source(found, layout))


def layouts(
    values: Any, kinds: str | tuple[str, ...] = ALL_LAYOUTS
) -> SearchStrategy[np.ndarray[Any, Any]]:
    """A strategy for arrays that are equal to another one, in other memory.

    Each is a new array. Unlike those of `arrays`, 0-d arrays stay arrays.

    Parameters
    ----------
    values : array or SearchStrategy of such
        What they are equal to.
    kinds : str or tuple of str, optional
        All of these by default: "C" and "F" (orders), "strided" (every second element of a larger
        array), "reversed" (negative strides), "rolled" (neither C nor F from three dimensions on),
        "unaligned" (memory that begins between the multiples of the item size), "readonly".

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The arrays.

    Raises
    ------
    InputError
        For other kinds, and values that are no numbers.

    Examples
    --------
    >>> from hypothesis import given
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> @given(layouts(x))
    ... def check(y):
    ...     assert np.array_equal(x, y)
    >>> check()
    """
    names = asked_words("layouts", "kinds", kinds, ALL_LAYOUTS)
    if not is_strategy(values):
        values = np.asarray(values)
        if values.dtype.hasobject:
            refuse("layouts", "an array of numbers, or a strategy", values, "Pass such an array")
    chosen = hypothesis().strategies.sampled_from(names)

    def make(draw: Draw) -> Any:
        found = np.array(drawn(draw, values), order="C")
        layout = draw(chosen)
        return noted_layout(found, layout) if found.ndim else noted_layout(found, "C")

    return strategy_of("layouts", make)
