"""The layers: each module imports only from the layers above it. The order below is the design."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tapegrad

ROOT = Path(tapegrad.__file__).parent

# From the bottom of the tower up; a module may import any that stands before it.
CORE = (
    "_errors",
    "_numpy_versions",
    "_warning",
    "_transformed",
    "_tree",
    "_tape",
    "_fitting",
    "_scattering",
    "_replay",
    "_pushing",
    "_rule",
    "_forms",
    "_chosen",
    "_mapping",
    "_batching",
    "_ndarray",
    "_ufunc_methods",
    "_creation",
    "_memory",
    "_writes",
    "_array",
    "_ufunc_calls",
    "_places",
    "_batched_ufuncs",
    "_undecided",
    "_mapped",
    "_batched_operators",
    "_draws",
    "_inputs",
    "_reverse",
    "_forward",
    "_batch",
    "_derived",
    "_custom",
    "_checkpoint",
)

# What stands outside the core, and what of tapegrad it may import. "" is the public API.
OUTSIDE = {
    "testing": {"", "testing", "rules", *CORE},
    "_picture": set(),
    "_cli": {"", "_cli", "_picture", "_errors", "_tree", "_tape", "_inputs", "_reverse"},
    "sparse": {"", "sparse", *CORE},
    "__main__": {"_cli"},
    "rules": {"_forms", "_numpy_versions", "_rule", "_warning", "rules"},
    "numpy": {"", "numpy", "_errors", "_numpy_versions", "_creation", "_rule", "_forms", "rules"},
    "torch": {
        *(
            "",
            "torch",
            "_tree",
            "_tape",
            "_warning",
            "_fitting",
            "_replay",
            "_pushing",
            "_rule",
            "_forms",
        ),
        *("rules", "_forward", "_scattering"),
    },
    # Installed last: it reads the registered rules.
    "_operators": {"_rule", "_forms", "_array", "_ufunc_calls", "rules"},
}

FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "misc", "common"}


def module_name(path: Path) -> str:
    """`tapegrad/rules/linalg.py` is "rules.linalg", `tapegrad/__init__.py` is ""."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def imports(path: Path) -> set[str]:
    """Full names of all modules that a file imports, also inside functions and for types only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            found.update(_imported_from(node.module, node.names))
    return found


def _imported_from(package: str, names: list[ast.alias]) -> set[str]:
    """`from tapegrad import _tree` imports a module, `from tapegrad import grad` does not."""
    within = package.removeprefix("tapegrad").lstrip(".")
    if package.split(".", maxsplit=1)[0] != "tapegrad":
        return {package}
    inner = {f"{within}.{alias.name}".lstrip(".") for alias in names}
    modules = {f"tapegrad.{name}" for name in inner if name in MODULES}
    return modules if len(modules) == len(names) else modules | {package}


def own_imports(name: str) -> set[str]:
    """What a module imports of tapegrad, by first part: "_rule", "rules", "" for the API."""
    within = {found for found in imports(MODULES[name]) if found.split(".")[0] == "tapegrad"}
    return {found.removeprefix("tapegrad").lstrip(".").split(".")[0] for found in within}


def foreign_imports(name: str) -> set[str]:
    """What a module imports that is neither tapegrad nor the standard library."""
    tops = {found.split(".")[0] for found in imports(MODULES[name])}
    return tops - {"tapegrad"} - sys.stdlib_module_names


def layer_of(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


@pytest.mark.parametrize("name", [name for name in MODULES if layer_of(name) in CORE])
def test_core_imports_only_from_the_layers_above(name):
    above = set(CORE[: CORE.index(layer_of(name))])
    assert own_imports(name) <= above
    assert foreign_imports(name) <= {"numpy"}


@pytest.mark.parametrize("name", [name for name in MODULES if layer_of(name) in OUTSIDE])
def test_outside_the_core_a_module_imports_what_its_row_allows(name):
    assert own_imports(name) <= OUTSIDE[layer_of(name)]


def test_every_module_has_a_layer():
    assert {layer_of(name) for name in MODULES} - {""} <= {*CORE, *OUTSIDE}


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("rules.")])
def test_a_file_of_rules_imports_only_numpy_the_rule_forms_and_other_rules(name):
    assert own_imports(name) <= {"_forms", "_numpy_versions", "_rule", "_warning", "rules"}
    assert foreign_imports(name) <= {"numpy"}


def test_the_public_module_only_re_exports():
    body = ast.parse(MODULES[""].read_text(encoding="utf-8")).body
    for node in body:
        named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        dunder = named and node.targets[0].id.startswith("__")
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert isinstance(node, ast.Import | ast.ImportFrom) or dunder or docstring, ast.unparse(
            node
        )


def test_every_public_name_is_listed_and_exists():
    assert sorted(set(tapegrad.__all__)) == sorted(tapegrad.__all__)
    assert not [name for name in tapegrad.__all__ if not hasattr(tapegrad, name)]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_named_after_what_it_knows(name):
    last = name.rpartition(".")[2].strip("_")
    assert last not in FORBIDDEN_NAMES
    assert not last[-1:].isdigit()


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    program = [sys.executable, "-c", code]
    return set(subprocess.run(program, capture_output=True, text=True, check=True).stdout.split())


def test_importing_tapegrad_loads_numpy_and_the_standard_library_only():
    extra = loaded_by("tapegrad") - loaded_by("numpy") - sys.stdlib_module_names
    assert extra == {"tapegrad"}
