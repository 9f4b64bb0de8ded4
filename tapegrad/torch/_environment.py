"""PyTorch's environment for scripts: autocast, devices, warnings, symbolic numbers.

Knows what has no effect here. Must not know operations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.torch import _dtypes
from tapegrad.torch._docstrings.sections import told
from tapegrad.torch._ops.declare import register
from tapegrad.torch._settings import (
    are_deterministic_algorithms_enabled,
    use_deterministic_algorithms,
    warns_only,
)
from tapegrad.torch._tensor.tensor import Tensor

_CONSTANT = """\
{doc}

Parameters
----------
*_args : object
    PyTorch's parameters, which change nothing.
**_words : object
    The same by name.

Returns
-------
{kind}
    {meaning}.

Examples
--------
>>> torch.{word}()
{shown}"""


def _constant(word: str, value: Any, doc: str) -> None:
    def call(*_args: Any, **_words: Any) -> Any:
        return value

    call.__name__ = call.__qualname__ = word
    call.__doc__ = _CONSTANT.format(
        doc=doc,
        kind=type(value).__name__,
        meaning=str(value).capitalize() if isinstance(value, bool) else "The same each time",
        word=word,
        shown="" if value is None else repr(value),
    )
    register(word, method=False, module=__name__)(call)


# --- Autocast, which changes nothing ------------------------------------------------------------

_BRAIN, _HALF = _dtypes.BRAIN, _dtypes.BY_NAME["float16"]
_dtypes_of: dict[str, _dtypes.dtype] = {"cpu": _BRAIN, "cuda": _HALF, "ipu": _HALF, "xla": _BRAIN}
_enabled: dict[str, bool] = {}
_state: dict[str, Any] = {"cache": True, "nesting": 0, "always": False}


@register(method=False)
def get_autocast_dtype(device_type: str) -> _dtypes.dtype:
    """The dtype that was set for autocast on a device.

    Parameters
    ----------
    device_type : str
        The kind of device, as "cpu".

    Returns
    -------
    dtype
        The dtype.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _dtypes_of.get(device_type, _HALF)


@register(method=False)
def set_autocast_dtype(device_type: str, dtype: _dtypes.dtype) -> None:
    """Note a dtype for autocast, which changes nothing here.

    Parameters
    ----------
    device_type : str
        The kind of device, as "cpu".
    dtype : dtype
        The dtype.

    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    _dtypes_of[device_type] = dtype


@register(method=False)
def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """The last setting for a device.

    Parameters
    ----------
    device_type : str, default 'cuda'
        The kind of device, as "cpu".

    >>> torch.is_autocast_enabled("cpu")
    False
    """
    return _enabled.get(device_type, False)


@register(method=False)
def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Note whether autocast is on, which changes nothing here.

    Parameters
    ----------
    device_type : str or bool
        The kind of device; or the setting, of "cuda".
    enabled : bool, optional
        The setting.

    >>> torch.set_autocast_enabled("cpu", False)
    """
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

    known = _dtypes_of[kind]
    for name, call, (given, result), returns in (
        (f"get_autocast_{word}_dtype", get, ("()", str(known)), "dtype\n    The dtype."),
        (f"set_autocast_{word}_dtype", put, (f"({known})", ""), ""),
        (f"is_autocast_{word}_enabled", asked, ("()", "False"), ""),
        (f"set_autocast_{word}_enabled", switch, ("(False)", ""), ""),
    ):
        if word == "gpu" and "enabled" in name:
            continue
        call.__name__ = call.__qualname__ = name
        call.__doc__ = told(
            f"The older form of the function of a device type, for {kind!r}.",
            f"{name}{given}",
            result,
            returns=returns,
        )
        register(name, method=False)(call)


for _kind, _word in (("cpu", "cpu"), ("cuda", "gpu"), ("ipu", "ipu"), ("xla", "xla")):
    _declare_device(_kind, _word)


@register(method=False)
def is_autocast_cache_enabled() -> bool:
    """The last setting; True at first.

    >>> torch.is_autocast_cache_enabled()
    True
    """
    return bool(_state["cache"])


