"""L-BFGS: J. Nocedal, S. Wright (2006), Numerical optimization, algorithms 7.4 and 7.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad.torch._graph.modes import enable_grad, no_grad
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.optim._first_order import as_real, number_of, require_rate
from tapegrad.torch.optim.optimizer import Optimizer, ParamsT


class LBFGS(Optimizer):
    """Quasi-Newton steps from the latest changes of the gradient, of one group of parameters.

    params (iterable): Leaf tensors, or pairs of a name and one.
    lr (float or Tensor): The length of a step, or the first that the line search tries.
    max_iter: The most iterations in a step.
    max_eval: The most evaluations in a step; 1.25 * max_iter unless given.
    tolerance_grad: A step ends where no element of the gradient is larger.
    tolerance_change: A step ends where neither loss nor parameters change more.
    history_size: How many changes are kept.
    line_search_fn ({"strong_wolfe"}): How the length is found; `lr` is the length unless given.
    ValueError: For a learning rate below 0, and for several groups.
    Notes: J. Nocedal, S. Wright, Numerical optimization (2006), algorithms 7.4 and 7.5.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(4., grad_fn=<SumBackward0>)
    >>> w
    tensor([3.], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        require_rate(lr)
        settings = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        found: list[Tensor] = self.param_groups[0]["params"]
        return found

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take up to `max_iter` iterations.

        closure (callable): Clears the gradients, computes the loss, runs backward and returns the
            loss; it is called several times, and has to be given.
        -> Tensor: The first loss.
        TypeError: Without a closure.
        RuntimeError: For another `line_search_fn` than "strong_wolfe".
        """
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        with no_grad(), silence():
            return self._iterate(enable_grad()(closure))

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        rate, least = number_of(group["lr"]), group["tolerance_change"]
        # The state of all belongs to the first parameter, whose dtype it has.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, gradient = _number(first_loss), self._flat_gradient()
        evaluations = 1
        state["func_evals"] += 1
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        direction, length = _array(state.get("d")), state.get("t")
        earlier, earlier_loss = _array(state.get("prev_flat_grad")), state.get("prev_loss")
        kept = {name: state.get(name) for name in ("old_dirs", "old_stps", "ro", "H_diag")}
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = -gradient
                kept = {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
                length = min(1.0, float(1 / np.abs(gradient).sum())) * rate
            else:
                self._remember(kept, gradient - earlier, direction * length)
                weights = state.setdefault("al", [None] * group["history_size"])
                direction = _quasi_newton(kept, gradient, weights)
                length = rate
            earlier, earlier_loss = gradient.copy(), loss
            slope = gradient.dot(direction)
            if slope > -least:
                break
            used = 0
            if group["line_search_fn"] is not None:
                start, most = (loss, gradient, slope), group["max_eval"] - evaluations
                found = self._searched(closure, direction, length, start, most)
                loss, gradient, length, used = found
            self._move(length, direction)
            if group["line_search_fn"] is None and iteration != group["max_iter"]:
                loss, gradient, used = _number(closure()), self._flat_gradient(), 1
            evaluations += used
            state["func_evals"] += used
            if (
                evaluations >= group["max_eval"]
                or _largest(gradient) <= group["tolerance_grad"]
                or _largest(direction * length) <= least
                or abs(loss - earlier_loss) < least
            ):
                break
        state.update(
            d=of_value(direction),
            t=length,
            **kept,
            prev_flat_grad=None if earlier is None else of_value(earlier),
            prev_loss=earlier_loss,
        )
        return first_loss

    def _searched(
        self, closure: Callable[[], Any], direction: Value, length: float, start: Any, most: int
    ) -> tuple[Any, Any, float, int]:
        """The loss and gradient where a line search ends, its step, and the calls that it made.

        start: the loss, the gradient and the slope before it. most: the most calls.
        """
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        # Here, because the package is slow to import.
        from tapegrad.optimize._strong_wolfe import strong_wolfe

        evaluate = self._evaluation(closure, direction)
        return strong_wolfe(evaluate, length, start, _largest(direction), most)

    def _remember(self, kept: dict[str, Any], change: Value, moved: Value) -> None:
        """Keep a change of the gradient and its step, if the curvature is positive."""
        curvature = change.dot(moved)
        if curvature <= 1e-10:
            return
        if len(kept["old_dirs"]) == self.param_groups[0]["history_size"]:
            for name in ("old_dirs", "old_stps", "ro"):
                kept[name].pop(0)
        kept["old_dirs"].append(of_value(change))
        kept["old_stps"].append(of_value(moved))
        kept["ro"].append(of_value(1 / curvature))
        kept["H_diag"] = of_value(curvature / change.dot(change))

    def _evaluation(self, closure: Callable[[], Any], direction: Value) -> Any:
        """The loss, the gradient and the slope, as a function of the length of the step."""
        start = [param._value.copy() for param in self._params]

        def evaluate(length: Any) -> tuple[float, Value, Any]:
            self._move(length, direction)
            loss, gradient = _number(closure()), self._flat_gradient()
            for param, value in zip(self._params, start, strict=True):
                param._value[...] = value
                count_write(param)
            return loss, gradient, gradient.dot(direction)

        return evaluate

    def _flat_gradient(self) -> Value:
        """The gradients of all parameters as one vector of real numbers."""
        parts = []
        for param in self._params:
            gradient = param._grad
            value = np.zeros_like(param._value) if gradient is None else plain_of(gradient)
            parts.append(as_real(np.ascontiguousarray(value).reshape(-1)))
        return np.concatenate(parts)

    def _move(self, length: Any, direction: Value) -> None:
        """Add a vector times a length to the parameters."""
        start = 0
        for param in self._params:
            value = as_real(param._value) if param._value.shape else param._value.reshape(1)
            value = as_real(value)
            part = direction[start : start + value.size].reshape(value.shape)
            value += (part * length).astype(value.dtype, copy=False)
            start += value.size
            count_write(param)


def _quasi_newton(kept: dict[str, Any], gradient: Value, weights: list[Any]) -> Value:
    """Minus the inverse Hessian, as the kept changes tell it, times the gradient.

    weights: of the changes, filled here.
    """
    pairs = list(
        zip(
            *([_array(part) for part in kept[name]] for name in ("old_dirs", "old_stps", "ro")),
            strict=True,
        )
    )
    found = -gradient
    for place in range(len(pairs) - 1, -1, -1):
        change, moved, inverse = pairs[place]
        weight = moved.dot(found) * inverse
        weights[place] = of_value(weight)
        found -= weight * change
    found = found * _array(kept["H_diag"])
    for place, (change, moved, inverse) in enumerate(pairs):
        found += moved * (_array(weights[place]) - change.dot(found) * inverse)
    return found


# --- Parts that programs import ------------------------------------------------------------------


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Any], Any],
    x: Any,
    t: Any,
    d: Any,
    f: Any,
    g: Any,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, Any, Any, int]:
    """The loss, gradient and length where the line search ends, and its evaluations."""
    from tapegrad.optimize._strong_wolfe import strong_wolfe

    def evaluate(length: Any) -> tuple[Any, Any, Any]:
        loss, gradient = obj_func(x, length, d)
        return loss, gradient, gradient.dot(d)

    constants = c1, c2, tolerance_change
    return strong_wolfe(evaluate, t, (f, g, gtd), d.abs().max(), max_ls, constants)


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None
) -> Any:
    """Where the cubic polynomial through two points with slopes is least."""
    from tapegrad.optimize._strong_wolfe import Point, interpolated

    return interpolated(Point(x1, f1, f1, g1), Point(x2, f2, f2, g2), bounds)


def _number(loss: Any) -> float:
    return float(loss.detach() if isinstance(loss, Tensor) else loss)


def _array(kept: Any) -> Any:
    return kept._value if isinstance(kept, Tensor) else kept


def _largest(array: Value) -> Any:
    return np.abs(array).max()


__all__ = ["LBFGS"]
