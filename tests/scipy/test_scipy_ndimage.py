"""scipy.ndimage: laws of each function, transposes of every mode, and conventions at kinks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.ndimage
from scipy_calls import (
    Numbers,
    call,
    check_call,
    checked,
    uncalled,
    undecided,
)

from tapegrad import BatchingError, NotDifferentiableError, grad, jvp, vjp, vmap
from tapegrad.scipy import ndimage as ni

_NUMBERS = Numbers(2)
normal = _NUMBERS.normal
complex_normal = _NUMBERS.complex_normal
RNG = _NUMBERS.rng
apart = _NUMBERS.apart
MODES = (
    "reflect",
    "grid-mirror",
    "constant",
    "grid-constant",
    "nearest",
    "mirror",
    "wrap",
    "grid-wrap",
)
FOOTPRINT = np.array([[1, 0, 1], [0, 1, 1]], bool)
LABELS = np.array([[0, 1, 1, 2], [2, 2, 0, 5]])
GREY = [
    ni.grey_erosion,
    ni.grey_dilation,
    ni.grey_opening,
    ni.grey_closing,
    ni.morphological_gradient,
    ni.morphological_laplace,
    ni.white_tophat,
    ni.black_tophat,
]
OF_LABELS = [
    ni.sum_labels,
    ni.sum,
    ni.mean,
    ni.variance,
    ni.standard_deviation,
    ni.minimum,
    ni.maximum,
    ni.median,
    ni.extrema,
    ni.center_of_mass,
]


def points(*sides, count=6):
    """Coordinates within and without, away from the knots at whole and half numbers."""
    rows = [RNG.integers(-side, 2 * side, count) for side in sides]
    return np.stack(rows) + RNG.choice([0.2, 0.3, 0.7, 0.8], (len(sides), count))


def second_difference(x, axis, output, mode, cval):
    return ni.correlate1d(x, [1.0, -2.0, 1.0], axis, output, mode, cval)


FILTERS = [
    call(ni.correlate1d, normal(5), normal(4), mode="wrap", origin=-2),
    call(ni.convolve1d, complex_normal(5), complex_normal(3), mode="mirror"),
    call(ni.correlate1d, complex_normal(5), complex_normal(4), mode="nearest", origin=1),
    call(ni.correlate1d, normal(2, 5), complex_normal(2), axis=0, mode="wrap"),
    call(ni.correlate, normal(4, 5), normal(3, 2), cval=0.5, mode="constant"),
    call(ni.correlate, complex_normal(4, 2), complex_normal(2, 3), mode="mirror", origin=(0, -1)),
    call(ni.convolve, normal(3, 4), complex_normal(2, 2), mode="wrap"),
    call(ni.convolve, normal(4, 5), normal(2, 3), mode="nearest", origin=(-1, 0)),
    call(ni.gaussian_filter1d, normal(7), np.float64(0.9), order=1),
    call(ni.gaussian_filter, normal(4, 5), np.array([0.9, 0.7])),
    call(ni.uniform_filter1d, normal(6), 4, origin=1),
    call(ni.uniform_filter, normal(4, 5), [3, 2]),
    *(call(f, normal(4, 5), mode="wrap") for f in (ni.sobel, ni.prewitt, ni.laplace)),
    call(ni.gaussian_laplace, normal(4, 5), np.float64(0.7)),
    call(ni.gaussian_gradient_magnitude, normal(4, 5), np.float64(0.7)),
    call(ni.generic_laplace, normal(4, 5), second_difference),
    call(ni.generic_gradient_magnitude, normal(4, 5), second_difference),
    *(call(f, complex_normal(4, 3), np.float64(0.7)) for f in (ni.fourier_gaussian,)),
    call(ni.fourier_shift, complex_normal(4, 3), normal(2)),
    call(ni.fourier_uniform, complex_normal(4, 3), np.float64(2.3), n=5, axis=0),
    call(ni.fourier_ellipsoid, complex_normal(4, 3), 2.5),
    call(ni.fourier_uniform, complex_normal(4, 3), [0, 2]),
    call(ni.gaussian_filter, normal(4, 5), [0.0, 0.8], radius=2),
    # SciPy expands what belongs to axes in its own ways where these do not ascend.
    call(
        ni.gaussian_laplace,
        *(normal(3, 2, 3), np.array([0.8, 1.2])),
        mode=("nearest", "constant"),
        cval=0.3,
        axes=(2, 0),
    ),
    call(ni.gaussian_laplace, normal(4, 5), np.array([0.7, 1.1]), axes=(1, 0)),
    *(
        call(f, normal(4, 5), normal(2, 3), origin=(0, 1), axes=(1, 0))
        for f in (ni.correlate, ni.convolve)
    ),
]
RANKS = [
    *(call(f, apart(6), 3, mode="mirror") for f in (ni.minimum_filter1d, ni.maximum_filter1d)),
    *(
        call(f, apart(4, 5), (3, 2), origin=(1, 0))
        for f in (ni.minimum_filter, ni.maximum_filter, ni.median_filter)
    ),
    call(ni.rank_filter, apart(4, 5), -2, footprint=FOOTPRINT),
    call(ni.percentile_filter, apart(4, 5), 30, 3, mode="wrap"),
    *(call(f, apart(4, 5), (3, 2), axes=(1, 0)) for f in (ni.minimum_filter, ni.median_filter)),
    call(ni.maximum_filter, apart(4, 5), footprint=np.ones((3, 2), bool), axes=(1, 0)),
    call(ni.rank_filter, apart(4, 5), 2, footprint=FOOTPRINT, origin=(0, 1), axes=(1, 0)),
    *(call(f, apart(4, 5), (3, 2)) for f in GREY),
    *(call(f, apart(4, 5), structure=[[0.1, 0.2], [0.3, 0.0]]) for f in GREY[:2]),
]
MEASURED = [
    *(call(f, apart(2, 4) + 2, LABELS, [1, 2]) for f in OF_LABELS),
    call(ni.center_of_mass, apart(2, 4) + 2, LABELS, [[5, 1], [2, 5]]),
    call(ni.median, apart(2, 4) + 2, LABELS, [1, 7]),
]
SPLINES = [
    call(ni.spline_filter, normal(4, 5), 4),
    call(ni.spline_filter1d, normal(4, 5), 3, 0, mode="reflect"),
    call(ni.map_coordinates, normal(4, 5), points(4, 5), order=3, mode="mirror"),
    call(ni.shift, normal(5, 4), np.array([0.3, -1.2]), mode="nearest"),
    call(ni.zoom, normal(5, 4), [0.6, 1.3]),
    call(ni.rotate, normal(5, 4), np.float64(33.0), mode="mirror"),
    call(ni.affine_transform, normal(5, 4), 0.2 * normal(2, 2), 1 + 0.1 * normal(2), (2, 2)),
    call(ni.geometric_transform, normal(3, 4), lambda i: (0.7 * i[0] + 0.1, 0.5 * i[1])),
]
CALLS = [*FILTERS, *RANKS, *MEASURED, *SPLINES]

MANY = [
    *(
        call(ni.correlate1d, normal(n), normal(k), mode=mode, origin=origin, cval=1.5)
        for mode in MODES
        for n, k, origin in ((1, 4, 1), (2, 5, -2), (5, 3, 0), (5, 2, -1))
    ),
    *(call(ni.gaussian_filter, normal(4, 5), np.float64(0.8), mode=mode) for mode in MODES),
    *(call(ni.uniform_filter1d, normal(4), 4, mode=mode, cval=1.5) for mode in MODES),
    *(
        call(ni.map_coordinates, normal(4, 5), points(4, 5), order=order, mode=mode, cval=0.5)
        for mode in MODES
        for order in range(6)
    ),
    *(
        call(ni.map_coordinates, normal(4, 5), points(4, 5), order=3, mode=mode, prefilter=False)
        for mode in MODES
    ),
    *(
        call(f, apart(4, 5), footprint=FOOTPRINT, mode=mode)
        for mode in ("reflect", "nearest", "mirror", "wrap")
        for f in (ni.minimum_filter, ni.median_filter, ni.grey_dilation)
    ),
    *(call(f, apart(2, 4) + 2) for f in OF_LABELS),
    *(call(f, apart(2, 4) + 2, LABELS) for f in OF_LABELS),
    call(ni.rotate, normal(5, 2, 4), np.float64(33.0), axes=(0, 2), reshape=False, mode="mirror"),
    call(ni.map_coordinates, complex_normal(5), RNG.uniform(0, 4, (1, 3))),
]


@pytest.mark.part(3)
@checked(CALLS)
def test_a_rule_keeps_the_laws(one):
    check_call(one)


@pytest.mark.slow
@checked(MANY)
def test_a_rule_keeps_the_laws_in_every_mode(one):
    check_call(one)


def test_every_function_has_a_decision_and_a_call():
    assert undecided(scipy.ndimage, ni) == []
    distances = {"distance_transform_bf", "distance_transform_edt"}  # below
    assert set(uncalled(ni, CALLS)) == {f"scipy.ndimage.{name}" for name in distances}


def assert_transposed(function, shape):
    """<f(x) - f(0), g> = <x, transpose(g)>, to rounding."""
    x, zero = normal(*shape), np.zeros(shape)
    out, pullback = vjp(function, x)
    g = normal(*out.shape)
    np.testing.assert_allclose(
        np.sum((out - function(zero)) * g), np.sum(x * pullback(g)[0]), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("mode", MODES)
def test_transposes_are_exact_in_every_mode_and_order(mode):
    for order, shape in itertools.product(range(6), ((3,), (40,), (5, 6))):
        at = points(*shape, count=50)
        assert_transposed(
            lambda x, o=order, at=at: ni.map_coordinates(x, at, order=o, mode=mode, cval=0.7),
            shape,
        )
        if order > 1:
            assert_transposed(lambda x, o=order: ni.spline_filter1d(x, o, mode=mode), shape)
    for size in (2, 3, 9):
        kernel = normal(size)
        assert_transposed(lambda x, k=kernel: ni.correlate1d(x, k, mode=mode, cval=2.0), (5, 6))
        assert_transposed(lambda x, n=size: ni.uniform_filter(x, n, mode=mode, cval=2.0), (5, 6))


def test_long_windows_and_reflections_reach_around_more_than_once():
    for mode in MODES:
        assert_transposed(lambda x, m=mode: ni.gaussian_filter1d(x, 3.0, mode=m), (3,))


def slope(mode, at, order=1):
    image = np.array([0.0, 1.0, 5.0])
    return grad(lambda t: ni.map_coordinates(image, t, order=order, mode=mode)[0])(
        np.array([[at]])
    )[0, 0]


def test_slopes_of_linear_interpolation_at_samples():
    assert slope("constant", 0.5) == 1
    assert slope("constant", 1.0) == 2.5
    assert slope("constant", 0.0) == 1
    assert slope("constant", 2.0) == 4
    assert slope("nearest", 0.0) == 0.5
    assert slope("nearest", 2.0) == 2
    assert slope("mirror", 0.0) == 0
    assert slope("constant", -1.0) == 0
    assert slope("constant", 0.5, order=0) == 0


def test_equal_elements_share():
    ones = np.ones(4)
    shares = grad(lambda x: ni.maximum_filter1d(x, 3)[1])(ones)
    np.testing.assert_allclose(shares, [1 / 3, 1 / 3, 1 / 3, 0])
    assert np.array_equal(grad(lambda x: ni.standard_deviation(x))(ones), np.zeros(4))


def test_a_label_that_is_absent_has_no_least_element():
    for f in (ni.minimum, ni.maximum):
        with pytest.raises(ValueError, match="elements of label 7"):
            vjp(lambda x, f=f: f(x, LABELS, 7), apart(2, 4))
    assert np.isnan(vjp(lambda x: ni.median(x, LABELS, 7), apart(2, 4))[0])


def test_single_precision_is_summed_in_double_over_several_labels():
    x = (apart(2, 4) + 2).astype(np.float32)
    for f in (ni.sum_labels, ni.mean, ni.variance):
        found = vjp(lambda x, f=f: f(x, LABELS, [1, 2]), x)[0]
        with np.errstate(invalid="ignore"):  # SciPy's, of the label between that is absent
            np.testing.assert_allclose(found, f(x, LABELS, [1, 2]), rtol=1e-14)


def test_distances_between_positions_do_not_change_with_the_image():
    x = apart(4, 4)
    found, pullback = vjp(lambda x: x * ni.distance_transform_edt(x > 0), x)
    distances = scipy.ndimage.distance_transform_edt(x > 0)
    assert np.array_equal(found, x * distances)
    assert np.array_equal(pullback(np.ones((4, 4)))[0], distances)


def test_a_vmap_of_images_is_a_loop():
    x, kernel = normal(3, 5, 4), normal(3, 3)
    np.testing.assert_allclose(
        vmap(lambda x: ni.correlate(x, kernel))(x),
        np.stack([scipy.ndimage.correlate(one, kernel) for one in x]),
    )
    np.testing.assert_allclose(
        vmap(lambda x: ni.median_filter(x, 3))(x),
        np.stack([scipy.ndimage.median_filter(one, 3) for one in x]),
    )
    np.testing.assert_allclose(
        vmap(lambda x: ni.zoom(x, 1.5))(x),
        np.stack([scipy.ndimage.zoom(one, 1.5) for one in x]),
    )


@pytest.mark.parametrize("mode", ["constant", "grid-constant"])
@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, c, mode: m.map_coordinates(x, FAR, cval=c, mode=mode),
        lambda m, x, c, mode: m.map_coordinates(x, FAR, order=1, cval=c, mode=mode),
        lambda m, x, c, mode: m.shift(x, [0.4, -1.3], cval=c, mode=mode),
        lambda m, x, c, mode: m.gaussian_filter(x, 0.9, cval=c, mode=mode),
        lambda m, x, c, mode: m.median_filter(x, 3, cval=c, mode=mode),
    ],
)
def test_the_value_beyond_the_sides_has_a_derivative(function, mode):
    x, at = normal(4, 5), 0.83

    def ours(c):
        return np.sum(function(ni, x, c, mode) ** 2)

    slopes = [grad(ours)(at), jvp(ours, (at,), (1.0,))[1], vmap(grad(ours))(np.array([at]))[0]]
    step = 1e-5
    ends = [np.sum(function(scipy.ndimage, x, at + e, mode) ** 2) for e in (-step, step)]
    np.testing.assert_allclose(slopes, (ends[1] - ends[0]) / (2 * step), rtol=1e-7, atol=1e-8)


FAR = np.array([[1.2, -0.3, 9.0, 3.4], [2.2, 1.1, 2.0, 3.0]])


def test_what_a_mapping_closes_over_has_a_derivative():
    x = normal(3, 4)

    def total(module, scale):
        return np.sum(module.geometric_transform(x, lambda i: (scale * i[0], i[1] - scale)) ** 2)

    step = 1e-5
    expected = (total(scipy.ndimage, 0.8 + step) - total(scipy.ndimage, 0.8 - step)) / (2 * step)
    found = grad(lambda scale: total(ni, scale))(0.8)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_allclose(vmap(grad(lambda s: total(ni, s)))(np.array([0.8])), [found])


def test_sigmas_of_one_radius_are_mapped():
    def total(sigma):
        return np.sum(ni.gaussian_filter(IMAGE, sigma) ** 2)

    sigmas = np.array([1.01, 1.02])
    found = vmap(grad(total))(sigmas)
    np.testing.assert_allclose(found, [grad(total)(s) for s in sigmas], rtol=1e-12)
    with pytest.raises(BatchingError, match="sigma without radius= decides about the shape"):
        vmap(grad(total))(np.array([1.0, 2.0]))


IMAGE = normal(5, 6)


def test_what_is_refused_names_the_reason():
    x = normal(4, 4)
    with pytest.raises(NotDifferentiableError, match="sliding_window_view"):
        grad(lambda x: np.sum(ni.generic_filter(x, np.sum, 3)))(x)
    with pytest.raises(TypeError, match="output=array"):
        grad(lambda x: np.sum(ni.sobel(x, output=np.zeros((4, 4)))))(x)
    with pytest.raises(TypeError, match="has no derivative"):
        grad(lambda w: np.sum(ni.correlate1d(np.arange(4), w)))(np.ones(3))
    with pytest.raises(TypeError, match="alike for all"):
        vmap(lambda s: ni.gaussian_filter1d(np.ones(4), s))(np.array([1.0, 2.0]))
    with pytest.raises(NotDifferentiableError, match="return_indices"):
        grad(lambda s: ni.distance_transform_edt(x > 0, sampling=[s, 1.0])[0, 0])(1.0)
    with pytest.raises(RuntimeError, match="mode"):
        grad(lambda x: np.sum(ni.sobel(x, mode="nowhere")))(x)


@pytest.mark.parametrize("footprint", [np.ones((2, 3), bool), FOOTPRINT, np.ones((1, 1), bool)])
def test_each_rank_there_is_and_no_other(footprint):
    """Also as a percentage: the first and the last are minima and maxima."""
    image, count = np.sin(np.arange(12.0)).reshape(3, 4), int(np.sum(footprint))
    for rank in range(-count - 2, count + 2):
        one = {"rank": rank, "footprint": footprint}
        if -count <= rank < count:
            found = vjp(lambda x, one=one: ni.rank_filter(x, **one), image)[0]
            np.testing.assert_array_equal(found, scipy.ndimage.rank_filter(image, **one))
        else:
            with pytest.raises(RuntimeError, match="rank"):
                scipy.ndimage.rank_filter(image, **one)
            with pytest.raises(RuntimeError, match=f"a rank below {count}"):
                vjp(lambda x, one=one: ni.rank_filter(x, **one), image)
    for percentile in (-100, -1, 0, 50, 99, 100):
        found = vjp(lambda x, p=percentile: ni.percentile_filter(x, p, footprint=footprint), image)
        expected = scipy.ndimage.percentile_filter(image, percentile, footprint=footprint)
        np.testing.assert_array_equal(found[0], expected)
    for percentile in (-101, 100.5):
        with pytest.raises(RuntimeError, match="percentile"):
            vjp(lambda x, p=percentile: ni.percentile_filter(x, p, footprint=footprint), image)


def test_a_plain_call_says_where_the_derivative_is():
    with pytest.raises(Exception, match="ndimage"):
        grad(lambda x: np.sum(scipy.ndimage.laplace(x)))(normal(4))


def test_single_precision_stays():
    x = np.ones((4, 4), np.float32)
    for f in (ni.laplace, lambda x: ni.gaussian_filter(x, 1.0), lambda x: ni.zoom(x, 1.5)):
        assert f(x).dtype == np.float32
        assert grad(lambda x, f=f: np.sum(f(x)))(x).dtype == np.float32


@pytest.mark.parametrize("order", [0, 1, 3])
def test_a_complex_zoom_is_that_of_scipy(order):
    x = normal(4, 3) + 1j * normal(4, 3)
    value = vjp(lambda x: ni.zoom(x, 1.7, order=order, grid_mode=True), x)[0]
    np.testing.assert_allclose(value, ni.zoom(x, 1.7, order=order, grid_mode=True), atol=1e-12)


def test_dtypes_of_a_trace_are_those_of_scipy():
    x, labels = np.ones((3, 4), np.float32), np.ones((3, 4), int)
    for f in (
        lambda x: ni.convolve(x, np.ones((5, 7))),  # a kernel larger than the result
        lambda x: ni.sum(x, labels),
        lambda x: ni.sum(x, labels, [1, 2]),
    ):
        assert vjp(f, x)[0].dtype == f(x).dtype


@pytest.mark.parametrize("angle", [90.0, np.float32(90.0), 180.0])
def test_right_angles_reach_the_border(angle):
    x = normal(3, 3)
    value = vjp(lambda a: ni.rotate(x, a, order=1, reshape=False), angle)[0]
    np.testing.assert_array_equal(value, ni.rotate(x, angle, order=1, reshape=False))


def test_an_ellipsoid_is_refused_by_its_size():
    x = np.ones((3, 4))
    with pytest.raises(NotDifferentiableError, match="'size'"):
        grad(lambda s: np.sum(ni.fourier_ellipsoid(x, s)))(1.2)


@pytest.mark.slow
@pytest.mark.peers
def test_map_coordinates_agrees_with_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    x, at = normal(5, 6), np.stack([RNG.uniform(0, 4, 7), RNG.uniform(0, 5, 7)])
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
        theirs = jax.grad(
            lambda x, t, m=mode: jax.scipy.ndimage.map_coordinates(x, t, 1, m).sum(), (0, 1)
        )(x, list(at))
        ours = grad(
            lambda x, t, m=mode: np.sum(ni.map_coordinates(x, t, order=1, mode=m)), (0, 1)
        )(x, at)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-12)
        np.testing.assert_allclose(ours[1], np.stack(theirs[1]), atol=1e-12)


@pytest.mark.parametrize(
    "mode", "reflect mirror nearest wrap constant grid-mirror grid-wrap grid-constant".split()
)
def test_running_means_have_their_transposes_for_every_mode_and_origin(mode):
    x, g, along = normal(5), normal(5), normal(5)
    for size in (1, 2, 3, 4, 5, 9):
        for origin in range(-(size // 2), (size - 1) // 2 + 1):
            options = {"size": size, "mode": mode, "origin": origin}
            out, pull = vjp(lambda x, o=options: ni.uniform_filter1d(x, **o), x)
            expected = scipy.ndimage.uniform_filter1d(x, **options)
            np.testing.assert_allclose(out, expected, atol=1e-14)
            moved = g @ scipy.ndimage.uniform_filter1d(along, **options)
            np.testing.assert_allclose(pull(g)[0] @ along, moved, atol=1e-13)
