"""`tapegrad.tape`: rows, names, lines, bytes and times of a run."""

import contextlib
import dataclasses
import functools
import inspect
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad._arrays import planned_functions as functions
from tapegrad._core.entry import PROJECT
from tapegrad._look import replays, tables
from tapegrad._transforms import forward, recording
from tapegrad._transforms.recording import Recording

HERE = __file__


def layer(parameters, x):
    return np.tanh(x @ parameters["w"] + parameters["b"])


def loss(layers, x, power, *, scale):
    for parameters in layers:
        x = layer(parameters, x)
    return {"loss": scale * np.sum(x**power), "x": x}


def arguments():
    layers = [{"w": np.full((3, 3), 0.1), "b": np.zeros(3)} for _ in range(2)]
    return layers, np.ones((2, 3)), 2


def test_inputs_are_named_by_their_paths_and_integers_are_not_traced():
    view = tapegrad.tape(loss, *arguments(), scale=2.0)
    names = [row.name for row in view if row.operation == "input"]
    assert names == [
        *("layers[0]['w']", "layers[0]['b']", "layers[1]['w']", "layers[1]['b']"),
        *("x", "scale"),
    ]
    assert [row.name for row in view if row.name.startswith("output")] == [
        "output['x']",
        "output['loss']",
    ]


def test_rows_have_the_users_lines_from_the_innermost_outwards():
    view = tapegrad.tape(loss, *arguments(), scale=2.0)
    row = next(row for row in view if row.operation == "np.tanh")
    lines, start = inspect.getsourcelines(layer)
    assert (row.site[0].file, row.site[0].line) == (HERE, start + len(lines) - 1)
    assert [frame.function for frame in row.site] == ["layer", "loss"]
    assert row.function == "layer"


def test_a_call_is_one_row_also_when_it_comes_for_the_first_time():
    x = np.ones((3, 7, 2, 5))  # a shape that no other test has

    def f(x):
        return np.var(np.sum(x, axis=(0, 2)))

    views = [tapegrad.tape(f, x) for _ in range(2)]
    assert [row.operation for row in views[0]] == ["input", "np.sum", "np.var"]
    assert [row.operation for row in views[1]] == ["input", "np.sum", "np.var"]


def test_a_replay_gives_norms_and_times():
    view = tapegrad.tape(lambda x, y: np.sum(x * y) + 0 * np.sum(np.exp(y)), np.ones(4), 3.0)
    assert not view.replayed
    assert view.run() is view
    assert view.replayed
    assert view[0].norm == pytest.approx(6.0)
    product = next(row for row in view if row.operation == "np.multiply")
    assert product.norm == pytest.approx(2.0)
    assert product.forward > 0
    assert product.backward > 0


def test_bytes_are_those_of_the_arrays_that_the_replay_reads():
    x = np.ones(1000)
    view = tapegrad.tape(lambda x: np.sum(np.sin(x) + np.exp(x)), x)
    kept = {row.operation: row.bytes for row in view}
    assert kept == {"input": 8000, "np.sin": 0, "np.exp": 8000, "np.add": 0, "np.sum": 0}


def test_views_count_once_where_their_memory_was_made():
    view = tapegrad.tape(lambda x: np.sum(np.sin(np.exp(x)[10:].reshape(2, -1))), np.ones(1000))
    kept = {row.operation: row.bytes for row in view if row.bytes}
    assert kept == {"np.exp": 8000}


def test_the_replay_of_a_gradient_is_at_the_lines_of_what_it_replays():
    def inner(x):
        y = np.sin(x)
        return np.sum(y * y * y)

    view = tapegrad.tape(tapegrad.grad(inner), np.ones(3))
    replayed = [row for row in view if row.of is not None]
    assert replayed
    start = inspect.getsourcelines(inner)[1]
    by_slot = {row.slot: row for row in view}
    for row in replayed:
        assert row.site == by_slot[row.of].site
        assert row.site[0].line in (start + 1, start + 2)


