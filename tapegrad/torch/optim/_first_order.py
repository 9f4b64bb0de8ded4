"""Optimizers that move each parameter by its own gradient: the form of their step.

Knows how a rule of NumPy code is run on arrays in place, or differentiably. Must not know a rule.

A rule changes the parameter's array and those of its state in place. On plain arrays that is the
whole step. Where `differentiable=True` the same code runs on copies that the graph traces, whose
results are then written to the tensors: so a step can be differentiated, also by its settings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad._core.values import in_trace
from tapegrad.torch._dtypes import FLOAT32, default_float
from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._tensor.tensor import Tensor, array_of, of_array, of_value
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch.optim.optimizer import Optimizer, ParamsT

# Where PyTorch captures graphs of calls; none of these devices is here.
_CAPTURING = ["cuda", "xpu", "hpu", "privateuseone", "xla"]
_COUNTS = ("step", "mu")  # of a state: depend on no setting that is differentiated
# Settings that saved states of older programs may lack, and what holds where they are absent.
_LATER_SETTINGS: dict[str, Any] = {
    "amsgrad": False,
    "capturable": False,
    "decoupled_weight_decay": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "nesterov": False,
}
_WORDS = {"lr": "learning rate", "eps": "epsilon value"}  # of settings, in errors
_EXAMPLE = """
>>> w = torch.tensor([1.0], requires_grad=True)
>>> optimizer = torch.optim.{call}
>>> (w**2).sum().backward()
>>> optimizer.step()
>>> w
tensor([{result}], requires_grad=True)
"""
Kind = TypeVar("Kind", bound=type)
State = dict[str, Any]
Settings = dict[str, Any]


def stepped(call: str, result: str) -> Callable[[Kind], Kind]:
    """Let the docstring of an optimizer end with a step from 1, along the slope of the square.

    call: how it is made. result: what 1 becomes.
    """

    def decorate(kind: Kind) -> Kind:
        text = _EXAMPLE.format(call=call, result=result)
        kind.__doc__ = f"{inspect.cleandoc(kind.__doc__ or '')}\n{text}"
        return kind

    return decorate


class FirstOrder(Optimizer):
    """An optimizer with a rule for a parameter, its gradient, and its state.

    A subclass names its settings; its constructor, whose arguments they are, passes `locals()`.
    """

    later_settings: ClassVar[Settings] = _LATER_SETTINGS
    _settings: ClassVar[str]  # in the order in which a group has them
    _not_negative: ClassVar[tuple[str, ...]] = ()  # settings that must not be below zero
    _takes_nan: ClassVar[bool] = False  # whether a setting may be NaN
    _averages: ClassVar[tuple[str, ...]] = ()  # parts of the state that begin with zeros
    _decays: ClassVar[bool] = True  # whether the weight decay is that of `decayed`

    def __init__(self, params: ParamsT, arguments: dict[str, Any]) -> None:
        settings = {name: arguments[name] for name in self._settings.split()}
        words = {"takes_nan": self._takes_nan}
        require_rate(settings["lr"], **words)
        for name in self._not_negative:
            require_not_negative(settings[name], _WORDS.get(name, f"{name} value"), **words)
        if "betas" in settings:
            require_betas(settings["betas"])
        super().__init__(params, settings)
        if settings.get("fused"):
            require_one_kind(settings)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, absent in self.later_settings.items():
                if name in self.defaults:
                    group.setdefault(name, absent)

    def _begin(self, param: Tensor, group: Settings) -> State:
        """The state of a parameter before its first step: no steps yet, and averages of zero."""
        return {"step": zero_count(group), **zeros(param, *self._averages)}

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array in place, and the arrays in `known`, by a gradient.

        The step is counted, and the weight decay added to the gradient, if `_decays`.
        """
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient.

        -> object: The result of the closure, None without one.
        AssertionError: For `capturable=True`.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with silence():
            for group in self.param_groups:
                self._step_of(group)
        return loss

    def _step_of(self, group: Settings) -> None:
        """Move the parameters of a group."""
        require_no_capture(group)
        settings = group if group.get("differentiable") else _numbers(group)
        for param in group["params"]:
            gradient = param._grad
            if gradient is None:
                continue
            state = self.state.get(param) or self._begin(param, group)
            if group.get("differentiable"):
                self._move_on_graph(param, gradient, state, group)
            else:
                self._move_in_place(param, gradient, state, settings)
            if state:
                self.state[param] = state

    def _move_in_place(
        self, param: Tensor, gradient: Tensor, state: State, settings: Settings
    ) -> None:
        """A step on the arrays themselves, which counts as one write.

        On bfloat16 it is computed in float32, then rounded, the state as well.
        """
        rounded = param._value.dtype.kind == "V"
        plain = _single if rounded else as_real
        known = {
            name: plain(held._value) if isinstance(held, Tensor) else held
            for name, held in state.items()
        }
        value, step = plain(param._value), plain(gradient._value)
        step = -step if settings.get("maximize") else step
        if "step" in known:
            known["step"] += 1
        step = decayed(value, step, settings) if self._decays else step
        self._move(value, step, known, settings)
        for name, held in known.items():
            if state.get(name) is None:
                state[name] = of_value(_as_kind(held, param._value))
            elif rounded and isinstance(held, np.ndarray):
                state[name]._value[...] = held
        if rounded:
            param._value[...] = value
        count_write(param)

    def _move_on_graph(
        self, param: Tensor, gradient: Tensor, state: State, group: Settings
    ) -> None:
        """A step that is differentiated; RuntimeError for a leaf that requires grad."""
        settings = {name: _array(held) for name, held in group.items() if name != "params"}
        step = array_of(gradient)
        if group["maximize"]:
            step = -step
        held = {name: _array(part) for name, part in state.items() if part is not None}
        sources = [
            array_of(param),
            step,
            *held.values(),
            *settings.values(),
            *settings.get("betas", ()),
        ]
        traced = next(filter(in_trace, sources), None)
        value = _writable(array_of(param), traced)
        known = {name: _writable(part, traced) for name, part in held.items()}
        known.update({name: held[name].copy() for name in _COUNTS if name in held})
        if "step" in known:
            known["step"] += 1
        step = decayed(value, step, settings) if self._decays else step
        self._move(value, step, known, settings)
        overwrite(param, of_array(value))
        state.update({name: of_array(part) for name, part in known.items()})


