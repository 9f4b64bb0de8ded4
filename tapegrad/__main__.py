"""The command line: `python -m tapegrad demo` and `python -m tapegrad grad`.

Knows the options and how a failure is told. What a subcommand does is in `_cli`, imported on call.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from typing import TYPE_CHECKING, Any

from tapegrad._cli._target import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence

EPILOG = """\
EXPR is Python, with np, numpy, math and the names of the function's own file in scope. A tuple is
several positional arguments, anything else a single one; derivatives are taken with respect to all
of them. Numbers must be floating point: 3.0, not 3.

examples:
  python -m tapegrad grad model.py:loss --at 'np.ones(3)'
  python -m tapegrad grad model.py:energy --at '1.0, np.zeros((2, 2))' --check
  python -m tapegrad grad numpy.linalg:det --at '2.0 * np.eye(2)' --hessian

exit status: 0 success, 1 the check failed, 2 bad input."""


def parser() -> argparse.ArgumentParser:
    """Describe the options of every subcommand."""
    top = argparse.ArgumentParser(
        prog="python -m tapegrad", description="Derivatives of plain NumPy programs."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="learn to read handwritten digits")
    demo.add_argument(
        "--out",
        default="tapegrad-demo.svg",
        metavar="PATH",
        help="where to draw the tape: .svg, .dot or .mmd (default %(default)s)",
    )
    grad = commands.add_parser(
        "grad",
        help="differentiate a function of your own",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    grad.add_argument("target", metavar="FILE.py:FUNCTION", help="or package.module:FUNCTION")
    grad.add_argument("--at", required=True, metavar="EXPR", help="the point: a Python expression")
    order = grad.add_mutually_exclusive_group()
    for name in ("jacobian", "hessian"):
        order.add_argument(
            f"--{name}",
            dest="order",
            action="store_const",
            const=name,
            default="gradient",
            help=f"print the {name} instead of the gradient",
        )
    grad.add_argument("--check", action="store_true", help="compare with central differences")
    grad.add_argument(
        "--svg", metavar="PATH", help="draw the tape; PATH may also end in .dot or .mmd"
    )
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status; bad input is 2, and one line that says why."""
    options = parser().parse_args(arguments)
    command = importlib.import_module(f"tapegrad._cli._{options.command}")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            status: int = command.run(options)
        except CommandError as error:
            print(f"tapegrad: {error}", file=sys.stderr)
            status = 2
        except KeyboardInterrupt:
            print("tapegrad: interrupted", file=sys.stderr)
            status = 130
    return status


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"tapegrad: warning: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
