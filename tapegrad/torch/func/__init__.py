"""`torch.func`: the transforms of functions of tensors, which are those of the core.

Knows the public transforms. Must not know rules, or how backward passes run.

A function of tensors becomes one of arrays: within a transform a tensor holds a traced or batched
array, and its operations are those of the arrays. What the function closes over and what requires
grad stays on the graph of the tensors, so that the result of a transform can be differentiated by
`backward()` too.
"""

from __future__ import annotations

import functools
from typing import Any

import tapegrad
from tapegrad._core.types import Function, Tree
from tapegrad._errors import name_of
from tapegrad._transforms.chunks import ChunkSize
from tapegrad._transforms.room import written
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten, tree_map, unflatten
from tapegrad.torch._graph.tracing import tangent_of
from tapegrad.torch._tensor.gradients import conjugated
from tapegrad.torch._tensor.tensor import Tensor, array_of
from tapegrad.torch.func import _checks
from tapegrad.torch.func._arrays import arrays, forward, gradients, of_arrays, reverse, tensors
from tapegrad.torch.func._checks import outline
from tapegrad.torch.func._module import functional_call, stack_module_state
from tapegrad.torch.func._vmap import vmap

Argnums = int | tuple[int, ...]


def _selected(args: tuple[Tree, ...], argnums: Argnums) -> tuple[Tree, ...]:
    """The arguments, with arrays for the tensors of those that argnums name."""
    positions = _checks.positions_of(argnums, len(args))
    _checks.require_tensors([args[position] for position in positions])
    return tuple(
        arrays(arg) if position in positions else arg for position, arg in enumerate(args)
    )


def _checked(func: Function, check: Function, has_aux: bool, call: str) -> Function:
    """A function whose output, apart from aux, passes a check."""

    @functools.wraps(func)
    def checked(*args: Tree, **kwargs: Any) -> Any:
        found = func(*args, **kwargs)
        if has_aux:
            _checks.require_pair(call, found)
        check(call, found[0] if has_aux else found)
        return found

    return checked


