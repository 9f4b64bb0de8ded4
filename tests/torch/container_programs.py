"""Programs over containers of modules and parameters."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from module_programs import error_of, names_of, program


def _kinds(modules: Any) -> list[str]:
    return [f"{name}={type(m).__name__}" for name, m in modules._modules.items()]


@program
def sequences(t: Any) -> Any:
    n = t.nn
    layers = n.Sequential(n.Linear(1, 2), n.ReLU(), n.Tanh())
    seen = [_kinds(layers[1:]), _kinds(layers[::-1]), _kinds(layers + n.Sequential(n.Sigmoid()))]
    seen += [_kinds(layers * 2), _kinds(3 * n.Sequential(n.ReLU())), layers[-3] is layers[0]]
    layers += n.Sequential(n.Sigmoid(), n.Identity())
    seen.append(_kinds(layers))
    seen.append([type(layers.pop(1)).__name__, _kinds(layers.pop(slice(0, 2))), _kinds(layers)])
    layers *= 2
    seen.append(
        [_kinds(layers), layers[0] is layers[2], layers.insert(-1, n.Softmax(0)) is layers]
    )
    seen.append(_kinds(layers))
    del layers[1:3]
    seen.append(_kinds(layers.extend([n.ReLU()]).append(n.Tanh())))
    layers[-1] = n.Flatten()
    named = n.Sequential(OrderedDict(x=n.ReLU(), y=n.Tanh()))
    named[1] = n.Sigmoid()
    seen += [_kinds(layers), _kinds(named), named.x is named[0], len(named), _kinds(named[1:])]
    del named[0]
    return [
        *seen,
        _kinds(named),
        error_of(lambda: layers[9]),
        error_of(lambda: layers["0"]),
        error_of(lambda: layers.insert(20, n.ReLU())),
        error_of(lambda: layers.insert(0, 3)).split("<")[0],
        error_of(lambda: layers.append(3)),
        error_of(lambda: layers + [n.ReLU()]),  # noqa: RUF005
        error_of(lambda: layers * 1.5).split("<")[0],
        error_of(lambda: layers * 0).split("<")[0],
        [word for word in dir(layers) if word.isdigit()],
        [type(m).__name__ for m in layers],
    ]


@program
def module_lists(t: Any) -> Any:
    n = t.nn
    layers = n.ModuleList([n.Linear(1, 2), n.Linear(1, 2), n.ReLU()])
    seen: list[Any] = [repr(layers), repr(n.ModuleList()), _kinds(layers[:2]), len(layers)]
    layers.insert(1, n.Tanh())
    layers += [n.Sigmoid()]
    seen += [_kinds(layers), _kinds(layers + [n.ReLU()]), type(layers.pop(-1)).__name__]  # noqa: RUF005
    layers[0] = n.Identity()
    seen += [_kinds(layers), _kinds(layers[::2])]
    del layers[0], layers[:1]
    seen += [_kinds(layers), repr(n.ModuleList([layers, layers, n.ReLU(), n.ReLU()]))]
    return [
        *seen,
        error_of(lambda: layers[5]),
        error_of(lambda: layers.extend(3)),
        error_of(lambda: layers.append("x")),
        error_of(lambda: layers(1)),
        [type(m).__name__ for m in layers.append(n.Flatten())],
    ]


@program
def module_dicts(t: Any) -> Any:
    n = t.nn
    table = n.ModuleDict({"b": n.ReLU(), "a": n.Linear(1, 2)})
    table.update([["c", n.Tanh()]])
    table["b"] = n.Sigmoid()
    seen: list[Any] = [repr(table), list(table), list(table.keys()), names_of(table), "a" in table]
    seen += [len(table), [k for k, _ in table.items()], type(table.pop("b")).__name__, list(table)]
    table.update(n.ModuleDict({"z": n.ReLU()}))
    del table["z"]
    return [
        *seen,
        [type(m).__name__ for m in table.values()],
        error_of(lambda: table["nothing"]),
        error_of(lambda: table.update(3)),
        error_of(lambda: table.update([3])),
        error_of(lambda: table.update([(1, 2, 3)])),
        error_of(lambda: table.update({"keys": n.ReLU()})),
        error_of(lambda: table.pop("nothing")),
        [table.clear(), len(table)],
    ]


@program
def parameter_lists(t: Any) -> Any:
    n = t.nn
    values = n.ParameterList([t.ones(2), n.Parameter(t.zeros(2, 3), requires_grad=False)])
    values.append(t.ones(1)).extend([t.ones(4), 3.5])
    seen: list[Any] = [repr(values), names_of(values), len(values), values[-1]]
    values[0] = t.zeros(5)
    values += [t.ones(6)]
    seen += [names_of(values), [tuple(p.shape) for p in values[1:4]], type(values[:2]).__name__]
    return [
        *seen,
        isinstance(values[0], n.Parameter),
        [p.requires_grad for p in values if isinstance(p, t.Tensor)],
        error_of(lambda: values[9]),
        error_of(lambda: values.extend(t.ones(2))),
        error_of(lambda: values.extend(3)),
        error_of(lambda: values(1)),
    ]


@program
def parameter_dicts(t: Any) -> Any:
    n = t.nn
    table = n.ParameterDict({"b": t.ones(2), "a": n.Parameter(t.ones(1)), "c": "word"})
    seen: list[Any] = [repr(table), list(table), names_of(table), list(reversed(table))]
    table["b"] = t.zeros(3)
    table.update(OrderedDict(z=t.ones(1), y=t.ones(1)))
    seen += [list(table), list(table | n.ParameterDict({"q": t.ones(1)})), "q" in table]
    seen += [table.popitem()[0], tuple(table.pop("b").shape), table.get("b"), list(table.copy())]
    seen += [tuple(table.setdefault("b", t.ones(7)).shape), list(table.fromkeys(["k", "l"], 0.5))]
    table |= n.ParameterDict({"w": t.ones(1)})
    del table["w"]
    return [
        *seen,
        [k for k, _ in table.items()],
        [type(v).__name__ for v in table.values()],
        len(table),
        error_of(lambda: table[3]),
        error_of(lambda: table.update(3)),
        error_of(lambda: table.update([3])),
        error_of(lambda: table.update([(1,)])),
        error_of(lambda: table(1)),
        [table.clear(), len(table), names_of(table)],
    ]
