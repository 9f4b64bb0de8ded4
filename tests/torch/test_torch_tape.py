"""autograd.graph.tape: its rows are what `backward()` replays; names, shapes, bytes, lines."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad.torch as torch
from tapegrad.torch.autograd import graph

UNARY = ("sin", "exp", "tanh", "square", "neg", "clone", "relu", "sigmoid")


def draw_program(data: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Leaves and a loss of a random program: writes, views, several results, dead calls."""
    leaves = [torch.rand(2, 3, dtype=torch.float64).requires_grad_() for _ in range(2)]
    values = list(leaves)
    made: dict[Any, Any] = {}
    for _ in range(data.draw(st.integers(1, 12))):
        x, y = (values[data.draw(st.integers(0, len(values) - 1))] for _ in range(2))
        kind = data.draw(st.sampled_from(("unary", "product", "sum", "view", "write", "parts")))
        if kind == "unary":
            z = getattr(x, data.draw(st.sampled_from(UNARY)))()
        elif kind == "product":
            z = x * y + 1.0
        elif kind == "sum":
            z = x + y.sum(0)
        elif kind == "view":
            z = x.t().reshape(2, 3)
        elif kind == "write":
            z = x.clone()
            z[0] = y[1]
            z.mul_(0.5)
        else:
            first, second = x.split([1, 2], dim=1)
            z = torch.cat([second * 2, first], 1)
        made[z.grad_fn] = z
        values.append(z)
    used = [value for value in values if data.draw(st.booleans())] or [values[-1]]
    return leaves, {"loss": sum((value.sin().sum() for value in used), torch.zeros(()))}


def nodes_behind(tensor: Any) -> set[Any]:
    """All nodes that `next_functions` leads to."""
    stack, seen = [tensor.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack += [parent for parent, _ in node.next_functions]
    return seen


def calls(view: Any) -> list[Any]:
    return [row for row in view if row.operation != "input" and row.operation[:7] != "output "]


@given(data=st.data())
def test_the_rows_are_what_backward_replays(data: Any) -> None:
    leaves, out = draw_program(data)
    loss = out["loss"]
    view = graph.tape(out).run()
    ran: list[str] = []
    for node in nodes_behind(loss):
        if not hasattr(node, "variable"):
            name = type(node).__name__
            node.register_prehook(lambda _, name=name: ran.append(name))
    expected = torch.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)
    rows = calls(view)
    assert [row.operation for row in reversed(rows)] == ran
    assert all(row.norm is not None and row.backward > 0 for row in rows)
    assert all(x.grad is None for x in leaves)
    norms = {row.name: row.norm for row in view if row.operation == "input"}
    found = [float(bar.norm()) for bar in expected if bar is not None]
    assert np.allclose(sorted(norms.values()), sorted(found))


@given(data=st.data())
def test_rows_read_earlier_rows_and_names_are_unique(data: Any) -> None:
    _, out = draw_program(data)
    view = graph.tape(out)
    assert [row.slot for row in view] == list(range(len(view)))
    for row in view:
        assert all(0 <= slot < row.slot for slot in row.reads)
        assert row.shape is not None or row.results > 1
    names = [row.name for row in view if row.name]
    assert len(set(names)) == len(names)
    assert view.outputs == {"output['loss']": len(view) - 1}


def test_shapes_and_dtypes_are_those_of_the_results() -> None:
    x = torch.rand(3, 1).requires_grad_()
    y = (x * torch.rand(1, 4)).double()
    z = torch.fft.fft(y)
    view = graph.tape({"y": y, "z": z})
    kinds = {row.operation: row.kind for row in calls(view)}
    assert kinds["MulBackward0"] == "float32[3,4]"
    assert kinds["ToCopyBackward0"] == "float64[3,4]"
    assert next(row for row in view if row.name == "output['z']").kind == "complex128[3,4]"


def test_leaves_have_the_names_of_the_modules_parameters() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    extra = torch.ones(1, requires_grad=True)
    loss = (model(torch.rand(5, 3)) * extra).sum()
    expected = {"0.weight", "0.bias", "2.weight", "2.bias", "leaf"}
    for params in (model, dict(model.named_parameters())):
        view = graph.tape(loss, params)
        assert {row.name for row in view if row.operation == "input"} == expected
    bare = [row.name for row in graph.tape(loss) if row.operation == "input"]
    assert bare == [f"leaf {i}" for i in range(5)]


def test_bytes_are_those_of_the_arrays_that_the_graph_keeps() -> None:
    x = torch.rand(1000, dtype=torch.float64).requires_grad_()
    view = graph.tape((x.sin() + x.exp()).sum())
    kept = {row.operation: row.bytes for row in view}
    assert kept["input"] == kept["ExpBackward0"] == 8000
    assert kept["SinBackward0"] == kept["AddBackward0"] == 0


