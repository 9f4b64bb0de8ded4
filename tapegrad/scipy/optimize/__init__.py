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
>>> float(tapegrad.grad(side)(9.0)).__round__(12) == round(1 / 6, 12)
True
>>> def nearest(center):
...     line = {"type": "eq", "fun": lambda x: x[0] + x[1] - 1}
...     distance = lambda x: np.sum((x - center) ** 2)
...     return optimize.minimize(distance, np.zeros(2), constraints=line).x
>>> np.round(tapegrad.jacobian(nearest)(np.array([1.0, 2.0])), 6)
array([[ 0.5, -0.5],
       [-0.5,  0.5]])
"""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.optimize import _fits
from tapegrad.scipy.optimize._calls import solver
from tapegrad.scipy.optimize._conditions import Bounds, Roots, fixed_points, minima

__getattr__, __dir__ = namespace(__name__, "scipy.optimize")
globals().update(copied(__name__))

# The conditions at the solution of each. at: where a tuple of results has the value there.
anderson = solver("anderson", Roots)
bisect = solver("bisect", Roots)
brenth = solver("brenth", Roots)
brentq = solver("brentq", Roots)
broyden1 = solver("broyden1", Roots)
broyden2 = solver("broyden2", Roots)
diagbroyden = solver("diagbroyden", Roots)
excitingmixing = solver("excitingmixing", Roots)
fsolve = solver("fsolve", Roots)
linearmixing = solver("linearmixing", Roots)
newton = solver("newton", Roots)
newton_krylov = solver("newton_krylov", Roots)
ridder = solver("ridder", Roots)
root = solver("root", Roots)
root_scalar = solver("root_scalar", Roots)
toms748 = solver("toms748", Roots)
fixed_point = solver("fixed_point", fixed_points)
basinhopping = solver("basinhopping", minima())
differential_evolution = solver("differential_evolution", minima())
dual_annealing = solver("dual_annealing", minima())
fmin_cobyla = solver("fmin_cobyla", minima())
fmin_tnc = solver("fmin_tnc", minima())
minimize = solver("minimize", minima())
minimize_scalar = solver("minimize_scalar", minima())
shgo = solver("shgo", minima())
direct = solver("direct", minima(lenient=True))
brent = solver("brent", minima(at=1))
brute = solver("brute", minima(at=1))
fmin = solver("fmin", minima(at=1))
fmin_bfgs = solver("fmin_bfgs", minima(at=1))
fmin_cg = solver("fmin_cg", minima(at=1))
fmin_l_bfgs_b = solver("fmin_l_bfgs_b", minima(at=1))
fmin_ncg = solver("fmin_ncg", minima(at=1))
fmin_powell = solver("fmin_powell", minima(at=1))
fmin_slsqp = solver("fmin_slsqp", minima(at=1))
golden = solver("golden", minima(at=1))
fminbound = solver("fminbound", minima("x1", "x2", at=1))
least_squares = solver("least_squares", _fits.least_squares)
leastsq = solver("leastsq", _fits.least_squares)
curve_fit = solver("curve_fit", _fits.curve_fit)
lsq_linear = solver("lsq_linear", _fits.linear)
nnls = solver("nnls", _fits.linear)

__all__ = list(shared_names(__name__, "scipy.optimize"))
