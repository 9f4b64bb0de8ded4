"""Programs in PyTorch's style, each written once for PyTorch and for the object layer.

A program is a function of the library and a size that returns a step: forward and backward, with
the gradients as its result, so that those of two libraries can be compared. At the small size a
program costs tens or hundreds of microseconds, at the medium one it has 256 rows of 784 numbers,
or as many elements.

Knows: the programs. Must not know: how they are timed, or which figures are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Step = Callable[[], list[Any]]
Program = Callable[[Any, bool], Step]

PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Add a program under its name, with dashes."""
    PROGRAMS[function.__name__.replace("_", "-")] = function
    return function


class Numbers:
    """The same drawn float32 tensors for each library."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.rng = np.random.default_rng(0)

    def constant(self, *shape: int, scale: float = 1.0) -> Any:
        """A tensor without gradient."""
        drawn = self.rng.standard_normal(shape) * scale
        return self.library.tensor(drawn.astype(np.float32))

    def leaf(self, *shape: int, scale: float = 1.0) -> Any:
        """A tensor that requires grad."""
        return self.constant(*shape, scale=scale).requires_grad_()

    def whole(self, below: int, *shape: int) -> Any:
        """A tensor of whole numbers from 0."""
        return self.library.tensor(self.rng.integers(0, below, shape))

    def set_parameters(self, module: Any) -> list[Any]:
        """The parameters of a module, with drawn values."""
        parameters = list(module.parameters())
        with self.library.no_grad():
            for parameter in parameters:
                parameter.copy_(self.constant(*parameter.shape, scale=0.1))
        return parameters


def gradients(leaves: Sequence[Any], loss: Callable[[], Any]) -> Step:
    """The step of a loss that is made anew from leaves."""

    def step() -> list[Any]:
        for leaf in leaves:
            leaf.grad = None
        loss().backward()
        return [leaf.grad for leaf in leaves]

    return step


@program
def mlp_step(torch: Any, medium: bool) -> Step:
    """A net of three layers, cross entropy and SGD."""
    rows, sizes = (256, (784, 256, 10)) if medium else (32, (10, 64, 10))
    nn, draw = torch.nn, Numbers(torch)
    net = nn.Sequential(nn.Linear(*sizes[:2]), nn.Tanh(), nn.Linear(*sizes[1:]))
    parameters = draw.set_parameters(net)
    optimizer = torch.optim.SGD(parameters, lr=1e-6)
    judge = nn.CrossEntropyLoss()
    x, classes = draw.constant(rows, sizes[0]), draw.whole(10, rows)

    def step() -> list[Any]:
        optimizer.zero_grad()
        judge(net(x), classes).backward()
        optimizer.step()
        return [parameter.grad for parameter in parameters]

    return step


@program
def layer_norm(torch: Any, medium: bool) -> Step:
    """Layer norm by hand, as it is written in papers, and by its function."""
    draw = Numbers(torch)
    shape = (256, 784) if medium else (8, 16)
    x, w, b = draw.leaf(*shape), draw.leaf(shape[1]), draw.leaf(shape[1])
    weights = draw.constant(*shape)

    def loss() -> Any:
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        y = (x - mean) / torch.sqrt(variance + 1e-5) * w + b
        y = torch.nn.functional.layer_norm(y, shape[1:], w, b)
        return (y * weights).sum()

    return gradients([x, w, b], loss)


@program
def views(torch: Any, medium: bool) -> Step:
    """A chain of views of views."""
    rows, columns = (256, 784) if medium else (8, 16)
    draw = Numbers(torch)
    x, weights = draw.leaf(rows, columns), draw.constant(columns, 2, rows)

    def loss() -> Any:
        y = x.view(rows, columns // 4, 4).transpose(0, 1)
        y = y.permute(0, 2, 1).reshape(columns, rows)
        y = y.unsqueeze(1).expand(columns, 2, rows)
        return (y * weights).sum() + y[0, 1].sum() + y.squeeze().flatten()[1:].sum()

    return gradients([x], loss)


@program
def attention(torch: Any, medium: bool) -> Step:
    """Attention of several heads, by products, a mask and softmax."""
    batch, length, heads, size = (8, 64, 8, 64) if medium else (1, 16, 4, 8)
    width = heads * size
    draw = Numbers(torch)
    x = draw.leaf(batch, length, width)
    projections = [draw.leaf(width, width, scale=0.1) for _ in range(4)]
    mask = torch.tril(torch.ones(length, length)) == 0
    functional = torch.nn.functional

    def loss() -> Any:
        q, k, v = (
            (x @ w).view(batch, length, heads, size).transpose(1, 2) for w in projections[:3]
        )
        scores = (q @ k.transpose(-2, -1)) / size**0.5
        scores = scores.masked_fill(mask, float("-inf"))
        y = functional.softmax(scores, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(batch, length, width)
        return (y @ projections[3]).pow(2).mean()

    return gradients([x, *projections], loss)


@program
def pairwise_distances(torch: Any, medium: bool) -> Step:
    """All distances of two sets of points, by broadcasting."""
    rows, other, columns = (256, 256, 3) if medium else (8, 8, 3)
    draw = Numbers(torch)
    x, y = draw.leaf(rows, columns), draw.leaf(other, columns)

    def loss() -> Any:
        apart = x[:, None, :] - y[None, :, :]
        distances = (apart * apart).sum(-1).add(1e-6).sqrt()
        return torch.exp(-distances).mean()

    return gradients([x, y], loss)


@program
def cat(torch: Any, medium: bool) -> Step:
    """Joins of parts along both dimensions."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    parts = [draw.leaf(rows, columns) for _ in range(3)]

    def loss() -> Any:
        y = torch.cat(parts, dim=1)
        z = torch.cat([part.tanh() for part in parts], dim=0)
        return (y * y).sum() + z.sum()

    return gradients(parts, loss)


