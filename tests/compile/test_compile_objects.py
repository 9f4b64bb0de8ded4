"""compile of functions of tensors, and of sparse derivatives: programs."""

from __future__ import annotations

import pickle
import threading
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from compiled import rounded
from test_compile import by_numpy, has_program, leaves
from test_compile_everywhere import assert_right_in_threads

import tapegrad
import tapegrad.sparse
import tapegrad.torch as torch
from tapegrad import EagerWarning, StaleProgramError

F, nn = torch.nn.functional, torch.nn
BACKENDS = ("numpy", "interpreter")


def drawn(*shape, dtype=np.float32):
    numbers = np.random.default_rng(len(shape)).standard_normal(shape)
    return torch.from_numpy(numbers.astype(dtype))


def moved(tensor):
    return lambda n: tensor * (1 + 0.1 * n) - 0.05 * n


def assert_same(got, expected):
    """The same classes, requires_grad, dtypes and shapes, but for rounding."""
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        assert type(a) is type(b)
        if isinstance(a, torch.Tensor):
            assert a.requires_grad == b.requires_grad
            assert type(a._value) is np.ndarray
            a, b = a.detach().numpy(), b.detach().numpy()
        if isinstance(a, np.ndarray):
            assert rounded(a, b), f"{a!r}, not {b!r}"
        else:
            assert a == b


def check(f, *inputs, calls=5, program=True):
    """Call f and its program with several arguments each, and compare all that they do."""
    for backend in BACKENDS:
        fast = tapegrad.compile(f, backend=backend)
        for n in range(calls):
            ours, theirs = ([make(n) for make in inputs] for _ in range(2))
            expected = f(*theirs)
            assert_same(fast(*ours), expected)
            assert_same(ours, theirs)  # what f writes into its arguments
        assert has_program(fast) is program
    return fast


def parameters_of(model):
    """The parameters of a model as tensors of their own, others in each call."""
    found = {name: p.detach().clone() for name, p in model.named_parameters()}
    return lambda n: {name: p * (1 + 0.05 * n) for name, p in found.items()}


X = drawn(4, 6)
MLP = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5))
CLASSES = torch.tensor([0, 1, 4, 2])


def cross_entropy(parameters, x, classes):
    return F.cross_entropy(torch.func.functional_call(MLP, parameters, (x,)), classes)


# --- Functions of tensors -----------------------------------------------------------------------


def smooth(x):
    return (x.sin() * x).sum() ** 2


@pytest.mark.parametrize(
    "f",
    [
        smooth,
        lambda x: {"a": [x.exp(), 3], "b": x.T},
        torch.func.grad(smooth),
        torch.func.grad_and_value(smooth),
        torch.func.hessian(smooth),
        torch.func.jacrev(lambda x: x.tanh() * x[0]),
        torch.func.vmap(torch.func.grad(lambda x: (x**3).sum())),
        lambda x: torch.func.jvp(lambda y: y.exp() * y[0], (x,), (x * 2,)),
        lambda x: torch.func.vjp(torch.sin, x)[1](x),
        lambda x: x.sum().item() * 2,
        lambda x: x * 2 if x.sum() > 0 else x - 1,
        lambda x: x.detach().numpy().sum(axis=0),
    ],
)
def test_functions_of_tensors(f):
    check(f, moved(X), calls=7)


def test_arrays_that_become_tensors_within():
    def made(x):
        t = torch.tensor(x)
        return (t.sin() @ t.cos()).numpy()

    def shared(x):
        return torch.func.grad(lambda t: (t.sin() * t).sum())(torch.as_tensor(x)).numpy()

    def of_numpy(x):
        return torch.from_numpy(x).cumsum(0).mean(0, keepdim=True).numpy()

    for f in (made, shared, of_numpy):
        check(f, lambda n: np.arange(3.0) + n)


def test_tensors_keep_their_class_and_whether_they_require_grad():
    def f(x, y):
        return x.requires_grad, type(y).__name__, x.detach() * 2, (y.detach() + 1).requires_grad_()

    check(f, lambda n: moved(X)(n).requires_grad_(), lambda n: nn.Parameter(moved(X)(n)))


