"""The layers: each room imports only from the rooms below it. The order below is the design."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tapegrad

ROOT = Path(tapegrad.__file__).parent

# The tower, from the bottom up: a room may import any that stands before it, and its own files.
# "" is the public API, tapegrad/__init__.py.
TOWER = (
    "_allocator",
    "_block",
    "_errors",
    "_config",
    "_numpy_versions",
    "_warning",
    "_alias",
    "_files",
    "_progress",
    "_tree",
    "_profile",
    "_core",
    "rules",
    "_arrays",
    "_batched",
    "_transforms",
    "_program",
    "_native",
    "_compile",
    "_look",
    "numpy",
    "_adopt",
    "",
    "math",
    "cmath",
    "sparse",
    "tree",
    "implicit",
    "scipy",
    "optimize",
    "dask",
    "testing",
    "autograd",
    "torch._methods",
    "torch._dims",
    "torch._dtypes",
    "torch._formats",
    "torch._types",
    "torch._graph",
    "torch._rules",
    "torch._tensor",
    "torch.return_types",
    "torch._docstrings",
    "torch._ops",
    "torch._absent",
    "torch._settings",
    "torch._engine",
    "torch.random",
    "torch.linalg",
    "torch.fft",
    "torch.signal",
    "torch.special",
    "torch.func",
    "torch.autograd",
    "torch.nn",
    "torch.optim",
    "torch.distributions",
    "torch.profiler",
    "torch.serialization",
    "torch.quasirandom",
    "torch.utils",
    "torch.testing",
    "torch._mixed_precision",
    "torch._programs",
    "torch._compiled",
    "torch._install",
    "torch.types",
    "torch.version",
    "torch.torch_version",
    "torch",
    "_cli",
    "__main__",
)

# The files of the engine, from the bottom up; each may import those before it.
CORE = (
    "types",
    "values",
    "operands",
    "refcounts",
    "quiet",
    "entry",
    "fit",
    "scatter_rows",
    "scatter",
    "recorded",
    "locks",
    "collector",
    "tape",
    "out",
    "infinities",
    "marks",
    "replay",
    "forward_tape",
    "reads",
    "rule",
    "elementwise",
    "linear",
    "general",
    "careful",
    "directions",
    "composite",
    "forms",
    "series",
    "series_replay",
    "limits",
    "fast.paths",
    "fast.sums",
    "fast.rule_plans",
    "fast.call_plans",
    "fast.reads_and_writes",
    "fast.backward",
    "fast.elementwise",
    "fast.forward",
    "fast.forward_tape",
    "fast.tape",
    "fast",
)

# Imports of a file of rules: the ground, the forms, and what they ask of values.
GROUND = {"_block", "_errors", "_numpy_versions", "_warning"}
OF_RULES = GROUND | {
    "_core.forms",
    "_core.directions",
    "_core.quiet",
    "_core.fast.call_plans",
    "_core.fast.sums",
    "_core.types",
    "_core.values",
}

# Functions that a lower room is handed from above, and by which module: the only ways up.
SOCKETS = {
    ("_core.forms", "Unsupported.refuse"): "_arrays.refusal",
    ("_core.tape", "Tape.log_planned"): "_core.fast.tape",
    ("_arrays.traced", "Array.__array_function__"): "_arrays.functions",
    ("_arrays.traced", "Array.__array_ufunc__"): "_arrays.ufuncs",
    ("_arrays.traced", "Array.__getitem__"): "_arrays.reads",
    ("_batched.level", "VmapLevel.array"): "_batched.array",
    ("_batched.level", "VmapLevel.batched"): "_batched.array",
    ("_batched.array", "Batched.__getitem__"): "_batched.reads",
    ("_batched.array", "Batched.look_up"): "_batched.reads",
    ("_transforms.failures", "ForwardLine.explain"): "_look.explanations",
    ("_program.recorded", "Recorded.called"): "_program.calls",
    ("_program.recorded", "Recorded.mutated"): "_program.calls",
    ("_program.recorded", "Recorded.call_rule"): "_program.own_functions",
    ("_program.recorded", "Recorded.pull_rule"): "_program.own_functions",
    ("_program.recorded", "Recorded.push_rule"): "_program.own_functions",
    ("_program.recorded", "Recorded.by"): "_program.own_functions",
    ("_program.recorded", "Recorded.by_one"): "_program.own_functions",
    ("_program.recorded", "Recorded.__array_function__"): "_program.protocols",
    ("_program.recorded", "Recorded.__array_ufunc__"): "_program.protocols",
    ("_program.recorded", "Recorded.__getitem__"): "_program.protocols",
    ("_program.recorded", "Recorded.__setitem__"): "_program.protocols",
    ("torch._graph.node", "Node.__call__"): "torch._engine.node_run",
    ("torch._graph.node", "Node.__dir__"): "torch._engine.saved_names",
    ("torch._graph.node", "Node.__getattr__"): "torch._engine.saved_names",
    ("torch._tensor.tensor", "Tensor.__new__"): "torch._ops.create.legacy",
    ("torch._tensor.tensor", "Tensor._grad"): "torch._programs",
    ("torch.nn.module.module", "Module.compile"): "torch._compiled",
    ("torch._tensor.tensor", "Tensor.backward"): "torch.autograd._passes",
}

# Modules that rooms below them import by name, and why no other way is open. Each closes a circle
# of rooms; nothing is imported before a program asks for it.
UPWARD = {
    ("_arrays.interface", "numpy"): "`x.__array_namespace__()` is the namespace on top of all",
    ("_core.operands", "scipy.sparse"): "an operator met a matrix of SciPy's, which NumPy lacks",
    ("numpy", "scipy.special"): "`xp.special` of the Array API, which SciPy asks for",
}

# Names that no source has: they come from a table, or from the program that runs.
TOLD = {
    ("", "_LATE[name]"): "re-exports, loaded late",
    ("", "f'tapegrad.{name}'"): "public packages, likewise",
    ("_adopt.adoption", "name"): "the package that a program adopts",
    ("_adopt.names", "f'tapegrad.{name}'"): "what the import of NumPy, SciPy or math means",
    ("_adopt.names", "name"): "what adopted code imports",
    ("_adopt.plain", "plain"): "NumPy's or Python's own module",
    ("_adopt.triangles", "ours"): "as _adopt.names",
    ("_arrays.refusal", "home"): "an error names the mirror of the library that it is about",
    ("_cli._target", "place"): "the user's file",
    ("_core.rule", "rules"): "the rules of a library come when a program has imported it",
    ("_alias", "home"): "our packages by the names of other libraries",
    ("_alias", "str(self.home_of(spec.name))"): "the same",
    ("torch._absent.modules", "full"): "what a row of the table names",
    ("torch.serialization._names", "home_of(module)"): "what a file names of PyTorch's",
    ("autograd._private", "f'tapegrad.autograd{name}'"): "modules by HIPS's names",
    ("autograd.scipy._names", "mirror"): "the module of tapegrad.scipy, below, of the same name",
    ("dask._imports", "name"): "Dask's own module",
    ("scipy._copies", "f'tapegrad.{name}'"): "its own modules by SciPy's names",
    ("scipy._copies", "name"): "SciPy's own module",
    ("scipy._mirror", "theirs"): "SciPy's own module",
}

# PyTorch's own names, and HIPS autograd's.
PUBLIC_NAMES = {"torch.utils", "torch.nn.utils", "autograd.misc", "autograd.util"}
PUBLIC_NAMES |= {"autograd.scipy.misc", "torch.distributions.utils", "torch.nn.modules.utils"}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "misc", "common"}
# Namespaces that programs import by the name of another library's.
GIVEN = {
    "torch.nn.utils",
    "autograd.scipy.stats.chi2",
    "torch.distributions.chi2",
    "torch._rules.bfloat16",
}


def module_name(path: Path) -> str:
    """`tapegrad/rules/linalg.py` is "rules.linalg", `tapegrad/__init__.py` is ""."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


