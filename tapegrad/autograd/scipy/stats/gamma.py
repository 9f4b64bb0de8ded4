"""The methods of `scipy.stats.gamma`, with derivatives."""

from __future__ import annotations

from tapegrad.autograd._completed import complete
from tapegrad.autograd.scipy._names import methods

__getattr__, __dir__ = methods("gamma")

complete(__name__)
