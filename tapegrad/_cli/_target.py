"""Names of a command line: the user's function, and the point to differentiate it at.

Knows files, modules and expressions, and nothing of derivatives. Whatever goes wrong in the user's
own code ends as a `CommandError`, whose text is one line.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import sys
import traceback
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tapegrad._block import contextmanager
from tapegrad._errors import NonFiniteError, TapegradError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from tapegrad._core.types import Function, Tree


class CommandError(Exception):
    """Ends the command with one line on standard error and exit status 2."""


@contextmanager
def blaming(what: str) -> Iterator[None]:
    """Turn any exception of the user's code into one line that says where it came from."""
    try:
        yield
    except (CommandError, KeyboardInterrupt, BrokenPipeError):
        raise
    except NonFiniteError as error:  # it shows a line of the program
        raise CommandError(str(error)) from error
    except TapegradError as error:  # its message says what was called and what to do
        raise CommandError(" ".join(str(error).split())) from error
    except BaseException as error:
        raise CommandError(f"{what} raised {describe(error)}") from error


def describe(error: BaseException) -> str:
    """Describe an exception in one line: its type, its message, the line that raised it."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    if isinstance(error, SyntaxError):
        where = f" ({Path(error.filename or '?').name}:{error.lineno})"
        text = error.msg
    else:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith("<") and not _is_ours(frame.filename)
        ]
        where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{kind}: {text}{where}" if text else f"{kind}{where}"


def _is_ours(filename: str) -> bool:
    """Whether a file belongs to tapegrad or to Python's import machinery, not to the user."""
    path = Path(filename)
    return Path(__file__).parents[1] in path.parents or "importlib" in path.parts


def adopt_named(packages: str | None) -> None:
    """Adopt the packages of a list with commas, as `--adopt` gives it; None and "" are none."""
    names = [name.strip() for name in (packages or "").split(",") if name.strip()]
    if names:
        from tapegrad import adopt

        with blaming(f"--adopt {packages}"):
            adopt(*names)


def load_function(target: str, adopted: str | None = None) -> Function:
    """Find the function that `FILE.py:NAME` or `package.module:NAME` names; NAME may be dotted.

    adopted: packages that are adopted before, with commas; not None: a file is adopted, too.
    """
    adopt_named(adopted)
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise CommandError(f"{target}: expected FILE.py:FUNCTION or package.module:FUNCTION")
    is_adopted = adopted is not None
    module = _load_file(place, is_adopted) if place.endswith(".py") else _load_module(place)
    try:
        function = attrgetter(name)(module)
    except AttributeError:
        known = _functions_of(module)
        hint = f"; it has {', '.join(known)}" if known else ""
        raise CommandError(f"{place}: no function named {name!r}{hint}") from None
    if not callable(function):
        raise CommandError(f"{target}: not a function, but {type(function).__name__}")
    return function


def _functions_of(module: ModuleType) -> list[str]:
    """Name up to eight public functions that the module itself defines."""
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_"
    ][:8]


def _load_file(place: str, is_adopted: bool) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        raise CommandError(f"{place}: no such file")
    # Registered under a name of its own: a user's random.py must not replace Python's.
    name = f"tapegrad_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{place}: not a Python file")
    if is_adopted:
        from tapegrad._adopt.loading import Loader

        spec.loader = Loader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))  # as `python FILE.py` does
    with blaming(place):
        spec.loader.exec_module(module)
    return module


def _load_module(place: str) -> ModuleType:
    try:
        missing = importlib.util.find_spec(place) is None
    except (ImportError, ValueError):
        missing = True
    if missing:
        hint = f"; for a file write {place}.py" if Path(f"{place}.py").is_file() else ""
        raise CommandError(f"{place}: no such module{hint}")
    with blaming(place):
        return importlib.import_module(place)


def evaluate_point(expression: str, function: Function) -> tuple[Tree, ...]:
    """Evaluate `--at`: a tuple is several positional arguments, anything else a single one.

    `np`, `numpy` and `math` are in scope, and so are the names of the function's own module.
    """
    args = _evaluated("--at", expression, function)
    _check_arguments(function, args)
    return args


def evaluate_direction(
    expression: str, function: Function, args: tuple[Tree, ...]
) -> tuple[Tree, ...]:
    """Evaluate `--jvp`, as `--at`: the tangents of the arguments, in their containers."""
    dots = _evaluated("--jvp", expression, function)
    if len(dots) != len(args):
        raise CommandError(
            f"--jvp: expected {_arguments(len(args))}, as in --at, got {_arguments(len(dots))} "
            "(a tuple is several arguments)"
        )
    return dots


def _evaluated(option: str, expression: str, function: Function) -> tuple[Tree, ...]:
    scope = dict(getattr(inspect.unwrap(function), "__globals__", {}))
    scope |= {"np": np, "numpy": np, "math": math}
    with blaming(f"{option} {expression!r}"):
        # The expression is the user's own, typed into their own shell.
        point = eval(expression, scope)
    return point if type(point) is tuple else (point,)


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _check_arguments(function: Function, args: tuple[Tree, ...]) -> None:
    signature = _signature(function)
    if signature is None:
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        raise CommandError(
            f"--at: {name_of(function)}{signature} cannot be called with "
            f"{_arguments(len(args))}: {error} (a tuple is several arguments)"
        ) from None


def _signature(function: Function) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return None


def argument_names(function: Function, args: tuple[Tree, ...]) -> list[str]:
    """Name each positional argument as the function's signature does."""
    signature = _signature(function)
    names: list[str] = []
    for parameter in signature.parameters.values() if signature else ():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(len(args) - len(names))]
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    names += [f"argument {i}" for i in range(len(names), len(args))]
    return names[: len(args)]


def name_of(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)
