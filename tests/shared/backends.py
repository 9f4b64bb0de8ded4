"""The backends of `compile` that this environment has."""

from importlib.util import find_spec

BACKENDS = ("numpy", "llvm") if find_spec("llvmlite") else ("numpy",)
