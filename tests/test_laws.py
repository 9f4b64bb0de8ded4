"""The laws of every rule, at arguments that Hypothesis draws from the table of samples.

`tapegrad.testing.check_rule` states the laws. Here they run over the registry: each function with
a sample, each of its differentiable arguments, shapes, broadcasting, dtypes, axes, memory orders.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from samples import SAMPLES

from tapegrad._rule import REGISTRY, Constant
from tapegrad.testing import check_rule

QUICK = settings(max_examples=10, suppress_health_check=list(HealthCheck))
THOROUGH = settings(max_examples=400, suppress_health_check=list(HealthCheck))

each_sample = pytest.mark.parametrize(
    "entry", SAMPLES.values(), ids=lambda entry: REGISTRY[entry.function].name
)


def check_one(entry, data):
    args, params = entry.draw(data)
    note(f"{REGISTRY[entry.function].name}(*{args!r}, **{params!r})")
    whole = entry.call is entry.function
    check_rule(REGISTRY[entry.function] if whole else entry.call, *args, **params)


@each_sample
@QUICK
@given(data=st.data())
def test_a_rule_keeps_the_laws(entry, data):
    check_one(entry, data)


@pytest.mark.slow
@each_sample
@THOROUGH
@given(data=st.data())
def test_a_rule_keeps_the_laws_at_many_arguments(entry, data):
    check_one(entry, data)


