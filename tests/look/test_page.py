"""The page of a tape: what is written into it, and that it is found again; folds of rows."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad._look.folds import DEEPEST, folds_of
from tapegrad._look.lines import Frame
from tapegrad._look.page import SCRIPTS, render
from tapegrad._look.rows import Row
from tapegrad._look.view import SHOWN

FILE = "/home/user/model.py"


def row(slot, operation="np.sin", line=1, function="loss", *, reads=(), outer=(), **more):
    return Row(slot, operation, reads, site=(Frame(FILE, line, function), *outer), **more)


def body(length, turns, start=0):
    """A loop of `length` lines."""
    return [row(start + i, f"np.f{i % length}", 10 + i % length) for i in range(length * turns)]


# -- folds ----------------------------------------------------------------------------------------


def found(rows):
    return [(fold.kind, fold.first, fold.end, fold.label, fold.times) for fold in folds_of(rows)]


def test_a_loop_of_200_turns_is_one_fold():
    folds = found([row(0, "np.exp", 3), *body(4, 200, 1), row(801, "np.sum", 20)])
    assert folds[0] == ("loop", 1, 801, "model.py:10-13", 200)
    assert folds[1] == ("turn", 1, 5, "turn 1", 1)
    assert folds[2] == ("turns", 5, 801, "turns 2 to 200", 199)
    assert folds[-1] == ("turn", 797, 801, "turn 200", 200)
    assert len(folds) == 202


def test_a_turn_begins_with_its_smallest_line():
    rows = [row(0, "np.f3", 13), *body(4, 5, 1)]  # as after a line that the loop has last
    assert found(rows)[0] == ("loop", 1, 21, "model.py:10-13", 5)


def test_a_loop_in_a_loop_is_found_although_its_turns_differ_in_number():
    rows = []
    for turns in (5, 7, 6, 9):
        rows.append(row(len(rows), "np.exp", 2))
        rows += [row(len(rows) + i, "np.sin", 3) for i in range(turns)]
    assert [fold for fold in found(rows) if fold[0] == "loop"] == [
        ("loop", 0, 31, "model.py:2-3", 4),
        ("loop", 1, 6, "model.py:3", 5),
        ("loop", 7, 14, "model.py:3", 7),
        ("loop", 15, 21, "model.py:3", 6),
        ("loop", 22, 31, "model.py:3", 9),
    ]


def test_calls_are_folds_within_the_calls_that_they_are_from():
    main = Frame(FILE, 40, "main")
    inner = (Frame(FILE, 30, "Model.forward"), main)
    rows = [
        row(0, "np.exp", 39, "main"),
        *(row(i, "np.sin", 10 + i, "outer.<locals>.layer", outer=inner) for i in (1, 2)),
        row(3, "np.add", 31, "Model.forward", outer=(main,)),
    ]
    assert found(rows) == [
        ("call", 1, 4, "Model.forward", 1),
        ("call", 1, 3, "layer", 1),
    ]
    assert folds_of(rows)[0].place == main


def test_calls_of_one_line_in_a_row_are_a_loop_with_the_functions_name():
    at = (Frame(FILE, 40, "main"),)
    rows = [
        row(i, name, line, "layer", outer=at)
        for i, (name, line) in enumerate([("np.matmul", 5), ("np.add", 6)] * 3)
    ]
    assert found(rows)[0] == ("loop", 0, 6, "layer", 3)


def test_a_replay_within_the_program_is_a_fold():
    def f(x):
        return np.sum(tapegrad.grad(lambda x: np.sum(np.sin(x) ** 3))(x) ** 2)

    rows = tapegrad.tape(f, np.ones(3)).rows
    fold = next(fold for fold in folds_of(rows) if fold.kind == "replay")
    assert fold.label == "replay of <lambda>"
    assert all(r.of is not None for r in rows[fold.first : fold.end])
    assert sum(r.of is not None for r in rows) == fold.end - fold.first


def test_few_inputs_are_no_fold_and_many_are():
    inputs = [Row(i, "input", name=f"x[{i}]") for i in range(40)]
    assert found(inputs) == [("inputs", 0, 40, "40 inputs", 40)]
    assert found(inputs[:3]) == []


def test_recursion_has_an_end():
    frames = [Frame(FILE, 7, "walk")] * 400
    rows = [Row(i, "np.sin", site=(Frame(FILE, 6, "walk"), *frames[: i // 2])) for i in range(800)]
    assert len([fold for fold in folds_of(rows) if fold.kind == "call"]) <= DEEPEST


SITES = st.lists(
    st.builds(Frame, st.just(FILE), st.integers(1, 3), st.sampled_from("fg")),
    min_size=0,
    max_size=3,
).map(tuple)
CALLS = st.tuples(st.sampled_from(["np.sin", "np.add", "input"]), SITES, st.booleans())


@given(st.lists(st.tuples(st.lists(CALLS, min_size=1, max_size=4), st.integers(1, 6)), max_size=5))
def test_folds_are_within_each_other_and_turns_make_up_their_loop(parts):
    rows = []
    for calls, turns in parts:
        for _ in range(turns):
            for operation, site, inside in calls:
                of = len(rows) - 1 if inside and rows else None
                rows.append(Row(len(rows), operation, site=site, of=of))
    outer = []  # the folds that the one at hand is in
    for fold in folds_of(rows):
        assert 0 <= fold.first < fold.end <= len(rows)
        assert fold.end - fold.first > 1
        while outer and outer[-1].end <= fold.first:
            outer.pop()
        assert not outer or outer[-1].first <= fold.first <= fold.end <= outer[-1].end
        if fold.kind == "turn":
            assert {around.kind for around in outer} >= {"loop"}
        outer.append(fold)


@given(st.integers(1, 12), st.integers(2, 40), st.integers(0, 12), st.integers(0, 12))
def test_a_loop_is_found_between_other_rows(length, turns, before, after):
    names = [*[(f"np.b{i}", 200 + i) for i in range(before)]]
    names += [(f"np.f{i}", 10 + i) for i in range(length)] * turns
    names += [(f"np.a{i}", 300 + i) for i in range(after)]
    loops = [
        fold for fold in found([row(i, *n) for i, n in enumerate(names)]) if fold[0] == "loop"
    ]
    worth = (turns >= 3 and turns * length >= 5) or (turns == 2 and length >= 8)
    assert [fold[1:3] + fold[4:] for fold in loops] == (
        [(before, before + length * turns, turns)] if worth else []
    )


# -- the file -------------------------------------------------------------------------------------


class Scripts(HTMLParser):
    """The scripts of a page as a browser's parser finds them, by their ids, and all attributes."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.scripts, self.attributes, self.texts, self.inside = {}, [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag == "script":
            self.inside = dict(attrs).get("id", f"script {len(self.scripts)}")
            self.scripts[self.inside] = ""

    def handle_endtag(self, tag):
        if tag == "script":
            self.inside = None

    def handle_data(self, data):
        if self.inside is None:
            self.texts.append(data)
        else:
            self.scripts[self.inside] += data


