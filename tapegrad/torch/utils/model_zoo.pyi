"""`torch.utils.model_zoo`: models are not downloaded.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.hub import load_state_dict_from_url as load_url
from tapegrad.torch.hub import tqdm as tqdm
