"""Connectionist temporal classification: the loss of all alignments of a target with a sequence.

Knows arrays and rules. Must not know Tensor or modules.

Graves et al. (2006): the target, with blanks between its labels and around them, is a chain of
states; an alignment visits them in order, and may skip a blank between two different labels. The
sums over alignments are taken of logarithms, forward and backward in time. A probability of zero
is LEAST there, a number and not minus infinity, so that differences of two such are none.

The derivative is that of the log-softmax before the loss (their equation 16), as PyTorch has it:
`exp(log_probs)` less the probability that an alignment has that label at that time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import untraced
from tapegrad.torch._rules.declare import Found, general

LEAST = -1e30


class Chains(NamedTuple):
    """The states of each example, as many for all as the longest target needs."""

    labels: Value  # (n, states): of each state
    may_skip: Value  # (n, states): whether the state may follow the one before the last
    is_last: Value  # (n, states): whether an alignment may end there
    exists: Value  # (n, states)
    lengths: Value  # (n): of the sequences


def chains_of(targets: Value, target_lengths: Value, input_lengths: Value, blank: int) -> Chains:
    """The chains of padded targets (n, longest)."""
    count, longest = targets.shape
    states = 2 * longest + 1
    labels = np.full((count, states), blank, np.int64)
    labels[:, 1::2] = targets
    places = np.arange(states)
    ends = 2 * target_lengths[:, None]
    exists = places <= ends
    labels = np.where(exists, labels, blank)
    may_skip = np.zeros((count, states), bool)
    may_skip[:, 2:] = labels[:, 2:] != labels[:, :-2]
    is_last = exists & (places >= ends - 1)
    return Chains(labels, may_skip, is_last, exists, input_lengths)


def _later(x: Value, by: int) -> Value:
    """States moved on: what was at s is at s + by."""
    empty = np.full((x.shape[0], min(by, x.shape[1])), LEAST, x.dtype)
    return np.concatenate([empty, x[:, : max(x.shape[1] - by, 0)]], 1)


def _earlier(x: Value, by: int) -> Value:
    empty = np.full((x.shape[0], min(by, x.shape[1])), LEAST, x.dtype)
    return np.concatenate([x[:, by:], empty], 1)


def _emitted(x: Value, chains: Chains) -> Value:
    """The logarithms of the probabilities of each state's label: (time, n, states)."""
    labels = np.broadcast_to(chains.labels, (x.shape[0], *chains.labels.shape))
    return np.take_along_axis(x, labels, 2)


def _forward(emitted: Value, chains: Chains) -> list[Value]:
    """Sums over the alignments up to each time that end in each state."""
    states = np.arange(emitted.shape[2])
    alpha = np.where(chains.exists & (states < 2), emitted[0], LEAST)
    found = [alpha]
    for time in range(1, emitted.shape[0]):
        come = np.logaddexp(alpha, _later(alpha, 1))
        come = np.logaddexp(come, np.where(chains.may_skip, _later(alpha, 2), LEAST))
        alpha = np.where(chains.exists, come + emitted[time], LEAST)
        found.append(alpha)
    return found


def _backward(emitted: Value, chains: Chains) -> list[Value]:
    """Sums over the alignments from each state at each time to the end, without that state."""
    steps = emitted.shape[0]
    skip = np.zeros(chains.may_skip.shape, bool)
    skip[:, :-2] = chains.may_skip[:, 2:]
    at_end = np.where(chains.is_last, np.zeros((), emitted.dtype), LEAST)
    beta = at_end
    found = [beta] * steps
    for time in range(steps - 1, -1, -1):
        if time < steps - 1:
            onward = np.where(chains.exists, beta + emitted[time + 1], LEAST)
            come = np.logaddexp(onward, _earlier(onward, 1))
            come = np.logaddexp(come, np.where(skip, _earlier(onward, 2), LEAST))
            beta = np.where(chains.exists, come, LEAST)
        ends_here = (chains.lengths == time + 1)[:, None]
        beta = np.where(ends_here, at_end, beta)
        found[time] = beta
    return found


def _total(alphas: Value, chains: Chains) -> Value:
    """The logarithms of the sums over all alignments: (n)."""
    final = np.maximum(chains.lengths - 1, 0)
    alpha = alphas[final, np.arange(len(final))]
    ends = np.where(chains.is_last, alpha, LEAST)
    highest = np.max(untraced(ends), axis=1, keepdims=True)
    sums = np.sum(np.exp(ends - highest), axis=1)
    return np.log(sums) + highest[:, 0]


def _occupied(x: Value, chains: Chains) -> Value:
    """The probability that an alignment has each label at each time: (time, n, classes)."""
    emitted = _emitted(x, chains)
    alphas, betas = _forward(emitted, chains), _backward(emitted, chains)
    totals = np.expand_dims(_total(np.stack(alphas), chains), 1)
    parts = [np.exp(a + b - totals) for a, b in zip(alphas, betas, strict=True)]
    return _by_class(np.stack(parts), chains, x)


