"""The registry: a sample for everything, one form a function, all float ufuncs declared."""

from __future__ import annotations

import numpy as np
import pytest
from samples import SAMPLES

import tapegrad
from tapegrad._rule import BATCH_WORDS, REGISTRY, Composite, Constant, Rule, Unsupported

# Functions of NumPy that no sample draws, and why.
UNSAMPLED = {
    np.empty_like: "NumPy's result is whatever the memory held, so no value can be compared",
    np.isnat: "takes dates alone, which are never traced",
}

# Rules that stand behind a function of NumPy, whose sample reaches them.
INNER = {
    "strong_product": np.divide,
    "astype": None,  # a method: tests/rules/test_elementwise.py
    "np.where": np.where,
    "np.pad": np.pad,
    "np.einsum": np.einsum,
    "np.linalg.norm": np.linalg.norm,
    "np.linalg.eigvalsh": np.linalg.eigvalsh,
    "np.linalg.svd": np.linalg.svd,
    "np.linalg.svdvals": np.linalg.svdvals,
    "np.linalg.qr": np.linalg.qr,
    "np.linalg.pinv": np.linalg.pinv,
    "np.linalg.eigvals": np.linalg.eigvals,
}


def numpy_functions():
    """Everything callable that NumPy shows in its namespaces of arrays."""
    spaces = [np, np.linalg, np.fft]
    named = (getattr(space, name) for space in spaces for name in dir(space))
    return {f for f in named if callable(f) and not isinstance(f, type)}


NUMPY = numpy_functions()
RULES = [rule for function, rule in REGISTRY.items() if function in NUMPY]
OWN = [
    rule
    for function, rule in REGISTRY.items()
    if function not in NUMPY and getattr(function, "__module__", "").startswith("tapegrad.")
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
    assert {rule.name for rule in OWN} <= INNER.keys()
    assert all(function in SAMPLES for function in INNER.values() if function is not None)


def test_every_ufunc_with_floating_results_is_declared():
    ufuncs = [f for f in NUMPY if isinstance(f, np.ufunc)]
    floating = [f for f in ufuncs if any(set("efdgFDG") & set(t.split("->")[1]) for t in f.types)]
    assert len(floating) > 60
    assert [f.__name__ for f in floating if f not in REGISTRY] == []


def test_a_function_is_declared_once():
    with pytest.raises(tapegrad.RuleError, match=r"np\.sin: already declared as elementwise"):
        tapegrad.composite(np.sin, lambda x: x)
    assert all(rule.function is function for function, rule in REGISTRY.items())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_has_one_form_a_batch_word_and_the_name_users_write(rule):
    forms = {
        "elementwise",
        "linear",
        "multilinear",
        "general",
        "composite",
        "constant",
        "unsupported",
    }
    assert rule.form in forms
    assert rule.batch in BATCH_WORDS or is_signature(rule.batch)
    assert eval(rule.name, {"np": np}) is rule.function


def is_signature(batch):
    """`(m,n),(n,k?)`: groups of core dimensions, an optional one marked."""
    groups = batch.removeprefix("(").removesuffix(")").split("),(")
    letters = [core for group in groups for core in group.split(",") if group]
    return batch.startswith("(") and all(core.rstrip("?").isalpha() for core in letters)


def test_a_batch_word_that_does_not_exist_is_refused():
    with pytest.raises(tapegrad.RuleError, match="unknown batch='sideways'"):
        tapegrad.linear(lambda x: x, lambda g, _out, _x: g, batch="sideways")


def test_only_the_forms_that_share_no_derivative_of_their_own_leave_out_replays():
    for rule in RULES:
        replays = type(rule).pull is not Rule.pull and type(rule).push is not Rule.push
        assert replays is not isinstance(rule, (Composite, Constant, Unsupported)), rule.name


def test_what_has_no_rule_yet_says_so():
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"np\.fft\.fft: no derivative rule"):
        tapegrad.grad(lambda x: np.real(np.fft.fft(x))[0])(np.ones(3))
