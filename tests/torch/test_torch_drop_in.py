"""Programs written for PyTorch: behaviours in which the two once differed."""

from __future__ import annotations

import pickle
import warnings

import pytest

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch._ops import declare
from tapegrad.torch.func import grad, jvp, vmap

# --- Writes through views, where a transform is inside vmap --------------------------------------


def _to_whole(x, y):
    x = x.clone()
    row = x[0]
    x.copy_(y)
    return row * 1, x * 1


def _to_view(x, y):
    x = x.clone()
    row = x[0]
    row.copy_(y[0])
    return row * 1, x * 1


def _times(x, y):
    x = x.clone()
    row = x.select(0, 0)
    x.mul_(y)
    return row * 1, x * 1


@pytest.mark.parametrize("write", [_to_whole, _to_view, _times])
@pytest.mark.parametrize("inner", ["grad", "jvp", "vmap"])
def test_views_follow_a_write_by_an_inner_transform(write, inner):
    torch.manual_seed(0)
    x, y = torch.randn(3, 2, 4), torch.randn(3, 2, 4)
    seen = vmap(write)(x, y)
    loss = lambda x, y: sum((part**2).sum() for part in write(x, y))  # noqa: E731
    slope = torch.stack(
        [torch.autograd.functional.jacobian(loss, pair)[1] for pair in zip(x, y, strict=True)]
    )
    if inner == "grad":
        assert torch.allclose(vmap(grad(loss, argnums=1))(x, y), slope)
    elif inner == "jvp":
        out, dots = vmap(lambda x, y: jvp(lambda q: write(x, q), (y,), (y,)))(x, y)
        for ours, right in zip(out, seen, strict=True):
            assert torch.equal(ours, right)
        total = sum(
            (2 * part * dot).flatten(1).sum(1) for part, dot in zip(out, dots, strict=True)
        )
        assert torch.allclose(total, (slope * y).flatten(1).sum(1))
    else:
        pairs = vmap(lambda x: vmap(lambda q: write(x + 0 * q, q))(y))(x)
        for i in range(3):
            for j in range(3):
                row, whole = write(x[i], y[j])
                assert torch.equal(pairs[0][i, j], row)
                assert torch.equal(pairs[1][i, j], whole)


# --- Optimizers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["Adadelta", "Adagrad", "Adam", "AdamW", "NAdam", "RMSprop", "SGD"]
)
def test_states_saved_before_a_setting_existed_load(name):
    make = getattr(torch.optim, name)
    weight = nn.Parameter(torch.ones(3))
    optimizer = make([weight], lr=0.1)
    state = optimizer.state_dict()
    for word in ("maximize", "foreach", "differentiable", "capturable", "fused", "nesterov"):
        state["param_groups"][0].pop(word, None)
    other = nn.Parameter(torch.ones(3))
    loaded = make([other], lr=0.1)
    loaded.load_state_dict(state)
    for param, chosen in ((weight, optimizer), (other, loaded)):
        param.grad = torch.tensor([1.0, -2.0, 0.5])
        chosen.step()
    assert torch.equal(weight, other)


# --- Convolutions --------------------------------------------------------------------------------


@pytest.mark.part(3)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_tangents_of_convolution_gradients(dims, bias):
    """Forward over reverse, where the transposes are called without a bias."""
    convolve = getattr(nn.functional, f"conv{dims}d")
    torch.manual_seed(dims)
    x = torch.randn(1, 1, *[4] * dims, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(1, 1, *[2] * dims, dtype=torch.float64, requires_grad=True)
    inputs = (x, weight, *([torch.ones(1, dtype=torch.float64)] if bias else []))
    call = lambda *args: convolve(*args, padding="same")  # noqa: E731
    assert torch.autograd.gradgradcheck(call, inputs, check_fwd_over_rev=True)


# --- Values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_unique_consecutive_of_nothing(shape, dtype):
    x = torch.zeros(shape, dtype=dtype)
    found, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert found.shape == counts.shape == (0,)
    assert inverse.shape == shape
    assert found.dtype == dtype


@pytest.mark.parametrize("number", [1000, -1, -300, 2**40])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_integers_beyond_a_dtype_wrap_around_in_operators(dtype, number):
    x = torch.tensor([1, 7, 100], dtype=dtype)
    y = torch.tensor(number).to(dtype)
    for call in (
        lambda a, b: a + b,
        lambda a, b: b - a,
        lambda a, b: a * b,
        lambda a, b: a == b,
        lambda a, b: a < b,
        lambda a, b: a & b,
    ):
        found, expected = call(x, number), call(x, y)
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected)
    assert torch.allclose(x / number, x.float() / number)


