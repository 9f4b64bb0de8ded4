"""`SavedTensor`: what `node._raw_saved_self` is, with hooks for this one tensor.

Knows the layout of entries and pairs of hooks. Must not know the names of what nodes keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.torch._engine import saved_names
from tapegrad.torch._engine.saved import TWICE
from tapegrad.torch._graph.node import FREED, Node, watch
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd.graph import HookPair, _Packed, _Unpacking, order_of

_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
    "of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to "
    "access saved variables after calling backward."
)


class SavedTensor:
    """One tensor that a node keeps for its derivative."""

    def __init__(self, node: Node, place: int) -> None:
        self._node, self._place = node, place

    def unpack(self) -> Tensor | None:
        """The tensor, unpacked by its hook where it has one."""
        if self._node._entry[1] is FREED:
            raise RuntimeError(TWICE)
        found: Tensor | None = saved_names._part(self._node, self._node._entry, self._place)
        return found

    @property
    def data(self) -> Any:
        """The tensor itself, or what the hook packed it into."""
        held = self._held()
        return held.packed if type(held) is _Packed else self.unpack()

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        """Pack this tensor now, and unpack it when a backward pass needs it.

        RuntimeError where it has hooks, was freed, or is None; TypeError for what is no function.
        """
        hooks: tuple[Any, ...] = (pack_hook, unpack_hook)
        if not all(map(callable, hooks)):
            raise TypeError("register_hooks(): incompatible function arguments: two callables")
        if self._node._entry[1] is FREED:
            raise RuntimeError(_FREED)
        held = self._held()
        if type(held) is _Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        tensor = self.unpack()
        if tensor is None or type(held) is not np.ndarray:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        pair = HookPair(pack_hook, unpack_hook)
        self._hold(_Packed(held, pair.pack_tensor(tensor), pair))

    def _held(self) -> Any:
        _, out, x, y, _, y_node = self._node._entry
        if self._place == saved_names.RESULT:
            return out
        args = (x, y) if y_node is not None else x if type(x) is tuple else (x,)
        return args[self._place] if self._place < len(args) else None

    def _hold(self, packed: _Packed) -> None:
        rule, out, x, y, x_node, y_node = self._node._entry
        place = self._place
        if place == saved_names.RESULT:
            out = packed
        elif y_node is not None:
            x, y = (packed, y) if place == 0 else (x, packed)
        elif type(x) is tuple:
            x = (*x[:place], packed, *x[place + 1 :])
        else:
            x = packed
        self._node._entry = rule, out, x, y, x_node, y_node
        count = 2 if y_node is not None else len(x) if type(x) is tuple else 1
        self._node._packed = _Unpacking(order_of(self._node, count), y_node is not None)
        watch(self._node)


saved_names.RAW.append(SavedTensor)

__all__ = ["SavedTensor"]
