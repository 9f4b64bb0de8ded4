"""Calls of operations that come again: values, gradients and nodes are those of the first call."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from tables import all_rows

import tapegrad
import tapegrad.torch as torch
from tapegrad.torch._ops import learning

functional = torch.nn.functional
DTYPES = [torch.float32, torch.float64]


CLASSES = torch.tensor([0, 2, 3])


def _norm(x, weight):
    return functional.layer_norm(x, weight.shape, weight)


def drawn(seed, dtype=torch.float64, requires_grad=True):
    rng = np.random.default_rng(seed)

    def draw(*shape):
        made = torch.from_numpy(rng.uniform(0.2, 1.5, shape)).to(dtype)
        return made.requires_grad_() if requires_grad else made

    return draw


# Functions of a function that draws leaves: each is called several times with other numbers.
CALLS = {
    "add a row": lambda d: [(x := d(3, 4)), (y := d(4)), x + y],
    "add a column": lambda d: [(x := d(3, 4)), (y := d(3, 1)), y + x],
    "sub": lambda d: [(x := d(3, 4)), (y := d(1, 4)), x - y],
    "mul by a column": lambda d: [(x := d(3, 4)), (y := d(3, 1)), x * y],
    "div by a row": lambda d: [(x := d(3, 4)), (y := d(4)), x / y],
    "alpha": lambda d: [(x := d(3, 4)), (y := d(4)), torch.add(x, y, alpha=2)],
    "pow": lambda d: [(x := d(3, 4)), (y := d(4)), x**y],
    "the same twice": lambda d: [(x := d(2, 3, 3)), torch.bmm(x, x)],
    "sum": lambda d: [(x := d(3, 4)), x.sum(1, keepdim=True)],
    "sum of axes": lambda d: [(x := d(2, 3, 4)), x.sum((0, 2))],
    "mean": lambda d: [(x := d(3, 4)), x.mean(dim=-1)],
    "var": lambda d: [(x := d(3, 4)), x.var(-1, unbiased=False)],
    "std": lambda d: [(x := d(3, 4)), x.std(0)],
    "prod": lambda d: [(x := d(3, 4)), x.prod(1)],
    "amax": lambda d: [(x := d(3, 4)), x.amax(1)],
    "max": lambda d: [(x := d(3, 4)), x.max()],
    "logsumexp": lambda d: [(x := d(3, 4)), x.logsumexp(1)],
    "norm": lambda d: [(x := d(3, 4)), x.norm()],
    "max along": lambda d: [(x := d(3, 4)), x.max(1)[0]],
    "min along": lambda d: [(x := d(3, 4)), x.min(0, keepdim=True).values],
    "layer norm": lambda d: [(x := d(3, 4)), (w := d(4)), functional.layer_norm(x, (4,), w)],
    "linear of stacks": lambda d: [(x := d(2, 3, 4)), (w := d(2, 4)), functional.linear(x, w)],
    "outer": lambda d: [(x := d(3)), (y := d(4)), torch.outer(x, y)],
    "repeat": lambda d: [(x := d(3)), x.repeat(2, 2)],
    "double": lambda d: [(x := d(3, 4)), x.float().double()],
    "maximum": lambda d: [(x := d(3, 4)), (y := d(4)), torch.maximum(x, y)],
    "conv1d": lambda d: [(x := d(2, 3, 6)), (w := d(4, 3, 3)), functional.conv1d(x, w, padding=1)],
    "max_pool": lambda d: [(x := d(2, 4, 4)), functional.max_pool2d(x, 2)],
    "norm along": lambda d: [(x := d(3, 4)), torch.linalg.norm(x, dim=1)],
    "softmax": lambda d: [(x := d(3, 4)), torch.softmax(x, -1)],
    "log_softmax": lambda d: [(x := d(3, 4)), functional.log_softmax(x, dim=0)],
    "cumsum": lambda d: [(x := d(3, 4)), x.cumsum(1)],
    "clamp": lambda d: [(x := d(3, 4)), x.clamp(0.4, 0.9)],
    "clamp to minus zero": lambda d: [(x := d(3, 4)), (x - 1).clamp_min(-0.0)],
    "masked_fill": lambda d: [(x := d(3, 4)), x.masked_fill(x > 0.7, -1.0)],
    "where": lambda d: [(x := d(3, 4)), (y := d(3, 4)), torch.where(x > y, x, y)],
    "where of a number": lambda d: [(x := d(3, 4)), torch.where(x > 0.7, x, 0.0)],
    "tril": lambda d: [(x := d(3, 3)), x.tril()],
    "cat": lambda d: [(x := d(3, 4)), (y := d(3, 2)), torch.cat([x, y], 1)],
    "cat of one": lambda d: [(x := d(3, 4)), torch.cat([x, torch.ones_like(x)])],
    "stack": lambda d: [(x := d(3, 4)), (y := d(3, 4)), torch.stack((x, y), dim=1)],
    "matmul": lambda d: [(x := d(3, 4)), (y := d(4, 2)), x @ y],
    "matmul of a vector": lambda d: [(x := d(3, 4)), (y := d(4)), x @ y],
    "matmul of stacks": lambda d: [(x := d(2, 3, 4)), (y := d(4, 5)), x @ y],
    "linear": lambda d: [(x := d(3, 4)), (w := d(2, 4)), (b := d(2)), functional.linear(x, w, b)],
    "baddbmm": lambda d: [(x := d(2, 3, 3)), (y := d(2, 3, 3)), torch.baddbmm(x, x, y, beta=2)],
    "einsum": lambda d: [(x := d(3, 4)), (y := d(5, 4)), torch.einsum("ij,kj->ik", x, y)],
    "view": lambda d: [(x := d(3, 4)), x.view(2, 6)],
    "reshape with a copy": lambda d: [(x := d(3, 4)), x.t().reshape(2, 6)],
    "flatten": lambda d: [(x := d(2, 3, 4)), x.flatten(1)],
    "t": lambda d: [(x := d(3, 4)), x.t()],
    "T": lambda d: [(x := d(3, 4)), x.T],
    "permute": lambda d: [(x := d(2, 3, 4)), x.permute(2, 0, 1)],
    "unsqueeze": lambda d: [(x := d(3, 4)), x.unsqueeze(1)],
    "unsqueeze by a word": lambda d: [(x := d(3, 4)), x.unsqueeze(axis=1)],
    "squeeze": lambda d: [(x := d(3, 1)), x.squeeze(1)],
    "select": lambda d: [(x := d(3, 4)), x.select(1, -1)],
    "narrow": lambda d: [(x := d(3, 4)), x.narrow(1, 1, 2)],
    "diagonal": lambda d: [(x := d(3, 4)), x.diagonal(1)],
    "movedim": lambda d: [(x := d(2, 3, 4)), x.movedim((0, 1), (1, 2))],
    "expand of a transpose": lambda d: [(x := d(3, 4)), x.T.unsqueeze(1).expand(4, 2, 3)],
    "an element": lambda d: [(x := d(3, 4)), x[1, -1]],
    "a row": lambda d: [(x := d(3, 4)), x[1]],
    "a row from the end": lambda d: [(x := d(3, 4)), x[-1]],
    "slices": lambda d: [(x := d(3, 4)), x[1:, :-1]],
    "steps": lambda d: [(x := d(3, 4)), x[::2, 1]],
    "a view of a view": lambda d: [(x := d(3, 4)), x[1:].T[1:, 0]],
    "unfold": lambda d: [(x := d(3, 5)), x.unfold(1, 3, 2)],
    "tensor_split": lambda d: [(x := d(3, 5)), (y := x.tensor_split(2, 1))[0][:, 1:] * y[1]],
    "unflatten": lambda d: [(x := d(3, 4)), x.unflatten(1, (2, -1))],
    "chunk": lambda d: [(x := d(3, 4)), (y := x.chunk(2, dim=1))[0] * y[1]],
    "one of the parts": lambda d: [(x := d(3, 4)), x.chunk(3)[1]],
    "unbind": lambda d: [(x := d(3, 4)), (y := x.unbind(1))[0] * y[3]],
    "split": lambda d: [(x := d(5, 4)), (y := x.split(2))[0] * y[1] + y[2]],
    "split in lengths": lambda d: [(x := d(5, 4)), x.split([2, 3])[1]],
    "lstm cell": lambda d: [
        *(leaves := (d(2, 3), d(2, 3), d(2, 3), d(12, 3), d(12, 3), d(12), d(12))),
        (pair := torch.lstm_cell(leaves[0], leaves[1:3], *leaves[3:]))[0] * 2 + pair[1],
    ],
    "h of an lstm cell": lambda d: [
        *(leaves := (d(2, 3), d(2, 4), d(2, 4), d(16, 3), d(16, 4))),
        torch.lstm_cell(leaves[0], leaves[1:3], *leaves[3:])[0],
    ],
    "c of an lstm cell": lambda d: [
        *(leaves := (d(2, 3), d(2, 4), d(2, 4), d(16, 3), d(16, 4))),
        torch.lstm_cell(leaves[0], leaves[1:3], *leaves[3:])[1],
    ],
    "gru cell": lambda d: [
        *(leaves := (d(2, 3), d(2, 4), d(12, 3), d(12, 4), d(12), d(12))),
        torch.gru_cell(*leaves),
    ],
    "tanh cell": lambda d: [
        *(leaves := (d(2, 3), d(2, 4), d(4, 3), d(4, 4))),
        torch.rnn_tanh_cell(*leaves),
    ],
    "relu cell": lambda d: [
        *(leaves := (d(2, 3), d(2, 4), d(4, 3), d(4, 4), d(4), d(4))),
        torch.rnn_relu_cell(*leaves),
    ],
    "masked_fill with a smaller mask": lambda d: [
        (x := d(2, 3, 3)),
        x.masked_fill(torch.eye(3) == 1, float("-inf")).softmax(-1),
    ],
    "transpose": lambda d: [(x := d(3, 4)), x.transpose(0, 1)],
    "expand": lambda d: [(x := d(3, 1)), x.expand(2, 3, 4)],
    "expand to itself": lambda d: [(x := d(3, 4)), x.expand(3, 4)],
    "contiguous": lambda d: [(x := d(3, 4)), x.T.contiguous()],
    "index": lambda d: [(x := d(3, 4)), x[torch.tensor([2, 0, 2])]],
    "coordinates": lambda d: [(x := d(3, 4)), x[torch.tensor([2, 0, 2]), torch.tensor([1, 1, 1])]],
    "from the end": lambda d: [(x := d(3, 4)), x[torch.tensor([-1, 2])]],
    "new dimensions": lambda d: [(x := d(3, 4)), x[None, :, None, 1:]],
    "gather": lambda d: [(x := d(3, 4)), x.gather(1, torch.tensor([[0, 0], [1, 3], [2, 2]]))],
    "embedding": lambda d: [
        (x := d(5, 4)),
        functional.embedding(torch.tensor([[1, 1], [4, 0]]), x),
    ],
    "gelu": lambda d: [(x := d(3, 4)), functional.gelu(x)],
    "silu": lambda d: [(x := d(3, 4)), functional.silu(x)],
    "leaky_relu": lambda d: [(x := d(3, 4)), functional.leaky_relu(x - 1, 0.1)],
    "elu": lambda d: [(x := d(3, 4)), functional.elu(x - 1)],
    "softplus": lambda d: [(x := d(3, 4)), functional.softplus(x)],
    "abs": lambda d: [(x := d(3, 4)), (x - 1).abs()],
    "with logits": lambda d: [
        (x := d(3, 4)),
        functional.binary_cross_entropy_with_logits(x, torch.ones(3, 4, dtype=x.dtype)),
    ],
    "layer norm of two": lambda d: [
        (x := d(2, 3, 4)),
        (w := d(3, 4)),
        (b := d(3, 4)),
        functional.layer_norm(x, (3, 4), w, b),
    ],
    "layer norm of a constant": lambda d: [
        (w := d(4)),
        (b := d(4)),
        functional.layer_norm(torch.linspace(0, 1, 12, dtype=w.dtype).reshape(3, 4), (4,), w, b),
    ],
    "layer norm alone": lambda d: [(x := d(3, 4)), functional.layer_norm(x, (4,))],
    "layer norm of a transpose": lambda d: [
        (x := d(4, 3)),
        (w := d(4)),
        functional.layer_norm(x.T, (4,), w),
    ],
    "layer norm of many": lambda d: [(x := d(40, 130)), (w := d(130)), _norm(x, w)],
    "rms norm": lambda d: [(x := d(3, 4)), (w := d(4)), functional.rms_norm(x, (4,), w)],
    "batch norm": lambda d: [
        (x := d(5, 4)),
        (w := d(4)),
        (b := d(4)),
        functional.batch_norm(x, None, None, w, b, True),
    ],
    "batch norm of images": lambda d: [
        (x := d(3, 4, 2, 2)),
        (w := d(4)),
        (b := d(4)),
        functional.batch_norm(x, None, None, w, b, True),
    ],
    "batch norm in evaluation": lambda d: [
        (x := d(5, 4)),
        (w := d(4)),
        functional.batch_norm(x, torch.zeros(4).to(x), torch.ones(4).to(x), w),
    ],
    "group norm": lambda d: [
        (x := d(3, 4, 2)),
        (w := d(4)),
        (b := d(4)),
        functional.group_norm(x, 2, w, b),
    ],
    "instance norm": lambda d: [
        (x := d(3, 4, 5)),
        (w := d(4)),
        functional.instance_norm(x, weight=w),
    ],
    "cross entropy": lambda d: [(x := d(3, 4)), functional.cross_entropy(x, CLASSES)],
    "cross entropy summed": lambda d: [
        (x := d(3, 4)),
        functional.cross_entropy(x, CLASSES, reduction="sum"),
    ],
    "cross entropy of each": lambda d: [
        (x := d(3, 4)),
        functional.cross_entropy(x, CLASSES, reduction="none"),
    ],
    "cross entropy without a class": lambda d: [
        (x := d(3, 4)),
        functional.cross_entropy(x, CLASSES, ignore_index=2),
    ],
    "cross entropy without a row": lambda d: [
        (x := d(3, 4)),
        functional.cross_entropy(x, torch.tensor([0, -100, 3])),
    ],
    "cross entropy with weights": lambda d: [
        (x := d(3, 4)),
        functional.cross_entropy(x, CLASSES, d(4).detach(), label_smoothing=0.1),
    ],
    "cross entropy of images": lambda d: [
        (x := d(2, 4, 3)),
        functional.cross_entropy(x, torch.tensor([[0, 2, 3], [1, 1, 0]]), label_smoothing=0.1),
    ],
    "cross entropy with shares": lambda d: [
        (x := d(3, 4)),
        (y := d(3, 4)),
        functional.cross_entropy(x, y),
    ],
    "nll_loss": lambda d: [(x := d(3, 4)), functional.nll_loss(x, CLASSES)],
    "nll_loss of each": lambda d: [
        (x := d(3, 4)),
        functional.nll_loss(x, CLASSES, reduction="none"),
    ],
    "mse_loss": lambda d: [(x := d(3, 4)), (y := d(3, 4)), functional.mse_loss(x, y)],
    "l1_loss": lambda d: [(x := d(3, 4)), (y := d(3, 4)), functional.l1_loss(x, y)],
    "huber_loss": lambda d: [
        (x := d(3, 4)),
        (y := d(3, 4)),
        functional.huber_loss(x, y, "sum", 0.3),
    ],
    "smooth_l1_loss": lambda d: [
        (x := d(3, 4)),
        (y := d(3, 4)),
        functional.smooth_l1_loss(x, y, reduction="none", beta=0.4),
    ],
    "kl_div": lambda d: [
        (x := d(3, 4)),
        (y := d(3, 4)),
        functional.kl_div(x, y, reduction="batchmean"),
    ],
    "gelu by tanh": lambda d: [(x := d(3, 4)), functional.gelu(x, approximate="tanh")],
    "celu": lambda d: [(x := d(3, 4)), functional.celu(x - 1, 0.7)],
    "selu": lambda d: [(x := d(3, 4)), functional.selu(x - 1)],
    "softplus by numbers": lambda d: [(x := d(3, 4)), functional.softplus(x, 2.0, 1.5)],
    "logsigmoid": lambda d: [(x := d(3, 4)), functional.logsigmoid(x)],
    "hardtanh": lambda d: [(x := d(3, 4)), functional.hardtanh(x, 0.4, 0.9)],
    "hardswish": lambda d: [(x := d(3, 4)), functional.hardswish(x * 4 - 4)],
    "clamp below": lambda d: [(x := d(3, 4)), x.clamp(max=0.8)],
    "softmin": lambda d: [(x := d(3, 4)), functional.softmin(x, 1)],
    "logsumexp of axes": lambda d: [(x := d(2, 3, 4)), x.logsumexp((0, 2), keepdim=True)],
    "logsumexp of all": lambda d: [(x := d(5)), x.logsumexp(0)],
    "logsumexp of infinities": lambda d: [
        (x := d(3, 4)),
        torch.where(torch.tensor([True, False, False])[:, None], -torch.inf, x).logsumexp(1),
    ],
    "std of all": lambda d: [(x := d(3, 4)), x.std()],
    "var of all": lambda d: [(x := d(3, 4)), x.var()],
    "lerp": lambda d: [(x := d(3, 4)), (y := d(3, 4)), torch.lerp(x, y, 0.3)],
    "flip": lambda d: [(x := d(3, 4)), x.flip(0)],
    "empty": lambda d: [(x := d(0, 4)), (y := d(4)), x + y],
    "no dimensions": lambda d: [(x := d()), (y := d(3)), x * y],
}


def results(call, seed, dtype):
    """The result, its gradients, their gradients, and the names of its nodes."""
    *leaves, out = call(drawn(seed, dtype))
    g = torch.linspace(-1, 1, out.numel(), dtype=dtype).reshape(out.shape)
    first = torch.autograd.grad(out, leaves, g, retain_graph=True)
    again = torch.autograd.grad(out, leaves, g, create_graph=True)
    total = sum((part.sin().sum() for part in again), torch.zeros((), dtype=dtype))
    second = torch.autograd.grad(total + sum((x * x).sum() for x in leaves), leaves)
    return out, first, again, second


def general_calls():
    """A block in which no call is planned: hooks of saved tensors are for the general calls."""
    return torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)


@pytest.mark.parametrize(
    "dtype",  # the checks of gradients plan these calls of doubles, too
    [DTYPES[0], *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in DTYPES[1:])],
    ids=str,
)
def test_calls_that_come_again_are_the_first_call(dtype):
    """One profile for all of them: to begin one takes longer than twenty of these calls."""
    found, expected = {}, {}
    for name, call in CALLS.items():
        for seed in range(3):  # the first two leave what later calls are made of
            results(call, seed, dtype)
        found[name] = results(call, 7, dtype)
        with general_calls():
            expected[name] = results(call, 7, dtype)
    with torch.profiler.profile():
        profiled = {name: results(call, 7, dtype) for name, call in CALLS.items()}
    with all_rows() as row:
        for name in CALLS:
            with row(name):
                assert_same_results(found[name], expected[name])
                assert_same_results(profiled[name], expected[name])


def assert_same_results(found, expected):
    assert found[0].grad_fn.name() == expected[0].grad_fn.name()
    assert found[0].stride() == expected[0].stride()
    assert torch.equal(found[0], expected[0])
    for mine, other in zip(found[1:], expected[1:], strict=True):
        for part, wanted in zip(mine, other, strict=True):
            assert part.dtype is wanted.dtype
            assert_rounded_alike(part, wanted.detach())
    for part, wanted in zip(found[1], found[2], strict=True):
        assert_rounded_alike(part, wanted.detach())


def assert_rounded_alike(found, wanted):
    """Sums in another order differ by roundings of their terms, of the largest if they cancel.

    How many roundings there are differs from processor to processor, as BLAS has a way for each.
    """
    largest = float(wanted.abs().max()) if wanted.numel() else 0.0
    rounding = 32 * torch.finfo(wanted.dtype).eps * max(1.0, largest)
    torch.testing.assert_close(found, wanted, rtol=0, atol=rounding)


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", [torch.float16, *DTYPES], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_mean_of_squares_has_the_same_bits_in_every_way(dtype, reduction):
    """BLAS may leave the squares of a product with itself unrounded, and NumPy rounds them."""
    for size in (*range(1, 40), 257, 5000):
        for _ in range(3):  # the first two leave what later calls are made of
            x, y = (d := drawn(size, dtype))(size), d(size)
            found = functional.mse_loss(x, y, reduction=reduction)
        with general_calls():
            expected = functional.mse_loss(x, y, reduction=reduction)
        with torch.no_grad():
            plain = functional.mse_loss(x, y, reduction=reduction)
        assert found.item() == expected.item() == plain.item(), size


def test_a_zero_keeps_its_sign():
    for _ in range(3):
        x = torch.tensor([-1.0], requires_grad=True)
        assert not np.signbit(x.clamp_min(0.0).detach().numpy())
        assert np.signbit((x.clamp(max=-0.0) * 0).detach().numpy())


def test_which_arguments_require_grad_is_part_of_a_call():
    for wanted in ((True, True), (True, False), (False, True)) * 3:
        x = torch.ones(2, 3, requires_grad=wanted[0])
        y = torch.ones(3, requires_grad=wanted[1])
        (x * y).sum().backward()
        assert (x.grad is not None, y.grad is not None) == wanted


def test_values_that_a_backward_pass_needs_are_guarded():
    for _ in range(4):
        x = torch.ones(2, 3, requires_grad=True)
        y = torch.ones(3) * 2
        z = x * y
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
        z = (x * 2).softmax(1).sum()
        z.backward()
        with pytest.raises(RuntimeError, match="second time"):
            z.backward()


def test_infinite_cotangents_leave_zeros_of_other_branches():
    for _ in range(4):
        x = torch.tensor([[0.0, 4.0]], requires_grad=True)
        torch.where(x > 0, x.sqrt(), x).sum().backward()
        assert x.grad.tolist() == [[1.0, 0.25]]
        x = torch.tensor([[0.0, 4.0]], requires_grad=True)
        y = (x * torch.tensor([0.0])).sqrt().masked_fill(torch.tensor([[True, True]]), 1.0)
        y.sum().backward()
        assert x.grad.tolist() == [[0.0, 0.0]]


def test_a_call_that_was_planned_still_serves_gradients_off_and_subclasses():
    for _ in range(3):
        x, y = torch.ones(2, 3, requires_grad=True), torch.ones(3)
        assert (x + y).requires_grad
    with torch.no_grad():
        assert not (x + y).requires_grad
    with torch.inference_mode():
        assert (x + y).is_inference()
    z = torch.func.vmap(lambda row: (row + y).sum())(torch.ones(4, 2, 3))
    assert z.tolist() == [12.0] * 4
    assert torch.func.grad(lambda v: (v + y).sum())(torch.ones(2, 3)).tolist() == [[1.0] * 3] * 2


def test_a_call_that_warns_warns_each_time():
    for _ in range(4):
        x = torch.ones(3, 1, requires_grad=True)
        with pytest.warns(UserWarning, match="different to the input size"):
            functional.mse_loss(x, torch.ones(3), reduction="sum")


def test_values_that_an_operation_refuses_are_refused_each_time():
    target = torch.ones(3)
    for _ in range(3):
        functional.binary_cross_entropy(torch.full((3,), 0.5, requires_grad=True), target)
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        functional.binary_cross_entropy(torch.full((3,), 1.5, requires_grad=True), target)
    for _ in range(3):
        functional.embedding(torch.tensor([0, 1]), torch.ones(2, 2, requires_grad=True))
    with pytest.raises(IndexError, match="out of range"):
        functional.embedding(torch.tensor([0, 2]), torch.ones(2, 2, requires_grad=True))


WHOLE = {
    "sum": lambda x: x.sum(1),
    "max": lambda x: x.max(1),
    "float": lambda x: x.float(),
    "product with floats": lambda x: x * 2.5,
    "shift": lambda x: x << 2,
    "stack of a list": lambda x: torch.stack([x, x + 1], 1),
    "sizes in a list": lambda x: x.flip([0, 1]),
    "floats without history": lambda x: torch.linalg.svd(x.double(), full_matrices=False).S,
}


@pytest.mark.parametrize("call", WHOLE.values(), ids=WHOLE)
def test_calls_without_history_that_come_again(call):
    """They are made by the operation's own function, of other numbers and in other memory."""
    for seed in range(5):
        given = np.random.default_rng(seed).integers(-9, 9, (3, 4))
        x = torch.tensor(given)
        first, again = call(x), call(x)
        fresh = call(torch.tensor(given))
        parts = zip(
            *[made if isinstance(made, tuple) else (made,) for made in (first, again, fresh)],
            strict=True,
        )
        for one, two, three in parts:
            assert torch.equal(one, two)
            assert torch.equal(two, three)
            assert one.dtype is two.dtype
            assert not np.shares_memory(two.numpy(), x.numpy())


