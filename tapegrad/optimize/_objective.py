"""A function of a tree as SciPy wants it: of a vector, with exact derivatives, each run counted.

Knows how values, gradients and Hessians are asked for together. Must not know methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import sparse
from tapegrad._compile.compiled import compile
from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace
from tapegrad._errors import OutputError, describe, message
from tapegrad._transforms.forward import linearize
from tapegrad._transforms.jacobians import hessian, jacobian
from tapegrad._transforms.reverse import grad, value_and_grad, vjp
from tapegrad._tree import flatten
from tapegrad.implicit._systems import closes_over
from tapegrad.implicit._unknowns import as_vector
from tapegrad.optimize._parameters import Parameters


class Objective:
    """A function of the parameters and its derivatives by their vector.

    A run is remembered until another vector comes: SciPy asks for value and gradient one after the
    other, and for many products with one Hessian.
    """

    def __init__(
        self,
        call: str,
        fun: Function,
        args: tuple[Any, ...],
        parameters: Parameters,
        *,
        has_aux: bool = False,
        compiled: bool = False,
    ) -> None:
        self.call, self.fun, self.args, self.parameters = call, fun, args, parameters
        self.has_aux = has_aux
        self.runs = 0
        self.history: list[float] = []
        self.aux: Any = None
        wrap = compile if compiled and not has_aux else _as_it_is
        self._value_and_grad = wrap(value_and_grad(self.with_aux, has_aux=has_aux))
        self._hessian = wrap(hessian(self.of_vector))
        self._gradient = grad(self.of_vector)
        self._sparse_hessian = sparse.hessian(self.of_vector)
        self._kept: dict[str, tuple[bytes, Any]] = {}

    def with_aux(self, v: Value) -> Any:
        """Value of fun, as a function of the vector."""
        out = self.fun(self.parameters.tree(v), *self.args)
        value = out[0] if self.has_aux else out
        if getattr(value, "size", 1) != 1 or isinstance(value, tuple | list | dict):
            raise OutputError(
                message(
                    self.call,
                    "a function that returns one real number",
                    describe(value),
                    "Sum it, or use optimize.least_squares; with has_aux=True return (value, aux)",
                )
            )
        if getattr(value, "shape", ()):
            value = np.reshape(value, ())
        return (value, out[1]) if self.has_aux else value

    def of_vector(self, v: Value) -> Any:
        """The value alone."""
        out = self.with_aux(v)
        return out[0] if self.has_aux else out

    def _once(self, what: str, v: Any, run: Function) -> Any:
        key = v.tobytes()
        found = self._kept.get(what)
        if found is None or found[0] != key:
            self.runs += 1
            found = self._kept[what] = (key, run(v))
        return found[1]

    def value(self, v: Any) -> float:
        """The value, without a gradient."""
        before = self.runs
        out = self._once("value", v, self.with_aux)
        if self.has_aux:
            out, self.aux = out
        if in_trace(out):
            raise closes_over(self.call, "the function")
        self._note(float(out), before)
        return float(out)

    def value_and_grad(self, v: Any) -> tuple[float, Any]:
        """Both, of one run."""
        before = self.runs
        value, slope = self._once("gradient", v, self._value_and_grad)
        if self.has_aux:
            value, self.aux = value
        if in_trace(value) or in_trace(slope):
            raise closes_over(self.call, "the function")
        self._note(float(value), before)
        return float(value), np.array(slope, float)

    def _note(self, value: float, before: int) -> None:
        """Keep the value of a new run for the curve."""
        if self.runs > before:
            self.history.append(value)

    def known_value(self, v: Any) -> float | None:
        """The value at a vector at which the function was run last, else None."""
        key = v.tobytes()
        for what in ("gradient", "value"):
            if what in self._kept and self._kept[what][0] == key:
                return self.value_and_grad(v)[0] if what == "gradient" else self.value(v)
        return None

    def gradient(self, v: Any) -> Any:
        """The gradient."""
        return self.value_and_grad(v)[1]

    def hessian(self, v: Any) -> Any:
        """The Hessian as a matrix."""
        return np.asarray(self._once("hessian", v, self._hessian), float)

    def sparse_hessian(self, v: Any) -> Any:
        """The Hessian as a sparse matrix."""
        return self._once("sparse", v, self._sparse_hessian)

    def hessian_product(self, v: Any, p: Any) -> Any:
        """The Hessian times a vector; products at the same v share a run."""
        push = self._once("product", v, lambda v: linearize(self._gradient, v)[1])
        return np.asarray(push(np.asarray(p, float).reshape(v.shape)), float)


def _as_it_is(f: Function) -> Function:
    return f


class Residuals:
    """Several numbers as a function of the parameters, and their Jacobian by the vector."""

    def __init__(
        self, call: str, fun: Function, args: tuple[Any, ...], parameters: Parameters
    ) -> None:
        self.call, self.fun, self.args, self.parameters = call, fun, args, parameters
        self.runs = 0
        self.history: list[float] = []
        self._jacobian = jacobian(self.of_vector)
        self._sparse_jacobian = sparse.jacobian(self.of_vector)

    def of_vector(self, v: Value) -> Any:
        """All residuals in one vector."""
        out = self.fun(self.parameters.tree(v), *self.args)
        if not flatten(out)[0]:
            raise OutputError(
                message(
                    self.call, "residuals", describe(out), "Return an array, or a tree of them"
                )
            )
        return as_vector(out)

    def values(self, v: Any) -> Any:
        """The plain residuals."""
        self.runs += 1
        out = self.of_vector(v)
        if in_trace(out):
            raise closes_over(self.call, "the function")
        values = np.array(out, float)
        with silence():
            self.history.append(float(np.sum(values * values)) / 2)
        return values

    def jacobian(self, v: Any) -> Any:
        """The Jacobian as a matrix."""
        self.runs += 1
        out = self._jacobian(v)
        if in_trace(out):
            raise closes_over(self.call, "the function")
        return np.asarray(out, float)

    def sparse_jacobian(self, v: Any) -> Any:
        """The Jacobian as a sparse matrix."""
        self.runs += 1
        return self._sparse_jacobian(v)

    def products(self, v: Any) -> Any:
        """The Jacobian as SciPy's LinearOperator, by products with vectors."""
        from scipy.sparse.linalg import LinearOperator

        self.runs += 1
        out, push = linearize(self.of_vector, v)
        pull = vjp(self.of_vector, v)[1]
        return LinearOperator(
            (out.size, v.size),
            matvec=lambda p: push(np.ravel(p).astype(float)),
            rmatvec=lambda g: pull(np.ravel(g).astype(out.dtype))[0],
            dtype=float,
        )


__all__ = ["Objective", "Residuals"]
