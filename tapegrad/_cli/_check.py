"""`python -m tapegrad check`: a function of the user's own, held to the laws of derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tapegrad import _tree, testing
from tapegrad._cli._target import CommandError, blaming, evaluate_point, load_function, name_of

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Print which laws hold, or the one that does not; return the exit status."""
    function = load_function(options.target, options.adopt)
    args = evaluate_point(options.at, function)
    if not any(np.asarray(leaf).dtype.kind in "fc" for leaf in _tree.flatten(args)[0]):
        raise CommandError(f"--at {options.at!r}: expected floating point numbers: 3.0, not 3")
    names = tuple(name.strip() for name in options.laws.split(",") if name.strip())
    with blaming(name_of(function)):
        try:
            report = testing.check(
                function,
                args,
                "all" if "all" in names else names,
                kinks=options.kinks,
                differences=options.differences,
                seed=options.seed,
                rtol=options.rtol,
                atol=options.atol,
            )
        except testing.LawError as error:
            print(error)
            return 1
    print(report)
    return 0
