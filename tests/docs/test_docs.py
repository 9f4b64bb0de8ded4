"""The READMEs and the pages of docs/: their programs run, their commands and links are right."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tapegrad
from tapegrad.torch._graph.versions import WRITTEN

ROOT = Path(__file__).parents[2]
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


# Pages whose programs take seconds run with the slow tests; some need an extra.
SLOW: set[str] = set()
OF_FAST_PATHS = {"docs/how-it-works.md"}  # shows a planned call
NEEDS = {
    "docs/quickstart.md": ("matplotlib",),
    "docs/guides/beside.md": ("matplotlib",),
    "docs/guides/code-you-cannot-edit.md": ("filterpy", "sgp4", "skfem"),
}


def with_cost(page: Path):
    marks = [pytest.mark.slow] if page_id(page) in SLOW else []
    if page_id(page) in OF_FAST_PATHS:
        marks.append(pytest.mark.fast_path)
    return pytest.param(page, marks=marks, id=page_id(page))


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("page", [with_cost(page) for page in PAGES])
def test_programs_run(page, tmp_path, monkeypatch):
    """The Python blocks of a page are one program, in the order in which they stand."""
    for needed in NEEDS.get(page_id(page), ()):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page, "python")):
        name = f"{page_id(page)}, block {number}"
        if block.lstrip().startswith(">>>"):
            run_prompts(block, scope, name)
        else:
            exec(compile(block, name, "exec"), scope)


# Packages that a module of ours may import at once, and an installation may lack.
EXTRAS = ("llvmlite", "scipy")


def lacks(name: str) -> str:
    """The extra without which a module cannot be imported here, or nothing."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        return error.name
    return ""


def has_prompts(name: str) -> bool:
    """Whether examples stand in the file of a module."""
    path = ROOT / name.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ">>> " in path.read_text(encoding="utf-8")


WITH_PROMPTS = [name for name in MODULES if has_prompts(name)]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PROMPTS)
def test_examples_in_docstrings_run(name):
    if lacks(name):
        pytest.skip(f"{name} imports {lacks(name)}, which is not installed")
    run_examples(name)


@pytest.mark.slow
def test_examples_run_whose_docstrings_are_made():
    """By a module with text from another; few modules have some."""
    left_out = {}
    for name in sorted(set(MODULES) - set(WITH_PROMPTS)):
        if lacks(name):
            left_out[name] = lacks(name)
        elif any(">>> " in text for text in docstrings(importlib.import_module(name))):
            run_examples(name)
    if left_out:
        pytest.skip(f"all run but those of modules that need what is not installed: {left_out}")


def docstrings(module) -> Iterator[str]:
    """Those of a module's own functions and classes, and of their members."""
    for found in vars(module).values():
        if getattr(found, "__module__", None) == module.__name__:
            members = vars(found).values() if isinstance(found, type) else ()
            for one in (found, *members):
                text = getattr(one, "__doc__", None)
                if isinstance(text, str):
                    yield text


# Docstrings of private bases, of which each member has one with its own words.
OF_FAMILY = re.compile(r"(>>>|\.\.\.) .*\{(name|nd|sides)\}")


def run_examples(name: str) -> None:
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module):
        theirs = is_theirs(getattr(module, test.name.removeprefix(f"{name}."), None))
        if not theirs and not OF_FAMILY.search(test.docstring or ""):
            runner.run(test)
    assert runner.summarize().failed == 0, name


def is_theirs(found) -> bool:
    """Whether a module of ours took a function over, with its docstring and its examples."""
    origin = inspect.unwrap(found) if callable(found) else None
    if origin is found:
        return False
    return str(getattr(origin, "__module__", "")).startswith(("numpy", "scipy"))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_within_the_project_lead_somewhere(page):
    targets = [
        link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link
    ]
    assert not [link for link in targets if not (page.parent / link).exists()]