def test_the_same_tensor_twice_is_one():
    fast = by_numpy(lambda x, y: (x is y, x * y))
    for second in (X, X, X, X.clone(), X.clone(), X.clone(), X):
        assert fast(X, second)[0] is (second is X)


def test_a_tensor_with_a_history_is_not_opened():
    x = X.clone().requires_grad_()
    fast = by_numpy(smooth)
    for _ in range(4):
        fast(x * 2).backward()
    assert x.grad is not None


# --- Models -------------------------------------------------------------------------------------


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("model", "x"),
    [
        (nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 6), nn.LayerNorm(6)), X),
        (nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64)), drawn(128, 64)),
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.ReLU()), drawn(2, 3, 6, 6)),
        (nn.Sequential(nn.Conv1d(3, 4, 3, padding=1), nn.MaxPool1d(2)), drawn(2, 3, 8)),
        (nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6)).eval(), X),
        (nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5)).eval(), X),
        (nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3)), torch.tensor([[0, 1], [4, 1]])),
        (nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.SiLU(), nn.Softmax(-1)), X),
        (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), drawn(2, 5, 8)),
        (nn.LSTM(3, 4, batch_first=True), drawn(2, 5, 3)),
        (nn.GRU(3, 4), drawn(2, 5, 3)),
    ],
)
def test_models_by_functional_call(model, x):
    def loss(parameters, x):
        out = torch.func.functional_call(model, parameters, (x,))
        out = out[0] if isinstance(out, tuple) else out
        return (out * out.sin()).sum()

    given = (lambda n: (x + n) % 5) if x.dtype is torch.int64 else moved(x)
    check(torch.func.grad_and_value(loss), parameters_of(model), given)


def test_a_step_of_training():
    def step(parameters, x, classes):
        slopes, value = torch.func.grad_and_value(cross_entropy)(parameters, x, classes)
        return {name: p - 0.1 * slopes[name] for name, p in parameters.items()}, value

    fast = check(step, parameters_of(MLP), moved(X), lambda n: (CLASSES + n) % 5)
    parameters, values = parameters_of(MLP)(0), []
    for _ in range(30):
        parameters, value = fast(parameters, X, CLASSES)
        values.append(value.item())
    assert values[-1] < 0.8 * values[0]


def test_classes_that_do_not_count_are_another_branch():
    given = [CLASSES, torch.tensor([0, -100, 4, 2])]
    check(
        torch.func.grad(cross_entropy),
        parameters_of(MLP),
        moved(X),
        lambda n: given[n // 3 % 2],
        calls=12,
    )


def test_classes_out_of_range_raise():
    fast = by_numpy(torch.func.grad(cross_entropy))
    for _ in range(4):
        fast(parameters_of(MLP)(0), X, CLASSES)
    with pytest.raises(IndexError):
        fast(parameters_of(MLP)(0), X, CLASSES + 3)


@pytest.mark.parametrize("outside", [False, True])
def test_another_thread_writes_a_value(outside):
    def f(x):
        y = torch.zeros(3) if outside else x.clone()

        def write():
            y[1:] = x[:2]

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        return y

    x = torch.tensor([1.0, 2.0, 3.0])
    fast = tapegrad.compile(f, backend="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        for n in range(4):
            assert_same(fast(x + n), f(x + n))


def test_running_statistics_that_are_passed_are_written():
    model = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 6))
    buffers = {name: b.clone() for name, b in model.named_buffers()}

    def step(parameters, buffers, x):
        def loss(parameters):
            return (torch.func.functional_call(model, (parameters, buffers), (x,)) ** 2).sum()

        return torch.func.grad(loss)(parameters)

    copies = lambda n: {name: b + n for name, b in buffers.items()}  # noqa: E731
    check(step, parameters_of(model), copies, moved(X))
    assert all((b == buffers[name]).all() for name, b in model.named_buffers())


