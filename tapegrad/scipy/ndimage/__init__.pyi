"""`scipy.ndimage` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array
from typing import Any, overload

def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: Any = 3,
    mode: Any = 'constant',
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Array: ...
def binary_closing(
    input: Any,
    structure: Any = None,
    iterations: Any = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Array: ...
def binary_dilation(
    input: Any,
    structure: Any = None,
    iterations: Any = 1,
    mask: Any = None,
    output: Any = None,
    border_value: Any = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Array: ...
def binary_erosion(
    input: Any,
    structure: Any = None,
    iterations: Any = 1,
    mask: Any = None,
    output: Any = None,
    border_value: Any = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Array: ...
def binary_fill_holes(
    input: Any,
    structure: Any = None,
    output: Any = None,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def binary_hit_or_miss(
    input: Any,
    structure1: Any = None,
    structure2: Any = None,
    output: Any = None,
    origin1: Any = 0,
    origin2: Any = None,
    *,
    axes: Any = None,
) -> Array: ...
def binary_opening(
    input: Any,
    structure: Any = None,
    iterations: Any = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Array: ...
def binary_propagation(
    input: Any,
    structure: Any = None,
    mask: Any = None,
    output: Any = None,
    border_value: Any = 0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def black_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any: ...
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def convolve1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
) -> Array: ...
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def correlate1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
) -> Array: ...
def distance_transform_bf(
    input: Any,
    metric: Any = 'euclidean',
    sampling: Any = None,
    return_distances: bool = True,
    return_indices: bool = False,
    distances: Any = None,
    indices: Any = None,
) -> Any: ...
def distance_transform_cdt(
    input: Any,
    metric: Any = 'chessboard',
    return_distances: bool = True,
    return_indices: bool = False,
    distances: Any = None,
    indices: Any = None,
) -> Any: ...
def distance_transform_edt(
    input: Any,
    sampling: Any = None,
    return_distances: bool = True,
    return_indices: bool = False,
    distances: Any = None,
    indices: Any = None,
) -> Any: ...
def extrema(input: Any, labels: Any = None, index: Any = None) -> Any: ...
def find_objects(input: Any, max_label: Any = 0) -> Any: ...
def fourier_ellipsoid(
    input: Any,
    size: Any,
    n: Any = -1,
    axis: Any = -1,
    output: Any = None,
) -> Array: ...
def fourier_gaussian(
    input: Any,
    sigma: Any,
    n: Any = -1,
    axis: Any = -1,
    output: Any = None,
) -> Array: ...
def fourier_shift(
    input: Any,
    shift: Any,
    n: Any = -1,
    axis: Any = -1,
    output: Any = None,
) -> Array: ...
def fourier_uniform(
    input: Any,
    size: Any,
    n: Any = -1,
    axis: Any = -1,
    output: Any = None,
) -> Array: ...
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    truncate: Any = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Array: ...
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: Any = -1,
    order: Any = 0,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    truncate: Any = 4.0,
    *,
    radius: Any = None,
) -> Array: ...
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Array: ...
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Array: ...
def generate_binary_structure(rank: Any, connectivity: Any) -> Array: ...
def generic_filter(
    input: Any,
    function: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    extra_arguments: Any = ...,
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Array: ...
def generic_filter1d(
    input: Any,
    function: Any,
    filter_size: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    extra_arguments: Any = ...,
    extra_keywords: Any = None,
) -> Any: ...
def generic_gradient_magnitude(
    input: Any,
    derivative: Any,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    extra_arguments: Any = ...,
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Array: ...
def generic_laplace(
    input: Any,
    derivative2: Any,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    extra_arguments: Any = ...,
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Array: ...
def geometric_transform(
    input: Any,
    mapping: Any,
    output_shape: Any = None,
    output: Any = None,
    order: Any = 3,
    mode: Any = 'constant',
    cval: Any = 0.0,
    prefilter: bool = True,
    extra_arguments: Any = ...,
    extra_keywords: Any = None,
) -> Array: ...
def grey_closing(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def grey_dilation(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def grey_erosion(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def grey_opening(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def histogram(
    input: Any,
    min: Any,
    max: Any,
    bins: Any,
    labels: Any = None,
    index: Any = None,
) -> Any: ...
def iterate_structure(structure: Any, iterations: Any, origin: Any = None) -> Any: ...
@overload
def label(input: Any, structure: Any = None, output: None = None) -> tuple[Array, int]: ...
@overload
def label(input: Any, structure: Any = None, output: Any = None) -> Any: ...
def labeled_comprehension(
    input: Any,
    labels: Any,
    index: Any,
    func: Any,
    out_dtype: Any,
    default: Any,
    pass_positions: bool = False,
) -> Any: ...
def laplace(
    input: Any,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    *,
    axes: Any = None,
) -> Array: ...
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = 'constant',
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Array: ...
@overload
def maximum(input: Any, labels: Any = None, index: None = None) -> float: ...
@overload
def maximum(input: Any, labels: Any = None, index: Any = None) -> Any: ...
def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def maximum_filter1d(
    input: Any,
    size: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
) -> Array: ...
def maximum_position(input: Any, labels: Any = None, index: Any = None) -> Any: ...
@overload
def mean(input: Any, labels: Any = None, index: None = None) -> float: ...
@overload
def mean(input: Any, labels: Any = None, index: Any = None) -> Any: ...
@overload
def median(input: Any, labels: Any = None, index: None = None) -> float: ...
@overload
def median(input: Any, labels: Any = None, index: Any = None) -> Any: ...
def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
@overload
def minimum(input: Any, labels: Any = None, index: None = None) -> float: ...
@overload
def minimum(input: Any, labels: Any = None, index: Any = None) -> Any: ...
def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def minimum_filter1d(
    input: Any,
    size: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
) -> Array: ...
def minimum_position(input: Any, labels: Any = None, index: Any = None) -> Any: ...
def morphological_gradient(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def morphological_laplace(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def percentile_filter(
    input: Any,
    percentile: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def prewitt(
    input: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
) -> Array: ...
def rank_filter(
    input: Any,
    rank: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def rotate(
    input: Any,
    angle: Any,
    axes: Any = ...,
    reshape: bool = True,
    output: Any = None,
    order: Any = 3,
    mode: Any = 'constant',
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Array: ...
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = 'constant',
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Array: ...
def sobel(
    input: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
) -> Array: ...
def spline_filter(
    input: Any,
    order: Any = 3,
    output: Any = ...,
    mode: Any = 'mirror',
) -> Array: ...
def spline_filter1d(
    input: Any,
    order: Any = 3,
    axis: Any = -1,
    output: Any = ...,
    mode: Any = 'mirror',
) -> Array: ...
@overload
def standard_deviation(input: Any, labels: Any = None, index: None = None) -> float: ...
@overload
def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Any: ...
@overload
def sum(input: Any, labels: Any = None, index: None = None) -> float: ...
@overload
def sum(input: Any, labels: Any = None, index: Any = None) -> Any: ...
@overload
def sum_labels(input: Any, labels: Any = None, index: None = None) -> float: ...
@overload
def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any: ...
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def uniform_filter1d(
    input: Any,
    size: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
) -> Array: ...
def value_indices(arr: Any, *, ignore_value: Any = None) -> Any: ...
@overload
def variance(input: Any, labels: Any = None, index: None = None) -> float: ...
@overload
def variance(input: Any, labels: Any = None, index: Any = None) -> Any: ...
def vectorized_filter(
    input: Any,
    function: Any,
    *,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = None,
    origin: Any = None,
    axes: Any = None,
    batch_memory: Any = 1073741824,
) -> Any: ...
def watershed_ift(
    input: Any,
    markers: Any,
    structure: Any = None,
    output: Any = None,
) -> Array: ...
def white_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = 'reflect',
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array: ...
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = 'constant',
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Array: ...
