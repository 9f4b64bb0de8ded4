"""`scipy.differentiate` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from typing import Any

def derivative(
    f: Any,
    x: Any,
    *,
    args: Any = ...,
    tolerances: Any = None,
    maxiter: Any = 10,
    order: Any = 8,
    initial_step: Any = 0.5,
    step_factor: Any = 2.0,
    step_direction: Any = 0,
    preserve_shape: bool = False,
    callback: Any = None,
) -> Any: ...
def hessian(
    f: Any,
    x: Any,
    *,
    tolerances: Any = None,
    maxiter: Any = 10,
    order: Any = 8,
    initial_step: Any = 0.5,
    step_factor: Any = 2.0,
) -> Any: ...
def jacobian(
    f: Any,
    x: Any,
    *,
    tolerances: Any = None,
    maxiter: Any = 10,
    order: Any = 8,
    initial_step: Any = 0.5,
    step_factor: Any = 2.0,
    step_direction: Any = 0,
) -> Any: ...
