"""Functions without a derivative: positions, labels and truth values, and what is refused.

A distance of `distance_transform_edt` is one between positions: it does not change with the image.
"""

from __future__ import annotations

from typing import Any

import scipy.ndimage as ni

from tapegrad._core.forms import composite
from tapegrad._core.types import Function
from tapegrad._core.values import holds_in_trace, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirror import constant_or_refused, mirror
from tapegrad.scipy.ndimage._images import HERE

CONSTANT = """
    binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss
    binary_opening binary_propagation distance_transform_cdt find_objects
    generate_binary_structure histogram iterate_structure label maximum_position minimum_position
    value_indices watershed_ift
""".split()
# Called by C code once a window, or on plain arrays.
REFUSED = {
    "generic_filter": "the function is called from C code on plain numbers; write it with "
    "np.lib.stride_tricks.sliding_window_view, or take one of the filters",
    "generic_filter1d": "the function writes into plain arrays of C code; write it with "
    "np.lib.stride_tricks.sliding_window_view, or take one of the filters",
}


def _distances(name: str) -> Function:
    """Distances between positions; by the steps of the grid they are refused."""

    def definition(input: Any, *args: Any, **kwargs: Any) -> Any:
        if holds_in_trace([*args, *kwargs.values()]):
            raise NotDifferentiableError(
                f"scipy.ndimage.{name}: not differentiable by sampling. Take the indices of the "
                "nearest elements (return_indices=True), and compute the distances from these."
            )
        return getattr(ni, name)(untraced(input), *args, **kwargs)

    return definition


MADE = constant_or_refused(HERE, CONSTANT, REFUSED)
for _name in ("distance_transform_bf", "distance_transform_edt"):
    MADE[_name] = mirror(getattr(ni, _name), HERE)
    composite(MADE[_name], _distances(_name), batch="loop")

__all__ = ["MADE"]