def test_a_list_that_changes_after_a_call_is_another_call():
    axes, x = [0], torch.arange(6).reshape(2, 3)
    for _ in range(4):
        x.flip(axes)
    axes.append(1)
    assert torch.equal(x.flip(axes), torch.tensor([[5, 4, 3], [2, 1, 0]]))
    assert torch.equal(x.flip([0]), torch.tensor([[3, 4, 5], [0, 1, 2]]))


@pytest.mark.parametrize("sign", [operator.mod, operator.floordiv])
def test_whole_numbers_are_divided_as_pythons(sign):
    x, y = np.array([7, -7, 0, 2**40]), np.array([3, 3, -2, -7])
    for _ in range(4):
        assert sign(torch.tensor(x), torch.tensor(y)).tolist() == sign(x, y).tolist()
        assert sign(torch.tensor(x), -3).tolist() == sign(x, -3).tolist()
        for nothing in (0, torch.tensor(0), torch.tensor([1, 2, 0, 3])):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                sign(torch.tensor(x), nothing)
        assert sign(torch.tensor(x), 0.75).dtype is torch.float32


def test_infinities_and_nan_are_replaced_also_after_calls_without_them():
    for values in ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [4.0, 5.0, 6.0], [np.inf, np.nan, 1.0]):
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        made = torch.nan_to_num(x, posinf=9.0)
        made.sum().backward()
    assert made.tolist() == [9.0, 0.0, 1.0]
    assert x.grad.tolist() == [0.0, 0.0, 1.0]


