"""Samples of tapegrad.scipy.stats."""

from __future__ import annotations

from makers import beside
from sampling import X
from scipy_sampling import sample

from tapegrad.scipy import stats

sample(stats.norm._rule("logpdf"), X, beside, beside, on=(0.5, 1.5))
sample(stats.norm._rule("logsf"), X, beside, on=(0.5, 1.5))
sample(stats.gamma._rule("pdf"), X, beside, on=(0.5, 3.0))
sample(stats.gamma._rule("cdf"), X, beside, on=(0.5, 3.0))
sample(stats.gamma._rule("ppf"), X, beside, on=(0.2, 0.8))
sample(stats.poisson._rule("logpmf"), 3.0, X, on=(0.5, 3.0))