# --- Both directions at once, of untraced numbers -----------------------------------------------


@silence()
def _both(x: Value, chains: Chains) -> tuple[Value, Value]:
    """Results of `_total` and `_occupied`, computed in place, with one loop over time for both.

    A sum from the end is a sum from the start of the sequence and the chain turned round, so that
    those of n examples are those of n more, each turned round within its own length.
    """
    steps, count, classes = x.shape
    exists, states = chains.exists, chains.labels.shape[1]
    turned = np.maximum(exists.sum(1)[:, None] - 1 - np.arange(states), 0)
    labels = np.concatenate([chains.labels, np.take_along_axis(chains.labels, turned, 1)])
    back = np.maximum(chains.lengths - 1 - np.arange(steps)[:, None], 0)  # (time, n)
    at = (back * count + np.arange(count)) * classes
    forth = np.arange(steps * count).reshape(steps, count) * classes
    emitted = x.reshape(-1).take(np.concatenate([forth, at], 1)[:, :, None] + labels)
    twice = np.concatenate([exists, exists])
    np.copyto(emitted, LEAST, where=~twice)
    np.maximum(emitted, LEAST, out=emitted)
    skips = np.zeros((2 * count, states), x.dtype)
    skips[:, 2:] = np.where(labels[:, 2:] != labels[:, :-2], 0, LEAST)
    sums = np.full((steps, 2 * count, states + 2), LEAST, x.dtype)  # two columns before the states
    sums[0, :, 2:4] = emitted[0, :, :2]
    terms, highest = np.empty((3, 2 * count, states), x.dtype), np.empty(skips.shape, x.dtype)
    for time in range(1, steps):
        before, now = sums[time - 1], sums[time, :, 2:]
        terms[0], terms[1] = before[:, 2:], before[:, 1:-1]
        np.add(before[:, :-2], skips, out=terms[2])
        np.maximum.reduce(terms, 0, out=highest)
        np.subtract(terms, highest, out=terms)
        np.exp(terms, out=terms)
        np.add.reduce(terms, 0, out=now)
        np.log(now, out=now)
        now += highest
        now += emitted[time]
    alphas = sums[:, :count, 2:]
    totals = _total(alphas, chains)
    flat = (back * (2 * count) + np.arange(count, 2 * count)) * (states + 2)
    betas = sums.reshape(-1).take(flat[:, :, None] + (turned + 2))
    betas += alphas
    betas -= np.where(exists, emitted[:, :count], -LEAST)
    betas -= totals[:, None]
    return totals, _by_class(np.exp(betas, out=betas), chains, x)


def _by_class(states: Value, chains: Chains, x: Value) -> Value:
    """The probabilities of states (time, n, states), added up by their labels."""
    one_hot = (chains.labels[:, :, None] == np.arange(x.shape[2])).astype(x.dtype)
    return np.swapaxes(np.matmul(np.swapaxes(states, 0, 1), one_hot), 0, 1)


# --- The loss -----------------------------------------------------------------------------------


def _slopes(out: Value, x: Value, chains: Chains, kept: Found) -> Value:
    times = np.arange(x.shape[0])[:, None, None]
    within = times < chains.lengths[:, None]
    impossible = np.isinf(untraced(out))[:, None]
    occupied = kept.found if kept.of is x else _occupied(x, chains)
    slopes = np.where(within, np.exp(x) - occupied, 0)
    return np.where(impossible & within, np.nan, slopes)


def _pull(
    g: Cotangent, out: Value, x: Value, chains: Chains, kept: Found, safe: bool = False
) -> Cotangent:
    slopes = _slopes(out, x, chains, kept)
    if safe:
        slopes = np.where(np.isinf(untraced(out))[:, None], 0, slopes)
    return slopes * np.expand_dims(g, 1)


@general("CtcLossBackward0", _pull, batch="loop")
def ctc(x: Value, chains: Chains, kept: Found, safe: bool = False) -> Value:
    """The negative logarithms of the probabilities of the targets: (n), infinite if impossible.

    x: (time, n, classes) of logarithms of probabilities. kept: what the backward pass of an
    untraced call needs. safe: the derivative of an infinite loss
    is 0, else NaN.
    """
    if not x.shape[0]:
        totals: Any = np.full(x.shape[1], LEAST, x.dtype)
    elif type(x) is np.ndarray:
        totals, kept.found = _both(x, chains)
        kept.of = x
    else:
        totals = _total(np.stack(_forward(_emitted(x, chains), chains)), chains)
    nothing = chains.is_last[:, 0]  # no labels: the chain is one blank
    totals = np.where(chains.lengths == 0, np.where(nothing, 0, LEAST), totals)
    return np.where(totals < LEAST / 2, np.inf, -totals).astype(x.dtype)
