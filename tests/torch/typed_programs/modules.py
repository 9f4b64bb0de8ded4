"""Modules of one's own: calls have the types of `forward`."""

from collections import OrderedDict
from typing import Any, assert_type

import tapegrad.torch as torch
from tapegrad.torch import Tensor, nn
from tapegrad.torch.nn import functional as F  # noqa: N812 - PyTorch's habit


class Block(nn.Module):
    """A residual block."""

    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 2 * width, bias=False)
        self.outer = nn.Linear(2 * width, width)
        self.gain = nn.Parameter(torch.ones(width))
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.gelu(self.inner(self.norm(x)))
        assert_type(hidden, Tensor)
        assert_type(self.gain, nn.Parameter)
        return x + self.scale * self.gain * self.outer(hidden)


class Model(nn.Module):
    """Blocks, and two results."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor, noisy: bool = False) -> tuple[Tensor, int]:
        for block in self.blocks:
            x = block(x)
        return self.dropout(x) if noisy else x, len(self.blocks)


class Images(nn.Module):
    """Convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, kernel_size=3, padding="same")
        self.norm = nn.BatchNorm2d(2)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.conv(x)))
        assert_type(F.max_pool2d(x, 2), Tensor)
        assert_type(F.max_pool2d(x, 2, return_indices=True), tuple[Tensor, Tensor])
        return F.adaptive_avg_pool2d(x, 1).flatten(1)


model = Model(4, 2)
assert_type(model(torch.randn(3, 4)), tuple[Tensor, int])
assert_type(model(torch.randn(3, 4), noisy=True)[0], Tensor)
assert_type(Images()(torch.randn(2, 1, 4, 4)), Tensor)
assert_type(nn.Embedding(5, 3)(torch.tensor([1, 2])), Tensor)
output, (h, c) = nn.LSTM(3, 4)(torch.randn(5, 2, 3))
assert_type(output, Tensor)
assert_type(c, Tensor)
steps, last = nn.GRU(3, 4)(torch.randn(5, 2, 3))
assert_type(last, Tensor)
attended, weights = nn.MultiheadAttention(4, 2)(h, h, h)
assert_type(attended, Tensor)
assert_type(weights, Tensor | None)
for name, parameter in model.named_parameters():
    assert_type(name, str)
    assert_type(parameter, nn.Parameter)
assert_type(model.to(torch.float64), Model)
assert_type(model.train(), Model)
state = model.state_dict()
model.load_state_dict(state)


def note(module: nn.Module, given: tuple[Any, ...], result: Tensor) -> None:
    assert isinstance(result, Tensor)


model.register_forward_hook(note).remove()
named = nn.Sequential(OrderedDict([("first", nn.Linear(2, 2)), ("second", nn.Tanh())]))
first: nn.Module = named[0]
nn.init.xavier_uniform_(nn.Linear(2, 2).weight)
