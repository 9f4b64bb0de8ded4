"""Arguments that were taken and ignored: they have PyTorch's effect, or are refused."""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch.autograd import forward_ad

Call = Callable[..., Any]

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
STACK = np.stack([np.eye(2), SINGULAR, np.zeros((2, 2)), np.array([[4.0, 2.0], [1.0, 3.0]])])
INDEFINITE = np.array([[4.0, 2.0, 1.0], [2.0, -3.0, 5.0], [1.0, 5.0, 6.0]])

# --- devices, layouts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda d: torch.nn.Linear(2, 2, device=d),
        lambda d: torch.nn.Conv2d(1, 1, 1, device=d),
        lambda d: torch.nn.ConvTranspose1d(1, 1, 1, device=d),
        lambda d: torch.nn.Embedding(2, 2, device=d),
        lambda d: torch.nn.EmbeddingBag(2, 2, device=d),
        lambda d: torch.nn.Bilinear(1, 1, 1, device=d),
        lambda d: torch.nn.BatchNorm1d(2, device=d),
        lambda d: torch.nn.LayerNorm(2, device=d),
        lambda d: torch.nn.RMSNorm(2, device=d),
        lambda d: torch.nn.GroupNorm(1, 2, device=d),
        lambda d: torch.nn.LSTM(2, 2, device=d),
        lambda d: torch.nn.GRUCell(2, 2, device=d),
        lambda d: torch.nn.PReLU(device=d),
        lambda d: torch.nn.MultiheadAttention(2, 2, device=d),
        lambda d: torch.nn.TransformerEncoderLayer(2, 2, 2, device=d),
        lambda d: torch.nn.TransformerDecoderLayer(2, 2, 2, device=d),
        lambda d: torch.nn.Transformer(2, 2, 1, 1, 2, device=d),
        lambda d: torch.nn.LazyLinear(2, device=d),
        lambda d: torch.nn.UninitializedBuffer(device=d),
        lambda d: torch.nn.Transformer.generate_square_subsequent_mask(2, device=d),
        lambda d: torch.fft.fftfreq(4, device=d),
        lambda d: torch.fft.rfftfreq(4, device=d),
        lambda d: torch.normal(torch.zeros(2), 1.0, device=d),
    ],
)
def test_other_devices_are_refused(make: Call) -> None:
    make("cpu")
    make(torch.device("cpu"))
    for device in ("cuda", "mps"):
        with pytest.raises(RuntimeError, match="expected the device 'cpu'"):
            make(device)


@pytest.mark.parametrize(
    "make",
    [
        lambda layout: torch.ones(2, layout=layout),
        lambda layout: torch.zeros_like(torch.ones(2), layout=layout),
        lambda layout: torch.ones(2).new_zeros(2, layout=layout),
        lambda layout: torch.normal(0.0, 1.0, (2,), layout=layout),
        lambda layout: torch.fft.fftfreq(4, layout=layout),
    ],
)
def test_other_layouts_are_refused(make: Call) -> None:
    make(torch.strided)
    with pytest.raises(RuntimeError, match="expected the layout"):
        make(torch.layout("sparse_coo"))
    with pytest.raises(TypeError, match="not int"):
        make(3)


