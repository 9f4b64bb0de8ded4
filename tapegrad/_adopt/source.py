"""The source of adopted code, rewritten: what its calls mean inside a transform, and outside.

Knows Python's syntax, and the names of ufuncs. Lines and columns stay where they are.

Calls of converting builtins, such as `float(x)`, become calls of helpers that keep a value in a
trace. The names stay what they are: `dtype=float` and `isinstance(x, float)` mean the types.

A function has its body twice. The first is for a transform, with these helpers and with the names
of tapegrad. The second runs where no transform is open, at the speed of the plain package:
builtins are Python's own there, and the functions that it calls NumPy's and math's own.

    def area(r):
        if __tapegrad_running__:
            return float(math.pi * np.square(r))  # by helpers, and tapegrad's functions
        return float(math.pi * __tapegrad_plain_np__.square(r))

Only calls differ. A function or a class that is handed on, or kept in an object, is tapegrad's in
both bodies, because it may be called inside a transform later.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from tapegrad._adopt.messages import told_late

# Calls of these builtins keep a value in a trace: the helper that each becomes is in `builtins`.
REPLACED = {
    "complex": "__tapegrad_complex__",
    "float": "__tapegrad_float__",
    "format": "__tapegrad_spec__",
    "hasattr": "__tapegrad_hasattr__",
    "str": "__tapegrad_str__",
    "type": "__tapegrad_type__",
}
MEANT = "__tapegrad_meant__"
METHOD_ARRAY = "__tapegrad_array__"
AS_TYPE = "__tapegrad_as_type__"
# Types of numbers, by which a program converts: np.float64(x).
_TYPES = frozenset("complex64 complex128 double float16 float32 float64 longdouble single".split())
# Methods that give a new array, which the program may fill, or ask no protocol.
METHODS = {
    "astype": "__tapegrad_astype__",
    "copy": "__tapegrad_copy__",
    "dot": "__tapegrad_dot__",
    "format": "__tapegrad_format__",
}
PERCENT = "__tapegrad_percent__"
LIST = "__tapegrad_list__"
_UFUNCS = frozenset(name for name, value in vars(np).items() if isinstance(value, np.ufunc))
# Whether a transform is open in any thread, and what a name means where none is.
RUNNING, PLAIN = "__tapegrad_running__", "__tapegrad_plain__"
_START = "__tapegrad_plain_"

ROOTS = frozenset(("numpy", "math", "cmath", "scipy"))
_MODULES = frozenset(("numpy", "np", "math", "cmath", "linalg", "fft"))
_APPLYING = frozenset(("map", "filter", "reduce"))  # which call their first argument
_DEEPEST = 2  # functions inside so many others have one body: each more doubles the code


def rewritten(
    tree: Any, functions: frozenset[str] = frozenset(), own: frozenset[str] = frozenset()
) -> Any:
    """A syntax tree with the calls replaced.

    functions: the names of those that are NumPy's and math's own outside of transforms. Without
    them functions have one body. own: names that a program has bound around the tree.
    """
    names = _plain_names(tree, functions) if functions else frozenset()
    own |= _defined_for_all(tree)
    rewriter = _Rewriter(own, _defined(tree), functions, names, *_of_numpy(tree))
    tree = rewriter.visit(tree)
    if rewriter.used:
        _bind(tree.body, rewriter.used)
    return tree


_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_LEAVES = frozenset(
    (ast.Constant, ast.Name, *(kind for each in _SHARED for kind in each.__subclasses__()))
)


def _nodes(tree: Any) -> Iterator[Any]:
    """All nodes of a tree, in any order: in half the time of ast.walk, and without recursion."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for held in node.__dict__.values():
            if type(held) is list:
                waiting += [part for part in held if isinstance(part, ast.AST)]
            elif isinstance(held, ast.AST) and not isinstance(held, _SHARED):
                waiting.append(held)


