"""The registry: a decision and a sample for every function, with the parameters that NumPy has."""

from __future__ import annotations

import inspect
import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.lib.recfunctions
import pytest
from numpy.testing import overrides
from oldest_packages import oldest, oldest_packages
from samples import SAMPLES

import tapegrad
import tapegrad._adopt.scalars  # which declares the rules of tapegrad.math
from tapegrad._arrays.creation import CREATION
from tapegrad._core.forms import UNSUPPORTED_MODULES, Composite, Constant, Unsupported
from tapegrad._core.rule import BATCH_WORDS, MIRRORS, REGISTRY, Rule
from tapegrad._numpy_versions import (
    EXPIRING,
    INSTALLED,
    KNOWN,
    TAKES_BIAS,
    deprecated_keywords,
    signature_of,
)

# Functions of NumPy that no sample draws, and why.
UNSAMPLED = {
    np.empty_like: "NumPy's result is whatever the memory held, so no value can be compared",
    np.isnat: "takes dates alone, which are never traced",
    np.packbits: "takes integers alone, which are never traced",
    np.unpackbits: "takes integers alone, which are never traced",
    **{
        f: "has no floating loop, so NumPy refuses traced values: tests/rules/test_unsupported.py"
        for f in REGISTRY
        if isinstance(f, np.ufunc) and not set("efdgFDG") & set("".join(f.types))
    },
    **{
        rule.function: "raises whatever it is given: tests/rules/test_unsupported.py"
        for rule in REGISTRY.values()
        if isinstance(rule, Unsupported)
    },
}

# Rules of no function of NumPy's, whose work the sample of another function covers.
INNER = {
    "strong_product": np.divide,
    "the slope of np.absolute": np.absolute,
    "the slope of a length": np.hypot,
    "the side of np.copysign": np.copysign,
    "astype": None,  # a method: tests/rules/test_elementwise.py
    "z.real =": None,  # attributes: tests/arrays/test_inplace.py
    "z.imag =": None,
    "recurrence": None,  # methods of ufuncs: tests/rules/test_ufunc_methods.py
    "np.ufunc.accumulate": None,
    "np.logaddexp.reduce": None,
    **{
        f"np.{name}.{method}": None
        for name in ("add", "multiply", "maximum", "minimum")
        for method in ("at", "reduceat")
    },
    "np.subtract.at": None,
    "math.erf": None,  # of tapegrad.math: tests/adopt/test_scalars.py
    "math.erfc": None,
}


SPACES = [np, np.linalg, np.fft, np.emath, np.strings, numpy.lib.recfunctions]


def numpy_functions():
    """Everything callable that NumPy shows in its namespaces of arrays."""
    named = (getattr(space, name) for space in SPACES for name in dir(space))
    return {f for f in named if callable(f) and not isinstance(f, type)}


def overridable():
    """Functions that a library may override, by the function that people call.

    For the like= argument of a creation function NumPy hands over a function of its own.
    """
    functions = overrides.get_overridable_numpy_array_functions()
    public = {getattr(np, f.__name__, f) if f.__module__ == "numpy" else f for f in functions}
    return public | overrides.get_overridable_numpy_ufuncs()


NUMPY = numpy_functions()
OVERRIDABLE = overridable()
RULES = [rule for function, rule in REGISTRY.items() if function in NUMPY]
OWN = [
    rule
    for function, rule in REGISTRY.items()
    if function not in NUMPY
    and getattr(function, "__module__", "").startswith("tapegrad.")
    # tests/scipy, tests/implicit/test_implicit.py
    and not function.__module__.startswith((MIRRORS, "tapegrad.implicit"))
]


def test_every_rule_of_a_numpy_function_has_a_sample_or_a_reason():
    missing = [
        rule.name for rule in RULES if rule.function not in SAMPLES.keys() | UNSAMPLED.keys()
    ]
    assert missing == []


def test_every_sample_and_every_reason_belongs_to_a_rule():
    assert [f for f in [*SAMPLES, *UNSAMPLED] if f not in REGISTRY] == []
    assert SAMPLES.keys().isdisjoint(UNSAMPLED)


def test_every_rule_behind_a_numpy_function_is_reached_by_that_functions_sample():
    named = {rule.name: INNER.get(rule.name, by_name(rule.name)) for rule in OWN}
    assert [name for name, f in named.items() if f is not None and f not in SAMPLES] == []
    assert INNER.keys() <= named.keys()


