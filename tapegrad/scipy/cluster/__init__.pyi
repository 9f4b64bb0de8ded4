"""`scipy.cluster` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from scipy.cluster import hierarchy as hierarchy
from tapegrad.scipy.cluster import vq as vq