def test_an_operation_that_chooses_by_special_numbers_is_not_planned():
    def choosing(x):
        return np.copy(x) if np.isfinite(tapegrad.stop_gradient(x)).all() else np.sin(x)

    x = np.array([1.0, 2.0])
    steps = learning._traced(choosing, (torch.tensor(x),), {}, [x])
    assert not learning._are_same_of_others(steps, choosing, (torch.tensor(x),), {}, [x])


def test_results_do_not_share_memory_with_their_arguments():
    x = torch.ones(2, 3, requires_grad=True)
    for _ in range(4):
        for made in (x.clone(), x.repeat(1, 1), x.T.contiguous(), x.flip(0), x.roll(0, 0)):
            assert not np.shares_memory(made.detach().numpy(), x.detach().numpy())


def test_views_that_come_again_tell_their_parameters_apart():
    x = torch.ones(2, 4, requires_grad=True)
    for _ in range(3):
        assert x.view(4, 2).shape == (4, 2)
        assert x.squeeze(0).shape == (2, 4)
        assert x[1].shape == (4,)
        assert x[1:].shape == (1, 4)
        assert x[1:2, 0].shape == (1,)
        assert x[1, 2:].shape == (2,)
        assert x[1, 2].shape == ()
        assert x[:, None].shape == (2, 1, 4)
        assert x[::2].shape == (1, 4)
        assert x[..., 1].shape == (2,)
        assert x[True].shape == (1, 2, 4)
        assert torch.transpose(input=x, dim0=0, dim1=1).shape == (4, 2)
        assert len(torch.split(tensor=x, split_size_or_sections=1)) == 2
    with pytest.raises(TypeError):
        x.view(4.0, 2)
    with pytest.raises(TypeError):
        x.transpose(0, 1.0)
    with pytest.raises(RuntimeError, match="invalid for input of size 8"):
        x.view(4, 3)
    with pytest.raises(IndexError, match="out of bounds"):
        x[2]