def by_name(name):
    """The function of NumPy's that a rule is named after."""
    return eval(name, {"np": np}) if name.startswith("np.") else name


# --- Completeness -------------------------------------------------------------------------------


def name_of(function):
    module = getattr(function, "__module__", None) or "ufunc"
    return f"{module}.{function.__name__}"


@pytest.mark.skipif(INSTALLED not in KNOWN, reason="a NumPy that we have not decided on yet")
def test_there_is_a_decision_on_everything_that_a_library_may_override():
    assert len(OVERRIDABLE) > 400
    decided = REGISTRY.keys() | CREATION.keys()
    functions = {f for f in OVERRIDABLE if not isinstance(f, np.ufunc)}
    whole = {f for f in functions if f.__module__ in UNSUPPORTED_MODULES}
    assert sorted(map(name_of, OVERRIDABLE - decided - whole)) == []
    assert whole.isdisjoint(decided)


def test_creation_functions_have_no_rule_besides():
    """A function in both would be differentiable by `like=` alone, or not at all."""
    assert REGISTRY.keys().isdisjoint(CREATION)


def test_what_cannot_be_overridden_is_not_declared():
    """NumPy never hands such a call over: a rule would do nothing."""
    assert [rule.name for rule in RULES if rule.function not in OVERRIDABLE] == []


# --- Signatures ---------------------------------------------------------------------------------

# Functions, names and parameters are compared with those of the releases that we know.
known_release = pytest.mark.skipif(
    INSTALLED not in KNOWN, reason="a NumPy that we have not decided on yet"
)
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
NEWEST = KNOWN[-1] == INSTALLED  # older ones lack some parameters


