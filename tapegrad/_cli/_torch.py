"""`torch`: a script in which `import torch` means tapegrad.torch, also in packages.

Knows scripts. Errors of the script are shown as Python shows them.
"""

from __future__ import annotations

import argparse

from tapegrad import torch
from tapegrad._cli._run import script_of


def run(options: argparse.Namespace) -> int:
    """Run the script as the main program."""
    text, main = script_of(options)
    torch.install()
    exec(compile(text, str(main.__file__), "exec"), vars(main))  # noqa: S102 - the user's script
    return 0
