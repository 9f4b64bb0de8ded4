"""`torch.backends`: switches that scripts set at their top, which change nothing here."""

from __future__ import annotations

from tapegrad.torch.backends import cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
