"""Writes the stub of the namespace `tapegrad`: `python docs/namespace_stub.py`.

The type of a transformed function takes overloads, which would stand between the lines
of its source. So they stand in a stub, for type checkers and editors. Its names are those of
`tapegrad/__init__.py`, the parameters those that `inspect` finds; namespace_signatures.py has the
types that depend on the function that is transformed.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import autograd_signatures
import namespace_signatures as known

import tapegrad
from tapegrad.autograd import differential_operators

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "tapegrad" / "__init__.pyi"
OPERATORS = ROOT / "tapegrad" / "autograd" / "differential_operators.pyi"
WIDTH = 99

HEADER = '''\
"""The namespace for type checkers and editors: what the transforms make of a function's types.

Written by docs/namespace_stub.py, from `__init__.py` and docs/namespace_signatures.py: change
those, not this. The package itself is checked without it: inside, a function is any callable.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    Never,
    ParamSpec,
    Self,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    overload,
    type_check_only,
)

import numpy as np
from numpy.typing import NDArray

'''
# Names in annotations of parameters.
FOR_PARAMETERS = """\
from tapegrad._compile.compiled import Backend
from tapegrad._progress import Progress
from tapegrad._transforms.chunks import ChunkSize
from tapegrad.scipy._kinds import Elementwise
"""
# An annotation of the source that a user sees by another name.
TYPES = {"Function": "Callable[..., Any]", "Function | None": "Callable[[Any], Any] | None"}


# Operators with two names.
SAME = {
    "hessian_vector_product": "hessian_tensor_product",
    "vector_jacobian_product": "tensor_jacobian_product",
}


def imports() -> Iterator[str]:
    """An import of each public name that is not declared here, from where `__init__.py` has it."""
    declared = {*known.FORMS, "custom_jvp", "custom_vjp", "primitive"}
    source = ast.parse((PLACE.with_suffix(".py")).read_text(encoding="utf-8"))
    for statement in source.body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        for alias in statement.names:
            name = alias.asname or alias.name
            if name in tapegrad.__all__ and name not in declared:
                yield f"from {statement.module} import {alias.name} as {name}"
    for name, module in tapegrad._LATE.items():
        if name in tapegrad.__all__ and name not in declared:
            yield f"from {module} import {name} as {name}"
    for name in tapegrad._LATE_MODULES:
        yield f"from tapegrad import {name} as {name}"


def parameters(module: ModuleType, function: str, form: known.Form) -> Iterator[str]:
    """The parameters of an overload, each with its type."""
    starred = False
    for name, found in inspect.signature(getattr(module, function)).parameters.items():
        if found.kind is found.VAR_POSITIONAL:
            written = form.types[f"*{name}"]
            starred = "*" in written  # or the first few are written out
            yield written
            continue
        if found.kind is found.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        kind, _, default = form.types.get(name, "").partition(" = ")
        if not kind:
            kind = TYPES.get(found.annotation, found.annotation)
            default = "" if found.default is found.empty else literal(found.default)
        yield f"{name}: {kind}" + (f" = {default}" if default else "")


def literal(value: object) -> str:
    """A default, in double quotes if it is text."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def declarations(module: ModuleType, function: str, forms: list[known.Form]) -> Iterator[str]:
    """The lines that declare a function: its overloads."""
    for form in forms:
        if len(forms) > 1:
            yield "@overload"
        given = list(parameters(module, function, form))
        ignored = "  # type: ignore[overload-overlap, unused-ignore]" if form.first else ""
        line = f"def {function}({', '.join(given)}) -> {form.result}: ...{ignored}"
        if len(line) <= WIDTH:
            yield line
        else:
            yield f"def {function}({ignored}"
            yield from (f"    {one}," for one in given)
            yield f") -> {form.result}: ..."


def stub() -> str:
    """The whole text."""
    lines = [HEADER + "\n".join(sorted([*imports(), *FOR_PARAMETERS.splitlines()]))]
    lines += ["", "__version__: str", "", "__all__ = ["]
    lines += [f'    "{name}",' for name in tapegrad.__all__]
    lines += ["]", "", known.CLASSES]
    for function, forms in known.FORMS.items():
        lines += declarations(tapegrad, function, forms)
    return "\n".join(lines) + "\n"


def stub_of_operators() -> str:
    """That of `tapegrad.autograd.differential_operators`, which HIPS autograd has too."""
    lines = [f'    "{name}",' for name in differential_operators.__all__]
    lines += ["]", "", autograd_signatures.CLASSES]
    for function, forms in autograd_signatures.FORMS.items():
        lines += declarations(differential_operators, function, forms)
    lines.append("")
    for name, function in SAME.items():
        lines.append(f"{name} = {function}")
    return autograd_signatures.HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PLACE.write_text(stub(), encoding="utf-8")
    OPERATORS.write_text(stub_of_operators(), encoding="utf-8")
