"""The switch `--compiled`: the suite's transforms run as programs too, and must give the same.

Each call of a transformed function runs it as it is, and then its compiled form, several times:
twice recorded, then as a program. The results must be equal bit by bit; those of machine code
(`--compiled=llvm`), but for what rounding explains: see `_Rounded`. Calls within a transform
are left as they are, as a compiled function itself leaves them. The runs that the switch adds
leave no trace in the lists, attributes and variables that the function writes to: see `_State`.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import sys
import warnings

import numpy as np

import tapegrad
from tapegrad import _tree
from tapegrad._compile.calls import RECORDINGS
from tapegrad._compile.surroundings import Surroundings
from tapegrad._core.recorded import RECORDING
from tapegrad._core.tape import CURRENT
from tapegrad._core.values import in_trace
from tapegrad._transforms.draws import RandomnessCheck
from tapegrad._transforms.wrapper import Transformed

# Those that return a function, and those that take its arguments, which return its derivative,
# or that and a function.
TRANSFORMS = (
    "grad",
    "value_and_grad",
    "elementwise_grad",
    "jacobian",
    "jacrev",
    "jacfwd",
    "hessian",
    "vmap",
    "checkpoint",
)
PRODUCTS = ("jvp", "hvp", "vhp", "ggnvp")
LINEAR = ("vjp", "linearize", "linear_transpose")
MOST_CALLS = 2 * RECORDINGS + 2  # one new beginning among them
RUNS = 2  # the second over the arrays of the first

PLAIN = "it asks for the class of what is untraced in f, which is recorded"
MEMORY = "it measures memory, or who holds a value, and a recording holds all values"
REPLAYS = "it counts the replays, and the switch adds some"
CALLER = "the switch makes the call, not the test"
SEES = "it collects what it sees in each call of a derivative of its own"
COUNTS_CALLS = "it counts the calls of something that f calls, and the switch adds some"
FRAMES = "it compares the lines from the test to f, and the switch has frames in between"
FORGETS = "it counts warnings, and Python forgets which it has shown where the switch ignores some"
ARPACK = "ARPACK begins at random where v0 is not given: two plain calls differ in bits, too"
PINT = (
    "each function of it holds the registry of Pint, 37,000 values to search in each "
    "call, and takes minutes"
)
KNOWN_NORMS = (
    "known: a vmap of the object layer's norms differs by an ulp, as they ask for plain arrays"
)
ZEROS = "known: a recorded index is no basic one, and what is added there may turn -0.0 into 0.0"
POWERS = "known: np.complex128 times a recorded number is np.multiply, which may round otherwise"
XARRAY = (
    "known: xarray makes an array without axes of NumPy's numbers, not of recorded ones, so that "
    "a constant leaf (of a floor_divide) is a number in a program, of the same bits"
)
# Tests that cannot be run so, by their name (with the file's where others have it, too), and why.
LEFT_OUT = {
    "test_programs_run[docs/architecture.md]": "it counts the calls",
    "test_examples_in_docstrings_run[tapegrad._arrays.traced]": "it shows what f prints",
    "test_a_loop_over_elements_is_replayed_at_once": REPLAYS,
    "test_a_replay_without_the_flags_of_a_processor_looks_for_infinities": REPLAYS,
    "test_each_example_has_rows_of_its_own[<lambda>2]": ZEROS,
    "test_each_example_has_rows_of_its_own[<lambda>4]": ZEROS,
    "test_two_vmaps_that_map_different_arguments[<lambda>9]": ZEROS,
    "test_two_vmaps_that_map_different_arguments[<lambda>10]": ZEROS,
    "test_a_python_number_is_as_the_scalar_that_numpy_makes_of_it[pow]": POWERS,
    "test_the_warning_points_to_the_call": CALLER,
    "test_programs_run[docs/checkpoint.md]": CALLER,
    "test_programs_run[docs/errors.md]": FORGETS,
    "test_programs_run[docs/looking-inside.md]": "it counts the calls",
    "test_a_singular_branch_that_is_not_taken_costs_no_second_replay": REPLAYS,
    "test_memory_is_smaller": MEMORY,
    "test_memory_of_some_hundred_steps": MEMORY,
    "test_memory_of_a_hessian_vector_product": MEMORY,
    "test_memory_inside_vmap": MEMORY,
    "test_memory_is_flat_over_many_gradients": MEMORY,
    "test_entries_are_released_while_a_gradient_is_pulled": MEMORY,
    "test_forward_mode_memory_does_not_grow_with_the_program": MEMORY,
    "test_element_loops_take_linear_memory": MEMORY,
    "test_functions_know_which_inputs_a_transform_differentiates": SEES,
    "test_vmap_of_ones_own": SEES,
    **{
        f"{name}[{case}]": PINT
        for name, cases in (
            ("test_an_operator_is_right_or_refused", ("forward-{}",)),
            ("test_a_call_inside_vmap_is_right_or_refused", ("{}",)),
            ("test_a_call_of_numpy_is_right_or_refused", ("{}",)),
        )
        for library in ("pint", "pint, no unit")
        for case in [form.format(library) for form in cases]
    },
    "test_an_operator_is_right_or_refused[forward-xarray]": XARRAY,
    "test_an_operator_is_right_or_refused[forward-xarray.Variable]": XARRAY,
    "test_norms_map_over_examples": KNOWN_NORMS,
    "test_the_derivatives_are_those_of_mpmath[kei-<lambda>-ranges24]": POWERS,
    **{
        f"test_scipy_sparse_linalg.py::{name}": ARPACK
        for name in (
            "test_eigsh",
            "test_eigsh_gives_what_eigh_gives",
            "test_equal_eigenvalues_that_are_all_wanted",
            "test_eigs_and_svds",
        )
    },
    "test_a_filter_of_a_long_signal_is_differentiated_in_linear_time": COUNTS_CALLS,
    "test_memory_is_that_of_the_snapshots": MEMORY,
    "test_auto_keeps_to_the_budget": MEMORY,
    "test_peaks_are_those_of_the_gradient": MEMORY,
    **{
        f"test_chunk_size.py::{name}": COUNTS_CALLS
        for name in (
            "test_auto_has_the_bits_of_its_size",
            "test_a_budget_that_is_too_small_for_anything_takes_one_at_a_time",
            "test_a_large_budget_takes_all_at_once",
        )
    },
    **{
        f"test_profiles.py::{name}": COUNTS_CALLS
        for name in (
            "test_a_transform_runs_as_it_stands",
            "test_a_block_has_all_transforms_within",
            "test_threads_are_apart",
            "test_an_error_within_a_replay_closes_what_is_open",
        )
    },
    "test_peaks_are_watched_where_it_is_asked_for": MEMORY,
    "test_a_function_that_shows_values_is_no_program": "it shows what f prints",
    "test_a_block_may_begin_while_another_thread_replays": (
        "the calls that the switch adds begin when the block is open, and are debugged"
    ),
    "test_the_tangents_of_a_hessian_are_at_the_lines_of_what_they_are_of": FRAMES,
    **{
        f"test_the_programs_frames_and_one_line_of_ours[{case}]": FRAMES
        for case in (
            *("grad", "value_and_grad", "vjp", "jvp", "linearize", "vmap", "checkpoint"),
            *("jacobian", "hessian", "hvp", "vhp", "ggnvp", "elementwise_grad"),
            *("linear_transpose", "vmap of grad", "compile of grad"),
        )
    },
    **{
        f"test_tracebacks.py::{name}": FRAMES
        for name in (
            "test_errors_of_our_own_end_at_the_programs_line",
            "test_the_innermost_frame_stays_where_no_line_of_the_program_is_inside",
            "test_a_backward_pass_of_the_programs_own",
            "test_numpys_own_frames_stay_innermost",
            "test_an_inner_transform_leaves_it_to_the_outermost",
            "test_groups",
            "test_a_long_chain",
            "test_warnings_as_errors_end_at_the_programs_line",
            "test_a_debugger_steps_through_the_programs_frames",
            "test_threads_have_blocks_of_their_own",
            "test_the_object_layer",
        )
    },
    **{
        f"test_each_line_of_the_program_warns_once[{case}]": FORGETS
        for case in (
            *("grad", "value_and_grad", "jvp", "vmap", "vmap of grad", "grad of grad"),
            *("checkpoint", "compile of grad", "hessian"),
        )
    },
    **{
        f"test_warnings.py::{name}": FORGETS
        for name in (
            "test_lines_of_one_operation_warn_each",
            "test_the_actions_of_filters[default-2]",
            "test_the_actions_of_filters[module-1]",
            "test_the_actions_of_filters[once-1]",
            "test_tasks_and_generators",
        )
    },
    "test_errors_that_raise_call_or_log": COUNTS_CALLS,
    "test_warnings.py::test_threads": CALLER,
    "test_a_warning_in_a_replay_says_which_call_it_is_about": CALLER,
}


def why_left_out(item):
    """Why a test is left out, by its name or that of its function, alone or with the file's."""
    for name in (item.originalname, item.name):
        for known in (name, f"{item.path.name}::{name}"):
            if known in LEFT_OUT:
                return LEFT_OUT[known]
    return None