def test_summaries_count_each_operation_once():
    view = tapegrad.tape(loss, *arguments(), scale=2.0)
    count = sum(row.operation != "input" for row in view)
    for by in ("operation", "line", "function"):
        groups = view.summary(by)
        assert sum(group.calls for group in groups) == count
        assert sum(group.bytes for group in groups) == sum(
            row.bytes for row in view if row.operation != "input"
        )
    with pytest.raises(tapegrad.InputError, match="'operation', 'line' or 'function'"):
        view.summary("file")


def test_nothing_to_trace_is_refused():
    with pytest.raises(tapegrad.InputError, match=r"floats: 3.0 for 3"):
        tapegrad.tape(lambda n: n + 1, 3)


@pytest.mark.parametrize("ending", [".svg", ".dot", ".mmd", ".txt", ".csv"])
def test_a_view_is_saved_in_the_format_of_the_name(tmp_path, ending):
    view = tapegrad.tape(loss, *arguments(), scale=2.0)
    path = tmp_path / f"tape{ending}"
    view.save(path)
    assert "layers[0]['w']" in path.read_text(encoding="utf-8").replace("&#x27;", "'").replace(
        "#39;", "'"
    )


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(tapegrad.InputError, match=r"\.svg, \.dot"):
        tapegrad.tape(np.sum, np.ones(2)).save(tmp_path / "tape.png")


