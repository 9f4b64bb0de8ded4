"""`scipy.special` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from numpy.typing import ArrayLike
from tapegrad.scipy._kinds import Array, Elementwise, ElementwiseFour, ElementwisePair, Shape
from typing import Any, Literal, overload
import numpy as np
from scipy.special import SpecialFunctionError as SpecialFunctionError
from scipy.special import SpecialFunctionWarning as SpecialFunctionWarning
from scipy.special import errstate as errstate

agm: Elementwise
def ai_zeros(nt: Any) -> tuple[Array, Array, Array, Array]: ...
airy: ElementwiseFour
airye: ElementwiseFour
@overload
def assoc_laguerre(x: float, n: float, k: Any = 0.0) -> np.float64: ...
@overload
def assoc_laguerre(x: complex, n: complex, k: Any = 0.0) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def assoc_laguerre(x: ArrayLike, n: ArrayLike, k: Any = 0.0) -> Array: ...
def assoc_legendre_p(*args: Any, **kwargs: Any) -> Any: ...
def assoc_legendre_p_all(*args: Any, **kwargs: Any) -> Any: ...
bdtr: Elementwise
bdtrc: Elementwise
bdtri: Elementwise
bdtrik: Elementwise
bdtrin: Elementwise
bei: Elementwise
def bei_zeros(nt: Any) -> Array: ...
beip: Elementwise
def beip_zeros(nt: Any) -> Array: ...
ber: Elementwise
def ber_zeros(nt: Any) -> Array: ...
def bernoulli(n: Any) -> Array: ...
berp: Elementwise
def berp_zeros(nt: Any) -> Array: ...
besselpoly: Elementwise
beta: Elementwise
betainc: Elementwise
betaincc: Elementwise
betainccinv: Elementwise
betaincinv: Elementwise
betaln: Elementwise
def bi_zeros(nt: Any) -> tuple[Array, Array, Array, Array]: ...
binom: Elementwise
boxcox: Elementwise
boxcox1p: Elementwise
btdtria: Elementwise
btdtrib: Elementwise
def c_roots(n: Any, mu: bool = False) -> Any: ...
cbrt: Elementwise
def cg_roots(n: Any, alpha: Any, mu: bool = False) -> Any: ...
chdtr: Elementwise
chdtrc: Elementwise
chdtri: Elementwise
chdtriv: Elementwise
def chebyc(n: Any, monic: bool = False) -> Any: ...
def chebys(n: Any, monic: bool = False) -> Any: ...
def chebyt(n: Any, monic: bool = False) -> Any: ...
def chebyu(n: Any, monic: bool = False) -> Any: ...
chndtr: Elementwise
chndtridf: Elementwise
chndtrinc: Elementwise
chndtrix: Elementwise
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any: ...
cosdg: Elementwise
cosm1: Elementwise
cotdg: Elementwise
dawsn: Elementwise
digamma: Elementwise
def diric(x: Any, n: Any) -> Any: ...
@overload
def ellip_harm(
    h2: float,
    k2: float,
    n: float,
    p: float,
    s: float,
    signm: Any = 1,
    signn: Any = 1,
) -> np.float64: ...
@overload
def ellip_harm(  # type: ignore[overload-overlap, unused-ignore]
    h2: complex,
    k2: complex,
    n: complex,
    p: complex,
    s: complex,
    signm: Any = 1,
    signn: Any = 1,
) -> np.complex128: ...
@overload
def ellip_harm(
    h2: ArrayLike,
    k2: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    s: ArrayLike,
    signm: Any = 1,
    signn: Any = 1,
) -> Array: ...
@overload
def ellip_harm_2(h2: float, k2: float, n: float, p: float, s: float) -> np.float64: ...
@overload
def ellip_harm_2(  # type: ignore[overload-overlap, unused-ignore]
    h2: complex,
    k2: complex,
    n: complex,
    p: complex,
    s: complex,
) -> np.complex128: ...
@overload
def ellip_harm_2(
    h2: ArrayLike,
    k2: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    s: ArrayLike,
) -> Array: ...
def ellip_normal(h2: Any, k2: Any, n: Any, p: Any) -> Any: ...
ellipe: Elementwise
ellipeinc: Elementwise
ellipj: ElementwiseFour
ellipk: Elementwise
ellipkinc: Elementwise
ellipkm1: Elementwise
elliprc: Elementwise
elliprd: Elementwise
elliprf: Elementwise
elliprg: Elementwise
elliprj: Elementwise
entr: Elementwise
erf: Elementwise
def erf_zeros(nt: Any) -> Array: ...
erfc: Elementwise
erfcinv: Elementwise
erfcx: Elementwise
erfi: Elementwise
erfinv: Elementwise
def euler(n: Any) -> Array: ...
eval_chebyc: Elementwise
eval_chebys: Elementwise
eval_chebyt: Elementwise
eval_chebyu: Elementwise
eval_gegenbauer: Elementwise
eval_genlaguerre: Elementwise
eval_hermite: Elementwise
eval_hermitenorm: Elementwise
eval_jacobi: Elementwise
eval_laguerre: Elementwise
eval_legendre: Elementwise
eval_sh_chebyt: Elementwise
eval_sh_chebyu: Elementwise
eval_sh_jacobi: Elementwise
eval_sh_legendre: Elementwise
exp1: Elementwise
exp10: Elementwise
exp2: Elementwise
expi: Elementwise
expit: Elementwise
expm1: Elementwise
expn: Elementwise
exprel: Elementwise
def factorial(n: Any, exact: bool = False, extend: Any = 'zero') -> Any: ...
def factorial2(n: Any, exact: bool = False, extend: Any = 'zero') -> Any: ...
def factorialk(n: Any, k: Any, exact: bool = False, extend: Any = 'zero') -> Any: ...
fdtr: Elementwise
fdtrc: Elementwise
fdtri: Elementwise
fdtridfd: Elementwise
fresnel: ElementwisePair
def fresnel_zeros(nt: Any) -> tuple[Array, Array]: ...
def fresnelc_zeros(nt: Any) -> Array: ...
def fresnels_zeros(nt: Any) -> Array: ...
gamma: Elementwise
gammainc: Elementwise
gammaincc: Elementwise
gammainccinv: Elementwise
gammaincinv: Elementwise
gammaln: Elementwise
gammasgn: Elementwise
gdtr: Elementwise
gdtrc: Elementwise
gdtria: Elementwise
gdtrib: Elementwise
gdtrix: Elementwise
def gegenbauer(n: Any, alpha: Any, monic: bool = False) -> Any: ...
def genlaguerre(n: Any, alpha: Any, monic: bool = False) -> Any: ...
def geterr() -> Any: ...
@overload
def h1vp(v: float, z: float, n: Any = 1) -> np.float64: ...
@overload
def h1vp(v: complex, z: complex, n: Any = 1) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def h1vp(v: ArrayLike, z: ArrayLike, n: Any = 1) -> Array: ...
@overload
def h2vp(v: float, z: float, n: Any = 1) -> np.float64: ...
@overload
def h2vp(v: complex, z: complex, n: Any = 1) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def h2vp(v: ArrayLike, z: ArrayLike, n: Any = 1) -> Array: ...
def h_roots(n: Any, mu: bool = False) -> Any: ...
hankel1: Elementwise
hankel1e: Elementwise
hankel2: Elementwise
hankel2e: Elementwise
def he_roots(n: Any, mu: bool = False) -> Any: ...
def hermite(n: Any, monic: bool = False) -> Any: ...
def hermitenorm(n: Any, monic: bool = False) -> Any: ...
huber: Elementwise
hyp0f1: Elementwise
hyp1f1: Elementwise
hyp2f1: Elementwise
hyperu: Elementwise
i0: Elementwise
i0e: Elementwise
i1: Elementwise
i1e: Elementwise
inv_boxcox: Elementwise
inv_boxcox1p: Elementwise
it2i0k0: ElementwisePair
it2j0y0: ElementwisePair
it2struve0: Elementwise
itairy: ElementwiseFour
iti0k0: ElementwisePair
itj0y0: ElementwisePair
itmodstruve0: Elementwise
itstruve0: Elementwise
iv: Elementwise
ive: Elementwise
@overload
def ivp(v: float, z: float, n: Any = 1) -> np.float64: ...
@overload
def ivp(v: complex, z: complex, n: Any = 1) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def ivp(v: ArrayLike, z: ArrayLike, n: Any = 1) -> Array: ...
j0: Elementwise
j1: Elementwise
def j_roots(n: Any, alpha: Any, beta: Any, mu: bool = False) -> Any: ...
def jacobi(n: Any, alpha: Any, beta: Any, monic: bool = False) -> Any: ...
jn: Elementwise
def jn_zeros(n: Any, nt: Any) -> Array: ...
def jnjnp_zeros(nt: Any) -> tuple[Array, Array, Array, Array]: ...
def jnp_zeros(n: Any, nt: Any) -> Array: ...
def jnyn_zeros(n: Any, nt: Any) -> tuple[Array, Array, Array, Array]: ...
def js_roots(n: Any, p1: Any, q1: Any, mu: bool = False) -> Any: ...
jv: Elementwise
jve: Elementwise
@overload
def jvp(v: float, z: float, n: Any = 1) -> np.float64: ...
@overload
def jvp(v: complex, z: complex, n: Any = 1) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def jvp(v: ArrayLike, z: ArrayLike, n: Any = 1) -> Array: ...
k0: Elementwise
k0e: Elementwise
k1: Elementwise
k1e: Elementwise
kei: Elementwise
def kei_zeros(nt: Any) -> Array: ...
keip: Elementwise
def keip_zeros(nt: Any) -> Array: ...
kelvin: ElementwiseFour
def kelvin_zeros(nt: Any) -> Any: ...
ker: Elementwise
def ker_zeros(nt: Any) -> Array: ...
kerp: Elementwise
def kerp_zeros(nt: Any) -> Array: ...
kl_div: Elementwise
kn: Elementwise
kolmogi: Elementwise
kolmogorov: Elementwise
kv: Elementwise
kve: Elementwise
@overload
def kvp(v: float, z: float, n: Any = 1) -> np.float64: ...
@overload
def kvp(v: complex, z: complex, n: Any = 1) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def kvp(v: ArrayLike, z: ArrayLike, n: Any = 1) -> Array: ...
def l_roots(n: Any, mu: bool = False) -> Any: ...
def la_roots(n: Any, alpha: Any, mu: bool = False) -> Any: ...
def laguerre(n: Any, monic: bool = False) -> Any: ...
@overload
def lambertw(z: float, k: Any = 0, tol: Any = 1e-08) -> np.float64: ...
@overload
def lambertw(z: complex, k: Any = 0, tol: Any = 1e-08) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def lambertw(z: ArrayLike, k: Any = 0, tol: Any = 1e-08) -> Array: ...
def legendre(n: Any, monic: bool = False) -> Any: ...
def legendre_p(*args: Any, **kwargs: Any) -> Any: ...
def legendre_p_all(*args: Any, **kwargs: Any) -> Any: ...
def lmbda(v: Any, x: Any) -> tuple[Array, Array]: ...
log1p: Elementwise
log_expit: Elementwise
log_ndtr: Elementwise
@overload
def log_softmax(x: float, axis: Any = None) -> np.float64: ...
@overload
def log_softmax(x: complex, axis: Any = None) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def log_softmax(x: ArrayLike, axis: Any = None) -> Array: ...
log_wright_bessel: Elementwise
loggamma: Elementwise
logit: Elementwise
@overload
def logsumexp(
    a: ArrayLike,
    axis: None = None,
    b: ArrayLike | None = None,
    keepdims: Literal[False] = False,
    return_sign: Literal[False] = False,
) -> np.float64: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Shape,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Shape | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
) -> tuple[Any, Any]: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Shape | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any: ...
lpmv: Elementwise
def lqmn(m: Any, n: Any, z: Any) -> tuple[Array, Array]: ...
def lqn(n: Any, z: Any) -> tuple[Array, Array]: ...
mathieu_a: Elementwise
mathieu_b: Elementwise
mathieu_cem: ElementwisePair
def mathieu_even_coef(m: Any, q: Any) -> Array: ...
mathieu_modcem1: ElementwisePair
mathieu_modcem2: ElementwisePair
mathieu_modsem1: ElementwisePair
mathieu_modsem2: ElementwisePair
def mathieu_odd_coef(m: Any, q: Any) -> Array: ...
mathieu_sem: ElementwisePair
modfresnelm: ElementwisePair
modfresnelp: ElementwisePair
modstruve: Elementwise
@overload
def multigammaln(a: float, d: float) -> np.float64: ...
@overload
def multigammaln(a: complex, d: complex) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def multigammaln(a: ArrayLike, d: ArrayLike) -> Array: ...
nbdtr: Elementwise
nbdtrc: Elementwise
nbdtri: Elementwise
nbdtrik: Elementwise
nbdtrin: Elementwise
ncfdtr: Elementwise
ncfdtri: Elementwise
ncfdtridfd: Elementwise
ncfdtridfn: Elementwise
ncfdtrinc: Elementwise
nctdtr: Elementwise
nctdtridf: Elementwise
nctdtrinc: Elementwise
nctdtrit: Elementwise
ndtr: Elementwise
ndtri: Elementwise
ndtri_exp: Elementwise
nrdtrimn: Elementwise
nrdtrisd: Elementwise
obl_ang1: ElementwisePair
obl_ang1_cv: ElementwisePair
obl_cv: Elementwise
def obl_cv_seq(m: Any, n: Any, c: Any) -> Array: ...
obl_rad1: ElementwisePair
obl_rad1_cv: ElementwisePair
obl_rad2: ElementwisePair
obl_rad2_cv: ElementwisePair
owens_t: Elementwise
def p_roots(n: Any, mu: bool = False) -> Any: ...
def pbdn_seq(n: Any, z: Any) -> tuple[Array, Array]: ...
pbdv: ElementwisePair
def pbdv_seq(v: Any, x: Any) -> tuple[Array, Array]: ...
pbvv: ElementwisePair
def pbvv_seq(v: Any, x: Any) -> tuple[Array, Array]: ...
pbwa: ElementwisePair
pdtr: Elementwise
pdtrc: Elementwise
pdtri: Elementwise
pdtrik: Elementwise
def perm(N: Any, k: Any, exact: bool = False) -> Any: ...
poch: Elementwise
@overload
def polygamma(n: float, x: float) -> np.float64: ...
@overload
def polygamma(n: complex, x: complex) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def polygamma(n: ArrayLike, x: ArrayLike) -> Array: ...
powm1: Elementwise
pro_ang1: ElementwisePair
pro_ang1_cv: ElementwisePair
pro_cv: Elementwise
def pro_cv_seq(m: Any, n: Any, c: Any) -> Array: ...
pro_rad1: ElementwisePair
pro_rad1_cv: ElementwisePair
pro_rad2: ElementwisePair
pro_rad2_cv: ElementwisePair
def ps_roots(n: Any, mu: bool = False) -> Any: ...
pseudo_huber: Elementwise
psi: Elementwise
radian: Elementwise
rel_entr: Elementwise
rgamma: Elementwise
def riccati_jn(n: Any, x: Any) -> tuple[Array, Array]: ...
def riccati_yn(n: Any, x: Any) -> tuple[Array, Array]: ...
def roots_chebyc(n: Any, mu: bool = False) -> Any: ...
def roots_chebys(n: Any, mu: bool = False) -> Any: ...
def roots_chebyt(n: Any, mu: bool = False) -> Any: ...
def roots_chebyu(n: Any, mu: bool = False) -> Any: ...
def roots_gegenbauer(n: Any, alpha: Any, mu: bool = False) -> Any: ...
def roots_genlaguerre(n: Any, alpha: Any, mu: bool = False) -> Any: ...
def roots_hermite(n: Any, mu: bool = False) -> Any: ...
def roots_hermitenorm(n: Any, mu: bool = False) -> Any: ...
def roots_jacobi(n: Any, alpha: Any, beta: Any, mu: bool = False) -> Any: ...
def roots_laguerre(n: Any, mu: bool = False) -> Any: ...
def roots_legendre(n: Any, mu: bool = False) -> Any: ...
def roots_sh_chebyt(n: Any, mu: bool = False) -> Any: ...
def roots_sh_chebyu(n: Any, mu: bool = False) -> Any: ...
def roots_sh_jacobi(n: Any, p1: Any, q1: Any, mu: bool = False) -> Any: ...
def roots_sh_legendre(n: Any, mu: bool = False) -> Any: ...
round: Elementwise
def s_roots(n: Any, mu: bool = False) -> Any: ...
def seterr(**kwargs: Any) -> Any: ...
def sh_chebyt(n: Any, monic: bool = False) -> Any: ...
def sh_chebyu(n: Any, monic: bool = False) -> Any: ...
def sh_jacobi(n: Any, p: Any, q: Any, monic: bool = False) -> Any: ...
def sh_legendre(n: Any, monic: bool = False) -> Any: ...
shichi: ElementwisePair
sici: ElementwisePair
def sinc(x: Any) -> Any: ...
sindg: Elementwise
smirnov: Elementwise
smirnovi: Elementwise
def softmax(x: Any, axis: Any = None) -> Array: ...
@overload
def softplus(x: float, **kwargs: Any) -> np.float64: ...
@overload
def softplus(x: complex, **kwargs: Any) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def softplus(x: ArrayLike, **kwargs: Any) -> Array: ...
spence: Elementwise
def sph_harm_y(*args: Any, **kwargs: Any) -> Any: ...
def sph_harm_y_all(*args: Any, **kwargs: Any) -> Any: ...
def sph_legendre_p(*args: Any, **kwargs: Any) -> Any: ...
def sph_legendre_p_all(*args: Any, **kwargs: Any) -> Any: ...
@overload
def spherical_in(n: float, z: float, derivative: bool = False) -> np.float64: ...
@overload
def spherical_in(n: complex, z: complex, derivative: bool = False) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def spherical_in(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array: ...
@overload
def spherical_jn(n: float, z: float, derivative: bool = False) -> np.float64: ...
@overload
def spherical_jn(n: complex, z: complex, derivative: bool = False) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def spherical_jn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array: ...
@overload
def spherical_kn(n: float, z: float, derivative: bool = False) -> np.float64: ...
@overload
def spherical_kn(n: complex, z: complex, derivative: bool = False) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def spherical_kn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array: ...
@overload
def spherical_yn(n: float, z: float, derivative: bool = False) -> np.float64: ...
@overload
def spherical_yn(n: complex, z: complex, derivative: bool = False) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def spherical_yn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array: ...
stdtr: Elementwise
stdtridf: Elementwise
stdtrit: Elementwise
def stirling2(N: Any, K: Any, *, exact: bool = False) -> Any: ...
struve: Elementwise
def t_roots(n: Any, mu: bool = False) -> Any: ...
tandg: Elementwise
tklmbda: Elementwise
def ts_roots(n: Any, mu: bool = False) -> Any: ...
def u_roots(n: Any, mu: bool = False) -> Any: ...
def us_roots(n: Any, mu: bool = False) -> Any: ...
voigt_profile: Elementwise
wofz: Elementwise
wright_bessel: Elementwise
wrightomega: Elementwise
xlog1py: Elementwise
xlogy: Elementwise
y0: Elementwise
def y0_zeros(nt: Any, complex: bool = False) -> tuple[Array, Array]: ...
y1: Elementwise
def y1_zeros(nt: Any, complex: bool = False) -> tuple[Array, Array]: ...
def y1p_zeros(nt: Any, complex: bool = False) -> tuple[Array, Array]: ...
yn: Elementwise
def yn_zeros(n: Any, nt: Any) -> Array: ...
def ynp_zeros(n: Any, nt: Any) -> Array: ...
yv: Elementwise
yve: Elementwise
@overload
def yvp(v: float, z: float, n: Any = 1) -> np.float64: ...
@overload
def yvp(v: complex, z: complex, n: Any = 1) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def yvp(v: ArrayLike, z: ArrayLike, n: Any = 1) -> Array: ...
@overload
def zeta(x: float, q: Any = None, out: Any = None) -> np.float64: ...
@overload
def zeta(x: complex, q: Any = None, out: Any = None) -> np.complex128: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def zeta(x: ArrayLike, q: Any = None, out: Any = None) -> Array: ...
zetac: Elementwise
