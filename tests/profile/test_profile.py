"""The recorder of profiles on plain functions: nesting, sums, threads, switching."""

from __future__ import annotations

import threading
import tracemalloc
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapegrad._profile import recorder as recording
from tapegrad._profile import switch
from tapegrad._profile.events import BACKWARD, FUNCTION, USER, Detail, Event, nested
from tapegrad._profile.recorder import LOG, Range, Recorder, is_recording
from tapegrad._profile.switch import Place, switch_in, switch_out, watcher
from tapegrad._profile.trace import trace_of

MAIN = threading.get_ident()


@pytest.fixture
def program(monkeypatch):
    """A module with functions that call each other, declared alone to the recorder."""
    module = types.ModuleType("program")
    module.leaf = lambda n: [0] * n
    module.outer = lambda n: [module.leaf(n), module.leaf(n)]

    def fails():
        module.leaf(1)
        raise ValueError("on purpose")

    module.fails = fails

    def source(log):
        for name in ("leaf", "outer", "fails"):
            yield Place(module, name, log.recording(vars(module)[name], name))

    monkeypatch.setattr(switch, "_SOURCES", [source])
    return module


def tree(event):
    """An event as its name and what is within."""
    return (event.name, [tree(child) for child in event.children])


def roots(recorder):
    return [tree(event) for event in recorder.events() if event.parent is None]


def test_calls_are_nested_as_they_were_made(program):
    recorder = Recorder().start()
    program.outer(1)
    program.leaf(1)
    recorder.stop()
    assert roots(recorder) == [("outer", [("leaf", []), ("leaf", [])]), ("leaf", [])]


def test_a_call_that_raises_is_recorded(program):
    recorder = Recorder().start()
    with pytest.raises(ValueError, match="on purpose"):
        program.fails()
    recorder.stop()
    assert roots(recorder) == [("fails", [("leaf", [])])]


def test_the_functions_are_the_programs_own_before_and_after(program):
    before = dict(vars(program))
    with pytest.raises(KeyError):
        _raise_within(Recorder())
    recorder = Recorder().start()
    kept = program.leaf
    assert kept is not before["leaf"]
    recorder.stop()
    assert dict(vars(program)) == before
    count = len(LOG.records)
    assert kept(3) == [0, 0, 0]  # what the program kept still works, and records nothing
    assert len(LOG.records) == count == 0
    assert not is_recording()


def _raise_within(recorder):
    recorder.start()
    try:
        raise KeyError
    finally:
        recorder.stop()


def test_what_the_program_changed_meanwhile_stays(program):
    recorder = Recorder().start()
    program.leaf = changed = lambda n: n
    recorder.stop()
    assert program.leaf is changed


def test_a_source_that_fails_leaves_everything_as_it_was(program, monkeypatch):
    before = program.leaf

    def broken(log):
        yield Place(program, "leaf", print)
        raise RuntimeError("no places")

    monkeypatch.setattr(switch, "_SOURCES", [*switch._SOURCES, broken])
    recorder = Recorder()
    with pytest.raises(RuntimeError, match="no places"):
        recorder.start()
    assert program.leaf is before
    assert watcher() is None
    assert not is_recording()


def test_two_watchers_of_different_kinds_do_not_run_at_once(program):
    recorder = Recorder().start()
    with pytest.raises(RuntimeError, match=r"^other cannot start while a profile runs: leave"):
        switch_in("other")
    recorder.stop()
    other = types.SimpleNamespace(recording=lambda function, name: function)
    switch_in(other)
    switch_out(other)


def test_recorders_within_each_other_record_what_is_theirs(program):
    outer = Recorder().start()
    program.leaf(1)
    inner = Recorder(shapes=True).start()  # the functions are switched once more
    program.outer(1)
    inner.stop()
    program.leaf(1)
    outer.stop()
    assert [name for name, _ in roots(inner)] == ["outer"]
    assert [name for name, _ in roots(outer)] == ["leaf", "outer", "leaf"]


def test_a_recorder_that_ends_after_a_later_one_began(program):
    first = Recorder().start()
    program.leaf(1)
    second = Recorder().start()
    program.outer(1)
    first.stop()
    program.leaf(1)
    second.stop()
    assert [name for name, _ in roots(first)] == ["leaf", "outer"]
    assert [name for name, _ in roots(second)] == ["outer", "leaf"]


