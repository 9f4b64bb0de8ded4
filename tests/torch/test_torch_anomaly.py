"""Anomaly mode: the forward call that is to blame, and the first NaN."""

from __future__ import annotations

import warnings

import pytest

import tapegrad.torch as torch
from tapegrad.torch.autograd import anomaly_mode, detect_anomaly, grad, set_detect_anomaly


def report(call):
    """The error of a call, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises((RuntimeError, ValueError)) as raised:
            call()
    return raised.value, "\n".join(str(warning.message) for warning in caught)


def quietly(check_nan: bool = True):
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        return detect_anomaly(check_nan)


def test_a_nan_names_the_backward_function_and_the_forward_call():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)

    def run():
        with detect_anomaly():
            y = torch.sqrt(x)  # the failing call
            y.sum().backward()

    error, told = report(run)
    assert str(error).startswith("Function 'SqrtBackward0' returned nan values in its 0th output.")
    assert "Error detected in SqrtBackward0. Traceback of forward call that caused" in told
    assert "y = torch.sqrt(x)  # the failing call" in told
    assert "tapegrad/torch" not in told
    assert "The first call with a NaN or an infinity in its result: sqrt, File" in told
    assert error.__notes__[0].startswith("The first call with a NaN or an infinity")


def test_the_first_bad_value_may_be_far_from_the_failing_backward():
    z = torch.tensor([0.0], requires_grad=True)

    def run():
        with detect_anomaly():
            bad = torch.log(z)  # minus infinity
            later = bad * 0
            (later * torch.exp(later)).sum().backward()

    error, told = report(run)
    assert "MulBackward0" in str(error)
    assert "result: log, File" in told
    line = run.__code__.co_firstlineno + 2
    assert f'test_torch_anomaly.py", line {line}.' in told


def test_a_bad_constant_is_followed_to_where_it_was_made():
    x = torch.tensor([1.0], requires_grad=True)

    def run():
        with detect_anomaly():
            constant = torch.log(torch.zeros(1))
            ((x * constant) * 0).sum().backward()
            grad((x * constant * torch.zeros(1)).sqrt().sum(), x)

    _, told = report(run)
    assert "result: log, File" in told


def test_data_that_is_bad_from_the_start():
    x = torch.tensor([float("nan")], requires_grad=True)

    def run():
        with detect_anomaly():
            (x * x).sum().backward()

    _, told = report(run)
    assert "result: mul, File" in told
    assert "of an argument with one" in told


def test_without_a_record_of_the_forward_pass():
    y = torch.sqrt(torch.tensor([-1.0], requires_grad=True))

    def run():
        with detect_anomaly():
            y.sum().backward()

    _, told = report(run)
    assert "Error detected in SqrtBackward0. No forward pass information available." in told


def test_an_error_in_a_custom_backward():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("bad thing")

    x = torch.ones(2, requires_grad=True)

    def run():
        with detect_anomaly():
            Bad.apply(x).sum().backward()

    error, told = report(run)
    assert str(error) == "bad thing"
    assert "Error detected in BadBackward. Traceback of forward call" in told
    assert "Bad.apply(x).sum().backward()" in told
    assert not hasattr(error, "__notes__")  # no value was bad


def test_a_node_made_in_a_backward_pass_names_its_parent():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("bad thing")

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * Inner.apply(ctx.saved_tensors[0])  # in the backward

    x = torch.ones(2, requires_grad=True)

    def run():
        with detect_anomaly():
            y = Outer.apply(x)  # in the forward
            (g,) = grad(y.sum(), x, create_graph=True)
            g.sum().backward()

    _, told = report(run)
    assert "Error detected in InnerBackward" in told
    assert "Inner.apply(ctx.saved_tensors[0])  # in the backward" in told
    assert "Previous calculation was induced by OuterBackward. Traceback of forward call" in told
    assert "y = Outer.apply(x)  # in the forward" in told


def test_nodes_of_rules_refer_to_the_node_that_made_them():
    x = torch.tensor([2.0], requires_grad=True)

    def run():
        with detect_anomaly():
            y = torch.sqrt(x * 1)  # the square root
            (g,) = grad(y.sum(), x, create_graph=True)
            grad(g, x, torch.tensor([float("nan")]))

    _, told = report(run)
    assert "induced by MulBackward0" in told  # that of x * 1, which ran last
    assert "y = torch.sqrt(x * 1)  # the square root" in told


def test_check_nan_can_be_left_out():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    with quietly(check_nan=False):
        torch.sqrt(x).sum().backward()
    assert x.grad.isnan().tolist() == [True, False]


def test_writes_are_noted_too():
    x = torch.tensor([-1.0], requires_grad=True)

    def run():
        with detect_anomaly():
            y = x * 1
            y.sqrt_()  # in place
            y.sum().backward()

    _, told = report(run)
    assert "y.sqrt_()  # in place" in told


def test_a_good_program_is_not_disturbed():
    x = torch.ones(3, requires_grad=True)
    with quietly():
        y = (x.exp() * x).sum()
        y.backward()
    expected = torch.ones(3, requires_grad=True)
    (expected.exp() * expected).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_the_switches():
    assert not anomaly_mode.is_anomaly_enabled()
    assert anomaly_mode.is_anomaly_check_nan_enabled()
    with set_detect_anomaly(True, check_nan=False):
        assert anomaly_mode.is_anomaly_enabled()
        assert not anomaly_mode.is_anomaly_check_nan_enabled()
        with set_detect_anomaly(False):
            assert not anomaly_mode.is_anomaly_enabled()
    assert not anomaly_mode.is_anomaly_enabled()
    set_detect_anomaly(True)
    assert anomaly_mode.is_anomaly_enabled()
    set_detect_anomaly(False)
    assert not anomaly_mode.is_anomaly_enabled()


def test_an_error_goes_before_warnings_that_the_program_raises(capsys):
    with quietly(), warnings.catch_warnings(action="error"):
        d = torch.ones(2, requires_grad=True) + 1
        out = (d**2).sum()
        d += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()
    assert "UserWarning: Error detected in PowBackward0" in capsys.readouterr().err
