"""`torch.profiler`: steps on a schedule, traces as files; and NVIDIA's tools."""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
import types

import pytest

import tapegrad.torch as torch
from tapegrad.torch.autograd.profiler import (
    EnforceUnique,
    emit_nvtx,
    load_nvprof,
    parse_nvprof_trace,
    profile,
)
from tapegrad.torch.autograd.profiler_util import MemRecordsAcc, StringTable
from tapegrad.torch.profiler import (
    ProfilerAction,
    ProfilerActivity,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

N, W, R, S = ProfilerAction


# --- Schedules ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "actions"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, [N, W, R, S, N, W, R, S, N, W]),
        ({"wait": 1, "warmup": 1, "active": 1, "repeat": 2}, [N, W, S, N, W, S, N, N, N, N]),
        ({"wait": 0, "warmup": 1, "active": 3, "skip_first": 2}, [N, N, W, R, R, S, W, R, R, S]),
        (
            {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
            [N, W, S, N, N, W, S, N, N, W],
        ),
    ],
)
def test_actions_follow_a_schedule(numbers, actions):
    action = schedule(**numbers)
    assert [action(step) for step in range(10)] == actions


def test_schedules_that_are_none():
    with pytest.raises(AssertionError, match=r"Got wait=-1 \(need >= 0\), warmup=1"):
        schedule(wait=-1, warmup=1, active=1)
    with pytest.raises(AssertionError, match=r"active=0 \(need > 0\)"):
        schedule(wait=0, warmup=1, active=0)
    with pytest.warns(UserWarning, match="Profiler won't be using warmup"):
        action = schedule(wait=0, warmup=0, active=1)
    with pytest.raises(AssertionError, match=r"Step must be non-negative. Got -1\."):
        action(-1)


def steps_of(prof):
    return [event.name for event in prof.events() if event.name.startswith("ProfilerStep#")]


@pytest.mark.part(2)
@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize(
    ("numbers", "count", "traces"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, 8, [[2, 3], [6, 7]]),
        ({"wait": 1, "warmup": 1, "active": 2}, 7, [[2, 3], [6]]),
        ({"wait": 0, "warmup": 1, "active": 1, "repeat": 2}, 9, [[1], [3]]),
        ({"wait": 0, "warmup": 2, "active": 2}, 1, []),
        ({"wait": 0, "warmup": 1, "active": 1, "skip_first": 2}, 6, [[3], [5]]),
    ],
)
def test_each_cycle_gives_a_trace_of_its_active_steps(numbers, count, traces):
    found = []

    def ready(prof):
        found.append([int(name.removeprefix("ProfilerStep#")) for name in steps_of(prof)])
        calls = {average.key: average.count for average in prof.key_averages()}
        assert calls["aten::add"] == calls["ProfilerStep*"] == len(found[-1])

    with torch.profiler.profile(schedule=schedule(**numbers), on_trace_ready=ready) as prof:
        for _ in range(count):
            with record_function("work"):
                torch.ones(2).add(1)
            if prof.step_num < count - 1:
                prof.step()
    assert found == traces


@pytest.mark.part(2)
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_events_of_all_cycles_are_kept_where_it_is_asked_for(kept):
    plan = schedule(wait=0, warmup=1, active=1)
    with torch.profiler.profile(schedule=plan, acc_events=kept) as prof:
        for _ in range(6):
            torch.ones(2).sin()
            prof.step()
    names = [event.name for event in prof.events()]
    # The block ends in a warmup, of which nothing is kept.
    assert names.count("aten::sin") == (3 if kept else 0)


def test_nothing_is_kept_of_a_warmup_that_the_block_ends_in():
    with torch.profiler.profile(schedule=schedule(wait=0, warmup=2, active=1)) as prof:
        torch.ones(2).sin()
    assert prof.events() == []


def test_a_label_is_a_text():
    with pytest.raises(RuntimeError, match="Expected a value of type 'str' for argument 'name'"):
        record_function(3).__enter__()


def test_without_a_schedule_all_is_one_trace():
    found = []
    with torch.profiler.profile(on_trace_ready=found.append) as prof:
        torch.ones(2).add(1)
        prof.step()
        torch.ones(2).add(1)
    assert found == [prof]
    assert [event.name for event in prof.events()] == ["aten::ones", "aten::add"] * 2


def test_schedules_that_end_a_trace_too_early():
    for actions, warning in [
        ([R, N], "Incorrect schedule: RECORD followed by NONE"),
        ([R, W], "Incorrect schedule: RECORD followed by WARMUP"),
        ([W, N], "Incorrect schedule: WARMUP followed by NONE"),
    ]:
        prof = torch.profiler.profile(schedule=dict(enumerate(actions)).__getitem__)
        prof.start()
        with pytest.warns(UserWarning, match=warning):
            prof.step()
        prof.stop()


def test_a_profiler_that_has_not_begun():
    prof = torch.profiler.profile()
    with pytest.raises(AssertionError, match="must be initialized before getting key averages"):
        prof.key_averages()
    with pytest.raises(AssertionError, match="must be initialized before exporting stacks"):
        prof.export_stacks("nowhere")
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        torch.profiler.profile(activities=[])
    with pytest.warns(UserWarning, match="ProfilerActivity.CUDA is not available"):
        torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    assert supported_activities() == {ProfilerActivity.CPU}
    assert not torch.profiler.kineto_available()


