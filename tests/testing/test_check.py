"""check: right functions pass, broken ones fail by their law, kinks are told from bugs."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad
from tapegrad.testing import LawError, check, laws
from tapegrad.testing._laws import naming, slopes
from tapegrad.testing._laws.check import LAWS
from tapegrad.testing._measuring.measure import measure
from tapegrad.testing._measuring.verdicts import VERDICTS

X = np.linspace(0.3, 1.7, 6)
EPS = float(np.finfo(float).eps)


def custom(function, backward):
    made = tapegrad.custom_vjp(function)
    made.defvjp(lambda *args: (function(*args), args), backward)
    return made


def square(x):
    return x * x


def failed_laws(f, args, asked="all", **options):
    with pytest.raises(LawError) as caught:
        check(f, args, asked, blame=False, **options)
    return {finding.law for finding in caught.value.findings}


# --- Measuring ----------------------------------------------------------------------------------


def along(function):
    def path(t):
        with np.errstate(all="ignore"):
            return np.atleast_1d(np.asarray(function(np.float64(t)), float))

    return measure(path, np.full(1, EPS), EPS)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda t: np.sin(1 + t), np.cos(1)),
        (lambda t: np.sin(100 * (1 + t)), 100 * np.cos(100)),
        (lambda t: np.abs(t + 1e-5), 1.0),
        (lambda t: np.tanh(1000 * t), 1000.0),
        (lambda t: 1e-300 * np.sin(1 + t), 1e-300 * np.cos(1)),
        (lambda t: 1e300 * np.sin(1 + t), 1e300 * np.cos(1)),
        (lambda t: (1e8 + np.sin(1 + t)) - 1e8, np.cos(1)),
        (lambda t: np.log(1e-8 + t), 1e8),
        (lambda t: 1 / (t + 1e-3), -1e6),
        (lambda t: 3.0 + 0 * t, 0.0),
    ],
)
def test_a_slope_is_within_its_error_and_the_error_is_small(function, slope):
    found = along(function)
    assert VERDICTS[found.verdict[0]] == "smooth"
    assert abs(found.slope[0] - slope) <= found.error[0]
    assert found.error[0] <= 1e-4 * max(abs(slope), 1e-3)


@pytest.mark.parametrize(
    ("function", "verdict", "left", "right"),
    [
        (np.abs, "kink", -1, 1),
        (lambda t: np.maximum(t, 0), "kink", 0, 1),
        (lambda t: np.sin(t) + 1e-4 * np.abs(t), "kink", 1 - 1e-4, 1 + 1e-4),
        (np.floor, "jump", np.inf, 0),
        (np.sign, "jump", np.inf, np.inf),
        (np.cbrt, "steep", np.inf, np.inf),
        (np.sqrt, "steep", np.nan, np.inf),
    ],
)
def test_what_lies_at_a_point_is_told_with_the_slopes_of_both_sides(
    function, verdict, left, right
):
    found = along(function)
    assert VERDICTS[found.verdict[0]] == verdict
    np.testing.assert_allclose([found.left[0], found.right[0]], [left, right], atol=1e-6)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_beside_a_pole_small_steps_tell_the_slope(gap):
    found = along(lambda t: np.log(np.abs(gap + t)))
    assert VERDICTS[found.verdict[0]] == "smooth"
    assert abs(found.slope[0] - 1 / gap) <= found.error[0] <= 1e-3 / gap


def test_so_near_to_a_pole_that_one_step_alone_is_small_is_no_jump():
    found = along(lambda t: np.log(np.abs(1e-12 + t)))
    assert VERDICTS[found.verdict[0]] == "undefined"


@pytest.mark.parametrize("within", [lambda x: x, np.log1p])
def test_values_on_a_grid_do_not_look_linear_by_luck(within):
    # Steps of 160 and 10 units of the grid, a sixteenth of each other, would both be rounded up.
    found = along(lambda t: within(np.float64((1 + 1e-12 * (1 + 1.1369616873214542 * t)) - 1)))
    assert abs(found.slope[0] - 1.1369616873214542e-12) <= 2 * found.error[0] < 2e-13


@pytest.mark.parametrize(
    "function",
    [lambda x: (1 + x) - 1, lambda x: np.log(1 + x), lambda x: np.exp(x) - 1],
)
def test_what_is_rounded_within_passes(function):
    check(function, (1e-12,), "gradient", blame=False)


def test_a_difference_is_shown_in_digits_that_tell_it():
    def solved(x):
        return x * x * x

    solver = tapegrad.custom_vjp(solved)
    solver.defvjp(lambda x: (solved(x), x), lambda x, g: ((3 + 1e-8) * x * x * g,))
    with pytest.raises(LawError, match=r"expected 3 .*\n.*got +3\.0000000[1-9]") as caught:
        check(solver, (1.0,), "gradient", blame=False)
    assert "they differ by 3e-09 of their size" in str(caught.value)
    assert check(solver, (1.0,), "gradient", rtol=1e-6).passed


def test_noise_is_measured():
    random = np.random.default_rng(0)
    found = along(lambda t: np.sin(1 + t) * (1 + 1e-8 * random.standard_normal()))
    assert 1e-9 < found.noise[0] < 1e-7
    assert abs(found.slope[0] - np.cos(1)) <= found.error[0] < 1e-4


# --- Right functions ----------------------------------------------------------------------------


def newton(a):
    y = a * 0 + 1.0
    for _ in range(100):
        y, before = 0.5 * (y + a / y), y
        if np.max(np.abs(y - before)) < 1e-6:
            break
    return y


def in_place(x):
    y = x * 1
    y[1:] *= y[:-1]
    return y


HILBERT = 1 / (np.arange(8)[:, None] + np.arange(8) + 1.0)
RIGHT = {
    "tree": (lambda d: {"a": d["x"] * d["n"], "b": [np.sum(d["x"])]}, ({"x": X, "n": 3},)),
    "complex": (lambda z: z * np.conj(z) * np.exp(1j * z.real), (np.array([1 + 2j, 3j]),)),
    "float32": (lambda w: np.log(np.sum(np.exp(w))), (X.astype(np.float32),)),
    "float16": (lambda w: np.sum(np.sin(w) * w), (X.astype(np.float16),)),
    "float16 within": (lambda w: np.sum(np.exp(w.astype(np.float16)).astype(float)), (X,)),
    "ill-conditioned": (np.linalg.inv, (HILBERT,)),
    "Hermitian": (lambda a: np.linalg.eigh(a)[0], (HILBERT[:3, :3],)),
    "solver": (newton, (X,)),
    "in place": (in_place, (X,)),
    "tiny": (lambda w: np.sum(np.log(w)), (X * 1e-300,)),
    "huge": (lambda w: np.sqrt(w @ w), (X * 1e150,)),
    "mixed": (lambda w: np.sum(np.exp(w)), (np.array([1e-20, 1.0, 0.0]),)),
    "chaos": (lambda w: [w := 3.9 * w * (1 - w) for _ in range(60)][-1], (np.array([0.3]),)),
    "empty": (np.sum, (np.zeros(0),)),
    "constant": (lambda _: 3.0, (X,)),
    "NaN within": (np.nansum, (np.array([1.0, np.nan]),)),
    "relu": (lambda w: np.sum(np.maximum(w, 0)), (np.array([-1.0, 0, 0, 1]),)),
    "ties": (np.max, (np.array([1.0, 1, 1, 0]),)),
    "sorted ties": (lambda w: np.sort(w) * np.array([0, 1.0, 0]), (np.ones(3),)),
    "median of ties": (np.median, (np.ones(3),)),
    "norm": (np.linalg.norm, (np.zeros(3),)),
    "sqrt": (np.sqrt, (np.array([0.0, 1.0]),)),
    "floor": (lambda w: w * np.floor(w), (np.array([2.0, 1.5]),)),
    "clip": (lambda w: np.clip(w, 0, 1), (np.array([0.0, 1, 0.5, 2]),)),
    "equal eigenvalues": (np.linalg.eigvalsh, (np.eye(3),)),
}


@pytest.mark.part(6)
@pytest.mark.parametrize("name", RIGHT)
def test_right_functions_keep_all_laws(name):
    f, args = RIGHT[name]
    assert check(f, args).passed


def test_all_laws_of_ten_parameters_take_under_a_hundred_evaluations():
    x = np.linspace(0.3, 1.7, 10)
    report = check(lambda x: np.sum(np.sin(x) ** 2 * np.exp(x[::-1])), (x,))
    assert report.evaluations < 100
    assert {result.law for result in report.results} == set(LAWS)


# --- Broken functions ---------------------------------------------------------------------------

BROKEN = {
    "sign": (custom(square, lambda a, g: (-2 * a[0] * g,)), (X,), "gradient"),
    "factor": (custom(square, lambda a, g: (2 * (1 + 1e-8) * a[0] * g,)), (X,), "gradient"),
    "element": (
        custom(square, lambda a, g: (2 * a[0] * g * np.where(np.arange(6) == 4, 1.01, 1),)),
        (X,),
        "gradient",
    ),
    "conjugate": (custom(np.conj, lambda a, g: (g,)), (np.array([1 + 1j]),), "gradient"),
    "at one point": (
        custom(lambda a: a**3 + a, lambda a, g: (g * np.where(a[0] == 0, 0, 3 * a[0] ** 2 + 1),)),
        (np.array([0.0, 1.0]),),
        "gradient",
    ),
    "at a kink": (
        custom(lambda a: np.maximum(a, 0), lambda a, g: (g * np.where(a[0] == 0, 2.0, a[0] > 0),)),
        (np.array([0.0, 1.0]),),
        "gradient",
    ),
    "float32": (
        custom(np.sin, lambda a, g: (np.float32(1.001) * np.cos(a[0]) * g,)),
        (X.astype(np.float32),),
        "gradient",
    ),
    "hidden by another": (
        lambda a, b: 1e10 * b + custom(np.sin, lambda a, g: (1.1 * np.cos(a[0]) * g,))(a),
        (0.7, 1.0),
        "gradient",
    ),
    "not linear": (
        custom(square, lambda a, g: (2 * a[0] * g + 1e-3 * g * g,)),
        (X,),
        "linearity",
    ),
    "second order": (
        custom(square, lambda a, g: (2 * tapegrad.stop_gradient(a[0]) * g,)),
        (X,),
        "mixed_modes",
    ),
    "NaN": (custom(square, lambda a, g: (g * a[0] / a[0] * 2 * a[0],)), (np.zeros(2),), "finite"),
}


@pytest.mark.part(2)
@pytest.mark.parametrize("name", BROKEN)
def test_broken_derivatives_are_found(name):
    f, args, law = BROKEN[name]
    assert law in failed_laws(f, args)


def test_state_noise_and_writes_are_found():
    calls = []

    def stateful(x):
        calls.append(1)
        return x * len(calls)

    def writes(x):
        x[0] = 1.0
        return x * 2

    random = np.random.default_rng(0)

    def noisy(x):
        return np.sum(x * x) * (1 + 1e-8 * random.standard_normal())

    assert "deterministic" in failed_laws(stateful, (X,))
    assert failed_laws(writes, (X.copy(),)) == {"unmutated"}
    assert "deterministic" in failed_laws(noisy, (X,), ("deterministic",))
    assert check(noisy, (X,), "gradient").passed


@pytest.mark.parametrize(
    ("what", "who"),
    [
        ("argument", "the function"),
        ("constant", "the function"),
        ("constant", "its vjp"),
        ("constant", "its jvp"),
    ],
)
def test_a_write_is_found_and_said_by_whom_and_where(what, who):
    """Of arguments, and of arrays among them that are not differentiated."""

    def write(x, places):
        target = x if what == "argument" else places
        target[2] = 7

    def plain(x, places):
        if who == "the function":
            write(x, places)
        return x * 2

    made = (tapegrad.custom_jvp if who == "its jvp" else tapegrad.custom_vjp)(plain)
    if who == "its jvp":

        def pushed(primals, tangents):
            write(*primals)
            return plain(*primals), 2 * tangents[0]

        made.defjvp(pushed)
    else:

        def pulled(kept, g):
            if who == "its vjp":
                write(*kept)
            return 2 * g, None

        made.defvjp(lambda x, places: (plain(x, places), (x, places)), pulled)
    places = np.arange(6)
    with pytest.raises(LawError) as caught:
        check(made, (X.copy(), places), ("unmutated",), blame=False)
    (finding,) = caught.value.findings
    assert finding.law == "unmutated"
    assert finding.index == (2,)
    assert finding.got == 7
    # A vjp that is the transpose of a jvp runs that.
    assert ("its vjp" if who == "its jvp" else who) in str(caught.value)


@pytest.mark.parametrize("law", ["gradient", "jvp"])
@pytest.mark.parametrize(
    "x", [X, X * (1 + 2j), np.float64(0.5)], ids=["real", "complex", "number"]
)
def test_a_finding_has_the_slope_along_its_direction(law, x, monkeypatch):
    """By one real element its partial derivative; else that along the direction itself."""
    rounds = []

    def seen(trial, law, each, noise):
        rounds.append(each)
        return naming.finding_of(trial, law, each, noise)

    monkeypatch.setattr(slopes, "finding_of", seen)
    wrong = custom(square, lambda kept, g: (2.2 * kept[0] * g,))
    with pytest.raises(LawError) as caught:
        check(lambda x: np.sum(np.real(wrong(x))), (x,), law, blame=False)
    (finding, *_), (each, *_) = caught.value.findings, rounds
    where = finding.index if np.ndim(x) else ()
    dot = np.zeros_like(each.dots[0])
    dot[where] = np.asarray(each.dots[0])[where] if np.iscomplexobj(x) else 1
    expected = np.sum(np.real(2 * x * dot))
    assert finding.expected == pytest.approx(expected, rel=1e-6)
    assert finding.got == pytest.approx(1.1 * expected, rel=1e-6)


def test_the_message_names_the_element_and_what_is_uncertain():
    f, args, _ = BROKEN["element"]
    with pytest.raises(LawError) as caught:
        check(lambda x: np.sum(f(x)), args, "gradient", blame=False)
    error = caught.value
    assert error.law == "gradient"
    assert error.findings[0].index == (4,)
    assert error.findings[0].expected == pytest.approx(2 * X[4])
    assert "argument 0 (float64[6]) at [4]" in str(error)
    assert str(error).count("±") == 2


# --- Kinks --------------------------------------------------------------------------------------


def test_a_kink_is_accepted_moved_away_from_or_refused():
    report = check(np.abs, (0.0,), "gradient")
    assert report.notes == ("a kink lies here: one-sided slopes -1 and 1",)
    assert "moved away" in check(np.abs, (0.0,), "gradient", kinks="move").notes[0]
    with pytest.raises(LawError, match=r"a kink lies here: one-sided slopes -1 and 1"):
        check(np.abs, (0.0,), "gradient", kinks="fail", blame=False)
    wrong = custom(np.abs, lambda _, g: (3 * g,))
    with pytest.raises(LawError, match=r"slopes -1 and 1, the gradient says 3"):
        check(wrong, (0.0,), "gradient", blame=False)


# --- Options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["real", "complex step", "longdouble", "mpmath"])
def test_differences_of_each_kind(how):
    if how == "mpmath":
        pytest.importorskip("mpmath")

    def f(x):
        return np.sum(np.exp(x) * np.sin(x) / x) + x @ x

    report = laws.gradient(f, (X,), differences=how)
    assert report.passed
    assert not report.skipped
    wrong = custom(square, lambda a, g: (2.001 * a[0] * g,))
    with pytest.raises(LawError):
        laws.jvp(lambda x: np.sum(wrong(x)), (X,), differences="real", blame=False)


def test_a_complex_step_is_not_believed_where_the_function_is_not_analytic():
    report = check(lambda x: np.sum(np.abs(x)), (X,), "gradient", differences="complex step")
    assert "differences disagree" in report.skipped["gradient"]


def test_names_that_do_not_exist_are_refused():
    for options in ({"laws": "grad"}, {"laws": ()}, {"kinks": "skip"}, {"differences": "none"}):
        with pytest.raises(tapegrad.InputError, match="check: expected"):
            check(np.sin, (1.0,), **options)
    assert set(laws.__all__) == set(LAWS)


@pytest.mark.parametrize("seed", [6, 38, 302])
def test_the_determinant_of_a_nearly_singular_matrix(seed):
    # Steps on both sides of the pole nearby show two slopes, and no smaller step says the same.
    random = np.random.default_rng(seed)
    u, v = (np.linalg.qr(random.standard_normal((3, 3)))[0] for _ in range(2))
    matrix = u @ np.diag([1.0, 1e-4, 1e-8]) @ v
    check(lambda a: np.linalg.slogdet(a)[1], (matrix,), ("gradient", "jvp", "mixed_modes"))


# --- Kinks inside --------------------------------------------------------------------------------


def crossed(x):
    return np.minimum(np.maximum(x, 0), x)


CROSSING = {
    "min of max": (crossed, 0.0),
    "beside others": (
        lambda x: np.sum(crossed(x) * x[1]),
        np.array([0.0, 1]),
    ),
    "copysign": (lambda x: np.sum(np.copysign(x, x) * np.sin(x[1])), np.array([0.0, 1.0])),
    "rounded to a kink": (lambda x: np.abs(x - 0.64) * np.exp(x), np.float32(0.64)),
}


@pytest.mark.part(4)
@pytest.mark.parametrize("name", CROSSING)
def test_a_kink_inside_a_smooth_function_is_accepted_with_a_note(name):
    f, x = CROSSING[name]
    report = check(f, (x,), ("gradient", "jvp", "mixed_modes"))
    assert any("a kink lies" in note for note in report.notes)


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(crossed(x) * tapegrad.stop_gradient(x[1])),
        lambda x: np.sum(crossed(x)) + custom(np.sin, lambda r, g: (g,))(x[1]),
    ],
)
def test_a_kink_inside_hides_no_wrong_derivative(f):
    assert "gradient" in failed_laws(f, (np.array([0.0, 1.0]),))


def message_of(f, *args):
    with pytest.raises(LawError) as caught:
        check(f, args)
    assert caught.value.blame is None
    return str(caught.value)


def test_a_failure_for_which_no_rule_is_to_blame_says_so():
    words = "Every operation's rule agrees with differences"
    assert words in message_of(lambda x: x * tapegrad.stop_gradient(x), 1.5)
    assert "stop_gradient" in message_of(lambda x: x * tapegrad.stop_gradient(x), 1.5)


@pytest.mark.parametrize("args", [(3,), (np.arange(3), "word"), ()])
def test_without_an_argument_that_moves_there_is_nothing_to_check(args):
    with pytest.raises(tapegrad.InputError, match="Pass floats"):
        check(lambda *_: 1.0, args)


def test_of_a_result_without_floating_numbers_no_derivative_is_said_to_hold():
    report = check(np.argmax, (X,))
    assert "gradient" in report.skipped
    assert "no floating" in report.skipped["gradient"]


@pytest.mark.parametrize(
    "width", [1e-7, *(pytest.param(w, marks=pytest.mark.slow) for w in (1e-8, 1e-9, 1e-10))]
)
def test_a_pole_narrower_than_the_first_steps(width):
    """Beside it the values say nothing of the slope, and rounded places much about its noise."""

    def f(x):
        return 1 / ((x[0] - 1) ** 2 + width**2) + x[1]

    x = np.array([1 + 0.4 * width, 2.0])
    check(f, (x,), ("gradient", "jvp"))
    wrong = tapegrad.custom_vjp(f)
    wrong.defvjp(lambda x: (f(x), x), lambda x, g: (1.01 * g * tapegrad.grad(f)(x),))
    with pytest.raises(LawError):
        check(wrong, (x,), "gradient")


def test_a_derivative_that_a_matrix_has_not():
    dependent = np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 0.3]])

    def f(a):
        q, r = np.linalg.qr(a)
        return np.sum(np.abs(r)) + np.sum(q[:, 0])

    try:
        tapegrad.hessian(f)(dependent)
    except np.linalg.LinAlgError:
        pass
    else:
        pytest.fail("the sample has a second derivative")
    report = check(f, (dependent,))
    reasons = {result.law: result.reason for result in report.results if result.reason}
    assert "LinAlgError" in reasons["mixed_modes"]
