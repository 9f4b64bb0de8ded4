"""`scipy.cluster.vq`, with derivatives of observations' distances to their nearest centre.

Which centre is nearest is piecewise constant. Where an observation lies on its centre, the
gradient of the distance is 0.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy.cluster.vq import vq
>>> centres = np.array([[0.0, 0.0], [9.0, 9.0]])
>>> tapegrad.grad(lambda x: vq(x, centres)[1][0])(np.array([[3.0, 4.0]]))
array([[0.6, 0.8]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.cluster.vq as theirs

from tapegrad._core.forms import composite, constant, unsupported
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, lift, untraced
from tapegrad._errors import InputError
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy._mirror import mirror, namespace

__getattr__, __dir__ = namespace(__name__, "scipy.cluster.vq")

vq, py_vq, whiten = (mirror(f, __name__) for f in (theirs.vq, theirs.py_vq, theirs.whiten))
kmeans, kmeans2 = (mirror(f, __name__) for f in (theirs.kmeans, theirs.kmeans2))


@primitive
def _nearest(obs: Value, code_book: Value) -> Value:
    return theirs.vq(obs, code_book, check_finite=False)[0]


def _array(x: Any, name: str) -> Any:
    x = lift(x)
    x = x if hasattr(x, "ndim") else np.asarray(x)
    if x.ndim not in (1, 2):
        raise InputError(f"scipy.cluster.vq.vq: expected {name} of 1 or 2 axes, got {x.ndim}.")
    return x


def _require_finite(check_finite: bool, *given: Value) -> None:
    """SciPy's error for numbers that are not finite."""
    if check_finite and any(any_true(~np.isfinite(untraced(x))) for x in given):
        raise ValueError("array must not contain infs or NaNs")


def _vq(obs: Value, code_book: Value, check_finite: bool = True) -> Any:
    """The number of each observation's nearest centre, and its Euclidean distance."""
    obs, code_book = _array(obs, "obs"), _array(code_book, "code_book")
    _require_finite(check_finite, obs, code_book)
    codes = _nearest(obs, code_book)
    apart = obs - code_book[codes]
    return codes, np.linalg.norm(apart if apart.ndim > 1 else apart[:, None], axis=-1)


def _py_vq(obs: Value, code_book: Value, check_finite: bool = True) -> Any:
    """The same as SciPy writes it in Python, with numbers of NumPy's usual integers."""
    codes, distances = _vq(obs, code_book, check_finite)
    return codes.astype(np.intp), distances


def _whiten(obs: Value, check_finite: bool = True) -> Value:
    """Columns over their standard deviations; those that do not vary stay as they are."""
    obs = lift(obs)
    _require_finite(check_finite, obs)
    spread = np.std(obs, axis=0)
    return obs / np.where(spread == 0, 1.0, spread)


constant(_nearest, batch="loop")
composite(vq, _vq, batch="loop")
composite(py_vq, _py_vq, batch="loop")
composite(whiten, _whiten, batch="loop")
unsupported(
    kmeans,
    kmeans2,
    reason="a search that begins at random: take its centres of plain observations, then vq",
)

__all__ = ["kmeans", "kmeans2", "py_vq", "vq", "whiten"]
