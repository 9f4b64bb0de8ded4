"""The classes of `torch.amp`, which change nothing here, and say so once.

NumPy computes in half precision no faster than in single. Scripts written for it run in the
dtypes of their tensors. Functions of the namespace stand in `_absent/table.py`.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._absent.table import Block, say_once
from tapegrad.torch.optim.optimizer import Optimizer


class autocast(Block):
    """Context manager and decorator that changes nothing: operations keep their dtypes.

    device_type (str, default 'cpu'): The kind of device.
    dtype (dtype): PyTorch's parameter, which changes nothing.
    enabled: Whether it says that it changes nothing.
    cache_enabled: PyTorch's parameter, which changes nothing.
    ValueError: If `device_type` is no str.
    UserWarning: The first time that it is enabled.

    >>> with torch.autocast("cpu", enabled=False):
    ...     (torch.ones(2) * 2).dtype
    torch.float32
    """

    def __init__(
        self,
        device_type: str = "cpu",
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = dtype
        if enabled:
            say_once("torch.autocast", "operations are computed in the dtypes of their tensors.")


class GradScaler:
    """Scales nothing: gradients of single precision do not vanish as those of half do.

    device (str, default 'cuda'): PyTorch's parameter, which changes nothing.
    init_scale: The same.
    growth_factor: The same.
    backoff_factor: The same.
    growth_interval: The same.
    enabled: Whether it says that it changes nothing.
    UserWarning: The first time that it is enabled.

    >>> scaler = torch.amp.GradScaler(enabled=False)
    >>> scaler.scale(torch.tensor(2.0))
    tensor(2.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled:
            say_once("torch.amp.GradScaler", "losses and gradients are not scaled.")

    def is_enabled(self) -> bool:
        """False.

        -> bool: False.
        """
        return False

    def scale(self, outputs: Any) -> Any:
        """The outputs themselves.

        outputs (Tensor or iterable of Tensors): The losses.
        -> Tensor or iterable of Tensors: The same object.
        """
        return outputs

    def unscale_(self, optimizer: Optimizer) -> None:
        """Do nothing.

        optimizer: PyTorch's parameter.
        """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(*args, **kwargs)`.

        optimizer: The optimizer.
        *args: What its `step` takes.
        **kwargs: The same by name.
        -> object: What `step` returned.
        """
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Do nothing.

        new_scale (float or Tensor): PyTorch's parameter.
        """

    def get_scale(self) -> float:
        """1.

        -> float: The factor of `scale`.
        """
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """An empty dict.

        -> dict: There is no state.
        """
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Do nothing.

        state_dict (dict): PyTorch's parameter.
        """


def _older(kind: str) -> tuple[type[autocast], type[GradScaler]]:
    """The two classes of one kind of device, as `torch.cuda.amp` has them."""

    class autocast_of_kind(autocast):
        def __init__(
            self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True
        ) -> None:
            super().__init__(kind, dtype, enabled, cache_enabled)

    class scaler_of_kind(GradScaler):
        def __init__(
            self,
            init_scale: float = 2.0**16,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            super().__init__(
                kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled
            )

    for made, base in ((autocast_of_kind, autocast), (scaler_of_kind, GradScaler)):
        made.__name__ = made.__qualname__ = base.__name__
        made.__module__, made.__doc__ = f"tapegrad.torch.{kind}.amp", base.__doc__
    return autocast_of_kind, scaler_of_kind


cuda_autocast, cuda_scaler = _older("cuda")
cpu_autocast, cpu_scaler = _older("cpu")
