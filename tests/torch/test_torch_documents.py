"""The programs of the four documents that the object layer implements, with their printed results.

Three are versions of one walk through torch.autograd 1.7, the fourth is a reference of an older
API. Nothing is changed but the import. Where PyTorch prints something else today than the
documents say (names without a number, objects' addresses), the test says what.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch import autograd, nn
from tapegrad.torch.autograd import Function, Variable
from tapegrad.torch.autograd.functional import hessian, jacobian
from tapegrad.torch.nn import AvgPool2d, Linear


def printed(value):
    """Output of print, with addresses left out."""
    return re.sub(r" object at 0x[0-9a-f]+", "", str(value))


# --- torch.autograd.function --------------------------------------------------------------------


class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


def test_a_function_of_exp():
    x = torch.tensor([1.0], requires_grad=True)
    ret = Exp.apply(x)
    assert printed(ret) == "tensor([2.7183], grad_fn=<ExpBackward>)"
    ret.backward()
    assert printed(x.grad) == "tensor([2.7183])"


class GradCoeff(Function):
    @staticmethod
    def forward(ctx, x, coeff):
        ctx.coeff = coeff
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.coeff * grad_output, None


def test_a_function_that_scales_the_gradient():
    x = torch.tensor([2.0], requires_grad=True)
    ret = GradCoeff.apply(x, -0.1)
    ret = ret**2
    assert printed(ret) == "tensor([4.], grad_fn=<PowBackward0>)"
    ret.backward()
    assert printed(x.grad) == "tensor([-0.4000])"


# --- The graph ----------------------------------------------------------------------------------


def test_a_small_graph(capsys):
    A = torch.tensor(2.0, requires_grad=True)
    B = torch.tensor(0.5, requires_grad=True)
    E = torch.tensor(1.0, requires_grad=True)
    C = A * B
    D = C.exp()
    F = D + E
    assert printed(F) == "tensor(3.7183, grad_fn=<AddBackward0>)"
    assert [x.is_leaf for x in [A, B, C, D, E, F]] == [True, True, False, False, True, False]
    # The documents' ExpBackward is ExpBackward0 since PyTorch 1.8.
    assert (
        printed([x.grad_fn for x in [F, D, C, A]])
        == "[<AddBackward0>, <ExpBackward0>, <MulBackward0>, None]"
    )
    assert printed(F.grad_fn.next_functions) == "((<ExpBackward0>, 0), (<AccumulateGrad>, 0))"
    F.backward(retain_graph=True)
    assert printed((A.grad, B.grad, E.grad)) == "(tensor(1.3591), tensor(5.4366), tensor(1.))"
    with pytest.warns(UserWarning, match="not a leaf"):
        assert C.grad is None
    with pytest.warns(UserWarning, match="not a leaf"):
        assert D.grad is None


def polynomial():
    A = torch.tensor([3.0], requires_grad=True)
    B = torch.tensor([2.0], requires_grad=True)
    C = A**2
    D = B**2
    E = C * D
    F = D + E
    return A, B, C, D, E, F


def test_a_backward_pass_by_hand():
    A, B, C, D, E, F = polynomial()
    F.manual_grad = torch.tensor(1)
    D.manual_grad, E.manual_grad = F.grad_fn(F.manual_grad)
    C.manual_grad, tmp2 = E.grad_fn(E.manual_grad)
    D.manual_grad = D.manual_grad + tmp2
    A.manual_grad = C.grad_fn(C.manual_grad)
    B.manual_grad = D.grad_fn(D.manual_grad)
    assert (
        printed((A.manual_grad, B.manual_grad))
        == "(tensor([24.], grad_fn=<MulBackward0>), tensor([40.], grad_fn=<MulBackward0>))"
    )


def home_made_autograd(grad_fn, gradient):
    queue = [[grad_fn, gradient]]
    while queue != []:
        item = queue.pop()
        gradients = item[0](item[1])
        functions = [x[0] for x in item[0].next_functions]
        if type(gradients) is not tuple:
            gradients = (gradients,)
        for grad, func in zip(gradients, functions, strict=False):
            if type(func).__name__ == "AccumulateGrad":
                if hasattr(func.variable, "auto_grad"):
                    func.variable.auto_grad = func.variable.auto_grad + grad
                else:
                    func.variable.auto_grad = grad
            else:
                queue.append([func, grad])


def test_a_home_made_engine():
    A, B, _, _, _, F = polynomial()
    home_made_autograd(F.grad_fn, torch.tensor(1))
    # The documents print 24 without brackets and another node: they ran an engine that iterated
    # over the gradient of a single argument.
    assert printed(A.auto_grad) == "tensor([24.], grad_fn=<MulBackward0>)"
    assert printed(B.auto_grad) == "tensor([40.], grad_fn=<AddBackward0>)"


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 5)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(5, 2)
        self.fc3 = nn.Linear(5, 2)
        self.fc4 = nn.Linear(2, 2)

    def forward(self, x):
        x = self.fc1(x)
        x = self.relu(x)
        x1 = self.fc2(x)
        x2 = self.fc3(x)
        x2 = self.relu(x2)
        x2 = self.fc4(x2)
        return x1 + x2


def test_the_home_made_engine_on_a_model():
    x = torch.ones([10], requires_grad=True)
    mlp = MLP()
    mlp_state_dict = mlp.state_dict()

    mlp = MLP()
    mlp.load_state_dict(mlp_state_dict)
    y = mlp(x)
    z = torch.sum(y)
    home_made_autograd(z.grad_fn, torch.tensor(1.0))
    assert x.auto_grad.grad_fn is not None

    mlp = MLP()
    mlp.load_state_dict(mlp_state_dict)
    y = mlp(x)
    z = torch.sum(y)
    z.backward()
    # The weights are random, so the documents' ten numbers are not ours; that both agree is.
    assert torch.allclose(x.grad, x.auto_grad)
    assert printed(x.grad) == printed(x.auto_grad.detach())


def test_control_flow():
    def f(x):
        result = 1
        for ii in x:
            if ii.item() > 0:
                result = ii * result
        return result

    x = torch.tensor([0.3071, 1.1043, 1.3605, -0.3471], requires_grad=True)
    y = f(x)
    y.backward()
    # 1.5023 in the documents, whose x had more digits than they print.
    assert printed(x.grad) == "tensor([1.5024, 0.4178, 0.3391, 0.0000])"
    x = torch.tensor([1.2817, 1.7840, -1.7033, 0.1302], requires_grad=True)
    y = f(x)
    y.backward()
    assert printed(x.grad) == "tensor([0.2323, 0.1669, 0.0000, 2.2866])"


# --- torch.autograd.functional ------------------------------------------------------------------


def test_jacobians_and_hessians():
    fc = Linear(4, 2)
    pool = AvgPool2d(kernel_size=2)

    def scalar_func(x):
        y = x**2
        return torch.sum(y)

    def vector_func(x):
        return fc(x)

    def mat_func(x):
        x = x.reshape((1, 1, *x.shape))
        x = pool(x)
        x = x.reshape(x.shape[2:])
        return x**2

    vector_input = torch.randn(4, requires_grad=True)
    mat_input = torch.randn((4, 4), requires_grad=True)

    j = jacobian(scalar_func, vector_input)
    assert j.shape == (4,)
    assert torch.all(jacobian(scalar_func, vector_input) == 2 * vector_input)
    h = hessian(scalar_func, vector_input)
    assert h.shape == (4, 4)
    assert torch.all(hessian(scalar_func, vector_input) == 2 * torch.eye(4))
    j = jacobian(vector_func, vector_input)
    assert j.shape == (2, 4)
    assert torch.all(j == fc.weight)
    j = jacobian(mat_func, mat_input)
    assert j.shape == (2, 2, 4, 4)


def test_gradients_of_intermediate_results(capsys):
    A = torch.tensor(2.0, requires_grad=True)
    B = torch.tensor(0.5, requires_grad=True)
    C = A * B
    D = C.exp()
    found = torch.autograd.grad(D, (C, A))
    assert printed(found) == "(tensor(2.7183), tensor(1.3591))"

    def variable_hook(grad):
        print("the gradient of C is:", grad)

    A = torch.tensor(2.0, requires_grad=True)
    B = torch.tensor(0.5, requires_grad=True)
    C = A * B
    hook_handle = C.register_hook(variable_hook)
    D = C.exp()
    D.backward()
    assert capsys.readouterr().out == "the gradient of C is: tensor(2.7183)\n"
    hook_handle.remove()


# --- torch.autograd.gradcheck -------------------------------------------------------------------


class Sigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        output = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        (output,) = ctx.saved_tensors
        return output * (1 - output) * grad_output


POINT = [-0.4646, -0.4403, 1.2525, -0.5953]


@pytest.mark.filterwarnings("ignore:Input #0 requires gradient and is not a double:UserWarning")
def test_checks_in_single_precision():
    test_input = torch.tensor(POINT, requires_grad=True)
    assert torch.autograd.gradcheck(Sigmoid.apply, (test_input,), eps=1e-3)
    assert torch.autograd.gradcheck(torch.sigmoid, (test_input,), eps=1e-3)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Sigmoid.apply, (test_input,), eps=1e-4)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(torch.sigmoid, (test_input,), eps=1e-4)


@pytest.mark.parametrize("eps", [1e-4, 1e-6])
def test_checks_in_double_precision(eps):
    test_input = torch.tensor(POINT, requires_grad=True, dtype=torch.float64)
    assert torch.autograd.gradcheck(Sigmoid.apply, (test_input,), eps=eps)
    assert torch.autograd.gradcheck(torch.sigmoid, (test_input,), eps=eps)


# --- torch.autograd.anomaly_mode ----------------------------------------------------------------


class MyFunc(autograd.Function):
    @staticmethod
    def forward(ctx, inp):
        return inp.clone()

    @staticmethod
    def backward(ctx, gO):
        raise RuntimeError("Some error in backward")


def run_fn(a):
    out = MyFunc.apply(a)
    return out.sum()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled:UserWarning")
def test_anomaly_mode():
    inp = torch.rand(10, 10, requires_grad=True)
    out = run_fn(inp)
    with pytest.raises(RuntimeError, match="Some error in backward"):
        out.backward()
    with autograd.detect_anomaly():
        inp = torch.rand(10, 10, requires_grad=True)
        out = run_fn(inp)
        with (
            pytest.warns(UserWarning, match="(?s)raceback of forward call.*in run_fn"),
            pytest.raises(RuntimeError, match="Some error in backward"),
        ):
            out.backward()


# --- torch.autograd.grad_mode -------------------------------------------------------------------


def test_no_grad():
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    inp = torch.ones([16, 8])
    assert net(inp).requires_grad
    with torch.no_grad():
        assert not net(inp).requires_grad
    net.eval()
    assert net(inp).requires_grad  # eval() has nothing to do with gradients


# --- The older API ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_variable_with_a_hook():
    v = Variable(torch.Tensor([0, 0, 0]), requires_grad=True)
    h = v.register_hook(lambda grad: grad * 2)  # double the gradient
    v.backward(torch.Tensor([1, 1, 1]))
    np.testing.assert_array_equal(v.grad.data.numpy(), [2, 2, 2])
    h.remove()
    assert isinstance(v.grad.data, torch.FloatTensor)
    assert v.grad.data.size() == (3,)


class OldExp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_variables
        return grad_output * result


def test_saved_variables():
    x = torch.tensor([1.0], requires_grad=True)
    y = OldExp.apply(x)
    with pytest.warns(DeprecationWarning, match="saved_tensors"):
        y.backward()
    assert printed(x.grad) == "tensor([2.7183])"


@pytest.mark.filterwarnings("ignore:Variable is deprecated")
def test_old_arguments():
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    y = v * v
    with pytest.warns(DeprecationWarning, match="retain_graph"):
        torch.autograd.backward(y, torch.ones(2), retain_variables=True)
    with pytest.warns(FutureWarning, match="grad_tensors"):
        torch.autograd.backward(y, grad_variables=torch.ones(2))
    assert v.grad.tolist() == [4.0, 8.0]
    with pytest.warns(UserWarning, match="no_grad"):
        w = Variable(torch.ones(2), volatile=True)
    assert not (w * 2).requires_grad
