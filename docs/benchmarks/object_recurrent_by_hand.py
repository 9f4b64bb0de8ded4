"""The recurrent networks of object_programs as NumPy's calls, as object_programs_by_hand says.

Knows NumPy. Must not know tapegrad or PyTorch, nor how calls are timed.

The states of the cells are (size, rows), so that each gate of a step is contiguous, and a weight
is multiplied as it is. The inputs of all steps are multiplied at once, and so are the cotangents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from by_hand import Arrays, Gradients, by_hand, number, ones
from numpy import matmul, multiply, subtract, tanh

HALF, ONE, TWO = number(0.5), number(1), number(2)


class Lstm:
    """All steps of the cell whose gates are i, f, g and o."""

    def __init__(self, steps: int, size: int, rows: int) -> None:
        self.steps, self.size, self.rows = steps, size, rows
        # The logistic function is (1 + tanh(x / 2)) / 2.
        self.scale = np.full((4 * size, rows), 0.5, np.float32)
        self.scale[2 * size : 3 * size] = 1
        self.moved = ONE - self.scale
        self.column = self.scale[:, :1].copy()

    def forward(self, gates: Any, u: Any) -> None:
        """Of the inputs' products (steps, 4 * size, rows), which become the gates."""
        steps, size, rows = self.steps, self.size, self.rows
        scale, moved = self.scale, self.moved
        gates *= self.column
        u = u * self.column
        self.h, self.c = np.zeros((2, steps + 1, size, rows), np.float32)
        self.bounded = np.empty((steps, size, rows), np.float32)
        h, c = self.h[0], self.c[0]
        for z, new_h, new_c, bounded in zip(
            gates, self.h[1:], self.c[1:], self.bounded, strict=True
        ):
            z += u.dot(h)
            tanh(z, z)
            z *= scale
            z += moved
            i, f, g, o = z.reshape(4, size, rows)
            multiply(f, c, new_c)
            new_c += i * g
            tanh(new_c, bounded)
            multiply(o, bounded, new_h)
            h, c = new_h, new_c
        self.gates = gates

    def backward(self, h_bar: Any, bars: Any, u: Any) -> Any:
        """The cotangents (4 * size, steps * rows) of the gates.

        Of the cotangents of the last state, and of those before it, or None.
        """
        steps, size, rows = self.steps, self.size, self.rows
        four = self.gates.reshape(steps, 4, size, rows)
        slopes = subtract(ONE, four)
        slopes[:, 2] = ONE
        slopes[:, 2] += four[:, 2]
        slopes[:, 2] *= subtract(ONE, four[:, 2])
        slopes[:, :2] *= four[:, :2]
        slopes[:, 3] *= four[:, 3]
        turned = u.T
        within = self.bounded * self.bounded
        subtract(ONE, within, within)
        within *= four[:, 3]
        c_bar = np.zeros((size, rows), np.float32)
        for t in range(steps - 1, -1, -1):
            i, f, g, o = four[t]
            part = slopes[t]
            part[3] *= multiply(h_bar, self.bounded[t], o)
            h_bar *= within[t]
            c_bar += h_bar
            part[0] *= multiply(c_bar, g, g)
            part[1] *= multiply(c_bar, self.c[t], o)
            part[2] *= multiply(c_bar, i, i)
            c_bar *= f
            if t:
                h_bar = turned.dot(part.reshape(4 * size, rows))
                if bars is not None:
                    h_bar += bars[t - 1]
        return slopes.reshape(steps, 4 * size, rows).transpose(1, 0, 2).reshape(4 * size, -1)

    def states(self) -> Any:
        """Factors of the states' weights: (size, steps * rows)."""
        return self.h[:-1].transpose(1, 0, 2).reshape(self.size, -1)


@by_hand
def lstm_cells(medium: bool) -> Gradients:
    """The cell's weights are (4 * size, size)."""
    rows, size, steps = (64, 256, 12) if medium else (4, 16, 8)
    draw = Arrays()
    w, u, b, c = draw.parameters((4 * size, size), (4 * size, size), (4 * size,), (4 * size,))
    x = draw.constant(steps, rows, size)
    cells, tall = Lstm(steps, size, rows), ones(steps * rows)
    share = number(2 / (rows * size))

    def step() -> tuple[Any, list[Any]]:
        gates = matmul(w, x.swapaxes(1, 2))
        gates += (b + c)[:, None]
        cells.forward(gates, u)
        h = cells.h[1:]
        flat = h.ravel()
        loss = flat.dot(flat) / (rows * size)
        bars = h * share
        g = cells.backward(bars[-1], bars, u)
        of_b = g.dot(tall)
        return loss, [g.dot(x.reshape(-1, size)), g.dot(cells.states().T), of_b, of_b.copy()]

    return step


