"""`run`: a script in which numpy, math and scipy mean tapegrad's, with packages that it imports.

Knows scripts. Errors of the script are shown as Python shows them.
"""

from __future__ import annotations

import argparse
import sys
import types
from pathlib import Path

from tapegrad._adopt.loading import compiled, execute
from tapegrad._cli._target import CommandError, adopt_named


def run(options: argparse.Namespace) -> int:
    """Run the script as the main program, adopted like the packages."""
    text, main = script_of(options)
    adopt_named(options.adopt)
    execute(compiled(text, str(main.__file__)), vars(main))
    return 0


def script_of(options: argparse.Namespace) -> tuple[bytes, types.ModuleType]:
    """The text of the script, and the main module for it, with the arguments in their place."""
    path = Path(options.script)
    if not path.is_file():
        raise CommandError(f"{options.script}: no such file")
    sys.argv = [options.script, *options.args]
    sys.path.insert(0, str(path.resolve().parent))  # as `python FILE.py` does
    main = types.ModuleType("__main__")
    main.__file__ = str(path.absolute())
    sys.modules["__main__"] = main
    return path.read_bytes(), main
