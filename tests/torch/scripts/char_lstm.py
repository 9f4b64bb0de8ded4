"""A language model of letters: an LSTM by truncated backpropagation through time, with tied weights.

Hidden states carried from stretch to stretch and detached, gradients clipped, SGD whose rate falls on a
plateau, perplexity on held-out text, sampling letter by letter from LSTM's cell state.
"""

import math

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

torch.set_default_dtype(torch.float64)
torch.manual_seed(1111)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

WORDS = (
    "a tape logs each call and a replay reads it back the loss falls while the net learns".split()
)
text = " ".join(WORDS[(i * i + 3 * i) % len(WORDS)] for i in range(400))
vocabulary = sorted(set(text))
index = {letter: i for i, letter in enumerate(vocabulary)}
ids = torch.tensor([index[letter] for letter in text])
split = int(0.9 * len(ids))


def batchify(data, batch_size):
    steps = data.size(0) // batch_size
    return data.narrow(0, 0, steps * batch_size).view(batch_size, -1).t().contiguous().to(device)


train_data, valid_data = batchify(ids[:split], 8), batchify(ids[split:], 4)


class RNNModel(nn.Module):
    def __init__(self, tokens, width, layers, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(tokens, width)
        self.rnn = nn.LSTM(width, width, layers)
        self.decoder = nn.Linear(width, tokens)
        self.decoder.weight = self.encoder.weight
        self.layers, self.width = layers, width
        self.init_weights()

    def init_weights(self):
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        for name, parameter in self.rnn.named_parameters():
            if name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter)
            elif name.startswith("bias_hh"):
                with torch.no_grad():
                    parameter[self.width : 2 * self.width].fill_(1.0)

    def forward(self, x, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(output)), hidden

    def init_hidden(self, batch):
        weight = next(self.parameters())
        zeros = weight.new_zeros(self.layers, batch, self.width)
        return zeros, zeros.clone()


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt):
    length = min(bptt, len(source) - 1 - i)
    return source[i : i + length], source[i + 1 : i + 1 + length].reshape(-1)


model = RNNModel(len(vocabulary), 32, 2).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=4.0)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.25, patience=0)
BPTT = 20


def evaluate(source):
    model.eval()
    total = 0.0
    hidden = model.init_hidden(source.size(1))
    with torch.inference_mode():
        for i in range(0, source.size(0) - 1, BPTT):
            data, targets = get_batch(source, i, BPTT)
            output, hidden = model(data, hidden)
            total += len(data) * criterion(output.flatten(0, 1), targets).item()
    return total / (len(source) - 1)


losses, metrics = [], {}
for epoch in range(6):
    model.train()
    hidden = model.init_hidden(train_data.size(1))
    for i in range(0, train_data.size(0) - 1, BPTT):
        data, targets = get_batch(train_data, i, BPTT)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output.view(-1, len(vocabulary)), targets)
        loss.backward()
        norm = clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        losses.append(loss.item())
    valid = evaluate(valid_data)
    scheduler.step(valid)
    metrics[f"valid {epoch}"] = (
        valid,
        math.exp(valid),
        optimizer.param_groups[0]["lr"],
        norm.item(),
    )
    print(f"epoch {epoch}: loss {losses[-1]:.4f}, perplexity {math.exp(valid):.3f}")

model.eval()
letters = [index["t"]]
hidden = model.init_hidden(1)
with torch.no_grad():
    for _ in range(40):
        logits, hidden = model(torch.tensor([[letters[-1]]], device=device), hidden)
        weights = logits.squeeze().div(0.8).exp()
        letters.append(torch.multinomial(weights, 1).item())
metrics["letters"] = letters
print("".join(vocabulary[i] for i in letters))
