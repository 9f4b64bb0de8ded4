"""Derivatives over data on Dask: past one machine's memory, on threads, processes or a cluster.

The loss is a function of parameters and a batch, in plain NumPy. It runs where the data lie; what
comes back is a sum, taken in the same order whatever the number of workers (extra
`tapegrad[dask]`).

>>> import dask.array as da
>>> import numpy as np
>>> import tapegrad.dask
>>> x = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, -1))
>>> y = da.from_array(np.arange(6.0), chunks=2)
>>> def loss(w, batch):
...     x, y = batch
...     return np.mean((x @ w - y) ** 2)
>>> value, gradient = tapegrad.dask.value_and_grad(loss, np.array([0.5, 0.0]), (x, y))
>>> float(value), gradient
(0.0, array([0., 0.]))
"""

from __future__ import annotations

from tapegrad.dask._jacobians import jacobian
from tapegrad.dask._scalars import ggnvp, grad, hvp, value, value_and_grad

__all__ = ["ggnvp", "grad", "hvp", "jacobian", "value", "value_and_grad"]
