"""`tapegrad.memory_report`: bytes against `tracemalloc`, peaks, inputs, and hints that hold."""

import gc
import inspect
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import tapegrad
from tapegrad._profile.switch import Place, Switch
from tapegrad._transforms.recording import Recording

BENCHMARKS = Path(__file__).parents[2] / "docs" / "benchmarks"


@pytest.fixture(scope="module")
def programs():
    """The programs of the core's benchmark."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import programs

        yield programs
    finally:
        sys.path.remove(str(BENCHMARKS))
        sys.modules.pop("programs", None)


def held_by_line(function, args, file):
    """Memory that `tracemalloc` holds when the replay begins, by the innermost line in a file.

    Pairs: bytes of the elements of arrays, and of all else.
    """
    found = {}
    pull = Recording.pull

    def counted(recording, *rest, **more):
        if not found:
            gc.collect()
            for trace in tracemalloc.take_snapshot().traces:
                lines = [f.lineno for f in trace.traceback if f.filename == file]
                lines = [line for line in lines if file != __file__ or line > HARNESS]
                if lines:
                    sums = found.setdefault(lines[-1], [0, 0])
                    sums[trace.domain != np.lib.tracemalloc_domain] += trace.size
        return pull(recording, *rest, **more)

    tapegrad.value_and_grad(function)(*args)  # the first call of its kind is made twice
    switch = Switch()
    switch.put([Place(Recording, "pull", counted)])
    gc.collect()  # what Python has in stock would be used again, unseen
    tracemalloc.start(15)
    try:
        tapegrad.value_and_grad(function)(*args)
    finally:
        tracemalloc.stop()
        switch.restore()
    return found


HARNESS = 106  # the lines up to here are no program's


def reported_by_line(function, args):
    """The same by the report."""
    table = tapegrad.memory_report(tapegrad.value_and_grad(function), *args).table("line")
    return {
        int(row.name.rpartition(":")[2]): (row.arrays, row.objects)
        for row in table
        if row.name != "(inputs)"
    }


def agrees(function, args, file):
    """The report's bytes by line are those that are held, within 5 %, and in all the same arrays.

    Some hundred bytes a line are the program's frames and variables.
    """
    held, reported = held_by_line(function, args, file), reported_by_line(function, args)
    assert reported
    if file == __file__:
        held.pop(sys._getframe(1).f_lineno, None)  # the line that calls this
    for line in {*held, *reported}:
        arrays, others = held.get(line, (0, 0))
        found = reported.get(line, (0, 0))
        assert found[0] == pytest.approx(arrays, rel=0.05), line
        assert sum(found) == pytest.approx(arrays + others, rel=0.05, abs=2000), line


PROGRAMS = {
    "chain-1": lambda p: (p.chain(np), p.vector(1)),
    "chain-16": lambda p: (p.chain(np), p.vector(16)),
    "chain-1000": lambda p: (p.chain(np), p.vector(1000)),
    "rosenbrock-10": lambda p: (p.rosenbrock(np), p.vector(10)),
    "rosenbrock-1000": lambda p: (p.rosenbrock(np), p.vector(1000)),
    "rosenbrock-1e5": lambda p: (p.rosenbrock(np), p.vector(10**5)),
    "mlp": lambda p: (p.perceptron(np), p.perceptron_parameters()),
    "long": lambda p: (p.long_chain(np, 2000), p.vector(1)),
    "reads": lambda p: (p.read_elements(np, 300), p.vector(300)),
    "fills": lambda p: (p.fill_elements(np, 300), p.vector(300)),
}


@pytest.mark.part(10)
@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_by_line_are_what_tracemalloc_holds(programs, name):
    function, start = PROGRAMS[name](programs)
    agrees(function, (start,), programs.__file__)


STEPS = (
    lambda x: np.sin(x),
    lambda x: x * np.exp(-x),
    lambda x: x + x[::-1],
    lambda x: np.concatenate([x[:10], np.sqrt(x[10:] ** 2 + 1.0)]),
    lambda x: np.cumsum(x) / x.size,
    lambda x: np.where(x > 0.5, x, np.tanh(x)),
    lambda x: x - np.mean(x),
    lambda x: x.reshape(-1, 2).T.ravel() ** 3,
    lambda x: x @ np.outer(np.ones(x.size), np.ones(x.size)) / x.size,
    lambda x: np.sort(x),
)


@pytest.mark.part(8)
@pytest.mark.parametrize("seed", range(8))
def test_bytes_of_drawn_programs_are_what_tracemalloc_holds(seed, monkeypatch):
    """Drawn without Hypothesis, whose own work in between makes each look at the memory slow."""
    # Beside other threads, as a test of a cluster leaves them, constants are copied, not locked.
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    random = np.random.default_rng(seed)
    steps = [STEPS[i] for i in random.integers(len(STEPS), size=random.integers(2, 9))]

    def function(x):
        for step in steps:
            x = step(x)
        return np.sum(x**2)

    agrees(function, (np.linspace(0.1, 0.9, 200),), __file__)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def layer(w, b, x):
    y = x @ w + b
    return np.tanh(y) * np.sin(y)


def with_layer(function):
    def loss(parameters, x):
        for w, b in parameters:
            x = function(w, b, x)
        return np.sum(x**2)

    return loss


def network(layers=20, rows=2000):
    random = np.random.default_rng(0)
    parameters = [(random.normal(size=(30, 30)) / 9, np.zeros(30)) for _ in range(layers)]
    return parameters, random.normal(size=(rows, 30))


@pytest.mark.slow
def test_a_hint_saves_what_it_says():
    arguments = network()
    before = tapegrad.memory_report(with_layer(layer), *arguments)
    after = tapegrad.memory_report(with_layer(tapegrad.checkpoint(layer)), *arguments)
    hint = before.hints[0]
    assert (hint.function, hint.calls) == ("layer", 20)
    assert (hint.line, hint.end) == (layer.__code__.co_firstlineno, line_of(layer, "return"))
    assert [caller.line for caller in hint.callers] == [line_of(with_layer, "function(w, b, x)")]
    assert f"test_memory_report.py:{hint.callers[0].line}" in str(before)
    assert before.kept - after.kept == pytest.approx(hint.kept, rel=0.02)
    saved = before.peak_backward - after.peak_backward
    assert saved == pytest.approx(hint.saved, rel=0.1)
    assert hint.seconds > 0


def inner(x):
    return np.exp(-(np.sin(x) ** 2))


def outer(x, scale):
    return inner(inner(x)) * scale + inner(x)


def residual(x, weights):
    return x + np.tanh(x * weights) * np.cos(x)


@pytest.mark.part(3)
@pytest.mark.parametrize(("name", "depth"), [("inner", 6), ("outer", 6), ("residual", 30)])
def test_hints_of_other_programs_save_what_they_say(monkeypatch, name, depth):
    """Functions within functions, constants as arguments, inputs that others keep."""
    weights = np.linspace(0.5, 1.5, 20_000)

    def program(x):
        for _ in range(depth):
            x = residual(x, weights) if name == "residual" else outer(x, 0.5)
        return np.sum(x**2)

    x = np.linspace(0.0, 1.0, 20_000)
    before = tapegrad.memory_report(program, x)
    hint = next(hint for hint in before.hints if hint.function == name)
    monkeypatch.setitem(globals(), name, tapegrad.checkpoint(globals()[name]))
    after = tapegrad.memory_report(program, x)
    assert before.kept - after.kept == pytest.approx(hint.kept, rel=0.1)


@pytest.mark.part(2)
@pytest.mark.parametrize("depths", [(9,), (4, 9), (9, 4), (4, 9, 9)])
def test_hints_are_of_the_recording_that_keeps_most(depths):
    """Calls in others are none of it, also where these ran before."""

    def gradient(depth, x):
        def run(x):
            for _ in range(depth):
                x = inner(x)
            return np.sum(x)

        return tapegrad.grad(run)(x)

    mapped = tapegrad.vmap(lambda x: sum(gradient(depth, x) for depth in depths))
    report = tapegrad.memory_report(mapped, np.linspace(0, 1, 3000).reshape(3, 1000))
    alone = tapegrad.memory_report(
        tapegrad.vmap(lambda x: gradient(9, x)), np.linspace(0, 1, 3000).reshape(3, 1000)
    )
    told = [(hint.function, hint.calls, hint.kept, hint.saved) for hint in report.hints]
    assert told[0][:2] == ("inner", 9)
    assert told == [(hint.function, hint.calls, hint.kept, hint.saved) for hint in alone.hints]
    assert (report.kept, report.objects) == (alone.kept, alone.objects)


@pytest.mark.parametrize("by", ["operation", "line", "function"])
def test_the_rows_of_a_table_add_up(by):
    arguments = network(layers=3, rows=50)
    report = tapegrad.memory_report(with_layer(layer), *arguments)
    table = report.table(by)
    assert sum(row.arrays for row in table) == report.kept
    assert sum(row.objects for row in table) == report.objects
    assert sum(row.calls for row in table) == sum(row.calls for row in report.table())
    assert [row.bytes for row in table] == sorted((row.bytes for row in table), reverse=True)
    assert all(row.bytes == row.arrays + row.objects for row in table)


def test_what_would_save_nothing_is_no_hint():
    def linear(x):
        return 2.0 * x + 1.0

    report = tapegrad.memory_report(lambda x: np.sum(linear(linear(x)) ** 2), np.ones(1000))
    assert report.hints == []
    assert tapegrad.memory_report(lambda x: np.sum(inner(x)), np.ones(1000)).hints == []


def test_a_function_that_closes_over_a_traced_value_is_no_hint():
    def program(x, w):
        def closed(y):
            return np.tanh(np.sin(y) * w) * np.exp(y)

        for _ in range(10):
            x = closed(x)
        return np.sum(x)

    report = tapegrad.memory_report(program, np.ones(1000), np.ones(1000))
    assert report.hints == []


def test_a_function_that_reads_a_traced_attribute_is_no_hint():
    class Layer:
        def __init__(self, w):
            self.w = w

        def __call__(self, y):
            return np.tanh(np.sin(y) * self.w) * np.exp(y)

    def program(x, w):
        made = Layer(w)
        for _ in range(10):
            x = made(x)
        return np.sum(x)

    report = tapegrad.memory_report(program, np.ones(1000), np.ones(1000))
    assert report.hints == []
    report = tapegrad.memory_report(lambda x: program(x, np.ones(1000)), np.ones(1000))
    assert [hint.calls for hint in report.hints] == [10]


def test_peaks_are_those_of_the_gradient():
    arguments = network()
    report = tapegrad.memory_report(tapegrad.grad(with_layer(layer)), *arguments)
    tapegrad.grad(with_layer(layer))(*arguments)
    tracemalloc.start()
    try:
        tapegrad.grad(with_layer(layer))(*arguments)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert max(report.peak_forward, report.peak_backward) == pytest.approx(peak, rel=0.02)
    assert report.peak_backward == pytest.approx(report.kept, rel=0.1)


def test_inputs_cost_what_they_keep():
    def program(parameters, x):
        return np.sum(np.exp(parameters["a"]) * x) + np.sum(np.sin(parameters["b"]))

    arguments = {"a": np.ones(1000), "b": np.ones(500), "c": np.ones(10)}, np.ones(1000)
    report = tapegrad.memory_report(program, *arguments)
    costs = {cost.name: cost for cost in report.inputs}
    assert list(costs) == ["parameters['a']", "parameters['b']", "parameters['c']", "x"]
    a, b, c, x = costs.values()
    assert (a.size, a.kept, a.alone) == (8000, 0, 8000)  # exp(a)
    assert (b.kept, b.alone) == (4000, 4000)  # b itself, for its cosine
    assert (c.kept, c.alone) == (0, 0)
    assert (x.kept, x.alone) == (8000, 8000)
    assert report.kept == sum(row.arrays for row in report.table()) == 20_000


def test_what_is_not_differentiated_is_refused():
    with pytest.raises(tapegrad.InputError, match="expected a function that is differentiated"):
        tapegrad.memory_report(lambda n: n + 1, 3)
    compiled = tapegrad.compile(tapegrad.grad(lambda x: np.sum(x**2)))
    for _ in range(3):
        compiled(np.ones(3))
    with pytest.raises(tapegrad.InputError, match="Pass the function that was compiled"):
        tapegrad.memory_report(compiled, np.ones(3))
    with pytest.raises(tapegrad.InputError, match="Pass its function"):
        tapegrad.memory_report(tapegrad.vmap(np.sin), np.ones(3))
    with pytest.raises(tapegrad.InputError, match="'operation', 'line' or 'function'"):
        tapegrad.memory_report(lambda x: np.sum(x**2), np.ones(3)).table("file")


def test_a_report_prints_its_tables():
    text = str(tapegrad.memory_report(with_layer(layer), *network(layers=3, rows=200)))
    for word in ("peak forward", "np.tanh", "parameters[0][0]", "checkpoint(...)", "keeps less"):
        assert word in text


@pytest.mark.slow
def test_inputs_have_their_own_names():
    """Also where a checkpointed call keeps most, whose arguments stand in another order."""

    def block(x, weight):
        for _ in range(3):
            x = np.tanh(weight * x)
        return x

    def loss(weight, x, block=block):
        return np.sum(block(x, weight) ** 2)

    def frugal(weight, x):
        return loss(weight, x, tapegrad.checkpoint(block))

    def sizes(f):
        return {
            cost.name: cost.size for cost in tapegrad.memory_report(f, 1.2, np.ones(1000)).inputs
        }

    size = 8000
    assert sizes(loss) == {"weight": 8, "x": size}
    assert sizes(tapegrad.grad(loss)) == {"weight": 8}
    for argnum in (1, np.int64(1)):
        assert sizes(tapegrad.grad(loss, argnums=argnum)) == {"x": size}
    assert sizes(tapegrad.grad(loss, argnums=(-2, 1))) == {"weight": 8, "x": size}
    of_block = {"input 0 of checkpoint(block)": size, "input 1 of checkpoint(block)": 8}
    assert sizes(frugal) == sizes(tapegrad.grad(frugal, argnums=(0, 1))) == of_block


def test_inputs_of_a_checkpointed_function_of_the_same_name_are_not_the_arguments():
    def made(inner):
        def f(a, b):
            return inner(b, a)

        return f

    def f(a, b):
        for _ in range(5):
            b = np.sin(a * b)
        return np.sum(b)

    g = tapegrad.grad(made(tapegrad.checkpoint(f)), (0, 1))
    report = tapegrad.memory_report(g, np.ones(1000), np.full(1000, 0.3))
    assert [one.name for one in report.inputs] == [f"input {i} of checkpoint(f)" for i in (0, 1)]
