"""`python -m tapegrad demo`: a neural network that learns to read handwritten digits.

The model is plain NumPy and knows nothing of tapegrad; `train` needs one line of it. With a name,
`demo` runs one of the gallery's examples instead.
"""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad
from tapegrad._cli._differences import compare
from tapegrad._cli._gallery import print_list, run_example
from tapegrad._cli._tape_picture import check_path, write_view
from tapegrad._cli._target import CommandError
from tapegrad._progress import Bar

if TYPE_CHECKING:
    import argparse

    from tapegrad._core.types import Function, Value

    Parameters = dict[str, np.ndarray]

EPOCHS = 40
BATCH = 100
HIDDEN = 48
RATE = 0.3
MOMENTUM = 0.9
HELD_OUT = 397

PICTURES = (".png", ".svg", ".pdf", ".webp")  # of an example, which matplotlib draws


# -- The model: plain NumPy --------------------------------------------------------------------


def scores(parameters: Parameters, images: Value) -> Value:
    """Compute a score for each image and digit, with one hidden layer."""
    hidden = np.tanh(images @ parameters["hidden"] + parameters["hidden bias"])
    return hidden @ parameters["output"] + parameters["output bias"]


def loss(parameters: Parameters, images: Value, digits: Value) -> Value:
    """Average the negative log-likelihood of the right digits."""
    score = scores(parameters, images)
    score = score - np.max(score, axis=1, keepdims=True)  # so that exp cannot overflow
    right = score[np.arange(len(digits)), digits]
    return np.mean(np.log(np.sum(np.exp(score), axis=1)) - right)


def initial_parameters(generator: np.random.Generator) -> Parameters:
    """Draw weights of a size that keeps the hidden layer in tanh's steep part."""
    return {
        "hidden": generator.normal(0, 64**-0.5, (64, HIDDEN)),
        "hidden bias": np.zeros(HIDDEN),
        "output": generator.normal(0, HIDDEN**-0.5, (HIDDEN, 10)),
        "output bias": np.zeros(10),
    }


# -- The demo ----------------------------------------------------------------------------------


def run(options: argparse.Namespace) -> int:
    """Train, report and draw; or list or run the gallery's examples; return the exit status."""
    if options.list:
        print_list()
        return 0
    if options.name is not None:
        if options.show:
            raise CommandError("--show is of the demo alone: an example has no page of its tape")
        picture = options.out or f"tapegrad-{options.name}.png"
        check_path(picture, PICTURES)
        return run_example(options.name, picture)
    out = options.out or "tapegrad-demo.svg"
    check_path(out)
    load_digits = _loader()
    generator = np.random.default_rng(0)
    images, digits = _digits(load_digits, generator)
    start = time.perf_counter()
    parameters = train(
        initial_parameters(generator), images[HELD_OUT:], digits[HELD_OUT:], generator
    )
    seconds = time.perf_counter() - start
    print(f"trained on {len(digits) - HELD_OUT} images in {seconds:.1f} s")
    guesses = np.argmax(scores(parameters, images[:HELD_OUT]), axis=1)
    accuracy = float(np.mean(guesses == digits[:HELD_OUT]))
    print(f"held-out accuracy {accuracy:.1%} on {HELD_OUT} images that it never saw")
    passed = _check(generator, images[:BATCH], digits[:BATCH])
    _draw(out, images[:BATCH], digits[:BATCH], show=options.show)
    print(f"the source of all this: {__file__}")
    print("more examples: python -m tapegrad demo --list")
    return 0 if passed else 1


def _loader() -> Any:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise CommandError(
            f"the demo needs {error.name}: python -m pip install scikit-learn"
        ) from error
    return load_digits


def _digits(load_digits: Function, generator: np.random.Generator) -> tuple[Any, Any]:
    """Load the images, 64 numbers from 0 to 1 each, and their digits, in a random order."""
    data = load_digits()
    order = generator.permutation(len(data.target))
    return data.data[order] / 16, data.target[order]


def train(
    parameters: Parameters,
    images: Value,
    digits: Value,
    generator: np.random.Generator,
) -> Parameters:
    """Descend along the gradient with momentum, one random batch at a time."""
    value_and_gradient = tapegrad.value_and_grad(loss)
    velocity = {name: np.zeros_like(weights) for name, weights in parameters.items()}
    with Bar("training", total=EPOCHS) as bar:
        for epoch in range(1, EPOCHS + 1):
            losses = []
            for batch in np.array_split(generator.permutation(len(digits)), len(digits) // BATCH):
                value, gradient = value_and_gradient(parameters, images[batch], digits[batch])
                losses.append(value)
                for name in parameters:
                    velocity[name] = MOMENTUM * velocity[name] - RATE * gradient[name]
                    parameters = {**parameters, name: parameters[name] + velocity[name]}
            if epoch % 10 == 0 or epoch == 1:
                bar.write(f"epoch {epoch:3}: loss {np.mean(losses):.4f}")
            bar.step(loss=float(np.mean(losses)))
    return parameters


def _check(generator: np.random.Generator, images: Value, digits: Value) -> bool:
    """Compare the gradient with central differences, and say whether they agree.

    The comparison is at initial weights, where no partial is tiny.
    """
    parameters = initial_parameters(generator)

    def batch_loss(parameters: Parameters) -> Any:
        return loss(parameters, images, digits)

    comparison = compare(batch_loss, (parameters,), (tapegrad.grad(batch_loss)(parameters),))
    verdict = "agrees" if comparison.passed else "DISAGREES"
    print(f"gradient {verdict} with central differences: {comparison}")
    return comparison.passed


def _draw(out: str, images: Value, digits: Value, *, show: bool) -> None:
    """Write the tape of the loss, as a picture and as a page for a browser."""
    parameters = initial_parameters(np.random.default_rng(0))
    view = tapegrad.tape(lambda parameters: loss(parameters, images, digits), parameters)
    view.title = "loss(parameters)"
    write_view(out, view)
    print(f"tape of the loss, {len(view)} entries, drawn in {out}")
    page = Path(out).with_suffix(".html")
    write_view(str(page), view.run())
    print(f"the same as a page for a browser, to fold, search and replay: {page}")
    if show:
        webbrowser.open(page.absolute().as_uri())
