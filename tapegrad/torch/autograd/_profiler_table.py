"""The table of a profile, with PyTorch's columns, and how times and bytes are written.

Knows the attributes of events that it shows. Must not know how events are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

GAP = "  "


def format_time(time_us: float) -> str:
    """Microseconds as PyTorch writes them: 12.000us, 1.234ms, 1.234s."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    if time_us >= 1e3:
        return f"{time_us / 1e3:.3f}ms"
    return f"{time_us:.3f}us"


def format_time_in(time_us: float, unit: str) -> str:
    """Microseconds in a unit of the caller's: s, ms or us."""
    factors = {"s": 1e6, "ms": 1e3, "us": 1.0}
    if unit not in factors:
        raise ValueError(f"time_unit should be one of s, ms, us, got {unit!r}")
    return f"{time_us / factors[unit]:.3f}{unit}"


def format_time_share(time_us: float, total_time_us: float) -> str:
    """A time as a percentage of a total."""
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def format_memory(nbytes: float) -> str:
    """Bytes as PyTorch writes them: 12 B, 1.50 KB, -2.00 MB."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(nbytes) >= 1024**power:
            return f"{nbytes / 1024**power:.2f} {unit}"
    return f"{nbytes} B"


def build_table(
    events: Any,
    *,
    sort_by: str | None = None,
    header: str | None = None,
    row_limit: int = 100,
    max_src_column_width: int = 75,
    max_name_column_width: int = 55,
    max_shapes_column_width: int = 80,
    profile_memory: bool = False,
    top_level_events_only: bool = False,
    time_unit: str | None = None,
) -> str:
    """The table of a list of events."""
    if not len(events):
        return ""
    listed = list(events)
    if sort_by is not None:
        listed.sort(key=lambda event: getattr(event, sort_by), reverse=True)
    total = sum(event.self_cpu_time_total for event in listed)
    time: Callable[[float], str] = format_time
    if time_unit is not None:
        unit = time_unit
        time = lambda us: format_time_in(us, unit)  # noqa: E731 - chosen once
    columns = _columns(listed, time, total, profile_memory)
    columns = [("Name", *_name_column(listed, max_name_column_width)), *columns]
    shown = listed
    if top_level_events_only:
        shown = [event for event in listed if event.cpu_parent is None]
    if row_limit >= 0:
        shown = shown[:row_limit]
    if any(event.input_shapes for event in listed):
        width = max(len(str(event.input_shapes)) for event in listed) + 4
        width = min(width, max_shapes_column_width)
        columns.append(("Input Shapes", width, lambda e: str(e.input_shapes)[:width]))
    stacks = any(event.stack for event in listed)
    if stacks:
        entries = [line for event in listed for line in event.stack]
        width = min(max(map(len, entries)) + 4, max_src_column_width)
        columns.append(
            ("Source Location", width, lambda e: _end(e.stack[0], width) if e.stack else "")
        )
    lines = _rows(shown, columns, header, top_level_events_only, stacks, max_src_column_width)
    return "\n".join([*lines, f"Self CPU time total: {time(total)}", ""])


Column = tuple[str, int, Callable[[Any], str]]


def _name_column(events: Sequence[Any], limit: int) -> tuple[int, Callable[[Any], str]]:
    width = min(max(len(event.key) for event in events) + 4, limit)

    def cut(event: Any) -> str:
        name: str = event.key
        return name if len(name) <= width else f"{name[: width - 3]}..."

    return width, cut


def _columns(
    events: Sequence[Any], time: Callable[[float], str], total: float, memory: bool
) -> list[Column]:
    columns: list[Column] = [
        ("Self CPU %", 12, lambda e: format_time_share(e.self_cpu_time_total, total)),
        ("Self CPU", 12, lambda e: time(e.self_cpu_time_total)),
        (
            "CPU total %",
            12,
            lambda e: format_time_share(e.cpu_time_total, total) if not e.is_async else "0",
        ),
        ("CPU total", 12, lambda e: time(e.cpu_time_total)),
        ("CPU time avg", 12, lambda e: time(e.cpu_time)),
    ]
    if memory:
        columns.append(("CPU Mem", 12, lambda e: format_memory(e.cpu_memory_usage)))
        columns.append(("Self CPU Mem", 12, lambda e: format_memory(e.self_cpu_memory_usage)))
    columns.append(("# of Calls", 12, lambda e: str(e.count)))
    if any(event.node_id != -1 for event in events):
        columns.append(("Node ID", 12, lambda e: str(e.node_id)))
    return columns


def _rows(
    events: Sequence[Any],
    columns: Sequence[Column],
    header: str | None,
    top: bool,
    stacks: bool,
    source_width: int,
) -> list[str]:
    rule = "".join("-" * width + GAP for _, width, _ in columns)
    lines = []
    if header is not None:
        lines += ["=" * (len(rule) + 0), header]
    if top:
        lines += ["=" * len(rule), "This report only display top-level ops statistics"]
    lines += [rule, "".join(_cell(title, width, title) for title, width, _ in columns), rule]
    for event in events:
        lines.append("".join(_cell(show(event), width, title) for title, width, show in columns))
        if stacks:
            blank = "".join(" " * width + GAP for _, width, _ in columns[:-1])
            width = columns[-1][1]
            for line in event.stack[1:]:
                lines.append(blank + _cell(_end(line, min(width, source_width)), width, "Source"))
            lines.append(blank + " " * width + GAP)
    return [*lines, rule]


def _cell(text: str, width: int, title: str) -> str:
    return (text.ljust(width) if title.startswith("Source") else text.rjust(width)) + GAP


def _end(line: str, width: int) -> str:
    """A source location that is cut at its start, where it is a path."""
    return line if len(line) <= width else f"...{line[3 - width :]}"
