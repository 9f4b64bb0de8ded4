"""`torch.autograd.profiler_legacy`: the old name of the profiler, for scripts that import it.

Knows the profiler alone.
"""

from __future__ import annotations

from typing import Any

from tapegrad._warning import warn
from tapegrad.torch.autograd import profiler as _profiler
from tapegrad.torch.autograd.profiler_util import EventList, FunctionEvent


class profile(_profiler.profile):
    """`torch.autograd.profiler.profile`, with a FutureWarning.

    Parameters
    ----------
    enabled : bool, default True
        False for nothing to be recorded.
    **options : object
        Those of `torch.autograd.profiler.profile`.

    Warns
    -----
    FutureWarning
        Where it is made.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     with torch.autograd.profiler_legacy.profile() as prof:
    ...         y = torch.ones(2) + 1
    >>> [event.name for event in prof.function_events][-1]
    'aten::add'
    """

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        warn(
            "`torch.autograd.profiler_legacy.profile` is deprecated and will be removed in a "
            "future release. Please use `torch.profiler` instead.",
            FutureWarning,
        )
        super().__init__(enabled, **options)


__all__ = ["EventList", "FunctionEvent", "profile"]
