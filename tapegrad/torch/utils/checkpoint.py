"""`torch.utils.checkpoint`: a segment of a model keeps its inputs alone, and is computed anew.

T. Chen et al. (2016), Training deep nets with sublinear memory cost. Knows custom Functions, hooks
of saved tensors and the state of random numbers. Must not know models.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from tapegrad._block import contextmanager
from tapegrad._warning import is_ours, warn
from tapegrad.torch import random
from tapegrad.torch._engine.backward_pass import PASS
from tapegrad.torch._graph.modes import enable_grad, is_grad_enabled, no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd import backward
from tapegrad.torch.autograd.function import Function
from tapegrad.torch.autograd.graph import saved_tensors_hooks

Result = TypeVar("Result")


class CheckpointError(RuntimeError):
    """The second computation of a segment did not do what the first did."""


class _Enough(Exception):  # noqa: N818 - ends a second computation, and is no error
    """All that the first computation saved was computed again."""


# The setting of all calls inside a `with`; None where each call tells.
_SET: dict[str, bool | None] = {"debug": None, "early_stop": None}

TIP = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint-debug mode globally.\n"
)
NO_INPUTS = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
    "`inputs` parameter to .backward(). To resolve this error, you can either set "
    "use_reentrant=False, or call .backward() without passing the `inputs` argument."
)
SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception "
    "raised during the checkpointed forward. This is not supported because checkpoint cannot "
    "return a value for a failed forward."
)
DETAILS = " Refer to docs for more details on the differences between the two variants."


@contextmanager
def _setting(name: str, value: bool | None) -> Iterator[None]:
    before = _SET[name]
    try:
        _SET[name] = value
        yield
    finally:
        _SET[name] = before


def set_checkpoint_early_stop(enable: bool) -> Any:
    """A context manager: whether second computations of calls in it end with what is needed.

    enable: What holds in place of `early_stop` of each call.
    -> context manager: For the calls of `checkpoint`.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(torch.exp, x, use_reentrant=False)
    >>> torch.autograd.grad(y, x)
    (tensor(7.3891),)
    """
    return _setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """A context manager: whether errors of calls in it tell where tensors were saved.

    enabled (bool or None): What holds in place of `debug` of each call; None for what each call
        says.
    -> context manager: For the calls of `checkpoint`.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with set_checkpoint_debug_enabled(True):
    ...     y = checkpoint(torch.exp, x, use_reentrant=False)
    >>> torch.autograd.grad(y, x)
    (tensor(7.3891),)
    """
    return _setting("debug", enabled)


class CheckpointFunction(Function):
    """Computes without history; its backward pass computes again, with it, and runs backward.

    `checkpoint` with `use_reentrant=True` applies it.

    *args, **kwargs: Ignored: a Function is not meant to have instances.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.utils.checkpoint import CheckpointFunction
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> CheckpointFunction.apply(torch.exp, None, x).backward()
    >>> x.grad
    tensor(7.3891)
    """

    @staticmethod
    def forward(ctx: Any, function: Any, state: Any, *args: Any) -> Any:
        """Output of the function.

        ctx (FunctionCtx): What keeps the arguments.
        state (Tensor or None): A state of random numbers for the second computation to begin with.
        *args: The arguments of the function.
        -> Tensor or tuple: Its results, without history.
        """
        ctx.function, ctx.state = function, state
        ctx.places = [i for i, given in enumerate(args) if isinstance(given, Tensor)]
        ctx.args = [None if isinstance(given, Tensor) else given for given in args]
        ctx.save_for_backward(*(args[place] for place in ctx.places))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the arguments.

        ctx (FunctionCtx): That of the forward.
        *grads (Tensor or None): The gradients of the outputs.
        -> tuple: A gradient or None for each argument of the forward.
        RuntimeError: In a pass for some inputs alone, and where no output requires grad.
        """
        running = PASS.get()
        if running is not None and running.wanted is not None:
            raise RuntimeError(NO_INPUTS)
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

    def __init__(self, again: Callable[[], None], check: bool, debug: bool, stop: bool) -> None:
        self.again, self.check, self.debug = again, check, debug
        self.stop = stop  # whether a second computation ends once all is there
        self.saved: list[dict[str, Any]] = []  # what is known of what the first one saved
        self.origins: list[str] = []  # the lines that did
        self.found: dict[int, Tensor] | None = None

    def keep(self, tensor: Tensor) -> _Place:
        """Note what the first computation saves."""
        self.saved.append(_metadata(tensor))
        if self.debug:
            self.origins.append(_line())
        return _Place(self, len(self.saved) - 1)

    def value(self, place: int) -> Tensor:
        """Tensor saved at a place, from a second computation."""
        if self.found is None or place not in self.found:
            self._compute()
        assert self.found is not None
        value = self.found.pop(place)
        if not self.found:
            self.found = None  # all are used: another backward pass computes anew
        return value

    def _compute(self) -> None:
        made: list[Tensor] = []
        origins: list[str] = []

        def keep(tensor: Tensor) -> int:
            if self.debug:
                origins.append(_line())
            made.append(tensor.detach())
            if len(made) > len(self.saved):
                raise self._error(
                    "trying to save more tensors during recomputation than during the original "
                    "forward pass.",
                    origins,
                )
            if self.stop and len(made) == len(self.saved):
                raise _Enough
            return len(made) - 1

        # Tensors that the second computation saves are not read: its graph is dropped.
        with (
            contextlib.suppress(_Enough),
            saved_tensors_hooks(keep, lambda place: made[place]),
            enable_grad(),
        ):
            self.again()
        self._compare(made, origins)
        self.found = dict(enumerate(made))

    def _compare(self, made: list[Tensor], origins: list[str]) -> None:
        """Raise CheckpointError where two computations have saved other tensors."""
        if len(made) != len(self.saved):
            raise self._error(
                "A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.saved)}\n"
                f"Number of tensors saved during recomputation: {len(made)}.",
                origins,
            )
        pairs = [(one, _metadata(other)) for one, other in zip(self.saved, made, strict=True)]
        wrong = [
            f"tensor at position {place}:\nsaved metadata: {one}\nrecomputed metadata: {other}\n"
            for place, (one, other) in enumerate(pairs)
            if one != other
        ]
        if wrong and self.check:
            raise self._error(
                "Recomputed values for the following tensors have different metadata than during "
                "the forward pass.\n" + "".join(wrong) + ".",
                origins,
            )

    def _error(self, words: str, origins: list[str]) -> CheckpointError:
        text = f"torch.utils.checkpoint: {words}\n"
        if not self.debug:
            return CheckpointError(text + TIP)
        lists = [("the original forward", self.origins), ("recomputation", origins)]
        for what, lines in lists:
            text += f"\nTensors saved during {what}:\n" + "".join(f"  {x}\n" for x in lines)
        return CheckpointError(text)


