"""`torch.func`: the transforms of functions of tensors, which are those of the core.

Knows the public transforms. Must not know rules, or how backward passes run.

A function of tensors becomes one of arrays: within a transform a tensor holds a traced or batched
array, and its operations are those of the arrays. What the function closes over and what requires
grad stays on the graph of the tensors, so that the result of a transform can be differentiated by
`backward()` too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tapegrad
from tapegrad._tape import Mapped, Traced
from tapegrad._tree import flatten, tree_map
from tapegrad.torch._engine import conjugated
from tapegrad.torch._generator import DRAWN
from tapegrad.torch._tensor import Tensor, array_of, of_array
from tapegrad.torch.func._module import functional_call, stack_module_state

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


# --- Tensors and arrays -------------------------------------------------------------------------


def _arrays(tree: Any) -> Any:
    return tree_map(lambda leaf: array_of(leaf) if isinstance(leaf, Tensor) else leaf, tree)


def _tensors(tree: Any) -> Any:
    return tree_map(_tensor, tree)


def _tensor(leaf: Any) -> Any:
    if isinstance(leaf, (Traced, Mapped)) or issubclass(type(leaf), (np.ndarray, np.generic)):
        return of_array(leaf)
    return leaf


def _gradients(tree: Any) -> Any:
    """Derivatives of the core in PyTorch's convention for complex numbers."""
    return tree_map(lambda leaf: of_array(conjugated(leaf)), tree)


def _of_arrays(func: Function) -> Function:
    """A function of tensors as one of arrays."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _arrays(func(*_tensors(args), **_tensors(kwargs)))

    return call


def _selected(args: tuple[Any, ...], argnums: Argnums, call: str) -> tuple[Any, ...]:
    """Arguments of which those to differentiate by are arrays."""
    wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for index in wanted:
        if not -len(args) <= index < len(args):
            raise RuntimeError(
                f"{call}: Got argnum={index}, but only {len(args)} positional inputs"
            )
        for leaf in flatten(args[index])[0]:
            if not isinstance(leaf, Tensor):
                raise ValueError(  # noqa: TRY004 - PyTorch's type
                    f"{call}: Expected all inputs of argnum={index} to be Tensors, got a "
                    f"{type(leaf).__name__}"
                )
    positions = {index % len(args) for index in wanted}
    return tuple(
        _arrays(arg) if position in positions else arg for position, arg in enumerate(args)
    )


def _require_scalar(func: Function, call: str, has_aux: bool) -> Function:
    """A function whose output must be a tensor of no dimensions."""

    @functools.wraps(func)
    def checked(*args: Any, **kwargs: Any) -> Any:
        found = func(*args, **kwargs)
        if has_aux and not (isinstance(found, tuple) and len(found) == 2):
            raise RuntimeError(
                f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True"
            )
        out = found[0] if has_aux else found
        if not isinstance(out, Tensor):
            raise RuntimeError(  # noqa: TRY004 - PyTorch's type
                f"{call}: Expected f(*args) to return a Tensor, got {type(out).__name__}"
            )
        if out.dim() != 0:
            raise RuntimeError(
                f"{call}: Expected f(*args) to return a scalar tensor, got tensor with "
                f"{out.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        return found

    return checked


# --- Derivatives --------------------------------------------------------------------------------


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The gradient of a function that returns a tensor of no dimensions.

    argnums: which arguments; a tuple gives a tuple. has_aux: func returns `(out, aux)`, and the
    result is `(gradient, aux)`. RuntimeError for any other output.

    >>> import tapegrad.torch as torch
    >>> torch.func.grad(lambda x: (x**2).sum())(torch.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """As `grad`, and the value: `(gradient, value)`, or `(gradient, (value, aux))`."""
    checked = _of_arrays(_require_scalar(func, "grad_and_value(f)(*args)", has_aux))

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        transform = tapegrad.value_and_grad(checked, _list(argnums), has_aux=has_aux)
        value, found = transform(*_selected(args, argnums, "grad"), **kwargs)
        return _gradients(found), _tensors(value)

    return both


def _list(argnums: Argnums) -> Any:
    return argnums if isinstance(argnums, int) else tuple(argnums)


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """`(out, pullback)`, or with has_aux `(out, pullback, aux)`.

    `pullback(cotangents)` takes gradients of the output's structure and returns one for each
    primal: a single one where there is one primal.
    """
    given = _selected(primals, tuple(range(len(primals))), "vjp")
    found = tapegrad.vjp(_of_arrays(func), *given, has_aux=has_aux)
    out, pullback = found[0], found[1]

    def pull(*cotangents: Any) -> Any:
        tree = cotangents[0] if len(cotangents) == 1 else cotangents
        bars = tree_map(lambda leaf: conjugated(array_of(leaf)), tree)
        parts = _gradients(pullback(bars))
        return parts[0] if len(primals) == 1 else parts

    return (_tensors(out), pull, *_tensors(found[2:]))


def jvp(
    func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """`(out, tangent)`, or with has_aux `(out, tangent, aux)`."""
    found = tapegrad.jvp(
        _of_arrays(func), tuple(_arrays(primals)), tuple(_arrays(tangents)), has_aux=has_aux
    )
    return _tensors(tuple(found))


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """`(out, pushforward)`: `pushforward(*tangents)` is the derivative in their direction."""
    out, pushforward = tapegrad.linearize(_of_arrays(func), *_arrays(primals))
    return _tensors(out), lambda *tangents: _tensors(pushforward(*_arrays(tangents)))


def jacrev(
    func: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function:
    """The Jacobian in reverse mode: of shape `out.shape + argument.shape`."""
    return _jacobian(
        tapegrad.jacrev, _gradients, func, argnums, has_aux, {"chunk_size": chunk_size}
    )


def jacfwd(
    func: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Function:
    """The Jacobian in forward mode: of shape `out.shape + argument.shape`."""
    return _jacobian(tapegrad.jacfwd, _tensors, func, argnums, has_aux, {})


def _jacobian(
    transform: Function,
    finished: Function,
    func: Function,
    argnums: Argnums,
    has_aux: bool,
    options: dict[str, Any],
) -> Function:
    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        made = transform(_of_arrays(func), _list(argnums), has_aux=has_aux, **options)
        found = made(*_selected(args, argnums, "jacobian"), **kwargs)
        if has_aux:
            return finished(found[0]), _tensors(found[1])
        return finished(found)

    return jacobian


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """The Hessian, forward over reverse: of shape `out.shape + argument.shape * 2`."""
    return jacfwd(jacrev(func, argnums), argnums)


# --- Batching -----------------------------------------------------------------------------------


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """Apply a function of one example to many, along a dimension of the tensors given.

    in_dims: that dimension for each argument, None for one that all examples share. randomness:
    "error", "different" draws an example, or the "same" for all. chunk_size: examples at once.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )

    call = _without_draws(func) if randomness == "error" else func

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        transform = tapegrad.vmap(
            _of_arrays(call),
            in_axes=_tuples(in_dims),
            out_axes=_tuples(out_dims),
            chunk_size=chunk_size,
            randomness=randomness,
        )
        return _tensors(transform(*_arrays(args), **_arrays(kwargs)))

    return mapped


def _without_draws(func: Function) -> Function:
    """A function that may not draw random numbers: they would be the same for all examples."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        before = DRAWN.times
        made = func(*args, **kwargs)
        if DRAWN.times != before:
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap"
            )
        return made

    return call


def _tuples(dims: Any) -> Any:
    return tuple(dims) if isinstance(dims, list) else dims


__all__: Sequence[str] = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
