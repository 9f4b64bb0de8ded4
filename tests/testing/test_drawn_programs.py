"""Drawn programs: well-typed, smooth where they say so, printed as they run, and shrinking."""

from __future__ import annotations

import pickle
import traceback

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import tapegrad
from tapegrad._tree import flatten
from tapegrad.testing import own_operation, programs, shrink
from tapegrad.testing._programs.drawing import known_operations, random_program

DTYPES = ("float64", "float32", "complex128")
ASKED_FOR = {"casts": True, "integers": 2, "flat": True, "empty": True}
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def along(program, direction, step=1e-4):
    """The five-point difference of a scalar program along a direction."""

    def at(k):
        moved = [x + k * step * dot for x, dot in zip(program.args, direction, strict=True)]
        return float(program(*moved))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


@QUICK
@given(programs(12, dtypes=DTYPES, inputs=3))
def test_the_source_gives_what_the_program_gives(program):
    space = {}
    exec(program.source[: program.source.rindex("print(f(")], space)
    call = program.source[program.source.rindex("print(f(") + 6 : -2]
    pasted = eval(call, space)
    np.testing.assert_array_equal(pasted, program(*program.args))
    assert np.all(np.isfinite(pasted))
    assert repr(program) == program.source


@pytest.mark.parametrize("count", [3, 15])
def test_gradients_of_programs_are_those_of_differences(count):
    for seed in range(60):
        program = random_program(seed, count)
        random = np.random.default_rng(seed)
        direction = [random.standard_normal(np.shape(x)) for x in program.args]
        pushed = tapegrad.jvp(program, program.args, tuple(direction))[1]
        found = along(program, direction)
        assert abs(found - pushed) <= 1e-4 * max(1, abs(pushed)), (seed, program)


@pytest.mark.slow
def test_every_operation_is_drawn():
    seen = set()
    for seed in range(400):
        seen.update(random_program(seed, 20, kinks=True).operations)
        if seed < 200:
            seen.update(random_program(seed, 12, **ASKED_FOR).operations)
    assert {operation.name for operation in known_operations()} == seen


