"""`torch.utils.flop_counter`: the figures are those that PyTorch 2.13 gives on a CPU."""

from __future__ import annotations

import pytest

import tapegrad.torch as torch
from tapegrad.torch.utils.flop_counter import (
    FlopCounterMode,
    register_flop_formula,
    sdpa_backward_flop,
    sdpa_flop,
)

F = torch.nn.functional
nn = torch.nn
aten = torch.ops.aten
sdpa = F.scaled_dot_product_attention

# By PyTorch's operators: a call with leaves of the shapes, and its backward pass.
PRODUCTS = [
    (torch.matmul, ((3, 4), (4,)), {}),
    (torch.matmul, ((4,), (4,)), {}),
    (torch.matmul, ((4,), (4, 5)), {"mm": 120}),
    (torch.matmul, ((2, 3, 4), (4, 5)), {"mm": 720}),
    (torch.matmul, ((3, 4), (2, 4, 5)), {"mm": 720}),
    (torch.matmul, ((2, 3, 4), (4,)), {}),
    (torch.matmul, ((2, 1, 3, 4), (5, 4, 3)), {"bmm": 2160}),
    (F.linear, ((2, 3, 4), (5, 4), (5,)), {"addmm": 240, "mm": 480}),
    (F.linear, ((4,), (5, 4), (5,)), {"addmm": 40, "mm": 80}),
    (F.linear, ((2, 3, 4), (5, 4)), {"mm": 720}),
    (torch.baddbmm, ((2, 3, 5), (2, 3, 4), (2, 4, 5)), {"baddbmm": 240, "bmm": 480}),
    (torch.addbmm, ((3, 5), (2, 3, 4), (2, 4, 5)), {"bmm": 480}),
    (torch.addmv, ((3,), (3, 4), (4,)), {}),
    (torch.outer, ((3,), (4,)), {}),
    (F.bilinear, ((3, 4), (3, 5), (6, 4, 5)), {}),
    (lambda a, b: torch.tensordot(a, b, 1), ((3, 4), (4, 5)), {"mm": 360}),
    (lambda a: torch.linalg.matrix_power(a, 3), ((3, 3),), {"mm": 324}),
    (lambda *x: torch.linalg.multi_dot(x), ((3, 4), (4, 5), (5, 6)), {"mm": 900}),
    *[
        (lambda *x, to=equation: torch.einsum(to, *x), shapes, found)
        for equation, shapes, found in [
            ("ij,jk->ik", ((3, 4), (4, 5)), {"bmm": 360}),
            ("ij,ij->ij", ((3, 4), (3, 4)), {}),
            ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5)), {"bmm": 720}),
            ("ij,j->i", ((3, 4), (4,)), {"bmm": 72}),
            ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 6)), {"bmm": 900}),
        ]
    ],
    (sdpa, ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4)), {}),
    (sdpa, ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7)), {"bmm": 11880}),
    (
        lambda *x: sdpa(*x, dropout_p=0.1),
        ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4)),
        {"bmm": 8640},
    ),
]
CONVOLUTIONS = [  # forward, and forward and backward of the transposed one
    (1, 576, 1728, 1008, 3024),
    (2, 6912, 20736, 21168, 63504),
    (3, 82944, 248832, 444528, 1333584),
]


def leaves(shapes):
    return [torch.randn(*shape, requires_grad=True) for shape in shapes]


def counted(call, where="Global"):
    with FlopCounterMode(display=False) as counter:
        call()
    counts = counter.get_flop_counts().get(where, {})
    return {str(operator).removeprefix("aten."): count for operator, count in counts.items()}


@pytest.mark.parametrize("row", range(len(PRODUCTS)))
def test_the_products_of_a_call_and_its_backward_pass(row):
    call, shapes, expected = PRODUCTS[row]
    arguments = leaves(shapes)
    assert counted(lambda: call(*arguments).sum().backward()) == expected


