"""Short-time Fourier transforms, and back.

Knows PyTorch's parameters and checks. Must not know how a transform is computed or differentiated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch._dtypes import type_word
from tapegrad.torch._ops.declare import OPERATIONS, private, register
from tapegrad.torch._tensor.tensor import Tensor

_MODES = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}


def _words(word: str, x: Any, **settings: Any) -> str:
    """A call as PyTorch's messages show it."""
    shown = []
    for name, value in settings.items():
        if isinstance(value, Tensor):
            text = f"{type_word(value._value.dtype)}{{{list(value.shape)}}}"
        else:
            text = str(int(value)) if isinstance(value, bool) else str(value)
        shown.append(f"{name}={text}")
    return f"{word}({type_word(x._value.dtype)}{list(x.shape)}, {', '.join(shown)})"


def _window(window: Any, width: int, n_fft: int, kind: Any) -> Value:
    """The window in the middle of n_fft places; without one, ones."""
    found = np.ones(width, kind) if window is None else window
    left = (n_fft - width) // 2
    if width == n_fft:
        return found
    return np.pad(found, (left, n_fft - width - left))


def _label_of_stft(input: Any, *_: Any) -> str:
    return "TransposeBackward1" if input.ndim == 2 else "SqueezeBackward4"


@private(_label_of_stft, name="stft")
def _stft(
    input: Value, n_fft: int, hop: int, width: int, window: Any, normalized: bool, onesided: bool
) -> Value:
    frames = 1 + (input.shape[-1] - n_fft) // hop
    places = np.arange(n_fft)[:, None] + hop * np.arange(frames)
    real = np.empty(0, input.dtype).real.dtype
    parts = input[..., places] * _window(window, width, n_fft, real)[:, None]
    norm: Any = "ortho" if normalized else None
    call = np.fft.rfft if onesided else np.fft.fft
    found = call(parts, axis=-2, norm=norm)
    wanted = np.result_type(input.dtype, np.complex64)
    return found if found.dtype == wanted else found.astype(wanted)


