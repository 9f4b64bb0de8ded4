"""PyTorch's names with nothing to do here: table.py, packages.py have them, modules.py makes them.

Knows which modules find names that no row has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tapegrad.torch._absent.modules import HOME, Finder, is_refused, read
from tapegrad.torch._absent.packages import SAME, refused
from tapegrad.torch._absent.table import NAMES_IN_ANSWERS, TABLE, Operator
from tapegrad.torch._ops.declare import register


def _tools() -> dict[str, Any]:
    return {**NAMES_IN_ANSWERS, "torch": sys.modules[HOME]}


def _of(*path: str) -> Callable[[str], Any]:
    """A function that finds names in a module of the layer."""

    def find(name: str) -> Any:
        found = sys.modules[HOME]
        for word in (*path, name):
            found = getattr(found, word)
        return found

    return find


_SECTIONS = read(TABLE)
# Namespaces, and where PyTorch's files of them are: these have what the namespace has.
_FILES = {"distributions": "distributions.", "nn": "nn.modules.", "optim": "optim."}
FINDER = Finder(
    _SECTIONS,
    _tools,
    {
        "_VF": _of(),
        "nn.modules": _of("nn"),
        "_C._VariableFunctions": _of(),
        "_C._nn": _of("nn", "functional"),
        "ops": Operator,
        **{
            name: _of(home)
            for home, files in _FILES.items()
            for name in _SECTIONS
            if name.startswith(files)
        },
        **{name: _of(*other.split(".")) for name, other in SAME.items()},
    },
    refused(),
)
FINDER.install()

for _name in FINDER.names("Tensor"):
    register(_name, function=False, module=__name__)(FINDER.made("Tensor", _name))

__all__ = ["FINDER", "is_refused"]
