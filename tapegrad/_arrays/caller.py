"""Who asks a traced value for a plain one: the line of a program, or a call of a library.

Knows Python's frames, instructions and source lines. Must not know traced values, or what is
answered.

Python does not say for whom it calls `__float__` or `__array__`. The innermost frame outside
tapegrad shows it: the frame belongs to a library (`scipy.integrate.quad`), or its instruction is a
write (`z[i] = x`), a format (`"%.3f" % x`) or a call of a function written in C (`math.sin(x)`),
which the source line names. All this is looked up only when an error is to be raised.
"""

from __future__ import annotations

import ast
import builtins
import dis
import linecache
import os
import sys
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any, NamedTuple

from numpy.lib import mixins

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
MIRRORS = (os.path.join(OURS, "scipy", ""), os.path.join(OURS, "_transforms", "primitives.py"))
MIXINS = mixins.__file__  # NumPy's operators of batched values
LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep  # Python's own
PACKAGES = tuple(f"{os.sep}{part}{os.sep}" for part in ("site-packages", "dist-packages"))
PRIVATE = ("core",)  # parts of modules' names that no program imports, beside _names

# An instruction: its code object and its offset there.
Place = tuple[CodeType, int]


class Caller(NamedTuple):
    """A caller that asks for a plain value."""

    place: Place  # the instruction, in the innermost frame outside tapegrad
    name: str = ""  # the function that asks, with its module, or ""
    operation: str = ""  # or what the program does: "write", "format", "index"
    mirrored: bool = False  # whether the program called tapegrad's function of that name
    package: str = ""  # of Python code that asks and could be adopted: its name
    line: str = ""  # and where: `filter.py:12`
    called: str = ""  # and what it calls there: `math.log`
    adopted: bool = False  # whether it is


def caller() -> Caller:
    """The caller that asks now, in the frames below ours."""
    frame = _asking_frame()
    return caller_at(frame, frame.f_lasti)


def asking_place() -> Place:
    """The instruction that asks now: `caller().place`, at once."""
    frame = _asking_frame()
    return frame.f_code, frame.f_lasti


def _asking_frame() -> FrameType:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    assert frame is not None  # the outermost frame ends the loop
    return frame


def is_formatting() -> bool:
    """Whether `"%..." % x` asks, in the innermost frame outside tapegrad: for a text alone.

    No other `%` asks an operand of a class that it does not know for a float: it returns
    NotImplemented, or asks by NumPy's protocols.
    """
    frame = _asking_frame()
    return _formats(_instruction((frame.f_code, frame.f_lasti)))


def caller_at(frame: FrameType, offset: int) -> Caller:
    """The caller at an instruction of a frame."""
    place = frame.f_code, offset
    instruction = _instruction(place)
    if _formats(instruction):  # logging does so for a program
        return Caller(place, operation="format")
    if is_library(frame):
        name = _called_library(frame)
        mirrored = name.startswith("scipy.") and _is_mirrored(frame)
        return Caller(place, name, "", mirrored, *_asking_package(frame))
    if instruction is None:
        return Caller(place)
    if instruction.opname in ("STORE_SUBSCR", "STORE_SLICE"):
        return Caller(place, operation="write")
    if instruction.opname in ("BINARY_SUBSCR", "BINARY_SLICE") or instruction.argrepr == "[]":
        return Caller(place, operation="index")
    return Caller(place, _called(frame, instruction))


# --- Frames -------------------------------------------------------------------------------------


def innermost(trace: TracebackType | None) -> TracebackType | None:
    """The last entry of a traceback outside tapegrad, or None."""
    found = None
    while trace is not None:
        if not _is_ours(trace.tb_frame):
            found = trace
        trace = trace.tb_next
    return found


def place_of(trace: TracebackType) -> Place:
    """The instruction that an entry of a traceback was at."""
    return trace.tb_frame.f_code, trace.tb_lasti


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(OURS) or file == MIXINS


def is_library(frame: FrameType) -> bool:
    """Whether a frame runs code of Python's library or of an installed package."""
    return is_library_code(frame.f_code)


