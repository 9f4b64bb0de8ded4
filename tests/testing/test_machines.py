"""Machines that grow graphs: right libraries pass, planted bugs are found and shrink to little."""

from __future__ import annotations

import re

import numpy as np
import pytest
import stub_library
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import tapegrad
from tapegrad.testing import GraphError, GraphMachine
from tapegrad.testing._machines.graph import Graph
from tapegrad.testing._machines.reference import Slope
from tapegrad.testing._machines.shrinking import (
    Step,
    _with_earlier_values,
    _with_less,
    _without_one,
)
from tapegrad.testing._machines.slopes import WAYS, partials
from tapegrad.testing.machines import TapegradMachine, TorchMachine

QUICK = settings(
    max_examples=10,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# As in `TestCase.settings`: programs are made short by GraphError alone.
SEARCH = settings(
    QUICK,
    max_examples=1000,
    stateful_step_count=30,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
)


class StubMachine(GraphMachine):
    imports = "import stub_library as stub"
    operations = {  # noqa: RUF012
        "stub.sin({0})": "np.sin({0})",
        "{0} * {1}": "{0} * {1}",
        "{0} + {1}": "{0} + {1}",
        "stub.total({0})": "np.sum({0})",
    }
    views = ("{0}[..., :1]", "{0}[..., ::-1]")
    writes = {"{0}.scale_(2.0)": "{0}[...] *= 2.0"}  # noqa: RUF012
    leaf = "stub.leaf({array})"
    value = "{0}.array"
    backward = "{0}.backward({cotangent})"
    gradient = "{0}.grad"
    zero = "{0}.forget()"
    detach = "stub.detach({0})"
    hook = "stub.set_hook({0}, {factor})"
    refuses = (stub_library.SpoiledError,)
    write_constants = False


@pytest.fixture
def plant():
    """Plants a bug for a test."""
    stub_library.BUGS.clear()
    yield stub_library.BUGS.add
    stub_library.BUGS.clear()


def failure_of(machine, options=SEARCH):
    with pytest.raises(GraphError) as caught:
        run_state_machine_as_test(machine, settings=options)
    return caught.value


def steps_of(program):
    return [line for line in program.splitlines() if re.match(r"x\d+\b|stub", line)]


def test_tapegrad():
    run_state_machine_as_test(TapegradMachine, settings=QUICK)


def test_tensors():
    run_state_machine_as_test(TorchMachine, settings=QUICK)


@pytest.mark.scheduled
@pytest.mark.parametrize("machine", [TapegradMachine, TorchMachine])
def test_many_programs(machine):
    run_state_machine_as_test(
        machine, settings=settings(QUICK, max_examples=150, stateful_step_count=50)
    )


@pytest.mark.peers
def test_pytorch_and_ours_do_the_same():
    pytest.importorskip("torch")

    class Theirs(TorchMachine):
        imports = "import torch"

    class Both(TorchMachine):
        against = Theirs

    run_state_machine_as_test(Both, settings=settings(QUICK, max_examples=100))


@pytest.mark.peers
@pytest.mark.slow
def test_jax():
    jax = pytest.importorskip("jax")

    class JaxMachine(GraphMachine):
        imports = "import jax\nimport jax.numpy as jnp"
        operations = {"jnp.sin({0})": "np.sin({0})", "{0} * {1}": "{0} * {1}"}  # noqa: RUF012
        leaf = "jnp.array({array})"
        vjp = "value, pull = jax.vjp(f, *leaves)\ngradients = pull(cotangent.astype(value.dtype))"
        functions = ("f", "jax.checkpoint(f)")

    with jax.enable_x64(True):
        run_state_machine_as_test(
            JaxMachine, settings=settings(QUICK, max_examples=3, stateful_step_count=8)
        )


def test_the_stub_is_right_where_nothing_is_planted(plant):
    run_state_machine_as_test(StubMachine, settings=settings(QUICK, max_examples=15))


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "bug",
    [
        "no accumulation",
        "wrong rule",
        "once a parent",
        "hook forgotten",
        *(
            pytest.param(bug, marks=pytest.mark.slow)
            for bug in (
                "stale view",
                "broadcast",
                "detach not cut",
                "forgotten factor",
                "wrong at one shape",
                "forgotten version",
            )
        ),
    ],
)
def test_a_planted_bug_is_found_and_shrunk(plant, bug):
    plant(bug)
    error = failure_of(StubMachine)
    assert len(steps_of(error.program)) <= 5, error.program


def test_a_gradient_of_another_shape():
    class Flat(GraphMachine):
        imports = "import tapegrad"
        operations = ("np.sin({0})",)
        vjp = """
        value, pull = tapegrad.vjp(f, *leaves)
        gradients = [g.reshape(-1) for g in pull(cotangent)]
        """

    error = failure_of(Flat)
    assert "Flat: gradients[0] has the shape (1,), and its value ()" in str(error)


