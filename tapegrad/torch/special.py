"""Special functions under the names of `torch.special`."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._ops.elementwise.special_functions import FUNCTIONS
from tapegrad.torch._ops.families import OPERATIONS

# The names that differ from those of the namespace `torch`.
_OTHERS = {"expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma"} | {
    "gammainc": "igamma",
    "gammaincc": "igammac",
}
_SAME = (
    "digamma erf erfc erfinv exp2 expm1 i0 log1p log_softmax logit logsumexp polygamma round sinc "
    "softmax xlogy"
).split()

__all__ = [*_SAME, *_OTHERS, *FUNCTIONS]  # noqa: PLE0604 - strings, as one sees above


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    word = _OTHERS.get(name, name)
    if word not in OPERATIONS or (name not in _SAME and name not in _OTHERS):
        raise AttributeError(f"module 'tapegrad.torch.special' has no attribute {name!r}")
    return OPERATIONS[word]


def __dir__() -> list[str]:
    return sorted(__all__)