@register()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of overlapping windows: frequencies along -2, windows along -1.

    input: One signal (n,) or a batch of them (b, n).
    n_fft: The length of the transforms.
    hop_length: From one window to the next; n_fft // 4 unless given.
    win_length: The length of `window`; n_fft unless given.
    window: The weights (win_length,); ones unless given.
    center: Whether the signal is padded by n_fft // 2 at both ends, so that windows are centred at
        multiples of `hop_length`.
    pad_mode: How it is padded, as of `nn.functional.pad`.
    normalized: Whether the transforms are divided by the root of n_fft.
    onesided: Whether frequencies that follow from the others are left out; for real signals unless
        given.
    return_complex: Has to be given for real signals; False for pairs of real numbers along a last
        dimension.
    align_to_window: Whether the first window begins at the start of the signal, where it is not
        centred.
    -> Tensor: Complex numbers (..., frequencies, windows).
    RuntimeError: If a length does not fit, or `return_complex` is missing.
    """
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will "
            "further require that return_complex=True in a future PyTorch release."
        )
    x = input
    if center and input.ndim in (1, 2, 3):
        x = _padded(input, n_fft // 2, pad_mode)
    call = _words(
        "stft",
        x,
        n_fft=n_fft,
        hop_length=hop,
        win_length=width,
        window=window,
        normalized=normalized,
        onesided=onesided,
        return_complex=return_complex,
        align_to_window=align_to_window,
    )
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"{call} : expected a tensor of floating point or complex values")
    if x.ndim not in (1, 2):
        raise RuntimeError(f"{call} : expected a 1D or 2D tensor")
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(
            f"{call} : expected 0 < win_length <= n_fft, but got win_length={width}"
        )
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={width}, but got "
            f"window with size {list(window.shape)}"
        )
    one = (not is_complex) if onesided is None else onesided
    if one and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    found: Tensor = _stft(x, n_fft, hop, width, window, normalized, one)
    return OPERATIONS["view_as_real"](found) if return_complex is False else found


def _padded(input: Tensor, count: int, mode: str) -> Tensor:
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if mode == "reflect" and input.shape[-1] <= count:
        shape = [1] * (3 - input.ndim) + list(input.shape)
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({count}, {count}) at dimension 2 of input {shape}"
        )
    made: Tensor = _pad_ends(input, count, _MODES[mode])
    return made


@private("ViewBackward0", name="stft_pad")
def _pad_ends(input: Value, count: int, mode: Any) -> Value:
    return np.pad(input, [(0, 0)] * (input.ndim - 1) + [(count, count)], mode=mode)


@private(lambda input, *_: "DivBackward0" if input.ndim == 3 else "SqueezeBackward1", name="istft")
def _istft(
    input: Value,
    n_fft: int,
    hop: int,
    width: int,
    window: Any,
    normalized: bool,
    onesided: bool,
    return_complex: bool,
    bounds: tuple[int, int | None],
) -> Value:
    norm: Any = "ortho" if normalized else None
    parts: Any
    real = np.empty(0, input.dtype).real.dtype
    shape = _window(window, width, n_fft, real)
    if return_complex:
        parts = np.fft.ifft(input, n_fft, axis=-2, norm=norm)
    else:
        half = input if onesided else input[..., : n_fft // 2 + 1, :]
        parts = np.fft.irfft(half, n_fft, axis=-2, norm=norm)
    frames = input.shape[-1]
    total = n_fft + hop * (frames - 1)
    places = (np.arange(n_fft)[:, None] + hop * np.arange(frames)).reshape(-1)
    weights = np.broadcast_to((shape * shape)[:, None], (n_fft, frames)).reshape(-1)
    signal = _overlapped(parts * shape[:, None], places, total)
    envelope = _overlapped_flat(weights, places, total)
    start, end = bounds
    signal, envelope = signal[..., start:end], envelope[start:end]
    if np.min(np.abs(untraced(envelope)), initial=np.inf) <= 1e-11:
        raise RuntimeError("window overlap add min: 1")
    made = signal / envelope
    missing = 0 if end is None else end - start - made.shape[-1]
    if missing > 0:
        made = np.pad(made, [(0, 0)] * (made.ndim - 1) + [(0, missing)])
    wanted = input.dtype if return_complex else real
    return made if made.dtype == wanted else made.astype(wanted)


def _overlapped(parts: Value, places: Value, total: int) -> Value:
    flat = parts.reshape(*parts.shape[:-2], -1)
    return np.moveaxis(_overlapped_flat(np.moveaxis(flat, -1, 0), places, total), 0, -1)


def _overlapped_flat(values: Value, places: Value, total: int) -> Value:
    """Values added at places of a longer first axis."""
    made = np.zeros((total, *values.shape[1:]), values.dtype, like=values)
    np.add.at(made, places, values)
    return made


@register()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal of which `stft` with the same parameters gives `input`.

    input: Transforms (..., frequencies, windows), complex.
    n_fft: The length of the transforms.
    hop_length: From one window to the next; n_fft // 4 unless given.
    win_length: The length of `window`; n_fft unless given.
    window: The weights (win_length,); ones unless given.
    center: Whether the signal was padded at both ends.
    normalized: Whether the transforms were divided by the root of n_fft.
    onesided: Whether frequencies that follow from the others are absent.
    length: The length of the signal; what the windows do not reach is 0.
    return_complex: Whether the signal is complex.
    -> Tensor: Signals (..., length).
    RuntimeError: If the windows leave a gap.

    >>> window = torch.hann_window(4)
    >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    >>> transforms = torch.stft(x, 4, window=window, return_complex=True)
    >>> torch.istft(transforms, 4, window=window).round(decimals=3)
    tensor([1., 2., 3., 4.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    call = _words(
        "istft",
        input,
        n_fft=n_fft,
        hop_length=hop,
        win_length=width,
        window=window,
        center=center,
        normalized=normalized,
        onesided=onesided,
        length=length,
        return_complex=return_complex,
    )
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"{call} : expected a tensor with 2 or 3 dimensions, but got {input.ndim}"
        )
    if not input.numel():
        raise RuntimeError(f"{call} : input tensor cannot be empty.")
    one = input.shape[-2] != n_fft if onesided is None else onesided
    if one and return_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    bins = n_fft // 2 + 1 if one else n_fft
    if input.shape[-2] != bins:
        needed = "n_fft / 2 + 1" if one else "n_fft"
        raise RuntimeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {needed} when onesided={one}, but got {input.shape[-2]}"
        )
    if not 0 < hop <= width:
        raise RuntimeError(f"{call} : expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(
            f"{call} : Invalid window shape. window has to be 1D and length of `win_length`"
        )
    total = n_fft + hop * (input.shape[-1] - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    try:
        found: Tensor = _istft(
            input, n_fft, hop, width, window, normalized, one, return_complex, (start, end)
        )
    except RuntimeError as error:
        if str(error) != "window overlap add min: 1":
            raise
        raise RuntimeError(f"{call} {error}\n[ CPUBoolType{{}} ]") from None
    return found
