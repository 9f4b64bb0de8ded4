"""`torch.random`: the seed and the state of the generator that all draws share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tapegrad._block import contextmanager, undoing
from tapegrad.torch._ops.create.generator import Generator, default_generator
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.tensor import Tensor


@register(method=False)
def manual_seed(seed: int) -> Generator:
    """Start the default generator anew from a seed, and return it.

    seed: The seed; negative ones count from 2**64.
    -> Generator: The default generator.

    >>> first = torch.manual_seed(0) and torch.rand(2)
    >>> (torch.manual_seed(0) and torch.rand(2)).equal(first)
    True
    """
    return default_generator.manual_seed(seed)


@register(method=False)
def seed() -> int:
    """Start the default generator anew from a seed of the operating system's; returns it.

    -> int: The seed.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


@register(method=False)
def initial_seed() -> int:
    """The seed that the default generator started from.

    -> int: The seed.

    >>> generator = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


@register(method=False)
def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes.

    -> Tensor: The state (uint8).

    >>> state = torch.get_rng_state()
    >>> x = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(torch.rand(2), x)
    True
    """
    return default_generator.get_state()


@register(method=False)
def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator to one that `get_rng_state` returned.

    new_state: A state (uint8).

    >>> torch.set_rng_state(torch.get_rng_state())
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[int] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cpu",
) -> Iterator[None]:
    """After the block the default generator is in the state from before it.

    devices (iterable of int): Numbers of other devices, of which there are none.
    enabled: Whether the state is kept.
    _caller (str, default 'fork_rng'): The name of the function in errors.
    _devices_kw (str, default 'devices'): The name of the parameter in errors.
    device_type (str, default 'cpu'): The kind of those devices.
    Yields (None): Nothing.

    >>> generator = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(2)
    >>> torch.equal(torch.rand(2), x)
    True
    """
    if not enabled:
        yield
        return
    for number in devices or ():
        raise RuntimeError(
            f"{_caller}: expected no device as {_devices_kw}, got {device_type}:{number}: "
            "there is no other generator than that of the CPU."
        )
    with undoing(partial(set_rng_state, get_rng_state())):
        yield


register("Generator", method=False)(Generator)
register("default_generator", method=False)(default_generator)

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]
__dir__ = __all__.copy
