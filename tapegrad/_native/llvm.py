"""LLVM, by llvmlite: text in, functions out.

Knows targets, and how elementary functions are put beside the text that calls them. Must not know
programs. llvmlite is imported here, and this module when a native program is built.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import itertools
import os
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from tapegrad._native.lanes import FAR_FUNCTION, far_text, function_text
from tapegrad._native.locks import LLVM_LOCK
from tapegrad._native.tiles import Unit, unit_of
from tapegrad._native.vector_math import FORMULAS


@functools.cache
def target() -> Any:
    return new_target()


def new_target() -> Any:
    """The machine that code is made for: this one."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    for name in ("fma", "fma4"):  # contraction is nowhere asked for; this is a second lock
        features.pop(name, None)
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
        opt=1,
        jit=True,
    )


@functools.cache
def unit() -> Unit:
    """What this processor has for products of matrices."""
    return unit_of(dict(llvm.get_host_cpu_features()))


@functools.cache
def elementary(ufunc: np.ufunc, width: int) -> tuple[str, frozenset[str]]:
    """The text of an elementary function of vectors, and what it needs."""
    text, needs = function_text(f"tg_{ufunc.__name__}", FORMULAS[ufunc], ufunc.nin, width)
    return text, frozenset(needs)


def module_text(
    functions: Iterable[tuple[np.ufunc, int]], declarations: Iterable[str], bodies: Iterable[str]
) -> str:
    """A module, with the elementary functions that it calls."""
    needs = set(declarations)
    texts = []
    far: set[int] = set()
    for ufunc, width in sorted(functions, key=lambda pair: (pair[0].__name__, pair[1])):
        text, more = elementary(ufunc, width)
        texts.append(text)
        if "far" in more:
            far.add(width)
        needs |= more
    needs.discard("far")
    if far:
        texts += [FAR_FUNCTION, *[far_text(width) for width in sorted(far)]]
    return "\n".join([*sorted(needs), *texts, *bodies])


COUNT = itertools.count()
MOST_KEPT = 500  # object files
SUM = 32  # bytes before each


@functools.cache
def linker() -> Any:
    """What loads machine code into this process."""
    return llvm.create_lljit_compiler(new_target())


def machine_code(text: str) -> bytes:
    """The object file of a module's text: from the folder of those that were made, or new."""
    path = _kept_path(text)
    if path is not None:
        with contextlib.suppress(OSError):
            kept = path.read_bytes()
            if kept[:SUM] == _sum_of(kept[SUM:]):
                return kept[SUM:]
    made = bytes(target().emit_object(llvm.parse_assembly(text, llvm.create_context())))
    if path is not None:
        with contextlib.suppress(OSError):
            _keep(path, made)
    return made


def _sum_of(made: bytes) -> bytes:
    """What is kept before an object file: code of which a bit is another must not run."""
    return hashlib.sha256(made).digest()


def _kept_path(text: str) -> Path | None:
    """Where the object file of a text is kept: in TAPEGRAD_CACHE; nowhere if that is empty."""
    folder = os.environ.get("TAPEGRAD_CACHE")
    if folder == "":
        return None
    try:
        home = Path(folder) if folder else Path.home() / ".cache" / "tapegrad"
    except RuntimeError:  # there is no home
        return None
    machine = (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    versions = (llvmlite.__version__, llvm.llvm_version_info, sys.platform)
    key = hashlib.sha256(repr((text, machine, versions)).encode()).hexdigest()
    return home / f"{key}.o"


def _keep(path: Path, made: bytes) -> None:
    """Keep an object file, and of all of them the newest."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        beside.write_bytes(_sum_of(made) + made)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    kept = sorted(path.parent.glob("*.o"), key=lambda x: x.stat().st_mtime)
    for old in kept[:-MOST_KEPT]:
        old.unlink(missing_ok=True)


class Code:
    """Machine code of a module, as long as this object lives."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        with LLVM_LOCK:
            builder = (
                llvm.JITLibraryBuilder().add_current_process().add_object_img(machine_code(text))
            )
            for name in names:
                builder.export_symbol(name)
            self.library = builder.link(linker(), f"program{next(COUNT)}")

    def function(self, name: str) -> Any:
        """A function of one address."""
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.library[name])

    def function_of_part(self, name: str) -> Any:
        """A function of one address and the number of a part."""
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self.library[name])


__all__ = ["Code", "module_text", "unit"]
