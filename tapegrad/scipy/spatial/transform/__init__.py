"""`scipy.spatial.transform`: rotations with derivatives by what they are made of and applied to.

`Rotation` and `Slerp` derive from SciPy's, and are these where nothing is traced. `RotationSpline`
and `RigidTransform` are SciPy's own, of plain rotations.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy.spatial.transform import Rotation
>>> def height(angle):
...     return Rotation.from_euler("x", angle).apply(np.array([0.0, 1.0, 0.0]))[2]
>>> tapegrad.grad(height)(0.0)
np.float64(1.0)
"""

from __future__ import annotations

from tapegrad.scipy._mirror import namespace
from tapegrad.scipy.spatial.transform._rotation import Rotation, Slerp

__getattr__, __dir__ = namespace(__name__, "scipy.spatial.transform")

__all__ = ["Rotation", "Slerp"]
