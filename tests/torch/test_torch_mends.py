"""Former differences from PyTorch, each beside its kin."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from module_programs import error_of
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch._rules import gamma
from tapegrad.torch.autograd import graph

# --- backward and grad mode ----------------------------------------------------------------------


@pytest.mark.parametrize("as_method", [True, False])
def test_the_old_name_of_retain_graph(as_method: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    ones = torch.ones(2)

    for keep in (True, False):
        call: Any = y.backward if as_method else functools.partial(torch.autograd.backward, y)
        with pytest.warns(DeprecationWarning, match="retain_variables"):
            call(ones, retain_variables=keep)
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward(ones)


@pytest.mark.parametrize("retains", [True, False])
@pytest.mark.parametrize("times", [1, 2])
def test_inputs_of_backward_get_their_gradient_once(retains: bool, times: int) -> None:
    x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    z = x * y
    if retains:
        z.retain_grad()
    (z * 2).sum().backward(inputs=[z, y] * times)
    assert z.grad is not None
    assert y.grad is not None
    assert z.grad.tolist() == [2.0, 2.0]
    assert y.grad.tolist() == [2.0, 4.0]
    assert x.grad is None


def test_numpy_without_grad_mode() -> None:
    x = torch.ones(2, requires_grad=True)
    for y in (x, x * 2):
        with torch.no_grad():
            np.testing.assert_array_equal(y.numpy(), np.asarray(y))
        with torch.inference_mode():
            assert y.numpy().shape == (2,)
        for convert in (lambda y: y.numpy(), np.asarray):
            with pytest.raises(RuntimeError, match="requires grad"):
                convert(y)
        assert y.numpy(force=True).tolist() == y.tolist()


def test_data_is_not_deleted() -> None:
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del x.data
    assert x.tolist() == [1, 1]


def test_writes_behind_the_back_of_a_tensor_are_counted() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    kept = (x * y).sum()
    y.numpy()[...] = 5
    graph.increment_version(y)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()
    graph.increment_version([x, y])
    assert (x._version, y._version) == (1, 2)
    with pytest.raises(RuntimeError, match="each element of the iterable to be a tensor"):
        graph.increment_version([3])  # type: ignore[list-item]


# --- Functions that return a tensor twice --------------------------------------------------------


def _twice(t: Any, kind: str) -> list[Any]:
    seen: list[Any] = []

    class Twice(t.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x * 2
            return {
                "pair": lambda: (out, out),
                "three": lambda: (out, x.sum(), out),
                "input": lambda: (x, x),
                "dirty": lambda: (ctx.mark_dirty(x), x.mul_(2)) and (x, x),
                "constant": lambda: (ctx.mark_non_differentiable(out), out, out)[1:],
            }[kind]()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append([g.tolist() for g in grads])
            return sum(2 * g for g in grads)

    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    results = Twice.apply(y)
    first, last = results[0], results[-1]
    seen += [first is last, first is y, [r.output_nr for r in results], first.requires_grad]
    if first.requires_grad:
        (first * 3 + last).sum().backward()
        seen.append(x.grad.tolist())
    return seen


@pytest.mark.parametrize("kind", ["pair", "three", "input", "dirty", "constant"])
def test_a_tensor_returned_twice_is_one_tensor(kind: str) -> None:
    assert _twice(torch, kind) == of_pytorch(lambda t: _twice(t, kind))


# --- Numbers that a dtype does not hold ----------------------------------------------------------

NAMES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "float16": "c10::Half",
    "float32": "float",
    "complex64": "c10::complex<float>",
}
NUMBERS: list[Any] = [300, -1, -255, -256, 128, 3.7, 300.5, -3.5, 2**40, 1e6, 1e40, 2j, 1 + 0j]
NUMBERS += [math.inf, math.nan, True, 70000, 2**70]
FILLS: dict[str, Any] = {
    "full": lambda t, n, d: t.full((2,), n, dtype=getattr(t, d)),
    "full_like": lambda t, n, d: t.full_like(t.ones(2, dtype=getattr(t, d)), n),
    "fill_": lambda t, n, d: t.ones(2, dtype=getattr(t, d)).fill_(n),
    "new_full": lambda t, n, d: t.ones(2, dtype=getattr(t, d)).new_full((2,), n),
    "scalar_tensor": lambda t, n, d: t.scalar_tensor(n, dtype=getattr(t, d)),
}


def _filled(t: Any, word: str, number: Any, dtype: str) -> str:
    return error_of(lambda: FILLS[word](t, number, dtype)) + _elements(t, word, number, dtype)


def _elements(t: Any, word: str, number: Any, dtype: str) -> str:
    try:
        return str(FILLS[word](t, number, dtype).tolist())
    except Exception:  # noqa: BLE001 - `error_of` has it
        return ""


@pytest.mark.parametrize("dtype", NAMES)
def test_a_number_that_a_dtype_does_not_hold_is_refused(dtype: str) -> None:
    whole = "int" in dtype
    limits: Any = np.iinfo(dtype) if whole else np.finfo(dtype)
    for most in (limits.max.item(), limits.min.item()) if not whole else (limits.max, limits.min):
        assert torch.full((1,), most, dtype=getattr(torch, dtype)).item() == most
        if dtype == "int64":
            continue
        beyond = 2.0 * most + math.copysign(1e4, most)
        text = f"value cannot be converted to type {NAMES[dtype]} without overflow"
        with pytest.raises(RuntimeError) as error:
            torch.full((1,), beyond, dtype=getattr(torch, dtype))
        assert str(error.value) == text


@pytest.mark.parametrize("word", FILLS)
def test_numbers_of_all_dtypes_are_taken_as_by_pytorch(word: str) -> None:
    def seen(t: Any) -> list[str]:
        return [
            f"{dtype}, {number}: {_filled(t, word, number, dtype)}"
            for dtype in (*NAMES, "bool", "float64", "complex128")
            for number in NUMBERS
            if (word, dtype) != ("scalar_tensor", "float16")  # PyTorch does not look at elements
        ]

    assert seen(torch) == of_pytorch(seen)


# --- Copies of shared memory ---------------------------------------------------------------------


def _views(x: Any) -> list[Any]:
    return [x, x[:2], x.t(), x[1:, ::2], x.reshape(-1)[3:], x[0, 0], x[2:2]]


@pytest.mark.parametrize("order", ["C", "F"])
def test_copies_share_the_memory_that_the_originals_share(order: Any) -> None:
    x = torch.from_numpy(np.asarray(numbers(3, 4), order=order))
    before = _views(x)
    after = copy.deepcopy(before)
    for old, new in zip(before, after, strict=True):
        assert old.tolist() == new.tolist()
        assert old.stride() == new.stride()
        assert old.storage_offset() == new.storage_offset() or not old.numel()
    kept = x.tolist()
    after[0].fill_(7.0)
    assert all(part.eq(7.0).all() for part in after[:4])
    assert x.tolist() == kept
    reversed_first = copy.deepcopy({"part": x[1], "whole": x})
    reversed_first["part"].zero_()
    assert not reversed_first["whole"][1].any()
    alone = copy.deepcopy(x)
    alone.zero_()
    assert x.tolist() == kept


def test_copies_of_tensors_keep_what_belongs_to_them() -> None:
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    x.tag = [x]
    other = copy.deepcopy(x)
    assert other.tag[0] is other
    assert other.grad is not x.grad
    assert other.requires_grad
    assert pickle.loads(pickle.dumps(torch.ones(3)[1:])).tolist() == [1, 1]
    wide = torch.from_numpy(np.broadcast_to(np.ones(1), (3,)).copy()).expand(2, 3)
    assert copy.deepcopy(wide).tolist() == wide.tolist()


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_the_storage_of_a_tensor() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    stored = x[1:].storage()
    assert stored.tolist() == list(stored) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert (len(stored), stored.size(), stored.nbytes(), stored.element_size()) == (6, 6, 24, 4)
    assert stored.dtype is torch.float32
    assert stored == x.storage()
    assert stored.data_ptr() == x.data_ptr()
    stored[4] = 9.0
    assert x[1, 1].item() == stored[4] == 9.0
    assert repr(torch.ones(1).storage()) == (
        " 1.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 1]"
    )


# --- Derivatives at borders ----------------------------------------------------------------------

EXPONENTS = np.array([-np.inf, -2.0, -0.5, 0.0, 1.0, np.inf])


@pytest.mark.parametrize("base", [0.0, "array", "number first"])
def test_powers_of_zero_fall_from_infinity(base: Any) -> None:
    b = torch.from_numpy(EXPONENTS.copy()).requires_grad_()
    if base == "array":
        made = torch.zeros(6, dtype=torch.float64) ** b
    elif base == "number first":
        made = torch.pow(0.0, b)
    else:
        made = torch.tensor(0.0, dtype=torch.float64) ** b
    made.sum().backward()
    assert b.grad is not None
    assert b.grad.tolist() == [-np.inf, -np.inf, -np.inf, 0.0, 0.0, 0.0]


def test_powers_of_zero_agree() -> None:
    for zero in (0.0, -0.0):
        agree(lambda t, b, zero=zero: t.full((6,), zero, dtype=t.float64) ** b, EXPONENTS)
        agree(lambda t, b, zero=zero: zero**b, EXPONENTS, name=False)


EMPTY = [
    ((0,), (2,)),
    ((0, 3), (2, 3)),
    ((0,), (2, 3)),
    ((0,), (0,)),
    ((2, 3), (0,)),
    ((0,), (0, 2)),
]


@pytest.mark.parametrize("shapes", EMPTY)
def test_what_is_empty_gets_an_empty_gradient(shapes: Any) -> None:
    parts = [torch.ones(shape, requires_grad=True) for shape in shapes]
    joined = torch.cat(parts)
    assert joined.shape == (shapes[0] if len(shapes[0]) > len(shapes[1]) else shapes[1])
    joined.sum().backward()
    for part in parts:
        assert part.grad is not None
        assert part.grad.shape == part.shape


@pytest.mark.parametrize("shapes", EMPTY)
def test_joining_what_is_empty_agrees(shapes: Any) -> None:
    for dim in (0, -1):
        agree(lambda t, *xs, dim=dim: t.cat(xs, dim), *(numbers(*shape) for shape in shapes))


# --- Incomplete gamma functions ------------------------------------------------------------------

A = np.array([0.5, 1.0, 2.0, 7.5, 40.0])[:, None]
ARGUMENTS = np.array([0.01, 0.5, 1.0, 3.0, 9.0, 41.0, 100.0])


def test_incomplete_gamma_functions() -> None:
    a, x = torch.from_numpy(A.copy()), torch.from_numpy(ARGUMENTS.copy()).requires_grad_()
    lower, upper = torch.igamma(a, x), torch.igammac(a, x)
    np.testing.assert_allclose((lower + upper).tolist(), np.ones((5, 7)))
    erf = [math.erf(math.sqrt(value)) for value in ARGUMENTS]
    np.testing.assert_allclose(lower[0].tolist(), erf, rtol=1e-12)  # a = 1/2
    np.testing.assert_allclose(upper[1].tolist(), np.exp(-ARGUMENTS), rtol=1e-12)  # a = 1
    np.testing.assert_allclose(upper[2].tolist(), (1 + ARGUMENTS) * np.exp(-ARGUMENTS), rtol=1e-12)
    with np.errstate(all="raise"):
        low, high = gamma.both(A, ARGUMENTS)  # with NumPy alone
    np.testing.assert_allclose(low, lower.tolist(), rtol=1e-11)
    np.testing.assert_allclose(high, upper.tolist(), rtol=1e-11)
    y = torch.from_numpy(ARGUMENTS[:4].copy()).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: torch.igamma(a, x), y)
    assert torch.autograd.gradgradcheck(lambda x: torch.igammac(a, x), y)
    assert torch.special.gammainc(a, y).tolist() == torch.igamma(a, y).tolist()
    with pytest.raises(NotImplementedError, match="'Long'"):
        torch.igamma(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64))


def test_incomplete_gamma_functions_by_the_shape() -> None:
    """PyTorch has no derivative by the shape; SciPy's mirror has, to every order."""
    mpmath = pytest.importorskip("mpmath")
    pytest.importorskip("scipy")
    for word, sign in (("igamma", 1), ("igammac", -1)):
        a = torch.from_numpy(np.repeat(A, 7, 1)).requires_grad_()
        getattr(torch, word)(a, torch.from_numpy(ARGUMENTS)).sum().backward()
        for row, shape in zip(a.grad.tolist(), A[:, 0], strict=True):
            expected = [
                float(
                    mpmath.diff(lambda s, x=x: mpmath.gammainc(s, 0, x, regularized=True), shape)
                )
                for x in ARGUMENTS
            ]
            np.testing.assert_allclose(np.multiply(sign, row), expected, rtol=1e-8, atol=1e-14)
    shapes = torch.tensor([0.7, 3.0], dtype=torch.float64).requires_grad_()
    places = torch.tensor([0.4, 5.0], dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(torch.igammac, (shapes, places))
    law = torch.distributions.Gamma(shapes, torch.ones(2, dtype=torch.float64))
    (slopes,) = torch.autograd.grad(law.cdf(places.detach()).sum(), shapes)
    (expected,) = torch.autograd.grad(torch.igamma(shapes, places).sum(), shapes)
    np.testing.assert_allclose(slopes.tolist(), expected.tolist(), rtol=1e-12)
    single = shapes.detach().float().requires_grad_()
    (slopes,) = torch.autograd.grad(torch.igamma(single, places.detach().float()).sum(), single)
    assert slopes.dtype == torch.float32
    np.testing.assert_allclose(slopes.tolist(), expected.tolist(), rtol=1e-5)


def test_incomplete_gamma_functions_by_the_shape_without_scipy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gamma, "scipy_function", lambda _name: None)
    a = torch.from_numpy(A.copy()).requires_grad_()
    with pytest.raises(NotImplementedError, match="'igamma: input' is not implemented without"):
        torch.igamma(a, torch.from_numpy(ARGUMENTS)).sum().backward()