# --- Gradients ----------------------------------------------------------------------------------


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The gradient of a function that returns a 0-d tensor.

    func (callable): Takes tensors, or pytrees of them, and returns a 0-d tensor.
    has_aux: Whether `func` returns `(out, aux)`; then the result is `(gradient, aux)`.
    -> callable: Takes the arguments of `func` and returns the gradient, of the structure of the
        argument. RuntimeError if `func` returns anything else.
    See also grad_and_value: The value, too.

    >>> torch.func.grad(lambda x: (x**2).sum())(torch.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    @folding
    def gradient(*args: Tree, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The gradient of a function that returns a 0-d tensor, and its value.

    func (callable): Takes tensors, or pytrees of them, and returns a 0-d tensor.
    has_aux: Whether `func` returns `(out, aux)`; then the result is `(gradient, (value, aux))`.
    -> callable: Takes the arguments of `func` and returns `(gradient, value)`.
    See also grad: The gradient alone.

    >>> torch.func.grad_and_value(torch.square)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """
    call = "grad_and_value(f)(*args)"
    checked = reverse(_checked(func, _checks.require_scalar, has_aux, call))

    @functools.wraps(func)
    @folding
    def both(*args: Tree, **kwargs: Any) -> Any:
        given = _selected(args, argnums)
        with _checks.pytorch_errors():
            transform = tapegrad.value_and_grad(checked, argnums, has_aux=has_aux)
            value, found = transform(*given, **kwargs)
        return gradients(found), tensors(value)

    return both


# --- Products -----------------------------------------------------------------------------------


@folding
def vjp(func: Function, *primals: Tree, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and its derivative in reverse mode.

    *primals (Tensor or pytree of Tensor): Where the derivative is taken.
    has_aux: Whether `func` returns `(out, aux)`.
    -> tuple: `(out, pullback)`, or with `has_aux` `(out, pullback, aux)`. `pullback(cotangents)`
        takes gradients of the output's structure and returns a tuple with one for each primal;
        RuntimeError for cotangents of another structure or shape.

    >>> out, pullback = torch.func.vjp(torch.sin, torch.tensor(0.0))
    >>> pullback(torch.tensor(2.0))
    (tensor(2.),)
    """
    _checks.require_tensors(primals)
    checked = _checked(func, _checks.require_floating_out, has_aux, "vjp(f, *primals)")
    with _checks.pytorch_errors():
        found = tapegrad.vjp(reverse(checked), *arrays(primals), has_aux=has_aux)
    out, pullback = tensors(found[0]), found[1]

    @folding
    def pull(
        *cotangents: Tree, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Tree:
        tree = cotangents[0] if len(cotangents) == 1 else cotangents
        _check_cotangents(tree, out)
        bars = tree_map(lambda leaf: conjugated(array_of(leaf)), tree)
        with _checks.pytorch_errors():
            found = gradients(pullback(bars))
        return tree_map(Tensor.detach, found) if create_graph is False else found

    return (out, pull, *tensors(found[2:]))


def _check_cotangents(tree: Tree, out: Tree) -> None:
    bars, structure = flatten(tree)
    leaves, out_structure = flatten(out)
    if structure != out_structure:
        raise RuntimeError(
            "Expected pytree structure of cotangents to be the same as pytree structure of "
            f"outputs to the function. cotangents: {outline(structure)}, primal output: "
            f"{outline(out_structure)}"
        )
    for position, (bar, leaf) in enumerate(zip(bars, leaves, strict=True)):
        if not isinstance(bar, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(bar)}")
        if bar.shape != leaf.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{position}] has a shape of {bar.shape} and "
                f"output[{position}] has a shape of {leaf.shape}."
            )


@folding
def jvp(
    func: Function, primals: Tree, tangents: Tree, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of a function, and its derivative in one direction, in forward mode.

    primals (tuple): Tensors, or pytrees of them: where the derivative is taken.
    tangents (tuple): The direction, of the structure and shapes of the primals.
    strict: Refuse outputs that do not depend on the primals.
    has_aux: Whether `func` returns `(out, aux)`.
    -> tuple: `(out, tangent)`, or with `has_aux` `(out, tangent, aux)`.
    RuntimeError: If `strict` is given and an output does not depend on the primals.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    call = "jvp(f, primals, tangents)"
    _checks.check_jvp(primals, tangents)

    def check(call: str, out: Tree) -> None:
        _checks.require_tensors_out(call, out)
        if strict and any(_is_independent(leaf) for leaf in flatten(out)[0]):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )

    checked = of_arrays(_checked(func, check, has_aux, call))
    with _checks.pytorch_errors():
        found = tapegrad.jvp(checked, arrays(primals), arrays(tangents), has_aux=has_aux)
    return tensors(tuple(found))


def _is_independent(out: Tensor) -> bool:
    array = array_of(out)
    return not hasattr(array, "slot") or tangent_of(array) is None


@folding
def linearize(func: Function, *primals: Tree) -> tuple[Tree, Function]:
    """The value of a function, and its derivative as a function of the direction.

    *primals (Tensor or pytree of Tensor): Where the derivative is taken.
    -> tuple: `(out, pushforward)`: `pushforward(*tangents)` is the derivative in their direction.

    >>> out, pushforward = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> pushforward(torch.tensor(2.0))
    tensor(2.)
    """
    _checks.require_tensors(primals)
    returned: list[Tree] = []

    @functools.wraps(func)
    def moving(*args: Tree) -> list[Tensor]:
        """The tensors of the output; what else there is does not change."""
        returned[:] = [func(*args)]
        return [leaf for leaf in flatten(returned[0])[0] if isinstance(leaf, Tensor)]

    with _checks.pytorch_errors():
        out, pushforward = tapegrad.linearize(forward(moving), *arrays(primals))
    leaves, structure = flatten(returned[0])
    others = [None if isinstance(leaf, Tensor) else (leaf,) for leaf in leaves]
    del leaves, returned[:]

    def whole(moved: Tree) -> Tree:
        found = iter(tensors(moved))
        filled = [next(found) if other is None else other[0] for other in others]
        return unflatten(structure, filled)

    @folding
    def push(*tangents: Tree) -> Tree:
        _checks.check_push(primals, tangents)
        with _checks.pytorch_errors():
            return whole(pushforward(*arrays(tangents)))

    return whole(out), push


# --- Matrices -----------------------------------------------------------------------------------

PRODUCTS = "Take torch.func.jvp or torch.func.vjp for products with vectors"


def jacrev(
    func: Function, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: ChunkSize = None
) -> Function:
    """The Jacobian in reverse mode: of shape `out.shape + argument.shape`, of real numbers.

    For pytrees the output's containers hold those of the argument.

    func (callable): Takes tensors, or pytrees of them, and returns such.
    has_aux: Whether `func` returns `(out, aux)`; then the result is `(jacobian, aux)`.
    chunk_size (int or "auto"): How many rows are computed at once; "auto" for no more than fit
        into `tapegrad.config.memory_budget`.
    -> callable: Takes the arguments of `func` and returns the Jacobian.
    See also jacfwd: Forward mode, for more outputs than inputs.

    >>> torch.func.jacrev(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _checks.require_chunk_size(chunk_size, "jacrev: `chunk_size` should be greater than 0.")
    options = {"chunk_size": chunk_size}
    return _jacobian(tapegrad.jacrev, reverse, func, argnums, has_aux, options)


def jacfwd(
    func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """The Jacobian in forward mode: of shape `out.shape + argument.shape`, of real numbers.

    The function runs once, so that all columns see the same random numbers.

    func (callable): Takes tensors, or pytrees of them, and returns such.
    has_aux: Whether `func` returns `(out, aux)`; then the result is `(jacobian, aux)`.
    randomness ({"error", "different", "same"}): Accepted, and without effect.
    -> callable: Takes the arguments of `func` and returns the Jacobian.
    RuntimeError: For another `randomness`.
    See also jacrev: Reverse mode, for more inputs than outputs.

    >>> torch.func.jacfwd(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    return _jacobian(tapegrad.jacfwd, forward, func, argnums, has_aux, {})


def _jacobian(
    transform: Function,
    entered: Function,
    func: Function,
    argnums: Argnums,
    has_aux: bool,
    options: dict[str, Any],
) -> Function:
    backward = entered is reverse
    name, label = ("jacrev" if backward else "jacfwd"), name_of(func)
    require = _checks.require_floating_out if backward else _checks.require_tensors_out

    def check(call: str, out: Tree) -> None:
        require(call, out)
        _checks.require_real(name, [out], "outputs")

    call = "vjp(f, *primals)" if backward else "jvp(f, primals, tangents)"
    checked = entered(_checked(func, check, has_aux, call))

    @functools.wraps(func)
    @folding
    def jacobian(*args: Tree, **kwargs: Any) -> Any:
        given = _selected(args, argnums)
        positions = _checks.positions_of(argnums, len(args))
        _checks.require_real(name, [args[position] for position in positions], "inputs")
        with _checks.pytorch_errors(), written(f"torch.func.{name}({label})", PRODUCTS):
            made = transform(checked, argnums, has_aux=has_aux, **options)
            return tensors(made(*given, **kwargs))

    return jacobian


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """The Hessian, forward over reverse: of shape `out.shape + argument.shape * 2`.

    func (callable): Takes tensors, or pytrees of them, and returns such.
    -> callable: Takes the arguments of `func` and returns the Hessian.

    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    made = jacfwd(jacrev(func, argnums), argnums)
    call = f"torch.func.hessian({name_of(func)})"
    ways = "Take products with vectors by torch.func.jvp(torch.func.grad(f), (x,), (v,))"

    @functools.wraps(func)
    @folding
    def hessian(*args: Tree, **kwargs: Any) -> Any:
        with written(call, ways):
            return made(*args, **kwargs)

    return hessian


__all__ = [
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
__dir__ = __all__.copy
