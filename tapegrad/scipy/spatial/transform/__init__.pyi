"""`scipy.spatial.transform` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from scipy.spatial.transform import RigidTransform as RigidTransform
from scipy.spatial.transform import RotationSpline as RotationSpline
from tapegrad.scipy.spatial.transform._rotation import Rotation as Rotation
from tapegrad.scipy.spatial.transform._rotation import Slerp as Slerp