def test_a_view_that_comes_again_shares_memory_and_version():
    for write_base in (True, False) * 3:
        base = torch.ones(3, 4, requires_grad=True) * 1
        view = base[1:]
        row = view[0]
        assert view._base is base
        assert row._base is base
        (base if write_base else row).mul_(3)
        assert base._version == view._version == row._version == 1
        assert row.grad_fn is not None
        assert row.tolist() == [3.0] * 4
        kept = base.detach() if write_base else row.detach()
        kept.add_(1)
        assert view._version == 2


def test_parts_that_come_again_must_not_be_written_to():
    for _ in range(3):
        x = torch.ones(4, 2, requires_grad=True) * 1
        first, second = x.chunk(2)
        assert first.grad_fn is second.grad_fn
        assert (first.output_nr, second.output_nr) == (0, 1)
        with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
            first.mul_(2)


def test_views_of_one_shape_that_differ_in_memory():
    x = torch.arange(12.0, requires_grad=True)
    for _ in range(3):
        whole = x.view(3, 4)
        turned = x.view(4, 3).t()
        assert whole.reshape(12).tolist() == list(range(12))
        assert turned.reshape(12).tolist() == turned.flatten().tolist()
        assert turned.reshape(12).tolist() == [
            *range(0, 12, 3),
            *range(1, 12, 3),
            *range(2, 12, 3),
        ]
        assert whole.reshape(12)._base is x
        assert turned.reshape(12)._base is None


