"""`scipy.stats` with derivatives: `tapegrad.scipy.stats` by the name of HIPS autograd's.

Its distributions are modules too: `import tapegrad.autograd.scipy.stats.norm as norm`.
"""

from __future__ import annotations

from tapegrad.autograd.scipy._names import namespace
from tapegrad.autograd.scipy.stats import (
    beta,
    chi2,
    dirichlet,
    gamma,
    multivariate_normal,
    norm,
    poisson,
    t,
)

__all__ = [
    "beta",
    "chi2",
    "dirichlet",
    "gamma",
    "multivariate_normal",
    "norm",
    "poisson",
    "t",
]

__getattr__, __dir__ = namespace("stats")
