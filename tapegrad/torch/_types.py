"""Names for what PyTorch's parameters mean where Python's types cannot say it.

A parameter takes whatever PyTorch takes for it: `dim` an integer or a tuple, `dtype` a torch.dtype
or a Python type. `_core.types` has the names for arrays and for what rules get. All of the object
layer may use these names, so they lie below everything but the dtypes. Must not know tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch import _dtypes

# What an operation takes for a tensor: a Tensor, a Python number, or a number or array of NumPy's.
TensorLike = Any

# A Python number. Where PyTorch takes a Number, a tensor of one element may stand for it.
Number = Any

# A dimension, counted from either end. Operations along several also take a tuple or list of
# dimensions, and None for all.
Dim = Any

# NumPy's axis for it, as `axes_of` returns it: an integer from the left, a tuple, or None for all.
Axis = Any

# Integers, one a dimension: the sizes of a shape, strides, repeats. They come one by one, as a
# tuple or list, or as a torch.Size.
Sizes = Any

# What is given as `dtype=`, None for the usual one.
DType = _dtypes.dtype | np.dtype[Any] | type | None

# What is given as `device=`: the CPU, the only one.
Device = _dtypes.device | str | None

# What is given as `layout=` and `memory_format=`.
MemoryFormat = Any
