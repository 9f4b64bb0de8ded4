"""Nodes of a made graph are classified by graph convolutions and graph attention, without a library for graphs.

index_add_, scatter_add, scatter_reduce, a softmax over the edges of each node, semi-supervised masks,
dropout on attention, L2 by parameter groups, early stopping.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn import Linear, Module, Parameter

torch.set_default_dtype(torch.float64)
torch.manual_seed(12345)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

rng = np.random.default_rng(8)
NODES, CLASSES, FEATURES = 120, 3, 12
community = rng.integers(0, CLASSES, NODES)
near = community[:, None] == community[None, :]
adjacency = np.triu(rng.random((NODES, NODES)) < np.where(near, 0.10, 0.015), 1)
source, target = np.nonzero(adjacency | adjacency.T)
x = rng.normal(size=(NODES, FEATURES)) + 0.6 * np.eye(CLASSES, FEATURES)[community]
x = torch.from_numpy(x).to(device)
y = torch.from_numpy(community).to(device)
edge_index = torch.stack([torch.from_numpy(source), torch.from_numpy(target)]).to(device)
order = torch.randperm(NODES)
train_mask, val_mask, test_mask = (torch.zeros(NODES, dtype=torch.bool) for _ in range(3))
train_mask[order[:30]] = True
val_mask[order[30:60]] = True
test_mask[order[60:]] = True


def with_loops(edge_index, count):
    loops = torch.arange(count, device=edge_index.device).expand(2, -1)
    return torch.cat([edge_index, loops], dim=1)


class GCNConv(Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = Linear(in_channels, out_channels, bias=False)
        self.bias = Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self):
        self.lin.reset_parameters()
        self.bias.data.zero_()

    def forward(self, x, edge_index):
        row, col = with_loops(edge_index, x.size(0))
        deg = torch.zeros(x.size(0), device=x.device).scatter_add_(0, col, x.new_ones(col.size(0)))
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float("inf")] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        x = self.lin(x)
        out = torch.zeros_like(x).index_add_(0, col, norm.view(-1, 1) * x[row])
        return out + self.bias


class GATConv(Module):
    def __init__(self, in_channels, out_channels, heads):
        super().__init__()
        self.heads, self.out_channels = heads, out_channels
        self.weight = Parameter(torch.empty(in_channels, heads * out_channels))
        self.att = Parameter(torch.empty(2, heads, out_channels))
        torch.nn.init.xavier_uniform_(self.weight)
        bound = math.sqrt(6.0 / (heads + out_channels))
        self.att.data.uniform_(-bound, bound)

    def forward(self, x, edge_index):
        row, col = with_loops(edge_index, x.size(0))
        h = torch.matmul(x, self.weight).view(-1, self.heads, self.out_channels)
        alpha_src, alpha_dst = torch.einsum("nhc,khc->knh", h, self.att).unbind(0)
        score = F.leaky_relu(alpha_src.index_select(0, row) + alpha_dst[col], 0.2)
        index = col.unsqueeze(1).expand_as(score)
        empty = score.new_full((x.size(0), self.heads), -math.inf)
        top = empty.scatter_reduce(0, index, score.detach(), reduce="amax", include_self=True)
        score = (score - top.gather(0, index)).exp()
        norm = score.new_zeros(x.size(0), self.heads).scatter_add(0, index, score)
        alpha = F.dropout(score / norm[col], p=0.2, training=self.training)
        out = torch.zeros_like(h)
        out.index_add_(0, col, alpha.unsqueeze(-1) * h[row])
        return out.flatten(1)


class Net(Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GATConv(FEATURES, 8, heads=2)
        self.conv2 = GCNConv(16, 16)
        self.out = Linear(32, CLASSES)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.3, training=self.training)
        h1 = F.elu(self.conv1(x, edge_index))
        h2 = F.relu(self.conv2(h1, edge_index))
        return F.log_softmax(self.out(torch.hstack((h1, h2))), dim=1)


model = Net().to(device)
optimizer = torch.optim.Adam(
    [
        {
            "params": list(model.conv1.parameters()) + list(model.conv2.parameters()),
            "weight_decay": 5e-3,
        },
        {"params": model.out.parameters()},
    ],
    lr=0.01,
)


def train():
    model.train()
    optimizer.zero_grad()
    out = model(x, edge_index)
    loss = F.nll_loss(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def test():
    model.eval()
    pred = model(x, edge_index).argmax(dim=-1)
    return [
        (pred[m] == y[m]).sum().item() / int(m.sum()) for m in (train_mask, val_mask, test_mask)
    ]


losses, metrics = [], {}
best_val, best_test, patience = 0.0, 0.0, 0
for epoch in range(1, 81):
    losses.append(train())
    train_acc, val_acc, test_acc = test()
    if val_acc > best_val:
        best_val, best_test, patience = val_acc, test_acc, 0
    else:
        patience += 1
    if epoch % 20 == 0:
        metrics[f"epoch {epoch}"] = (train_acc, val_acc, test_acc)
        print(f"epoch {epoch}: {losses[-1]:.4f}, {train_acc:.3f} {val_acc:.3f} {test_acc:.3f}")
    if patience > 60:
        break
with torch.no_grad():
    logits = model(x, edge_index)
    degree = torch.bincount(edge_index[0], minlength=NODES)
    spread = torch.zeros(CLASSES).scatter_reduce(
        0, y, logits.exp().amax(1), "mean", include_self=False
    )
metrics["sure"] = spread.tolist()
metrics["degree"] = (degree.max().item(), degree.double().mean().item())
metrics["best"] = (best_val, best_test)
