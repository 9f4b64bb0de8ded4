"""The methods of `scipy.stats.multivariate_normal`, with derivatives."""

from __future__ import annotations

from tapegrad.autograd._completed import complete
from tapegrad.autograd.scipy._names import methods

__getattr__, __dir__ = methods("multivariate_normal")

complete(__name__)
