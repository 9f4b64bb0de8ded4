"""`tapegrad.profile`: what it adds up, and to which lines; traces and stacks that it writes."""

import gc
import inspect
import itertools
import json
import threading
import time
import tracemalloc
import weakref
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad._arrays.traced import Array
from tapegrad._look.clock import Costs
from tapegrad._look.profile import PLAIN, TRANSFORMS
from tapegrad._transforms import forward
from tapegrad._transforms.recording import Recording

ONES = np.ones(6)


def layer(w, x):
    y = x @ w
    return np.tanh(y) * y


def loss(w, x):
    for _ in range(3):
        x = layer(w, x)
    return np.sum(x**2)


W = np.full((6, 6), 0.1)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def name_of_line(function, text):
    return f"test_profiles.py:{line_of(function, text)}"


def adds_up(found):
    """The own times of each table are the whole time."""
    for by in ("operation", "line", "function"):
        assert sum(row.own for row in found.table(by)) == pytest.approx(found.seconds, rel=1e-9)
        assert all(row.own <= row.total + 1e-12 for row in found.table(by))


def test_a_plain_function_is_profiled_with_its_gradient():
    found = tapegrad.profile(loss)(W, ONES)
    assert type(found.value) is np.float64
    assert found.value == loss(W, ONES)
    table = found.table()
    assert {row.name: row.calls for row in table if row.calls} == {
        "np.matmul": 3,
        "np.tanh": 3,
        "np.multiply": 3,
        "np.square": 1,  # as in the tape, of x**2
        "np.sum": 1,
    }
    assert all(row.forward > 0 and row.backward > 0 for row in table if row.calls)
    adds_up(found)


def test_times_and_bytes_are_at_the_lines_of_the_forward_calls():
    found = tapegrad.profile(loss)(W, ONES).table("line")
    tanh = found.row(name_of_line(layer, "np.tanh"))
    assert (tanh.calls, tanh.source) == (6, "return np.tanh(y) * y")
    assert tanh.backward > 0
    assert tanh.bytes == 6 * ONES.nbytes  # of tanh, and of the products
    matmul = found.row(name_of_line(layer, "x @ w"))
    assert matmul.bytes == 3 * ONES.nbytes
    caller = found.row(name_of_line(loss, "layer(w, x)"))
    assert caller.calls == caller.own == 0
    assert caller.total == pytest.approx(tanh.own + matmul.own)


def test_functions_have_the_time_of_what_they_call():
    found = tapegrad.profile(loss)(W, ONES).table("function", sort="total")
    inner, outer = found.row("layer"), found.row("loss")
    assert (inner.calls, outer.calls) == (9, 2)
    assert outer.total == pytest.approx(outer.own + inner.total)
    assert [row.total for row in found] == sorted((row.total for row in found), reverse=True)


def test_a_transform_runs_as_it_stands():
    found = tapegrad.profile(tapegrad.grad(loss))(W, ONES)
    assert np.array_equal(found.value, tapegrad.grad(loss)(W, ONES))
    assert found.table().row("np.tanh").calls == 3
    mapped = tapegrad.profile(tapegrad.vmap(partial(layer, W)))(np.ones((4, 6)))
    assert np.allclose(mapped.value, layer(W, np.ones((4, 6))))
    assert mapped.table().row("np.matmul").calls == 1
    assert mapped.table().row("np.matmul").backward == 0
    for one in (found, mapped):
        adds_up(one)


def test_operations_have_the_names_that_they_have_in_the_tape():
    def program(x):
        return np.sum(
            x**2 + x**3 + x**2.0 + 2**x + np.power(x, 2) + tapegrad.vmap(lambda y: y**2)(x)
        )

    table = tapegrad.profile(program)(ONES).table()
    rows = [row.operation for row in tapegrad.tape(program, ONES).rows]
    for name in ("np.square", "np.power"):
        assert table.row(name).calls == rows.count(name)


