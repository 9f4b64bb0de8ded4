"""`torch.onnx.operators`: models are not exported.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

def reshape_from_tensor_shape(x: Any, shape: Any) -> Any: ...
def shape_as_tensor(x: Any) -> Any: ...