def test_a_view_without_gradients_is_not_taken_for_one_with_them():
    x = torch.ones(2, 3, requires_grad=True)
    for _ in range(3):
        assert x[0].grad_fn is not None
        with torch.no_grad():
            assert x[0].grad_fn is None
            assert not x.view(6).mul(1).requires_grad


def test_a_call_is_planned_also_where_the_core_has_planned_its_function():
    mask = torch.eye(3) == 1
    for _ in range(2):
        torch.where(mask, torch.zeros(()), torch.ones(2, 3, 3, requires_grad=True))
    arrays = [np.ones((2, 3, 3)), mask.numpy()]
    tensors = (torch.tensor(arrays[0]), mask)
    for _ in range(2):
        given = (*tensors, float("-inf"))
        traced = learning._traced(torch.Tensor.masked_fill.trace, given, {}, arrays)
        assert traced is not None


def test_places_along_a_dimension_may_be_written_to():
    for call in (
        lambda x: x.max(1),
        lambda x: x.sort(1),
        lambda x: x.topk(2),
        lambda x: x.mode(1),
    ):
        x = torch.tensor([[3.0, 1.0, 2.0]], requires_grad=True)
        values, places = call(x)
        before = values.detach().clone()
        places.zero_()
        values.backward(torch.ones_like(values))
        assert x.grad.sum() == before.numel()
        assert x.grad.max() == 1


