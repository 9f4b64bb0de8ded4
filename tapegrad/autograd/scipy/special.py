"""`scipy.special` with derivatives: `tapegrad.scipy.special` by another name."""

from __future__ import annotations

from tapegrad.autograd._completed import complete
from tapegrad.autograd.scipy._names import namespace

__getattr__, __dir__ = namespace("special")

complete(__name__)
