"""Weights as a length times a direction, computed anew before each call of their module.

T. Salimans and D. Kingma, "Weight Normalization" (2016). PyTorch's older form, by a hook;
the newer one is `parametrizations.weight_norm`. Knows modules and their hooks.
"""

from __future__ import annotations

from typing import Any, TypeVar

from tapegrad._warning import warn
from tapegrad.torch._ops.reduce.norms import norm_except_dim, weight_of
from tapegrad.torch.nn.parameter import Parameter
from tapegrad.torch.nn.utils.spectral_norm import refuse_second, remove_hook

_M = TypeVar("_M", bound=Any)


class WeightNorm:
    """The hook: it sets the weight of a module before its `forward`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim: int = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """The weight, from its length and direction."""
        length = getattr(module, f"{self.name}_g")
        return weight_of(getattr(module, f"{self.name}_v"), length, self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Replace a weight by its length and direction; RuntimeError where that was done."""
        warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of "
            "`torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        refuse_second(module, WeightNorm, name, "weight_norm")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        length = norm_except_dim(weight, 2, hook.dim)
        module.register_parameter(f"{name}_g", Parameter(length.data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        """Set the weight of a module."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Make a weight of a module its length `name_g` times its direction `name_v`.

    A hook does that before each call; `parametrizations.weight_norm` is the newer form.

    name: The name of the weight.
    dim (int or None): The dimension along which the lengths are; None for one length of all.
    RuntimeError: Where that was done.
    FutureWarning: At each call.
    Notes: T. Salimans, D. Kingma, Weight normalization (2016).

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: _M, name: str = "weight") -> _M:
    """Make the weight of a module a parameter again.

    name: The name of the weight.
    ValueError: Where it is one.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))
    >>> layer = torch.nn.utils.remove_weight_norm(layer)
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    remove_hook(module, WeightNorm, name, "weight_norm")
    return module


__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]
