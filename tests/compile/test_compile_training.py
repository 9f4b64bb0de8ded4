"""A training step of tensors is one program: parameters, gradients and averages are its state."""

import copy
import warnings

import numpy as np
import pytest

import tapegrad
import tapegrad.torch as torch
from tapegrad import EagerWarning
from tapegrad.torch import nn

F = nn.functional
RNG = np.random.default_rng(0)
X = [torch.tensor(RNG.normal(size=(8, 6))) for _ in range(14)]
Y = [torch.tensor(RNG.integers(0, 3, 8)) for _ in range(14)]
SHORT = 10  # the call with the last batch, which is shorter


def network(middle=nn.Identity):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), middle(), nn.Tanh(), nn.Linear(8, 3)).double()


class Training:
    """A model, an optimizer, and a step; what a program does between steps."""

    def __init__(self, optimizer=torch.optim.Adam, middle=nn.Identity, **settings):
        self.model = network(middle)
        self.optimizer = optimizer(self.model.parameters(), **settings)

    def loss(self, x, y):
        return F.cross_entropy(self.model(x), y)

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.prepare()
        self.optimizer.step()
        return loss.detach()

    def prepare(self):
        pass

    def between(self, n):
        pass

    def state(self):
        found = dict(self.model.state_dict())
        for name, p in self.model.named_parameters():
            found[name, "grad"], found[name, "requires_grad"] = p.grad, p.requires_grad
            found |= {(name, key): x for key, x in self.optimizer.state.get(p, {}).items()}
        return {name: x.numpy() if torch.is_tensor(x) else x for name, x in found.items()}


class Clips(Training):
    def prepare(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)


class TwoBiases(nn.Module):
    """Parameters that get one array for a gradient, which clipping writes into."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.zeros(8)), nn.Parameter(torch.zeros(8))

    def forward(self, x):
        return x + (self.a + self.b)


class Schedules(Training):
    def __init__(self):
        super().__init__()
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 20)

    def between(self, n):
        if n:
            self.scheduler.step()


class Accumulates(Training):
    count = 0

    def step(self, x, y):
        loss = self.loss(x, y) / 3
        loss.backward()
        self.count += 1
        if self.count % 3 == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss.detach()


class AccumulatesOutside(Training):
    def step(self, x, y):
        loss = self.loss(x, y)
        loss.backward()
        return loss.detach()

    def between(self, n):
        if n % 3 == 2:
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=n != 5)


class KeepsGradients(Training):
    """A gradient that is there is added to, and stays the same tensor."""

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.loss(x, y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def between(self, n):
        if n == 1:
            self.seen = self.model[0].weight.grad
        elif n:
            assert self.model[0].weight.grad is self.seen

    def state(self):
        kept = {"seen": self.seen.numpy()} if hasattr(self, "seen") else {}
        return super().state() | kept


class Decides(Training):
    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        if loss.item() < 1.05:
            self.optimizer.step()
        return loss.item()


class Freezes(Training):
    def between(self, n):
        if n in (5, 8):
            self.model[0].weight.requires_grad_(n == 8)


class Evaluates(Training):
    def __init__(self):
        super().__init__(middle=lambda: nn.BatchNorm1d(8))

    def between(self, n):
        if n in (5, 8):
            self.model.train(n == 8)


class GetsAHook(Training):
    def between(self, n):
        if n == 5:
            self.model[0].register_forward_hook(lambda module, args, out: out * 2)


class HasHooksOfParameters(Training):
    """From the start, and later; one reads a number that is set between calls."""

    def __init__(self):
        super().__init__()
        self.factor, self.handles = 2.0, []
        self.model[3].weight.register_hook(lambda g: g * self.factor)

    def between(self, n):
        weight = self.model[0].weight
        if n == 3:
            self.handles.append(weight.register_hook(lambda g: g * 2))
        elif n == 5:
            self.handles[0].remove()
        elif n == 7:
            self.factor = 5.0
        elif n == 9:
            weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", p.grad * 3))


class HasHooksOfNodes(Training):
    """Of a leaf's node, while that is held, and of a tensor that was computed before."""

    def __init__(self):
        super().__init__()
        self.leaf = nn.Parameter(torch.ones(6, dtype=torch.float64))
        self.factor = self.leaf.exp()

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(x * self.factor, y)
        loss.backward(retain_graph=True)
        self.optimizer.step()
        return loss.detach()

    def between(self, n):
        if n == 4:
            self.handle = self.factor.register_hook(lambda g: g * 2)
        elif n == 6:
            self.handle.remove()
        elif n == 9:
            weight = self.model[0].weight
            self.held = weight.view_as(weight).grad_fn.next_functions[0][0]
            self.held.register_prehook(lambda gs: (gs[0] * 3,))

    def state(self):
        return super().state() | {"leaf": self.leaf.grad.numpy()}


class GetsAnotherLayer(Training):
    def between(self, n):
        if n == 5:
            self.model[3] = network()[3]
            self.optimizer.param_groups[0]["params"] = list(self.model.parameters())


class IsEdited(Training):
    def between(self, n):
        weight = self.model[0].weight
        if n in (4, 5, 8):
            weight.data.mul_(0.9)
        elif n == 6:
            with torch.no_grad():
                self.model[3].bias.copy_(torch.ones(3))
        elif n == 9:
            weight.data = weight.data * 2


class IsLoaded(Training):
    def between(self, n):
        if n == 0:
            self.before = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))
        elif n == 7:
            self.model.load_state_dict(self.before[0])
            self.optimizer.load_state_dict(copy.deepcopy(self.before[1]))


