"""First-order methods as pure functions of trees: gradients into updates, in composable pieces.

A method is a pair of functions, as optax has them. `init(params)` returns a state, a tree;
`update(gradients, state, params)` returns `(updates, state)`, and the updates are to be added to
the parameters (`apply_updates`). Nothing is changed in place, so a step may be compiled, mapped
and differentiated. A learning rate is a number, or a schedule: a function of the count of steps.
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
from tapegrad._tree import tree_map
from tapegrad.optimize.schedules import Schedule

T = TypeVar("T")
Rate = Value | Schedule


class Method(NamedTuple):
    """`init(params) -> state` and `update(gradients, state, params) -> (updates, state)`.

    An update may take further keywords, which a chain hands to all of its pieces.
    """

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]


def apply_updates(params: T, updates: Any) -> T:
    """The parameters with the updates added; each leaf keeps its dtype.

    >>> apply_updates({"w": np.ones(2)}, {"w": np.array([0.5, -1.0])})
    {'w': array([1.5, 0. ])}
    """
    return tree.map(lambda p, u: p + _as(u, p), params, updates)


def chain(*methods: Method) -> Method:
    """Several methods as one: the updates of each are the gradients of the next.

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


def scale(factor: Value) -> Method:
    """Gradients times a number.

    >>> scale(2.0).update((1.0, 3.0), ())[0]
    (2.0, 6.0)
    """
    return _stateless(lambda gradients, _: tree_map(lambda g: _as(factor * g, g), gradients))


def scale_by_rate(rate: Rate) -> Method:
    """Gradients times minus the learning rate, a number or a schedule; what a chain ends with.

    >>> method = scale_by_rate(lambda step: 1.0 / (1.0 + step))
    >>> updates, state = method.update(4.0, method.init(0.0))
    >>> float(updates), float(method.update(4.0, state)[0])
    (-4.0, -2.0)
    """
    if not callable(rate):
        return scale(-rate)

    def update(gradients: Any, state: Count, params: Any = None, **_more: Any) -> tuple[Any, Any]:
        now = rate(state.count)
        return tree_map(lambda g: _as(-now * g, g), gradients), Count(state.count + 1.0)

    return Method(lambda _params: Count(np.float64(0)), update)


def clip(limit: float) -> Method:
    """Each element of the gradients between -limit and limit; of complex ones both parts.

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
    """Gradients scaled down together where the norm of all of them is above limit.

    >>> clip_by_norm(1.0).update((3.0, 4.0), ())[0]
    (np.float64(0.6000000000000001), np.float64(0.8))
    """

    def clipped(gradients: Any, _: Any) -> Any:
        norm = tree.norm(gradients)
        factor = limit / np.maximum(norm, limit)
        return tree_map(lambda g: _as(factor * g, g), gradients)

    return _stateless(clipped)


def add_decayed_weights(decay: float, mask: Any = None) -> Method:
    """Gradients plus decay times the parameters; of a mask's true leaves alone, if there is one.

    mask: a tree of booleans like the parameters, or a function that makes it of them.

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
    """The sum of all gradients so far, each older one times momentum again; as PyTorch's SGD.

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
    """Gradients as Adam scales them (D. Kingma, J. Ba 2015, algorithm 1), amsgrad as PyTorch does.

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
    """Gradients over the root of the running mean of their squares (or of their variance).

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
    """Gradients over the root of the sum of all their squares (J. Duchi et al. 2011).

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
    """The signs of a running mean of gradients (X. Chen et al. 2023, algorithm 2: Lion).

    >>> method = scale_by_sign()
    >>> float(method.update(-5.0, method.init(0.0))[0])
    -1.0
    """

    def update(gradients: Any, state: Trace, params: Any = None, **_more: Any) -> tuple[Any, Any]:
        updates = tree_map(np.sign, _running(b1, state.trace, gradients))
        return updates, Trace(_running(b2, state.trace, gradients))

    return Method(lambda params: Trace(_zeros(params)), update)


# --- Methods ----------------------------------------------------------------------------------


def sgd(rate: Rate, momentum: float = 0.0, *, nesterov: bool = False) -> Method:
    """Gradient descent, with momentum (of Nesterov's kind too) as PyTorch's SGD.

    >>> method = sgd(0.5)
    >>> method.update(1.0, method.init(3.0))[0]
    -0.5
    """
    if not momentum:
        return chain(scale_by_rate(rate))
    return chain(accumulate(momentum, nesterov), scale_by_rate(rate))


def momentum(rate: Rate, momentum: float = 0.9, *, nesterov: bool = False) -> Method:
    """`sgd` with momentum (B. Polyak 1964), or that of Y. Nesterov (1983).

    >>> method = momentum(0.1, 0.5)
    >>> updates, state = method.update(1.0, method.init(0.0))
    >>> float(method.update(1.0, state)[0].round(12))
    -0.15
    """
    return sgd(rate, momentum, nesterov=nesterov)


def adam(
    rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, *, amsgrad: bool = False
) -> Method:
    """Adam: see `scale_by_adam`.

    >>> method = adam(0.001)
    >>> float(method.update(5.0, method.init(0.0))[0].round(9))
    -0.001
    """
    return chain(scale_by_adam(b1, b2, eps, amsgrad=amsgrad), scale_by_rate(rate))


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
    """Adam with decay of weights beside it (I. Loshchilov, F. Hutter 2019).

    mask: of which leaves; see `add_decayed_weights`.

    >>> method = adamw(0.001, weight_decay=0.5)
    >>> float(method.update(5.0, method.init(2.0), 2.0)[0].round(9))
    -0.002
    """
    return chain(
        scale_by_adam(b1, b2, eps, amsgrad=amsgrad),
        add_decayed_weights(weight_decay, mask),
        scale_by_rate(rate),
    )


def rmsprop(
    rate: Rate,
    decay: float = 0.99,
    eps: float = 1e-8,
    *,
    momentum: float = 0.0,
    centered: bool = False,
) -> Method:
    """RMSprop, as PyTorch's: see `scale_by_rms`.

    >>> method = rmsprop(0.01, decay=0.0)
    >>> float(method.update(5.0, method.init(0.0))[0].round(6))
    -0.01
    """
    pieces = [scale_by_rms(decay, eps, centered=centered)]
    if momentum:
        pieces.append(accumulate(momentum))
    return chain(*pieces, scale_by_rate(rate))


def adagrad(rate: Rate, initial: float = 0.0, eps: float = 1e-10) -> Method:
    """Adagrad, as PyTorch's: see `scale_by_sum_of_squares`.

    >>> method = adagrad(0.1)
    >>> float(method.update(5.0, method.init(0.0))[0].round(6))
    -0.1
    """
    return chain(scale_by_sum_of_squares(initial, eps), scale_by_rate(rate))


def lion(
    rate: Rate, b1: float = 0.9, b2: float = 0.99, *, weight_decay: float = 0.0, mask: Any = None
) -> Method:
    """Lion: see `scale_by_sign`; with decay of weights as in `adamw`.

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
