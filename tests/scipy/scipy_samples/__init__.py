"""The table of samples, one line a function, one file a family as in tapegrad.scipy."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

pytest.importorskip("scipy")  # for all that imports these

from scipy_sampling import SAMPLES

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["SAMPLES"]
