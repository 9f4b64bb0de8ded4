"""`torch.vmap`: a function of one example, mapped over many.

Knows the core's vmap. Must not know derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

import tapegrad
from tapegrad._core.types import Function, Tree
from tapegrad._transforms.chunks import ChunkSize
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten
from tapegrad.torch._ops.create.generator import DRAWN
from tapegrad.torch._tensor.tensor import of_array
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch.func import _checks
from tapegrad.torch.func._arrays import arrays, tensors

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def vmap(
    func: Callable[Parameters, Result],
    in_dims: Tree = 0,
    out_dims: Tree = 0,
    randomness: str = "error",
    *,
    chunk_size: ChunkSize = None,
) -> Callable[Parameters, Result]:
    """Apply a function of one example to many, along a dimension of the tensors given.

    func (callable): Takes tensors or pytrees of them, of one example, and returns such.
    in_dims (int, None or pytree of them): That dimension for each positional argument, None for
        one that all examples share; keyword arguments are shared.
    out_dims (int or pytree of int): Where the dimension is in the outputs.
    randomness ({"error", "different", "same"}): Whether `func` may draw random numbers: not, other
        ones for each example, or the same for all.
    chunk_size (int or "auto"): How many examples are computed at once; "auto" for as many as fit
        into `tapegrad.config.memory_budget`; by default all.
    -> callable: Takes the arguments of `func` with one more dimension, and returns its outputs
        with one more. ValueError for dimensions that do not fit, RuntimeError for what depends on
        the values of single examples.
    RuntimeError: For another `randomness`.
    ValueError: For a `chunk_size` that is not above 0.

    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]))
    tensor([6., 1.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    _checks.require_chunk_size(
        chunk_size, f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"
    )
    in_dims = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    out_dims = tuple(out_dims) if isinstance(out_dims, list) else out_dims
    program = _without_draws(func) if randomness == "error" else func

    @functools.wraps(func)
    @folding
    def mapped(*args: Tree, **kwargs: Any) -> Any:
        dims = _checks.check_in_dims(func, in_dims, args)
        leaves = flatten(args)[0]
        changed: list[int] = []

        @functools.wraps(func)
        def one(*given: Tree) -> Any:
            given = tensors(given)
            inner = flatten(given)[0]
            out = program(*given, **kwargs)
            _checks.check_out_dims(func, out_dims, out)
            changed[:] = [
                place
                for place, (leaf, dim) in enumerate(zip(inner, dims, strict=True))
                if dim is not None and leaf._version_of is not None and leaf._version_of.count
            ]
            return arrays(out), [arrays(inner[place]) for place in changed]

        transform = tapegrad.vmap(
            one,
            in_axes=in_dims,
            out_axes=(out_dims, 0),
            chunk_size=chunk_size,
            randomness=randomness,
        )
        with _checks.pytorch_errors(ValueError):
            out, written = transform(*arrays(args))
        for place, value in zip(changed, written, strict=True):
            # The function wrote into its example, so the tensor that was given changes.
            overwrite(leaves[place], of_array(np.moveaxis(value, 0, dims[place])))
        return tensors(out)

    return mapped


def _without_draws(func: Function) -> Function:
    """A function that may not draw random numbers: they would be the same for all examples."""

    @functools.wraps(func)
    def call(*args: Tree, **kwargs: Any) -> Any:
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
