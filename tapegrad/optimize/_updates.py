"""First-order methods as pure functions of trees: gradients into updates, in composable pieces.

A method is a pair of functions, as optax has them. `init(params)` returns a state, a tree;
`update(gradients, state, params)` returns `(updates, state)`, and the updates are to be added to
the parameters (`apply_updates`). Nothing is changed in place, so a step may be compiled, mapped
and differentiated. A learning rate is a number, a tree with one for each parameter, or a schedule:
a function of the count of steps.
Gradients of complex parameters are to be conjugated first (du/dx + i du/dy, the way up), as `run`
does: `tapegrad.grad` gives du/dx - i du/dy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tapegrad import tree
from tapegrad._core.types import Value
from tapegrad._core.values import cast
from tapegrad._errors import InputError, message
from tapegrad._transforms.foreign_names import explaining
from tapegrad._tree import children_of, tree_map
from tapegrad.optimize.schedules import Schedule

T = TypeVar("T")
Rate = Value | Schedule  # a Value here may be a tree of them


class Method(NamedTuple):
    """A first-order method: a pair of pure functions.

    Parameters
    ----------
    init : callable
        `init(params)` returns the state at the start, a pytree.
    update : callable
        `update(gradients, state, params)` returns `(updates, state)`; the updates are to be added
        to the parameters. It may take further keywords, which a chain hands to all of its pieces.

    See Also
    --------
    apply_updates : Parameters with the updates added.
    chain : Several methods as one.
    run : The loop around a method.

    Notes
    -----
    Gradients of complex parameters are to be conjugated first, as `run` does: `tapegrad.grad`
    gives du/dx - i du/dy, and the way up is du/dx + i du/dy.

    Examples
    --------
    >>> halve = Method(lambda params: (), lambda g, state, params=None: (-0.5 * g, state))
    >>> halve.update(4.0, halve.init(1.0))
    (-2.0, ())
    """

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]


def apply_updates(params: T, updates: Any) -> T:
    """The parameters with the updates added; each leaf keeps its dtype.

    Parameters
    ----------
    params : pytree
        The parameters, numbers and arrays.
    updates : pytree
        What a method's `update` returned, with the containers of `params`.

    Returns
    -------
    pytree
        The new parameters, in the containers of `params`.

    Raises
    ------
    InputError
        If the containers differ.

    Examples
    --------
    >>> apply_updates({"w": np.ones(2)}, {"w": np.array([0.5, -1.0])})
    {'w': array([1.5, 0. ])}
    """
    return tree.map(lambda p, u: p + _as(u, p), params, updates)


def chain(*methods: Method) -> Method:
    """Several methods as one: the updates of each are the gradients of the next.

    Parameters
    ----------
    *methods : Method
        The pieces, in the order in which they are applied.

    Returns
    -------
    Method
        The chain; its state is a tuple of theirs.

    Examples
    --------
    >>> method = chain(clip_by_norm(1.0), sgd(0.1))
    >>> updates, _ = method.update(np.array([3.0, 4.0]), method.init(np.zeros(2)), np.zeros(2))
    >>> updates
    array([-0.06, -0.08])
    """

    def init(params: Any) -> Any:
        return tuple(method.init(params) for method in methods)

    def update(
        gradients: Any, state: Any, params: Any = None, **more: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        states = []
        for method, before in zip(methods, state, strict=True):
            gradients, after = method.update(gradients, before, params, **more)
            states.append(after)
        return gradients, tuple(states)

    return Method(init, update)


def _stateless(function: Callable[[Any, Any], Any]) -> Method:
    """A method of a function of gradients and parameters."""

    def update(
        gradients: Any, state: Any, params: Any = None, **_more: Any
    ) -> tuple[Any, tuple[()]]:
        return function(gradients, params), state

    return Method(lambda _params: (), update)


def _as(x: Value, like: Value) -> Any:
    """A number or an array in the dtype of another."""
    dtype = getattr(like, "dtype", None)
    return x if dtype is None or not hasattr(x, "dtype") else cast(x, dtype)


def _zeros(params: Any) -> Any:
    return tree.zeros_like(params)


def _needs(call: str, params: Any) -> None:
    if params is None:
        raise InputError(
            message(
                f"optimize.{call}",
                "update(gradients, state, params)",
                "no params",
                "Pass the parameters too",
            )
        )


# --- Pieces -----------------------------------------------------------------------------------


class Count(NamedTuple):
    """The count of steps so far. A float, which a compiled step takes as an input."""

    count: Any


def _times(factor: Any, gradients: Any) -> Any:
    """Gradients times a number, or each times its own of a tree like them."""
    if children_of(factor) is None:
        return tree_map(lambda g: _as(factor * g, g), gradients)

    def one(g: Value, own: Value) -> Any:
        return None if g is None else _as(own * g, g)  # None stands for a constant

    return tree.map(one, gradients, factor, is_leaf=lambda x: x is None)


def scale(factor: Any) -> Method:
    """A piece that multiplies gradients by a number, or each by its own.

    Parameters
    ----------
    factor : scalar or pytree
        The number, or a tree like the parameters with a number for each.

    Returns
    -------
    Method
        A piece for `chain`, without state.

    See Also
    --------
    scale_by_rate : By minus the learning rate.

    Examples
    --------
    >>> scale(2.0).update((1.0, 3.0), ())[0]
    (2.0, 6.0)
    >>> scale((2.0, 0.1)).update((1.0, 3.0), ())[0]
    (2.0, 0.30000000000000004)
    """
    return _stateless(lambda gradients, _: _times(factor, gradients))


def _negative(rates: Any) -> Any:
    return tree_map(lambda rate: -rate, rates)


def scale_by_rate(rate: Rate) -> Method:
    """A piece that multiplies gradients by minus the learning rate; what a chain ends with.

    Parameters
    ----------
    rate : float, pytree or callable
        The learning rate; or a tree like the parameters, with a rate for each; or a schedule: a
        function of the count of steps, from zero on, that returns one of these.

    Returns
    -------
    Method
        A piece for `chain`; with a schedule its state is the count.

    See Also
    --------
    tapegrad.optimize.schedules : What makes schedules.

    Examples
    --------
    >>> method = scale_by_rate(lambda step: 1.0 / (1.0 + step))
    >>> updates, state = method.update(4.0, method.init(0.0))
    >>> float(updates), float(method.update(4.0, state)[0])
    (-4.0, -2.0)
    """
    if not callable(rate):
        return scale(_negative(rate))

    def update(gradients: Any, state: Count, params: Any = None, **_more: Any) -> tuple[Any, Any]:
        return _times(_negative(rate(state.count)), gradients), Count(state.count + 1.0)

    return Method(lambda _params: Count(np.float64(0)), update)


def clip(limit: float) -> Method:
    """A piece that brings each element of the gradients between -limit and limit.

    Parameters
    ----------
    limit : float
        The largest size of an element; of complex ones, of the real and of the imaginary part.

    Returns
    -------
    Method
        A piece for `chain`, without state.

    See Also
    --------
    clip_by_norm : All elements together.

    Examples
    --------
    >>> clip(1.0).update(np.array([-3.0, 0.5]), ())[0]
    array([-1. ,  0.5])
    """
    return _stateless(
        lambda gradients, _: tree_map(
            lambda g: (
                np.clip(np.real(g), -limit, limit) + 1j * np.clip(np.imag(g), -limit, limit)
                if _is_complex(g)
                else np.clip(g, -limit, limit)
            ),
            gradients,
        )
    )


def clip_by_norm(limit: float) -> Method:
    """A piece that scales all gradients down together where their norm is above a limit.

    Parameters
    ----------
    limit : float
        The largest 2-norm of all elements of all leaves.

    Returns
    -------
    Method
        A piece for `chain`, without state.

    See Also
    --------
    clip : Each element by itself.

    Examples
    --------
    >>> clip_by_norm(1.0).update((3.0, 4.0), ())[0]
    (np.float64(0.6000000000000001), np.float64(0.8))
    """

    def clipped(gradients: Any, _: Any) -> Any:
        norm = tree.norm(gradients)
        factor = limit / np.maximum(norm, limit)
        return tree_map(lambda g: _as(factor * g, g), gradients)

    return _stateless(clipped)


def add_decayed_weights(decay: float, mask: Any = None) -> Method:
    """A piece that adds decay times the parameters to the gradients.

    Parameters
    ----------
    decay : float
        What the parameters are multiplied by.
    mask : pytree or callable, optional
        Which leaves decay: a tree of booleans with the containers of the parameters, or a function
        that makes it of them. By default all.

    Returns
    -------
    Method
        A piece for `chain`, without state. Its update raises InputError without the parameters.

    See Also
    --------
    adamw : Adam with such a decay.

    Examples
    --------
    >>> add_decayed_weights(0.5).update(1.0, (), 4.0)[0]
    3.0
    """

    def decayed(gradients: Any, params: Any) -> Any:
        _needs("add_decayed_weights", params)
        if mask is None:
            return tree.map(lambda g, p: g + decay * p, gradients, params)
        chosen = mask(params) if callable(mask) else mask

        def one(g: Value, p: Value, on: Any) -> Any:
            return g + decay * p if g is not None and on else g

        # None stands for a constant, of which a mask may say anything.
        return tree.map(one, gradients, params, chosen, is_leaf=lambda x: x is None)

    return _stateless(decayed)


class Trace(NamedTuple):
    """The running sum of gradients."""

    trace: Any


def accumulate(momentum: float, nesterov: bool = False) -> Method:
    """A piece that sums all gradients so far, each older one times momentum again.

    Parameters
    ----------
    momentum : float
        What the sum is multiplied by at each step.
    nesterov : bool, default False
        Whether to look ahead: the gradient plus momentum times the new sum.

    Returns
    -------
    Method
        A piece for `chain`; its state is the sum.

    See Also
    --------
    sgd : Gradient descent, with momentum.

    Notes
    -----
    These are the conventions of PyTorch's SGD with a dampening of zero.

    Examples
    --------
    >>> method = accumulate(0.9)
    >>> updates, state = method.update(1.0, method.init(0.0))
    >>> float(method.update(1.0, state)[0])
    1.9
    """

    def update(gradients: Any, state: Trace, params: Any = None, **_more: Any) -> tuple[Any, Any]:
        total = tree.map(lambda m, g: momentum * m + g, state.trace, gradients)
        ahead = tree.map(lambda m, g: g + momentum * m, total, gradients) if nesterov else total
        return ahead, Trace(total)

    return Method(lambda params: Trace(_zeros(params)), update)


class Moments(NamedTuple):
    """Running means of gradients and of their squares; the largest such squares with amsgrad."""

    count: Any
    mean: Any
    square: Any
    largest: Any


def _running(decay: float, mean: Any, gradients: Any) -> Any:
    return tree.map(lambda m, g: decay * m + (1 - decay) * g, mean, gradients)


def _squares(gradients: Any) -> Any:
    return tree_map(
        lambda g: np.real(g) ** 2 + np.imag(g) ** 2 if _is_complex(g) else g * g, gradients
    )


def _is_complex(x: Value) -> bool:
    return getattr(x, "dtype", np.dtype(float)).kind == "c"


def scale_by_adam(
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, *, amsgrad: bool = False
) -> Method:
    """A piece that scales gradients as Adam does.

    Parameters
    ----------
    b1 : float, default 0.9
        How much of the running mean of gradients a step keeps.
    b2 : float, default 0.999
        How much of the running mean of their squares it keeps.
    eps : float, default 1e-8
        What is added to the root of the mean square.
    amsgrad : bool, default False
        Whether to divide by the root of the largest mean square so far, as PyTorch does.

    Returns
    -------
    Method
        A piece for `chain`; its state holds both means.

    See Also
    --------
    adam : The whole method.

    Notes
    -----
    D. Kingma, J. Ba (2015), Adam: a method for stochastic optimization, ICLR, algorithm 1.

    Examples
    --------
    >>> method = scale_by_adam()
    >>> float(method.update(5.0, method.init(0.0))[0].round(6))
    1.0
    """

    def init(params: Any) -> Moments:
        largest = _zeros(params) if amsgrad else ()
        return Moments(np.float64(0), _zeros(params), _zeros(params), largest)

    def update(
        gradients: Any, state: Moments, params: Any = None, **_more: Any
    ) -> tuple[Any, Any]:
        count = state.count + 1.0
        mean = _running(b1, state.mean, gradients)
        square = _running(b2, state.square, _squares(gradients))
        largest = tree.map(np.maximum, state.largest, square) if amsgrad else ()
        first, second = 1 - b1**count, np.sqrt(1 - b2**count)

        def scaled(m: Value, v: Value) -> Any:
            # As where(v > 0): the derivative of a step from zero gradients is finite.
            root = np.sqrt(np.where(v > 0, v, 1.0)) * np.where(v > 0, 1.0, 0.0)
            return _as(m / first / (root / second + eps), m)

        updates = tree.map(scaled, mean, largest if amsgrad else square)
        return updates, Moments(count, mean, square, largest)

    return Method(init, update)


class Squares(NamedTuple):
    """Running means, or sums, of squares of gradients; of the gradients if it is centered."""

    square: Any
    mean: Any


def scale_by_rms(decay: float = 0.99, eps: float = 1e-8, *, centered: bool = False) -> Method:
    """A piece that divides gradients by the root of the running mean of their squares.

    Parameters
    ----------
    decay : float, default 0.99
        How much of the mean a step keeps.
    eps : float, default 1e-8
        What is added to the root.
    centered : bool, default False
        Whether to take the variance in place of the mean of squares.

    Returns
    -------
    Method
        A piece for `chain`; its state holds the means.

    See Also
    --------
    rmsprop : The whole method.

    Examples
    --------
    >>> method = scale_by_rms(0.0)
    >>> float(method.update(5.0, method.init(0.0))[0].round(6))
    1.0
    """

    def init(params: Any) -> Squares:
        return Squares(_zeros(params), _zeros(params) if centered else ())

    def update(
        gradients: Any, state: Squares, params: Any = None, **_more: Any
    ) -> tuple[Any, Any]:
        square = _running(decay, state.square, _squares(gradients))
        mean = _running(decay, state.mean, gradients) if centered else ()
        spread = tree.subtract(square, _squares(mean)) if centered else square
        return _over_roots(gradients, spread, eps), Squares(square, mean)

    return Method(init, update)


def scale_by_sum_of_squares(initial: float = 0.0, eps: float = 1e-10) -> Method:
    """A piece that divides gradients by the root of the sum of all their squares.

    Parameters
    ----------
    initial : float, default 0.0
        Where each sum starts.
    eps : float, default 1e-10
        What is added to the root.

    Returns
    -------
    Method
        A piece for `chain`; its state holds the sums.

    See Also
    --------
    adagrad : The whole method.

    Notes
    -----
    J. Duchi, E. Hazan, Y. Singer (2011), Adaptive subgradient methods for online learning and
    stochastic optimization, JMLR 12.

    Examples
    --------
    >>> method = scale_by_sum_of_squares()
    >>> float(method.update(5.0, method.init(0.0))[0].round(6))
    1.0
    """

    def init(params: Any) -> Squares:
        return Squares(tree_map(lambda z: z + _as(np.float64(initial), z), _zeros(params)), ())

    def update(
        gradients: Any, state: Squares, params: Any = None, **_more: Any
    ) -> tuple[Any, Any]:
        square = tree.map(lambda v, g: v + g, state.square, _squares(gradients))
        return _over_roots(gradients, square, eps), Squares(square, ())

    return Method(init, update)


def _over_roots(gradients: Any, squares: Any, eps: float) -> Any:
    def over(g: Value, v: Value) -> Any:
        root = np.sqrt(np.where(v > 0, v, 1.0)) * np.where(v > 0, 1.0, 0.0)
        return _as(g / (root + eps), g)

    return tree.map(over, gradients, squares)


def scale_by_sign(b1: float = 0.9, b2: float = 0.99) -> Method:
    """A piece that takes the signs of a running mean of gradients.

    Parameters
    ----------
    b1 : float, default 0.9
        The weight of the running mean in what the signs are taken of.
    b2 : float, default 0.99
        How much of the running mean a step keeps.

    Returns
    -------
    Method
        A piece for `chain`; its state is the running mean.

    See Also
    --------
    lion : The whole method.

    Notes
    -----
    X. Chen et al. (2023), Symbolic discovery of optimization algorithms, NeurIPS 36, algorithm 2.

    Examples
    --------
    >>> method = scale_by_sign()
    >>> float(method.update(-5.0, method.init(0.0))[0])
    -1.0
    """

    def update(gradients: Any, state: Trace, params: Any = None, **_more: Any) -> tuple[Any, Any]:
        updates = tree_map(np.sign, _running(b1, state.trace, gradients))
        return updates, Trace(_running(b2, state.trace, gradients))

    return Method(lambda params: Trace(_zeros(params)), update)


# --- Methods ----------------------------------------------------------------------------------


_of_optax_and_torch = explaining(
    betas="they are b1 and b2",
    learning_rate="it is rate, the first argument",
    lr="it is rate, the first argument",
)


@_of_optax_and_torch
def sgd(rate: Rate, momentum: float = 0.0, *, nesterov: bool = False) -> Method:
    """Gradient descent, with momentum as in PyTorch's SGD.

    Parameters
    ----------
    rate : float, pytree or callable
        The learning rate, one for each parameter, or a schedule.
    momentum : float, default 0.0
        See `accumulate`.
    nesterov : bool, default False
        Whether the momentum is of Nesterov's kind.

    Returns
    -------
    Method
        The method.

    Examples
    --------
    >>> method = sgd(0.5)
    >>> method.update(1.0, method.init(3.0))[0]
    -0.5
    """
    if not momentum:
        return chain(scale_by_rate(rate))
    return chain(accumulate(momentum, nesterov), scale_by_rate(rate))


@_of_optax_and_torch
def momentum(rate: Rate, momentum: float = 0.9, *, nesterov: bool = False) -> Method:
    """Gradient descent with momentum: `sgd` with another default.

    Parameters
    ----------
    rate : float, pytree or callable
        The learning rate, one for each parameter, or a schedule.
    momentum : float, default 0.9
        See `accumulate`.
    nesterov : bool, default False
        Whether the momentum is of Nesterov's kind.

    Returns
    -------
    Method
        The method.

    Notes
    -----
    B. Polyak (1964), Some methods of speeding up the convergence of iteration methods; of the
    other kind: Y. Nesterov (1983).

    Examples
    --------
    >>> method = momentum(0.1, 0.5)
    >>> updates, state = method.update(1.0, method.init(0.0))
    >>> float(method.update(1.0, state)[0].round(12))
    -0.15
    """
    return sgd(rate, momentum, nesterov=nesterov)


@_of_optax_and_torch
def adam(
    rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, *, amsgrad: bool = False
) -> Method:
    """Adam: steps of about the learning rate, whatever the size of the gradients.

    Parameters
    ----------
    rate : float, pytree or callable
        The learning rate, one for each parameter, or a schedule.
    b1, b2, eps : float
        See `scale_by_adam`.
    amsgrad : bool, default False
        See `scale_by_adam`.

    Returns
    -------
    Method
        The method.

    See Also
    --------
    adamw : Adam with decay of weights.
    scale_by_adam : The piece that makes it Adam, with its source.

    Examples
    --------
    >>> method = adam(0.001)
    >>> float(method.update(5.0, method.init(0.0))[0].round(9))
    -0.001
    """
    return chain(scale_by_adam(b1, b2, eps, amsgrad=amsgrad), scale_by_rate(rate))


@_of_optax_and_torch
def adamw(
    rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    *,
    weight_decay: float = 0.01,
    mask: Any = None,
    amsgrad: bool = False,
) -> Method:
    """Adam with decay of weights beside it.

    Parameters
    ----------
    rate : float, pytree or callable
        The learning rate, one for each parameter, or a schedule; of the decay too.
    b1, b2, eps : float
        See `scale_by_adam`.
    weight_decay : float, default 0.01
        The decay.
    mask : pytree or callable, optional
        Which leaves decay; see `add_decayed_weights`.
    amsgrad : bool, default False
        See `scale_by_adam`.

    Returns
    -------
    Method
        The method. Its update needs the parameters.

    Notes
    -----
    I. Loshchilov, F. Hutter (2019), Decoupled weight decay regularization, ICLR.

    Examples
    --------
    >>> method = adamw(0.001, weight_decay=0.5)
    >>> float(method.update(5.0, method.init(2.0), 2.0)[0].round(9))
    -0.002
    """
    return chain(
        scale_by_adam(b1, b2, eps, amsgrad=amsgrad),
        add_decayed_weights(weight_decay, mask),
        scale_by_rate(rate),
    )


@_of_optax_and_torch
def rmsprop(
    rate: Rate,
    decay: float = 0.99,
    eps: float = 1e-8,
    *,
    momentum: float = 0.0,
    centered: bool = False,
) -> Method:
    """RMSprop, as PyTorch's.

    Parameters
    ----------
    rate : float, pytree or callable
        The learning rate, one for each parameter, or a schedule.
    decay, eps : float
        See `scale_by_rms`.
    momentum : float, default 0.0
        See `accumulate`; it sums the scaled gradients.
    centered : bool, default False
        See `scale_by_rms`.

    Returns
    -------
    Method
        The method.

    Examples
    --------
    >>> method = rmsprop(0.01, decay=0.0)
    >>> float(method.update(5.0, method.init(0.0))[0].round(6))
    -0.01
    """
    pieces = [scale_by_rms(decay, eps, centered=centered)]
    if momentum:
        pieces.append(accumulate(momentum))
    return chain(*pieces, scale_by_rate(rate))


@_of_optax_and_torch
def adagrad(rate: Rate, initial: float = 0.0, eps: float = 1e-10) -> Method:
    """Adagrad, as PyTorch's.

    Parameters
    ----------
    rate : float, pytree or callable
        The learning rate, one for each parameter, or a schedule.
    initial, eps : float
        See `scale_by_sum_of_squares`.

    Returns
    -------
    Method
        The method.

    Examples
    --------
    >>> method = adagrad(0.1)
    >>> float(method.update(5.0, method.init(0.0))[0].round(6))
    -0.1
    """
    return chain(scale_by_sum_of_squares(initial, eps), scale_by_rate(rate))


@_of_optax_and_torch
def lion(
    rate: Rate, b1: float = 0.9, b2: float = 0.99, *, weight_decay: float = 0.0, mask: Any = None
) -> Method:
    """Lion: steps by signs, all of the size of the learning rate.

    Parameters
    ----------
    rate : float, pytree or callable
        The learning rate, one for each parameter, or a schedule.
    b1, b2 : float
        See `scale_by_sign`.
    weight_decay : float, default 0.0
        The decay of weights, as in `adamw`.
    mask : pytree or callable, optional
        Which leaves decay; see `add_decayed_weights`.

    Returns
    -------
    Method
        The method. With decay its update needs the parameters.

    See Also
    --------
    scale_by_sign : The piece that makes it Lion, with its source.

    Examples
    --------
    >>> method = lion(0.1)
    >>> float(method.update(5.0, method.init(0.0), 0.0)[0])
    -0.1
    """
    decayed = [add_decayed_weights(weight_decay, mask)] if weight_decay else []
    return chain(scale_by_sign(b1, b2), *decayed, scale_by_rate(rate))


__all__ = [
    "Method",
    "accumulate",
    "adagrad",
    "adam",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_norm",
    "lion",
    "momentum",
    "rmsprop",
    "scale",
    "scale_by_adam",
    "scale_by_rate",
    "scale_by_rms",
    "scale_by_sign",
    "scale_by_sum_of_squares",
    "sgd",
]