def parameters(signature):
    """Names by position, all names, and defaults of a signature; whether it takes any name."""
    all_of_them = signature.parameters.values()
    named = [p for p in all_of_them if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return (
        [p.name for p in named if p.kind in POSITIONAL],
        {p.name: p.default for p in named},
        any(p.kind is p.VAR_KEYWORD for p in all_of_them),
    )


def numpys_parameters(function):
    """The same of NumPy's function, without what it will drop."""
    names, defaults, any_name = parameters(signature_of(function))
    dropped = deprecated_keywords(function).keys()
    kept = {name: value for name, value in defaults.items() if name not in dropped}
    return [name for name in names if name not in dropped], kept, any_name


def same_default(ours, theirs):
    if theirs is inspect.Parameter.empty:
        return True  # always passed
    if theirs is np._NoValue:  # NumPy asks whether it was passed: there is no value to compare
        return ours is not inspect.Parameter.empty
    return type(ours) is type(theirs) and repr(ours) == repr(theirs)


# Functions whose signature does not say what they take.
UNTOLD = {np.where}  # one argument or three: None is no default
COMPOSITES = [
    rule
    for rule in RULES
    if isinstance(rule, Composite)
    and rule.function not in UNTOLD
    and not isinstance(rule.function, np.ufunc)
]
DERIVED = [
    rule
    for rule in RULES
    if not isinstance(rule, (Composite, Constant, Unsupported))
    and not isinstance(rule.function, np.ufunc)
]


@known_release
@pytest.mark.parametrize("rule", COMPOSITES, ids=lambda rule: rule.name)
def test_a_definition_has_numpys_parameters(rule):
    """`out` is none of a definition's business, unless arguments behind it come by position."""
    theirs, defaults, _ = numpys_parameters(rule.function)
    ours, our_defaults, any_name = parameters(inspect.signature(rule.definition))
    theirs, ours = ([n for n in names if n != "out"] for names in (theirs, ours))
    both = (
        slice(len(ours) if any_name else None) if NEWEST else slice(min(map(len, (ours, theirs))))
    )
    assert ours[both] == theirs[both]
    missing = [name for name in defaults if name not in our_defaults and name != "out"]
    assert any_name or missing == []
    differing = [
        name
        for name in defaults
        if name in our_defaults and not same_default(our_defaults[name], defaults[name])
    ]
    assert differing == []


@known_release
@pytest.mark.parametrize("rule", DERIVED, ids=lambda rule: rule.name)
def test_a_rule_binds_numpys_parameters(rule):
    theirs, defaults, _ = numpys_parameters(rule.function)
    rule._learn_names()
    assert list(rule._names[: len(theirs)]) == theirs
    assert set(rule._names) <= defaults.keys()


@known_release
@pytest.mark.parametrize("rule", DERIVED, ids=lambda rule: rule.name)
def test_the_derivatives_of_a_rule_take_numpys_parameters(rule):
    """Their defaults are NumPy's too: a parameter that a call leaves out is not handed on."""
    _, defaults, _ = numpys_parameters(rule.function)
    rule._learn_names()
    expected = {
        name: value
        for name, value in defaults.items()
        if name not in rule._array_names and name != "out"
    }
    for derivative in derivatives_of(rule):
        signature = inspect.signature(derivative)
        _, ours, any_name = parameters(signature)
        where = f"{rule.name}, {derivative.__name__}"
        assert any_name or [name for name in expected if name not in ours] == [], where
        differing = [
            name
            for name, value in expected.items()
            if name in ours and not same_default(ours[name], value)
        ]
        assert differing == [], where


def derivatives_of(rule):
    """The functions that were declared: transposes, a vjp, a jvp."""
    given = [
        *getattr(rule, "transposes", ()),
        *(getattr(rule, "_each", None) or ()),
        getattr(rule, "_joint", None),
        getattr(rule, "_jvp", None),
    ]
    return [function for function in given if function is not None]


# --- Forms --------------------------------------------------------------------------------------


@known_release
def test_every_ufunc_with_floating_results_is_declared():
    ufuncs = [f for f in NUMPY if isinstance(f, np.ufunc)]
    floating = [f for f in ufuncs if any(set("efdgFDG") & set(t.split("->")[1]) for t in f.types)]
    assert len(floating) > 60
    assert [f.__name__ for f in floating if f not in REGISTRY] == []


def test_a_function_is_declared_once():
    with pytest.raises(tapegrad.RuleError, match=r"np\.sin: already declared as elementwise"):
        tapegrad.composite(np.sin, lambda x: x)
    assert all(rule.function is function for function, rule in REGISTRY.items())


FORMS = set("elementwise linear multilinear general composite constant unsupported".split())


def test_rules_have_one_form_a_batch_word_and_the_name_users_write():
    assert {rule.form for rule in RULES} <= FORMS
    words = {rule.name: rule.batch for rule in RULES if not callable(rule.batch)}
    assert {n: w for n, w in words.items() if w not in BATCH_WORDS and not is_signature(w)} == {}
    assert [r.name for r in RULES if eval(r.name, {"np": np}) is not r.function] == []


def is_signature(batch):
    """`(m,n),(n,k?)->(m,k?)`: groups of core dimensions, an optional one marked."""
    sides = [side.removeprefix("(").removesuffix(")") for side in batch.split("->")]
    groups = [group for side in sides for group in side.split("),(")]
    letters = [core for group in groups for core in group.split(",") if group]
    return batch.startswith("(") and all(core.rstrip("?").isalpha() for core in letters)


def test_a_batch_word_that_does_not_exist_is_refused():
    with pytest.raises(tapegrad.RuleError, match="unknown batch='sideways'"):
        tapegrad.linear(lambda x: x, lambda g, _out, _x: g, batch="sideways")


def test_only_the_forms_without_a_derivative_leave_out_replays():
    for rule in RULES:
        replays = type(rule).pull is not Rule.pull and type(rule).push is not Rule.push
        assert replays is not isinstance(rule, (Constant, Unsupported)), rule.name


def test_what_has_no_rule_yet_says_so(monkeypatch):
    monkeypatch.delitem(REGISTRY, np.fft.fft)
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"np\.fft\.fft: no derivative rule"):
        tapegrad.grad(lambda x: np.real(np.fft.fft(x))[0])(np.ones(3))


@pytest.mark.parametrize("transform", [tapegrad.grad, tapegrad.hessian])
def test_a_function_of_a_newer_numpy_is_refused_when_it_is_called(monkeypatch, transform):
    monkeypatch.delitem(REGISTRY, np.fft.fft)
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"np\.fft\.fft: no derivative rule"):
        transform(lambda x: np.sum(np.real(np.fft.fft(x) ** 2)))(np.ones(3))


@pytest.mark.parametrize("arguments", [1, 2, 3])
def test_a_ufunc_of_a_newer_numpy_is_refused_when_it_is_called(arguments):
    newer = np.frompyfunc(lambda *x: x[0], arguments, 1)
    with pytest.raises(tapegrad.NotDifferentiableError, match="no derivative rule"):
        tapegrad.grad(lambda x: np.sum(newer(*(x,) * arguments)))(np.ones(3))