# --- Files --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*Profiler clears events")  # which a process hears once
@pytest.mark.part(2)
@pytest.mark.parametrize("use_gzip", [False, True])
def test_a_handler_writes_a_file_per_trace(tmp_path, use_gzip):
    folder = tmp_path / "log" / "run"
    handler = tensorboard_trace_handler(str(folder), "worker", use_gzip)

    def ready(prof):
        handler(prof)
        prof.export_stacks(str(tmp_path / "stacks"))

    plan = schedule(wait=0, warmup=1, active=1)
    with torch.profiler.profile(schedule=plan, on_trace_ready=ready, with_stack=True) as prof:
        prof.add_metadata("model", "small")
        prof.add_metadata_json("sizes", "[1, 2]")
        for _ in range(4):
            torch.ones(2).add(1)
            prof.step()
    files = sorted(folder.iterdir())
    assert len(files) == 2
    for file in files:
        assert file.name.startswith("worker.")
        assert file.name.endswith(".pt.trace.json.gz" if use_gzip else ".pt.trace.json")
        with (gzip.open if use_gzip else open)(file, "rt") as opened:
            trace = json.load(opened)
        assert {"aten::ones", "aten::add"} <= {event["name"] for event in trace["traceEvents"]}
        assert (trace["model"], trace["sizes"]) == ("small", [1, 2])
    assert (tmp_path / "stacks").read_text().count("test_torch_profiler_steps.py") >= 1


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    handler = tensorboard_trace_handler(str(tmp_path / "file" / "folder"))
    with torch.profiler.profile() as prof:
        torch.ones(1)
    with pytest.raises(RuntimeError, match="Can't create directory"):
        handler(prof)


# --- NVIDIA's tools -----------------------------------------------------------------------------


@pytest.fixture
def nvtx(monkeypatch):
    """A module in place of the package nvtx that notes its calls."""
    module = types.ModuleType("nvtx")
    module.calls, depth = [], []

    def push_range(message):
        module.calls.append((len(depth), message))
        depth.append(message)

    module.push_range, module.pop_range = push_range, depth.pop
    module.depth = depth
    module.__spec__ = types.SimpleNamespace(name="nvtx")
    monkeypatch.setitem(sys.modules, "nvtx", module)
    return module


def test_operations_and_nodes_are_ranges_of_nvtx(nvtx):
    x = torch.ones(2, requires_grad=True)
    manager = emit_nvtx(record_shapes=True)
    with manager:
        (x * x).sum().backward()
        with pytest.raises(RuntimeError, match="context manager is not reentrant"):
            manager.__enter__()
        with pytest.raises(RuntimeError, match="a profile cannot start while emit_nvtx runs"):
            profile().__enter__()
    torch.ones(2)
    engine = "autograd::engine::evaluate_function: "
    found = [(depth, message.split(", seq")[0]) for depth, message in nvtx.calls]
    assert found == [
        (0, "aten::mul, sizes = [[2], [2]]"),
        (0, "aten::sum, sizes = [[2]]"),
        (0, "aten::ones_like, sizes = [[], []]"),
        *[(0, f"{engine}SumBackward0"), (1, "SumBackward0")],
        *[(0, f"{engine}MulBackward0"), (1, "MulBackward0")],
        (0, f"{engine}torch::autograd::AccumulateGrad"),
        (1, "torch::autograd::AccumulateGrad"),
    ]
    assert nvtx.depth == []


def test_nvtx_is_asked_for_when_it_is_needed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs the package nvtx, which is not installed: pip"):
        emit_nvtx().__enter__()
    with emit_nvtx(enabled=False):
        pass


TABLES = """
CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER
    (_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT, id INT, name INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
    (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, correlationId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
    (_id_ INTEGER PRIMARY KEY, start INT, end INT, correlationId INT, name INT);
INSERT INTO StringTable VALUES (1, 'outer'), (2, 'aten::mul'), (3, 'mul_kernel');
INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES
    (1, 2, 2000, 11, 2), (2, 4, 9000, 11, 0), (3, 2, 1000, 12, 1), (4, 4, 20000, 12, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 211, 3000, 4000, 7);
INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1, 30000, 32500, 7, 3);
"""


@pytest.fixture
def nvprof(tmp_path):
    """A file as nvprof writes it: two ranges, in each other, with one kernel."""
    path = tmp_path / "trace.prof"
    file = sqlite3.connect(path)
    file.executescript(TABLES)
    file.commit()
    yield file, str(path)
    file.close()


def test_files_of_nvprof_are_read(nvprof):
    events = load_nvprof(nvprof[1])
    assert [event.name for event in events] == ["outer", "aten::mul"]
    assert [event.time_range.start for event in events] == [1.0, 2.0]
    assert [event.cpu_time_total for event in events] == [19.0, 7.0]
    assert [kernel.name for event in events for kernel in event.kernels] == ["mul_kernel"] * 2
    assert [event.cuda_time_total for event in events] == [2.5, 2.5]
    assert "aten::mul" in events.key_averages().table(sort_by="cuda_time_total")


def test_files_of_nvprof_that_contradict_themselves(nvprof):
    file, path = nvprof
    file.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET cbid = 13")
    file.commit()
    with pytest.raises(AssertionError, match="Expected cbid to be 211, but got 13"):
        parse_nvprof_trace(path)
    file.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (5, 2, 1, 11, 2)")
    file.commit()
    with pytest.raises(RuntimeError, match="duplicate key"):
        parse_nvprof_trace(path)


# --- Small parts that scripts import ------------------------------------------------------------


def test_small_parts():
    unique = EnforceUnique()
    unique.see(1, 2)
    unique.see(1, 3)
    with pytest.raises(RuntimeError, match=r"duplicate key: \(1, 2\)"):
        unique.see(1, 2)
    strings = StringTable()
    strings[1] = "one"
    assert (strings[1], strings[2], strings["x"]) == ("one", "2", "x")
    records = [(types.SimpleNamespace(start_ns=lambda at=at: at * 1000), at) for at in (5, 1, 3)]
    assert [at for _, at in MemRecordsAcc(records).in_interval(2, 5)] == [3, 5]