def test_running_statistics_of_the_module_are_state():
    models = [nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6)) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())

    def loss_of(model):
        return lambda p, x: (torch.func.functional_call(model, p, (x,)) ** 2).sum()

    fast, own = by_numpy(torch.func.grad(loss_of(models[0]))), loss_of(models[1])
    parameters = parameters_of(models[0])
    for n in range(5):
        fast(parameters(n), moved(X)(n))
        torch.func.grad(own)(parameters(n), moved(X)(n))
    assert_same(dict(models[0].named_buffers()), dict(models[1].named_buffers()))
    assert models[0][1].num_batches_tracked.item() == 5
    assert "with the state" in fast.explain()


def test_dropout_is_drawn_in_each_call():
    model = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5))
    parameters = parameters_of(model)(0)
    own = lambda p: torch.func.functional_call(model, p, (X,))  # noqa: E731
    fast = by_numpy(own)
    torch.manual_seed(0)
    found = [fast(parameters).numpy().tobytes() for _ in range(6)]
    torch.manual_seed(0)
    assert found == [own(parameters).numpy().tobytes() for _ in range(6)]
    assert len(set(found)) == 6
    assert "random numbers (float32[4,6]): NumPy's program" in fast.explain()


def test_a_model_that_is_changed_is_another_program():
    fast = by_numpy(lambda x: MODEL[0](x).detach())
    for _ in range(4):
        assert_same(fast(X), MODEL[0](X).detach())
    with torch.no_grad():
        MODEL[0].weight.mul_(2)
    assert_same(fast(X), MODEL[0](X).detach())
    MODEL[0].weight.data[0, 0] = 5.0
    for _ in range(4):
        assert_same(fast(X), MODEL[0](X).detach())


MODEL = [nn.Linear(6, 2)]


def test_a_mode_of_training_is_another_program():
    model = nn.BatchNorm1d(6, track_running_stats=False)
    layer = nn.Sequential(model, nn.Identity())
    layer[1].register_buffer("shift", torch.zeros(6))
    fast = by_numpy(lambda x: (layer[0](x) if layer.training else x + layer[1].shift).detach())
    for training in (True, False, True):
        layer.train(training)
        for n in range(3):
            expected = layer[0](X + n) if training else X + n
            assert_same(fast(X + n), expected.detach())


# --- The graph ----------------------------------------------------------------------------------


def test_backward_within():
    def backward(x):
        t = x.clone().requires_grad_()
        loss = (t.tanh() * t).sum()
        loss.backward()
        return loss.detach(), t.grad

    def twice(x):
        t = x.clone().requires_grad_()
        (g,) = torch.autograd.grad((t**3).sum(), t, create_graph=True)
        (g**2).sum().backward()
        return t.grad

    def hooked(x):
        t = x.clone().requires_grad_()
        y = t * 2
        y.register_hook(lambda g: g * 3)
        y.sin().sum().backward()
        return t.grad

    for f in (backward, twice, hooked):
        check(f, moved(X))


def test_gradients_of_tensors_that_require_grad():
    def gradients(parameters, x):
        loss = F.mse_loss(torch.func.functional_call(MLP, parameters, (x,)), x[:, :5])
        return torch.autograd.grad(loss, list(parameters.values()))

    given = parameters_of(MLP)
    with_grad = lambda n: {k: p.requires_grad_() for k, p in given(n).items()}  # noqa: E731
    check(gradients, with_grad, moved(X))


def test_writes_follow_the_graph():
    def f(x):
        t = x.clone().requires_grad_()
        h = t * 2
        h[0] *= 3
        h[:, 1] = t[:, 0].sin()
        part = h[2:]
        part.mul_(t[:2])
        h.T[1].add_(1)
        (h**2).sum().backward()
        return t.grad

    check(f, moved(X))


def test_a_kept_value_that_is_written_to_raises():
    def f(x):
        t = x.clone().requires_grad_()
        h = t.exp()
        total = h.sum()
        h.detach()[0] = 2.0
        total.backward()
        return t.grad

    fast = by_numpy(f)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            fast(X)


def test_infinities_of_a_branch_that_was_not_taken():
    def f(x):
        t = x.clone().requires_grad_()
        torch.where(t > 0, t.sqrt(), t * 0).sum().backward()
        return t.grad

    given = [[2.0, 1.0], [3.0, 1.0], [1.0, 2.0], [0.0, 1.0], [-1.0, 4.0], [2.0, 2.0]]
    for backend in BACKENDS:
        fast = tapegrad.compile(f, backend=backend)
        for numbers in given:
            assert_same(fast(torch.tensor(numbers)), f(torch.tensor(numbers)))


