"""Calls of public functions with drawn arguments, as plain data, and ways to make them wrong.

A tensor among the arguments is an array; `Choice` draws it again and again. Knows no library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from drawn import Draw

Call = tuple[list[Any], dict[str, Any]]
Maker = Callable[[Draw], Call]


def _x(draw: Draw, *shape: int) -> Any:
    return draw.numbers(*shape)


def _of(*shapes: tuple[int, ...], **options: tuple[Any, ...]) -> Maker:
    """A call with tensors of these shapes, and some of the options."""
    return lambda draw: ([_x(draw, *shape) for shape in shapes], draw.some(options))


def _with(*shapes: tuple[int, ...], rest: Any, **options: tuple[Any, ...]) -> Maker:
    """The same, with one of several lists of further arguments by position."""
    return lambda draw: (
        [*(_x(draw, *shape) for shape in shapes), *draw.one(*rest)],
        draw.some(options),
    )


def _image(n: int, *rest: Any, **options: tuple[Any, ...]) -> Maker:
    def maker(draw: Draw) -> Call:
        shape = (2, 4, *(draw.count(4, 6) for _ in range(n)))[draw.one(0, 0, 1) :]
        return [_x(draw, *shape), *draw.one(*rest or ((),))], draw.some(options)

    return maker


def _conv(n: int, transposed: bool) -> Maker:
    def maker(draw: Draw) -> Call:
        groups = draw.one(1, 2)
        shape = (2, 4, *(draw.count(4, 6) for _ in range(n)))[draw.one(0, 0, 1) :]
        sizes = (4, 2) if transposed else (2, 4 // groups)
        weight = _x(
            draw, *(sizes if not transposed else (4, 2)), *(draw.one(1, 2, 3) for _ in range(n))
        )
        options: dict[str, Any] = draw.some(
            {"stride": (1, 2, (1,) * n), "padding": (0, 1, (1,) * n), "dilation": (1, 2)}
        )
        if transposed:
            options |= draw.some({"output_padding": (0, 1)})
        elif draw.chance(0.2):
            options["padding"] = draw.one("same", "valid")
        if draw.chance():
            options["bias"] = _x(draw, sizes[0] if not transposed else 2 * groups)
        return [_x(draw, *shape), weight], {**options, "groups": groups}

    return maker


REDUCTION = ("mean", "sum", "none")


def _target(kind: str, **options: tuple[Any, ...]) -> Maker:
    def maker(draw: Draw) -> Call:
        shape = draw.one((4, 3), (2, 3), (2, 3, 2), (3,))
        x = _x(draw, *shape)
        if kind == "probability":
            return [1 / (1 + np.exp(-x)), draw.random.uniform(size=shape)], draw.some(
                options | {"reduction": REDUCTION}
            )
        if kind == "sign":
            target = draw.random.choice([-1.0, 1.0], size=shape)
        elif kind == "class":
            target = draw.random.integers(
                0, shape[min(1, len(shape) - 1)], (shape[0], *shape[2:])[: len(shape) - 1]
            )
            target = np.asarray(target)
        else:
            target = _x(draw, *shape)
        return [x, target], draw.some(options | {"reduction": REDUCTION})

    return maker


def _norm(draw: Draw) -> Call:
    x = _x(draw, 3, 4, 2)
    options: dict[str, Any] = draw.some({"eps": (1e-5, 1e-3), "momentum": (0.1, 0.5)})
    if draw.chance():
        options |= {"weight": _x(draw, 4), "bias": _x(draw, 4)}
    return [x], options


def _batch_norm(draw: Draw) -> Call:
    (x,), options = _norm(draw)
    running = draw.one([np.zeros(4), np.ones(4)], [None, None])
    options["training"] = draw.one(True, False) if running[0] is not None else True
    return [x, *running], options


def _embedding(draw: Draw) -> Call:
    options = {"padding_idx": (0, -1, 1), "max_norm": (1.0,), "scale_grad_by_freq": (True, False)}
    return [draw.random.integers(0, 5, draw.one((3,), (2, 2))), _x(draw, 5, 3)], draw.some(options)


def _bag(draw: Draw) -> Call:
    options = {"mode": ("sum", "mean", "max"), "padding_idx": (0, 2)}
    if draw.chance():
        return [draw.random.integers(0, 5, (2, 3)), _x(draw, 5, 3)], draw.some(options)
    return [draw.random.integers(0, 5, (6,)), _x(draw, 5, 3), np.array([0, 2, 5])], draw.some(
        options | {"include_last_offset": (True, False)}
    )


def _interpolate(draw: Draw) -> Call:
    n = draw.count(1, 3)
    mode = draw.one(
        "nearest", "nearest-exact", "area", "linear", "bilinear", "trilinear", "bicubic"
    )
    options = draw.one({"size": 6}, {"scale_factor": 2}, {"scale_factor": 1.5}, {"size": (3,) * n})
    more = draw.some({"align_corners": (True, False)}) if draw.chance(0.4) else {}
    more |= {"antialias": True} if draw.chance(0.1) else {}
    return [_x(draw, 2, 2, *(4,) * n)], {**options, "mode": mode, **more}


def _grid(draw: Draw) -> Call:
    n = draw.one(2, 2, 3)
    options = {
        "mode": ("bilinear", "nearest", "bicubic"),
        "padding_mode": ("zeros", "border", "reflection"),
        "align_corners": (True, False),
    }
    return [_x(draw, 2, 2, *(4,) * n), _x(draw, 2, *(3,) * n, n)], {
        "align_corners": False
    } | draw.some(options)


def _attention(draw: Draw) -> Call:
    options: dict[str, Any] = draw.some({"is_causal": (True, False), "scale": (0.5, 1.0)})
    if draw.chance(0.3):
        options["attn_mask"] = _x(draw, 3, 3)
    return [_x(draw, 2, 2, 3, 4), _x(draw, 2, 2, 3, 4), _x(draw, 2, 2, 3, 4)], options


def _pad(draw: Draw) -> Call:
    n = draw.count(1, 3)
    shape = (2, 2, *(4,) * n)
    mode = draw.one("constant", "reflect", "replicate", "circular")
    pads = [draw.count(-1, 2) for _ in range(2 * n)]
    options = {"value": 1.5} if mode == "constant" and draw.chance() else {}
    return [_x(draw, *shape), pads], {"mode": mode, **options}


def _ctc(draw: Draw) -> Call:
    x = _x(draw, 6, 2, 4)
    x = x - np.log(np.exp(x).sum(-1, keepdims=True))
    return [x, draw.random.integers(1, 4, (2, 3)), [6, 5], [3, 2]], draw.some(
        {"reduction": REDUCTION, "zero_infinity": (True, False), "blank": (0, 3)}
    )


def _unpool(draw: Draw) -> Call:
    return [_x(draw, 2, 2, 2), np.array([[[0, 2], [5, 7]]] * 2), 2], draw.some({"stride": (2,)})


def _one_hot(draw: Draw) -> Call:
    return [draw.random.integers(0, 4, (3,))], draw.some({"num_classes": (-1, 5, 2)})


def _distances(draw: Draw) -> Call:
    return [_x(draw, 3, 4), _x(draw, *draw.one((3, 4), (1, 4), (4,), (3, 5)))], {}


def _unary(**options: tuple[Any, ...]) -> Maker:
    return lambda draw: ([_x(draw, *draw.one((3,), (2, 3), (), (2, 0)))], draw.some(options))


FUNCTIONAL: dict[str, Maker] = {
    **{
        name: _unary()
        for name in "hardsigmoid hardswish logsigmoid mish relu relu6 selu silu sigmoid softsign tanh tanhshrink".split()
    },
    "elu": _unary(alpha=(1.0, 0.5)),
    "celu": _unary(alpha=(1.0, 0.5, 0)),
    "gelu": _unary(approximate=("none", "tanh", "what")),
    "glu": _of((2, 4), dim=(-1, 0, 1, 2)),
    "hardshrink": _unary(lambd=(0.5, 0.1)),
    "hardtanh": _unary(min_val=(-1.0, 0.0), max_val=(1.0, 0.5)),
    "leaky_relu": _unary(negative_slope=(0.01, 0.2), inplace=(False,)),
    "prelu": _with(
        (2, 3), rest=([np.array([0.2])], [np.array([0.2, 0.3, 0.1])], [np.array([0.2, 1])])
    ),
    "softplus": _unary(beta=(1, 2.0), threshold=(20, 0.5)),
    "softshrink": _unary(lambd=(0.5, 0.1, -1.0)),
    "softmax": _of((2, 3), dim=(0, 1, -1, 2, None), dtype=(None,)),
    "softmin": _of((2, 3), dim=(0, 1, -1, -3)),
    "log_softmax": _of((2, 3), dim=(0, 1, -1, 4)),
    "threshold": _with((2, 3), rest=([0.1, 2.0], [0, 0], [0.5])),
    "normalize": _of((2, 3), p=(2.0, 1, 3), dim=(1, 0, 2), eps=(1e-12, 0.5)),
    "dropout": _of((2, 3), p=(0.0, 1.5, -0.1), training=(False, True))
    if False
    else _with((2, 3), rest=([0.0], [1.5], [-0.1], [0.4, False])),
    **{f"conv{n}d": _conv(n, False) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": _conv(n, True) for n in (1, 2, 3)},
    **{
        f"avg_pool{n}d": _image(
            n,
            (2,),
            (3,),
            (7,),
            (0,),
            stride=(1, 2, 0),
            padding=(0, 1, 2),
            ceil_mode=(True,),
            count_include_pad=(False,),
        )
        for n in (1, 2, 3)
    },
    **{
        f"max_pool{n}d": _image(
            n,
            (2,),
            (3,),
            (7,),
            stride=(1, 2),
            padding=(0, 1, 2),
            dilation=(1, 2, 0),
            ceil_mode=(True,),
            return_indices=(True,),
        )
        for n in (1, 2, 3)
    },
    **{
        f"lp_pool{n}d": _image(n, (2, 2), (1, 3), (3.0, 2), stride=(1, 2), ceil_mode=(True,))
        for n in (1, 2, 3)
    },
    **{
        f"adaptive_avg_pool{n}d": _image(
            n, (1,), (3,), ((2,) * n,), ((2,) * (n + 1),), (0,), (-1,)
        )
        for n in (1, 2, 3)
    },
    **{
        f"adaptive_max_pool{n}d": _image(
            n, (1,), (3,), ((2,) * n,), ((2,) * (n + 1),), (0,), return_indices=(True,)
        )
        for n in (1, 2, 3)
    },
    "max_unpool1d": _unpool,
    "fold": _with(
        (2, 8, 9),
        rest=([(4, 4), 2], [(5, 4), 2], [4, (2, 2)]),
        padding=(0, 1),
        stride=(1, 2),
        dilation=(1, 2),
    ),
    "unfold": _with(
        (2, 2, 4, 5), rest=([2], [(2, 3)], [6]), padding=(0, 1), stride=(1, 2), dilation=(1, 2, 0)
    ),
    "batch_norm": _batch_norm,
    "instance_norm": _norm,
    "layer_norm": _with(
        (2, 3, 4),
        rest=([(4,)], [[3, 4]], [(3,)], [[]], [4]),
        eps=(1e-3,),
        weight=(np.ones(4),),
        bias=(np.ones(4),),
    ),
    "rms_norm": _with(
        (2, 3, 4), rest=([(4,)], [[3, 4]], [(3,)]), eps=(1e-3,), weight=(np.ones(4),)
    ),
    "group_norm": _with(
        (2, 4, 3),
        rest=([2], [1], [4], [3], [0]),
        eps=(1e-3,),
        weight=(np.ones(4),),
        bias=(np.ones(4), np.ones(3)),
    ),
    "local_response_norm": _with((2, 4, 3), rest=([2], [3], [1]), alpha=(0.1,), k=(2.0,)),
    "embedding": _embedding,
    "embedding_bag": _bag,
    "one_hot": _one_hot,
    "linear": _with(
        (2, 3),
        rest=(
            [np.ones((4, 3))],
            [np.ones((4, 3)), np.ones(4)],
            [np.ones((4, 2))],
            [np.ones(3)],
            [np.ones((4, 3)), np.ones(3)],
        ),
    ),
    "bilinear": _with(
        (2, 3),
        (2, 4),
        rest=([np.ones((2, 3, 4))], [np.ones((2, 3, 4)), np.ones(2)], [np.ones((2, 3, 3))]),
    ),
    "scaled_dot_product_attention": _attention,
    "interpolate": _interpolate,
    "grid_sample": _grid,
    "affine_grid": _with(
        (2, 2, 3), rest=([(2, 1, 3, 4)], [[2, 1, 3]], [(2, 1, 0, 4)]), align_corners=(True, False)
    ),
    "pad": _pad,
    "pixel_shuffle": _with((2, 4, 2, 3), rest=([2], [1], [3], [0])),
    "pixel_unshuffle": _with((2, 2, 4, 4), rest=([2], [1], [3], [0])),
    "channel_shuffle": _with((2, 4, 2, 3), rest=([2], [1], [3], [0])),
    "cosine_similarity": _of((2, 3), (2, 3), dim=(0, 1, 2), eps=(1e-8, 0.1)),
    "pairwise_distance": _distances,
    "pdist": _of((4, 3), p=(2.0, 1, 0, float("inf"))),
    "ctc_loss": _ctc,
    "binary_cross_entropy": _target("probability"),
    "binary_cross_entropy_with_logits": _target("probability"),
    "cosine_embedding_loss": _with(
        (3, 4),
        (3, 4),
        rest=([np.array([1.0, -1, 1])], [np.array([1.0, -1])]),
        margin=(0.2,),
        reduction=REDUCTION,
    ),
    "cross_entropy": _target(
        "class",
        label_smoothing=(0.0, 0.1, 1.5),
        ignore_index=(0, 1, -100),
        weight=(np.ones(3), np.ones(2)),
    ),
    "nll_loss": _target("class", ignore_index=(0, 1), weight=(np.ones(3), np.ones(2))),
    "gaussian_nll_loss": _with(
        (3, 2),
        (3, 2),
        rest=([np.full((3, 2), 0.4)], [np.ones((3, 1))], [-np.ones((3, 2))], [np.ones((2, 3))]),
        full=(True,),
        reduction=REDUCTION,
    ),
    "hinge_embedding_loss": _target("sign", margin=(0.5,)),
    "huber_loss": _target("value", delta=(0.5, 1.0, 0.0)),
    "kl_div": _target("value", log_target=(True, False)),
    "l1_loss": _target("value"),
    "mse_loss": _target("value"),
    "margin_ranking_loss": _with(
        (3,),
        (3,),
        rest=([np.array([1.0, -1, 1])], [np.ones((3, 1))]),
        margin=(0.5,),
        reduction=REDUCTION,
    ),
    "multi_margin_loss": _target("class", p=(1, 2, 3), margin=(0.5,)),
    "multilabel_margin_loss": _with(
        (2, 3),
        rest=(
            [np.array([[0, -1, 1], [1, 2, -1]])],
            [np.array([[0, 1]])],
            [np.array([[0, -1, 1], [1, 7, -1]])],
        ),
        reduction=REDUCTION,
    ),
    "multilabel_soft_margin_loss": _target("sign"),
    "poisson_nll_loss": _target("value", log_input=(True, False), full=(True, False)),
    "smooth_l1_loss": _target("value", beta=(0.5, 0.0, -1.0)),
    "soft_margin_loss": _target("sign"),
    "triplet_margin_loss": _of(
        (3, 4), (3, 4), (3, 4), margin=(0.5, -1.0), p=(1, 2), swap=(True,), reduction=REDUCTION
    ),
}

TORCH: dict[str, Maker] = {
    **{
        name: _unary()
        for name in "abs acos asin atan ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor frac isnan lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc numel nonzero det trace inverse t diag".split()
    },
    **{
        name: _of((2, 3), draw_shape)
        for draw_shape in ((2, 3), (3,), (4, 3))
        for name in (
            "add",
            "sub",
            "mul",
            "div",
            "maximum",
            "atan2",
            "pow",
            "fmod",
            "remainder",
            "logaddexp",
            "hypot",
            "eq",
            "lt",
            "where",
            "dist",
            "cross",
            "dot",
            "mv",
            "outer",
            "kron",
            "matmul",
            "mm",
            "inner",
            "vdot",
            "chain_matmul",
            "isclose",
            "equal",
        )
    },
    **{
        name: _of((2, 3), dim=(0, 1, -1, 2, -3, (0, 1), None), keepdim=(True, False))
        for name in "sum mean prod amax amin logsumexp var std norm all any argmax argmin max min median nansum count_nonzero mode nanmean".split()
    },
    **{
        name: _with((2, 3), rest=([0], [1], [-1], [2], []))
        for name in "cumsum cumprod logcumsumexp cummax softmax log_softmax unbind squeeze unsqueeze sort argsort flip diff flatten".split()
    },
    "cat": lambda draw: (
        [[_x(draw, 2, 3), _x(draw, *draw.one((2, 3), (1, 3), (2, 2), (0,), (3,)))]],
        draw.some({"dim": (0, 1, -1, 2)}),
    ),
    "stack": lambda draw: (
        [[_x(draw, 2, 3), _x(draw, *draw.one((2, 3), (2, 2)))]],
        draw.some({"dim": (0, 1, 2, 3, -3)}),
    ),
    "hstack": lambda draw: ([[_x(draw, 2, 3), _x(draw, *draw.one((2, 2), (3, 2)))]], {}),
    "reshape": _with((2, 6), rest=([(3, 4)], [(-1,)], [(5, -1)], [(-1, -1)], [(7,)], [(0, -1)])),
    "transpose": _with((2, 3), rest=([0, 1], [0, 2], [-1, 0], [0])),
    "permute": _with((2, 3, 2), rest=([(2, 0, 1)], [(0, 1)], [(0, 0, 1)], [(3, 0, 1)])),
    "split": _with((5, 2), rest=([2], [[2, 3]], [[2, 2]], [0], [-1]), dim=(0, 1, 2)),
    "chunk": _with((5, 2), rest=([2], [3], [0]), dim=(0, 1, 3)),
    "index_select": _with(
        (3, 4),
        rest=(
            [0, np.array([0, 2])],
            [1, np.array([3])],
            [0, np.array([5])],
            [2, np.array([0])],
            [0, np.array([0.5])],
            [0, np.array([[0]])],
        ),
    ),
    "gather": _with(
        (3, 4),
        rest=(
            [0, np.array([[0, 1]])],
            [1, np.array([[3], [0]])],
            [1, np.array([[7]])],
            [0, np.array([1])],
            [2, np.array([[0]])],
        ),
    ),
    "scatter": _with(
        (3, 4),
        rest=(
            [0, np.array([[0, 1]]), np.ones((1, 2))],
            [1, np.array([[3]]), 2.0],
            [1, np.array([[7]]), 1.0],
            [0, np.array([[0, 1]]), np.ones((1, 1))],
        ),
    ),
    "take": _with(
        (3, 4), rest=([np.array([0, 11])], [np.array([12])], [np.array([-1])], [np.array([0.5])])
    ),
    "masked_select": _with(
        (3, 2), rest=([np.ones((3, 2), bool)], [np.ones((3, 3), bool)], [np.ones((3, 2))])
    ),
    "masked_fill": _with(
        (3, 2),
        rest=([np.ones((3, 2), bool), 2.0], [np.ones((2, 2), bool), 1.0], [np.ones((3, 2)), 1.0]),
    ),
    "clamp": _of((2, 3), min=(0.0, -1, None), max=(0.5, 1, None)),
    "topk": _with((2, 4), rest=([2], [1], [5], [-1], [2, 0]), largest=(False,), dim=(0, 1, 2)),
    "kthvalue": _with((2, 4), rest=([2], [1], [5], [0]), dim=(0, 1, 2)),
    "narrow": _with((4, 3), rest=([0, 1, 2], [0, 3, 2], [1, -1, 1], [2, 0, 1], [0, 0, -1])),
    "select": _with((4, 3), rest=([0, 1], [0, 4], [1, -1], [2, 0], [1, -4])),
    "roll": _with((4, 3), rest=([1], [1, 0], [(1, 2), (0, 1)], [(1, 2), 0], [1, 4])),
    "tril": _of((3, 4), diagonal=(0, 1, -1)),
    "triu": _of((3,), diagonal=(0, 1)),
    "diagonal": _of((3, 4), offset=(0, 1, 5), dim1=(0, 1), dim2=(1, 0)),
    "einsum": lambda draw: (
        [
            draw.one(
                "ij,jk->ik",
                "ij,ij->",
                "ij,kj",
                "ij->ji",
                "ij,jk->iz",
                "ijk,jk",
                "ij,jk->ii",
                "i,j",
            ),
            _x(draw, 2, 3),
            _x(draw, 3, 2),
        ],
        {},
    ),
    "bmm": _of((2, 3, 4), (2, 4, 2)),
    "baddbmm": _of((2, 3, 2), (2, 3, 4), (2, 4, 2), beta=(0.5,), alpha=(2,)),
    "addmm": _with(
        (3, 2),
        (3, 4),
        rest=([np.ones((4, 2))], [np.ones((3, 2))], [np.ones(2)]),
        beta=(0.5,),
        alpha=(2,),
    ),
    "tensordot": _with((2, 3), (3, 2), rest=([1], [2], [([0], [1])], [([0], [0])], [3])),
    "lerp": _with((2, 3), (2, 3), rest=([0.5], [np.ones(3)], [np.ones(2)])),
    "addcmul": _of((2, 3), (2, 3), (2, 3), value=(0.5, 2)),
    "meshgrid": lambda draw: (
        [_x(draw, 2), _x(draw, *draw.one((3,), (2, 2)))],
        {"indexing": draw.one("ij", "xy", "zz")},
    ),
    "repeat_interleave": _with(
        (2, 3), rest=([2], [np.array([1, 2])], [np.array([1, 2, 1])], [-1]), dim=(0, 1, 2)
    ),
    "cdist": _of((2, 3), (4, 3), p=(2.0, 1.0, -1.0)),
    "linspace": lambda draw: ([0, 1, draw.one(3, 0, 1, -1)], {}),
    "arange": lambda draw: (draw.one([3], [0, 1, 0.3], [0, 1, 0], [1, 0], [1, 0, -0.5]), {}),
    "full": lambda draw: (draw.one([(2, 3), 1.5], [(2,), 3], [(-1,), 3], [(2, 3)]), {}),
    "eye": lambda draw: (draw.one([3], [2, 3], [-1], [2, -3]), {}),
    "zeros": lambda draw: (draw.one([2, 3], [(2,)], [-1], [(2, -3)]), {}),
    "tensor": lambda draw: (
        draw.one([[1, 2]], [[[1, 2], [3]]], [["a"]], [2.5], [[]], [[1, "a"]], [None]),
        {},
    ),
    "bincount": lambda draw: (
        [draw.one(np.array([0, 1, 1]), np.array([-1, 2]), np.array([0.5]), np.zeros((2, 2), int))],
        draw.some({"minlength": (4, -1)}),
    ),
    "histc": _of((6,), bins=(3, 0), min=(-1, 0), max=(1, 0)),
    "searchsorted": _with((5,), (3,), rest=([], [])),
    "unique": _of((6,), return_inverse=(True,), return_counts=(True,)),
    "cov": _of((2, 4), correction=(0, 1)),
    "quantile": _with(
        (2, 4), rest=([0.5], [1.5], [np.array([0.1, 0.9])]), dim=(0, 1, 2), keepdim=(True,)
    ),
    "tile": _with((2, 3), rest=([(2,)], [(2, 1, 2)], [(-1,)])),
    "broadcast_to": _with((2, 1), rest=([(2, 3)], [(3, 3)], [(2,)], [(-1, 4)])),
    "movedim": _with(
        (2, 3, 4), rest=([0, 2], [(0, 1), (1, 2)], [0, 5], [(0, 0), (1, 2)], [(0, 1), 2])
    ),
    "rot90": _with((2, 3), rest=([1, [0, 1]], [1, [0, 0]], [1, [0, 2]], [2, [0]])),
    "bucketize": _with((3,), rest=([np.array([0.0, 1.0])], [np.zeros((2, 2))])),
    "unflatten": _with(
        (2, 6), rest=([1, (2, 3)], [1, (-1, 4)], [1, (2, 2)], [2, (1,)], [0, (2, 1)])
    ),
    "result_type": _of((2,), (3,)),
    "combinations": _of((3,), r=(1, 2, 3)),
    "heaviside": _of((2, 3), (3,)),
    "renorm": _with((2, 3), rest=([2, 0, 1.0], [1, 1, 0.5], [2, 2, 1.0], [-1, 0, 1.0])),
    "swapaxes": _with((2, 3), rest=([0, 1], [0, 3])),
    "cartesian_prod": _of((2,), (3,)),
    "block_diag": _of((2, 2), (1, 3)),
    "tensor_split": _with((5, 2), rest=([2], [0], [[1, 3]]), dim=(0, 1, 2)),
    "logspace": lambda draw: ([0, 1, draw.one(3, -2)], {}),
    "vander": _of((3,), N=(2, 4, -1)),
    "trapezoid": _of((2, 4), dx=(0.5,), dim=(0, 1, 2)),
    "nan_to_num": _of((3,), nan=(1.0,)),
    "bernoulli": lambda draw: (
        [draw.one(np.array([1.5]), np.array([0.0, 1.0]), np.array([1]))],
        {},
    ),
    "multinomial": lambda draw: (
        [draw.one(np.array([-1.0, 1]), np.array([0.0, 0]), np.array([1]))],
        {"num_samples": draw.one(1, 0, 5)},
    ),
    "take_along_dim": _with(
        (3, 4), rest=([np.array([[0], [1], [2]]), 1], [np.array([[9]]), 1], [np.array([[0.5]]), 0])
    ),
}

METHODS: dict[str, Maker] = {
    "view": _with((2, 6), rest=([3, 4], [-1], [5, -1], [-1, -1], [7], [(3, 4)])),
    "expand": _with((2, 1), rest=([2, 3], [3, 3], [2], [-1, 4], [4, -1, 3], [-1, -1, -1])),
    "repeat": _with((2, 3), rest=([2], [2, 2], [1, 2, 3], [-1, 1])),
    "item": _of((2,)),
    "backward": _of((2,)),
    "add_": _with((2, 3), rest=([np.ones(3)], [np.ones((2, 2))], [np.ones((2, 2, 3))], [1.5])),
    "mul_": _with((2, 3), rest=([np.ones((4, 2, 3))], [2])),
    "copy_": _with((2, 3), rest=([np.ones(3)], [np.ones((3, 3))])),
    "fill_": _with((2, 3), rest=([1.0], [np.ones(2)], [np.ones(())])),
    "unfold": _with((5, 2), rest=([0, 2, 1], [0, 6, 1], [0, 2, 0], [2, 1, 1], [0, -1, 1])),
    "as_strided": _with(
        (4,), rest=([(2, 2), (1, 1)], [(2, 2), (1,)], [(4, 4), (1, 1)], [(2,), (-1,)])
    ),
    "index_add": _with(
        (3, 2),
        rest=(
            [0, np.array([0, 2]), np.ones((2, 2))],
            [0, np.array([0]), np.ones((2, 2))],
            [0, np.array([4]), np.ones((1, 2))],
        ),
    ),
    "index_fill": _with(
        (3, 2), rest=([0, np.array([0, 2]), 1.0], [0, np.array([4]), 1.0], [3, np.array([0]), 1.0])
    ),
    "index_copy": _with(
        (3, 2), rest=([0, np.array([0, 2]), np.ones((2, 2))], [0, np.array([0]), np.ones((2, 2))])
    ),
    "index_put": _with(
        (3, 2),
        rest=(
            [(np.array([0, 2]),), np.ones(2)],
            [(np.array([0, 5]),), np.ones(2)],
            [(np.array([0, 1]),), np.ones((3, 3))],
        ),
    ),
    "scatter_add": _with(
        (3, 4),
        rest=(
            [0, np.array([[0, 1]]), np.ones((1, 2))],
            [0, np.array([[0, 1]]), np.ones((1, 1))],
            [0, np.array([[5]]), np.ones((1, 1))],
        ),
    ),
    "masked_scatter": _with(
        (2, 2),
        rest=(
            [np.ones((2, 2), bool), np.ones(4)],
            [np.ones((2, 2), bool), np.ones(2)],
            [np.ones((2, 2)), np.ones(4)],
        ),
    ),
    "type": _with((2,), rest=(["torch.FloatTensor"], ["torch.What"])),
    "size": _with((2, 3), rest=([], [0], [2], [-1])),
    "stride": _with((2, 3), rest=([], [0], [2], [-1])),
    "__getitem__": _with(
        (3, 4),
        rest=(
            [0],
            [3],
            [(0, 1, 2)],
            [(slice(None), 5)],
            [np.array([0, 2])],
            [np.array([7])],
            [np.ones(4, bool)],
            [(None, Ellipsis, Ellipsis)],
            ["a"],
            [(np.array([0, 1]), np.array([0, 1, 2]))],
            [0.5],
            [slice(None, None, -1)],
        ),
    ),
    "__setitem__": _with(
        (3, 4),
        rest=(
            [0, 1.0],
            [3, 1.0],
            [0, np.ones(3)],
            [(slice(None), 0), np.ones((3, 1))],
            ["a", 1.0],
            [np.ones(4, bool), 1.0],
            [0, "a"],
        ),
    ),
    "requires_grad_": lambda draw: ([draw.numbers(2, dtype=draw.one(np.int64, np.float64))], {}),
    "__matmul__": _of((2, 3), (2, 3)),
    "__bool__": _of((2,)),
    "__float__": _of((2,)),
    "__int__": _of((2,)),
    "__index__": _of(()),
    "__len__": _of(()),
    "__iter__": _of(()),
    "__contains__": _with((2,), rest=([1.0], ["a"])),
    "numpy": _of((2,)),
    "tolist": _of((2,)),
    "dim": _of((2,)),
    "squeeze_": _with((2, 1), rest=([0], [1], [4])),
    "t_": _of((2, 3, 4)),
    "new_zeros": _with((2,), rest=([2], [(2, 3)], [-1])),
    "sum_to_size": _with((2, 3), rest=([1, 3], [3], [2, 2])),
    "clamp_": _of((2, 3), min=(0.0, None), max=(1.0, None)),
    "bernoulli_": _of((2,), p=(0.0, 1.0, 1.5, -0.5)),
    "uniform_": _with((2,), rest=([1.0, 0.0], [0.0, 0.0])),
    "normal_": _with((2,), rest=([0.0, -1.0], [1.0, 0.0])),
    "random_": _with((2,), rest=([0, 0], [3, 1], [0, 1])),
    "exponential_": _with((2,), rest=([0.0], [-1.0])),
    "geometric_": _with((2,), rest=([0.0], [1.5], [1.0])),
}

LINALG: dict[str, Maker] = {
    **{
        name: _of(shape)
        for shape in ((3, 3), (2, 3), (3,))
        for name in (
            "inv",
            "det",
            "slogdet",
            "eigvalsh",
            "eigvals",
            "matrix_exp",
            "cholesky",
            "svdvals",
            "matrix_rank",
            "pinv",
            "qr",
            "cond",
        )
    },
    "solve": _with((3, 3), rest=([np.ones(3)], [np.ones((3, 2))], [np.ones((2, 2))])),
    "norm": _of((2, 3), ord=(2, 1, "fro", "nuc", "what", -2), dim=(0, 1, (0, 1), 2)),
    "vector_norm": _of((2, 3), ord=(2, 1, 0, float("inf")), dim=(0, 1, 2), keepdim=(True,)),
    "matrix_norm": _of((2, 3), ord=("fro", "nuc", 1, 3, "x"), keepdim=(True,)),
    "matrix_power": _with((3, 3), rest=([2], [0], [-1])),
    "multi_dot": lambda draw: ([[_x(draw, 2, 3), _x(draw, *draw.one((3, 2), (2, 3)))]], {}),
    "lstsq": _of((4, 3), (4, 2)),
    "cross": _of((2, 3), (2, 3), dim=(0, 1, -1)),
    "solve_triangular": _with((3, 3), (3, 2), rest=([],), upper=(True, False)),
}

WRONG: tuple[str, ...] = (
    "nothing",
    "shape",
    "shape",
    "empty",
    "dtype",
    "dtype",
    "option",
    "option",
    "value",
    "missing",
    "unknown",
)


def spoiled(draw: Draw, call: Call, how: str) -> Call:
    """The call with one thing changed."""
    arguments, options = list(call[0]), dict(call[1])
    arrays = [i for i, a in enumerate(arguments) if isinstance(a, np.ndarray)]
    if how in ("shape", "empty", "dtype") and arrays:
        place = draw.one(*arrays)
        x = arguments[place]
        if how == "shape":
            changes = [x[None], x[..., None]] + (
                [x[0], x[..., :-1], np.concatenate([x, x])] if x.ndim and x.size else []
            )
            arguments[place] = np.ascontiguousarray(draw.one(*changes))
        elif how == "empty":
            arguments[place] = np.zeros((0, *x.shape[1:]), x.dtype)
        else:
            kind = draw.one(np.float32, np.int64, np.complex128, bool, np.int32)
            arguments[place] = x.real.astype(kind)
    elif how == "option" and options:
        name = draw.one(*options)
        options[name] = draw.one(-1, 0, 100, "what", None, 2.5, (1, 2, 3, 4, 5, 6, 7))
    elif how == "value" and arguments:
        place = draw.one(*range(len(arguments)))
        arguments[place] = draw.one(None, "what", 3, 2.5, (1, 2, 3, 4, 5, 6, 7), [])
    elif how == "missing" and arguments:
        arguments.pop()
    elif how == "unknown":
        options["what"] = 1
    return arguments, options
