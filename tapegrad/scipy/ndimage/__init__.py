"""`scipy.ndimage`, with derivatives by the image and by what is continuous besides.

Functions are SciPy's own of plain arrays. With derivatives, `output=` is a dtype: an array to
write into is refused. Results have the dtype of the input, as in SciPy; an input of integers has
no derivative. At a kink of linear interpolation (order 1, at a sample) the derivative by a
coordinate is the mean of both slopes, that of order 0 is zero. Equal elements of a window share
the derivative of its minimum, maximum, median or rank.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy import ndimage
>>> image = np.arange(12.0).reshape(3, 4) ** 2
>>> def value(points):
...     return ndimage.map_coordinates(image, points, order=1)[0]
>>> tapegrad.grad(value)(np.array([[1.25], [2.5]]))
array([[68.],
       [15.]])
>>> slope = tapegrad.grad(lambda sigma: ndimage.gaussian_filter1d(np.eye(7)[3], sigma)[3])(1.0)
>>> slope.round(4)
np.float64(-0.3989)
"""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.ndimage._constant import MADE
from tapegrad.scipy.ndimage._filters import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    generic_gradient_magnitude,
    generic_laplace,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from tapegrad.scipy.ndimage._fourier import (
    fourier_ellipsoid,
    fourier_gaussian,
    fourier_shift,
    fourier_uniform,
)
from tapegrad.scipy.ndimage._interpolation import (
    affine_transform,
    geometric_transform,
    map_coordinates,
    rotate,
    shift,
    zoom,
)
from tapegrad.scipy.ndimage._measurements import (
    center_of_mass,
    extrema,
    maximum,
    mean,
    median,
    minimum,
    standard_deviation,
    sum,
    sum_labels,
    variance,
)
from tapegrad.scipy.ndimage._rank import (
    black_tophat,
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    morphological_gradient,
    morphological_laplace,
    percentile_filter,
    rank_filter,
    white_tophat,
)
from tapegrad.scipy.ndimage._splines import spline_filter, spline_filter1d

__getattr__, __dir__ = namespace(__name__, "scipy.ndimage")
globals().update(copied(__name__))

__all__ = list(shared_names(__name__, "scipy.ndimage"))

# Functions without a derivative are not listed.
globals().update(MADE)
