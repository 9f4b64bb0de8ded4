"""The gallery of docs/examples: each script runs, checks itself and draws; none is forgotten."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tapegrad.__main__ import main
from tapegrad._cli import _gallery

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAMES = sorted(path.stem for path in (DOCS / "examples").glob("*.py"))


def program(name):
    """A program of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def gallery():
    return program("gallery")


@pytest.fixture(scope="module")
def notebooks():
    return program("notebooks")


def script(name):
    return (DOCS / "examples" / f"{name}.py").read_text(encoding="utf-8")


# -- the scripts ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_checks_itself_and_draws(gallery, name):
    """Results are kept where the next build of the docs looks for it."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    printed = gallery.run(name).splitlines()
    assert printed[-1].startswith("read next: docs/")
    assert any(re.match(r"cost: [\d.]+ s", line) for line in printed[-3:])
    picture, _ = gallery.made(name)
    assert picture.read_bytes()[8:12] == b"WEBP"
    assert 2_000 < picture.stat().st_size < 120_000


@pytest.mark.parametrize("name", NAMES)
def test_an_example_asserts_and_ends_as_all_do(notebooks, name):
    text = script(name)
    assert re.search(r"^ *assert ", text, re.MULTILINE)
    assert len(notebooks.ENDING.findall(text)) == 1
    assert text.endswith("plt.show()\n")
    assert f"python docs/examples/{name}.py [PICTURE]" in text


@pytest.mark.parametrize("name", NAMES)
def test_what_an_example_recommends_is_there(name):
    (line,) = re.findall(r'print\("read next: (.*)"\)', script(name))
    pages = line.split(", ")
    assert pages
    assert not [page for page in pages if not (ROOT / page).exists()]


# -- the page -------------------------------------------------------------------------------------


def test_the_page_has_each_example_under_its_title(gallery):
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    found = re.findall(r"^## (.*)\n\n```\{example\} (\w+)\n```$", text, re.MULTILINE)
    shown = {name: title for title, name in found}
    assert shown == {name: gallery.read(path).title for name, path in gallery.EXAMPLES.items()}


def test_a_picture_is_kept_until_the_script_or_tapegrad_changes(gallery, monkeypatch, tmp_path):
    path = tmp_path / "one.py"
    path.write_text('"""One.\n\nAbout it.\n"""\n')
    first = gallery.key(path)
    assert gallery.key(path) == first
    path.write_text('"""One.\n\nAbout it.\n"""\n\n')
    second = gallery.key(path)
    monkeypatch.setattr(gallery, "_library", lambda: b"another")
    assert len({first, second, gallery.key(path)}) == 3


def example_of(gallery, monkeypatch, tmp_path, text):
    """Make a script the only example, kept in a folder of the test's."""
    path = tmp_path / "one.py"
    path.write_text(text)
    monkeypatch.setattr(gallery, "EXAMPLES", {"one": path})
    monkeypatch.setattr(gallery, "MADE", tmp_path / "made")


def test_only_what_is_missing_is_run(gallery, monkeypatch, tmp_path):
    pytest.importorskip("PIL")
    text = (
        "import sys\nfrom PIL import Image\nImage.effect_noise((99, 99), 9).save(sys.argv[1])\n"
        'open("count", "a").write("x")\nprint("it")'
    )
    example_of(gallery, monkeypatch, tmp_path, text)
    (tmp_path / "made").mkdir()
    old = tmp_path / "made" / "one-0123456789ab.webp"
    old.touch()
    gallery.run_missing(["one"])
    gallery.run_missing(["one"])
    assert (tmp_path / "made" / "count").read_text() == "x"
    assert not old.exists()
    assert gallery.made("one")[1].read_text().strip() == "it"


