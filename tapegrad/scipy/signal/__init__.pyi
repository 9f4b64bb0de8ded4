"""`scipy.signal` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from numpy.typing import ArrayLike
from tapegrad.scipy._kinds import Array
from typing import Any, Literal, overload
from scipy.signal import BadCoefficients as BadCoefficients
from scipy.signal import CZT as CZT
from scipy.signal import ShortTimeFFT as ShortTimeFFT
from scipy.signal import StateSpace as StateSpace
from scipy.signal import TransferFunction as TransferFunction
from scipy.signal import ZerosPolesGain as ZerosPolesGain
from scipy.signal import ZoomFFT as ZoomFFT
from scipy.signal import dlti as dlti
from scipy.signal import lti as lti
from tapegrad.scipy.signal import windows as windows

def abcd_normalize(
    A: Any = None,
    B: Any = None,
    C: Any = None,
    D: Any = None,
) -> tuple[Array, Array, Array, Array]: ...
def argrelextrema(
    data: Any,
    comparator: Any,
    axis: Any = 0,
    order: Any = 1,
    mode: Any = 'clip',
) -> tuple[Array, ...]: ...
def argrelmax(
    data: Any,
    axis: Any = 0,
    order: Any = 1,
    mode: Any = 'clip',
) -> tuple[Array, ...]: ...
def argrelmin(
    data: Any,
    axis: Any = 0,
    order: Any = 1,
    mode: Any = 'clip',
) -> tuple[Array, ...]: ...
def band_stop_obj(
    wp: Any,
    ind: Any,
    passb: Any,
    stopb: Any,
    gpass: Any,
    gstop: Any,
    type: Any,
) -> Any: ...
@overload
def bessel(
    N: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Literal['ba'] = 'ba',
    norm: Any = 'phase',
    fs: Any = None,
) -> tuple[Array, Array]: ...
@overload
def bessel(
    N: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['zpk'],
    norm: Any = 'phase',
    fs: Any = None,
) -> tuple[Array, Array, Any]: ...
@overload
def bessel(
    N: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['sos'],
    norm: Any = 'phase',
    fs: Any = None,
) -> Array: ...
@overload
def bessel(
    N: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Any = 'ba',
    norm: Any = 'phase',
    fs: Any = None,
) -> Any: ...
def besselap(
    N: Any,
    norm: Any = 'phase',
    *,
    xp: Any = None,
    device: Any = None,
) -> tuple[Array, Array, Any]: ...
def bilinear(b: Any, a: Any, fs: Any = 1.0) -> tuple[Array, Array]: ...
def bilinear_zpk(z: Any, p: Any, k: Any, fs: Any) -> tuple[Array, Array, Any]: ...
def bode(system: Any, w: Any = None, n: Any = 100) -> tuple[Array, Array, Array]: ...
def buttap(N: Any, *, xp: Any = None, device: Any = None) -> tuple[Array, Array, Any]: ...
@overload
def butter(
    N: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Literal['ba'] = 'ba',
    fs: Any = None,
) -> tuple[Array, Array]: ...
@overload
def butter(
    N: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['zpk'],
    fs: Any = None,
) -> tuple[Array, Array, Any]: ...
@overload
def butter(
    N: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['sos'],
    fs: Any = None,
) -> Array: ...
@overload
def butter(
    N: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Any = 'ba',
    fs: Any = None,
) -> Any: ...
def buttord(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    fs: Any = None,
) -> tuple[int, Any]: ...
def cheb1ap(
    N: Any,
    rp: Any,
    *,
    xp: Any = None,
    device: Any = None,
) -> tuple[Array, Array, Any]: ...
def cheb1ord(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    fs: Any = None,
) -> tuple[int, Any]: ...
def cheb2ap(
    N: Any,
    rs: Any,
    *,
    xp: Any = None,
    device: Any = None,
) -> tuple[Array, Array, Any]: ...
def cheb2ord(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    fs: Any = None,
) -> tuple[int, Any]: ...
@overload
def cheby1(
    N: Any,
    rp: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Literal['ba'] = 'ba',
    fs: Any = None,
) -> tuple[Array, Array]: ...
@overload
def cheby1(
    N: Any,
    rp: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['zpk'],
    fs: Any = None,
) -> tuple[Array, Array, Any]: ...
@overload
def cheby1(
    N: Any,
    rp: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['sos'],
    fs: Any = None,
) -> Array: ...
@overload
def cheby1(
    N: Any,
    rp: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Any = 'ba',
    fs: Any = None,
) -> Any: ...
@overload
def cheby2(
    N: Any,
    rs: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Literal['ba'] = 'ba',
    fs: Any = None,
) -> tuple[Array, Array]: ...
@overload
def cheby2(
    N: Any,
    rs: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['zpk'],
    fs: Any = None,
) -> tuple[Array, Array, Any]: ...
@overload
def cheby2(
    N: Any,
    rs: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['sos'],
    fs: Any = None,
) -> Array: ...
@overload
def cheby2(
    N: Any,
    rs: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Any = 'ba',
    fs: Any = None,
) -> Any: ...
def check_COLA(window: Any, nperseg: Any, noverlap: Any, tol: Any = 1e-10) -> bool: ...
def check_NOLA(window: Any, nperseg: Any, noverlap: Any, tol: Any = 1e-10) -> bool: ...
def chirp(
    t: Any,
    f0: Any,
    t1: Any,
    f1: Any,
    method: Any = 'linear',
    phi: Any = 0,
    vertex_zero: bool = True,
    *,
    complex: bool = False,
) -> Array: ...
def choose_conv_method(in1: Any, in2: Any, mode: Any = 'full', measure: bool = False) -> Any: ...
def closest_STFT_dual_window(
    win: Any,
    hop: Any,
    desired_dual: Any = None,
    *,
    scaled: bool = True,
) -> Any: ...
def coherence(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = 'hann_periodic',
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = 'constant',
    axis: Any = -1,
) -> tuple[Array, Array]: ...
def cont2discrete(system: Any, dt: Any, method: Any = 'zoh', alpha: Any = None) -> Any: ...
def convolve(in1: Any, in2: Any, mode: Any = 'full', method: Any = 'auto') -> Array: ...
def convolve2d(
    in1: Any,
    in2: Any,
    mode: Any = 'full',
    boundary: Any = 'fill',
    fillvalue: Any = 0,
) -> Array: ...
def correlate(in1: Any, in2: Any, mode: Any = 'full', method: Any = 'auto') -> Array: ...
def correlate2d(
    in1: Any,
    in2: Any,
    mode: Any = 'full',
    boundary: Any = 'fill',
    fillvalue: Any = 0,
) -> Array: ...
def correlation_lags(in1_len: Any, in2_len: Any, mode: Any = 'full') -> Array: ...
def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = 'hann_periodic',
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = 'constant',
    return_onesided: bool = True,
    scaling: Any = 'density',
    axis: Any = -1,
    average: Any = 'mean',
) -> tuple[Array, Array]: ...
def cspline1d(signal: Any, lamb: Any = 0.0) -> Array: ...
def cspline1d_eval(cj: Any, newx: Any, dx: Any = 1.0, x0: Any = 0) -> Array: ...
def cspline2d(signal: Any, lamb: Any = 0.0, precision: Any = -1.0) -> Array: ...
def czt(x: Any, m: Any = None, w: Any = None, a: Any = ..., *, axis: Any = -1) -> Array: ...
def czt_points(m: Any, w: Any = None, a: Any = ...) -> Array: ...
def dbode(system: Any, w: Any = None, n: Any = 100) -> tuple[Array, Array, Array]: ...
def decimate(
    x: Any,
    q: Any,
    n: Any = None,
    ftype: Any = 'iir',
    axis: Any = -1,
    zero_phase: bool = True,
) -> Array: ...
def deconvolve(signal: Any, divisor: Any) -> tuple[Array, Array]: ...
def detrend(
    data: Any,
    axis: Any = -1,
    type: Any = 'linear',
    bp: Any = 0,
    overwrite_data: bool = False,
) -> Array: ...
def dfreqresp(
    system: Any,
    w: Any = None,
    n: Any = 10000,
    whole: bool = False,
) -> tuple[Array, Array]: ...
def dimpulse(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> Any: ...
def dlsim(system: Any, u: Any, t: Any = None, x0: Any = None) -> Any: ...
def dstep(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> Any: ...
@overload
def ellip(
    N: Any,
    rp: Any,
    rs: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Literal['ba'] = 'ba',
    fs: Any = None,
) -> tuple[Array, Array]: ...
@overload
def ellip(
    N: Any,
    rp: Any,
    rs: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['zpk'],
    fs: Any = None,
) -> tuple[Array, Array, Any]: ...
@overload
def ellip(
    N: Any,
    rp: Any,
    rs: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    *,
    output: Literal['sos'],
    fs: Any = None,
) -> Array: ...
@overload
def ellip(
    N: Any,
    rp: Any,
    rs: Any,
    Wn: Any,
    btype: Any = 'low',
    analog: bool = False,
    output: Any = 'ba',
    fs: Any = None,
) -> Any: ...
def ellipap(
    N: Any,
    rp: Any,
    rs: Any,
    *,
    xp: Any = None,
    device: Any = None,
) -> tuple[Array, Array, Any]: ...
def ellipord(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    fs: Any = None,
) -> tuple[int, Any]: ...
def envelope(
    z: Any,
    bp_in: Any = ...,
    *,
    n_out: Any = None,
    squared: bool = False,
    residual: Any = 'lowpass',
    axis: Any = -1,
) -> Array: ...
def fftconvolve(in1: Any, in2: Any, mode: Any = 'full', axes: Any = None) -> Array: ...
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: Any = -1,
    padtype: Any = 'odd',
    padlen: Any = None,
    method: Any = 'pad',
    irlen: Any = None,
) -> Array: ...
def find_peaks(
    x: Any,
    height: Any = None,
    threshold: Any = None,
    distance: Any = None,
    prominence: Any = None,
    width: Any = None,
    wlen: Any = None,
    rel_height: Any = 0.5,
    plateau_size: Any = None,
) -> tuple[Array, dict[str, Any]]: ...
def find_peaks_cwt(
    vector: Any,
    widths: Any,
    wavelet: Any = None,
    max_distances: Any = None,
    gap_thresh: Any = None,
    min_length: Any = None,
    min_snr: Any = 1,
    noise_perc: Any = 10,
    window_size: Any = None,
) -> Array: ...
def findfreqs(num: Any, den: Any, N: Any, kind: Any = 'ba') -> Array: ...
def firls(
    numtaps: Any,
    bands: Any,
    desired: Any,
    *,
    weight: Any = None,
    fs: Any = None,
) -> Array: ...
def firwin(
    numtaps: Any,
    cutoff: Any,
    *,
    width: Any = None,
    window: Any = 'hamming',
    pass_zero: bool = True,
    scale: bool = True,
    fs: Any = None,
) -> Array: ...
def firwin2(
    numtaps: Any,
    freq: Any,
    gain: Any,
    *,
    nfreqs: Any = None,
    window: Any = 'hamming',
    antisymmetric: bool = False,
    fs: Any = None,
) -> Array: ...
def firwin_2d(
    hsize: Any,
    window: Any,
    *,
    fc: Any = None,
    fs: Any = 2,
    circular: bool = False,
    pass_zero: bool = True,
    scale: bool = True,
) -> Array: ...
def freqresp(system: Any, w: Any = None, n: Any = 10000) -> tuple[Array, Array]: ...
def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> tuple[Array, Array]: ...
def freqs_zpk(z: Any, p: Any, k: Any, worN: Any = 200) -> tuple[Array, Array]: ...
def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,
    whole: bool = False,
    plot: Any = None,
    fs: Any = 6.283185307179586,
    include_nyquist: bool = False,
) -> tuple[Array, Array]: ...
def freqz_sos(
    sos: Any,
    worN: Any = 512,
    whole: bool = False,
    fs: Any = 6.283185307179586,
) -> tuple[Array, Array]: ...
def freqz_zpk(
    z: Any,
    p: Any,
    k: Any,
    worN: Any = 512,
    whole: bool = False,
    fs: Any = 6.283185307179586,
) -> tuple[Array, Array]: ...
def gammatone(
    freq: Any,
    ftype: Any,
    order: Any = None,
    numtaps: Any = None,
    fs: Any = None,
    *,
    xp: Any = None,
    device: Any = None,
) -> tuple[Array, Array]: ...
def gauss_spline(x: Any, n: Any) -> Array: ...
def gausspulse(
    t: Any,
    fc: Any = 1000,
    bw: Any = 0.5,
    bwr: Any = -6,
    tpr: Any = -60,
    retquad: bool = False,
    retenv: bool = False,
) -> Any: ...
def get_window(
    window: Any,
    Nx: Any,
    fftbins: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def group_delay(
    system: Any,
    w: Any = 512,
    whole: bool = False,
    fs: Any = 6.283185307179586,
) -> tuple[Array, Array]: ...
def hilbert(x: Any, N: Any = None, axis: Any = -1) -> Array: ...
def hilbert2(x: Any, N: Any = None, axes: Any = ...) -> Array: ...
def iircomb(
    w0: Any,
    Q: Any,
    ftype: Any = 'notch',
    fs: Any = 2.0,
    *,
    pass_zero: bool = False,
    xp: Any = None,
    device: Any = None,
) -> tuple[Array, Array]: ...
@overload
def iirdesign(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    ftype: Any = 'ellip',
    output: Literal['ba'] = 'ba',
    fs: Any = None,
) -> tuple[Array, Array]: ...
@overload
def iirdesign(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    ftype: Any = 'ellip',
    *,
    output: Literal['zpk'],
    fs: Any = None,
) -> tuple[Array, Array, Any]: ...
@overload
def iirdesign(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    ftype: Any = 'ellip',
    *,
    output: Literal['sos'],
    fs: Any = None,
) -> Array: ...
@overload
def iirdesign(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    ftype: Any = 'ellip',
    output: Any = 'ba',
    fs: Any = None,
) -> Any: ...
@overload
def iirfilter(
    N: Any,
    Wn: Any,
    rp: Any = None,
    rs: Any = None,
    btype: Any = 'band',
    analog: bool = False,
    ftype: Any = 'butter',
    output: Literal['ba'] = 'ba',
    fs: Any = None,
) -> tuple[Array, Array]: ...
@overload
def iirfilter(
    N: Any,
    Wn: Any,
    rp: Any = None,
    rs: Any = None,
    btype: Any = 'band',
    analog: bool = False,
    ftype: Any = 'butter',
    *,
    output: Literal['zpk'],
    fs: Any = None,
) -> tuple[Array, Array, Any]: ...
@overload
def iirfilter(
    N: Any,
    Wn: Any,
    rp: Any = None,
    rs: Any = None,
    btype: Any = 'band',
    analog: bool = False,
    ftype: Any = 'butter',
    *,
    output: Literal['sos'],
    fs: Any = None,
) -> Array: ...
@overload
def iirfilter(
    N: Any,
    Wn: Any,
    rp: Any = None,
    rs: Any = None,
    btype: Any = 'band',
    analog: bool = False,
    ftype: Any = 'butter',
    output: Any = 'ba',
    fs: Any = None,
) -> Any: ...
def iirnotch(
    w0: Any,
    Q: Any,
    fs: Any = 2.0,
    *,
    xp: Any = None,
    device: Any = None,
) -> tuple[Array, Array]: ...
def iirpeak(
    w0: Any,
    Q: Any,
    fs: Any = 2.0,
    *,
    xp: Any = None,
    device: Any = None,
) -> tuple[Array, Array]: ...
def impulse(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> tuple[Array, Array]: ...
def invres(
    r: Any,
    p: Any,
    k: Any,
    tol: Any = 0.001,
    rtype: Any = 'avg',
) -> tuple[Array, Array]: ...
def invresz(
    r: Any,
    p: Any,
    k: Any,
    tol: Any = 0.001,
    rtype: Any = 'avg',
) -> tuple[Array, Array]: ...
def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = 'hann_periodic',
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: Any = -1,
    freq_axis: Any = -2,
    scaling: Any = 'spectrum',
) -> tuple[Array, Array]: ...
def kaiser_atten(numtaps: Any, width: Any) -> Any: ...
def kaiser_beta(a: Any) -> Any: ...
def kaiserord(ripple: Any, width: Any) -> tuple[int, float]: ...
@overload
def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, zi: None = None) -> Array: ...
@overload
def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, *, zi: ArrayLike) -> tuple[Array, Array]: ...
@overload
def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any: ...
def lfilter_zi(b: Any, a: Any) -> Array: ...
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Array: ...
def lombscargle(
    x: Any,
    y: Any,
    freqs: Any,
    *,
    precenter: Any = ...,
    normalize: bool = False,
    weights: Any = None,
    floating_mean: bool = False,
) -> Array: ...
def lp2bp(b: Any, a: Any, wo: Any = 1.0, bw: Any = 1.0) -> tuple[Array, Array]: ...
def lp2bp_zpk(
    z: Any,
    p: Any,
    k: Any,
    wo: Any = 1.0,
    bw: Any = 1.0,
) -> tuple[Array, Array, Any]: ...
def lp2bs(b: Any, a: Any, wo: Any = 1.0, bw: Any = 1.0) -> tuple[Array, Array]: ...
def lp2bs_zpk(
    z: Any,
    p: Any,
    k: Any,
    wo: Any = 1.0,
    bw: Any = 1.0,
) -> tuple[Array, Array, Any]: ...
def lp2hp(b: Any, a: Any, wo: Any = 1.0) -> tuple[Array, Array]: ...
def lp2hp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple[Array, Array, Any]: ...
def lp2lp(b: Any, a: Any, wo: Any = 1.0) -> tuple[Array, Array]: ...
def lp2lp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple[Array, Array, Any]: ...
def lsim(
    system: Any,
    U: Any,
    T: Any,
    X0: Any = None,
    interp: bool = True,
) -> tuple[Array, Array, Array]: ...
def max_len_seq(
    nbits: Any,
    state: Any = None,
    length: Any = None,
    taps: Any = None,
) -> tuple[Array, Array]: ...
def medfilt(volume: Any, kernel_size: Any = None) -> Array: ...
def medfilt2d(input: Any, kernel_size: Any = 3) -> Array: ...
def minimum_phase(
    h: Any,
    method: Any = 'homomorphic',
    n_fft: Any = None,
    *,
    half: bool = True,
) -> Array: ...
def normalize(b: Any, a: Any) -> tuple[Array, Array]: ...
def oaconvolve(in1: Any, in2: Any, mode: Any = 'full', axes: Any = None) -> Array: ...
def order_filter(a: Any, domain: Any, rank: Any) -> Array: ...
def peak_prominences(x: Any, peaks: Any, wlen: Any = None) -> tuple[Array, Array, Array]: ...
def peak_widths(
    x: Any,
    peaks: Any,
    rel_height: Any = 0.5,
    prominence_data: Any = None,
    wlen: Any = None,
) -> tuple[Array, Array, Array, Array]: ...
def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = 'boxcar',
    nfft: Any = None,
    detrend: Any = 'constant',
    return_onesided: bool = True,
    scaling: Any = 'density',
    axis: Any = -1,
) -> tuple[Array, Array]: ...
def place_poles(
    A: Any,
    B: Any,
    poles: Any,
    method: Any = 'YT',
    rtol: Any = 0.001,
    maxiter: Any = 30,
) -> Any: ...
def qspline1d(signal: Any, lamb: Any = 0.0) -> Array: ...
def qspline1d_eval(cj: Any, newx: Any, dx: Any = 1.0, x0: Any = 0) -> Array: ...
def qspline2d(signal: Any, lamb: Any = 0.0, precision: Any = -1.0) -> Array: ...
def remez(
    numtaps: Any,
    bands: Any,
    desired: Any,
    *,
    weight: Any = None,
    type: Any = 'bandpass',
    maxiter: Any = 25,
    grid_density: Any = 16,
    fs: Any = None,
) -> Array: ...
@overload
def resample(
    x: Any,
    num: Any,
    t: None = None,
    axis: Any = 0,
    window: Any = None,
    domain: Any = 'time',
) -> Array: ...
@overload
def resample(
    x: Any,
    num: Any,
    *,
    t: ArrayLike,
    axis: Any = 0,
    window: Any = None,
    domain: Any = 'time',
) -> tuple[Array, Array]: ...
@overload
def resample(
    x: Any,
    num: Any,
    t: Any = None,
    axis: Any = 0,
    window: Any = None,
    domain: Any = 'time',
) -> Any: ...
def resample_poly(
    x: Any,
    up: Any,
    down: Any,
    axis: Any = 0,
    window: Any = ...,
    padtype: Any = 'constant',
    cval: Any = None,
) -> Array: ...
def residue(
    b: Any,
    a: Any,
    tol: Any = 0.001,
    rtype: Any = 'avg',
) -> tuple[Array, Array, Array]: ...
def residuez(
    b: Any,
    a: Any,
    tol: Any = 0.001,
    rtype: Any = 'avg',
) -> tuple[Array, Array, Array]: ...
def savgol_coeffs(
    window_length: Any,
    polyorder: Any,
    deriv: Any = 0,
    delta: Any = 1.0,
    pos: Any = None,
    use: Any = 'conv',
    *,
    xp: Any = None,
    device: Any = None,
) -> Array: ...
def savgol_filter(
    x: Any,
    window_length: Any,
    polyorder: Any,
    deriv: Any = 0,
    delta: Any = 1.0,
    axis: Any = -1,
    mode: Any = 'interp',
    cval: Any = 0.0,
) -> Array: ...
def sawtooth(t: Any, width: Any = 1) -> Array: ...
def sepfir2d(*args: Any, **kwargs: Any) -> Array: ...
def sos2tf(sos: Any) -> tuple[Array, Array]: ...
def sos2zpk(sos: Any) -> tuple[Array, Array, Any]: ...
@overload
def sosfilt(sos: Any, x: Any, axis: Any = -1, zi: None = None) -> Array: ...
@overload
def sosfilt(sos: Any, x: Any, axis: Any = -1, *, zi: ArrayLike) -> tuple[Array, Array]: ...
@overload
def sosfilt(sos: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any: ...
def sosfilt_zi(sos: Any) -> Array: ...
def sosfiltfilt(
    sos: Any,
    x: Any,
    axis: Any = -1,
    padtype: Any = 'odd',
    padlen: Any = None,
) -> Array: ...
def sosfreqz(*args: Any, **kwargs: Any) -> tuple[Array, Array]: ...
def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ...,
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = 'constant',
    return_onesided: bool = True,
    scaling: Any = 'density',
    axis: Any = -1,
    mode: Any = 'psd',
) -> tuple[Array, Array, Array]: ...
def spline_filter(Iin: Any, lmbda: Any = 5.0) -> Array: ...
def square(t: Any, duty: Any = 0.5) -> Array: ...
def ss2tf(A: Any, B: Any, C: Any, D: Any, input: Any = 0) -> tuple[Array, Array]: ...
def ss2zpk(A: Any, B: Any, C: Any, D: Any, input: Any = 0) -> tuple[Array, Array, Any]: ...
def step(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> tuple[Array, Array]: ...
def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = 'hann_periodic',
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: bool = False,
    return_onesided: bool = True,
    boundary: Any = 'zeros',
    padded: bool = True,
    axis: Any = -1,
    scaling: Any = 'spectrum',
) -> tuple[Array, Array, Array]: ...
def sweep_poly(t: Any, poly: Any, phi: Any = 0) -> Array: ...
def symiirorder1(signal: Any, c0: Any, z1: Any, precision: Any = -1.0) -> Array: ...
def symiirorder2(input: Any, r: Any, omega: Any, precision: Any = -1.0) -> Array: ...
def tf2sos(b: Any, a: Any, pairing: Any = None, *, analog: bool = False) -> Array: ...
def tf2ss(num: Any, den: Any) -> tuple[Array, Array, Array, Array]: ...
def tf2zpk(b: Any, a: Any) -> tuple[Array, Array, Any]: ...
def unique_roots(p: Any, tol: Any = 0.001, rtype: Any = 'min') -> tuple[Array, Array]: ...
def unit_impulse(shape: Any, idx: Any = None, dtype: Any = ...) -> Array: ...
def upfirdn(
    h: Any,
    x: Any,
    up: Any = 1,
    down: Any = 1,
    axis: Any = -1,
    mode: Any = 'constant',
    cval: Any = 0,
) -> Array: ...
def vectorstrength(events: Any, period: Any) -> Any: ...
def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = 'hann_periodic',
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = 'constant',
    return_onesided: bool = True,
    scaling: Any = 'density',
    axis: Any = -1,
    average: Any = 'mean',
) -> tuple[Array, Array]: ...
def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Array: ...
def zoom_fft(
    x: Any,
    fn: Any,
    m: Any = None,
    *,
    fs: Any = 2,
    endpoint: bool = False,
    axis: Any = -1,
) -> Array: ...
def zpk2sos(z: Any, p: Any, k: Any, pairing: Any = None, *, analog: bool = False) -> Array: ...
def zpk2ss(z: Any, p: Any, k: Any) -> tuple[Array, Array, Array, Array]: ...
def zpk2tf(z: Any, p: Any, k: Any) -> tuple[Array, Array]: ...
