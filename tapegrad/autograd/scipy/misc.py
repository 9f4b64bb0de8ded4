"""`scipy.misc.logsumexp`, which SciPy and HIPS autograd had in older versions."""

from __future__ import annotations

from tapegrad.autograd.scipy.special import logsumexp

__all__ = ["logsumexp"]
