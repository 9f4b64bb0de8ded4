"""One loop for methods of pure functions: steps or batches, a history, rules that stop it."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from tapegrad import tree
from tapegrad._compile.compiled import compile as compiled
from tapegrad._core.types import Function
from tapegrad._core.values import in_trace
from tapegrad._errors import InputError, message, name_of
from tapegrad._look.curves import curve_svg
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.foreign_names import explaining
from tapegrad._transforms.reverse import value_and_grad
from tapegrad._transforms.tracebacks import folding
from tapegrad.optimize._parameters import Parameters, as_start
from tapegrad.optimize._updates import Method, apply_updates

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")


@dataclass(repr=False)
class Run(Generic[T]):
    """Result of `run`: the parameters at its end, the method's state, and its history.

    Attributes
    ----------
    params : pytree
        The parameters at the end.
    state : pytree
        The method's state there; pass it to the next `run` to go on.
    losses : ndarray or list
        The loss before each step, float64; a list inside a transform.
    norms : ndarray or list
        The norm of the gradient before each step, float64; a list inside a transform.
    steps : int
        How many steps were made.
    reason : str
        Why it ended.
    aux : object or None
        What the last loss returned beside its value.

    Examples
    --------
    >>> from tapegrad.optimize import sgd
    >>> run(lambda w: np.sum(w**2), np.ones(2), sgd(0.25), steps=3)
    Run(3 steps, last loss 0.125, all steps are done)
    """

    params: T
    state: Any
    losses: Any
    norms: Any
    steps: int
    reason: str
    aux: Any = None

    def __repr__(self) -> str:
        last = f"{self.losses[-1]:.6g}" if len(self.losses) else "none"
        return f"Run({self.steps} steps, last loss {last}, {self.reason})"

    def _repr_html_(self) -> str:
        """HTML for a notebook: the same, with the curve of the losses."""
        losses = [float(x) for x in self.losses] if not any(map(in_trace, self.losses)) else []
        return f"<p>{html.escape(repr(self))}</p>{curve_svg(losses, 'loss', 'step')}"


@overload
def run(
    loss: Function,
    params: list[float],
    method: Method,
    *,
    steps: int | None = None,
    data: Iterable[Any] | None = None,
    args: tuple[Any, ...] = (),
    state: Any = None,
    tol: float | None = None,
    patience: int | None = None,
    least_change: float = 0.0,
    callback: Callable[[int, Any, Any], Any] | None = None,
    progress: Progress = None,
    has_aux: bool = False,
    compile: bool = False,
) -> Run[NDArray[np.float64]]: ...
@overload
def run(
    loss: Function,
    params: T,
    method: Method,
    *,
    steps: int | None = None,
    data: Iterable[Any] | None = None,
    args: tuple[Any, ...] = (),
    state: Any = None,
    tol: float | None = None,
    patience: int | None = None,
    least_change: float = 0.0,
    callback: Callable[[int, Any, Any], Any] | None = None,
    progress: Progress = None,
    has_aux: bool = False,
    compile: bool = False,
) -> Run[T]: ...
@folding
@explaining(epochs="it is steps, or batches in data", num_steps="it is steps")
def run(
    loss: Function,
    params: Any,
    method: Method,
    *,
    steps: int | None = None,
    data: Iterable[Any] | None = None,
    args: tuple[Any, ...] = (),
    state: Any = None,
    tol: float | None = None,
    patience: int | None = None,
    least_change: float = 0.0,
    callback: Callable[[int, Any, Any], Any] | None = None,
    progress: Progress = None,
    has_aux: bool = False,
    compile: bool = False,
) -> Run[Any]:
    """Minimise a loss by steps of a first-order method.

    Inside grad, jvp or vmap the steps are differentiated or mapped as they are.

    Parameters
    ----------
    loss : callable
        `loss(params, *batch, *args)` returns a real number.
    params : pytree
        Where to start. Leaves of a floating or complex dtype are moved and keep their shapes and
        dtypes; all others are constants. A list of real numbers is an array, and whole numbers
        alone are floats.
    method : Method
        The method, such as `adam(0.01)`.
    steps : int, optional
        How many steps to make at most.
    data : iterable, optional
        Batches: a tuple of arguments, or one argument each. It is gone through once, or anew as
        often as `steps` needs it. Without data all steps see the same loss.
    args : tuple, default ()
        Further arguments of the loss.
    state : pytree, optional
        The method's state to go on from, that of an earlier `Run`.
    tol : float, optional
        It ends where the norm of the gradient is at most this.
    patience : int, optional
        It ends where the loss has not fallen for so many steps.
    least_change : float, default 0.0
        What counts as a fall, for `patience`: by more than this below the least loss so far.
    callback : callable, optional
        `callback(step, params, loss)`, after each step; True ends the run. The parameters are
        those after the step, the loss is the one before it.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.
    has_aux : bool, default False
        Whether the loss returns `(value, aux)`.
    compile : bool, default False
        Whether to make one program of a whole step (`tapegrad.compile`).

    Returns
    -------
    Run
        The parameters, and what was seen on the way. It also ends at a loss that is not finite,
        before a step is made of it.

    Raises
    ------
    InputError
        If neither `steps` nor `data` is given; if no parameter is of a floating or complex dtype;
        for `tol` and `patience`, which look at values, inside a transform.
    OutputError
        If the loss is not a real scalar.

    See Also
    --------
    minimize : SciPy's methods.

    Examples
    --------
    >>> def loss(p, x, y):
    ...     return np.mean((p["a"] * x + p["b"] - y) ** 2)
    >>> x = np.linspace(-1, 1, 20)
    >>> from tapegrad.optimize import adam
    >>> done = run(loss, {"a": 0.0, "b": 0.0}, adam(0.1), steps=300, args=(x, 2 * x + 1))
    >>> round(float(done.params["a"]), 3), round(float(done.params["b"]), 3)
    (2.0, 1.0)
    """
    call = f"optimize.run({name_of(loss)})"
    params = as_start(params)
    if steps is None and data is None:
        raise InputError(message(call, "steps=, or data=", "neither", "Say when to stop"))
    parameters = Parameters(call, params)
    one_step = _step_of(loss, parameters, method, has_aux, {})
    if compile:
        one_step = compiled(one_step)
    rules = _Rules(call, tol, patience, least_change)
    free = parameters.free
    state = method.init(parameters.shown(free)) if state is None else state
    losses: list[Any] = []
    norms: list[Any] = []
    aux: Any = None
    reason = "data is at its end"
    with Bar(call, progress, _count(data, steps)) as bar:
        for step, batch in enumerate(_batches(data, steps)):
            value, slope, aux, after, next_state = one_step(free, state, batch, args)
            losses.append(value)
            norms.append(slope)
            plain = not in_trace(value)
            found = rules.reason(value, slope) if plain else rules.refuse()
            if found:
                reason = found
                break
            bar.step(loss=float(value) if plain else None)
            free, state = after, next_state
            if callback is not None and callback(step, parameters.whole(free), value) is True:
                reason = "the callback stopped it"
                break
        else:
            if steps is not None and len(losses) == steps:
                reason = "all steps are done"
    done = len(losses) - (reason in _BEFORE)
    return Run(parameters.whole(free), state, _history(losses), _history(norms), done, reason, aux)


def _history(values: list[Any]) -> Any:
    return values if any(map(in_trace, values)) else np.array(values, float)


_CONVERGED = "the gradient is small"
_NOT_FINITE = "the loss is not finite"
_PATIENCE = "the loss has stopped falling"
_BEFORE = (_CONVERGED, _NOT_FINITE, _PATIENCE)  # which end a run before its step is made


def _count(data: Any, steps: int | None) -> int | None:
    """How many steps there are at most, where that is known."""
    return len(data) if steps is None and isinstance(data, Sized) else steps


def _batches(data: Iterable[Any] | None, steps: int | None) -> Iterator[tuple[Any, ...]]:
    """As many batches as there are steps, of data that may begin anew."""
    count = 0
    while steps is None or count < steps:
        before = count
        for batch in ((),) if data is None else data:
            if steps is not None and count >= steps:
                return
            yield batch if isinstance(batch, tuple) else (batch,)
            count += 1
        if steps is None or count == before:
            return


class _Rules:
    """When to stop, by loss and gradient."""

    def __init__(
        self, call: str, tol: float | None, patience: int | None, least_change: float
    ) -> None:
        self.call, self.tol, self.patience = call, tol, patience
        self.least_change, self.least, self.since = least_change, np.inf, 0

    def reason(self, value: Any, norm: Any) -> str:
        """Why to stop now, or nothing."""
        value, norm = float(value), float(norm)
        if not np.isfinite(value):
            return _NOT_FINITE
        if self.tol is not None and norm <= self.tol:
            return _CONVERGED
        self.since = 0 if value < self.least - self.least_change else self.since + 1
        self.least = min(self.least, value)
        return _PATIENCE if self.patience is not None and self.since >= self.patience else ""

    def refuse(self) -> str:
        """Raise InputError for rules that cannot look at values inside a transform."""
        if self.tol is not None or self.patience is not None:
            raise InputError(
                message(
                    self.call,
                    "steps= alone inside a transform",
                    "tol= or patience=, which look at values",
                    "Pass the number of steps",
                )
            )
        return ""


def _step_of(
    loss: Function, parameters: Parameters, method: Method, has_aux: bool, known: dict[bytes, Any]
) -> Function:
    """The function of one step: value, norm of the gradient, aux, parameters and state after it.

    known: the value and gradient of the last point, which a line search ends at and the next step
    begins at; of plain values alone.
    """

    def step(free: list[Any], state: Any, batch: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        def of(free: list[Any]) -> Any:
            return loss(parameters.whole(free), *batch, *args)

        of.__name__ = name_of(loss)  # for errors about what it returns
        both = value_and_grad(of, has_aux=has_aux)

        def remembered(free: list[Any]) -> Any:
            if batch or any(map(in_trace, free)):
                return both(free)
            key = b"|".join(np.asarray(leaf).tobytes() for leaf in free)
            if key not in known:
                known.clear()
                known[key] = both(free)
            return known[key]

        def value_at(free: list[Any]) -> Any:
            out, slope = remembered(parameters.given(free))
            return (out[0] if has_aux else out), _uphill(parameters.shown(slope))

        out, slope = remembered(free)
        value, aux = out if has_aux else (out, None)
        shown = parameters.shown(free)
        uphill = _uphill(parameters.shown(slope))
        updates, state = method.update(uphill, state, shown, value=value, value_and_grad=value_at)
        after = parameters.given(apply_updates(shown, updates))
        return value, tree.norm(slope), aux, after, state

    return step


def _uphill(slope: Any) -> Any:
    """The direction in which a function of the parameters rises: the gradient's conjugate."""
    return tree.map(lambda g: np.conj(g) if np.iscomplexobj(g) else g, slope)


__all__ = ["Run", "run"]