def test_looking_leaves_everything_as_it_was():
    before = dict(vars(tapegrad.Array))
    with pytest.raises(ZeroDivisionError):
        tapegrad.tape(lambda x: x / (1 // 0), 1.0, profile=True)
    tapegrad.tape(np.sum, np.ones(2), profile=True)
    assert dict(vars(tapegrad.Array)) == before


# -- Laws ----------------------------------------------------------------------------------------

CALLS = (
    lambda x, y: np.sin(x) * y,
    lambda x, y: x[::-1] + y,
    lambda x, y: x.reshape(2, 2).T.reshape(4) * 0.5,
    lambda x, y: np.concatenate([y[:2], x[2:]]),
    lambda x, y: np.sort(x) - np.sum(y),
    lambda x, y: written(x, y),
    lambda x, y: np.stack(np.split(x, 2)).reshape(4),
    lambda x, y: np.linalg.svd(np.outer(x, y) + np.eye(4))[1],
    lambda x, y: np.where(x > y, x, np.exp(-y)),
)


def written(x, y):
    z = x * 1.0
    z[1:3] = y[:2]
    z += y
    return z


def drawn_function(data):
    """A function of two arrays, of drawn calls, some of whose results are not used."""
    steps = []
    for count in range(2, 2 + data.draw(st.integers(1, 12))):
        places = st.integers(0, count - 1)
        steps.append((data.draw(st.sampled_from(CALLS)), data.draw(places), data.draw(places)))
    used = data.draw(st.sets(st.integers(0, len(steps) + 1), min_size=1, max_size=3))

    def f(x, y):
        values = [x, y]
        for call, i, j in steps:
            values.append(call(values[i], values[j]))
        return [values[i] for i in sorted(used)]

    return f


POINT = (np.array([0.3, -0.2, 0.8, 0.1]), np.array([0.5, 1.1, -0.7, 0.4]))


@given(data=st.data())
def test_rows_read_earlier_rows_and_names_are_unique(data):
    view = tapegrad.tape(drawn_function(data), *POINT)
    slots = [row.slot for row in view]
    assert slots == sorted(set(slots))
    known = set()
    for row in view:
        assert known.issuperset(row.reads)
        known.add(row.slot)
        assert view[row.slot] is row
        assert row.operation == "input" or row.site
    names = [row.name for row in view if row.name]
    assert len(set(names)) == len(names)
    for path, slot in view.outputs.items():
        assert view[slot].name == path or path not in names


@given(data=st.data())
def test_norms_are_those_of_vjp(data):
    f = drawn_function(data)
    out, pullback = tapegrad.vjp(f, *POINT)
    bars = [np.linspace(0.5, 1.5, part.size).reshape(part.shape) for part in out]
    view = tapegrad.tape(f, *POINT).run(bars)
    for row, bar in zip(view, pullback(bars), strict=False):
        norm = row.norm if row.norm is not None else 0.0
        assert norm == pytest.approx(np.linalg.norm(bar), rel=1e-12)


@given(data=st.data())
def test_bytes_are_those_of_the_memory_that_the_tape_keeps(data):
    f = drawn_function(data)
    for _ in range(2):
        tapegrad.tape(f, *POINT)  # a planned call may keep other values than the first of its kind

    def kept(recording):
        recording.finish(f(*recording.inputs(POINT)))
        owners = {}
        for entry in recording.entries:
            for array in arrays_in(entry[2:5] if entry[1] is not PROJECT else ()):
                while type(array.base) is np.ndarray:
                    array = array.base
                owners[id(array)] = array
        return sum(array.nbytes for array in owners.values())

    expected = Recording("kept").run(kept)
    assert sum(row.bytes for row in tapegrad.tape(f, *POINT)) == expected


def arrays_in(value):
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays_in(part)]
    return []


# -- Programs of all kinds -----------------------------------------------------------------------


class Model:
    def __init__(self, scale):
        self.scale = scale

    def loss(self, weights):
        return self.scale * np.sum(weights["w"])

    __call__ = loss


@dataclasses.dataclass
class Pair:
    first: object
    second: object


def positional(a, /, b, *rest, key=2.0):
    return np.sum(a * b * key) + sum(np.sum(one) for one in rest)


X = np.ones(3)
NAMED = [
    (positional, (X, 1.0, X, X), {"key": 3.0}, ["a", "b", "rest[0]", "rest[1]", "key"]),
    (positional, (X,), {"b": X}, ["a", "b"]),
    (functools.partial(positional, X), (1.0,), {}, ["b"]),
    (functools.partial(positional, X, key=X), (1.0,), {}, ["b"]),
    (Model(2.0).loss, ({"w": X},), {}, ["weights['w']"]),
    (Model(2.0), ({"w": X},), {}, ["weights['w']"]),
    (
        lambda pair: np.sum(pair.first * pair.second),
        (Pair(X, 2.0),),
        {},
        ["pair.first", "pair.second"],
    ),
    (lambda **named: np.sum(named["a"] * named["b"]), (), {"a": X, "b": 1.0}, ["a", "b"]),
    (lambda x, n, word, none, mask: np.sum(x[mask]) * n, (X, 2, "word", None, X > 0), {}, ["x"]),
    (np.add, (X, X), {}, ["x1", "x2"]),
    (lambda x, y: np.sum(x * y), (X, X), {}, ["x", "y"]),
]


@pytest.mark.parametrize(("f", "args", "kwargs", "names"), NAMED)
def test_arguments_of_all_kinds_have_names(f, args, kwargs, names):
    view = tapegrad.tape(f, *args, **kwargs).run()
    assert [row.name for row in view if row.operation == "input"] == names


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (lambda x: None, ""),
        (lambda x: 1.0, "output is a constant."),
        (lambda x: x, "output is slot 0."),
        (
            lambda x: {"a": [x, "text"], "b": 2 * x},
            "output['a'][0] is slot 0, output['a'][1] is a constant.",
        ),
        (lambda x: (2 * x,), ""),
    ],
)
def test_results_that_no_row_is_named_after_stand_below_the_table(out, said):
    for point in (X, 0.5, np.float32(0.5), np.zeros((0, 2)), X.astype(np.float32), X + 1j):
        view = tapegrad.tape(out, point).run()
        last = str(view).splitlines()[-1]
        assert last == said if said else not last.endswith(".")


