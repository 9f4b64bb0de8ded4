"""Writes to the result of an operation, or to its arguments, before the backward pass.

PyTorch either says that a value was modified in place, or its gradient is right. Here the same
holds for every operation of the tables: but for two that are named, a write is refused only where
PyTorch's backward pass refuses it. A write through `data` is not checked: the gradient is right
where PyTorch's is, since a node keeps a result only where PyTorch's keeps it.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from drawn import Draw
from drawn_functional_calls import FUNCTIONAL
from drawn_tensor_calls import LINALG, METHODS, TORCH
from pytorch_answers import of_pytorch
from tables import all_rows

import tapegrad
import tapegrad.torch as torch


def positive(*shapes, **options):
    def call(draw):
        arrays = [draw.random.uniform(0.2, 0.9, s) if isinstance(s, tuple) else s for s in shapes]
        return arrays, options

    return call


def regular(draw):
    return [draw.numbers(3, 3) + 4 * np.eye(3)], {}


PAIRS = (
    "add sub mul div maximum minimum max min fmax fmin atan2 pow fmod logaddexp logaddexp2 hypot "
    "copysign xlogy float_power"
).split()
MORE = {
    "torch": {name: positive((3, 4), (3, 4)) for name in PAIRS}
    | {f"{name} of a row": positive((3, 4), (4,)) for name in PAIRS}
    | dict.fromkeys(("det", "inverse"), regular)
    | {
        "rsub": positive((3, 4), (3, 4)),
        "addcdiv": positive((3, 4), (3, 4), (3, 4)),
        "frexp": positive((3, 4)),
        "quantile": positive((3, 4), 0.3),
        "logit": positive((3, 4)),
        "cdist": positive((3, 4), (2, 4)),
    },
    "special": {
        name: positive((3, 4))
        for name in "erfinv erfcx i0 i0e i1 i1e ndtri ndtr log_ndtr entr psi gammaln sinc".split()
    },
    "linalg": dict.fromkeys("inv det slogdet qr svd pinv matrix_exp".split(), regular)
    | {"solve": lambda draw: [regular(draw)[0][0], draw.numbers(3, 2)]},
    "nn.functional": {
        "max_pool1d": positive((1, 2, 8), 2),
        "max_pool2d": positive((1, 2, 6, 6), 3, stride=2, padding=1),
        "max_pool3d": positive((1, 1, 4, 4, 4), 2),
        "adaptive_max_pool2d": positive((1, 2, 5, 5), 2),
        "local_response_norm": positive((1, 3, 4), 2),
        "softmin": positive((3, 4), dim=1),
        "prelu": lambda draw: ([draw.numbers(3, 4), draw.random.uniform(size=1)], {}),
    },
}
TABLES = {"torch": TORCH, "Tensor": METHODS, "linalg": LINALG, "nn.functional": FUNCTIONAL}
RANDOM = {"dropout", "bernoulli", "multinomial", "fractional_max_pool2d"}
ROWS = {
    f"{where}.{name}": (where, name.removesuffix(" of a row"), maker)
    for tables in (TABLES, MORE)
    for where, table in tables.items()
    for name, maker in table.items()
    if name not in RANDOM and not name.endswith("_")
}
WAYS = ("mul_", "relu_", "detach", "data", "view")


def written(t, tensor, way):
    """The gradient by what was there does not change by what is written without a node."""
    if way == "mul_":
        tensor.mul_(3.0)
    elif way == "relu_":
        t.relu_(tensor)
    elif way == "view":
        tensor.view(-1)[:1].mul_(3.0)
    elif way == "detach":
        tensor.detach().mul_(3.0)
    elif way == "data":
        tensor.data.mul_(3.0)


def written_apart(t, tensor, way):
    if way in ("mul_", "relu_"):
        return tensor * 3.0 if way == "mul_" else t.relu(tensor)
    if way == "view":
        flat = tensor.reshape(-1)
        return t.cat([flat[:1] * 3.0, flat[1:]]).reshape(tensor.shape)
    return tensor


def tensors_in(found):
    if isinstance(found, (tuple, list)):
        return [x for part in found for x in tensors_in(part)]
    return [found] if hasattr(found, "requires_grad") and found.requires_grad else []


def made(t, given, leaves, arguments, only=None):
    """Tensors for arrays; only: which of those of floats requires grad, all of them by default."""
    if isinstance(given, dict):
        return {name: made(t, part, leaves, arguments, only) for name, part in given.items()}
    if isinstance(given, (list, tuple)):
        return type(given)(made(t, part, leaves, arguments, only) for part in given)
    if not isinstance(given, np.ndarray):
        return given
    tensor = t.tensor(given.tolist(), dtype=getattr(t, str(given.dtype).removesuffix("_")))
    tensor = tensor.reshape(given.shape)
    if given.dtype.kind != "f":
        return tensor
    if only in (None, len(arguments)):
        leaves.append(tensor.requires_grad_())
        tensor = tensor * 1.0
    arguments.append(tensor)
    return arguments[-1]


def gradients(t, row, call, what, way, create, apart=False):
    """The gradients of a program that writes; None where it has nothing to write to."""
    where, name, _ = ROWS[row]
    leaves, arguments = [], []
    at, *of = what.split()[1:] or [None]
    args, options = made(t, call, leaves, arguments, *map(int, of))
    module = t
    for part in where.split(".") if where not in ("torch", "Tensor") else ():
        module = getattr(module, part)
    function = getattr(t.Tensor if where == "Tensor" else module, name)
    outs = tensors_in(function(*args, **options))
    if not outs or any(out is x for out in outs for x in arguments):
        return None
    kept = [out * 1.0 for out in outs]
    if what == "result":
        if apart:
            outs[0] = written_apart(t, outs[0], way)
        else:
            written(t, outs[0], way)
        kept = outs
    elif not apart:
        written(t, arguments[int(at)], way)
    total = sum((out * (2.0 + place)).sum() for place, out in enumerate(kept))
    found = t.autograd.grad(total, leaves, create_graph=create, allow_unused=True)
    if create:
        squares = sum((g * g).sum() for g in found if g is not None)
        if squares.requires_grad:
            found += t.autograd.grad(squares, leaves, allow_unused=True)
    return [None if g is None else np.asarray((g.detach() + 0).tolist()) for g in found]


def outcome(t, row, what, way, create):
    """ "right", "wrong" or "raises"; None where nothing can be written, or another error comes."""
    try:
        call = ROWS[row][2](Draw(row, 0))
        expected = gradients(t, row, call, what, way, create, apart=True)
        found = None if expected is None else gradients(t, row, call, what, way, create)
    except Exception as error:  # noqa: BLE001 - also for arguments that are not there
        return "raises" if "modified by an inplace" in str(error) else None
    if found is None:
        return None
    pairs = [
        (np.zeros(()) if x is None else x, np.zeros(()) if y is None else y)
        for x, y in zip(found, expected, strict=True)
    ]
    same = all(np.allclose(x, y, 1e-7, 1e-9, equal_nan=True) for x, y in pairs)
    return "right" if same else "wrong"


def outcomes(t, programs):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = {
            ", ".join((row, *program[:2], *["twice"] * program[2])): outcome(t, row, *program)
            for row in ROWS
            for program in programs
        }
    return {key: value for key, value in found.items() if value is not None}


# Which argument is written to, and which alone requires grad unless all do.
ALONE = [f"argument {x} {y}" for x, y in itertools.permutations(range(3), 2)]
ARGUMENTS = [*(f"argument {place}" for place in range(4)), *ALONE]
PROGRAMS = [
    ("result", "relu_", True),
    ("result", "detach", False),
    ("result", "data", False),
]
MORE_PROGRAMS = [
    (what, way, create)
    for what, ways in {"result": WAYS, **dict.fromkeys(ARGUMENTS, ("mul_",))}.items()
    for way in ways
    for create in (False, True)
    if (what, way, create) not in PROGRAMS and not (create and what in ALONE)
]
# Values that one node keeps here where PyTorch has several nodes: the weights of instance_norm,
# of which there are copies there, and an input of rms_norm without grad.
KEEPS_MORE = {
    "nn.functional.instance_norm": "argument 1",
    "nn.functional.rms_norm": "argument 0 1",
}


@pytest.mark.parametrize(
    "programs", [PROGRAMS, pytest.param(MORE_PROGRAMS, marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_a_backward_pass_after_a_write_is_right_or_refused(programs):
    theirs = of_pytorch(lambda t: outcomes(t, programs))
    mine = outcomes(torch, programs)
    with all_rows() as row:
        for key in sorted(theirs.keys() & mine.keys()):
            name, what, *way = key.split(", ")
            counted = theirs.get(key.replace("data", "detach"), "right")  # else a node keeps it
            with row(key):
                if "data" not in way:
                    assert mine[key] != "wrong"
                keeps_more = name in KEEPS_MORE and what.startswith(KEEPS_MORE[name])
                if theirs[key] == counted == "right" and not keeps_more:
                    assert mine[key] == "right"


# Operations whose derivative PyTorch computes from the result, with functions of positive rows.
KEPT = {
    **{
        name: (lambda x, name=name: getattr(torch, name)(x))
        for name in "exp exp2 expm1 sigmoid tanh sqrt rsqrt tan reciprocal relu".split()
    },
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "std": lambda x: x.std(1),
    "cumprod": lambda x: x.cumprod(1),
    "hypot": lambda x: torch.hypot(x, x * 2.0),
    "pow": lambda x: x**x,
}


F = torch.nn.functional
# Functions of x, whose derivative by it is asked for, and y: which of the two and of the result
# may be written to, as PyTorch's derivative does not read it.
FREE = {
    "tanh": (lambda x, _: x.tanh(), "x"),
    "expm1": (lambda x, _: x.expm1(), "x"),
    "tanhshrink": (lambda x, _: F.tanhshrink(x), "x result"),
    "frexp": (lambda x, _: torch.frexp(x).mantissa, "x result"),
    "l1_loss": (F.l1_loss, "x y result"),
    "l1_loss sum": (lambda x, y: F.l1_loss(x, y, reduction="sum"), "x y result"),
    "l1_loss none": (lambda x, y: F.l1_loss(x, y, reduction="none"), "x y result"),
    "hypot": (torch.hypot, "y"),
    "hypot the other way": (lambda x, y: torch.hypot(y, x), "y"),
    "ldexp": (torch.ldexp, "x result"),
    "ldexp the other way": (lambda x, y: torch.ldexp(y, x), "x y"),
    "nansum": (lambda x, _: x.nansum(0), "result"),
    "attention": (lambda x, y: F.scaled_dot_product_attention(x, y, x.detach() + 1.0), "x y"),
}


@pytest.mark.parametrize("which", ["x", "y", "result"])
def test_what_no_derivative_reads_may_be_written_to(which):
    def slope(call, write):
        leaf = torch.full((2, 3), 0.5, requires_grad=True)
        x, y = leaf * 1.0, torch.full((2, 3), 0.3)
        out = call(x, y)
        total = (out * 1.0).sum()
        if write:
            {"x": x, "y": y, "result": out}[which].mul_(3.0)
        return torch.autograd.grad(total, leaf)[0]

    with all_rows() as row:
        for name, (call, free) in FREE.items():
            for _ in range(3 if which in free.split() else 0):  # the third call is a planned one
                with row(name):
                    torch.testing.assert_close(slope(call, True), slope(call, False))


@pytest.mark.parametrize("way", ["mul_", "relu_", "detach", "view"])
def test_a_result_that_pytorch_keeps_may_not_be_written_to(way):
    x = torch.full((2, 3), 0.5, requires_grad=True)
    with all_rows() as row:
        for name, call in KEPT.items():
            for _ in range(3):  # the third call is a planned one
                out = call(x)
                written(torch, out, way)
                with row(name), pytest.raises(RuntimeError, match="modified by an inplace"):
                    out.sum().backward()


def stem(x, w, inplace):
    """The first layers of a residual network: the pooled image is written to."""
    F = torch.nn.functional
    pooled = F.max_pool2d(F.conv2d(x, w, padding=1), 3, 2, 1)
    return F.relu(pooled, inplace)  # also by position


def checkpointed(run, x, w):
    return torch.utils.checkpoint.checkpoint(run, x, w, use_reentrant=False)


def packed(run, x, w):
    with torch.autograd.graph.saved_tensors_hooks(lambda y: y.clone(), lambda y: y):
        return run(x, w)


def watched(run, x, w):
    out = run(x, w)
    out.grad_fn.register_prehook(lambda gradients: gradients)
    return out


def mapped(run, x, w):
    return torch.vmap(run, in_dims=(0, None))(x.unsqueeze(1), w).squeeze(1)


HOW = {
    "plain": lambda run, x, w: run(x, w),
    "checkpoint": checkpointed,
    "saved tensors hooks": packed,
    "a hook of the node": watched,
    "vmap": mapped,
}


@pytest.mark.parametrize("how", [*HOW, "compile"])
def test_what_is_pooled_may_be_written_to(how):
    rng = np.random.default_rng(3)
    x = torch.from_numpy(rng.normal(size=(2, 3, 7, 7))).requires_grad_()
    w = torch.from_numpy(rng.normal(size=(4, 3, 3, 3))).requires_grad_()

    def slopes(x, w, inplace):
        out = HOW.get(how, HOW["plain"])(lambda x, w: stem(x, w, inplace), x, w)
        first = torch.autograd.grad((out * out).sum(), (x, w), create_graph=True)
        second = torch.autograd.grad(sum((g * g).sum() for g in first), (x, w))
        return [part.detach() for part in (out, *first, *second)]

    run = tapegrad.compile(slopes) if how == "compile" else slopes
    for found, expected in zip(run(x, w, True), slopes(x, w, False), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_a_convolution_pooled_and_rectified_in_place_is_trained():
    nn = torch.nn
    layers = [nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.ReLU(inplace=True), nn.Flatten()]
    net = nn.Sequential(*layers, nn.Linear(8, 1))
    net(torch.ones(2, 1, 6, 6)).sum().backward()
    assert net[0].weight.grad is not None


# Writes whose other argument lies in the memory that they write to: it is read before.
ITSELF = {
    "itself": lambda y: y,
    "detached": lambda y: y.detach(),
    "a view": lambda y: y.view(5),
    "a slice": lambda y: y[:],
    "the other way round": lambda y: y.flip(0),
    "a transpose": lambda y: y.view(1, 5).t().view(5),
}
BY_ITSELF = {
    "mul_": lambda y, other: y.mul_(other),
    "div_": lambda y, other: y.div_(other),
    "pow_": lambda y, other: y.pow_(other),
    "atan2_": lambda y, other: y.atan2_(other),
    "hypot_": lambda y, other: y.hypot_(other),
    "xlogy_": lambda y, other: y.xlogy_(other),
    "addcmul_": lambda y, other: y.addcmul_(other, other),
    "addcdiv_": lambda y, other: y.addcdiv_(other, other),
    "lerp_": lambda y, other: y.lerp_(other * 2.0, other),
    "clamp_": lambda y, other: y.clamp_(max=other),
    "copysign_": lambda y, other: y.copysign_(other),
    "part": lambda y, other: y.view(-1)[1:4].mul_(other[1:4]),
}


def test_a_write_by_what_is_written_has_the_gradient_of_the_old_values():
    def slopes(call, of, apart):
        x = torch.arange(1.0, 6.0, dtype=torch.float64).requires_grad_()
        y = x * 1.0
        other = of(y)
        if apart:
            y = y.clone()
        call(y, other)
        (first,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first * first).sum(), x)
        return y, first, second

    with all_rows() as row:
        for name, call in BY_ITSELF.items():
            for which, of in ITSELF.items():
                with row(f"{name} by {which}"):
                    pairs = zip(slopes(call, of, False), slopes(call, of, True), strict=True)
                    for found, expected in pairs:
                        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "view", [lambda y: y.unfold(0, 2, 1), lambda y: y.as_strided((4, 2), (1, 1))]
)
def test_a_write_to_windows_that_overlap_has_the_gradient_of_what_stays(view):
    factors = torch.linspace(0.5, 1.5, 8, dtype=torch.float64).reshape(4, 2)
    x = torch.arange(1.0, 6.0, dtype=torch.float64).requires_grad_()
    for call in (
        lambda windows: windows.mul_(3.0),
        lambda windows: windows.mul_(factors),
        lambda windows: windows.sin_(),
        lambda windows: windows.copy_(factors),
    ):

        def program(x, call=call):
            y = x * 1.0
            windows = view(y)
            call(windows)
            return windows * windows, y * y

        assert torch.autograd.gradcheck(program, (x,))
        assert torch.autograd.gradgradcheck(program, (x,))
