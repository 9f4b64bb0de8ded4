"""The table of samples, one line a function, one file a family as in tapegrad.rules."""

from __future__ import annotations

import importlib
import pkgutil

from sampling import SAMPLES

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
    importlib.import_module(f"tapegrad.rules.{_module.name}")  # some are declared late

__all__ = ["SAMPLES"]
