"""LLVM, by llvmlite: text in, functions out.

Knows targets, and how elementary functions are put beside the text that calls them. Must not know
programs. llvmlite is imported here, and this module when a native program is built.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from tapegrad._compile.lanes import FAR_FUNCTION, far_text, function_text
from tapegrad._compile.vector_math import FORMULAS


@functools.cache
def target() -> Any:
    """The machine that code is made for: this one."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    for name in ("fma", "fma4"):  # contraction is nowhere asked for; this is a second lock
        features.pop(name, None)
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
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


class Code:
    """Machine code of a module, as long as this object lives."""

    def __init__(self, text: str) -> None:
        module = llvm.parse_assembly(text)
        self.engine = llvm.create_mcjit_compiler(module, target())
        self.engine.finalize_object()

    def function(self, name: str) -> Any:
        """A function of one address."""
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.engine.get_function_address(name))


__all__ = ["Code", "module_text"]
