"""`scipy.optimize` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array
from typing import Any, Literal, overload
from scipy.optimize import BFGS as BFGS
from scipy.optimize import BroydenFirst as BroydenFirst
from scipy.optimize import HessianUpdateStrategy as HessianUpdateStrategy
from scipy.optimize import InverseJacobian as InverseJacobian
from scipy.optimize import KrylovJacobian as KrylovJacobian
from scipy.optimize import LbfgsInvHessProduct as LbfgsInvHessProduct
from scipy.optimize import LinearConstraint as LinearConstraint
from scipy.optimize import NoConvergence as NoConvergence
from scipy.optimize import NonlinearConstraint as NonlinearConstraint
from scipy.optimize import OptimizeResult as OptimizeResult
from scipy.optimize import OptimizeWarning as OptimizeWarning
from scipy.optimize import RootResults as RootResults
from scipy.optimize import SR1 as SR1
from scipy.optimize import cobyla as cobyla
from scipy.optimize import lbfgsb as lbfgsb
from scipy.optimize import linesearch as linesearch
from scipy.optimize import minpack as minpack
from scipy.optimize import minpack2 as minpack2
from scipy.optimize import moduleTNC as moduleTNC
from scipy.optimize import nonlin as nonlin
from scipy.optimize import optimize as optimize
from scipy.optimize import slsqp as slsqp
from scipy.optimize import tnc as tnc
from scipy.optimize import zeros as zeros
from tapegrad.scipy.optimize._conditions import Bounds as Bounds

def anderson(
    F: Any,
    xin: Any,
    iter: Any = None,
    alpha: Any = None,
    w0: Any = 0.01,
    M: Any = 5,
    verbose: bool = False,
    maxiter: Any = None,
    f_tol: Any = None,
    f_rtol: Any = None,
    x_tol: Any = None,
    x_rtol: Any = None,
    tol_norm: Any = None,
    line_search: Any = 'armijo',
    callback: Any = None,
    **kw: Any,
) -> Any: ...
def approx_fprime(xk: Any, f: Any, epsilon: Any = ..., *args: Any) -> Any: ...
def basinhopping(
    func: Any,
    x0: Any,
    niter: Any = 100,
    T: Any = 1.0,
    stepsize: Any = 0.5,
    minimizer_kwargs: Any = None,
    take_step: Any = None,
    accept_test: Any = None,
    callback: Any = None,
    interval: Any = 50,
    disp: bool = False,
    niter_success: Any = None,
    rng: Any = None,
    *,
    target_accept_rate: Any = 0.5,
    stepwise_factor: Any = 0.9,
    seed: Any = None,
) -> OptimizeResult: ...
@overload
def bisect(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: Literal[False] = False,
    disp: bool = True,
) -> float: ...
@overload
def bisect(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    *,
    full_output: Literal[True],
    disp: bool = True,
) -> tuple[float, Any]: ...
@overload
def bisect(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any: ...
def bracket(
    func: Any,
    xa: Any = 0.0,
    xb: Any = 1.0,
    args: Any = ...,
    grow_limit: Any = 110.0,
    maxiter: Any = 1000,
) -> Any: ...
def brent(
    func: Any,
    args: Any = ...,
    brack: Any = None,
    tol: Any = 1.48e-08,
    full_output: Any = 0,
    maxiter: Any = 500,
) -> Any: ...
@overload
def brenth(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: Literal[False] = False,
    disp: bool = True,
) -> float: ...
@overload
def brenth(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    *,
    full_output: Literal[True],
    disp: bool = True,
) -> tuple[float, Any]: ...
@overload
def brenth(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any: ...
@overload
def brentq(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: Literal[False] = False,
    disp: bool = True,
) -> float: ...
@overload
def brentq(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    *,
    full_output: Literal[True],
    disp: bool = True,
) -> tuple[float, Any]: ...
@overload
def brentq(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any: ...
def broyden1(
    F: Any,
    xin: Any,
    iter: Any = None,
    alpha: Any = None,
    reduction_method: Any = 'restart',
    max_rank: Any = None,
    verbose: bool = False,
    maxiter: Any = None,
    f_tol: Any = None,
    f_rtol: Any = None,
    x_tol: Any = None,
    x_rtol: Any = None,
    tol_norm: Any = None,
    line_search: Any = 'armijo',
    callback: Any = None,
    **kw: Any,
) -> Any: ...
def broyden2(
    F: Any,
    xin: Any,
    iter: Any = None,
    alpha: Any = None,
    reduction_method: Any = 'restart',
    max_rank: Any = None,
    verbose: bool = False,
    maxiter: Any = None,
    f_tol: Any = None,
    f_rtol: Any = None,
    x_tol: Any = None,
    x_rtol: Any = None,
    tol_norm: Any = None,
    line_search: Any = 'armijo',
    callback: Any = None,
    **kw: Any,
) -> Any: ...
def brute(
    func: Any,
    ranges: Any,
    args: Any = ...,
    Ns: Any = 20,
    full_output: Any = 0,
    finish: Any = ...,
    disp: bool = False,
    workers: Any = 1,
) -> Any: ...
def check_grad(
    func: Any,
    grad: Any,
    x0: Any,
    *args: Any,
    epsilon: Any = ...,
    direction: Any = 'all',
    rng: Any = None,
    seed: Any = None,
) -> Any: ...
@overload
def curve_fit(
    f: Any,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    bounds: Any = ...,
    method: Any = None,
    jac: Any = None,
    *,
    full_output: Literal[False] = False,
    nan_policy: Any = None,
    **kwargs: Any,
) -> tuple[Array, Array]: ...
@overload
def curve_fit(
    f: Any,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    bounds: Any = ...,
    method: Any = None,
    jac: Any = None,
    *,
    full_output: Literal[True],
    nan_policy: Any = None,
    **kwargs: Any,
) -> tuple[Any, ...]: ...
@overload
def curve_fit(
    f: Any,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    bounds: Any = ...,
    method: Any = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: Any = None,
    **kwargs: Any,
) -> Any: ...
def diagbroyden(
    F: Any,
    xin: Any,
    iter: Any = None,
    alpha: Any = None,
    verbose: bool = False,
    maxiter: Any = None,
    f_tol: Any = None,
    f_rtol: Any = None,
    x_tol: Any = None,
    x_rtol: Any = None,
    tol_norm: Any = None,
    line_search: Any = 'armijo',
    callback: Any = None,
    **kw: Any,
) -> Any: ...
def differential_evolution(
    func: Any,
    bounds: Any,
    args: Any = ...,
    strategy: Any = 'best1bin',
    maxiter: Any = 1000,
    popsize: Any = 15,
    tol: Any = 0.01,
    mutation: Any = ...,
    recombination: Any = 0.7,
    rng: Any = None,
    callback: Any = None,
    disp: bool = False,
    polish: bool = True,
    init: Any = 'latinhypercube',
    atol: Any = 0,
    updating: Any = 'immediate',
    workers: Any = 1,
    constraints: Any = ...,
    x0: Any = None,
    *,
    integrality: Any = None,
    vectorized: bool = False,
    seed: Any = None,
) -> OptimizeResult: ...
def direct(
    func: Any,
    bounds: Any,
    *,
    args: Any = ...,
    eps: Any = 0.0001,
    maxfun: Any = None,
    maxiter: Any = 1000,
    locally_biased: bool = True,
    f_min: Any = ...,
    f_min_rtol: Any = 0.0001,
    vol_tol: Any = 1e-16,
    len_tol: Any = 1e-06,
    callback: Any = None,
) -> OptimizeResult: ...
def dual_annealing(
    func: Any,
    bounds: Any,
    args: Any = ...,
    maxiter: Any = 1000,
    minimizer_kwargs: Any = None,
    initial_temp: Any = 5230.0,
    restart_temp_ratio: Any = 2e-05,
    visit: Any = 2.62,
    accept: Any = -5.0,
    maxfun: Any = 10000000.0,
    rng: Any = None,
    no_local_search: bool = False,
    callback: Any = None,
    x0: Any = None,
    *,
    seed: Any = None,
) -> OptimizeResult: ...
def excitingmixing(
    F: Any,
    xin: Any,
    iter: Any = None,
    alpha: Any = None,
    alphamax: Any = 1.0,
    verbose: bool = False,
    maxiter: Any = None,
    f_tol: Any = None,
    f_rtol: Any = None,
    x_tol: Any = None,
    x_rtol: Any = None,
    tol_norm: Any = None,
    line_search: Any = 'armijo',
    callback: Any = None,
    **kw: Any,
) -> Any: ...
def fixed_point(
    func: Any,
    x0: Any,
    args: Any = ...,
    xtol: Any = 1e-08,
    maxiter: Any = 500,
    method: Any = 'del2',
) -> Any: ...
def fmin(
    func: Any,
    x0: Any,
    args: Any = ...,
    xtol: Any = 0.0001,
    ftol: Any = 0.0001,
    maxiter: Any = None,
    maxfun: Any = None,
    full_output: Any = 0,
    disp: Any = 1,
    retall: Any = 0,
    callback: Any = None,
    initial_simplex: Any = None,
) -> Any: ...
def fmin_bfgs(
    f: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = ...,
    gtol: Any = 1e-05,
    norm: Any = ...,
    epsilon: Any = ...,
    maxiter: Any = None,
    full_output: Any = 0,
    disp: Any = 1,
    retall: Any = 0,
    callback: Any = None,
    xrtol: Any = 0,
    c1: Any = 0.0001,
    c2: Any = 0.9,
    hess_inv0: Any = None,
) -> Any: ...
def fmin_cg(
    f: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = ...,
    gtol: Any = 1e-05,
    norm: Any = ...,
    epsilon: Any = ...,
    maxiter: Any = None,
    full_output: Any = 0,
    disp: Any = 1,
    retall: Any = 0,
    callback: Any = None,
    c1: Any = 0.0001,
    c2: Any = 0.4,
) -> Any: ...
def fmin_cobyla(
    func: Any,
    x0: Any,
    cons: Any,
    args: Any = ...,
    consargs: Any = None,
    rhobeg: Any = 1.0,
    rhoend: Any = 0.0001,
    maxfun: Any = 1000,
    disp: Any = None,
    catol: Any = 0.0002,
    *,
    callback: Any = None,
) -> Any: ...
def fmin_l_bfgs_b(
    func: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = ...,
    approx_grad: Any = 0,
    bounds: Any = None,
    m: Any = 10,
    factr: Any = 10000000.0,
    pgtol: Any = 1e-05,
    epsilon: Any = 1e-08,
    iprint: Any = ...,
    maxfun: Any = 15000,
    maxiter: Any = 15000,
    disp: Any = ...,
    callback: Any = None,
    maxls: Any = 20,
) -> Any: ...
def fmin_ncg(
    f: Any,
    x0: Any,
    fprime: Any,
    fhess_p: Any = None,
    fhess: Any = None,
    args: Any = ...,
    avextol: Any = 1e-05,
    epsilon: Any = ...,
    maxiter: Any = None,
    full_output: Any = 0,
    disp: Any = 1,
    retall: Any = 0,
    callback: Any = None,
    c1: Any = 0.0001,
    c2: Any = 0.9,
) -> Any: ...
def fmin_powell(
    func: Any,
    x0: Any,
    args: Any = ...,
    xtol: Any = 0.0001,
    ftol: Any = 0.0001,
    maxiter: Any = None,
    maxfun: Any = None,
    full_output: Any = 0,
    disp: Any = 1,
    retall: Any = 0,
    callback: Any = None,
    direc: Any = None,
) -> Any: ...
def fmin_slsqp(
    func: Any,
    x0: Any,
    eqcons: Any = ...,
    f_eqcons: Any = None,
    ieqcons: Any = ...,
    f_ieqcons: Any = None,
    bounds: Any = ...,
    fprime: Any = None,
    fprime_eqcons: Any = None,
    fprime_ieqcons: Any = None,
    args: Any = ...,
    iter: Any = 100,
    acc: Any = 1e-06,
    iprint: Any = 1,
    disp: Any = None,
    full_output: Any = 0,
    epsilon: Any = ...,
    callback: Any = None,
) -> Any: ...
def fmin_tnc(
    func: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = ...,
    approx_grad: Any = 0,
    bounds: Any = None,
    epsilon: Any = 1e-08,
    scale: Any = None,
    offset: Any = None,
    messages: Any = 15,
    maxCGit: Any = -1,
    maxfun: Any = None,
    eta: Any = -1,
    stepmx: Any = 0,
    accuracy: Any = 0,
    fmin: Any = 0,
    ftol: Any = -1,
    xtol: Any = -1,
    pgtol: Any = -1,
    rescale: Any = -1,
    disp: Any = None,
    callback: Any = None,
) -> Any: ...
def fminbound(
    func: Any,
    x1: Any,
    x2: Any,
    args: Any = ...,
    xtol: Any = 1e-05,
    maxfun: Any = 500,
    full_output: Any = 0,
    disp: Any = 1,
) -> Any: ...
def fsolve(
    func: Any,
    x0: Any,
    args: Any = ...,
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: Any = 1.49012e-08,
    maxfev: Any = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: Any = 100,
    diag: Any = None,
) -> Any: ...
def golden(
    func: Any,
    args: Any = ...,
    brack: Any = None,
    tol: Any = ...,
    full_output: Any = 0,
    maxiter: Any = 5000,
) -> Any: ...
def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any: ...
def least_squares(
    fun: Any,
    x0: Any,
    jac: Any = '2-point',
    bounds: Any = ...,
    method: Any = 'trf',
    ftol: Any = 1e-08,
    xtol: Any = 1e-08,
    gtol: Any = 1e-08,
    x_scale: Any = None,
    loss: Any = 'linear',
    f_scale: Any = 1.0,
    diff_step: Any = None,
    tr_solver: Any = None,
    tr_options: Any = None,
    jac_sparsity: Any = None,
    max_nfev: Any = None,
    verbose: Any = 0,
    args: Any = ...,
    kwargs: Any = None,
    callback: Any = None,
    workers: Any = None,
) -> OptimizeResult: ...
def leastsq(
    func: Any,
    x0: Any,
    args: Any = ...,
    Dfun: Any = None,
    full_output: bool = False,
    col_deriv: bool = False,
    ftol: Any = 1.49012e-08,
    xtol: Any = 1.49012e-08,
    gtol: Any = 0.0,
    maxfev: Any = 0,
    epsfcn: Any = None,
    factor: Any = 100,
    diag: Any = None,
) -> Any: ...
def line_search(
    f: Any,
    myfprime: Any,
    xk: Any,
    pk: Any,
    gfk: Any = None,
    old_fval: Any = None,
    old_old_fval: Any = None,
    args: Any = ...,
    c1: Any = 0.0001,
    c2: Any = 0.9,
    amax: Any = None,
    extra_condition: Any = None,
    maxiter: Any = 10,
) -> Any: ...
def linear_sum_assignment(*args: Any, **kwargs: Any) -> Any: ...
def linearmixing(
    F: Any,
    xin: Any,
    iter: Any = None,
    alpha: Any = None,
    verbose: bool = False,
    maxiter: Any = None,
    f_tol: Any = None,
    f_rtol: Any = None,
    x_tol: Any = None,
    x_rtol: Any = None,
    tol_norm: Any = None,
    line_search: Any = 'armijo',
    callback: Any = None,
    **kw: Any,
) -> Any: ...
def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = ...,
    method: Any = 'highs',
    callback: Any = None,
    options: Any = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any: ...
def linprog_verbose_callback(res: Any) -> Any: ...
def lsq_linear(
    A: Any,
    b: Any,
    bounds: Any = ...,
    method: Any = 'trf',
    tol: Any = 1e-10,
    lsq_solver: Any = None,
    lsmr_tol: Any = None,
    max_iter: Any = None,
    verbose: Any = 0,
    *,
    lsmr_maxiter: Any = None,
) -> OptimizeResult: ...
def milp(
    c: Any,
    *,
    integrality: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    options: Any = None,
) -> Any: ...
def minimize(
    fun: Any,
    x0: Any,
    args: Any = ...,
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = ...,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> OptimizeResult: ...
def minimize_scalar(
    fun: Any,
    bracket: Any = None,
    bounds: Any = None,
    args: Any = ...,
    method: Any = None,
    tol: Any = None,
    options: Any = None,
) -> OptimizeResult: ...
def newton(
    func: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = ...,
    tol: Any = 1.48e-08,
    maxiter: Any = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: Any = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any: ...
def newton_krylov(
    F: Any,
    xin: Any,
    iter: Any = None,
    rdiff: Any = None,
    method: Any = 'lgmres',
    inner_maxiter: Any = 20,
    inner_M: Any = None,
    outer_k: Any = 10,
    verbose: bool = False,
    maxiter: Any = None,
    f_tol: Any = None,
    f_rtol: Any = None,
    x_tol: Any = None,
    x_rtol: Any = None,
    tol_norm: Any = None,
    line_search: Any = 'armijo',
    callback: Any = None,
    **kw: Any,
) -> Any: ...
def nnls(A: Any, b: Any, *, maxiter: Any = None, atol: Any = ...) -> tuple[Array, float]: ...
def quadratic_assignment(A: Any, B: Any, method: Any = 'faq', options: Any = None) -> Any: ...
@overload
def ridder(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: Literal[False] = False,
    disp: bool = True,
) -> float: ...
@overload
def ridder(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    *,
    full_output: Literal[True],
    disp: bool = True,
) -> tuple[float, Any]: ...
@overload
def ridder(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any: ...
def root(
    fun: Any,
    x0: Any,
    args: Any = ...,
    method: Any = 'hybr',
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> OptimizeResult: ...
def root_scalar(
    f: Any,
    args: Any = ...,
    method: Any = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: Any = None,
    rtol: Any = None,
    maxiter: Any = None,
    options: Any = None,
) -> RootResults: ...
def rosen(x: Any) -> Any: ...
def rosen_der(x: Any) -> Any: ...
def rosen_hess(x: Any) -> Any: ...
def rosen_hess_prod(x: Any, p: Any) -> Any: ...
def shgo(
    func: Any,
    bounds: Any,
    args: Any = ...,
    constraints: Any = None,
    n: Any = 100,
    iters: Any = 1,
    callback: Any = None,
    minimizer_kwargs: Any = None,
    options: Any = None,
    sampling_method: Any = 'simplicial',
    *,
    workers: Any = 1,
) -> OptimizeResult: ...
def show_options(solver: Any = None, method: Any = None, disp: bool = True) -> Any: ...
@overload
def toms748(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    k: Any = 1,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: Literal[False] = False,
    disp: bool = True,
) -> float: ...
@overload
def toms748(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    k: Any = 1,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    *,
    full_output: Literal[True],
    disp: bool = True,
) -> tuple[float, Any]: ...
@overload
def toms748(
    f: Any,
    a: Any,
    b: Any,
    args: Any = ...,
    k: Any = 1,
    xtol: Any = 2e-12,
    rtol: Any = ...,
    maxiter: Any = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any: ...
