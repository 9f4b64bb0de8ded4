"""Names of HIPS autograd's modules that packages import, and its documentation does not name.

The functions that make its rules are here by tapegrad's own derivatives of the functions that they
are for (those of its SciPy modules in `_private_scipy`); what its modules import is here by the
names that they import it by. Knows which module of HIPS has which name. Must not know rules.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autograd._derivatives import make_jvp, make_vjp
from tapegrad.autograd._nodes import subval

Function = Callable[..., Any]


def vjp_maker(fun: Function, argnum: int = 0) -> Function:
    """`maker(ans, *args, **kwargs)`, which makes the vjp of a function by one of its arguments."""

    def maker(ans: Any, *args: Any, **kwargs: Any) -> Function:
        return make_vjp(lambda x: fun(*subval(args, argnum, x), **kwargs), args[argnum])[0]

    return maker


def _by_argnum(fun: Function) -> Function:
    """`maker(argnum, ans, *args, **kwargs)`, the same by any argument."""

    def maker(argnum: int, ans: Any, *args: Any, **kwargs: Any) -> Function:
        return vjp_maker(fun, argnum)(ans, *args, **kwargs)

    return maker


def _by_argnum_of_tuple(fun: Function) -> Function:
    """`maker(argnum, ans, args, kwargs)`, the same of arguments in a tuple."""

    def maker(argnum: int, ans: Any, args: Any, kwargs: Any) -> Function:
        return vjp_maker(fun, argnum)(ans, *args, **kwargs)

    return maker


def jvp_maker(fun: Function) -> Function:
    """`jvp(g, ans, *args, **kwargs)`, the tangent of a function's result by its first argument."""

    def jvp(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        return make_jvp(lambda x: fun(x, *args[1:], **kwargs), args[0])(g)[1]

    return jvp


def _jvp_by_argnum_of_tuple(fun: Function) -> Function:
    def jvp(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return make_jvp(lambda x: fun(*subval(args, argnum, x), **kwargs), args[argnum])(g)[1]

    return jvp


def _reduction(fun: Function, *names: str) -> Function:
    """A sum or the like with its arguments in HIPS's order, which is not NumPy's."""

    def reduced(x: Any, *args: Any, **kwargs: Any) -> Any:
        return fun(x, **dict(zip(names, args, strict=False)), **kwargs)

    return reduced


def _chosen(x: Any, ans: Any, **kwargs: Any) -> Any:
    """np.max or np.min, whichever the answer is."""
    largest = np.max(x, **kwargs)
    return largest if np.array_equal(largest, ans) else np.min(x, **kwargs)


def grad_chooser(ans: Any, x: Any, axis: Any = None, keepdims: Any = None, **kwargs: Any) -> Any:
    return make_vjp(lambda x: _chosen(x, ans, axis=axis, keepdims=bool(keepdims)), x)[0]


def fwd_grad_chooser(
    g: Any, ans: Any, x: Any, axis: Any = None, keepdims: bool = False, **kwargs: Any
) -> Any:
    return make_jvp(lambda x: _chosen(x, ans, axis=axis, keepdims=keepdims), x)(g)[1]


def _adjoint(product: Function, argnum: int, other: Any, g: Any, shape: Any, dtype: Any) -> Any:
    """The cotangent of one factor of a product, from the other factor and that of the product."""

    def of_factor(x: Any) -> Any:
        return product(x, other) if argnum == 0 else product(other, x)

    return make_vjp(of_factor, np.zeros(shape, np.result_type(dtype, float)))[0](g)


def dot_adjoint_0(B: Any, G: Any, A_meta: Any, B_meta: Any) -> Any:
    return _adjoint(np.dot, 0, B, G, A_meta[0], A_meta[2])


def dot_adjoint_1(A: Any, G: Any, A_meta: Any, B_meta: Any) -> Any:
    return _adjoint(np.dot, 1, A, G, B_meta[0], B_meta[2])


def matmul_adjoint_0(B: Any, G: Any, A_meta: Any, B_ndim: int) -> Any:
    return _adjoint(np.matmul, 0, B, G, A_meta[0], A_meta[2])


def matmul_adjoint_1(A: Any, G: Any, A_ndim: int, B_meta: Any) -> Any:
    return _adjoint(np.matmul, 1, A, G, B_meta[0], B_meta[2])


def _factor_shape(known: Any, g: Any, ndim: int, own: Any, others: Any, kept_first: bool) -> Any:
    """The shape of a factor of tensordot, from the other factor and the result."""
    own, others = [axis % max(ndim, 1) for axis in own], list(others)
    kept = ndim - len(own)
    rest = list(np.shape(g)[:kept] if kept_first else np.shape(g)[np.ndim(g) - kept :])
    sizes = dict(zip(own, (np.shape(known)[axis] for axis in others), strict=True))
    return [sizes[i] if i in sizes else rest.pop(0) for i in range(ndim)]


def _axes(axes: Any, A_ndim: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        return list(range(A_ndim - axes, A_ndim)), list(range(axes))
    first, second = (np.atleast_1d(part).astype(int).tolist() for part in axes)
    return first, second


def tensordot_adjoint_0(B: Any, G: Any, axes: Any, A_ndim: int, B_ndim: int) -> Any:
    product = functools.partial(np.tensordot, axes=axes)
    shape = _factor_shape(B, G, A_ndim, *_axes(axes, A_ndim), kept_first=True)
    return _adjoint(product, 0, B, G, shape, np.result_type(G))


def tensordot_adjoint_1(A: Any, G: Any, axes: Any, A_ndim: int, B_ndim: int) -> Any:
    product = functools.partial(np.tensordot, axes=axes)
    own, others = reversed(_axes(axes, A_ndim))
    shape = _factor_shape(A, G, B_ndim, own, others, kept_first=False)
    return _adjoint(product, 1, A, G, shape, np.result_type(G))


def wrapped_reshape(x: Any, *args: Any, **kwargs: Any) -> Any:
    return np.reshape(x, args if isinstance(args[0], int) else args[0], **kwargs)


def reverse_axis(x: Any, axis: int) -> Any:
    return np.flip(x, axis)


def unpermuter(g: Any, permutation: Any) -> Any:
    return g[np.argsort(permutation)]


def atleast_jvpmaker(fun: Function) -> Function:
    return lambda g, ans, *arrays: fun(g)


def _array_from_scalar_or_array(array_args: Any, array_kwargs: Any, scalar: Any) -> Any:
    return _module(".numpy").array(scalar, *array_args, **array_kwargs)


def _concatenated(axis: int, *arrays: Any) -> Any:
    return np.concatenate(arrays, axis)


def _array_of(array_args: Any, array_kwargs: Any, *items: Any) -> Any:
    return _module(".numpy").array(items, *array_args, **array_kwargs)


def _matrix_diag(a: Any) -> Any:
    return a[..., None] * np.eye(np.shape(a)[-1])


def _diag(a: Any) -> Any:
    return np.eye(np.shape(a)[-1]) * a


def add2d(x: Any) -> Any:
    return np.reshape(x, (*np.shape(x), 1, 1))


def norm_vjp(ans: Any, x: Any, ord: Any = None, axis: Any = None, **kwargs: Any) -> Function:
    return make_vjp(lambda x: np.linalg.norm(x, ord, axis, **kwargs), x)[0]


def _of_fft(get_args: Function, fft_fun: Function, *args: Any, **kwargs: Any) -> Function:
    """The vjp of a transform that is its own transpose."""
    made: Function = vjp_maker(fft_fun)(*args, **kwargs)
    return made


def _of_rfft(get_args: Function, irfft_fun: Function, *args: Any, **kwargs: Any) -> Function:
    """That of the transform whose inverse is named."""
    made: Function = vjp_maker(getattr(np.fft, irfft_fun.__name__[1:]))(*args, **kwargs)
    return made


def _of_irfft(get_args: Function, rfft_fun: Function, *args: Any, **kwargs: Any) -> Function:
    made: Function = vjp_maker(getattr(np.fft, f"i{rfft_fun.__name__}"))(*args, **kwargs)
    return made


def _get_fft_args(a: Any, d: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return [axis], None if d is None else [d], norm


def _get_fft2_args(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return axes, s, norm


def _get_fftn_args(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    return list(range(np.ndim(a))) if axes is None else axes, s, norm


def truncate_pad(x: Any, shape: Any) -> Any:
    pads = [(0, max(0, n - m)) for n, m in zip(shape, np.shape(x), strict=True)]
    return np.pad(x, pads)[tuple(slice(n) for n in shape)]


def grad_container_take(ans: Any, A: Any, idx: Any) -> Function:
    builtins = _module(".builtins")
    return lambda g: builtins.container_untake(g, idx, builtins.vspace(A))


def grad_sequence_extend_right(argnum: int, ans: Any, args: Any, kwargs: Any) -> Function:
    size = len(args[0])
    return lambda g: g[:size] if argnum == 0 else g[size + argnum - 1]


def grad_sequence_extend_left(argnum: int, ans: Any, args: Any, kwargs: Any) -> Function:
    return lambda g: g[len(args) - 1 :] if argnum == 0 else g[argnum - 1]


def fwd_grad_make_sequence(
    argnum: int, g: Any, ans: Any, seq_type: Any, *args: Any, **kwargs: Any
) -> Any:
    builtins = _module(".builtins")
    return builtins.container_untake(g, argnum - 1, builtins.vspace(ans))


def _make_dict(keys: Any, vals: Any) -> Any:
    return dict(zip(keys, vals, strict=True))


def replace_zero(x: Any, val: Any) -> Any:
    return np.where(x, x, val)


def _module(name: str) -> Any:
    return importlib.import_module(f"tapegrad.autograd{name}")


_SUM, _MEAN = (_reduction(f, "axis", "keepdims", "dtype") for f in (np.sum, np.mean))
_PROD = _reduction(np.prod, "axis", "keepdims")
_VAR, _STD = (_reduction(f, "axis", "ddof", "keepdims") for f in (np.var, np.std))

# The functions of NumPy's whose rules HIPS makes by functions with names.
_VJPS: dict[str, Function] = {
    "grad_rollaxis": np.rollaxis, "grad_diff": np.diff, "grad_gradient": np.gradient,
    "grad_repeat": np.repeat, "grad_tile": np.tile, "grad_transpose": np.transpose,
    "grad_broadcast_to": np.broadcast_to, "grad_np_sum": _SUM, "grad_np_mean": _MEAN,
    "grad_np_prod": _PROD, "grad_np_var": _VAR, "grad_np_std": _STD,
    "grad_np_cumsum": np.cumsum, "grad_sort": np.sort, "grad_partition": np.partition,
    "pad_vjp": np.pad, "matmul_vjp_0": np.matmul, "dot_vjp_0": np.dot,
    "tensordot_vjp_0": np.tensordot, "grad_reshape_list": np.atleast_1d,
}  # fmt: skip
_SECOND: dict[str, Function] = {
    "matmul_vjp_1": np.matmul,
    "dot_vjp_1": np.dot,
    "tensordot_vjp_1": np.tensordot,
}
_LINALG = "inv pinv eigh eig cholesky svd".split()

# By module, what HIPS's has by a name of its own.
_PRIVATE: dict[str, dict[str, Any]] = {
    "numpy.numpy_vjps": {
        **{name: vjp_maker(fun) for name, fun in _VJPS.items()},
        **{name: vjp_maker(fun, 1) for name, fun in _SECOND.items()},
        "np_abs_vjp": vjp_maker(np.abs),
        "np_conj_vjp": vjp_maker(np.conj),
        "grad_kron": _by_argnum(np.kron),
        "grad_inner": _by_argnum(np.inner),
        "grad_einsum": _by_argnum_of_tuple(np.einsum),
        "grad_concatenate_args": _by_argnum_of_tuple(_concatenated),
        "array_from_args_gradmaker": _by_argnum_of_tuple(_array_of),
        "array_from_scalar_or_array_gradmaker": vjp_maker(_array_from_scalar_or_array, 2),
        **{f.__name__: f for f in (
            grad_chooser, dot_adjoint_0, dot_adjoint_1, matmul_adjoint_0, matmul_adjoint_1,
            tensordot_adjoint_0, tensordot_adjoint_1, wrapped_reshape, reverse_axis, unpermuter,
        )},
    },
    "numpy.numpy_jvps": {
        "np_abs_jvp": jvp_maker(np.abs),
        "np_conj_jvp": jvp_maker(np.conj),
        "replace_zero": replace_zero,
        "forward_grad_np_var": jvp_maker(_VAR),
        "forward_grad_np_std": jvp_maker(_STD),
        "fwd_grad_sort": jvp_maker(np.sort),
        "fwd_grad_partition": jvp_maker(np.partition),
        "fwd_grad_concatenate_args": _jvp_by_argnum_of_tuple(_concatenated),
        **{f.__name__: f for f in (
            fwd_grad_chooser, atleast_jvpmaker, dot_adjoint_0, dot_adjoint_1, tensordot_adjoint_0,
            tensordot_adjoint_1,
        )},
    },
    "numpy.numpy_wrapper": {"_array_from_scalar_or_array": _array_from_scalar_or_array},
    "numpy.linalg": {
        **{f"grad_{name}": vjp_maker(getattr(np.linalg, name)) for name in _LINALG},
        "grad_solve": _by_argnum(np.linalg.solve),
        "norm_jvp": jvp_maker(np.linalg.norm),
        **{f.__name__: f for f in (norm_vjp, _matrix_diag, _diag, add2d)},
    },
    "numpy.fft": {
        "fft_grad": _of_fft, "rfft_grad": _of_rfft, "irfft_grad": _of_irfft,
        "get_fft_args": _get_fft_args, "get_fft2_args": _get_fft2_args,
        "get_fftn_args": _get_fftn_args, "truncate_pad": truncate_pad, "ffto": np.fft,
    },
    "builtins": {f.__name__: f for f in (
        grad_container_take, grad_sequence_extend_right, grad_sequence_extend_left,
        fwd_grad_make_sequence, _make_dict,
    )},
}  # fmt: skip


@functools.cache
def _private_of_scipy() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = _module("._private_scipy").private_of_scipy(
        vjp_maker, _by_argnum, jvp_maker
    )
    return found


# By module, what HIPS's imports: "module:name", or a module, of this package; "=" for NumPy.
_EXTEND = "defvjp defvjp_argnum defvjp_argnums defjvp defjvp_argnum defjvp_argnums def_linear "
_EXTEND += "primitive notrace_primitive register_notrace vspace Box VSpace VJPNode JVPNode"
_IMPORTED = {name: f"extend:{name}" for name in _EXTEND.split()}
_IMPORTED |= {
    "anp": "numpy", "np": "=", "onp": "=", "npo": "=", "_np": "=", "npr": "numpy.random",
    "func": "util:func", "subvals": "util:subvals", "ArrayBox": "numpy.numpy_boxes:ArrayBox",
    "wrap_namespace": "numpy.numpy_wrapper:wrap_namespace", "make_vjp": "core:make_vjp",
    "match_complex": "numpy.numpy_vjps:match_complex", "flatten": "misc.flatten:flatten",
    "unbroadcast_f": "numpy.numpy_vjps:unbroadcast_f", "_make_vjp": "core:make_vjp",
    "_make_jvp": "core:make_jvp", "atuple": "builtins:tuple", "primitive_": "tracer:primitive",
    "repeat_to_match_shape": "numpy.numpy_vjps:repeat_to_match_shape",
    "wraps": "wrap_util:wraps",
}  # fmt: skip


def private(place: str, name: str) -> Any:
    """A name of a module of HIPS autograd's that this package's does not define.

    Parameters
    ----------
    place : str
        The name of our module.
    name : str
        The name in it.

    Returns
    -------
    object
        Its counterpart here.

    Raises
    ------
    AttributeError
        If HIPS's module has no such name, or it has no counterpart here.

    Examples
    --------
    >>> maker = private("tapegrad.autograd.numpy.numpy_vjps", "grad_np_sum")
    >>> maker(3.0, np.array([1.0, 2.0]))(2.0)
    array([2., 2.])
    """
    home = place.removeprefix("tapegrad.autograd.")
    own = (_private_of_scipy() if home.startswith("scipy.") else _PRIVATE).get(home, {})
    if name in own:
        return own[name]
    source = _IMPORTED.get(name)
    if source is None:
        raise AttributeError(f"module {place!r} has no attribute {name!r}")
    if source == "=":
        return np
    home, _, attribute = source.partition(":")
    module = _module(f".{home}")
    return getattr(module, attribute) if attribute else module


__all__ = ["private"]
