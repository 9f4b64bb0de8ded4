"""Losses with margins, of likelihoods and of alignments: as PyTorch's, and as defined."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from agreement import agree, numbers
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn

WORDS = ("mean", "sum", "none")
DRAW = np.random.default_rng(4)
A, B, C = numbers(5, 4), numbers(5, 4, seed=1), numbers(5, 4, seed=2)
ROW, OTHER = numbers(5), numbers(5, seed=3)
SIGNS = np.array([1, -1, -1, 1, -1])
CLASSES = np.array([0, 3, 1, 1, 2])
LABELS = np.array([[0, 2, -1, 1], [3, -1, 0, 0], [-1, 1, 2, 3], [0, 1, 2, 3], [2, 0, 3, -1]])
WEIGHT = np.array([0.5, 2.0, 1.0, 0.3])

# name, arrays that require a gradient, others, keywords, and how often PyTorch differentiates it.
LOSSES = [
    ("margin_ranking_loss", [ROW, OTHER], [SIGNS], {}, 2),
    ("margin_ranking_loss", [A, B], [SIGNS[:, None]], {"margin": 0.7}, 2),
    ("hinge_embedding_loss", [ROW], [SIGNS], {}, 2),
    ("hinge_embedding_loss", [A], [SIGNS[:, None]], {"margin": 0.4}, 2),
    ("cosine_embedding_loss", [A, B], [SIGNS], {}, 2),
    ("cosine_embedding_loss", [A, B], [SIGNS], {"margin": -0.3}, 2),
    ("cosine_embedding_loss", [ROW, OTHER], [np.array(-1)], {}, 2),
    ("multi_margin_loss", [A], [CLASSES], {}, 1),
    ("multi_margin_loss", [A], [CLASSES], {"p": 2, "margin": 0.6}, 1),
    ("multi_margin_loss", [ROW], [np.array(2)], {}, 1),
    ("multi_margin_loss", [ROW], [np.array([2])], {}, 1),
    ("multi_margin_loss", [np.round(A)], [CLASSES], {"p": 1}, 1),
    ("multilabel_margin_loss", [np.round(A)], [LABELS], {}, 1),
    ("multilabel_margin_loss", [A], [LABELS], {}, 1),
    ("multilabel_margin_loss", [ROW[:4]], [LABELS[0]], {}, 1),
    ("multilabel_soft_margin_loss", [A], [(B > 0).astype(float)], {}, 2),
    ("soft_margin_loss", [A], [np.sign(B).astype(int)], {}, 2),
    ("soft_margin_loss", [ROW], [SIGNS], {}, 2),
    ("poisson_nll_loss", [A], [CLASSES[:, None]], {}, 2),
    ("poisson_nll_loss", [A], [CLASSES[:, None] * 1.0], {"full": True}, 2),
    ("poisson_nll_loss", [A**2], [CLASSES[:, None]], {"log_input": False, "eps": 0.1}, 2),
    ("gaussian_nll_loss", [A, B, C**2], [], {}, 2),
    ("gaussian_nll_loss", [A, B, C[:, :1] ** 2], [], {"full": True}, 2),
    ("gaussian_nll_loss", [A, B, C[:, 0] ** 2], [], {"eps": 0.3}, 2),
    ("triplet_margin_loss", [A, B, C], [], {}, 2),
    ("triplet_margin_loss", [A, B, C], [], {"margin": 2.0, "swap": True, "p": 3.0}, 2),
    ("triplet_margin_loss", [ROW, OTHER, ROW * 2], [], {"p": 1, "eps": 0.1}, 2),
    ("triplet_margin_with_distance_loss", [A, B, C], [], {"swap": True, "margin": 0.5}, 2),
]
CASES = [pytest.param(*case, id=f"{place}-{case[0]}") for place, case in enumerate(LOSSES)]


def call(t, *tensors, name, constants=(), **words):
    given = [t.from_numpy(np.array(c)) if t is torch else t.tensor(c) for c in constants]
    return getattr(t.nn.functional, name)(*tensors, *given, **words)


@pytest.mark.parametrize(("name", "inputs", "constants", "words", "order"), CASES)
def test_losses_agree_with_pytorch(name, inputs, constants, words, order):
    for reduction, kind in itertools.product(WORDS, (np.float64, np.float32)):
        given = [c.astype(kind) if c.dtype.kind == "f" else c for c in constants]
        agree(
            functools.partial(call, name=name, constants=given, reduction=reduction, **words),
            *[x.astype(kind) for x in inputs],
            order=order if kind is np.float64 else 1,
        )


@pytest.mark.part(3)
@pytest.mark.parametrize(("name", "inputs", "constants", "words", "order"), CASES)
def test_losses_have_the_derivatives_of_differences(name, inputs, constants, words, order):
    tensors = [torch.tensor(x, requires_grad=True) for x in inputs]
    once = functools.partial(call, torch, name=name, constants=constants, **words)
    # Variances are raised to eps, with slope 1 even so; whole numbers lie at kinks.
    kinked = any((x == np.round(x)).all() for x in inputs)
    if not kinked and not (name == "gaussian_nll_loss" and "eps" in words):
        assert torch.autograd.gradcheck(once, tensors)
        assert torch.autograd.gradgradcheck(lambda *x: once(*x) ** 2, tensors)
    plain = tuple(x.detach() for x in tensors)
    dots = tuple(torch.tensor(numbers(*x.shape, seed=7)) for x in inputs)
    pushed = torch.func.jvp(once, plain, dots)[1]
    pulled = torch.func.grad(once, argnums=tuple(range(len(plain))))(*plain)
    total = sum((back * dot).sum().item() for back, dot in zip(pulled, dots, strict=True))
    assert pushed.item() == pytest.approx(total)
    mapped = torch.func.vmap(once)(*[torch.stack([x, x / 2]) for x in plain])
    assert mapped[1].item() == pytest.approx(once(*[x / 2 for x in plain]).item())
    each = once(*tensors, reduction="none")
    assert once(*tensors).item() == pytest.approx(each.mean().item())
    assert once(*tensors, reduction="sum").item() == pytest.approx(each.sum().item())


# --- Connectionist temporal classification ------------------------------------------------------

T, N, K = 7, 3, 5
LOGITS = numbers(T, N, K)
PADDED = np.array([[1, 2, 2], [3, 3, 0], [4, 1, 2]])
LENGTHS, INPUTS = np.array([3, 2, 1]), np.array([7, 6, 4])
IN_A_ROW = np.concatenate([row[:n] for row, n in zip(PADDED, LENGTHS, strict=True)])
ALIGNED = [
    (PADDED, INPUTS, LENGTHS, {}),
    (IN_A_ROW, INPUTS, LENGTHS, {}),
    (PADDED, (7, 6, 4), (3, 2, 1), {}),
    (PADDED, INPUTS, np.array([0, 2, 1]), {}),
    (PADDED % 4, np.array([7, 7, 7]), LENGTHS, {"blank": 4}),
    (PADDED, np.array([2, 7, 0]), LENGTHS, {"zero_infinity": True}),
    (PADDED, np.array([2, 7, 0]), LENGTHS, {}),
    (np.zeros((3, 0), int), INPUTS, np.array([0, 0, 0]), {}),
]


def aligned(t, x, targets, inputs, lengths, **words):
    made = [y if isinstance(y, tuple) else t.tensor(y) for y in (targets, inputs, lengths)]
    return t.nn.functional.ctc_loss(x.log_softmax(-1), *made, **words)


@pytest.mark.parametrize("case", range(len(ALIGNED)))
def test_alignments_agree_with_pytorch(case):
    targets, inputs, lengths, words = ALIGNED[case]
    for reduction, kind in itertools.product(WORDS, (np.float64, np.float32)):
        agree(
            lambda t, x, of=reduction: aligned(
                t, x, targets, inputs, lengths, reduction=of, **words
            ),
            LOGITS.astype(kind),
        )
    single = (PADDED[0], np.array(7), np.array(3))
    agree(lambda t, x: aligned(t, x, *single, reduction="none"), LOGITS[:, 0])
    agree(lambda t, x: aligned(t, x, *single), LOGITS[:, 0])


def by_enumeration(probabilities, target, blank=0):
    """The probability of all sequences of labels that collapse to the target."""
    total = 0.0
    for path in itertools.product(range(probabilities.shape[1]), repeat=len(probabilities)):
        collapsed = [label for label, _ in itertools.groupby(path)]
        if [label for label in collapsed if label != blank] == list(target):
            total += np.prod(probabilities[np.arange(len(path)), path])
    return total


@pytest.mark.parametrize("target", [[], [1], [1, 1], [1, 2], [2, 1, 2], [1, 1, 1]])
def test_alignments_sum_over_all_paths(target):
    x = torch.tensor(numbers(4, 1, 3)).log_softmax(2)
    found = torch.nn.functional.ctc_loss(
        x, torch.tensor([target]).long(), (4,), (len(target),), reduction="sum"
    )
    expected = by_enumeration(np.exp(x.numpy()[:, 0]), target)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found.item(), -np.log(expected))


@pytest.mark.part(6)
@pytest.mark.parametrize("case", [0, 1, 3, 4, 5, 7])
def test_alignments_are_differentiated_through_log_softmax(case):
    targets, inputs, lengths, words = ALIGNED[case]
    x = torch.tensor(LOGITS, requires_grad=True)

    def once(x):
        return aligned(torch, x, targets, inputs, lengths, **words)

    assert torch.autograd.gradcheck(once, [x])
    if case in (0, 3):
        t = torch.tensor(numbers(T, N, K, seed=8))
        assert torch.autograd.gradgradcheck(once, [x])
        pushed = torch.func.jvp(once, (x.detach(),), (t,))[1]
        pulled = torch.func.grad(once)(x.detach())
        assert pushed.item() == pytest.approx((pulled * t).sum().item())


def test_an_impossible_alignment_is_infinite_or_counts_nothing():
    x = torch.tensor(LOGITS, requires_grad=True)
    loss = aligned(torch, x, PADDED, (2, 7, 7), LENGTHS, reduction="none")
    assert loss[0].item() == np.inf
    assert torch.autograd.grad(loss.sum(), x)[0][:2, 0].isnan().all()
    kept = aligned(torch, x, PADDED, (2, 7, 7), LENGTHS, reduction="none", zero_infinity=True)
    assert kept[0].item() == 0
    gradient = torch.autograd.grad(kept.sum(), x)[0]
    assert not gradient[:, 0].any()
    assert gradient[:, 1].any()


# --- Errors -------------------------------------------------------------------------------------


def longs(t, *values):
    return t.tensor(values)


LX = numbers(5, 2, 4)
WRONG = {
    "ranking": lambda t, f, x: f.margin_ranking_loss(x, x[0], x[0]),
    "cosine1": lambda t, f, x: f.cosine_embedding_loss(x[0], x[0], longs(t, 1)),
    "cosine0": lambda t, f, x: f.cosine_embedding_loss(x, x, t.tensor(1)),
    "cosine2": lambda t, f, x: f.cosine_embedding_loss(x, x, x),
    "classes": lambda t, f, x: f.multi_margin_loss(x, longs(t, 1)),
    "range": lambda t, f, x: f.multi_margin_loss(x, longs(t, 1, 2, 3, 4, 0)),
    "weight": lambda t, f, x: f.multi_margin_loss(x, longs(t, 0, 0, 0, 0, 0), weight=x[0]),
    "weight2": lambda t, f, x: f.multi_margin_loss(x, longs(t, 0, 0, 0, 0, 0), weight=x),
    "p": lambda t, f, x: f.multi_margin_loss(x, longs(t, 0, 0, 0, 0, 0), p=3),
    "long": lambda t, f, x: f.multi_margin_loss(x, longs(t, 0.0, 0, 0, 0, 0)),
    "labels": lambda t, f, x: f.multilabel_margin_loss(x, longs(t, 0, 0, 0, 0)),
    "labels2": lambda t, f, x: f.multilabel_margin_loss(x[0], longs(t, 0, 0, 0, 4)),
    "soft": lambda t, f, x: f.soft_margin_loss(x, x),
    "soft2": lambda t, f, x: f.soft_margin_loss(x, x.detach(), reduction="foo"),
    "multisoft": lambda t, f, x: f.multilabel_soft_margin_loss(x, x, reduction="foo"),
    "poisson": lambda t, f, x: f.poisson_nll_loss(x, x, reduction="foo"),
    "gauss": lambda t, f, x: f.gaussian_nll_loss(x, x, x.exp(), reduction="foo"),
    "gauss2": lambda t, f, x: f.gaussian_nll_loss(x, x, -1.0),
    "gauss3": lambda t, f, x: f.gaussian_nll_loss(x, x, -x.exp()),
    "gauss4": lambda t, f, x: f.gaussian_nll_loss(x, x, x.exp()[:, :2]),
    "gauss5": lambda t, f, x: f.gaussian_nll_loss(x, x, x.exp()[:1, :2]),
    "triplet": lambda t, f, x: f.triplet_margin_loss(x, x[0], x),
    "triplet2": lambda t, f, x: f.triplet_margin_loss(x, x, x, margin=-1),
    "triplet3": lambda t, f, x: f.triplet_margin_with_distance_loss(x, x, x, margin=0),
    "triplet4": lambda t, f, x: f.triplet_margin_with_distance_loss(x, x, x[0]),
    "reduction": lambda t, f, x: f.triplet_margin_loss(x, x, x, reduction="foo"),
    "module": lambda t, f, x: t.nn.TripletMarginLoss(margin=0),
    "module2": lambda t, f, x: t.nn.TripletMarginWithDistanceLoss(margin=0),
    "module3": lambda t, f, x: t.nn.MultiMarginLoss(p=3),
    "module4": lambda t, f, x: t.nn.MultiMarginLoss(weight=x),
    "pairs": lambda t, f, x: f.pdist(x[0]),
    "pairs2": lambda t, f, x: f.pdist(x, -1.0),
    "pairs3": lambda t, f, x: f.pdist(t.ones(2, 2, dtype=t.int64)),
    "distance": lambda t, f, x: f.pairwise_distance(x, x[:, :2]),
    "bilinear": lambda t, f, x: f.bilinear(x, x[0], t.ones(2, 4, 4, dtype=t.float64)),
    "bilinear2": lambda t, f, x: f.bilinear(x, x[:2], t.ones(2, 4, 4, dtype=t.float64)),
    "bilinear3": lambda t, f, x: f.bilinear(x, x, t.ones(2, 3, 4, dtype=t.float64)),
    "bilinear4": lambda t, f, x: f.bilinear(x, x, t.ones(2, 4, 4)),
    "adaptive": lambda t, f, x: t.nn.AdaptiveLogSoftmaxWithLoss(4, 9, []),
    "adaptive2": lambda t, f, x: t.nn.AdaptiveLogSoftmaxWithLoss(4, 9, [5, 3]),
    "adaptive3": lambda t, f, x: t.nn.AdaptiveLogSoftmaxWithLoss(4, 9, [5, 9]),
}
MISALIGNED = {
    "blank": ([[1, 2], [2, 2]], (5, 4), (2, 2), {"blank": 4}),
    "inputs": ([[1, 2], [2, 2]], (5,), (2, 2), {}),
    "too long": ([[1, 2], [2, 2]], (5, 6), (2, 2), {}),
    "negative": ([[1, 2], [2, 2]], (5, -4), (2, 2), {}),
    "negative2": ([[1, 2], [2, 2]], (5, 4), (2, -2), {}),
    "padded": ([[1, 2], [2, 2]], (5, 4), (2, 3), {}),
    "row": ([1, 2, 2], (5, 4), (2, 2), {}),
    "targets": ([[1, 2], [2, 2]], (5, 4), (2,), {}),
    "dimensions": ([[[1, 2], [2, 2]]], (5, 4), (2, 2), {}),
    "reduction": ([[1, 2], [2, 2]], (5, 4), (2, 2), {"reduction": "foo"}),
}


def error_of(t, wrong, shape):
    x = t.tensor(numbers(*shape), requires_grad=True)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any: its text is compared
        wrong(t, t.nn.functional, x)
    return type(caught.value).__name__, str(caught.value).splitlines()[0]


@pytest.mark.parametrize("word", [*WRONG, *MISALIGNED])
def test_errors_are_those_of_pytorch(word):
    if word in WRONG:
        wrong, shape = WRONG[word], (5, 4)
    else:
        targets, inputs, lengths, words = MISALIGNED[word]
        shape = (5, 2, 4)

        def wrong(t, f, x):
            f.ctc_loss(x, t.tensor(targets), inputs, lengths, **words)

    theirs = of_pytorch(lambda t: error_of(t, wrong, shape))
    assert error_of(torch, wrong, shape) == theirs


# --- Distances and products ---------------------------------------------------------------------

PAIRED = {
    "pairwise": (lambda t, x, y: t.nn.functional.pairwise_distance(x, y), 2),
    "pairwise1": (lambda t, x, y: t.pairwise_distance(x, y, 1, keepdim=True), 2),
    "pairwise3": (lambda t, x, y: t.nn.functional.pairwise_distance(x, y, 3.0, eps=0.1), 2),
    "broadcast": (lambda t, x, y: t.nn.functional.pairwise_distance(x, y[0]), 2),
    **{
        f"pdist{p}": (lambda t, x, y, p=p: t.pdist(x - 1e-3 * y, p), 1)
        for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf)
    },
}


@pytest.mark.parametrize("word", PAIRED)
def test_distances_agree_with_pytorch(word):
    of, order = PAIRED[word]
    agree(of, A, B, order=order)
    agree(of, A.astype(np.float32), B.astype(np.float32), tolerance=1e-5)


def test_bilinear_agrees_with_pytorch():
    weight, bias = numbers(3, 4, 2), numbers(3)
    for x, y in ((A, B[:, :2]), (A[0], B[0, :2]), (numbers(2, 3, 4), numbers(2, 3, 2))):
        agree(lambda t, *z: t.nn.functional.bilinear(*z), x, y, weight, bias, order=2)
        agree(lambda t, *z: t.nn.functional.bilinear(*z), x, y, weight, order=2)


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0, np.inf])
def test_pdist_has_the_derivatives_of_differences(p):
    x = torch.tensor(A, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.pdist(x, p), [x])
    assert torch.autograd.gradgradcheck(lambda x: torch.pdist(x, p) ** 2, [x])
    full = np.linalg.norm(A[:, None] - A, p, axis=-1) if p != 0.5 else None
    if full is not None:
        np.testing.assert_allclose(torch.pdist(x, p).detach(), full[np.triu_indices(5, 1)])
    far = torch.tensor(A + 1e6, requires_grad=True)
    near = torch.tensor(A + 1e6 - 1e6, requires_grad=True)
    torch.pdist(far, p).sum().backward()
    torch.pdist(near, p).sum().backward()
    np.testing.assert_allclose(far.grad, near.grad, 1e-6, 1e-8)
    twice = torch.tensor(np.ones((3, 2)), requires_grad=True)
    torch.pdist(twice, p).sum().backward()
    assert not twice.grad.any()


# --- A softmax of very many classes -------------------------------------------------------------


def seen_of_an_adaptive_softmax(t):
    net = t.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 9], head_bias=True, dtype=t.float64)
    draw = np.random.default_rng(2)
    for p in net.parameters():
        p.data.copy_(t.from_numpy(draw.normal(size=tuple(p.shape)) / 4))
    names = [repr(net), *(name for name, _ in net.named_parameters())]
    x, target = numbers(6, 16), np.array([0, 19, 5, 3, 11, 8])
    found = []
    for pick in (slice(None), 1, slice(0, 1)):
        made = net(t.tensor(x[pick]), t.tensor(target[pick]))
        made.loss.backward()
        names.append(type(made).__name__)
        found += made
    found += [p.grad for p in net.parameters()]
    found += [net.log_prob(t.tensor(x * 5)), net.predict(t.tensor(x * 5))]
    return names, [part.detach().numpy() for part in found]


def test_adaptive_softmax_agrees_with_pytorch():
    (names, mine), (known, theirs) = (
        seen_of_an_adaptive_softmax(torch),
        of_pytorch(seen_of_an_adaptive_softmax),
    )
    assert names == known
    for ours, its in zip(mine, theirs, strict=True):
        assert ours.shape == its.shape
        np.testing.assert_allclose(ours, its, 1e-9, 1e-12)


def test_adaptive_softmax_is_a_distribution():
    net = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 9], dtype=torch.float64)
    x, target = torch.tensor(numbers(6, 16)), torch.tensor([0, 19, 5, 3, 11, 8])
    scores = net.log_prob(x)
    np.testing.assert_allclose(scores.exp().sum(1).detach(), np.ones(6))
    output, loss = net(x, target)
    np.testing.assert_allclose(output.detach(), scores[range(6), target].detach())
    assert loss.item() == pytest.approx(-output.mean().item())
    assert (net.predict(x * 9) == net.log_prob(x * 9).argmax(1)).all()
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\]"):
        net(x, target + 5)


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
@pytest.mark.parametrize("reduction", ["sum", "mean", "none"])
def test_an_infinite_cotangent_does_not_reach_a_row_that_is_ignored(name, reduction):
    loss = getattr(torch.nn.functional, name)
    x = torch.tensor([[0.1, 0.2], [0.3, 0.5], [1.0, 2.0]], requires_grad=True)
    for _ in range(3):  # the third call is a planned one
        value = loss(x, torch.tensor([0, 1, 0]), ignore_index=1, reduction=reduction)
        (bar,) = torch.autograd.grad(value, x, torch.full_like(value, np.inf))
        np.testing.assert_array_equal(bar.numpy()[1], 0)
        np.testing.assert_array_equal(bar.numpy()[[0, 2], 0], -np.inf)


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("size", [(4, 5), (80, 60), (2, 5, 3)])
@pytest.mark.parametrize(
    "words",
    [{}, {"reduction": "none"}, {"ignore_index": 1}, {"label_smoothing": 0.1}],
    ids=str,
)
def test_logits_may_be_written_to_after_their_cross_entropy(words, size, create):
    given = torch.linspace(-2.0, 2.0, int(np.prod(size))).reshape(size).requires_grad_()
    classes = torch.arange(int(np.prod(size)) // size[1]).reshape(size[0], *size[2:]) % size[1]

    def gradients(change):
        logits = given.sin() * 2.0
        loss = torch.nn.functional.cross_entropy(logits, classes, **words).sum()
        if change:
            logits.mul_(3.0)
        (gradient,) = torch.autograd.grad(loss, given, create_graph=create)
        if not create:
            return [gradient]
        return [gradient, *torch.autograd.grad((gradient * gradient).sum(), given)]

    for _ in range(3):  # also where the call comes again
        for one, other in zip(gradients(True), gradients(False), strict=True):
            assert torch.allclose(one, other, rtol=1e-6, atol=1e-9)


# --- Weights of the losses of pairs --------------------------------------------------------------

PAIRS = ("mse_loss", "l1_loss", "huber_loss")


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("word", WORDS)
def test_weights_of_pairs(name, word):
    """A mean is over the sum of the weights, but for huber_loss, whose is that of the products."""
    loss = getattr(nn.functional, name)
    x, y, weight = (torch.tensor(part) for part in (A, B, np.abs(C)))
    each = loss(x, y, reduction="none") * weight
    expected = {"none": each, "sum": each.sum(), "mean": each.sum() / weight.sum()}
    if name == "huber_loss":
        expected["mean"] = each.mean()
    assert torch.allclose(loss(x, y, weight=weight, reduction=word), expected[word])


@pytest.mark.parametrize("name", PAIRS)
def test_weights_of_pairs_have_the_size_of_the_input(name):
    with pytest.raises(ValueError, match="Weights and input must have the same size"):
        getattr(nn.functional, name)(torch.ones(2), torch.zeros(2), weight=torch.ones(1))


def test_a_weighted_huber_loss_refuses_other_words():
    with pytest.raises(ValueError, match="Invalid reduction mode: other"):
        nn.functional.huber_loss(torch.ones(2), torch.zeros(2), "other", weight=torch.ones(2))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("word", WORDS)
def test_weights_of_pairs_are_as_pytorchs(name, word):
    def program(t, x, y, weight):
        return getattr(t.nn.functional, name)(x, y, weight=weight, reduction=word)

    agree(program, A, B, np.abs(C), order=2, name=False)


@pytest.mark.parametrize("word", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 4, 3)])
def test_losses_of_classes_refuse_other_words(word, shape):
    """They took any other word for the sum."""
    target = torch.zeros(shape[:1] + shape[2:] if len(shape) > 1 else (), dtype=torch.int64)
    with pytest.raises(ValueError, match="foo is not a valid value for reduction"):
        getattr(torch.nn.functional, word)(torch.ones(shape), target, reduction="foo")
