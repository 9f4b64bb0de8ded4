"""Functions without a derivative: those of constants, those that step, and those that are refused.

Filters are designed by counts, words and tolerances, most of them by iterations of SciPy's own. A
design is a constant of a program: pass plain numbers.
"""

from __future__ import annotations

from typing import Any

import scipy.signal as ss

from tapegrad._core.forms import constant, unsupported
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.signal._arrays import HERE

# Positions, orders, truth values.
CONSTANT = (
    "argrelextrema",
    "argrelmax",
    "argrelmin",
    "check_COLA",
    "check_NOLA",
    "correlation_lags",
    "find_peaks_cwt",
    "findfreqs",
    "max_len_seq",
    "unit_impulse",
)
_DESIGN = "a filter is designed of plain numbers: pass tapegrad.stop_gradient of them"
_PAIRED = "roots are paired by comparisons; take tf2zpk, or build the sections from the roots"
_PARTIAL = "roots are grouped by a tolerance; take np.roots, and the residues from np.polyval"
_SPLINE = "it has boundary terms of its own; take tapegrad.scipy.ndimage.spline_filter1d"
REFUSED = {
    **dict.fromkeys(
        (
            "abcd_normalize band_stop_obj bessel besselap buttap butter buttord cheb1ap cheb1ord "
            "cheb2ap cheb2ord cheby1 cheby2 closest_STFT_dual_window czt_points ellip ellipap "
            "ellipord firls firwin firwin2 firwin_2d gammatone iircomb iirdesign iirfilter "
            "iirnotch iirpeak kaiserord minimum_phase place_poles remez"
        ).split(),
        _DESIGN,
    ),
    **dict.fromkeys(("tf2sos", "zpk2sos"), _PAIRED),
    **dict.fromkeys(("residue", "residuez", "invres", "invresz", "unique_roots"), _PARTIAL),
    **dict.fromkeys(
        (
            "cspline1d cspline1d_eval cspline2d qspline1d qspline1d_eval qspline2d sepfir2d "
            "spline_filter symiirorder1 symiirorder2"
        ).split(),
        _SPLINE,
    ),
}
REFUSED["whittaker_henderson"] = (
    "it has a solver of its own; solve (np.diag(w) + lamb * d.T @ d) x = w * y with d = "
    "np.diff(np.eye(n), order, axis=0)"
)

MADE: dict[str, Any] = {}
for _name in CONSTANT:
    if hasattr(ss, _name):
        MADE[_name] = mirror(getattr(ss, _name), HERE)
        constant(MADE[_name], batch="loop")
for _name, _reason in REFUSED.items():
    if hasattr(ss, _name):
        MADE[_name] = mirror(getattr(ss, _name), HERE)
        unsupported(MADE[_name], reason=_reason)

__all__ = ["MADE"]
