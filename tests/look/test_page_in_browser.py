"""The page of a tape in a browser: what it marks, finds, folds and replays.

Needs Playwright for Python (`pip install playwright`) and a browser of the system.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import tapegrad
from tapegrad._look.lines import Frame
from tapegrad._look.page import render
from tapegrad._look.rows import Row

pytestmark = pytest.mark.slow  # a browser takes seconds to start

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
TURNS = 200


def layer(parameters, x):
    return np.tanh(x @ parameters["w"] + parameters["b"])


def loss(layers, x, rate, unused):
    for _ in range(TURNS):
        x = x - rate * np.sin(x)
    for parameters in layers:
        x = layer(parameters, x)
    left = np.exp(unused) * 2.0  # leads to no output
    return {"loss": np.sum(x**2), "shape": np.shape(left)}


@pytest.fixture(scope="module")
def view():
    layers = [{"w": np.full((3, 3), 0.1 + i), "b": np.zeros(3)} for i in range(3)]
    args = (layers, np.linspace(0, 1, 6).reshape(2, 3), 0.01, np.ones(2))
    return tapegrad.tape(loss, *args, profile=True)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with playwright.sync_playwright() as started:
        if path is None and not Path(started.chromium.executable_path).exists():
            pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
        running = started.chromium.launch(executable_path=path, args=FLAGS)
        common = running.new_context()
        yield lambda **more: (running if more else common).new_page(**more)
        running.close()


class Opened:
    """A page in a browser, with what it wrote to the console and asked the network for."""

    def __init__(self, browser, path, **more):
        self.browser_page = page = browser(**more)
        self.troubles, self.requests = [], []
        page.on("console", lambda message: self.troubles.append(message.text))
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        self.keyboard, self.mouse, self.locator = page.keyboard, page.mouse, page.locator
        page.goto(path.as_uri())
        for _ in range(200):
            if self("!!(window.page && page.ready)"):
                break
            time.sleep(0.05)

    def __call__(self, script, arg=None):
        """Value of a script in the page, after all that was asked to be drawn is drawn."""
        return self.browser_page.evaluate(script, arg)

    def settle(self):
        self(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def text(self, selector):
        return self.browser_page.locator(selector).inner_text()

    def place(self, row):
        """Where the line of a row is in the window; None if it is out of sight."""
        return self(
            """(row) => {
              const { drawing, lines } = page;
              const box = byId("tape").getBoundingClientRect();
              const y = drawing.y(lines.lineOf[row]) + drawing.height / 2;
              const { text } = drawing.place;
              return { x: box.left + text.x + text.width - 20, y: box.top + y };
            }""",
            row,
        )

    def marked(self, bit):
        return self(f"[...page.drawing.marks].flatMap((m, i) => m & {bit} ? [i] : [])")


@pytest.fixture
def opened(browser, view, tmp_path):
    path = tmp_path / "tape.html"
    made = []

    def make(rendered=None, **more):
        path.write_text(rendered or view.to_html(), encoding="utf-8")
        made.append(Opened(browser, path, **more))
        return made[-1]

    yield make
    for page in made:
        assert page.troubles == []
        assert page.requests == [path.as_uri()]
        page.browser_page.close()


def reached(view, start, *, up):
    """The positions of rows that one comes from (up), or leads to; without its own."""
    position = {row.slot: at for at, row in enumerate(view)}
    edges = [(position[slot], at) for at, row in enumerate(view) for slot in row.reads]
    if up:
        edges = [(to, at) for at, to in edges]
    found, new = {start}, {start}
    while new:
        new = {to for at, to in edges if at in new} - found
        found |= new
    return sorted(found - {start})


UPSTREAM, DOWNSTREAM, CHOSEN, FLOW = 1, 2, 4, 8


def test_a_click_marks_what_is_upstream_and_downstream(opened, view):
    page = opened()
    page("page.foldAll()")
    operations = [row.operation for row in view]
    for row in (operations.index("np.sin") + 90, operations.index("np.tanh")):
        page("(row) => { page.moveTo(page.lines.lineOf[row]); }", row)
        page.settle()
        place = page.place(row)
        page.mouse.click(place["x"], place["y"])
        assert page.marked(CHOSEN) == [row]
        assert sorted(set(page.marked(UPSTREAM)) - {row}) == reached(view, row, up=True)
        assert sorted(set(page.marked(DOWNSTREAM)) - {row}) == reached(view, row, up=False)
        assert operations[row] in page.text("#details")
    page.keyboard.press("Escape")
    assert page("page.drawing.marks.every((mark) => mark === 0)")


def test_the_gradient_of_each_input_flows_through_what_reaches_an_output(opened, view):
    page = opened()
    output = next(at for at, row in enumerate(view) if row.name.startswith("output"))
    to_output = {*reached(view, output, up=True), output}
    for start, row in enumerate(view):
        if row.operation != "input":
            continue
        page.locator("#gradient").select_option(label=row.name)
        flow = [at for at in reached(view, start, up=False) if at in to_output]
        assert sorted(set(page.marked(FLOW)) - {start}) == flow
        assert all(view.rows[at].norm is not None for at in flow)
        rest = set(reached(view, start, up=False)) - set(flow)
        assert set(page.marked(DOWNSTREAM)) - {start} == rest
        assert (row.name == "unused") == (flow == [])


def test_search_finds_rows_by_operation_line_slot_and_name(opened, view):
    page = opened()
    tanh = [at for at, row in enumerate(view) if row.operation == "np.tanh"]
    line = view.rows[tanh[0]].line
    queries = {
        "TANH": tanh,
        f"{line} tanh": tanh,
        f"#{view.rows[7].slot}": [7],
        "'loss'": [at for at, row in enumerate(view) if "'loss'" in row.name],
        "float64[2,3] multiply": [
            at
            for at, row in enumerate(view)
            if (row.operation, row.kind) == ("np.multiply", "float64[2,3]")
        ],
        "nowhere": [],
    }
    for query, rows in queries.items():
        page.locator("#query").fill(query)
        found = page("[...page.matches.found].flatMap((hit, i) => hit ? [i] : [])")
        assert found == rows, query
        assert page.text("#hits") == f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    page.locator("#query").fill("tanh")
    for row in [*tanh, tanh[0]]:
        page.locator("#query").press("Enter")
        assert page("page.lines.item[page.drawing.cursor]") == row


def test_operations_are_filtered(opened, view):
    page = opened()
    page("page.foldAll()")
    shown = "[...page.lines.item].filter((item) => item >= 0)"
    page.locator("[data-operation='np.sin']").uncheck()
    assert page(shown) == [at for at, row in enumerate(view) if row.operation != "np.sin"]
    page.locator("#none").click()
    assert page("page.lines.count") == 0
    page.locator("[data-operation='np.tanh']").check()
    assert page(shown) == [at for at, row in enumerate(view) if row.operation == "np.tanh"]
    page.locator("#all").click()
    assert page(shown) == list(range(len(view)))


def test_folds_open_and_close_and_say_how_often(opened, view):
    page = opened()
    texts = "[...page.lines.item].flatMap((i) => i < 0 ? [page.lines.foldText(~i).times] : [])"
    assert f"× {TURNS}" in page(texts)
    assert page("page.lines.count") < 60
    page.locator("#fold-calls").click()
    folded = page("page.lines.count")
    line = page(
        f"""[...page.lines.item].findIndex(
          (item) => item < 0 && page.lines.foldText(~item).times === '× {TURNS}')"""
    )
    page.settle()
    handle = page(
        """(line) => {
          const box = byId("tape").getBoundingClientRect();
          const { drawing } = page;
          return { x: box.left + drawing.place.text.x + 4, y: box.top + drawing.y(line) + 6 };
        }""",
        line,
    )
    page.mouse.click(handle["x"], handle["y"])
    assert page("page.lines.count") > folded
    page.mouse.click(handle["x"], handle["y"])
    assert page("page.lines.count") == folded
    page.locator("#unfold").click()
    assert page("[...page.lines.item].filter((item) => item >= 0).length") == len(view)


def test_a_tip_says_what_a_row_is(opened, view):
    page = opened()
    page("page.foldAll()")
    row = next(at for at, row in enumerate(view) if row.operation == "np.tanh")
    page("(row) => { page.moveTo(page.lines.lineOf[row]); }", row)
    page.settle()
    place = page.place(row)
    page.mouse.move(place["x"], place["y"])
    text = page.text("#tip")
    for part in ("np.tanh", "float64[2,3]", view.rows[row].line, "48 B", "backward", "forward"):
        assert part in text


def test_the_slider_replays_with_the_norm_of_each_cotangent(opened, view):
    page = opened()
    rows = [at for at, row in enumerate(view) if row.norm is not None][::-1]
    assert page("page.order") == rows
    norms = page("page.order.map((row) => page.tape.norm[row])")
    assert norms == pytest.approx([view.rows[at].norm for at in rows], 1e-7)
    page.locator("#unfold").click()
    for step in (1, 40, len(rows) - 1):
        page.locator("#step").fill(str(step))
        page.settle()
        at = rows[step - 1]
        first, second = page.text("#at").split("\n")
        assert float(first.split("norm ")[1]) == pytest.approx(view.rows[at].norm, 1e-2)
        assert second.startswith(f"{view.rows[at].slot} {view.rows[at].operation}")
        assert page("page.lines.item[page.drawing.current]") == at
        shown = page(
            "page.order.map((r) => page.drawing.shown('norm', page.lines.lineOf[r]) !== -1)"
        )
        assert shown == [i < step for i in range(len(rows))]
    page.locator("#forth").click()
    assert page("page.step") == len(rows)


def test_without_a_replay_there_is_no_slider(opened):
    page = opened(tapegrad.tape(np.sum, np.ones(2)).to_html())
    assert page.locator("#replay").is_hidden()
    assert "no replay recorded" in page.text("#totals")


def test_keys_move_fold_mark_and_zoom(opened, view):
    page = opened()
    page.locator("#tape").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert page("page.drawing.cursor") == 1
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    last = len(view) - 1
    assert page.marked(CHOSEN) == [last]
    assert view.rows[last].operation in page("byId('said').textContent")
    page.keyboard.press("Home")
    before = page("page.lines.count")
    assert page("page.lines.item[0] < 0")  # the inputs
    page.keyboard.press("ArrowRight")
    assert page("page.lines.count") > before
    page.keyboard.press("ArrowLeft")
    assert page("page.lines.count") == before
    height = page("page.drawing.height")
    page.keyboard.press("+")
    assert page("page.drawing.height") > height
    page.keyboard.press("/")
    assert page("document.activeElement.id") == "query"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_dark_or_light_as_asked_for(opened, scheme):
    page = opened(color_scheme=scheme)
    colour = "getComputedStyle(document.body).backgroundColor"
    brightness = "parseInt(page.drawing.colours.surface.slice(1, 3), 16)"
    frames = page("page.frames")
    seen = [(page(colour), page(brightness))]
    page.locator("#theme").click()
    page.settle()
    seen.append((page(colour), page(brightness)))
    assert page("page.frames") > frames
    dark, light = sorted(seen, key=lambda pair: pair[1])
    assert dark[1] < 60
    assert light[1] > 200
    assert seen[0] == (dark if scheme == "dark" else light)
    assert dark[0] != light[0]


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_nothing_is_wider_than_the_window(opened, width):
    page = opened(viewport={"width": width, "height": 700}, has_touch=width == 360)
    assert page("document.documentElement.scrollWidth") == width
    assert page("byId('tape').clientHeight") > 200
    assert page("page.drawing.place.text.width") > 110
    page("page.choose(page.tape.count - 1, -1)")
    page.settle()
    assert page("document.documentElement.scrollWidth") == width


def test_texts_of_the_program_are_no_markup(opened):
    rows = tapegrad.tape(
        lambda p: np.sum(p["</script><img src=x onerror=alert(1)>"]),
        {"</script><img src=x onerror=alert(1)>": np.ones(2)},
    )
    rows.title = "<img src=x>"
    page = opened(rows.to_html())
    page("page.choose(0, -1)")
    assert page("document.images.length") == 0
    assert page.text("#title") == "<img src=x>"
    assert "onerror" in page.text("#details")


def test_the_wheel_moves_and_with_control_zooms(opened):
    page = opened()
    page("page.foldAll()")
    page.settle()
    page.mouse.move(300, 400)
    page.mouse.wheel(0, 500)
    page.settle()
    assert page("page.drawing.top") == 500
    at = page("page.drawing.lineAt(300)")
    page.keyboard.down("Control")
    page.mouse.wheel(0, 300)
    page.keyboard.up("Control")
    page.settle()
    assert page("page.drawing.height") < 20
    assert abs(page("page.drawing.lineAt(300)") - at) < 10


def test_norms_that_are_not_finite_are_shown(opened):
    rows = [
        Row(0, "input", name="x", norm=float("nan")),
        Row(1, "np.exp", (0,), norm=float("inf")),
        Row(2, "np.sum", (1,), name="output", norm=1e-300),
    ]
    page = opened(render("f", rows))
    for step, text in enumerate(["1.00e-300", "∞", "NaN"], 1):
        page.locator("#step").fill(str(step))
        assert f"norm {text}\n" in page.text("#at")
    colour = page("""() => {  // of the text on the bar of what is not finite
        const { drawing } = page, { write } = drawing;
        let found;
        drawing.write = (text, x, y, room, more) => { if (text === "NaN") found = more.colour; };
        drawing.drawNumbers(0, 10);
        drawing.write = write;
        return found;
    }""")
    assert colour not in (None, page("page.drawing.barColour('norm', NaN)"))


def test_a_long_title_leaves_room_for_the_tape(opened):
    page = opened(render("f" * 5000, []), viewport={"width": 360, "height": 700})
    assert page("byId('tape').clientHeight") > 400
    assert page("document.documentElement.scrollHeight") == 700


@pytest.mark.parametrize("rows", [[], [Row(3, "np.exp")], [Row(0, "input")] * 9])
def test_odd_tapes_open(opened, rows):
    page = opened(render("f", rows))
    assert page("page.tape.count") == len(rows)
    page.locator("#fit").click()
    page.locator("#fold-calls").click()
    page.locator("#tape").focus()
    for key in ("ArrowDown", "Enter", "ArrowLeft", "End", "n", "]", "Escape"):
        page.keyboard.press(key)


def test_a_fold_whose_first_row_is_filtered_out_opens_and_closes(opened):
    page = opened()
    page("page.foldAll()")
    page.locator("[data-operation='np.matmul']").uncheck()
    fold = "page.lines.kinds.indexOf('turn', page.lines.kinds.lastIndexOf('loop'))"
    before = page("page.lines.count")
    for change in (-2, 0):
        page(f"page.toggle(page.lines.item.indexOf(~({fold})))")
        assert page("page.lines.count") == before + change


def test_a_hundred_thousand_rows_open_at_once_and_stay_fluid(opened):
    sites = [(Frame("model.py", 10 + i, "step"), Frame("model.py", 30, "run")) for i in range(5)]
    rows = [
        Row(
            i, f"np.f{i % 10}", (i - 1, max(0, i - 37)) if i else (), (3,), np.dtype(float), site=s
        )
        for i, s in enumerate(sites * 20_000)
    ]
    page = opened(render("f", rows))
    assert page("page.ready") < 2000  # milliseconds
    page("page.foldAll()")
    for height in (20, 6, 0.3, 0.006):
        times = page(
            """(height) => Array.from({ length: 21 }, (_, i) => {
              page.drawing.height = height;
              page.drawing.top = 3000 + 80 * i;
              const begun = performance.now();
              page.drawing.draw();
              return performance.now() - begun;
            })""",
            height,
        )
        assert sorted(times)[10] < 33


def test_paper_shows_the_lines_as_a_table(opened, view):
    page = opened()
    page("page.foldAll(); printed(page)")
    page.browser_page.emulate_media(media="print")
    assert page("document.querySelectorAll('#printed tbody tr').length") > len(view)
    assert "np.tanh" in page.text("#printed")
    assert page.locator("#stage").is_hidden()
