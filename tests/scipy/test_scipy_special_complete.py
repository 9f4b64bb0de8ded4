"""Every ufunc of `scipy.special` has exactly one decision."""

from __future__ import annotations

import functools
import types

import pytest

pytest.importorskip("scipy")

import numpy as np
import scipy.special as sp

import tapegrad.scipy.special as ours
from tapegrad import grad
from tapegrad._core.forms import Unsupported
from tapegrad._core.rule import REGISTRY, rule_of
from tapegrad._errors import NotDifferentiableError

UFUNCS = {name: value for name in dir(sp) if isinstance(value := getattr(sp, name), np.ufunc)}
FORMS = {"elementwise", "general", "linear", "multilinear", "composite", "constant", "unsupported"}


def test_no_ufunc_lacks_a_decision():
    missing = sorted(name for name, ufunc in UFUNCS.items() if rule_of(ufunc) is None)
    assert not missing, f"{len(missing)} of {len(UFUNCS)} without a rule: {' '.join(missing)}"


def test_a_decision_is_one_of_the_forms_and_says_why_it_has_no_derivative():
    for ufunc in UFUNCS.values():
        rule = rule_of(ufunc)
        if rule is None:
            continue  # named by the test above
        assert rule.form in FORMS
        assert not isinstance(rule, Unsupported) or rule.reason


def functions_of_python():
    """The public functions that SciPy writes in Python, MultiUFuncs among them."""
    for name in dir(sp):
        value = getattr(sp, name)
        if name.startswith("_") or not callable(value) or isinstance(value, (np.ufunc, type)):
            continue
        if not isinstance(value, types.ModuleType):
            yield name, value


# Those that take whole numbers alone: tables of zeros, numbers, polynomials by their degree.
OF_INTEGERS = set(
    """
    ai_zeros bei_zeros beip_zeros ber_zeros berp_zeros bi_zeros erf_zeros fresnel_zeros
    fresnelc_zeros fresnels_zeros jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros kei_zeros keip_zeros
    kelvin_zeros ker_zeros kerp_zeros y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros bernoulli
    euler stirling2 chebyc chebys chebyt chebyu hermite hermitenorm laguerre legendre sh_chebyt
    sh_chebyu sh_legendre roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_hermite
    roots_hermitenorm roots_laguerre roots_legendre roots_sh_chebyt roots_sh_chebyu
    roots_sh_legendre c_roots h_roots he_roots l_roots p_roots ps_roots s_roots t_roots ts_roots
    u_roots us_roots
    """.split()
)
OF_SETTINGS = {"errstate", "geterr", "seterr", "test"}
# SciPy's older names for functions that are mirrored, and functions that call their ufuncs with
# what they are given.
ALIASES = {"cg_roots", "j_roots", "js_roots", "la_roots"}
REACHED = {"zeta": (2.5, 1.5), "lambertw": (1.5,)}


def test_no_function_of_python_lacks_a_decision():
    missing = []
    for name, theirs in functions_of_python():
        mirrored = getattr(ours, name) is not theirs or REGISTRY.get(theirs) is not None
        if not mirrored and name not in OF_INTEGERS | OF_SETTINGS | ALIASES | set(REACHED):
            missing.append(name)
    assert not missing, f"{len(missing)} without a decision: {' '.join(missing)}"


def test_the_groups_are_disjoint():
    mirrored = {
        name for name, theirs in functions_of_python() if getattr(ours, name) is not theirs
    }
    assert not mirrored & (OF_INTEGERS | OF_SETTINGS | set(REACHED))


@pytest.mark.parametrize("name", REACHED)
def test_a_function_of_python_that_reaches_its_ufuncs_needs_no_mirror(name):
    function, args = getattr(sp, name), REACHED[name]
    for place in range(len(args)):
        call = functools.partial(moved, function, args, place)
        step = 1e-6
        expected = (call(step) - call(-step)) / (2 * step)
        found = grad(lambda x, call=call: np.real(call(x)))(0.0)
        assert np.isclose(found, expected.real, rtol=1e-7)


def moved(function, args, place, change):
    return function(*args[:place], args[place] + change, *args[place + 1 :])


def test_an_unsupported_ufunc_raises_its_reason():
    for name, ufunc in UFUNCS.items():
        rule = rule_of(ufunc)
        if isinstance(rule, Unsupported):
            with pytest.raises(NotDifferentiableError, match=f"scipy.special.{name}"):
                grad(lambda x, ufunc=ufunc: np.sum(ufunc(*[x] * ufunc.nin)))(0.5)
