"""Samples of tapegrad.rules.elementwise."""

from __future__ import annotations

import numpy as np
from makers import beside
from sampling import FLAGS, REAL, SMALL, X, each, sample

each([np.add, np.subtract, np.multiply], X, beside)
sample(np.divide, X, beside, on=[(-2, 2), (0.5, 3)])
each([np.negative, np.positive, np.square, np.exp, np.exp2, np.expm1], X)
each([np.sin, np.cos, np.sinh, np.cosh, np.tanh, np.conjugate, np.real, np.imag, np.sign], X)
each([np.reciprocal, np.sqrt, np.log, np.log2, np.log10], X, on=(0.3, 3))
each([np.cbrt, np.fabs, np.degrees, np.rad2deg, np.radians, np.deg2rad], X, dtypes=REAL)
sample(np.log1p, X, on=(-0.7, 2))
each([np.tan, np.arctan, np.arcsinh], X, on=(-0.9, 0.9))
each([np.arcsin, np.arccos, np.arctanh], X, on=(-0.8, 0.8))
sample(np.arccosh, X, on=(1.2, 3))
sample(np.absolute, X)
sample(np.power, X, beside, on=[(0.3, 2), (-2, 2)])
sample(np.float_power, X, beside, on=[(0.3, 2), (-2, 2)])
each([np.remainder, np.fmod, np.divmod], X, beside, on=[(-2, 2), (2.5, 3.5)], dtypes=REAL)
each([np.logaddexp, np.logaddexp2, np.arctan2, np.hypot, np.copysign], X, beside, dtypes=REAL)
each([np.heaviside, np.nextafter], X, beside, dtypes=REAL)
sample(np.ldexp, X, SMALL, dtypes=REAL)
each([np.maximum, np.minimum, np.fmax, np.fmin], X, beside, dtypes=REAL)
each([np.modf, np.frexp], X, dtypes=REAL)
sample(np.angle, X, deg=FLAGS, on=(0.2, 2))
sample(np.nan_to_num, X, nan=SMALL)
sample(np.real_if_close, X)
