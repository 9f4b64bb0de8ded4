"""What scripts ask of PyTorch's environment: autocast, devices, warnings, symbolic numbers.

Knows what has no effect here. Must not know operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.torch import _dtypes
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.tensor import Tensor


def _constant(word: str, value: Any, doc: str) -> None:
    def call(*_args: Any, **_words: Any) -> Any:
        return value

    call.__name__ = call.__qualname__ = word
    call.__doc__ = doc
    register(word, method=False, module=__name__)(call)


# --- Autocast, which changes nothing ------------------------------------------------------------

_BRAIN, _HALF = _dtypes.BRAIN, _dtypes.BY_NAME["float16"]
_dtypes_of: dict[str, _dtypes.dtype] = {"cpu": _BRAIN, "cuda": _HALF, "ipu": _HALF, "xla": _BRAIN}
_enabled: dict[str, bool] = {}
_state: dict[str, Any] = {"cache": True, "nesting": 0, "debug": 0, "always": False}


@register(method=False)
def get_autocast_dtype(device_type: str) -> _dtypes.dtype:
    """The dtype that was set for autocast on a device."""
    return _dtypes_of.get(device_type, _HALF)


@register(method=False)
def set_autocast_dtype(device_type: str, dtype: _dtypes.dtype) -> None:
    """Note a dtype for autocast, which changes nothing here."""
    _dtypes_of[device_type] = dtype


@register(method=False)
def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """What was set last for a device."""
    return _enabled.get(device_type, False)


@register(method=False)
def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Note whether autocast is on, which changes nothing here."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _enabled[device_type] = bool(enabled)


def _declare_device(kind: str, word: str) -> None:
    def get() -> _dtypes.dtype:
        return get_autocast_dtype(kind)

    def put(dtype: _dtypes.dtype) -> None:
        set_autocast_dtype(kind, dtype)

    def asked() -> bool:
        return is_autocast_enabled(kind)

    def switch(enabled: bool) -> None:
        set_autocast_enabled(kind, enabled)

    for name, call in (
        (f"get_autocast_{word}_dtype", get),
        (f"set_autocast_{word}_dtype", put),
        (f"is_autocast_{word}_enabled", asked),
        (f"set_autocast_{word}_enabled", switch),
    ):
        if word == "gpu" and "enabled" in name:
            continue
        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"The older form of the function of a device type, for {kind!r}."
        register(name, method=False)(call)


for _kind, _word in (("cpu", "cpu"), ("cuda", "gpu"), ("ipu", "ipu"), ("xla", "xla")):
    _declare_device(_kind, _word)


@register(method=False)
def is_autocast_cache_enabled() -> bool:
    """What was set last; True at first."""
    return bool(_state["cache"])


@register(method=False)
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Note a setting of autocast, which changes nothing here."""
    _state["cache"] = bool(enabled)


@register(method=False)
def autocast_increment_nesting() -> int:
    """Count a block of autocast that begins."""
    _state["nesting"] += 1
    return int(_state["nesting"])


@register(method=False)
def autocast_decrement_nesting() -> int:
    """Count a block of autocast that ends."""
    _state["nesting"] -= 1
    return int(_state["nesting"])


_constant("clear_autocast_cache", None, "Do nothing: there is no cache.")

# --- The machine --------------------------------------------------------------------------------

_constant("get_default_device", _dtypes.CPU, "The CPU.")
_constant("set_flush_denormal", False, "False: NumPy computes with denormal numbers.")
_constant("is_vulkan_available", False, "False.")
_constant("is_distributed", False, "False.")
_constant("compiled_with_cxx11_abi", True, "True, as PyTorch's builds of today say.")
_constant("init_num_threads", None, "Do nothing: see `set_num_threads`.")
for _flag in ("has_lapack", "has_openmp", "has_spectral"):
    register(_flag, method=False, module=__name__)(True)
register("has_mkl", method=False, module=__name__)(False)
register("is_distributed", function=False, module=__name__)(lambda self: False)


@register(method=False)
def set_default_device(device: Any = None) -> None:
    """Check that the device is the CPU, which all tensors are on; RuntimeError for another."""
    _dtypes.device("cpu" if device is None else device)


@register(method=False)
def is_storage(obj: object) -> bool:
    """Whether an object is the storage of a tensor."""
    return type(obj).__name__ in ("Storage", "UntypedStorage", "TypedStorage")


@register(method=False)
def set_warn_always(b: bool) -> None:
    """Note whether warnings are to come each time; Python's filters decide."""
    _state["always"] = bool(b)


@register(method=False)
def is_warn_always_enabled() -> bool:
    """What was set last."""
    return bool(_state["always"])


