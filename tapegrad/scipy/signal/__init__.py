"""`scipy.signal`, with derivatives by signals, coefficients and whatever else is continuous.

Functions are SciPy's own of plain arrays. A filter has derivatives by its coefficients and initial
conditions, in linear time, and its design by frequencies and ripples. Of a chosen
element (`medfilt`, `order_filter`) the derivative is 1, shared evenly among equal ones.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy import signal
>>> x = np.array([1.0, 0.0, 0.0, 0.0])
>>> def last(decay):
...     return signal.lfilter([1.0], [1.0, -decay], x)[-1]
>>> tapegrad.grad(last)(0.5)  # the last is decay**3
np.float64(0.75)
"""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.signal import windows
from tapegrad.scipy.signal._conversions import (
    bilinear,
    bilinear_zpk,
    kaiser_atten,
    kaiser_beta,
    lp2bp,
    lp2bp_zpk,
    lp2bs,
    lp2bs_zpk,
    lp2hp,
    lp2hp_zpk,
    lp2lp,
    lp2lp_zpk,
    normalize,
    sos2tf,
    sos2zpk,
    ss2tf,
    ss2zpk,
    tf2ss,
    tf2zpk,
    zpk2ss,
    zpk2tf,
)
from tapegrad.scipy.signal._convolution import (
    choose_conv_method,
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from tapegrad.scipy.signal._decided import MADE
from tapegrad.scipy.signal._filters import (
    deconvolve,
    lfilter,
    lfilter_zi,
    lfiltic,
    sosfilt,
    sosfilt_zi,
)
from tapegrad.scipy.signal._lomb_scargle import lombscargle
from tapegrad.scipy.signal._nonlinear import (
    czt,
    envelope,
    medfilt,
    medfilt2d,
    order_filter,
    wiener,
    zoom_fft,
)
from tapegrad.scipy.signal._peaks import find_peaks, peak_prominences, peak_widths
from tapegrad.scipy.signal._resampling import decimate, resample, resample_poly, upfirdn
from tapegrad.scipy.signal._responses import (
    freqs,
    freqs_zpk,
    freqz,
    freqz_sos,
    freqz_zpk,
    group_delay,
    sosfreqz,
)
from tapegrad.scipy.signal._short_time import istft, stft
from tapegrad.scipy.signal._spectra import coherence, csd, periodogram, spectrogram, welch
from tapegrad.scipy.signal._systems import (
    bode,
    cont2discrete,
    dbode,
    dfreqresp,
    dimpulse,
    dlsim,
    dstep,
    freqresp,
    impulse,
    lsim,
    step,
)
from tapegrad.scipy.signal._trends import detrend, hilbert, hilbert2, savgol_coeffs, savgol_filter
from tapegrad.scipy.signal._waves import (
    chirp,
    gauss_spline,
    gausspulse,
    sawtooth,
    square,
    sweep_poly,
    vectorstrength,
)
from tapegrad.scipy.signal._windows import get_window
from tapegrad.scipy.signal._zero_phase import filtfilt, sosfiltfilt

__getattr__, __dir__ = namespace(__name__, "scipy.signal")
globals().update(copied(__name__))

__all__ = list(shared_names(__name__, "scipy.signal", "windows"))

# Functions without a derivative are not listed.
globals().update(MADE)
