"""Programs at random, of more operations and transforms than the public machine writes.

The machine, its reference and its checks are `tapegrad.testing.machines.TapegradMachine`: values
against NumPy's, both modes and second derivatives against measured ones.
"""

from __future__ import annotations

import warnings

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import tapegrad
from tapegrad.testing.machines import TapegradMachine

CUSTOM = """\
import tapegrad, tapegrad.tree
from tapegrad import grad, hessian, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap

by_reverse = tapegrad.custom_vjp(np.sin)
by_reverse.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * np.cos(x),))
by_forward = tapegrad.custom_jvp(np.sin)
by_forward.defjvp(lambda primals, tangents: (np.sin(*primals), np.cos(*primals) * tangents[0]))
cubes = lambda y: np.sum(y * y * y)"""

OPERATIONS = (
    "np.cos({0})",
    "np.negative({0})",
    "{0} ** 2",
    "np.zeros_like({0}) + 0.0 * {0}",
    "np.stack([{0}[..., 0], {0}[..., -1]], axis=-1)",
    "np.sum({0} * {1}, axis=-1, keepdims=True)",
    "np.concatenate([np.ravel({0}), np.ravel({1})])[:3]",
    "np.concatenate([{0}, {0} * {1}], axis=-1)",
    "np.sqrt(np.square({0}) + 0.5, dtype=np.float64)",
    "{0}.astype(np.float64) * np.arange(1, 4)[: np.size({0})].sum()",
    "np.einsum('...i,...i->...', {0}, {1})",
)
# What a program calls when it is traced, and what that is in closed form.
TRANSFORMS = {
    "grad(lambda y: np.sum(np.sin(y) * {1}))({0} * {1})": "np.cos({0} * {1}) * {1} + 0.0 * {0}",
    "value_and_grad(cubes)({0})[1]": "3.0 * {0} * {0}",
    "vjp(lambda y: np.sin(y) * y, {0})[1]({0})[0]": "(np.cos({0}) * {0} + np.sin({0})) * {0}",
    "jvp(np.tanh, ({0},), ({0},))[1] * {1}": "(1.0 - np.tanh({0}) ** 2) * {0} * {1}",
    "linearize(np.sin, {0})[1]({0}) + {1}": "np.cos({0}) * {0} + {1}",
    "np.sum(jacrev(np.sin)({0}.reshape(-1)), axis=0)": "np.cos({0}.reshape(-1))",
    "np.sum(jacfwd(np.sin)({0}.reshape(-1)), axis=0)": "np.cos({0}.reshape(-1))",
    "np.sum(hessian(cubes)({0}.reshape(-1)), axis=0)": "6.0 * {0}.reshape(-1)",
    "tapegrad.hvp(cubes, ({0},), ({0},)) * {1}": "6.0 * {0} * {0} * {1}",
    "vmap(grad(cubes))({0})": "3.0 * {0} * np.stack([*{0}])",
    "tapegrad.checkpoint(lambda a, b: np.sin(a) * b)({0}, {1})": "np.sin({0}) * {1}",
    "tapegrad.checkpoint_sequence(np.sin, {0}, 3, snapshots=2)": "np.sin(np.sin(np.sin({0})))",
    "by_reverse({0})": "np.sin({0})",
    "by_forward({0})": "np.sin({0})",
}
HESSIAN = """\
tree, place = tapegrad.tree.ravel(leaves)
g = lambda flat: np.sum(f(*place(flat)) * cotangent)
matrix = tapegrad.hessian(g)(tree)
np.testing.assert_allclose(matrix, matrix.T, rtol=1e-9, atol=1e-9 * np.linalg.norm(matrix))
along = np.concatenate([np.ravel(d) for d in directions])
curvature = along @ matrix @ along"""


class Programs(TapegradMachine):
    imports = CUSTOM
    operations = {  # noqa: RUF012
        **TapegradMachine.operations,
        **{text: text for text in OPERATIONS},
        **TRANSFORMS,
    }
    second = (*TapegradMachine.second, HESSIAN)


class Straight(Programs):
    """Without branches, which a vmap refuses."""

    operations = {  # noqa: RUF012
        text: plain for text, plain in Programs.operations.items() if " if " not in text
    }


class Mapped(Straight):
    """One of two examples of a vmap; the other has no part in its derivatives."""

    functions = tuple(
        f"lambda *leaves: tapegrad.vmap(f)(*(np.stack([{pair}]) for x in leaves))[{place}]"
        for pair, place in (("x, 0.9 * x", 0), ("0.9 * x, x", 1))
    )


class MapOfGradients(Straight):
    """Derivatives of one example within a vmap."""

    vjp = """\
def one(*leaves):
    value, pull = tapegrad.vjp(f, *leaves)
    return value, pull(cotangent)
value, gradients = tapegrad.vmap(one)(*(np.stack([0.9 * x, x]) for x in leaves))
value, gradients = value[1], [x[1] for x in gradients]"""
    jvp = second = ""


class Empty(Programs):
    """Arrays of no elements among others."""

    shapes = ((0,), (2, 0), (2,), ())


def checked(machine, examples, steps):
    """Hold a machine to so many programs of so many steps."""
    options = settings(machine.TestCase.settings, max_examples=examples, stateful_step_count=steps)
    with warnings.catch_warnings():  # of a program whose gradient is constant
        warnings.simplefilter("ignore", tapegrad.IndependentOutputWarning)
        run_state_machine_as_test(machine, settings=options)


MACHINES = {Programs: 16, Mapped: 5, MapOfGradients: 5, Empty: 5}


@pytest.mark.part(2)
@pytest.mark.parametrize(("machine", "examples"), MACHINES.items())
def test_programs(machine, examples):
    checked(machine, examples, 15)


@pytest.mark.scheduled
@pytest.mark.parametrize("machine", MACHINES)
def test_many_programs(machine):
    checked(machine, 300, 25)