class _Rewriter:
    def __init__(
        self,
        own: frozenset[str],
        own_anywhere: frozenset[str],
        functions: frozenset[str],
        names: frozenset[str],
        numpy: set[str],
        ufuncs: set[str],
    ) -> None:
        self.own = own  # names that the module defines itself, for all that is in it
        self.own_anywhere = own_anywhere  # and for parts of it, such as the body of a class
        self.numpy, self.ufuncs = numpy, ufuncs  # those of NumPy, and of ufuncs taken from it
        self.functions, self.names = functions, names
        self.has_star = "*" in own
        self.outermost: Any = None  # the function that this code is in, and its statements
        self.local: frozenset[str] | None = None  # the names bound in it, once asked for
        self.is_plain = False  # whether the body is that for outside of transforms
        self.called: frozenset[str] = frozenset()  # variables of it that are only called
        self.depth = 0
        self.changes = 0  # in this function so far
        self.used: set[str] = set()

    def visit(self, node: Any) -> Any:
        kind = type(node)
        if kind in _LEAVES:
            return node
        method = self.methods.get(kind)
        if method is not None:
            return method(self, node)
        self.visit_parts(node)
        return node

    def visit_parts(self, node: Any) -> None:
        for name in node._fields:
            held = getattr(node, name, None)
            if type(held) is list:
                for at, part in enumerate(held):
                    if isinstance(part, ast.AST):
                        held[at] = self.visit(part)
            elif isinstance(held, ast.AST):
                setattr(node, name, self.visit(held))

    # -- calls -----------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> Any:
        self.visit_parts(node)
        if self.is_plain:
            self._plain_call(node)
        else:
            self._traced_call(node)
        return node

    def _traced_call(self, node: ast.Call) -> None:
        function = node.func
        if self._is_ufunc(function):  # which makes a plain array of a list
            node.args = [self._array(part) for part in node.args]
        if isinstance(function, ast.Name):
            helper = REPLACED.get(function.id)
            if helper and not self._is_own(function.id) and _is_conversion(node):
                node.func = self._meant(function, helper)
            elif function.id == "map" and node.args and not self._is_own("map"):
                first = node.args[0]
                if (
                    isinstance(first, ast.Name)
                    and first.id == "float"
                    and not self._is_own("float")
                ):
                    node.args[0] = self._named(REPLACED["float"], first)
        if node.func is function and _is_of_type(node):
            node.args.insert(0, function)
            node.func = self._named(AS_TYPE, function)
        elif isinstance(function, ast.Attribute) and function.attr in METHODS:
            node.args.insert(0, function.value)
            node.func = self._named(METHODS[function.attr], function)

    def _meant(self, name: ast.Name, helper: str) -> ast.expr:
        """The helper of a builtin; after a star import, if the name still means that one."""
        if not self.has_star:
            return self._named(helper, name)
        parts = [name, self._named(helper, name)]
        return ast.copy_location(ast.Call(self._named(MEANT, name), parts, []), name)

    def _named(self, helper: str, place: Any) -> ast.expr:
        """The name of a helper, at the place of what it stands for."""
        self.changes += 1
        return ast.copy_location(ast.Name(helper, ast.Load()), place)

    def _is_ufunc(self, function: ast.expr) -> bool:
        """Whether a function is `np.sqrt`, `np.add.reduce`, or `sqrt` taken from NumPy."""
        if isinstance(function, ast.Name):
            return function.id in self.ufuncs
        if not isinstance(function, ast.Attribute):
            return False
        if function.attr == "reduce" or function.attr == "accumulate":
            return self._is_ufunc(function.value)
        holder = function.value
        named = isinstance(holder, ast.Name) and holder.id in self.numpy
        return named and function.attr in _UFUNCS

    def _array(self, part: ast.expr) -> ast.expr:
        if not isinstance(part, (ast.List, ast.Tuple, ast.ListComp)):
            return part
        return ast.copy_location(ast.Call(self._named(LIST, part), [part], []), part)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.visit_parts(node)
        left = node.left
        if self.is_plain or not (isinstance(node.op, ast.Mod) and isinstance(left, ast.Constant)):
            return node
        if not isinstance(left.value, str):
            return node
        helper = self._named(PERCENT, node)
        return ast.copy_location(ast.Call(helper, [left, node.right], []), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = self.visit(node.value)  # a format in it stays as it is
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        """`f"{x:.3f}"` as a call, if there is nothing else in it."""
        self.visit_parts(node)
        part = node.values[0] if len(node.values) == 1 else None
        if self.is_plain or not isinstance(part, ast.FormattedValue) or part.conversion != -1:
            return node
        spec = [part.format_spec] if part.format_spec else []
        helper = self._named(REPLACED["format"], node)
        return ast.copy_location(ast.Call(helper, [part.value, *spec], []), node)

    def _plain_call(self, node: ast.Call) -> None:
        self._make_plain(node.func)
        if isinstance(node.func, ast.Name) and node.func.id in _APPLYING and node.args:
            self._make_plain(node.args[0])

    def _make_plain(self, called: Any) -> None:
        """Give a function that is called its name for outside of transforms."""
        named = getattr(called, "attr", None)
        found = called
        while isinstance(found, ast.Attribute):
            found = found.value
        if (
            isinstance(found, ast.Name)
            and found.id in self.names
            and (found.id not in _MODULES if named is None else named in self.functions)
            and not self._is_local(found.id)
        ):
            self.used.add(found.id)
            found.id = plain_name(found.id)
            self.changes += 1

    def _is_own(self, name: str) -> bool:
        """Whether a name may mean here what the program has bound it to."""
        if not self.depth:
            return name in self.own or name in self.own_anywhere
        return name in self.own or self._is_local(name)

    def _is_local(self, name: str) -> bool:
        return name in self._find_locals()

    def _find_locals(self) -> frozenset[str]:
        if self.local is None:
            self.local = _bound_in(*self.outermost)
        return self.local

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.visit_parts(node)
        for target in list(node.targets):
            name = _key_of_globals(target)
            if name in self.names:
                another = ast.parse(f"globals()[{plain_name(name)!r}] = 0").body[0]
                node.targets += _placed(another, target).targets
        if self.is_plain and len(node.targets) == 1:
            for name, value in _pairs(node.targets[0], node.value):
                if name in self.called:
                    self._make_plain(value)
        return node

    # -- functions -------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: Any) -> Any:
        if self.depth:
            self._find_locals()  # while the functions inside have their bodies
        body, node.body = node.body, []
        self.visit_parts(node)  # what is computed where the function is made
        node.body = self._two_bodies(node, body, _joined)
        if node.name == "__array__":  # from which NumPy takes an ndarray alone
            node.decorator_list.append(ast.copy_location(ast.Name(METHOD_ARRAY, ast.Load()), node))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args = self.visit(node.args)
        node.body = self._two_bodies(node, [node.body], _conditional)
        return node

    def _two_bodies(self, node: Any, body: list[Any], join: Any) -> Any:
        before = self.is_plain, self.depth, self.changes, self.called
        if not self.depth:
            self.outermost, self.local = (node, body), None
        self.depth += 1
        self.changes = 0
        plain = _copied(body) if self.functions and self.depth <= _DEEPEST else None
        self.is_plain = False
        if join is _joined:
            self.changes += told_late(body, _nodes, self._is_own)
        traced = [self.visit(part) for part in body]
        if plain is not None:
            self.is_plain, self.called = True, _only_called(plain)
            plain = [self.visit(part) for part in plain]
        changes = self.changes
        self.is_plain, self.depth, self.changes, self.called = before
        return join(traced, plain if changes else None)

    methods: ClassVar[dict[Any, Any]] = {
        ast.Assign: visit_Assign,
        ast.BinOp: visit_BinOp,
        ast.Call: visit_Call,
        ast.FormattedValue: visit_FormattedValue,
        ast.JoinedStr: visit_JoinedStr,
        ast.FunctionDef: visit_FunctionDef,
        ast.AsyncFunctionDef: visit_FunctionDef,
        ast.Lambda: visit_Lambda,
    }


def _copied(body: list[Any]) -> list[Any]:
    """The statements again. Without recursion, because long sums are deep trees."""
    made = ast.Module(list(body), [])
    waiting: list[Any] = [made]
    while waiting:
        held = waiting.pop().__dict__
        for name, value in held.items():
            if type(value) is list:
                parts = [_shallow(part) if isinstance(part, ast.AST) else part for part in value]
                held[name] = parts
                waiting += [part for part in parts if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, _SHARED):
                held[name] = again = _shallow(value)
                waiting.append(again)
    return made.body


def _only_called(body: list[Any]) -> frozenset[str]:
    """The variables of a function that do nothing but call: `sin = math.sin; sin(x)`.

    One that a function inside reads is none: that may be called inside a transform later.
    """
    called: set[str] = set()
    others: set[str] = set()
    waiting: list[Any] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _SCOPES):
            others.update(part.id for part in _nodes(node) if isinstance(part, ast.Name))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            others.update(node.names)
        elif isinstance(node, ast.Name):
            others.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            waiting += [*node.args, *node.keywords]
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            pairs = _pairs(node.targets[0], node.value)
            called.update(name for name, _ in pairs)
            waiting += [value for _, value in pairs] or [node.value, *node.targets]
        else:
            waiting += ast.iter_child_nodes(node)
    return frozenset(called - others)