def test_the_state_of_a_cell_may_be_written_to():
    for _ in range(4):
        cell = torch.nn.LSTMCell(3, 2)
        h, c = cell(torch.ones(1, 3), (torch.zeros(1, 2), torch.zeros(1, 2)))
        h.mul_(2)
        (h.sum() + c.sum()).backward()
        assert cell.weight_ih.grad.abs().sum() > 0


def test_a_large_cell_keeps_its_gates():
    cell = torch.nn.LSTMCell(200, 100)
    x = torch.ones(1, 200)

    def gradient():
        for parameter in cell.parameters():
            parameter.grad = None
        h, c = cell(x)
        (h.sum() + c.sum()).backward()
        return cell.bias_hh.grad

    found = [gradient() for _ in range(3)][-1]
    with torch.profiler.profile():
        assert torch.equal(found, gradient())
    with general_calls():
        torch.testing.assert_close(found, gradient(), rtol=1e-5, atol=1e-6)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 25.0, -25.0, 100.0, np.inf, -np.inf, np.nan]
UNITS = {
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.1),
    "elu": functional.elu,
    "selu": functional.selu,
    "silu": functional.silu,
    "softplus": functional.softplus,
    "logsigmoid": functional.logsigmoid,
    "gelu by tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "hardtanh": functional.hardtanh,
    "relu6": functional.relu6,
    "hardswish": functional.hardswish,
    "clamp": lambda x: x.clamp(-1.0, 1.0),
    "clamp_min": lambda x: x.clamp_min(0.1),
    "clamp_max": lambda x: x.clamp(max=0.1),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_special_values_of_calls_that_come_again(dtype):
    def gradient(call):
        x = torch.tensor(SPECIAL, dtype=dtype, requires_grad=True)
        out = call(x)
        out.backward(torch.ones_like(x))
        return out.detach(), x.grad

    found = {name: [gradient(call) for _ in range(3)][-1] for name, call in UNITS.items()}
    with general_calls():
        expected = {name: gradient(call) for name, call in UNITS.items()}
    with all_rows() as row:
        for name in UNITS:
            with row(name):
                for mine, other in zip(found[name], expected[name], strict=True):
                    torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("loss", [functional.cross_entropy, functional.nll_loss])
