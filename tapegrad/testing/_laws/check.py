"""check: all laws of a function at its arguments, or some, in one report.

Knows the laws by name, the order in which they are asked, and what an error within one means.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._arrays.ties import watching_ties
from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Tree
from tapegrad._errors import EagerWarning, InputError, TapegradError, describe, message, name_of
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.forward import require_tuple
from tapegrad._transforms.reverse import IndependentOutputWarning
from tapegrad._transforms.tracebacks import folding
from tapegrad._warning import catching_warnings
from tapegrad.testing._laws import derivatives, sameness
from tapegrad.testing._laws.claims import rounding_of
from tapegrad.testing._laws.report import (
    FAILED,
    PASSED,
    SKIPPED,
    Finding,
    LawError,
    Report,
    Result,
    Skipped,
)
from tapegrad.testing._laws.trial import Options, Trial
from tapegrad.testing._measuring.directions import scale_of
from tapegrad.testing._measuring.verdicts import JUMP, SMOOTH

# In the order in which they are asked: what comes first explains what comes later.
LAWS: dict[str, Callable[[Trial], list[Finding]]] = {
    "deterministic": sameness.deterministic,
    "unmutated": sameness.unmutated,
    "dtype_and_shape": derivatives.dtype_and_shape,
    "gradient": derivatives.gradient,
    "jvp": derivatives.jvp_law,
    "adjoint": derivatives.adjoint,
    "finite": derivatives.finite,
    "linearity": derivatives.linearity,
    "chain_rule": derivatives.chain_rule,
    "mixed_modes": derivatives.mixed_modes,
    "symmetric_hessian": derivatives.symmetric_hessian,
    "vmap": sameness.vmap,
    "checkpoint": sameness.checkpoint,
    "compile": sameness.compile_law,
    "pickle": sameness.pickle_law,
    "threads": sameness.threads,
}
# Laws that may fail where each rule is right: kinks of two operations make no kink together.
MAY_CROSS_KINKS = ("gradient", "jvp", "mixed_modes", "symmetric_hessian")
# Laws that say nothing of functions whose result, or arguments, are no floating numbers.
OF_DERIVATIVES = (
    "dtype_and_shape",
    "gradient",
    "jvp",
    "adjoint",
    "finite",
    "linearity",
    "chain_rule",
    "mixed_modes",
    "symmetric_hessian",
)
KINKS = ("accept", "move", "fail")
DIFFERENCES = ("auto", "real", "complex step", "longdouble", "mpmath")


@folding
def check(
    f: Function,
    args: Sequence[Tree],
    laws: str | Iterable[str] = "all",
    *,
    kinks: str = "accept",
    blame: bool = True,
    differences: str = "auto",
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    progress: Progress = None,
) -> Report:
    """Check the laws that `f(*args)` and its derivatives have to keep; see docs/testing.md.

    Nothing has a fixed tolerance: what may differ follows from the dtypes, the noise of f and the
    error of the differences, which are measured.

    Parameters
    ----------
    f : callable
        Returns a pytree; its floating and complex parts are looked at.
    args : tuple of pytree
        Its arguments. Floating and complex arrays and numbers in them move, all else is constant.
    laws : str or iterable of str, default "all"
        "all", a name, or several: gradient, jvp (each against differences), adjoint, linearity,
        mixed_modes (forward over reverse, reverse over forward and differences of the gradient),
        symmetric_hessian, vmap, checkpoint, compile, pickle, chain_rule, dtype_and_shape,
        unmutated, deterministic, threads, finite. Of "all" those that cannot be asked of f are
        skipped, with the reason in the report.
    kinks : {"accept", "move", "fail"}, default "accept"
        Where differences do not settle because f has no derivative, accept any value between the
        slopes of the sides, move to a point nearby without a kink, or fail. A kink inside of what
        is smooth, as in min(max(x, 0), x) at 0, is accepted where the law holds nearby and no rule
        is wrong by itself.
    blame : bool, default True
        Whether the error names the operation that is wrong, or says that each rule is right.
    differences : {"auto", "real", "complex step", "longdouble", "mpmath"}, default "auto"
        "complex step" is for analytic functions of real arguments, "longdouble" and "mpmath" (50
        digits, by arrays of objects) for functions that compute in them.
    seed : int, default 0
        Of the random directions.
    rtol, atol : float, optional
        Tolerances, for those who know better.
    progress : bool or class, optional
        A bar after two seconds in a terminal (None), at once (True), never (False), or a class
        like tqdm.

    Returns
    -------
    Report
        What holds, what could not be asked, and what was noticed.

    Raises
    ------
    LawError
        If a law does not hold: an AssertionError with `law`, `findings`, `blame` (of the operation
        whose own rule is wrong) and `report`.
    InputError
        For names that do not exist, where no argument is floating or complex, and for args that
        are no tuple or list.

    See Also
    --------
    check_grads : First and higher derivatives against differences alone.
    check_rule : The laws of one rule.
    tapegrad.testing.laws : One function for each law.

    Examples
    --------
    >>> import numpy as np
    >>> report = check(lambda x: np.sum(np.sin(x) ** 2), (np.array([0.5, 1.5]),))
    >>> report.passed
    True
    >>> print(check(np.abs, (0.0,), "gradient").notes[0])
    a kink lies here: one-sided slopes -1 and 1
    """
    require_tuple(f"check({name_of(f)})", args, "argument")
    names = _names_of(laws)
    for word, value, allowed in (
        ("kinks", kinks, KINKS),
        ("differences", differences, DIFFERENCES),
    ):
        if value not in allowed:
            expected = f"{word} to be one of {', '.join(map(repr, allowed))}"
            raise InputError(message("check", expected, repr(value), "Choose one of these"))
    options = Options(kinks, differences, seed, rtol, atol)
    trial = Trial(f, args, options)
    if not trial.leaves and any(name in OF_DERIVATIVES for name in names):
        expected = "an argument with floating or complex numbers, by which to differentiate"
        got = ", ".join(describe(np.asarray(x)) for x in trial.everything) or "none"
        hint = "Pass floats, as 3.0 or x.astype(float)"
        raise InputError(message(trial.call, expected, got, hint))
    start = time.perf_counter()
    report = Report(trial.name, seed)
    with catching_warnings(), silence():
        warnings.simplefilter("ignore", IndependentOutputWarning)
        warnings.simplefilter("ignore", EagerWarning)
        if kinks == "move":
            trial = _moved_away(trial)
        with Bar(trial.call, progress, len(names)) as bar, watching_ties() as ties:
            for name in names:
                told = sum(len(result.notes) for result in report.results)
                report.results.append(_asked(trial, name, told, by_name=laws != "all"))
                bar.step()
    last = report.results[-1]
    report.results[-1] = last._replace(notes=(*last.notes, *ties))
    report.evaluations = trial.evaluations
    report.seconds = time.perf_counter() - start
    if not report.passed:
        raise LawError(report, *(_blamed(trial, report) if blame else ()))
    return report


def _names_of(laws: str | Iterable[str]) -> list[str]:
    asked = list(LAWS) if laws == "all" else [laws] if isinstance(laws, str) else list(laws)
    unknown = [name for name in asked if name not in LAWS]
    if unknown or not asked:
        expected = f'laws="all" or names from {", ".join(sorted(LAWS))}'
        raise InputError(message("check", expected, repr(laws), "Leave it away for all"))
    return [name for name in LAWS if name in asked]


def _asked(trial: Trial, name: str, told: int, *, by_name: bool) -> Result:
    """Outcome of one law.

    An error of the library's own says why it cannot be asked, as does LinAlgError: a matrix has
    no such derivative.

    told: how many of the trial's notes other laws have told.
    """
    try:
        _require_result(trial, name)
        findings = LAWS[name](trial)
    except Skipped as skipped:
        return Result(name, SKIPPED, str(skipped), notes=tuple(trial.notes[told:]))
    except (TapegradError, np.linalg.LinAlgError) as error:
        if by_name or name == "gradient":
            raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        return Result(name, SKIPPED, reason, notes=tuple(trial.notes[told:]))
    except Exception as error:
        if by_name or name in ("deterministic", "gradient"):  # f itself fails, or its vjp
            raise
        text = f"it raises {type(error).__name__}: {error}"
        notes = tuple(trial.notes[told:])
        return Result(name, FAILED, "", (Finding(name, text),), notes)
    if findings and trial.options.kinks != "fail" and name in MAY_CROSS_KINKS:
        findings = _without_kinks(trial, name, findings)
    state = FAILED if findings else PASSED
    return Result(name, state, "", tuple(findings), tuple(trial.notes[told:]))


def _require_result(trial: Trial, name: str) -> None:
    if name in OF_DERIVATIVES and not trial.value:
        raise Skipped("the function returns no floating or complex array")


def _without_kinks(trial: Trial, name: str, findings: list[Finding]) -> list[Finding]:
    """No findings where a kink inside the function, between smooth parts, is their only cause."""
    from tapegrad.testing._laws.inside import is_kink_alone, kink_inside

    try:
        is_alone = is_kink_alone(trial, LAWS[name], findings, trial.options.seed)
    except Exception:  # noqa: BLE001 - the failed law is what has to be told
        return findings
    if not is_alone:
        return findings
    trial.noted(f"a kink lies inside, at {kink_inside(trial)}: any slope of its is accepted")
    return []


def _moved_away(trial: Trial) -> Trial:
    """The same function at a point nearby, at which it is smooth along a random direction."""
    random = np.random.default_rng([trial.options.seed, 4000])
    current = trial
    for attempt in range(8):
        if np.all(current.measured.verdict == SMOOTH):
            break
        size = 1e-3 * 2.0**attempt
        leaves = [
            np.asarray(
                leaf + size * scale_of(leaf) * random.uniform(-1.0, 1.0, np.shape(leaf))
            ).astype(leaf.dtype)
            for leaf in trial.leaves
        ]
        moved = [
            new if isinstance(leaf, np.ndarray) else new[()]
            for new, leaf in zip(leaves, trial.leaves, strict=True)
        ]
        spent = current.evaluations
        current = trial.moved(moved)
        current.evaluations = spent
    if current is not trial:
        current.noted("the point was moved away from a kink or a jump")
    return current


def _blamed(trial: Trial, report: Report) -> tuple[Any, str]:
    """The operation whose own rule is wrong; if there is none, what else may be the cause."""
    from tapegrad.testing._laws.inside import culprit

    try:
        found = culprit(trial, trial.options.seed)
        if found is not None or not any(each.law in OF_DERIVATIVES for each in report.findings):
            return found, ""
        with silence():
            return None, f"Every operation's rule agrees with differences: {_causes(trial)}."
    except Exception as error:  # noqa: BLE001 - the failed law is what has to be told
        name = f"{type(error).__name__}: {error}".splitlines()[0]
        return None, f"Which operation is to blame could not be found out: {name}."


def _causes(trial: Trial) -> str:
    """Why a derivative may be wrong although each rule is right, as far as it is known."""
    from tapegrad.testing._laws.inside import kink_inside

    causes = []
    if sameness.deterministic(trial):
        causes.append("f keeps a state or draws random numbers")
    measured = trial.measured
    sides = [np.nan_to_num(np.abs(each), posinf=0.0) for each in (measured.left, measured.right)]
    coarse = np.abs(measured.value) + np.abs(measured.slope) + sides[0] + sides[1]
    if np.any(measured.noise > 1e4 * rounding_of(trial) * coarse):
        causes.append(f"f is noisy ({float(np.max(measured.noise)):.1g})")
    if np.any(measured.verdict == JUMP):
        causes.append("f is discontinuous here")
    elif kink_inside(trial):
        causes.append(f"a kink or a jump lies inside f, at {kink_inside(trial)}")
    return " and ".join(causes) or (
        "f is discontinuous, keeps a state, or leaves out a part on purpose (stop_gradient, "
        "a conversion to a plain array); or a transform is wrong"
    )
