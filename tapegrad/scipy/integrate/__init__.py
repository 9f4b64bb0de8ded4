"""`scipy.integrate`: integrals and solutions of differential equations, with their derivatives.

By the limits, the first state, the times, `args`, and whatever traced values the functions close
over. Of plain values all are SciPy's own. Names that have no derivative here are SciPy's objects:
`complex_ode` and the classes of solvers are told by the caller to take each step, and hold state
of their own; take `solve_ivp`, or `ode`.
"""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.integrate import _boundary as _boundary
from tapegrad.scipy.integrate._elements import nsum, tanhsinh
from tapegrad.scipy.integrate._initial_value import odeint, solve_ivp
from tapegrad.scipy.integrate._ode import ode
from tapegrad.scipy.integrate._quadrature import (
    cubature,
    dblquad,
    fixed_quad,
    newton_cotes,
    nquad,
    qmc_quad,
    quad,
    quad_vec,
    tplquad,
)
from tapegrad.scipy.integrate._samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)

__getattr__, __dir__ = namespace(__name__, "scipy.integrate")
globals().update(copied(__name__))

__all__ = list(shared_names(__name__, "scipy.integrate"))
