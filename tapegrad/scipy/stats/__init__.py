"""`scipy.stats`: distributions and statistics with derivatives.

Distributions are objects with SciPy's names, parameters and methods, differentiable by points and
parameters; statistics of samples and tests of hypotheses are functions. Names without derivatives
are SciPy's own objects.
"""

from __future__ import annotations

import scipy.stats

from tapegrad import composite
from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import constant_or_refused, mirror, namespace, shared_names
from tapegrad.scipy.stats import _averages, _estimates, _orders, contingency, qmc
from tapegrad.scipy.stats._kernels import gaussian_kde
from tapegrad.scipy.stats._multivariate import MULTIVARIATE
from tapegrad.scipy.stats._sample import CONSTANT, DEFINITIONS
from tapegrad.scipy.stats._univariate import DISTRIBUTIONS
from tapegrad.scipy.stats._variables import OF_VARIABLES, VARIABLES, make_distribution

_FUNCTIONS = {
    name: mirror(getattr(scipy.stats, name), __name__)
    for name in DEFINITIONS
    if hasattr(scipy.stats, name)
}
for _name, _function in _FUNCTIONS.items():
    composite(_function, DEFINITIONS[_name])

globals().update(DISTRIBUTIONS)
globals().update(MULTIVARIATE)
globals().update(_FUNCTIONS)
globals().update(constant_or_refused(__name__, CONSTANT, {}))
globals().update(VARIABLES)
globals().update(OF_VARIABLES)
globals().update(copied(__name__))

__getattr__, __dir__ = namespace(__name__, "scipy.stats")

__all__ = list(shared_names(__name__, "scipy.stats", "contingency", "qmc"))
