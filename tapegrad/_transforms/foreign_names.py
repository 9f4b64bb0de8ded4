"""Terms of other libraries: their names and keyword arguments, and what to write here.

Knows words alone. Must not know transforms: who has parameters that are spelt otherwise elsewhere
says so where they are declared.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tapegrad._errors import add_note

P = ParamSpec("P")
R = TypeVar("R")

# Names of JAX, PyTorch, HIPS autograd and optax that one looks for in `tapegrad`.
_HERE = {
    "cond": "Python's if, or np.where of arrays",
    "custom_gradient": "tapegrad.custom_vjp",
    "deriv": "tapegrad.jacfwd",
    "detach": "tapegrad.stop_gradient(x)",
    "device_put": "nothing: arrays are NumPy's",
    "egrad": "tapegrad.elementwise_grad",
    "enable_grad": "nothing: the arguments of a transform are traced",
    "eval_shape": "tapegrad.tape(f, x), which runs f",
    "fori_loop": "Python's for, in little memory tapegrad.checkpoint_sequence",
    "functional_call": "a function of the parameters, f(parameters, x)",
    "grad_and_aux": "tapegrad.grad(f, has_aux=True)",
    "grad_and_value": "tapegrad.value_and_grad",
    "grad_named": "tapegrad.grad(f, argnames=...)",
    "gradcheck": "tapegrad.testing.check_grads",
    "hessian_vector_product": "tapegrad.hvp(f, (x,), (v,))",
    "holomorphic_grad": "tapegrad.grad(f, holomorphic=True)",
    "jit": "tapegrad.compile",
    "lax": "Python's if, for and while, or tapegrad.checkpoint_sequence",
    "make_ggnvp": "tapegrad.ggnvp(f, (x,), (v,), loss)",
    "make_hvp": "tapegrad.hvp(f, (x,), (v,))",
    "make_jaxpr": "tapegrad.tape(f, x)",
    "make_jvp": "tapegrad.jvp(f, (x,), (v,))",
    "make_vjp": "tapegrad.vjp(f, x)",
    "minimize": "tapegrad.optimize.minimize",
    "multigrad_dict": "tapegrad.grad(f, argnames=[...])",
    "nn": "tapegrad.torch.nn, or NumPy's functions and tapegrad.scipy.special",
    "no_grad": "nothing: only the arguments of a transform are traced",
    "optim": "tapegrad.optimize, or tapegrad.torch.optim",
    "pmap": "tapegrad.vmap, or tapegrad.dask",
    "random": "numpy.random.default_rng(seed)",
    "ravel_pytree": "tapegrad.tree.ravel",
    "remat": "tapegrad.checkpoint",
    "scan": "Python's for, in little memory tapegrad.checkpoint_sequence",
    "tensor": "tapegrad.torch.tensor, or an array of NumPy's",
    "tree_leaves": "tapegrad.tree.leaves",
    "tree_map": "tapegrad.tree.map",
    "tree_util": "tapegrad.tree",
    "while_loop": "Python's while",
}


def absent(name: str) -> str:
    """The text of the AttributeError for a name that `tapegrad` has not."""
    text = f"module 'tapegrad' has no attribute {name!r}"
    return f"{text}. Here it is {_HERE[name]}." if name in _HERE else text


def explaining(**advice: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Say what to write in place of keyword arguments that a function has in other libraries.

    Python's TypeError for such a keyword gets a note. That costs one more call.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        start = re.escape(f"{function.__name__}() got an unexpected keyword argument ")
        refused = re.compile(f"{start}'({'|'.join(advice)})'")

        @functools.wraps(function)
        def explained(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                found = refused.match(str(error))
                if found:
                    add_note(error, f"{found[1]}: {advice[found[1]]}.")
                raise

        return explained

    return decorate


__all__ = ["absent", "explaining"]