@pytest.mark.parametrize(("dims", "one", "back", "other", "other_back"), CONVOLUTIONS)
def test_convolutions_with_groups(dims, one, back, other, other_back):
    sizes, widths = (7,) * dims, (3,) * dims
    x, w, v, b = leaves([(2, 4, *sizes), (6, 2, *widths), (4, 3, *widths), (6,)])
    moves = {"stride": 2, "padding": 1, "groups": 2}
    conv, transposed = (getattr(F, f"conv{name}{dims}d") for name in ("", "_transpose"))
    expected = {"convolution": one, "convolution_backward": back}
    assert counted(lambda: conv(x, w, b, **moves).sum().backward()) == expected
    expected = {"convolution": other, "convolution_backward": other_back}
    assert counted(lambda: transposed(x, v, b, **moves).sum().backward()) == expected
    if dims == 2:
        lone, weight = leaves([(4, 7, 7), (6, 4, 3, 3)])
        expected = {"convolution": 21168, "convolution_backward": 42336}
        assert counted(lambda: F.conv2d(lone, weight, padding="same").sum().backward()) == expected


@pytest.mark.parametrize(
    ("call", "shapes", "expected"),
    [
        (torch.mm, ((3, 4), (4, 5)), {"mm": 1080}),
        (F.linear, ((3, 4), (5, 4), (5,)), {"addmm": 120, "mm": 960}),
        (torch.matmul, ((2, 3, 4), (2, 4, 5)), {"bmm": 2160}),
        (
            F.conv2d,
            ((2, 4, 7, 7), (6, 4, 3, 3)),
            {"convolution": 108000, "convolution_backward": 86400},
        ),
    ],
)
def test_a_backward_pass_of_a_backward_pass(call, shapes, expected):
    arguments = leaves(shapes)

    def twice():
        y = call(*arguments)
        found = torch.autograd.grad(y.pow(2).sum(), arguments, create_graph=True)
        sum(g.pow(2).sum() for g in found).backward()

    assert counted(twice) == expected


def test_gradients_that_are_not_wanted_are_not_counted():
    a, b = leaves([(3, 4), (4, 5)])
    assert counted(lambda: (a @ b.detach()).sum().backward()) == {"mm": 240}
    assert counted(lambda: torch.autograd.grad((a @ b).sum(), a)) == {"mm": 240}
    with torch.no_grad():
        assert counted(lambda: a @ b) == {"mm": 120}
    y = (a @ b).sum()  # on the short path, before the block
    assert counted(y.backward) == {"mm": 240}


@pytest.mark.parametrize(
    ("kind", "expected", "layers"),
    [
        (nn.GRU, {"addmm": 3240, "mm": 6180}, {"mm": 36240, "addmm": 14400}),
        (nn.RNN, {"addmm": 1080, "mm": 2060}, {"mm": 12080, "addmm": 4800}),
        (nn.LSTM, {}, {}),
    ],
)
def test_recurrent_networks(kind, expected, layers):
    x, y = leaves([(6, 2, 4), (2, 6, 4)])
    one = kind(4, 5)
    assert counted(lambda: one(x)[0].sum().backward()) == expected
    two = kind(4, 5, 2, bidirectional=True, batch_first=True)
    assert counted(lambda: two(y)[0].sum().backward()) == layers


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (nn.LSTMCell, {"addmm": 2160, "mm": 3120}),
        (nn.GRUCell, {"addmm": 1620, "mm": 2340}),
        (nn.RNNCell, {"addmm": 540, "mm": 780}),
    ],
)
def test_recurrent_cells(kind, expected):
    (x,) = leaves([(6, 4)])

    def run():
        out = kind(4, 5)(x)
        (out[0] if isinstance(out, tuple) else out).sum().backward()

    assert counted(run) == expected


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, 2, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(4)
        self.down = nn.Sequential(nn.Conv2d(3, 4, 1, 2, bias=False), nn.BatchNorm2d(4))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.down(x))


