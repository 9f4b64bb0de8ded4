"""`scipy.signal.windows` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array
from typing import Any

def barthann(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def bartlett(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def blackman(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def blackmanharris(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def bohman(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def boxcar(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def chebwin(M: Any, at: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def cosine(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def dpss(
    M: Any,
    NW: Any,
    Kmax: Any = None,
    sym: bool = True,
    norm: Any = None,
    return_ratios: bool = False,
    *,
    xp: Any = None,
    device: Any = None,
) -> Any: ...
def exponential(
    M: Any,
    center: Any = None,
    tau: Any = 1.0,
    sym: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def flattop(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def gaussian(
    M: Any,
    std: Any,
    sym: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def general_cosine(M: Any, a: Any, sym: bool = True) -> Array: ...
def general_gaussian(
    M: Any,
    p: Any,
    sig: Any,
    sym: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def general_hamming(
    M: Any,
    alpha: Any,
    sym: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def get_window(
    window: Any,
    Nx: Any,
    fftbins: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def hamming(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def hann(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def kaiser(
    M: Any,
    beta: Any,
    sym: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def kaiser_bessel_derived(
    M: Any,
    beta: Any,
    *,
    sym: bool = True,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def lanczos(M: Any, *, sym: bool = True, xp: Any = None, device: Any = None) -> Array: ...
def nuttall(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def parzen(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def taylor(
    M: Any,
    nbar: Any = 4,
    sll: Any = 30,
    norm: bool = True,
    sym: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def triang(M: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array: ...
def tukey(
    M: Any,
    alpha: Any = 0.5,
    sym: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
