"""`compare`: one function under several libraries.

Knows in which order things are run, and what an error is. Must not know libraries by name, but
for tapegrad, by which times are divided.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._core.types import Function, Tree
from tapegrad._errors import InputError, message, name_of
from tapegrad._transforms.forward import require_tuple
from tapegrad._tree import flatten
from tapegrad._warning import catching_warnings
from tapegrad.testing._compare.libraries import LIBRARIES, Library, Problem, Run
from tapegrad.testing._compare.slopes import Reference
from tapegrad.testing._compare.table import Comparison, Row, structured
from tapegrad.testing._measuring.directions import direction
from tapegrad.testing._measuring.leaves import inexact_leaves

Array = Any

DIFFERENCES = "finite differences"
EVERY = ("jax", "torch", "autograd", "mygrad", DIFFERENCES)
ROUNDS = 7
SHORTEST = 2e-3  # seconds that a round takes at least, of one library


def compare(
    f: Function,
    args: Sequence[Tree],
    with_: str | Sequence[str] = EVERY,
    *,
    seed: int = 0,
    timing: bool = True,
) -> Comparison:
    """Run `f(*args)` and its gradient under several libraries, and table what they give.

    Parameters
    ----------
    f : callable
        Written for NumPy. Where it has a parameter `xp`, each library's namespace is given there
        (array_api_compat's of PyTorch, where that is installed). Otherwise `np` means that
        namespace in f, and in functions of its module that it calls; an f that asks its arguments
        for `__array_namespace__()` runs under those libraries whose arrays have one.
    args : tuple of pytree
        Arrays. Floating and complex leaves are differentiated, others are constants; dtypes stay
        what they are (float64 is enabled in JAX).
    with_ : str or sequence of str, optional
        Names out of "jax" (jitted where it can be), "torch", "autograd", "mygrad", "tapegrad
        compiled" and "finite differences"; all but "tapegrad compiled" by default. Those that are
        not installed, or raise, are rows that say why.
    seed : int, default 0
        Of the weights by which results are added where f returns more than one real number: the
        gradient is then that of their weighted sum (of its real part), the same for all.
    timing : bool, default True
        Whether to measure how long a value with its gradient takes, in rounds that alternate
        between the libraries. JAX's compilation is not counted.

    Returns
    -------
    Comparison
        A row for each library, tapegrad first.

    Raises
    ------
    InputError
        If a name is not known, no argument is floating or complex, or args is no tuple or list.
    Exception
        Whatever f raises for NumPy's arrays.

    Notes
    -----
    The reference of gradients is differences along each element (along 8 random directions where
    there are more than 64), in longdouble where f computes in it, with an estimate of their own
    error: see `Comparison`. At a kink all slopes between those of its sides are right. Gradients
    by complex arguments are in tapegrad's and JAX's convention, du/dx - i du/dy; PyTorch's are
    conjugated.

    Examples
    --------
    >>> import numpy as np
    >>> found = compare(lambda x: np.sum(np.sin(x)), (np.array([0.0, 1.0]),), "finite differences")
    >>> found.agree, [row.name for row in found.rows]
    (True, ['tapegrad', 'finite differences'])
    >>> found.row("tapegrad").gradient
    array([1.        , 0.54030231])
    """
    require_tuple(f"compare({name_of(f)})", args, "argument")
    names = _names(with_)
    problem, value = _problem(f, args, seed)
    reference = Reference(problem, seed)
    ran: dict[str, Run] = {}
    rows = []
    for name in ("tapegrad", *names):
        if name == DIFFERENCES:
            rows.append(_row_of_reference(problem, reference, value))
            continue
        library = LIBRARIES[name]()
        row, run = _row(library, problem, reference, value)
        rows.append(row)
        if run is not None:
            ran[name] = run
    times = _times(ran) if timing else {}
    ours = times.get("tapegrad")
    timed = [
        row._replace(time=times[row.name], ratio=times[row.name] / ours if ours else None)
        if row.name in times
        else row
        for row in rows
    ]
    return Comparison(f"compare({name_of(f)})", timed, reference)


def _names(with_: str | Sequence[str]) -> list[str]:
    names = [with_] if isinstance(with_, str) else list(with_)
    known = (*LIBRARIES, DIFFERENCES)
    for name in names:
        if name not in known:
            raise InputError(
                message("compare", f"names out of {', '.join(known)}", repr(name), "See `with_`")
            )
    return [name for name in dict.fromkeys(names) if name != "tapegrad"]


def _problem(f: Function, args: Sequence[Tree], seed: int) -> tuple[Problem, list[Array]]:
    """The function and its arguments apart, and its value by NumPy."""
    everything, structure = flatten(tuple(args))
    everything = [np.array(x) if isinstance(x, np.ndarray) else x for x in everything]
    places = [i for i, leaf in enumerate(everything) if np.asarray(leaf).dtype.kind in "fc"]
    if not places:
        raise InputError(
            message("compare", "a floating or complex argument", "none", "Pass arrays of floats")
        )
    problem = Problem(f, everything, structure, places, ())
    outs = [np.asarray(out) for out in problem.flat(np, lambda x: x)(*problem.leaves)]
    outs = list(inexact_leaves(outs))
    random = np.random.default_rng(seed)
    if len(outs) == 1 and outs[0].size == 1 and outs[0].dtype.kind == "f":
        weights = [np.ones_like(outs[0])]
    else:
        weights = [np.asarray(direction(random, out)) for out in outs]
    return problem._replace(weights=tuple(weights)), outs


def _row(
    library: Library, problem: Problem, reference: Reference, value: list[Array]
) -> tuple[Row, Run | None]:
    """Result of a library, and how it is run again; or why it gives nothing."""
    try:
        with catching_warnings(), library.settings():
            warnings.simplefilter("ignore")
            run = library.prepared(problem)
            outs, gradients = library.arrays(run())
    except ImportError as error:
        return Row(library.name, note=f"not installed: {_first_line(error)}"), None
    except Exception as error:  # noqa: BLE001 - each library has its own
        return Row(library.name, note=f"{type(error).__name__}: {_first_line(error)}"), None
    value_error = _difference(outs, value)
    slope_error = reference.error_of(gradients)
    rounding = float(np.sqrt(max(np.finfo(g.dtype).eps for g in gradients)))
    row = Row(
        library.name,
        _only(outs),
        structured(gradients, problem.places, len(problem.everything), problem.structure),
        value_error,
        slope_error,
        agrees=bool(slope_error <= 10 * reference.error + rounding and value_error <= rounding),
        note=library.note,
    )

    def run_within() -> Any:
        with library.settings():
            return run()

    return row, run_within


def _row_of_reference(problem: Problem, reference: Reference, value: list[Array]) -> Row:
    found = reference.gradients()
    given = len(problem.everything)
    gradient = (
        None if found is None else structured(found, problem.places, given, problem.structure)
    )
    return Row(
        DIFFERENCES,
        _only(value),
        gradient,
        error=reference.error,
        note="" if reference.is_whole else f"along {len(reference.along)} random directions",
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else "no message"


def _only(outs: list[Array]) -> Any:
    return outs[0] if len(outs) == 1 else tuple(outs)


def _difference(found: list[Array], expected: list[Array]) -> float:
    """The largest difference of values by the largest of the expected; inf for other shapes."""
    if [out.shape for out in found] != [out.shape for out in expected]:
        return float("inf")
    scale = max((float(np.max(np.abs(each), initial=0.0)) for each in expected), default=0.0)
    with errstate(invalid="ignore"):
        worst = [
            float(np.max(np.where(a == b, 0.0, np.abs(a - b)), initial=0.0))
            for a, b in zip(found, expected, strict=True)
        ]
    return max(worst, default=0.0) / (scale or 1.0)


def _times(ran: dict[str, Run]) -> dict[str, float]:
    """The median time of each, measured in turns, so that what slows the machine slows all."""
    loops = {}
    with catching_warnings():
        warnings.simplefilter("ignore")
        for name, run in ran.items():
            once = max(_timed(run, 1), 1e-7)
            loops[name] = max(1, min(1000, int(SHORTEST / once)))
        rounds: dict[str, list[float]] = {name: [] for name in ran}
        for _ in range(ROUNDS):
            for name, run in ran.items():
                rounds[name].append(_timed(run, loops[name]))
    return {name: statistics.median(found) for name, found in rounds.items()}


def _timed(run: Run, loops: int) -> float:
    start = time.perf_counter()
    for _ in range(loops):
        run()
    return (time.perf_counter() - start) / loops