@pytest.mark.parametrize("call", [torch.where, torch.clamp])
def test_integers_beyond_a_dtype_are_refused_elsewhere(call):
    x = torch.tensor([1, 2], dtype=torch.uint8)
    arguments = (x > 1, x, 300) if call is torch.where else (x, None, 300)
    with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t without overflow"):
        call(*arguments)


@pytest.mark.parametrize(
    ("x", "alpha", "text"),
    [
        ([1, 2], 1.5, "For integral input tensors, argument alpha must not be a floating"),
        ([True], 1.5, "For integral input tensors"),
        ([1.0], 1j, "For non-complex input tensors"),
        ([1], True, "Boolean alpha only supported for Boolean results"),
    ],
)
def test_alpha_has_the_category_of_the_result(x, alpha, text):
    x = torch.tensor(x)
    with pytest.raises(RuntimeError, match=text):
        torch.add(x, x, alpha=alpha)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int16])
def test_sums_of_small_integers_are_int64(dtype):
    x = torch.ones(3, 3, dtype=dtype)
    assert x.trace().dtype is torch.int64
    assert torch.vander(torch.tensor([1, 0, 1], dtype=dtype)).dtype is torch.int64


def test_reversed_turns_the_first_dimension():
    x = torch.arange(6).view(3, 2)
    assert reversed(x).tolist() == [[4, 5], [2, 3], [0, 1]]


# --- Indices -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize("chosen", [0, 1])
def test_a_byte_without_dimensions_is_a_mask(shape, chosen):
    x = torch.zeros(shape)
    assert x[torch.tensor(chosen, dtype=torch.uint8)].shape == (chosen, *shape)
    x[torch.tensor(chosen, dtype=torch.uint8)] = 5.0
    assert bool((x == 5 * chosen).all())


def test_writes_to_positions_want_the_dtype():
    x = torch.zeros(3)
    mask = torch.tensor([True, False, True])
    for index in ([0, 1], torch.tensor([0, 2]), mask):
        with pytest.raises(RuntimeError, match="source and destination dtypes match, got Float"):
            x[index] = torch.ones(2, dtype=torch.float64)
    x[mask] = torch.tensor(2)  # one element fills a mask
    assert x.tolist() == [2, 0, 2]
    x.index_put_((mask,), torch.tensor(3.0, dtype=torch.float64))
    assert x.tolist() == [3, 0, 3]
    x[0:2] = torch.ones(2, dtype=torch.float64)  # a copy converts
    assert x.tolist() == [1, 1, 3]


def test_small_errors_of_indices():
    x = torch.zeros(3)
    with pytest.raises(TypeError, match="does not support deleting items"):
        del x[0]
    with pytest.raises(IndexError, match="for dimension with size 0"):
        torch.zeros(2, 0)[:, [0, 1]]
    with pytest.raises(RuntimeError, match="only supports boolean masks, but got mask with dtype"):
        x.masked_fill_(torch.ones(3, dtype=torch.uint8), 1.0)
    assert x.index_copy(0, torch.tensor([1]), torch.tensor(5.0)).tolist() == [0, 5, 0]