def test_the_tests_that_hold_what_is_said_of_security_exist():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)`", page)
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "tests").rglob("test_*.py")]
    there = set(re.findall(r"^ *def (test_\w+)\(", "\n".join(texts), re.MULTILINE))
    assert len(named) > 20
    assert set(named) <= there


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


SUMMARY = re.compile(r"^\.\. currentmodule:: (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ROLE = re.compile(r"\{py:\w+\}`(?:[^`<]*<)?~?([\w.]+)>?`")
OF_OTHERS = {
    "tapegrad.optimize": {"Bounds", "LinearConstraint", "NonlinearConstraint", "minimize_scalar"},
    "tapegrad.autograd": {"dict", "isinstance", "list", "tuple", "type"},
}


def test_the_reference_lists_every_public_name_once():
    pytest.importorskip("scipy")
    listed: dict[str, list[str]] = {}
    for module, text in SUMMARY.findall(API.read_text(encoding="utf-8")):
        listed.setdefault(module, []).extend(re.findall(r"^   (\w+)$", text, re.MULTILINE))
    assert len(listed) == 12
    for name, found in listed.items():
        module = importlib.import_module(name)
        names = {n for n in module.__all__ if not inspect.ismodule(getattr(module, n))}
        assert sorted(found) == sorted(names - OF_OTHERS.get(name, set())), name


def exists(name: str) -> bool:
    """Whether a dotted name leads to something, by imports and attributes."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_names_that_link_to_the_reference_exist(page):
    """Sphinx says nothing of a role whose name it does not know: the name stays without a link."""
    names = {n for n in ROLE.findall(page.read_text(encoding="utf-8")) if "tapegrad" in n}
    assert not [name for name in names if not exists(name)]


def drawing(name: str):
    """A program of docs/, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_of_other_libraries_have_an_address():
    """A link to NumPy, SciPy or PyTorch has a line in docs/elsewhere.py."""
    pytest.importorskip("scipy")
    elsewhere = drawing("elsewhere")
    known = {row.split()[0] for site in elsewhere.SITES for row in elsewhere.rows(site)}
    used = {name for page in PAGES for name in ROLE.findall(page.read_text(encoding="utf-8"))}
    assert {name for name in used if not name.startswith("tapegrad")} <= known
    ours = [name for name in known if name.startswith(("numpy.", "scipy."))]
    assert not [name for name in ours if not exists(name)]


def test_the_picture_of_the_readme_is_current():
    pictures = drawing("pictures")
    written = (ROOT / "docs" / "tape.svg").read_text(encoding="utf-8")
    assert written == pictures.tape_of_the_readme(), "run: python docs/pictures.py"


def test_pictures_of_shapes_are_current():
    shapes = drawing("shapes")
    for name in shapes.PICTURES:
        written = (shapes.PLACE / f"{name}.svg").read_text(encoding="utf-8")
        assert written == shapes.drawn(name), "run: python docs/shapes.py"


def test_names_in_running_text_are_found(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs")
    links = importlib.import_module("links")
    known = {f"{module}.{name}" for module, name in importlib.import_module("reference").listed()}
    expected = {
        ("hvp(f, (x,), (v,))", "vmap"): "tapegrad.hvp",
        ("jacobian", "vmap"): "tapegrad.jacobian",
        ("jacobian", "sparse"): "tapegrad.sparse.jacobian",
        ("optimize.adam", "glossary"): "tapegrad.optimize.adam",
        ("@tapegrad.compile", "compile"): "tapegrad.compile",
        ("tapegrad.config.progress", "optimize"): "tapegrad.config",
        ("np.where", "kinks"): "numpy.where",
        ("torch.optim.Adam", "guides/training"): "tapegrad.torch.optim.Adam",
        ("torch.optim.Adam", "migrating"): None,
        ("x + 1", "kinks"): None,
        ("grad", "torch"): None,
        ("linear", "writing-a-rule"): None,
    }
    found = {each: links.target(*each, known) for each in expected}
    assert found == expected
    pages = {page_id(page).removeprefix("docs/").removesuffix(".md") for page in PAGES}
    assert set(links.ABOUT) | set(links.PAGES.values()) <= pages