# --- codes of success ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "matrices", "info"),
    [
        (torch.linalg.inv_ex, SINGULAR, 2),
        (torch.linalg.inv_ex, STACK, [0, 2, 1, 0]),
        (lambda A, **kw: torch.linalg.solve_ex(A, A[..., 0], **kw), STACK, [0, 2, 1, 0]),
        (lambda A, **kw: torch.linalg.solve_ex(A, A, left=False, **kw), SINGULAR, 2),
        (torch.linalg.cholesky_ex, STACK, [0, 2, 1, 0]),
        (lambda A, **kw: torch.linalg.cholesky_ex(A, upper=True, **kw), INDEFINITE, 2),
    ],
)
def test_codes_tell_of_matrices_that_fail(call: Call, matrices: Any, info: Any) -> None:
    A = torch.tensor(matrices, requires_grad=True)
    result, codes = call(A)
    assert codes.dtype == torch.int32
    assert codes.tolist() == info
    failed = codes != 0
    if result.grad_fn.name() != "LinalgCholeskyExBackward0":  # which gives what was reached
        assert result[failed].isnan().all()
    assert result[~failed].isfinite().all()
    result[~failed].sum().backward()
    assert A.grad is not None
    assert A.grad.isfinite().all()
    with pytest.raises(torch.linalg.LinAlgError, match="because the input"):
        call(A, check_errors=True)


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        (lambda t, A: t.linalg.inv_ex(A), [0, 3]),
        (lambda t, A: t.linalg.solve_ex(A, A + 1), [0, 3]),
        (lambda t, A: t.linalg.cholesky_ex(A + A.mT), [0, 3]),
    ],
)
def test_codes_and_the_other_matrices_are_pytorchs(call: Call, kept: list[int]) -> None:
    agree(lambda t, A: call(t, A).info, STACK)
    agree(lambda t, A: call(t, A)[0][kept], STACK, nan_gradients=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, A: t.linalg.inv(A),
        lambda t, A: t.linalg.inv(A[1]),
        lambda t, A: t.linalg.solve(A, A),
        lambda t, A: t.linalg.cholesky(A),
        lambda t, A: t.linalg.inv_ex(A, check_errors=True),
        lambda t, A: t.linalg.cholesky_ex(A[1], check_errors=True),
    ],
)
def test_the_error_names_the_matrix_and_the_place(call: Call) -> None:
    def said(t: Any) -> str:
        with pytest.raises(t.linalg.LinAlgError) as error:
            call(t, t.tensor(STACK))
        return str(error.value)

    assert said(torch) == of_pytorch(said)


@pytest.mark.parametrize(
    ("sides", "error"),
    [
        ((2, 2), "for the equation XA = B \\(2x2 and 2x1\\)"),
        ((1, 1), "Vector broadcasting of the left hand side is not supported"),
        ((), "must have at least 2 dimensions"),
    ],
)
def test_vectors_are_no_rows_to_solve_for(sides: tuple[int, ...], error: str) -> None:
    A, B = torch.eye(*sides or (2,)), torch.ones(sides[:1])
    for solve in (torch.linalg.solve, torch.linalg.solve_ex):
        with pytest.raises(RuntimeError, match=error):
            solve(A, B, left=False)


def test_the_upper_factor_is_of_the_upper_triangle() -> None:
    A = np.array([[4.0, 2.0], [99.0, 5.0]])
    for call in (
        lambda t, A: t.linalg.cholesky(A, upper=True),
        lambda t, A: t.linalg.cholesky_ex(A, upper=True)[0],
        lambda t, A: t.cholesky(A, upper=True),
    ):
        with np.errstate(all="ignore"):
            agree(call, A, name=False)


def test_ldl_codes() -> None:
    pytest.importorskip("scipy")
    with pytest.raises(RuntimeError, match="singular"):
        torch.linalg.ldl_factor_ex(torch.zeros(2, 2), check_errors=True)
    assert torch.linalg.ldl_factor_ex(torch.zeros(2, 2)).info.item() == 1


def test_a_driver_is_refused_as_there() -> None:
    for call in (torch.linalg.svd, torch.linalg.svdvals):
        with pytest.raises(RuntimeError, match="only supported on CUDA"):
            call(torch.eye(2), driver="gesvd")


# --- parameters of operations --------------------------------------------------------------------

X = numbers(2, 4)
IMAGES = numbers(2, 3, 4, 5)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.hsplit(x, sections=2)[1],
        lambda t, x: x.hsplit(indices=[1, 3])[1],
        lambda t, x: t.vsplit(x, indices=(1,))[1],
        lambda t, x: t.hsplit(x, 2, other=1),
        lambda t, x: t.hsplit(x),
        lambda t, x: t.tensor_split(x, sections=3, dim=-1)[1],
        lambda t, x: t.tensor_split(x, indices=[1], dim=1)[1],
        lambda t, x: t.tensor_split(x, tensor_indices_or_sections=t.tensor(2), dim=1)[1],
        lambda t, x: x.repeat_interleave(2, dim=1, output_size=8),
        lambda t, x: x.repeat_interleave(2, dim=-1, output_size=7),
        lambda t, x: x.repeat_interleave(t.tensor([1, 2]), dim=0, output_size=3),
        lambda t, x: t.cdist(x, x + 1, compute_mode="use_mm_for_euclid_dist"),
        lambda t, x: t.cdist(x, x, compute_mode="fast"),
        lambda t, x: t.segment_reduce(x[0], "sum", indices=t.tensor([0, 0, 1, 1])),
        lambda t, x: t.func.vjp(t.sin, x)[1](x, create_graph=False)[0].detach(),
    ],
)
def test_parameters_that_were_ignored(call: Call) -> None:
    agree(call, X, name=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: x.cpu(memory_format=t.channels_last),
        lambda t, x: x.detach().clone().resize_(2, 3, 4, 5, memory_format=t.channels_last),
        lambda t, x: t.zeros(120).resize_as_(x, memory_format=t.channels_last),
    ],
)
def test_memory_formats(call: Call) -> None:
    def seen(t: Any) -> Any:
        x = call(t, t.tensor(IMAGES))
        return x.stride(), x.tolist()

    assert seen(torch) == of_pytorch(seen)


