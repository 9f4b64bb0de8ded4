"""The words of `arrays(domain=...)`: where elements lie, in which order, how often, how special.

Knows plain NumPy only: elements of choices. Must not know Hypothesis.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._strategies.asking import asked_number, asked_words, refuse
from tapegrad.testing._strategies.drawing import CODED
from tapegrad.testing._strategies.grids import Field, grid, places, spread

# The bounds that a word stands for where `low` and `high` are left away.
BOUNDS = {"real": (-2.0, 2.0), "positive": (0.0, 2.0), "negative": (-2.0, 0.0), "unit": (0.0, 1.0)}
SPECIAL = {
    "nan": (np.nan,),
    "infinite": (np.inf, -np.inf),
    "nonfinite": (np.nan, np.inf, -np.inf),
}
DOMAINS = (*BOUNDS, "distinct", "sorted", "ties", *SPECIAL, "subnormal")

_SEED = 8  # bytes of the seed that shuffles what comes after the first elements

# Of each line one word at most.
_EITHER = (
    (*BOUNDS, "subnormal"),
    ("distinct", "ties"),
    ("sorted", *SPECIAL),
    ("subnormal", *SPECIAL),
)


def asked_domain(call: str, domain: Any) -> tuple[str, ...]:
    """The words, which must not contradict each other."""
    words = asked_words(call, "domain", domain, DOMAINS)
    for line in _EITHER:
        found = [word for word in line if word in words]
        if len(found) > 1:
            refuse(call, "a domain without contradiction", repr(domain), f"Choose of {found}")
    return words


def asked_field(
    call: str,
    words: tuple[str, ...],
    bounds: tuple[Any, Any],
    phase: Any,
    kinks: Any,
    margin: Any,
) -> Field:
    """Where elements may lie, which must be somewhere."""
    if "subnormal" in words and (bounds != (None, None) or np.size(kinks)):
        refuse(call, "no low, high or away_from, for subnormal numbers", "some", "Leave them away")
    low, high = BOUNDS[next((word for word in words if word in BOUNDS), "real")]
    least = asked_number(call, "low", low if bounds[0] is None else bounds[0])
    most = asked_number(call, "high", high if bounds[1] is None else bounds[1])
    for word, inside in (
        ("positive", least >= 0),
        ("negative", most <= 0),
        ("unit", least >= 0 and most <= 1),
    ):
        if word in words and not inside:
            refuse(
                call, f"bounds within {word!r}", f"{least} to {most}", "Leave low and high away"
            )
    if not least < most:
        refuse(call, "low below high", f"{least} and {most}", "Pass bounds in order, apart")
    shift = asked_number(call, "phase", phase)
    if not 0 <= shift <= 1:
        refuse(call, "a phase from 0 to 1", repr(phase), "Pass such a number")
    points = tuple(asked_number(call, "each of away_from", kink) for kink in np.ravel(kinks))
    apart = asked_number(call, "margin", margin)
    if apart < 0:
        refuse(call, "a margin of 0 or more", repr(margin), "Pass such a number")
    field = Field(least, most, shift, points, apart)
    if not field.room() > 0:
        words_of_kinks = f"{least} to {most} without {apart} around {list(points)}"
        refuse(call, "bounds with room beside the kinks", words_of_kinks, "Lower the margin")
    return field


def code_count(words: tuple[str, ...], size: int) -> int:
    """How many choices the elements of one part take."""
    if not set(words) & {"ties", *SPECIAL}:
        return min(size, CODED + _SEED)  # many elements are shuffled at once
    special = any(word in SPECIAL for word in words)
    return size * (1 + special) + special


def elements(
    raw: bytes, words: tuple[str, ...], field: Field, dtype: np.dtype[Any], size: int
) -> Value:
    """So many elements of a real dtype, in one dimension, of so many choices."""
    ordered = subnormals(dtype, size) if "subnormal" in words else grid(field, dtype, size)
    if "ties" in words:
        ordered = ordered[: max(1, min(size // 2, len(ordered)))]
        found = ordered[spread(raw[:size], len(ordered))]
    elif len(ordered) < size:
        if "distinct" in words:
            text = f"{len(ordered)} of {dtype} between {field.low} and {field.high}"
            refuse(
                "arrays", f"room for {size} distinct numbers", text, "Pass another dtype or shape"
            )
        found = np.resize(ordered, size)
    elif size <= CODED:
        found = ordered[places(raw[:size], len(ordered))]
    else:
        found = ordered[_many(raw, len(ordered), size)]
    return found


def _many(raw: bytes, count: int, size: int) -> Value:
    """Distinct places of many elements: the first by choice, the others shuffled at once."""
    first = places(raw[:CODED], count)
    free = np.ones(count, bool)
    free[first] = False
    rest = np.flatnonzero(free)
    seed = int.from_bytes(raw[CODED : CODED + _SEED], "big")
    if seed:
        rest = np.random.default_rng(seed).permutation(rest)
    return np.concatenate([first, rest[: size - CODED]])


def with_special(raw: bytes, words: tuple[str, ...], values: Value) -> Value:
    """The values, some of which, at least one, are not finite any more."""
    kinds = next((SPECIAL[word] for word in words if word in SPECIAL), ())
    if not kinds or not values.size:
        return values
    chosen = np.frombuffer(raw[values.size : 2 * values.size], np.uint8)
    replaced = np.flatnonzero(chosen >= 192)  # a quarter of them
    certain = raw[2 * values.size] * values.size >> 8
    for place in {certain, *replaced.tolist()}:
        values[place] = kinds[int(chosen[place]) % len(kinds)]
    return values


@functools.lru_cache(maxsize=256)
def subnormals(dtype: np.dtype[Any], size: int) -> Value:
    """Subnormal numbers of both signs, from the least of all to the largest."""
    info = np.finfo(dtype)
    most = float(info.smallest_normal / info.smallest_subnormal) - 1
    counts = np.unique(np.floor(np.geomspace(1, most, 64 + 4 * size)))
    counts = counts[counts <= most]
    both = np.stack([counts, -counts], axis=1).ravel().astype(np.longdouble)
    found = np.asarray((both * np.longdouble(info.smallest_subnormal)).astype(dtype))
    found.setflags(write=False)
    return found
