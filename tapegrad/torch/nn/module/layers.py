"""Layers that follow from their functions: `ELU` keeps what `functional.elu` takes besides inputs.

Knows `Module` and signatures. Must not know any particular layer.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tapegrad.torch.nn import functional
from tapegrad.torch.nn.dimensions import classes
from tapegrad.torch.nn.module.module import Module

_Layer = TypeVar("_Layer", bound=type[Module])
_Parameters = dict[str, inspect.Parameter]
_EMPTY, _BY_NAME = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY


def layer(
    name: str, settings: str | None = None, shows: str = "", **defaults: Any
) -> Callable[[_Layer], _Layer]:
    """Give a class the `__init__` and `forward` that a function of `nn.functional` tells.

    `__init__` takes the settings in their order, with the function's types and defaults, hands to
    that of the base what it takes, keeps the others as attributes, tensors as buffers, and calls
    `_settle` of a class that has it. `forward` takes the tensors that the function needs, and
    gives it these and the attributes of its other parameters. A class may have one of its own.

    settings: names, in order, by name alone after `*`; those of the function but inputs and
    `training` unless given. shows: `_in_repr` of the class. defaults: that are not the function's.
    """
    line = sys._getframe(1).f_lineno
    return lambda kind: _given(kind, name, line, settings, shows, defaults)


def layers(
    name: str,
    base: type[Module],
    *own: str,
    settings: str | None = None,
    shows: str = "",
    **defaults: Any,
) -> Any:
    """The layers of a family of functions, as `_MaxPool` makes MaxPool1d of `max_pool1d`.

    own: for each number of dimensions, or the greatest, what only its docstring has.
    """
    line = sys._getframe(1).f_lineno
    return tuple(
        _given(kind, f"{name}{kind._dims}d", line, settings, shows, defaults)
        for kind in classes(base, *own)
    )


def _given(
    kind: Any, name: str, line: int, settings: str | None, shows: str, defaults: dict[str, Any]
) -> Any:
    known = dict(inspect.signature(getattr(functional, name)).parameters)
    inputs = [word for word, parameter in known.items() if _is_input(parameter)]
    usual = [n for n in known if n not in inputs and n != "training" and n[0] != "_"]
    words = usual if settings is None else settings.split()
    base = _own(kind.__init__)
    taken = {n: base.get(n) or known[n] for n in words if n != "*"}
    taken = {n: p.replace(default=defaults.get(n, p.default)) for n, p in taken.items()}
    given = {n: n for n in inputs} | {n: f"self.{n}" for n in (*taken, "training")}
    for n in getattr(kind, "_not_kept", ()):
        given.pop(n, None)
    parts = [f"super(kind, self).__init__({_call(base, {n: n for n in taken})})"]
    for n in [n for n in taken if n not in base]:
        is_buffer = taken[n].annotation == "Tensor | None"
        parts.append(f"self.register_buffer({n!r}, {n})" if is_buffer else f"self.{n} = {n}")
    parts += ["self._settle()"] * hasattr(kind, "_settle")
    text = (  # with the lines at which the class begins, for tracebacks
        "\n" * (line - 2) + "def make(kind, functional):\n"
        f" def __init__({', '.join(['self', *words])}): {'; '.join(parts)}\n"
        f" def forward({', '.join(['self', *inputs])}):"
        f" return functional.{name}({_call(known, given)})\n"
        " return __init__, forward"
    )
    module, made = vars(sys.modules[kind.__module__]), dict[str, Any]()
    exec(compile(text, module["__file__"], "exec"), module, made)  # noqa: S102 - text of ours
    init, forward = made["make"](kind, functional)
    usual_of = {n: p.default for n, p in taken.items() if p.default is not _EMPTY}
    if "*" in words:
        init.__kwdefaults__ = usual_of
    else:
        init.__defaults__ = tuple(usual_of.values())
    init.__annotations__ = {n: p.annotation for n, p in taken.items()} | {"return": "None"}
    result = "Any" if "return_indices" in known else "Tensor"
    forward.__annotations__ = {n: _type(known[n]) for n in inputs} | {"return": result}
    own = {"__init__": init, "forward": forward}
    if "__init__" in vars(kind) or not defaults and [*taken.values()] == [*base.values()]:
        del own["__init__"]
    if kind.forward is not Module.forward:
        del own["forward"]
    for word, function in own.items():
        function.__qualname__ = f"{kind.__name__}.{word}"
        setattr(kind, word, function)
    kind._made_of = name  # for its docstring
    if shows:
        kind._in_repr = shows
    return kind


def _is_input(parameter: inspect.Parameter) -> bool:
    return parameter.default is _EMPTY and "Tensor" in _type(parameter)


def _type(parameter: inspect.Parameter) -> str:
    return "Tensor" if parameter.annotation == "Value" else str(parameter.annotation)


def _own(function: Callable[..., Any]) -> _Parameters:
    """The parameters of an `__init__` that have names of their own, without `self`."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    _, *rest = inspect.signature(function).parameters.values()
    return {parameter.name: parameter for parameter in rest if parameter.kind not in variable}


def _call(parameters: _Parameters, given: dict[str, str]) -> str:
    """Arguments of a call: by position up to the first that is left out, the others by name."""
    words: list[str] = []
    for place, (name, parameter) in enumerate(parameters.items()):
        if name in given:
            by_name = place > len(words) or parameter.kind is _BY_NAME
            words.append(f"{name}={given[name]}" if by_name else given[name])
    return ", ".join(words)


__all__ = ["layer", "layers"]
