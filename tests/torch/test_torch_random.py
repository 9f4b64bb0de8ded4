"""Random tensors: dtypes, shapes and errors as PyTorch's; the distributions that they promise."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch

N = 40_000
NEAR = 6 / N**0.5  # six standard deviations of a mean of N numbers of variance 1


def same(t, x, value):
    """Common ground of both libraries: the form of a draw."""
    return str(value.dtype), tuple(value.shape), value.requires_grad


FORMS = {
    "rand": lambda t: t.rand(2, 3),
    "rand tuple": lambda t: t.rand((2, 3), dtype=t.float64, requires_grad=True),
    "rand size": lambda t: t.rand(size=(2,), generator=t.Generator()),
    "rand complex": lambda t: t.rand(2, dtype=t.complex64),
    "rand half": lambda t: t.rand(2, dtype=t.float16),
    "rand whole": lambda t: t.rand(2, dtype=t.int64),
    "rand negative": lambda t: t.rand(2, -1),
    "randn": lambda t: t.randn(()),
    "randn complex": lambda t: t.randn(2, dtype=t.complex128),
    "randn whole": lambda t: t.randn(2, dtype=t.int32),
    "randint": lambda t: t.randint(5, (2,)),
    "randint low": lambda t: t.randint(2, 5, (2,), dtype=t.float32),
    "randint named": lambda t: t.randint(low=0, high=5, size=(2,)),
    "randint high": lambda t: t.randint(high=5, size=(2,)),
    "randint empty": lambda t: t.randint(5, 5, (2,)),
    "randint float": lambda t: t.randint(0.5, 5, (2,)),
    "randint no tuple": lambda t: t.randint(5, 2),
    "randint grad": lambda t: t.randint(5, (2,), requires_grad=True),
    "randperm": lambda t: t.randperm(4),
    "randperm dtype": lambda t: t.randperm(4, dtype=t.float32),
    "randperm negative": lambda t: t.randperm(-1),
    "normal": lambda t: t.normal(0, 1, (2, 3)),
    "normal negative": lambda t: t.normal(0.0, -1.0, (2,)),
    "normal tensor": lambda t: t.normal(t.zeros(2), 1),
    "normal shapes": lambda t: t.normal(t.zeros(2), t.ones(3)),
    "normal broadcast": lambda t: t.normal(t.zeros(2, 1), t.ones(3)),
    "normal negative tensor": lambda t: t.normal(t.zeros(2), -t.ones(2)),
    "bernoulli": lambda t: t.bernoulli(t.ones(2)),
    "bernoulli p": lambda t: t.bernoulli(t.ones(2), 0.5),
    "bernoulli bad": lambda t: t.bernoulli(t.ones(2) * 3),
    "bernoulli whole": lambda t: t.bernoulli(t.ones(2).long()),
    "poisson": lambda t: t.poisson(t.ones(2)),
    "poisson negative": lambda t: t.poisson(-t.ones(2)),
    "poisson whole": lambda t: t.poisson(t.ones(2).int()),
    "multinomial": lambda t: t.multinomial(t.ones(2, 3), 5, True),
    "multinomial row": lambda t: t.ones(3).multinomial(2),
    "multinomial many": lambda t: t.multinomial(t.ones(2), 3),
    "multinomial zero": lambda t: t.multinomial(t.zeros(2), 1),
    "multinomial negative": lambda t: t.multinomial(-t.ones(2), 1),
    "multinomial whole": lambda t: t.multinomial(t.ones(2).long(), 1),
    "rand_like": lambda t: t.rand_like(t.ones(2, 3, requires_grad=True)),
    "rand_like whole": lambda t: t.rand_like(t.ones(2).long()),
    "randn_like": lambda t: t.randn_like(t.ones(2), dtype=t.float64),
    "randint_like": lambda t: t.randint_like(t.ones(2), 5),
    "randint_like low": lambda t: t.randint_like(t.ones(2).long(), 2, 5),
    "uniform_": lambda t: t.empty(2).uniform_(-1, 1),
    "uniform_ complex": lambda t: t.empty(2, dtype=t.complex64).uniform_(),
    "uniform_ empty": lambda t: t.empty(2).uniform_(1, 0),
    "uniform_ whole": lambda t: t.ones(2).long().uniform_(0, 1),
    "normal_": lambda t: t.empty(2, dtype=t.complex64).normal_(),
    "normal_ bad": lambda t: t.empty(2).normal_(0, -1),
    "normal_ whole": lambda t: t.ones(2).int().normal_(),
    "exponential_": lambda t: t.empty(2, dtype=t.float64).exponential_(2.0),
    "exponential_ bad": lambda t: t.empty(2).exponential_(-1),
    "exponential_ whole": lambda t: t.ones(2).int().exponential_(),
    "random_": lambda t: t.empty(2).random_(3),
    "random_ low": lambda t: t.zeros(2, dtype=t.int8).random_(-5, 5),
    "random_ all": lambda t: t.zeros(2, dtype=t.uint8).random_(),
    "random_ bool": lambda t: t.zeros(2, dtype=t.bool).random_(),
    "random_ long": lambda t: t.zeros(2, dtype=t.int64).random_(),
    "random_ empty": lambda t: t.empty(2).random_(5, 5),
    "bernoulli_": lambda t: t.zeros(2, dtype=t.bool).bernoulli_(),
    "bernoulli_ bad": lambda t: t.ones(2).bernoulli_(2),
    "geometric_": lambda t: t.empty(2).geometric_(0.5),
    "geometric_ bad": lambda t: t.empty(2).geometric_(2),
    "cauchy_": lambda t: t.empty(2).cauchy_(),
    "cauchy_ bad": lambda t: t.empty(2).cauchy_(0, -1),
    "log_normal_": lambda t: t.empty(2).log_normal_(),
    "log_normal_ bad": lambda t: t.empty(2).log_normal_(0, -1),
    "leaf": lambda t: t.ones(2, requires_grad=True).uniform_(),
}


@pytest.mark.parametrize("call", FORMS.values(), ids=FORMS)
def test_forms(call):
    agree(lambda t: same(t, None, call(t)))


def names(value):
    return value.grad_fn.name(), value.requires_grad


OVER_THE_GRAPH = {
    "bernoulli": lambda t, x: t.bernoulli(x.sigmoid()),
    "poisson": lambda t, x: t.poisson(x * x),
    "normal 1": lambda t, x: t.normal(x, 1.0),
    "normal 2": lambda t, x: t.normal(1.0, x * x),
    "normal 3": lambda t, x: t.normal(x, x * x),
    "uniform_": lambda t, x: (x * 2).uniform_(),
    "normal_": lambda t, x: (x * 2).normal_(),
    "exponential_": lambda t, x: (x * 2).exponential_(),
    "cauchy_": lambda t, x: (x * 2).cauchy_(),
    "log_normal_": lambda t, x: (x * 2).log_normal_(),
    "geometric_": lambda t, x: (x * 2).geometric_(0.5),
    "bernoulli_": lambda t, x: (x * 2).bernoulli_(),
    "bernoulli_ tensor": lambda t, x: (x * 2).bernoulli_(t.ones(())),
    "random_": lambda t, x: (x * 2).random_(),
    "random_ to": lambda t, x: (x * 2).random_(4),
    "random_ from": lambda t, x: (x * 2).random_(1, 4),
}


@pytest.mark.parametrize("call", OVER_THE_GRAPH.values(), ids=OVER_THE_GRAPH)
def test_names_of_nodes(call):
    agree(lambda t, x: names(call(t, x)), numbers(3))


@pytest.mark.parametrize("call", OVER_THE_GRAPH.values(), ids=OVER_THE_GRAPH)
def test_draws_have_no_derivative(call):
    x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    call(torch, x).sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def moments(value):
    array = value.double().numpy()
    return array.mean(), array.var()


DISTRIBUTIONS = {
    "rand": (lambda: torch.rand(N), 0.5, 1 / 12),
    "rand half": (lambda: torch.rand(N, dtype=torch.float16), 0.5, 1 / 12),
    "randn": (lambda: torch.randn(N), 0, 1),
    "randn double": (lambda: torch.randn(N, dtype=torch.float64), 0, 1),
    "randint": (lambda: torch.randint(3, 7, (N,)), 4.5, 1.25),
    "normal": (lambda: torch.normal(2.0, 3.0, (N,)), 2, 9),
    "normal of tensors": (lambda: torch.normal(torch.ones(N), torch.ones(()) * 2), 1, 4),
    "bernoulli": (lambda: torch.bernoulli(torch.full((N,), 0.3)), 0.3, 0.21),
    "poisson": (lambda: torch.poisson(torch.full((N,), 3.0)), 3, 3),
    "uniform_": (lambda: torch.empty(N).uniform_(-1, 3), 1, 16 / 12),
    "normal_": (lambda: torch.empty(N).normal_(1, 2), 1, 4),
    "exponential_": (lambda: torch.empty(N).exponential_(2), 0.5, 0.25),
    "geometric_": (lambda: torch.empty(N).geometric_(0.25), 4, 12),
    "bernoulli_": (lambda: torch.empty(N).bernoulli_(0.2), 0.2, 0.16),
    "random_": (lambda: torch.empty(N).random_(4), 1.5, 1.25),
    "multinomial": (
        lambda: torch.multinomial(torch.tensor([1.0, 0.0, 3.0]), N, True),
        1.5,
        0.75,
    ),
}


@pytest.mark.parametrize(("draw", "mean", "variance"), DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_distributions(draw, mean, variance):
    torch.manual_seed(20)
    found_mean, found_variance = moments(draw())
    assert abs(found_mean - mean) < NEAR * variance**0.5
    assert abs(found_variance - variance) < 0.1 * variance


def test_complex_normal_numbers_have_variance_one():
    torch.manual_seed(20)
    array = torch.randn(N, dtype=torch.complex64).numpy()
    assert abs(array.var() - 1) < 0.05
    assert abs(array.real.var() - 0.5) < 0.03


def test_multinomial_without_replacement_draws_each_once():
    torch.manual_seed(1)
    drawn = torch.multinomial(torch.tensor([[1.0, 2.0, 3.0, 0.0]] * 200), 3)
    assert all(sorted(row) == [0, 1, 2] for row in drawn.tolist())


def test_multinomial_without_replacement_follows_the_weights():
    torch.manual_seed(1)
    rows = torch.tensor([[1.0, 3.0]] * N)
    first = torch.multinomial(rows, 1).numpy()
    assert abs(first.mean() - 0.75) < NEAR


def test_randperm_is_a_permutation():
    torch.manual_seed(0)
    drawn = torch.randperm(100).tolist()
    assert sorted(drawn) == list(range(100)) != drawn


# --- Seeds and states ---------------------------------------------------------------------------


def test_a_seed_repeats_the_numbers():
    torch.manual_seed(7)
    first = torch.rand(5).tolist()
    assert torch.rand(5).tolist() != first
    assert torch.manual_seed(7) is torch.default_generator
    assert torch.rand(5).tolist() == first
    assert torch.initial_seed() == torch.random.initial_seed() == 7
    assert torch.manual_seed(-1).initial_seed() == 2**64 - 1
    with pytest.raises(ValueError, match="Overflow"):
        torch.manual_seed(2**64)


def test_states_are_tensors_of_bytes():
    torch.manual_seed(3)
    torch.randint(5, (3,), dtype=torch.int32)
    state = torch.get_rng_state()
    assert state.dtype == torch.uint8
    first = torch.randn(4).tolist()
    torch.set_rng_state(state)
    assert torch.randn(4).tolist() == first
    assert torch.initial_seed() == 3
    with pytest.raises(TypeError, match="ByteTensor"):
        torch.set_rng_state(torch.ones(3))
    with pytest.raises(RuntimeError, match="wrong size"):
        torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))


def test_generators_are_independent():
    own = torch.Generator().manual_seed(5)
    torch.manual_seed(5)
    assert own.device == torch.device("cpu")
    first = torch.rand(3, generator=own).tolist()
    assert torch.rand(3).tolist() == first
    copied = own.clone_state()
    assert torch.rand(3, generator=own).tolist() == torch.rand(3, generator=copied).tolist()
    assert torch.Generator().initial_seed() == torch.Generator().initial_seed()
    assert own.seed() == own.initial_seed()
    assert torch.seed() == torch.initial_seed()


def test_fork_rng_gives_the_state_back():
    torch.manual_seed(4)
    first = torch.rand(2).tolist()
    torch.manual_seed(4)
    with torch.random.fork_rng():
        torch.rand(100)
    assert torch.rand(2).tolist() == first
    with torch.random.fork_rng(enabled=False):
        torch.manual_seed(4)
    assert torch.rand(2).tolist() == first


def test_draws_keep_the_version_and_the_memory():
    x = torch.zeros(3)
    memory = x.numpy()
    x.uniform_(1, 2)
    assert (memory >= 1).all()
    assert x._version == 1


def test_a_parameter_is_initialised_without_history():
    x = torch.zeros(3, requires_grad=True)
    with torch.no_grad():
        x.normal_()
    assert x.is_leaf
    assert x.requires_grad
    assert np.any(x.detach().numpy())


# --- Within transforms --------------------------------------------------------------------------


def test_vmap_asks_what_a_draw_means():
    from tapegrad.torch import func

    x = torch.zeros(3, 4)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        func.vmap(torch.rand_like)(x)
    same = func.vmap(torch.rand_like, randomness="same")(x).tolist()
    assert same[0] == same[1] == same[2]
    different = func.vmap(torch.rand_like, randomness="different")(x).tolist()
    assert different[0] != different[1]


MAPPED = {
    "bernoulli": torch.bernoulli,
    "normal": lambda row: torch.normal(row, row),
    "uniform_": lambda row: (row * 2).uniform_(),
    "bernoulli_": lambda row: (row * 2).bernoulli_(0.5),
}


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("call", MAPPED.values(), ids=MAPPED)
def test_draws_within_vmap_and_grad(call, randomness):
    """Draws are constant, whatever their parameters."""
    from tapegrad.torch import func

    x = torch.full((3, 4), 0.5)
    mapped = func.vmap(call, randomness=randomness)
    assert mapped(x).shape == (3, 4)
    slope = func.grad(lambda row: (call(row) + row).sum())(x[0])
    assert slope.tolist() == [1, 1, 1, 1]
    assert func.grad(lambda x: (mapped(x) + x).sum())(x).tolist() == [[1] * 4] * 3


@pytest.mark.parametrize("replacement", [True, False])
def test_draws_by_weights_of_any_size_are_those_of_the_same_shares(replacement):
    weights = torch.tensor([[3.0, 0.0, 1.0, 4.0], [0.0, 5.0, 2.0, 1.0]], dtype=torch.float64)
    found = []
    for power in (0, -1074, -1030, 1021):  # the last sum is above all numbers
        torch.manual_seed(3)
        size = torch.from_numpy(np.ldexp(weights.numpy(), power))
        drawn = torch.multinomial(size, 50 if replacement else 3, replacement)
        found.append(drawn.numpy().tolist())
    assert found[1:] == found[:1] * 3
    assert torch.multinomial(torch.tensor([0.0, 1.0, 1e-320]).double(), 1, replacement).item() == 1


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("size", [np.finfo(float).smallest_subnormal, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_the_one_weight_that_is_not_zero_is_drawn(count, size, replacement):
    """However small it is."""
    for at in {0, count // 2, count - 1}:
        weights = torch.zeros(2, count, dtype=torch.float64)
        weights[:, at] = size
        drawn = torch.multinomial(weights, 3 if replacement else 1, replacement)
        assert np.all(drawn.numpy() == at)