@register(method=False)
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Note a setting of autocast, which changes nothing here.

    Parameters
    ----------
    enabled : bool
        The setting.

    >>> torch.set_autocast_cache_enabled(True)
    """
    _state["cache"] = bool(enabled)


@register(method=False)
def autocast_increment_nesting() -> int:
    """Count a block of autocast that begins.

    Returns
    -------
    int
        How many blocks are open.

    >>> torch.autocast_increment_nesting()
    1
    >>> torch.autocast_decrement_nesting()
    0
    """
    _state["nesting"] += 1
    return int(_state["nesting"])


@register(method=False)
def autocast_decrement_nesting() -> int:
    """Count a block of autocast that ends.

    Returns
    -------
    int
        How many blocks are open.

    >>> torch.autocast_increment_nesting()
    1
    >>> torch.autocast_decrement_nesting()
    0
    """
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


@register("is_distributed", function=False)
def _is_distributed(self: Tensor) -> bool:
    """False."""
    return False


@register(method=False)
def set_default_device(device: Any = None) -> None:
    """Check that the device is the CPU, which all tensors are on.

    Parameters
    ----------
    device : device or str, optional
        The device.

    Raises
    ------
    RuntimeError
        If it is not the CPU.

    >>> torch.set_default_device("cpu")
    """
    _dtypes.device("cpu" if device is None else device)


@register(method=False)
def is_storage(obj: object) -> bool:
    """Whether an object is the storage of a tensor.

    Parameters
    ----------
    obj : object
        Any object.

    >>> torch.is_storage(torch.ones(2).untyped_storage())
    True
    """
    return type(obj).__name__ in ("Storage", "UntypedStorage", "TypedStorage")


@register(method=False)
def set_warn_always(b: bool) -> None:
    """Note whether warnings are to come each time; Python's filters decide.

    Parameters
    ----------
    b : bool
        The setting.

    >>> torch.set_warn_always(False)
    """
    _state["always"] = bool(b)


@register(method=False)
def is_warn_always_enabled() -> bool:
    """The last setting.

    >>> torch.is_warn_always_enabled()
    False
    """
    return bool(_state["always"])


@register(method=False)
def get_deterministic_debug_mode() -> int:
    """The last setting, as a number: 0, 1 or 2.

    Returns
    -------
    int
        The mode.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return (1 if warns_only() else 2) if are_deterministic_algorithms_enabled() else 0


@register(method=False)
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Note a mode, "default", "warn" or "error": what is computed here is deterministic anyway.

    Parameters
    ----------
    debug_mode : int or str
        0, 1 or 2, or "default", "warn" or "error".

    >>> torch.set_deterministic_debug_mode("default")
    """
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
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


@register(method=False)
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The last `warn_only` of `use_deterministic_algorithms`.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return warns_only()


# --- Symbolic numbers, which are numbers here -------------------------------------------------


@register(method=False)
def sym_int(a: Any) -> int:
    """A number as an int.

    Parameters
    ----------
    a : number
        The number.

    Returns
    -------
    int
        The number, rounded towards zero.

    >>> torch.sym_int(2.0)
    2
    """
    return math.trunc(a)


@register(method=False)
def sym_float(a: Any) -> float:
    """A number as a float.

    Parameters
    ----------
    a : number
        The number.

    Returns
    -------
    float
        The number.

    >>> torch.sym_float(2)
    2.0
    """
    return float(a)


@register(method=False)
def sym_not(a: Any) -> bool:
    """The contrary of a truth value.

    Parameters
    ----------
    a : bool
        The truth value.

    >>> torch.sym_not(True)
    False
    """
    return not a


@register(method=False)
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` where b is true, else `f`.

    Parameters
    ----------
    b : bool
        The condition.
    t : object
        The one value.
    f : object
        The other value.

    Returns
    -------
    object
        One of them.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    return t if b else f


@register(method=False)
def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of numbers.

    Parameters
    ----------
    args : sequence of numbers
        The numbers.

    Returns
    -------
    number
        The sum.

    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


@register(method=False)
def sym_sqrt(a: Any) -> float:
    """The square root of a number.

    Parameters
    ----------
    a : number
        The number.

    Returns
    -------
    float
        The root.

    >>> torch.sym_sqrt(4.0)
    2.0
    """
    return math.sqrt(a)


def _greatest(a: Any, b: Any, choose: Callable[..., Any]) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return choose(float(a), float(b))
    return choose(a, b)


@register(method=False)
def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers, a float where one is.

    Parameters
    ----------
    a : number
        One number.
    b : number
        The other number.

    Returns
    -------
    number
        The greater one.

    >>> torch.sym_max(2, 3)
    3
    """
    return _greatest(a, b, max)