def test_incomplete_gamma_functions_at_borders() -> None:
    inf, nan = np.inf, np.nan
    a = np.array([0.0, 2.0, 2.0, inf, -1.0, 2.0, 0.0, inf])
    x = np.array([1.0, 0.0, inf, 3.0, 1.0, -1.0, 0.0, inf])
    expected = [1.0, 0.0, 1.0, 0.0, nan, nan, nan, nan]
    low, high = gamma.both(a, x)
    np.testing.assert_array_equal(low, expected)
    np.testing.assert_array_equal(high, 1 - np.asarray(expected))
    found = torch.igamma(torch.from_numpy(a), torch.from_numpy(x)).tolist()
    np.testing.assert_array_equal(found, expected)


def test_incomplete_gamma_functions_agree() -> None:
    for word in ("igamma", "igammac"):
        for dtype in (np.float64, np.float32):
            a, x = A.astype(dtype), ARGUMENTS.astype(dtype)
            agree(lambda t, x, w=word, a=a: getattr(t, w)(t.from_numpy(a), x), x, tolerance=1e-9)


# --- broadcasting, NaN, dtypes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "dim"),
    [((2, 3), (1, 3), 0), ((3,), (2, 3), 1), ((2, 3), (3,), -2), ((4, 1, 3), (2, 3), 1)],
)
def test_cosines_are_of_the_vectors_after_broadcasting(
    first: tuple[int, ...], second: tuple[int, ...], dim: int
) -> None:
    agree(
        lambda t, x, y: t.nn.functional.cosine_similarity(x, y, dim, eps=1e-3),
        numbers(*first),
        1 + numbers(*second),
        name=False,
    )


