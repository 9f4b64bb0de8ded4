"""The source of adopted code, with calls of converting builtins replaced: `float(x)`, `type(x)`.

Knows Python's syntax, and the names of ufuncs. The names stay what they are: `dtype=float` and
`isinstance(x, float)` mean the types. Lines and columns stay where they are.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

# Calls of these builtins keep a value in a trace: the helper that each becomes is in `builtins`.
REPLACED = {
    "complex": "__tapegrad_complex__",
    "float": "__tapegrad_float__",
    "format": "__tapegrad_spec__",
    "str": "__tapegrad_str__",
    "type": "__tapegrad_type__",
}
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


class _Calls(ast.NodeTransformer):
    def __init__(self, own: set[str], numpy: set[str], ufuncs: set[str]) -> None:
        self.own = own  # names that the module defines itself
        self.numpy, self.ufuncs = numpy, ufuncs  # those of NumPy, and of ufuncs taken from it

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        function = node.func
        if self._is_ufunc(function):  # which makes a plain array of a list
            node.args = [self._array(part) for part in node.args]
        if isinstance(function, ast.Name):
            helper = REPLACED.get(function.id)
            if helper and function.id not in self.own and _is_conversion(node):
                node.func = ast.copy_location(ast.Name(helper, ast.Load()), function)
            elif function.id == "map" and node.args and "map" not in self.own:
                first = node.args[0]
                if isinstance(first, ast.Name) and first.id == "float" and "float" not in self.own:
                    node.args[0] = ast.copy_location(
                        ast.Name(REPLACED["float"], ast.Load()), first
                    )
        if node.func is function and _is_of_type(node):
            node.args.insert(0, function)
            node.func = ast.copy_location(ast.Name(AS_TYPE, ast.Load()), function)
        elif isinstance(function, ast.Attribute) and function.attr in METHODS:
            node.args.insert(0, function.value)
            node.func = ast.copy_location(ast.Name(METHODS[function.attr], ast.Load()), function)
        return node

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
        helper = ast.copy_location(ast.Name(LIST, ast.Load()), part)
        return ast.copy_location(ast.Call(helper, [part], []), part)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        left = node.left
        if not (isinstance(node.op, ast.Mod) and isinstance(left, ast.Constant)):
            return node
        if not isinstance(left.value, str):
            return node
        helper = ast.copy_location(ast.Name(PERCENT, ast.Load()), node)
        return ast.copy_location(ast.Call(helper, [left, node.right], []), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = self.visit(node.value)  # a format in it stays as it is
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        """`f"{x:.3f}"` as a call, if there is nothing else in it."""
        self.generic_visit(node)
        part = node.values[0] if len(node.values) == 1 else None
        if not isinstance(part, ast.FormattedValue) or part.conversion != -1:
            return node
        helper = ast.copy_location(ast.Name(REPLACED["format"], ast.Load()), node)
        spec = [part.format_spec] if part.format_spec else []
        return ast.copy_location(ast.Call(helper, [part.value, *spec], []), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        if node.name == "__array__":  # from which NumPy takes an ndarray alone
            node.decorator_list.append(ast.copy_location(ast.Name(METHOD_ARRAY, ast.Load()), node))
        return node


def _is_conversion(node: ast.Call) -> bool:
    """Whether a call of a builtin converts a value: type(name, bases, dict) makes a class."""
    named = isinstance(node.func, ast.Name) and node.func.id
    return len(node.args) == 1 and not node.keywords or named in ("complex", "format")


def _is_of_type(node: ast.Call) -> bool:
    """Whether a call may convert by a type: `np.float64(x)`, `dtype(x)`, `y.dtype.type(x)`."""
    function = node.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    named = name in _TYPES or name.lower().endswith("type")
    return named and len(node.args) == 1 and not node.keywords and _is_plain(node.args[0])


def _is_plain(node: ast.expr) -> bool:
    return not isinstance(node, ast.Starred)


def rewritten(tree: Any) -> Any:
    """A syntax tree with the calls replaced."""
    return ast.fix_missing_locations(_Calls(_defined(tree), *_of_numpy(tree)).visit(tree))


def _of_numpy(tree: Any) -> tuple[set[str], set[str]]:
    """The names of NumPy in a module, and of ufuncs that it takes from there."""
    names, ufuncs = {"np", "numpy"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {part.asname for part in node.names if part.name == "numpy" and part.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy":
            ufuncs |= {part.asname or part.name for part in node.names if part.name in _UFUNCS}
    return names, ufuncs


def _defined(tree: Any) -> set[str]:
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
    return found
