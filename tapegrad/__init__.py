"""tapegrad: derivatives of NumPy code, exact, of any order, in either direction.

>>> import numpy as np, tapegrad
>>> tapegrad.grad(lambda x: np.sum(np.sin(x) ** 2))(np.array([0.0, np.pi / 4]))
array([0., 1.])
"""

from tapegrad import _allocator as _allocator  # which acts when it is imported
from tapegrad import rules
from tapegrad._arrays.traced import Array
from tapegrad._compile.compiled import compile
from tapegrad._core.forms import (
    composite,
    constant,
    elementwise,
    general,
    linear,
    multilinear,
    unsupported,
)
from tapegrad._errors import (
    BatchingError,
    ChangedConstantError,
    ConversionError,
    EagerWarning,
    InputError,
    LeakedValueError,
    MissingRuleError,
    NotDifferentiableError,
    OutputError,
    RuleError,
    ShapeMismatchError,
    StaleProgramError,
    TapegradError,
)
from tapegrad._transforms.checkpoint import checkpoint, checkpoint_sequence
from tapegrad._transforms.custom import custom_jvp, custom_vjp, stop_gradient
from tapegrad._transforms.derived import (
    elementwise_grad,
    ggnvp,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    linear_transpose,
    vhp,
)
from tapegrad._transforms.forward import jvp, linearize
from tapegrad._transforms.primitives import primitive
from tapegrad._transforms.reverse import IndependentOutputWarning, grad, value_and_grad, vjp
from tapegrad._transforms.vmap import vmap
from tapegrad._tree import register as register_pytree

__version__ = "0.1.0"

__all__ = [
    "Array",
    "BatchingError",
    "ChangedConstantError",
    "ConversionError",
    "EagerWarning",
    "IndependentOutputWarning",
    "InputError",
    "LeakedValueError",
    "MissingRuleError",
    "NotDifferentiableError",
    "OutputError",
    "RuleError",
    "ShapeMismatchError",
    "StaleProgramError",
    "TapegradError",
    "checkpoint",
    "checkpoint_sequence",
    "compile",
    "composite",
    "constant",
    "custom_jvp",
    "custom_vjp",
    "elementwise",
    "elementwise_grad",
    "general",
    "ggnvp",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linear",
    "linear_transpose",
    "linearize",
    "multilinear",
    "primitive",
    "register_pytree",
    "rules",
    "stop_gradient",
    "unsupported",
    "value_and_grad",
    "vhp",
    "vjp",
    "vmap",
]
