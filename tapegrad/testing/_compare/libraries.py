"""The libraries that `compare` knows: each differentiates the same function in its own way.

Knows how each is called. All gradients are brought to tapegrad's convention: for a real loss of
x + iy, du/dx - i du/dy, which JAX and HIPS autograd share; PyTorch's is the conjugate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import tapegrad
import tapegrad.numpy
from tapegrad._block import contextmanager
from tapegrad._core.types import Tree
from tapegrad._tree import Structure, flatten, unflatten
from tapegrad.testing._compare.namespaces import takes_namespace, within

Array = Any
Run = Callable[[], Any]  # the whole of a value and a gradient, in the library's own arrays


class Problem(NamedTuple):
    """A function, its arguments, and by what its results are weighted to be one number."""

    f: Callable[..., Any]
    everything: list[Any]
    structure: Structure
    places: list[int]  # of the leaves that are differentiated
    weights: tuple[Array, ...]  # one for each floating or complex result

    @property
    def leaves(self) -> list[Array]:
        """Differentiated values, as arrays."""
        return [np.asarray(self.everything[i]) for i in self.places]

    def flat(
        self, namespace: Any, convert: Callable[[Array], Any]
    ) -> Callable[..., tuple[Any, ...]]:
        """The function of those leaves, in a library, to its results that are not integers."""
        f = within(self.f, namespace)
        constants = [convert(x) if isinstance(x, np.ndarray) else x for x in self.everything]

        def of_leaves(*leaves: Any) -> tuple[Any, ...]:
            given = list(constants)
            for place, leaf in zip(self.places, leaves, strict=True):
                given[place] = leaf
            out: Tree = f(*unflatten(self.structure, iter(given)))
            return tuple(leaf for leaf in flatten(out)[0] if not _is_integer(leaf))

        return of_leaves

    def weighted(self, outs: Sequence[Array]) -> Array:
        """The loss: the real part of the results, each times its weights."""
        return sum(np.sum(np.real(w * out)) for w, out in zip(self.weights, outs, strict=True))


def _is_integer(leaf: Any) -> bool:
    if isinstance(leaf, (bool, int, str, bytes)) or leaf is None:
        return True
    kind = getattr(getattr(leaf, "dtype", None), "kind", None)  # of PyTorch's dtypes: None
    return kind in ("b", "i", "u", "O", "S", "U")


class Library:
    """How one library runs a problem."""

    name = ""
    note = ""

    @contextmanager
    def settings(self) -> Iterator[None]:
        """Context to be set while it runs."""
        yield

    def prepared(self, problem: Problem) -> Run:
        """Timed function: value and gradient, of arguments that are the library's arrays."""
        raise NotImplementedError

    def arrays(self, found: Any) -> tuple[list[Array], list[Array]]:
        """The value and the gradients that a run returned, as NumPy's."""
        outs, gradients = found
        return [np.asarray(out) for out in outs], [np.asarray(g) for g in gradients]


class Tapegrad(Library):
    """This library."""

    name = "tapegrad"

    def prepared(self, problem: Problem) -> Run:
        """By vjp."""
        flat = problem.flat(tapegrad.numpy if takes_namespace(problem.f) else np, lambda x: x)
        leaves = problem.leaves

        def run() -> Any:
            outs, pull = tapegrad.vjp(flat, *leaves)
            return outs, pull(tuple(problem.weights))

        return run


class Compiled(Library):
    """This library, compiled."""

    name = "tapegrad compiled"

    def prepared(self, problem: Problem) -> Run:
        """By vjp within `compile`."""
        flat = problem.flat(tapegrad.numpy if takes_namespace(problem.f) else np, lambda x: x)
        leaves, weights = problem.leaves, tuple(problem.weights)

        def both(*given: Any) -> Any:
            outs, pull = tapegrad.vjp(flat, *given)
            return outs, pull(weights)

        program = tapegrad.compile(both)
        return lambda: program(*leaves)