DOCUMENTS = re.compile(r'""".*?"""', re.DOTALL)
IMPORTS = re.compile(
    r"^[ \t]*(?:import ([^\n]*)|from (\S+) import (\([^)]*\)|[^\n]*))", re.MULTILINE
)


@functools.cache
def imports(path: Path) -> set[str]:
    """Full names of all modules that a file imports, also inside functions and for types only.

    By its lines: parsing them all takes seconds. A slow test compares.
    """
    found: set[str] = set()
    text = DOCUMENTS.sub("", path.read_text(encoding="utf-8"))
    for names, package, parts in IMPORTS.findall(text):
        assert not package.startswith("."), f"{path}: relative import from {package}"
        rows = re.sub(r"#[^\n]*|[()\n]", " ", parts or names).split(",")
        words = [row.split()[0] for row in rows if row.strip()]
        found.update(_imported_from(package, words) if package else words)
    return found


def parsed_imports(path: Path) -> set[str]:
    """The same by the syntax tree."""
    found: set[str] = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            found.update(_imported_from(node.module, [alias.name for alias in node.names]))
    return found


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree and the statements within it, without their expressions, which are most of it."""
    yield tree
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, part, ()):
            yield from statements(node)


def _imported_from(package: str, names: list[str]) -> set[str]:
    """`from tapegrad import _tree` imports a module, `from tapegrad import grad` does not."""
    within = package.removeprefix("tapegrad").lstrip(".")
    if package.split(".", maxsplit=1)[0] != "tapegrad":
        return {package}
    inner = {f"{within}.{name}".lstrip(".") for name in names}
    modules = {f"tapegrad.{name}" for name in inner if name in MODULES}
    return modules if len(modules) == len(names) else modules | {package}


def own_imports(name: str) -> set[str]:
    """The modules of tapegrad that a module imports: "_core.rule", "rules.linalg", ""."""
    within = {found for found in imports(MODULES[name]) if found.split(".")[0] == "tapegrad"}
    return {found.removeprefix("tapegrad").lstrip(".") for found in within}


@functools.cache
def named(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """The modules that a module imports without an import statement.

    Modules of tapegrad, as far as the source says which; and the source of names it does not say.
    """
    text = MODULES[name].read_text(encoding="utf-8")
    if not re.search(r"import_module\(|__import__\(", text):
        return frozenset(), frozenset()
    tree = ast.parse(text)
    texts = {"__name__": f"tapegrad.{name}"}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            texts |= {ast.unparse(target): str(node.value.value) for target in node.targets}
    known, told = set(), set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if ast.unparse(node.func).endswith(("import_module", "__import__")):
            found = known_start(node.args[0], texts)
            if found in ("", "tapegrad"):
                told.add(ast.unparse(node.args[0]))
            elif found.split(".")[0] == "tapegrad":
                known.add(found.removeprefix("tapegrad."))
    return frozenset(known), frozenset(told)


def known_start(node: ast.expr, texts: dict[str, str]) -> str:
    """A dotted name as far as it is known: of f"tapegrad.scipy.{name}" it is tapegrad.scipy."""
    found = ""
    for part in node.values if isinstance(node, ast.JoinedStr) else [node]:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        if isinstance(inner, ast.Constant):
            found += inner.value
        elif isinstance(inner, ast.Name) and inner.id in texts:
            found += texts[inner.id]
        else:
            return found.rpartition(".")[0]
    return found


def all_imports(name: str) -> set[str]:
    """The modules of tapegrad that a module imports, by a statement or by name."""
    return own_imports(name) | named(name)[0]


def foreign_imports(name: str) -> set[str]:
    """Imports of a module that are neither tapegrad nor the standard library."""
    tops = {found.split(".")[0] for found in imports(MODULES[name])}
    return tops - {"tapegrad"} - sys.stdlib_module_names


def room_of(name: str) -> str:
    """The package or file of the tower that a module belongs to."""
    first, _, rest = name.partition(".")
    return f"torch.{rest.split('.')[0]}" if first == "torch" and rest else first


def test_every_module_stands_in_the_tower():
    assert {room_of(name) for name in MODULES} == set(TOWER)


@pytest.mark.slow
def test_imports_are_read_from_their_lines():
    assert [path for path in MODULES.values() if imports(path) != parsed_imports(path)] == []


def test_modules_import_only_from_the_rooms_below():
    """So no rooms import each other in a circle. Imports in functions and for types count."""
    floors = {room: floor for floor, room in enumerate(TOWER)}
    above = {
        (name, found)
        for name in MODULES
        for found in all_imports(name)
        if floors[room_of(found)] > floors[room_of(name)]
    }
    assert above == set(UPWARD)


def test_imports_by_a_name_that_no_source_has_are_known():
    assert {(name, words) for name in MODULES for words in named(name)[1]} == set(TOLD)


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("'tapegrad.numpy'", "tapegrad.numpy"),
        ("PLACE", "tapegrad.scipy"),
        ("f'{PLACE}.linalg'", "tapegrad.scipy.linalg"),
        ("f'tapegrad._cli._{name}'", "tapegrad._cli"),
        ("f'tapegrad.{name}'", "tapegrad"),
        ("name", ""),
    ],
)
def test_an_import_by_name_is_read_as_far_as_it_goes(source, known):
    node = ast.parse(source, mode="eval").body
    assert known_start(node, {"PLACE": "tapegrad.scipy"}) == known


def test_the_engine_and_the_rules_need_numpy_alone():
    others = {
        (name, found)
        for name in MODULES
        if room_of(name) in ("_core", "rules")
        for found in foreign_imports(name) - {"numpy"}
    }
    assert others == set()


@pytest.mark.parametrize("position", range(len(CORE)))
def test_a_file_of_the_engine_imports_only_from_those_below(position):
    below = {f"_core.{file}" for file in CORE[:position]}
    found = own_imports(f"_core.{CORE[position]}")
    assert {name for name in found if name.startswith("_core")} <= below


def test_the_definition_imports_no_fast_path():
    """It is whole without them: docs/fast-paths.md."""
    definition = [name for name in MODULES if name.startswith("_core") and not is_fast(name)]
    assert len(definition) > 20
    assert {name: [*filter(is_fast, all_imports(name))] for name in definition} == {
        name: [] for name in definition
    }


@pytest.mark.parametrize(
    "line",
    [
        "from tapegrad._core import fast",
        "from tapegrad._core.fast import off",
        "import tapegrad._core.fast.sums",
        "def f():\n    from tapegrad._core.fast.paths import PATHS",
        "if TYPE_CHECKING:\n    from tapegrad._core.fast.call_plans import CallPlan",
    ],
)
def test_an_import_of_a_fast_path_is_seen(tmp_path, line):
    path = tmp_path / "definition.py"
    path.write_text(line, encoding="utf-8")
    assert any(is_fast(found.removeprefix("tapegrad.")) for found in imports(path))


def is_fast(name: str) -> bool:
    return f"{name}.".startswith("_core.fast.")


def test_the_engine_has_no_other_files():
    assert {name for name in MODULES if name.startswith("_core.")} == {
        f"_core.{file}" for file in CORE
    }


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("rules.")])
def test_a_file_of_rules_imports_the_forms_and_other_rules(name):
    inner = {found for found in own_imports(name) if found.split(".")[0] != "rules"}
    assert inner <= OF_RULES


def test_no_files_import_each_other_in_a_circle():
    """Not even packages: a file that imports its own package from below is found."""
    waiting = {
        name: {
            found
            for found in all_imports(name) - {name}
            if found in MODULES and (name, found) not in UPWARD
        }
        for name in MODULES
    }
    while True:  # what imports nothing that is left, or nothing left imports, is in no circle
        imported = set().union(*waiting.values())
        free = [
            name
            for name, found in waiting.items()
            if found.isdisjoint(waiting) or name not in imported
        ]
        if not free:
            break
        for name in free:
            del waiting[name]
    assert {name: found & set(waiting) for name, found in waiting.items()} == {}


# Marks of a file that sets an attribute of a name, and where its names from this package are.
HANDS = re.compile(r"(?<![\w.])(\w+)\.\w+ = |(?:setattr|method_of)\(\s*(\w+)")
TAKEN = re.compile(r"^from tapegrad[\w.]* import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def handed_upward(name: str) -> set[tuple[str, str]]:
    """Attributes of imported classes that a module sets: (its module, "Class.attribute")."""
    text = MODULES[name].read_text(encoding="utf-8")
    taken = {word for names in TAKEN.findall(text) for word in re.findall(r"\w+", names)}
    if taken.isdisjoint(word for words in HANDS.findall(text) for word in words):
        return set()  # parsing them all takes seconds
    tree = ast.parse(text)
    sources = {
        alias.asname or alias.name: node.module.removeprefix("tapegrad").lstrip(".")
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module and "tapegrad" in node.module
        for alias in node.names
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = [t for t in node.targets if isinstance(t, ast.Attribute)]
            found |= {(t.value.id, t.attr) for t in targets if isinstance(t.value, ast.Name)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id not in ("setattr", "method_of"):
                continue
            holder, attribute = node.args[:2]
            if isinstance(attribute, ast.Constant) and isinstance(holder, ast.Name):
                found.add((holder.id, attribute.value))
    return {(sources[holder], f"{holder}.{name}") for holder, name in found if holder in sources}


@pytest.mark.parametrize(("module", "socket"), SOCKETS)
def test_a_socket_is_declared_where_it_is(module, socket):
    """For type checkers and readers, at least under TYPE_CHECKING."""
    holder, attribute = socket.split(".")
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    body = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == holder)
    declared = {n.name for n in ast.walk(body) if isinstance(n, ast.FunctionDef)}
    declared |= {ast.unparse(n.target) for n in body.body if isinstance(n, ast.AnnAssign)}
    assert attribute in declared


def test_the_sockets_are_the_only_ways_up():
    """Tensor gets its methods by `register`: tests/torch/test_torch_origins.py has the table."""
    found = {socket: name for name in MODULES for socket in handed_upward(name)}
    assert found == SOCKETS


def test_the_public_module_only_re_exports():
    """Some names when they are asked for: by a table, and module functions that Python calls."""
    body = ast.parse(MODULES[""].read_text(encoding="utf-8")).body
    for node in body:
        if isinstance(node, ast.If):
            assert ast.unparse(node.test) == "_TYPE_CHECKING"
            assert all(isinstance(inner, ast.ImportFrom) for inner in node.body)
            continue
        if isinstance(node, ast.FunctionDef):
            assert node.name in ("__getattr__", "__dir__")
            continue
        named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        dunder = named and node.targets[0].id.startswith(("__", "_LATE"))
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert isinstance(node, ast.Import | ast.ImportFrom) or dunder or docstring, ast.unparse(
            node
        )


def test_every_public_name_is_listed_and_exists():
    assert sorted(set(tapegrad.__all__)) == sorted(tapegrad.__all__)
    assert not [name for name in tapegrad.__all__ if not hasattr(tapegrad, name)]


def test_modules_are_named_after_what_they_know():
    lasts = {name: name.rpartition(".")[2].strip("_") for name in MODULES if name not in GIVEN}
    wrong = [n for n, last in lasts.items() if last in FORBIDDEN_NAMES and n not in PUBLIC_NAMES]
    assert wrong == []
    assert [name for name, last in lasts.items() if last[-1:].isdigit()] == []


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    program = [sys.executable, "-c", code]
    return set(subprocess.run(program, capture_output=True, text=True, check=True).stdout.split())


def test_importing_tapegrad_loads_numpy_and_the_standard_library_only():
    extra = loaded_by("tapegrad") - loaded_by("numpy") - sys.stdlib_module_names
    assert extra - {"_xxsubinterpreters"} == {"tapegrad"}  # of Python 3.11 and 3.12 itself