def rows_of(page):
    """The rows that a page has, as its own program reads them."""
    scripts = Scripts(page).scripts
    header = json.loads(scripts["header"])
    whole = zlib.decompress(base64.b64decode(scripts["columns"]))
    columns = {
        name: np.frombuffer(whole, np.dtype(f"<{kind}"), size, at).tolist()
        for name, (kind, at, size) in header["columns"].items()
    }
    slots = np.cumsum(columns["slot"]).tolist()
    distances = iter(columns["distances"])
    frames = [
        Frame(header["files"][file], line, header["functions"][function])
        for file, line, function in header["frames"]
    ]
    unknown = [-1.0] * header["count"]
    found = []
    for i, slot in enumerate(slots):
        back = columns.get("of", unknown)[i]
        found.append(
            {
                "slot": slot,
                "operation": header["operations"][columns["operation"][i]],
                "reads": tuple(slots[i - next(distances)] for _ in range(columns["reads"][i])),
                "kind": header["kinds"][columns["kind"][i]],
                "name": header["names"].get(str(i), ""),
                "site": tuple(frames[at] for at in header["sites"][columns["site"][i]]),
                "of": slots[i - back] if back > 0 else None,
                "bytes": columns["bytes"][i],
            }
            | {
                name: None if value == -1 else value
                for name in ("forward", "backward", "norm")
                for value in [columns.get(name, unknown)[i]]
            }
        )
    return found


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["</script>", "<!--<script>", "{{title}}", "]]>", "&amp;", "\u2028"]
)
NUMBERS = st.none() | st.floats(0) | st.just(float("nan"))


