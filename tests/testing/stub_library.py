"""A small library of derivatives with views, writes and versions, and bugs that can be planted."""

from __future__ import annotations

import numpy as np

BUGS: set[str] = set()


class SpoiledError(RuntimeError):
    """A value was written to before its backward pass needed it."""


class Node:
    """Contents of a memory at one time, and their origin."""

    def __init__(self, parents=()):
        self.parents = list(parents)  # (node, pull), of flat cotangents
        self.leaf = None
        self.factor = 1.0

    def pull(self, g):
        g = g * (1.0 if "hook forgotten" in BUGS else self.factor)
        if self.leaf is not None:
            first = self.leaf.flat is None or "no accumulation" in BUGS
            self.leaf.flat = g + 0.0 if first else self.leaf.flat + g
        seen = set()
        for parent, pull in self.parents:
            if "once a parent" in BUGS and id(parent) in seen:
                continue
            seen.add(id(parent))
            parent.pull(pull(g))


class Memory:
    def __init__(self, content, node):
        self.content, self.node, self.version = content, node, 0


class Value:
    """Places in a memory, flat."""

    def __init__(self, memory, places, constant=False):
        self.memory, self.places, self.constant = memory, places, constant
        self.flat = None
        self.copied = None

    @property
    def array(self):
        return self.memory.content[self.places] if self.copied is None else self.copied

    @property
    def grad(self):
        return None if self.flat is None else self.flat.reshape(self.places.shape)

    def __mul__(self, other):
        return made(self.array * other.array, [(self, by(other)), (other, by(self))])

    def __add__(self, other):
        return made(self.array + other.array, [(self, lambda g: g), (other, lambda g: g)])

    def __getitem__(self, index):
        out = Value(self.memory, self.places[index], self.constant)
        if "stale view" in BUGS:
            out.copied = out.array.copy()
        return out

    def scale_(self, number):
        """In place; whatever reads the old value in its derivative is spoiled."""
        self.memory.content[self.places] *= number
        self.memory.version += "forgotten version" not in BUGS
        if self.constant:
            return

        def pull(g):
            g = g.copy()
            g[self.places] *= 1.0 if "forgotten factor" in BUGS else number
            return g

        self.memory.node = Node([(self.memory.node, pull)])

    def backward(self, g):
        self.memory.node.pull(scattered(self, np.asarray(g, float)))

    def forget(self):
        self.flat = None


def scattered(value, g):
    whole = np.zeros(value.memory.content.shape)
    np.add.at(whole, value.places, g)
    return whole


def by(other):
    """The pull of a product, which needs the other factor as it was."""
    version, memory = other.memory.version, other.memory

    def pull(g):
        if memory.version != version:
            raise SpoiledError
        return g * other.array

    return pull


def made(array, steps):
    array = np.asarray(array, float)
    parents = [
        (value.memory.node, fitted(value, pull, array.shape))
        for value, pull in steps
        if not value.constant or "detach not cut" in BUGS
    ]
    memory = Memory(array.flatten(), Node(parents))
    return Value(memory, np.arange(array.size).reshape(array.shape))


def fitted(value, pull, out_shape):
    """A pull of flat cotangents, summed where the value was broadcast."""
    shape = value.places.shape

    def pulled(g):
        found = np.asarray(pull(g.reshape(out_shape)))
        while found.ndim > len(shape):
            found = found.sum(axis=0)
        wide = tuple(i for i, n in enumerate(shape) if n == 1 and found.shape[i] > 1)
        if wide:
            found = (np.mean if "broadcast" in BUGS else np.sum)(found, axis=wide, keepdims=True)
        return scattered(value, found)

    return pulled


def leaf(array):
    value = made(array, [])
    value.memory.node.leaf = value
    return value


def sin(x):
    slope = np.sin(x.array) if "wrong rule" in BUGS else np.cos(x.array)
    return made(np.sin(x.array), [(x, lambda g: g * slope)])


def total(x):
    factor = 2.0 if "wrong at one shape" in BUGS and x.places.shape == (2, 3) else 1.0
    return made(np.sum(x.array), [(x, lambda g: factor * g * np.ones(x.places.shape))])


def detach(x):
    return Value(x.memory, x.places, constant=True)


def set_hook(x, factor):
    x.memory.node.factor *= factor
