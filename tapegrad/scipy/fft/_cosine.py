"""Cosine and sine transforms of types 1 to 4.

Without a norm, the matrix of each type is a symmetric one, or for types 2 and 3 a pair that are
transposes of each other, with some columns counted once and others twice. So each transpose is a
transform between two diagonal scalings. What `norm` and `orthogonalize` do is diagonal too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft as sf

from tapegrad._core.forms import composite, linear
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.fft._axes import Sides, along, keeping, of_length, sides_and_axes

HERE = "tapegrad.scipy.fft"

dct, idct = mirror(sf.dct, HERE), mirror(sf.idct, HERE)
dst, idst = mirror(sf.dst, HERE), mirror(sf.idst, HERE)

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


class _Matrix:
    """The matrix of one type, as `out * (plain matrix) * given` with diagonal `out` and `given`.

    The plain matrix is that without a norm, of `kind` and `size`.
    """

    def __init__(self, sine: bool, kind: int, size: int, norm: Any, orthogonal: bool | None):
        self.sine, self.kind, self.size = sine, kind, size
        self.out, self.given = np.ones(size), np.ones(size)
        ends = [0, -1] if kind == 1 else [-1 if sine else 0]
        once = np.ones(size)  # how often the plain matrix counts a column, halved
        if not sine and kind == 1 or kind in (2, 3):
            once[ends] = 0.5
        self.once = once
        length = 2 * (size + (kind == 1) * (1 if sine else -1))
        if norm == "ortho":
            self.out *= length**-0.5
        elif norm == "forward":
            self.out /= length
        if norm == "ortho" if orthogonal is None else orthogonal:
            root = np.sqrt(2.0)
            if kind in (1, 3) and not (sine and kind == 1):
                self.given[ends] *= root
            if kind in (1, 2) and not (sine and kind == 1):
                self.out[ends] /= root

    def transposed(self, g: Value, axis: int, workers: Any) -> Value:
        transform = dst if self.sine else dct
        kind = _INVERSE[self.kind]
        before, after = self.out, self.given
        if self.kind == 1:
            before, after = before / self.once, after * self.once
        elif self.kind == 2:  # the plain matrix of type 3 halves the end that this does not
            before = before / self.once
        elif self.kind == 3:
            after = after * self.once
        g = g * self._along(before, g, axis)
        out = transform(g, kind, None, axis, workers=workers)
        return out * self._along(after, g, axis)

    @staticmethod
    def _along(scale: Any, g: Value, axis: int) -> Any:
        return along(scale.astype(g.dtype.type(0).real.dtype), g.ndim, axis)


def _transpose(sine: bool, inverse: bool) -> Function:
    def transpose(
        g: Cotangent,
        _out: Value,
        _x: Value,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: bool | None = None,
    ) -> Cotangent:
        size = g.shape[axis]
        kind = _INVERSE[type] if inverse else type
        scaling = _OPPOSITE[norm] if inverse else norm
        if _x.dtype.kind == "c":  # SciPy does not hand the word on to the transforms of both parts
            orthogonalize = None
        matrix = _Matrix(sine, kind, size, scaling, orthogonalize)
        return of_length(matrix.transposed(g, axis, workers), _x.shape[axis], axis)

    return transpose


for _function, _sine, _inverse in (
    (dct, False, False),
    (idct, False, True),
    (dst, True, False),
    (idst, True, True),
):
    rule = _transpose(_sine, _inverse)
    linear(_function, rule, batch="axis", implementation=keeping(_function))

# --- along several axes


def _over_axes(name: str, function: Function) -> Function:
    def definition(
        x: Value,
        type: int = 2,
        s: Sides = None,
        axes: Sides = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Value:
        sides, chosen = sides_and_axes(f"scipy.fft.{name}", x, s, axes)
        for n, axis in zip(sides, chosen, strict=True):
            x = function(x, type, n, axis, norm, workers=workers, orthogonalize=orthogonalize)
        return x

    return definition


dctn, idctn = mirror(sf.dctn, HERE), mirror(sf.idctn, HERE)
dstn, idstn = mirror(sf.dstn, HERE), mirror(sf.idstn, HERE)
composite(dctn, _over_axes("dctn", dct))
composite(idctn, _over_axes("idctn", idct))
composite(dstn, _over_axes("dstn", dst))
composite(idstn, _over_axes("idstn", idst))