def test_a_function_of_a_newer_numpy_is_refused_inside_vmap(monkeypatch):
    """A ufunc is not: elementwise is elementwise for many examples too."""
    monkeypatch.delitem(REGISTRY, np.fft.fft)
    with pytest.raises(tapegrad.BatchingError, match=r"np\.fft\.fft: no rule for it inside vmap"):
        tapegrad.vmap(np.fft.fft)(np.ones((2, 3)))


def test_plain_calls_of_a_function_without_a_rule_are_numpys(monkeypatch):
    monkeypatch.delitem(REGISTRY, np.fft.fft)
    gradient = tapegrad.grad(lambda x: np.sum(x * np.real(np.fft.fft([1.0, 2.0]))))(np.ones(2))
    np.testing.assert_array_equal(gradient, [3.0, -1.0])


DEPRECATED_KEYWORDS = {
    "interpolation": lambda x: np.quantile(x, 0.5, interpolation="linear"),
    "bias": lambda x: np.corrcoef(x, x**2, bias=True),
    "ddof": lambda x: np.corrcoef(x, x**2, ddof=1),
    "newshape": lambda x: np.reshape(x, newshape=(3, 1)),
}


@pytest.mark.parametrize("keyword", DEPRECATED_KEYWORDS)
def test_deprecated_keywords_are_refused_in_words(keyword):
    """NumPy's words on releases that have dropped them, ours before."""
    with pytest.raises(TypeError, match=keyword):
        tapegrad.grad(DEPRECATED_KEYWORDS[keyword])(np.arange(3.0))


@pytest.mark.skipif(not TAKES_BIAS, reason="NumPy has dropped these parameters")
def test_defaults_of_deprecated_keywords_are_taken_as_numpy_takes_them():
    x = np.arange(3.0)
    for call in (
        lambda x: np.percentile(x, 50, interpolation=None),
        lambda x: np.nanquantile(x, 0.5, interpolation=None),
        lambda x: np.corrcoef(x, x**2, bias=np._NoValue, ddof=np._NoValue)[0, 1],
    ):
        assert tapegrad.value_and_grad(call)(x)[0] == call(x)
        np.testing.assert_array_equal(tapegrad.vmap(call)(x[None]), [call(x)])
    with pytest.raises(TypeError, match=r"np\.corrcoef: the keyword 'bias' is deprecated"):
        tapegrad.grad(lambda x: np.corrcoef(x, None, True, True))(x)


# --- Warnings -----------------------------------------------------------------------------------

M = np.arange(4.0).reshape(2, 2) + 1


def expiring(name):
    """A deprecated function, of one argument."""
    function = getattr(np, name)
    return function if name == "fix" else lambda x: function(x, [1.0, 1.5])


WARNED = {
    "bincount": lambda x: np.bincount([0, 1], x[0], minlength=None),
    "array2string": lambda x: x * len(np.array2string(x, style=repr)),
    "array2string, by position": lambda x: (
        x * len(np.array2string(x, 9, None, None, ",", "", repr, threshold=9))
    ),
    "insert": lambda x: np.insert(x[0], np.array([True, False]), x[1, 0]),
    "cross": lambda x: np.cross(x[0], x[1]),
    "fftn": lambda x: np.real(np.fft.fftn(x, s=(None, 2))),
    "rfft2": lambda x: np.real(np.fft.rfft2(x, s=(None, 2))),
    **{name: lambda x, name=name: x * np.mean(expiring(name)(x)) for name in EXPIRING},
}


