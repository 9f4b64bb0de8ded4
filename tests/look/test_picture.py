"""Pictures of a tape: what they show, that they parse, and what they leave out."""

from __future__ import annotations

import doctest
import re
from xml.etree import ElementTree as ET

import pytest

from tapegrad._look import pictures
from tapegrad._look.pictures import Box, render_dot, render_mermaid, render_svg

NAMESPACE = {"svg": "http://www.w3.org/2000/svg"}

ROWS = [
    Box(0, "input", (), "float64[3]"),
    Box(1, "input", (), "float64[3]"),
    Box(4, "multiply", (0, 1), "float64[3]"),
    Box(7, "sin", (4,), "float64[3]"),
    Box(9, "add", (7, 7), "float64[3]"),
]


def chain(length):
    return [Box(slot, f"call{slot}", (slot - 1,) if slot else (), "") for slot in range(length)]


def texts(svg):
    root = ET.fromstring(svg)
    return [element.text for element in root.iterfind(".//svg:text", NAMESPACE)]


def arcs(svg):
    return svg.count('class="arc"')


def test_svg_shows_every_entry_in_the_order_of_time():
    shown = texts(render_svg(ROWS, "f(x, y)"))
    assert [text for text in shown if text in {"input", "multiply", "sin", "add"}][1:] == [
        row.name for row in ROWS
    ]
    assert {"0", "1", "4", "7", "9", "float64[3]", "f(x, y)"} <= set(shown)


def test_an_argument_read_twice_has_one_arc():
    assert arcs(render_svg(ROWS, "f")) == 4


def test_a_parent_that_is_not_among_the_rows_has_no_arc():
    assert arcs(render_svg([Box(5, "sin", (2,), "")], "f")) == 0


def test_inputs_calls_and_outputs_are_told_apart():
    svg = render_svg(ROWS, "f").partition("</style>")[2]
    classes = re.findall(r'class="(input|call|output)"', svg)[3:]  # after the legend
    assert classes == ["input", "input", "call", "call", "output"]


@pytest.mark.parametrize("render", [render_svg, render_dot, render_mermaid])
def test_an_empty_tape_is_drawn(render):
    assert "nothing" in render([], "nothing")


def test_a_long_tape_shows_its_beginning_and_its_end():
    svg = render_svg(chain(1_000), "f", limit=10)
    shown = texts(svg)
    assert "⋮ 990 more entries, not drawn" in shown
    assert {"call4", "call995"} <= set(shown)
    assert not {"call5", "call994"} & set(shown)
    assert arcs(svg) == 4 + 4 + 1  # the first entry after the gap reads from the gap
    assert "1,000 entries; time runs downwards, arcs lead from arguments" in shown


@pytest.mark.parametrize("render", [render_dot, render_mermaid])
def test_dot_and_mermaid_shorten_too(render):
    text = render(chain(1_000), "f", limit=10)
    assert "990 more entries" in text
    assert len(text.splitlines()) < 40


def test_text_that_means_something_to_svg_is_escaped():
    shown = texts(render_svg([Box(0, "a<b>&\"c'", (), "]]>")], "<title>"))
    assert {"a<b>&\"c'", "]]>", "<title>"} <= set(shown)


def test_text_that_means_something_to_dot_is_escaped():
    assert r'label="0: say \"hi\" \\n"' in render_dot([Box(0, 'say "hi" \\n', (), "")], "f")


def test_text_that_means_something_to_mermaid_is_escaped():
    text = render_mermaid([Box(0, 'say "hi" <b> & #1', (), "")], "f")
    assert '["0: say #34;hi#34; #60;b#62; #38; #35;1"]' in text


def test_long_names_and_labels_are_cut_but_kept_for_the_pointer():
    svg = render_svg([Box(0, "n" * 60, (), "l" * 60)], "f")
    assert "n" * 39 + "…" in texts(svg)
    assert "l" * 33 + "…" in texts(svg)
    assert f"<title>0: {'n' * 60} {'l' * 60}</title>" in svg


def test_colours_follow_the_readers_choice_of_light_and_dark():
    light, dark = pictures.STYLE.split("@media (prefers-color-scheme: dark)")
    rule = re.compile(r"^([.\w]+) {.*(#\w{6})", re.MULTILINE)
    by_day, by_night = dict(rule.findall(light)), dict(rule.findall(dark))
    assert by_day.keys() == by_night.keys()
    assert not by_day.items() & by_night.items()


def test_the_examples_in_the_docstrings_run():
    assert doctest.testmod(pictures).failed == 0
