"""The READMEs and the pages of docs/: their programs run, their commands and links are right."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import tapegrad
from tapegrad.torch._graph.versions import WRITTEN

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
API = ROOT / "docs" / "api.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]
PAGES += sorted((ROOT / "tapegrad").rglob("README.md"))

MODULES = ["tapegrad"] + [
    found.name
    for found in pkgutil.walk_packages(tapegrad.__path__, "tapegrad.")
    if not found.name.endswith(".__main__")
]

FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def blocks(page: Path, language: str) -> list[str]:
    return [
        text for kind, text in FENCE.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run_prompts(text: str, scope: dict, name: str) -> None:
    """Run lines with `>>>` and compare what they print."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTestParser().get_doctest(text, scope, name, name, 0)
    result = runner.run(test, clear_globs=False)
    scope.update(test.globs)
    assert result.failed == 0


@pytest.fixture
def nothing_written():
    """No tensor of another test counts as written to: a pass would ask each for its version."""
    before = dict(WRITTEN)
    WRITTEN.clear()
    yield
    WRITTEN.update({key: kept for key, kept in before.items() if kept[0]() is not None})


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_programs_run(page, tmp_path, monkeypatch):
    """The Python blocks of a page are one program, in the order in which they stand."""
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page, "python")):
        name = f"{page_id(page)}, block {number}"
        if block.lstrip().startswith(">>>"):
            run_prompts(block, scope, name)
        else:
            exec(compile(block, name, "exec"), scope)


# Modules that import llvmlite, which is an extra.
OF_LLVM = {f"tapegrad._compile.{name}" for name in ("llvm", "native_path", "native_program")}


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    if name in OF_LLVM:
        pytest.importorskip("llvmlite")
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module):
        if not is_theirs(getattr(module, test.name.removeprefix(f"{name}."), None)):
            runner.run(test)
    assert runner.summarize().failed == 0


def is_theirs(found) -> bool:
    """Whether a module of ours took a function over, with its docstring and its examples."""
    origin = getattr(getattr(found, "__wrapped__", None), "__module__", None)
    return origin is not None and origin.startswith(("numpy", "scipy"))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_within_the_project_lead_somewhere(page):
    targets = [
        link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link
    ]
    assert not [link for link in targets if not (page.parent / link).exists()]


def test_the_readme_has_two_commands_of_one_line_each():
    commands = [line for block in blocks(README, "bash") for line in block.splitlines()]
    setups = [line for line in commands if line.startswith("python3 -m venv ")]
    assert len(setups) == 2
    assert setups[0].endswith(" -m tapegrad demo")
    assert " -m pytest" in setups[1]


def test_ci_runs_the_commands_of_the_readme():
    """`.ci/run` picks them out of the README with these patterns, and must find one line each."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    patterns = re.findall(r'grep -E "([^"]+)" README\.md', script)
    assert len(patterns) == 2
    lines = README.read_text(encoding="utf-8").splitlines()
    for pattern in patterns:
        assert len([line for line in lines if re.search(pattern, line)]) == 1


def test_the_commands_install_extras_that_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extras in re.findall(r"'\.\[([\w,]+)\]'", README.read_text(encoding="utf-8")):
        assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_the_changelog_knows_the_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {project['version']}\n" in citation
    assert tapegrad.__version__ == project["version"]


def test_the_reference_lists_every_public_name_once():
    listed = re.findall(
        r"^\.\. auto(?:function|class|exception|data):: (\w+)$",
        API.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    names = [name for name in tapegrad.__all__ if not inspect.ismodule(getattr(tapegrad, name))]
    assert sorted(listed) == sorted(names)
