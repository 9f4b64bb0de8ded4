"""How many examples a test draws, and which rows of a table run: few by default, more elsewhere.

The default run is the same everywhere: its draws are those of Hypothesis's derandomised order, so
that what is green on one machine is green on the next. `pytest -m slow
--hypothesis-profile=explore` draws at random, and many: there each drawn test counts as slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

BRIEF = 2  # examples: the first alone is the simplest that there is, of an empty array


def leave_out_constants() -> None:
    """Draw no numbers that stand in the sources of modules which this process has imported.

    Hypothesis looks there, and which modules these are depends on the tests that ran before in the
    same process, so that derandomised draws would not be the same everywhere.
    """
    if hasattr(providers, "_get_local_constants"):
        nothing = providers.Constants()
        providers._get_local_constants = lambda: nothing


def register_profiles() -> None:
    """`default`; `brief`, two draws of each; `explore`, at random: `--hypothesis-profile=explore`.

    No deadline: the first call of a test pays for imports, and machines differ. No database: an
    example that failed here once would be tried here alone.
    """
    settings.register_profile(
        "default",
        deadline=None,
        database=None,
        derandomize=True,
        max_examples=10,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile(
        "explore",
        settings.get_profile("default"),
        derandomize=False,
        max_examples=500,
        print_blob=True,
    )
    settings.register_profile("brief", settings.get_profile("default"), max_examples=BRIEF)
    settings.load_profile("default")
    leave_out_constants()


def is_exploring() -> bool:
    """Whether examples are drawn at random, and many."""
    return not settings().derandomize


def draws(few: int, many: int, **options: Any) -> settings:
    """Settings of a test that draws `few` examples by default, and `many` to explore."""
    brief = settings().max_examples == BRIEF
    count = many if is_exploring() else min(few, BRIEF) if brief else few
    return settings(max_examples=count, suppress_health_check=list(HealthCheck), **options)


def is_drawn(function: Callable[..., Any]) -> bool:
    """Whether Hypothesis draws the arguments of a test."""
    return hasattr(function, "hypothesis")


def is_scheduled(function: Callable[..., Any]) -> bool:
    """Whether a test is of the weekly run alone; `-m slow` takes it as well."""
    return any(mark.name == "scheduled" for mark in getattr(function, "pytestmark", []))


def part_of(items: Iterable[pytest.Function], one_in: int) -> set[pytest.Function]:
    """One row in so many of a table: every value of a short axis is among them, and no pattern.

    Rows are taken by a checksum of their names, so that a new row moves no other.
    """
    rows = sorted(items, key=lambda item: crc32(item.name.encode()))
    count = -(-len(rows) // one_in)
    values = [{(axis, i) for axis, i in row.callspec.indices.items()} for row in rows]
    long = {
        axis
        for axis in rows[0].callspec.indices
        if len({row.callspec.indices[axis] for row in rows}) > count
    }
    kept, seen = [], set()
    for row, its in zip(rows, values, strict=True):
        if new := {value for value in its - seen if value[0] not in long}:
            kept.append(row)
            seen |= new
    chosen = set(kept)
    return chosen | set([row for row in rows if row not in chosen][: max(count - len(kept), 0)])
