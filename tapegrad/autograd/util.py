"""Small functions of HIPS autograd's `util` that packages import.

Must not know tapes or arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._warning import warn
from tapegrad.autograd._nodes import func, subval, subvals, toposort
from tapegrad.autograd.test_util import check_grads


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    **_settings: Any,
) -> None:
    """Deprecated: use `tapegrad.autograd.test_util.check_grads`.

    It checks the derivative by the first argument, in reverse mode.

    Parameters
    ----------
    fun : callable
        The function.
    arg0 : pytree
        Its first argument.
    extra_args : sequence, default ()
        Its further arguments.
    kwargs : dict, optional
        Its keywords.
    **_settings : object
        HIPS's further settings, which change nothing.

    Raises
    ------
    AssertionError
        If the derivative is wrong.

    Examples
    --------
    >>> quick_grad_check(lambda x: x**2, 3.0)  # doctest: +SKIP
    """
    warn("quick_grad_check is deprecated. Use tapegrad.autograd.test_util.check_grads.")
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)


__all__ = ["func", "quick_grad_check", "subval", "subvals", "toposort"]
