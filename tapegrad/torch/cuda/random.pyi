"""`torch.cuda.random`: there is no generator on a GPU.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.cuda import get_rng_state as get_rng_state
from tapegrad.torch.cuda import get_rng_state_all as get_rng_state_all
from tapegrad.torch.cuda import initial_seed as initial_seed
from tapegrad.torch.cuda import manual_seed as manual_seed
from tapegrad.torch.cuda import manual_seed_all as manual_seed_all
from tapegrad.torch.cuda import seed as seed
from tapegrad.torch.cuda import seed_all as seed_all
from tapegrad.torch.cuda import set_rng_state as set_rng_state
from tapegrad.torch.cuda import set_rng_state_all as set_rng_state_all