class Doubled(torch.autograd.Function):
    """exp, with twice its derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.exp() * 2


def test_functions_with_derivatives_of_their_own():
    def backward(x):
        t = x.clone().requires_grad_()
        Doubled.apply(t).sum().backward()
        return t.grad

    check(backward, moved(X))
    check(torch.func.grad(lambda x: Doubled.apply(x).sum()), moved(X))


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
def test_what_is_printed_is_not_frozen():
    for f in (str, lambda x: f"{x.sum().item():.3f}", lambda x: f"{x.sum():.3f}"):
        fast = by_numpy(f)
        assert [fast(X + n) for n in range(6)] == [f(X + n) for n in range(6)]


def test_an_optimizer_within():
    def minimized(x):
        t = x.clone().requires_grad_()
        optimizer = torch.optim.Adam([t], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (t**2).sum().backward()
            optimizer.step()
        return t.detach()

    check(minimized, moved(X))


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: x.requires_grad_().sin(), "grad_fn"),
        (lambda x: (x.requires_grad_() ** 2).sum().backward(), "grad"),
    ],
)
def test_what_stays_on_the_graph_is_the_functions_own(f, why):
    fast = by_numpy(f)
    with pytest.warns(EagerWarning, match=why):
        fast(X.clone())
    for _ in range(3):
        x, y = X.clone(), X.clone()
        found, expected = fast(x), f(y)
        if found is not None:
            (found.sum() + expected.sum()).backward()
        assert_same(x.grad, y.grad)


def gets_data(x):
    x.data = x.data * 2
    return x + 1


@pytest.mark.parametrize(
    "f",
    [lambda x: x.unsqueeze_(0) * 2, lambda x: x.t_().mul_(2) + 1, gets_data],
)
def test_arguments_that_get_another_array(f):
    with pytest.warns(EagerWarning, match="another array"):
        check(f, moved(X), program=False)


def accumulates(p, t, x):
    (p * x).sum().backward()
    return p.grad.clone()


def accumulates_alone(p, t, x):
    (p * x).sum().backward()
    return x * 2


def gets_another_shape(p, t, x):
    t.unsqueeze_(0)
    p.grad = x
    return x * t.ndim


def is_asked_to_require_grad(p, t, x):
    t.requires_grad_(not t.requires_grad)
    p.grad = x
    return x * (2 if t.requires_grad else 3)


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
@pytest.mark.parametrize(
    "f", [accumulates, accumulates_alone, gets_another_shape, is_asked_to_require_grad]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_run_in_vain_puts_into_tensors_is_taken_out(f, backend):
    runs = []
    for compiled in (False, True):
        p, t = nn.Parameter(torch.ones(3)), torch.zeros(3)

        def g(x, p=p, t=t):
            return f(p, t, x)

        fast = tapegrad.compile(g, backend=backend) if compiled else g
        seen = []
        for n in range(5):
            out = fast(torch.full((3,), n + 1.0))
            seen.append((out, p.grad.clone(), t.detach().clone(), t.requires_grad))
        runs.append(seen)
    for found, expected in zip(runs[1], runs[0], strict=True):
        assert_same(found, expected)


# --- Sparse derivatives -------------------------------------------------------------------------

Y = np.random.default_rng(0).standard_normal(8)
MATRIX = np.where(np.random.default_rng(1).random((8, 8)) < 0.3, 1.5, 0.0)
FACTORS = np.array([0.0, 1, 2, 0, 1, 1, 0, 3]), np.arange(8.0)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bent(x):
    return np.where(x > 0, x * np.roll(x, 1), x) * np.roll(x, 2)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("f", "given"),
    [
        (tapegrad.sparse.jacobian(lambda x: x[1:] * x[:-1] ** 2), lambda n: (Y + n,)),
        (tapegrad.sparse.hessian(rosenbrock), lambda n: (Y + n,)),
        (tapegrad.sparse.jacobian(lambda x: np.sum(x**3)[None], mode="reverse"), lambda n: (Y,)),
        (tapegrad.sparse.jacobian(lambda x: MATRIX @ x * x), lambda n: (Y - n,)),
        (tapegrad.sparse.jacobian(lambda x, a: a @ np.sin(x)), lambda n: (Y, MATRIX * (n + 1))),
        (tapegrad.sparse.jacobian(lambda x, y: x * y, argnums=(0, 1)), lambda n: (Y, Y - n)),
        (tapegrad.sparse.hessian(lambda x: np.sum(x[0] * x[1:] ** 2)), lambda n: (Y + n,)),
        # Patterns that depend on values: each is a branch.
        (tapegrad.sparse.jacobian(bent), lambda n: (Y * (-1) ** n,)),
        (
            tapegrad.sparse.jacobian(lambda x: x[np.argsort(x)] * Y),
            lambda n: (Y[:: 1 - n % 2 * 2],),
        ),
        (
            tapegrad.sparse.jacobian(lambda x, c: c * x**2 + x[::-1] * (c > 0)),
            lambda n: (Y + n, FACTORS[n // 2 % 2]),
        ),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_sparse_derivatives(f, given, backend):
    pytest.importorskip("scipy")
    fast = tapegrad.compile(f, backend=backend)
    for n in range(9):
        found, expected = fast(*given(n)), f(*given(n))
        assert type(found) is type(expected)
        assert vars(found).keys() == vars(expected).keys()
        for name in ("data", "indices", "indptr"):
            a, b = getattr(found, name), getattr(expected, name)
            assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes())
        found.data[:], found.indices[:] = 0.0, 0  # the caller's own
    assert has_program(fast)


def test_a_sparse_pattern_that_is_given_is_checked_in_each_call():
    pytest.importorskip("scipy")
    fast = by_numpy(tapegrad.sparse.jacobian(lambda x: x * x[0], pattern=np.eye(8)))
    for _ in range(3):
        with pytest.raises(tapegrad.InputError, match="misses some"):
            fast(Y)


# --- Checkpoints --------------------------------------------------------------------------------


def test_checkpoints_within():
    from tapegrad.torch.utils.checkpoint import checkpoint

    def loss(parameters, x):
        made = torch.func.functional_call(MLP, parameters, (x,))
        return checkpoint(lambda y: (y.sin() * y).sum(), made, use_reentrant=False)

    def backward(x):
        t = x.clone().requires_grad_()
        checkpoint(lambda y: y.tanh() * y, t, use_reentrant=False).sum().backward()
        return t.grad

    check(torch.func.grad(loss), parameters_of(MLP), moved(X))
    check(backward, moved(X))


def test_a_compiled_step_of_a_sequence():
    step = by_numpy(lambda state, rate: state + rate * np.sin(state))
    loss = lambda x: np.sum(tapegrad.checkpoint_sequence(step, x, 6, 0.1, snapshots=2))  # noqa: E731
    own = lambda x: np.sum(tapegrad.checkpoint_sequence(step.call.f, x, 6, 0.1, snapshots=2))  # noqa: E731
    for f, g in ((loss, own), (tapegrad.grad(loss), tapegrad.grad(own))):
        for n in range(5):
            assert np.asarray(f(Y + n)).tobytes() == np.asarray(g(Y + n)).tobytes()
        for n in range(5):
            assert np.asarray(by_numpy(f)(Y + n)).tobytes() == np.asarray(g(Y + n)).tobytes()


# --- Writes and states --------------------------------------------------------------------------


def test_writes_into_arguments():
    def f(x, y):
        x[0] = 1
        x.mul_(y)
        y.add_(x[0])
        return x.sum()

    check(f, moved(X), moved(X))
    fast, x = by_numpy(f), X.clone()
    version = x._version
    for _ in range(4):
        fast(x, X.clone())
    assert x._version > version


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
def test_writes_into_arguments_that_share_memory():
    def f(x, y):
        x.add_(1)
        return y.sum()

    for backend in BACKENDS:
        fast = tapegrad.compile(f, backend=backend)
        for _ in range(4):
            x, y = X.clone(), X.clone()
            assert_same(fast(x, y), f(X.clone(), y))
        for _ in range(3):
            x, y = X.clone(), X.clone()
            assert_same(fast(x, x[1:]), f(y, y[1:]))
    arrays = by_numpy(lambda x, y: (np.add(x, 1, out=x), np.sum(y))[1])
    for _ in range(4):
        x = np.zeros(3)
        assert arrays(x, x) == 3


def test_new_tensors_are_filled():
    def f(x):
        made, row = torch.zeros(4, 6), x.new_zeros(3)
        made[0] = x[0]
        made[1:] += x[1:] * 2
        for i in range(3):
            row[i] = x[i, 0] * i
        y = x.clone()
        y[y > 0] = 0
        return made, row, y, x[x > 0.3]

    check(f, moved(X), calls=9)


def test_a_tensor_from_outside_that_is_written_to():
    total = torch.zeros(6)

    def f(x):
        total.add_(x.sum(0))
        return x * 2

    fast = by_numpy(f)
    for n in range(1, 14):
        fast(X)
        np.testing.assert_allclose(total.numpy(), n * X.sum(0).numpy(), rtol=1e-5)
    assert type(total._value) is np.ndarray


def test_states_tell_programs_apart():
    fast = by_numpy(lambda x: (x.sin(), torch.tensor([1.0]), torch.is_grad_enabled()))
    for _ in range(3):
        assert fast(X)[2] is True
        with torch.no_grad():
            assert fast(X)[2] is False
    torch.set_default_dtype(torch.float64)
    try:
        assert fast(X)[1].dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert fast(X)[1].dtype is torch.float32


def test_check_calls_the_function_with_its_own_arguments(tmp_path):
    def f(x):
        return x.mul_(2).sum()

    fast, x = by_numpy(f, check=1), X.clone()
    for _ in range(6):
        fast(x)
    np.testing.assert_allclose(x.numpy(), 64 * X.numpy())
    hidden = tmp_path / "rate"
    hidden.write_text("1")
    stale = by_numpy(lambda x: x * float(hidden.read_text()), check=1)
    for _ in range(3):
        stale(X)
    hidden.write_text("2")
    with pytest.raises(StaleProgramError):
        stale(X)


@pytest.mark.skipif(find_spec("llvmlite") is None, reason="llvmlite is not there")
def test_sums_that_cancel_are_not_stale(tmp_path):
    norm = nn.BatchNorm1d(3)
    path = tmp_path / "offset"
    path.write_text("0")

    def f(buffers, x):
        out = torch.func.functional_call(norm, (dict(norm.named_parameters()), buffers), (x,))
        return out.sum().detach() + float(path.read_text())

    fast = tapegrad.compile(f, backend="llvm", check=1)
    for n in range(20):
        x = torch.from_numpy(np.random.default_rng(n).standard_normal((4, 3)).astype(np.float32))
        fast({name: value.clone() for name, value in norm.named_buffers()}, x)
    assert has_program(fast)
    path.write_text("0.00001")
    with pytest.raises(StaleProgramError):
        fast({name: value.clone() for name, value in norm.named_buffers()}, x)


def test_eight_threads_at_once():
    f = torch.func.grad(smooth)
    assert_right_in_threads(by_numpy(f), f, X, 20, assert_same)


FAST = by_numpy(smooth)


def test_a_pickle_holds_the_call():
    again = pickle.loads(pickle.dumps(FAST))
    for n in range(4):
        assert_same(again(X + n), FAST(X + n))


@pytest.mark.skipif(not tapegrad._compile.background.has_llvm(), reason="llvmlite is not there")
def test_machine_code():
    transformer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def loss(parameters, x):
        return torch.func.functional_call(transformer, parameters, (x,)).sin().sum()

    step = torch.func.grad_and_value(loss)
    fast = tapegrad.compile(step, backend="llvm")
    for n in range(5):
        given = parameters_of(transformer)(n), moved(drawn(2, 5, 8))(n)
        for a, b in zip(leaves(fast(*given)), leaves(step(*given)), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)
    assert has_program(fast)
