"""forward_ad: tangents, in either order with backward passes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from transcripts import Log, compare, logged

import tapegrad.torch as torch
from tapegrad.torch.autograd import forward_ad, grad

PROGRAMS: dict[str, Any] = {}


def program(function: Any) -> Any:
    PROGRAMS[function.__name__] = function
    return function


def given(T: Any) -> Any:
    return T.tensor([1.0, 2.0, 3.0]), T.tensor([1.0, 0.5, 2.0])


@program
def tangents(T: Any, log: Log) -> None:
    fw = T.autograd.forward_ad
    x, t = given(T)
    log.attempt(lambda: fw.make_dual(x, t), "no level exists")
    log(fw.unpack_dual(x))
    with fw.dual_level():
        d = fw.make_dual(x, t)
        calls = (
            lambda: d.sin() * d + d.sum(),
            lambda: d[1:],
            lambda: d.reshape(3, 1) @ d.reshape(1, 3),
            lambda: T.exp(d / 3).cumsum(0),
            lambda: T.stack([d, d * 2]).mean(0),
            lambda: x * 2,
            lambda: d.detach() * 2,
            lambda: 2 / d,
            lambda: d.max(),
            lambda: T.where(d > 1.5, d, d**3),
        )
        for call in calls:
            log(fw.unpack_dual(call()))
        with T.no_grad():
            log(fw.unpack_dual(d * 2))
        for write in ("mul_", "add_", "copy_"):
            w = T.ones(3)
            getattr(w, write)(d)
            log(fw.unpack_dual(w))
            w = d * 1
            getattr(w, write)(d * d)
            log(fw.unpack_dual(w))
        w = T.zeros(3)
        w[1:] = d[1:] * 2
        log(fw.unpack_dual(w))
        w = d * 1
        parts = w.reshape(3, 1), w[:2], w[1:]
        parts[2].mul_(d[0])
        parts[1][0] = d[2]
        log([fw.unpack_dual(part) for part in (w, *parts)])
        w = T.ones(2, 3)
        w[0].add_(d)
        w.t()[1:].mul_(2)
        log(fw.unpack_dual(w))
    log(fw.unpack_dual(d), d * 2)
    with fw.dual_level():
        log(fw.unpack_dual(d))
        log(fw.unpack_dual(fw.make_dual(d, t) * 3))


@program
def refusals(T: Any, log: Log) -> None:
    fw = T.autograd.forward_ad
    x, t = given(T)
    log.attempt(lambda: fw.exit_dual_level())
    whole = T.ones(2, dtype=T.int64)
    with fw.dual_level():
        log.attempt(lambda: fw.make_dual(x, t[:2]), "a different size")
        log.attempt(lambda: fw.make_dual(whole, whole), "Expected primal to be floating point")
        log.attempt(lambda: fw.make_dual(fw.make_dual(x, t), t), "already has a forward gradient")
        log.attempt(lambda: fw.enter_dual_level(), "Nested forward mode AD is not supported")
    log(fw.enter_dual_level())
    fw.exit_dual_level()


@program
def forward_over_reverse(T: Any, log: Log) -> None:
    """The tangents of gradients: products with the Hessian."""
    fw = T.autograd.forward_ad
    x, t = given(T)
    x.requires_grad_()
    functions = (
        lambda d: (d**3).sum(),
        lambda d: d.exp().sum() * d.sum(),
        lambda d: (d.sin() @ d).tanh(),
        lambda d: T.stack([d[0] * d[1], d[2] ** 2]).prod(),
    )
    for f in functions:
        with fw.dual_level():
            d = fw.make_dual(x, t)
            log(d.requires_grad)
            (g,) = T.autograd.grad(f(d), d)
            log(fw.unpack_dual(g))
            (g,) = T.autograd.grad(f(d), x)
            log(fw.unpack_dual(g))
    with fw.dual_level():
        a = fw.make_dual(T.tensor([2.0, 2.0, 2.0]), T.ones(3))
        (g,) = T.autograd.grad((a * x.exp()).sum(), x)
        log(fw.unpack_dual(g))
    with fw.dual_level():
        (fw.make_dual(x, t) ** 2).sum().backward()
        log(fw.unpack_dual(x.grad))


@program
def reverse_over_forward(T: Any, log: Log) -> None:
    """The gradients of tangents, which lie on the graph."""
    fw = T.autograd.forward_ad
    x, t = given(T)
    x.requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(x, t)
        primal, tangent = fw.unpack_dual((d**3).sum())
        log(primal, tangent)
        (g,) = T.autograd.grad(tangent, x, retain_graph=True)
        log(g.tolist())
        loss = primal * 2 + tangent**2
    loss.backward()
    log(x.grad)
    with fw.dual_level():
        way = t.clone().requires_grad_()
        tangent = fw.unpack_dual(fw.make_dual(x.detach(), way) ** 3).tangent
        log(tangent)
        (g,) = T.autograd.grad(tangent.sum(), way)
        log(g.tolist())


@program
def functions(T: Any, log: Log) -> None:
    fw = T.autograd.forward_ad
    x, t = given(T)

    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g

        @staticmethod
        def jvp(ctx, tangent):
            return 3 * ctx.saved_tensors[0] ** 2 * tangent

    with fw.dual_level():
        log(fw.unpack_dual(Cube.apply(fw.make_dual(x, t))))
        d = fw.make_dual(x.clone().requires_grad_(), t)
        y = Cube.apply(d * 1)
        log(fw.unpack_dual(y).tangent.tolist())
        (g,) = T.autograd.grad(y.sum(), d)
        log(fw.unpack_dual(g))


@program
def complex_numbers(T: Any, log: Log) -> None:
    fw = T.autograd.forward_ad
    with fw.dual_level():
        a = fw.make_dual(T.tensor([1 + 1j]), T.tensor([2 - 1j]))
        log(fw.unpack_dual(a * a), fw.unpack_dual(a.abs()), fw.unpack_dual(a.conj() * a))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_see_what_they_see_with_pytorch(name):
    compare(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run(name):
    assert logged(PROGRAMS[name])


def test_a_dual_tensor_prints_its_tangent():
    with forward_ad.dual_level():
        d = forward_ad.make_dual(torch.tensor([1.0]), torch.tensor([2.0]))
        assert repr(d) == "tensor([1.], tangent=tensor([2.]))"


def test_what_no_tangent_can_tell_is_an_error_and_not_a_constant():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, torch.ones(2))
        (g,) = grad((d**3).sum(), d, create_graph=True)
        tangent = forward_ad.unpack_dual(g).tangent
        np.testing.assert_allclose(tangent.detach().numpy(), [6.0, 12.0])
        with pytest.raises(RuntimeError, match="cannot be differentiated by a backward pass"):
            grad(tangent.sum(), x, retain_graph=True)
        mixed = forward_ad.unpack_dual((g * d).sum()).tangent
        with pytest.raises(RuntimeError, match="cannot be differentiated by a backward pass"):
            grad(mixed, x, retain_graph=True)


def test_a_level_keeps_no_graph_alive():
    x = torch.ones(3, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, torch.ones(3)).exp().sum()
            node = weakref.ref(y.grad_fn)
            del y
            assert node() is None
    finally:
        gc.enable()


IN_PLACE: dict[str, Any] = {
    "mul": lambda p: (p,),
    "div": lambda p: (p,),
    "add": lambda p: (p * p,),
    "sub": lambda p: (p * p,),
    "pow": lambda p: (p,),
    "atan2": lambda p: (p,),
    "hypot": lambda p: (p,),
    "xlogy": lambda p: (p,),
    "lerp": lambda p: (p, p),
    "addcmul": lambda p: (p, p),
    "addcdiv": lambda p: (p, p),
    "sin": lambda p: (),
}


@pytest.mark.parametrize("of_leaf", [True, False])
@pytest.mark.parametrize("is_view", [True, False])
@pytest.mark.parametrize("name", IN_PLACE)
def test_a_write_gives_what_the_call_gives(name, is_view, of_leaf):
    """Values, tangents, gradients and their tangents; what nodes keep is from before the write."""

    def found(word: str) -> list[Any]:
        p = torch.tensor([0.5, 1.5, 2.5], dtype=torch.float64, requires_grad=True)
        x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
        with forward_ad.dual_level():
            whole = forward_ad.make_dual(x, torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64))
            if not of_leaf:
                whole = whole * p
            part, beside = (whole[1:], p[1:]) if is_view else (whole, p)
            out = getattr(part, word)(*IN_PLACE[name](beside))
            parts = [*forward_ad.unpack_dual(out)]
            if out.requires_grad:
                (slope,) = grad((out * out).sum(), p, retain_graph=True, allow_unused=True)
                parts += [*forward_ad.unpack_dual(slope)]
                if parts[1].requires_grad:
                    parts += [*grad(parts[1].sum(), p, allow_unused=True)]
            return [None if x is None else x.detach().numpy().copy() for x in parts]

    for one, other in zip(found(name), found(name + "_"), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(other, one, rtol=1e-12)


def test_out_takes_no_dual_tensors():
    x = torch.rand(2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(2), torch.rand(2))
        for call in (lambda: torch.add(x, x, out=dual), lambda: torch.add(dual, x, out=x)):
            with pytest.raises(NotImplementedError, match="because it is an out= function"):
                call()


def test_detach_in_place_takes_the_tangent_away():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(2), torch.rand(2)).clone()
        dual.detach_()
        assert forward_ad.unpack_dual(dual * 2).tangent is None


def test_a_tangent_in_memory_of_another_size_is_copied():
    tangent = torch.ones(4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(5)[:4], tangent)
        forward_ad.unpack_dual(dual).tangent.mul_(2)
        assert tangent.tolist() == [1, 1, 1, 1]
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [2, 2, 2, 2]


TURNED = {
    "t_": lambda x: x.t_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "transpose_": lambda x: x.transpose_(0, 1),
    "as_strided_": lambda x: x.as_strided_((2, 2), (3, 1), 1),
    "as_strided": lambda x: x.as_strided((2, 2), (3, 1), 1),
}


@pytest.mark.parametrize("name", TURNED)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_tangent_turns_with_its_tensor(name, requires_grad):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_(requires_grad)
    t = torch.arange(6.0).reshape(2, 3) + 10
    with forward_ad.dual_level():
        made = TURNED[name](forward_ad.make_dual(x, t).clone())
        primal, tangent = forward_ad.unpack_dual(made * made)
        expected = TURNED[name](x.detach().clone()), TURNED[name](t.clone())
        assert torch.equal(primal, expected[0] ** 2)
        assert torch.equal(tangent, 2 * expected[0] * expected[1])
        if requires_grad:
            tangent.sum().backward()
            weight = torch.zeros(2, 3).requires_grad_()
            (TURNED[name](weight * 1.0) * expected[1] * 2).sum().backward()
            assert torch.equal(x.grad, weight.grad)
