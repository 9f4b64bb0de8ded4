"""Backward passes take the entries of a graph at once, and give them back where it was too early.

So a pass that cannot run leaves the graph as it was, and one with hooks sees all of it.
"""

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch._engine import backward_pass, gathering


@pytest.fixture
def x():
    return torch.tensor([0.5, -1.0, 2.0], requires_grad=True)


@pytest.fixture(autouse=True, params=[0, 1, 99])
def skipped(request, monkeypatch):
    """Passes before may have had hooks: the results are the same."""
    monkeypatch.setattr(gathering, "SKIPPED", [request.param])


def gradient(y, x):
    """The derivative of y by x, which frees the graph between them."""
    (found,) = torch.autograd.grad(y, x)
    return found.numpy()


def test_a_pass_over_a_freed_part_leaves_the_others(x):
    shared = x.exp()
    middle = shared * 2.0
    other = middle.sin()
    shared.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        other.sum().backward()
    np.testing.assert_array_equal(gradient(other.sum(), middle), np.cos(middle.detach().numpy()))


def test_a_pass_over_a_changed_value_leaves_the_others(x):
    changed = x.exp()
    middle = changed * 2.0
    other = middle.sin()
    cos = np.cos(middle.detach().numpy())
    with torch.no_grad():
        changed.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        other.sum().backward()
    assert x.grad is None
    np.testing.assert_array_equal(gradient(other.sum(), middle), cos)


def test_a_write_after_the_call_of_some_nodes_alone(x):
    """Only nodes before the write are looked at, and only what they keep counts."""
    early = x.sin()
    with torch.no_grad():
        torch.zeros(3).add_(1.0)
    late = early * early
    late.sum().backward()
    value = x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.sin(value) * np.cos(value), rtol=1e-6)


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_hook_is_found_wherever_it_is(x, place):
    first = x.exp()
    if place == "before":
        seen = []
        first.register_hook(seen.append)
    last = first.sin().sum()
    if place == "after":
        seen = []
        first.register_hook(seen.append)
    last.backward()
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0].numpy(), np.cos(first.detach().numpy()))
    assert first.grad_fn is not None
    with pytest.raises(RuntimeError, match="a second time"):
        last.backward()


def test_hooks_of_leaves_run_in_the_order_in_which_their_gradients_are_complete(x):
    leaves = {name: torch.ones(3, requires_grad=True) for name in "abcde"}
    a, b, c, d, e = leaves.values()
    log = []
    for name, leaf in leaves.items():
        leaf.register_hook(lambda grad, name=name: log.append((name, float(grad.sum()))))
    y = b * d * a  # a is used again later, and b before: d and b are complete at one node
    y = torch.stack([y * c, y * a]).sum()
    torch.autograd.backward([y, e], [None, torch.ones(3)])
    names = [name for name, _ in log]
    assert sorted(names) == ["a", "b", "c", "d", "e"]
    assert names == ["c", "a", "b", "d", "e"]
    assert dict(log) == {"a": 9.0, "b": 6.0, "c": 3.0, "d": 6.0, "e": 3.0}


def test_a_hook_of_a_leaf_knows_the_pass_and_the_mode(x):
    seen = []

    def hook(grad):
        seen.append(torch.is_grad_enabled())
        torch.autograd.Variable._execution_engine.queue_callback(lambda: seen.append("last"))

    x.register_hook(hook)
    other = torch.ones(3, requires_grad=True)
    (x * other).sum().backward()
    assert seen == [False, "last"]
    np.testing.assert_array_equal(other.grad.numpy(), x.detach().numpy())


def test_hooks_of_all_kinds_run_as_soon_as_a_gradient_is_there(x):
    log = []
    other = torch.ones(3, requires_grad=True)
    middle = x * 3.0
    last = middle * other
    last.register_hook(lambda grad: log.append(("last", other.grad)))
    middle.register_hook(lambda grad: log.append(("middle", other.grad is not None)))
    middle.retain_grad()
    other.register_post_accumulate_grad_hook(lambda leaf: log.append(("other", leaf.grad.sum())))
    x.register_hook(lambda grad: log.append(("x", middle.grad.sum())))
    last.sum().backward()
    assert [name for name, _ in log] == ["last", "other", "middle", "x"]
    assert log[0][1] is None
    assert log[2][1]
    assert float(log[1][1]) == float(3.0 * x.detach().sum())
    assert float(log[3][1]) == 3.0


def test_a_hook_that_replaces_a_gradient_and_one_that_keeps_it(x):
    """A hook's cotangent does not change when a pass writes to cotangents of its own."""
    x = torch.ones(300, requires_grad=True)
    y = x * 1.0
    y[:100] = 5.0
    kept = []
    y.register_hook(kept.append)
    y.register_hook(lambda grad: grad * 2.0)
    (y * 2.0 + y * 3.0).backward(torch.ones(300))
    np.testing.assert_array_equal(kept[0].numpy(), np.full(300, 5.0))
    np.testing.assert_array_equal(x.grad.numpy(), np.repeat([0.0, 10.0], [100, 200]))
    x.grad.zero_()
    np.testing.assert_array_equal(kept[0].numpy(), np.full(300, 5.0))


def test_a_hook_that_raises_leaves_what_was_accumulated(x):
    other = torch.ones(3, requires_grad=True)
    middle = x * 3.0

    def hook(grad):
        raise ValueError("no further")

    middle.register_hook(hook)
    with pytest.raises(ValueError, match="no further"):
        (middle * other).sum().backward()
    assert x.grad is None
    assert torch.is_grad_enabled()
    np.testing.assert_array_equal(other.grad.numpy(), 3.0 * x.detach().numpy())