class Jax(Library):
    """JAX, in the dtypes of the arguments, compiled by jit where it can be."""

    name = "jax"

    @contextmanager
    def settings(self) -> Iterator[None]:
        """Float64 is off unless it is asked for."""
        import jax

        enable = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
        with enable(True):
            yield

    def prepared(self, problem: Problem) -> Run:
        """By vjp within jit."""
        import jax

        flat = problem.flat(jax.numpy, jax.numpy.asarray)
        leaves = [jax.numpy.asarray(leaf) for leaf in problem.leaves]

        def both(*given: Any) -> Any:
            outs, pull = jax.vjp(flat, *given)
            pairs = zip(problem.weights, outs, strict=True)
            return outs, pull(tuple(jax.numpy.asarray(w, out.dtype) for w, out in pairs))

        compiled = jax.jit(both)
        try:
            jax.block_until_ready(compiled(*leaves))
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError):
            self.note = "not jitted: Python looks at values"
            return lambda: jax.block_until_ready(both(*leaves))
        self.note = "jitted"
        return lambda: jax.block_until_ready(compiled(*leaves))


class Torch(Library):
    """PyTorch: its gradients are conjugated, to be as the others."""

    name = "torch"

    def prepared(self, problem: Problem) -> Run:
        """By torch.autograd.grad."""
        import torch

        try:
            from array_api_compat import torch as namespace
        except ImportError:
            namespace = torch
        flat = problem.flat(namespace, torch.as_tensor)
        leaves = [torch.tensor(leaf, requires_grad=True) for leaf in problem.leaves]
        weights = [torch.as_tensor(np.conj(w)) for w in problem.weights]
        if any(leaf.is_complex() for leaf in leaves):
            self.note = "conjugated"

        def run() -> Any:
            outs = tuple(torch.as_tensor(out) for out in flat(*leaves))  # some may be numbers
            bars = [w.to(out.dtype) for w, out in zip(weights, outs, strict=True)]
            moved = [(out, bar) for out, bar in zip(outs, bars, strict=True) if out.requires_grad]
            if not moved:
                return outs, [torch.zeros_like(leaf) for leaf in leaves]
            return outs, torch.autograd.grad(
                [out for out, _ in moved],
                leaves,
                [bar for _, bar in moved],
                allow_unused=True,
                materialize_grads=True,
            )

        return run

    def arrays(self, found: Any) -> tuple[list[Array], list[Array]]:
        """In the convention of the others."""
        outs, gradients = found
        values = [out.detach().resolve_conj().numpy() for out in outs]
        return values, [np.conj(g.detach().resolve_conj().numpy()) for g in gradients]


class Autograd(Library):
    """HIPS autograd, whose NumPy is a module of its own."""

    name = "autograd"

    def prepared(self, problem: Problem) -> Run:
        """By autograd.grad of the weighted sum."""
        import autograd
        import autograd.numpy as anp
        from autograd.tracer import getval

        flat = problem.flat(anp, lambda x: x)
        leaves = problem.leaves
        values: list[Any] = []

        def loss(*given: Any) -> Any:
            outs = flat(*given)
            values[:] = [getval(out) for out in outs]
            return sum(
                anp.sum(anp.real(w * out)) for w, out in zip(problem.weights, outs, strict=True)
            )

        gradient = autograd.grad(loss, argnum=tuple(range(len(leaves))))
        return lambda: (values, gradient(*leaves))


class MyGrad(Library):
    """MyGrad, whose tensors NumPy's functions know."""

    name = "mygrad"

    def prepared(self, problem: Problem) -> Run:
        """By backward of the weighted sum."""
        import mygrad

        flat = problem.flat(mygrad if takes_namespace(problem.f) else np, lambda x: x)

        def run() -> Any:
            leaves = [mygrad.tensor(leaf) for leaf in problem.leaves]
            outs = flat(*leaves)
            loss = sum(mygrad.sum(w * out) for w, out in zip(problem.weights, outs, strict=True))
            values = [np.array(out) for out in outs]
            loss.backward()
            grads = [np.zeros_like(t.data) if t.grad is None else t.grad for t in leaves]
            return values, grads

        return run


LIBRARIES: dict[str, type[Library]] = {
    library.name: library for library in (Tapegrad, Compiled, Jax, Torch, Autograd, MyGrad)
}
