"""Return types of SciPy's functions: for docs/scipy_stubs.py.

SciPy says it in its docstrings alone. A function that is named nowhere here returns `Any`: what it
returns depends on the values of its arguments, or is an object of SciPy's.
"""

from __future__ import annotations

ARRAY, PAIR = "Array", "tuple[Array, Array]"
THREE, FOUR = "tuple[Array, Array, Array]", "tuple[Array, Array, Array, Array]"
ZEROS = "tuple[Array, Array, Any]"  # poles too, and the gain, a number or an array

# By module and result, the names.
RESULTS: dict[str, dict[str, str]] = {
    "cluster.vq": {ARRAY: "whiten", PAIR: "vq kmeans2", "tuple[Array, np.float64]": "kmeans"},
    "fft": {
        ARRAY: """
            dct dctn dst dstn fft fft2 fftfreq fftn fftshift fht hfft hfft2 hfftn idct idctn idst
            idstn ifft ifft2 ifftn ifftshift ifht ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft
            rfft2
            rfftfreq rfftn
        """,
        "int": "get_workers next_fast_len prev_fast_len",
        "float": "fhtoffset",
    },
    "integrate": {
        ARRAY: "cumulative_simpson cumulative_trapezoid",
        "tuple[Array, float]": "newton_cotes",
        "tuple[float, float]": "dblquad tplquad",
        "Solution": "solve_ivp",
    },
    "interpolate": {
        ARRAY: """
            barycentric_interpolate griddata interpn krogh_interpolate pchip_interpolate
        """,
        "BSpline": """
            make_interp_spline make_lsq_spline make_smoothing_spline make_splrep
        """,
        "tuple[BSpline, Array]": "make_splprep",
    },
    "linalg": {
        ARRAY: """
            block_diag cho_solve cho_solve_banded cholesky cholesky_banded circulant companion
            convolution_matrix coshm cosm dft diagsvd eigvals_banded eigvalsh_tridiagonal expm
            fiedler fiedler_companion fractional_matrix_power hadamard hankel helmert hilbert inv
            invhilbert khatri_rao leslie lu_solve matmul_toeplitz null_space orth pascal sinhm sinm
            solve solve_banded solve_circulant solve_continuous_are solve_continuous_lyapunov
            solve_discrete_are solve_discrete_lyapunov solve_lyapunov solve_sylvester
            solve_toeplitz
            solve_triangular solveh_banded subspace_angles svdvals tanhm tanm toeplitz sqrtm
            eigvals eigvalsh logm signm
        """,
        PAIR: "cdf2rdf lu_factor polar rsf2csf",
        THREE: "ldl",
        FOUR: "qz",
        "tuple[Array, bool]": "cho_factor",
        "tuple[int, int]": "bandwidth",
        "bool": "ishermitian issymmetric",
    },
    "ndimage": {
        ARRAY: """
            affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes
            binary_hit_or_miss binary_opening binary_propagation black_tophat convolve convolve1d
            correlate correlate1d fourier_ellipsoid fourier_gaussian fourier_shift fourier_uniform
            gaussian_filter gaussian_filter1d gaussian_gradient_magnitude gaussian_laplace
            generate_binary_structure generic_filter generic_gradient_magnitude generic_laplace
            geometric_transform grey_closing grey_dilation grey_erosion grey_opening laplace
            map_coordinates maximum_filter maximum_filter1d median_filter minimum_filter
            minimum_filter1d morphological_gradient morphological_laplace percentile_filter prewitt
            rank_filter rotate shift sobel spline_filter spline_filter1d uniform_filter
            uniform_filter1d watershed_ift white_tophat zoom
        """,
    },
    "optimize": {
        "OptimizeResult": """
            basinhopping differential_evolution direct dual_annealing least_squares lsq_linear
            minimize minimize_scalar root shgo
        """,
        "RootResults": "root_scalar",
        "tuple[Array, float]": "nnls",
    },
    "signal": {
        ARRAY: """
            chirp convolve convolve2d correlate correlate2d correlation_lags cspline1d
            cspline1d_eval cspline2d czt czt_points decimate detrend envelope fftconvolve filtfilt
            find_peaks_cwt findfreqs firls firwin firwin2 firwin_2d gauss_spline get_window hilbert
            hilbert2 lfilter_zi lfiltic lombscargle medfilt medfilt2d minimum_phase oaconvolve
            order_filter qspline1d qspline1d_eval qspline2d remez resample_poly savgol_coeffs
            savgol_filter sawtooth sepfir2d sosfilt_zi sosfiltfilt spline_filter square sweep_poly
            symiirorder1 symiirorder2 tf2sos unit_impulse upfirdn wiener zoom_fft zpk2sos
        """,
        PAIR: """
            bilinear coherence csd deconvolve dfreqresp freqresp freqs freqs_zpk freqz freqz_sos
            freqz_zpk gammatone group_delay iircomb iirnotch iirpeak invres invresz istft lp2bp
            lp2bs
            lp2hp lp2lp max_len_seq normalize periodogram sos2tf ss2tf step impulse unique_roots
            welch zpk2tf sosfreqz
        """,
        THREE: "bode dbode residue residuez spectrogram stft peak_prominences lsim",
        FOUR: "abcd_normalize tf2ss zpk2ss peak_widths",
        ZEROS: """
            besselap bilinear_zpk buttap cheb1ap cheb2ap ellipap lp2bp_zpk lp2bs_zpk lp2hp_zpk
            lp2lp_zpk sos2zpk ss2zpk tf2zpk
        """,
        "tuple[Array, dict[str, Any]]": "find_peaks",
        "tuple[int, Any]": "buttord cheb1ord cheb2ord ellipord",
        "tuple[int, float]": "kaiserord",
        "tuple[Array, ...]": "argrelextrema argrelmax argrelmin",
        "bool": "check_COLA check_NOLA",
    },
    "signal.windows": {
        ARRAY: """
            barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential
            flattop gaussian general_cosine general_gaussian general_hamming get_window hamming
            hann
            kaiser kaiser_bessel_derived lanczos nuttall parzen taylor triang tukey
        """,
    },
    "spatial": {
        ARRAY: "distance_matrix geometric_slerp minkowski_distance minkowski_distance_p",
        "tuple[Array, Array, np.float64]": "procrustes",
    },
    "spatial.distance": {
        ARRAY: "cdist pdist squareform",
        "float": """
            braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming
            jaccard
            mahalanobis minkowski rogerstanimoto russellrao seuclidean sokalsneath sqeuclidean yule
        """,
        "tuple[float, int, int]": "directed_hausdorff",
        "bool": "is_valid_dm is_valid_y",
        "int": "num_obs_dm num_obs_y",
    },
    "special": {
        ARRAY: """
            bei_zeros beip_zeros ber_zeros bernoulli berp_zeros erf_zeros euler fresnelc_zeros
            fresnels_zeros jn_zeros jnp_zeros kei_zeros keip_zeros ker_zeros kerp_zeros
            mathieu_even_coef mathieu_odd_coef obl_cv_seq pro_cv_seq softmax yn_zeros ynp_zeros
        """,
        PAIR: """
            fresnel_zeros lmbda lqmn lqn pbdn_seq pbdv_seq pbvv_seq riccati_jn riccati_yn y0_zeros
            y1_zeros y1p_zeros
        """,
        FOUR: "ai_zeros bi_zeros jnjnp_zeros jnyn_zeros",
    },
    "stats": {
        "float": "energy_distance wasserstein_distance",
        ARRAY: """
            false_discovery_control gzscore obrientransform rankdata trim1 trimboth zmap zscore
        """,
    },
    "sparse.linalg": {
        "tuple[Array, int]": """
            bicg bicgstab cg cgs gcrotmk gmres lgmres minres qmr tfqmr
        """,
        ARRAY: "expm_multiply funm_multiply_krylov spsolve_triangular",
    },
}

