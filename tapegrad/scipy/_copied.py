"""Functions of SciPy's that compute by its own code, adopted: no rule is written for them.

Outside of transforms, and of plain values, they are SciPy's. The first call with a traced value
loads copies of the modules that it needs. Under vmap most compute for one example after another.

Knows which they are. Must not know how copies are made.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from tapegrad._arrays.buffers import is_inside, value_of
from tapegrad._block import setting
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function
from tapegrad._transforms.closures import Hoisted
from tapegrad.scipy._copies import BY_COPY, copy_of
from tapegrad.scipy._examples import of_examples

# By module; tests/scipy/test_scipy_copied.py has a call of each.
NAMES = {
    "constants": "convert_temperature lambda2nu nu2lambda",
    "differentiate": "derivative hessian jacobian",
    "integrate": "solve_bvp",
    "linalg": "cdf2rdf expm_cond",
    "ndimage": "labeled_comprehension vectorized_filter",
    "optimize": "approx_fprime rosen rosen_der rosen_hess rosen_hess_prod",
    "signal": """
        abcd_normalize band_stop_obj bessel butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1
        cheby2 closest_STFT_dual_window cspline1d cspline1d_eval czt_points ellip ellipap ellipord
        firls firwin firwin2 firwin_2d gammatone iircomb iirdesign iirfilter iirnotch iirpeak
        invres invresz kaiserord minimum_phase place_poles qspline1d qspline1d_eval tf2sos zpk2sos
    """,
    "signal.windows": "chebwin dpss taylor",
    "sparse.csgraph": "laplacian",
    "spatial.distance": "dice rogerstanimoto russellrao sokalsneath yule",
    "special": """
        gegenbauer genlaguerre jacobi roots_gegenbauer roots_genlaguerre roots_jacobi
        roots_sh_jacobi sh_jacobi
    """,
    "stats": """
        alexandergovern anderson anderson_ksamp ansari bartlett bayes_mvs binned_statistic
        binned_statistic_2d binned_statistic_dd bootstrap boxcox_normmax boxcox_normplot
        brunnermunzel bws_test chi2_contingency chisquare combine_pvalues cramervonmises
        cramervonmises_2samp cumfreq ecdf epps_singleton_2samp expectile f_oneway
        false_discovery_control fligner friedmanchisquare jarque_bera kruskal ks_2samp kurtosistest
        levene logrank mannwhitneyu median_test monte_carlo_test mood mvsdist normaltest
        obrientransform page_trend_test permutation_test pointbiserialr poisson_means_test
        power_divergence ppcc_max ppcc_plot probplot quantile quantile_test ranksums relfreq
        sigmaclip skewtest theilslopes ttest_1samp ttest_ind ttest_ind_from_stats ttest_rel
        wilcoxon yeojohnson_normmax yeojohnson_normplot
    """,
    "stats.contingency": "chi2_contingency expected_freq",
    "stats.qmc": "geometric_discrepancy scale",
}

# Those whose code never looks at a number: they take all examples of a vmap at once.
AT_ONCE = """
    abcd_normalize bayes_mvs binned_statistic binned_statistic_2d binned_statistic_dd
    convert_temperature cspline1d czt_points expected_freq labeled_comprehension lambda2nu
    laplacian monte_carlo_test mvsdist nu2lambda qspline1d rosen rosen_der rosen_hess_prod
    ttest_ind_from_stats vectorized_filter
"""


def copied(module: str) -> dict[str, Function]:
    """The functions of a module of ours that compute by SciPy's code, by name.

    module: its full name, "tapegrad.scipy.signal"
    """
    within = module.removeprefix("tapegrad.scipy.")
    theirs = importlib.import_module(f"scipy.{within}")
    names = [name for name in NAMES[within].split() if hasattr(theirs, name)]
    return {name: _by_copy(getattr(theirs, name), module) for name in names}


def _by_copy(theirs: Function, module: str) -> Function:
    at_once = theirs.__name__ in AT_ONCE.split()

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_inside():
            return theirs(*args, **kwargs)
        if not Hoisted((args, kwargs)).values:
            with setting(CURRENT, None):
                return theirs(*value_of(args), **value_of(kwargs))
        made = copy_of(theirs)
        return made(*args, **kwargs) if at_once else of_examples(made, args, kwargs)

    call.__module__ = module
    setattr(call, BY_COPY, True)
    return call


__all__ = ["copied"]
