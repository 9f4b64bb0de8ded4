"""Writes the stubs of `tapegrad.scipy`: `python docs/scipy_stubs.py`.

SciPy has no types, and a mirror of one of its functions is a `primitive`, of which a type checker
knows nothing. The stubs have the names of SciPy's modules, the parameters that `inspect` finds,
and results by scipy_signatures.py.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy
import scipy_signatures as known

PLACE = Path(__file__).parents[1] / "tapegrad" / "scipy"
WIDTH = 99
VERSION = ".".join(scipy.__version__.split(".")[:2])
MODULES = (
    "cluster cluster.vq constants differentiate fft integrate interpolate linalg ndimage optimize "
    "signal signal.windows sparse sparse.csgraph sparse.linalg spatial spatial.distance "
    "spatial.transform special stats stats.contingency stats.qmc"
).split()
HEADER = '''\
"""`scipy.{name}` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy {version}: change that, not this.
"""

'''
# Where the words of a stub come from.
WORDS = {
    "typing": "Any Literal overload",
    "numpy.typing": "ArrayLike",
    "tapegrad.scipy._kinds": ("Array Elementwise ElementwiseFour ElementwisePair Shape Solution"),
}
# Of ufuncs, by the number of their results.
UFUNCS = {1: "Elementwise", 2: "ElementwisePair", 4: "ElementwiseFour"}


def names_of(module: str) -> list[str]:
    """The public names of SciPy's module, and of ours: former names may be missing there."""
    theirs = importlib.import_module(f"scipy.{module}")
    ours = importlib.import_module(f"tapegrad.scipy.{module}")
    listed = getattr(theirs, "__all__", None) or vars(theirs)
    listed = {*listed, *getattr(ours, "__all__", ())}
    return sorted({name for name in listed if not name.startswith("_")}, key=str)


def default(value: object) -> str:
    """A default as a stub has it."""
    plain = isinstance(value, (bool, int, float, str, type(None))) and value == value  # no NaN
    text = repr(value)
    return text if plain and "inf" not in text and len(text) < 20 else "..."


def parameters(
    found: Any, changed: dict[str, str] | None = None, *, keyword_from: str = ""
) -> Iterator[str]:
    """The parameters of a function; what is known of a type is that of a flag.

    changed: what is written for some; keyword_from: the first that goes by keyword alone.
    """
    changed = changed or {}
    last, starred = None, False
    for name, p in inspect.signature(found).parameters.items():
        if last is inspect.Parameter.POSITIONAL_ONLY and p.kind is not last:
            yield "/"
        last = p.kind
        if p.kind is p.VAR_POSITIONAL:
            starred = True
            yield f"*{name}: Any"
            continue
        if p.kind is p.VAR_KEYWORD:
            yield f"**{name}: Any"
            continue
        if not starred and (p.kind is p.KEYWORD_ONLY or name == keyword_from):
            starred = True
            yield "*"
        tail = "" if p.default is p.empty else f" = {default(p.default)}"
        yield f"{name}: " + (
            changed.get(name) or ("bool" if isinstance(p.default, bool) else "Any") + tail
        )
    if last is inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def forms(module: str, name: str, found: Any) -> Iterator[str]:
    """The signatures of a function, one of each overload."""
    key = f"{module}.{name}"
    if key in known.OVERLOADS:
        yield from known.OVERLOADS[key]
        return
    given = inspect.signature(found).parameters
    choices: tuple[str, tuple[tuple[str, str], ...]] | None = known.CHOICES.get(key)
    if key in known.FLAGS:
        flag, usual, other = known.FLAGS[key]
        value = given[flag].default
        words = (
            ("None = None", "ArrayLike")
            if value is None
            else (f"Literal[{value}] = {value}", f"Literal[{not value}]")
        )
        choices = flag, ((words[0], usual), (words[1], other))
    if choices is not None:
        flag, rows = choices
        for text, result in rows:
            # A parameter without a default goes by keyword after one that has it.
            keyword = "" if " = " in text else flag
            inner = ", ".join(parameters(found, {flag: text}, keyword_from=keyword))
            yield f"({inner}) -> {result}"
        yield f"({', '.join(parameters(found))}) -> Any"
    elif name in known.ELEMENTWISE.get(module, ()):
        needed = [word for word, p in given.items() if p.default is p.empty]
        rows = (("float", "np.float64"), ("complex", "np.complex128"), ("ArrayLike", "Array"))
        for kind, result in rows:
            yield f"({', '.join(parameters(found, dict.fromkeys(needed, kind)))}) -> {result}"
    else:
        yield f"({', '.join(parameters(found))}) -> {result_of(module, name)}"


def result_of(module: str, name: str) -> str:
    """The entry of the table for a function."""
    for result, names in known.RESULTS.get(module, {}).items():
        if name in names.split():
            return result
    return "Any"