@program
def stack(torch: Any, medium: bool) -> Step:
    """Parts stacked, and taken apart again."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    parts = [draw.leaf(rows, columns) for _ in range(3)]

    def loss() -> Any:
        y = torch.stack(parts, dim=1)
        first, second, third = y.unbind(1)
        return (first * second + third).mean() + torch.stack(parts).sum(0).pow(2).mean()

    return gradients(parts, loss)


@program
def max_over_dim(torch: Any, medium: bool) -> Step:
    """Extrema along a dimension, with their positions and without."""
    shape = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    x = draw.leaf(*shape)

    def loss() -> Any:
        values, _ = x.max(dim=1)
        least = x.min(0).values
        return values.sum() + least.sum() + x.amax(1).sum() + x.max()

    return gradients([x], loss)


@program
def embedding(torch: Any, medium: bool) -> Step:
    """Rows of a table by words, their mean, and a linear layer."""
    words, size, rows, length = (2000, 128, 256, 32) if medium else (50, 16, 8, 4)
    draw = Numbers(torch)
    table, w = draw.leaf(words, size), draw.leaf(10, size, scale=0.1)
    text, classes = draw.whole(words, rows, length), draw.whole(10, rows)
    functional = torch.nn.functional

    def loss() -> Any:
        y = functional.embedding(text, table).mean(1)
        return functional.cross_entropy(functional.linear(y, w), classes)

    return gradients([table, w], loss)


@program
def lstm_cells(torch: Any, medium: bool) -> Step:
    """A loop over nn.LSTMCell."""
    rows, size, steps = (64, 256, 12) if medium else (4, 16, 8)
    draw = Numbers(torch)
    cell = torch.nn.LSTMCell(size, size)
    parameters = draw.set_parameters(cell)
    x = draw.constant(steps, rows, size)

    def loss() -> Any:
        h, c = torch.zeros(rows, size), torch.zeros(rows, size)
        total = 0.0
        for t in range(steps):
            h, c = cell(x[t], (h, c))
            total = total + h.pow(2).mean()
        return total

    return gradients(parameters, loss)


@program
def lstm_by_hand(torch: Any, medium: bool) -> Step:
    """A cell of gates that are written out, with chunk."""
    rows, size, steps = (64, 256, 12) if medium else (4, 16, 8)
    draw = Numbers(torch)
    w, u = draw.leaf(size, 4 * size, scale=0.1), draw.leaf(size, 4 * size, scale=0.1)
    b, x = draw.leaf(4 * size), draw.constant(steps, rows, size)

    def loss() -> Any:
        h, c = torch.zeros(rows, size), torch.zeros(rows, size)
        for t in range(steps):
            i, f, g, o = (x[t] @ w + h @ u + b).chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h.sum()

    return gradients([w, u, b], loss)


@program
def gru(torch: Any, medium: bool) -> Step:
    """nn.GRU over a sequence."""
    rows, size, steps = (64, 256, 12) if medium else (4, 16, 8)
    draw = Numbers(torch)
    net = torch.nn.GRU(size, size, batch_first=True)
    parameters = draw.set_parameters(net)
    x = draw.constant(rows, steps, size)

    def loss() -> Any:
        y, h = net(x)
        return y.mean() + h.pow(2).sum()

    return gradients(parameters, loss)


@program
def rnn_with_stack(torch: Any, medium: bool) -> Step:
    """A recurrence whose states are stacked."""
    rows, size, steps = (64, 256, 12) if medium else (4, 16, 8)
    draw = Numbers(torch)
    w, u, b = draw.leaf(size, size, scale=0.1), draw.leaf(size, size, scale=0.1), draw.leaf(size)
    x = draw.constant(rows, steps, size)

    def loss() -> Any:
        h, states = torch.zeros(rows, size), []
        for t in range(steps):
            h = torch.tanh(x[:, t] @ w + h @ u + b)
            states.append(h)
        y = torch.stack(states, dim=1)
        return (y[:, -1].sum() + y.pow(2).mean()) / steps

    return gradients([w, u, b], loss)


@program
def softmax_cross_entropy(torch: Any, medium: bool) -> Step:
    """Cross entropy by log_softmax and gather, and by its function."""
    rows, classes = (256, 784) if medium else (16, 10)
    draw = Numbers(torch)
    x, target = draw.leaf(rows, classes), draw.whole(classes, rows)

    def loss() -> Any:
        logs = torch.log_softmax(x, dim=1)
        own = -logs.gather(1, target.unsqueeze(1)).squeeze(1).mean()
        return own + torch.nn.functional.cross_entropy(x * 2.0, target)

    return gradients([x], loss)


@program
def gather_select(torch: Any, medium: bool) -> Step:
    """Reads at positions: gather, index_select, lists of rows."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    x = draw.leaf(rows, columns)
    places, chosen = draw.whole(columns, rows, 4), draw.whole(rows, rows)

    def loss() -> Any:
        y = x.gather(1, places)
        z = torch.index_select(x, 0, chosen)
        return y.pow(2).sum() + (z * z).sum() + x[chosen, places[:, 0]].sum()

    return gradients([x], loss)


