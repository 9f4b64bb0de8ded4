"""Spectra of samples at uneven times, by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad._core.values import innermost
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.signal._arrays import HERE, as_array

lombscargle = mirror(ss.lombscargle, HERE)


def _lombscargle(
    x: Value,
    y: Value,
    freqs: Value,
    precenter: Any = False,
    normalize: Any = False,
    weights: Value = None,
    floating_mean: bool = False,
) -> Value:
    """The least-squares fit of a sine and a cosine at each frequency.

    J. D. Scargle, Astrophysical Journal 263 (1982), 835-853; M. Zechmeister and M. Kuerster,
    Astronomy and Astrophysics 496 (2009), 577-584, for weights and the floating mean.
    """
    x, y, freqs = as_array(x), as_array(y), as_array(freqs)
    word = {False: "power", True: "normalize"}.get(normalize, normalize)
    if word not in ("power", "normalize", "amplitude"):
        raise ValueError(
            "scipy.signal.lombscargle: expected normalize=False, True, 'power', 'normalize' or "
            f"'amplitude', got {normalize!r}."
        )
    if innermost([precenter]) is None and precenter is True:
        y = y - np.mean(y)
    w = np.ones(x.shape[0]) if weights is None else as_array(weights)
    w = w / np.sum(w)
    angles = freqs[:, None] * x

    def sums(cosine: Value, sine: Value) -> tuple[Value, Value, Value, Value, Value]:
        yc, ys = cosine @ (w * y), sine @ (w * y)
        cc, cs = (cosine * cosine) @ w, (cosine * sine) @ w
        ss = 1 - cc
        if floating_mean:
            c, s, mean = cosine @ w, sine @ w, w @ y
            yc, ys = yc - mean * c, ys - mean * s
            cc, ss, cs = cc - c * c, ss - s * s, cs - c * s
        return yc, ys, cc, ss, cs

    _, _, cc, ss, cs = sums(np.cos(angles), np.sin(angles))
    tau = 0.5 * np.arctan2(2 * cs, cc - ss)
    turned = angles - tau[:, None]
    yc, ys, cc, ss, _ = sums(np.cos(turned), np.sin(turned))
    least = np.finfo(np.float64).epsneg
    cc, ss = (np.where(v < least, least, v) for v in (cc, ss))
    a, b = yc / cc, ys / ss
    if word == "amplitude":
        return np.squeeze((a + 1j * b) * np.exp(1j * tau))
    power = 2 * (a * yc + b * ys)
    if word == "power":
        return np.squeeze(power * (x.shape[0] / 4))
    total = w @ (y * y)
    if floating_mean:
        total = total - (w @ y) ** 2
    return np.squeeze(power * 0.5 / total)


composite(lombscargle, _lombscargle, batch="loop")

__all__ = ["lombscargle"]
