"""`scipy.integrate` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array, Solution
from typing import Any, Literal, overload
from scipy.integrate import BDF as BDF
from scipy.integrate import DOP853 as DOP853
from scipy.integrate import DenseOutput as DenseOutput
from scipy.integrate import IntegrationWarning as IntegrationWarning
from scipy.integrate import LSODA as LSODA
from scipy.integrate import ODEintWarning as ODEintWarning
from scipy.integrate import OdeSolution as OdeSolution
from scipy.integrate import OdeSolver as OdeSolver
from scipy.integrate import RK23 as RK23
from scipy.integrate import RK45 as RK45
from scipy.integrate import Radau as Radau
from scipy.integrate import complex_ode as complex_ode
from scipy.integrate import dop as dop
from scipy.integrate import lsoda as lsoda
from scipy.integrate import odepack as odepack
from scipy.integrate import quadpack as quadpack
from scipy.integrate import vode as vode
from tapegrad.scipy.integrate._ode import ode as ode

def cubature(f: Any, a: Any, b: Any, *, args: Any = ..., **options: Any) -> Any: ...
def cumulative_simpson(
    y: Any,
    *,
    x: Any = None,
    dx: Any = 1.0,
    axis: Any = -1,
    initial: Any = None,
) -> Array: ...
def cumulative_trapezoid(
    y: Any,
    x: Any = None,
    dx: Any = 1.0,
    axis: Any = -1,
    initial: Any = None,
) -> Array: ...
def dblquad(
    func: Any,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = ...,
    epsabs: Any = 1.49e-08,
    epsrel: Any = 1.49e-08,
) -> tuple[float, float]: ...
def fixed_quad(func: Any, a: Any, b: Any, args: Any = ..., n: Any = 5) -> Any: ...
def lebedev_rule(n: Any) -> Any: ...
def newton_cotes(rn: Any, equal: Any = 0) -> tuple[Array, float]: ...
@overload
def nquad(
    func: Any,
    ranges: Any,
    args: Any = None,
    opts: Any = None,
    full_output: Literal[False] = False,
) -> tuple[float, float]: ...
@overload
def nquad(
    func: Any,
    ranges: Any,
    args: Any = None,
    opts: Any = None,
    *,
    full_output: Literal[True],
) -> tuple[Any, ...]: ...
@overload
def nquad(
    func: Any,
    ranges: Any,
    args: Any = None,
    opts: Any = None,
    full_output: bool = False,
) -> Any: ...
def nsum(f: Any, a: Any, b: Any, *, step: Any = 1, args: Any = ..., **options: Any) -> Any: ...
def odeint(
    func: Any,
    y0: Any,
    t: Any,
    args: Any = ...,
    Dfun: Any = None,
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: Any = 0.0,
    hmax: Any = 0.0,
    hmin: Any = 0.0,
    ixpr: Any = 0,
    mxstep: Any = 0,
    mxhnil: Any = 0,
    mxordn: Any = 12,
    mxords: Any = 5,
    printmessg: Any = 0,
    tfirst: bool = False,
    *,
    gradient: Any = 'adjoint',
    adjoint: Any = None,
    checkpoints: Any = None,
) -> Any: ...
def qmc_quad(func: Any, a: Any, b: Any, **options: Any) -> Any: ...
@overload
def quad(
    func: Any,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Literal[0, False] = 0,
    epsabs: float = 1.49e-08,
    epsrel: float = 1.49e-08,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    complex_func: Literal[False] = False,
    **options: Any,
) -> tuple[float, float]: ...
@overload
def quad(
    func: Any,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-08,
    epsrel: float = 1.49e-08,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    **options: Any,
) -> tuple[Any, ...]: ...
def quad_vec(
    f: Any,
    a: Any,
    b: Any,
    epsabs: Any = 1e-200,
    epsrel: Any = 1e-08,
    norm: Any = '2',
    cache_size: Any = 100000000.0,
    limit: Any = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = ...,
) -> Any: ...
def romb(y: Any, dx: Any = 1.0, axis: Any = -1, show: bool = False) -> Any: ...
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: Any = -1) -> Any: ...
def solve_bvp(
    fun: Any,
    bc: Any,
    x: Any,
    y: Any,
    p: Any = None,
    S: Any = None,
    fun_jac: Any = None,
    bc_jac: Any = None,
    tol: Any = 0.001,
    max_nodes: Any = 1000,
    verbose: Any = 0,
    bc_tol: Any = None,
) -> Any: ...
def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = 'RK45',
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    gradient: Any = 'adjoint',
    adjoint: Any = None,
    checkpoints: Any = None,
    **options: Any,
) -> Solution: ...
def tanhsinh(f: Any, a: Any, b: Any, *, args: Any = ..., **options: Any) -> Any: ...
def tplquad(
    func: Any,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = ...,
    epsabs: Any = 1.49e-08,
    epsrel: Any = 1.49e-08,
) -> tuple[float, float]: ...
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any: ...
