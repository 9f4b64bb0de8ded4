"""SciPy's own tests, as its wheel has them, with the names of `tapegrad.scipy` in their place.

``python tests/scipy/scipy_own_tests.py linalg interpolate`` runs the tests of each subpackage on
SciPy and on tapegrad, and prints a row for each. The exit status is 1 if a test passes on SciPy
alone and `REASONS` does not say why. ``--results FOLDER`` keeps the outcomes there: those on
SciPy, once there, are read; a file has the names of tests that pass on SciPy alone, and a log
what pytest says of them. Arguments after ``--`` are options of pytest, for both: ``-- -k pickle``.

SciPy's private modules and private names remain SciPy's. Knows how Python imports a module. Must
not know what SciPy's tests test.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

# Beginnings of the names of tests that pass on SciPy alone, and why.
_OUR_SOLVER = (
    "gives our spsolve to a private function of SciPy's, which compares solvers with its own; "
    "RegularGridInterpolator, which is public, takes it"
)
_VERY_TYPE = "asks `type(x) is csr_matrix` of SciPy's own object; our name is a class equal to it"
REASONS = {
    "interpolate.tests.test_bsplines.TestMakeND::test_2D_": _OUR_SOLVER,
    "interpolate.tests.test_bsplines.TestMakeND::test_3D_random_vs_RGI": _OUR_SOLVER,
    "sparse.tests.test_csr::test_csr_": _VERY_TYPE,
    "sparse.tests.test_csc::test_csc_": _VERY_TYPE,
    "sparse.tests.test_coo::test_tensordot": _VERY_TYPE,
    "sparse.tests.test_matrix_io::test_save_and_load_": _VERY_TYPE,
}

_SELF = Path(__file__).stem
_SWITCH = "TAPEGRAD_SCIPY_OWN_TESTS"  # set where this file is pytest's plugin


# --- The names of modules


class _Names(types.ModuleType):
    """The names of a public module of SciPy's: ours where we have them."""

    def __init__(self, module: str) -> None:
        self._theirs = importlib.import_module(module)
        super().__init__(module, self._theirs.__doc__)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._theirs, name)
        if name.startswith("_"):
            return value
        if isinstance(value, types.ModuleType):
            return names_of(value.__name__)
        return getattr(_ours(self.__name__), name, value)

    def __dir__(self) -> list[str]:
        return dir(self._theirs)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return {name: getattr(self, name) for name in vars(self._theirs)}


@functools.cache
def names_of(module: str) -> types.ModuleType:
    """The module that a test gets by a name."""
    return _Names(module) if _is_public(module) else importlib.import_module(module)


def name_of(module: str, name: str) -> Any:
    """The object of `from module import name`."""
    try:
        return getattr(names_of(module), name)
    except AttributeError:
        return names_of(f"{module}.{name}")


def all_names(module: str) -> dict[str, Any]:
    """The objects of `from module import *`."""
    theirs = importlib.import_module(module)
    names = getattr(theirs, "__all__", None) or [n for n in dir(theirs) if n[0] != "_"]
    return {name: name_of(module, name) for name in names}


def _ours(module: str) -> types.ModuleType:
    """Our module of a name of SciPy's, or SciPy's where we have none."""
    try:
        return importlib.import_module(f"tapegrad.{module}")
    except ModuleNotFoundError:
        return importlib.import_module(module)


# --- Test modules that are read with these names


class _Imports(ast.NodeTransformer):
    """Imports of SciPy's public modules, as assignments of the names here."""

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for alias in node.names:
            whole, name = alias.name, alias.asname
            if not _is_public(whole):
                done.append(ast.Import([alias]))
                continue
            if name is None:  # `import scipy.stats` binds scipy
                done.append(ast.Import([ast.alias(whole)]))
                whole = name = "scipy"
            done += _statements(f"{name} = {{}}.names_of({whole!r})")
        return _at(node, done)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        module = node.module or ""
        if node.level or not _is_public(module):
            return [node]
        done: list[ast.stmt] = []
        for alias in node.names:
            if alias.name == "*":
                done += _statements(f"globals().update({{}}.all_names({module!r}))")
            elif _is_public(f"{module}.{alias.name}"):
                name = alias.asname or alias.name
                done += _statements(f"{name} = {{}}.name_of({module!r}, {alias.name!r})")
            else:
                done.append(ast.ImportFrom(module, [alias], 0))
        return _at(node, done)


def _is_public(module: str) -> bool:
    parts = module.split(".")
    return parts[0] == "scipy" and "tests" not in parts and "._" not in module