@program
def masks(torch: Any, medium: bool) -> Step:
    """masked_fill, where and clamp."""
    shape = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    x = draw.leaf(*shape)

    def loss() -> Any:
        mask = x > 0
        y = x.masked_fill(mask, 0.5) + torch.where(mask, x * x, -x)
        return (y.clamp(min=-1.0, max=1.0) + x.clamp_min(0.1)).sum()

    return gradients([x], loss)


@program
def batch_norm(torch: Any, medium: bool) -> Step:
    """Linear, nn.BatchNorm1d and ReLU."""
    rows, size = (256, 784) if medium else (16, 16)
    draw = Numbers(torch)
    net = torch.nn.Sequential(
        torch.nn.Linear(size, size, bias=False), torch.nn.BatchNorm1d(size), torch.nn.ReLU()
    )
    parameters = draw.set_parameters(net)
    x = draw.constant(rows, size)
    return gradients(parameters, lambda: net(x).pow(2).mean())


@program
def conv1d(torch: Any, medium: bool) -> Step:
    """Two convolutions of sequences."""
    rows, channels, length = (64, 32, 98) if medium else (2, 4, 16)
    draw = Numbers(torch)
    x, w = draw.leaf(rows, channels, length), draw.leaf(channels, channels, 3, scale=0.1)
    b = draw.leaf(channels)
    functional = torch.nn.functional

    def loss() -> Any:
        y = functional.relu(functional.conv1d(x, w, b, padding=1))
        return functional.conv1d(y, w, b, stride=2).pow(2).mean()

    return gradients([x, w, b], loss)


