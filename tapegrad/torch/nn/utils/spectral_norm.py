"""Weights divided by their largest singular value, computed anew before each call.

T. Miyato and others, "Spectral Normalization for Generative Adversarial Networks" (2018).
PyTorch's older form, by a hook; the newer one is `parametrizations.spectral_norm`. Knows modules
and their hooks.
"""

from __future__ import annotations

from typing import Any, TypeVar

from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch.nn.distance.functions import normalize
from tapegrad.torch.nn.parameter import Parameter

_M = TypeVar("_M", bound=Any)

TRANSPOSED = "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"


def default_dim(module: Any) -> int:
    """The dimension of the outputs in the weight of a module: 1 for transposed convolutions."""
    return int(any(kind.__name__ in TRANSPOSED for kind in type(module).__mro__))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as a matrix whose rows are along a dimension."""
    if dim != 0:
        rest = [axis for axis in range(weight.dim()) if axis != dim]
        weight = weight.permute(dim, *rest)
    made: Tensor = weight.reshape(weight.size(0), -1)
    return made


class SpectralNorm:
    """The hook: it sets the weight of a module before its `forward`."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """A weight as a matrix whose rows are along the dimension of the outputs."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The weight divided by u @ weight @ v, after steps that improve u and v in place."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    overwrite(v, normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    overwrite(u, normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next call writes into the buffers
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        """Set the weight of a module."""
        weight = self.compute_weight(module, do_power_iteration=module.training)
        setattr(module, self.name, weight)

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Any:
        """The v for which v = matrix.T @ u up to its length, and u @ matrix @ v = sigma."""
        v = (matrix.t().mm(matrix).pinverse() @ (matrix.t() @ u.unsqueeze(1))).squeeze(1)
        return v.mul_(sigma / u.dot(matrix.mv(v)))

    @staticmethod
    def apply(
        module: Any, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Divide a weight before each call; RuntimeError where that is done already."""
        refuse_second(module, SpectralNorm, name, "spectral_norm")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with no_grad():
            u, v = (
                normalize(weight.new_empty(side).normal_(0, 1), dim=0, eps=eps)
                for side in hook.reshape_weight_to_matrix(weight).shape
            )
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # a plain attribute, as the hook will set it
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormStateDictHook:
    """Notes the version in the metadata of a state."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        known = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in known:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        known[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Gives a state of before version 1, which has the weight in the place of v, its v."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        strict, missing_keys, *_ = rest
        name = prefix + self.fn.name
        versions = local_metadata.get("spectral_norm", {})
        version = versions.get(f"{self.fn.name}.version")
        if version is not None and version >= 1:
            return
        whole = all(name + suffix in state_dict for suffix in ("_orig", "_u", "_v"))
        if version is None and whole and name not in state_dict:
            return
        missing = [key for key in (f"{name}_orig", name, f"{name}_u") if key not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            original = state_dict[f"{name}_orig"]
            sigma = (original / state_dict.pop(name)).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            u = state_dict[f"{name}_u"]
            state_dict[f"{name}_v"] = self.fn._solve_v_and_rescale(matrix, u, sigma)


# --- Hooks on weights, also those of `weight_norm` ----------------------------------------------


def _key_of(module: Any, kind: Any, name: str) -> int | None:
    """The key of the hook of a kind on a weight of a module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return int(key)
    return None


def refuse_second(module: Any, kind: type, name: str, word: str) -> None:
    """RuntimeError where a weight has a hook of a kind already."""
    if _key_of(module, kind, name) is not None:
        raise RuntimeError(f"Cannot register two {word} hooks on the same parameter {name}")


def remove_hook(module: Any, kind: type, name: str, word: str) -> None:
    """Remove the hook of a kind on a weight; ValueError where there is none."""
    key = _key_of(module, kind, name)
    if key is None:
        raise ValueError(f"{word} of '{name}' not found in {module}")
    module._forward_pre_hooks[key].remove(module)
    del module._forward_pre_hooks[key]


def spectral_norm(
    module: _M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> _M:
    """Divide a weight of a module by its largest singular value, which power iterations estimate.

    A hook does that before each call; `parametrizations.spectral_norm` is the newer form.

    name: The name of the weight.
    dim (int or None): The dimension of the outputs in the weight; 0 unless given, and 1 in
        transposed convolutions.
    RuntimeError: Where the weight is divided already.
    ValueError: For no power iterations, and a weight that is None.
    Notes: T. Miyato and others, Spectral normalization for generative adversarial networks (2018).

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    SpectralNorm.apply(
        module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps
    )
    return module


def remove_spectral_norm(module: _M, name: str = "weight") -> _M:
    """Make the weight of a module a parameter again.

    name: The name of the weight.
    ValueError: Where it is one.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2))
    >>> layer = torch.nn.utils.remove_spectral_norm(layer)
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    remove_hook(module, SpectralNorm, name, "spectral_norm")
    for hooks, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        for known, hook in list(hooks.items()):
            inner = getattr(hook, "hook", hook)
            if isinstance(inner, kind) and inner.fn.name == name:
                del hooks[known]
                break
    return module


__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]