def _pairs(target: Any, value: Any) -> list[tuple[str, Any]]:
    """The variables that an assignment binds to named values, with these: `f, g = np.f, np.g`."""
    targets, values = [target], [value]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        targets, values = target.elts, value.elts
    named = [
        (part.id, each)
        for part, each in zip(targets, values, strict=False)
        if isinstance(part, ast.Name) and isinstance(each, (ast.Name, ast.Attribute))
    ]
    return named if len(named) == len(targets) == len(values) else []


def _shallow(node: Any) -> Any:
    kind: Any = type(node)
    made = kind.__new__(kind)  # without __init__, which asks for all fields
    made.__dict__.update(node.__dict__)
    return made


def plain_name(name: str) -> str:
    """The global name of what a name means outside of transforms: no name of a helper."""
    return f"{_START}{name}__"


def is_plain_name(name: str) -> bool:
    """Whether a name of a module is one that `plain_name` made."""
    return name.startswith(_START)


def _conditional(traced: list[Any], plain: list[Any] | None) -> Any:
    if plain is None:
        return traced[0]
    test = ast.copy_location(ast.Name(RUNNING, ast.Load()), traced[0])
    return ast.copy_location(ast.IfExp(test, traced[0], plain[0]), traced[0])


def _joined(traced: list[Any], plain: list[Any] | None) -> list[Any]:
    """The statements of a function that runs the one body or the other."""
    if plain is None:
        return traced
    first = traced[0]
    start = []
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        start, traced, plain = [first], traced[1:], plain[1:]  # the docstring
    scopes = _taken_out(traced)
    _taken_out(plain)
    if not traced:
        return start
    if not isinstance(traced[-1], (ast.Return, ast.Raise)):
        traced.append(ast.copy_location(ast.Return(None), traced[-1]))
    test = ast.copy_location(ast.Name(RUNNING, ast.Load()), traced[0])
    branch = ast.copy_location(ast.If(test, traced, []), traced[0])
    return [*start, *scopes, branch, *plain]


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _taken_out(body: list[Any]) -> list[Any]:
    """The statements that say where a function's names are: they must come before all others."""
    found = []
    waiting = [body]
    while waiting:
        statements = waiting.pop()
        for at, node in enumerate(statements):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                found.append(node)
                statements[at] = ast.copy_location(ast.Pass(), node)
            elif not isinstance(node, _SCOPES):
                waiting += _blocks(node)
    return found


