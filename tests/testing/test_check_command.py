"""`python -m tapegrad check`: what it prints, and its exit status."""

from __future__ import annotations

import sys

import pytest

from tapegrad.__main__ import main

MODEL = """
import numpy as np, tapegrad

def loss(w):
    return np.sum(np.sin(w) ** 2)

@tapegrad.custom_vjp
def square(x):
    return x * x

square.defvjp(lambda x: (x * x, x), lambda x, g: (g * x,))

def wrong(w):
    return np.sum(square(w))

def hinge(x):
    return np.maximum(x, 0.0)

def picky(x):
    raise ValueError("too large")
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))  # the command adds the model's folder

    def run(*arguments):
        status = main(["check", *arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_a_right_function_keeps_all_laws(command):
    status, out, err = command("model.py:loss", "--at", "np.ones(3)")
    assert (status, err) == (0, "")
    assert "check(loss): 16 laws hold" in out
    assert "seed 0" in out


def test_a_wrong_rule_is_found_in_one_screen(command):
    status, out, err = command("model.py:wrong", "--at", "np.ones(3)", "--seed", "7")
    assert (status, err) == (1, "")
    assert "gradient: the gradient by argument 0 (float64[3])" in out
    assert "seed 7" in out
    assert out.count("\n") < 24


def test_some_laws(command):
    status, out, _ = command(
        "model.py:wrong", "--at", "np.ones(3)", "--laws", "symmetric_hessian, vmap"
    )
    assert status == 0
    assert "2 laws hold" in out
    assert "holds: symmetric_hessian, vmap" in out


@pytest.mark.parametrize(("kinks", "expected"), [("accept", 0), ("move", 0), ("fail", 1)])
def test_kinks(command, kinks, expected):
    status, out, _ = command(
        "model.py:hinge", "--at", "0.0", "--kinks", kinks, "--laws", "gradient"
    )
    assert status == expected
    assert ("a kink lies here" in out) == (kinks != "move")


def test_differences_in_50_digits(command):
    pytest.importorskip("mpmath")
    at = ("--at", "np.ones(2)", "--laws", "gradient")
    assert command("model.py:loss", *at, "--mpmath")[0] == 0
    assert command("model.py:loss", *at, "--differences", "mpmath")[0] == 0


BAD = {
    "unknown law": (("model.py:loss", "--laws", "nope"), "expected laws="),
    "no law": (("model.py:loss", "--laws", ","), "expected laws="),
    "function raises": (("model.py:picky",), "ValueError: too large (model.py:"),
    "no such function": (("model.py:cube",), "no function named 'cube'"),
}


@pytest.mark.parametrize(("arguments", "expected"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_status_2(command, arguments, expected):
    status, out, err = command(*arguments, "--at", "1.0")
    assert (status, out) == (2, "")
    assert err.startswith("tapegrad: ")
    assert err.count("\n") == 1
    assert expected in err


def test_integers_are_no_point(command):
    status, _, err = command("model.py:loss", "--at", "3")
    assert status == 2
    assert "expected floating point numbers: 3.0, not 3" in err


@pytest.mark.parametrize("arguments", [("--kinks", "maybe"), ("--seed", "x")])
def test_wrong_usage_has_status_2(command, arguments):
    with pytest.raises(SystemExit) as stopped:
        command("model.py:loss", "--at", "1.0", *arguments)
    assert stopped.value.code == 2
