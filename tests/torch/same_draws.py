"""PyTorch draws tapegrad's random numbers, so that a script with a seed can run under both.

Knows which of PyTorch's functions draw. Each is replaced by one that asks tapegrad for the same
draw, in the same order, and hands the numbers over; tapegrad itself runs as it is.
"""

from __future__ import annotations

from typing import Any

import tapegrad.torch as torch
from tapegrad.torch._ops.create.generator import source

DROPOUTS = "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()
FUNCTIONS = "rand randn randint randperm rand_like randn_like normal bernoulli multinomial".split()
WRITES = "uniform_ normal_ exponential_ bernoulli_ log_normal_".split()
OF_MEMORY = "device layout pin_memory memory_format requires_grad".split()


class Draws:
    """Replaces PyTorch's draws while it is installed by a `monkeypatch`."""

    def __init__(self, pytorch: Any) -> None:
        self.pytorch = pytorch
        self.generators: dict[int, tuple[Any, Any]] = {}

    def install(self, monkeypatch: Any) -> None:
        pytorch = self.pytorch
        for name in FUNCTIONS:
            monkeypatch.setattr(pytorch, name, self.function(getattr(torch, name)))
        monkeypatch.setattr(pytorch.utils.data.dataset, "randperm", pytorch.randperm)
        for name in WRITES:
            monkeypatch.setattr(pytorch.Tensor, name, self.write(name))
        for name in DROPOUTS:
            ours = getattr(torch.nn.functional, name)
            monkeypatch.setattr(pytorch.nn.functional, name, self.dropout(ours))
        monkeypatch.setattr(pytorch.Tensor, "multinomial", pytorch.multinomial)
        monkeypatch.setattr(pytorch.Tensor, "random_", self.loaders_seed())
        monkeypatch.setattr(pytorch, "manual_seed", torch.manual_seed)
        monkeypatch.setattr(pytorch.utils.data.RandomSampler, "__iter__", self.order())

    def ours(self, x: Any) -> Any:
        """Arguments of PyTorch's call, as tapegrad would have been."""
        if isinstance(x, self.pytorch.Tensor):
            return torch.from_numpy(x.detach().numpy().copy())
        if isinstance(x, self.pytorch.dtype):
            return getattr(torch, str(x).removeprefix("torch."))
        if isinstance(x, self.pytorch.Generator):
            return self.generator(x)
        return x

    def generator(self, theirs: Any) -> Any:
        if theirs is self.pytorch.default_generator:
            return None
        kept = self.generators.setdefault(
            id(theirs), (theirs, torch.Generator().manual_seed(theirs.initial_seed()))
        )
        return kept[1]

    def function(self, ours: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            requires_grad = kwargs.get("requires_grad", False)
            words = {k: self.ours(v) for k, v in kwargs.items() if k not in OF_MEMORY}
            made = ours(*map(self.ours, args), **words)
            return self.theirs(made).requires_grad_(requires_grad)

        return call

    def write(self, name: str) -> Any:
        def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            words = {k: self.ours(v) for k, v in kwargs.items()}
            drawn = getattr(self.ours(tensor), name)(*map(self.ours, args), **words)
            return tensor.copy_(self.theirs(drawn))

        return call

    def dropout(self, ours: Any) -> Any:
        """A dropout is x * scale + shift; both are seen by what it does to ones and to zeros."""

        def call(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
            if not training:
                return input
            shape = tuple(input.shape)
            state = torch.get_rng_state()
            shift = self.theirs(ours(torch.zeros(shape), p, True))
            torch.set_rng_state(state)
            scale = self.theirs(ours(torch.ones(shape), p, True)) - shift
            return input.mul_(scale).add_(shift) if inplace else input * scale + shift

        return call

    def loaders_seed(self) -> Any:
        """`random_()` as a DataLoader calls it, once for each walk over the data."""

        def call(tensor: Any, *, generator: Any = None) -> Any:
            assert tensor.dim() == 0
            return tensor.fill_(int(source(self.ours(generator)).integers(2**63)))

        return call

    def order(self) -> Any:
        """The walk of a RandomSampler: PyTorch would draw from a generator of the walk's own."""

        def walk(sampler: Any) -> Any:
            ours = torch.utils.data.RandomSampler(
                sampler.data_source,
                sampler.replacement,
                sampler._num_samples,
                generator=self.ours(sampler.generator),
            )
            return iter(ours)

        return walk

    def theirs(self, made: Any) -> Any:
        return self.pytorch.from_numpy(made.detach().numpy().copy())
