"""`torch.fft`: discrete Fourier transforms, by the core's rules of NumPy's.

Knows PyTorch's parameters, checks and dtypes. Must not know how a transform is computed, nor its
derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._dims import mistyped, wrapped
from tapegrad.torch._docstrings.sections import completed
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import deliver, private
from tapegrad.torch._tensor.meta import MetaArray
from tapegrad.torch._tensor.tensor import Tensor, of_value

Sizes = Sequence[int] | int | None
_NORMS = (None, "backward", "forward", "ortho")
_TWO = (-2, -1)


def _of_floats(x: Value) -> Value:
    """Integers and truth values in the default dtype, as PyTorch promotes them."""
    return x if x.dtype.kind in "fc" else x.astype(_dtypes.get_default_dtype().numpy)


def _real(text: str, x: Value) -> Value:
    if x.dtype.kind == "c":
        raise RuntimeError(f"{text} {word_of(x.dtype)}")
    return _of_floats(x)


def _check(norm: str | None, count: int | None = 1) -> None:
    if norm not in _NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if count is not None and count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")


def _axes(x: Value, s: Sizes, dim: Sizes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes and the axes of a transform over several axes; a size of -1 is the axis's own."""
    ndim = len(x.shape)
    sizes = None if s is None else (s,) if isinstance(s, int) else tuple(s)
    if dim is None:
        axes = tuple(range(ndim)) if sizes is None else tuple(range(ndim - len(sizes), ndim))
    else:
        axes = (dim,) if isinstance(dim, int) else tuple(dim)
    if sizes is not None and len(sizes) > ndim:
        raise RuntimeError(
            f"Got shape with {len(sizes)} values but input tensor only has {ndim} dimensions."
        )
    if sizes is not None and len(sizes) != len(axes):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    axes = tuple(wrapped(axis, ndim) for axis in axes)
    if len(set(axes)) < len(axes):
        raise RuntimeError("FFT dims must be unique")
    own = tuple(x.shape[axis] for axis in axes)
    if sizes is None:
        return own, axes
    return tuple(a if b == -1 else b for a, b in zip(own, sizes, strict=True)), axes


# --- along one axis -----------------------------------------------------------------------------


def _label(input: Tensor, *_args: Any, **_kwargs: Any) -> str:
    return "FftC2CBackward0" if input.is_complex() else "FftR2CBackward0"


def _inverse_label(input: Tensor, *_args: Any, **_kwargs: Any) -> str:
    return "FftC2CBackward0" if input.is_complex() else "ConjBackward0"


def _along_one(
    compute: Callable[..., Any],
    label: Any,
    of: Callable[[Value], Value],
    about: str,
    example: str,
    *,
    kind: str = "Real or complex numbers",
    result: str = "Complex",
    count: str = "n",
) -> Callable[..., Any]:
    """A transform along one axis: `name(input, n=None, dim=-1, norm=None, *, out=None)`.

    about, kind, result, count: words of its docstring. example: an argument, and what comes of it.
    """
    name = compute.__name__

    def transform(input: Value, n: int | None = None, dim: int = -1, norm: Any = None) -> Value:
        x = of(input)
        if not x.shape:
            raise RuntimeError("Dimension specified as -1 but tensor has no dimensions")
        dim = wrapped(dim, len(x.shape))
        size = x.shape[dim] if n is None else n
        if n is None and name in ("irfft", "hfft"):
            size = 2 * (size - 1)
        _check(norm, size)
        return compute(x, n, dim, norm)

    transform.__name__ = transform.__qualname__ = name
    argument, _, made = example.partition(" -> ")
    transform.__doc__ = _DOC.format(
        about=about,
        kind=kind,
        result=result,
        count=count,
        more=", or the input is complex" if kind == _REAL else "",
        example=f"{name}(torch.tensor({argument})){made}",
    )
    return private(label, name=f"fft_{name}")(transform)


_DOC = """\
{about} along one axis.

input (Tensor): {kind}, of shape (..., n, ...); whole numbers are taken as the default dtype.
dim: The axis, counted from either end.
norm (str): "backward" (1/n in inverse transforms, which is meant unless given), "forward", or
    "ortho".
-> Tensor: {result} numbers, {count} along the axis.
RuntimeError: If n is less than 1, or the norm is unknown{more}.

>>> torch.fft.{example}
"""
_REAL, _HALF_GIVEN = "Real numbers", "The first n // 2 + 1 numbers"
_WHOLE = "n (twice one less than the input has, unless given)"

