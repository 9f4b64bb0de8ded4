"""tapegrad: derivatives of NumPy code, exact, of any order, in either direction.

>>> import numpy as np, tapegrad
>>> tapegrad.grad(lambda x: np.sum(np.sin(x) ** 2))(np.array([0.0, np.pi / 4]))
array([0., 1.])
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

from tapegrad import _allocator as _allocator  # which acts when it is imported
from tapegrad import _look as _look  # likewise
from tapegrad import rules
from tapegrad._arrays.traced import Array
from tapegrad._config import config
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
    ConversionWarning,
    EagerWarning,
    ExactTieWarning,
    InputError,
    LeakedValueError,
    MissingRuleError,
    NonFiniteError,
    NotDifferentiableError,
    OutOfMemoryError,
    OutputError,
    RuleError,
    ShapeMismatchError,
    StaleProgramError,
    TapegradError,
)
from tapegrad._transforms.foreign_names import absent as _absent
from tapegrad._transforms.reverse import IndependentOutputWarning, grad, value_and_grad, vjp
from tapegrad._tree import register as register_pytree

if _TYPE_CHECKING:
    from tapegrad._adopt.adoption import AdoptWarning, adopt
    from tapegrad._compile.compiled import compile
    from tapegrad._look.memory import MemoryReport, memory_report
    from tapegrad._look.nan_search import debug_nans
    from tapegrad._look.profile import Profile, profile
    from tapegrad._look.view import TapeView, tape
    from tapegrad._transforms.checkpoint import checkpoint
    from tapegrad._transforms.custom import custom_jvp, custom_vjp, stop_gradient
    from tapegrad._transforms.forward import jvp, linearize
    from tapegrad._transforms.hessian_products import ggnvp, hvp, vhp
    from tapegrad._transforms.jacobians import elementwise_grad, hessian, jacfwd, jacobian, jacrev
    from tapegrad._transforms.linear_transpose import linear_transpose
    from tapegrad._transforms.primitives import primitive
    from tapegrad._transforms.sequence import checkpoint_sequence
    from tapegrad._transforms.vmap import vmap

__version__ = "0.1.0"

# Names that are imported when they are asked for: most programs ask for few of them.
_LATE = {
    name: f"tapegrad.{module}"
    for module, names in {
        "_adopt.adoption": "AdoptWarning adopt",
        "_adopt.notebooks": "load_ipython_extension",  # which IPython asks for
        "_compile.compiled": "compile",
        "_look.memory": "MemoryReport memory_report",
        "_look.nan_search": "debug_nans",
        "_look.profile": "Profile profile",
        "_look.view": "TapeView tape",
        "_transforms.checkpoint": "checkpoint",
        "_transforms.custom": "custom_jvp custom_vjp stop_gradient",
        "_transforms.forward": "jvp linearize",
        "_transforms.hessian_products": "ggnvp hvp vhp",
        "_transforms.jacobians": "elementwise_grad hessian jacfwd jacobian jacrev",
        "_transforms.linear_transpose": "linear_transpose",
        "_transforms.primitives": "primitive",
        "_transforms.sequence": "checkpoint_sequence",
        "_transforms.vmap": "vmap",
    }.items()
    for name in names.split()
}

# Public modules that are imported when they are asked for.
_LATE_MODULES = (
    "autograd",
    "cmath",
    "dask",
    "implicit",
    "math",
    "numpy",
    "optimize",
    "scipy",
    "sparse",
    "testing",
    "torch",
    "tree",
)

__all__ = [
    "AdoptWarning",
    "Array",
    "BatchingError",
    "ChangedConstantError",
    "ConversionError",
    "ConversionWarning",
    "EagerWarning",
    "ExactTieWarning",
    "IndependentOutputWarning",
    "InputError",
    "LeakedValueError",
    "MemoryReport",
    "MissingRuleError",
    "NonFiniteError",
    "NotDifferentiableError",
    "OutOfMemoryError",
    "OutputError",
    "Profile",
    "RuleError",
    "ShapeMismatchError",
    "StaleProgramError",
    "TapeView",
    "TapegradError",
    "adopt",
    "checkpoint",
    "checkpoint_sequence",
    "compile",
    "composite",
    "config",
    "constant",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
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
    "memory_report",
    "multilinear",
    "primitive",
    "profile",
    "register_pytree",
    "rules",
    "stop_gradient",
    "tape",
    "unsupported",
    "value_and_grad",
    "vhp",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> object:
    if name in _LATE_MODULES:
        return _importlib.import_module(f"tapegrad.{name}")
    if name not in _LATE:
        raise AttributeError(_absent(name))
    found: object = getattr(_importlib.import_module(_LATE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    dunders = {name for name in globals() if name.startswith("__")}
    return sorted({*__all__, *_LATE_MODULES, *dunders})