# --- Bags without elements -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_empty_bags_stay_on_the_graph(mode):
    weight = torch.ones(4, 3, requires_grad=True)
    nothing, starts = torch.tensor([], dtype=torch.int64), torch.tensor([0, 0])
    out = nn.functional.embedding_bag(nothing, weight, starts, mode=mode)
    assert torch.equal(out, torch.zeros(2, 3))
    out.sum().backward()
    assert torch.equal(weight.grad, torch.zeros(4, 3))


# --- Backward passes -----------------------------------------------------------------------------


def test_materialized_zeros_can_be_differentiated_again():
    x, a = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    first = torch.autograd.grad(x * a, x, create_graph=True)
    second = torch.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    third = torch.autograd.grad(second, x, materialize_grads=True)
    assert second[0].requires_grad
    assert third[0].item() == 0
    assert not torch.autograd.grad(first, x, materialize_grads=True)[0].requires_grad


def test_callbacks_queue_callbacks():
    seen = []
    engine = torch.autograd.Variable._execution_engine

    def first():
        seen.append("first")
        engine.queue_callback(lambda: seen.append("second"))

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda _: engine.queue_callback(first))
    y.sum().backward()
    assert seen == ["first", "second"]


# --- Distributions -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shares_of_small_concentrations_stay_within_their_support(dtype):
    torch.manual_seed(1)
    draws = torch.distributions.Beta(*[torch.tensor(1e-2, dtype=dtype)] * 2).sample([5000])
    assert draws.dtype is dtype
    assert not bool(((draws == 0) | (draws == 1)).any())
    for part in (draws < 0.1, draws > 0.9):
        assert abs(part.double().mean().item() - 0.48) < 0.05


def test_binomial_slope_at_even_odds():
    logits = torch.tensor(0.0, requires_grad=True)
    torch.distributions.Binomial(1.0, logits=logits).log_prob(torch.tensor(0.0)).backward()
    assert logits.grad.item() == -0.5


def test_views_retain_their_gradient_after_a_write():
    base = torch.tensor([1.0, 2.0], requires_grad=True).clone()
    view, other = base[:], base[:]
    view.retain_grad()
    other.retain_grad()
    view.mul_(2)
    (view + 3 * other).sum().backward()
    assert view.grad.tolist() == [1, 1]
    assert other.grad.tolist() == [3, 3]


# --- Data ----------------------------------------------------------------------------------------


class _Faulty(torch.utils.data.Dataset[int]):
    def __len__(self):
        return 6

    def __getitem__(self, place):
        if place % 3 == 1:
            raise ValueError(f"sample {place}")
        return place


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_loader_goes_on_after_a_failed_batch(num_workers):
    batches = iter(torch.utils.data.DataLoader(_Faulty(), num_workers=num_workers))
    seen = []
    for _ in range(6):
        try:
            seen.append(next(batches).item())
        except ValueError as error:
            seen.append(str(error))
    assert seen == [0, "sample 1", 2, 3, "sample 4", 5]
    with pytest.raises(StopIteration):
        next(batches)


def test_a_loader_can_be_subscripted():
    assert torch.utils.data.DataLoader[int].__origin__ is torch.utils.data.DataLoader


def test_samplers_draw_when_they_are_first_read():
    data = torch.utils.data
    for sampler in (
        data.RandomSampler(range(9)),
        data.SubsetRandomSampler(range(9)),
        data.WeightedRandomSampler([1.0] * 9, 9),
    ):
        first, second = iter(sampler), iter(sampler)
        torch.manual_seed(0)
        one = list(first)
        torch.manual_seed(0)
        assert one == list(second)


# --- Operators and norms -------------------------------------------------------------------------


class _Right:
    def __radd__(self, other):
        return "radd"


