"""NumPy's functions of arrays, for lists of traced values: NumPy's protocols find arrays only.

NumPy's own `np.mean([x, y])` converts the list before the protocols are asked. Here a list with
traced parts becomes a traced array first. Functions whose lists the protocols do look into
(np.concatenate, np.stack, np.block) take here what NumPy refuses: generators, and the values of a
dict. Ufuncs stay NumPy's own, and refuse a list of traced values: a function of Python around each
would cost a gradient of short arrays 8 %. In adopted code their lists are seen in the source.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from tapegrad._arrays.conversion import gather, listed
from tapegrad._core.rule import rule_of
from tapegrad._core.types import Function, Tree
from tapegrad._core.values import UNTRACED_TYPES, Mapped, Traced, holds_in_trace
from tapegrad.numpy._holding import holding

# By module, the functions that take lists for arrays here.
LIFTED: dict[str, frozenset[str]] = {
    "numpy": frozenset(
        """
        all allclose amax amin angle any append apply_along_axis apply_over_axes argmax argmin
        argpartition argsort argwhere around array_equal array_equiv array_split astype atleast_1d
        atleast_2d atleast_3d average bincount broadcast_arrays broadcast_to clip compress convolve
        copy corrcoef correlate count_nonzero cov cross cumprod cumsum cumulative_prod
        cumulative_sum delete diag diagflat diagonal diff digitize dot dsplit ediff1d einsum
        empty_like expand_dims extract fix flatnonzero flip fliplr flipud full_like gradient
        histogram hsplit i0 imag inner insert interp isclose iscomplex iscomplexobj isneginf
        isposinf isreal isrealobj kron matrix_transpose max mean median meshgrid min moveaxis
        nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin
        nanpercentile nanprod nanquantile nanstd nansum nanvar ndim nonzero ones_like outer pad
        partition percentile permute_dims piecewise poly polyadd polyder polydiv polyfit polyint
        polymul polysub polyval prod ptp quantile ravel real real_if_close repeat reshape resize
        roll rollaxis roots rot90 round searchsorted shape sinc size sort sort_complex split
        squeeze std sum swapaxes take take_along_axis tensordot tile trace transpose trapezoid tril
        triu unique unstack unwrap vander var vdot vsplit where zeros_like
        """.split()
    ),
    "numpy.linalg": frozenset(
        """
        cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm
        matrix_power matrix_rank matrix_transpose norm outer pinv qr slogdet solve svd svdvals
        tensordot tensorinv tensorsolve trace vecdot vector_norm
        """.split()
    ),
    "numpy.fft": frozenset(
        """
        fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft
        rfft2 rfftn
        """.split()
    ),
}


# Functions of a sequence of arrays, which may be any iterable here.
JOINING = frozenset("block column_stack concat concatenate dstack hstack stack vstack".split())


def look_up(module: types.ModuleType, name: str) -> Any:
    """A name of one of NumPy's modules, as `tapegrad.numpy` offers it."""
    found = getattr(module, name)
    if name in LIFTED[module.__name__]:
        return _lifting(found, module.__name__)
    return _joining(found) if module is np and name in JOINING else found


@functools.cache
def _joining(function: Function) -> Function:
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            return function(_list_of_arrays(args[0], name), *args[1:], **kwargs)
        return function(**{key: _list_of_arrays(value, name) for key, value in kwargs.items()})

    return holding(call, function)


def _list_of_arrays(value: Tree, name: str) -> Tree:
    """An iterator or a dict's view as a list, also inside lists, as np.block takes them.

    To the others a list inside is an array.
    """
    value = listed(value)
    if type(value) is not list and (type(value) is not tuple or name == "block"):
        return value
    parts = [part if type(part) in UNTRACED_TYPES else listed(part) for part in value]
    return parts if name == "block" else [_lift(part, name) for part in parts]


# Functions whose protocols see an array at any position: those of the others see the first one.
# np.poly and np.roots hand their elements to the protocols, one by one.
OF_SEVERAL = frozenset(
    """
    clip convolve correlate cross dot einsum inner interp kron matmul outer solve tensordot vdot
    vecdot where
    """.split()
)
OF_ELEMENTS = frozenset(("poly", "roots"))


@functools.cache
def _lifting(function: Function, module: str) -> Function:
    name = function.__name__
    sees_all, sees_none = name in OF_SEVERAL, name in OF_ELEMENTS

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        seen = False  # whether the protocols see a traced argument, and so the whole call
        for value in args:
            kind = type(value)
            if kind in UNTRACED_TYPES:
                continue
            if issubclass(kind, (Traced, Mapped)):
                if not (seen or sees_all or value is args[0]) or sees_none:
                    return lifted(args, kwargs)
                seen = True
            elif kind is not tuple or not UNTRACED_TYPES.issuperset(map(type, value)):
                return lifted(args, kwargs)  # a list, perhaps of traced values
        for value in kwargs.values():
            kind = type(value)
            if kind not in UNTRACED_TYPES and not (seen and issubclass(kind, (Traced, Mapped))):
                return lifted(args, kwargs)
        return function(*args, **kwargs)

    def lifted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args = tuple([_lift(arg, name) for arg in args])
        kwargs = {key: _lift(value, name) for key, value in kwargs.items()}
        rule = rule_of(function)
        if rule is None or rule.view or not any(map(holds_in_trace, (*args, *kwargs.values()))):
            return function(*args, **kwargs)
        return rule.apply(*args, **kwargs)  # the protocols see some arguments only

    return holding(call, function, "tapegrad." + module)


def _lift(value: Tree, name: str) -> Tree:
    return gather(value, f"np.{name}") if isinstance(value, (list, tuple)) else value