def _metadata(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def _line() -> str:
    """The line of the program that is running."""
    for frame in reversed(traceback.extract_stack()):
        if not is_ours(frame.filename):
            return f"{frame.filename}:{frame.lineno}:{frame.name}: {frame.line}"
    return "?"


class _Place:
    """Stands for a saved tensor in the graph."""

    __slots__ = ("frame", "number")

    def __init__(self, frame: _Frame, number: int) -> None:
        self.frame, self.number = frame, number


@contextmanager
def _drawing_again(state: Tensor | None) -> Iterator[None]:
    """Draw the random numbers that were drawn from a state on; then go on as before."""
    if state is None:
        yield
        return
    with random.fork_rng():
        random.set_rng_state(state)
        yield


def noop_context_fn() -> tuple[Any, Any]:
    """Context managers that do nothing, for the first and the second run.

    -> tuple: Two context managers.

    >>> first, second = torch.utils.checkpoint.noop_context_fn()
    >>> with first, second:
    ...     torch.ones(2).sum()
    tensor(2.)
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no tensor among the inputs requires grad.

    inputs (iterable): Tensors, and whatever else.
    UserWarning: If none requires grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.check_backward_validity([x, 3])
    """
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Inputs without their history, which require grad as they did.

    inputs (tuple): Tensors, and whatever else.
    -> tuple: The tensors as leaves over the same memory, and the others.
    RuntimeError: For anything but a tuple.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.detach_variable((2 * x, 3))
    (tensor([2., 2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(map(_without_history, inputs))


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The states of random numbers of the devices besides the CPU: there are none.

    *args: Ignored.
    -> tuple of list: Two that are empty.

    >>> torch.utils.checkpoint.get_device_states(torch.ones(2))
    ([], [])
    """
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Do nothing: there are no devices besides the CPU.

    devices, states: Ignored.
    device_type: Ignored.

    >>> torch.utils.checkpoint.set_device_states([], [])
    """


class DefaultDeviceType:
    """The device whose state of random numbers is kept: the CPU, whatever was set.

    >>> torch.utils.checkpoint.DefaultDeviceType.get_device_type()
    'cpu'
    """

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        """Do nothing: there is one device.

        device (str): Ignored.
        """

    @staticmethod
    def get_device_type() -> str:
        """The device.

        -> str: `cpu`.
        """
        return "cpu"


def checkpoint(
    function: Callable[..., Result],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Result:
    """Output of a function, with its inputs kept alone: it runs again in the backward pass.

    *args: Its arguments.
    use_reentrant: False keeps a graph whose saved tensors are computed again; True runs a backward
        pass within the backward pass, takes no keywords, and needs an input that requires grad.
        None is True, with a warning.
    context_fn (callable, optional): Gives context managers for the first and the second run; by
        default those that do nothing.
    determinism_check ({"default", "none"}): Whether shapes and dtypes of both runs are compared.
    debug: Let errors tell the lines that saved tensors.
    early_stop: End the second run as soon as all is there that the first one saved.
    **kwargs: Arguments of the function by name; but `preserve_rng_state`, True by default, says
        that the second run draws the same random numbers.
    -> object: What the function returns.
    CheckpointError: In the backward pass, where the second run saves other tensors; it is a
        RuntimeError.
    ValueError: For options that do not go together, and for another `determinism_check`.
    UserWarning: If `use_reentrant` is not given; with True also if no input requires grad.
    See also checkpoint_sequential: A row of modules in segments.
    Notes: T. Chen et al. (2016), Training deep nets with sublinear memory cost.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    >>> torch.autograd.grad(y, x)
    (tensor(3.3129),)
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True." + DETAILS
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant and (context_fn is not noop_context_fn or debug):
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    if use_reentrant:
        state = random.get_rng_state() if preserve else None
        if is_grad_enabled():
            check_backward_validity(args)
        return CheckpointFunction.apply(function, state, *args)
    debug = debug if _SET["debug"] is None else bool(_SET["debug"])
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    state = random.get_rng_state() if preserve else None
    first, second = context_fn()
    if not is_grad_enabled():
        return _under(first, function, args, kwargs)

    def again() -> None:
        with second, _drawing_again(state):
            function(*(_without_history(given) for given in args), **kwargs)

    stop = early_stop if _SET["early_stop"] is None else bool(_SET["early_stop"])
    frame = _Frame(again, determinism_check == "default", debug, stop)
    with saved_tensors_hooks(frame.keep, lambda place: place.frame.value(place.number)):
        return _under(first, function, args, kwargs)


def _under(context: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Output of a function within a context; RuntimeError where that hides an exception."""
    with context:
        return function(*args, **kwargs)
    raise RuntimeError(SUPPRESSED)


def _without_history(given: Any) -> Any:
    """An input for the second run, which requires grad as the first one's did."""
    if not isinstance(given, Tensor):
        return given
    return given.detach().requires_grad_(given.requires_grad)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Output of modules, one after the other, in segments that are computed again.

    All segments but the last are kept as `checkpoint` does.

    functions (Sequential or sequence of callable): The modules or functions.
    segments: How many segments.
    input: The argument of the first function.
    use_reentrant: As in `checkpoint`.
    **kwargs: `preserve_rng_state`, as in `checkpoint`.
    -> object: What the last function returns.
    ValueError: If there are more segments than functions; for other keywords.
    UserWarning: If `use_reentrant` is not given.
    See also checkpoint: One segment.

    >>> layers = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.ReLU())
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False).shape
    torch.Size([2])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not "
            "passed. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True." + DETAILS
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
    for start in range(0, end, size):  # ValueError for more segments than functions
        value = checkpoint(
            run(start, start + size),
            value,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return run(end, len(listed))(value)


__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "DefaultDeviceType",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]
__dir__ = __all__.copy
