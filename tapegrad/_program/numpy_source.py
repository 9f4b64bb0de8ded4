"""The source of a program: one function `build`, which returns `run`.

Knows which calls can write into an array that is there already, and the order of lines. Must not
know how a program was recorded.

`build` takes the buffers of a workspace and makes views of them; `run` computes in these. No two
calls at once share a workspace. What is returned is never of the workspace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.quiet import Kinds
from tapegrad._program.buffer_placement import Joined, placed
from tapegrad._program.call_source import literal, out_argument
from tapegrad._program.elementwise import ufunc_of
from tapegrad._program.functions import METHODS, may_return_an_argument
from tapegrad._program.passes import Block, ends_of, uses_of
from tapegrad._program.program import OWN, SOUND, Node, Ref, apart, references, references_of
from tapegrad._program.storages import Lives, Place, Scope
from tapegrad._program.writes import Writes
from tapegrad._tree import unflatten

_FLOAT64 = np.dtype(np.float64)
RECORDINGS = 2  # of a path, before its program is believed
DEEPEST = 40  # blocks within blocks, beyond which another function begins


class Source(Writes):
    """Generates the source of a program."""

    def __init__(self, block: Block, inputs: dict[int, Node], count: int) -> None:
        super().__init__()
        self.inputs = count
        self.call_source.known.update(inputs)
        for i, node in inputs.items():
            if node.kind is np.ndarray and not node.shape and node.dtype is _FLOAT64:
                self.call_source.scalars[i] = f"s{i}"
        self.functions: list[list[str]] = []
        self.silences = False
        self._find_escaping(block)
        lines: list[str] = []
        scope = Scope()
        for i in range(count):
            scope.names[i] = f"x{i}"
            scope.own(i, fixed=True)
        self._block(block, Place(scope, lines, 2), silent=False)
        self.lines = lines

    @property
    def namespace(self) -> dict[str, Any]:
        return self.call_source.namespace

    @property
    def text(self) -> str:
        """The source, as it is executed."""
        names = ", ".join(f"x{i}" for i in range(self.inputs))
        lines = ["def build(buffers):"]
        if self.workspace.buffers:
            lines.append(
                f"    {''.join(f'b{i}, ' for i in range(len(self.workspace.buffers)))}= buffers"
            )
        lines += [f"    {line}" for line in self.ahead]
        for function in self.functions:
            lines += function
        lines.append(f"    def run({names}):")
        if self.silences:
            lines.append("        usual = state()")
        lines += [f"        s{i} = x{i}[()]" for i in sorted(self.call_source.read)]
        lines += self.lines
        lines.append("    return run")
        return "\n".join(lines) + "\n"

    def _find_escaping(self, block: Block) -> None:
        """Find the values whose memory a caller may get: it is never of the workspace."""
        pending: list[tuple[Block, dict[int, Node]]] = [(block, {})]
        while pending:
            block, nodes = pending.pop()
            nodes = {**nodes, **dict(block.nodes)} if block.nodes else nodes
            found = list(references(block.out.leaves)) if block.out is not None else []
            while found:
                at = found.pop()
                node = nodes.get(at)
                if node is None or at in self.escaping:
                    continue
                self.escaping.add(at)
                if node.shares >= 0:
                    found.append(node.shares)
                if node.steps is not None and type(node.args[0]) is Ref:
                    found.append(node.args[0].at)
            pending += [(child, nodes) for child in block.children.values()]

    # -- blocks ----------------------------------------------------------------------------------

    def _block(self, block: Block, place: Place, *, silent: bool | Kinds) -> None:
        """The lines of a block and of those below it.

        A read with one known answer does not nest: a program may have thousands of them.
        """
        while True:
            silent = self._nodes(block, place, silent=silent)
            if block.read is None or len(block.children) != 1:
                break
            ((_, child),) = block.children.items()
            (test,) = self._tests(block, place)
            place.add(f"if not ({test}): raise {_refusal(block)}")
            block = child
        if block.read is not None:
            self._read(block, place, silent=silent)
        elif block.out is not None:
            self._end(block, place, silent=silent)
        else:
            place.add("raise Unknown")

    def _nodes(self, block: Block, place: Place, *, silent: bool | Kinds) -> bool | Kinds:
        """The lines of a block's own nodes; whether warnings are silent after them."""
        self.call_source.known.update(block.nodes)
        nodes = placed(block, self.escaping, self.call_source.known)
        self.written.update(
            node.args[0].at
            for _, node in nodes
            if node.steps is not None and type(node.args[0]) is Ref
        )
        place.lives = lives = Lives(nodes, ends_of(block) | block.used_below)
        place.position = -1
        unused = [at for at in place.scope.storages if at not in lives.last]
        self.workspace.release(unused, place)
        for position, (at, node) in enumerate(nodes):
            place.position = position
            if node.silent != silent:
                silent = node.silent
                self.silences = True
                place.add(f"mute({self._state(silent)})")
            self._node(at, node, place)
            self.workspace.release([*lives.dying.get(position, ()), at], place)
        return silent

    def _state(self, silent: bool | Kinds) -> str:
        """NumPy's error state, as an expression."""
        if silent is True or silent is False:
            return "SILENT" if silent else "usual"
        return f"changed(usual, {self.call_source.constant(silent)})"

    def _tests(self, block: Block, place: Place) -> list[str]:
        """The conditions of the answers that a block's read has had, after the line that asks."""
        assert block.read is not None
        question, at = block.read
        keys = list(block.children)
        asked = place.scope.names[at]
        if question is not SOUND:
            asked = f"{self.call_source.constant(question)}({asked})"
        if question is SOUND and keys == [(bool, True)]:
            return [asked]
        if all(key[0] is bool for key in keys):
            place.add(f"answer = {asked}")
            return [f"answer is {key[1]}" for key in keys]
        table = self.call_source.constant({key: i for i, key in enumerate(keys)})
        place.add(f"answer = {table}.get(answer_key({asked}))")
        return [f"answer == {i}" for i in range(len(keys))]

    def _read(self, block: Block, place: Place, *, silent: bool | Kinds) -> None:
        tests = self._tests(block, place)
        for i, (test, child) in enumerate(zip(tests, block.children.values(), strict=True)):
            place.add(f"{'if' if not i else 'elif'} {test}:")
            below = Place(place.scope.copy(), place.lines, place.depth + 1)
            if place.depth < DEEPEST:
                self._block(child, below, silent=silent)
            else:
                below.add(f"return {self._function(child, below.scope, silent=silent)}")
        place.add(f"raise {_refusal(block)}")

    def _function(self, block: Block, scope: Scope, *, silent: bool | Kinds) -> str:
        """The call of another function, for blocks that lie too deep for one."""
        name = f"part{len(self.functions)}"
        used = block.used_below | uses_of(block)
        local = sorted({scope.names[at] for at in used if at in scope.names})
        passed = [word for word in local if word[0] in "vx"]
        scalars = self.call_source.scalars
        passed += [scalars[at] for at in sorted(used & scalars.keys())]
        self.call_source.read |= used & scalars.keys()
        before = self.silences or silent is not False  # which the blocks around have made so
        if before:
            passed.append("usual")
        lines = [f"    def {name}({', '.join(passed)}):"]
        self.functions.append(lines)
        self.silences = False
        self._block(block, Place(scope, lines, 2), silent=silent)
        if self.silences and not before:
            lines.insert(1, "        usual = state()")
        self.silences = before or self.silences
        return f"{name}({', '.join(passed)})"

    def _end(self, block: Block, place: Place, *, silent: bool | Kinds) -> None:
        """The lines that return the results."""
        assert block.out is not None
        scope = place.scope
        if silent is not False:
            place.add("mute(usual)")
        if block.recordings < RECORDINGS:
            place.add("raise Unknown")
            return
        returned: list[str] = []
        gone: set[int] = set()
        for i, leaf in enumerate(block.out.leaves):
            if type(leaf) is not Ref:
                expression = self.call_source.expression(leaf, scope.names)
                returned.append(
                    f"{expression}.copy('K')" if type(leaf) is np.ndarray else expression
                )
                continue
            name = scope.names[leaf.at]
            storage = scope.storages.get(leaf.at)
            if storage is not None:
                own = not storage.fixed and storage.buffer is None and id(storage) not in gone
                if not own or leaf.at not in self.whole:
                    place.add(f"o{i} = {name}.copy('K')")
                    name = f"o{i}"
                else:
                    gone.add(id(storage))
            returned.append(name)
        for position, ref in block.writes:
            place.add(f"copyto(x{position}, {self.call_source.expression(ref, scope.names)})")
        structure = block.out.structure
        together = literal(structure, iter(returned), self.call_source.constant)
        if together is not None:
            place.add(f"return {together}")
        else:
            joined = "".join(f"{name}, " for name in returned)
            together = self.call_source.constant(unflatten)
            place.add(f"return {together}({self.call_source.constant(structure)}, [{joined}])")

    # -- calls -----------------------------------------------------------------------------------

    def _node(self, at: int, node: Node, place: Place) -> None:
        """The line of a call, and where its value is."""
        if node.steps is not None:
            self.write(at, node, place)
            return
        scope = place.scope
        storage = scope.view(at, node)
        if storage is not None and storage.buffer is not None and _is_fixed_view(node):
            # A view of the workspace: made once, with it.
            name = f"w{at}_{len(self.ahead)}"
            self.ahead.append(f"{name} = {self.call_source.call(node, scope.names)}")
            scope.names[at] = name
            return
        if storage is None and node.kind is np.ndarray:
            if at not in self.escaping and self._into_buffer(at, node, place):
                return
            scope.own(at)
        if node.shares == OWN:
            self.whole.add(at)
        call = self.call_source.call(node, scope.names)
        if node.shares == OWN and may_return_an_argument(node.function):
            lent = self._lent(node, scope)
            if lent:
                call = f"{self.call_source.constant(apart)}({call}, ({lent}))"
        place.add(f"v{at} = {call}")
        scope.names[at] = f"v{at}"

    def _lent(self, node: Node, scope: Scope) -> str:
        """The names of arguments whose memory a result must not have: it will be written to."""
        names = []
        for at in references_of(node):
            storage = scope.storages.get(at)
            if storage is not None and (storage.fixed or storage.buffer is not None):
                names.append(f"{scope.names[at]}, ")
        return "".join(names)

    def _into_buffer(self, at: int, node: Node, place: Place) -> bool:
        """The lines of a call that writes into the workspace, if it can."""
        call_source, scope = self.call_source, place.scope
        names = scope.names
        ufunc = ufunc_of(node)
        given: list[str]
        if ufunc is not None:
            given = call_source.operands(ufunc, node, names)
            storage = None
            if ufunc.signature is None:
                storage = self.workspace.dying(at, node, place)
            if storage is None:
                storage, _ = self.workspace.new(at, node, scope)
            given.append(out_argument(ufunc, f"b{storage.buffer}"))
            call = f"{call_source.constant(ufunc)}({', '.join(given)})"
        elif type(node) is Joined:
            storage, _ = self.workspace.new(at, node, scope)
            self.join(node, f"b{storage.buffer}", place)
            call = ""
        elif _is_product(node):
            x, y = [call_source.expression(arg, names) for arg in node.args]
            storage, _ = self.workspace.new(at, node, scope)
            call = f"{x}.dot({y}, b{storage.buffer})"
        else:
            return False
        names[at] = f"b{storage.buffer}"
        if call:
            place.add(call)
        return True


def _is_fixed_view(node: Node) -> bool:
    """Whether a view depends on nothing but the array that it is a view of."""
    return node.shares >= 0 and all(at == node.shares for at in references_of(node))


def _is_product(node: Node) -> bool:
    """Whether a call is `x.dot(y)` of matrices, which can write into an array."""
    return (
        METHODS.get(node.function) == "dot"
        and len(node.args) == 2
        and not node.kwargs
        and len(node.shape) == 2
        and 0 not in node.shape
        and node.strides == (node.shape[1] * node.dtype.itemsize, node.dtype.itemsize)
    )


def _refusal(block: Block) -> str:
    """The exception for an answer that a block's read has not had."""
    return "NotFinite" if block.read is not None and block.read[0] is SOUND else "Unknown"


__all__ = ["RECORDINGS", "Source"]
