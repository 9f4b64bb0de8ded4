"""A GAN that draws small images: two optimizers, transposed convolutions, spectral normalisation.

DCGAN's initialisation by apply, hinge losses, detach, requires_grad_ switched off while the other net learns,
a moving average of the generator, a gradient penalty by autograd.grad with create_graph on some steps.
"""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.utils.parametrizations import spectral_norm
from torch.utils.data import DataLoader, Dataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(999)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
nz, ngf, ndf, batch_size, num_epochs = 8, 8, 8, 16, 2


class Rings(Dataset):
    def __init__(self, count):
        rng = np.random.default_rng(5)
        row, column = np.mgrid[:16, :16]
        centre = rng.uniform(6, 10, (2, count, 1, 1))
        radius = np.hypot(row - centre[0], column - centre[1])
        size = rng.uniform(3, 6, (count, 1, 1))
        self.images = 2 * np.exp(-((radius - size) ** 2)) - 1

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i][None]


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("ConvTranspose") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.05)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            spectral_norm(nn.Conv2d(1, ndf, 4, 2, 1, bias=False)),
            nn.LeakyReLU(0.2, inplace=True),
            spectral_norm(nn.Conv2d(ndf, ndf * 2, 4, 2, 1)),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Flatten(),
            spectral_norm(nn.Linear(ndf * 2 * 16, 1)),
        )

    def forward(self, x):
        return self.main(x).squeeze(1)


def gradient_penalty(net, real, fake):
    mix = torch.rand(real.size(0), 1, 1, 1, device=device)
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (grad,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    return ((grad.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


loader = DataLoader(Rings(160), batch_size=batch_size, shuffle=True)
netG = Generator().to(device)
netG.apply(weights_init)
netD = Discriminator().to(device)
averageG = copy.deepcopy(netG).eval()
for p in averageG.parameters():
    p.requires_grad_(False)
optimizerD = optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999), amsgrad=True)
fixed_noise = torch.randn(8, nz, 1, 1, device=device)

losses, metrics = [], {}
for epoch in range(num_epochs):
    for i, real in enumerate(loader):
        real = real.to(device)
        noise = torch.randn(real.size(0), nz, 1, 1, device=device)
        netD.zero_grad()
        fake = netG(noise)
        errD = F.relu(1 - netD(real)).mean() + F.relu(1 + netD(fake.detach())).mean()
        if i % 2 == 0:
            errD = errD + 0.5 * gradient_penalty(netD, real, fake.detach())
        errD.backward()
        optimizerD.step()

        netD.requires_grad_(False)
        netG.zero_grad()
        errG = -netD(fake).mean()
        errG.backward()
        optimizerG.step()
        netD.requires_grad_(True)
        with torch.no_grad():
            for mean, p in zip(averageG.parameters(), netG.parameters()):
                mean.mul_(0.9).add_(p.data, alpha=0.1)
            for mean, b in zip(averageG.buffers(), netG.buffers()):
                mean.copy_(b)
        losses.append(errD.item())
        losses.append(errG.item())
    with torch.no_grad():
        drawn = averageG(fixed_noise).detach().cpu()
    metrics[f"epoch {epoch}"] = (drawn.mean().item(), drawn.std().item(), drawn.max().item())
    print(f"epoch {epoch}: D {errD:.4f}, G {errG:.4f}, drawn", metrics[f"epoch {epoch}"])
scores = netD(torch.as_tensor(Rings(16).images[:, None])).detach()
metrics["scores"] = scores.numpy().tolist()
