"""Entries of the object layer's reference: pages of a namespace's names, for docs/reference.py.

Each public name has a signature, its docstring, and a link to its source, under an anchor of its
own: `api/torch.nn.html#tapegrad.torch.nn.Linear`. A large namespace has a page a letter, so that
no page is heavy. A page a name would be two thousand pages, and their builds minutes.
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache, cached_property
from itertools import groupby
from typing import Any

import torch_reference as tables
from docutils import nodes
from sphinx import addnodes
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

LARGE = 60  # names on a page, above which a namespace is split by letters
HEAVY = 12  # the same for namespaces of classes, whose entries hold their methods
PAGE = """\
:orphan:

{title}
{line}

:doc:`Tables of these names </torch/{table}>`

.. currentmodule:: tapegrad.{space}

"""


def pages() -> dict[str, str]:
    """The text of each page, by the name of its file."""
    made: dict[str, str] = {}
    known: dict[type, str] = {}
    for table in tables.PAGES:
        for space in tables.spaces_of(table):
            found = tables.resolved("tapegrad.torch", space)
            for part, names in parts_of(space, found):
                title = f"tapegrad.{space}" + (f": {part.upper()}" if part else "")
                head = PAGE.format(title=title, line="=" * len(title), table=table, space=space)
                body = "".join(entry(space, found, name, known) for name in names)
                made[f"{space}{'-' + part if part else ''}.rst"] = head + body
    return made


def parts_of(space: str, found: Any) -> list[tuple[str, list[str]]]:
    """The letters into which the names of a namespace are split, "" for one page."""
    names = tables.public(space, found)
    heavy = sum(inspect.isclass(getattr(found, name, None)) for name in names)
    if len(names) <= LARGE and heavy <= HEAVY:
        return [("", names)]
    names = sorted(names, key=lambda name: (name[0].lower(), name))
    return [(part, list(of)) for part, of in groupby(names, key=lambda name: name[0].lower())]


def entry(space: str, found: Any, name: str, known: dict[type, str]) -> str:
    """The directive that shows a name; known: the classes that have an entry, which comes once."""
    value = static(found, name)
    if inspect.isclass(value):
        first = known.setdefault(value, full_name(space, name))
        if first != full_name(space, name):
            signature = tables.signature_of(value)
            return f".. py:class:: {name}{signature}\n\n   :py:class:`{first}`.\n\n"
    owner = "Tensor." if space == "torch.Tensor" else ""
    options = ""
    if isinstance(value, property | cached_property):
        kind = "property"
    elif inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        # A tensor's methods have a namespace of their own.
        options = "" if name == "Tensor" or kind == "exception" else "   :members:\n"
    elif callable(value) and inspect.isroutine(value):
        kind = "method" if owner else "function"
    else:
        kind, options = ("attribute" if owner else "data"), "   :no-value:\n"
    return f".. auto{kind}:: {full_name(space, name)}\n{options}\n"


def full_name(space: str, name: str) -> str:
    """The name of an entry, which is that of its anchor."""
    return f"tapegrad.{space}.{name}"


def static(found: Any, name: str) -> Any:
    """An attribute; of properties the property."""
    value = inspect.getattr_static(found, name, None)
    return value if isinstance(value, property) else getattr(found, name)


# --- Links --------------------------------------------------------------------------------------


def link_rows(app, doctree) -> None:
    """Make the name in each row of the tables a link to its entry."""
    if not app.env.docname.startswith("torch/reference"):
        return
    for section in doctree.findall(nodes.section):
        space = section.next_node(nodes.title).astext()
        for row in section.findall(nodes.row):
            literal = row.next_node(nodes.literal)
            own = re.match(r"\w+", literal.astext()) if literal is not None else None
            if own is None or not space.startswith("torch"):
                continue
            link = addnodes.pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=full_name(space, own.group()),
                refexplicit=True,
                refwarn=True,
                refdoc=app.env.docname,
            )
            literal.replace_self(link)
            link += literal


OUTSIDE = re.compile(r"(`[^`]*`)")
MARKS = re.compile(r"\||(?<!\w)\*|\*(?!\w)|(?<=\w)_(?!\w)")


def plain_marks(_app, _what, name: str, _found, _options, lines: list[str]) -> None:
    """Keep reStructuredText from reading `|x|`, `2 * x` and `name_` in sentences as its own."""
    if not name.startswith("tapegrad.torch"):
        return
    within_example = False
    for place, line in enumerate(lines):
        within_example = bool(line.strip()) and (within_example or ">>>" in line)
        if not within_example:
            parts = OUTSIDE.split(line)
            parts[::2] = [MARKS.sub(lambda mark: "\\" + mark.group(), part) for part in parts[::2]]
            lines[place] = "".join(parts)


@cache
def source(module: str) -> tuple[str, dict[str, tuple[str, int, int]]]:
    """The text of a module, and the lines of what it defines, by name."""
    analyzer = ModuleAnalyzer.for_module(module)
    analyzer.find_tags()
    return analyzer.code, analyzer.tags


def defined_in(_app, space: str | None, name: str) -> str | None:
    """The module that defines a name of the object layer, of which `source` then has the lines.

    Functions that a table has made stand where the function that makes them stands.
    """
    if space is None or not space.startswith("tapegrad.torch"):
        return None
    found: Any = sys.modules.get(space)
    for word in name.split("."):
        found = inspect.getattr_static(found, word, None) or getattr(found, word, None)
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
    try:
        found = inspect.unwrap(getattr(found, "func", found))
        module = inspect.getmodule(found.__code__ if inspect.isfunction(found) else found)
        if module is None or not module.__name__.startswith("tapegrad."):
            return None
        first, last = lines_of(module.__name__, found)
        source(module.__name__)[1].setdefault(name, ("def", first, last))
    except (TypeError, OSError, ValueError, PycodeError):  # of the last: a module of a table
        return None
    return module.__name__


@cache
def known_lines(module: str) -> tuple[dict[int, int], dict[str, tuple[int, int]]]:
    """The last lines of a module's definitions by their first ones, and both by the name."""
    tags = dict(source(module)[1])
    lines = {name: (first, last) for name, (_, first, last) in tags.items()}
    return dict(lines.values()), lines


def lines_of(module: str, found: Any) -> tuple[int, int]:
    """The first and the last line of a definition.

    Sphinx has read the module: `inspect` would read from its start for each class in it.
    """
    ends, named = known_lines(module)
    if inspect.isfunction(found):
        first = found.__code__.co_firstlineno
        if first in ends:
            return first, ends[first]
    elif inspect.isclass(found) and found.__qualname__ in named:
        return named[found.__qualname__]
    lines, first = inspect.getsourcelines(found)
    return first, first + len(lines) - 1


def source_of(_app, module: str) -> tuple[str, dict[str, tuple[str, int, int]]] | None:
    """Source of a module of the object layer for `[source]`."""
    try:
        return source(module) if module.startswith("tapegrad.torch") else None
    except PycodeError:  # a module of a table
        return None


def setup(app) -> None:
    app.connect("doctree-read", link_rows)
    app.connect("autodoc-process-docstring", plain_marks, priority=400)  # before the sections
    app.connect("viewcode-follow-imported", defined_in)
    app.connect("viewcode-find-source", source_of)
