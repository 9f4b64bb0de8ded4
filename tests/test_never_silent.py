"""Over all public callables of NumPy: a call on traced values is right, or raises."""

from __future__ import annotations

import numpy as np
import pytest
from generic_calls import HERMITIAN, LONG, SHORT, is_floating, patterns, public_callables
from judging import Answer, Outcome, judge

from tapegrad import jvp, vjp
from tapegrad._rule import plain

CALLABLES = public_callables()
# They read one triangle of a matrix, if only by hermitian=True: their derivative is that of a
# function of symmetric matrices.
SYMMETRIC = {
    np.linalg.cholesky,
    np.linalg.eigh,
    np.linalg.eigvalsh,
    np.linalg.svd,
    np.linalg.pinv,
    np.linalg.matrix_rank,
}
# Vectors with a phase or a basis that is LAPACK's choice: docs/kinks.md.
CHOICES = {
    np.linalg.svd: {"f(v[None])", "f(m + 1j * n)"},
    np.linalg.eig: {"f(m + 1j * n)"},
}
HERMITIAN_CHOICES = {
    np.linalg.svd: {"f(m + 1j * (n - n.T))"},
    np.linalg.eigh: {"f(m + 1j * (n - n.T))"},
}


def floating_part(program, leaves):
    """The program with floating results alone; all results are left in `leaves`, untraced."""

    def floating(*xs):
        found = program(*xs)
        leaves[:] = map(plain, found)
        return tuple(leaf for leaf in found if is_floating(leaf))

    return floating


def forward(program, inputs, tangents, _cotangents):
    leaves = []
    _, dots = jvp(floating_part(program, leaves), inputs, tangents)
    return Answer(leaves, list(dots), None)


def reverse(program, inputs, tangents, cotangents):
    leaves = []
    outs, pullback = vjp(floating_part(program, leaves), *inputs)
    bars = pullback(tuple(like_of(g, out) for g, out in zip(cotangents, outs, strict=True)))
    product = sum(np.sum((bar * t).real) for bar, t in zip(bars, tangents, strict=True))
    return Answer(leaves, None, product)


def like_of(cotangent, out):
    return cotangent if isinstance(out, np.ndarray) else cotangent[()]


def judged(function, text):
    """Outcome and mistake of each call that has a meaning."""
    calls = [(p, False, CHOICES) for p in patterns(text)]
    if function in SYMMETRIC:
        calls = [(p, False, CHOICES) for p in patterns(text) if "m" not in p.names]
        calls += [(p, True, HERMITIAN_CHOICES) for p in patterns(HERMITIAN)]
    for pattern, symmetric, choices in calls:
        if pattern.text not in choices.get(function, ()):
            yield judge((forward, reverse), function, pattern, symmetric=symmetric)


def mistakes(function, text):
    return [problem for outcome, problem in judged(function, text) if outcome is Outcome.WRONG]


@pytest.mark.parametrize("name", CALLABLES)
def test_a_call_is_right_or_raises(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # np.save and its kin
    assert mistakes(CALLABLES[name], SHORT) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLABLES)
def test_a_call_with_rarer_arguments_is_right_or_raises(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mistakes(CALLABLES[name], LONG) == []
