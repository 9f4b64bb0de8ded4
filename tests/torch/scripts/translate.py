"""Sequence to sequence with attention: numbers written in words become digits.

A collate function with pad_sequence, packed sequences into a bidirectional GRU, a decoder of GRUCell with
additive attention and masks, teacher forcing, ignore_index and label smoothing, greedy decoding.
"""

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(11)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PAD, BOS, EOS = 0, 1, 2
DIGITS = "zero one two three four five six seven eight nine".split()
LETTERS = {c: i + 3 for i, c in enumerate(sorted(set(" ".join(DIGITS))))}


class Numbers(Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.pairs = []
        for _ in range(count):
            number = rng.integers(0, 10, rng.integers(1, 4))
            source = [LETTERS[c] for c in " ".join(DIGITS[d] for d in number)]
            self.pairs.append((torch.tensor(source), torch.tensor([BOS, *(number + 3), EOS])))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


def collate(batch):
    sources, targets = zip(*batch)
    lengths = torch.tensor([len(s) for s in sources])
    sources = pad_sequence(sources, batch_first=True, padding_value=PAD)
    targets = pad_sequence(targets, batch_first=True, padding_value=PAD)
    return sources, lengths, targets


class Encoder(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PAD)
        self.gru = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * width, width)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(
            self.embedding(x), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, last = self.gru(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        return states, torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(2 * width, width)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(self, hidden, states, mask):
        energy = torch.tanh(self.query(hidden).unsqueeze(1) + self.key(states))
        score = self.score(energy).squeeze(-1).masked_fill(~mask, -1e9)
        weights = score.softmax(dim=-1)
        return torch.bmm(weights.unsqueeze(1), states).squeeze(1), weights


class Seq2Seq(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.encoder = Encoder(len(LETTERS) + 3, width)
        self.embedding = nn.Embedding(13, width, padding_idx=PAD)
        self.attention = Attention(width)
        self.cell = nn.GRUCell(3 * width, width)
        self.out = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 13))

    def step(self, token, hidden, states, mask):
        context, weights = self.attention(hidden, states, mask)
        hidden = self.cell(torch.cat((self.embedding(token), context), dim=1), hidden)
        return self.out(hidden), hidden, weights

    def forward(self, sources, lengths, targets, teacher_forcing=0.8):
        states, hidden = self.encoder(sources, lengths)
        mask = sources != PAD
        token, outputs = targets[:, 0], []
        for t in range(1, targets.size(1)):
            logits, hidden, _ = self.step(token, hidden, states, mask)
            outputs.append(logits)
            forced = torch.rand(1).item() < teacher_forcing
            token = targets[:, t] if forced else logits.argmax(-1)
        return torch.stack(outputs, dim=1)

    @torch.no_grad()
    def decode(self, sources, lengths, longest=5):
        states, hidden = self.encoder(sources, lengths)
        mask = sources.ne(PAD)
        token = torch.full((sources.size(0),), BOS, dtype=torch.long, device=sources.device)
        done = torch.zeros_like(token, dtype=torch.bool)
        found = []
        for _ in range(longest):
            logits, hidden, weights = self.step(token, hidden, states, mask)
            token = torch.where(done, PAD, logits.argmax(-1))
            done |= token == EOS
            found.append(token)
            if done.all():
                break
        return torch.stack(found, dim=1), weights


train_loader = DataLoader(Numbers(256, 1), batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(Numbers(64, 2), batch_size=32, collate_fn=collate, num_workers=0)
model = Seq2Seq().to(device)
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[4, 5], gamma=0.5)

losses, metrics = [], {}
for epoch in range(6):
    model.train()
    for sources, lengths, targets in train_loader:
        sources, targets = sources.to(device), targets.to(device)
        optimizer.zero_grad()
        logits = model(sources, lengths, targets)
        loss = criterion(logits.transpose(1, 2), targets[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    model.eval()
    right = total = 0
    for sources, lengths, targets in test_loader:
        found, weights = model.decode(sources.to(device), lengths)
        width = min(found.size(1), targets.size(1) - 1)
        agree = found[:, :width] == targets[:, 1 : 1 + width]
        right += (agree & (targets[:, 1 : 1 + width] != PAD)).sum().item()
        total += (targets[:, 1:] != PAD).sum().item()
    metrics[f"epoch {epoch}"] = (right / total, weights.max().item(), weights.sum().item())
    print(f"epoch {epoch}: loss {losses[-1]:.4f}, {right / total:.1%} of the tokens")