@by_hand
def lstm_by_hand(medium: bool) -> Gradients:
    """The same, of weights (size, 4 * size)."""
    rows, size, steps = (64, 256, 12) if medium else (4, 16, 8)
    draw = Arrays()
    w, u = draw.leaf(size, 4 * size, scale=0.1), draw.leaf(size, 4 * size, scale=0.1)
    b, x = draw.leaf(4 * size), draw.constant(steps, rows, size)
    cells, tall, every = Lstm(steps, size, rows), ones(steps * rows), ones(rows * size)

    def step() -> tuple[Any, list[Any]]:
        gates = matmul(w.T, x.swapaxes(1, 2))
        gates += b[:, None]
        cells.forward(gates, u.T)
        loss = cells.h[-1].ravel().dot(every)
        g = cells.backward(ones(size, rows), None, u.T)
        return loss, [g.dot(x.reshape(-1, size)).T, g.dot(cells.states().T).T, g.dot(tall)]

    return step


@by_hand
def gru(medium: bool) -> Gradients:
    """The gates are r, z and n, of which the state's part of n is kept."""
    rows, size, steps = (64, 256, 12) if medium else (4, 16, 8)
    draw = Arrays()
    w, u, b, c = draw.parameters((3 * size, size), (3 * size, size), (3 * size,), (3 * size,))
    x = draw.constant(rows, steps, size)
    tall, every, two = ones(steps * rows), ones(steps * rows * size), 2 * size
    share = number(1 / (rows * steps * size))

    def forward() -> tuple[Any, Any, Any]:
        gates = matmul(w, x.transpose(1, 2, 0))
        gates += b[:, None]
        gates[:, :two] *= HALF
        hidden = np.empty((steps, 3 * size, rows), np.float32)
        h = np.zeros((steps + 1, size, rows), np.float32)
        own_bias = np.empty((3 * size, rows), np.float32)
        own_bias[...] = c[:, None]
        for t in range(steps):
            z, own, before, after = gates[t], hidden[t], h[t], h[t + 1]
            u.dot(before, own)
            own += own_bias
            both, new = z[:two], z[two:]
            both += own[:two] * HALF
            tanh(both, both)
            both *= HALF
            both += HALF
            new += both[:size] * own[two:]
            tanh(new, new)
            subtract(before, new, after)
            after *= both[size:]
            after += new
        return gates, hidden, h

    def step() -> tuple[Any, list[Any]]:
        gates, hidden, h = forward()
        flat = h[-1].ravel()
        loss = h[1:].ravel().dot(every) * share + flat.dot(flat)
        reset, keep, new = (gates[:, k * size : (k + 1) * size] for k in range(3))
        of_new = new * new  # what the cotangent of the state is multiplied with, for each gate
        subtract(ONE, of_new, of_new)
        of_new *= ONE - keep
        of_keep = h[:-1] - new
        of_keep *= keep
        of_keep *= ONE - keep
        of_reset = hidden[:, two:]
        of_reset *= ONE - reset
        of_reset *= reset
        g = np.empty((3 * size, steps, rows), np.float32)
        own = np.empty((steps, 3 * size, rows), np.float32)
        bar, turned = TWO * h[-1], u.T
        for t in range(steps - 1, -1, -1):
            bar += share
            part = own[t]
            slope = multiply(bar, of_new[t], new[t])
            multiply(slope, reset[t], part[two:])
            multiply(slope, of_reset[t], part[:size])
            multiply(bar, of_keep[t], part[size:two])
            if t:
                bar *= keep[t]
                bar += turned.dot(part)
        of_hidden = own.transpose(1, 0, 2).reshape(3 * size, -1)
        g[:two] = own[:, :two].transpose(1, 0, 2)
        g[two:] = new.transpose(1, 0, 2)
        g = g.reshape(3 * size, -1)
        states = h[:-1].transpose(1, 0, 2).reshape(size, -1)
        inputs = x.transpose(1, 0, 2).reshape(-1, size)
        return loss, [g.dot(inputs), of_hidden.dot(states.T), g.dot(tall), of_hidden.dot(tall)]

    return step


@by_hand
def rnn_with_stack(medium: bool) -> Gradients:
    """The states are (rows, size), and stacked as they are made."""
    rows, size, steps = (64, 256, 12) if medium else (4, 16, 8)
    draw = Arrays()
    w, u, b = draw.leaf(size, size, scale=0.1), draw.leaf(size, size, scale=0.1), draw.leaf(size)
    x = draw.constant(rows, steps, size)
    every, tall, share = ones(rows * size), ones(steps * rows), number(1 / steps)
    twice = number(2 / (rows * steps * size * steps))

    def step() -> tuple[Any, list[Any]]:
        gates = matmul(x.transpose(1, 0, 2), w)
        gates += b
        y = np.empty((steps + 1, rows, size), np.float32)
        y[0] = 0
        for t in range(steps):
            z = gates[t]
            z += y[t].dot(u)
            tanh(z, y[t + 1])
        made = y[1:]
        flat = made.ravel()
        loss = (made[-1].ravel().dot(every) + flat.dot(flat) / flat.size) / steps
        bars = made * twice
        bars[-1] += share
        slopes = multiply(made, made, gates)
        subtract(ONE, slopes, slopes)
        turned = u.T
        for t in range(steps - 1, -1, -1):
            part, bar = slopes[t], bars[t]
            part *= bar
            if t:
                bars[t - 1] += part.dot(turned)
        g = slopes.reshape(-1, size)
        inputs = x.transpose(1, 0, 2).reshape(-1, size)
        return loss, [inputs.T.dot(g), y[:-1].reshape(-1, size).T.dot(g), tall.dot(g)]

    return step
