"""`scipy.stats` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from numpy.typing import ArrayLike
from tapegrad.scipy._kinds import Array
from tapegrad.scipy.stats._multivariate import Multivariate
from tapegrad.scipy.stats._univariate import Continuous
from tapegrad.scipy.stats._univariate import Distribution
from tapegrad.scipy.stats._variables import _Classes
from typing import Any, overload
import numpy as np
from scipy.stats import BootstrapMethod as BootstrapMethod
from scipy.stats import CensoredData as CensoredData
from scipy.stats import ConstantInputWarning as ConstantInputWarning
from scipy.stats import Covariance as Covariance
from scipy.stats import DegenerateDataWarning as DegenerateDataWarning
from scipy.stats import FitError as FitError
from scipy.stats import MonteCarloMethod as MonteCarloMethod
from scipy.stats import NearConstantInputWarning as NearConstantInputWarning
from scipy.stats import PermutationMethod as PermutationMethod
from scipy.stats import biasedurn as biasedurn
from scipy.stats import distributions as distributions
from scipy.stats import kde as kde
from scipy.stats import morestats as morestats
from scipy.stats import mstats as mstats
from scipy.stats import mstats_basic as mstats_basic
from scipy.stats import mstats_extras as mstats_extras
from scipy.stats import mvn as mvn
from scipy.stats import rv_continuous as rv_continuous
from scipy.stats import rv_discrete as rv_discrete
from scipy.stats import rv_histogram as rv_histogram
from scipy.stats import stats as stats
from tapegrad.scipy.stats import contingency as contingency
from tapegrad.scipy.stats import qmc as qmc
from tapegrad.scipy.stats._kernels import gaussian_kde as gaussian_kde
from tapegrad.scipy.stats._variables import OfLaw
from tapegrad.scipy.stats._variables import Variable

Binomial: type[OfLaw]
Logistic: type[OfLaw]
Mixture: type[Variable]
Normal: type[OfLaw]
Uniform: type[OfLaw]
def abs(X: Any, /) -> Any: ...
def alexandergovern(
    *samples: Any,
    nan_policy: Any = 'propagate',
    axis: Any = 0,
    keepdims: bool = False,
) -> Any: ...
alpha: Continuous
def anderson(x: Any, dist: Any = 'norm', *, method: Any = None) -> Any: ...
def anderson_ksamp(
    samples: Any,
    midrank: Any = ...,
    *,
    variant: Any = ...,
    method: Any = None,
) -> Any: ...
anglit: Continuous
def ansari(
    x: Any,
    y: Any,
    alternative: Any = 'two-sided',
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
arcsine: Continuous
argus: Continuous
def barnard_exact(
    table: Any,
    alternative: Any = 'two-sided',
    pooled: bool = True,
    n: Any = 32,
) -> Any: ...
def bartlett(
    *samples: Any,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def bayes_mvs(data: Any, alpha: Any = 0.9) -> Any: ...
bernoulli: Distribution
beta: Continuous
betabinom: Distribution
betanbinom: Distribution
betaprime: Continuous
def binned_statistic(
    x: Any,
    values: Any,
    statistic: Any = 'mean',
    bins: Any = 10,
    range: Any = None,
) -> Any: ...
def binned_statistic_2d(
    x: Any,
    y: Any,
    values: Any,
    statistic: Any = 'mean',
    bins: Any = 10,
    range: Any = None,
    expand_binnumbers: bool = False,
) -> Any: ...
def binned_statistic_dd(
    sample: Any,
    values: Any,
    statistic: Any = 'mean',
    bins: Any = 10,
    range: Any = None,
    expand_binnumbers: bool = False,
    binned_statistic_result: Any = None,
) -> Any: ...
binom: Distribution
def binomtest(k: Any, n: Any, p: Any = 0.5, alternative: Any = 'two-sided') -> Any: ...
boltzmann: Distribution
def bootstrap(
    data: Any,
    statistic: Any,
    *,
    n_resamples: Any = 9999,
    batch: Any = None,
    vectorized: Any = None,
    paired: bool = False,
    axis: Any = 0,
    confidence_level: Any = 0.95,
    alternative: Any = 'two-sided',
    method: Any = 'BCa',
    bootstrap_result: Any = None,
    rng: Any = None,
    random_state: Any = None,
) -> Any: ...
def boschloo_exact(table: Any, alternative: Any = 'two-sided', n: Any = 32) -> Any: ...
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any: ...
def boxcox_llf(
    lmb: Any,
    data: Any,
    *,
    axis: Any = 0,
    keepdims: bool = False,
    nan_policy: Any = 'propagate',
) -> Any: ...
def boxcox_normmax(
    x: Any,
    brack: Any = None,
    method: Any = 'pearsonr',
    optimizer: Any = None,
    *,
    ymax: Any = ...,
) -> Any: ...
def boxcox_normplot(x: Any, la: Any, lb: Any, plot: Any = None, N: Any = 80) -> Any: ...
bradford: Continuous
def brunnermunzel(
    x: Any,
    y: Any,
    alternative: Any = 'two-sided',
    distribution: Any = 't',
    nan_policy: Any = 'propagate',
    *,
    axis: Any = 0,
    keepdims: bool = False,
) -> Any: ...
burr: Continuous
burr12: Continuous
def bws_test(x: Any, y: Any, *, alternative: Any = 'two-sided', method: Any = None) -> Any: ...
cauchy: Continuous
def chatterjeexi(
    x: Any,
    y: Any,
    *,
    axis: Any = 0,
    y_continuous: bool = False,
    method: Any = 'asymptotic',
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
chi: Continuous
chi2: Continuous
def chi2_contingency(
    observed: Any,
    correction: bool = True,
    lambda_: Any = None,
    *,
    method: Any = None,
) -> Any: ...
def chisquare(
    f_obs: Any,
    f_exp: Any = None,
    ddof: Any = 0,
    axis: Any = 0,
    *,
    sum_check: bool = True,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def circmean(
    samples: Any,
    high: Any = 6.283185307179586,
    low: Any = 0,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
def circstd(
    samples: Any,
    high: Any = 6.283185307179586,
    low: Any = 0,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    *,
    normalize: bool = False,
    keepdims: bool = False,
) -> Any: ...
def circvar(
    samples: Any,
    high: Any = 6.283185307179586,
    low: Any = 0,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
def combine_pvalues(
    pvalues: Any,
    method: Any = 'fisher',
    weights: Any = None,
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
cosine: Continuous
def cramervonmises(
    rvs: Any,
    cdf: Any,
    args: Any = ...,
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def cramervonmises_2samp(
    x: Any,
    y: Any,
    method: Any = 'auto',
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
crystalball: Continuous
def cumfreq(
    a: Any,
    numbins: Any = 10,
    defaultreallimits: Any = None,
    weights: Any = None,
) -> Any: ...
def describe(
    a: Any,
    axis: Any = 0,
    ddof: Any = 1,
    bias: bool = True,
    nan_policy: Any = 'propagate',
) -> Any: ...
dgamma: Continuous
def differential_entropy(
    values: Any,
    *,
    window_length: Any = None,
    base: Any = None,
    axis: Any = 0,
    method: Any = 'auto',
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def directional_stats(samples: Any, *, axis: Any = 0, normalize: bool = True) -> Any: ...
dirichlet: Multivariate
dirichlet_multinomial: Multivariate
dlaplace: Distribution
dpareto_lognorm: Continuous
def dunnett(
    *samples: Any,
    control: Any,
    alternative: Any = 'two-sided',
    rng: Any = None,
    random_state: Any = None,
) -> Any: ...
dweibull: Continuous
def ecdf(sample: Any) -> Any: ...
def energy_distance(
    u_values: Any,
    v_values: Any,
    u_weights: Any = None,
    v_weights: Any = None,
) -> float: ...
def entropy(
    pk: Any,
    qk: Any = None,
    base: Any = None,
    axis: Any = 0,
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def epps_singleton_2samp(
    x: Any,
    y: Any,
    t: Any = ...,
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
erlang: Continuous
def exp(X: Any, /) -> Any: ...
def expectile(a: Any, alpha: Any = 0.5, *, weights: Any = None) -> Any: ...
expon: Continuous
exponnorm: Continuous
exponpow: Continuous
exponweib: Continuous
f: Continuous
def f_oneway(
    *samples: Any,
    axis: Any = 0,
    equal_var: bool = True,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def false_discovery_control(ps: Any, *, axis: Any = 0, method: Any = 'bh') -> Array: ...
fatiguelife: Continuous
def fisher_exact(table: Any, alternative: Any = None, *, method: Any = None) -> Any: ...
fisk: Continuous
def fit(
    dist: Any,
    data: Any,
    bounds: Any = None,
    *,
    guess: Any = None,
    method: Any = 'mle',
    optimizer: Any = ...,
) -> Any: ...
def fligner(
    *samples: Any,
    center: Any = 'median',
    proportiontocut: Any = 0.05,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
foldcauchy: Continuous
foldnorm: Continuous
def friedmanchisquare(
    *samples: Any,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
gamma: Continuous
gausshyper: Continuous
genexpon: Continuous
genextreme: Continuous
gengamma: Continuous
genhalflogistic: Continuous
genhyperbolic: Continuous
geninvgauss: Continuous
genlogistic: Continuous
gennorm: Continuous
genpareto: Continuous
geom: Distribution
gibrat: Continuous
def gmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
gompertz: Continuous
def goodness_of_fit(
    dist: Any,
    data: Any,
    *,
    known_params: Any = None,
    fit_params: Any = None,
    guessed_params: Any = None,
    statistic: Any = 'ad',
    n_mc_samples: Any = 9999,
    rng: Any = None,
    random_state: Any = None,
) -> Any: ...
def gstd(
    a: Any,
    axis: Any = 0,
    ddof: Any = 1,
    *,
    keepdims: bool = False,
    nan_policy: Any = 'propagate',
) -> Any: ...
gumbel_l: Continuous
gumbel_r: Continuous
def gzscore(a: Any, *, axis: Any = 0, ddof: Any = 0, nan_policy: Any = 'propagate') -> Array: ...
halfcauchy: Continuous
halfgennorm: Continuous
halflogistic: Continuous
halfnorm: Continuous
def hmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
hypergeom: Distribution
hypsecant: Continuous
invgamma: Continuous
invgauss: Continuous
invweibull: Continuous
invwishart: Multivariate
def iqr(
    x: Any,
    axis: Any = None,
    rng: Any = ...,
    scale: Any = 1.0,
    nan_policy: Any = 'propagate',
    interpolation: Any = 'linear',
    keepdims: bool = False,
) -> Any: ...
irwinhall: Continuous
def jarque_bera(
    x: Any,
    *,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
jf_skew_t: Continuous
johnsonsb: Continuous
johnsonsu: Continuous
kappa3: Continuous
kappa4: Continuous
def kendalltau(
    x: Any,
    y: Any,
    *,
    nan_policy: Any = 'propagate',
    method: Any = 'auto',
    variant: Any = 'b',
    alternative: Any = 'two-sided',
    axis: Any = None,
    keepdims: bool = False,
) -> Any: ...
def kruskal(
    *samples: Any,
    nan_policy: Any = 'propagate',
    axis: Any = 0,
    keepdims: bool = False,
) -> Any: ...
def ks_1samp(
    x: Any,
    cdf: Any,
    args: Any = ...,
    alternative: Any = 'two-sided',
    method: Any = 'auto',
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def ks_2samp(
    data1: Any,
    data2: Any,
    alternative: Any = 'two-sided',
    method: Any = 'auto',
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
ksone: Continuous
def kstat(
    data: Any,
    n: Any = 2,
    *,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def kstatvar(
    data: Any,
    n: Any = 2,
    *,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def kstest(
    rvs: Any,
    cdf: Any,
    args: Any = ...,
    N: Any = 20,
    alternative: Any = 'two-sided',
    method: Any = 'auto',
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
kstwo: Continuous
kstwobign: Continuous
def kurtosis(
    a: Any,
    axis: Any = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
def kurtosistest(
    a: Any,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    alternative: Any = 'two-sided',
    *,
    keepdims: bool = False,
) -> Any: ...
landau: Continuous
laplace: Continuous
laplace_asymmetric: Continuous
def levene(
    *samples: Any,
    center: Any = 'median',
    proportiontocut: Any = 0.05,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
levy: Continuous
levy_l: Continuous
levy_stable: Continuous
def linregress(
    x: Any,
    y: Any,
    alternative: Any = 'two-sided',
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def lmoment(
    sample: Any,
    order: Any = None,
    *,
    axis: Any = 0,
    sorted: bool = False,
    standardize: bool = True,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def log(X: Any, /) -> Any: ...
loggamma: Continuous
logistic: Continuous
loglaplace: Continuous
lognorm: Continuous
def logrank(x: Any, y: Any, alternative: Any = 'two-sided') -> Any: ...
logser: Distribution
loguniform: Continuous
lomax: Continuous
def make_distribution(dist: Any) -> Any: ...
def mannwhitneyu(
    x: Any,
    y: Any,
    use_continuity: bool = True,
    alternative: Any = 'two-sided',
    axis: Any = 0,
    method: Any = 'auto',
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
matrix_normal: Multivariate
matrix_t: Multivariate
maxwell: Continuous
def median_abs_deviation(
    x: Any,
    axis: Any = 0,
    center: Any = None,
    scale: Any = 1.0,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
def median_test(
    *samples: Any,
    ties: Any = 'below',
    correction: bool = True,
    lambda_: Any = 1,
    nan_policy: Any = 'propagate',
) -> Any: ...
mielke: Continuous
def mode(a: Any, axis: Any = 0, nan_policy: Any = 'propagate', keepdims: bool = False) -> Any: ...
def moment(
    a: Any,
    order: Any = 1,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    *,
    center: Any = None,
    keepdims: bool = False,
) -> Any: ...
def monte_carlo_test(
    data: Any,
    rvs: Any,
    statistic: Any,
    *,
    vectorized: Any = None,
    n_resamples: Any = 9999,
    batch: Any = None,
    alternative: Any = 'two-sided',
    axis: Any = 0,
) -> Any: ...
def mood(
    x: Any,
    y: Any,
    axis: Any = 0,
    alternative: Any = 'two-sided',
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
moyal: Continuous
multinomial: Multivariate
def multiscale_graphcorr(
    x: Any,
    y: Any,
    compute_distance: Any = ...,
    reps: Any = 1000,
    workers: Any = 1,
    is_twosamp: bool = False,
    random_state: Any = None,
) -> Any: ...
multivariate_hypergeom: Multivariate
multivariate_normal: Multivariate
multivariate_t: Multivariate
def mvsdist(data: Any) -> Any: ...
nakagami: Continuous
nbinom: Distribution
ncf: Continuous
nchypergeom_fisher: Distribution
nchypergeom_wallenius: Distribution
nct: Continuous
ncx2: Continuous
nhypergeom: Distribution
norm: Continuous
normal_inverse_gamma: Multivariate
def normaltest(
    a: Any,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
norminvgauss: Continuous
def obrientransform(*samples: Any) -> Array: ...
def order_statistic(X: Any, /, *, r: Any, n: Any) -> Any: ...
def ortho_group(dim: Any = None, seed: Any = None) -> Any: ...
def page_trend_test(
    data: Any,
    ranked: bool = False,
    predicted_ranks: Any = None,
    method: Any = 'auto',
) -> Any: ...
pareto: Continuous
pearson3: Continuous
def pearsonr(
    x: Any,
    y: Any,
    *,
    alternative: Any = 'two-sided',
    method: Any = None,
    axis: Any = 0,
) -> Any: ...
def percentileofscore(
    a: Any,
    score: Any,
    kind: Any = 'rank',
    nan_policy: Any = 'propagate',
) -> Any: ...
def permutation_test(
    data: Any,
    statistic: Any,
    *,
    permutation_type: Any = 'independent',
    vectorized: Any = None,
    n_resamples: Any = 9999,
    batch: Any = None,
    alternative: Any = 'two-sided',
    axis: Any = 0,
    rng: Any = None,
    random_state: Any = None,
) -> Any: ...
planck: Distribution
def pmean(
    a: Any,
    p: Any,
    *,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def pointbiserialr(
    x: Any,
    y: Any,
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
poisson: Distribution
poisson_binom: Distribution
def poisson_means_test(
    k1: Any,
    n1: Any,
    k2: Any,
    n2: Any,
    *,
    diff: Any = 0,
    alternative: Any = 'two-sided',
) -> Any: ...
def power(
    test: Any,
    rvs: Any,
    n_observations: Any,
    *,
    significance: Any = 0.01,
    vectorized: Any = None,
    n_resamples: Any = 10000,
    batch: Any = None,
    kwargs: Any = None,
) -> Any: ...
def power_divergence(
    f_obs: Any,
    f_exp: Any = None,
    ddof: Any = 0,
    axis: Any = 0,
    lambda_: Any = None,
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
powerlaw: Continuous
powerlognorm: Continuous
powernorm: Continuous
def ppcc_max(x: Any, brack: Any = ..., dist: Any = 'tukeylambda') -> Any: ...
def ppcc_plot(
    x: Any,
    a: Any,
    b: Any,
    dist: Any = 'tukeylambda',
    plot: Any = None,
    N: Any = 80,
) -> Any: ...
def probplot(
    x: Any,
    sparams: Any = ...,
    dist: Any = 'norm',
    fit: bool = True,
    plot: Any = None,
    rvalue: bool = False,
) -> Any: ...
def quantile(
    x: Any,
    p: Any,
    *,
    method: Any = 'linear',
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: Any = None,
    weights: Any = None,
) -> Any: ...
def quantile_test(x: Any, *, q: Any = 0, p: Any = 0.5, alternative: Any = 'two-sided') -> Any: ...
randint: Distribution
def random_correlation(
    eigs: Any,
    seed: Any = None,
    tol: Any = 1e-13,
    diag_tol: Any = 1e-07,
) -> Any: ...
random_table: Multivariate
def rankdata(
    a: Any,
    method: Any = 'average',
    *,
    axis: Any = None,
    nan_policy: Any = 'propagate',
) -> Array: ...
def ranksums(
    x: Any,
    y: Any,
    alternative: Any = 'two-sided',
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
rayleigh: Continuous
rdist: Continuous
recipinvgauss: Continuous
reciprocal: Continuous
rel_breitwigner: Continuous
def relfreq(
    a: Any,
    numbins: Any = 10,
    defaultreallimits: Any = None,
    weights: Any = None,
) -> Any: ...
rice: Continuous
def scoreatpercentile(
    a: Any,
    per: Any,
    limit: Any = ...,
    interpolation_method: Any = 'fraction',
    axis: Any = None,
) -> Any: ...
def sem(
    a: Any,
    axis: Any = 0,
    ddof: Any = 1,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
semicircular: Continuous
def shapiro(
    x: Any,
    *,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def siegelslopes(
    y: Any,
    x: Any = None,
    method: Any = 'hierarchical',
    *,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def sigmaclip(a: Any, low: Any = 4.0, high: Any = 4.0) -> Any: ...
skellam: Distribution
def skew(
    a: Any,
    axis: Any = 0,
    bias: bool = True,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
skewcauchy: Continuous
skewnorm: Continuous
def skewtest(
    a: Any,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    alternative: Any = 'two-sided',
    *,
    keepdims: bool = False,
) -> Any: ...
def sobol_indices(
    *,
    func: Any,
    n: Any,
    dists: Any = None,
    method: Any = 'saltelli_2010',
    rng: Any = None,
    random_state: Any = None,
) -> Any: ...
def somersd(x: Any, y: Any = None, alternative: Any = 'two-sided') -> Any: ...
def spearmanr(
    a: Any,
    b: Any = None,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    alternative: Any = 'two-sided',
) -> Any: ...
def spearmanrho(
    x: Any,
    y: Any,
    /,
    *,
    alternative: Any = 'two-sided',
    method: Any = None,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def special_ortho_group(dim: Any = None, seed: Any = None) -> Any: ...
studentized_range: Continuous
t: Continuous
def theilslopes(
    y: Any,
    x: Any = None,
    alpha: Any = 0.95,
    method: Any = 'separate',
    *,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def tiecorrect(rankvals: Any) -> Any: ...
def tmax(
    a: Any,
    upperlimit: Any = None,
    axis: Any = 0,
    inclusive: bool = True,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
def tmean(
    a: Any,
    limits: Any = None,
    inclusive: Any = ...,
    axis: Any = None,
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def tmin(
    a: Any,
    lowerlimit: Any = None,
    axis: Any = 0,
    inclusive: bool = True,
    nan_policy: Any = 'propagate',
    *,
    keepdims: bool = False,
) -> Any: ...
trapezoid: Continuous
triang: Continuous
def trim1(a: Any, proportiontocut: Any, tail: Any = 'right', axis: Any = 0) -> Array: ...
def trim_mean(
    a: Any,
    proportiontocut: Any,
    axis: Any = 0,
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def trimboth(a: Any, proportiontocut: Any, axis: Any = 0) -> Array: ...
def truncate(X: Any, lb: Any = ..., ub: Any = ...) -> Any: ...
truncexpon: Continuous
truncnorm: Continuous
truncpareto: Continuous
truncweibull_min: Continuous
def tsem(
    a: Any,
    limits: Any = None,
    inclusive: Any = ...,
    axis: Any = 0,
    ddof: Any = 1,
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def tstd(
    a: Any,
    limits: Any = None,
    inclusive: Any = ...,
    axis: Any = 0,
    ddof: Any = 1,
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def ttest_1samp(
    a: Any,
    popmean: Any,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    alternative: Any = 'two-sided',
    *,
    keepdims: bool = False,
) -> Any: ...
def ttest_ind(
    a: Any,
    b: Any,
    *,
    axis: Any = 0,
    equal_var: bool = True,
    nan_policy: Any = 'propagate',
    alternative: Any = 'two-sided',
    trim: Any = 0,
    method: Any = None,
    keepdims: bool = False,
) -> Any: ...
def ttest_ind_from_stats(
    mean1: Any,
    std1: Any,
    nobs1: Any,
    mean2: Any,
    std2: Any,
    nobs2: Any,
    equal_var: bool = True,
    alternative: Any = 'two-sided',
) -> Any: ...
def ttest_rel(
    a: Any,
    b: Any,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    alternative: Any = 'two-sided',
    *,
    keepdims: bool = False,
) -> Any: ...
def tukey_hsd(*args: Any, equal_var: bool = True) -> Any: ...
tukeylambda: Continuous
def tvar(
    a: Any,
    limits: Any = None,
    inclusive: Any = ...,
    axis: Any = 0,
    ddof: Any = 1,
    *,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
uniform: Continuous
uniform_direction: Multivariate
def unitary_group(dim: Any = None, seed: Any = None) -> Any: ...
def variation(
    a: Any,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    ddof: Any = 0,
    *,
    keepdims: bool = False,
) -> Any: ...
vonmises: Continuous
vonmises_fisher: Multivariate
vonmises_line: Continuous
wald: Continuous
def wasserstein_distance(
    u_values: Any,
    v_values: Any,
    u_weights: Any = None,
    v_weights: Any = None,
) -> float: ...
def wasserstein_distance_nd(
    u_values: Any,
    v_values: Any,
    u_weights: Any = None,
    v_weights: Any = None,
) -> Any: ...
weibull_max: Continuous
weibull_min: Continuous
def weightedtau(
    x: Any,
    y: Any,
    rank: bool = True,
    weigher: Any = None,
    additive: bool = True,
    *,
    axis: Any = None,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def wilcoxon(
    x: Any,
    y: Any = None,
    zero_method: Any = 'wilcox',
    correction: bool = False,
    alternative: Any = 'two-sided',
    method: Any = 'auto',
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
wishart: Multivariate
wrapcauchy: Continuous
@overload
def yeojohnson(x: Any, lmbda: None = None) -> tuple[Array, np.float64]: ...
@overload
def yeojohnson(x: Any, *, lmbda: ArrayLike) -> Array: ...
@overload
def yeojohnson(x: Any, lmbda: Any = None) -> Any: ...
def yeojohnson_llf(
    lmb: Any,
    data: Any,
    *,
    axis: Any = 0,
    nan_policy: Any = 'propagate',
    keepdims: bool = False,
) -> Any: ...
def yeojohnson_normmax(x: Any, brack: Any = None) -> Any: ...
def yeojohnson_normplot(x: Any, la: Any, lb: Any, plot: Any = None, N: Any = 80) -> Any: ...
yulesimon: Distribution
zipf: Distribution
zipfian: Distribution
def zmap(
    scores: Any,
    compare: Any,
    axis: Any = 0,
    ddof: Any = 0,
    nan_policy: Any = 'propagate',
) -> Array: ...
def zscore(a: Any, axis: Any = 0, ddof: Any = 0, nan_policy: Any = 'propagate') -> Array: ...
