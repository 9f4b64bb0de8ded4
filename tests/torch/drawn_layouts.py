"""Calls whose results PyTorch lays out in memory by a rule, by the rule.

Knows no library. Each is an expression of `x`, `torch` and `F`, for every layout of x.
"""

from __future__ import annotations

REDUCTIONS = "sum mean prod amax amin logsumexp var std nansum any all argmax count_nonzero norm"
PAIRS = "max min median mode nanmedian cummax cummin"
SCANS = "cumsum cumprod logcumsumexp softmax log_softmax"
ELEMENTWISE = "exp abs sigmoid relu neg sqrt clone isnan double"

# The result is contiguous, whatever the argument's strides.
CONTIGUOUS = [
    *(f"x.{name}(dim={dim})" for name in REDUCTIONS.split() for dim in (0, -1)),
    *(f"x.{name}({dim})[{part}]" for name in PAIRS.split() for dim in (0, -1) for part in (0, 1)),
    *(f"x.{name}({dim})" for name in SCANS.split() for dim in (0, 1, -1)),
    *("x.topk(2, 0)[0]", "x.topk(2, -1)[1]", "x.kthvalue(1, 0)[0]", "x.tril()", "x.triu()"),
    *(f"x.index_select({dim}, torch.tensor([1, 0]))" for dim in (0, 1, -1)),
    *(f"x.gather({dim}, torch.zeros(x.shape, dtype=int))" for dim in (0, 1, -1)),
    *(
        "torch.cat([x, x.contiguous()])",
        "torch.cat([x.contiguous(), x], 1)",
        "x.repeat_interleave(2, 0)",
        "x[x > 0.5]",
    ),
    *("x.masked_fill(x > 0.5, 0.0)", "x.renorm(2, 0, 1.0)", "x.narrow_copy(0, 0, 2)"),
    *("torch.diag_embed(x)", "torch.trapezoid(x, dim=0)", "torch.gradient(x, dim=0)[0]"),
    *("F.layer_norm(x, x.shape[-1:])", "F.logsigmoid(x)", "F.softmin(x, 0)"),
    *("F.one_hot((2 * x).long())", "F.linear(x, torch.ones(2, x.shape[-1]))", "x @ x.mT"),
    *("F.cosine_similarity(x, x, 0)", "F.scaled_dot_product_attention(x, x, x)"),
]
# It has the order of a dense argument's strides.
PRESERVED = [
    *(f"x.{name}()" for name in ELEMENTWISE.split()),
    *(f"x.{name}({dim})" for name in ("argsort", "flip") for dim in (0, -1)),
    *(
        "x.msort()",
        "x.sort(-1)[0]",
        "x.sort(-1)[1]",
        "x + x",
        "2 * x",
        "x > 0.5",
        "torch.where(x > 0.5, x, -x)",
    ),
    *("x.index_fill(0, torch.tensor([0]), 1.0)", "x.index_put((torch.tensor([0]),), x[0])"),
    *("torch.complex(x, x)", "torch.zeros_like(x)"),
    *("F.mse_loss(x, -x, reduction='none')", "F.gelu(x)", "F.dropout(x)"),
]
# Contiguous results, but for images with channels last.
JOINED = [
    *(f"torch.{name}([x, x])" for name in "cat vstack hstack dstack".split()),
    *("torch.cat([x, x], 1)", "torch.stack([x, x], -1)", "x.roll(1, 0)"),
]
# Images: the result has channels last where the argument has.
SUGGESTED = [
    *("F.pad(x, (1, 1))", "F.pad(x, (1, 1, 1, 1), mode='reflect')", "F.batch_norm(x, *norm)"),
    *("F.max_pool2d(x, 2)", "F.avg_pool2d(x, 2)", "F.interpolate(x, scale_factor=2)"),
    *("F.conv2d(x, torch.ones(2, 3, 2, 2))", "F.channel_shuffle(x, 3)", "F.group_norm(x, 3)"),
]
FLAT = ("transposed", "contiguous", "expanded", "permuted", "turned")
IMAGES = ("channels last", "reversed", "apart", "images")
LAYOUTS = {
    "transposed": lambda of: of(3, 4).t(),
    "contiguous": lambda of: of(4, 3),
    "expanded": lambda of: of(4, 1).expand(4, 3),
    "permuted": lambda of: of(3, 4, 2).permute(1, 2, 0),
    "turned": lambda of: of(2, 3, 4).transpose(1, 2),
    "channels last": lambda of: of(2, 4, 5, 3).permute(0, 3, 1, 2),
    "reversed": lambda of: of(5, 4, 3, 2).permute(3, 2, 1, 0),
    "apart": lambda of: of(2, 3, 8, 10)[:, :, ::2, ::2],
    "images": lambda of: of(2, 3, 4, 5),
}
CALLS = {
    layout: [*CONTIGUOUS, *PRESERVED, *JOINED, *(SUGGESTED if layout in IMAGES else ())]
    for layout in LAYOUTS
}


def strides(library, layout, calls, grad):
    """The strides of the results, but of dimensions of one element, where they say nothing."""

    def of(*shape):
        count = 1
        for side in shape:
            count *= side
        return ((library.arange(float(count)) * 7 + 3) % count / count).reshape(shape)

    x = LAYOUTS[layout](of).requires_grad_(grad)
    words = {"torch": library, "F": library.nn.functional, "x": x}
    words["norm"] = library.zeros(x.shape[1]), library.ones(x.shape[1])
    return [_strides(eval(call, words)) for call in calls]


def _strides(made):
    steps = zip(made.shape, made.stride(), strict=True)
    return [step for side, step in steps if side > 1]
