"""The functions of a rule that its author wrote, and those beside them that they call.

Knows in which attributes rules and custom functions hold what was declared. Must not know single
rules. What the engine makes of a declaration (a partial that also takes Python's numbers) is
looked through: its closure holds the author's function.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from tapegrad._core.fit import Over
from tapegrad._core.rule import REGISTRY, declared_rules
from tapegrad._transforms.custom import _Custom
from tapegrad._transforms.wrapper import Transformed
from tapegrad._warning import is_tapegrad

# In the order in which they are reported. What is not named here is declared rarely, and comes
# by the name of its attribute.
_WORDS = {
    "partials": "partial",
    "transposes": "transpose",
    "_each": "vjp",
    "_joint": "vjp",
    "_jvp": "jvp",
    "definition": "definition",
    "forward": "forward",
    "backward": "backward",
    "jvp": "jvp",
    "batch": "batch",
}
_NOT_DECLARED = frozenset(
    "function x_partial y_partial _needed calls _patterns deprecated __wrapped__ "
    "keeps _reads".split()
)
# Packages of ours that hold rules; the others are the engine.
_OF_RULES = ("tapegrad.rules", "tapegrad.scipy", "tapegrad.implicit", "tapegrad.sparse")


class Own(NamedTuple):
    """A function of a rule: how the report names it, and its code."""

    label: str
    written: Any  # a FunctionType, which mypy takes for a method


class Declared(NamedTuple):
    """A rule or custom function: how the report names it, and where it was declared."""

    name: str
    form: str
    module: str


def functions_of(rule: Any) -> list[Own]:
    """The functions that the author of a rule, or of a custom function, wrote for it."""
    held = {name: value for name, value in vars(rule).items() if name not in _NOT_DECLARED}
    if held.get("implementation") is getattr(rule, "function", None):
        held.pop("implementation", None)
    found: dict[CodeType, Own] = {}
    for name in sorted(held, key=lambda name: (name not in _WORDS, list(held).index(name))):
        for label, function in _functions_in(_WORDS.get(name, name), held[name]):
            found.setdefault(function.__code__, Own(label, function))
    return list(found.values())


def _functions_in(label: str, value: Any) -> Iterator[tuple[str, FunctionType]]:
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        for position, part in enumerate(value):
            yield from _functions_in(f"{label} {position}", part)
    elif isinstance(value, Over):
        yield from _functions_in(label, value.by)
    elif isinstance(value, Transformed):
        yield from _functions_in(label, value._made[1])
    elif isinstance(value, partial):
        yield from _functions_in(label, value.func)
    elif isinstance(value, FunctionType):
        if not _is_engine(value):
            yield label, value
            return
        for cell in value.__closure__ or ():
            try:
                yield from _functions_in(label, cell.cell_contents)
            except ValueError:  # it is empty
                continue


def _is_engine(function: FunctionType) -> bool:
    module = function.__module__ or ""
    return module.partition(".")[0] in ("numpy", "scipy", "functools") or (
        is_tapegrad(function.__code__.co_filename) and not module.startswith(_OF_RULES)
    )


def helpers_of(functions: list[FunctionType]) -> list[FunctionType]:
    """The functions of the same modules that these call, and so on; rules' own not among them."""
    found: dict[CodeType, FunctionType] = {}
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        for name in _names(function.__code__):
            other = function.__globals__.get(name)
            if (
                isinstance(other, FunctionType)
                and other.__module__ == function.__module__
                and other not in REGISTRY
                and other.__code__ not in found
            ):
                found[other.__code__] = other
                waiting.append(other)
    own = {function.__code__ for function in functions}
    return [function for code, function in found.items() if code not in own]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def declared(rule: Any) -> Declared:
    """How a rule or a custom function is reported."""
    if isinstance(rule, _Custom):
        function = plain_function(rule)
        module = getattr(function, "__module__", None) or "?"
        return Declared(getattr(function, "__qualname__", "?"), type(rule).__name__, module)
    name = rule.name
    own = functions_of(rule)
    if own:
        module = own[0].written.__module__ or "?"
    else:
        module = getattr(rule.function, "__module__", None) or "numpy"
        if module.partition(".")[0] in ("numpy", "scipy"):
            module = "tapegrad.rules" if module.startswith("numpy") else "tapegrad.scipy"
    return Declared(name, rule.form, module)


def plain_function(custom: Any) -> Any:
    """The function of a custom one, also of one that a vmap has made of another."""
    function = custom.function
    while isinstance(function, Transformed):
        function = function._made[1]
    return function


def all_rules() -> Iterator[Any]:
    """The rules of the registry, and the custom functions that modules hold."""
    yield from declared_rules()
    known: set[int] = set()
    for module in list(sys.modules.values()):
        for value in list(getattr(module, "__dict__", {}).values()):
            if issubclass(type(value), _Custom) and id(value) not in known:
                known.add(id(value))
                yield value


__all__ = [
    "Declared",
    "Own",
    "all_rules",
    "declared",
    "functions_of",
    "helpers_of",
    "plain_function",
]
