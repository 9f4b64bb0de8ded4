"""Functions without a derivative: those of constants, those that step, and those that are refused.

Those that are refused choose by tolerances, or compute in C code with boundary terms of their own.
"""

from __future__ import annotations

from tapegrad.scipy._mirror import constant_or_refused
from tapegrad.scipy.signal._arrays import HERE

# Positions, orders, truth values.
CONSTANT = """
    argrelextrema argrelmax argrelmin check_COLA check_NOLA correlation_lags find_peaks_cwt
    findfreqs max_len_seq unit_impulse
""".split()
_EXCHANGE = "it exchanges extrema in C code; take firls"
_PARTIAL = "roots are grouped by a tolerance; take np.roots, and the residues from np.polyval"
_SPLINE = "it has boundary terms of its own; take tapegrad.scipy.ndimage.spline_filter1d"
REFUSED = {
    "remez": _EXCHANGE,
    **dict.fromkeys(("residue", "residuez", "unique_roots"), _PARTIAL),
    **dict.fromkeys(
        "cspline2d qspline2d sepfir2d spline_filter symiirorder1 symiirorder2".split(), _SPLINE
    ),
}
REFUSED["whittaker_henderson"] = (
    "it has a solver of its own; solve (np.diag(w) + lamb * d.T @ d) x = w * y with d = "
    "np.diff(np.eye(n), order, axis=0)"
)

MADE = constant_or_refused(HERE, CONSTANT, REFUSED)

__all__ = ["MADE"]