def lines_of(form: str, name: str) -> Iterator[str]:
    """A declaration on as many lines as it needs."""
    # A number is array_like too.
    ignored = "  # type: ignore[overload-overlap, unused-ignore]" * (": complex" in form)
    line = f"def {name}{form}: ..."
    if len(line) <= WIDTH:
        yield line + ignored
        return
    inner, _, result = form[1:].rpartition(") -> ")
    yield f"def {name}({ignored}"
    depth, part = 0, ""
    for letter in inner + ",":
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            yield f"    {part.strip()},"
            part = ""
        else:
            part += letter
    yield f") -> {result}: ..."


def home(found: Any) -> str:
    """The module from which a class or an object of ours is imported."""
    return getattr(found, "__module__", "") or ""


def declaration(module: str, name: str, found: Any) -> Iterator[str]:
    """The lines that declare a name."""
    if inspect.ismodule(found):
        own = f"tapegrad.scipy.{module}.{name}"
        if own.removeprefix("tapegrad.scipy.") in MODULES:
            yield f"from tapegrad.scipy.{module} import {name} as {name}"
        else:
            yield f"from scipy.{module} import {name} as {name}"
    elif isinstance(found, np.ufunc):
        yield f"{name}: {UFUNCS[found.nout]}"
    elif inspect.isclass(found) and home(found).startswith("tapegrad."):
        source = source_of(found, module, name)
        if found.__name__ != name:  # another name of a class
            yield f"{name} = {found.__name__}"
        elif is_written(source, name):
            yield f"from {source} import {name} as {name}"
        else:  # made by a call
            ours = [kind for kind in found.__mro__[1:] if home(kind).startswith("tapegrad.")]
            base = ours[0].__name__ if ours else "Any"
            if ours:
                yield f"from {ours[0].__module__} import {base}"
            yield f"{name}: type[{base}]"
    elif inspect.isclass(found):
        yield f"from scipy.{module} import {name} as {name}"
    elif not callable(found) or kind_of(found).__module__.startswith("tapegrad.scipy.stats"):
        kind = kind_of(found)
        if kind.__module__.startswith("tapegrad."):
            yield f"{name}: {kind.__name__}"
        else:
            yield f"{name}: Any"
    elif has_signature(found):
        made = list(forms(module, name, found))
        for form in made:
            if len(made) > 1:
                yield "@overload"
            yield from lines_of(form, name)
    else:
        result = result_of(module, name)
        yield f"def {name}(*args: Any, **kwargs: Any) -> {result}: ..."


def kind_of(found: Any) -> type:
    """The class of a value, or the base of it that a class statement of ours makes."""
    kinds = type(found).__mro__
    ours = (kind for kind in kinds if kind.__module__.startswith("tapegrad."))
    written = (kind for kind in ours if is_written(kind.__module__, kind.__name__))
    return next(written, kinds[0])


def has_signature(found: Any) -> bool:
    try:
        inspect.signature(found)
    except (TypeError, ValueError):
        return False
    return True


def is_written(module: str, name: str) -> bool:
    """Whether a module has a class statement of this name."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return any(isinstance(part, ast.ClassDef) and part.name == name for part in tree.body)


def source_of(found: Any, module: str, name: str) -> str:
    """The private module that has a class of ours, which says it is of the public one."""
    package = importlib.import_module(f"tapegrad.scipy.{module}")
    for word, inner in sorted(vars(package).items()):
        private = isinstance(inner, ModuleType) and word.startswith("_")
        if private and vars(inner).get(name) is found and is_written(inner.__name__, name):
            return inner.__name__
    return home(found)


def stub(module: str) -> str:
    """The stub of a module."""
    ours = importlib.import_module(f"tapegrad.scipy.{module}")
    imports, lines, kinds = [], [], set()
    for name in names_of(module):
        found = getattr(ours, name)
        kind = kind_of(found)
        if kind.__module__.startswith("tapegrad.scipy.stats"):
            kinds.add(f"from {kind.__module__} import {kind.__name__}")
        for line in declaration(module, name, found):
            (imports if line.startswith("from ") else lines).append(line)
    text = "\n".join(lines)
    for source, words in WORDS.items():
        used = [word for word in words.split() if re.search(rf"\b{word}\b", text)]
        if used:
            kinds.add(f"from {source} import {', '.join(used)}")
    if "np." in text:
        kinds.add("import numpy as np")
    head = HEADER.format(name=module, version=VERSION)
    return head + "\n".join([*sorted(kinds), *sorted(set(imports)), "", text]) + "\n"


def place_of(module: str) -> Path:
    """The file of a module's stub, beside its source."""
    path = PLACE / module.replace(".", "/")
    return path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")


def stubs() -> dict[Path, str]:
    """All stubs, by the file that each belongs in."""
    return {place_of(module): stub(module) for module in MODULES}


if __name__ == "__main__":
    for place, text in stubs().items():
        place.write_text(text, encoding="utf-8")
