"""Names of HIPS autograd's `core`: derivatives of functions of one argument, and declarations.

`_derivatives` and `_declarations` define them; here are their names.
"""

from __future__ import annotations

import importlib
from typing import Any

from tapegrad.autograd._boxes import Box, Node, getval, isbox, new_box, trace
from tapegrad.autograd._calls import primitive_jvps, primitive_vjps
from tapegrad.autograd._completed import complete
from tapegrad.autograd._declarations import (
    OVERRIDES,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    deprecated_defgrad,
    deprecated_defvjp,
    deprecated_defvjp_is_zero,
    identity_jvp,
    identity_vjp,
    primitive,
    primitive_with_deprecation_warnings,
    translate_jvp,
    translate_vjp,
)
from tapegrad.autograd._derivatives import JVPNode, VJPNode, backward_pass, make_jvp, make_vjp
from tapegrad.autograd._nodes import func, subval, toposort
from tapegrad.autograd._spaces import (
    SparseBox,
    SparseObject,
    VSpace,
    add_outgrads,
    sparse_add,
    sparse_object_types,
    sum_outgrads,
    vspace,
)


def __getattr__(name: str) -> Any:
    if name in ("ContainerVSpace", "ArrayVSpace"):  # where versions of HIPS had them
        return getattr(importlib.import_module("tapegrad.autograd._spaces"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


complete(__name__)

__all__ = [
    "OVERRIDES",
    "Box",
    "JVPNode",
    "Node",
    "SparseBox",
    "SparseObject",
    "VJPNode",
    "VSpace",
    "add_outgrads",
    "backward_pass",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "deprecated_defgrad",
    "deprecated_defvjp",
    "deprecated_defvjp_is_zero",
    "func",
    "getval",
    "identity_jvp",
    "identity_vjp",
    "isbox",
    "make_jvp",
    "make_vjp",
    "new_box",
    "primitive",
    "primitive_jvps",
    "primitive_vjps",
    "primitive_with_deprecation_warnings",
    "sparse_add",
    "sparse_object_types",
    "subval",
    "sum_outgrads",
    "toposort",
    "trace",
    "translate_jvp",
    "translate_vjp",
    "vspace",
]