def test_each_nan_is_unique() -> None:
    nan = math.nan
    x = torch.tensor([3.0, nan, 1.0, nan])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert repr(values.tolist()) == "[1.0, 3.0, nan, nan]"
    assert sorted(inverse.tolist()) == [0, 1, 2, 3]
    assert counts.tolist() == [1, 1, 1, 1]
    assert torch.tensor([[1.0, nan], [1.0, nan]]).unique(dim=0).shape == (2, 2)


@pytest.mark.parametrize("other", ["int32", "float16", "float64"])
@pytest.mark.parametrize("word", ["float16", "bfloat16", "float32", "int64"])
def test_ldexp_has_the_dtype_of_its_first_argument(word: str, other: str) -> None:
    if word == "bfloat16":
        pytest.importorskip("ml_dtypes")

    def made(t: Any) -> Any:
        power = t.tensor([1, 3], dtype=getattr(t, other))
        x = t.ldexp(t.ones(2, dtype=getattr(t, word)), power)
        return str(x.dtype), x.tolist()

    assert made(torch) == of_pytorch(made)
    assert made(torch)[1] == [2, 8]


def test_ldexp_by_an_integer_overflows_only_where_the_result_does() -> None:
    x = torch.tensor([2.0**-100, 2.0**100], requires_grad=True)
    assert torch.ldexp(x, torch.tensor([150, -160])).tolist() == [2.0**50, 2.0**-60]
    torch.ldexp(x, torch.tensor([3, -3])).sum().backward()
    assert x.grad.tolist() == [8.0, 0.125]


