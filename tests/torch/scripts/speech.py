"""Made speech is written down: convolutions, a bidirectional LSTM and the CTC loss.

Batches of different lengths, LayerNorm over channels, log_softmax in CTC's order, lengths after a stride, AdamW,
SequentialLR of a warm-up and a decay, greedy decoding by unique_consecutive, the rate of letter errors.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.optim.lr_scheduler import ConstantLR, ExponentialLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, Dataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(17)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LETTERS, BANDS = 6, 8
spectra = np.random.default_rng(4).normal(size=(LETTERS + 1, BANDS))


class Speech(Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.items = []
        for _ in range(count):
            word = rng.integers(1, LETTERS + 1, rng.integers(2, 6))
            frames = [np.repeat(spectra[[c]], rng.integers(4, 7), axis=0) for c in word]
            wave = np.concatenate(frames) + rng.normal(0, 0.3, (sum(map(len, frames)), BANDS))
            self.items.append((torch.from_numpy(wave), torch.from_numpy(word)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    batch.sort(key=lambda item: item[0].shape[0], reverse=True)
    waves, words = zip(*batch)
    wave_lengths = torch.LongTensor([w.shape[0] for w in waves])
    word_lengths = torch.LongTensor([w.shape[0] for w in words])
    waves = pad_sequence(waves, batch_first=True).transpose(1, 2)
    return waves, torch.cat(words), wave_lengths, word_lengths


class CNNLayerNorm(nn.Module):
    def __init__(self, n_feats):
        super().__init__()
        self.layer_norm = nn.LayerNorm(n_feats)

    def forward(self, x):
        return self.layer_norm(x.transpose(1, 2).contiguous()).transpose(1, 2)


class Recogniser(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.conv1 = nn.Conv1d(BANDS, width, 3, stride=2, padding=1)
        self.norm1 = CNNLayerNorm(width)
        self.conv2 = nn.Conv1d(width, width, 3, padding=2, dilation=2)
        self.norm2 = nn.BatchNorm1d(width)
        self.glu = nn.Conv1d(width, 2 * width, 1)
        self.rnn = nn.LSTM(width, width, bidirectional=True)
        self.classifier = nn.Linear(2 * width, LETTERS + 1)

    def forward(self, x, lengths):
        x = F.relu6(self.norm1(self.conv1(x)))
        x = x + F.hardswish(self.norm2(self.conv2(x)))
        x = F.glu(self.glu(x), dim=1)
        lengths = torch.div(lengths + 1, 2, rounding_mode="floor")
        packed = pack_padded_sequence(x.permute(2, 0, 1), lengths.cpu())
        x, lengths = pad_packed_sequence(self.rnn(packed)[0])
        return self.classifier(x).log_softmax(dim=-1), lengths


def greedy(log_probs, lengths):
    words = []
    for n, frames in zip(lengths.tolist(), log_probs.argmax(-1).T):
        letters = torch.unique_consecutive(frames[:n])
        words.append(letters[letters != 0].tolist())
    return words


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


train_loader = DataLoader(Speech(160, 1), batch_size=16, shuffle=True, collate_fn=collate)
test_loader = DataLoader(Speech(48, 2), batch_size=16, collate_fn=collate)
model = Recogniser().to(device)
criterion = nn.CTCLoss(blank=0, zero_infinity=True).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, amsgrad=True)
scheduler = SequentialLR(
    optimizer,
    [
        LinearLR(optimizer, 0.2, total_iters=8),
        ConstantLR(optimizer, 0.9, 4),
        ExponentialLR(optimizer, 0.98),
    ],
    milestones=[8, 20],
)

losses, metrics = [], {}
for epoch in range(4):
    model.train()
    for waves, words, wave_lengths, word_lengths in train_loader:
        optimizer.zero_grad()
        log_probs, lengths = model(waves.to(device), wave_lengths)
        loss = criterion(log_probs, words.to(device), lengths, word_lengths)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0, norm_type=float("inf"))
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    model.eval()
    wrong = total = 0
    with torch.no_grad():
        for waves, words, wave_lengths, word_lengths in test_loader:
            found = greedy(*model(waves.to(device), wave_lengths))
            for word, truth in zip(found, words.split(word_lengths.tolist())):
                wrong += distance(word, truth.tolist())
                total += len(truth)
    metrics[f"epoch {epoch}"] = (wrong / total, optimizer.param_groups[0]["lr"])
    print(f"epoch {epoch}: loss {losses[-1]:.4f}, {wrong / total:.1%} of the letters wrong")