@st.composite
def drawn_rows(draw):
    rows, slot = [], 0
    for _ in range(draw(st.integers(1, 6))):
        slot += draw(st.integers(1, 300))
        before = [r.slot for r in rows]
        slots = st.sampled_from(before or [slot])
        rows.append(
            Row(
                slot,
                draw(TEXTS),
                tuple(draw(st.lists(slots, unique=True, max_size=3))) if before else (),
                draw(st.lists(st.integers(0, 9), max_size=3).map(tuple)),
                draw(st.sampled_from([np.dtype("f4"), np.dtype("c16")])),
                name=draw(TEXTS),
                site=tuple(draw(st.lists(st.builds(Frame, TEXTS, st.integers(1, 9), TEXTS)))),
                of=draw(st.none() | slots) if before else None,
                bytes=draw(st.integers(0, 2**50)),
                forward=draw(NUMBERS),
                backward=draw(NUMBERS),
                norm=draw(NUMBERS),
            )
        )
    return rows


def about(value, accuracy):
    tiny = 1e-310  # numbers below the smallest normal one lose digits
    return pytest.approx(value, accuracy, tiny, nan_ok=True)


@given(drawn_rows(), TEXTS)
def test_a_page_has_its_rows_whatever_their_texts_are(rows, title):
    page = render(title, rows)
    scripts = Scripts(page)
    assert list(scripts.scripts) == ["header", "columns", "script 2"]
    assert json.loads(scripts.scripts["header"])["title"] == title
    for got, want in zip(rows_of(page), rows, strict=True):
        for name, accuracy in (("forward", 1e-3), ("backward", 1e-3), ("norm", 1e-7)):
            value = getattr(want, name)
            expected = value if value is None else about(value, accuracy)
            assert got.pop(name) == expected
        assert got == {name: getattr(want, name) for name in got}


def test_a_title_cannot_end_a_script_or_begin_one():
    page = render("</script><script>alert(1)</script>", [Row(0, "</script>", name="<!--")])
    assert page.count("<script") == 3
    assert page.count("</script>") == 3
    assert unescape(re.search(r"<title>(.*)</title>", page)[1]).endswith("alert(1)</script>")


def test_a_page_loads_nothing():
    scripts = Scripts(render("f", body(3, 4)))
    outside = [
        (tag, name, value)
        for tag, name, value in scripts.attributes
        if name in ("src", "href", "action", "srcset") and value != "data:,"
    ]
    assert outside == []
    assert ("meta", "http-equiv", "Content-Security-Policy") in scripts.attributes
    text = scripts.scripts["script 2"]
    assert not re.search(r"https?://|\bfetch\(|XMLHttpRequest|import\(|innerHTML|\beval\(", text)


def test_a_row_takes_few_bytes():
    def grown(count):
        random = np.random.default_rng(0)
        rows = [
            row(i, f"np.f{i % 10}", i % 10, reads=(i - 1,) if i else (), bytes=24)
            for i in range(count)
        ]
        timed = [
            Row(r.slot, r.operation, r.reads, (3,), np.dtype(float), site=r.site, bytes=24)
            if i % 2
            else row(i, forward=random.exponential(), norm=random.lognormal())
            for i, r in enumerate(rows)
        ]
        return len(render("f", timed))

    assert grown(4000) - grown(1000) < 3000 * 16


def test_the_parts_of_the_page_are_in_the_package():
    folder = files("tapegrad._look") / "page_parts"
    assert sorted(part.name for part in folder.iterdir() if part.name != "__pycache__") == sorted(
        ["page.html", "page.css", *SCRIPTS]
    )


# -- the view -------------------------------------------------------------------------------------


def test_a_view_is_saved_as_a_page(tmp_path):
    view = tapegrad.tape(lambda x: {"loss": np.sum(np.sin(x))}, np.ones(3), profile=True)
    view.save(tmp_path / "tape.html")
    text = (tmp_path / "tape.html").read_text(encoding="utf-8")
    assert text == view.to_html()
    got = rows_of(text)
    assert [r["name"] for r in got] == ["x", "", "output['loss']"]
    assert [r["norm"] for r in got] == pytest.approx([r.norm for r in view])


def test_a_notebook_shows_the_page_in_a_frame_and_a_long_tape_as_a_picture():
    view = tapegrad.tape(np.sum, np.ones(2))
    frame = view._repr_html_()
    attributes = {name: value for _, name, value in Scripts(frame).attributes}
    assert attributes["srcdoc"] == view.to_html()
    assert attributes["sandbox"] == "allow-scripts"
    view.rows *= SHOWN
    assert view._repr_html_() is None
