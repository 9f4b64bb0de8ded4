"""LLVM, by llvmlite: text in, functions out.

Knows targets, and how elementary functions are put beside the text that calls them. Must not know
programs. llvmlite is imported here, and this module when a native program is built.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from tapegrad._compile.lanes import FAR_FUNCTION, far_text, function_text
from tapegrad._compile.vector_math import FORMULAS


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


DEBUG = False
LOCK = threading.RLock()
COUNT = itertools.count()


@functools.cache
def linker() -> Any:
    """What loads machine code into this process."""
    return llvm.create_lljit_compiler(new_target())


def machine_code(text: str) -> bytes:
    """The object file of a module's text."""
    module = llvm.parse_assembly(text, llvm.create_context())
    if DEBUG:
        with open("/tmp/native-scratch/last.ll", "w") as f:
            f.write(text)
        module.verify()
    return bytes(target().emit_object(module))


class Code:
    """Machine code of a module, as long as this object lives."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        with LOCK:
            builder = llvm.JITLibraryBuilder().add_object_img(machine_code(text))
            for name in names:
                builder.export_symbol(name)
            self.library = builder.link(linker(), f"program{next(COUNT)}")

    def function(self, name: str) -> Any:
        """A function of one address."""
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.library[name])


__all__ = ["Code", "module_text"]