def test_forward_mode_has_tangents():
    direction = np.ones_like(W)
    found = tapegrad.profile(
        lambda w: tapegrad.jvp(loss, (w, ONES), (direction, ONES)), backward=False
    )(W)
    row = found.table().row("np.tanh")
    assert row.tangent > 0
    assert row.backward == 0
    adds_up(found)
    pushed = tapegrad.profile(
        lambda w: tapegrad.linearize(lambda w: loss(w, ONES), w)[1](direction), backward=False
    )(W)
    assert pushed.table("line").row(name_of_line(layer, "np.tanh")).tangent > 0
    adds_up(pushed)


def test_a_hessian_has_all_its_times_at_the_programs_lines():
    found = tapegrad.profile(tapegrad.hessian(lambda w: loss(w, ONES)))(W)
    assert found.value.shape == (6, 6, 6, 6)
    row = found.table("line").row(name_of_line(layer, "np.tanh"))
    assert row.tangent > 0
    assert row.backward > 0
    here = [row.name for row in found.table("line") if row.name.startswith("test_")]
    lines = {name_of_line(layer, "x @ w"), name_of_line(layer, "np.tanh")}
    assert lines <= set(here)
    adds_up(found)


def test_what_a_checkpoint_runs_again_is_a_column_at_its_own_lines():
    saved = tapegrad.checkpoint(layer)

    def checkpointed(w, x):
        for _ in range(3):
            x = saved(w, x)
        return np.sum(x**2)

    found = tapegrad.profile(checkpointed)(W, ONES)
    assert found.value == loss(W, ONES)
    tanh = found.table().row("np.tanh")
    assert tanh.calls == 3  # each of which ran again
    assert tanh.again > 0
    assert tanh.forward == 0  # it was part of the checkpoint's call
    assert tanh.backward > 0
    line = found.table("line").row(name_of_line(layer, "np.tanh"))
    assert line.again > 0
    assert line.backward > 0
    assert "again" in str(found)
    adds_up(found)


def test_a_rule_of_the_programs_own_is_one_operation():
    @tapegrad.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (2 * g * x,))
    found = tapegrad.profile(lambda x: np.sum(square(x)))(ONES)
    row = next(row for row in found.table() if "square" in row.name)
    assert row.calls == 1
    assert row.backward > 0


def test_a_compiled_function_is_one_operation():
    # Machine code is made in the background, and comes when it comes.
    compiled = tapegrad.compile(tapegrad.grad(lambda x: np.sum(np.sin(x))), backend="numpy")
    for _ in range(3):
        found = tapegrad.profile(compiled)(ONES)
    assert np.allclose(found.value, np.cos(ONES))
    names = [row.name for row in found.table() if row.calls]
    assert len(names) == 1
    assert names[0].startswith("compiled")


def test_python_and_numpy_on_plain_arrays_are_a_row(monkeypatch):
    clock = itertools.count(step=1000)  # a microsecond at each look, so that no machine is busy
    slept = []

    def now():
        return next(clock) + sum(slept)

    for module in ("events", "records", "runs"):
        monkeypatch.setattr(f"tapegrad._look.{module}.now", now)
    monkeypatch.setattr("tapegrad._look.profile.costs", Costs)

    def slow(x):
        slept.append(20_000_000)
        return np.sum(x)

    found = tapegrad.profile(slow)(ONES)
    row = found.table().row(PLAIN)
    assert 0.02 <= row.own <= found.seconds < 0.021
    assert found.table("line").row(PLAIN).own == pytest.approx(row.own)


def test_a_block_has_all_transforms_within():
    with tapegrad.profile() as found:
        for _ in range(5):
            tapegrad.grad(loss)(W, ONES)
    assert found.table().row("np.tanh").calls == 15
    assert found.table("line").row(name_of_line(layer, "np.tanh")).bytes == 6 * ONES.nbytes
    adds_up(found)
    with pytest.raises(tapegrad.InputError, match="a block of its own"), found:
        pass


def test_threads_are_apart():
    together = threading.Barrier(4)  # an identifier is used again when its thread has ended

    def work():
        together.wait()
        tapegrad.grad(loss)(W, ONES)
        together.wait()

    with tapegrad.profile() as found:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found.table().row("np.tanh").calls == 12
    assert len({event.thread for event in found.events}) == 5
    assert all(e.parent is None or e.parent.thread == e.thread for e in found.events)


