"""Checks of derivatives, for programs and for rules: tapegrad's own, and those that users declare.

`check` asks a function for every law that derivatives keep (`laws` has one function for each),
with bounds that follow from dtypes and measured noise; `blame` names the operation of a program
whose own derivative is wrong. `check_grads` compares the derivatives of
a function with central differences and with each other; `check_rule` holds one primitive to every
law that a rule has to keep. `arrays` and `shapes` are Hypothesis strategies for their arguments;
they need the extra `tapegrad[test]`.

>>> import numpy as np
>>> from tapegrad.testing import check, check_grads, check_rule
>>> check(lambda x: np.sum(np.sin(x) ** 2), (np.array([0.5, 1.5]),)).passed
True
>>> check_grads(lambda x: np.sum(np.sin(x) ** 2), (np.array([0.5, 1.5]),))
>>> check_rule(np.multiply, np.array([1.0, 2.0]), np.array([[3.0], [4.0]]))
"""

from typing import TYPE_CHECKING

from tapegrad.testing import laws
from tapegrad.testing._blame import Blame, blame
from tapegrad.testing._compare.compare import compare
from tapegrad.testing._compare.table import Comparison
from tapegrad.testing._coverage.block import rule_coverage
from tapegrad.testing._coverage.report import RuleCoverage
from tapegrad.testing._grads import check_grads
from tapegrad.testing._laws.check import check
from tapegrad.testing._laws.report import Finding, LawError, Report
from tapegrad.testing._programs.drawing import programs
from tapegrad.testing._programs.own import own_operation
from tapegrad.testing._programs.program import Program
from tapegrad.testing._programs.shrinking import shrink
from tapegrad.testing._rules import check_rule
from tapegrad.testing._strategies.arrays import arrays
from tapegrad.testing._strategies.shapes import shapes

if TYPE_CHECKING:
    from tapegrad.testing._machines.machine import GraphError as GraphError
    from tapegrad.testing._machines.machine import GraphMachine as GraphMachine


def __getattr__(name: str) -> object:
    """Import what is made of Hypothesis's classes when it is asked for."""
    if name not in ("GraphError", "GraphMachine"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tapegrad.testing._machines import machine
    except ModuleNotFoundError as error:
        raise ImportError(
            f"tapegrad.testing.{name} needs Hypothesis. Install tapegrad[test]."
        ) from error
    return getattr(machine, name)


# Without the two names that need Hypothesis: `import *` has to work where it is missing.
__all__ = [
    "Blame",
    "Comparison",
    "Finding",
    "LawError",
    "Program",
    "Report",
    "RuleCoverage",
    "arrays",
    "blame",
    "check",
    "check_grads",
    "check_rule",
    "compare",
    "laws",
    "own_operation",
    "programs",
    "rule_coverage",
    "shapes",
    "shrink",
]