# Functions that SciPy writes in Python, and that are elementwise by the parameters without
# defaults.
ELEMENTWISE = {
    "special": """
        assoc_laguerre ellip_harm ellip_harm_2 h1vp h2vp ivp jvp kvp lambertw log_softmax
        multigammaln polygamma softplus spherical_in spherical_jn spherical_kn spherical_yn yvp
        zeta
    """.split(),
}

# A flag whose value decides: its name, the results with its default and without.
FLAGS: dict[str, tuple[str, str, str]] = {
    "integrate.nquad": ("full_output", "tuple[float, float]", "tuple[Any, ...]"),
    "linalg.eig_banded": ("eigvals_only", PAIR, ARRAY),
    "linalg.eigh": ("eigvals_only", PAIR, ARRAY),
    "linalg.eigh_tridiagonal": ("eigvals_only", PAIR, ARRAY),
    "linalg.expm_frechet": ("compute_expm", PAIR, ARRAY),
    "linalg.hessenberg": ("calc_q", ARRAY, PAIR),
    "linalg.matrix_balance": ("separate", PAIR, f"tuple[Array, {PAIR}]"),
    "linalg.lu": ("permute_l", THREE, PAIR),
    "linalg.pinv": ("return_rank", ARRAY, "tuple[Array, int]"),
    "linalg.pinvh": ("return_rank", ARRAY, "tuple[Array, int]"),
    "linalg.svd": ("compute_uv", THREE, ARRAY),
    "optimize.curve_fit": ("full_output", PAIR, "tuple[Any, ...]"),
    **{
        f"optimize.{name}": ("full_output", "float", "tuple[float, Any]")
        for name in "bisect brenth brentq ridder toms748".split()
    },
    "signal.lfilter": ("zi", ARRAY, PAIR),
    "signal.resample": ("t", ARRAY, PAIR),
    "signal.sosfilt": ("zi", ARRAY, PAIR),
    "stats.yeojohnson": ("lmbda", "tuple[Array, np.float64]", ARRAY),
}
_DESIGN = (
    ("Literal['ba'] = 'ba'", PAIR),
    ("Literal['zpk']", ZEROS),
    ("Literal['sos']", ARRAY),
)
# The same with more than two values, by the parameter: what is written for it, and the result.
CHOICES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = dict.fromkeys(
    (f"signal.{name}" for name in "bessel butter cheby1 cheby2 ellip iirdesign iirfilter".split()),
    ("output", _DESIGN),
)
_OF_ALL = ("index", (("None = None", "float"),))  # not of one label, or of several
CHOICES |= {
    f"ndimage.{name}": _OF_ALL
    for name in "maximum mean median minimum standard_deviation sum sum_labels variance".split()
}
CHOICES |= {
    "linalg.rq": (
        "mode",
        (("Literal['full', 'economic'] = 'full'", PAIR), ("Literal['r']", ARRAY)),
    ),
    "linalg.schur": (
        "sort",
        (("None = None", PAIR), ("str", "tuple[Array, Array, int]")),
    ),
    "ndimage.label": ("output", (("None = None", "tuple[Array, int]"),)),
}
# Overloads that are written out.
_EIG = (
    "overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True, "
    "homogeneous_eigvals: bool = False"
)
_NO = "Literal[False] = False"
_QUAD = "func: Any, a: Any, b: Any, args: Any = ()"
_HOW = (
    "epsabs: float = 1.49e-08, epsrel: float = 1.49e-08, limit: int = 50, points: Any = None, "
    "weight: Any = None, wvar: Any = None"
)
OVERLOADS: dict[str, list[str]] = {
    "integrate.quad": [
        (
            f"({_QUAD}, full_output: Literal[0, False] = 0, {_HOW}, "
            f"complex_func: {_NO}, **options: Any) -> tuple[float, float]"
        ),
        f"({_QUAD}, full_output: Any = 0, {_HOW}, **options: Any) -> tuple[Any, ...]",
    ],
    "linalg.eig": [
        (
            f"(a: ArrayLike, b: Any = None, left: {_NO}, right: Literal[True] = True, {_EIG}) "
            f"-> {PAIR}"
        ),
        f"(a: ArrayLike, b: Any = None, left: {_NO}, *, right: Literal[False], {_EIG}) -> Array",
        (
            f"(a: ArrayLike, b: Any = None, *, left: Literal[True], right: Literal[True] = True, "
            f"{_EIG}) -> {THREE}"
        ),
        f"(a: ArrayLike, b: Any = None, left: bool = False, right: bool = True, {_EIG}) -> Any",
    ],
    "linalg.lstsq": [
        (
            "(a: ArrayLike, b: ArrayLike, cond: Any = None, overwrite_a: bool = False, "
            "overwrite_b: bool = False, check_finite: bool = True, "
            "lapack_driver: str | None = None) -> tuple[Array, Array, Any, Array | None]"
        )  # a rank, or those of several matrices
    ],
    "linalg.qr": [
        (
            "(a: ArrayLike, overwrite_a: bool = False, lwork: Any = None, "
            f"mode: Literal['full', 'economic'] = 'full', pivoting: {_NO}, "
            f"check_finite: bool = True) -> {PAIR}"
        ),
        (
            "(a: ArrayLike, overwrite_a: bool = False, lwork: Any = None, "
            "mode: Literal['full', 'economic'] = 'full', *, pivoting: Literal[True], "
            f"check_finite: bool = True) -> {THREE}"
        ),
        (
            "(a: ArrayLike, overwrite_a: bool = False, lwork: Any = None, *, "
            f"mode: Literal['r'], pivoting: {_NO}, check_finite: bool = True) -> tuple[Array]"
        ),
        (
            "(a: ArrayLike, overwrite_a: bool = False, lwork: Any = None, mode: str = 'full', "
            "pivoting: bool = False, check_finite: bool = True) -> tuple[Any, ...]"
        ),
    ],
    "linalg.norm": [
        (
            "(a: ArrayLike, ord: Any = None, axis: None = None, keepdims: Literal[False] = False, "
            "check_finite: bool = True) -> np.float64"
        ),
        (
            "(a: ArrayLike, ord: Any = None, *, axis: Shape, keepdims: bool = False, "
            "check_finite: bool = True) -> Array"
        ),
        (
            "(a: ArrayLike, ord: Any = None, axis: Shape | None = None, keepdims: bool = False, "
            "check_finite: bool = True) -> Any"
        ),
    ],
    "special.logsumexp": [
        (
            "(a: ArrayLike, axis: None = None, b: ArrayLike | None = None, "
            "keepdims: Literal[False] = False, return_sign: Literal[False] = False) -> np.float64"
        ),
        (
            "(a: ArrayLike, axis: Shape, b: ArrayLike | None = None, keepdims: bool = False, "
            "return_sign: Literal[False] = False) -> Array"
        ),
        (
            "(a: ArrayLike, axis: Shape | None = None, b: ArrayLike | None = None, "
            "keepdims: bool = False, *, return_sign: Literal[True]) -> tuple[Any, Any]"
        ),
        (
            "(a: ArrayLike, axis: Shape | None = None, b: ArrayLike | None = None, "
            "keepdims: bool = False, return_sign: bool = False) -> Any"
        ),
    ],
}