def test_peaks_are_watched_where_it_is_asked_for():
    def program(x):
        big = np.sin(x)
        return np.sum(np.exp(big) * big)

    x = np.ones((4, 500_000))  # 16 MB: Python's own objects were up to 2 MB beside it
    mapped = tapegrad.vmap(program)
    tapegrad.profile(mapped, memory=True)(x)  # what is made once for all counts no more
    found = tapegrad.profile(mapped, memory=True)(x).table()
    for operation, arrays in (("np.sin", 2), ("np.exp", 3), ("np.multiply", 4)):  # x is copied
        # How many arrays there are at once: what other tests have left may go meanwhile, or come.
        assert round(found.row(operation).peak / x.nbytes) == arrays
    assert "peak" in str(found)
    plain = tapegrad.profile(program)(x)
    assert all(row.peak == 0 for row in plain.table())


def test_peaks_do_not_count_what_was_there_before():
    """Neither what a program still holds, nor what it held at a time before the block."""

    def program(x):
        return np.sum(np.exp(x) * x)

    x = np.ones(500_000)
    tapegrad.profile(program, memory=True)(x)
    peaks = []
    for before in (0, 10 * x.size):
        tracemalloc.start()
        try:
            held = np.ones(x.size)
            np.ones(before)
            found = tapegrad.profile(program, memory=True)(x).table(sort="name")
            assert tracemalloc.is_tracing()
            del held
        finally:
            tracemalloc.stop()
        peaks.append([row.peak / x.nbytes for row in found])  # in arrays
    np.testing.assert_allclose(peaks[1], peaks[0], atol=0.9)
    assert max(peaks[0]) > 2


def test_what_watching_allocates_is_not_taken_off_twice():
    """Each call frees what it allocates, as does what watches it."""

    def program(x):
        for _ in range(1000):
            np.sin(x)
        return x

    mapped = tapegrad.vmap(program)
    tapegrad.profile(mapped, memory=True)(np.ones((2, 3)))
    whole, *_, last = tapegrad.profile(mapped, memory=True)(np.ones((2, 3))).events
    assert 0 <= whole.detail.memory < 10**6
    assert last.detail.memory >= 0


def test_a_function_that_raises_leaves_nothing_in_place():
    before = dict(vars(Array))

    def fails(x):
        np.sin(x)
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        tapegrad.profile(fails)(ONES)
    assert dict(vars(Array)) == before
    with tapegrad.profile() as found, pytest.raises(ValueError, match="shapes"):
        tapegrad.grad(lambda x: np.sum(x + np.ones(7)))(ONES)
    adds_up(found)
    assert dict(vars(Array)) == before


def test_blocks_that_end_in_another_order_leave_nothing_in_place():
    before = dict(vars(Array)), dict(vars(Recording)), dict(vars(forward))
    for inner_first in (False, True):
        blocks = [tapegrad.debug_nans(), tapegrad.profile()]
        if inner_first:
            blocks.reverse()
        for block in blocks:
            block.__enter__()
        tapegrad.grad(loss)(W, ONES)
        for block in blocks:  # the outer one first
            block.__exit__(None, None, None)
        assert (dict(vars(Array)), dict(vars(Recording)), dict(vars(forward))) == before


@pytest.mark.slow
def test_a_profile_holds_no_arrays_of_the_program():
    def held(run):
        x = np.ones(1000)
        return run(x), weakref.ref(x)

    def block(x):
        with tapegrad.profile() as found:
            tapegrad.grad(np.sum)(x)
        return found

    def report(x):
        return tapegrad.memory_report(lambda y: np.sum(np.sin(y)), x)

    for run in (block, tapegrad.profile(np.sum), report):
        found, x = held(run)
        gc.collect()
        assert x() is None
        assert str(found)


def test_what_is_taken_off_too_much_is_not_taken_off_what_comes_later(monkeypatch):
    """As where a busy machine made the watching look slow when it was measured."""
    much = Costs(10**6, 10**6, dict.fromkeys(range(30), 10**6), dict.fromkeys(range(30), 10**6))
    monkeypatch.setattr("tapegrad._look.profile.costs", lambda: much)

    def program(x):
        for _ in range(100):
            x = np.sin(x)
        time.sleep(0.02)
        return np.sum(x)

    found = tapegrad.profile(program)(ONES)
    assert found.table().row(PLAIN).own > 0.017
    assert found.seconds > 0.017
    adds_up(found)