@pytest.mark.parametrize("name", WARNED)
def test_a_call_warns_at_the_programs_line_as_numpys_own_does(name):
    """And returns, or raises, the same. NumPy's own texts of fft name a file of its own."""

    def warned(call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                result = call(M)
            except (TypeError, ValueError) as error:
                result = type(error)
        return result, [(w.category, str(w.message)) for w in found], {w.filename for w in found}

    def traced(x):
        return tapegrad.vjp(WARNED[name], x)[0]

    expected, texts, _ = warned(WARNED[name])
    result, found, files = warned(traced)
    assert found == texts
    assert files <= {__file__}
    np.testing.assert_array_equal(result, expected)


@pytest.mark.skipif(not EXPIRING, reason="NumPy has none of them")
@pytest.mark.parametrize("name", EXPIRING)
def test_a_deprecated_function_is_numpys_own(name):
    x = np.array([[1.5, -2.5, -0.0], [np.nan, np.inf, 2.0]])
    function = getattr(np, name)
    args = (x, [1.5, 2.0]) if name == "in1d" else (x,)
    rest = {"invert": True} if name == "in1d" else {"out": np.empty_like(x)}
    for options in ({}, rest):
        expected, found = (
            np.copy(call(*args, **options))
            for call in (function, lambda *a, **k: look(function, *a, **k))
        )
        np.testing.assert_array_equal(found, expected, strict=True)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def look(function, x, *args, **options):
    """The result of a function inside a transform, where it is plain."""
    found = []
    tapegrad.vjp(lambda x: found.append(function(x, *args, **options)) or x, x)
    return found[0]


def test_a_deprecation_is_shown_once_a_line_under_the_default_filter():
    call = expiring(EXPIRING[-1])
    counts = []
    for once in (call, lambda x: look(call, x)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            for _ in range(3):
                once(M)
        counts.append(len(found))
    assert counts[0] == counts[1] <= 1


def test_threads_leave_the_warnings_of_the_process_as_they_were():
    before = warnings.showwarning, warnings.filters[:]
    call, large = expiring(EXPIRING[-1]), np.arange(1e5)  # NumPy lets other threads run meanwhile

    def work(_):
        for _ in range(10):
            look(call, large)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        within = warnings.filters[:]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert warnings.filters == within
    assert (warnings.showwarning, warnings.filters[:]) == before


# --- Packages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("python", [(3, 11), (3, 13), (3, 14), (3, 15)])
def test_the_oldest_packages_are_those_that_a_python_can_install(python, capsys):
    numpy, *_ = found = oldest_packages(python)
    assert numpy == ("numpy==2.1.*" if python < (3, 14) else "numpy==2.3.*")
    assert all(re.fullmatch(r"[\w-]+(\[\w+\])?==[\d.]+\.\*", package) for package in found)
    assert ("numpy 2.1 has no wheels" in capsys.readouterr().err) == (python >= (3, 14))


def test_a_requirement_without_an_oldest_release_is_refused():
    with pytest.raises(ValueError, match="expected NAME>=VERSION, got 'tqdm'"):
        oldest("tqdm", (3, 11))


# --- Releases -----------------------------------------------------------------------------------

E = np.zeros((0, 2))
DIFFERING = {
    "norm": (E, lambda x: np.linalg.norm(x, 2)),
    "norm, inf": (E, lambda x: np.linalg.norm(x, np.inf)),
    "norm, columns": (E.T, lambda x: np.linalg.norm(x, 1)),
    "norm of a vector": (E[:, 0], lambda x: np.linalg.norm(x, np.inf)),
    "vector_norm": (E, lambda x: np.linalg.vector_norm(x, ord=np.inf)),
    "matrix_norm": (E, lambda x: np.linalg.matrix_norm(x, ord=2)),
    "pad": (M, lambda x: np.pad(x, {0: 1})),
    "trim_zeros": (np.eye(3), np.trim_zeros),
    "trim_zeros of a vector": (np.array([0.0, 1.0, 0.0]), np.trim_zeros),
    "trim_zeros of zeros": (np.zeros(3), lambda x: np.trim_zeros(x, "b")),
    "trim_zeros, front": (np.array([0.0, 1.0, 0.0]), lambda x: np.trim_zeros(x, "f")),
    "trim_zeros, back": (np.array([0.0, 1.0, 0.0]), lambda x: np.trim_zeros(x, "b")),
    "trim_zeros, axis": (np.diag([0.0, 1.0]), lambda x: np.trim_zeros(x, axis=0)),
    "trim_zeros, axes": (np.diag([0.0, 1.0]), lambda x: np.trim_zeros(x, axis=(0, 1))),
}


@pytest.mark.parametrize("name", DIFFERING)
def test_a_call_that_releases_answer_differently_is_answered_as_installed(name):
    """The same value, or the same error in the same words."""
    x, call = DIFFERING[name]

    def outcome(call):
        try:
            return np.asarray(call(x))
        except (TypeError, ValueError) as error:
            return np.asarray(repr(error))

    expected, found = outcome(call), outcome(lambda x: tapegrad.vjp(call, x)[0])
    np.testing.assert_array_equal(found, expected, strict=True)
