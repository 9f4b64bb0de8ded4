"""Texts are sorted by topic: an EmbeddingBag over offsets, and pairs of words by negative sampling before.

A collate function that makes offsets, WeightedRandomSampler, Adagrad and StepLR, logsigmoid, per-sample
weights, hooks on gradients, metrics per class, the state saved by name and taken over in part.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

torch.set_default_dtype(torch.float64)
torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
VOCABULARY, WIDTH, TOPICS = 60, 16, 4
rng = np.random.default_rng(31)
frequencies = rng.dirichlet(np.full(VOCABULARY, 0.3), TOPICS)


class Texts(Dataset):
    def __init__(self, count):
        self.labels = rng.choice(TOPICS, count, p=[0.4, 0.3, 0.2, 0.1])
        lengths = rng.integers(4, 15, count)
        self.texts = [
            rng.choice(VOCABULARY, n, p=frequencies[t]) for t, n in zip(self.labels, lengths)
        ]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        return self.labels[i], self.texts[i]


def collate_batch(batch):
    labels, texts, offsets = [], [], [0]
    for label, text in batch:
        labels.append(label)
        texts.append(torch.tensor(text, dtype=torch.int64))
        offsets.append(texts[-1].size(0))
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    return torch.tensor(np.array(labels), dtype=torch.int64), torch.cat(texts), offsets


class SkipGram(nn.Module):
    """Words near each other, against words drawn by frequency."""

    def __init__(self):
        super().__init__()
        self.centre = nn.Embedding(VOCABULARY, WIDTH, max_norm=4.0)
        self.context = nn.Embedding(VOCABULARY, WIDTH)
        self.context.weight.data.uniform_(-0.1, 0.1)

    def forward(self, centre, context, negative):
        v = self.centre(centre)
        positive_score = (v * self.context(context)).sum(-1)
        negative_score = torch.bmm(self.context(negative), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(positive_score) + F.logsigmoid(-negative_score).sum(-1)).mean()


class TextClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.centre = nn.EmbeddingBag(VOCABULARY, WIDTH, mode="sum")
        self.weighting = nn.Embedding(VOCABULARY, 1)
        self.fc = nn.Linear(WIDTH, TOPICS)
        nn.init.zeros_(self.weighting.weight)

    def forward(self, text, offsets):
        weights = torch.sigmoid(self.weighting(text)).squeeze(-1)
        return self.fc(self.centre(text, offsets, per_sample_weights=weights))


train_set, test_set = Texts(400), Texts(120)
losses, metrics = [], {}

pairs = [(t[i], t[i + 1]) for t in train_set.texts for i in range(0, len(t) - 1, 3)]
pairs = torch.tensor(np.array(pairs), device=device)
counts = torch.bincount(torch.from_numpy(np.concatenate(train_set.texts)), minlength=VOCABULARY)
noise = counts.double().pow(0.75)
skip_gram = SkipGram().to(device)
optimizer = torch.optim.Adadelta(skip_gram.parameters(), lr=1.0)
for epoch in range(2):
    for part in torch.randperm(len(pairs)).chunk(12):
        centre, context = pairs[part].unbind(1)
        negative = torch.multinomial(noise, len(part) * 3, replacement=True).view(-1, 3)
        loss = skip_gram(centre, context, negative)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
vectors = F.normalize(skip_gram.centre.weight.detach(), dim=1)
similar = (vectors @ vectors.T).fill_diagonal_(-1).max(dim=1)
metrics["similar"] = similar.values.tolist()
metrics["neighbours"] = similar.indices.tolist()

model = TextClassifier().to(device)
missing, unexpected = model.load_state_dict(skip_gram.state_dict(), strict=False)
metrics["keys"] = (len(missing), len(unexpected))
norms = []
model.centre.weight.register_hook(lambda grad: norms.append(grad.norm().item()))
share = 1.0 / np.bincount(train_set.labels)
sampler = WeightedRandomSampler(share[train_set.labels], num_samples=len(train_set))
train_loader = DataLoader(train_set, batch_size=25, sampler=sampler, collate_fn=collate_batch)
test_loader = DataLoader(test_set, batch_size=40, collate_fn=collate_batch)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.8, 0.9, 1.1, 1.2]))
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7)
for epoch in range(3):
    model.train()
    for label, text, offsets in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(text.to(device), offsets.to(device)), label.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    model.eval()
    hits, seen = torch.zeros(TOPICS), torch.zeros(TOPICS)
    with torch.no_grad():
        for label, text, offsets in test_loader:
            predicted = model(text, offsets).argmax(1)
            hits.index_put_((label,), (predicted == label).double(), accumulate=True)
            seen.index_add_(0, label, torch.ones(len(label)))
    metrics[f"epoch {epoch}"] = ((hits / seen).tolist(), np.mean(norms))
    print(f"epoch {epoch}: loss {losses[-1]:.4f}, recall {hits / seen}")
