"""Tests of a table in one item: every row is run, and all that fail are told.

An item costs pytest and its workers some milliseconds, which is more than most rows take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager


@contextmanager
def all_rows() -> Iterator[Callable[[object], AbstractContextManager[None]]]:
    """A function that gives the block of a row; what rows raise is raised together at the end."""
    failed: list[Exception] = []
    run = 0

    @contextmanager
    def row(name: object) -> Iterator[None]:
        nonlocal run
        run += 1
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised below, with the others
            error.add_note(f"in the row {name!s}")
            failed.append(error)

    yield row
    assert run, "the table has no rows"
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {run} rows failed", failed)