def test_a_failing_program_fails_when_it_is_pasted(plant, capsys):
    plant("wrong rule")
    error = failure_of(StubMachine)
    assert error.program in str(error)
    assert "the reference has" in str(error)
    exec(error.program, {})
    printed = capsys.readouterr().out
    said = str(error).split("is\n    ")[1].splitlines()[0]
    assert float(printed) == pytest.approx(float(said))


def test_a_machine_of_functions_prints_the_function():
    class Wrong(GraphMachine):
        imports = "import tapegrad"
        operations = {"np.sin({0})": "np.cos({0})"}  # noqa: RUF012
        vjp = "value, pull = tapegrad.vjp(f, *leaves)\ngradients = pull(cotangent)"

    error = failure_of(Wrong)
    assert "def f(x0):\n    x1 = np.sin(x0)\n    return x1\n" in error.program
    exec(error.program, {})


@pytest.mark.parametrize("way", [_without_one, _with_earlier_values, _with_less])
def test_a_shorter_program_makes_what_it_uses(way):
    """And its steps take as many values as before."""
    steps = [
        Step("leaf", (), {"shape": (2, 3), "flag": True}, "a"),
        Step("leaf", (), {"shape": (3,), "number": 2.5}, "b"),
        Step("mul", ("a", "b"), {}, "c"),
        Step("stack", ("c", "a", "b"), {"axis": 1}, "d"),
        Step("view", ("d",), {"index": 2}, "e"),
        Step("write", ("e", "c"), {}),
        Step("backward", ("d",), {}),
    ]
    counts = {step.kind: len(step.values) for step in steps}
    proposed = list(way(steps))
    assert proposed
    for program in proposed:
        assert program != steps
        made = set()
        for step in program:
            assert len(step.values) == counts[step.kind]
            assert made.issuperset(step.values)
            made.add(step.out)
        if way is _with_earlier_values:
            before, after = ([v for step in p for v in step.values] for p in (steps, program))
            assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_kinks_are_no_bugs():
    """At a tie any value between the slopes of the sides passes; others do not."""

    class Ties(TapegradMachine):
        operations = ("np.maximum({0}, {0}.copy())", "np.abs({0} * 0.0)", "np.maximum({0}, {1})")

    run_state_machine_as_test(Ties, settings=QUICK)


def test_ways_that_agree_by_chance_at_a_tie_are_uncertain():
    """Three equal elements, sorted: each that moves alone reaches the first or the last place."""
    weights = np.array([0.9, 1.0, 0.9])
    start = Slope(np.stack([weights] * len(WAYS)), weights, np.zeros(3))
    sort = partials(lambda points: np.sort(points[0]), [np.ones(3)], 0)
    copies = partials(lambda points: np.repeat(points[0], 3), [np.ones(1)], 0)
    slope = start.through(sort).through(copies)
    np.testing.assert_allclose(slope.ways[:, 0], 2.7)
    assert abs(slope.best[0] - 2.8) < slope.error[0] < np.inf
    smooth = start.through(partials(lambda points: np.sin(points[0]), [np.ones(3)], 0))
    assert np.all(smooth.error < 1e-12)


def test_a_machine_says_how_derivatives_are_taken():
    class Nothing(GraphMachine):
        operations = ("np.sin({0})",)

    with pytest.raises(tapegrad.InputError, match="either `vjp`, or `backward` and `gradient`"):
        Nothing()


def test_gradients_are_those_of_the_reference():
    """The reference by itself, against a gradient in closed form."""
    from tapegrad.testing._machines.reference import Reference

    reference = Reference(20, 50.0)
    x = reference.leaf("x", np.array([0.3, -0.7]))
    y = reference.apply("y", np.sin, [x], tracked=True, view=False)
    v = reference.apply("v", lambda a: a[:1], [y], tracked=True, view=True)
    reference.write(lambda a: a.__imul__(3.0), [v], tracked=True)
    found, _ = reference.pull(y, np.array([1.0, 1.0]))
    slope = found[1]
    np.testing.assert_allclose(slope.best, np.cos(x.array) * [3.0, 1.0], rtol=1e-12)
    assert np.all(slope.error < 1e-11)


def test_a_view_of_a_number_is_not_written_to():
    """NumPy multiplies 0-d arrays to a number, a view of which is a copy; tensors have none."""

    def texts(text):
        return {"text": text, "plain": text, "blocked": False}

    steps = [
        Step("leaf", (), {"shape": (), "seed": 0, "constant": False}, "x0"),
        Step("operation", ("x0", "x0"), texts("{0} * {1}"), "x1"),
        Step("view", ("x1",), texts("{0}[None]"), "x2"),
        Step("write", ("x2",), texts("{0}[0] = 0.5"), "x3"),
    ]
    for machine, count in ((TapegradMachine, 3), (TorchMachine, 4)):
        graph = Graph(machine)
        for step in steps:
            graph.do(step)
        assert len(graph.steps) == count
        given = {"seed": 0, "retain": False, "which": 0}
        graph.do(Step("differentiate", ("x1",), given, "x4"))