BACKEND = ["numpy"]
COUNTS = collections.Counter()


def compile_all(backend):
    """Put transforms whose results are compiled in place of tapegrad's."""
    BACKEND[0] = backend
    for names, way in ((TRANSFORMS, _returning), (PRODUCTS, _product), (LINEAR, _linear)):
        for name in names:
            setattr(tapegrad, name, way(getattr(tapegrad, name)))


def _returning(transform):
    @functools.wraps(transform)
    def made(*args, **kwargs):
        found = transform(*args, **kwargs)
        if not isinstance(found, Transformed):
            return found
        f, options = found._made[1:]
        return Transformed(found._made[0], f, options, _Both(found))

    return made


def _product(transform):
    @functools.wraps(transform)
    def made(f, *args, **kwargs):
        options = {name: kwargs.pop(name) for name in ("has_aux", "loss") if name in kwargs}
        return _Both(functools.partial(transform, f, **options))(*args, **kwargs)

    return made


def _linear(transform):
    @functools.wraps(transform)
    def made(f, *primals, **options):
        found = transform(f, *primals, **options)
        if _is_inside((primals, options)):
            return found

        def part(primals, given):
            found = transform(f, *primals, **options)
            return (found[1] if type(found) is tuple else found)(*given)

        own = _tree.tree_map(lambda x: x.copy() if type(x) is np.ndarray else x, primals)
        if type(found) is tuple:
            return (found[0], _Linear(found[1], part, own), *found[2:])
        return _Linear(found, part, own)

    return made