@program
def conv2d(torch: Any, medium: bool) -> Step:
    """A convolution of images, ReLU, max pooling and a linear layer."""
    rows, channels, side = (256, 8, 28) if medium else (2, 4, 8)
    draw = Numbers(torch)
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, channels, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(channels * (side // 2) ** 2, 10),
    )
    parameters = draw.set_parameters(net)
    x, classes = draw.constant(rows, 1, side, side), draw.whole(10, rows)
    return gradients(parameters, lambda: nn.functional.cross_entropy(net(x), classes))


@program
def einsum(torch: Any, medium: bool) -> Step:
    """Products of matrices by einsum."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    x, y, d = draw.leaf(rows, columns), draw.leaf(rows, columns), draw.leaf(columns)

    def loss() -> Any:
        inner = torch.einsum("ij,kj->ik", x, y)
        scaled = torch.einsum("ij,j->i", x, d)
        return (inner * 0.1).sum() + (scaled * scaled).sum() * 0.01

    return gradients([x, y, d], loss)


@program
def bmm(torch: Any, medium: bool) -> Step:
    """Products of batches of matrices."""
    batch, rows, columns = (16, 64, 196) if medium else (4, 8, 8)
    draw = Numbers(torch)
    x, y = draw.leaf(batch, rows, columns), draw.leaf(batch, columns, rows)

    def loss() -> Any:
        z = torch.bmm(x, y)
        return torch.bmm(z, z).mean() + torch.baddbmm(z, x, y).mean()

    return gradients([x, y], loss)


@program
def cumsum(torch: Any, medium: bool) -> Step:
    """Running sums, in both dimensions."""
    shape = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    x, weights = draw.leaf(*shape), draw.constant(*shape)

    def loss() -> Any:
        y = torch.cumsum(x, dim=1) * weights
        return (y.cumsum(0) * 0.01).sum()

    return gradients([x], loss)


@program
def activations(torch: Any, medium: bool) -> Step:
    """gelu, silu, leaky_relu, softplus, elu, and dropout in evaluation."""
    shape = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    x = draw.leaf(*shape)
    functional = torch.nn.functional
    dropout = torch.nn.Dropout(0.5).eval()

    def loss() -> Any:
        y = functional.silu(functional.gelu(dropout(x)))
        y = functional.softplus(functional.leaky_relu(y, 0.1))
        return functional.elu(y - 0.5).sum()

    return gradients([x], loss)


@program
def writes(torch: Any, medium: bool) -> Step:
    """Indexing, and writes in place into a tensor with history."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Numbers(torch)
    x, v = draw.leaf(rows, columns), draw.leaf(columns)

    def loss() -> Any:
        y = x * 2.0
        y[0] = v
        y[:, 1] += 1.0
        y.mul_(0.5)
        y[1:-1, 2:] = x[2:, 2:] * 3.0
        return (y[::2] * y[::2]).sum() + y[-1, -1]

    return gradients([x, v], loss)


@program
def clipped_norms(torch: Any, medium: bool) -> Step:
    """The norm of a residual, and gradients that are clipped by their norm."""
    rows, size = (256, 784) if medium else (16, 16)
    draw = Numbers(torch)
    w, b, x = draw.leaf(size, size, scale=0.1), draw.leaf(size), draw.constant(rows, size)
    first = gradients([w, b], lambda: (x @ w + b).norm() + torch.linalg.norm(w, dim=1).sum())

    def step() -> list[Any]:
        found = first()
        torch.nn.utils.clip_grad_norm_([w, b], 1.0)
        return found

    return step


@program
def adam_step(torch: Any, medium: bool) -> Step:
    """A linear layer of which Adam makes a step."""
    rows, size = (256, 784) if medium else (16, 16)
    draw = Numbers(torch)
    net = torch.nn.Linear(size, size)
    parameters = draw.set_parameters(net)
    optimizer = torch.optim.Adam(parameters, lr=1e-9)
    x, y = draw.constant(rows, size), draw.constant(rows, size)

    def step() -> list[Any]:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
        return [parameter.grad for parameter in parameters]

    return step


@program
def matrix_factorisation(torch: Any, medium: bool) -> Step:
    """Ratings as products of rows of two tables."""
    users, items, size, count = (784, 784, 64, 4096) if medium else (20, 30, 8, 32)
    draw = Numbers(torch)
    left, right, bias = draw.leaf(users, size), draw.leaf(items, size), draw.leaf(users)
    of, to, rating = draw.whole(users, count), draw.whole(items, count), draw.constant(count)

    def loss() -> Any:
        predicted = (left[of] * right[to]).sum(dim=1) + bias[of]
        return ((predicted - rating) ** 2).mean() + 0.01 * (left.norm() ** 2 + right.norm() ** 2)

    return gradients([left, right, bias], loss)


@program
def logistic_regression(torch: Any, medium: bool) -> Step:
    """Binary cross entropy of logits, with a penalty."""
    rows, size = (256, 784) if medium else (32, 8)
    draw = Numbers(torch)
    w, b = draw.leaf(size, scale=0.1), draw.leaf(1)
    x, y = draw.constant(rows, size), (draw.constant(rows) > 0).float()
    functional = torch.nn.functional

    def loss() -> Any:
        logits = x @ w + b
        return functional.binary_cross_entropy_with_logits(logits, y) + 0.1 * w.pow(2).sum()

    return gradients([w, b], loss)


@program
def custom_function(torch: Any, medium: bool) -> Step:
    """A custom autograd.Function."""

    class Exponent(torch.autograd.Function):  # type: ignore[misc]
        """The exponential."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (result,) = ctx.saved_tensors
            return g * result

    draw = Numbers(torch)
    x = draw.leaf(*((256, 784) if medium else (8, 8)))
    return gradients([x], lambda: Exponent.apply(Exponent.apply(x * 0.1) * 0.1).sum())


@program
def penalties(torch: Any, medium: bool) -> Step:
    """A penalty of each parameter of a module."""
    size = 784 if medium else 8
    nn, draw = torch.nn, Numbers(torch)
    net = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, 64), nn.Linear(64, 4))
    parameters = draw.set_parameters(net)
    x = draw.constant(256 if medium else 8, size)

    def loss() -> Any:
        total = net(x).pow(2).mean()
        for parameter in net.parameters():
            total = total + 1e-3 * parameter.pow(2).sum() + 1e-4 * parameter.abs().sum()
        return total

    return gradients(parameters, loss)


__all__ = ["PROGRAMS", "Program", "Step"]
