"""Programs as they are written in each field, in plain NumPy; one file a field."""

from __future__ import annotations

import importlib
import pkgutil

from field_programs import PROGRAMS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["PROGRAMS"]
