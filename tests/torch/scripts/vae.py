"""A variational autoencoder of small drawn images, with distributions for the latent code.

rsample and kl_divergence, a warm-up of the weight of the divergence, an exponential moving average of
the weights, ExponentialLR, reconstruction, interpolation and samples under no_grad.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.distributions import Independent, Normal, kl_divergence
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(7)
device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")


def blobs(count, seed):
    """Ellipses on a 12 x 12 grid, with values from 0 to 1."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[:12, :12]
    centre = rng.uniform(3, 9, (2, count, 1, 1))
    width = rng.uniform(1.2, 3.0, (2, count, 1, 1))
    away = ((row - centre[0]) / width[0]) ** 2 + ((column - centre[1]) / width[1]) ** 2
    return torch.tensor(np.exp(-(away**2)), dtype=torch.get_default_dtype()).unsqueeze(1)


class VAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1),
            nn.SiLU(),
            nn.Conv2d(8, 16, 4, 2, 1),
            nn.GroupNorm(4, 16),
            nn.SiLU(),
            nn.Flatten(),
        )
        self.mu = nn.Linear(16 * 9, latent)
        self.log_sigma = nn.Linear(16 * 9, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, 16 * 9),
            nn.Unflatten(1, (16, 3, 3)),
            nn.ConvTranspose2d(16, 8, 4, 2, 1),
            nn.ELU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
        )
        self.register_buffer("zero", torch.zeros(latent))

    def encode(self, x):
        h = self.encoder(x)
        sigma = F.softplus(self.log_sigma(h)) + 1e-4
        return Independent(Normal(self.mu(h), sigma), 1)

    def prior(self):
        return Independent(Normal(self.zero, torch.ones_like(self.zero)), 1)

    def forward(self, x):
        posterior = self.encode(x)
        return self.decoder(posterior.rsample()), posterior


train_loader = DataLoader(TensorDataset(blobs(256, 0)), batch_size=32, shuffle=True)
held_out = blobs(64, 1).to(device)
model = VAE().to(device)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
optimizer = optim.Adam(model.parameters(), lr=4e-3)
scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
EPOCHS = 6

losses, metrics = [], {}
step = 0
for epoch in range(EPOCHS):
    model.train()
    for (x,) in train_loader:
        x = x.to(device)
        logits, posterior = model(x)
        reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none")
        reconstruction = reconstruction.sum(dim=(1, 2, 3))
        divergence = kl_divergence(posterior, model.prior())
        beta = min(1.0, step / 20)
        loss = (reconstruction + beta * divergence).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 5.0)
        optimizer.step()
        ema.update_parameters(model)
        losses.append(loss.item())
        step += 1
    scheduler.step()
    model.eval()
    ema.eval()
    with torch.no_grad():
        found = []
        for net in (model, ema.module):
            code = net.encode(held_out).base_dist.loc
            found.append(F.mse_loss(net.decoder(code).sigmoid(), held_out).item())
        found.append(kl_divergence(net.encode(held_out), net.prior()).mean().item())
    metrics[f"held out {epoch}"] = tuple(found)
    print(
        f"epoch {epoch}: loss {losses[-1]:.4f}, error {found[0]:.5f}, of the mean {found[1]:.5f}"
    )

with torch.no_grad():
    code = ema.module.encode(held_out[:2]).mean
    between = torch.lerp(code[0], code[1], torch.linspace(0, 1, 5, device=device).unsqueeze(1))
    metrics["between"] = ema.module.decoder(between).sigmoid().mean(dim=(1, 2, 3)).tolist()
    z = model.prior().sample((16,))
    metrics["samples"] = torch.sigmoid(model.decoder(z)).std().item()
    log_density = model.encode(held_out).log_prob(torch.zeros(4, device=device))
    metrics["density"] = log_density.mean().item()