def test_classes_are_checked_when_calls_come_again(loss):
    x = torch.ones(3, 4, requires_grad=True)
    for _ in range(4):
        loss(x, CLASSES).backward()
    for wrong in (4, -1):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            loss(x, torch.tensor([0, wrong, 1]))


@pytest.mark.parametrize("loss", [functional.cross_entropy, functional.nll_loss])
def test_nothing_is_pulled_to_rows_whose_classes_do_not_count(loss):
    for _ in range(4):
        x = torch.ones(3, 4, requires_grad=True)
        loss(x, torch.tensor([0, -100, 3])).backward()
        assert x.grad is not None
        assert not x.grad[1].any()
        assert x.grad[0].any()


def test_what_a_norm_keeps_is_of_its_own_call():
    x = torch.ones(4, 3, requires_grad=True) * torch.tensor([1.0, 2.0, 4.0])
    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        first = functional.layer_norm(x, (3,), w)
        second = functional.layer_norm(x * x, (3,), w)
    (expected,) = torch.autograd.grad(functional.layer_norm(x, (3,), w).sum(), w)
    torch.autograd.grad(second.sum(), w)
    for _ in range(2):  # a graph that is retained gives the same twice
        (found,) = torch.autograd.grad(first.sum(), w, retain_graph=True)
        assert torch.equal(found, expected)