def test_operators_leave_unknown_operands_to_them():
    x = torch.ones(2)
    assert x + _Right() == "radd"
    for word in ("iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "iand", "ior", "ixor"):
        assert getattr(x, f"__{word}__")(_Right()) is NotImplemented
    x += _Right()
    assert x == "radd"


def test_alpha_does_not_change_the_dtype():
    x = torch.tensor([True, False])
    assert torch.add(x, x, alpha=0).dtype is torch.bool
    assert torch.nansum(torch.ones(3, dtype=torch.int16), dtype=torch.int16).dtype is torch.int16


def test_batch_norm_of_nothing_keeps_its_statistics():
    layer = nn.BatchNorm2d(3)
    layer(torch.zeros(0, 3, 2, 2)).sum().backward()
    assert torch.equal(layer.running_mean, torch.zeros(3))
    assert torch.equal(layer.running_var, torch.ones(3))
    assert torch.equal(layer.weight.grad, torch.zeros(3))


# --- Hooks and Functions -------------------------------------------------------------------------


def test_hooks_on_a_view_do_not_run_for_what_was_written_over_it():
    base = torch.tensor([1.0], requires_grad=True).clone()
    view, seen = base[:], []
    view.register_hook(lambda g: seen.append(("before", g.item())))
    view.mul_(2)
    view.register_hook(lambda g: seen.append(("after", g.item())))
    (view * 3).sum().backward()
    assert seen == [("after", 3)]


def test_functions_know_which_inputs_a_transform_differentiates():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, word, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], inputs[2])

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            x, y = ctx.saved_tensors
            return g * y, None, g * x

    seen: list[tuple[bool, ...]] = []
    x, y = torch.tensor(2.0), torch.tensor(3.0)
    assert grad(lambda x: Product.apply(x, "word", y))(x).item() == 3
    assert grad(lambda y: Product.apply(x, "word", y))(y).item() == 2
    assert seen == [(True, False, False), (False, False, True)]


def test_models_to_be_stacked_agree_on_what_requires_grad():
    frozen = nn.Linear(1, 1).requires_grad_(False)
    with pytest.raises(RuntimeError, match="weight from each model to have the same"):
        torch.func.stack_module_state([nn.Linear(1, 1), frozen])


def test_running_products_of_a_small_dtype_keep_it():
    x = torch.tensor([1, 2, 3])
    for call in (torch.cumsum, torch.cumprod):
        assert call(x, 0, dtype=torch.int16).dtype is torch.int16


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Cauchy", (1.0, 1.0)),
        ("Exponential", (1.0,)),
        ("Gamma", (1.0, 1.0)),
        ("Gumbel", (1.0, 1.0)),
        ("HalfNormal", (1.0,)),
        ("Laplace", (0.0, 1.0)),
        ("LogNormal", (0.0, 1.0)),
        ("Normal", (0.0, 1.0)),
        ("StudentT", (3.0,)),
        ("Uniform", (0.0, 1.0)),
    ],
)
def test_distributions_of_numbers_give_numbers(name, settings):
    made = getattr(torch.distributions, name)(*settings)
    assert made.sample().shape == ()
    assert made.sample((3,)).shape == (3,)
    assert made.log_prob(torch.tensor(0.5)).shape == ()


# --- Functions as values -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tanh", "add", "exp_", "relu", "where", "cumsum", "arctan2"])
def test_functions_can_be_pickled(name):
    call = getattr(torch, name)
    assert pickle.loads(pickle.dumps(call)) is call


def test_index_add_wraps_around():
    x = torch.zeros(3, dtype=torch.uint8)
    one = torch.tensor([1], dtype=torch.uint8)
    assert x.index_add(0, torch.tensor([1]), one, alpha=-1).tolist() == [0, 255, 0]


# --- Memory that a pass frees, and empty batches -------------------------------------------------

_ROW = torch.tensor([[0, 1, 0, 1]])