def test_threads_are_apart(program):
    recorder = Recorder().start()
    threads = [
        threading.Thread(target=lambda: [program.outer(9) for _ in range(50)]) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    program.outer(9)
    for thread in threads:
        thread.join()
    recorder.stop()
    events = recorder.events()
    assert len(events) == 3 * 101  # 50 + 50 + 1 calls of outer
    for event in events:
        assert all(child.thread == event.thread for child in event.children)
        assert len(event.children) == (2 if event.name == "outer" else 0)


def test_ranges_are_recorded_within_a_profile_alone(program):
    span = Range("outside")
    span.start()
    recorder = Recorder().start()
    span.stop()
    with_name = Range("inside")
    with_name.start()
    program.leaf(1)
    with_name.stop()
    open_still = Range("open")
    open_still.start()
    recorder.stop()
    open_still.stop()
    assert roots(recorder) == [("inside", [("leaf", [])])]
    assert [event.kind for event in recorder.events()] == [USER, FUNCTION]


def test_memory_is_what_a_call_left(program):
    recorder = Recorder(memory=True).start()
    kept = program.leaf(10_000)
    program.leaf(10_000)
    outside = program.outer(10_000)
    recorder.stop()
    found = [event.detail.memory for event in recorder.events()]
    assert len(kept) == len(outside[0])
    assert found[0] == pytest.approx(80_000, abs=500)
    assert found[2] == pytest.approx(160_000, abs=1500)  # the records are not counted
    assert recording.tracemalloc.is_tracing() is False


def test_memory_is_counted_while_one_that_asked_for_it_runs(program):
    """The recorder that began to count may be the first one to end."""
    first, second = Recorder(memory=True).start(), Recorder(memory=True).start()
    first.stop()
    kept = program.outer(1000)
    second.stop()
    assert kept is not None
    assert not tracemalloc.is_tracing()
    assert any(event.detail.memory for event in second.events())


def test_the_stack_is_the_programs(program):
    recorder = Recorder(stack=True).start()
    program.outer(1)
    recorder.stop()
    first, inner, _ = (event.detail.stack for event in recorder.events())
    assert first[0].split(": ")[1] == "test_the_stack_is_the_programs"
    assert [line.split(": ")[1] for line in inner[:2]] == ["<lambda>", first[0].split(": ")[1]]
    assert "test_profile.py(" in first[0]


def test_shapes_are_those_of_arguments(program):
    array = types.SimpleNamespace(shape=(2, 3))
    assert recording.shapes_of([array, 1.5, [array, array], (1, 2), int]) == [
        *([2, 3], []),
        *([[2, 3], [2, 3]], []),
    ]


# --- Laws ---------------------------------------------------------------------------------------

trees = st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=4), max_leaves=25)


def records_of(children, begin, found):
    """Records of calls within calls, appended at their end; each takes some time of its own."""
    time = begin + 1
    for inner in children:
        time = records_of(inner, time, found)
    found.append((f"depth {len(found)}", FUNCTION, begin, time, MAIN, None))
    return time  # the next call may begin in the same nanosecond


def shape_of(event):
    return [shape_of(child) for child in event.children]


@given(st.lists(trees, min_size=1, max_size=4))
def test_nesting_gives_back_the_calls_and_own_times_add_up(calls):
    found, time = [], 0
    for call in calls:
        time = records_of(call, time, found)
    events = nested(found)
    tops = [event for event in events if event.parent is None]
    assert [shape_of(event) for event in tops] == calls
    assert sum(event.own for event in events) == sum(event.total for event in tops) == time
    assert all(event.own >= 0 for event in events)
    assert events == sorted(events, key=lambda event: event.begin)


def test_a_call_of_the_same_function_within_is_one_event():
    """As of a short path that hands an unusual call to the general operation."""
    records = [
        ("within", FUNCTION, 3, 4, MAIN, None),
        ("f", FUNCTION, 2, 5, MAIN, None),
        ("f", FUNCTION, 1, 6, MAIN, None),
        ("u", USER, 0, 7, MAIN, None),
        ("u", USER, 0, 7, MAIN, None),
    ]
    events = nested(records)
    assert [tree(event) for event in events if event.parent is None] == [
        ("u", [("u", [("f", [("within", [])])])])
    ]


def test_a_trace_names_threads_and_processes(program):
    recorder = Recorder().start()
    program.leaf(1)
    recorder.stop()
    trace = trace_of(recorder.events(), recorder.threads)
    names = [event for event in trace["traceEvents"] if event["ph"] == "M"]
    assert [event["args"]["name"] for event in names] == ["python", "MainThread"]


def test_each_flow_of_a_trace_has_a_number_of_its_own():
    # Two calls, the second of which is passed three times.
    calls = [Event("f", FUNCTION, n, n + 1, MAIN, Detail(number=n)) for n in (1, 2)]
    steps = [
        Event("g", BACKWARD, t, t + 1, MAIN, Detail(number=n))
        for t, n in zip((3, 4, 5, 6), (2, 2, 1, 2), strict=True)
    ]
    trace = trace_of([*calls, *steps], {})
    flows = {ph: [e for e in trace["traceEvents"] if e["ph"] == ph] for ph in "sf"}
    numbers = [event["id"] for event in flows["f"]]
    assert numbers == [event["id"] for event in flows["s"]]
    assert numbers[0] == 2
    assert numbers[2] == 1
    assert len(set(numbers)) == 4
    starts = [event["ts"] for event in flows["s"]]
    assert starts == [0.002, 0.002, 0.001, 0.002]
