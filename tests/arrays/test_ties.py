"""`==` and `!=` of traced values that an exact tie decides: who asks is told of the line."""

import warnings

import numpy as np
import pytest

import tapegrad
from tapegrad import ExactTieWarning, compile, config, grad, hessian, jvp, vmap
from tapegrad.testing import LawError, check

HERE = __file__


class Potential:
    def __init__(self):
        self.width = 1.0

    def set(self, width):
        if width != self.width:
            self.width = width
        return self


def energy(width):
    return Potential().set(width).width ** 2


LINE = Potential.set.__code__.co_firstlineno + 1

TIED = {
    "a number on the left": lambda x: x * 2 if 1.0 == x else x,  # noqa: SIM300
    "NumPy's number on the left": lambda x: x * 2 if np.float64(1.0) == x else x,
    "two traced": lambda x: x * 2 if x == x * 1 else x,
    "unequal": lambda x: x * 2 if x != 1.0 else x,
    "in a list": lambda x: x * 2 if x in (0.5, 1.0) else x,
    "an element": lambda x: np.sum(np.where(np.stack([x, 2 * x]) == 2.0, 0.0, 1.0)) * x,
    "the function": lambda x: x * 2 if np.equal(x, 1.0) else x,
}
WAYS = {
    "grad": lambda f: grad(f)(1.0),
    "jvp": lambda f: jvp(f, (1.0,), (1.0,)),
    "hessian": lambda f: hessian(f)(1.0),
    "compile": lambda f: compile(grad(f))(1.0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TIED)
def test_a_warning_where_it_is_asked_for(name, way):
    f = TIED[name]
    with config(exact_ties="warn"), pytest.warns(ExactTieWarning) as seen:
        WAYS[way](f)
    assert {warning.filename for warning in seen} == {HERE}
    assert {warning.lineno for warning in seen} == {f.__code__.co_firstlineno}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExactTieWarning)
        WAYS[way](f)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2 if x == 2.0 else x,
        lambda x: x * 2 if x != 2.0 else x,
        lambda x: x if x == "one" else x * 2,
        lambda x: x if x is None or x > 1.0 else x * 2,
        # Rules compare for themselves: those of kinks and ties of their own.
        lambda x: np.maximum(x, x) + np.abs(x - 1) ** 2 + np.max(np.stack([x, x])) + np.sqrt(x),
    ],
)
def test_no_warning_without_a_tie(f):
    with config(exact_ties="warn"), warnings.catch_warnings():
        warnings.simplefilter("error", ExactTieWarning)
        grad(f)(1.0), hessian(f)(1.0), jvp(f, (1.0,), (1.0,))
        vmap(lambda x: np.where(x == 1.0, x, 2 * x))(np.ones(2))


def test_a_check_tells_the_line():
    with pytest.raises(LawError) as caught:
        check(energy, (1.0,), "gradient", blame=False)
    assert f"!= at {HERE}:{LINE} was decided by an exact tie" in str(caught.value)
    assert not any("tie" in note for note in check(energy, (1.5,), "gradient").notes)


@pytest.mark.filterwarnings("ignore::tapegrad.IndependentOutputWarning")
def test_the_command_line_tells_the_line(capsys):
    from tapegrad.__main__ import main

    target = f"{HERE}:energy"
    assert main(["grad", target, "--at", "1.0", "--check"]) == 1
    assert f"!= at {HERE}:{LINE} was decided by an exact tie" in capsys.readouterr().out
    assert main(["grad", target, "--at", "1.5", "--check"]) == 0
    assert "tie" not in capsys.readouterr().out
    assert main(["grad", target, "--at", "1.0"]) == 0
    assert "tie" not in capsys.readouterr().out


def test_the_setting_has_two_values():
    assert config.exact_ties == "ignore"
    with pytest.raises(tapegrad.InputError, match="exact_ties"):
        config.exact_ties = "error"
