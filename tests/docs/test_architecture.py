"""The picture of the rooms is up to date, and each private package has a README that lists it."""

from __future__ import annotations

import importlib.util
import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from test_layers import CORE, ROOT, TOWER

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"
REMEDY = "run: python docs/architecture.py > docs/architecture.svg"

PRIVATE = sorted(
    path.parent
    for path in ROOT.rglob("__init__.py")
    if path.parent.name.startswith("_") or path.parent in (ROOT / "rules", ROOT / "torch")
)


@pytest.fixture(scope="module")
def drawing():
    spec = importlib.util.spec_from_file_location("architecture", DOCS / "architecture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow  # it looks for few crossings
def test_the_picture_is_made_from_the_imports(drawing):
    assert drawing.picture() + "\n" == (DOCS / "architecture.svg").read_text(), REMEDY


def test_boxes_of_the_picture_do_not_overlap():
    svg = ET.parse(DOCS / "architecture.svg")
    rects = [rect for rect in svg.iter(f"{SVG}rect") if rect.get("class") != "page"]
    assert len(rects) == len(TOWER)
    boxes = sorted((float(r.get("y")), float(r.get("x")), float(r.get("width"))) for r in rects)
    for (y, x, width), (below, beside, _) in pairwise(boxes):
        assert x + width < beside if y == below else y + float(rects[0].get("height")) < below


def test_the_page_has_a_paragraph_for_each_room(drawing):
    named = re.findall(r"\*\*`([\w.]+)`\*\*", PAGE)
    assert sorted(named) == sorted(drawing.title_of(room) for room in TOWER)


@pytest.mark.parametrize("package", PRIVATE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_private_package_has_a_readme_of_10_to_30_lines(package):
    assert 10 <= len((package / "README.md").read_text(encoding="utf-8").splitlines()) <= 30


@pytest.mark.parametrize("package", PRIVATE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_readme_names_what_the_package_has(package):
    text = (package / "README.md").read_text(encoding="utf-8")
    files = [path.name for path in package.glob("*.py") if path.name != "__init__.py"]
    folders = [path.parent.name for path in package.glob("*/__init__.py")]
    assert [name for name in files + folders if name not in text] == []


def test_the_readme_of_the_engine_has_its_files_in_order():
    text = (ROOT / "_core" / "README.md").read_text(encoding="utf-8")
    heads = "".join(re.findall(r"^- [^:]*:", text, re.MULTILINE))
    files = [name for name in CORE if not name.startswith("fast")]
    assert re.findall(r"`(\w+)\.py`", heads) == files


def test_one_gradient_is_followed_in_the_engine_and_one_file_of_rules():
    """The first section of docs/how-it-works.md, up to where the public API comes in."""
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    section = page[page.index("## One gradient, by hand") : page.index("That is a gradient.")]
    program = compile(
        "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL)), "", "exec"
    )
    exec(program, {})  # rules that come late are here
    files = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and ROOT in path.parents:
            files.add(path.relative_to(ROOT).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        exec(program, {})
    finally:
        sys.setprofile(before)
    core = {f"_core/{name.replace('.', '/')}.py" for name in CORE}
    assert files <= core | {"rules/elementwise.py", "_block.py"}  # the block of `fast.off`
    assert {path.removesuffix(".py") for path in files} >= {"_core/replay", "rules/elementwise"}