def test_inputs_of_a_backward_pass_retain_their_gradients() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = (y**2).sum()
    z.backward(inputs=[y], retain_graph=True)
    assert y.retains_grad
    assert x.grad is None
    assert y.grad.tolist() == [6.0, 12.0]
    z.backward()
    assert y.grad.tolist() == [12.0, 24.0]
    assert x.grad.tolist() == [18.0, 36.0]


def test_counts_of_trials_have_the_dtype_of_probabilities() -> None:
    p = torch.tensor([0.25, 0.5], dtype=torch.float64)
    found = torch.distributions.Binomial(torch.tensor(5.0), p)
    assert found.total_count.dtype == torch.float64
    exact = math.log(10 * 0.25**2 * 0.75**3)
    assert found.log_prob(torch.tensor(2.0, dtype=torch.float64))[0].item() == pytest.approx(
        exact, rel=1e-14
    )


def test_a_product_by_itself_is_a_new_tensor() -> None:
    x = torch.ones(2, 3)
    y = x
    y @= torch.full((3, 4), 2.0)
    assert y.tolist() == [[6.0] * 4] * 2
    assert x.tolist() == [[1.0] * 3] * 2


def test_polygamma_in_place() -> None:
    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    y = x * 1
    made = y.polygamma_(1)
    assert made is y
    assert made.equal(torch.polygamma(1, x))
    made.sum().backward()
    assert x.grad is not None
    assert x.grad.equal(torch.polygamma(2, x))
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.arange(3).polygamma_(1)


# --- PyTorch's legal writes ----------------------------------------------------------------------


