"""`torch.hub`: models are not downloaded.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

HASH_REGEX: Any
def download_url_to_file(
    url: Any, dst: Any, hash_prefix: Any=None, progress: Any=True
) -> NoReturn: ...
def get_dir() -> Any: ...
def help(*args: Any, **kwargs: Any) -> NoReturn: ...
def list(*args: Any, **kwargs: Any) -> NoReturn: ...
def load(*args: Any, **kwargs: Any) -> NoReturn: ...
def load_state_dict_from_url(
    url: Any,
    model_dir: Any=None,
    map_location: Any=None,
    progress: Any=True,
    check_hash: Any=False,
    file_name: Any=None,
    weights_only: Any=False,
) -> NoReturn: ...
def set_dir(d: Any) -> Any: ...
def tqdm(iterable: Any=None, *args: Any, **kwargs: Any) -> Any: ...
urlparse: Any
