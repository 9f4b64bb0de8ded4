"""A variational autoencoder on digits, as a program of PyTorch's would be written.

An autoencoder squeezes an image of a digit through two numbers and draws it again. The variational
one puts a distribution there, so that each pair of numbers draws a digit: a map of all of them.
The modules, the optimiser and `backward()` are those of `tapegrad.torch`.

    python docs/examples/vae.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.distributions import Normal, kl_divergence

start = time.perf_counter()
torch.manual_seed(0)

# %%
# The data: 1,797 images of 8 x 8 pixels. The last 397 are kept for the test.
images, labels = load_digits(return_X_y=True)
data = torch.tensor(images / 16, dtype=torch.float32)
training, test = data[:1400], data[1400:]

# %%
# The model (D. Kingma, M. Welling 2013). The encoder gives a normal distribution of two numbers,
# the decoder the logit of each pixel's brightness.


class VAE(nn.Module):
    def __init__(self, latent=2, hidden=96):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, hidden), nn.Tanh(), nn.Linear(hidden, 2 * latent)
        )
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, 64))

    def encode(self, x):
        mean, log_scale = self.encoder(x).chunk(2, dim=1)
        return Normal(mean, log_scale.exp())

    def forward(self, x, noise):
        """The decoder's logits for a draw, and the distribution that it is from."""
        found = self.encode(x)
        return self.decoder(found.mean + found.stddev * noise), found


def loss_of(model, x, noise):
    """Minus the evidence's lower bound, of an image in the mean."""
    logits, found = model(x, noise)
    drawn = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    prior = Normal(torch.zeros_like(found.mean), torch.ones_like(found.mean))
    return (drawn + kl_divergence(found, prior).sum()) / len(x)


model = VAE()

# %%
# Is the gradient right? `gradcheck` holds it against differences, in double precision; and the
# divergence of two normal distributions is a formula.
small = VAE(hidden=3).double()
four, noise = training[:4].double(), torch.randn(4, 2).double()
inputs = list(small.decoder.parameters())


def loss_by_decoder(*parameters):
    names = [name for name, _ in small.decoder.named_parameters()]
    found = small.encode(four)
    at = found.mean + found.stddev * noise
    logits = torch.func.functional_call(
        small.decoder, dict(zip(names, parameters, strict=True)), (at,)
    )
    return nn.functional.binary_cross_entropy_with_logits(logits, four)


assert torch.autograd.gradcheck(loss_by_decoder, inputs)
encoded = small.encode(four)
mean, scale = encoded.mean.detach().numpy(), encoded.stddev.detach().numpy()
divergence = kl_divergence(encoded, Normal(torch.zeros(4, 2), torch.ones(4, 2)))
by_hand = (mean**2 + scale**2 - 1) / 2 - np.log(scale)
assert np.allclose(divergence.detach().numpy(), by_hand)

# %%
# Training.
epochs, losses = 40, []
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
for _ in range(epochs):
    total = 0.0
    for batch in torch.randperm(len(training)).split(100):
        x = training[batch]
        optimizer.zero_grad()
        loss = loss_of(model, x, torch.randn(len(x), 2))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x) / len(training)
    schedule.step()
    losses.append(total)
print(f"loss {losses[0]:.2f} in the first epoch, {losses[-1]:.2f} in the last")

# %%
# What is to be beaten: of all linear maps through two numbers, principal components are the best.
with torch.no_grad():
    codes = model.encode(test).mean
    again = torch.sigmoid(model.decoder(codes)).numpy()
error = np.mean((again - test.numpy()) ** 2)
pca = PCA(2).fit(training.numpy())
linear = pca.inverse_transform(pca.transform(test.numpy()))
linear_error = np.mean((linear - test.numpy()) ** 2)
print(f"error of unseen digits {error:.4f}, by principal components {linear_error:.4f}")
assert error < 0.95 * linear_error

# %%
# The picture: where the digits lie, and what each place draws.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
left.plot(losses)
left.set(title="loss", xlabel="epoch")
middle.scatter(*codes.numpy().T, c=labels[1400:], cmap="tab10", s=8)
middle.set(title="unseen digits, coloured by what they are", aspect="equal")
axis = np.linspace(-2.2, 2.2, 14).astype(np.float32)
grid = np.stack(np.meshgrid(axis, axis[::-1]), axis=-1).reshape(-1, 2)
with torch.no_grad():
    drawn = torch.sigmoid(model.decoder(torch.from_numpy(grid))).numpy()
tiles = drawn.reshape(14, 14, 8, 8).transpose(0, 2, 1, 3).reshape(112, 112)
right.imshow(tiles, cmap="gray_r")
right.set(title="what the decoder draws", xticks=[], yticks=[])

# %%
# What it cost, and what to read next.
view = torch.autograd.graph.tape(loss_of(model, training[:100], torch.randn(100, 2)), model)
kept = sum(row.bytes for row in view)
print(
    f"cost: {time.perf_counter() - start:.1f} s; {epochs * 14} steps; the tape of one has "
    f"{len(view)} rows, and keeps {kept / 1e3:.0f} kB"
)
print("read next: docs/guides/training.md, docs/torch.md, docs/looking-inside.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