def test_writes_through_data_are_not_counted() -> None:
    """A backward pass uses what is there then, as PyTorch's does."""
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)
    y = x * w
    w.data.view(2, 1).fill_(7.0)
    w.data[0] = 5.0
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    assert w._version == 0
    assert w.tolist() == [5.0, 7.0]
    # But those through detach(), and to a tensor that `data` gave and the graph keeps.
    y = x * w
    w.detach().fill_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    part = w.data
    y = x * part[:2]
    part.fill_(3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    for made in (torch.ones(3, 3).t(), torch.ones(6)[::2], torch.tensor(1.0), torch.ones(0, 2)):
        made.data.add_(1)
        assert bool((made == 2).all())
        assert made.data.stride() == made.stride()
        assert made.data.data_ptr() == made.data_ptr()


@pytest.mark.parametrize(
    ("call", "slope"),
    [
        (lambda a: 1 / a, -0.25),
        (lambda a: 3 / a, -0.75),
        (lambda a: a.reciprocal(), -0.25),
        (lambda a: a.expm1(), 7.389056),
        (lambda a: a.floor(), 0.0),
        (lambda a: a.ceil(), 0.0),
        (lambda a: a.round(), 0.0),
        (lambda a: a.trunc(), 0.0),
        (lambda a: a.sign(), 0.0),
        (lambda a: torch.addmm(torch.ones(1, 1), torch.ones(1, 1), a.view(1, 1)), 1.0),
    ],
)
def test_functions_that_do_not_keep_their_argument(call: Any, slope: float) -> None:
    x = torch.tensor([2.0], requires_grad=True)
    a = x * 1
    y = call(a)
    a.zero_()
    y.sum().backward()
    assert float(x.grad) == pytest.approx(slope, 1e-6)


def test_reciprocals_stay_in_range() -> None:
    x = torch.tensor([1e-200, 1e200], dtype=torch.float64, requires_grad=True)
    (1 / x).backward(torch.tensor([1e-300, 1e300], dtype=torch.float64))
    np.testing.assert_allclose(x.grad.numpy(), [-1e100, -1e-100])


@pytest.mark.parametrize("kind", ["RNN", "GRU", "RNNCell", "GRUCell", "LSTMCell"])
def test_recurrent_layers_need_what_their_derivative_reads(kind: str) -> None:
    """After one step from no state the weight of the state may change, as in PyTorch."""
    torch.manual_seed(0)
    net = getattr(torch.nn, kind)(2, 3)
    x = torch.ones(1, 2) if kind.endswith("Cell") else torch.ones(1, 1, 2)

    def slopes(names: tuple[str, ...]) -> list[Any]:
        net.zero_grad()
        made = net(x)
        with torch.no_grad():
            for name, parameter in net.named_parameters():
                if name.startswith(names):
                    parameter.add_(1)
        (made if isinstance(made, torch.Tensor) else made[0]).sum().backward()
        with torch.no_grad():
            for name, parameter in net.named_parameters():
                if name.startswith(names):
                    parameter.sub_(1)
        return [p.grad.clone().numpy() for p in net.parameters()]

    expected = slopes(("nothing",))
    for found, right in zip(slopes(("weight", "bias")), expected, strict=True):
        np.testing.assert_allclose(found, right, 1e-6)
    # Where the input requires grad its weight is needed.
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        slopes(("weight_ih",))
    # And a pass that logs itself needs all.
    x = x.detach()
    made = net(x)
    with torch.no_grad():
        next(iter(net.parameters())).add_(1)
    loss = (made if isinstance(made, torch.Tensor) else made[0]).sum()
    if kind.endswith("Cell"):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.grad(loss, list(net.parameters()), create_graph=True)


# --- Single behaviours ---------------------------------------------------------------------------


def test_einsum_sums_an_omitted_ellipsis() -> None:
    a = torch.arange(6.0).reshape(2, 3)
    assert torch.einsum("...j->j", a).tolist() == [3.0, 5.0, 7.0]
    assert torch.einsum("...->", a) == 15
    assert torch.einsum("i...->", a) == 15
    assert torch.einsum("ij...,jk...->ik", a[..., None], a.T[..., None]).tolist() == [
        [5.0, 14.0],
        [14.0, 50.0],
    ]
    a.requires_grad_()
    torch.einsum("...j,j->", a, torch.tensor([1.0, 2.0, 3.0])).backward()
    assert a.grad.tolist() == [[1.0, 2.0, 3.0]] * 2


@pytest.mark.parametrize(
    ("p", "x_bar", "y_bar"),
    [
        (math.inf, [[0, 1], [0, -1], [-1, 0]], [[-2, -1], [3, 1]]),
        (0.0, [[0, 0]] * 3, [[0, 0]] * 2),
        (1.0, [[0, 1], [0, -1], [-1, -1]], [[-2, -1], [3, 2]]),
    ],
)
def test_cdist_at_ties(p: float, x_bar: Any, y_bar: Any) -> None:
    x = torch.tensor([[1.0, 1.0], [2.0, 0.0], [0.0, 0.0]], requires_grad=True)
    y = torch.tensor([[0.0, 0.0], [3.0, 1.0]], requires_grad=True)
    torch.cdist(x, y, p=p).sum().backward()
    assert x.grad.tolist() == x_bar
    assert y.grad.tolist() == y_bar


def test_cdist_of_one_place_with_a_small_order() -> None:
    x = torch.tensor([[1.0, 0.0]], requires_grad=True)
    torch.cdist(x, torch.tensor([[0.0, 0.0], [1.0, 0.0]]), p=0.5).sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0]]


