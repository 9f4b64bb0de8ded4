"""`torch.ao.quantization`: tensors are not quantized.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

DeQuantStub: Any
FakeQuantize: Any
QConfig: Any
QuantStub: Any
QuantWrapper: Any
convert: Any
default_qconfig: Any
fuse_modules: Any
get_default_qconfig: Any
prepare: Any
prepare_qat: Any
quantize: Any
quantize_dynamic: Any
