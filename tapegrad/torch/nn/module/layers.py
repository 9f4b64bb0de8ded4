"""Layers that follow from their functions: `ELU` keeps what `functional.elu` takes besides inputs.

Knows `Module` and signatures. Must not know any particular layer.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tapegrad.torch.nn import functional
from tapegrad.torch.nn.dimensions import classes
from tapegrad.torch.nn.module.module import Module

_Layer = TypeVar("_Layer", bound=type[Module])
_Parameters = dict[str, inspect.Parameter]
_EMPTY, _BY_NAME = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY


def layer(
    name: str,
    settings: str | None = None,
    shows: str = "",
    inputs: str | None = None,
    **defaults: Any,
) -> Callable[[_Layer], _Layer]:
    """Give a class the `__init__` and `forward` that a function of `nn.functional` tells.

    `__init__` takes the settings in their order, with the function's types and defaults, hands to
    that of the base what it takes, keeps the others as attributes, tensors as buffers, and calls
    `_settle` of a class that has it. `forward` takes the tensors that the function needs, and
    gives it these and the attributes of its other parameters. A class may have one of its own.

    settings: names, in order, by name alone after `*`; those of the function but inputs and
    `training` unless given. shows: `_in_repr` of the class. inputs: names of those of `forward`,
    where they are others. defaults: that are not the function's.
    """
    line = sys._getframe(1).f_lineno

    def complete(kind: _Layer) -> _Layer:
        _Told(kind, name, settings, inputs, defaults).give(line, shows)
        return kind

    return complete


def layers(
    name: str,
    base: type[Module],
    *own: str,
    settings: str | None = None,
    shows: str = "",
    inputs: str | None = None,
    **defaults: Any,
) -> Any:
    """The layers of a family of functions, as `_MaxPool` makes MaxPool1d of `max_pool1d`.

    own: for each number of dimensions, or the greatest, what only its docstring has.
    """
    line = sys._getframe(1).f_lineno
    made = classes(base, *own)
    for kind in made:
        _Told(kind, f"{name}{kind._dims}d", settings, inputs, defaults).give(line, shows)
    return made


class _Told:
    """The methods of a layer that follow from a function, as text and as functions."""

    def __init__(
        self, kind: Any, name: str, settings: str | None, inputs: str | None, defaults: Any
    ) -> None:
        self.kind = kind
        self.name = name
        self.known = dict(inspect.signature(getattr(functional, name)).parameters)
        needed = [word for word, parameter in self.known.items() if _is_input(parameter)]
        self.inputs = needed if inputs is None else inputs.split()
        others = [n for n in self.known if n not in (*self.inputs, "training") and n[0] != "_"]
        self.words = others if settings is None else settings.split()
        self.base = _own(kind.__init__)
        taken = {n: self.base.get(n) or self.known[n] for n in self.words if n != "*"}
        self.taken = {n: p.replace(default=defaults.get(n, p.default)) for n, p in taken.items()}
        self.is_new = bool(defaults) or [*self.taken.values()] != [*self.base.values()]

    def give(self, line: int, shows: str) -> None:
        """Give the class the methods that it has not; line: at which its declaration begins."""
        kind = self.kind
        if shows:
            kind._in_repr = shows
        init, forward = self._functions(line)
        if "__init__" not in vars(kind):
            kind._made_of = self.name  # for its docstring
        if self.is_new and "__init__" not in vars(kind):
            self._put(init, self.taken, "None", by_name="*" in self.words)
        if kind.forward is Module.forward:
            several = "return_indices" in self.known
            inputs = {n: self.known[n] for n in self.inputs}
            self._put(forward, inputs, "Any" if several else "Tensor")

    def _put(
        self, function: Any, parameters: _Parameters, result: str, *, by_name: bool = False
    ) -> None:
        values = {n: p.default for n, p in parameters.items() if p.default is not _EMPTY}
        function.__defaults__ = None if by_name else tuple(values.values())
        function.__kwdefaults__ = values if by_name else None
        function.__annotations__ = {n: _type(p) for n, p in parameters.items()}
        function.__annotations__["return"] = result
        function.__qualname__ = f"{self.kind.__name__}.{function.__name__}"
        setattr(self.kind, function.__name__, function)

    def _functions(self, line: int) -> Any:
        """`__init__` and `forward`, at the lines where the class begins, for tracebacks."""
        text = (
            "\n" * (line - 2) + "def make(kind, functional):\n"
            f" def __init__({', '.join(['self', *self.words])}): {'; '.join(self._settled())}\n"
            f" def forward({', '.join(['self', *self.inputs])}): return {self._call()}\n"
            " return __init__, forward"
        )
        module, made = vars(sys.modules[self.kind.__module__]), dict[str, Any]()
        exec(compile(text, module["__file__"], "exec"), module, made)  # noqa: S102 - text of ours
        return made["make"](self.kind, functional)

    def _settled(self) -> Iterator[str]:
        """The statements of `__init__`."""
        yield f"super(kind, self).__init__({_arguments(self.base, {n: n for n in self.taken})})"
        for n in [n for n in self.taken if n not in self.base]:
            is_buffer = self.taken[n].annotation == "Tensor | None"
            yield f"self.register_buffer({n!r}, {n})" if is_buffer else f"self.{n} = {n}"
        if hasattr(self.kind, "_settle"):
            yield "self._settle()"

    def _call(self) -> str:
        """The call of the function in `forward`."""
        kept = {*self.taken, "training"} - {*getattr(self.kind, "_not_kept", ())}
        given = {n: n for n in self.inputs} | {n: f"self.{n}" for n in kept}
        return f"functional.{self.name}({_arguments(self.known, given)})"


def _is_input(parameter: inspect.Parameter) -> bool:
    return parameter.default is _EMPTY and "Tensor" in _type(parameter)


def _type(parameter: inspect.Parameter) -> str:
    return "Tensor" if parameter.annotation == "Value" else str(parameter.annotation)


def _own(function: Callable[..., Any]) -> _Parameters:
    """The parameters of an `__init__` that have names of their own, without `self`."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    _, *rest = inspect.signature(function).parameters.values()
    return {parameter.name: parameter for parameter in rest if parameter.kind not in variable}


def _arguments(parameters: _Parameters, given: dict[str, str]) -> str:
    """Arguments of a call: by position up to the first that is left out, the others by name."""
    words: list[str] = []
    for place, (name, parameter) in enumerate(parameters.items()):
        if name in given:
            by_name = place > len(words) or parameter.kind is _BY_NAME
            words.append(f"{name}={given[name]}" if by_name else given[name])
    return ", ".join(words)


__all__ = ["layer", "layers"]
