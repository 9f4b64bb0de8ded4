"""Parts of random stacks of layers: layers for images, sequences and vectors, and losses.

Each entry draws a layer that takes an input of the shape it is given. Knows nothing of libraries:
a layer is its name, its arguments and its options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from drawn import Draw

Layer = tuple[str, tuple[Any, ...], dict[str, Any]]
ACTIVATIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "CELU": {"alpha": (1.0, 0.5, 2.0)},
    "ELU": {"alpha": (1.0, 0.3), "inplace": (False, True)},
    "GELU": {"approximate": ("none", "tanh")},
    "Hardshrink": {"lambd": (0.5, 0.1)},
    "Hardsigmoid": {},
    "Hardswish": {},
    "Hardtanh": {"min_val": (-1.0, -0.3), "max_val": (1.0, 0.2), "inplace": (False, True)},
    "Identity": {},
    "LeakyReLU": {"negative_slope": (0.01, 0.3), "inplace": (False, True)},
    "LogSigmoid": {},
    "Mish": {},
    "PReLU": {"init": (0.25, 0.1)},
    "ReLU": {"inplace": (False, True)},
    "ReLU6": {"inplace": (False, True)},
    "RReLU": {"lower": (0.3,), "upper": (0.5,)},
    "SELU": {},
    "SiLU": {},
    "Sigmoid": {},
    "Softplus": {"beta": (1.0, 2.0), "threshold": (20.0, 0.5)},
    "Softshrink": {"lambd": (0.5, 0.2)},
    "Softsign": {},
    "Tanh": {},
    "Tanhshrink": {},
    "Dropout": {"inplace": (False, True)},
}


def activation(draw: Draw, shape: Sequence[int]) -> Layer:
    name = draw.one(*ACTIVATIONS)
    options = draw.some(ACTIVATIONS[name])
    if name == "RReLU":
        options = {"lower": 0.25, "upper": 0.25}
    if name == "Dropout":
        options["p"] = 0.0
    return name, (), options


def convolution(draw: Draw, shape: Sequence[int]) -> Layer:
    n, channels = len(shape) - 2, shape[1]
    groups = draw.one(1, 1, channels)
    out = groups * draw.count(1, 2)
    options = {
        "stride": (1, 2, (1,) * n),
        "padding": (0, 1, "same", "valid"),
        "dilation": (1, 2),
        "bias": (True, False),
        "padding_mode": ("zeros", "circular", "reflect", "replicate"),
    }
    return (
        f"Conv{n}d",
        (channels, out, draw.one(1, 2, 3)),
        {**draw.some(options), "groups": groups},
    )


def transposed(draw: Draw, shape: Sequence[int]) -> Layer:
    n, channels = len(shape) - 2, shape[1]
    groups = draw.one(1, 1, channels)
    options = {
        "stride": (1, 2),
        "padding": (0, 1),
        "output_padding": (0, 1),
        "dilation": (1, 2),
        "bias": (True, False),
    }
    arguments = (channels, groups * draw.count(1, 2), draw.one(1, 2, 3))
    return f"ConvTranspose{n}d", arguments, {**draw.some(options), "groups": groups}


def norm_of_images(draw: Draw, shape: Sequence[int]) -> Layer:
    n, channels = len(shape) - 2, shape[1]
    kind = draw.one("BatchNorm", "InstanceNorm", "GroupNorm", "LayerNorm", "LocalResponseNorm")
    options = {"eps": (1e-5, 1e-3)}
    if kind == "GroupNorm":
        return kind, (draw.one(1, channels), channels), draw.some(options | {"affine": (False,)})
    if kind == "LayerNorm":
        return kind, (list(shape[2:]),), draw.some(options | {"bias": (False,)})
    if kind == "LocalResponseNorm":
        return (
            kind,
            (draw.one(1, 2, 3),),
            draw.some({"alpha": (0.1,), "beta": (0.5,), "k": (2.0,)}),
        )
    options |= {"momentum": (0.1, 0.3, None if kind == "BatchNorm" else 0.2)}
    options |= {"affine": (True, False), "track_running_stats": (True, False)}
    return f"{kind}{n}d", (channels,), draw.some(options)


def pooling(draw: Draw, shape: Sequence[int]) -> Layer:
    n = len(shape) - 2
    kind = draw.one("Avg", "Max", "AdaptiveAvg", "AdaptiveMax", "LP")
    if kind.startswith("Adaptive"):
        sizes = (1, 2, 3) if n == 1 else (1, 2, (None,) * n, (2,) * n)
        return f"{kind}Pool{n}d", (draw.one(*sizes),), {}
    if kind == "LP":
        arguments = (draw.one(2, 3), draw.one(1, 2))
        return f"LPPool{n}d", arguments, draw.some({"stride": (1, 2), "ceil_mode": (True, False)})
    options = {"stride": (1, 2), "padding": (0, 1), "ceil_mode": (False, True)}
    if kind == "Max":
        options |= {"dilation": (1, 2)}
    else:
        options |= {"count_include_pad": (False, True)}
        options |= {"divisor_override": (3, 2)} if n > 1 else {}
    return f"{kind}Pool{n}d", (draw.one(1, 2, 3),), draw.some(options)


def padding(draw: Draw, shape: Sequence[int]) -> Layer:
    n = len(shape) - 2
    kind = draw.one("Circular", "Constant", "Reflection", "Replication", "Zero")
    amount = draw.one(1, 0, tuple(draw.count(0, 2) for _ in range(2 * n)))
    return f"{kind}Pad{n}d", (amount, *((draw.one(0.5, -2),) * (kind == "Constant"))), {}


def resampling(draw: Draw, shape: Sequence[int]) -> Layer:
    n = len(shape) - 2
    kind = draw.one("Upsample", "Upsample", "PixelShuffle", "PixelUnshuffle", "ChannelShuffle")
    if kind == "PixelShuffle" or kind == "PixelUnshuffle":
        return kind, (draw.one(1, 2),), {}
    if kind == "ChannelShuffle":
        return kind, (draw.one(1, shape[1]),), {}
    smooth = {1: "linear", 2: "bilinear", 3: "trilinear"}[n]
    mode = draw.one("nearest", smooth, smooth, "bicubic", "nearest-exact")
    options = {"mode": mode} | draw.one({"scale_factor": 2}, {"size": 5}, {"scale_factor": 1.5})
    if mode == smooth:
        options |= draw.some({"align_corners": (True, False)})
    return kind, (), options


def reshaping(draw: Draw, shape: Sequence[int]) -> Layer:
    if draw.chance():
        return "Flatten", (), draw.some({"start_dim": (1, 2, -2)})
    return "Unflatten", (1, (1, shape[1])), {}


def recurrent(draw: Draw, shape: Sequence[int]) -> Layer:
    kind = draw.one("RNN", "LSTM", "GRU")
    options = {
        "num_layers": (1, 2),
        "bias": (True, False),
        "batch_first": (True, False),
        "bidirectional": (False, True),
    }
    if kind == "RNN":
        options |= {"nonlinearity": ("tanh", "relu")}
    if kind == "LSTM":
        options |= {"proj_size": (2, 1)}
    return kind, (shape[-1], draw.count(3, 4)), draw.some(options)


def attention(draw: Draw, shape: Sequence[int]) -> Layer:
    options = {"bias": (False, True), "batch_first": (True, False), "norm_first": (True, False)}
    options |= {"activation": ("relu", "gelu")}
    made = {**draw.some(options), "dropout": 0.0}
    return "TransformerEncoderLayer", (shape[-1], draw.one(1, shape[-1]), draw.count(2, 5)), made


def last_axis(draw: Draw, shape: Sequence[int]) -> Layer:
    size = shape[-1]
    name = draw.one("Linear", "Linear", "LayerNorm", "RMSNorm", "Softmax", "LogSoftmax", "Softmin")
    if name == "Linear":
        return name, (size, draw.count(1, 5)), draw.some({"bias": (True, False)})
    if name.endswith("Norm"):
        options = {"elementwise_affine": (True, False), "eps": (1e-5, 1e-3)}
        return name, (draw.one(size, (size,)),), draw.some(options)
    return name, (), {"dim": draw.one(-1, 1, 0)}


def of_vectors(draw: Draw, shape: Sequence[int]) -> Layer:
    name = draw.one("BatchNorm1d", "GLU", "Flatten", "Unflatten", "InstanceNorm1d")
    if name.endswith("1d"):
        return name, (shape[1],), draw.some({"affine": (True, False), "momentum": (None, 0.5)})
    if name == "Unflatten":
        return name, (-1, (shape[-1], 1)), {}
    return name, (), draw.some({"dim": (1, 0)} if name == "GLU" else {"start_dim": (0, 1)})


IMAGES = (convolution, transposed, norm_of_images, pooling, padding, resampling, reshaping)
SEQUENCES = (recurrent, attention, last_axis, last_axis, norm_of_images, convolution)
VECTORS = (last_axis, last_axis, of_vectors)


def layer(draw: Draw, shape: Sequence[int]) -> Layer:
    """A layer for an input of this shape (of 2 to 5 axes)."""
    if draw.chance(0.3):
        return activation(draw, shape)
    makers: Sequence[Callable[[Draw, Sequence[int]], Layer]] = VECTORS
    if len(shape) > 2:
        makers = SEQUENCES if len(shape) == 3 and draw.chance() else IMAGES
    return draw.one(*makers)(draw, shape)


LOSSES: dict[str, dict[str, tuple[Any, ...]]] = {
    "L1Loss": {},
    "MSELoss": {},
    "SmoothL1Loss": {"beta": (1.0, 0.5, 0.0)},
    "HuberLoss": {"delta": (1.0, 0.3)},
    "SoftMarginLoss": {},
    "BCEWithLogitsLoss": {},
    "KLDivLoss": {"log_target": (False, True)},
    "PoissonNLLLoss": {"log_input": (True, False), "full": (False, True)},
    "HingeEmbeddingLoss": {"margin": (1.0, 0.5)},
    "MultiLabelSoftMarginLoss": {},
    "BCELoss": {},
    "CrossEntropyLoss": {"label_smoothing": (0.0, 0.1), "ignore_index": (-100, 0, 1)},
    "NLLLoss": {"ignore_index": (-100, 0)},
    "MultiMarginLoss": {"p": (1, 2), "margin": (1.0, 0.5)},
    "GaussianNLLLoss": {"full": (False, True)},
    "MarginRankingLoss": {"margin": (0.0, 0.5)},
    "CosineEmbeddingLoss": {"margin": (0.0, 0.3)},
    "TripletMarginLoss": {"p": (2.0, 1.0), "swap": (False, True)},
    "MultiLabelMarginLoss": {},
}


def loss(draw: Draw, shape: Sequence[int]) -> tuple[Layer, list[Any]]:
    """A loss for outputs of a shape, and its further arguments as arrays."""
    name = draw.one(*LOSSES)
    options = draw.some(LOSSES[name]) | draw.some({"reduction": ("mean", "sum", "none")})
    shape = tuple(shape)
    rest: list[Any] = [draw.numbers(*shape)]
    if name in ("BCEWithLogitsLoss", "BCELoss", "MultiLabelSoftMarginLoss"):
        rest = [draw.random.uniform(size=shape)]
    elif name in ("KLDivLoss", "PoissonNLLLoss"):
        rest = [draw.random.uniform(0.1, 1, size=shape)]
    elif name in ("HingeEmbeddingLoss", "SoftMarginLoss"):
        rest = [draw.random.choice([-1.0, 1.0], size=shape)]
    elif name in ("CrossEntropyLoss", "NLLLoss"):
        classes = shape[1] if len(shape) > 1 else shape[0]
        target = draw.random.integers(0, classes, (shape[0], *shape[2:]) if shape[1:] else ())
        rest = [np.asarray(target)]
        if draw.chance(0.3):
            options["weight"] = draw.random.uniform(0.5, 2, size=classes)
    elif name == "MultiMarginLoss":
        rest = [draw.random.integers(0, shape[-1], shape[:-1])]
    elif name == "MultiLabelMarginLoss":
        rest = [draw.random.integers(-1, shape[-1], shape)]
    elif name == "GaussianNLLLoss":
        rest += [draw.random.uniform(0.1, 1, size=shape)]
    elif name == "MarginRankingLoss":
        rest += [draw.random.choice([-1.0, 1.0], size=shape)]
    elif name == "CosineEmbeddingLoss":
        rest += [draw.random.choice([-1.0, 1.0], size=shape[:1])]
    elif name == "TripletMarginLoss":
        rest += [draw.numbers(*shape)]
    return (name, (), options), rest
