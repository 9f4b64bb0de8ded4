"""The faults that `tests/plant_faults.py` plants: one change each, in what a program computes."""

from __future__ import annotations

import ast

import pytest
from fault_drawing import LEFT_OUT, ROOMS_OF_FILES, drawn, room_of
from fault_kinds import KINDS, sites
from fault_trials import Copy, Map, rewrite
from test_layers import MODULES, ROOT

PLACES = {
    "sign": ["a + b -> a - b", "(a) - (b) -> (a) + (b)", "a += b -> a -= b", "-a -> a"],
    "factor": ["2 * a -> a", "a / 2 -> a", "a * b -> a / b", "a**2 -> a**1", "f(0.5) -> f(1.0)"],
    "axis": [
        "f(a, axis=-1) -> f(a, axis=0)",
        "f(a, keepdims=True) -> f(a, keepdims=False)",
        "np.swapaxes(a, -1, -2) -> (a)",
        "a.T -> a",
    ],
    "conjugate": ["np.conj(a) -> (a)", "a.conj() -> a"],
    "comparison": ["a < b -> a <= b", "a <= b -> a < b", "a > b -> a >= b", "a >= b -> a > b"],
    "sum": ["np.sum(a) -> np.max(a)", "a.sum() -> a.mean()", "a += b -> a = b"],
    "copy": ["a.copy() -> a", "np.copy(a) -> (a)", "f(a, copy=True) -> f(a, copy=False)"],
    "state": ["try: a\nfinally: b = c -> try: a\nfinally: pass", "a.reset(b) -> pass"],
    "condition": ["a and b -> a or b", "not a -> a", "a == b -> a != b", "a is b -> a is not b"],
    "index": ["a[0] -> a[1]", "a[-1] -> a[-2]", "a[1:, b] -> a[2:, b]"],
}


def written(program: bytes) -> list[tuple[str, str]]:
    """Each fault's kind, and the program with it."""
    found = [(site.kind, site.edit) for site in sites(program)]
    return [
        (kind, (program[: edit.start] + edit.after.encode() + program[edit.end :]).decode())
        for kind, edit in found
    ]


def test_all_kinds_have_a_place():
    assert set(PLACES) == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "program", "other"),
    [(kind, *place.split(" -> ")) for kind, places in PLACES.items() for place in places],
)
def test_a_fault_is_one_change(kind, program, other):
    assert (kind, other) in [(kind, text.strip()) for kind, text in written(program.encode())]


@pytest.mark.parametrize(
    "program",
    [
        "import a.b",
        '"""a - b"""',
        "x: Literal[1, 2] = a",
        "def f(x: Literal[1]) -> tuple[0]: ...",
        "def __repr__(self): return a - b",
        "raise ValueError(a + b)",
        "assert a < b",
        "f'{a - b}'",
        "'a' + b",
        "if TYPE_CHECKING:\n    a = 0.5",
        "warnings.warn(a[0])",
    ],
)
def test_what_computes_nothing_has_no_fault(program):
    assert written(program.encode()) == []


def test_every_fault_of_a_file_parses_and_keeps_its_lines():
    program = (ROOT / "rules" / "limits.py").read_bytes()
    sound = ast.dump(ast.parse(program))
    for _, text in written(program):
        assert ast.dump(ast.parse(text)) != sound
        assert text.count("\n") == program.count(b"\n")


def test_every_file_has_a_room_of_tests():
    tests = {path.name for path in (ROOT.parent / "tests").iterdir()}
    files = [path.relative_to(ROOT.parent).as_posix() for path in MODULES.values()]
    assert {room_of(file) for file in files} <= tests
    assert set(files) >= LEFT_OUT
    assert {f"tapegrad/{name}.py" for name in ROOMS_OF_FILES} <= set(files)


@pytest.fixture
def checkout(tmp_path):
    for file, text in {"_a/x.py": b"a - b\n", "b/y.py": b"c[0] < 2 * d\n"}.items():
        path = tmp_path / "tapegrad" / file
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
    return tmp_path


def test_faults_are_drawn_from_all_rooms_and_the_same_again(checkout):
    faults = drawn(checkout, 4, seed=1)
    assert faults == drawn(checkout, 4, seed=1)
    assert sorted((fault.room, fault.kind) for fault in faults) == [
        ("a", "sign"),
        ("b", "comparison"),
        ("b", "factor"),
        ("b", "index"),
    ]


def test_a_fault_is_planted_and_taken_out(checkout):
    (fault,) = (fault for fault in drawn(checkout, 4, seed=1) if fault.room == "a")
    path = checkout / fault.file
    copy = Copy.__new__(Copy)
    copy.root = checkout
    before = path.stat()
    with copy.fault(fault):
        assert path.read_text() == "a + b\n" == f"{fault.becomes}\n"
        assert int(path.stat().st_mtime) > int(before.st_mtime)
    assert path.read_text() == "a - b\n" == f"{fault.was}\n"
    rewrite(path, b"b - a\n")
    with pytest.raises(ValueError, match="is not what it was"), copy.fault(fault):
        pass


def test_tests_of_the_own_room_that_run_the_line_come_first(checkout):
    (fault,) = (fault for fault in drawn(checkout, 4, seed=1) if fault.room == "a")
    times = {"tests/a/t.py::f[1]": 2.0, "tests/a/t.py::f[2]": 1.0, "tests/a/t.py::g": 3.0}
    tests = [*times.items(), ("tests/b/t.py::h", 1.0), ("tests/b/t.py::i", 0.5)]
    ran = Map(tests, {fault.file: {1: [0, 1, 2, 3], 2: [4]}})
    one_each = ["tests/a/t.py::f[2]", "tests/a/t.py::g", "tests/a/t.py::f[1]"]
    assert ran.running(fault) == (one_each, ["tests/b/t.py::h"])
    elsewhere = Map(tests, {fault.file: {7: [1, 4]}})
    assert elsewhere.running(fault)[1] == ["tests/b/t.py::i"]
    assert elsewhere.running(fault)[0][0] == "tests/a/t.py::f[2]"
