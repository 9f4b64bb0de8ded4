"""Classes and functions of scipy.interpolate that choose knots by the values: of plain ones alone.

Splines that SciPy smooths, and those on a sphere. Of plain values they are SciPy's.
"""

from __future__ import annotations

from typing import Any

import scipy.interpolate

from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirrored import Mirrored, of_plain

_REASON = (
    "FITPACK chooses its knots by the values, or fits on a sphere. Take RectBivariateSpline with "
    "s=0, RegularGridInterpolator or RBFInterpolator"
)
_CLASSES = (
    "LSQBivariateSpline",
    "LSQSphereBivariateSpline",
    "RectSphereBivariateSpline",
    "SmoothBivariateSpline",
    "SmoothSphereBivariateSpline",
)
_FUNCTIONS = ("bisplrep", "generate_knots")
_HOME = __name__.rpartition(".")[0]  # where pickle looks for them
DOCSTRING = """SciPy's {name}, of plain values alone.

Parameters
----------
*args, **kwargs : object
    As of SciPy's {name}.
{returns}
Raises
------
NotDifferentiableError
    Of traced values: FITPACK chooses knots by the values, or fits on a sphere.

See Also
--------
RectBivariateSpline : Differentiable with s=0.
RBFInterpolator : Differentiable, of scattered points.
"""
RETURNS = """
Returns
-------
object
    What SciPy's returns.
"""


def _refuse(name: str) -> None:
    raise NotDifferentiableError(f"scipy.interpolate.{name}: not differentiable ({_REASON}).")


class _Refused(Mirrored):
    """First base of a class derived from SciPy's, whose calls refuse values in a trace."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(self._theirs.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """SciPy's values."""
        _refuse(self._theirs.__name__)


def _class(name: str) -> Any:
    theirs = getattr(scipy.interpolate, name)
    text = DOCSTRING.format(name=name, returns="")
    return type(
        name, (_Refused, theirs), {"_theirs": theirs, "__doc__": text, "__module__": _HOME}
    )


def _function(name: str) -> Any:
    theirs = getattr(scipy.interpolate, name)

    def refused(*args: Any, **kwargs: Any) -> Any:
        _refuse(name)

    refused.__name__ = refused.__qualname__ = name
    refused.__module__ = _HOME
    refused.__doc__ = DOCSTRING.format(name=name, returns=RETURNS)
    return of_plain(theirs)(refused)


REFUSED = {name: _class(name) for name in _CLASSES if hasattr(scipy.interpolate, name)}
REFUSED |= {name: _function(name) for name in _FUNCTIONS if hasattr(scipy.interpolate, name)}

__all__ = ["REFUSED"]