@QUICK
@given(programs(12, dtypes=DTYPES, output="any"))
def test_programs_do_not_change_their_arguments_and_pickle(program):
    args = program.args
    first = program(*args)
    for arg, anew in zip(args, program.args, strict=True):
        np.testing.assert_array_equal(arg, anew)
    again = pickle.loads(pickle.dumps(program))
    assert again.source == program.source
    for one, other in zip(*(flatten(out)[0] for out in (again(*args), first)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_lines_of_a_program_are_found():
    bad = random_program(3, 4, operations=("np.reshape",), shapes=((6,),))
    with pytest.raises(ValueError, match="reshape") as caught:
        tapegrad.grad(bad)(*[np.zeros(7)] * len(bad.args))
    frames = traceback.extract_tb(caught.value.__traceback__)
    lines = [frame.line for frame in frames if frame.filename == bad.file]
    assert lines
    assert lines[0] in bad.source
    assert lines[0].startswith("v")


def test_what_is_left_out_is_not_drawn():
    kinds = {operation.name: operation.kind for operation in known_operations()}
    for seed in range(40):
        program = random_program(seed, 15, nested=False, writes=False)
        assert not {kinds[name] for name in program.operations} & {"nested", "write", "planted"}
    with pytest.raises(tapegrad.InputError, match=r"np\.sine"):
        programs(operations=("np.sine",))
    with pytest.raises(tapegrad.InputError, match="output="):
        programs(output="tree")
    with pytest.raises(tapegrad.InputError, match="dtypes"):
        programs(dtypes=("int64",))


def test_other_arguments_have_the_same_shapes_and_dtypes():
    for seed in range(10):
        program = random_program(seed, 6, dtypes=DTYPES, kinks=True, **ASKED_FOR)
        for special in (None, np.nan):
            there = program.args_at(seed, special)
            for one, other in zip(program.args, there, strict=True):
                assert (one.shape, one.dtype) == (other.shape, other.dtype)
                if one.dtype.kind in "fc" and one.size:
                    assert np.sum(np.isnan(other)) == (special is not None)
        kinds = [program.args[at].dtype.kind for at in program.argnums]
        assert set(kinds) <= {"f", "c"}
        assert len(program.args) == len(kinds) + 2
    with pytest.raises(tapegrad.InputError, match="integers"):
        programs(integers=4)


def test_own_functions_are_called_inside_their_domains():
    seen = []

    def within(matrix, vector):
        assert matrix.ndim == 2
        assert vector.shape == matrix.shape[1:]
        assert np.all((matrix > 0) & (matrix < 1))
        seen.append(matrix.shape)
        return matrix @ vector

    own = own_operation(within, "(m,n),(n)->(m)", low=0.0, high=1.0)
    for seed in range(30):
        program = random_program(seed, 8, own=[own], operations=("np.sin",), including="within")
        program(*program.args)
    assert len(set(seen)) > 1
    with pytest.raises(tapegrad.InputError, match="signature"):
        own_operation(within, "m,n")


def found_by_hypothesis(wanted, **options):
    """The smallest program of those operations that Hypothesis finds, and its calls to shrink."""
    quick = settings(
        max_examples=5000,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    failed = []

    def fails(program):
        if wanted <= set(program.operations):
            failed.append(len(program.operations))
        elif failed:
            failed.append(0)
        return wanted <= set(program.operations)

    return find(programs(30, **options), fails, settings=quick), failed


def holds_to_few(wanted, **options):
    small, failed = found_by_hypothesis(wanted, **options)
    assert wanted <= set(small.operations)
    assert len(small.operations) <= len(wanted) + 1  # np.where of two that differ, of one argument
    assert len(failed) <= 400 * len(wanted)
    assert np.all(np.isfinite(small(*small.args)))


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["np.tanh", "x[slice] =", "tapegrad.vmap"])
def test_a_failing_program_of_30_operations_ends_with_one(name):
    holds_to_few({name})


KINDS = (
    *("np.log", "*", "np.where", "np.clip", "np.sum", "np.std", "np.max", "np.sort", "np.cumprod"),
    *("x[i] =", "x *=", "out=", "np.add.at", "view *=", "np.transpose", "np.reshape", "x[list]"),
    *("if", "while", "for row", "x[argmax]", "tapegrad.grad", "grad of grad", "vmap of grad"),
    *("steep", "@", "np.einsum", "np.linalg.solve", "np.linalg.eigh", "np.linalg.svd"),
)


@pytest.mark.scheduled
@pytest.mark.parametrize("name", KINDS)
def test_failing_programs_of_every_kind_end_with_one_operation(name):
    holds_to_few({name})


@pytest.mark.slow
@pytest.mark.parametrize(
    "wanted", [{"np.exp", "np.linalg.solve"}, {"x *=", "np.add.at"}, {"tapegrad.vmap", "if"}]
)
def test_failures_that_need_two_operations_end_with_two(wanted):
    some = ("np.sin", "*", "np.sum", "np.sort", "x[i]", "np.transpose", "np.stack", *wanted)
    holds_to_few(wanted, operations=some)


FAILURES = (
    *({name} for name in ("np.tanh", "x[slice] =", "x[i] =", "view *=", "out=", "np.sort")),
    {"np.exp", "np.linalg.solve"},
    {"x *=", "np.add.at"},
    {"tapegrad.vmap", "np.sum", "if"},
)


@pytest.mark.part(4)
@pytest.mark.parametrize("wanted", FAILURES, ids=lambda wanted: ", ".join(sorted(wanted)))
def test_shrink_leaves_what_fails_and_asks_seldom(wanted):
    program = next(
        program
        for seed in range(2000)
        if wanted <= set((program := random_program(seed, 30)).operations)
    )
    asked = []

    def fails(candidate):
        asked.append(candidate)
        return wanted <= set(candidate.operations)

    small = shrink(program, fails)
    assert fails(small)
    assert len(small.operations) <= 3
    assert len(asked) <= 100
    assert np.isfinite(small(*small.args))
    args = small.args
    small(*args)
    for arg, anew in zip(args, small.args, strict=True):
        np.testing.assert_array_equal(arg, anew)
    again = pickle.loads(pickle.dumps(small))
    assert shrink(again, fails).source == small.source


@pytest.mark.parametrize("count", [5, 30])
def test_shrink_keeps_the_values_that_statements_saw(count):
    for seed in range(10):
        program = random_program(seed, count, output="array")
        small = shrink(program, lambda p: "np" in p.source)
        assert len(small.operations) == 0
        bound = float(np.sum(np.abs(flatten(program(*program.args))[0][-1])))

        def fails(candidate, bound=bound):
            out = flatten(candidate(*candidate.args))[0]
            return any(np.isclose(float(np.sum(np.abs(one))), bound, rtol=1e-2) for one in out)

        small = shrink(program, fails)
        assert fails(small)
        assert len(small.operations) <= 1


def test_shrink_asks_for_a_program_that_fails():
    program = random_program(1, 5)
    with pytest.raises(tapegrad.InputError, match="fails"):
        shrink(program, lambda _: False)
    asked = []
    shrink(program, lambda p: asked.append(p) or True, most=0)
    assert len(asked) == 1


@given(st.integers(0, 10**6))
@QUICK
def test_kinks_on_purpose(seed):
    program = random_program(seed, 8, kinks=True)
    assert np.isfinite(program(*program.args))