def model_loss(x: Any) -> Any:
    y = x.exp()
    return (y * y).sum()


def test_lines_are_noted_in_anomaly_mode_and_of_a_function() -> None:
    x = torch.rand(3).requires_grad_()
    start = inspect.getsourcelines(model_loss)[1]
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly():
        noted = graph.tape(model_loss(x))
    for view in (noted, graph.tape(lambda: model_loss(x))):
        assert [row.site[0].line - start for row in calls(view)] == [1, 2, 2]
        assert {row.function for row in calls(view)} == {"model_loss"}
        assert len(view.summary(by="line")) == 2
    assert all(row.line == "" for row in graph.tape(model_loss(x)))
    assert not torch.is_anomaly_enabled()


def test_a_function_that_raises_leaves_the_modes_as_they_were() -> None:
    x = torch.rand(3).requires_grad_()
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        graph.tape(lambda: x / (1 // 0))
    assert not torch.is_anomaly_enabled()
    assert torch.is_grad_enabled()


def test_a_replay_changes_no_gradient_and_keeps_the_graph() -> None:
    x = torch.rand(3).requires_grad_()
    y = x.exp()
    y.retain_grad()
    loss = (y * x).sum()
    view = graph.tape(loss)
    view.run()
    assert view.replayed
    assert x.grad is None
    assert y.grad is None
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        view.run()
    later = graph.tape(loss)  # what was freed has no shape any more
    assert [row.operation for row in later] == [row.operation for row in view]
    assert sum(row.bytes for row in later) == 0
    str(later)


def test_several_results_take_one_gradient_each() -> None:
    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    out = {"a": 2 * x, "b": x.sum(), "constant": torch.ones(2), "n": 3, "x": x}
    view = graph.tape(out)
    assert view.outputs["output['constant']"] is None
    assert view.outputs["output['n']"] is None
    assert view[view.outputs["output['x']"]].operation == "input"
    (row,) = (row for row in view.run() if row.operation == "input")
    assert row.norm == pytest.approx(np.sqrt(3) * 4)  # 2 of a, 1 of b, 1 of x itself
    g = {"a": torch.zeros(3, dtype=torch.float64), "b": torch.tensor(5.0, dtype=torch.float64)}
    zeros = torch.zeros(3, dtype=torch.float64)
    (row,) = (
        row
        for row in view.run({**g, "constant": torch.ones(2), "n": None, "x": zeros})
        if row.operation == "input"
    )
    assert row.norm == pytest.approx(np.sqrt(3) * 5)


def test_a_result_that_is_a_leaf_alone() -> None:
    x = torch.rand(3).requires_grad_()
    view = graph.tape(x, {"x": x}).run()
    assert [(row.operation, row.name) for row in view] == [("input", "x")]
    assert "output is slot 0" in str(view)


def test_nothing_to_look_at_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="requires grad"):
        graph.tape(torch.ones(3))


def test_hooks_custom_functions_and_checkpoints() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * g + 0 * x

    x = torch.rand(3).requires_grad_()
    y = Double.apply(x)
    y.register_hook(lambda g: 3 * g)
    z = torch.utils.checkpoint.checkpoint(lambda v: v.exp().sin(), y, use_reentrant=False)
    view = graph.tape(z.sum()).run()
    assert "DoubleBackward" in {row.operation for row in view}
    (row,) = (row for row in view if row.operation == "input")
    (expected,) = torch.autograd.grad(z.sum(), x)
    assert row.norm == pytest.approx(float(expected.norm()), rel=1e-5)


def test_passes_of_other_threads_are_not_noted() -> None:
    x = torch.rand(3).requires_grad_()
    view = graph.tape((x * x).sum())
    stop = threading.Event()

    def train() -> None:
        w = torch.rand(3).requires_grad_()
        while not stop.is_set():
            (w.exp() * w).sum().backward()

    thread = threading.Thread(target=train)
    thread.start()
    try:
        for _ in range(20):
            view.run()
            assert view[0].norm == pytest.approx(float((2 * x).norm().detach()), rel=1e-5)
    finally:
        stop.set()
        thread.join()


def test_a_view_is_saved_and_summed_as_that_of_a_function(tmp_path: Any) -> None:
    x = torch.rand(3).requires_grad_()
    view = graph.tape((x * x).sum(), {"x": x}).run()
    assert {group.name for group in view.summary()} == {"MulBackward0", "SumBackward0"}
    for ending in ("svg", "html", "csv", "dot", "mmd", "txt"):
        view.save(tmp_path / f"tape.{ending}")
    assert "MulBackward0" in (tmp_path / "tape.svg").read_text(encoding="utf-8")
