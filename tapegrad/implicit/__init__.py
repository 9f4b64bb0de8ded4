"""Roots, fixed points, minima and linear systems as differentiable functions of their parameters.

The derivative is that of the implicit function theorem at the solution. The solver is not
differentiated: it may be any program, and nothing of it is kept.

>>> import numpy as np, tapegrad
>>> from tapegrad import implicit
>>> def cube_root(a):
...     return implicit.root(lambda x: x**3 - a, 1.0)
>>> float(tapegrad.grad(cube_root)(8.0)).__round__(12) == round(1 / 12, 12)
True
"""

from __future__ import annotations

from tapegrad.implicit._equations import solve
from tapegrad.implicit._minima import Multipliers, argmin
from tapegrad.implicit._roots import custom_fixed_point, custom_root, fixed_point, root
from tapegrad.implicit._systems import ConvergenceError

__all__ = [
    "ConvergenceError",
    "Multipliers",
    "argmin",
    "custom_fixed_point",
    "custom_root",
    "fixed_point",
    "root",
    "solve",
]
