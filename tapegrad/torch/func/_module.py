"""Modules as functions of their parameters.

Knows that a Module keeps parameters and buffers by name. Must not know transforms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tapegrad._block import contextmanager, undoing
from tapegrad._core.types import Tree
from tapegrad.torch._tensor.tensor import Tensor


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Tree = None,
    kwargs: dict[str, Tree] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the places of its parameters and buffers.

    module (Module): The module, which is as before after the call.
    parameter_and_buffer_dicts (dict, or tuple or list of dict): Tensors by name, as of
        `named_parameters`.
    args (object or tuple): The arguments of the module; what is no tuple is the only one.
    kwargs (dict): Its arguments by name.
    tie_weights: Replace a parameter that the module has under two names under both.
    strict: Raise where names are missing or unknown.
    -> object: What the module returns.
    ValueError: For something else than dicts, for a name in two of them, and for two values of
        what is tied.
    RuntimeError: If `strict`, where names are missing or unknown.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([1.0, 2.0]))
    tensor([3.])
    """
    given: dict[str, Tensor] = {}
    dicts = parameter_and_buffer_dicts
    if not isinstance(dicts, (Mapping, tuple, list)):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    for part in (dicts,) if isinstance(dicts, Mapping) else dicts:
        twice = given.keys() & part.keys()
        if twice:
            raise ValueError(
                f"{sorted(twice)} appeared in multiple dictionaries; behavior is unclear"
            )
        given.update(part)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    if tie_weights:
        given = _with_ties(module, given)
    if strict:
        members = (module.named_parameters, module.named_buffers)
        names = {name for of in members for name, _ in of(remove_duplicate=not tie_weights)}
        missing, unknown = names - given.keys(), given.keys() - names
        if missing or unknown:
            found = (("Unexpected", unknown), ("Missing", missing))
            texts = [
                f"\n\t{word} key(s): {', '.join(map(repr, sorted(keys)))}."
                for word, keys in found
                if keys
            ]
            raise RuntimeError(
                f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(texts)}"
            )
    with _in_place_of(module, given):
        return module(*args, **(kwargs or {}))


def _with_ties(module: Any, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors, also under the other names of the same parameter or buffer."""
    names: dict[int, list[str]] = {}
    for members in (module.named_parameters, module.named_buffers):
        for name, tensor in members(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(name)
    found = dict(given)
    for tied in names.values():
        values = [given[name] for name in tied if name in given]
        if any(value is not values[0] for value in values):
            raise ValueError(
                f"functional_call got multiple values for keys {tied}, which are tied."
            )
        if values:
            found.update(dict.fromkeys(tied, values[0]))
    return found


@contextmanager
def _in_place_of(module: Any, given: Mapping[str, Tensor]) -> Iterator[None]:
    """Context in which the given tensors replace a module's parameters and buffers."""
    before: list[tuple[dict[str, Any], str, Any]] = []

    def put_back() -> None:
        for table, name, tensor in reversed(before):
            table[name] = tensor

    with undoing(put_back):
        for path, tensor in given.items():
            owner, _, name = path.rpartition(".")
            holder = module.get_submodule(owner) if owner else module
            for table in (holder._parameters, holder._buffers):
                if name in table:
                    before.append((table, name, table[name]))
                    table[name] = tensor
        yield


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of several modules of one kind, stacked along a new dimension.

    models (sequence of Module): Modules of the same class and mode, of the same shapes.
    -> tuple of dict: The parameters and the buffers by name, as leaves; a parameter requires grad
        as those of the modules do.
    RuntimeError: If there are none, or they differ in class, in mode, or in what requires grad.
    See also functional_call: Call a module with them, by `vmap`.

    >>> models = [torch.nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = torch.func.stack_module_state(models)
    >>> params["weight"].shape
    torch.Size([3, 1, 2])
    """
    from tapegrad.torch._ops.declare import OPERATIONS

    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(tables: list[dict[str, Any]], *, leaf: bool) -> dict[str, Any]:
        for name in tables[0]:
            if leaf and len({table[name].requires_grad for table in tables}) > 1:
                raise RuntimeError(
                    f"Expected {name} from each model to have the same .requires_grad"
                )
        return {
            name: OPERATIONS["stack"]([table[name] for table in tables])
            .detach()
            .requires_grad_(leaf and tables[0][name].requires_grad)
            for name in tables[0]
        }

    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return stacked(parameters, leaf=True), stacked(buffers, leaf=False)
