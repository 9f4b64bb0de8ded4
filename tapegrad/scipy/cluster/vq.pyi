"""`scipy.cluster.vq` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array
from typing import Any
import numpy as np

def kmeans(
    obs: Any,
    k_or_guess: Any,
    iter: Any = 20,
    thresh: Any = 1e-05,
    check_finite: bool = True,
    *,
    rng: Any = None,
    seed: Any = None,
) -> tuple[Array, np.float64]: ...
def kmeans2(
    data: Any,
    k: Any,
    iter: Any = 10,
    thresh: Any = 1e-05,
    minit: Any = 'random',
    missing: Any = 'warn',
    check_finite: bool = True,
    *,
    rng: Any = None,
    seed: Any = None,
) -> tuple[Array, Array]: ...
def py_vq(obs: Any, code_book: Any, check_finite: bool = True) -> Any: ...
def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Array, Array]: ...
def whiten(obs: Any, check_finite: Any = None) -> Array: ...
