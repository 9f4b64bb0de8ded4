"""safetensors, by the package of that name: a flat dict of tensors, without structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._dtypes import BRAIN
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of

# The words of the format for dtypes of NumPy's.
KINDS = {
    "BOOL": "bool",
    "C64": "complex64",
    **{
        f"{word}{8 * n}": f"{kind}{n}"
        for word, kind in (("I", "i"), ("U", "u"))
        for n in (1, 2, 4, 8)
    },
    **{f"F{8 * n}": f"f{n}" for n in (2, 4, 8)},
}


def _package() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError(
            "torch.save and torch.load of .safetensors files need the package safetensors: "
            "pip install safetensors. A path with another ending needs none."
        ) from None
    return safetensors.numpy


def written(value: Any) -> bytes:
    """A dict of tensors as the bytes of a file."""
    package = _package()
    if not isinstance(value, dict) or not all(
        isinstance(key, str) and isinstance(part, Tensor) for key, part in value.items()
    ):
        raise TypeError(
            "torch.save: a .safetensors file holds a dict of tensors by their names. For nested "
            "containers use a path with another ending, such as .pt."
        )
    arrays = {key: np.ascontiguousarray(plain_of(part)) for key, part in value.items()}
    made: bytes = package.save(
        {key: array.reshape(value[key].shape) for key, array in arrays.items()}
    )
    return made


def is_one(data: bytes) -> bool:
    """Whether a file begins as one of this format: a length, and JSON of that length."""
    size = int.from_bytes(data[:8], "little")
    return 2 <= size <= len(data) - 8 and data[8:9] == b"{"


def read(data: bytes) -> dict[str, Tensor]:
    """The dict of tensors in a file."""
    package = _package()
    if b'"BF16"' not in data[: 8 + int.from_bytes(data[:8], "little")]:
        arrays = package.load(data)
        return {key: of_value(np.array(array)) for key, array in arrays.items()}
    # The package has no dtype of NumPy's for these numbers; the others are in its table of types.
    made = {}
    for key, part in package.deserialize(data):
        word = part["dtype"]
        kind = BRAIN.numpy if word == "BF16" else np.dtype(KINDS[word]).newbyteorder("<")
        memory = np.frombuffer(part["data"], kind)
        made[key] = of_value(np.array(memory.reshape(part["shape"]), kind.newbyteorder("=")))
    return made