fft = _along_one(
    np.fft.fft,
    _label,
    _of_floats,
    "The Fourier transform",
    "[1.0, 2.0, 3.0, 4.0] -> \ntensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])",
)
ifft = _along_one(
    np.fft.ifft,
    _inverse_label,
    _of_floats,
    "The inverse of `fft`",
    "[4.0, 0.0] -> \ntensor([2.+0.j, 2.+0.j])",
)
rfft = _along_one(
    np.fft.rfft,
    "FftR2CBackward0",
    lambda x: _real("rfft expects a real input tensor, but got", x),
    "The first half of `fft` of real numbers",
    "[1.0, 2.0, 3.0, 4.0] -> \ntensor([10.+0.j, -2.+2.j, -2.+0.j])",
    kind=_REAL,
    count="n // 2 + 1",
)
irfft = _along_one(
    np.fft.irfft,
    "FftC2RBackward0",
    _of_floats,
    "The inverse of `rfft`",
    "[4.0, 0.0, 0.0] -> \ntensor([1., 1., 1., 1.])",
    kind=_HALF_GIVEN,
    result="Real",
    count=_WHOLE,
)
hfft = _along_one(
    np.fft.hfft,
    "FftC2RBackward0",
    _of_floats,
    "The real transform of a Hermitian signal, given by its first half,",
    "[1.0, 0.0, 0.0] -> \ntensor([1., 1., 1., 1.])",
    kind=_HALF_GIVEN,
    result="Real",
    count=_WHOLE,
)
ihfft = _along_one(
    np.fft.ihfft,
    "ConjBackward0",
    lambda x: _real("ihfft expects a real input tensor, but got", x),
    "The inverse of `hfft`",
    "[4.0, 0.0] -> .real\ntensor([2., 2.])",
    kind=_REAL,
    count="n // 2 + 1",
)


# --- along several axes -------------------------------------------------------------------------


def _along(
    name: str,
    compute: Callable[..., Any],
    label: Any,
    of: Callable[[Value], Value],
    doc: str,
    *,
    two: bool = False,
    half: bool = False,
) -> Callable[..., Any]:
    """A transform along several axes; with `two` the last two by default, else all."""

    def transform(
        input: Value, s: Sizes = None, dim: Sizes = None, norm: str | None = None
    ) -> Value:
        x = of(input)
        sizes, axes = _axes(x, s, dim)
        if half and not axes:
            raise RuntimeError(f"{name} must transform at least one axis")
        last = axes[-1] if axes else 0
        if half and (s is None or (s if isinstance(s, int) else s[-1]) == -1):
            sizes = (*sizes[:-1], 2 * (x.shape[last] - 1))
        for count in sizes:
            _check(norm, count)
        _check(norm)
        return compute(x, sizes, axes, norm)

    if two:
        transform.__defaults__ = None, _TWO, None
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = doc
    return private(label, name=f"fft_{name}")(transform)


def _hfftn(x: Value, sizes: Any, axes: Any, norm: Any) -> Value:
    """Transforms along all axes but the last, and a Hermitian one along that."""
    if len(axes) > 1:
        x = np.fft.fftn(x, sizes[:-1], axes[:-1], norm)
    return np.fft.hfft(x, sizes[-1], axes[-1], norm)


def _ihfftn(x: Value, sizes: Any, axes: Any, norm: Any) -> Value:
    x = np.fft.ihfft(x, sizes[-1], axes[-1], norm)
    return np.fft.ifftn(x, sizes[:-1], axes[:-1], norm) if len(axes) > 1 else x


_ALL = """\
{about} along several axes.

input (Tensor): {kind} numbers; whole numbers are taken as the default dtype.
dim (int or sequence of ints): The axes{which}.
norm: As along one axis, with the product of `s` for n.
-> Tensor: {result} numbers, of the sizes `s` along the axes{half}.
RuntimeError: If the sizes do not fit the axes, or are less than 1, or the norm is unknown.

>>> torch.fft.{name}(torch.ones(2, 2)).real
tensor([[{first}, 0.],
        [0., 0.]])
"""


