"""`torch.amp`: mixed precision, which changes nothing here, and says so once.

NumPy computes in half precision no faster than in single. Scripts written for it run in the
dtypes of their tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from tapegrad._core.types import Function
from tapegrad._warning import warn
from tapegrad.torch.optim.optimizer import Optimizer

_SAID: set[str] = set()


def say_once(name: str, what: str) -> None:
    """Warn at the first call only that a name has no effect."""
    if name not in _SAID:
        _SAID.add(name)
        warn(f"{name} has no effect: {what}")


class autocast:
    """Context manager and decorator that changes nothing: operations keep their dtypes.

    Parameters
    ----------
    device_type : str, default 'cpu'
        The kind of device.
    dtype : dtype, optional
        PyTorch's parameter, which changes nothing.
    enabled : bool, default True
        Whether it says that it changes nothing.
    cache_enabled : bool, optional
        PyTorch's parameter, which changes nothing.

    Raises
    ------
    ValueError
        If `device_type` is no str.

    Warns
    -----
    UserWarning
        The first time that it is enabled.

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
            raise ValueError(  # noqa: TRY004 - PyTorch's
                f"Expected `device_type` of type `str`, got: `{type(device_type)}`"
            )
        self.device = device_type
        self.fast_dtype = dtype
        if enabled:
            say_once("torch.autocast", "operations are computed in the dtypes of their tensors.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        """The function, which runs as it is."""

        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return within


class GradScaler:
    """Scales nothing: gradients of single precision do not vanish as those of half do.

    Parameters
    ----------
    device : str, default 'cuda'
        PyTorch's parameter, which changes nothing.
    init_scale : float, default 65536.0
        The same.
    growth_factor : float, default 2.0
        The same.
    backoff_factor : float, default 0.5
        The same.
    growth_interval : int, default 2000
        The same.
    enabled : bool, default True
        Whether it says that it changes nothing.

    Warns
    -----
    UserWarning
        The first time that it is enabled.

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

        Returns
        -------
        bool
            False.
        """
        return False

    def scale(self, outputs: Any) -> Any:
        """The outputs themselves.

        Parameters
        ----------
        outputs : Tensor or iterable of Tensors
            The losses.

        Returns
        -------
        Tensor or iterable of Tensors
            The same object.
        """
        return outputs

    def unscale_(self, optimizer: Optimizer) -> None:
        """Do nothing.

        Parameters
        ----------
        optimizer : Optimizer
            PyTorch's parameter.
        """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(*args, **kwargs)`.

        Parameters
        ----------
        optimizer : Optimizer
            The optimizer.
        *args : object
            What its `step` takes.
        **kwargs : object
            The same by name.

        Returns
        -------
        object
            What `step` returned.
        """
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Do nothing.

        Parameters
        ----------
        new_scale : float or Tensor, optional
            PyTorch's parameter.
        """

    def get_scale(self) -> float:
        """1.

        Returns
        -------
        float
            The factor of `scale`.
        """
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """An empty dict.

        Returns
        -------
        dict
            There is no state.
        """
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Do nothing.

        Parameters
        ----------
        state_dict : dict
            PyTorch's parameter.
        """


def custom_fwd(fwd: Function | None = None, **_: Any) -> Any:
    """Decorate the forward of a Function, which stays the same.

    Parameters
    ----------
    fwd : callable, optional
        The forward; without it, what is returned decorates one.
    **_ : object
        Not looked at, as `cast_inputs`.

    Returns
    -------
    callable
        The forward itself.

    >>> torch.amp.custom_fwd(device_type="cuda")(abs) is abs
    True
    """
    return fwd if fwd is not None else _identity


def custom_bwd(bwd: Function | None = None, **_: Any) -> Any:
    """Decorate the backward of a Function, which stays the same.

    Parameters
    ----------
    bwd : callable, optional
        The backward; without it, what is returned decorates one.
    **_ : object
        Not looked at, as `cast_inputs`.

    Returns
    -------
    callable
        The backward itself.

    >>> torch.amp.custom_bwd(device_type="cuda")(abs) is abs
    True
    """
    return bwd if bwd is not None else _identity


def _identity(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def is_autocast_available(device_type: str) -> bool:
    """Whether operations can be cast to a smaller dtype: never.

    Parameters
    ----------
    device_type : str
        Not looked at.

    Returns
    -------
    bool
        False.

    >>> torch.amp.is_autocast_available("cuda")
    False
    """
    return False


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def __dir__() -> list[str]:
    return __all__
