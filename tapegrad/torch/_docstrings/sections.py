"""Docstrings: the sections that a function or a class does not write, or a table shares.

One says what it does, and what is particular to it: whole sections, or short entries, and an
example at the end, which needs no heading. `completed` adds what signatures and kinds tell;
`complete` does so for public names that are no operations. Knows none of them.

Short entries stand in a paragraph of their own, and become entries of sections; what follows
a text is indented:

    input: Scores, of any shape.
    p ({1, 2}): The power. A type stands here where the annotation does not tell it.
    -> Tensor: The losses.
    ValueError: For another `p`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from tapegrad.torch._docstrings.examples import EXAMPLES
from tapegrad.torch._docstrings.parameters import (
    described,
    ending,
    entry_text,
    filled,
    kind_of,
    shared,
    shared_result,
)

KEPT = sys.flags.optimize < 2  # whether docstrings are: -OO takes them away, and none is made

_IN_PLACE = """\
`{word}`, written into this tensor's own memory.
{parameters}
Returns
-------
Tensor
    This tensor itself.
"""


def told(summary: str, call: str, result: str, *entries: str) -> str:
    """The docstring of an operation that a table declares, for `completed`.

    call, result: the example, and what it prints. entries: of a line each.
    """
    if not KEPT:
        return ""
    return "\n\n".join(
        [summary, *filter(None, ["\n".join(entries)]), f">>> torch.{call}\n{result}"]
    )


def of_one(summary: str, call: str, argument: str, result: str, *, real_only: bool = False) -> str:
    """The docstring of an elementwise function of one tensor.

    argument, result: what the example gives, and what it prints. real_only: complex numbers are
    refused.
    """
    kinds = "" if real_only else ", real or complex"
    return told(
        summary,
        f"{call}(torch.tensor({argument}))",
        f"tensor({result})",
        f"input: Numbers, of any shape{kinds}. Integers and bools are taken as the default dtype.",
        *["NotImplementedError: For complex numbers."] * real_only,
    )


def of_two(
    summary: str,
    call: str,
    arguments: tuple[str, str],
    result: str,
    *,
    kinds: str = "",
    returns: str = "A value for each pair of elements, in the shape to which the two broadcast.",
) -> str:
    """The docstring of an elementwise function of two tensors that broadcast.

    arguments, result: what the example gives, and what it prints. kinds: what the first may be,
    after a comma.
    """
    return told(
        summary,
        f"{call}({', '.join(f'torch.tensor({argument})' for argument in arguments)})",
        f"tensor({result})",
        f"input: The first operands, of any shape{kinds}.",
        "other: The second operands; the shapes broadcast, and the dtypes are promoted to one.",
        f"-> Tensor: {returns}",
    )


def in_place(word: str, docstring: str | None) -> str:
    """The docstring of `word_`, with the section Parameters of that of `word`, if it has one."""
    if not KEPT:
        return ""
    head, _, rest = (docstring or "").partition("\nParameters\n----------\n")
    if not head or not rest:
        return f"`{word}`, written into this tensor's own memory."
    section = "\nParameters\n----------\n" + rest.partition("\n\n")[0] + "\n"
    made = _IN_PLACE.format(word=word, parameters=section)
    _, mark, example = rest.partition("\nExamples\n--------\n")
    if (
        f".{word}(torch." in example
        and "tensor(True)" not in example
        and "tensor(False)" not in example
    ):
        made += mark + example.replace(f".{word}(torch.", f".{word}_(torch.")
    _COMPLETED.add(made)
    return made


# --- What a function leaves out -----------------------------------------------------------------

# The order of sections; Examples also hold what stands under no heading.
_SECTIONS = (
    *("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes"),
    "Examples",
)
_HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)
_CLEAN = re.compile(r"\n[^\s]")
_MARGIN = re.compile(r"\n( +)\S")
_LINE = re.compile(r"\n(?=\S)")  # where an entry ends
_SHORT = re.compile(
    r"(-> .+?|(?:See also |Attribute )?\*{0,2}\w[\w.]*(?:, \*{0,2}\w+)*)"
    r"(?: \((.+?)\))?: ([^\sa-z].*)"
)
_TITLES = {"-> ": "Returns", "See also ": "See Also", "Attribute ": "Attributes"}
_TITLES |= {word: word for word in ("Notes", "Yields")}
_STARTS = tuple(_TITLES)
_HEAD = re.compile(
    r"(?P<names>.+?)(?:(?P<whole> : .*)| \((?P<kind>[^\n]*)\))?(?:\n(?P<text>.*))?$", re.DOTALL
)
_DEFAULT = re.compile(r", (default .*|optional)$")
_OF_OBJECT = re.compile(r"^(\w+) \((.+?)\): ", re.MULTILINE)
_CALL = re.compile(r">>> (?:\w+ = )?(?:F|torch(?:\.nn\.functional)?)\.(\w+)\(")
_CALL_OF_F = re.compile(r"(?<![\w.])F\.")
_COMPLETED: set[str] = set()  # the docstrings that have been made: an operation comes twice
_IMPORT = ">>> import tapegrad.torch as torch\n"
_IMPORT_F = ">>> import tapegrad.torch.nn.functional as F\n"

_EACH = "A value for each element, in the shape of `input`."
_PAIRS = "A value for each place, in the shape to which the shapes of the operands broadcast."
_REDUCED = "The results, in the shape of `input` without the dimensions that are reduced."
_VIEW = "A view: it shares the memory of `input`."
_VIEWS = "Views: they share the memory of `input`."


def completed(
    function: Callable[..., Any], *, view: bool = False, several: bool = False, word: str = ""
) -> str:
    """The docstring of an operation, with the sections that it did not write itself.

    view, several: whether it returns a view, or several. word: by which `EXAMPLES` know it.
    """
    given = function.__doc__ or "" if KEPT else ""
    if not given or (given in _COMPLETED and "__signature__" not in vars(function)):
        return given
    text = _cleaned(given)
    if word in EXAMPLES and ">>> " not in text:
        text = f"{text.rstrip()}\n\n{EXAMPLES[word]}"
    head, sections = _parts(text)
    names = _signature(function)
    written = sections.get("Parameters", "")
    parameters = _parameters(names, written, function.__module__, described)
    if parameters:
        sections["Parameters"] = parameters
    if "Returns" not in sections and "Yields" not in sections:
        returns = _returns(function, names, view=view, several=several)
        if returns:
            sections["Returns"] = returns
    made = _joined(head, sections)
    _COMPLETED.add(made)
    return made


def of_object(text: str) -> str:
    """The docstring of an object that is no function and no class, whose types are written."""
    head, sections = _parts(text)
    names = [(match[1], match[2], "") for match in _OF_OBJECT.finditer(text)]
    written = sections.get("Parameters", "")
    if written:
        sections["Parameters"] = _parameters(names, written, "", shared)
    return _joined(head, sections)


def of_member(own: str | None, family: str | None, name: str) -> str:
    """The docstring of a member of a family: what it does not write is that of the family.

    That goes for the summary, the paragraphs below it, sections, and entries of parameters. name:
    of the member, which tells its dimensions.
    """
    if not family or not KEPT:
        return own or ""
    head, sections = _parts(_cleaned(own or ""))
    first, of_family = _parts(_cleaned(family))
    first = filled(first, name)
    of_family = {
        title: filled(section, name, prose=title != "Examples")
        for title, section in of_family.items()
    }
    summary, _, below = first.partition("\n\n")
    head = head or summary
    if below and "\n\n" not in head:
        head += f"\n\n{below}"
    entries = [known["Parameters"] for known in (of_family, sections) if "Parameters" in known]
    sections = of_family | sections
    if entries:
        sections["Parameters"] = "\n".join(map(str.rstrip, entries))
    return _joined(head, sections)


def _joined(head: str, sections: dict[str, str]) -> str:
    whole = [head]
    whole += [
        f"{title}\n{'-' * len(title)}\n{sections[title].strip()}"
        for title in _SECTIONS
        if title in sections
    ]
    return "\n\n".join(whole) + "\n"


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """The sentences above all sections, and the sections by their titles."""
    sections = {}
    if "\n---" in text:
        text, *rest = _HEADING.split(text)
        sections = dict(zip(rest[::2], rest[1::2], strict=True))
    head, mark, example = text.partition(">>> ")
    if sections and "Examples" not in sections:
        last = [*sections][-1]
        sections[last], mark, example = sections[last].partition(">>> ")
    if mark:
        sections["Examples"] = mark + example
    example = sections.get("Examples", "")
    if ">>> import tapegrad" not in example and ">>> from tapegrad" not in example:
        of_functional = _IMPORT_F if _CALL_OF_F.search(example) else ""
        if of_functional or "torch." in example:
            sections["Examples"] = _IMPORT + of_functional + example
    summary, *paragraphs = head.strip().split("\n\n")
    prose = [summary]
    for paragraph in paragraphs:
        entries = _entries(paragraph)
        for title, entry in entries:
            sections[title] = f"{sections.get(title, '').rstrip()}\n{entry}"
        prose += [] if entries else [paragraph]
    return "\n\n".join(prose), sections


def _entries(paragraph: str) -> list[tuple[str, str]]:
    """The entries that a paragraph has, with the titles of their sections; none of prose."""
    made: list[tuple[str, str]] = []
    for entry in _LINE.split(paragraph):
        match = _SHORT.match(entry)
        if match is None:
            return []
        name, kind, first = match.groups()
        title = _title(name)
        text = entry_text(first if match.end() == len(entry) else entry[match.start(3) :])
        if title == "Parameters":
            made.append((title, f"{name} ({kind})\n{text}" if kind else f"{name}\n{text}"))
        elif title == "See Also":
            made.append((title, f"{name.removeprefix('See also ')} : {text.strip()}"))
        elif title == "Notes":
            made.append((title, textwrap.dedent(text)))
        elif title == "Attributes":
            made.append((title, f"{name.removeprefix('Attribute ')} : {kind}\n{text}"))
        elif title == "Yields":
            made.append((title, f"{kind}\n{text}"))
        else:
            head = f"{name} ({kind})" if kind else name.removeprefix("-> ")
            made.append((title, f"{head}\n{text}"))
    return made


def _title(name: str) -> str:
    """The section of a short entry, by its name: a parameter, `-> Tensor`, or an exception."""
    if name.startswith(_STARTS):
        return next(title for start, title in _TITLES.items() if name.startswith(start))
    if name.endswith(("Error", "Exception")):
        return "Raises"
    return "Warns" if name.endswith("Warning") else "Parameters"


def _cleaned(text: str) -> str:
    """A docstring without the indentation of its lines, which is that of the first of them."""
    margin = None if _CLEAN.search(text) else _MARGIN.search(text)
    return text if margin is None else text.replace("\n" + margin.group(1), "\n")


def _signature(function: Callable[..., Any]) -> list[tuple[str, str, str]]:
    """The name, the annotation and the default of each parameter, without `self`.

    Of functions whose code tells, which is some ten times as fast as `inspect.signature`.
    """
    while "__wrapped__" in vars(function) and "__signature__" not in vars(function):
        function = function.__wrapped__  # type: ignore[attr-defined]
    if "__signature__" in vars(function) or not isinstance(function, FunctionType):
        return _slow_signature(function)
    code, known, count = function.__code__, function.__annotations__, function.__code__.co_argcount
    plain, rest = code.co_varnames[:count], code.co_varnames[count:]
    defaults = dict(zip(reversed(plain), reversed(function.__defaults__ or ()), strict=False))
    defaults |= function.__kwdefaults__ or {}
    only, rest = rest[: code.co_kwonlyargcount], rest[code.co_kwonlyargcount :]
    starred = [f"*{rest[0]}"] if code.co_flags & inspect.CO_VARARGS else []
    last = [f"**{rest[len(starred)]}"] if code.co_flags & inspect.CO_VARKEYWORDS else []
    return [
        (
            name,
            known.get(name.lstrip("*"), "Value"),
            _shown(defaults[name]) if name in defaults else "",
        )
        for name in (*plain, *starred, *only, *last)
        if name != "self"
    ]


def _shown(default: Any) -> str:
    return default.__name__ if isinstance(default, FunctionType) else repr(default)


def _slow_signature(function: Callable[..., Any]) -> list[tuple[str, str, str]]:
    found = []
    stars: dict[Any, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    for name, parameter in inspect.signature(function).parameters.items():
        default = "" if parameter.default is parameter.empty else _shown(parameter.default)
        annotation = parameter.annotation
        shown = "Value" if annotation is parameter.empty else str(annotation)
        if name != "self":
            found.append((stars.get(parameter.kind, "") + name, shown, default))
    return found


def _parameters(
    names: list[tuple[str, str, str]], written: str, module: str, entry_of: Callable[..., str]
) -> str:
    """The section Parameters, of entries that are written and those of the table."""
    own: dict[str, re.Match[str]] = {}
    for entry in _LINE.split(written.strip()) if written else ():
        match = _HEAD.match(entry.rstrip())
        assert match
        for name in match["names"].split(", "):
            own[name] = match
    if own and entry_of is described:  # a family's text may have more
        strange = own.keys() - {name for name, *_ in names}
        if strange:
            raise ValueError(f"{module}: a docstring has entries for no parameters: {strange}")
    entries = []
    for name, annotation, default in names:
        match = own.get(name)
        if match is None:
            entries.append(entry_of(name, annotation, default, module))
        elif match["whole"]:
            entries.append(match[0])
        else:
            kind = match["kind"] or kind_of(name, annotation)
            more = "" if ", default" in kind or ", optional" in kind else ending(default)
            entries.append(f"{match['names']} : {kind}{more}\n{match['text']}")
    return "\n".join(filter(None, dict.fromkeys(entries)))


def _returns(
    function: Callable[..., Any], names: list[tuple[str, str, str]], *, view: bool, several: bool
) -> str:
    """The section Returns, by the kind of the function; empty where nothing is returned."""
    kind = str(function.__annotations__.get("return", "Value"))
    known = {name for name, *_ in names}
    if kind == "None":
        return ""
    of_room = shared_result(kind, function.__module__)
    if of_room:
        return of_room
    if kind == "bool":
        return "bool\n    Whether it is so."
    if several or kind == "Cut":
        return f"tuple of Tensors\n    {_VIEWS}"
    if kind not in ("Tensor", "Value", "Plan"):
        return ""  # what it is has to be said
    if function.__name__.endswith("_"):
        return "Tensor\n    This tensor itself."
    if view or kind == "Plan":
        return f"Tensor\n    {_VIEW}"
    if "keepdim" in known:
        return f"Tensor\n    {_REDUCED}"
    if ".elementwise." in function.__module__:
        operands = [name for name, annotation, _ in names if annotation == "Value"]
        return f"Tensor\n    {_PAIRS if len(operands) > 1 else _EACH}"
    return "Tensor\n    A new tensor."


# --- Public names that are no operations --------------------------------------------------------

_ROOMS = "tapegrad.torch."
_OF_OPERATIONS = (f"{_ROOMS}_docstrings", f"{_ROOMS}_rules")
_SAME = "tapegrad.torch.nn.functional.{} : The same as a function."


def complete(late: str = "") -> None:
    """Complete the docstrings of the public names of all modules, and of their members.

    late: the one module of which to do so, which is imported after the others. Those of classes
    are made when they are asked for.
    """
    if not KEPT:
        return
    seen: set[int] = set()
    for module in [sys.modules[late]] if late else _modules():
        for name, found in [*vars(module).items()]:
            if name[0] != "_":
                _complete(found, seen)


def _modules() -> list[ModuleType]:
    return [module for name, module in sys.modules.items() if _is_here(name)]


def _is_here(module: str) -> bool:
    return f"{module}.".startswith(_ROOMS)


def _is_operation(module: str) -> bool:
    return module.startswith(_OF_OPERATIONS)


def _complete(found: Any, seen: set[int]) -> None:
    """Complete the docstring of a function, or of a class and of what it has of functions."""
    if id(found) in seen or not isinstance(found, (FunctionType, type)):
        return
    seen.add(id(found))
    home = found.__module__
    if not _is_here(home):
        return
    if isinstance(found, FunctionType):
        text = found.__doc__
        if text and text not in _COMPLETED and not _is_operation(home):
            found.__doc__ = _completed_by_tables(found, text, found)
        return
    if not _is_operation(home) and not found.__name__.startswith("_"):
        kept = vars(found).get("__doc__")
        if kept is None or isinstance(kept, str):
            found.__doc__ = OfClass(kept)  # type: ignore[assignment]
    for name, member in [*vars(found).items()]:
        if name[0] != "_":
            _complete(getattr(member, "__func__", member), seen)
    for kind in found.__bases__:
        _complete(kind, seen)


class OfClass:
    """The docstring of a class, which is completed when it is first asked for."""

    __slots__ = ("_text",)

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, _instance: object, owner: type) -> str | None:
        makers = [owner.__init__, owner.__new__]  # type: ignore[misc]
        maker = next((make for make in makers if isinstance(make, FunctionType)), None)
        owner.__doc__ = made = _completed_by_tables(owner, self._text, maker)
        return made


def _completed_by_tables(
    member: Any, text: str | None, signature: Callable[..., Any] | None
) -> str | None:
    for family in _families(member, text):
        text = of_member(text, family, member.__name__)
    if not text:
        return None
    returned = ""
    if isinstance(member, FunctionType):
        returned = shared_result(str(member.__annotations__.get("return")), member.__module__)
        if not returned and "\n" not in text:
            return text
    head, sections = _parts(_cleaned(text))
    if returned:
        sections.setdefault("Returns", returned)
    names = [] if signature is None else _signature(signature)
    twin = _twin(member) if isinstance(member, type) else ""
    if twin and "Examples" not in sections:
        sections |= _parts(_example(member.__name__, twin, [name for name, *_ in names]))[1]
    if not sections:
        return str(text)
    written = sections.get("Parameters", "")
    parameters = _parameters(names, written, member.__module__, _entries_of(member))
    if parameters:
        sections["Parameters"] = parameters
    if twin:
        sections.setdefault("See Also", _SAME.format(twin))
    return _joined(head, sections)


def _entries_of(member: Any) -> Callable[..., str]:
    """Entries of parameters: those of the function that tells a layer, or else of the table."""
    twin = vars(member).get("_made_of")
    if twin is None:
        return shared
    written = _parts(_cleaned(_function_of(twin).__doc__ or ""))[1].get("Parameters", "")
    known: dict[str, tuple[str, str]] = {}
    for entry in _LINE.split(written.strip()) if written else ():
        head, _, text = entry.partition("\n")
        names, _, kind = head.removesuffix(")").replace(" (", " : ", 1).partition(" : ")
        known |= dict.fromkeys(names.split(", "), (_DEFAULT.sub("", kind), text))

    def entry_of(name: str, annotation: str, default: str, module: str) -> str:
        if name not in known:
            return shared(name, annotation, default, module)
        kind, text = known[name]
        return f"{name} : {kind or kind_of(name, annotation)}{ending(default)}\n{text}"

    return entry_of


def _function_of(twin: str) -> Any:
    return getattr(sys.modules[f"{_ROOMS}nn.functional"], twin)


def _families(member: Any, own: str | None) -> Iterator[str]:
    """The docstrings of the private bases of a class, the nearest first; no mere summaries.

    A class without a docstring of its own has the summary of the nearest.
    """
    for kind in getattr(member, "__mro__", ()):
        if kind.__name__.startswith("_") and _is_here(kind.__module__):
            text = kind.__doc__ or ""
            if "\n" in text or (text and not own):
                yield text


def _twin(layer: type) -> str:
    """The function of `nn.functional` that a layer calls by name, or empty."""
    if not layer.__module__.startswith(f"{_ROOMS}nn."):
        return ""
    return _functions().get(layer.__name__.lower(), "")


def _example(layer: str, twin: str, settings: list[str]) -> str:
    """The example of a layer by that of its function: of `F.elu(x, 2.0)` it is `ELU(2.0)(x)`.

    settings: the parameters of the layer. Empty where the function's example is of another form.
    """
    function = _function_of(twin)
    example = _parts(_cleaned(function.__doc__))[1].get("Examples", "")
    lines = [line for line in example.splitlines() if not line.startswith(">>> import ")]
    known = [name for name, *_ in _signature(function)]
    for place, line in enumerate(lines):
        found = _CALL.match(line)
        if found is None or found[1] != twin:
            continue
        code = line.removeprefix(">>> ")
        calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
        call = next(node for node in calls if node.func.end_col_offset == found.end() - 5)
        inputs: list[str] = []
        own: list[str] = []
        for name, argument in zip(known, call.args, strict=False):
            text = code[argument.col_offset : argument.end_col_offset]
            if name not in settings:
                inputs.append(text)
            else:
                own.append(text if settings.index(name) == len(own) else f"{name}={text}")
        own += [code[word.col_offset : word.end_col_offset] for word in call.keywords]
        made = f"torch.nn.{layer}({', '.join(own)})({', '.join(inputs)})"
        lines[place] = f">>> {code[: call.col_offset]}{made}{code[call.end_col_offset :]}"
        return "\n".join(lines)
    return ""


@functools.cache
def _functions() -> dict[str, str]:
    """The names of `nn.functional`, by the same without underscores; none that are in place."""
    names = sys.modules[f"{_ROOMS}nn.functional"].__all__
    known = {name.replace("_", ""): name for name in names if not name.endswith("_")}
    return {f"{name}loss": known[name] for name in known} | known  # KLDivLoss is of kl_div


__all__ = [
    "KEPT",
    "OfClass",
    "complete",
    "completed",
    "in_place",
    "of_member",
    "of_object",
    "of_one",
    "of_two",
    "told",
]