class _Linear:
    """A pullback or pushforward, and the program of its call together with what made it."""

    def __init__(self, linear, part, primals):
        self.linear, self.part, self.primals = linear, part, primals

    def __call__(self, *given):
        if _is_inside(given):
            return self.linear(*given)
        both = _Both(self.part, lambda _, given: self.linear(*given))
        return both(self.primals, given)

    def __getattr__(self, name):
        return getattr(self.linear, name)


def _is_inside(args):
    """Whether a call is within a transform, and is left as it is."""
    if CURRENT.get() is not None or RECORDING.get() is not None:
        return True
    return any(map(in_trace, _tree.flatten(args)[0]))


def _draws_of_tensors():
    """The state of the object layer's generator, if that layer is there."""
    module = sys.modules.get("tapegrad.torch.random")
    return module.get_rng_state().numpy().tobytes() if module else None


def _draws_of_numpy():
    """The state of NumPy's global generator, of which SciPy's estimates of norms draw."""
    return repr(np.random.get_state(legacy=False))  # noqa: NPY002


class _Both:
    """A function and its compiled form, whose results must be the same."""

    def __init__(self, f, first=None):
        self.f, self.first = f, first or f
        self.fast = tapegrad.compile(f, backend=BACKEND[0])

    def __call__(self, *args, **kwargs):
        if _is_inside((args, kwargs)):
            return self.first(*args, **kwargs)
        leaves = _tree.flatten((args, kwargs))[0]
        before = [x.copy() if type(x) is np.ndarray else x for x in leaves]
        state, draws = _State(self.f), RandomnessCheck(self.f, leaves)
        tensors, numbers = _draws_of_tensors(), _draws_of_numpy()
        expected = self.first(*args, **kwargs)
        drew = draws.drew() or (tensors, numbers) != (_draws_of_tensors(), _draws_of_numpy())
        if drew or not all(map(same, leaves, before)):
            COUNTS["not run again: it draws numbers, or writes into its arguments"] += 1
            return expected
        if any(map(in_trace, _tree.flatten(expected)[0])):
            COUNTS["not run again: a tensor outside traces its result"] += 1
            return expected
        with warnings.catch_warnings(), _State(self.f).kept():
            warnings.simplefilter("ignore")
            state.put_back()
            again = self.f(*args, **kwargs)  # a first call learns, and may round otherwise
            known = _Rounded(self, state, args, kwargs) if BACKEND[0] == "llvm" else None
            runs = 0  # of the program
            for _ in range(MOST_CALLS):
                runs += self._program() is not None
                state.put_back()
                found = self.fast(*args, **kwargs)
                a, b = _tree.flatten(found)[0], _tree.flatten(again)[0]
                assert len(a) == len(b)
                if known is None or not known.explains(a, b):
                    assert all(map(same, a, b)), f"a program gave {a}, not {b}"
                if runs == RUNS:
                    break
        self._count()
        return expected

    def _program(self):
        programs = list(self.fast.call.programs.values())
        return programs[-1].runner if programs else None

    def _count(self):
        calls = self.fast.call
        programs = list(calls.programs.values())
        if not programs:
            why = "arguments that no program takes"
        elif programs[-1].runner is not None:
            why = "programs"
        elif programs[-1].why:
            why = programs[-1].why
        elif calls.surroundings.changes:
            why = "what it reads from outside has changed"
        else:
            why = f"not yet, after {programs[-1].restarts} new beginnings"
        COUNTS[why] += 1


