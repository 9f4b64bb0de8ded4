"""A small convolutional net on handwritten digits: over 98 % of unseen ones right.

Convolutions, normalised batches, dropout, a schedule of rates and a bar of progress, as a script
of PyTorch's would have them. At the end it shows those that it was least sure of.

    pip install "tapegrad[examples]"
    python docs/examples/digits.py [PICTURE]
"""

import sys
import time
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.utils.data import DataLoader, TensorDataset, random_split

# %%
# The net and the data.


def build():
    """Two convolutions with normalised batches, a pooling, and two linear layers."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def digits():
    """Training and test images (n, 1, 8, 8) with their labels, four to one."""
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    data = TensorDataset(x, torch.tensor(labels))
    return random_split(data, [0.8, 0.2], generator=torch.Generator().manual_seed(0))


# %%
# How it is trained, and how well it does.


def accuracy(model, data):
    """The share of digits that the model names rightly."""
    model.eval()
    with torch.no_grad():
        right = sum(
            int((model(x).argmax(1) == y).sum()) for x, y in DataLoader(data, batch_size=256)
        )
    model.train()
    return right / len(data)


def step_of(model, optimizer):
    """A step of the training, as a function of a batch: the loss."""

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def train(model, training, test, epochs, quiet=False):
    """Train the model on some of the digits, and say how it does on the others."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    step = step_of(model, optimizer)
    batches = DataLoader(training, batch_size=32, shuffle=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, epochs * len(batches))
    for epoch in range(epochs):
        # disable=None: no bar where nobody sees it
        options = {"disable": True if quiet else None, "delay": 2, "leave": False}
        bar = tqdm(batches, desc=f"epoch {epoch + 1}/{epochs}", **options)
        for x, y in bar:
            loss = step(x, y)
            schedule.step()
            bar.set_postfix(loss=f"{loss.item():.3f}")
        if not quiet:
            print(f"epoch {epoch + 1}: {accuracy(model, test):.1%} of the test digits")


def milliseconds(training, *, compiled):
    """The time of a step of another training, by the step as it is, or compiled."""
    model = build()
    step = step_of(model, torch.optim.AdamW(model.parameters()))
    x, y = next(iter(DataLoader(training, batch_size=32)))
    if compiled:
        step = torch.compile(step, backend="llvm")
    for _ in range(4):  # recorded, built
        step(x, y)
    start = time.perf_counter()
    for _ in range(50):
        step(x, y)
    return (time.perf_counter() - start) / 50 * 1e3


def hardest(model, data):
    """A picture of the twelve digits to which the model gives the least chance."""
    import matplotlib.pyplot as plt  # here, as training does not need it

    x, y = next(iter(DataLoader(data, batch_size=len(data))))
    model.eval()
    with torch.no_grad():
        chances = nn.functional.softmax(model(x), 1)[torch.arange(len(y)), y].numpy()
    places = np.argsort(chances)[:12]
    figure, axes = plt.subplots(1, 12, figsize=(12, 1.6), layout="constrained")
    for place, axis in zip(places, axes, strict=True):
        axis.imshow(x[place, 0].numpy(), cmap="gray_r")
        axis.set_title(f"{y[place].item()}: {chances[place]:.0%}")
        axis.set_axis_off()
    return figure


def learn(epochs=12, quiet=False):
    """A trained model, and the digits that it has not seen."""
    torch.manual_seed(0)
    training, test = digits()
    model = build()
    train(model, training, test, epochs, quiet)
    return model, test


def main(epochs=12, quiet=False):
    """Train, and return the share of test digits that are named rightly."""
    return accuracy(*learn(epochs, quiet))


# %%
# Run it, for six epochs.
if __name__ == "__main__":
    start = time.perf_counter()
    model, test = learn(epochs=6)
    assert accuracy(model, test) > 0.97
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"cost: {time.perf_counter() - start:.1f} s; 270 steps, of {count:,} parameters")
    if find_spec("llvmlite"):  # in the extra `fast`
        times = [milliseconds(digits()[0], compiled=x) for x in (False, True)]
        print("a step takes {:.1f} ms, as machine code {:.1f} ms".format(*times))
    figure = hardest(model, test)
    print("read next: docs/guides/training.md, docs/torch.md, docs/looking-inside.md")
    import matplotlib.pyplot as plt

    if len(sys.argv) > 1:  # a file for the picture
        figure.savefig(sys.argv[1])
    else:
        plt.show()
