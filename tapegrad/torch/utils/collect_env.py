"""`torch.utils.collect_env`: facts about this installation, for reports of errors.

Knows Python's packages and the machine. Must not know tensors, and starts no program.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from typing import Any, NamedTuple

from tapegrad.torch._absent.modules import HOME
from tapegrad.torch._docstrings.sections import complete

_RELEVANT = re.compile(r"tapegrad|numpy|scipy|mypy|torch|onnx|optree|ml_dtypes|llvm|triton|flake8")


class _SystemEnv(NamedTuple):
    """Facts about the machine."""

    torch_version: str
    is_debug_build: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cpu_info: str
    pip_version: str
    pip_packages: str


def _packages() -> str:
    found = {
        f"{name}=={part.version}"
        for part in importlib.metadata.distributions()
        if (name := part.metadata["Name"]) and _RELEVANT.search(name.lower())
    }
    return "\n".join(sorted(found))


def get_env_info() -> Any:
    """Facts about this installation: versions, the machine, packages.

    -> tuple: A named tuple of texts.

    >>> from tapegrad.torch.utils import collect_env
    >>> collect_env.get_env_info().is_cuda_available
    'False'
    """
    bits = sys.maxsize.bit_length() + 1
    return _SystemEnv(
        torch_version=str(sys.modules[HOME].__version__),
        is_debug_build="False",
        os=f"{platform.system()} {platform.release()} ({platform.machine()})",
        libc_version="-".join(filter(None, platform.libc_ver())) or "N/A",
        python_version=f"{sys.version.splitlines()[0]} ({bits}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available="False",
        cpu_info=f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs",
        pip_version="pip3",
        pip_packages=_packages(),
    )


def pretty_str(envinfo: Any) -> str:
    """The facts as lines of text, in the order that PyTorch's reports have.

    envinfo (tuple): What `get_env_info` returned.
    -> str: The lines.

    >>> from tapegrad.torch.utils import collect_env
    >>> collect_env.pretty_str(collect_env.get_env_info()).startswith("PyTorch version: ")
    True
    """
    packages = [f"[{envinfo.pip_version}] {line}" for line in envinfo.pip_packages.splitlines()]
    lines = [
        f"PyTorch version: {envinfo.torch_version}",
        f"Is debug build: {envinfo.is_debug_build}",
        "CUDA used to build PyTorch: None",
        "",
        f"OS: {envinfo.os}",
        f"Libc version: {envinfo.libc_version}",
        "",
        f"Python version: {envinfo.python_version}",
        f"Python platform: {envinfo.python_platform}",
        f"Is CUDA available: {envinfo.is_cuda_available}",
        "",
        "CPU:",
        envinfo.cpu_info,
        "",
        "Versions of relevant libraries:",
        *(packages or ["[pip3] No relevant packages"]),
    ]
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    """Facts about this installation as lines of text.

    -> str: The lines.

    >>> from tapegrad.torch.utils import collect_env
    >>> print(collect_env.get_pretty_env_info())  # doctest: +ELLIPSIS
    PyTorch version: ...
    """
    return pretty_str(get_env_info())


def main() -> None:
    """Print these lines, as `python -m tapegrad torch -m torch.utils.collect_env` does.

    >>> from tapegrad.torch.utils import collect_env
    >>> collect_env.main()  # doctest: +ELLIPSIS
    Collecting environment information...
    PyTorch version: ...
    """
    print("Collecting environment information...")
    print(get_pretty_env_info())


__all__ = ["get_env_info", "get_pretty_env_info", "main", "pretty_str"]

complete(late=__name__)

if __name__ == "__main__":
    main()
