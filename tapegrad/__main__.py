"""The command line: `python -m tapegrad demo`, `grad`, `check`, `run`, `torch`; also `tapegrad`.

Knows the options and how a failure is told. What a subcommand does is in `_cli`, imported on call.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

import tapegrad
from tapegrad._cli._target import CommandError
from tapegrad._warning import catching_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence

POINT = """\
EXPR is Python, with np, numpy, math and the names of the function's own file in scope. A tuple is
several positional arguments, anything else a single one; derivatives are taken with respect to all
of them. Numbers must be floating point: 3.0, not 3.
"""

GRAD = f"""\
{POINT}
examples:
  python -m tapegrad grad model.py:loss --at 'np.ones(3)'
  python -m tapegrad grad model.py:energy --at '1.0, np.zeros((2, 2))' --check
  python -m tapegrad grad numpy.linalg:det --at '2.0 * np.eye(2)' --hessian
  python -m tapegrad grad model.py:loss --at 'np.ones(3)' --jvp 'np.array([1.0, 0.0, 0.0])'
  python -m tapegrad grad model.py:loss --at 'np.ones(3)' --tape --profile --html tape.html

exit status: 0 success, 1 the check failed, 2 bad input."""

CHECK = f"""\
{POINT}
The laws are those of tapegrad.testing.check: the gradient against differences, forward against
reverse mode, second derivatives, vmap, compile and more. What may differ follows from the dtypes
and the measured noise of the function. What is wrong is named: the argument, the element, and the
operation whose own rule is wrong.

examples:
  python -m tapegrad check model.py:loss --at 'np.ones(3)'
  python -m tapegrad check model.py:loss --at 'np.ones(3)' --laws gradient,symmetric_hessian
  python -m tapegrad check model.py:hinge --at '0.0' --kinks fail
  python -m tapegrad check scipy.special:gammaln --at '2.5' --differences longdouble --seed 7

exit status: 0 all laws hold, 1 one does not, 2 bad input."""

RUN = """\
example:
  python -m tapegrad run --adopt filterpy fit.py data.csv

exit status: that of the script; 2 bad input."""

TORCH = """\
example:
  python -m tapegrad torch train.py --epochs 3