def test_values_of_transforms_around_are_constants():
    def outer(y):
        views.append(tapegrad.tape(lambda z: np.sum(np.sin(z) * y), X).run())
        views.append(tapegrad.tape(lambda z: np.sum(z * y), y).run())
        return np.sum(y * y)

    views = []
    assert np.array_equal(tapegrad.grad(outer)(X), 2 * X)
    tapegrad.vmap(outer)(np.ones((2, 3)))
    tapegrad.jvp(outer, (X,), (X,))
    for view in views:
        assert [row.operation for row in view][-2:] == ["np.multiply", "np.sum"]
        assert view[0].norm is not None
        assert {slot for row in view for slot in row.reads} <= {row.slot for row in view}


@pytest.mark.parametrize(
    "transformed",
    [
        tapegrad.grad(lambda x: np.sum(np.sin(x) * x)),
        tapegrad.hessian(lambda x: np.sum(np.sin(x) * x)),
        tapegrad.vmap(tapegrad.grad(lambda x: np.sin(x) * x)),
        tapegrad.compile(lambda x: np.sum(np.sin(x) * x)),
        lambda x: tapegrad.jvp(lambda v: np.sin(v) * v, (x,), (x,)),
        lambda x: tapegrad.checkpoint(lambda v: np.sin(v) * v)(x),
    ],
)
def test_transforms_are_looked_at_from_outside(transformed):
    view = tapegrad.tape(transformed, X).run()
    assert view[0].norm is not None
    by_slot = {row.slot: row for row in view}
    for row in view:
        assert all(slot in by_slot for slot in row.reads)
        if row.of is not None:
            assert row.site == by_slot[row.of].site
    assert [row.name for row in view if row.operation == "input"] in (["x"], ["v"])


def test_the_tangents_of_a_hessian_are_at_the_lines_of_what_they_are_of():
    def inner(x):
        y = np.sin(x)
        return np.sum(y * x)

    view = tapegrad.tape(tapegrad.hessian(inner), X)
    start = inspect.getsourcelines(inner)[1]
    lines = {row.site[0].line for row in view if row.site}
    assert lines == {start + 1, start + 2}
    assert sum(row.of is not None for row in view) > 5


def test_code_that_is_no_file_has_lines():
    scope = {"np": np}
    exec(
        compile("def f(x):\n    y = np.sin(x)\n    return np.sum(y)\n", "<cell 3>", "exec"), scope
    )
    view = tapegrad.tape(scope["f"], X)
    assert [row.line for row in view] == ["", "<cell 3>:2", "<cell 3>:3"]


def square(v):
    return np.sum(v * v)


def test_lines_of_numpy_are_not_the_users():
    view = tapegrad.tape(lambda x: np.sum(np.apply_along_axis(square, 0, x)), np.ones((2, 3)))
    assert {row.site[0].file for row in view if row.site} == {HERE}
    assert "square" in {row.function for row in view}


def test_threads_of_the_program_belong_to_it_and_others_do_not():
    stop = threading.Event()

    def train():
        while not stop.wait(1e-4):  # a thread that never rests would hold the other back
            tapegrad.grad(lambda x: np.sum(np.exp(x) * np.tanh(x)))(np.full(5, 0.1))

    def f(x):
        found = []
        worker = threading.Thread(target=lambda: found.append(np.sin(x) * 2.0))
        worker.start()
        worker.join()
        return np.sum(found[0])

    other = threading.Thread(target=train)
    other.start()
    try:
        for _ in range(20):
            view = tapegrad.tape(f, X).run()
            assert [row.operation for row in view] == ["input", "np.sin", "np.multiply", "np.sum"]
            assert view[0].norm == pytest.approx(np.linalg.norm(2 * np.cos(X)))
            assert all(row.of is None for row in view)
    finally:
        stop.set()
        other.join()


def test_views_that_are_made_in_several_threads_leave_nothing_behind():
    before = {name: vars(module)[name] for module, name in SWITCHED}

    def look():
        for _ in range(10):
            tapegrad.tape(tapegrad.grad(square), X, profile=True)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: vars(module)[name] for module, name in SWITCHED} == before


