"""Writes the stubs of the object layer: `python docs/torch_stubs.py`.

Functions and methods of tensors are registered as the package is imported, so that type checkers
and editors cannot see them in the source. The stubs beside it have what is there at run time, with
the parameters that `inspect` finds. An operation is a function of arrays: `TYPES` says which types
its parameters have for a user, by annotation and name, and torch_signatures.py has the signatures
that depend on arguments.
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

import torch_signatures as known

PLACE = Path(__file__).parents[1] / "tapegrad" / "torch"
WIDTH = 94  # of a line, without the indentation of a method

HEADER = '''\
"""{title}.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, NoReturn, Self, TypeAlias, overload
import os

import numpy as np

{imports}
# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

'''

ABSENT = '''\
"""`torch.{space}`: {about}

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

'''

TABLE_OF_CONTENTS = '''\
"""{title}.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

{imports}
'''

# The user's words for annotations of the source.
TYPES = {
    "": "Any",
    "Value": "Tensor",
    "TensorLike": "Tensor",
    "Sequence[Value]": "Sequence[Tensor]",
    "Tree": "Any",
    "Sizes": "_Sizes",
    "Sizes | str": "_Sizes | _str",
    "Shape": "_Sizes",
    "Lengths": "_Sizes",
    "Factors": "float | Sequence[float]",
    "Dim": "_Sizes",
    "Number": "_Number",
    "Number | str": "_Number | str",
    "DType": "_dtype | None",
    "DType | str": "_dtype | str | None",
    "np.dtype[Any] | None": "_dtype | None",
    "_dtypes.dtype": "_dtype",
    "dtype | None": "_dtype | None",
    "device": "_device",
    "dtype": "_dtype",
    "Device": "_Device | None",
    "device | str | None": "_Device | None",
    "MemoryFormat": "Any",
    "MapLocation": "Any",
    "Node | None": "Node | None",
    "types.Index": "Any",
    "Function": "Callable[..., Any]",
    "Storage": "Any",
    "TypedStorage": "Any",
}
# Python's own types get the names under which the stub knows them: `torch.float` is a dtype.
SHADOWED = re.compile(r"(?<![\w.'\"\[])(bool|bytes|complex|float|int|str|type)\b(?!['\"])")
INNER = re.compile(r"(?<=\[)(bool|bytes|complex|float|int|str|type)\b")


def public_type(annotation: str, name: str, default: object) -> str:
    """The type of a parameter for a user."""
    text = known.PARAMETERS.get(name) if annotation in known.VAGUE else None
    if text is None:
        text = TYPES.get(annotation, annotation)
    if default is None and text != "Any" and "None" not in text:
        text = f"{text} | None"
    return plain(text)


def plain(text: str) -> str:
    """A type with the stub's names for Python's types."""
    return INNER.sub(r"_\1", SHADOWED.sub(r"_\1", text))


def text_of(annotation: object) -> str:
    """An annotation as the source has it."""
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")


def shown(default: object) -> str:
    """A default value, `...` where it is no literal."""
    text = repr(default)
    return text if isinstance(default, (bool, int, float, str, tuple, type(None))) else "..."


def parameter(p: inspect.Parameter) -> str:
    """One parameter with its type."""
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    kind = public_type(text_of(p.annotation), p.name, p.default)
    tail = "" if p.default is p.empty else f" = {shown(p.default)}"
    return f"{star}{p.name}: {kind}{tail}"


def parameters(found: Any, *, method: bool, out: str) -> str:
    """The parameters of a function, between the parentheses; with `out=` where it takes that."""
    given = list(inspect.signature(found).parameters.values())
    parts: list[str] = []
    starred = False
    for position, p in enumerate(given):
        if p.kind is p.VAR_KEYWORD and out and all(q.name != "out" for q in given):
            parts += [*(() if starred else ("*",)), f"out: {out} | None = None"]
            starred, out = True, ""
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        parts.append("self" if method and position == 0 else parameter(p))
    if out and all(q.name != "out" for q in given):
        parts += [*(() if starred else ("*",)), f"out: {out} | None = None"]
    return ", ".join(parts)


def result_of(key: str, found: Any) -> str:
    """Return type of a function, for a user."""
    if key in known.RESULTS:
        return plain(known.RESULTS[key])
    annotation = text_of(inspect.signature(found).return_annotation)
    if annotation in ("", "Any"):
        return "Tensor"
    return plain(TYPES.get(annotation, annotation))


def is_operation(found: Any) -> bool:
    """Whether a function was made by `operation`, which takes `out=`."""
    while found is not None:
        if hasattr(found, "compute"):
            return True
        found = getattr(found, "__wrapped__", None)
    return False


def declaration(space: str, name: str, found: Any, *, method: bool = False) -> Iterator[str]:
    """The lines that declare a function: one of each of its overloads."""
    key = f"{space}.{name}"
    result = result_of(key, found)
    ends = result == "Tensor" and not name.endswith("_") and not method and is_operation(found)
    forms = known.OVERLOADS.get(key)
    if forms is None and method:
        forms = [
            re.sub(r"^\(\w+: Tensor", "(self", form).replace(", *, out: Tensor | None = None", "")
            for form in known.OVERLOADS.get(f"torch.{name}", ())
        ]
    if not forms:
        inner = parameters(found, method=method, out="Tensor" if ends else "")
        forms = [f"({inner}) -> {result}"]
    document = first_line(found)
    for position, form in enumerate(forms):
        last = position == len(forms) - 1
        if len(forms) > 1:
            yield "@overload"
        ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        documented = bool(document) and last
        yield from wrapped(f"def {name}{plain(form)}:{'' if documented else ' ...'}{ignored}")
        if documented:
            yield f'    """{document}"""'


def wrapped(line: str) -> list[str]:
    """A declaration on as many lines as it needs."""
    if len(line) <= WIDTH:
        return [line]
    start, _, rest = line.partition("(")
    inner, end, result = rest.rpartition(") -> ")
    if len(inner) + 4 <= WIDTH:
        return [f"{start}(", f"    {inner}", f"{end.strip(' ->')} -> {result}"]
    parts, depth = [""], 0
    for letter in inner:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    lines = [f"    {part.strip()}," for part in parts]
    return [f"{start}(", *lines, f") -> {result}"]


def first_line(found: Any) -> str:
    """The first line of a docstring of its own."""
    text = (inspect.getdoc(found) or "").strip().partition("\n")[0]
    return "" if '"""' in text or "\\" in text or text.endswith('"') else text


def imports_of(module: ModuleType) -> Iterator[str]:
    """The imports of a module that are among its public names, exported from its stub too."""
    tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
            for alias in statement.names:
                if alias.name in module.__all__ and (alias.asname or alias.name) == alias.name:
                    yield f"from {statement.module} import {alias.name} as {alias.name}"


# --- The stubs ----------------------------------------------------------------------------------

TENSOR = "from tapegrad.torch._tensor.tensor import Tensor as Tensor"
TYPES_OF_DTYPES = "from tapegrad.torch._dtypes import device as _device, dtype as _dtype"
OTHERS = f"""\
from tapegrad.torch import return_types
from tapegrad.torch._dtypes import Size
{TYPES_OF_DTYPES}
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._tensor.tensor import Tensor"""


def header(title: str, imports: str) -> str:
    return HEADER.format(title=title, imports=imports)


def torch_stub() -> str:
    """`torch/__init__.pyi`: the namespace `torch`."""
    import tapegrad.torch as torch
    from tapegrad.torch import _dtypes
    from tapegrad.torch._absent import FINDER
    from tapegrad.torch._ops.families import OPERATIONS

    imports = list(imports_of(torch))
    taken = {line.rpartition(" ")[2] for line in imports}
    imports += [
        TYPES_OF_DTYPES,
        "from tapegrad.torch import random as random",
        "from tapegrad.torch._ops.create.generator import Generator as Generator",
        "from tapegrad.torch._ops.create.legacy import _TensorType",
    ]
    public = set(dir(torch))
    known = {*_dtypes.BY_NAME, *_dtypes.ALIASES, *OPERATIONS}
    imports += [
        f"from tapegrad.torch import {name} as {name}" for name in sorted(FINDER.inner(""))
    ]
    lines = ["__version__: _str"]
    lines += absent_lines("", sorted(FINDER.names("") - known - {*FINDER.inner("")}))
    lines += [f"{name}: _dtype" for name in sorted({*_dtypes.BY_NAME, *_dtypes.ALIASES})]
    for name, found in sorted(OPERATIONS.items()):
        if name not in public or name in taken or name == "Generator":
            continue
        if inspect.isroutine(found):
            lines += declaration("torch", name, found)
        else:
            lines.append(f"{name}: {plain(type(found).__name__)}")
    first = header("The namespace `torch`", "\n".join(dict.fromkeys(imports)) + "\n")
    return first + "\n".join(lines) + "\n"


def tensor_stub() -> str:
    """`torch/_tensor/tensor.pyi`: the class Tensor, with all that modules register."""
    from tapegrad.torch._tensor import tensor as module

    imports = OTHERS.replace("from tapegrad.torch._tensor.tensor import Tensor", "").rstrip()
    imports += "\nfrom tapegrad.torch._graph.hooks import Handle"
    imports += "\nfrom tapegrad.torch._graph.node import Node\n"
    lines = [
        "",
        "# Names that other modules of the package use.",
        *(f"{name}: Any" for name, found in vars(module).items() if is_own(name, found)),
        "",
        "class Tensor:",
        f'    """{first_line(module.Tensor)}"""',
        "",
        "    def __init__(self, *args: Any, **kwargs: Any) -> None: ...",
    ]
    for name in sorted({*vars(module.Tensor), *known.PRIVATE}):
        dunder = name.startswith("__") and name.endswith("__")
        if dunder and name in known.OBJECTS:
            continue
        if name.startswith("_") and not dunder and name not in known.PRIVATE:
            lines.append(f"    {name}: Any")
            continue
        found = inspect.getattr_static(module.Tensor, name)
        lines += [f"    {line}" for line in member(name, found)]
    return header("The class `torch.Tensor`", imports) + "\n".join(lines) + "\n"


def is_own(name: str, found: object) -> bool:
    """Whether a name of the module of Tensor is a function or a constant of its own."""
    if inspect.isfunction(found):
        return found.__module__ == "tapegrad.torch._tensor.tensor"
    return name in ("LEAF", "THIRD", "ndarray")


def member(name: str, found: Any) -> Iterator[str]:
    """The lines that declare one attribute of Tensor."""
    key = f"Tensor.{name}"
    if isinstance(found, property):
        result = result_of(key, found.fget)
        document = first_line(found)
        yield "@property"
        yield f"def {name}(self) -> {result}:" + ("" if document else " ...")
        if document:
            yield f'    """{document}"""'
        if found.fset is not None:
            yield f"@{name}.setter"
            yield f"def {name}(self, value: {result}) -> None: ..."
    elif inspect.isroutine(found):
        yield from declaration("Tensor", name, found, method=True)
    elif key in known.RESULTS:
        yield f"{name}: {plain(known.RESULTS[key])}"
    else:
        yield f"{name}: {plain(type(found).__name__)}"


def functions_stub(space: str, names: list[str]) -> str:
    """The stub of a namespace of functions."""
    module = importlib.import_module(f"tapegrad.{space}")
    lines = []
    for name in names:
        found = getattr(module, name)
        if inspect.isroutine(found):
            lines += declaration(space, name, found)
        elif name != "Tensor":
            lines.append(known.CLASSES[name])
    first = header(f"The namespace `{space}`", OTHERS + "\n") + known.HEADS.get(space, "")
    return first + "\n".join(lines) + "\n"


def absent_lines(space: str, names: list[str]) -> Iterator[str]:
    """Declarations of names of the table of what is not here."""
    from tapegrad.torch._absent import FINDER, is_refused

    for name in names:
        row = FINDER.sections[space].rows[name]
        if row.answer == f"from {place_of(row.answer)}" and is_exported(row.answer, name):
            yield f"from tapegrad.torch{place_of(row.answer).rstrip('.')} import {name} as {name}"
            continue
        if row.answer == "absent" or name.startswith("_") or name in ("Any", "NoReturn"):
            continue
        kind = GENERIC.get(row.kind(), plain(row.kind()))
        if row.parameters is None and not is_refused(row):
            yield f"{name}: {kind}"
        elif name[0].isupper() and is_refused(row):
            yield f"class {name}:"
            yield "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."
            yield "    def __getattr__(self, name: _str) -> Any: ..."
        else:
            parameters = annotated(row.parameters or "(*args, **kwargs)")
            yield from wrapped(f"def {name}{parameters} -> {kind}: ...")


# Types of answers, where the stub names what they hold.
GENERIC = {"tuple": "tuple[Any, ...]", "list": "list[Any]", "dict": "dict[Any, Any]"}


def place_of(answer: str) -> str:
    """The module from which a row has its names under the same name; empty of another answer."""
    place = answer.removeprefix("from ")
    return place if place != answer and place[0] == "." and " " not in place else ""


def is_exported(answer: str, name: str) -> bool:
    """Whether type checkers find a name in the module of a row."""
    from tapegrad.torch._absent import FINDER

    space = place_of(answer).strip(".")
    section = FINDER.sections.get(space)
    if section is not None and (not section.extends or name in section.rows):
        return not section.extends and name in section.rows and name[0] != "_"
    module = importlib.import_module(f"tapegrad.torch.{space}".rstrip("."))
    home = getattr(getattr(module, name, None), "__module__", "")
    return name in getattr(module, "__all__", ()) or home == module.__name__


def annotated(parameters: str) -> str:
    """Parameters in parentheses, each of any type: `(fn: Any = None)` of `(fn=None)`."""
    call = ast.parse(f"def f{parameters}: ...").body[0]
    assert isinstance(call, ast.FunctionDef)
    given = call.args
    each = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    for parameter in filter(None, each):
        parameter.annotation = ast.Name("Any")
    return f"({ast.unparse(given)})"


def absent_stubs() -> Iterator[tuple[str, str]]:
    """The stubs of the modules of that table, by their places."""
    from tapegrad.torch._absent import FINDER

    for space, section in FINDER.sections.items():
        if section.extends or not space or any(word[0] == "_" for word in space.split(".")):
            continue
        inner = FINDER.inner(space)
        place = f"{space.replace('.', '/')}{'/__init__' if inner else ''}.pyi"
        lines = [f"from tapegrad.torch.{space} import {word} as {word}" for word in inner]
        lines += absent_lines(space, sorted(section.rows))
        yield place, ABSENT.format(space=space, about=section.about) + "\n".join(lines) + "\n"


def return_types_stub() -> str:
    """`torch/return_types.pyi`: named tuples of tensors."""
    from tapegrad.torch import return_types

    lines = []
    for name, found in sorted(vars(return_types).items()):
        if isinstance(found, type) and hasattr(found, "_fields"):
            lines += ["", f"class {name}(NamedTuple):"]
            lines += [f"    {field}: Tensor" for field in found._fields]
    lines += ["", "def pair(word: _str, values: Any, indices: Any) -> Any: ..."]
    imports = f"{TYPES_OF_DTYPES}\n{TENSOR.partition(' as ')[0]}\n"
    return header("Named tuples that operations return", imports) + "\n".join(lines) + "\n"


# Families of layers whose classes are made as the package is imported.
LAYERS = (
    "activation convolution distance dropout embedding loss normalization padding pooling "
    "upsampling"
).split()


def layers_stub(family: str) -> str:
    """`torch/nn/<family>/modules.pyi`: classes with what their functions tell."""
    module = importlib.import_module(f"tapegrad.torch.nn.{family}.modules")
    found = dict.fromkeys(kind for kind in vars(module).values() if isinstance(kind, type))
    own = [kind for kind in found if kind.__module__ == module.__name__]
    bases = {base for kind in own for base in kind.__bases__} - {*own}
    imports = [f"from {base.__module__} import {base.__name__}" for base in bases]
    lines = [line for kind in own for line in class_lines(kind)]
    imports.append("from tapegrad.torch.nn.parameter import Parameter")
    first = [OTHERS, *sorted(imports)]
    title = f"The layers of `tapegrad.torch.nn.{family}`"
    return header(title, "\n".join(first) + "\n") + "\n".join(lines) + "\n"


def class_lines(kind: type) -> Iterator[str]:
    """The lines that declare a class: its settings as attributes, and its functions."""
    yield ""
    yield f"class {kind.__name__}({', '.join(base.__name__ for base in kind.__bases__)}):"
    document = "" if kind.__name__[0] == "_" else first_line(kind)
    members = [*member_lines(kind)]
    if document:
        yield f'    """{document}"""'
    if document and members:
        yield ""
    yield from (f"    {line}" for line in members or ([] if document else ["..."]))


def member_lines(kind: type) -> Iterator[str]:
    """The lines that declare what a class has of its own."""
    inherited = [name for base in kind.__mro__[1:] for name in own_attributes(base)]
    known = {*inherited} - {*vars(kind).get("__annotations__", {})}
    attributes = {name: own for name, own in own_attributes(kind).items() if name not in known}
    for name, annotation in attributes.items():
        yield f"{name}: {plain(TYPES.get(annotation, annotation))}"
    for name, own in vars(kind).items():
        found = getattr(own, "__func__", own)
        if name == "__init__" and is_inherited(kind):
            continue
        if inspect.isfunction(found) and (name == "__init__" or name[0] != "_"):
            if isinstance(own, classmethod):
                yield "@classmethod"
            text = text_of(found.__annotations__.get("return", ""))
            inner = parameters(found, method=True, out="")
            yield from wrapped(f"def {name}({inner}) -> {plain(TYPES.get(text, text))}: ...")


def is_inherited(kind: type) -> bool:
    """Whether the constructor of a class is that of a base under a name of its own."""
    code = getattr(vars(kind)["__init__"], "__code__", None)
    bases = (vars(base).get("__init__") for base in kind.__mro__[1:])
    return code is not None and any(getattr(own, "__code__", None) is code for own in bases)


def own_attributes(kind: type) -> dict[str, str]:
    """The attributes that a class annotates, or takes as settings, with their types."""
    if hasattr(kind, "cls_to_become"):  # a lazy one, whose other base tells
        return {}
    settings = inspect.signature(vars(kind).get("__init__", init)).parameters.values()
    taken = [p for p in settings if p.name not in PASSING and p.name[0] != "_"]
    kept = {p.name: text_of(p.annotation) for p in taken}
    return (kept if kind.__module__.endswith(".modules") else {}) | dict(
        vars(kind).get("__annotations__", {})
    )


# Parameters that layers do not keep under their names.
PASSING = (
    *("self", "args", "kwargs", "bias"),
    *("device", "dtype", "size_average", "reduce", "min_value", "max_value"),
)


def init(self: object) -> None:
    """The constructor of a class that has none of its own."""


# Modules of functions, of which sources do not say all of the signatures.
NAMESPACES = (
    *("autograd.functional", "fft", "func", "linalg", "nn.functional", "signal.windows"),
    "special",
)


# Modules whose names are those that they import.
CONTENTS = (
    *("distributions", "distributions.transforms", "optim", "optim.lr_scheduler", "utils.data"),
)


def stubs() -> dict[Path, str]:
    """All stubs, by the file that each belongs in."""
    made = {
        "__init__.pyi": torch_stub(),
        "_tensor/tensor.pyi": tensor_stub(),
        "return_types.pyi": return_types_stub(),
    }
    for word in NAMESPACES:
        module = importlib.import_module(f"tapegrad.torch.{word}")
        inner = "/__init__" * (Path(module.__file__ or "").stem == "__init__")
        place = f"{word.replace('.', '/')}{inner}.pyi"
        made[place] = functions_stub(f"torch.{word}", sorted(set(module.__all__)))
    made |= {f"nn/{family}/modules.pyi": layers_stub(family) for family in LAYERS}
    for word in CONTENTS:
        module = importlib.import_module(f"tapegrad.torch.{word}")
        inner = "/__init__" * (Path(module.__file__ or "").stem == "__init__")
        title = f"The namespace `torch.{word}`"
        made[f"{word.replace('.', '/')}{inner}.pyi"] = TABLE_OF_CONTENTS.format(
            title=title, imports="\n".join(imports_of(module))
        )
    made |= absent_stubs()
    return {PLACE / place: text for place, text in made.items()}


def main() -> None:
    for place, text in stubs().items():
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