def _pair(
    name: str,
    compute: Callable[..., Any],
    label: Any,
    of: Callable[[Value], Value],
    about: str,
    *,
    half: bool = False,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`name2` and `namen`; half: they take half of the last axis. about: their subject."""
    cut = name in ("rfft", "ihfft")
    words = {
        "about": about,
        "kind": "Real" if cut else "Real or complex",
        "result": "Real" if half else "Complex",
        "half": ", of which the last has half and one more" if cut else "",
        "first": "1." if name[0] == "i" else "4.",
    }
    of_two = _ALL.format(which="", name=f"{name}2", **words)
    which = "; the last ones if `s` is given, else all, unless given"
    of_all = _ALL.format(which=which, name=f"{name}n", **words)
    two = _along(f"{name}2", compute, label, of, of_two, two=True, half=half)
    return two, _along(f"{name}n", compute, label, of, of_all, half=half)


_COMPLEX, _TO_REAL = "FftC2CBackward0", "FftC2RBackward0"
fft2, fftn = _pair("fft", np.fft.fftn, _COMPLEX, _of_floats, "The Fourier transform")
ifft2, ifftn = _pair("ifft", np.fft.ifftn, _COMPLEX, _of_floats, "The inverse transform")
rfft2, rfftn = _pair(
    "rfft",
    np.fft.rfftn,
    "FftR2CBackward0",
    lambda x: _real("rfftn expects a real-valued input tensor, but got", x),
    "The Fourier transform of real numbers, half of the last axis,",
)
_OF_REAL, _OF_HERMITIAN = "The inverse of the transform of real numbers", "a Hermitian signal"
irfft2, irfftn = _pair("irfft", np.fft.irfftn, _TO_REAL, _of_floats, _OF_REAL, half=True)
hfft2, hfftn = _pair(
    "hfft", _hfftn, _TO_REAL, _of_floats, f"The real transform of {_OF_HERMITIAN}", half=True
)
ihfft2, ihfftn = _pair(
    "ihfft",
    _ihfftn,
    _COMPLEX,
    lambda x: _real("Only supports floating-point dtypes, but found:", x),
    f"The inverse of the transform of {_OF_HERMITIAN}",
)


# --- frequencies and shifts ---------------------------------------------------------------------


def _counts(n: int) -> Value:
    """How often the waves of `fft` of n points go round in these."""
    return np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])


_FREQUENCIES = """\
The frequencies {about}.

n: The number of points.
d: Their distance.
out: Where the result is written.
dtype: The dtype; the default one unless given.
-> Tensor: The frequencies, {order}.
RuntimeError: For a negative number of points.

>>> torch.fft.{name}(4)
{result}
"""


def _frequencies(
    name: str, counts: Callable[[int], Value], about: str, order: str, result: str
) -> Any:
    """`fftfreq` or `rfftfreq`. counts: of n points. about, order, result: for its docstring."""

    def call(
        n: int,
        d: float = 1.0,
        *,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        meta = _dtypes.require_cpu(device)
        _dtypes.require_strided(name, layout)
        dtype = _dtypes.get_default_dtype() if dtype is None else dtype
        if dtype.numpy.kind not in "fcV":
            raise RuntimeError(f"{name} requires a floating point or complex dtype")
        if not isinstance(n, (int, np.integer)):
            raise mistyped(f"fft_{name}", "n", 1, "int", n)
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
        with silence():
            found = (counts(n) * (np.float64(1) / (n * d))).astype(dtype.numpy)
        made = of_value(found if not meta else MetaArray(found.shape, found.dtype))
        if out is None:
            return made.requires_grad_(requires_grad)
        delivered: Tensor = deliver(out, made)
        return delivered.requires_grad_() if requires_grad else delivered

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _FREQUENCIES.format(about=about, order=order, name=name, result=result)
    call.__doc__ = completed(call)
    return call


fftfreq = _frequencies(
    "fftfreq",
    _counts,
    "(n,) of `fft` of n points at distance d, in cycles per unit of d",
    "first those from 0 on, then the negative ones",
    "tensor([ 0.0000,  0.2500, -0.5000, -0.2500])",
)
rfftfreq = _frequencies(
    "rfftfreq",
    lambda n: np.arange(n // 2 + 1),
    "(n // 2 + 1,) of `rfft` of n points at distance d",
    "from 0 on",
    "tensor([0.0000, 0.2500, 0.5000])",
)


@private("RollBackward0", name="fft_fftshift")
def fftshift(input: Value, dim: Sizes = None) -> Value:
    """The elements moved so that the frequency 0 is in the middle.

    dim: The axes; all unless given.
    -> Tensor: The elements, in the shape of `input`.
    """
    return np.fft.fftshift(input, dim)


@private("RollBackward0", name="fft_ifftshift")
def ifftshift(input: Value, dim: Sizes = None) -> Value:
    """The inverse of `fftshift`.

    dim: The axes; all unless given.
    -> Tensor: The elements, in the shape of `input`.
    """
    return np.fft.ifftshift(input, dim)


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def __dir__() -> list[str]:
    return __all__
