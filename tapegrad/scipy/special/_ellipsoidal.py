"""Ellipsoidal harmonics, by their argument and by the ellipsoid."""

from __future__ import annotations

import numpy as np
import scipy.special

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Function, Value
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.special._parameters import along, whole

_HOME = "tapegrad.scipy.special"

ellip_harm = mirror(scipy.special.ellip_harm, _HOME)
ellip_harm_2 = mirror(scipy.special.ellip_harm_2, _HOME)

elementwise(
    ellip_harm,
    along(ellip_harm, 0, 0.25),
    along(ellip_harm, 1, 0.25),
    whole(ellip_harm, 2),
    whole(ellip_harm, 3),
    along(ellip_harm, 4, 0.25),
    0,
    0,
    signature="h2, k2, n, p, s, signm=1, signn=1",
    strong=True,
)


def _by_s(out: Value, h2: Value, k2: Value, n: Value, p: Value, s: Value) -> Value:
    """F(s) is (2n + 1) E(s) times the integral from 0 to 1/s of an integrand with 1 / E**2."""
    harmonic = ellip_harm(h2, k2, n, p, s)
    slope = along(ellip_harm, 4, 0.25)(None, h2, k2, n, p, s)
    end = (2 * n + 1) / (harmonic * np.sqrt(s * s - h2) * np.sqrt(s * s - k2))
    return slope / harmonic * out - end


def _refused(at: int) -> Function:
    def partial(_out: Value, *args: Value) -> Value:
        raise NotDifferentiableError(
            f"scipy.special.ellip_harm_2: not differentiable by its argument {at} (it is computed "
            "by adaptive quadrature). Pass tapegrad.stop_gradient(...) of it."
        )

    return partial


elementwise(
    ellip_harm_2,
    _refused(0),
    _refused(1),
    whole(ellip_harm_2, 2),
    whole(ellip_harm_2, 3),
    _by_s,
    strong=True,
)

__all__ = ["ellip_harm", "ellip_harm_2"]