@pytest.mark.parametrize("shape", [(2, 3), (1, 1, 2), (2, 1, 3, 3), (2, 2, 3, 3), (2, 3, 1, 1)])
def test_the_order_of_dimensions_is_checked_for_doubt(shape: tuple[int, ...]) -> None:
    def asked(t: Any, check: Any) -> Any:
        try:
            return t.ones(shape).dim_order(ambiguity_check=check)
        except (RuntimeError, TypeError) as error:
            return type(error).__name__, str(error)

    for check in (
        lambda t: True,
        lambda t: [t.contiguous_format, t.channels_last],
        lambda t: [t.contiguous_format],
        lambda t: 3,
    ):
        assert asked(torch, check(torch)) == of_pytorch(lambda t, c=check: asked(t, c(t)))


def test_a_pullback_without_a_graph() -> None:
    x = torch.ones(2, requires_grad=True)
    _, pull = torch.func.vjp(torch.sin, x)
    assert not pull(x, create_graph=False)[0].requires_grad
    assert pull(x)[0].requires_grad


def test_lu_writes_into_out() -> None:
    out = torch.zeros(2, 2), torch.zeros(2, dtype=torch.int32)
    made = torch.lu(2 * torch.eye(2), out=out)
    assert made[0] is out[0]
    assert out[0].tolist() == [[2, 0], [0, 2]]
    assert out[1].tolist() == [1, 2]


def test_levels_of_duals_have_the_number_0() -> None:
    x = torch.ones(2)
    with forward_ad.dual_level() as level:
        dual = forward_ad.make_dual(x, x, level=level)
        assert forward_ad.unpack_dual(dual, level=0).tangent is not None
        for call in (
            lambda: forward_ad.make_dual(x, x, level=3),
            lambda: forward_ad.unpack_dual(dual, level=3),
        ):
            with pytest.raises(RuntimeError, match="Invalid level"):
                call()


# --- settings ------------------------------------------------------------------------------------


def test_modes_of_determinism_are_one() -> None:
    def states(t: Any) -> list[Any]:
        seen = []

        def note() -> None:
            asked = (
                t.are_deterministic_algorithms_enabled,
                t.is_deterministic_algorithms_warn_only_enabled,
                t.get_deterministic_debug_mode,
            )
            seen.append([ask() for ask in asked])

        try:
            t.use_deterministic_algorithms(True, warn_only=True)
            note()
            t.use_deterministic_algorithms(True)
            note()
            for mode in ("warn", 2, "default"):
                t.set_deterministic_debug_mode(mode)
                note()
        finally:
            t.use_deterministic_algorithms(False)
        note()
        return seen

    assert states(torch) == of_pytorch(states)