class _Product(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x * 2 if y.dtype == torch.int64 else x * y


def test_hooks_see_zeros_for_inputs_without_a_gradient() -> None:
    seen: list[Any] = []
    module = _Product()
    module.register_full_backward_hook(lambda _, inputs, __: seen.append(inputs))
    x = torch.ones(2, requires_grad=True)
    module(x, torch.ones(2)).sum().backward()
    module(x, torch.ones(2, dtype=torch.int64)).sum().backward()
    assert [[g.tolist() for g in inputs] for inputs in seen] == [
        [[1.0, 1.0], [0.0, 0.0]],
        [[2.0, 2.0], [0, 0]],
    ]
    assert seen[1][1].dtype == torch.int64


@pytest.mark.parametrize("at", [0, 1])
def test_writes_past_a_backward_hook_are_refused(at: int) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True))
    net[at].register_full_backward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="BackwardHookFunction is a view and is being modified"):
        net(torch.ones(1, 2, requires_grad=True))
    with torch.no_grad():
        net(torch.ones(1, 2))


def test_a_tensor_hashes_by_its_identity_and_requires_grad_is_a_bool() -> None:
    x = torch.ones(2)
    assert hash(x) == id(x)
    for wrong in (3, 1, None, "a"):
        with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
            x.requires_grad = wrong  # type: ignore[assignment]
        with pytest.raises(TypeError, match="must be bool, not"):
            x.requires_grad_(wrong)  # type: ignore[arg-type]
    assert not x.requires_grad


@pytest.mark.parametrize("word", ["std", "var", "std_mean", "var_mean"])
def test_the_warning_of_too_few_elements(word: str) -> None:
    for _ in range(4):
        with pytest.warns(UserWarning, match=rf"{word}\(\): degrees of freedom is <= 0"):
            getattr(torch, word)(torch.ones(1))


def test_values_kept_from_inside_a_transform_are_constants_after_it() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return (kept[-1] * kept[-1]).sum()

    x = torch.ones(3)
    torch.func.grad(f)(x)
    torch.func.jvp(f, (x,), (x,))
    for y in kept:
        assert (y * 2).tolist() == [4.0, 4.0, 4.0]
        assert float(y.sum()) == 6
        assert torch.func.grad(lambda z, y=y: (z * y).sum())(x).tolist() == [2.0, 2.0, 2.0]


def test_hooks_pack_in_the_order_of_names() -> None:
    seen: list[Any] = []
    x = torch.full((2, 2), 2.0, requires_grad=True)
    y = torch.full((2, 2), 3.0, requires_grad=True)
    for call, order in (
        (torch.mul, [3, 2]),
        (torch.div, [3, 2]),
        (torch.matmul, [3, 2]),
        (torch.pow, [3, 2, 8]),
    ):
        seen.clear()

        def note(value: Any) -> Any:
            seen.append(float(value.detach()[0, 0]))
            return value

        with graph.saved_tensors_hooks(note, note):
            made = call(x, y)
        made.sum().backward()
        assert seen == order * 2


def test_views_in_inference_mode() -> None:
    x = torch.ones(3)
    with torch.inference_mode():
        own = torch.ones(3)
        assert [x[:2].is_inference(), x.detach().is_inference()] == [False, False]
        assert [own[:2].is_inference(), own.detach().is_inference()] == [True, True]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.nn.functional.leaky_relu_(x, -0.1),
        lambda x: torch.nn.functional.leaky_relu(x, -0.1, inplace=True),
        lambda x: torch.nn.functional.elu_(x, -1.0),
    ],
)
def test_a_negative_slope_in_place_has_no_derivative(call: Any) -> None:
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    made = call(x * 1)
    with pytest.raises(RuntimeError, match="slope is negative"):
        made.sum().backward()
    assert call(torch.tensor([1.0])).tolist() == [1.0]


