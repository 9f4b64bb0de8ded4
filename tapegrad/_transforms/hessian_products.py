"""Products with a Hessian or a Gauss-Newton matrix, without the matrix: hvp, vhp, ggnvp.

Knows the transforms of which they are made. Must not know tapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Function, Tree
from tapegrad._errors import name_of
from tapegrad._transforms.forward import jvp, require_one_each, require_tuple
from tapegrad._transforms.reverse import grad, vjp
from tapegrad._transforms.tracebacks import fold, folding
from tapegrad._transforms.wrapper import require_function
from tapegrad._tree import tree_map


def hvp(f: Function, primals: Tree, vectors: Tree) -> Any:
    """The Hessian of f at the primals times vectors, without the matrix: forward over reverse.

    Parameters
    ----------
    f : callable
        Function with a real scalar output, of as many positional arguments as there are primals.
    primals : tuple or list of pytree
        Where the Hessian is taken: floating or complex arrays or scalars, in containers.
    vectors : tuple or list of pytree
        One for each primal, with its containers and shapes.

    Returns
    -------
    pytree
        The product for one primal, and a tuple of them for several.

    Raises
    ------
    InputError
        Where primals or vectors are in no tuple, or one is not like the other.
    ShapeMismatchError
        Where the shape of a vector is not that of its primal.
    OutputError
        Where the output of f is not a real scalar.

    See Also
    --------
    vhp : Reverse over reverse.
    hessian : The matrix.

    Examples
    --------
    >>> hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    _require_vectors("hvp", f, primals, vectors)
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    try:
        return jvp(grad(f, argnums), tuple(primals), tuple(vectors))[1]
    except BaseException as error:
        fold(error)
        raise


@folding
def vhp(f: Function, primals: Tree, vectors: Tree) -> Any:
    """Vectors times the Hessian of f at the primals, without the matrix: reverse over reverse.

    Parameters
    ----------
    f : callable
        Function with a real scalar output, of as many positional arguments as there are primals.
    primals : tuple or list of pytree
        Where the Hessian is taken: floating or complex arrays or scalars, in containers.
    vectors : tuple or list of pytree
        One for each primal, with its containers and shapes.

    Returns
    -------
    pytree
        The product for one primal, and a tuple of them for several.

    Raises
    ------
    InputError
        As `hvp` does.
    ShapeMismatchError
        As `hvp` does.
    OutputError
        As `hvp` does.

    See Also
    --------
    hvp : The same product, forward over reverse.

    Examples
    --------
    >>> vhp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    _require_vectors("vhp", f, primals, vectors)
    single = len(primals) == 1
    gradient = grad(f, 0 if single else tuple(range(len(primals))))
    _, pullback = vjp(gradient, *primals)
    product = pullback(vectors[0] if single else tuple(vectors))
    return product[0] if single else product


@folding
def ggnvp(f: Function, primals: Tree, vectors: Tree, loss: Function | None = None) -> Any:
    """The Gauss-Newton matrix of f at the primals times vectors, without the matrix.

    Parameters
    ----------
    f : callable
        Function of as many positional arguments as there are primals.
    primals : tuple or list of pytree
        Where the matrix is taken: floating or complex arrays or scalars, in containers.
    vectors : tuple or list of pytree
        One for each primal, with its containers and shapes.
    loss : callable, optional
        Real scalar function of f's output. By default half the sum of squares, whose Hessian is
        the identity.

    Returns
    -------
    pytree
        The product for one primal, and a tuple of them for several.

    Raises
    ------
    InputError
        As `hvp` does.
    ShapeMismatchError
        As `hvp` does.

    See Also
    --------
    hvp : The product with the whole Hessian.

    Notes
    -----
    The matrix is J^T H J, where J is the Jacobian of f and H the Hessian of `loss`. It is the
    Hessian of loss(f(x)) without the term that has second derivatives of f, and it is positive
    semidefinite where loss is convex.

    Examples
    --------
    >>> ggnvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 4., 16.])
    """
    _require_vectors("ggnvp", f, primals, vectors)
    out, out_dot = jvp(f, tuple(primals), tuple(vectors))
    # The gradient of half of |z|^2 is conj(z).
    turned = tree_map(np.conj, out_dot) if loss is None else hvp(loss, (out,), (out_dot,))
    product = vjp(f, *primals)[1](turned)
    return product[0] if len(primals) == 1 else product


def _require_vectors(transform: str, f: Function, primals: Tree, vectors: Tree) -> None:
    """Raise InputError for arguments of `hvp` and its kin that are not in tuples."""
    require_function(transform, f)
    name = f"{transform}({name_of(f)})"
    require_tuple(name, primals)
    require_one_each(name, primals, vectors, "vector")


__all__ = ["ggnvp", "hvp", "vhp"]
