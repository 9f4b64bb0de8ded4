"""Reprs in a notebook: tables and curves of the same numbers as the text, and no markup of a
user's own.
"""

from __future__ import annotations

import pickle
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import tapegrad
from tapegrad import optimize
from tapegrad._look.curves import MOST, curve_svg

TEXT = "{http://www.w3.org/2000/svg}text"
LINE = "{http://www.w3.org/2000/svg}polyline"


class Tables(HTMLParser):
    """The tables of a page as lists of rows of texts; all tags have to be closed in order."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


def words(text):
    """The columns of a printed table."""
    lines = [line for line in text.splitlines() if not set(line) <= set("- ")]
    return [re.split(r"\s{2,}", line.strip()) for line in lines]


def loss(x):
    return np.sum(np.sin(x) * np.exp(x))


def test_a_profile_shows_its_tables():
    found = tapegrad.profile(loss)(np.ones(1000))
    by_operation, by_line = Tables(found._repr_html_()).tables
    shown = found.table(limit=20)
    assert [row[0] for row in by_operation[1:]] == [row.name for row in shown]
    assert by_operation[0] == words(str(shown))[0]
    assert by_line[0][0] == "line"
    assert "loss" in found._repr_html_().partition("<table>")[0]
    assert Tables(shown._repr_html_()).tables == [by_operation]


def test_a_profile_that_has_not_run_has_no_tables():
    assert tapegrad.profile()._repr_html_() is None


def test_a_memory_report_shows_the_tables_that_it_prints():
    report = tapegrad.memory_report(loss, np.ones(1000))
    printed = [words(part) for part in str(report).split("\n\n")[1:]]
    filled = [
        [[cell for cell in row if cell] for row in table]
        for table in Tables(report._repr_html_()).tables
    ]
    assert [[row[0] for row in t] for t in filled] == [[row[0] for row in t] for t in printed]
    assert Tables(report.table()._repr_html_()).tables[0][0][:2] == ["operation", "calls"]


def test_a_summary_of_a_tape_is_a_table():
    summary = tapegrad.tape(loss, np.ones(3)).summary()
    (table,) = Tables(summary._repr_html_()).tables
    assert table[0] == ["operation", "calls", "bytes"]
    assert [row[:2] for row in table[1:]] == [[g.name, str(g.calls)] for g in summary]


def test_a_program_is_shown_in_lines():
    fast = tapegrad.compile(lambda x: np.sum(np.where(x < 1, x, 0.0)))
    program = fast.program(np.ones(2))
    assert isinstance(program, str)
    assert program._repr_html_().startswith("<pre>v0 = input 0")
    assert program._repr_html_().count("\n") == program.count("\n")
    assert fast.source(np.ones(2))._repr_html_().endswith("</pre>")


def bowl(p):
    return np.sum((p["<b>"] - 1) ** 2) + p["c"] ** 4


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("scipy")
    return optimize.minimize(bowl, {"<b>": np.full(3, 5.0), "c": 2.0})


def test_a_minimum_shows_its_numbers_and_its_curve(found):
    page = found._repr_html_()
    table, curve = page.split("</table>")
    assert "<b>" not in page
    rows = dict(row for row in Tables(table + "</table>").tables[0][1:])
    assert list(rows) == ["x", "fun", "grad", "success", "message", "nit", "runs"]
    assert rows["success"] == "True"
    lines = ET.fromstring(curve).findall(LINE)
    assert len(lines[0].get("points").split()) == len(found.history) == found.runs


def test_numbers_are_written_as_pythons_own(found):
    assert "np.float64" not in repr(found)
    assert isinstance(found.x["c"], np.float64)


def test_the_history_is_of_the_values_that_were_asked_for(found):
    assert found.history[0] == bowl({"<b>": np.full(3, 5.0), "c": 2.0}) == 64.0
    assert min(found.history) == found.fun
    assert pickle.loads(pickle.dumps(found)).history == found.history


def test_a_method_without_a_gradient_has_a_history_too():
    pytest.importorskip("scipy")
    found = optimize.minimize(bowl, {"<b>": np.zeros(1), "c": 1.0}, method="Nelder-Mead")
    assert len(found.history) == found.runs
    assert min(found.history) == found.fun


def test_a_fit_has_half_the_sums_of_squares():
    pytest.importorskip("scipy")
    found = optimize.least_squares(lambda x: x**2 - 2.0, np.array([3.0, 1.0]))
    assert found.history[0] == ((9 - 2) ** 2 + 1) / 2
    assert np.isclose(min(found.history), found.raw.cost)
    assert "<svg" in found._repr_html_()


def test_a_run_shows_its_losses():
    done = optimize.run(lambda x: np.sum(x**2), np.ones(2), optimize.sgd(0.1), steps=5)
    _, curve = done._repr_html_().split("</p>")
    (line,) = ET.fromstring(curve).findall(LINE)
    assert len(line.get("points").split()) == 5


# -- curves ---------------------------------------------------------------------------------------


def points(svg):
    return [
        [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        for line in ET.fromstring(svg).findall(LINE)
    ]


def test_a_curve_goes_down_where_its_values_do():
    (line,) = points(curve_svg([3.0, 2.0, 1.0], "loss", "step"))
    assert [x for x, _ in line] == sorted(x for x, _ in line)
    assert line[0][1] < line[1][1] < line[2][1]
    assert np.isclose(line[1][1] - line[0][1], line[2][1] - line[1][1])


def test_powers_of_ten_are_a_straight_line():
    svg = curve_svg([1e4, 1e2, 1.0], "loss", "step")
    (line,) = points(svg)
    assert np.isclose(line[1][1] - line[0][1], line[2][1] - line[1][1])
    assert "logarithmic" in svg
    assert "logarithmic" not in curve_svg([1e4, 1e2, -1.0], "loss", "step")


def test_what_is_not_finite_breaks_a_curve():
    lines = points(curve_svg([1.0, 2.0, np.nan, 3.0, np.inf, 4.0, 5.0], "loss", "step"))
    assert list(map(len, lines)) == [2, 1, 2]


@pytest.mark.parametrize("values", [[], [1.0], [np.nan, 1.0], [np.inf] * 3])
def test_fewer_than_two_values_are_no_curve(values):
    assert curve_svg(values, "loss", "step") == ""


def test_equal_values_and_the_largest_are_drawn():
    assert len(points(curve_svg([2.0, 2.0], "loss", "step"))[0]) == 2
    (line,) = points(curve_svg([-1.7e308, 1.7e308], "loss", "step"))
    assert np.isfinite(line).all()


def test_of_a_long_curve_the_peaks_are_seen():
    values = np.zeros(100_000)
    values[12_345] = 1.0
    (line,) = points(curve_svg(list(values), "loss", "step"))
    assert len(line) <= MOST + 2
    assert len({y for _, y in line}) == 2
    assert sum(y == min(y for _, y in line) for _, y in line) == 1


def test_titles_are_text():
    svg = curve_svg([1.0, 2.0], "<a>", "&")
    assert "<a> 2" not in svg
    assert any(text.text == "<a>" for text in ET.fromstring(svg).findall(TEXT))
