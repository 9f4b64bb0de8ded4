"""A normalising flow, and a mixture density net, on two moons.

Affine couplings with masks as buffers, an invertible linear map with slogdet, log densities by distributions,
logsumexp, Adamax and CyclicLR, weight_norm, sampling through the inverse, a custom autograd Function.
"""

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal, Normal

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def moons(count, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, count)
    upper = rng.random(count) < 0.5
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    return torch.from_numpy(np.stack([x, y], 1) + rng.normal(0, 0.08, (count, 2)))


class BoundedExp(torch.autograd.Function):
    """exp whose argument is kept within bounds, and whose gradient is not cut off there."""

    @staticmethod
    def forward(ctx, x, bound):
        out = x.clamp(-bound, bound).exp()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return grad * out, None


class Coupling(nn.Module):
    def __init__(self, mask, width=24):
        super().__init__()
        self.register_buffer("mask", mask)
        self.net = nn.Sequential(
            nn.utils.parametrizations.weight_norm(nn.Linear(2, width)),
            nn.Mish(),
            nn.Linear(width, 4),
        )
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def parts(self, x):
        s, t = self.net(x * self.mask).chunk(2, dim=-1)
        free = 1 - self.mask
        return torch.tanh(s) * free, t * free

    def forward(self, x):
        s, t = self.parts(x)
        return x * BoundedExp.apply(s, 3.0) + t, s.sum(-1)

    def inverse(self, z):
        s, t = self.parts(z)
        return (z - t) * torch.exp(-s)


class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(2, 2))[0])

    def forward(self, x):
        return x @ self.weight.mT, torch.linalg.slogdet(self.weight)[1].expand(len(x))

    def inverse(self, z):
        return torch.linalg.solve(self.weight, z.mT).mT


class Flow(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(depth):
            mask = torch.tensor([float(i % 2), float(1 - i % 2)])
            self.layers.extend([Coupling(mask), Mix()])
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("cov", torch.eye(2))

    @property
    def base(self):
        return MultivariateNormal(self.mean, self.cov)

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for layer in self.layers:
            x, logdet = layer(x)
            total += logdet
        return self.base.log_prob(x) + total

    @torch.no_grad()
    def sample(self, count):
        z = self.base.sample((count,))
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


class MDN(nn.Module):
    """The second coordinate given the first, as a mixture of normals."""

    def __init__(self, parts=4):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(1, 24), nn.Softsign())
        self.pi = nn.Linear(24, parts)
        self.mu = nn.Linear(24, parts)
        self.sigma = nn.Linear(24, parts)

    def forward(self, x):
        h = self.hidden(x)
        scale = nn.functional.softplus(self.sigma(h)) + 1e-3
        return MixtureSameFamily(Categorical(logits=self.pi(h)), Normal(self.mu(h), scale))


data, held_out = moons(512, 0).to(device), moons(200, 1).to(device)
losses, metrics = [], {}

flow = Flow().to(device)
optimizer = torch.optim.Adamax(flow.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CyclicLR(
    optimizer, base_lr=2e-3, max_lr=2e-2, step_size_up=15, cycle_momentum=False
)
for step in range(60):
    batch = data[torch.randint(len(data), (128,), device=device)]
    loss = -flow.log_prob(batch).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
with torch.no_grad():
    metrics["flow"] = (-flow.log_prob(held_out).mean().item(), scheduler.get_last_lr()[0])
drawn = flow.sample(100)
metrics["drawn"] = (drawn.mean(0).tolist(), drawn.T.cov().flatten().tolist())
print(f"flow: {losses[-1]:.4f}, held out {metrics['flow'][0]:.4f}")

mdn = MDN().to(device)
optimizer = torch.optim.RAdam(mdn.parameters(), lr=3e-2)
for step in range(40):
    x, y = data[torch.randperm(len(data))[:128]].split(1, dim=1)
    loss = -mdn(x).log_prob(y.squeeze(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
with torch.no_grad():
    found = mdn(held_out[:, :1])
    metrics["mdn"] = (
        found.mean.mean().item(),
        found.variance.mean().item(),
        found.sample().std().item(),
    )
print(f"mixture: {losses[-1]:.4f}")