exit status: that of the script; 2 bad input."""


def parser() -> argparse.ArgumentParser:
    """Describe the options of every subcommand."""
    top = argparse.ArgumentParser(
        prog="python -m tapegrad", description="Derivatives of plain NumPy programs."
    )
    top.add_argument("--version", action="version", version=f"tapegrad {tapegrad.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_demo(commands)
    _add_grad(commands)
    _add_check(commands)
    _add_run(commands)
    _add_torch(commands)
    return top


def _add_demo(commands: Any) -> None:
    """The options of `demo`: which example, and where what it draws goes."""
    demo = commands.add_parser(
        "demo", help="learn to read handwritten digits, or run one of the gallery's examples"
    )
    what = demo.add_mutually_exclusive_group()
    what.add_argument("name", nargs="?", metavar="NAME", help="an example of the gallery")
    what.add_argument("--list", action="store_true", help="list the gallery's examples")
    demo.add_argument(
        "--out",
        metavar="PATH",
        help="where to draw the tape: .svg, .dot or .mmd (default tapegrad-demo.svg), with a page "
        ".html beside it; of an example, its picture: .png, .svg, .pdf or .webp (default "
        "tapegrad-NAME.png)",
    )
    demo.add_argument("--show", action="store_true", help="open the page of the tape in a browser")


def _add_grad(commands: Any) -> None:
    """The options of `grad`: what is computed, and what is shown beside it."""
    grad = commands.add_parser(
        "grad",
        help="differentiate a function of your own",
        epilog=GRAD,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_point(grad)
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
    order.add_argument(
        "--jvp",
        metavar="EXPR",
        help="print the derivative along a direction, one tangent for each argument of --at",
    )
    _add_views(grad)


def _add_point(command: argparse.ArgumentParser) -> None:
    command.add_argument("target", metavar="FILE.py:FUNCTION", help="or package.module:FUNCTION")
    command.add_argument(
        "--at", required=True, metavar="EXPR", help="the point: a Python expression"
    )
    _add_adopt(command)


def _add_adopt(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--adopt",
        metavar="PACKAGE,...",
        help="packages in which numpy, math and scipy mean tapegrad's, as in the file itself",
    )


def _add_run(commands: Any) -> None:
    """The options of `run`: the script, what it is given, and what is adopted."""
    run = commands.add_parser(
        "run",
        help="run a script in which numpy, math and scipy mean tapegrad's",
        epilog=RUN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_adopt(run)
    _add_script(run)


def _add_torch(commands: Any) -> None:
    """The options of `torch`: the script, and what it is given."""
    command = commands.add_parser(
        "torch",
        help="run a script in which torch means tapegrad.torch",
        epilog=TORCH,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_script(command)


def _add_script(command: argparse.ArgumentParser) -> None:
    command.add_argument("script", metavar="FILE.py")
    command.add_argument("args", nargs=argparse.REMAINDER, help="what the script is given")


def _add_check(commands: Any) -> None:
    """The options of `check`: which laws, and how they are asked."""
    check = commands.add_parser(
        "check",
        help="hold a function of your own to the laws that derivatives keep",
        epilog=CHECK,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_point(check)
    check.add_argument(
        "--laws", default="all", metavar="NAME,...", help="which laws (default: all)"
    )
    check.add_argument(
        "--kinks",
        choices=("accept", "move", "fail"),
        default="accept",
        help="where there is no derivative: accept what lies between the slopes of the sides, "
        "move away from there, or fail (default %(default)s)",
    )
    check.add_argument("--seed", type=int, default=0, help="of the random directions (default 0)")
    differences = check.add_mutually_exclusive_group()
    differences.add_argument(
        "--differences",
        choices=("auto", "real", "complex step", "longdouble", "mpmath"),
        default="auto",
        help="what derivatives are measured by (default %(default)s)",
    )
    differences.add_argument(
        "--mpmath",
        dest="differences",
        action="store_const",
        const="mpmath",
        help="the same as --differences mpmath: 50 digits",
    )
    for name in ("rtol", "atol"):
        check.add_argument(
            f"--{name}", type=float, metavar="X", help="what may differ, for those who know better"
        )


def _add_views(grad: argparse.ArgumentParser) -> None:
    grad.add_argument("--check", action="store_true", help="compare with central differences")
    grad.add_argument(
        "--svg", metavar="PATH", help="draw the tape; PATH may also end in .dot or .mmd"
    )
    grad.add_argument("--tape", action="store_true", help="print the tape as a table")
    grad.add_argument("--html", metavar="PATH", help="write the tape as a page for a browser")
    grad.add_argument(
        "--profile",
        action="store_true",
        help="print the time and memory of operations and lines, forward and backward",
    )
    grad.add_argument(
        "--debug-nans",
        action="store_true",
        help="stop at the first operation that makes a NaN or an infinity, and say where",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status; bad input is 2, and one line that says why."""
    options = parser().parse_args(arguments)
    command = importlib.import_module(f"tapegrad._cli._{options.command}")
    with catching_warnings():
        warnings.showwarning = _show_warning
        try:
            status: int = command.run(options)
            sys.stdout.flush()  # a pipe that is closed is met here, not while Python ends
        except BrokenPipeError:
            status = _reader_left()
        except CommandError as error:
            print(f"tapegrad: {error}", file=sys.stderr)
            status = 2
        except KeyboardInterrupt:
            print("tapegrad: interrupted", file=sys.stderr)
            status = 130
    return status


def _reader_left() -> int:
    """The exit status where nobody reads what is printed any more, as in `| head -1`."""
    # Buffered output goes nowhere, as Python flushes once more when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13  # of a program that SIGPIPE ended


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"tapegrad: warning: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
