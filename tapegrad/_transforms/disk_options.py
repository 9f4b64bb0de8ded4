"""The options of checkpoint_sequence that say how it uses a disk, checked.

Must not know steps or states.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from tapegrad._errors import InputError, describe, message


class Disk(NamedTuple):
    """Where states go, the price of a write and a read in steps, and how many there may be."""

    directory: str | os.PathLike[str]
    cost: tuple[float, float] | None
    states: int | None


def chosen_disk(name: str, directory: Any, cost: Any, states: Any) -> Disk | None:
    """The options of the disk, checked; None without a directory."""
    if directory is None:
        if cost is None and states is None:
            return None
        raise InputError(
            message(
                name,
                "disk=, the directory of the files",
                "disk_cost or disk_states without it",
                "Give a directory, or leave these away",
            )
        )
    if cost is not None:
        try:
            write, read = map(float, cost)
        except (TypeError, ValueError):
            write = read = -1.0
        if not (write >= 0 and read >= 0):
            raise InputError(
                message(
                    name,
                    "disk_cost=(write, read), two numbers of steps",
                    describe(cost),
                    "Leave it away to have it measured",
                )
            )
        cost = write, read
    if states is not None and not (hasattr(states, "__index__") and states >= 0):
        raise InputError(
            message(
                name,
                "disk_states, a number of files from 0 on",
                describe(states),
                "Leave it away for as many as fill half of the free space",
            )
        )
    return Disk(directory, cost, states)


__all__ = ["Disk", "chosen_disk"]