SWITCHED = [
    (functions, "by_rule"),
    (functions, "learn"),
    (recording, "replay_backward"),
    (forward, "replay_forward"),
]


# -- Tables --------------------------------------------------------------------------------------


def test_a_table_fits_the_width_that_is_asked_for():
    deep = {"encoder": {"layers": [{"attention_weights": X}]}}
    view = tapegrad.tape(
        lambda parameters: np.concatenate(
            [parameters["encoder"]["layers"][0]["attention_weights"]] * 50
        ),
        deep,
    )
    wide = view.table()
    assert "parameters['encoder']['layers'][0]['attention_weights']" in wide
    assert "0, 0, 0, 0, 0, 0, 44 more" in wide
    for width in (100, 80, 60):
        assert max(map(len, view.table(width=width).splitlines())) <= width
    assert "..." in view.table(width=60)


@given(st.lists(st.text("abc", max_size=80), min_size=3, max_size=3), st.integers(30, 100))
def test_tables_are_never_wider_than_asked(texts, width):
    text = tables.table(["a", "b", "c"], [texts], right=[False] * 3, width=width)
    assert max(map(len, text.splitlines())) <= width


def test_a_long_table_shows_both_ends():
    def f(x):
        for _ in range(100):
            x = np.sin(x)
        return x

    view = tapegrad.tape(f, X)
    lines = view.table().splitlines()
    assert len(lines) == 2 + tables.LIMIT + 1
    assert any("... 41 more" in line for line in lines)
    assert len(view.table(None).splitlines()) == 2 + 101


def test_a_row_that_is_not_there_is_a_key_error():
    view = tapegrad.tape(np.sum, X)
    for slot in (-1, 99):
        with pytest.raises(KeyError):
            view[slot]


def test_to_pandas(monkeypatch):
    class Fake:
        Index = staticmethod(lambda values, name: (name, values))
        DataFrame = staticmethod(lambda rows, columns, index: (rows, columns, index))

    view = tapegrad.tape(lambda x: np.sum(np.sin(x)), X).run()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pandas", Fake)
        rows, columns, index = view.to_pandas()
    assert index == ("slot", [row.slot for row in view])
    assert dict(zip(columns, rows[1], strict=True))["operation"] == "np.sin"
    assert {"line", "function", "norm", "forward", "backward", "bytes"} <= set(columns)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match="expected pandas"):
            view.to_pandas()
    pandas = pytest.importorskip("pandas")
    frame = view.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.index) == [row.slot for row in view]
    assert frame.loc[view.rows[1].slot, "operation"] == "np.sin"


@tapegrad.custom_vjp
def refuses(x):
    return 2.0 * x


def _refused(_kept, _g):
    raise ZeroDivisionError("refused")


refuses.defvjp(lambda x: (2.0 * x, None), _refused)


def test_an_error_of_a_replay_that_the_program_catches_leaves_no_trace():
    def f(x):
        with contextlib.suppress(ZeroDivisionError):
            tapegrad.grad(lambda v: np.sum(refuses(v)))(x)
        return np.sum(np.sin(x))

    view = tapegrad.tape(f, X)
    last = [row for row in view if row.operation in ("np.sin", "np.sum")][-2:]
    assert [row.of for row in last] == [None, None]
    assert {row.function for row in last} == {
        "test_an_error_of_a_replay_that_the_program_catches_leaves_no_trace.<locals>.f"
    }


def test_the_replay_of_a_view_names_the_line_of_an_error():
    view = tapegrad.tape(lambda x: np.sum(refuses(x)), X)
    with pytest.raises(ZeroDivisionError, match="refused") as found:
        view.run()
    (note,) = found.value.__notes__
    assert note.startswith("Raised in the derivative of refuses, which was called at")
    assert "view = tapegrad.tape(lambda x: np.sum(refuses(x)), X)" in note
    assert not view.replayed
    assert not replays._WATCHING.watchers
