"""`scipy.fft`, with derivatives: Fourier, Hankel, cosine and sine transforms.

Functions are SciPy's own of plain arrays, `workers` included; `overwrite_x` is ignored inside a
transform, where others may hold the array. `fftfreq`, `next_fast_len` and the rest are SciPy's.

This module is also a backend for SciPy's own functions, which then take traced arrays. It costs
those nothing who do not ask for it.

>>> import numpy as np, scipy.fft, tapegrad
>>> from tapegrad.scipy import fft
>>> x = np.array([1.0, 2.0, 4.0])
>>> tapegrad.grad(lambda x: fft.dct(x)[1])(x)
array([ 1.73205081,  0.        , -1.73205081])
>>> with scipy.fft.set_backend(fft):
...     tapegrad.grad(lambda x: scipy.fft.dct(x)[1])(x)
array([ 1.73205081,  0.        , -1.73205081])
"""

from __future__ import annotations

from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.fft._backend import __ua_domain__, __ua_function__
from tapegrad.scipy.fft._cosine import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from tapegrad.scipy.fft._fourier import (
    fft,
    fft2,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)
from tapegrad.scipy.fft._hankel import fht, ifht

__getattr__, __dir__ = namespace(__name__, "scipy.fft")

__all__ = list(shared_names(__name__, "scipy.fft"))
