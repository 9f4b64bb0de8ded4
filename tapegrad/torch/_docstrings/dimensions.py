"""The words by which docstrings of a family of 1, 2 and 3 dimensions differ."""

from __future__ import annotations

import itertools
import re
import textwrap

# For signals, images and volumes. A text has them in braces: Convolution of {inputs}.
WORDS = {
    "borders": (
        "two: before and after",
        "four: left, right, top, bottom",
        "six: left, right, top, bottom, front, back",
    ),
    "flat": ("signals", "flattened images", "flattened volumes"),
    "inputs": ("signals", "images", "volumes"),
    "Inputs": ("Signals", "Images", "Volumes"),
    "kernel": ("kernel length", "kernel height, kernel width", "kernel depth, height, width"),
    "last": ("dimension", "two dimensions", "three dimensions"),
    "ranks": ("2 or 3", "3 or 4", "4 or 5"),
    "shape": (
        "(n, channels, length) or (channels, length)",
        "(n, channels, height, width) or (channels, height, width)",
        "(n, channels, depth, height, width) or without n",
    ),
    "sides": ("4", "4, 4", "4, 4, 4"),
    "size": ("length", "size", "size"),
}

_WIDTH = 95  # of a line in a docstring that is indented by 4
_NUMBER = re.compile(r"([123])d")
_PLACE = re.compile(r"\{(\w+)\}")


def filled(text: str, name: str, *, prose: bool = True) -> str:
    """A text with the words for the dimensions of what has this name, as `LazyConv2d`.

    `{nd}` stands for the end of the name, 2d, `{name}` for all of it, and `{plain}` for Conv2d.
    prose: whether lines are filled, which those of an example are not.
    """
    number = _NUMBER.search(name) if "{" in text else None
    if number is None:
        return text
    known = {word: of_each[int(number[1]) - 1] for word, of_each in WORDS.items()}
    known |= {"nd": number[0], "name": name, "plain": name.removeprefix("Lazy")}
    if not prose:
        return _PLACE.sub(lambda place: known[place[1]], text)
    lines: list[str] = []
    for margin, run in itertools.groupby(text.splitlines(), _margin):
        block = list(run)
        whole = " ".join(map(str.strip, block))
        put = _PLACE.sub(lambda place: known[place[1]], whole)
        lines += block if put == whole else _wrapped(put, " " * margin)
    return "\n".join(lines)


def entry_text(text: str) -> str:
    """The text of an entry, as it stands in a docstring below the name."""
    return "\n".join(_wrapped(" ".join(map(str.strip, text.splitlines())), "    "))


def _wrapped(text: str, margin: str) -> list[str]:
    if len(margin) + len(text) <= _WIDTH:
        return [margin + text]
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip()) if line else -1


__all__ = ["entry_text", "filled"]
