"""`%adopt package` in IPython and Jupyter, after `%load_ext tapegrad`.

Knows IPython's object for extensions. Must not know how packages are adopted.
"""

from __future__ import annotations

from typing import Any

from tapegrad._adopt.adoption import adopt


def load_ipython_extension(ipython: Any) -> None:
    """Give the shell the line magic `%adopt`."""
    ipython.register_magic_function(_adopt, magic_kind="line", magic_name="adopt")


def _adopt(line: str) -> Any:
    """`%adopt filterpy sgp4`: from now on these packages compute with tapegrad's names.

    `%adopt --undo filterpy` ends it.
    """
    names = line.replace(",", " ").split()
    if names[:1] == ["--undo"]:
        adopt.undo(*names[1:])
        return None
    return adopt(*names)
