"""`scipy.fft` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array
from typing import Any

def dct(
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Array: ...
def dctn(
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    orthogonalize: Any = None,
) -> Array: ...
def dst(
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Array: ...
def dstn(
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Array: ...
def fft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def fft2(
    x: Any,
    s: Any = None,
    axes: Any = ...,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def fftfreq(n: Any, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> Array: ...
def fftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def fftshift(x: Any, axes: Any = None) -> Array: ...
def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Array: ...
def fhtoffset(dln: Any, mu: Any, initial: Any = 0.0, bias: Any = 0.0) -> float: ...
def get_workers() -> int: ...
def hfft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def hfft2(
    x: Any,
    s: Any = None,
    axes: Any = ...,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def hfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def idct(
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Array: ...
def idctn(
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Array: ...
def idst(
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Array: ...
def idstn(
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Array: ...
def ifft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def ifft2(
    x: Any,
    s: Any = None,
    axes: Any = ...,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def ifftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def ifftshift(x: Any, axes: Any = None) -> Array: ...
def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Array: ...
def ihfft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def ihfft2(
    x: Any,
    s: Any = None,
    axes: Any = ...,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def ihfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def irfft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def irfft2(
    x: Any,
    s: Any = None,
    axes: Any = ...,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def irfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def next_fast_len(target: Any, real: bool = False) -> int: ...
def prev_fast_len(target: Any, real: bool = False) -> int: ...
def register_backend(backend: Any) -> Any: ...
def rfft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def rfft2(
    x: Any,
    s: Any = None,
    axes: Any = ...,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def rfftfreq(n: Any, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> Array: ...
def rfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Array: ...
def set_backend(backend: Any, coerce: bool = False, only: bool = False) -> Any: ...
def set_global_backend(
    backend: Any,
    coerce: bool = False,
    only: bool = False,
    try_last: bool = False,
) -> Any: ...
def set_workers(workers: Any) -> Any: ...
def skip_backend(backend: Any) -> Any: ...