def _blocks(node: Any) -> Iterator[list[Any]]:
    """The lists of statements inside a statement."""
    for name in ("body", "orelse", "finalbody"):
        held = getattr(node, name, None)
        if type(held) is list:
            yield held
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


# --- names --------------------------------------------------------------------------------------


def _bind(body: list[Any], names: set[str]) -> None:
    """After each statement of a module that binds one of these names, bind the plain one."""
    for node in list(body):
        for block in () if isinstance(node, _SCOPES) else _blocks(node):
            _bind(block, names)
        bound = {name for name, _ in _bindings(node)}
        text = "; ".join(map(_binding, sorted(names & bound)))
        if "*" in bound:  # it may bind any
            text = "\n".join(
                f"if {name!r} in globals(): {_binding(name)}" for name in sorted(names)
            )
        at = body.index(node) + 1
        body[at:at] = [_placed(made, node) for made in ast.parse(text).body]


def _binding(name: str) -> str:
    return f"{plain_name(name)} = {PLAIN}({name})"


def _placed(made: Any, node: Any) -> Any:
    """A statement that was made, at the place of another."""
    for part in ast.walk(made):
        if hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return made


def _bindings(node: Any) -> Iterator[tuple[str, str]]:
    """The names that a statement binds as a module's names are bound, with what they name."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            yield alias.asname or root, root
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, alias.name
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            named = isinstance(value, (ast.Name, ast.Attribute))
            yield target.id, getattr(value, "id", getattr(value, "attr", "")) if named else ""
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield node.name, ""
    elif isinstance(node, ast.Expr) and _called(node.value) == "exec":
        yield "*", "*"  # which may bind any


def _plain_names(tree: Any, functions: frozenset[str]) -> frozenset[str]:
    """The names of a module that may have another meaning outside of transforms."""
    wanted, found, others = functions | _MODULES, set(), set()
    for node in _at_top(tree):
        names = list(_bindings(node))
        for name, named in names:
            if named in wanted or isinstance(node, ast.Import) and named in ROOTS:
                found.add(name)
        if not names:
            others |= _stored(node)
    for node in _nodes(tree):
        if isinstance(node, ast.Global):
            others.update(node.names)
        elif _key_of_globals(node) is None or (
            isinstance(node, ast.Attribute) and _is_globals(node.value) and node.attr in _FILLING
        ):
            return frozenset()  # any may be bound anew
        elif isinstance(node, (ast.Assign, ast.Call)) and _hands_on_globals(node):
            return frozenset()  # names = globals(); exec(text, globals())
    if any(_called(node) in _SCOPED for node in _at_top(tree)):
        return frozenset()
    return frozenset(found - others)


_SCOPED = frozenset(("locals", "vars"))  # by which names of a module's scope may be bound later
_FILLING = frozenset(("update", "setdefault", "pop", "clear", "__setitem__"))


def _key_of_globals(node: Any) -> str | None:
    """The name that is bound by `globals()[name] = ...`; None if it is computed, "" elsewhere."""
    if isinstance(node, ast.Subscript) and _is_globals(node.value):
        if isinstance(node.ctx, ast.Load):
            return ""
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return key if isinstance(key, str) else None
    return ""


def _is_globals(node: Any) -> bool:
    return _called(node) == "globals"


def _called(node: Any) -> str:
    """The name of the function that a node calls, "" where it is no call of a name."""
    return getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""


def _hands_on_globals(node: ast.Assign | ast.Call) -> bool:
    """Whether an assignment or a call is given `globals()`, and may bind names there."""
    if isinstance(node, ast.Assign):
        return _is_globals(node.value)
    binds_elsewhere = _called(node) == "exec" and len(node.args) > 2  # in the third
    return not binds_elsewhere and any(map(_is_globals, node.args))


def _at_top(node: Any) -> Iterator[Any]:
    """The nodes of a module's own scope."""
    for part in ast.iter_child_nodes(node):
        yield part
        if not isinstance(part, _SCOPES) and not (
            isinstance(part, ast.Assign) and list(_bindings(part))
        ):
            yield from _at_top(part)