def is_library_code(code: CodeType) -> bool:
    """Whether code belongs to Python's library or to an installed package."""
    return code.co_filename.startswith(LIBRARY) or is_installed(code.co_filename)


def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package."""
    return any(part in file for part in PACKAGES)


def line_of(place: Place) -> int:
    """The line of an instruction; that where its code begins if it has none."""
    code, offset = place
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def _called_library(frame: FrameType | None) -> str:
    """The function that a program called, of the library that a frame belongs to.

    It is named as the program's line does, or by the outermost function with a public name, or by
    the package alone.
    """
    names, package = [], ""
    while frame is not None and is_library(frame) and not _is_ours(frame):
        package = _package(frame)
        names.append(_public_name(frame))
        frame = frame.f_back
    instruction = frame and not _is_ours(frame) and _instruction((frame.f_code, frame.f_lasti))
    called = _called(frame, instruction) if frame and instruction else ""
    if called.partition(".")[0] == package:
        return called
    return next(filter(None, reversed(names)), package)


def _asking_package(frame: FrameType | None) -> tuple[str, str, str, bool]:
    """The innermost package that could be adopted, its line, what it calls, and whether it is."""
    while frame is not None and is_library(frame) and not _is_ours(frame):
        package = _package(frame)
        if is_installed(frame.f_code.co_filename) and package and package not in NOT_ADOPTED:
            place = frame.f_code, frame.f_lasti
            line = f"{frame.f_code.co_filename}:{line_of(place)}"
            instruction = _instruction(place)
            called = _called(frame, instruction) if instruction else ""
            return package, line, called, is_adopted(frame)
        frame = frame.f_back
    return "", "", "", False


def is_adopted(frame: FrameType) -> bool:
    """Whether a frame is one of adopted code."""
    held = frame.f_globals.get("__builtins__")
    return isinstance(held, dict) and "__tapegrad_float__" in held


# Packages whose functions tapegrad has, or that compute in C, or show what they get.
NOT_ADOPTED = frozenset(
    "numpy scipy dask jax jaxlib matplotlib numba pandas pytest tapegrad torch xarray".split()
)


def extension_of(name: str) -> str:
    """The file of the extension module of a package that a function belongs to, or ""."""
    parts = name.split(".")
    homes = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    home = next((home for home in homes if home in sys.modules), "")
    found: Any = sys.modules.get(home)
    for part in parts[home.count(".") + 1 :]:
        found = getattr(found, part, None)
    found = getattr(found, "__objclass__", found)  # of a method
    module = sys.modules.get(getattr(found, "__module__", None) or home)
    file = getattr(module, "__file__", None) or ""
    known = parts[0] in NOT_ADOPTED or file.startswith(LIBRARY) and not is_installed(file)
    return "" if known or not file.endswith(tuple(EXTENSION_SUFFIXES)) else file


def _is_mirrored(frame: FrameType | None) -> bool:
    """Whether a function of tapegrad.scipy called the library that a frame belongs to."""
    while frame is not None and is_library(frame) and not _is_ours(frame):
        frame = frame.f_back
    while frame is not None and _is_ours(frame):
        if frame.f_code.co_filename.startswith(MIRRORS):
            return True
        frame = frame.f_back
    return False


def _package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0]


def _public_name(frame: FrameType) -> str:
    """The name by which programs reach a frame's function: `scipy.integrate.quad`, or ""."""
    code = frame.f_code
    first, _, rest = code.co_qualname.partition(".")
    known = frame.f_globals.get(first)
    if first.startswith("_") and rest.startswith("__") and code.co_argcount:
        known = type(frame.f_locals.get(code.co_varnames[0]))  # of a private class, by its heir
        first = known.__name__
    if first.startswith("_") or known is None:
        return ""
    module: str = frame.f_globals.get("__name__") or ""
    home = _home(known, first, module) or _home(known, first, _module_of(known))
    method = "" if rest.startswith("_") or "<" in rest else rest
    return ".".join(filter(None, (home, first, method))) if home else ""


