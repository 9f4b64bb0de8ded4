"""Calls of `torch.nn.functional` with drawn arguments. Knows no library."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawn import Draw
from drawn_arguments import Call, Maker, numbers, unary, with_rest, with_shapes


def _image(n: int, *rest: Any, **options: tuple[Any, ...]) -> Maker:
    def maker(draw: Draw) -> Call:
        shape = (2, 4, *(draw.count(4, 6) for _ in range(n)))[draw.one(0, 0, 1) :]
        return [numbers(draw, *shape), *draw.one(*rest or ((),))], draw.some(options)

    return maker


def _conv(n: int, transposed: bool) -> Maker:
    def maker(draw: Draw) -> Call:
        groups = draw.one(1, 2)
        shape = (2, 4, *(draw.count(4, 6) for _ in range(n)))[draw.one(0, 0, 1) :]
        sizes = (4, 2) if transposed else (2, 4 // groups)
        weight = numbers(
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
            options["bias"] = numbers(draw, sizes[0] if not transposed else 2 * groups)
        return [numbers(draw, *shape), weight], {**options, "groups": groups}

    return maker


REDUCTION = ("mean", "sum", "none")


def _target(kind: str, **options: tuple[Any, ...]) -> Maker:
    def maker(draw: Draw) -> Call:
        shape = draw.one((4, 3), (2, 3), (2, 3, 2), (3,))
        x = numbers(draw, *shape)
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
            target = numbers(draw, *shape)
        return [x, target], draw.some(options | {"reduction": REDUCTION})

    return maker


def _norm(draw: Draw) -> Call:
    x = numbers(draw, 3, 4, 2)
    options: dict[str, Any] = draw.some({"eps": (1e-5, 1e-3), "momentum": (0.1, 0.5)})
    if draw.chance():
        options |= {"weight": numbers(draw, 4), "bias": numbers(draw, 4)}
    return [x], options


def _batch_norm(draw: Draw) -> Call:
    (x,), options = _norm(draw)
    running = draw.one([np.zeros(4), np.ones(4)], [None, None])
    options["training"] = draw.one(True, False) if running[0] is not None else True
    return [x, *running], options


def _embedding(draw: Draw) -> Call:
    options = {"padding_idx": (0, -1, 1), "max_norm": (1.0,), "scale_grad_by_freq": (True, False)}
    return [draw.random.integers(0, 5, draw.one((3,), (2, 2))), numbers(draw, 5, 3)], draw.some(
        options
    )


def _bag(draw: Draw) -> Call:
    options = {"mode": ("sum", "mean", "max"), "padding_idx": (0, 2)}
    if draw.chance():
        return [draw.random.integers(0, 5, (2, 3)), numbers(draw, 5, 3)], draw.some(options)
    return [draw.random.integers(0, 5, (6,)), numbers(draw, 5, 3), np.array([0, 2, 5])], draw.some(
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
    return [numbers(draw, 2, 2, *(4,) * n)], {**options, "mode": mode, **more}


def _grid(draw: Draw) -> Call:
    n = draw.one(2, 2, 3)
    options = {
        "mode": ("bilinear", "nearest", "bicubic"),
        "padding_mode": ("zeros", "border", "reflection"),
        "align_corners": (True, False),
    }
    return [numbers(draw, 2, 2, *(4,) * n), numbers(draw, 2, *(3,) * n, n)], {
        "align_corners": False
    } | draw.some(options)


def _attention(draw: Draw) -> Call:
    options: dict[str, Any] = draw.some({"is_causal": (True, False), "scale": (0.5, 1.0)})
    if draw.chance(0.3):
        options["attn_mask"] = numbers(draw, 3, 3)
    return [
        numbers(draw, 2, 2, 3, 4),
        numbers(draw, 2, 2, 3, 4),
        numbers(draw, 2, 2, 3, 4),
    ], options


def _pad(draw: Draw) -> Call:
    n = draw.count(1, 3)
    shape = (2, 2, *(4,) * n)
    mode = draw.one("constant", "reflect", "replicate", "circular")
    pads = [draw.count(-1, 2) for _ in range(2 * n)]
    options = {"value": 1.5} if mode == "constant" and draw.chance() else {}
    return [numbers(draw, *shape), pads], {"mode": mode, **options}


def _ctc(draw: Draw) -> Call:
    x = numbers(draw, 6, 2, 4)
    x = x - np.log(np.exp(x).sum(-1, keepdims=True))
    return [x, draw.random.integers(1, 4, (2, 3)), [6, 5], [3, 2]], draw.some(
        {"reduction": REDUCTION, "zero_infinity": (True, False), "blank": (0, 3)}
    )


def _unpool(draw: Draw) -> Call:
    return [numbers(draw, 2, 2, 2), np.array([[[0, 2], [5, 7]]] * 2), 2], draw.some(
        {"stride": (2,)}
    )


def _one_hot(draw: Draw) -> Call:
    return [draw.random.integers(0, 4, (3,))], draw.some({"num_classes": (-1, 5, 2)})


def _distances(draw: Draw) -> Call:
    return [numbers(draw, 3, 4), numbers(draw, *draw.one((3, 4), (1, 4), (4,), (3, 5)))], {}


FUNCTIONAL: dict[str, Maker] = {
    **{
        name: unary()
        for name in "hardsigmoid hardswish logsigmoid mish relu relu6 selu silu sigmoid softsign tanh tanhshrink".split()
    },
    "elu": unary(alpha=(1.0, 0.5)),
    "celu": unary(alpha=(1.0, 0.5, 0)),
    "gelu": unary(approximate=("none", "tanh", "what")),
    "glu": with_shapes((2, 4), dim=(-1, 0, 1, 2)),
    "hardshrink": unary(lambd=(0.5, 0.1)),
    "hardtanh": unary(min_val=(-1.0, 0.0), max_val=(1.0, 0.5)),
    "leaky_relu": unary(negative_slope=(0.01, 0.2), inplace=(False,)),
    "prelu": with_rest(
        (2, 3), rest=([np.array([0.2])], [np.array([0.2, 0.3, 0.1])], [np.array([0.2, 1])])
    ),
    "softplus": unary(beta=(1, 2.0), threshold=(20, 0.5)),
    "softshrink": unary(lambd=(0.5, 0.1, -1.0)),
    "softmax": with_shapes((2, 3), dim=(0, 1, -1, 2, None), dtype=(None,)),
    "softmin": with_shapes((2, 3), dim=(0, 1, -1, -3)),
    "log_softmax": with_shapes((2, 3), dim=(0, 1, -1, 4)),
    "threshold": with_rest((2, 3), rest=([0.1, 2.0], [0, 0], [0.5])),
    "normalize": with_shapes((2, 3), p=(2.0, 1, 3), dim=(1, 0, 2), eps=(1e-12, 0.5)),
    "dropout": with_rest((2, 3), rest=([0.0], [1.5], [-0.1], [0.4, False])),
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
    "fold": with_rest(
        (2, 8, 9),
        rest=([(4, 4), 2], [(5, 4), 2], [4, (2, 2)]),
        padding=(0, 1),
        stride=(1, 2),
        dilation=(1, 2),
    ),
    "unfold": with_rest(
        (2, 2, 4, 5), rest=([2], [(2, 3)], [6]), padding=(0, 1), stride=(1, 2), dilation=(1, 2, 0)
    ),
    "batch_norm": _batch_norm,
    "instance_norm": _norm,
    "layer_norm": with_rest(
        (2, 3, 4),
        rest=([(4,)], [[3, 4]], [(3,)], [[]], [4]),
        eps=(1e-3,),
        weight=(np.ones(4),),
        bias=(np.ones(4),),
    ),
    "rms_norm": with_rest(
        (2, 3, 4), rest=([(4,)], [[3, 4]], [(3,)]), eps=(1e-3,), weight=(np.ones(4),)
    ),
    "group_norm": with_rest(
        (2, 4, 3),
        rest=([2], [1], [4], [3], [0]),
        eps=(1e-3,),
        weight=(np.ones(4),),
        bias=(np.ones(4), np.ones(3)),
    ),
    "local_response_norm": with_rest((2, 4, 3), rest=([2], [3], [1]), alpha=(0.1,), k=(2.0,)),
    "embedding": _embedding,
    "embedding_bag": _bag,
    "one_hot": _one_hot,
    "linear": with_rest(
        (2, 3),
        rest=(
            [np.ones((4, 3))],
            [np.ones((4, 3)), np.ones(4)],
            [np.ones((4, 2))],
            [np.ones(3)],
            [np.ones((4, 3)), np.ones(3)],
        ),
    ),
    "bilinear": with_rest(
        (2, 3),
        (2, 4),
        rest=([np.ones((2, 3, 4))], [np.ones((2, 3, 4)), np.ones(2)], [np.ones((2, 3, 3))]),
    ),
    "scaled_dot_product_attention": _attention,
    "interpolate": _interpolate,
    "grid_sample": _grid,
    "affine_grid": with_rest(
        (2, 2, 3), rest=([(2, 1, 3, 4)], [[2, 1, 3]], [(2, 1, 0, 4)]), align_corners=(True, False)
    ),
    "pad": _pad,
    "pixel_shuffle": with_rest((2, 4, 2, 3), rest=([2], [1], [3], [0])),
    "pixel_unshuffle": with_rest((2, 2, 4, 4), rest=([2], [1], [3], [0])),
    "channel_shuffle": with_rest((2, 4, 2, 3), rest=([2], [1], [3], [0])),
    "cosine_similarity": with_shapes((2, 3), (2, 3), dim=(0, 1, 2), eps=(1e-8, 0.1)),
    "pairwise_distance": _distances,
    "pdist": with_shapes((4, 3), p=(2.0, 1, 0, float("inf"))),
    "ctc_loss": _ctc,
    "binary_cross_entropy": _target("probability"),
    "binary_cross_entropy_with_logits": _target("probability"),
    "cosine_embedding_loss": with_rest(
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
    "gaussian_nll_loss": with_rest(
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
    "margin_ranking_loss": with_rest(
        (3,),
        (3,),
        rest=([np.array([1.0, -1, 1])], [np.ones((3, 1))]),
        margin=(0.5,),
        reduction=REDUCTION,
    ),
    "multi_margin_loss": _target("class", p=(1, 2, 3), margin=(0.5,)),
    "multilabel_margin_loss": with_rest(
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
    "triplet_margin_loss": with_shapes(
        (3, 4), (3, 4), (3, 4), margin=(0.5, -1.0), p=(1, 2), swap=(True,), reduction=REDUCTION
    ),
}
