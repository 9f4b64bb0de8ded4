"""Which states a reversal stores: in memory alone (revolve), or in memory and in files.

Knows numbers of steps. Must not know states, nor how they are stored.

A schedule's price is the steps that it runs again, and its writes and reads, in steps.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from math import comb


@functools.cache
def _capacity(snapshots: int, repeats: int) -> int:
    """The number of steps that can be reversed if each of them runs `repeats` times."""
    return comb(snapshots + repeats, repeats) if repeats >= 0 else 0


def first_jump(steps: int, snapshots: int) -> int:
    """The distance from a snapshot to the next one that needs the fewest steps in all."""
    if snapshots == 1:
        return steps
    repeats = 0
    while _capacity(snapshots, repeats) < steps:
        repeats += 1
    # The steps after the jump have one snapshot less, those before it one repeat less.
    jump = min(_capacity(snapshots, repeats - 1), steps - _capacity(snapshots - 1, repeats - 1))
    return max(jump, steps - _capacity(snapshots - 1, repeats), 1)


# --- Memory and disk ----------------------------------------------------------------------------
#
# The first sweep passes every state, so that a state which is to lie in a file is written then: a
# later write would cost as much, and the steps up to it. `d` files divide the sweep into d + 1
# segments, each reversed by revolve once it is read, and a last one, whose snapshots the sweep
# itself leaves in memory. The price of a segment is convex in its length: the first element is
# free, and the next comb(m + r, r) - comb(m + r - 1, r - 1) cost r steps each, m being the number
# of snapshots. So lengths that fill all segments up to one r are the best for d files, and the
# price of that is convex in d.


def _room(repeats: int, files: int, snapshots: int) -> int:
    """How many steps can be reversed that run again at most `repeats` times each."""
    return (files + 1) * _capacity(snapshots, repeats) + _last_room(repeats, snapshots)


def _last_room(repeats: int, snapshots: int) -> int:
    """`_capacity` of a segment in which the first sweep has left its snapshots.

    It is the sum of those of 1, ..., `snapshots` snapshots.
    """
    return comb(snapshots + repeats + 1, repeats + 1) - 1


def steps_again(n: int, snapshots: int, files: int) -> int:
    """The steps that a reversal of n steps runs again, the n differentiated ones not counted."""
    repeats = total = done = 0
    while done < n:
        reached = min(n, _room(repeats, files, snapshots))
        total += repeats * (reached - done)
        done, repeats = reached, repeats + 1
    return total


def best_files(n: int, snapshots: int, price: float, limit: int) -> int:
    """How many files, at most `limit`, give the lowest price; `price` is one file's, in steps."""
    low, high = 0, max(min(limit, n), 0)
    while low < high:
        middle = (low + high) // 2
        saved = steps_again(n, snapshots, middle) - steps_again(n, snapshots, middle + 1)
        if saved > price:
            low = middle + 1
        else:
            high = middle
    return low


def disk_positions(n: int, snapshots: int, files: int) -> Iterator[int]:
    """The steps before which the sweep stores a state: in a file, but for the last, in memory."""
    repeats = 0
    while _room(repeats, files, snapshots) < n:
        repeats += 1
    least, most = _capacity(snapshots, repeats - 1), _capacity(snapshots, repeats)
    last = _last_room(repeats - 1, snapshots) if repeats else 0
    spare = n - (files + 1) * least - last
    spare -= min(spare, _last_room(repeats, snapshots) - last)  # what the last segment takes
    place = 0
    for _ in range(files + 1):
        more = min(spare, most - least)
        place, spare = place + least + more, spare - more
        yield place


__all__ = ["best_files", "disk_positions", "first_jump", "steps_again"]
