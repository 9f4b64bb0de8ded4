"""`scipy.optimize`: solvers whose solutions have derivatives.

They are those by args, bounds, data, and whatever traced values the functions close over, to any
order, by the implicit function theorem at the x that SciPy found; by a start or a bracket they are
zero. SciPy's solver runs on plain values, so results, counts, messages and errors are SciPy's.
Where a derivative does not exist, asking for it raises: the solver has not converged
(ConvergenceError), the Jacobian or Hessian is singular, a constraint holds without pushing, or it
is that of a solver's own estimate, as hess_inv (NotDifferentiableError). What is listed nowhere
here is SciPy's own.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy import optimize
>>> def side(area):
...     return optimize.brentq(lambda x: x * x - area, 0.0, 10.0)
>>> float(tapegrad.grad(side)(9.0))
0.16666666666666666
>>> def nearest(center):
...     line = {"type": "eq", "fun": lambda x: x[0] + x[1] - 1}
...     distance = lambda x: np.sum((x - center) ** 2)
...     return optimize.minimize(distance, np.zeros(2), constraints=line).x
>>> np.round(tapegrad.jacobian(nearest)(np.array([1.0, 2.0])), 6)
array([[ 0.5, -0.5],
       [-0.5,  0.5]])
"""

from __future__ import annotations

from typing import Any

import scipy.optimize

from tapegrad._core.values import lift
from tapegrad.scipy._mirror import namespace
from tapegrad.scipy.optimize._calls import solver
from tapegrad.scipy.optimize._conditions import Roots, fixed_points, minima
from tapegrad.scipy.optimize._fits import curve_fit as _curve_fit
from tapegrad.scipy.optimize._fits import least_squares as _least_squares
from tapegrad.scipy.optimize._fits import linear as _linear

__getattr__, __dir__ = namespace(__name__, "scipy.optimize")

# What holds at the solutions of each solver. at: where a tuple of results has the value there.
_HOLDS = {
    Roots: "brentq brenth bisect ridder toms748 newton root_scalar fsolve root",
    fixed_points: "fixed_point",
    minima(): """
        minimize minimize_scalar fmin_tnc fmin_cobyla differential_evolution basinhopping
        dual_annealing shgo
    """,
    minima(lenient=True): "direct",
    minima(at=1): """
        fmin fmin_bfgs fmin_cg fmin_ncg fmin_powell fmin_l_bfgs_b fmin_slsqp brent golden
    """,
    minima("x1", "x2", at=1): "fminbound",
    _least_squares: "least_squares leastsq",
    _curve_fit: "curve_fit",
    _linear: "nnls lsq_linear",
}
_NAMES = {name: holds for holds, names in _HOLDS.items() for name in names.split()}

globals().update({name: solver(name, holds) for name, holds in _NAMES.items()})


class Bounds(scipy.optimize.Bounds):
    """SciPy's Bounds, of traced values too."""

    def __init__(self, lb: Any = -float("inf"), ub: Any = float("inf"), keep_feasible: Any = False) -> None:
        super().__init__(lift(lb), lift(ub), keep_feasible)


__all__ = ["Bounds", *sorted(_NAMES)]
