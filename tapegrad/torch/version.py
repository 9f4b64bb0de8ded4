"""`torch.version`: the version, and that there is no other device."""

from __future__ import annotations

from tapegrad import __version__ as _version

# The version of PyTorch whose names these are, and that of tapegrad.
__version__ = f"2.13.0+tapegrad.{_version}"
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version = "unknown"

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