TABLE = """\
Module                           FLOP    % Total
----------------------------  -------  ---------
Sequential                    43.488K    100.00%
 - aten.convolution           16.896K     38.85%
 - aten.addmm                  0.160K      0.37%
 - aten.mm                     0.320K      0.74%
 - aten.convolution_backward  26.112K     60.04%
"""


def test_the_table_of_a_residual_block(capsys):
    net = nn.Sequential(Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))
    x = torch.randn(2, 3, 8, 8)
    with FlopCounterMode(depth=1) as counter:
        net(x).sum().backward()
    assert capsys.readouterr().out == TABLE
    assert counter.get_total_flops() == 43488
    lines = counter.get_table(3).splitlines()
    assert "   Sequential.0.conv2            27.648K     63.58%" not in lines
    rows = {line.split()[0]: line.split()[-2:] for line in lines if " - " not in line}
    assert rows["Sequential.0.conv1"] == ["13.824K", "31.79%"]
    assert rows["Sequential.0.conv2"] == ["27.648K", "63.58%"]
    assert rows["Sequential.0.down"] == ["26.880K", "61.81%"]
    assert rows["Sequential.3"] == ["0.480K", "1.10%"]
    y = net(x)
    with FlopCounterMode(display=False) as counter:
        y.sum().backward()
    assert counter.get_table().splitlines()[2].split() == ["Global", "26.432K", "100.00%"]
    with FlopCounterMode():
        pass
    assert capsys.readouterr().out.splitlines()[-1].split() == ["Global", "0", "0%"]


def test_a_transformer_by_module():
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0)
    x, memory = leaves([(5, 3, 8), (6, 3, 8)])
    with FlopCounterMode(display=False) as counter:
        layer(x, memory).sum().backward()
    found = {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()}
    name = "TransformerDecoderLayer"
    assert found == {
        "Global": 71424,
        name: 71424,
        f"{name}.self_attn": 23040,
        f"{name}.multihead_attn": 25344,
        f"{name}.linear1": 11520,
        f"{name}.linear2": 11520,
        f"{name}.dropout": 39936,
        f"{name}.dropout1": 15360,
        f"{name}.dropout2": 32256,
        f"{name}.dropout3": 47616,
    }
    heads = nn.MultiheadAttention(8, 2)
    q, k = leaves([(5, 3, 8), (6, 3, 8)])
    expected = {"addmm": 8448, "bmm": 8640, "mm": 16896}
    assert counted(lambda: heads(q, k, k)[0].sum().backward()) == expected
    expected = {"addmm": 8448, "mm": 16896}
    assert counted(lambda: heads(q, k, k, need_weights=False)[0].sum().backward()) == expected


def test_formulas_of_ones_own():
    name = "_scaled_dot_product_flash_attention_for_cpu"
    mapping = {
        getattr(aten, name): sdpa_flop,
        getattr(aten, f"{name}_backward"): sdpa_backward_flop,
        aten.exp: lambda x, out_shape=None: 7 * x.numel(),
    }
    q, k, v = leaves([(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4)])
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        sdpa(q, k, v).exp().sum().backward()
    expected = {name: 2880, f"{name}_backward": 7200, "exp": 840}
    assert counter.get_flop_counts()["Global"] == {
        getattr(aten, name): count for name, count in expected.items()
    }
    with pytest.raises(RuntimeError, match=r"registrations for aten\.mm"):
        register_flop_formula(aten.mm)(lambda *_: 0)
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula("mm")(lambda *_: 0)
    with pytest.warns(UserWarning, match="mods argument is not needed anymore"):
        FlopCounterMode(nn.Linear(1, 1))


def test_what_a_transform_computes_is_refused():
    x = torch.ones(3, 3)
    refused = pytest.raises(
        NotImplementedError, match=r"transforms of torch\.func are not counted"
    )
    with refused, FlopCounterMode(display=False):
        torch.func.grad(lambda a: (a @ a).sum())(x)
    assert counted(lambda: x @ x) == {"mm": 54}  # the counter before has ended
