"""`torch.optim.swa_utils`: averages of a model's parameters over a training.

P. Izmailov et al. (2018), Averaging weights leads to wider optima and better generalization.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.create.creation import zeros
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch._types import Device
from tapegrad.torch.nn._module import Module
from tapegrad.torch.optim.lr_scheduler._scheduler import LRScheduler, Rate, for_groups
from tapegrad.torch.optim.optimizer import Optimizer

Average = Callable[[Tensor, Tensor, Any], Tensor]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The exponential moving average, as a function for `AveragedModel(avg_fn=)`."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        made: Tensor = decay * ema_param + (1 - decay) * current_param
        return made

    return ema_update


def get_swa_avg_fn() -> Average:
    """The equal average, as a function for `AveragedModel(avg_fn=)`."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        made: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
        return made

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """The exponential moving average of lists, for `AveragedModel(multi_avg_fn=)`."""
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """The equal average of lists, for `AveragedModel(multi_avg_fn=)`."""
    return _of_lists(get_swa_avg_fn())


def _of_lists(average: Average) -> Callable[..., None]:
    @no_grad()
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        for kept, given in zip(averaged, current, strict=True):
            overwrite(kept, average(kept, given, num_averaged))

    return update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


class AveragedModel(Module):
    """A copy of a model, whose parameters are averages: `update_parameters(model)` adds to them.

    avg_fn: gives the new average from the old one, the model's parameter and the number averaged
    so far; the equal average if not given. multi_avg_fn: the same in place for lists. use_buffers:
    average buffers, too; otherwise they are the model's.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", zeros((), dtype=int, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take a model's parameters into the averages."""
        kept, given = [], []
        own = self.module
        for averaged, current in zip(self._state_of(own), self._state_of(model), strict=True):
            kept.append(averaged.detach())
            given.append(current.detach())
        count = self.n_averaged.clone()
        if count == 0:
            _copy_all(kept, given)
        elif self.multi_avg_fn is not None:
            for some, others in _by_dtype(kept, given):
                self.multi_avg_fn(some, others, count)
        elif self.avg_fn is not None:
            for averaged, current in zip(kept, given, strict=True):
                overwrite(averaged, self.avg_fn(averaged, current, count))
        else:
            _of_lists(get_swa_avg_fn())(kept, given, count)
        if not self.use_buffers:
            _copy_all([b.detach() for b in own.buffers()], [b.detach() for b in model.buffers()])
        self.n_averaged += 1

    def _state_of(self, model: Module) -> Iterable[Tensor]:
        if self.use_buffers:
            return itertools.chain(model.parameters(), model.buffers())
        return model.parameters()


def _copy_all(kept: list[Tensor], given: list[Tensor]) -> None:
    for target, source in zip(kept, given, strict=True):
        overwrite(target, source)


def _by_dtype(kept: list[Tensor], given: list[Tensor]) -> Iterable[tuple[Any, Any]]:
    """Both lists, taken apart by dtype."""
    found: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
    for target, source in zip(kept, given, strict=True):
        some, others = found.setdefault(target.dtype, ([], []))
        some.append(target)
        others.append(source)
    return found.values()


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device = None) -> None:
    """Compute the running statistics of a model's batch normalisations anew, over a loader.

    loader: gives inputs, or tuples and lists of which they are the first.
    """
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        layer: Any = module
        if hasattr(layer, "reset_running_stats") and hasattr(layer, "momentum"):
            if any(kind.__name__ == "_InstanceNorm" for kind in type(layer).__mro__):
                continue
            layer.reset_running_stats()
            momenta[layer] = layer.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for layer in momenta:
        layer.momentum = None  # the equal average over all batches
    for batch in loader:
        given = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(given if device is None else given.to(device))
    for layer, momentum in momenta.items():
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes to swa_lr in anneal_epochs epochs, and stays there.

    swa_lr: a number, or a list with one a group. anneal_strategy: "cos" or "linear".
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = for_groups("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if anneal_epochs < 0 or not isinstance(anneal_epochs, int):
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at the present step, from those before."""
        self._warn_outside_of_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            rate, last = group["lr"], group["swa_lr"]
            first = last if before == 1 else (rate - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates

    def _share(self, step: int) -> float:
        """How much of the way to the last rate is done at a step."""
        share = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return share if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * share)) / 2


__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def __dir__() -> list[str]:
    return __all__
