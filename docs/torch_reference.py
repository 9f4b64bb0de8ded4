"""Writes the reference of the object layer: `python docs/torch_reference.py`.

It writes docs/torch/reference*.md and docs/torch/names.md, and by torch_stubs.py the stubs. What
PyTorch has stands in docs/torch/pytorch-names.txt, which `python docs/torch_reference.py pytorch`
writes where PyTorch is installed: facts about its public modules, none of their text.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parent / "torch"
SPACES = """
torch torch.Tensor torch.autograd torch.autograd.forward_ad torch.autograd.functional
torch.autograd.graph torch.autograd.profiler torch.func torch.nn torch.nn.functional torch.nn.init
torch.nn.parallel torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrizations
torch.nn.utils.parametrize
torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.utils.data torch.utils.checkpoint
torch.linalg torch.fft torch.special torch.random torch.distributions torch.profiler torch.testing
torch.amp torch.cuda
""".split()

# A page each, so that none is heavy: its title, and how the names of its namespaces begin.
PAGES = {
    "reference": ("Reference of tapegrad.torch", ()),
    "reference-tensor": ("Reference of torch.Tensor", ("torch.Tensor",)),
    "reference-nn": ("Reference of torch.nn and torch.optim", ("torch.nn", "torch.optim")),
    "reference-more": (
        "Reference of torch.autograd, linalg, distributions and others",
        tuple(
            f"torch.{name}"
            for name in "autograd func utils linalg fft special random distributions profiler "
            "testing amp cuda".split()
        ),
    ),
}

REFERENCE = """\
# {title}

<!-- Written by docs/torch_reference.py: change that, not this. -->

Every public name with its signature, and the first line of what `help` says of it. Names and
parameters are PyTorch's; [the names](names.md) lists what PyTorch has and this layer has not.
Other pages: {others}.
"""

NAMES = """\
# Names of PyTorch

<!-- Written by docs/torch_reference.py: change that, not this. -->

Which of the public names of PyTorch {version} are there. A name that is not there is an
AttributeError that says so, or can be imported, and says so when it is called. Left out by
intent are other devices, quantised, sparse and nested tensors, compilers and their intermediate
forms, distributed training, and storages by type.

| namespace | of PyTorch's names | are there |
|---|---|---|
"""


def resolved(library: str, space: str) -> Any:
    """The object that a namespace names, None if the library has it not."""
    path = space.replace("torch", library, 1).split(".")
    for count in range(len(path), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(path[:count]))
        except ImportError:
            continue
        for name in path[count:]:
            found = getattr(found, name, None)
        return found
    return None


def public(space: str, found: Any) -> list[str]:
    """The names that a namespace means to offer: `__all__`, or what is no module."""
    declared = getattr(found, "__all__", None)
    if declared is not None and space not in ("torch", "torch.nn.functional", "torch.nn"):
        return sorted(name for name in declared if not name.startswith("_"))
    return sorted(
        name
        for name in dir(found)
        if not name.startswith("_") and not is_passing(getattr(found, name, None))
        if not is_absent(space, name)
    )


def is_absent(space: str, name: str) -> bool:
    """Whether a name of the table of what is not here is refused, with the reason, when called."""
    from tapegrad.torch._absent import FINDER

    section = FINDER.sections.get(space.removeprefix("torch").lstrip("."))
    row = None if section is None else section.rows.get(name)
    return row is not None and row.answer.startswith("refused")


def is_passing(value: Any) -> bool:
    """Whether a name came by an import: a module, or one of `__future__` or `typing`."""
    home = getattr(value, "__module__", None) or type(value).__module__
    return inspect.ismodule(value) or home in ("__future__", "typing")


def foreign(found: Any) -> bool:
    """Whether a value came into PyTorch's namespace by an import of Python's own."""
    home = (getattr(found, "__module__", None) or "").partition(".")[0]
    return home in ("typing", "builtins", "collections", "contextlib", "functools")


def pytorch_names() -> str:
    """One line a namespace: its name, and PyTorch's names in it."""
    version = importlib.import_module("torch").__version__.partition("+")[0]
    lines = [version]
    for space in SPACES:
        found = resolved("torch", space)
        names = [n for n in public(space, found) if not foreign(getattr(found, n, None))]
        lines.append(" ".join([space, *names]))
    return "\n".join(lines) + "\n"


def signature_of(found: Any) -> str:
    """The parameters without their types; empty for what has no readable signature."""
    if isinstance(found, property) or not callable(found):
        return ""
    if isinstance(found, enum.EnumType):
        return ""  # Python's own, which differs between its versions
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    plain = [p.replace(annotation=p.empty) for p in parameters if p.name not in ("self", "cls")]
    text = str(inspect.Signature(plain))
    return re.sub(r"<[^<>]*>", "...", text).replace("|", "\\|")


def first_line(found: Any) -> str:
    """The first line of a docstring of its own."""
    text = inspect.getdoc(found) if callable(found) or isinstance(found, property) else None
    line = (text or "").strip().partition("\n")[0]
    return line.replace("|", "\\|")


def spaces_of(page: str) -> list[str]:
    """The namespaces that stand on a page, in the order of `SPACES`."""
    starts = PAGES[page][1]
    return [s for s in SPACES if s.startswith(starts)] if starts else ["torch"]


def reference(page: str = "reference") -> str:
    """A page with every public name of its namespaces."""
    title = PAGES[page][0]
    others = ", ".join(f"[{PAGES[p][0]}]({p}.md)" for p in PAGES if p != page)
    parts = [REFERENCE.format(title=title, others=others)]
    for space in spaces_of(page):
        found = resolved("tapegrad.torch", space)
        if found is None:
            continue
        parts += ["", f"## {space}", "", "| name | |", "|---|---|"]
        for name in public(space, found):
            value = inspect.getattr_static(found, name, None)
            if not isinstance(value, property):
                value = getattr(found, name)
            parts.append(f"| `{name}{signature_of(value)}` | {first_line(value)} |")
    return "\n".join(parts).replace("\n\n\n", "\n\n") + "\n"


def names() -> str:
    """The page of what is there of PyTorch's names, and what is not."""
    version, *lines = (PLACE / "pytorch-names.txt").read_text(encoding="utf-8").splitlines()
    rows, missing = [], []
    for line in lines:
        space, *theirs = line.split()
        found = resolved("tapegrad.torch", space)
        absent = [
            name
            for name in theirs
            if found is None or not hasattr(found, name) or is_absent(space, name)
        ]
        rows.append(f"| `{space}` | {len(theirs)} | {len(theirs) - len(absent)} |")
        if absent:
            listed = ", ".join(f"`{name}`" for name in absent)
            missing += ["", f"## Not in {space}", "", listed]
    return NAMES.format(version=version) + "\n".join([*rows, *missing]) + "\n"


def main() -> None:
    if sys.argv[1:] == ["pytorch"]:
        (PLACE / "pytorch-names.txt").write_text(pytorch_names(), encoding="utf-8")
        return
    for page in PAGES:
        (PLACE / f"{page}.md").write_text(reference(page), encoding="utf-8")
    (PLACE / "names.md").write_text(names(), encoding="utf-8")
    importlib.import_module("torch_stubs").main()


if __name__ == "__main__":
    main()
