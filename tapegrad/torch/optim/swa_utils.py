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
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.optim.lr_scheduler._scheduler import LRScheduler, Rate, for_groups
from tapegrad.torch.optim.optimizer import Optimizer

Average = Callable[[Tensor, Tensor, Any], Tensor]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The exponential moving average, as a function for `AveragedModel(avg_fn=)`.

    decay: The factor on the average, between 0 and 1.
    -> callable: A function of the average, the model's parameter, and the number averaged so far.
    ValueError: For another `decay`.

    >>> average = torch.optim.swa_utils.get_ema_avg_fn(0.9)
    >>> average(torch.tensor(1.0), torch.tensor(2.0), 1)
    tensor(1.1000)
    """
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        made: Tensor = decay * ema_param + (1 - decay) * current_param
        return made

    return ema_update


def get_swa_avg_fn() -> Average:
    """The equal average, as a function for `AveragedModel(avg_fn=)`.

    -> callable: A function of the average, the model's parameter, and the number averaged so far.

    >>> average = torch.optim.swa_utils.get_swa_avg_fn()
    >>> average(torch.tensor(1.0), torch.tensor(2.0), 1)
    tensor(1.5000)
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        made: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
        return made

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """The exponential moving average of lists, for `AveragedModel(multi_avg_fn=)`.

    decay: The factor on the averages, between 0 and 1.
    -> callable: A function of lists of averages, which it changes in place, of parameters, and the
        number averaged so far.
    ValueError: For another `decay`.

    >>> averages = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)(averages, [torch.tensor(2.0)], 1)
    >>> averages
    [tensor(1.1000)]
    """
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """The equal average of lists, for `AveragedModel(multi_avg_fn=)`.

    -> callable: A function of lists of averages, which it changes in place, of parameters, and the
        number averaged so far.

    >>> averages = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(averages, [torch.tensor(2.0)], 1)
    >>> averages
    [tensor(1.5000)]
    """
    return _of_lists(get_swa_avg_fn())


def _of_lists(average: Average) -> Callable[..., None]:
    @no_grad()
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        for kept, given in zip(averaged, current, strict=True):
            overwrite(kept, average(kept, given, num_averaged))

    return update


class AveragedModel(Module):
    """A copy of a model, whose parameters are averages.

    model: The model.
    device (device): The device of the copy, the CPU.
    avg_fn (callable): The new average from the old one, the model's parameter and the number
        averaged so far; the equal average unless given.
    multi_avg_fn (callable): The same in place, for lists.
    use_buffers: Average buffers, too; otherwise they are the model's.
    AssertionError: For both functions.
    Notes: P. Izmailov and others, Averaging weights leads to wider optima and better
        generalization (2018).

    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in [1.0, 2.0]:
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight
    Parameter containing:
    tensor([[1.5000]], requires_grad=True)
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
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Output of the averaged model.

        *args: What the model is called with.
        **kwargs: What the model is called with, by name.
        -> object: What the averaged model returns.
        """
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take a model's parameters into the averages.

        model: A model of the same parameters.
        """
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

    loader (iterable): It gives inputs, or tuples and lists of which they are the first.
    model: The model, which is called with each.
    device (device): Where inputs are moved to.

    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
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
    """The rate goes to `swa_lr` in some epochs, and stays there.

    swa_lr (float or list of float): The last rate, or one for each group.
    anneal_epochs: In how many epochs it gets there.
    anneal_strategy ({"cos", "linear"}): Along what the rate goes: half a period of a cosine, or a
        line.
    ValueError: For another strategy, for epochs below 0, and for a list of another length.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.5]
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
        """The rates of the groups at the present step, from those before.

        -> list: One for each group.
        """
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
__dir__ = __all__.copy