def _home(known: Any, name: str, module: str) -> str:
    """The outermost public package of a module that holds an object by its name, or ""."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        if parts[count - 1][:1] == "_" or parts[count - 1] in PRIVATE:
            return ""
        package = ".".join(parts[:count])
        if _member(package, name) is known:
            return package
    return ""


def _module_of(known: Any) -> str:
    module = getattr(known, "__module__", None)
    if module is None and type(known).__name__ == "ufunc":  # before NumPy 2.2 they have none
        module = "numpy"
    return (module or "").lstrip("_")  # _operator, _struct


def _member(module: str, name: str) -> Any:
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


# --- Instructions -------------------------------------------------------------------------------


def is_by_name(frame: FrameType) -> bool:
    """Whether a frame looks for an attribute by its name now: hasattr, getattr, `x.name`."""
    place = frame.f_code, frame.f_lasti
    known = _BY_NAME.get(place)
    if known is None:
        instruction = _instruction(place)
        known = instruction is not None and (
            instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")
            or _called(frame, instruction) in ("builtins.hasattr", "builtins.getattr")
        )
        if len(_BY_NAME) > 1024:  # programs that make functions
            _BY_NAME.clear()
        _BY_NAME[place] = known
    return known


_BY_NAME: dict[Place, bool] = {}


def _formats(instruction: dis.Instruction | None) -> bool:
    """Whether an instruction is `"%..." % x`, which asks for a number as its text shows it."""
    return (
        instruction is not None
        and instruction.opname == "BINARY_OP"
        and instruction.argrepr.startswith("%")
    )


@lru_cache(maxsize=1024)
def _instruction(place: Place) -> dis.Instruction | None:
    code, offset = place
    # In a frame that has called another one the offset is that of a cache behind the instruction.
    begun = [each for each in dis.get_instructions(code) if each.offset <= offset]
    return begun[-1] if begun else None


def _called(frame: FrameType, instruction: dis.Instruction) -> str:
    """The function that an instruction calls, with its module, as the source names it, or ""."""
    node = _source(frame, instruction)
    if not isinstance(node, ast.Call):
        return ""
    function, attributes = node.func, []
    while isinstance(function, ast.Attribute):
        attributes.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name):
        return ""
    scopes = (frame.f_locals, frame.f_globals, vars(builtins))
    found: Any = next((scope[function.id] for scope in scopes if function.id in scope), None)
    if isinstance(found, ModuleType):
        return ".".join([found.__name__, *reversed(attributes)])
    if attributes or not hasattr(found, "__name__"):
        found = type(found)  # a method, or an object that is called
    module, name = _module_of(found), getattr(found, "__name__", "")
    public = [part for part in module.split(".") if part[:1] != "_"]
    home = _home(found, name, module) or ".".join(public)
    return ".".join(filter(None, (home, name, *reversed(attributes))))


def _source(frame: FrameType, instruction: dis.Instruction) -> ast.AST | None:
    """The expression of an instruction, or None where the source cannot be had."""
    at = instruction.positions
    if at is None or at.lineno is None or at.end_lineno is None:
        return None
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    lines = lines[at.lineno - 1 : at.end_lineno]
    if not lines or at.col_offset is None or at.end_col_offset is None:
        return None
    encoded = [line.encode() for line in lines]  # the offsets count bytes
    encoded[-1] = encoded[-1][: at.end_col_offset]
    encoded[0] = encoded[0][at.col_offset :]
    try:
        return ast.parse(b"(" + b"".join(encoded) + b")", mode="eval").body
    except (SyntaxError, ValueError):  # the file has changed since it was read
        return None


__all__ = [
    "NOT_ADOPTED",
    "Caller",
    "Place",
    "asking_place",
    "caller",
    "caller_at",
    "extension_of",
    "innermost",
    "is_adopted",
    "is_by_name",
    "is_formatting",
    "is_library",
    "is_library_code",
    "line_of",
    "place_of",
]