def test_a_picture_is_kept_in_fewer_bytes(gallery, tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "picture.webp"
    image.effect_noise((200, 200), 50).convert("RGB").save(path)
    before = path.stat().st_size
    gallery.lighter(path)
    assert 0 < path.stat().st_size < before


@pytest.mark.parametrize(
    ("text", "words"),
    [("assert 1 == 2", "AssertionError"), ("import warnings; warnings.warn('loud')", "loud")],
)
def test_an_example_that_fails_or_warns_fails_the_build(
    gallery, monkeypatch, tmp_path, text, words
):
    example_of(gallery, monkeypatch, tmp_path, text)
    with pytest.raises(RuntimeError, match=f"the example one (?s:.*){words}"):
        gallery.run_missing(["one"])


# -- the command line -----------------------------------------------------------------------------


def test_the_demo_lists_the_examples(capsys):
    assert main(["demo", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines[: len(NAMES)]) == NAMES
    assert str(_gallery.folder()) in lines[-2]
    assert "python -m tapegrad demo NAME" in lines[-1]


def with_example(monkeypatch, tmp_path, text):
    (tmp_path / "one.py").write_text(text)
    monkeypatch.setattr(_gallery, "folder", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)


def test_the_demo_runs_an_example(monkeypatch, tmp_path, capsys):
    text = 'import sys\nopen(sys.argv[1], "w").close()\nprint(__name__, len(sys.argv))'
    with_example(monkeypatch, tmp_path, text)
    before = list(sys.argv)
    assert main(["demo", "one"]) == 0
    assert (tmp_path / "tapegrad-one.png").exists()
    out = capsys.readouterr().out.splitlines()
    assert out == ["__main__ 2", f"picture in tapegrad-one.png, source in {tmp_path / 'one.py'}"]
    assert sys.argv == before
    assert main(["demo", "one", "--out", "other.svg"]) == 0
    assert (tmp_path / "other.svg").exists()


def test_the_demo_says_what_an_example_needs(monkeypatch, tmp_path, capsys):
    with_example(monkeypatch, tmp_path, "import no_such_package")
    assert main(["demo", "one"]) == 2
    err = capsys.readouterr().err
    assert err == (
        "tapegrad: one needs no_such_package: python -m pip install 'tapegrad[examples]'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "no example 'nothing'"),
        (["one", "--out", "no/p.png"], "no such folder"),
        (
            ["one", "--out", "p.nosuch"],
            "p.nosuch: a picture's name ends in .png, .svg, .pdf, .webp",
        ),
        (["one", "--show"], "--show is of the demo alone"),
    ],
)
def test_the_demo_refuses_what_it_cannot_run(monkeypatch, tmp_path, capsys, arguments, words):
    with_example(monkeypatch, tmp_path, "raise SystemError")
    assert main(["demo", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_what_is_installed_has_the_examples(tmp_path):
    """From a folder that is not the checkout: `.ci/run` asks an installed wheel so."""
    command = [sys.executable, "-m", "tapegrad", "demo", "--list"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, encoding="utf-8")
    assert sorted(line.split()[0] for line in done.stdout.splitlines()[: len(NAMES)]) == NAMES


# -- notebooks ------------------------------------------------------------------------------------

SMALL = '''"""A title.

What it is about.

    python docs/examples/one.py [PICTURE]
"""

import sys

import matplotlib.pyplot as plt

# %%
# Text, of
# two lines.
x = [1, 2]
# A comment in code.
figure, axis = plt.subplots()
axis.plot(x)

# %%
# The end.
print("cost: 1 s")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
'''


def test_a_script_has_cells(notebooks):
    assert [(cell.kind, cell.source) for cell in notebooks.cells(SMALL)] == [
        ("markdown", "# A title\n\nWhat it is about."),
        ("code", "import sys\n\nimport matplotlib.pyplot as plt"),
        ("markdown", "Text, of\ntwo lines."),
        (
            "code",
            "x = [1, 2]\n# A comment in code.\nfigure, axis = plt.subplots()\naxis.plot(x)",
        ),
        ("markdown", "The end."),
        ("code", 'print("cost: 1 s")'),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_code_of_a_notebook_is_that_of_the_script(notebooks, name):
    code = "\n".join(c.source for c in notebooks.cells(script(name)) if c.kind == "code")
    whole = ast.parse(notebooks.ENDING.sub("", script(name)))
    assert ast.dump(ast.parse(code)) == ast.dump(_without_text(whole))


def _without_text(tree):
    tree.body.pop(0)
    return tree


@pytest.mark.slow
def test_a_notebook_runs_and_keeps_its_picture(notebooks):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    made = notebooks.notebook(SMALL)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    kinds = [set(out.get("data", {})) for out in code[1].outputs]
    assert any("image/png" in kind for kind in kinds)
    assert code[2].outputs[0].text == "cost: 1 s\n"