class _Rounded:
    """Bound of rounding in the results of a call.

    That is a small part of a result's greatest element, or what changes if the arguments do by
    some units in the last place. NaNs, infinities and whole numbers must be the same.
    """

    def __init__(self, both, state, args, kwargs):
        self.both, self.state = both, state
        self.leaves, self.structure = _tree.flatten((args, kwargs))
        self.moved = None

    def explains(self, found, expected):
        if all(map(_is_close, found, expected)):
            return True
        if self.moved is None:
            self.moved = [self._moved(seed) for seed in range(4)]
        return all(
            _is_close(a, b, others)
            for a, b, *others in zip(found, expected, *self.moved, strict=True)
        )

    def _moved(self, seed):
        """The results for arguments that are a few units away."""
        random = np.random.default_rng(seed)

        def nudged(x):
            if not isinstance(x, (np.ndarray, np.generic, float)) or np.result_type(x).kind != "f":
                return x
            eps = np.finfo(np.result_type(x)).eps
            far = x * (1 + random.uniform(-16, 16, np.shape(x)) * eps)
            return far.astype(x.dtype) if hasattr(x, "dtype") else float(far)

        self.state.put_back()
        args, kwargs = _tree.unflatten(self.structure, map(nudged, self.leaves))
        return _tree.flatten(self.both.f(*args, **kwargs))[0]


def _is_close(a, b, others=()):
    """Whether two leaves are the same but for rounding; others: as far apart as these."""

    def room_of(b, finite):
        room = np.full(b.shape, np.finfo(b.dtype).eps ** 0.6 * np.max(np.abs(b), initial=0.0))
        for other in others:
            room = np.fmax(room, 16 * np.abs(np.asarray(other)[finite] - b))
        return room

    return _within(a, b, room_of)


def _within(a, b, room_of):
    """`same`, or as near as `room_of(finite numbers of b, where they are)` allows."""
    if same(a, b):
        return True
    if type(a) is not type(b) or not isinstance(b, (np.ndarray, np.generic, float, complex)):
        return False
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype, a.shape) != (b.dtype, b.shape) or b.dtype.kind not in "fc":
        return False
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    return bool(np.all(np.abs(a[finite] - b[finite]) <= room_of(b[finite], finite)))


class _State:
    """Outside targets of a function's writes: lists, dicts, attributes, variables, arrays."""

    def __init__(self, f):
        self.before = Surroundings(f).before()

    def put_back(self):
        self.before.restore()

    @contextlib.contextmanager
    def kept(self):
        try:
            yield
        finally:
            self.put_back()


def same(a, b):
    """Whether two leaves are equal in class, dtype, shape and bits, NaNs by being NaNs."""
    if type(a) is not type(b):
        return False
    if not isinstance(a, (np.ndarray, np.generic, float, complex)):
        return a == b if isinstance(a, (int, str, bytes)) else True
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.hasobject or a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind not in "fc":
        return False
    known = ~np.isnan(b)
    return bool(
        np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a.real[known]), np.signbit(b.real[known]))
        and np.array_equal(np.signbit(a.imag[known]), np.signbit(b.imag[known]))
    )


ROUNDING = 64  # units in the last place of the largest element, by which a program may differ


def rounded(a, b, precision=None, least=0.0):
    """`same`, but for rounding: of the leaf's dtype, or of one that is less precise.

    least: how large the numbers are that a sum of which nothing is left had at least.
    """

    def room_of(b, _finite):
        unit = np.finfo(precision or b.dtype).eps
        return ROUNDING * unit * np.max(np.abs(b), initial=least)

    return _within(a, b, room_of)


def report(write_line):
    """Say how many calls ran as programs, and why others did not."""
    for why, count in COUNTS.most_common():
        write_line(f"compiled: {count} {why}")
