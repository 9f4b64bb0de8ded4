"""`torch.nn.modules.module`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import Module as Module
from tapegrad.torch.nn.module.global_hooks import register_module_backward_hook as register_module_backward_hook
from tapegrad.torch.nn.module.global_hooks import register_module_buffer_registration_hook as register_module_buffer_registration_hook
from tapegrad.torch.nn.module.global_hooks import register_module_forward_hook as register_module_forward_hook
from tapegrad.torch.nn.module.global_hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from tapegrad.torch.nn.module.global_hooks import register_module_full_backward_hook as register_module_full_backward_hook
from tapegrad.torch.nn.module.global_hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from tapegrad.torch.nn.module.global_hooks import register_module_module_registration_hook as register_module_module_registration_hook
from tapegrad.torch.nn.module.global_hooks import register_module_parameter_registration_hook as register_module_parameter_registration_hook