class Averages(Training):
    def __init__(self):
        super().__init__()
        self.average = network()

    def step(self, x, y):
        loss = super().step(x, y)
        with torch.no_grad():
            for a, b in zip(self.average.parameters(), self.model.parameters(), strict=True):
                a.mul_(0.9).add_(b, alpha=0.1)
        return loss

    def state(self):
        return super().state() | {"average": self.average[0].weight.detach().numpy()}


class Draws(Training):
    def __init__(self):
        super().__init__(middle=lambda: nn.Dropout(0.3))

    def between(self, n):
        torch.manual_seed(n)


class AddsNoise(Draws):
    """From a generator of its own, and from the usual one."""

    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(3)

    def loss(self, x, y):
        noise = torch.randn(x.shape, generator=self.generator, dtype=x.dtype)
        order = torch.randperm(len(x))
        return super().loss((x + 0.1 * noise)[order], y[order]) * (1 + torch.rand(()))


class DrawsSometimes(Draws):
    count = 0

    def loss(self, x, y):
        self.count += 1
        return super().loss(x + 0.1 * torch.rand_like(x) if self.count % 2 else x, y)


class SeedsInside(Draws):
    def step(self, x, y):
        torch.manual_seed(3)
        return super().step(x, y)


class ByHand(Training):
    def step(self, x, y):
        loss = self.loss(x, y)
        loss.backward()
        with torch.no_grad():
            for p in self.model.parameters():
                p.sub_(0.1 * p.grad)
                p.grad = None
        return loss.detach()


class ThroughData(Training):
    def step(self, x, y):
        loss = self.loss(x, y)
        loss.backward()
        for p in self.model.parameters():
            p.data -= 0.1 * p.grad.data
            p.grad.zero_()
        return loss.detach()


class ReturnsItsGraph(Training):
    def step(self, x, y):
        super().step(x, y)
        return self.loss(x, y)


class Searches(Training):
    def __init__(self):
        super().__init__(torch.optim.LBFGS, max_iter=3)

    def step(self, x, y):
        def closure():
            self.optimizer.zero_grad()
            loss = self.loss(x, y)
            loss.backward()
            return loss

        return self.optimizer.step(closure).detach()


optim = torch.optim
PROGRAMS = {  # trainings whose steps are programs
    kind.__name__: kind
    for kind in (
        *(Training, Clips, Schedules, Accumulates, AccumulatesOutside, Decides, Freezes),
        *(Evaluates, GetsAHook, GetsAnotherLayer, IsEdited, IsLoaded, Averages, ByHand),
        *(ThroughData, Draws, AddsNoise, HasHooksOfParameters, HasHooksOfNodes, KeepsGradients),
    )
}
PROGRAMS |= {
    kind.__name__: lambda kind=kind: Training(kind)
    for kind in (
        *(optim.Adadelta, optim.Adagrad, optim.Adamax, optim.ASGD, optim.NAdam, optim.RAdam),
        *(optim.RMSprop, optim.Rprop),
    )
}
PROGRAMS["TwoBiases"] = lambda: Clips(middle=TwoBiases)
PROGRAMS["AdamW"] = lambda: Training(optim.AdamW, amsgrad=True)
PROGRAMS["SGD"] = lambda: Training(optim.SGD, lr=0.1, momentum=0.9, nesterov=True)
OWN = {
    kind.__name__: kind for kind in (ReturnsItsGraph, Searches, SeedsInside, DrawsSometimes)
}  # with a word


def agree(make, backend, calls=14):
    """Compare a compiled training with another; the compiled step, and what was said of it."""
    mine, theirs = make(), make()
    fast = tapegrad.compile(mine.step, backend=backend)
    parameters = list(mine.model.parameters())
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        for n in range(calls):
            x, y = X[n % len(X)], Y[n % len(Y)]
            if n == SHORT:
                x, y = x[:5], y[:5]
            mine.between(n)
            loss = fast(x, y)
            theirs.between(n)
            expected = theirs.step(x, y)
            assert type(loss) is type(expected)
            np.testing.assert_allclose(float(loss), float(expected), rtol=1e-9, err_msg=str(n))
            found, state = mine.state(), theirs.state()
            assert found.keys() == state.keys()
            for name, value in state.items():
                assert type(found[name]) is type(value), name
                if isinstance(value, np.ndarray):
                    assert found[name].dtype == value.dtype
                    np.testing.assert_allclose(found[name], value, 1e-7, 1e-11, err_msg=str(name))
    if make is not GetsAnotherLayer:
        assert all(map(lambda a, b: a is b, parameters, mine.model.parameters()))
    return fast, [str(each.message) for each in noted if each.category is EagerWarning]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_is_a_program(name):
    fast, told = agree(PROGRAMS[name], "numpy")
    assert told == []
    assert "NumPy's program" in fast.explain()


@pytest.mark.parametrize("name", OWN)
def test_a_step_that_is_no_program_says_why(name):
    _, told = agree(OWN[name], "numpy", 40)  # more and more calls are not looked at
    assert len(set(told)) == 1


@pytest.mark.slow  # builds machine code for each
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_is_machine_code(name):
    pytest.importorskip("llvmlite")
    fast, told = agree(PROGRAMS[name], "llvm")
    assert told == []
    assert "machine code" in fast.explain()


def test_writes_are_counted():
    """A graph that holds a parameter from before the step can no longer go backward."""
    training = Training(optim.SGD, lr=0.1)
    fast = tapegrad.compile(training.step, backend="numpy")
    for x, y in zip(X[:6], Y[:6], strict=True):
        fast(x, y)
    out = training.model(X[0])
    fast(X[0], Y[0])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
