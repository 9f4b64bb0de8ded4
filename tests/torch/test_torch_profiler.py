"""`torch.autograd.profiler`: what is recorded, the sums of times, tables, traces, stacks."""

from __future__ import annotations

import gc
import json
import statistics
import sys
import threading
from collections import Counter

import pytest

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.autograd import Function, profiler_util
from tapegrad.torch.autograd.profiler import KinetoStepTracker, emit_itt, profile, record_function

ENGINE = "autograd::engine::evaluate_function: "


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def train(steps=2):
    """Steps of a small net, with a custom Function and a range."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    for _ in range(steps):
        optimizer.zero_grad()
        with record_function("forward"):
            loss = (Double.apply(net(x)) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss


@pytest.fixture(scope="module")
def profiled():
    with profile(record_shapes=True, with_stack=True, profile_memory=True) as prof:
        train()
    return prof


def tree(event):
    return (event.name, [tree(child) for child in event.cpu_children])


def tops(prof):
    return [tree(event) for event in prof.function_events if event.cpu_parent is None]


def step(node, *within):
    return (f"{ENGINE}{node}", [(node, list(within))])


def test_a_step_of_training_is_recorded_call_by_call():
    with profile() as prof:
        train(1)
    leaf = step("torch::autograd::AccumulateGrad")
    names = ["zero_grad", "step"]
    zero_grad, step_of = ((f"Optimizer.{name}#SGD.{name}", []) for name in names)
    found = tops(prof)
    at = found.index(zero_grad)  # the net is made before
    linear, relu = ("aten::linear", []), ("aten::relu", [])
    forward = [linear, relu, linear, ("Double", [("aten::mul", [])])]
    assert found[at : at + 2] == [
        zero_grad,
        ("forward", [*forward, ("aten::pow", []), ("aten::mean", [])]),
    ]
    assert found[at + 2 :] == [
        ("aten::ones_like", []),
        step("MeanBackward0"),
        step("PowBackward0"),
        step("DoubleBackward", ("aten::mul", [])),
        step("AddmmBackward0"),
        step("ReluBackward0"),
        step("AddmmBackward0"),
        *[leaf] * 4,
        step_of,
    ]


@pytest.mark.parametrize("options", [{}, {"create_graph": True}, {"retain_graph": True}])
def test_all_kinds_of_passes_record_their_nodes(options):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).exp()
    with profile() as prof:
        y.sum().backward(**options)
    names = [event.name for event in prof.function_events if event.name.startswith(ENGINE)]
    nodes = ["SumBackward0", "ExpBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    assert names == [f"{ENGINE}{name}" for name in nodes]


def test_hooks_run_within_their_node():
    x = torch.ones(3, requires_grad=True)
    y = x * x
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, inputs[1].neg()))
    with profile() as prof:
        y.sum().backward()
    found = dict(tops(prof))
    assert found[f"{ENGINE}MulBackward0"] == step("MulBackward0", *_calls("add", "neg"))[1]
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def _calls(*names):
    return [(f"aten::{name}", []) for name in names]


def test_a_profiled_program_computes_the_same():
    plain = train(3)
    with profile():
        recorded = train(3)
    with profile(record_shapes=True, with_stack=True, profile_memory=True):
        detailed = train(3)
    assert plain.item() == recorded.item() == detailed.item()


def test_grads_of_chosen_inputs_do_not_accumulate():
    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        torch.autograd.grad((x * x).sum(), x)
    names = {event.name for event in prof.function_events}
    assert f"{ENGINE}MulBackward0" in names
    assert "torch::autograd::AccumulateGrad" not in names


# --- Sums ---------------------------------------------------------------------------------------


def test_own_times_add_up_to_the_total(profiled):
    events = profiled.function_events
    top = sum(event.cpu_time_total for event in events if event.cpu_parent is None)
    assert events.self_cpu_time_total == pytest.approx(top)
    assert profiled.self_cpu_time_total == pytest.approx(top)
    assert profiled.total_average().self_cpu_time_total == pytest.approx(top)
    assert profiled.key_averages().self_cpu_time_total == pytest.approx(top)
    assert all(event.self_cpu_time_total > -1e-6 for event in events)
    for event in events:
        inner = sum(child.cpu_time_total for child in event.cpu_children)
        assert event.cpu_time_total == pytest.approx(event.self_cpu_time_total + inner)
        memory = sum(child.cpu_memory_usage for child in event.cpu_children)
        assert event.cpu_memory_usage == event.self_cpu_memory_usage + memory
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start
            assert child.time_range.end <= event.time_range.end


@pytest.mark.parametrize(
    "groups",
    [{}, {"group_by_input_shape": True}, {"group_by_stack_n": 2}, {"group_by_stack_n": 9}],
)
def test_averages_are_of_the_calls_of_their_name(profiled, groups):
    events = profiled.function_events
    averages = profiled.key_averages(**groups)
    counts, times = Counter(), Counter()
    for average in averages:
        counts[average.key] += average.count
        times[average.key] += average.cpu_time_total
        assert average.cpu_time == pytest.approx(average.cpu_time_total / average.count)
        assert len(average.stack) <= groups.get("group_by_stack_n", 0)
    assert counts == Counter(event.key for event in events)
    for name in times:
        total = sum(event.cpu_time_total for event in events if event.key == name)
        assert times[name] == pytest.approx(total)
    linear = [average for average in averages if average.key == "aten::linear"]
    shapes = [[[5, 3], [4, 3], [4]], [[5, 4], [1, 4], [1]]]
    if groups.get("group_by_input_shape"):
        assert [average.input_shapes for average in linear] == shapes
    assert sum(average.count for average in linear) == 4
    assert len(averages) == len({id(average) for average in averages}) <= len(events)


@pytest.mark.slow
def test_memory_is_that_of_the_result():
    # The process's memory is measured: what a first call remembers, a table that grows and another
    # thread are in it, in one turn or another. What most turns agree on belongs to the calls.
    turns = []
    for _ in range(5):
        gc.collect()
        with profile(profile_memory=True) as prof:
            x = torch.zeros(250, 500)  # 500,000 bytes
            y = x + 1
            y.add_(1)
            z = y[0]
        turns.append({event.name: event.cpu_memory_usage for event in prof.function_events})
        assert z.shape == (500,)
        del x, y, z
    used = {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}
    assert used["aten::zeros"] == pytest.approx(500_000, abs=3000)
    assert used["aten::add"] == pytest.approx(500_000, abs=3000)
    assert used["aten::add_"] == pytest.approx(0, abs=3000)
    assert used["aten::select"] == pytest.approx(0, abs=3000)
    table = prof.key_averages().table(sort_by="self_cpu_memory_usage", row_limit=2)
    assert "CPU Mem  Self CPU Mem" in table
    assert "488." in table
    assert " KB" in table


# --- Tables -------------------------------------------------------------------------------------

COLUMNS = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
MEMORY = ["CPU Mem", "Self CPU Mem"]


def columns(table):
    """The titles of a table, by the dashes above them."""
    lines = table.splitlines()
    rule = next(place for place, line in enumerate(lines) if line.startswith("-"))
    title, found, at = lines[rule + 1], [], 0
    for dashes in lines[rule].split("  ")[:-1]:
        found.append(title[at : at + len(dashes)].strip())
        at += len(dashes) + 2
    return found


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("options", "groups", "more"),
    [
        ({}, {}, ["# of Calls"]),
        ({"profile_memory": True}, {}, [*MEMORY, "# of Calls"]),
        ({"record_shapes": True}, {"group_by_input_shape": True}, ["# of Calls", "Input Shapes"]),
        ({"with_stack": True}, {"group_by_stack_n": 1}, ["# of Calls", "Source Location"]),
    ],
)
def test_the_columns_are_pytorchs(options, groups, more):
    with profile(**options) as prof:
        torch.ones(2).add(1)
    assert columns(prof.table()) == columns(str(prof)) == [*COLUMNS, *more]
    assert columns(prof.key_averages(**groups).table()) == [*COLUMNS, *more]
    assert columns(prof.key_averages().table()) == [*COLUMNS, *(more if not groups else more[:-1])]


@pytest.mark.parametrize(
    "sort_by",
    [
        *("cpu_time", "cpu_time_total", "self_cpu_time_total", "count", "cpu_memory_usage"),
        *("cuda_time", "cuda_time_total", "self_cpu_memory_usage", "self_cuda_time_total"),
    ],
)
def test_rows_are_sorted_by_an_attribute(profiled, sort_by):
    averages = profiled.key_averages()
    rows = averages.table(sort_by=sort_by, max_name_column_width=99).splitlines()[3:-2]
    shown = [row.split("  ")[-1] or row for row in rows]
    wanted = sorted(averages, key=lambda event: getattr(event, sort_by), reverse=True)
    assert len(shown) == len(wanted)
    assert all(event.key in row for event, row in zip(wanted, rows, strict=True))
    assert len(averages.table(sort_by=sort_by, row_limit=3).splitlines()) == 3 + 3 + 2


def test_options_of_tables(profiled):
    averages = profiled.key_averages()
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        averages.table(sort_by="nope")
    assert averages.table(header="HEAD").splitlines()[1] == "HEAD"
    short = averages.table(max_name_column_width=20).splitlines()
    assert len(short[0].split("  ")[0]) == 20
    assert any(line.startswith("autograd::engine:...") for line in short)
    top = profiled.table(top_level_events_only=True, row_limit=-1)
    assert "This report only display top-level ops statistics" in top
    assert "aten::linear" not in top  # they are within "forward"
    assert "ms  " in averages.table(time_unit="ms")
    with pytest.raises(ValueError, match="time_unit should be one of s, ms, us"):
        averages.table(time_unit="h")
    last = averages.table().splitlines()[-1]
    assert (
        last == f"Self CPU time total: {profiler_util._format_time(profiled.self_cpu_time_total)}"
    )
    assert profiler_util.EventList().table() == ""


def test_names_are_cut_where_they_are_longer_than_their_column(profiled):
    averages = profiled.key_averages()
    longest = max(len(event.key) for event in averages)
    for limit in range(12, longest + 8):
        width = min(limit, longest + 4)
        rows = averages.table(max_name_column_width=limit, row_limit=-1).splitlines()[3:-2]
        for event, row in zip(averages, rows, strict=True):
            whole = len(event.key) <= width
            name = event.key if whole else event.key[: width - 3] + "..."
            assert row[: width + 2] == name.rjust(width) + "  "


@pytest.mark.parametrize(
    ("number", "time", "memory"),
    [
        (0, "0.000us", "0 B"),
        (12.3456, "12.346us", "12.06 KB"),
        (999.99999, "1000.000us", "976.56 KB"),
        (1000, "1.000ms", "976.56 KB"),
        (1234567, "1.235s", "1.15 GB"),
        (-2000, "-2000.000us", "-1.91 MB"),
    ],
)
def test_times_and_bytes_are_written_as_by_pytorch(number, time, memory):
    assert profiler_util._format_time(number) == time
    assert profiler_util._format_memory(int(number * 1000)) == memory


def test_shares_of_no_time():
    assert profiler_util._format_time_share(1, 8) == "12.50%"
    assert profiler_util._format_time_share(0, 0) == "NaN"
    with pytest.raises(AssertionError, match="Expected time_us == 0 but got 1"):
        profiler_util._format_time_share(1, 0)


# --- Traces and stacks --------------------------------------------------------------------------


def check_trace(trace):
    """Whether a trace is as the trace event format wants it: a tool can show it."""
    assert isinstance(trace["traceEvents"], list)
    stacks, flows = {}, {}
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    for event in trace["traceEvents"]:
        assert event["ph"] in "XMsf"
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert event["ts"] >= 0
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
        elif event["ph"] in "sf":
            flows.setdefault(event["id"], []).append(event)
    for event in sorted(complete, key=lambda event: (event["ts"], -event["dur"])):
        assert event["dur"] >= 0
        assert isinstance(event["cat"], str)
        stack = stacks.setdefault(event["tid"], [])
        end = event["ts"] + event["dur"]
        while stack and stack[-1] <= event["ts"] + 1e-6:
            stack.pop()
        assert not stack or end <= stack[-1] + 1e-3, "slices of a thread must nest"
        stack.append(end)
    for flow in flows.values():
        start, end = flow
        assert (start["ph"], end["ph"], end["bp"]) == ("s", "f", "e")
        assert start["ts"] <= end["ts"]
        for part in flow:  # a flow is bound to the slice that encloses it
            assert any(
                e["tid"] == part["tid"] and e["ts"] <= part["ts"] <= e["ts"] + e["dur"]
                for e in complete
            )
    return complete, flows


def test_a_trace_is_in_the_trace_event_format(profiled, tmp_path):
    path = tmp_path / "trace.json"
    profiled.export_chrome_trace(path)
    complete, flows = check_trace(json.loads(path.read_text()))
    assert [event["name"] for event in complete] == [
        event.name for event in profiled.function_events
    ]
    linear = next(event for event in complete if event["name"] == "aten::linear")
    assert linear["args"]["Input Dims"] == [[5, 3], [4, 3], [4]]
    assert linear["cat"] == "cpu_op"
    forward = next(event for event in complete if event["name"] == "forward")
    assert forward["cat"] == "user_annotation"
    assert len(flows) == 2 * 6  # two steps of six nodes


def test_a_trace_of_events_that_were_built_by_hand(tmp_path):
    events = profiler_util.EventList(
        [profiler_util.FunctionEvent(1, "f", 7, 0.5, 2.5), _named_event("g")]
    )
    events.export_chrome_trace(tmp_path / "trace.json")
    complete, _ = check_trace(json.loads((tmp_path / "trace.json").read_text()))
    assert [(e["name"], e["ts"], e["dur"]) for e in complete] == [("f", 0.5, 2.0), ("g", 0, 1)]


def _named_event(name):
    return profiler_util.FunctionEvent(id=2, name=name, thread=1, start_us=0, end_us=1)


def test_stacks_are_the_lines_of_the_program(profiled, tmp_path):
    for event in profiled.function_events:
        if event.name.startswith("aten::linear"):
            assert ": train" in "".join(event.stack[:2])
            assert any("test_torch_profiler.py(" in line for line in event.stack)
            assert not any("tapegrad/torch" in line for line in event.stack)
    nodes = [event for event in profiled.function_events if event.name == "AddmmBackward0"]
    calls = [event for event in profiled.function_events if event.name == "aten::linear"]
    assert nodes[0].stack == calls[1].stack  # a node has the stack of its call
    assert nodes[0].sequence_nr == calls[1].sequence_nr >= 0
    profiled.export_stacks(str(tmp_path / "stacks"), "self_cpu_time_total")
    lines = (tmp_path / "stacks").read_text().splitlines()
    for line in lines:
        frames, value = line.rsplit(" ", 1)
        assert int(value) > 0
        assert "test_torch_profiler.py(" in frames
    with pytest.raises(ValueError, match="metric should be one of"):
        profiled.export_stacks(str(tmp_path / "stacks"), "nope")
    with profile() as plain:
        torch.ones(1)
    with pytest.raises(AssertionError, match=r"export_stacks\(\) requires with_stack=True"):
        plain.export_stacks(str(tmp_path / "stacks"))


# --- Threads ------------------------------------------------------------------------------------


def test_each_threads_events_are_apart():
    together = threading.Barrier(4)  # the number of a thread that ended may be used again

    def work():
        x = torch.ones(3, requires_grad=True)
        together.wait()
        for _ in range(20):
            (x * x).sum().backward()
        together.wait()

    with profile() as prof:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
    events = prof.function_events
    for event in events:
        assert all(child.thread == event.thread for child in event.cpu_children)
    by_thread = Counter((event.thread, event.name) for event in events)
    for thread in range(1, 5):
        assert by_thread[thread, "aten::mul"] == by_thread[thread, "MulBackward0"] == 20
    assert len({event.device_resource_id for event in events}) == 4


# --- Switching ----------------------------------------------------------------------------------


def test_nothing_of_a_profile_is_left(tmp_path):
    before = {**vars(torch.Tensor)}
    functions = dict(torch._ops.declare.OPERATIONS), dict(vars(torch.nn.functional))
    vars(torch).pop("expm1", None)
    with profile():
        torch.expm1(torch.ones(1))
        kept = torch.sin
    assert {**vars(torch.Tensor)} == before
    assert functions == (dict(torch._ops.declare.OPERATIONS), dict(vars(torch.nn.functional)))
    assert torch.expm1 is torch._ops.declare.OPERATIONS["expm1"]
    assert kept(torch.zeros(1)).item() == 0
    with pytest.raises(ZeroDivisionError):
        _raise_within_a_profile()
    assert {**vars(torch.Tensor)} == before


def _raise_within_a_profile():
    with profile():
        raise ZeroDivisionError


def test_names_that_a_program_imported_are_recorded(monkeypatch):
    monkeypatch.setitem(sys.modules[__name__].__dict__, "my_relu", torch.nn.functional.relu)
    with profile() as prof:
        my_relu(torch.ones(1))  # noqa: F821 - put there above
        torch.nn.functional.gelu(torch.ones(1))
        torch.linalg.inv(torch.eye(2))
    names = [name for name, _ in tops(prof) if name not in ("aten::ones", "aten::eye")]
    assert names == ["aten::relu", "aten::gelu", "aten::linalg_inv"]


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("read", "name"),
    [
        (lambda x: x[0], "select"),
        (lambda x: x[:, 1], "select"),
        (lambda x: x[1:], "slice"),
        (lambda x: x[None], "unsqueeze"),
        (lambda x: x[torch.tensor([0])], "index"),
        (lambda x: x[x > 0], "index"),
        (lambda x: x.T, "numpy_T"),
        (lambda x: 2 - x, "rsub"),
        (lambda x: x.double(), "to"),
        (lambda x: x.add_(1), "add_"),
        (lambda x: x.__setitem__(0, 1.0), "fill_"),
        (lambda x: x.__setitem__(0, x[1]), "copy_"),
        (lambda x: x.__setitem__(x > 0, 1.0), "index_put_"),
        (lambda x: bool(x.sum()), "is_nonzero"),
        (lambda x: torch.cat([x, x]), "cat"),
    ],
)
def test_operations_have_pytorchs_names(read, name):
    x = torch.ones(2, 2)
    with profile() as prof:
        read(x)
    assert tops(prof)[-1][0] == f"aten::{name}"


@pytest.mark.parametrize("ask", [repr, len, torch.Tensor.tolist, torch.Tensor.is_contiguous])
def test_questions_make_no_events(ask):
    x = torch.ones(2)
    with profile() as prof:
        ask(x)
        x.contiguous()
        x.type()
    assert tops(prof) == []


# --- Managers -----------------------------------------------------------------------------------


def test_a_disabled_profile_records_nothing():
    with profile(enabled=False) as prof:
        torch.ones(1)
    assert prof is None
    off = profile(enabled=False)
    assert off.function_events == off.key_averages() == []
    assert off.table() == ""


def test_a_profile_is_entered_once_and_asked_afterwards():
    prof = profile()
    with prof:
        assert repr(prof) == "<unfinished torch.autograd.profile>"
        assert prof.function_events == prof.key_averages() == []
        with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
            prof.__enter__()
    assert prof.function_events == []
    assert str(prof) == ""


def test_what_has_no_effect_says_so():
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        assert profile(use_cuda=True).use_cuda is False
    with pytest.warns(UserWarning, match="XPU is not available, disabling XPU profiling"):
        profile(use_device="xpu")
    with pytest.warns(UserWarning, match="use_cpu=False is ignored"):
        profile(use_cpu=False)
    with pytest.warns(UserWarning, match="with_flops is not supported"):
        profile(with_flops=True)
    with pytest.raises(RuntimeError, match="ranges for Intel's VTune are not supported"):
        emit_itt().__enter__()
    with emit_itt(enabled=False):
        pass


def test_a_range_decorates_functions():
    @record_function("named")
    def call(x):
        return x.exp() if x.ndim == 0 else call(x.sum())

    call(torch.ones(2))
    with profile() as prof:
        assert call.__name__ == "call"
        call(torch.zeros(2))
    inner = ("named", [("aten::exp", [])])
    assert tops(prof)[1:] == [("named", [("aten::sum", []), inner])]


def test_steps_are_counted_by_who_counts(monkeypatch):
    monkeypatch.setattr(KinetoStepTracker, "_current_step", 0)
    KinetoStepTracker.init_step_count("a")
    assert [KinetoStepTracker.increment_step("a") for _ in range(2)] == [1, 2]
    assert KinetoStepTracker.increment_step("b") == 3
    assert KinetoStepTracker.current_step() == 3
    assert KinetoStepTracker.erase_step_count("a")
    assert not KinetoStepTracker.erase_step_count("a")
    assert KinetoStepTracker.erase_step_count("b")


# --- The programs of the documents --------------------------------------------------------------


def test_the_document_of_the_old_api():
    with pytest.warns(DeprecationWarning, match="Variable is deprecated"):
        x = torch.autograd.Variable(torch.randn(1, 1), requires_grad=True)
    with torch.autograd.profiler.profile() as prof:
        y = x**2
        y.backward()
    assert [line.split()[0] for line in str(prof).splitlines()[3:5]] == [
        "aten::pow",
        "aten::ones_like",
    ]
    assert {"PowBackward0", "torch::autograd::AccumulateGrad"} <= {
        event.name for event in prof.function_events
    }
    assert prof.total_average().key == "Total"
    for key in ("cpu_time", "cuda_time", "cpu_time_total", "cuda_time_total", "count"):
        assert "aten::pow" in prof.table(sort_by=key)


def test_the_document_of_the_walk_through(capsys):
    """Its model is ResNet-18, here a small net; the rest is as it stands there."""
    x = torch.randn((1, 3), requires_grad=True)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    with torch.autograd.profiler.profile() as prof:
        for _ in range(10):
            y = model(x)
            y = torch.sum(y)
            y.backward()
    # NOTE: some columns were removed for brevity
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))
    printed = capsys.readouterr().out
    assert printed.startswith("-----")
    assert "Self CPU time total: " in printed
    counts = {average.key: average.count for average in prof.key_averages()}
    assert counts["aten::linear"] == counts["AddmmBackward0"] == 20
    assert counts["torch::autograd::AccumulateGrad"] == 50


@pytest.mark.parametrize(
    ("layer", "shape", "names"),
    [
        ("MaxPool1d(2)", (2, 3, 8), ["max_pool1d"]),
        ("MaxPool2d(2)", (2, 3, 8, 8), ["max_pool2d"]),
        ("AvgPool2d(2)", (2, 3, 8, 8), ["avg_pool2d"]),
        ("AdaptiveAvgPool2d(1)", (2, 3, 8, 8), ["adaptive_avg_pool2d"]),
        ("AdaptiveMaxPool2d(1)", (2, 3, 8, 8), ["adaptive_max_pool2d"]),
        ("Conv2d(3, 2, 2)", (2, 3, 8, 8), ["conv2d"]),
        ("Conv2d(3, 2, 2, padding=1, padding_mode='circular')", (2, 3, 8, 8), ["pad", "conv2d"]),
        ("AvgPool1d(2)", (2, 3, 8), ["avg_pool1d"]),
        ("ConvTranspose2d(3, 2, 2)", (2, 3, 8, 8), ["conv_transpose2d"]),
        ("LSTM(8, 2)", (5, 2, 8), ["lstm"]),
        ("GRU(8, 2)", (5, 2, 8), ["gru"]),
        ("RNN(8, 2)", (5, 2, 8), ["rnn_tanh"]),
        ("ReLU()", (3,), ["relu"]),
        ("ReLU(inplace=True)", (3,), ["relu_"]),
    ],
)
def test_layers_have_the_rows_that_pytorch_has(layer, shape, names):
    module, x = eval(f"torch.nn.{layer}", {"torch": torch}), torch.ones(*shape)
    with profile() as prof:
        module(x)
    assert {event.key: event.count for event in prof.key_averages()} == {
        f"aten::{name}": 1 for name in names
    }


def test_functions_in_place_are_one_event():
    x = torch.ones(3)
    with profile() as prof:
        torch.relu_(x)
        x.add_(1)
        1 / x
    assert [event.name for event in prof.function_events] == [
        "aten::relu_",
        "aten::add_",
        "aten::reciprocal",
        "aten::mul",
    ]
