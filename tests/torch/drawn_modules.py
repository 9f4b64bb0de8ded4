"""Programs over modules: stacks of drawn layers, run, differentiated, saved and copied."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import drawn_layers
import numpy as np
from drawn import Draw, Transcript, family


def made(t: Any, log: Transcript, layer: drawn_layers.Layer) -> Any:
    """A layer of the library; arrays among its options become tensors."""
    name, arguments, options = layer
    options = {
        key: t.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
        for key, value in options.items()
    }
    return log.attempt(lambda: getattr(t.nn, name)(*arguments, **options), name)


def fill(t: Any, module: Any, draw: Draw) -> None:
    """Give all parameters the numbers of the draw."""
    with t.no_grad():
        for parameter in module.parameters():
            values = 0.5 * draw.random.normal(size=tuple(parameter.shape))
            parameter.copy_(t.from_numpy(np.asarray(values)))


def first(found: Any) -> Any:
    """The output of a layer, which may come with states."""
    return found[0] if isinstance(found, tuple) else found


@family
def stacks(t: Any, log: Transcript, draw: Draw) -> None:
    """Layers one after another, each drawn for the shape that arrives, with a loss at the end."""
    dtype = draw.one("float64", "float64", "float64", "float32")
    n = draw.one(0, 1, 1, 2, 2, 3)
    shape = (draw.count(2, 3), draw.count(2, 4), *(draw.count(3, 5) for _ in range(n)))
    data = draw.numbers(*shape)
    x = t.from_numpy(data).to(getattr(t, dtype))
    layers = t.nn.Sequential()
    for _ in range(draw.count(1, 4)):
        if x.dim() < 2 or x.numel() > 4000:
            break
        layer = made(t, log, drawn_layers.layer(draw, x.shape))
        if layer is None:
            continue
        layer.to(getattr(t, dtype))
        fill(t, layer, draw)
        if layer.__class__.__name__ in ("RNN", "LSTM", "GRU"):
            layer = _First.of(t, layer)
        found = log.attempt(lambda layer=layer, x=x: first(layer(x)), "out")
        if found is not None:
            layers.append(layer)
            x = found.detach()
    _exercise(t, log, draw, layers, data, dtype)


class _First:
    """A module that keeps the output of a recurrent layer alone."""

    @staticmethod
    def of(t: Any, layer: Any) -> Any:
        class First(t.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.inner = layer

            def forward(self, x: Any) -> Any:
                return self.inner(x)[0]

        return First()


def _exercise(
    t: Any, log: Transcript, draw: Draw, net: Any, data: Any, dtype: str, ends: bool = True
) -> None:
    log("net", repr(net), [name for name, _ in net.named_modules()], list(net.state_dict()))
    if draw.chance(0.2):
        for name, parameter in net.named_parameters():
            if name.endswith("bias"):
                parameter.requires_grad_(False)
    kind = getattr(t, dtype)
    with t.no_grad():
        shape = tuple(copy.deepcopy(net)(t.from_numpy(data).to(kind)).shape)
    (name, arguments, options), rest = drawn_layers.loss(draw, shape)
    loss = made(t, log, (name, arguments, options))
    tensors = [t.from_numpy(r.copy()) for r in rest]
    tensors = [r.to(kind) if r.is_floating_point() else r for r in tensors]
    train = [draw.chance(0.7) for _ in range(2)]
    for mode in train:
        net.train(mode)
        x = t.from_numpy(data.copy()).to(kind).requires_grad_()

        def step(x: Any = x) -> Any:
            out = net(x * 1.0)
            log(out)
            value = loss.to(kind)(out.sigmoid() if name == "BCELoss" else out, *tensors)
            log(value)
            value.sum().backward()
            return [x.grad, {key: p.grad for key, p in net.named_parameters()}]

        log.attempt(step, "step")
    log("state", net.state_dict())
    _copies(t, log, draw, net, t.from_numpy(data.copy()).to(kind))


def _copies(t: Any, log: Transcript, draw: Draw, net: Any, x: Any) -> None:
    """The same module from its state, as a copy, and through pickle."""
    net.eval()
    how = draw.one("deepcopy", "state", "pickle", "half")
    if how == "deepcopy":
        other = copy.deepcopy(net)
        log("copied", other(x), [p.grad is not None for p in other.parameters()])
    elif how == "state":
        other, state = copy.deepcopy(net), copy.deepcopy(net.state_dict())
        for parameter in other.parameters():
            parameter.data.zero_()
        log("loaded", repr(other.load_state_dict(state)), other(x))
    elif how == "half":
        log("converted", {key: str(v.dtype) for key, v in net.float().state_dict().items()})
    elif "First" not in repr(net):
        log("pickled", pickle.loads(pickle.dumps(net))(x))


INDEXED: dict[str, dict[str, tuple[Any, ...]]] = {
    "Embedding": {
        "padding_idx": (0, 1, -1),
        "max_norm": (1.0, 2.0),
        "norm_type": (2.0, 1.0),
        "scale_grad_by_freq": (True, False),
    },
    "EmbeddingBag": {
        "mode": ("mean", "sum", "max"),
        "padding_idx": (0, -1),
        "scale_grad_by_freq": (False,),
        "include_last_offset": (False,),
    },
}


@family
def embeddings(t: Any, log: Transcript, draw: Draw) -> None:
    """Layers of indices, cells, attention with masks, pairs: what takes no single tensor."""
    _SPECIAL[draw.count(0, len(_SPECIAL) - 1)](t, log, draw)


def _indexed(t: Any, log: Transcript, draw: Draw) -> None:
    name = draw.one(*INDEXED)
    size, width = draw.count(3, 5), draw.count(1, 4)
    options = draw.some(INDEXED[name])
    shape = draw.one((4,), (2, 3), (2, 1, 2)) if name == "Embedding" else (2, 3)
    numbers = draw.random.integers(0, size + draw.chance(0.1), shape)
    layer = made(t, log, (name, (size, width), options))
    if layer is None:
        return
    layer = layer.double()
    fill(t, layer, draw)
    weights = draw.numbers(*shape)
    with_weights = name == "EmbeddingBag" and draw.chance(0.4)

    def step() -> Any:
        rest = {"per_sample_weights": t.from_numpy(weights)} if with_weights else {}
        out = layer(t.from_numpy(numbers), **rest)
        log(layer, out)
        (out * out).sum().backward()
        return [layer.weight.grad, layer.weight]

    log.attempt(step)
    log.attempt(step)


def _cells(t: Any, log: Transcript, draw: Draw) -> None:
    name = draw.one("RNNCell", "LSTMCell", "GRUCell")
    options = draw.some({"bias": (True, False)})
    if name == "RNNCell":
        options |= draw.some({"nonlinearity": ("tanh", "relu")})
    size, hidden = draw.count(2, 3), draw.count(2, 3)
    batch = draw.one((), (2,))
    layer = made(t, log, (name, (size, hidden), options))
    layer = layer.double()
    fill(t, layer, draw)
    x = t.from_numpy(draw.numbers(*batch, size)).requires_grad_()
    h = t.from_numpy(draw.numbers(*batch, hidden + draw.chance(0.15)))
    given, second = draw.chance(), draw.chance(0.1)

    def step() -> Any:
        state = ((h, h) if name == "LSTMCell" else h) if given else None
        if second:
            return layer(x.unsqueeze(0).unsqueeze(0), state)
        found = layer(x, state)
        log(found)
        found = layer(x, found)
        found = found if isinstance(found, tuple) else (found,)
        sum((part * part).sum() for part in found).backward()
        return [found, x.grad, [p.grad for p in layer.parameters()]]

    log.attempt(step)


def _attention(t: Any, log: Transcript, draw: Draw) -> None:
    heads = draw.one(1, 2)
    width = 2 * heads + draw.chance(0.08)
    options = draw.some(
        {
            "bias": (True, False),
            "add_bias_kv": (True,),
            "add_zero_attn": (True,),
            "batch_first": (True, False),
            "kdim": (3,),
            "vdim": (5,),
        }
    )
    layer = made(t, log, ("MultiheadAttention", (width, heads), options))
    if layer is None:
        return
    layer = layer.double()
    fill(t, layer, draw)
    first = options.get("batch_first", False)
    sizes = [(2, n, w) for n, w in ((3, width), (4, options.get("kdim", width)))]
    sizes.append((2, 4, options.get("vdim", width)))
    arrays = [draw.numbers(*(s if first else (s[1], s[0], s[2]))) for s in sizes]
    q, k, v = (t.from_numpy(a).requires_grad_() for a in arrays)
    mask, padded = draw.random.random((3, 4)) < 0.3, draw.random.random((2, 4)) < 0.3
    mask[:, 0], padded[:, 0] = False, False
    call: dict[str, Any] = draw.some({"need_weights": (True, False)})
    call |= draw.some({"average_attn_weights": (True, False)})
    if draw.chance(0.4):
        call["attn_mask"] = draw.one(t.from_numpy(mask), t.from_numpy(-1.0 * mask))
    if draw.chance(0.4):
        call["key_padding_mask"] = t.from_numpy(padded)

    def step() -> Any:
        out, weights = layer(q, k, v, **call)
        log(repr(layer), list(layer.state_dict()), out, weights)
        (out * out).sum().backward()
        return [q.grad, k.grad, v.grad, [p.grad for p in layer.parameters()]]

    log.attempt(step)


def _pairs(t: Any, log: Transcript, draw: Draw) -> None:
    name = draw.one(
        "Bilinear", "CosineSimilarity", "PairwiseDistance", "AdaptiveLogSoftmaxWithLoss"
    )
    x, y = draw.numbers(3, 4), draw.numbers(3, 4 + (draw.chance(0.15)))
    targets = draw.random.integers(0, 6, (3,))
    arguments: tuple[Any, ...] = {
        "Bilinear": (4, 4, 2),
        "AdaptiveLogSoftmaxWithLoss": (4, 6, [2, 4]),
    }.get(name, ())
    options = {
        "Bilinear": {"bias": (True, False)},
        "CosineSimilarity": {"dim": (1, 0, -1), "eps": (1e-8, 1e-2)},
        "PairwiseDistance": {"p": (2.0, 1.0, 3.0), "keepdim": (True, False), "eps": (1e-6, 1e-3)},
        "AdaptiveLogSoftmaxWithLoss": {"div_value": (2.0, 4.0), "head_bias": (True, False)},
    }[name]
    layer = made(t, log, (name, arguments, draw.some(options)))
    if layer is None:
        return
    layer = layer.double()
    fill(t, layer, draw)
    a, b = t.from_numpy(x).requires_grad_(), t.from_numpy(y).requires_grad_()

    def step() -> Any:
        found = layer(a, t.from_numpy(targets) if name.startswith("Adaptive") else b)
        log(layer, found)
        total = found.loss if name.startswith("Adaptive") else (found * found).sum()
        total.backward()
        return [a.grad, b.grad, [p.grad for p in layer.parameters()]]

    log.attempt(step)


def _with_indices(t: Any, log: Transcript, draw: Draw) -> None:
    n = draw.count(1, 3)
    pool = made(t, log, (f"MaxPool{n}d", (2,), {"return_indices": True}))
    back = made(t, log, (f"MaxUnpool{n}d", (2,), {}))
    shape = (2, 2, *(draw.count(4, 5) for _ in range(n)))
    shape = shape if draw.chance(0.8) else shape[1:]
    x = t.from_numpy(draw.numbers(*shape)).requires_grad_()
    size = draw.one(None, shape, shape[-n:])
    wrong = draw.chance(0.1)

    def step() -> Any:
        values, places = pool(x)
        log(values, places)
        found = back(values, places, output_size=(9,) * n if wrong else size)
        (found * found).sum().backward()
        return [found, x.grad]

    log.attempt(step)


def _transformer(t: Any, log: Transcript, draw: Draw) -> None:
    options = draw.some(
        {"batch_first": (True,), "norm_first": (True,), "bias": (False,), "activation": ("gelu",)}
    )
    name = draw.one("TransformerDecoderLayer", "TransformerEncoder", "TransformerDecoder")
    kind = "TransformerEncoderLayer" if "Encoder" in name else "TransformerDecoderLayer"
    layer = made(t, log, (kind, (4, 2, 3), {**options, "dropout": 0.0}))
    if not name.endswith("Layer"):
        layer = getattr(t.nn, name)(layer, 2, **draw.some({"norm": (None,)}))
    layer = layer.double()
    fill(t, layer, draw)
    x, memory = (t.from_numpy(draw.numbers(3, 3, 4)).requires_grad_() for _ in range(2))
    causal = t.nn.Transformer.generate_square_subsequent_mask(3, dtype=t.float64)
    masked = draw.chance()

    def step() -> Any:
        if "Encoder" in name:
            out = layer(x, causal if masked else None)
        else:
            out = layer(x, memory, causal if masked else None)
        log(repr(layer), list(layer.state_dict()), out)
        (out * out).sum().backward()
        return [x.grad, memory.grad, [p.grad for p in layer.parameters()]]

    log.attempt(step)


_SPECIAL = (_indexed, _cells, _attention, _pairs, _with_indices, _transformer)