def test_nodes_that_have_not_run_when_a_hook_raises_can_run_later(x):
    middle = x.exp()
    last = middle.sin() * 3.0
    cos = np.cos(middle.detach().numpy())

    def hook(grad):
        raise ValueError("not now")

    handle = last.register_hook(hook)
    total = last.sum()
    for _ in range(2):
        with pytest.raises(ValueError, match="not now"):
            total.backward()
    handle.remove()
    total.backward()
    np.testing.assert_allclose(x.grad.numpy(), 3.0 * cos * middle.detach().numpy(), rtol=1e-6)
    with pytest.raises(RuntimeError, match="a second time"):
        total.backward()


def test_a_hook_differentiates_what_has_not_run(x):
    middle = x.exp()
    last = middle.sin()
    found = []

    def hook(grad):
        found.append(torch.autograd.grad(middle, x, torch.ones(3), retain_graph=True)[0])
        with pytest.raises(RuntimeError, match="a second time"):
            torch.autograd.grad(total, middle, retain_graph=True)

    last.register_hook(hook)
    total = (last * last).sum()
    total.backward()
    np.testing.assert_array_equal(found[0].numpy(), middle.detach().numpy())


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_a_hook_that_writes_to_what_a_node_keeps_or_frees_it(x, own, watched):
    def after(hook):
        middle = x.exp()
        last = middle.sin() if own else middle.sin() * 2.0
        if watched:
            last.grad_fn.register_hook(lambda inputs, outputs: None)
        last.register_hook(lambda grad: hook(middle))
        with pytest.raises(RuntimeError) as found:
            last.sum().backward()
        assert x.grad is None
        return str(found.value)

    def write(middle):
        with torch.no_grad():
            middle.mul_(2.0)

    def differentiate(middle):
        torch.autograd.grad(middle, x, torch.ones(3))

    assert "modified by an inplace operation" in after(write)
    assert "a second time" in after(differentiate)


def test_a_hook_of_a_leaf_and_a_retained_gradient(x):
    for _ in range(2):  # the second pass has a leaf whose hook is older than the graph
        middle = x * 3.0
        middle.retain_grad()
        if x.grad is None:
            x.register_hook(lambda grad: grad * 2.0)
        (middle * middle).sum().backward()
        np.testing.assert_array_equal(middle.grad.numpy(), 6.0 * x.detach().numpy())
    np.testing.assert_array_equal(x.grad.numpy(), 72.0 * x.detach().numpy())


def test_a_graph_after_a_removed_hook_is_gathered_again(x, monkeypatch):
    x.register_hook(lambda grad: None).remove()
    x.exp().register_hook(lambda grad: None)
    found = []

    def noted(*args):
        found.append(gathering.gathered(*args))
        return found[-1]

    monkeypatch.setattr(backward_pass, "gathered", noted)
    gathering.SKIPPED[0] = 0
    x.exp().sum().backward()
    assert found[0] is not None


def test_some_leaves_alone(x):
    """The nodes that lead to another leaf alone do not run, and keep what they keep."""
    other = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    apart = other.exp()
    y = (x * x * apart).sum()
    np.testing.assert_allclose(
        gradient(y, x), 2 * x.detach().numpy() * apart.detach().numpy(), rtol=1e-6
    )
    np.testing.assert_array_equal(gradient(apart.sum(), other), apart.detach().numpy())
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


@pytest.mark.parametrize("keep", [False, True])
def test_all_leaves_by_grad(x, keep):
    other = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * other).sum()
    by_x, by_other = torch.autograd.grad(y, [x, other], retain_graph=keep)
    np.testing.assert_array_equal(by_x.numpy(), other.detach().numpy())
    np.testing.assert_array_equal(by_other.numpy(), x.detach().numpy())
    assert x.grad is None
    if keep:
        y.backward()
        np.testing.assert_array_equal(x.grad.numpy(), other.detach().numpy())
    else:
        with pytest.raises(RuntimeError, match="a second time"):
            y.backward()


def test_a_leaf_is_a_root_and_several_roots_share_nodes(x):
    shared = x.exp()
    one, two = (shared * 2.0).sum(), shared.sum()
    torch.autograd.backward([one, two, x], [None, None, torch.ones(3)])
    np.testing.assert_allclose(x.grad.numpy(), 3.0 * shared.detach().numpy() + 1.0, rtol=1e-6)


def test_a_gradient_with_a_graph_gets_a_sum_without_one(x):
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    x.exp().sum().backward()
    assert not x.grad.requires_grad


class Raises(torch.autograd.Function):
    """The identity, whose first backward raises."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        Raises.calls += 1
        if Raises.calls == 1:
            raise ValueError("not yet")
        assert not torch.is_grad_enabled()
        return g * ctx.saved_tensors[0]


def test_a_function_that_raises_in_the_middle(x):
    Raises.calls = 0
    y = Raises.apply(x * 1.0).sum()
    with pytest.raises(ValueError, match="not yet"):
        y.backward(retain_graph=True)
    assert x.grad is None
    assert torch.is_grad_enabled()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), x.detach().numpy())


def test_equal_eigenvalues_take_a_limit():
    """Its replay is traced from the root on, so that no node may be freed before it is known."""
    matrix = torch.eye(3, dtype=torch.float64, requires_grad=True)
    torch.linalg.eigh(matrix * 2.0)[0].exp().sum().backward()
    np.testing.assert_allclose(matrix.grad.numpy(), 2 * np.exp(2.0) * np.eye(3), atol=1e-12)
