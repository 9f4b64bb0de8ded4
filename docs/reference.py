"""Entries of the reference, as Sphinx builds the pages: `setup` is called by conf.py.

api.md has tables of names. Each name gets a page, `api/NAME.rst`, with its docstring. These pages
stand in no table of contents: every page's sidebar would hold all of them. Those of the object
layer, which hold many names each, are written by torch_entries.py.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

HERE = Path(__file__).parent
TABLE = re.compile(r"^\.\. currentmodule:: (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGE = """\
:orphan:

{title}
{line}

:doc:`API reference </api>`

.. currentmodule:: {module}

.. auto{kind}:: {name}
{options}
"""


def listed() -> list[tuple[str, str]]:
    """Module and name of what api.md lists."""
    text = (HERE / "api.md").read_text(encoding="utf-8")
    return [
        (module, name)
        for module, table in TABLE.findall(text)
        for name in re.findall(r"^   (\w+)$", table, re.MULTILINE)
    ]


def page_of(module: str, name: str) -> str:
    """The text of a page."""
    found = getattr(importlib.import_module(module), name)
    kind, options = "function", ""
    if inspect.isclass(found):
        kind = "exception" if issubclass(found, BaseException) else "class"
        options = "" if kind == "exception" else "   :members:"
    elif not callable(found) or (module, name) == ("tapegrad", "config"):
        kind, options = "data", "   :no-value:"
    title = f"{module}.{name}"
    return PAGE.format(
        title=title,
        line="=" * len(title),
        module=module,
        kind=kind,
        name=name,
        options=options,
    )


def file_of(module: str, name: str) -> Path:
    """Where the page is: classes have names apart from a function's in another case."""
    twin = name[0].isupper() and hasattr(importlib.import_module(module), name.lower())
    return HERE / "api" / f"{module}.{name}{'-class' if twin else ''}.rst"


def write_pages(_app) -> None:
    """Write the pages that have changed, and delete those of names that are gone."""
    wanted = {file_of(module, name): page_of(module, name) for module, name in listed()}
    entries = importlib.import_module("torch_entries")  # needs Sphinx, which tests do without
    wanted |= {HERE / "api" / name: text for name, text in entries.pages().items()}
    (HERE / "api").mkdir(exist_ok=True)
    for path in set((HERE / "api").glob("*.rst")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app) -> None:
    app.connect("builder-inited", write_pages)
    importlib.import_module("torch_entries").setup(app)