def test_running_statistics_of_calls_that_come_again():
    draw = drawn(0, requires_grad=False)
    batches = [draw(6, 3) for _ in range(6)]
    module, other = torch.nn.BatchNorm1d(3).double(), torch.nn.BatchNorm1d(3).double()
    for batch in batches:
        module(batch.clone().requires_grad_()).sum().backward()
        with general_calls():
            other(batch.clone().requires_grad_()).sum().backward()
    assert int(module.num_batches_tracked) == len(batches)
    assert torch.equal(module.running_mean, other.running_mean)
    assert torch.equal(module.running_var, other.running_var)


def test_a_tensor_that_a_rule_does_not_get():
    x, mean = torch.ones(2, 3, requires_grad=True), torch.zeros(3)
    for _ in range(4):  # the running statistics decide nothing in training
        out = functional.batch_norm(x, mean, torch.ones(3), None, None, True)
    assert out.shape == (2, 3)


def test_gradients_are_clipped_in_their_own_memory():
    x, y = torch.ones(3, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    (3 * x.sum() + 2 * y.sum()).backward()
    assert x.grad is not None
    kept, version = x.grad, x.grad._version
    total = torch.nn.utils.clip_grad_norm_([x, y], 1.0)
    length = torch.linalg.vector_norm(torch.cat([x.grad, y.grad.reshape(-1)]))
    torch.testing.assert_close(total, torch.tensor(43.0).sqrt())
    torch.testing.assert_close(length, torch.tensor(1.0))
    assert x.grad is kept
    assert x.grad._version == version + 1


@pytest.mark.parametrize("dim", [None, -1])
def test_the_gradient_of_a_spread_of_equal_values_has_their_dtype(dim):
    for values in ([1.0, 2.0, 4.0], [0.0, 2.0, 3.0], [1.0, 1.0, 1.0], [1.0, float("nan"), 2.0]):
        x = torch.tensor(values, requires_grad=True)
        (found,) = torch.autograd.grad(x.std(dim), x)
        assert found.dtype == torch.float32


@pytest.mark.parametrize("alone", range(6))
@pytest.mark.parametrize(("cell", "gates"), [(torch.rnn_tanh_cell, 1), (torch.gru_cell, 3)])
def test_a_cell_of_which_one_array_requires_grad(cell, gates, alone):
    shapes = [(2, 3), (2, 4), (4 * gates, 3), (4 * gates, 4), (4 * gates,), (4 * gates,)]
    arrays = [torch.ones(*shape, requires_grad=at == alone) for at, shape in enumerate(shapes)]
    found = []
    for _ in range(4):
        (grad,) = torch.autograd.grad(cell(*arrays).sum(), arrays[alone])
        found.append(grad)
    assert all(torch.allclose(found[0], grad) for grad in found)