def test_a_profile_that_has_not_ended_says_so(tmp_path):
    with tapegrad.profile() as found:
        for call in (
            found.table,
            partial(found.export_chrome_trace, tmp_path / "trace.json"),
            partial(found.export_stacks, tmp_path / "stacks.txt"),
        ):
            with pytest.raises(tapegrad.InputError, match="Leave it first"):
                call()
        assert str(found) == "<profile of profile: not run>"
    for limit in (0, -1, "3"):
        with pytest.raises(tapegrad.InputError, match="limit"):
            found.table(limit=limit)


def test_an_error_within_a_replay_closes_what_is_open():
    @tapegrad.custom_vjp
    def bad(x):
        return x * 1.0

    def fails(_x, _g):
        raise ZeroDivisionError("in the rule")

    bad.defvjp(lambda x: (x * 1.0, x), fails)
    with tapegrad.profile() as found:
        with pytest.raises(ZeroDivisionError, match="in the rule"):
            tapegrad.grad(lambda x: np.sum(bad(x)))(ONES)
        tapegrad.grad(lambda x: np.sum(np.sin(x)))(ONES)
    assert found.table().row("np.sin").calls == 1
    adds_up(found)


def test_a_profile_within_another_is_refused_and_wrong_columns_are():
    with tapegrad.profile():
        with pytest.raises(tapegrad.InputError, match="no other profile around"):
            tapegrad.profile(loss)(W, ONES)
        with pytest.raises(tapegrad.InputError, match="no other profile around"):
            tapegrad.memory_report(loss, W, ONES)
    found = tapegrad.profile(loss)(W, ONES)
    with pytest.raises(tapegrad.InputError, match="'operation', 'line' or 'function'"):
        found.table("module")
    with pytest.raises(tapegrad.InputError, match="forward, tangent"):
        found.table(sort="size")
    with pytest.raises(tapegrad.InputError, match="a function"):
        tapegrad.profile(3.0)


def test_integers_alone_run_without_a_replay():
    found = tapegrad.profile(lambda n: n + 1)(3)
    assert found.value == 4
    assert {row.name for row in found.table()} <= {PLAIN, TRANSFORMS}


def test_tables_are_sorted_and_printed():
    found = tapegrad.profile(loss)(W, ONES)
    for column in ("own", "total", "forward", "backward", "calls", "bytes"):
        values = [getattr(row, column) for row in found.table(sort=column)]
        assert values == sorted(values, reverse=True)
    names = [row.name for row in found.table(sort="name")]
    assert names == sorted(names)
    text = str(found)
    assert text.startswith("profile of loss: ")
    for word in ("operation", "line", "forward", "backward", "self", "total", "np.tanh"):
        assert word in text
    assert "more" in str(found.table("operation", limit=2))


# -- files ----------------------------------------------------------------------------------------


def check_trace(trace):
    """The rules of the trace event format, as far as events of these kinds have any."""
    assert set(trace) >= {"traceEvents"}
    complete = []
    for event in trace["traceEvents"]:
        assert event["ph"] in ("X", "M", "s", "f")
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert isinstance(event["ts"], (int, float))
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert isinstance(event["cat"], str)
            assert isinstance(event["args"], dict)
            complete.append(event)
        elif event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
        else:
            assert isinstance(event["id"], int)
    # Of two events of a thread, one is within the other, or they are apart.
    for thread in {event["tid"] for event in complete}:
        of_thread = [event for event in complete if event["tid"] == thread]
        of_thread.sort(key=lambda e: (e["ts"], -e["dur"]))
        ends = []
        for event in of_thread:
            begin, end = event["ts"], event["ts"] + event["dur"]
            while ends and ends[-1] <= begin + 1e-4:
                ends.pop()
            assert not ends or end <= ends[-1] + 1e-3
            ends.append(end)
    return complete


