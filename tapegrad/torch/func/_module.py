"""Modules as functions of their parameters.

Knows that a Module keeps parameters and buffers by name. Must not know transforms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tapegrad.torch._tensor import Tensor


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the places of its parameters and buffers.

    parameter_and_buffer_dicts: a dict from names (as of `named_parameters`) to tensors, or a tuple
    of such dicts. strict: RuntimeError where names are missing or unknown.
    """
    given: dict[str, Tensor] = {}
    dicts = parameter_and_buffer_dicts
    for part in (dicts,) if isinstance(dicts, Mapping) else dicts:
        given.update(part)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    if strict:
        names = {name for name, _ in (*module.named_parameters(), *module.named_buffers())}
        missing, unknown = names - given.keys(), given.keys() - names
        if missing or unknown:
            raise RuntimeError(
                "Error(s) in reparametrizing: unexpected names "
                f"{sorted(unknown)}, missing names {sorted(missing)}"
            )
    with _in_place_of(module, given):
        return module(*args, **(kwargs or {}))


@contextmanager
def _in_place_of(module: Any, given: Mapping[str, Tensor]) -> Iterator[None]:
    """Put tensors into a module for a while."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for path, tensor in given.items():
            owner, _, name = path.rpartition(".")
            holder = module.get_submodule(owner) if owner else module
            for table in (holder._parameters, holder._buffers):
                if name in table:
                    before.append((table, name, table[name]))
                    table[name] = tensor
        yield
    finally:
        for table, name, tensor in reversed(before):
            table[name] = tensor


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of several modules of one kind, stacked along a new dimension."""
    from tapegrad.torch._call import OPERATIONS

    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")

    def stacked(tables: list[dict[str, Any]], *, leaf: bool) -> dict[str, Any]:
        return {
            name: OPERATIONS["stack"]([table[name] for table in tables])
            .detach()
            .requires_grad_(leaf and tables[0][name].requires_grad)
            for name in tables[0]
        }

    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return stacked(parameters, leaf=True), stacked(buffers, leaf=False)
