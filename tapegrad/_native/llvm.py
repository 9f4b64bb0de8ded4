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
import sys
from collections.abc import Iterable
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from tapegrad._native import kept
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
    """Features of this processor for products of matrices."""
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


@functools.cache
def linker() -> Any:
    """Loader of machine code into this process."""
    return llvm.create_lljit_compiler(new_target())


def machine_code(text: str) -> bytes:
    """The object file of a module's text: from the folder of those that were made, or new."""
    name = _name_of(text)
    home = None
    with contextlib.suppress(OSError):
        home = kept.folder()
    found = kept.read(home, name) if home is not None else None
    if found is not None:
        return found
    made = bytes(target().emit_object(llvm.parse_assembly(text, llvm.create_context())))
    if home is not None:
        with contextlib.suppress(OSError):
            kept.keep(home, name, made)
    return made


def _name_of(text: str) -> str:
    """A name for the object file of a text, by all that it depends on."""
    machine = (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    versions = (llvmlite.__version__, llvm.llvm_version_info, sys.platform)
    return hashlib.sha256(repr((text, machine, versions)).encode()).hexdigest()


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