@register(method=False)
def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, a float where one is.

    Parameters
    ----------
    a : number
        One number.
    b : number
        The other number.

    Returns
    -------
    number
        The smaller one.

    >>> torch.sym_min(2, 3)
    2
    """
    return _greatest(a, b, min)


# --- Control flow -------------------------------------------------------------------------------


@register(method=False)
def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Sequence[Any] = ()) -> Any:
    """`true_fn(*operands)` where pred is true, else `false_fn(*operands)`: it runs at once.

    Parameters
    ----------
    pred : bool or Tensor
        The condition.
    true_fn : callable
        What is called if it holds.
    false_fn : callable
        What is called if not.
    operands : sequence, default ()
        The arguments of either.

    Returns
    -------
    object
        What the function returned.

    >>> torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.tensor(0.0),))
    tensor(0.)
    """
    return (true_fn if bool(pred) else false_fn)(*operands)


@register(method=False)
def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Sequence[Any]) -> Any:
    """`carried = body_fn(*carried)` while `cond_fn(*carried)` is true: it runs at once.

    Parameters
    ----------
    cond_fn : callable
        The condition, of all values that are carried.
    body_fn : callable
        What makes the next values of them, as a tuple.
    carried_inputs : sequence
        The first values.

    Returns
    -------
    tuple
        The last values.

    >>> torch.while_loop(lambda i: i < 3, lambda i: (i + 1,), (torch.tensor(0),))
    (tensor(3),)
    """
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
    """0: no dimension is sparse.

    Returns
    -------
    int
        0.
    """
    return 0


@register(function=False)
def dense_dim(self: Tensor) -> int:
    """The number of dimensions.

    Returns
    -------
    int
        Their number.
    """
    return len(self.shape)


@register(function=False)
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, which is dense; of another dtype where one is given.

    Parameters
    ----------
    masked_grad : bool, optional
        PyTorch's parameter, which changes nothing.

    Returns
    -------
    Tensor
        The tensor itself, or a new one.
    """
    return self if dtype is None else self.to(dtype)


_ORDERS = {
    _dtypes.channels_last: (0, 2, 3, 1),
    _dtypes.channels_last_3d: (0, 2, 3, 4, 1),
}


@register(function=False)
def dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, the outermost first.

    Parameters
    ----------
    ambiguity_check : bool or list of memory_formats, default False
        Whether an order that is not unique is an error; a list allows such a tensor that is in one
        of its memory formats alone.

    Returns
    -------
    tuple of ints
        The dimensions.

    Raises
    ------
    RuntimeError
        If the order is not unique, or the tensor is in none or several of the formats.
    TypeError
        If `ambiguity_check` is neither a bool nor a list of memory formats.
    """
    strides = self.stride()
    found = tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))
    asked: Any = ambiguity_check
    listed = asked if isinstance(asked, list) else []
    known = isinstance(asked, (bool, list))
    if not known or not all(isinstance(given, _dtypes.memory_format) for given in listed):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if asked is not False and _is_ambiguous(self):
        fitting = [given for given in listed if self.is_contiguous(memory_format=given)]
        if len(fitting) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
        if self.is_contiguous() and any(self.is_contiguous(memory_format=f) for f in _ORDERS):
            raise RuntimeError("The tensor does not have unique dim order.")
        return _ORDERS.get(fitting[0], tuple(range(len(strides))))
    return found


def _is_ambiguous(tensor: Tensor) -> bool:
    """Whether dimensions could change places without a change in memory."""
    steps = tensor.stride()
    return 1 in tensor.shape or any(a == b for a, b in itertools.pairwise(steps))


@register(function=False)
def reinforce(self: Tensor, reward: Any = None) -> None:
    """RuntimeError, as in PyTorch: use `torch.distributions`.

    Parameters
    ----------
    reward : object, optional
        PyTorch's parameter.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError("reinforce() was removed.\nUse torch.distributions instead.")


@register(function=False)
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Write `callable(a, b, c)` of the elements of three tensors; not if one requires grad.

    Parameters
    ----------
    x : Tensor
        The second tensor.
    y : Tensor
        The third one.
    callable : callable
        A function of three numbers.

    Returns
    -------
    Tensor
        This tensor itself.
    """
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
    """Do nothing: there are no streams.

    Parameters
    ----------
    stream : object
        PyTorch's parameter.
    """


def _grad_dtype(self: Tensor) -> Any:
    """The dtype of the gradient: the tensor's own."""
    return self.dtype


register("grad_dtype", function=False)(property(_grad_dtype))


@register(function=False)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Value that `load_state_dict` stores for this parameter: a detached tensor.

    Parameters
    ----------
    other : Tensor
        What was loaded.
    assign : bool, default False
        Whether the parameter becomes `other`, instead of getting its elements.

    Returns
    -------
    Tensor
        The tensor to store.
    """
    return other.detach() if assign else self.detach().copy_(other)


__all__ = ["get_autocast_dtype", "set_default_device"]