@pytest.mark.parametrize(
    "pick",
    [
        lambda x: x[torch.tensor([0, 1])],
        lambda x: x.gather(0, _ROW),
        lambda x: x.index_select(0, torch.tensor([1])),
        lambda x: x.max(0)[0],
        lambda x: x.sort()[0],
        lambda x: x.topk(2)[0],
        lambda x: x.cummax(0)[0],
        lambda x: x.masked_select(x > 0),
        lambda x: x.index_fill(0, torch.tensor([1]), 2.0),
        lambda x: nn.functional.embedding(torch.tensor([1]), x),
    ],
)
def test_indices_that_a_node_keeps_are_freed(pick):
    x = torch.randn(4, 4, requires_grad=True)
    total = pick(x).sum()
    total.backward(retain_graph=True)
    total.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        total.backward()
    total = x[1].sum() + x[:, 1:2].sum()  # places that are part of the operation
    total.backward()
    total.backward()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions_of_no_examples(dims):
    conv = getattr(nn, f"Conv{dims}d")(3, 4, 3, padding=1)
    x = torch.randn(0, 3, *(6,) * dims, requires_grad=True)
    made = conv(x)
    assert made.shape == (0, 4, *(6,) * dims)
    made.sum().backward()
    assert x.grad.shape == x.shape
    assert not conv.weight.grad.any()
    assert not conv.bias.grad.any()


def test_attention_over_no_examples():
    x = torch.randn(5, 0, 8)
    assert nn.MultiheadAttention(8, 2)(x, x, x)[0].shape == (5, 0, 8)
    assert nn.TransformerEncoderLayer(8, 2, 16)(x).shape == (5, 0, 8)


def test_losses_of_classes_check_weights_and_targets():
    scores, target = torch.randn(5, 4), torch.zeros(5, dtype=torch.long)
    for weight in (torch.ones(3), torch.ones(4, 2)):
        for loss in (nn.functional.nll_loss, nn.functional.cross_entropy):
            with pytest.raises(RuntimeError, match="either for all 4 classes or no classes"):
                loss(scores, target, weight)
    with pytest.raises(RuntimeError, match="multi-target not supported"):
        nn.functional.nll_loss(scores, torch.zeros(5, 4, dtype=torch.long))
    assert nn.functional.cross_entropy(torch.randn(0, 5), torch.randn(0, 5)).isnan()


@pytest.mark.parametrize(
    "fill",
    [
        lambda out: torch.arange(0, 6, out=out),
        lambda out: torch.linspace(0, 5, 6, out=out),
        lambda out: torch.logspace(0, 5, 6, base=2, out=out),
    ],
)
def test_ranges_fill_the_tensor_that_they_are_given(fill):
    flat = fill(torch.empty(0))
    for out in (torch.zeros(2, 3), torch.zeros(3, 2).t(), torch.zeros(2, 6)[:, ::2]):
        assert fill(out) is out
        assert out.tolist() == flat.reshape(2, 3).tolist()


