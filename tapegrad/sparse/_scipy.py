"""SciPy, imported at the first call: it belongs to the extra `tapegrad[scipy]`."""

from __future__ import annotations

from typing import Any


def scipy_sparse() -> Any:
    """The module; ImportError with the extra to install where SciPy is missing."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise ImportError(
            "tapegrad.sparse: its results are SciPy's sparse arrays. Install tapegrad[scipy]."
        ) from error
    return scipy.sparse