def test_unknown_keywords_are_errors() -> None:
    file = io.BytesIO()
    torch.save([1], file)
    file.seek(0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        torch.load(file, maps=1)
    assert torch.load(file, encoding="latin1") == [1]
    with contextlib.suppress(TypeError), torch.random.fork_rng(other=1):
        raise AssertionError("the keyword was taken")
    with pytest.raises(RuntimeError, match="no other generator"), torch.random.fork_rng([0]):
        pass


# --- torch.batch_norm is not nn.functional's -----------------------------------------------------


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_norms_take_the_weight_before_the_statistics(name: str, training: bool) -> None:
    weight, bias, mean, variance = numbers(3), numbers(3), numbers(3), 1 + numbers(3) ** 2

    def call(t: Any, x: Any, weight: Any, bias: Any) -> Any:
        running = t.tensor(mean), t.tensor(variance)
        made = getattr(t, name)(x, weight, bias, *running, training, 0.1, 1e-3, False)
        return made + running[0].sum() + running[1].sum()

    agree(call, IMAGES, weight, bias, name=False)


def test_flags_of_other_norms() -> None:
    agree(lambda t, x: t.layer_norm(x, (5,), None, None, 1e-3, False), IMAGES, name=False)
    agree(lambda t, x: t.layer_norm(x, (5,), cudnn_enable=False), IMAGES, name=False)
    agree(lambda t, x: t.group_norm(x, 3, cudnn_enabled=False), IMAGES, name=False)
    agree(lambda t, x: t.rms_norm(x, (5,), None, 1e-3), IMAGES, name=False)


# --- where results are written -------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda t, out: t.fft.fftfreq(4, out=out),
        lambda t, out: t.fft.rfftfreq(4, out=out),
        lambda t, out: t.nn.functional.normalize(t.tensor([[3.0, 4.0]]), out=out),
        lambda t, out: t.ones(2, out=out, requires_grad=True),
        lambda t, out: t.arange(3, out=out, requires_grad=True),
        lambda t, out: 0 * t.normal(0.0, 1.0, (2,), out=out, requires_grad=True),
    ],
)
def test_results_are_written_into_empty_tensors(call: Call) -> None:
    def made(t: Any) -> Any:
        out = t.empty(0)
        result = call(t, out)
        assert out.requires_grad == result.requires_grad
        return result.detach().tolist(), list(out.shape), result.requires_grad

    assert made(torch) == of_pytorch(made)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.fft.fftfreq(4, dtype=t.int64),
        lambda t: t.normal(t.zeros(2), 1.0, dtype=t.float64),
        lambda t: t.normal(t.zeros(2), 1.0, requires_grad=True),
        lambda t: t.normal(t.zeros(2), t.ones(2), size=(2,)),
        lambda t: t.nn.functional.normalize(t.ones(2, 2, requires_grad=True), out=t.empty(2, 2)),
    ],
)
def test_what_pytorch_refuses_is_refused(call: Call) -> None:
    agree(lambda t: call(t))


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x, y: t.binary_cross_entropy_with_logits(x, y.sigmoid()),
        lambda t, x, y: t.kl_div(x, y.softmax(-1)),
        lambda t, x, y: t.hinge_embedding_loss(x, y.sign()),
        lambda t, x, y: t.cosine_embedding_loss(x, y, t.ones(2)),
        lambda t, x, y: t.margin_ranking_loss(x, y, t.ones(2, 4)),
        lambda t, x, y: t.triplet_margin_loss(x, y, y.flip(0)),
        lambda t, x, y: t.ctc_loss(x[:, None].log_softmax(-1), t.tensor([[1]]), [2], [1]),
        lambda t, x, y: t.kl_div(x, y.softmax(-1), 2),
        lambda t, x, y: t.triplet_margin_loss(x, y, y.flip(0), reduction=2),
    ],
)
def test_losses_of_torch_itself_are_not_reduced_unless_asked(call: Call) -> None:
    agree(call, X, numbers(2, 4) + 0.5, name=False)


def _of_two() -> list[str]:
    """The functions of `torch` of two tensors: parameters without a default."""
    found = []
    for name, call in OPERATIONS.items():
        if inspect.isfunction(call):
            parameters = inspect.signature(call).parameters.values()
            kinds = [p.annotation for p in parameters if p.default is p.empty]
            if len(kinds) == 2 and {*kinds} <= {"Tensor", "TensorLike", "Value"}:
                found.append(name)
    return found


def test_functions_of_two_take_both_by_name():
    """The results and the nodes are those of a call with both by position."""
    x = torch.tensor([[1.5, 2.5], [0.5, 3.0]], requires_grad=True)
    y = torch.tensor([[2.0, 1.0], [3.0, 0.5]])
    checked = 0
    for name in _of_two():
        call = OPERATIONS[name]
        words = list(inspect.signature(call).parameters)[:2]
        try:
            made = call(x, y)
        except (LookupError, RuntimeError, TypeError, UserWarning, ValueError):
            continue  # it is no function of two such tensors
        for given in ((), (x,)):
            named = dict(zip(words[len(given) :], (x, y)[len(given) :], strict=True))
            again = call(*given, **named)
            if isinstance(made, torch.Tensor):
                assert torch.equal(again, made), name
                assert type(again.grad_fn) is type(made.grad_fn), name
                checked += 1
    assert checked > 50