# --- Writes to memory that is read ---------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x.__setitem__(slice(1, None), x[:-1]),
        lambda x: x[1:].addcmul_(x[:-1], x[1:]),
        lambda x: x.mul_(x[0]),
        lambda x: x.view(2, 2, 2).copy_(x.view(2, 2, 2).transpose(0, 1)),
    ],
)
def test_writes_over_part_of_what_they_read_are_refused(write):
    x = torch.arange(8.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to"):
        write(x)
    assert x.tolist() == list(map(float, range(8)))


def test_writes_beside_or_just_over_what_they_read():
    x = torch.arange(8.0)
    x[:4].add_(x[4:])
    x[::2].add_(x[1::2])
    x[1:].add_(x[1:])
    x[0] = x[1]
    x.view(2, 4)[:, :2].add_(x.view(2, 4)[:, :2].t())
    assert x.isfinite().all()


def test_backward_to_a_result_runs_all_hooks_of_its_node():
    log = []
    leaf = torch.tensor(2.0, requires_grad=True)
    copy = leaf.clone()
    copy.register_hook(lambda g: log.append("tensor"))
    copy.grad_fn.register_prehook(lambda gs: log.append("before"))
    copy.grad_fn.register_hook(lambda parts, gs: log.append("after"))
    total = copy * 3
    torch.autograd.grad(total, copy, retain_graph=True)
    assert log == ["tensor"]
    total.backward(inputs=(copy,), retain_graph=True)
    assert log == ["tensor", "tensor", "before", "after"]
    assert copy.grad == 3
    assert leaf.grad is None


# --- Errors and corners --------------------------------------------------------------------------

_ONES = torch.ones(3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.functional.avg_pool2d(torch.ones(1, 0, 4, 4), 2), r"but got:\[1, 0, 4, 4\]"),
        (lambda: nn.functional.max_pool1d(torch.ones(2, 0, 4), 2), r"but got:\[2, 0, 4\]"),
        (lambda: nn.functional.avg_pool3d(torch.ones(2, 0, 4, 4, 4), 2), "have positive length"),
        (
            lambda: nn.functional.adaptive_max_pool2d(torch.ones(1, 0, 4, 4), 2),
            "dimension 1 being empty",
        ),
        (lambda: _ONES.diff(n=-1), "order must be non-negative"),
        (lambda: _ONES.diff(prepend=torch.ones(1, 1)), "same dimension as input"),
        (lambda: torch.ones(3, 3).diff(dim=0, append=torch.ones(1, 2)), r"input.size\(1\) = 3"),
        (lambda: torch.histc(_ONES, bins=0), "bins must be > 0, but got 0"),
        (lambda: torch.histc(_ONES.log() / 0), "is not finite"),
        (lambda: torch.ones(0, 2).index_select(0, torch.tensor([0])), "should be positive"),
        (lambda: torch.vander(_ONES, N=-1), "N must be non-negative"),
        (lambda: torch.repeat_interleave(torch.ones(1, 1).long()), "only accept 1D vector"),
        (lambda: torch.meshgrid(indexing="ij"), "non-empty TensorList"),
        (lambda: nn.Linear(1, 1).to("cpu", copy=True), "does not accept copy argument"),
    ],
)
def test_errors_of_corners(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_sizes_are_of_whole_numbers():
    assert torch.Size([2, torch.tensor(3)]).numel() == 6
    for wrong in ([1.5], torch.ones(2)):
        with pytest.raises(TypeError, match=r"takes an iterable of 'int' \(item 0 is"):
            torch.Size(wrong)
    with pytest.raises(TypeError, match=r"topk.*must be int, not bool"):
        _ONES.topk(1, dim=True)


def test_logarithms_of_sums_of_complex_powers():
    x = torch.tensor([1 + 1j, 0.5 - 2j, 3j], dtype=torch.complex128, requires_grad=True)
    y = torch.tensor([0.5j, 700 + 1j, 3j], dtype=torch.complex128, requires_grad=True)
    made = torch.logaddexp(x, y)
    assert torch.allclose(made[0], (x[0].exp() + y[0].exp()).log())
    assert torch.allclose(made[1:], torch.stack([y[1], x[2] + torch.tensor(2.0).log()]))
    assert torch.autograd.gradcheck(torch.logaddexp, (x, y.detach() / 100))
    assert torch.autograd.gradcheck(torch.logaddexp, (x, x.detach().clone().requires_grad_()))
    assert torch.logaddexp(x / 0, x / 0).shape == (3,)


def test_vectors_of_one_number():
    two = torch.tensor(2.0, requires_grad=True)
    assert nn.functional.cosine_similarity(two, -two, dim=0) == -1
    assert nn.functional.normalize(two, dim=-1) == 1


def test_modules_stand_under_the_names_of_files():
    from tapegrad.torch.nn.modules.conv import _ConvNd

    modules = nn.modules
    assert issubclass(nn.Conv2d, _ConvNd)
    assert modules.linear.Linear is nn.Linear
    assert issubclass(nn.MSELoss, modules.loss._Loss)
    assert modules.rnn.LSTM is nn.LSTM


# --- Deprecated signatures -----------------------------------------------------------------------

MATRIX, BATCH, VECTOR = torch.rand(3, 3), torch.rand(2, 3, 3), torch.rand(3)
NUMBERS_FIRST = {  # the operation: what it is called of, its arrays, the keywords of its numbers
    "add": (VECTOR, (VECTOR,), ["alpha"]),
    "sub": (VECTOR, (VECTOR,), ["alpha"]),
    "addcmul": (VECTOR, (VECTOR, VECTOR + 1), ["value"]),
    "addcdiv": (VECTOR, (VECTOR, VECTOR + 1), ["value"]),
    "addmm": (MATRIX, (MATRIX, MATRIX + 1), ["beta", "alpha"]),
    "addmv": (VECTOR, (MATRIX, VECTOR), ["beta", "alpha"]),
    "addr": (MATRIX, (VECTOR, VECTOR + 1), ["beta", "alpha"]),
    "addbmm": (MATRIX, (BATCH, BATCH), ["beta", "alpha"]),
    "baddbmm": (BATCH, (BATCH, BATCH), ["beta", "alpha"]),
}


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize("name", NUMBERS_FIRST)
def test_numbers_may_stand_before_the_arrays(name):
    x, arrays, words = NUMBERS_FIRST[name]
    x = x.clone().requires_grad_()
    for count in range(1, len(words) + 1):
        numbers = (2.0, 3)[:count]
        call = getattr(torch, name)
        right = call(x, *arrays, **dict(zip(words, numbers, strict=False)))
        made = [
            getattr(x, name)(*numbers, *arrays),
            getattr(x * 1, f"{name}_")(*numbers, *arrays),
            call(x, *numbers, *arrays),
        ]
        if len(words) == 2:  # of functions, beta is before the input
            made[-1] = call(numbers[0], x, *numbers[1:], *arrays)
        slope = torch.autograd.grad(right.sum(), x)[0]
        for y in made:
            assert torch.equal(y, right)
            assert torch.equal(torch.autograd.grad(y.sum(), x)[0], slope)
    with pytest.raises(TypeError, match="positional arguments"):
        call(x, *arrays, 2.0)


def test_a_deprecated_overload_warns_once(monkeypatch):
    monkeypatch.setattr(declare, "_SAID", [])
    x = torch.ones(2)
    with pytest.warns(UserWarning, match=r"overload of addcmul is deprecated:\n\taddcmul\(Number"):
        x.addcmul(2, x, x)
    assert x.add(2, x).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda given: torch.ones(2, requires_grad=given),
        lambda given: torch.tensor(2.0, requires_grad=given),
        lambda given: torch.rand(2, requires_grad=given),
        lambda given: torch.ones(2).new_zeros(2, requires_grad=given),
        lambda given: torch.hann_window(4, requires_grad=given),
        lambda given: nn.Parameter(torch.ones(2), given),
    ],
)
def test_requires_grad_is_a_bool(call):
    assert call(True).requires_grad
    with pytest.raises(TypeError, match=r"\(\): argument 'requires?_grad'.* be bool, not int"):
        call(3)


