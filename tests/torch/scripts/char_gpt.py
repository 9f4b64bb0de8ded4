"""A small GPT on letters: causal attention, weight decay by groups, warm-up, accumulated gradients, a KV cache.

Pre-norm blocks with scaled_dot_product_attention, tied head, GPT-2's initialisation, AdamW under a
LambdaLR, top-k sampling that keeps keys and values, and a check of the cache against the whole context.
"""

import math

import torch
import torch.nn as nn
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(1337)
device = "cuda" if torch.cuda.is_available() else "cpu"
batch_size, block_size, n_embd, n_head, n_layer, dropout = 8, 24, 32, 4, 2, 0.1
max_iters, accumulation, learning_rate = 30, 2, 1e-2

text = "".join(f"{a} plus {b} is {a + b}; " for a in range(12) for b in range(12))
chars = sorted(set(text))
stoi = {ch: i for i, ch in enumerate(chars)}
itos = dict(enumerate(chars))
encode = lambda s: [stoi[c] for c in s]
decode = lambda ids: "".join(itos[i] for i in ids)
data = torch.tensor(encode(text), dtype=torch.long)
n = int(0.9 * len(data))
splits = {"train": data[:n], "val": data[n:]}


def get_batch(split):
    source = splits[split]
    ix = torch.randint(len(source) - block_size, (batch_size,))
    x = torch.stack([source[i : i + block_size] for i in ix])
    y = torch.stack([source[i + 1 : i + block_size + 1] for i in ix])
    return x.to(device), y.to(device)


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(n_embd, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in (q, k, v))
        if cache is not None:
            if "k" in cache:
                k = torch.cat((cache["k"], k), dim=2)
                v = torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention()
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.ModuleDict(
            {
                "c_fc": nn.Linear(n_embd, 4 * n_embd),
                "act": nn.GELU(approximate="tanh"),
                "c_proj": nn.Linear(4 * n_embd, n_embd),
                "dropout": nn.Dropout(dropout),
            }
        )

    def forward(self, x, cache=None):
        x = x + self.attn(self.ln_1(x), cache)
        h = self.ln_2(x)
        for layer in self.mlp.values():
            h = layer(h)
        return x + h


class GPT(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList([Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for name, p in self.named_parameters():
            if name.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.2 / math.sqrt(2 * n_layer))

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.2)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.2)

    def forward(self, idx, targets=None, caches=None, start=0):
        pos = torch.arange(start, start + idx.size(1), dtype=torch.long, device=idx.device)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for i, block in enumerate(self.h):
            x = block(x, None if caches is None else caches[i])
        x = self.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    def configure_optimizer(self):
        params = {name: p for name, p in self.named_parameters() if p.requires_grad}
        groups = [
            {"params": [p for p in params.values() if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in params.values() if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        caches = [{} for _ in self.h]
        for start in range(idx.size(1) - 1):
            self(idx[:, [start]], caches=caches, start=start)
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -1:], caches=caches, start=idx.size(1) - 1)
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            probs = F.softmax(logits, dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx


def schedule(step, warmup=5):
    if step < warmup:
        return (step + 1) / warmup
    ratio = (step - warmup) / (max_iters - warmup)
    return 0.1 + 0.45 * (1.0 + math.cos(math.pi * ratio))


@torch.no_grad()
def estimate_loss(model, iters=3):
    model.eval()
    out = {}
    for split in ("train", "val"):
        found = torch.zeros(iters)
        for k in range(iters):
            found[k] = model(*get_batch(split))[1].item()
        out[split] = found.mean()
    model.train()
    return out


model = GPT(len(chars)).to(device)
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
optimizer = model.configure_optimizer()
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)

losses, metrics = [], {}
for step in range(max_iters):
    for micro in range(accumulation):
        logits, loss = model(*get_batch("train"))
        (loss / accumulation).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.item())
    if step % 10 == 9:
        found = estimate_loss(model)
        metrics[f"step {step}"] = (found["train"].item(), found["val"].item())
        print(f"step {step}: train {found['train']:.4f}, val {found['val']:.4f}")

model.eval()
context = torch.tensor([encode("3 plus ")], device=device)
generated = model.generate(context, 16, temperature=0.7, top_k=5)
metrics["text"] = generated[0].tolist()
print(decode(generated[0].tolist()))

with torch.no_grad():  # with the cache and without it
    caches = [{} for _ in model.h]
    for i in range(generated.size(1)):
        cached, _ = model(generated[:, [i]], caches=caches, start=i)
    whole, _ = model(generated)
    assert torch.allclose(cached, whole)
    metrics["last logits"] = whole.flatten().tolist()