def test_linear_layers_name_the_dtypes_in_the_order_of_the_factors() -> None:
    wide = torch.ones(1, 2, dtype=torch.float64)
    for call in (torch.nn.Linear(2, 2), torch.nn.GRUCell(2, 2), torch.nn.RNNCell(2, 2)):
        with pytest.raises(RuntimeError, match=r"mat1 and mat2 .* got Double and Float"):
            call(wide)
    with pytest.raises(RuntimeError, match="at least 1D"):
        torch.nn.Linear(2, 2)(torch.tensor(1.0))


def test_the_warning_of_cycles_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapegrad.torch.autograd import _passes

    monkeypatch.setattr(_passes, "_WARNED", [])
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="will create a reference cycle"):
        (x * x).sum().backward(create_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x * x).sum().backward(create_graph=True)


# --- Domains -------------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", [None, 0.1, 0.5, 0.6, 0.0])
def test_logit_outside_of_its_domain_and_with_bounds_that_cross(eps: float | None) -> None:
    x = np.array([-0.5, 0.0, 0.05, 0.1, 0.3, 0.5, 0.65, 0.9, 1.0, 1.5, np.inf, np.nan])
    agree(lambda t, x: t.logit(x, eps), x)
    agree(lambda t, x: t.special.logit(x, eps), x)


@pytest.mark.parametrize("eps", [1e-8, 1.0, 10.0])
def test_the_gradient_of_cosine_similarity_below_eps_is_that_of_the_function(eps: float) -> None:
    def call(t: Any, x: Any, y: Any) -> Any:
        return t.nn.functional.cosine_similarity(x, y, dim=0, eps=eps)

    def tangent(t: Any) -> float:
        x, y, dx, dy = (t.tensor(v, dtype=t.float64) for v in ROWS)
        made: float = t.func.jvp(lambda x, y: call(t, x, y), (x, y), (dx, dy))[1].item()
        return made

    assert tangent(torch) == pytest.approx(of_pytorch(tangent), rel=1e-12)
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ROWS[:2])
    slopes = torch.autograd.grad(call(torch, x, y), (x, y))
    dots = [torch.tensor(v, dtype=torch.float64) for v in ROWS[2:]]
    backward = sum((g * dot).sum().item() for g, dot in zip(slopes, dots, strict=True))
    assert backward == pytest.approx(tangent(torch), rel=1e-12)


ROWS = ([0.5, 0.5], [0.1, -3.0], [1.0, 2.0], [-1.0, 0.5])


# --- Arguments that are refused, or not ----------------------------------------------------------


def answer_of(call: Any, *args: Any) -> Any:
    """The result of a call as plain data, or the class and the text of its error."""
    try:
        made = call(*args)
    except Exception as error:  # noqa: BLE001 - whichever it is
        return [type(error).__name__, str(error)]
    return made.tolist() if hasattr(made, "tolist") else str(made)


BAD_SETTINGS: dict[str, tuple[Any, ...]] = {
    "lr": (math.nan, -1.0, math.inf, 0, -0.0),
    "momentum": (math.nan, -1.0),
    "weight_decay": (math.nan, -1.0),
    "eps": (math.nan, -1.0, 0.0),
    "betas": (0.5, (0.5,), (1.0, 0.5), (0.5, math.nan), (0.9, 0.9, 0.9)),
}
OPTIMIZERS = "SGD Adam AdamW Adagrad Adadelta Adamax ASGD NAdam RAdam RMSprop Rprop SparseAdam"


@pytest.mark.parametrize("word", OPTIMIZERS.split())
def test_settings_of_optimizers(word: str) -> None:
    def answers(t: Any) -> Any:
        def refused(**settings: Any) -> Any:
            weights = [t.ones(2, requires_grad=True)]
            return answer_of(lambda: getattr(t.optim, word)(weights, **settings) and None)

        known = inspect.signature(getattr(t.optim, word)).parameters
        return [
            [name, str(value), refused(**{name: value})]
            for name, values in BAD_SETTINGS.items()
            for value in (values if name in known else ())
        ]

    assert answers(torch) == of_pytorch(answers)


def test_frequencies_of_no_points_and_of_points_without_distance() -> None:
    def answers(t: Any) -> Any:
        found = [
            answer_of(getattr(t.fft, name), n, d)
            for name in ("fftfreq", "rfftfreq")
            for n in (0, 1, 2, 5, 2.5)
            for d in (1.0, 0.0, 0.5)
        ]
        return [*found, answer_of(t.fft.fftfreq, -1)]

    assert repr(answers(torch)) == repr(of_pytorch(answers))


def test_bounds_of_rrelu() -> None:
    def answers(t: Any) -> Any:
        x = t.tensor([-1.0, 2.0])
        return [
            answer_of(call, low, high)
            for low, high in ((0.5, 0.1), (0.25, 0.25), (math.nan, 1.0), (0.0, math.inf))
            for call in (
                lambda low, high: t.nn.functional.rrelu(x, low, high),
                lambda low, high: t.nn.RReLU(low, high).eval()(x),
                lambda low, high: repr(t.nn.RReLU(low, high)),
            )
        ]

    assert answers(torch) == of_pytorch(answers)


