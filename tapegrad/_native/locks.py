"""The lock under which llvmlite is imported and used.

Knows that a process may fork: it waits until nobody is within, as LLVM's own locks and Python's
lock of an import would stay taken in the child. Must not know what is done under the lock.
"""

from __future__ import annotations

import os
import threading

LLVM_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=LLVM_LOCK.acquire,
        after_in_parent=LLVM_LOCK.release,
        after_in_child=LLVM_LOCK.release,
    )

__all__ = ["LLVM_LOCK"]
