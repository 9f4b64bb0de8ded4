"""`functional_call` at the place where PyTorch had it first."""

from __future__ import annotations

from typing import Any

from tapegrad._warning import warn
from tapegrad.torch import func


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers, as `torch.func.functional_call` does.

    parameters_and_buffers (dict): Tensors by their paths.
    args: What it is called with, one or a tuple of them.
    kwargs (dict): What it is called with, by name.
    tie_weights: Replace a tensor at all of its paths where one is given.
    strict: Whether all paths have to be given, and no others.
    -> object: What the module returns.
    FutureWarning: At each call.

    >>> import warnings
    >>> layer = torch.nn.Linear(1, 1)
    >>> given = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.utils.stateless.functional_call(layer, given, torch.tensor([3.0]))
    tensor([7.])
    """
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
    )
    return func.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


__all__ = ["functional_call"]