def _single(array: Value) -> Value:
    """bfloat16 as float32; anything else itself."""
    return array.astype(FLOAT32) if array.dtype.kind == "V" else array


def _array(held: Any) -> Any:
    """A tensor, or those in a tuple, as arrays: traced ones where a step is to be logged."""
    if isinstance(held, tuple):
        return tuple(map(_array, held))
    return array_of(held) if isinstance(held, Tensor) else held


def _writable(array: Value, traced: Value | None) -> Value:
    """A copy that a rule may write to, traced if anything is: only so can it hold the results."""
    made = array.copy()
    return made if traced is None or in_trace(made) else np.array(made, like=traced)


def _as_kind(array: Value, other: Value) -> Value:
    """Real pairs as the complex numbers that they were made from; float32 as bfloat16."""
    if other.dtype.kind == "V":
        return array.astype(other.dtype)
    return array.view(other.dtype) if other.dtype.kind == "c" else array


def _numbers(group: Settings) -> dict[str, Any]:
    """The settings of a group, of which some may be tensors, as numbers."""
    return {
        name: number_of(held) if isinstance(held, Tensor) else held for name, held in group.items()
    }


def require_no_capture(group: Settings) -> None:
    """Raise AssertionError for `capturable=True`: PyTorch has it for accelerators alone."""
    if group.get("capturable"):
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: "
            f"{_CAPTURING}."
        )


def zero_count(group: Settings) -> Tensor:
    """The count of steps before the first."""
    kind = FLOAT32 if group.get("fused") else default_float()
    return of_value(np.zeros((), kind))


def one() -> Tensor:
    """A running product before its first factor."""
    return of_value(np.ones((), default_float()))


def zeros(param: Tensor, *names: str) -> State:
    """Names of a state, each with zeros as many as a parameter has numbers."""
    return {name: of_value(np.zeros_like(param._value)) for name in names}


def exactly(held: Value) -> Any:
    """A number of a state in double precision."""
    return held.item()


def decayed(value: Value, gradient: Value, group: Settings) -> Value:
    """A gradient, to which the parameter was added times the weight decay.

    Where that is decoupled it scales the parameter instead, in place.
    """
    decay = group.get("weight_decay", 0)
    if isinstance(decay, (int, float)) and decay == 0:  # `is_set`, written out
        return gradient
    if group.get("decoupled_weight_decay"):
        value *= 1 - group["lr"] * decay
        return gradient
    return gradient + decay * value


def is_set(setting: Any) -> bool:
    """Whether a setting changes anything; a traced one, which may be differentiated, does."""
    return not isinstance(setting, (int, float)) or setting != 0


def number_of(setting: float | Tensor) -> Any:
    """A setting that may be a tensor, as a number."""
    return setting._value.item() if isinstance(setting, Tensor) else setting


def require_not_negative(value: float | Tensor, what: str, *, takes_nan: bool = False) -> None:
    """Raise ValueError for a setting below zero, or NaN."""
    number = number_of(value)
    if number < 0.0 if takes_nan else not number >= 0.0:
        raise ValueError(f"Invalid {what}: {value}")


def require(holds: Any, what: str, value: Any) -> None:
    """Raise ValueError for a setting of which something does not hold."""
    if not holds:
        raise ValueError(f"{what} but is: {value}")


def require_rate(lr: float | Tensor, *, takes_nan: bool = False) -> None:
    """Raise ValueError for a learning rate below zero, NaN, or of several numbers."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    require_not_negative(lr, "learning rate", takes_nan=takes_nan)


def require_betas(betas: tuple[Any, Any]) -> None:
    """Raise ValueError for factors outside of [0, 1)."""
    for place in (0, 1):
        beta = betas[place]
        if not 0 <= number_of(beta) < 1:
            raise ValueError(f"Invalid beta parameter at index {place}: {beta}")


def require_one_kind(settings: Settings) -> None:
    """Raise RuntimeError where `fused` meets what excludes it."""
    if settings["differentiable"]:
        raise RuntimeError("`fused` does not support `differentiable`")
    if settings["foreach"]:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def as_real(array: Value) -> Value:
    """Complex numbers as pairs of real ones, in the same memory."""
    return array.view(np.finfo(array.dtype).dtype) if array.dtype.kind == "c" else array