def test_a_trace_keeps_to_the_format_and_flows_lead_backward(tmp_path):
    found = tapegrad.profile(loss)(W, ONES)
    found.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    complete = check_trace(trace)
    calls = [e for e in complete if e["name"] == "np.tanh"]
    assert len(calls) == 6
    for event in calls:
        assert event["args"]["file"] == __file__
        assert event["args"]["line"] == line_of(layer, "np.tanh")
        assert event["args"]["function"] == "layer"
    starts = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "s"}
    ends = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "f"}
    assert len(starts) == len(ends) == 11
    assert set(starts) == set(ends)
    for number, start in starts.items():
        assert ends[number]["bp"] == "e"
        assert ends[number]["ts"] > start["ts"]
        names = {e["name"] for e in complete if e["ts"] in (start["ts"], ends[number]["ts"])}
        assert len(names) == 1  # the call and its step have one name
    whole = next(e for e in complete if e["cat"] == "profile")
    assert whole["dur"] == pytest.approx(found.seconds * 1e6)


def test_stacks_are_written_for_flame_graphs(tmp_path):
    found = tapegrad.profile(loss)(W, ONES)
    found.export_stacks(tmp_path / "stacks.txt", "bytes")
    lines = (tmp_path / "stacks.txt").read_text(encoding="utf-8").splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == found.bytes - sum(
        row.bytes for row in found.table() if row.name == "(inputs)"
    )
    tanh = next(line for line in lines if "np.tanh" in line)
    frames = tanh.rsplit(" ", 1)[0].split(";")
    assert [frame.rpartition("_")[2] for frame in frames[-3:]] == ["loss", "layer", "np.tanh"]
    found.export_stacks(tmp_path / "stacks.txt")
    text = (tmp_path / "stacks.txt").read_text(encoding="utf-8")
    assert "np.tanh_[backward] " in text
    with pytest.raises(tapegrad.InputError, match="'own' or 'bytes'"):
        found.export_stacks(tmp_path / "stacks.txt", "calls")


# -- laws -----------------------------------------------------------------------------------------

STEPS = (
    lambda x: np.sin(x),
    lambda x: x * x,
    lambda x: x[::-1] + 1.0,
    lambda x: tapegrad.checkpoint(lambda y: np.tanh(y) * y)(x),
    lambda x: tapegrad.vmap(lambda y: np.exp(-y))(x),
    lambda x: tapegrad.grad(lambda y: np.sum(y**3))(x),
    lambda x: np.var(x) + x,
)


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5), st.sampled_from((1, 2, 3)))
def test_own_times_add_up_and_values_are_those_of_the_function(steps, kind):
    def program(x):
        for step in steps:
            x = step(x)
        return np.sum(x)

    x = np.linspace(0.1, 0.5, 4)
    function = {
        1: program,
        2: tapegrad.grad(program),
        3: tapegrad.vmap(lambda s: tapegrad.grad(lambda y: program(s * y))(x)),
    }[kind]
    given_x = np.ones(2) if kind == 3 else x
    begin = time.perf_counter()
    found = tapegrad.profile(function)(given_x)
    wall = time.perf_counter() - begin
    assert np.array_equal(found.value, function(given_x))
    assert found.seconds <= wall
    adds_up(found)


def test_who_watches_a_replay_within_a_profile_sees_its_steps():
    @tapegrad.custom_vjp
    def failing(x):
        return 1.0 * x

    def fail(_, g):
        raise ValueError("no derivative")

    failing.defvjp(lambda x: (1.0 * x, None), fail)

    def f(x):
        return np.sum(failing(np.sin(x)))  # called

    with pytest.raises(ValueError, match="no derivative") as raised:
        tapegrad.profile(tapegrad.grad(f))(ONES)
    (note,) = raised.value.__notes__
    assert f"line {line_of(f, '# called')}" in note

    def second(x):
        with tapegrad.debug_nans():
            return tapegrad.hessian(lambda x: np.sum(np.sqrt(x)))(x)

    with pytest.raises(tapegrad.NonFiniteError) as found:
        tapegrad.profile(second)(np.array([0.0, 1.0]))
    assert (found.value.operation, found.value.backward) == ("np.sqrt", True)