def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text.format(f"__import__({_SELF!r})")).body


def _at(node: ast.stmt, statements: list[ast.stmt]) -> list[ast.stmt]:
    for statement in statements:
        for inner in ast.walk(statement):
            ast.copy_location(inner, node)
    return statements


class _Loader(SourceFileLoader):
    """Reads a test module of SciPy's from its source, each time."""

    def get_code(self, fullname: str) -> types.CodeType | None:
        path = self.get_filename(fullname)
        tree = _Imports().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the test modules of SciPy's, not modules that these share: one is a backend."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> ModuleSpec | None:
        parts = fullname.split(".")
        if parts[0] != "scipy" or not parts[-1].startswith("test_"):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Capabilities(dict[Any, Any]):
    """SciPy's table of what its functions can do, which knows ours as SciPy's."""

    def __missing__(self, function: Any) -> Any:
        module = str(getattr(function, "__module__", "")).removeprefix("tapegrad.")
        theirs: Any = importlib.import_module(module.partition("._")[0] or "scipy")
        for part in getattr(function, "__qualname__", "?").split("."):
            theirs = getattr(theirs, part, None)
        for known in (theirs, getattr(theirs, "__func__", None)):
            if known in self:
                return self[known]
        raise KeyError(function)


def pytest_configure(config: object) -> None:
    """Read SciPy's test modules with our names."""
    if _SWITCH not in os.environ:
        return
    sys.meta_path.insert(0, _Finder())
    from scipy._lib import _array_api

    table = getattr(_array_api, "xp_capabilities_table", None)
    if table is not None:
        _array_api.xp_capabilities_table = _Capabilities(table)


# --- The program


def outcomes(package: str, log: Path, options: list[str], *, ours: bool) -> dict[str, str]:
    """The outcome of each test of a subpackage, by its name."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    here = str(Path(__file__).parent)
    environment["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    environment.pop(_SWITCH, None)
    if ours:
        environment[_SWITCH] = "1"
    with tempfile.TemporaryDirectory() as folder, log.open("w") as output:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", _SELF]
        command += ["-p", "no:cacheprovider", "--continue-on-collection-errors"]
        command += [f"--junitxml={report}", "--pyargs", f"scipy.{package}", *options]
        subprocess.run(
            command, cwd=folder, env=environment, stdout=output, stderr=output, check=False
        )
        if not report.exists():
            raise SystemExit(f"scipy_own_tests: pytest has no report of {package}: see {log}.")
        cases = ET.parse(report).iter("testcase")
        return {f"{package}.{c.get('classname')}::{c.get('name')}": _outcome(c) for c in cases}


def _outcome(case: ET.Element) -> str:
    inner = {child.tag for child in case}
    return next((tag for tag in ("failure", "error", "skipped") if tag in inner), "passed")


def compare(package: str, results: Path, options: list[str]) -> bool:
    """Print the row of a subpackage; whether each difference has a reason."""
    kept = results / f"{package}.json"
    if kept.exists() and not options:
        theirs: dict[str, str] = json.loads(kept.read_text())
    else:
        theirs = outcomes(package, results / f"{package}_scipy.log", options, ours=False)
        if not options:
            kept.write_text(json.dumps(theirs))
    ours = outcomes(package, results / f"{package}_tapegrad.log", options, ours=True)
    alone = [n for n, o in theirs.items() if o == "passed" and ours.get(n) != "passed"]
    (results / f"{package}_alone.txt").write_text("".join(f"{name}\n" for name in alone))
    unknown = [n for n in alone if not n.startswith(tuple(REASONS))]
    numbers = [len(theirs), *(list(d.values()).count("passed") for d in (theirs, ours))]
    numbers += [len(alone) - len(unknown), len(unknown)]
    print(f"{package:<16}" + "".join(f"{number:>10}" for number in numbers), flush=True)
    for name in unknown[:20]:
        print(f"  {name}", flush=True)
    if len(unknown) > 20:
        print(f"  and {len(unknown) - 20} more", flush=True)
    return not unknown


def main(arguments: list[str]) -> int:
    """The exit status of the program."""
    own, options = arguments, list[str]()
    if "--" in arguments:
        own, options = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="linalg, stats …")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="where outcomes are kept")
    asked = parser.parse_args(own)
    titles = ("tests", "SciPy", "tapegrad", "reasons", "unknown")
    print(" " * 16 + "".join(f"{title:>10}" for title in titles), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        results = asked.results or Path(folder)
        results.mkdir(parents=True, exist_ok=True)
        rows = [compare(package, results.resolve(), options) for package in asked.packages]
        return int(not all(rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
