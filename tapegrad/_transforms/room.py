"""Whether a matrix of derivatives fits into memory, asked before its first row is computed.

Without that a Jacobian of 10^6 by 10^6 elements fails after hours, or takes the machine with it.
A refused matrix cannot fit: more bytes than the system could hand out now, swap included, or than
the limits of the process and of its container allow. One that hardly fits is tried.

Knows sizes, and what the system says of memory. Must not know how a matrix is computed.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from tapegrad._block import setting
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad._errors import OutOfMemoryError, message

MANY = 1 << 22  # elements up to which a matrix is not asked for

# The call that a user wrote and the ways out, where it is made of the calls that ask here.
_WRITTEN: ContextVar[tuple[str, str] | None] = ContextVar("tapegrad_matrix", default=None)


def written(call: str, ways: str) -> contextlib.AbstractContextManager[None]:
    """Errors within it name this call, and these ways out."""
    return setting(_WRITTEN, _WRITTEN.get() or (call, ways))


def require_room(
    call: str, outputs: Sequence[Value], inputs: Sequence[Value], ways: str, *, forward: bool
) -> None:
    """Raise OutOfMemoryError where derivatives of these outputs by these inputs cannot fit.

    forward: they have the dtypes of the outputs, otherwise those of the inputs.
    """
    rows, columns = sum(map(_size, outputs)), sum(map(_size, inputs))
    if rows * columns <= MANY:
        return
    arrays = [untraced(x) for x in (*outputs, *inputs)]
    if not all(isinstance(x, (np.ndarray, np.generic, float, complex)) for x in arrays):
        return  # other libraries have their memory elsewhere, or need none for now
    needed = sum(
        _size(out) * _size(x) * _itemsize(out, x, forward) for out in outputs for x in inputs
    )
    room = available()
    if room is None or needed <= room:
        if _is_granted(needed):
            return
        said = "more than the system grants"
    else:
        said = f"and {room} are available"
    call, ways = _WRITTEN.get() or (call, ways)
    raise OutOfMemoryError(
        message(
            call,
            "a result that fits into memory",
            f"{rows} x {columns} elements, which need {needed} bytes, {said}",
            ways,
        )
    )


def _size(x: Value) -> int:
    return math.prod(np.shape(x))


def _itemsize(out: Value, x: Value, forward: bool) -> int:
    of_out, of_x = np.result_type(untraced(out)), np.result_type(untraced(x))
    if forward:
        return of_out.itemsize
    return of_x.itemsize * (2 if of_out.kind == "c" and of_x.kind != "c" else 1)


def available() -> int | None:
    """The bytes that the system could hand out now; None where it does not say."""
    free = _free()
    limit = _limit()
    if free is None or limit is None:
        return free if limit is None else limit
    return min(free, limit)


def _free() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
        return found["MemAvailable"] + found["SwapFree"]
    except (OSError, ValueError, LookupError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _limit() -> int | None:
    """The limit of the container, of either version of Linux's cgroups."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if not kinds:
                places, name = ("/sys/fs/cgroup", f"/sys/fs/cgroup{path}"), "memory.max"
            elif "memory" in kinds.split(","):
                top = "/sys/fs/cgroup/memory"
                places, name = (top, f"{top}{path}"), "memory.limit_in_bytes"
            else:
                continue
            for place in places:
                with contextlib.suppress(OSError, ValueError):  # "max" is no number
                    found.append(int((Path(place) / name).read_text()))
    return min(found, default=None)


def _is_granted(count: int) -> bool:
    """Whether an allocation of so many bytes succeeds; nothing is written to them."""
    try:
        np.empty(count, np.uint8)
    except (MemoryError, ValueError):  # ValueError: of more than an address has bits for
        return False
    return True


__all__ = ["MANY", "available", "require_room", "written"]
