"""The report as a page of HTML, in one file.

Knows what a report has, by its names: `report.py` imports this. Must not know how it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Rule coverage</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }
table { border-collapse: collapse; width: 100% }
td, th { border-bottom: 1px solid #8884; padding: .3em .6em; text-align: left }
td { vertical-align: top }
.yes { color: #15803d } .no { color: #b91c1c }
code, li { font-family: ui-monospace, monospace; font-size: 13px } ul { margin: 0 }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd }
.yes { color: #4ade80 } .no { color: #f87171 } }
</style></head><body><h1>Rule coverage</h1>
"""


def page(report: Any) -> str:
    """The report as HTML: the figures, and a row for each rule."""
    return _HEAD + "\n".join(_body(report)) + "\n</body></html>\n"


def _body(report: Any) -> Iterator[str]:
    yield "<table><tr><th></th><th>exercised</th><th>of</th><th></th></tr>"
    for kind, (seen, total) in report.figures().items():
        share = f"{100 * seen / total:.1f} %" if total else ""
        yield f"<tr><td>{kind}</td><td>{seen}</td><td>{total}</td><td>{share}</td></tr>"
    yield "</table>"
    yield from (f"<p>{escape(note)}</p>" for note in report.notes)
    yield "<table><tr><th>rule</th><th>form</th><th>sides</th><th>dtypes</th><th>missing</th></tr>"
    module = ""
    for rule in report.rules:
        if rule.module != module:
            module = rule.module
            yield f'<tr><th colspan="5">{escape(module)}</th></tr>'
        yield _row(rule)
    yield "</table>"


def _row(rule: Any) -> str:
    sides = " ".join(
        f'<span class="{"yes" if side in rule.positions else "no"}">{side}</span>'
        for side in dict.fromkeys([*rule.expected, *rule.positions])
    )
    gaps = "".join(f"<li>{escape(gap)}</li>" for gap in rule.missing())
    cells = (
        f"<code>{escape(rule.name)}</code>",
        rule.form,
        sides,
        escape(", ".join(sorted(rule.dtypes))),
        f"<ul>{gaps}</ul>" if gaps else '<span class="yes">nothing</span>',
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


__all__ = ["page"]