@pytest.mark.filterwarnings("ignore:Variable is deprecated:DeprecationWarning")
def test_volatile_has_no_effect_but_a_warning():
    x = torch.ones(2)
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        made = torch.autograd.Variable(x, volatile=True)
    assert (made * torch.ones(2, requires_grad=True)).requires_grad
    assert not torch.autograd.Variable(x, volatile=False).requires_grad  # which does not warn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="can't be volatile and"):
            torch.autograd.Variable(x, requires_grad=True, volatile=True)
    with pytest.warns(UserWarning, match=r"Variable\.volatile is always False"):
        assert x.volatile is False
    with pytest.warns(UserWarning, match="has no effect"):
        x.volatile = True


def test_the_method_split_has_its_own_keyword():
    parts = torch.arange(5).split(split_size=2)
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3], [4]]
    assert [p.tolist() for p in torch.split(torch.arange(3), split_size_or_sections=[1, 2])] == [
        [0],
        [1, 2],
    ]


def test_an_optimizer_around_another_may_leave_out_the_initialisation():
    class Around(torch.optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer, self.param_groups = optimizer, optimizer.param_groups

        def step(self, closure=None):
            return self.optimizer.step(closure)

    weight = nn.Parameter(torch.ones(1))
    around = Around(torch.optim.SGD([weight], lr=0.5))
    weight.sum().backward()
    around.step()
    assert weight.item() == 0.5
