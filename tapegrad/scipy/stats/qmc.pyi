"""`scipy.stats.qmc` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from typing import Any
from scipy.stats.qmc import Halton as Halton
from scipy.stats.qmc import LatinHypercube as LatinHypercube
from scipy.stats.qmc import MultinomialQMC as MultinomialQMC
from scipy.stats.qmc import MultivariateNormalQMC as MultivariateNormalQMC
from scipy.stats.qmc import PoissonDisk as PoissonDisk
from scipy.stats.qmc import QMCEngine as QMCEngine
from scipy.stats.qmc import Sobol as Sobol

def discrepancy(
    sample: Any,
    *,
    iterative: bool = False,
    method: Any = 'CD',
    workers: Any = 1,
) -> Any: ...
def geometric_discrepancy(
    sample: Any,
    method: Any = 'mindist',
    metric: Any = 'euclidean',
) -> Any: ...
def scale(sample: Any, l_bounds: Any, u_bounds: Any, *, reverse: bool = False) -> Any: ...
def update_discrepancy(x_new: Any, sample: Any, initial_disc: Any) -> Any: ...
