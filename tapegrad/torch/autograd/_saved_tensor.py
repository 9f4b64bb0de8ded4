"""`SavedTensor`: what `node._raw_saved_self` is, with hooks for this one tensor.

Knows the layout of entries and pairs of hooks. Must not know the names of what nodes keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.torch._engine import saved_names
from tapegrad.torch._engine.saved import TWICE
from tapegrad.torch._graph.node import FREED, Node, new, watch
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

    _node: Any
    _place: int

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def _of(cls, node: Node, place: int) -> SavedTensor:
        made = new(cls)
        made._node, made._place = node, place
        return made

    def unpack(self) -> Tensor | None:
        """The tensor, unpacked by its hook where it has one."""
        if self._is_freed():
            raise RuntimeError(TWICE)
        found: Tensor | None = saved_names._part(self._node, self._node._entry, self._place)
        return found

    @property
    def data(self) -> Any:
        """The tensor itself, or what the hook packed it into."""
        held = self._held()
        return held.packed if type(held) is _Packed else self.unpack()

    def register_hooks(self, *hooks: Callable[[Any], Any]) -> None:
        """Pack this tensor now by the first hook; a backward pass unpacks it by the second.

        RuntimeError where it has hooks, was freed, or is None; TypeError for what is no function.
        """
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError("register_hooks(): incompatible function arguments: two callables")
        if self._is_freed():
            raise RuntimeError(_FREED)
        if self._is_packed():
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        tensor = self.unpack()
        if tensor is None or not self._is_array():
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        self._pack(tensor, HookPair(*hooks))

    def _is_freed(self) -> bool:
        return bool(self._node._entry[1] is FREED)

    def _is_packed(self) -> bool:
        return type(self._held()) is _Packed

    def _is_array(self) -> bool:
        return type(self._held()) is np.ndarray

    def _pack(self, tensor: Tensor, pair: HookPair) -> None:
        self._hold(_Packed(self._held(), pair.pack_tensor(tensor), pair))

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


class _OfFunction(SavedTensor):
    """One tensor that a custom Function saved."""

    def unpack(self) -> Tensor | None:
        found: Tensor | None = self._node.saved_tensors[self._place]
        return found

    @property
    def data(self) -> Any:
        return self._held().packed if self._is_packed() else self.unpack()

    def _held(self) -> Any:
        return self._node._saved[self._place]

    def _is_freed(self) -> bool:
        return bool(self._node._freed)

    def _is_packed(self) -> bool:
        held = self._held()
        return held is not None and held.hooks is not None

    def _is_array(self) -> bool:
        return self._held() is not None

    def _pack(self, tensor: Tensor, pair: HookPair) -> None:
        self._held().pack(tensor, pair)


def _of_function(node: Any) -> tuple[SavedTensor, ...]:
    """`_raw_saved_tensors` of a custom Function's node."""
    if node._freed:
        raise RuntimeError(TWICE)
    return tuple(_OfFunction._of(node, place) for place in range(len(node._saved)))


saved_names.RAW += [SavedTensor._of, _of_function]