def test_a_wishart_distribution_says_how_many_degrees_of_freedom_it_needs() -> None:
    def answers(t: Any) -> Any:
        made = t.distributions.Wishart(t.tensor([3.0, 4.0]), t.eye(3))
        wrong = answer_of(t.distributions.Wishart, math.nan, t.eye(3))
        return str(made.arg_constraints), str(made.expand((2, 2)).arg_constraints), wrong

    assert answers(torch) == of_pytorch(answers)


# --- Within functional transforms ----------------------------------------------------------------


NESTED: dict[str, Any] = {
    "grad of grad": lambda t, g, x: g(g(lambda y: y.data * y * y))(x),
    "hessian": lambda t, g, x: t.func.hessian(lambda v: (v.data * v * v).sum())(t.ones(2)),
    "both tensors": lambda t, g, x: g(lambda v: g(lambda y: (v * y).data * y)(v))(x),
    "a tensor of the graph": lambda t, g, x: g(lambda y: (x.requires_grad_() * y).data * y)(x),
    "jvp of grad": lambda t, g, x: t.func.jvp(g(lambda y: y.data * y), (x,), (x,)),
}


@pytest.mark.parametrize("name", NESTED)
def test_data_within_nested_transforms_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"PyTorch's cuts the innermost .* Use detach\(\)"):
        NESTED[name](torch, torch.func.grad, torch.tensor(2.0))


def test_data_within_one_transform() -> None:
    def answers(t: Any) -> Any:
        g, x = t.func.grad, t.tensor(2.0)

        def assigned(y: Any) -> Any:
            z = y * 2
            z.data = t.ones(())
            return z

        return [
            answer_of(g(lambda y: y.data * y), x),
            answer_of(g(lambda v: g(lambda y: v.data * y * y)(v) * v), x),
            answer_of(t.func.jvp(lambda y: y.data * y, (x,), (x,))[1].item),
            answer_of(g(assigned), x),
        ]

    assert answers(torch) == of_pytorch(answers)


def test_a_value_that_a_transform_has_left_behind_says_so() -> None:
    def answers(t: Any) -> Any:
        kept: list[Any] = []
        t.func.grad(lambda x: (kept.append(x * 2), x.sum())[1])(t.tensor([1.0, 2.0]))
        return repr(kept[0]), (kept[0] + 1).tolist(), (kept[0] + 1).requires_grad

    assert answers(torch) == of_pytorch(answers)


VIEWED: dict[str, Any] = {
    "mT": lambda x: x.mT.view(-1),
    "t": lambda x: x.t().view(6),
    "expand": lambda x: x[:, :1].expand(2, 3).view(6),
    "columns": lambda x: x[:, 1:].view(-1),
    "twice": lambda x: x.t().t().view(-1),
    "rows": lambda x: x.t().view(3, 2, 1),
    "sizes of 1": lambda x: x[:, None].squeeze(1).view(-1),
    "contiguous": lambda x: x.t().contiguous().view(-1),
    "reshape": lambda x: x.t().reshape(-1),
    "part": lambda x: x.view(-1)[::2].view(3),
}


@pytest.mark.parametrize("name", VIEWED)
def test_views_within_transforms_need_the_memory_that_they_need_outside(name: str) -> None:
    def answers(t: Any) -> Any:
        x, call = t.arange(6.0).reshape(2, 3), VIEWED[name]
        return [
            answer_of(t.func.grad(lambda y: (call(y) ** 2).sum()), x),
            answer_of(t.func.hessian(lambda y: (call(y) ** 2).sum()), x),
            answer_of(lambda: t.func.jvp(call, (x,), (x,))[1]),
        ]

    assert answers(torch) == of_pytorch(answers)


def test_a_module_called_with_other_names_says_which() -> None:
    def answers(t: Any) -> Any:
        x, layer = t.ones(1, 2), t.nn.Linear(2, 2)
        zeros = {"weight": t.zeros(2, 2), "bias": t.zeros(2), "other": t.zeros(1)}

        def called(*names: str) -> Any:
            given = {name: zeros[name] for name in names}
            return answer_of(lambda: t.func.functional_call(layer, given, x, strict=True) and None)

        return [called("other"), called("weight"), called(*zeros)]

    assert answers(torch) == of_pytorch(answers)


@pytest.mark.parametrize("word", ["huber_loss", "smooth_l1_loss"])
def test_second_derivatives_where_squares_pass_into_absolute_values(word: str) -> None:
    x = np.array([1.0, -2.0, 0.5, -1.0, 0.0, -0.25, 3.0])
    agree(lambda t, x: getattr(t.nn.functional, word)(x, t.zeros_like(x)), x, order=2)
