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
    path = Path(options.script)
    if not path.is_file():
        raise CommandError(f"{options.script}: no such file")
    adopt_named(options.adopt)
    sys.argv = [options.script, *options.args]
    sys.path.insert(0, str(path.resolve().parent))  # as `python FILE.py` does
    main = types.ModuleType("__main__")
    main.__file__ = options.script
    sys.modules["__main__"] = main
    execute(compiled(path.read_bytes(), options.script), vars(main))
    return 0
