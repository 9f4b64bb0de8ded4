"""Learning from few examples: an embedding by triplets, and weights that adapt fast (MAML).

TripletMarginLoss and cosine similarities with hard negatives, nearest centroids by cdist, then an inner
loop of gradient steps by functional_call under torch.func.grad and vmap, and by autograd.grad as a check.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap
from torch.utils.data import DataLoader, Dataset, RandomSampler

torch.set_default_dtype(torch.float64)
torch.manual_seed(23)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rng = np.random.default_rng(13)
CLASSES, FEATURES = 6, 10
centres = rng.normal(0, 1.0, (CLASSES, FEATURES))


class Triplets(Dataset):
    def __init__(self, count):
        self.labels = rng.integers(0, CLASSES, count)
        self.points = centres[self.labels] + rng.normal(0, 0.9, (count, FEATURES))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        same = np.flatnonzero(self.labels == self.labels[i])
        other = np.flatnonzero(self.labels != self.labels[i])
        positive, negative = same[(7 * i) % len(same)], other[(11 * i) % len(other)]
        return self.points[i], self.points[positive], self.points[negative], self.labels[i]


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(FEATURES, 32),
            nn.BatchNorm1d(32),
            nn.CELU(),
            nn.AlphaDropout(0.05),
            nn.Linear(32, 8),
        )

    def forward(self, x):
        return F.normalize(self.net(x), p=2, dim=1)


losses, metrics = [], {}
train_set, test_set = Triplets(240), Triplets(90)
loader = DataLoader(train_set, batch_size=24, sampler=RandomSampler(train_set, num_samples=192))
model = Embedding().to(device)
triplet = nn.TripletMarginLoss(margin=0.5, swap=True)
optimizer = torch.optim.Rprop(model.parameters(), lr=1e-3)
optimizer = torch.optim.ASGD(model.parameters(), lr=0.2)
for epoch in range(4):
    model.train()
    for anchor, positive, negative, label in loader:
        a, p, n = (model(x.to(device)) for x in (anchor, positive, negative))
        loss = triplet(a, p, n)
        similarity = F.cosine_similarity(a.unsqueeze(1), n.unsqueeze(0), dim=-1)
        loss = loss + 0.1 * similarity.max(dim=1).values.clamp(min=0).mean()
        target = torch.where(label == label.roll(1), 1, -1)
        loss = loss + 0.1 * F.cosine_embedding_loss(a, a.roll(1, 0), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
model.eval()
with torch.no_grad():
    known = model(torch.as_tensor(train_set.points))
    labels = torch.as_tensor(train_set.labels)
    centroid = torch.stack([known[labels == c].mean(0) for c in range(CLASSES)])
    nearest = torch.cdist(model(torch.as_tensor(test_set.points)), centroid).argmin(1)
    metrics["nearest"] = (nearest == torch.as_tensor(test_set.labels)).double().mean().item()
print(f"triplets: {losses[-1]:.4f}, {metrics['nearest']:.1%} by the nearest centroid")


def sines(tasks, shots):
    amplitude = torch.rand(tasks, 1, 1) * 2 + 0.5
    phase = torch.rand(tasks, 1, 1) * torch.pi
    x = torch.rand(tasks, 2 * shots, 1) * 4 - 2
    y = amplitude * torch.sin(x + phase)
    return x[:, :shots], y[:, :shots], x[:, shots:], y[:, shots:]


net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
net = net.to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
INNER_RATE = 0.1


def task_loss(params, x, y):
    return F.mse_loss(functional_call(net, params, (x,)), y)


def adapted_loss(params, x, y, x_query, y_query):
    for _ in range(2):
        grads = grad(task_loss)(params, x, y)
        params = {name: params[name] - INNER_RATE * grads[name] for name in params}
    return task_loss(params, x_query, y_query)


for step in range(20):
    tasks = sines(6, 8)
    params = dict(net.named_parameters())
    loss = vmap(adapted_loss, in_dims=(None, 0, 0, 0, 0))(params, *tasks).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

tasks = sines(3, 8)
params = dict(net.named_parameters())
by_func = vmap(adapted_loss, in_dims=(None, 0, 0, 0, 0))(params, *tasks).mean()
total = 0.0
for x, y, x_query, y_query in zip(*tasks):
    fast = list(params.values())
    for _ in range(2):
        inner = task_loss(dict(zip(params, fast)), x, y)
        steps = torch.autograd.grad(inner, fast, create_graph=True)
        fast = [w - INNER_RATE * g for w, g in zip(fast, steps)]
    total = total + task_loss(dict(zip(params, fast)), x_query, y_query) / 3
ours = torch.autograd.grad(by_func, list(params.values()))
loops = torch.autograd.grad(total, list(params.values()))
torch.testing.assert_close(ours, loops)
metrics["adapted"] = (by_func.item(), sum(g.norm().item() for g in ours))
print(f"adapted: {losses[-1]:.4f}, {metrics['adapted'][0]:.4f}")
