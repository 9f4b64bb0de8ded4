"""check_grads: the derivatives of a function against central differences, to any order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tapegrad._core.types import Cotangent, Function, Tangent, Tree, Value
from tapegrad._errors import InputError, describe, message, name_of
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.forward import jvp, require_tuple
from tapegrad._transforms.inputs import as_input
from tapegrad._transforms.reverse import vjp
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import Structure, flatten, unflatten
from tapegrad.testing._laws.first_order import Exactness, Subject, check_first_order
from tapegrad.testing._measuring.directions import FlatFunction, direction
from tapegrad.testing._measuring.leaves import inexact_leaves
from tapegrad.testing._promises import Promises

MODES = ("fwd", "rev")


@folding
def check_grads(
    f: Function,
    args: Sequence[Tree],
    order: int = 2,
    modes: Sequence[str] = MODES,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    eps: float | None = None,
    progress: Progress = None,
) -> None:
    """Check the derivatives of `f(*args)` up to an order, as `jax.test_util.check_grads` does.

    Each order after the first checks the derivative functions of the one before it, in all modes.

    Parameters
    ----------
    f : callable
        Returns a pytree of arrays.
    args : tuple of pytree
        Floating or complex arrays.
    order : int, default 2
        The highest order.
    modes : sequence of str, default ("fwd", "rev")
        "fwd" compares `jvp` with central differences along random directions, the same in every
        run. "rev" checks the adjoint identity Re<vjp(g), t> = Re<g, jvp(t)>, and compares with
        differences where "fwd" is not asked for.
    rtol, atol : float, optional
        What may differ, relative to the largest element and absolutely; they follow from the
        dtypes when left away, for values around 1.
    eps : float, optional
        The step of the differences. Without it one step is tried first, and where that disagrees
        the slope is measured as `check` does, by steps of all sizes: near a pole, or where f is
        noisy, what it may be off by is allowed as well, up to a thousandth of it. At a kink or a
        jump there is no slope, and the error names it.
    progress : bool or class, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Raises
    ------
    AssertionError
        If a derivative is wrong: it names the check, the order and the argument, with what was
        expected and what came.
    InputError
        For modes other than "fwd" and "rev", or none, and for args that are no tuple or list.

    See Also
    --------
    check : All laws, with measured tolerances.

    Notes
    -----
    A matrix that a rule takes to be symmetric or Hermitian (of np.linalg.eigh, cholesky and the
    like) moves along Hermitian directions, in which alone it has a derivative: see docs/kinks.md.

    Examples
    --------
    >>> check_grads(np.sin, (np.array([0.5, 1.0]),), order=3)
    >>> check_grads(lambda pair: pair["a"] * pair["b"], ({"a": 2.0, "b": np.ones(3)},))
    >>> import tapegrad
    >>> wrong = tapegrad.custom_vjp(lambda x: x * x)
    >>> wrong.defvjp(lambda x: (x * x, x), lambda x, g: (g * x,))
    >>> try:
    ...     check_grads(wrong, (3.0,), order=1)
    ... except AssertionError as error:
    ...     print(str(error).split(" by ")[0])
    check_grads(<lambda>) at order 1: the jvp
    """
    if not modes or not set(modes) <= set(MODES):
        raise InputError(
            message(
                "check_grads", 'modes from "fwd" and "rev"', repr(modes), "Leave it away for both"
            )
        )
    call = f"check_grads({name_of(f)})"
    require_tuple(call, args, "argument")
    leaves, structures, names = [], [], []
    for position, arg in enumerate(args):
        found, structure = flatten(arg)
        structures.append(structure)
        leaves += [as_input(leaf, call) for leaf in found]
        names += [_leaf_name(position, i, leaf, structure) for i, leaf in enumerate(found)]

    def of_leaves(*given: Value) -> tuple[Value, ...]:
        rest = iter(given)
        return inexact_leaves(f(*(unflatten(structure, rest) for structure in structures)))

    subject = Subject(call, of_leaves, tuple(leaves), tuple(names))
    exactness = Exactness(eps=eps, rtol=rtol, atol=atol)
    checks = len(leaves) * sum(len(modes) ** k for k in range(max(order, 1)))
    with Bar(call, progress, checks):
        _check_to_order(subject, 1, order, tuple(modes), exactness, np.random.default_rng(0))


def _leaf_name(position: int, i: int, leaf: Value, structure: Structure) -> str:
    inner = f", leaf {i} ({describe(leaf)})" if structure.kind else ""
    return f"argument {position}{inner}"


def _check_to_order(
    subject: Subject,
    order: int,
    last: int,
    modes: Sequence[str],
    exactness: Exactness,
    random: np.random.Generator,
) -> None:
    named = subject._replace(call=f"{subject.call} at order {order}")
    check_first_order(named, modes, exactness, random)
    if order < last:
        for derived in derivatives(subject, modes, random):
            _check_to_order(derived, order + 1, last, modes, exactness, random)


def derivatives(
    subject: Subject, modes: Sequence[str], random: np.random.Generator
) -> list[Subject]:
    """The derivative of a function, in each mode, as functions of the same leaves."""
    outs = subject.function(*subject.leaves)
    dots = [direction(random, leaf) for leaf in subject.leaves]
    if "fwd" in modes:
        dots = Promises(subject.function, subject.leaves).along(dots)
    bars = tuple(direction(random, out) for out in outs)
    made = {
        "fwd": _tangent_function(subject.function, dots),
        "rev": _cotangent_function(subject.function, bars),
    }
    words = {"fwd": "jvp", "rev": "vjp"}
    return [
        subject._replace(call=f"{subject.call}, {words[mode]}", function=made[mode])
        for mode in modes
    ]


def _tangent_function(function: FlatFunction, dots: Sequence[Tangent]) -> FlatFunction:
    def tangents(*leaves: Value) -> tuple[Tangent, ...]:
        return tuple(jvp(function, leaves, tuple(dots))[1])

    return tangents


def _cotangent_function(function: FlatFunction, bars: Sequence[Cotangent]) -> FlatFunction:
    def cotangents(*leaves: Value) -> tuple[Cotangent, ...]:
        return tuple(vjp(function, *leaves)[1](tuple(bars)))

    return cotangents
