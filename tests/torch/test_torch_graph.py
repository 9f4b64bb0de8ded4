"""autograd.graph: edges, what nodes keep, files of saved tensors, pictures; passes in passes."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch.autograd import forward_ad, graph


def leaf(*shape: int) -> Any:
    return torch.arange(1.0, 1 + np.prod(shape)).reshape(shape).requires_grad_()


# --- Edges --------------------------------------------------------------------------------------


def test_edges_without_tensors_are_roots_and_inputs() -> None:
    x = leaf(3)
    y = x.exp()
    edge = graph.GradientEdge((y * y).grad_fn, 0)
    wanted = graph.GradientEdge(y.grad_fn, 0)
    (found,) = torch.autograd.grad(edge, wanted, torch.ones(3), retain_graph=True)
    assert torch.allclose(found, 2 * y)
    torch.autograd.backward(edge, torch.ones(3), inputs=[graph.get_gradient_edge(x)])
    assert torch.allclose(x.grad, 2 * y * y)


def test_an_edge_names_one_of_several_results() -> None:
    x = leaf(4)
    node = x.split(2)[0].grad_fn
    torch.autograd.backward(graph.GradientEdge(node, 1), torch.ones(2))
    assert x.grad.tolist() == [0, 0, 1, 1]
    with pytest.raises(IndexError):
        torch.autograd.backward(graph.GradientEdge(node, 2), torch.ones(2))


# --- Nodes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compute", "words"),
    [
        (lambda x: x * x, {"self": "x", "other": "x"}),
        (lambda x: x**2, {"self": "x", "exponent": 2}),
        (lambda x: x.exp(), {"result": "y"}),
        (lambda x: x @ x, {"self": "x", "mat2": "x"}),
        (lambda x: x.sum(), {"self_sym_sizes": (2, 2)}),
    ],
)
def test_a_node_shows_what_it_keeps(compute: Any, words: dict[str, Any]) -> None:
    x = leaf(2, 2)
    y = compute(x)
    for word, what in words.items():
        kept = getattr(y.grad_fn, f"_saved_{word}")
        assert f"_saved_{word}" in dir(y.grad_fn)
        if what == "x":
            assert kept is x
        elif what == "y":
            assert torch.equal(kept, y)
            assert kept.grad_fn is y.grad_fn
        else:
            assert kept == what
    with pytest.raises(AttributeError, match="object has no attribute '_saved_other_word'"):
        _ = y.grad_fn._saved_other_word
    node = (y.sum()).grad_fn
    y.sum().backward()
    assert node.requires_grad
    if "self_sym_sizes" not in words:
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second"):
            getattr(y.grad_fn, f"_saved_{next(iter(words))}")


def test_a_picture_has_all_nodes_and_leaves() -> None:
    x = leaf(2, 2)
    w = leaf(2, 2)
    picture = graph.make_dot(((x @ w).exp() * x).sum(), {"weight": w}, show_saved=True)
    for word in ("MmBackward0", "ExpBackward0", "MulBackward0", "weight\\n (2, 2)", "orange"):
        assert word in picture.source
    assert picture.count("AccumulateGrad") == 2
    assert picture.startswith("digraph {")
    assert picture.endswith("}")


def test_increment_version_counts_a_write() -> None:
    x = leaf(2)
    y = x.exp()
    graph.increment_version([y])
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()


# --- Saved tensors ------------------------------------------------------------------------------


@pytest.mark.parametrize("compressed", [False, True])
def test_saved_tensors_lie_in_files(tmp_path: Path, compressed: bool) -> None:
    x = torch.ones(1000, requires_grad=True)
    with graph.save_on_cpu(directory=tmp_path / "saved", compressed=compressed):
        y = (x * x).exp().log()
    files = list((tmp_path / "saved").iterdir())
    assert files
    assert all(compressed == (file.stat().st_size < 4000) for file in files)
    (found,) = torch.autograd.grad(y[:5].sum(), x)
    assert torch.allclose(found[:5], 2 * x[:5])
    del y
    assert not list((tmp_path / "saved").iterdir())


def test_saved_tensors_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.ones(1000, requires_grad=True)
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(
            OSError, match=r"save_on_cpu: expected to write a saved tensor of \d+ bytes"
        ),
        graph.save_on_cpu(directory=tmp_path / "file"),
    ):
        (x * x).exp()

    def full(file: Any, **_: Any) -> None:
        file.write(b"a part")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np, "savez", full)
    with (
        pytest.raises(OSError, match=r"No space left on device\. Free space, or give") as caught,
        graph.save_on_cpu(directory=tmp_path / "saved"),
    ):
        (x * x).exp()
    assert caught.value.errno == errno.ENOSPC
    assert not list((tmp_path / "saved").iterdir())


def test_saved_tensors_may_be_changed_within_a_block() -> None:
    x = leaf(2).clone()
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x * x
        before = x.detach().clone()
        x.mul_(3)
        (found,) = torch.autograd.grad(y.sum(), y.grad_fn._saved_self, retain_graph=True)
        assert torch.equal(found, 2 * before)
        context.clear()
        with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved"):
            y.sum().backward()
        nested = graph.allow_mutation_on_saved_tensors()
        with pytest.raises(RuntimeError, match="contexts cannot be nested"):
            nested.__enter__()


# --- Passes within passes -----------------------------------------------------------------------


def test_a_pass_within_a_pass_has_no_depth() -> None:
    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.left = x.item()
            return x - 1

        @staticmethod
        def backward(ctx, g):
            if ctx.left > 0:
                with torch.enable_grad():
                    v = torch.tensor(ctx.left - 1, requires_grad=True)
                    Deep.apply(v).backward()
                return g * v.grad
            return g * 2

    x = torch.tensor(400.0, requires_grad=True)
    Deep.apply(x).backward()
    assert x.grad.item() == 2


def test_callbacks_run_at_the_end_of_a_pass() -> None:
    order = []
    engine = torch.autograd.Variable._execution_engine
    x = leaf(2)
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: order.append(x.grad.tolist())))
    y.sum().backward()
    assert order == [[2, 2]]


def test_a_function_that_returns_one_tensor_twice() -> None:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx, g, h):
            return 2 * g + 3 * h

    x = leaf(2)
    first, second = Both.apply(x)
    assert first is second
    assert first.output_nr == 1
    first.sum().backward()
    assert x.grad.tolist() == [3, 3]


# --- Dual tensors -------------------------------------------------------------------------------


def test_a_dual_tensor_shares_memory_with_primal_and_tangent() -> None:
    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0
        primal, tangent = torch.tensor([2.0, 3.0]), torch.tensor([1.0, 4.0])
        dual = forward_ad.make_dual(primal, tangent)
        view = dual[:1]
        dual.mul_(dual.detach())
        assert forward_ad.unpack_dual(dual).tangent is tangent
        assert primal.tolist() == [4, 9]
        assert tangent.tolist() == [2, 12]
        view.mul_(10)
        assert primal.tolist() == [40, 9]
        assert tangent.tolist() == [20, 12]
        assert primal._version == dual._version
        assert [part.tolist() for part in forward_ad.unpack_dual(view)] == [[40], [20]]
        dual.zero_()
        assert tangent.tolist() == [0, 0]


def test_writes_to_a_dual_tensor_are_on_the_graph_of_both() -> None:
    a, b = leaf(2), leaf(2)
    with forward_ad.dual_level():
        primal, tangent = a.clone(), b.clone()
        dual = forward_ad.make_dual(primal, tangent)
        kept = dual.exp()
        dual.mul_(a.detach())
        assert torch.autograd.grad(primal.sum(), a, retain_graph=True)[0].tolist() == [1, 2]
        assert torch.autograd.grad(tangent.sum(), b)[0].tolist() == [1, 2]
        assert kept.requires_grad
        squared = dual * dual
        dual.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            squared.sum().backward()
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            forward_ad.make_dual(leaf(2), torch.ones(2)).add_(1)


def test_gradcheck_of_a_function_with_a_level_of_its_own() -> None:
    def of_tangent(x: Any) -> Any:
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(forward_ad.make_dual(x, x * x).sin()).tangent

    x = torch.tensor([0.3, 0.8], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(of_tangent, x)
    assert torch.autograd.gradgradcheck(of_tangent, x)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_gradcheck_of_no_elements(shape: tuple[int, ...]) -> None:
    x = torch.ones(*shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x * 2, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x: (x * x).sum(), x)


# --- Memory -------------------------------------------------------------------------------------


def test_views_of_inference_tensors_are_such() -> None:
    with torch.inference_mode():
        x = torch.ones(4, requires_grad=True)
    for view in (x[:2], x.view(2, 2), x.split(2)[0]):
        assert view.is_inference()
        assert not view.requires_grad
    assert x.data.is_inference()


def test_memory_is_exchanged_and_resized() -> None:
    x = torch.arange(6.0)
    assert x.clone().resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.clone().resize_(8)[:6].tolist() == x.tolist()
    y = torch.zeros(2).set_(x)
    x[0] = 7
    assert y[0] == 7
    assert y.is_set_to(x)
    assert torch.zeros(0).set_(x.untyped_storage(), 1, (2, 2), (2, 1)).tolist() == [[1, 2], [3, 4]]
    assert torch.zeros(2).set_().numel() == 0


def test_unsafe_parts_may_be_written_to() -> None:
    x = leaf(4)
    first, second = (x * 1).unsafe_split(2)
    assert not first._is_view()
    first.mul_(3)
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [3, 3, 1, 1]
    assert torch.unsafe_chunk(x, 2)[1].grad_fn.name() == "UnsafeSplitBackward0"


# --- LU -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 3)])
def test_lu_gives_factors_that_can_be_differentiated(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=shape)
    x = torch.from_numpy(values).requires_grad_()
    p, low, high = torch.linalg.lu(x)
    assert torch.allclose(p @ low @ high, x)
    assert torch.equal(low, low.tril())
    assert torch.equal(high, high.triu())
    assert torch.autograd.gradcheck(lambda m: torch.linalg.lu(m)[1:], x)
    if shape[-1] == shape[-2]:
        b = torch.from_numpy(values[..., :2].copy())
        for adjoint in (False, True):
            found = torch.linalg.lu_solve(*torch.linalg.lu_factor(x), b, adjoint=adjoint)
            assert torch.allclose((x.mH if adjoint else x) @ found, b)


def test_a_view_that_was_written_to_is_named_in_the_error():
    x = torch.ones(3, requires_grad=True)
    view = (x * 1)[:2]
    y = view * view
    view.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()


@pytest.mark.parametrize("earlier", [0, 1, 3])
@pytest.mark.parametrize("later", [1, 2, 5])
@pytest.mark.parametrize("keeps_result", [True, False])
def test_an_error_counts_the_writes_before_and_after(keeps_result, later, earlier) -> None:
    y = leaf(3) * 1
    for _ in range(earlier):
        y.mul_(2)
    out = y.exp() if keeps_result else y * y
    written = out if keeps_result else y
    before = 0 if keeps_result else earlier
    for _ in range(later):
        written.mul_(2)
    count = f"is at version {before + later}; expected version {before} instead"
    with pytest.raises(RuntimeError, match=count):
        out.sum().backward()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128]
)
@pytest.mark.parametrize("creates", [(False, False), (True, True), (True, False), (False, True)])
@pytest.mark.parametrize("is_leaf", [True, False])
def test_gradients_are_added_up(is_leaf, creates, dtype) -> None:
    """Each pass adds the same again, whichever of them keep a graph; also to a gradient given."""

    def loss(x: Any) -> Any:
        out = (x * x * (1 + 2j)).sum()
        return out.real + 3 * out.imag

    values = np.array([1.0, 2.0])
    if dtype.is_complex:
        values = values * (1 - 0.5j)
    start = torch.from_numpy(values).to(dtype).requires_grad_()
    x = start if is_leaf else start * 1
    x.retain_grad()
    expected = 2 * np.conj(values) * np.conj(1 + 2j) * (1 + 3j)  # of a holomorphic x * x * c
    expected = expected if dtype.is_complex else np.real(expected)
    given = torch.from_numpy(values).to(dtype)
    for count, create_graph in enumerate(creates, 1):
        loss(x).backward(create_graph=create_graph, retain_graph=True)
        np.testing.assert_allclose(x.grad.detach().numpy(), count * expected, rtol=1e-6)
    if is_leaf:
        x.grad = given.clone()
        loss(x).backward(create_graph=creates[0])
        np.testing.assert_allclose(x.grad.detach().numpy(), given.numpy() + expected, rtol=1e-6)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_views_of_inference_tensors_are_none(requires_grad):
    with torch.inference_mode():
        leaf = torch.ones(2, requires_grad=requires_grad)
        inside = leaf.view(-1)
    for view in (inside, leaf.view(-1)):
        assert view.is_inference()
        assert not view._is_view()
        assert not view.requires_grad
        assert view.is_leaf
