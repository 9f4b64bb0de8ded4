"""`torch.compile`: modules and functions whose calls, and whose backward, are programs."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import tapegrad
import tapegrad.torch as torch
from tapegrad import EagerWarning
from tapegrad.torch import nn

F = nn.functional
RNG = np.random.default_rng(0)
X = [torch.tensor(RNG.normal(size=(4, 6))) for _ in range(10)]
SHORT = 7  # the call with the last batch, which is shorter
LAST = 9  # a call, of which the derivatives are looked at


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, power):
        y = x**power * weight
        ctx.save_for_backward(x, weight, y)
        ctx.power, ctx.ones = power, torch.ones(3, dtype=x.dtype)
        return y * 2

    @staticmethod
    def backward(ctx, g):
        x, weight, _ = ctx.saved_tensors
        slope = ctx.power * x ** (ctx.power - 1) * weight
        return 2 * g * slope * ctx.ones[0], (2 * g * x**ctx.power).sum(0), None


class OfFunctions(nn.Module):
    """A module with this forward, which gets its layers."""

    def __init__(self, forward, *layers):
        super().__init__()
        self.layers, self.weight = nn.ModuleList(layers), nn.Parameter(torch.ones(6))
        self.call = forward

    def forward(self, x):
        return self.call(self, x, *self.layers)


def steps_of(x):
    return x[:, None] * torch.arange(1.0, 4.0, dtype=x.dtype)[:, None]


def in_place(model, x, linear):
    y = linear(x)
    y += 1
    y[:, 0] *= 2
    y.relu_()
    return y * model.weight


MODELS = {
    "linear": lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)),
    "drawn": lambda: nn.Sequential(
        nn.BatchNorm1d(6), nn.Linear(6, 8), nn.ReLU(inplace=True), nn.Dropout(0.3)
    ),
    "conv": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2, padding=1), nn.ReLU(), nn.MaxPool2d(2)
    ),
    "transposed": lambda: nn.Sequential(
        nn.Unflatten(1, (2, 3)), nn.ConvTranspose1d(2, 4, 3, stride=2, groups=2), nn.GELU()
    ),
    "lstm": lambda: OfFunctions(
        lambda _, x, lstm: lstm(steps_of(x))[0][:, -1], nn.LSTM(6, 5, batch_first=True)
    ),
    "gru": lambda: OfFunctions(
        lambda _, x, gru: gru(steps_of(x))[0].sum(1),
        nn.GRU(6, 5, batch_first=True, bidirectional=True),
    ),
    "cell": lambda: OfFunctions(lambda _, x, cell: cell(x, cell(x))[0], nn.LSTMCell(6, 4)),
    "attention": lambda: OfFunctions(
        lambda _, x, layer: layer(steps_of(x)),
        nn.TransformerEncoderLayer(6, 2, 12, dropout=0.1, batch_first=True),
    ),
    "custom": lambda: OfFunctions(
        lambda model, x, linear: Scaled.apply(linear(x).sin(), model.weight, 2.0), nn.Linear(6, 6)
    ),
    "written": lambda: OfFunctions(in_place, nn.Linear(6, 6)),
    "branched": lambda: OfFunctions(
        lambda model, x, linear: linear(x) if x.sum() > 0 else x * model.weight, nn.Linear(6, 6)
    ),
}


def plain(model, x):
    (model(x) ** 2).mean().backward()
    return []


def of_computed(model, x):
    """Of an argument that has a history, and is asked for its gradient."""
    x = x.clone().requires_grad_()
    (model(x * 2) ** 2).mean().backward()
    return [x.grad]


def twice(model, x):
    x = x.clone().requires_grad_()
    out = model(x)
    (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    ((slope**2).sum() + out.sum()).backward()
    return [slope.detach(), x.grad]


def two_calls(model, x):
    """Two calls before either backward, the first of which is used twice."""
    first, second = model(x), model(x + 1)
    (second**2).sum().backward()
    first.sum().backward(retain_graph=True)
    (first * 3).sum().backward()
    return []


def without_history(model, x):
    with torch.no_grad():
        out = model(x)
    assert not out.requires_grad
    model(x).sum().backward()
    return [out]


def hooked(model, x):
    seen = []
    out = model(x)
    out.register_hook(lambda g: seen.append(g.sum()) or g * 2)
    parameter = next(model.parameters())
    handle = parameter.register_hook(lambda g: g + 1)
    (out**2).sum().backward()
    handle.remove()
    return seen


CALLS = [plain, of_computed, twice, two_calls, without_history, hooked]


def trained(model, fast, call):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    found = []
    for n, x in enumerate(X):
        torch.manual_seed(n)
        optimizer.zero_grad()
        found.append(call(fast, x[:3] if n == SHORT else x))
        found[-1] += [p.grad if p.grad is None else p.grad.clone() for p in model.parameters()]
        optimizer.step()
    return [[x if x is None else x.numpy() for x in row] for row in found]


def agree(make, call, **options):
    results = []
    for compiles in (False, True):
        torch.manual_seed(0)
        model = make().double()
        fast = torch.compile(model, **options) if compiles else model
        with warnings.catch_warnings():
            warnings.simplefilter("error", EagerWarning)
            results.append(trained(model, fast, call))
        state = [x.numpy() for x in model.state_dict().values()]
        results[-1].append(state)
    for mine, theirs in zip(*results, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, 1e-7, 1e-10)
    return fast


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("call", CALLS[:3])
def test_a_module_agrees(name, call):
    fast = agree(MODELS[name], call, backend="numpy")
    for _ in range(3):
        out = fast(X[0])
    assert out.grad_fn.name() == "CompiledFunctionBackward"


@pytest.mark.parametrize("name", ["linear", "lstm"])
@pytest.mark.parametrize("call", CALLS[3:])
def test_calls_around_agree(name, call):
    agree(MODELS[name], call, backend="numpy")


@pytest.mark.slow  # builds machine code for each
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("call", CALLS)
def test_machine_code_agrees(name, call):
    pytest.importorskip("llvmlite")
    agree(MODELS[name], call, backend="llvm")


def test_results_of_every_kind():
    linear = nn.Linear(6, 6).double()

    @torch.compile(backend="numpy")
    def f(x, scale=2, *, more):
        y = linear(x).relu()
        return {"y": [y, y.sum(), x], "more": (more, y.argmax(1), None, scale)}

    for x in X[:5]:
        found, expected = f(x, more=x), f.__wrapped__(x, more=x)
        assert found["y"][2] is x
        assert found["more"][0] is x
        assert found["more"][2:] == (None, 2)
        for a, b in zip(found["y"][:2], expected["y"][:2], strict=True):
            torch.testing.assert_close(a, b)
        assert (found["more"][1] == expected["more"][1]).all()
        assert not found["more"][1].requires_grad
        (found["y"][0].sum() + found["y"][1]).backward()
        slope = linear.weight.grad.clone()
        linear.weight.grad = None
        (expected["y"][0].sum() + expected["y"][1]).backward()
        torch.testing.assert_close(slope, linear.weight.grad)
        linear.weight.grad = None


def test_a_saved_parameter_that_is_written_to():
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    fast = torch.compile(model, backend="numpy")
    for x in X[:5]:
        out = fast(x).sum()
        with torch.no_grad():
            model[0].bias.add_(1)  # which no derivative reads
        out.backward()
        out = fast(x).sum()
        with torch.no_grad():
            model[2].weight.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()


def test_a_graph_is_freed():
    fast = torch.compile(lambda x: (x * x).sum(), backend="numpy")
    for x in X[:5]:
        x = x.clone().requires_grad_()
        out = fast(x)
        out.backward()
        with pytest.raises(RuntimeError, match="second time"):
            out.backward()


def test_a_loss_that_is_kept_holds_no_arrays():
    fast = torch.compile(lambda x: (x.exp() * x).sum(), backend="numpy")
    for retain in (False, True) * 3:
        out = fast(X[0].clone().requires_grad_())
        out.backward(retain_graph=retain)
        assert hasattr(out.grad_fn, "kept") == retain


def test_a_whole_step():
    results = []
    for compiles in (False, True):
        torch.manual_seed(0)
        model = MODELS["linear"]().double()
        optimizer = torch.optim.Adam(model.parameters())

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        fast = torch.compile(step, backend="numpy") if compiles else step
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if compiles else "error", EagerWarning)
            results.append([fast(x).item() for x in X])
    np.testing.assert_allclose(*results)


def test_a_compiled_module_is_the_module():
    model = MODELS["drawn"]().double()
    fast = torch.compile(model)
    assert type(fast).__name__ == "OptimizedModule"
    assert fast._orig_mod is model
    assert isinstance(fast, nn.Module)
    assert next(name for name, _ in fast.named_parameters()) == "_orig_mod.0.weight"
    assert next(fast.parameters()) is model[0].weight
    fast.eval()
    assert not model.training
    assert not fast.training
    fast.own = 3
    assert model.own == 3
    del fast.own
    assert not hasattr(model, "own")
    again = copy.deepcopy(fast)
    assert again._orig_mod is not model
    torch.testing.assert_close(again(X[0]), model(X[0]))
    torch.testing.assert_close(pickle.loads(pickle.dumps(fast))(X[0]), model(X[0]))
    assert torch.compile(fast)._orig_mod is model


def test_a_module_is_compiled_in_place():
    model, other = MODELS["linear"]().double(), MODELS["linear"]().double()
    other.load_state_dict(model.state_dict())
    model.compile(backend="numpy")
    model.compile(backend="numpy")
    for x in X[:5]:
        torch.testing.assert_close(model(x), other(x))
    assert model(x).grad_fn.name() == "CompiledFunctionBackward"
    assert model.state_dict().keys() == other.state_dict().keys()


def test_methods_and_options():
    class Doubles:
        factor = 2

        @torch.compile(backend="numpy", mode="max-autotune", dynamic=True, options={})
        def doubled(self, x):
            return x * self.factor

    one = Doubles()
    for x in X[:4]:
        assert (one.doubled(x) == 2 * x).all()
    one.factor = 3
    assert (one.doubled(x) == 3 * x).all()
    for options in ({"disable": True}, {"backend": "eager"}, {"backend": "aot_eager"}):
        assert torch.compile(one.doubled, **options) == one.doubled
    with pytest.raises(RuntimeError, match=r"invalid backend 'cuda'.*inductor"):
        torch.compile(one.doubled, backend="cuda")
    with pytest.raises(RuntimeError, match="expects a module or a function, got 3"):
        torch.compile(3)


def keeps(x, kept=[]):  # noqa: B006
    kept.append(x * 2)
    return kept[-1] + 1


def hooks(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y.sum()


def called(f):
    for _ in range(12):
        f(X[0].clone().requires_grad_())


@pytest.mark.parametrize(("f", "why"), [(keeps, "keeps"), (hooks, "hooks")])
def test_what_is_no_program_says_so(f, why):
    fast = torch.compile(f, backend="numpy")
    with pytest.warns(EagerWarning, match=why):
        called(fast)
    x, y = X[0].clone().requires_grad_(), X[0].clone().requires_grad_()
    fast(x).sum().backward()
    f(y).sum().backward()
    assert (x.grad == y.grad).all()
    with pytest.raises(EagerWarning, match=why):
        called(torch.compile(f, fullgraph=True, backend="numpy"))


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")  # after more than eight changes
def test_what_asks_for_gradients_is_told_by_them():
    model = MODELS["linear"]().double()

    def norm(x):
        return sum((p.grad**2).sum() for p in model.parameters() if p.grad is not None) + x.sum()

    fast = torch.compile(norm, backend="numpy")
    for n, x in enumerate([*X, *X]):
        if n % 4 != 3:
            model.zero_grad()
        if n % 5:
            model(x).sum().backward()
        torch.testing.assert_close(fast(x), norm(x))


def test_leaves_that_a_call_makes_or_is_given_anew():
    class Replaces(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(6, dtype=torch.float64))

        def forward(self, x):
            own = (x * 0.5).detach().requires_grad_()
            return (own * self.weight * x).sum()

    mine, theirs = Replaces(), Replaces()
    fast = torch.compile(mine, backend="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        for n, x in enumerate([*X, *X]):
            if n % 2:
                for model in (mine, theirs):
                    model.weight = nn.Parameter(torch.full((6,), n / 10, dtype=torch.float64))
            for call, model in ((fast, mine), (theirs, theirs)):
                model.zero_grad()
                call(x).backward()
            torch.testing.assert_close(mine.weight.grad, theirs.weight.grad)


@pytest.mark.parametrize("compiled", [torch.compile, tapegrad.compile])
def test_lazy_modules_are_made_by_the_first_call(compiled):
    model = nn.Sequential(nn.LazyLinear(3), nn.Tanh()).double()
    fast = compiled(model, backend="numpy")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", EagerWarning)
        for x in X[:5]:
            before = copy.deepcopy(model)
            found, expected = fast(x), before(x)
            if x is X[0]:  # which draws the parameters
                assert found.shape == (4, 3)
            else:
                torch.testing.assert_close(found, expected)
    assert type(model[0]) is nn.Linear


def test_small_modules_are_their_own():
    model = MODELS["linear"]().double()
    fast = torch.compile(model).forward
    for _ in range(3):
        out = fast(X[0])
    turns = fast.turns
    turns.programs, turns.others = [2.0] * 8, [1.0] * 7  # seconds, of either kind
    for _ in range(3):
        out = fast(X[0])
    assert out.grad_fn.name() != "CompiledFunctionBackward"
    turns.programs, turns.others = [1e-9] * 8, [1.0] * 7
    for _ in range(3):
        fast(X[0])
    assert len(turns.programs) < 8


@pytest.mark.parametrize("name", ["detect_anomaly", "saved", "profile", "no_grad", "inference"])
def test_calls_in_every_mode(name):
    """They are what the eager calls are, also where each call must be seen."""
    found = []
    for compiles in (False, True):
        torch.manual_seed(0)
        model, seen = MODELS["linear"]().double(), []
        fast = torch.compile(model, backend="numpy") if compiles else model
        around = {
            "detect_anomaly": torch.autograd.detect_anomaly,
            "saved": lambda seen=seen: torch.autograd.graph.saved_tensors_hooks(
                lambda saved, seen=seen: seen.append(saved.shape) or saved, lambda packed: packed
            ),
            "profile": torch.profiler.profile,
            "no_grad": torch.no_grad,
            "inference": torch.inference_mode,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of anomaly mode
            for x in X[:4]:
                fast(x).sum().backward()
            with around[name]():
                outs = [fast(x).sum() for x in X[:4]]
                for out in outs:
                    if out.requires_grad:
                        out.backward()
        found.append(([out.item() for out in outs], model[0].weight.grad, seen))
    (values, slope, seen), (others, other_slope, also_seen) = found
    np.testing.assert_allclose(values, others)
    torch.testing.assert_close(slope, other_slope)
    assert seen == also_seen


def writes_into(x):
    return x.mul_(2).sum()


def goes_backward(x):
    loss = (x**2).sum()
    loss.backward()
    return loss.detach()


def retains(x):
    x.retain_grad()
    return (x**3).sum()


def asks_for_a_leaf(x):
    return (x * (2 if x.is_leaf else 3)).sum()


def asks_for_a_node(x):
    return (x * (2 if x.grad_fn is None else 3)).sum()


def is_hooked(x):
    x.register_hook(lambda g: g * 5)
    return (x**2).sum()


def appends(x, kept):
    kept.append(2)
    return (x**2).sum()


@pytest.mark.parametrize("retains", [True, False])
def test_hooks_of_an_argument_run_in_passes_inside(retains):
    def slope(x):
        return torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]

    fast = torch.compile(slope, backend="numpy")
    for n, x in enumerate(X):
        found = []
        for call in (slope, fast):
            leaf = x.clone().requires_grad_()
            given = leaf * 2
            if n % 3 == 2 and retains:
                given.retain_grad()
            elif n % 3 == 2:
                given.register_hook(lambda g: g * 2)
            out = call(given)
            out.sum().backward()
            found.append([out, leaf.grad, *([given.grad] if given.retains_grad else [])])
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b)


def test_a_history_from_before_the_call_is_seen():
    leaf = X[0].clone().requires_grad_()
    known = leaf.exp()
    fast = torch.compile(lambda x: (x * known).sum(), backend="numpy")
    with pytest.warns(EagerWarning, match="nodes from before the call"):
        fast(X[1])
    for x in X[:5]:
        out = fast(x)
        (slope,) = torch.autograd.grad(out, known, retain_graph=True)
        torch.testing.assert_close(slope, x)


def test_a_history_that_ends_within_the_call_is_there():
    def slopes(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]

    fast = torch.compile(slopes, backend="numpy")
    with pytest.warns(EagerWarning, match="an end only in tensors of its own"):
        fast(X[0])
    for x in X[:5]:
        fast(x).sum().backward()
        torch.testing.assert_close(fast(x), 3 * x**2, check_dtype=False)


@pytest.mark.filterwarnings("ignore")  # of each reason, and of grad
@pytest.mark.parametrize(
    "f", [writes_into, goes_backward, retains, asks_for_a_leaf, asks_for_a_node, is_hooked]
)
def test_an_argument_with_a_history_is_itself(f):
    fast = torch.compile(f, backend="numpy")
    for n, x in enumerate(X):
        found = []
        for call in (f, fast):
            leaf = x.clone().requires_grad_()
            given = leaf * 2 if n % 4 else leaf.clone()
            out = call(given)
            if out.requires_grad:
                out.backward()
            found.append([out, leaf.grad, given.grad, given])
        for a, b in zip(*found, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                torch.testing.assert_close(a, b)


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")  # of each length
def test_a_list_beside_an_argument_with_a_history_is_itself():
    fast = torch.compile(appends, backend="numpy")
    kept = []
    for x in X:
        fast(x.clone().requires_grad_() * 2, kept)
    assert kept == [2] * len(X)


@pytest.mark.parametrize("compiled", [torch.compile, tapegrad.compile])
def test_a_returned_parameter_is_the_parameter(compiled):
    weight = nn.Parameter(torch.ones(6, dtype=torch.float64))

    def f(x):
        return (x * weight).detach(), weight

    fast = compiled(f, backend="numpy")
    with pytest.warns(EagerWarning, match="has not made itself"):
        assert fast(X[0])[1] is weight
    assert all(fast(x)[1] is weight for x in X)
    fast = compiled(lambda x: x, backend="numpy")
    leaf = X[0].clone().requires_grad_()
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EagerWarning)
            assert fast(leaf) is leaf


def test_derivatives_are_of_the_arrays_of_the_call():
    """Also where a parameter, or an argument, has been given another since."""
    model, x = MODELS["linear"]().double(), X[0].clone()
    fast = torch.compile(model, backend="numpy")
    for create_graph in (False, True) * 3:
        slopes = []
        for call in (model, fast):
            out = call(x).sum()
            before, model[2].weight.data = model[2].weight.data, model[2].weight.data * 2
            slopes.append(torch.autograd.grad(out, model[0].weight, create_graph=create_graph)[0])
            model[2].weight.data = before
        torch.testing.assert_close(*slopes)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: x * s,
        lambda x, s: s - x,
        lambda x, s: s / (x + 5),
        lambda x, s: (x + 5) ** s,
        lambda x, s: x > s,
        lambda x, s: x.to(torch.int64) * s,
        lambda x, s: x * x.max().item() + s,
    ],
)
def test_numbers_beside_tensors(f):
    """Arguments that are numbers of Python's have the rank of these."""
    fast = torch.compile(f, backend="numpy", fullgraph=True)
    for n, x in enumerate(X[:5]):
        x = x.to(torch.float32)
        for number in (n + 0.5, 2):
            found, expected = fast(x, number), f(x, number)
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found, expected)
