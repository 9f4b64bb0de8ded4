"""`torch.utils.checkpoint`: a segment of a model keeps its inputs alone, and is computed anew.

T. Chen et al. (2016), Training deep nets with sublinear memory cost. Knows custom Functions, hooks
of saved tensors and the state of random numbers. Must not know models.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tapegrad._warning import warn
from tapegrad.torch import random
from tapegrad.torch._graph.modes import enable_grad, is_grad_enabled, no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd import backward
from tapegrad.torch.autograd.function import Function
from tapegrad.torch.autograd.graph import saved_tensors_hooks


class CheckpointError(RuntimeError):
    """The second computation of a segment did not do what the first did."""


class _Reentrant(Function):
    """Computes without history; its backward pass computes again, with it, and runs backward."""

    @staticmethod
    def forward(ctx: Any, function: Any, state: Any, *args: Any) -> Any:
        ctx.function, ctx.state = function, state
        ctx.places = [i for i, given in enumerate(args) if isinstance(given, Tensor)]
        ctx.args = [None if isinstance(given, Tensor) else given for given in args]
        ctx.save_for_backward(*(args[place] for place in ctx.places))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        args = list(ctx.args)
        for place, saved in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = saved.detach().requires_grad_(saved.requires_grad)
        with _drawing_again(ctx.state), enable_grad():
            made = ctx.function(*args)
        outputs = made if isinstance(made, tuple) else (made,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *(g.grad if isinstance(g, Tensor) else None for g in args))


class _Frame:
    """One call of a segment: what it saved, and what was computed again."""

    def __init__(self, again: Callable[[], None], check: bool) -> None:
        self.again = again
        self.check = check
        self.shapes: list[Any] = []  # of what the first computation saved
        self.found: dict[int, Tensor] | None = None

    def value(self, place: int) -> Tensor:
        """What was saved at a place, from a second computation."""
        if self.found is None or place not in self.found:
            self._compute()
        assert self.found is not None
        value = self.found.pop(place)
        if not self.found:
            self.found = None  # all are used: another backward pass computes anew
        return value

    def _compute(self) -> None:
        made: list[Tensor] = []

        def keep(tensor: Tensor) -> int:
            made.append(tensor.detach())
            return len(made) - 1

        # What the second computation saves is not read: its graph is dropped.
        with saved_tensors_hooks(keep, lambda place: made[place]), enable_grad():
            self.again()
        if self.check:
            _compare(self.shapes, [(x.shape, x.dtype) for x in made])
        self.found = dict(enumerate(made))


def _compare(first: list[Any], second: list[Any]) -> None:
    """Raise CheckpointError where two computations have saved other tensors."""
    if len(first) != len(second):
        raise CheckpointError(
            "torch.utils.checkpoint: A different number of tensors was saved during the original "
            "forward and recomputation.\nNumber of tensors saved during forward: "
            f"{len(first)}\nNumber of tensors saved during recomputation: {len(second)}."
        )
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        if one != other:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                "different metadata than during the forward pass.\ntensor at position "
                f"{place}:\nsaved metadata: {one}\nrecomputed metadata: {other}"
            )


class _Place:
    """Stands for a saved tensor in the graph."""

    __slots__ = ("frame", "number")

    def __init__(self, frame: _Frame, number: int) -> None:
        self.frame = frame
        self.number = number


@contextlib.contextmanager
def _drawing_again(state: Tensor | None) -> Iterator[None]:
    """Draw the random numbers that were drawn from a state on; then go on as before."""
    if state is None:
        yield
        return
    with random.fork_rng():
        random.set_rng_state(state)
        yield


def _nothing() -> tuple[Any, Any]:
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = _nothing,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """What a function gives, with its inputs kept alone: it runs again in the backward pass.

    use_reentrant: False keeps a graph whose saved tensors are computed again; True runs a backward
    pass within the backward pass, takes no keywords, and needs an input that requires grad.
    preserve_rng_state: the second run draws the same random numbers (True). context_fn: gives
    context managers for the first and the second run. determinism_check: "default" compares
    shapes and dtypes of both runs, "none" does not. debug, early_stop: change nothing.
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant and (context_fn is not _nothing or debug):
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    if determinism_check not in ("default", "none"):
        raise ValueError(
            "determinism_check should be one of ['default', 'none'], got " + determinism_check
        )
    state = random.get_rng_state() if preserve else None
    if use_reentrant:
        tensors = [given for given in args if isinstance(given, Tensor)]
        if is_grad_enabled() and tensors and not any(x.requires_grad for x in tensors):
            warn("None of the inputs have requires_grad=True. Gradients will be None")
        return _Reentrant.apply(function, state, *args)
    first, second = context_fn()
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)

    def again() -> None:
        with second, _drawing_again(state):
            function(*(_without_history(given) for given in args), **kwargs)

    frame = _Frame(again, determinism_check == "default")

    def keep(tensor: Tensor) -> _Place:
        frame.shapes.append((tensor.shape, tensor.dtype))
        return _Place(frame, len(frame.shapes) - 1)

    with saved_tensors_hooks(keep, lambda place: place.frame.value(place.number)), first:
        return function(*args, **kwargs)


def _without_history(given: Any) -> Any:
    """An input for the second run, which requires grad as the first one's did."""
    if not isinstance(given, Tensor):
        return given
    return given.detach().requires_grad_(given.requires_grad)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """What modules give, one after the other, in segments of which all but the last are kept so.

    functions: an nn.Sequential, or a list of modules or functions. segments: their number.
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. use_reentrant=False is recommended, but if you need to preserve "
            "the current default behavior, you can pass use_reentrant=True."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    children = getattr(functions, "children", None)
    listed = list(functions if children is None else children())

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for function in listed[start:end]:
                value = function(value)
            return value

        return forward

    size = len(listed) // segments
    end = size * (segments - 1)
    value = input
    for start in range(0, end, size or 1):
        value = checkpoint(
            run(start, start + size),
            value,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return run(end, len(listed))(value)


__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]


def __dir__() -> list[str]:
    return __all__
