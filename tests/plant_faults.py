"""Plants faults in tapegrad, one at a time, and counts those that the tests find.

    python tests/plant_faults.py map MAP
    python tests/plant_faults.py run MAP RESULTS --count 200 --seed 1
    python tests/plant_faults.py report RESULTS [--verdicts FILE]

`map` runs the default tests and writes which lines each runs; it needs Python 3.12 or newer.

`run` draws faults from all rooms, and plants each in a copy of the checkout. The tests of its own
room that run its line are tried first; if they pass, those of other rooms. Quick ones come first,
and each of the two has `--limit` seconds. A test that hangs and a process that crashes have found
the fault; a test that fails without the fault as well has not. Where a line runs only while its
module is imported, or in no test, all tests of the room are tried, then all others that run the
file. RESULTS is a line of JSON for each fault. What is there already is not done again, so that a
run can be interrupted.

`report` prints Markdown. A fault that no test finds may have no effect: whoever judges that writes
a line into a file of verdicts, the fault's name in the report, `effect` or `none`, and why.

The same faults are planted before other tests by `map MAP --checkout PATH`, and then
`run MAP RESULTS --checkout PATH --faults EARLIER_RESULTS`. Both checkouts must have the same
tapegrad. Where tests do not lie in folders by room, own tests are not told from others.
"""

from __future__ import annotations

import argparse
import json
import pickle
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent / "shared"))

from fault_drawing import Fault, drawn
from fault_trials import Copy, Map, merged, tried


def judged(copy: Copy, fault: Fault, tests: Map, limit: float) -> dict[str, Any]:
    """A line of the results: the fault, and which test of its own room, and of all, finds it."""
    began = time.monotonic()
    own, others = tests.running(fault)
    in_rooms = (copy.root / "tests" / "core").is_dir()
    found, in_time = tried(copy, fault, own, limit) if in_rooms else (None, True)
    result = {
        **fault._asdict(),
        "own": found if in_rooms else "?",
        "tests": [len(own), len(others)],
    }
    if found is None:
        found, in_others = tried(copy, fault, others if in_rooms else own + others, limit)
        in_time = found is not None or in_time and in_others
    seconds = round(time.monotonic() - began, 1)
    return {**result, "all": found, "in_time": in_time, "seconds": seconds}


def map_lines(options: argparse.Namespace) -> None:
    """Runs all default tests, and writes which lines each runs."""
    with tempfile.TemporaryDirectory() as place:
        copy, parts = Copy(options.checkout, Path(place)), Path(place) / "parts"
        copy.pytest(f"--record-lines={parts}", "-n", str(options.jobs)).wait()
        print(copy.said.read_text()[-2000:], file=sys.stderr)
        whole = merged(sorted(parts.iterdir()))
    options.map.write_bytes(pickle.dumps(tuple(whole)))
    print(f"{len(whole.tests)} tests run {sum(map(len, whole.lines.values()))} lines")


def run(options: argparse.Namespace) -> None:
    """Plants the faults, side by side in copies, and writes the results as they come."""
    tests = Map(*pickle.loads(options.map.read_bytes()))
    if options.faults is not None:
        faults = [Fault(*map(row.get, Fault._fields)) for row in rows(options.faults)]
    else:
        faults = drawn(options.checkout, options.count, options.seed)
    done = {row["name"] for row in rows(options.results)} if options.results.exists() else set()
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    lock = threading.Lock()

    def judge(fault: Fault) -> None:
        copy = copies.get()
        try:
            result = judged(copy, fault, tests, options.limit)
        finally:
            copies.put(copy)
        with lock, options.results.open("a", encoding="utf-8") as file:
            print(json.dumps(result), file=file)
            print(f"{fault.kind:10} {fault.file}:{fault.line} {result['seconds']} s", end=" ")
            print(f"found by {result['all']}" if result["all"] else "not found", flush=True)

    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.jobs):
            copies.put(Copy(options.checkout, Path(place) / str(number)))
        list(pool.map(judge, (fault for fault in faults if fault.name not in done)))


def rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of results."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def report(options: argparse.Namespace) -> None:
    """Prints what was found, as Markdown: by room, by kind, and each fault that was not."""
    verdicts = {}
    if options.verdicts is not None:
        for line in options.verdicts.read_text(encoding="utf-8").splitlines():
            name, verdict, *why = line.split(None, 2)
            verdicts[name] = (verdict, "".join(why))
    found = rows(options.results)
    idle = {name for name, (verdict, _) in verdicts.items() if verdict == "none"}
    for by in ("room", "kind"):
        print("\n".join(table(found, by, idle)), end="\n\n")
    for row in found:
        if row["all"] is None:
            print("\n".join(survivor(row, verdicts.get(row["name"]))), end="\n\n")


def table(found: list[dict[str, Any]], by: str, idle: set[str]) -> Iterator[str]:
    """Counts for each room or kind, and the parts that were found of those with an effect."""
    yield f"| {by} | planted | without effect | found by own tests | by all tests | by none |"
    yield "|---|---:|---:|---:|---:|---:|"
    groups = sorted({row[by] for row in found})
    for group in [*groups, "all"]:
        chosen = [row for row in found if group in (row[by], "all")]
        real = [row for row in chosen if row["all"] is not None or row["name"] not in idle]
        known = [row for row in real if row["own"] != "?"]
        own = part(sum(row["own"] is not None for row in known), len(known))
        every = part(sum(row["all"] is not None for row in real), len(real))
        none = sum(row["all"] is None for row in real)
        yield f"| {group} | {len(chosen)} | {len(chosen) - len(real)} | {own} | {every} | {none} |"


def part(count: int, whole: int) -> str:
    """A count, and its part of a whole in percent."""
    return f"{count} ({count / whole:.0%})" if whole else "-"


def survivor(row: dict[str, Any], verdict: tuple[str, str] | None) -> Iterator[str]:
    """A fault that no test found: where it is, what was tried, and what is judged of it."""
    own, others = row["tests"]
    tried_all = "" if row["in_time"] else ", not all in time"
    yield f"**{row['name']}** {row['kind']}, {row['file']}:{row['line']}; of {own} own tests and "
    yield f"{others} others{tried_all}. {': '.join(verdict) if verdict else 'Not judged yet.'}"
    yield "```diff"
    yield from (f"-{line}" for line in row["was"].splitlines())
    yield from (f"+{line}" for line in row["becomes"].splitlines())
    yield "```"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("map", type=Path)
    both.add_argument("--checkout", type=Path, default=Path(__file__).resolve().parents[1])
    both.add_argument("--jobs", type=int, default=2, help="side by side")
    commands.add_parser("map", parents=[both]).set_defaults(call=map_lines)
    running = commands.add_parser("run", parents=[both])
    running.add_argument("results", type=Path)
    running.add_argument("--count", type=int, default=200)
    running.add_argument("--seed", type=int, default=0)
    running.add_argument(
        "--faults", type=Path, help="a file of results: the same faults once more"
    )
    running.add_argument("--limit", type=float, default=120, help="seconds, own tests and others")
    running.set_defaults(call=run)
    reporting = commands.add_parser("report")
    reporting.add_argument("results", type=Path)
    reporting.add_argument("--verdicts", type=Path)
    reporting.set_defaults(call=report)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