@register(method=False)
def get_deterministic_debug_mode() -> int:
    """What was set last, as a number: 0, 1 or 2."""
    return int(_state["debug"])


@register(method=False)
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Note a mode, "default", "warn" or "error": what is computed here is deterministic anyway."""
    words = {"default": 0, "warn": 1, "error": 2}
    if isinstance(debug_mode, str):
        if debug_mode not in words:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = words[debug_mode]
    elif debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    _state["debug"] = debug_mode


@register(method=False)
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether the debug mode is "warn"."""
    return bool(_state["debug"] == 1)


# --- Symbolic numbers, which are numbers here -------------------------------------------------


@register(method=False)
def sym_int(a: Any) -> int:
    """A number as an int."""
    return math.trunc(a)


@register(method=False)
def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


@register(method=False)
def sym_not(a: Any) -> bool:
    """The contrary of a truth value."""
    return not a


@register(method=False)
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """t where b is true, else f."""
    return t if b else f


@register(method=False)
def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of numbers."""
    return sum(args)


@register(method=False)
def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)


def _greatest(a: Any, b: Any, choose: Callable[..., Any]) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return choose(float(a), float(b))
    return choose(a, b)


@register(method=False)
def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers, a float where one is."""
    return _greatest(a, b, max)


@register(method=False)
def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, a float where one is."""
    return _greatest(a, b, min)


# --- Control flow -------------------------------------------------------------------------------


@register(method=False)
def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Sequence[Any] = ()) -> Any:
    """`true_fn(*operands)` where pred is true, else `false_fn(*operands)`: it runs at once."""
    return (true_fn if bool(pred) else false_fn)(*operands)


@register(method=False)
def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Sequence[Any]) -> Any:
    """`carried = body_fn(*carried)` while `cond_fn(*carried)` is true: it runs at once."""
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    return carried


# --- Kinds of tensors that are not here ---------------------------------------------------------

for _word in ("xla", "xpu", "ipu", "maia", "mtia", "vulkan", "sparse_csr"):
    register(f"is_{_word}", function=False, module=__name__)(False)
register("is_cpu", function=False, module=__name__)(True)
register("volatile", function=False, module=__name__)(False)


def _only_sparse(word: str, kind: str) -> None:
    def refuse(self: Tensor, *_args: Any) -> Any:
        raise RuntimeError(f"{word} expected {kind} tensor layout but got Strided")

    refuse.__name__ = refuse.__qualname__ = word
    refuse.__doc__ = "RuntimeError: this tensor is not sparse."
    register(word, function=False)(refuse)


for _word in ("indices", "is_coalesced", "coalesce"):
    _only_sparse(_word, "sparse coordinate")
_only_sparse("values", "sparse")
for _word in ("crow_indices", "col_indices", "ccol_indices", "row_indices"):
    _only_sparse(_word, "sparse row or column compressed")


@register(function=False)
def sparse_dim(self: Tensor) -> int:
    """0: no dimension is sparse."""
    return 0


@register(function=False)
def dense_dim(self: Tensor) -> int:
    """The number of dimensions."""
    return len(self.shape)


@register(function=False)
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, which is dense; of another dtype where one is given."""
    return self if dtype is None else self.to(dtype)


@register(function=False)
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, the outermost first."""
    strides = self.stride()
    return tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


@register(function=False)
def reinforce(self: Tensor, reward: Any = None) -> None:
    """RuntimeError, as in PyTorch: use `torch.distributions`."""
    raise RuntimeError("reinforce() was removed.\nUse torch.distributions instead.")


@register(function=False)
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Write `callable(a, b, c)` of the elements of three tensors; not if one requires grad."""
    if self.requires_grad or x.requires_grad or y.requires_grad:
        raise RuntimeError(
            "Can't call map2_() on Variable that requires grad. Use var.detach().map2_() instead."
        )
    parts = zip(
        self.reshape(-1).tolist(),
        x.expand_as(self).reshape(-1).tolist(),
        y.expand_as(self).reshape(-1).tolist(),
        strict=True,
    )
    made = self.new_tensor([callable(*part) for part in parts])
    self.copy_(made.reshape(self.shape))
    return self


@register(function=False)
def record_stream(self: Tensor, stream: Any) -> None:
    """Do nothing: there are no streams."""


def _grad_dtype(self: Tensor) -> Any:
    """The dtype of the gradient: the tensor's own."""
    return self.dtype


register("grad_dtype", function=False)(property(_grad_dtype))


@register(function=False)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `load_state_dict` stores for this parameter: a detached tensor."""
    return other.detach() if assign else self.detach().copy_(other)


__all__ = ["get_autocast_dtype", "set_default_device"]
