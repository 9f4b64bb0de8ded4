"""HIPS autograd's modules and names over tapegrad: a project moves by its imports.

`import tapegrad.autograd as autograd` and `import tapegrad.autograd.numpy as np` take the place of
`import autograd` and `import autograd.numpy as np`. `install()` makes `import autograd` itself
find them, for packages that import it. What differs is in docs/autograd.md: where HIPS is wrong,
tapegrad is right.

Knows tapegrad's transforms and the forms of rules. Modules with SciPy behind them are imported
when asked for.

>>> import tapegrad.autograd.numpy as np
>>> from tapegrad.autograd import grad
>>> grad(lambda x, y: np.sum(x * y), argnum=1)(np.array([1, 2]), 3)
np.float64(3.0)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tapegrad.autograd._install import install, uninstall
from tapegrad.autograd.builtins import dict, isinstance, list, tuple, type
from tapegrad.autograd.core import primitive
from tapegrad.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)

egrad = elementwise_grad

# Modules loaded when asked for.
_MODULES = (
    "builtins",
    "core",
    "differential_operators",
    "extend",
    "misc",
    "numpy",
    "scipy",
    "test_util",
    "tracer",
    "util",
    "wrap_util",
)

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "egrad",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "install",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "uninstall",
    "value_and_grad",
    "vector_jacobian_product",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> Any:
    return sorted({*globals(), *_MODULES})