def _stored(node: Any) -> set[str]:
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    name = getattr(node, "name", None)
    return {name} if isinstance(name, str) and not isinstance(node, ast.alias) else set()


def _bound_in(function: Any, body: list[Any]) -> frozenset[str]:
    """All names that are bound in a function, or in one inside it."""
    found = set()
    for node in (*_nodes(function.args), *(part for each in body for part in _nodes(each))):
        if isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        else:
            found |= _stored(node)
            if isinstance(node, ast.MatchMapping) and node.rest:
                found.add(node.rest)
    return frozenset(found)


def _is_conversion(node: ast.Call) -> bool:
    """Whether a call of a builtin converts a value: type(name, bases, dict) makes a class."""
    named = isinstance(node.func, ast.Name) and node.func.id
    return len(node.args) == 1 and not node.keywords or named in ("complex", "format", "hasattr")


def _is_of_type(node: ast.Call) -> bool:
    """Whether a call may convert by a type: `np.float64(x)`, `dtype(x)`, `y.dtype.type(x)`."""
    function = node.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    named = name in _TYPES or name.lower().endswith("type")
    return named and len(node.args) == 1 and not node.keywords and _is_plain(node.args[0])


def _is_plain(node: ast.expr) -> bool:
    return not isinstance(node, ast.Starred)


def _of_numpy(tree: Any) -> tuple[set[str], set[str]]:
    """The names of NumPy in a module, and of ufuncs that it takes from there."""
    names, ufuncs = {"np", "numpy"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {part.asname for part in node.names if part.name == "numpy" and part.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy":
            ufuncs |= {part.asname or part.name for part in node.names if part.name in _UFUNCS}
    return names, ufuncs


def _defined_for_all(tree: Any) -> frozenset[str]:
    """The names that a module defines in its own scope, and by `global` statements."""
    found: set[str] = set()
    for node in _nodes(tree):
        if isinstance(node, ast.Global):
            found.update(node.names)
    waiting: list[Any] = list(tree.body) if isinstance(tree, ast.Module) else []
    while waiting:
        node = waiting.pop()
        found |= {node.asname or node.name} if isinstance(node, ast.alias) else _stored(node)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def _defined(tree: Any) -> frozenset[str]:
    """The names that a module defines in any scope, but for those of methods."""
    found: set[str] = set()
    methods: set[Any] = set()
    for node in ast.walk(tree):  # a class comes before what is in it
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node not in methods:
                found.add(node.name)
            if isinstance(node, ast.ClassDef):
                methods.update(node.body)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
    return frozenset(found)
