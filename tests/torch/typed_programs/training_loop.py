"""A training loop: a model of layers, a loss, an optimizer, evaluation without gradients."""

from typing import assert_type

import tapegrad.torch as torch
from tapegrad.torch import nn, optim
from tapegrad.torch.nn import functional as F  # noqa: N812 - PyTorch's habit

torch.manual_seed(0)
layer = nn.Linear(3, 4)
assert_type(layer.weight, nn.Parameter)
assert_type(layer.bias, nn.Parameter)
assert_type(layer.in_features, int)
model = nn.Sequential(layer, nn.ReLU(), nn.Linear(4, 2))
loss_of = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

x = torch.randn(8, 3)
y = torch.randint(0, 2, (8,))
assert_type(x, torch.Tensor)
assert_type(y, torch.Tensor)
assert_type(x.shape, torch.Size)
assert_type(x.size(0), int)
assert_type(x.dtype, torch.dtype)
assert_type(x.device, torch.device)
assert_type(layer(x), torch.Tensor)

total = 0.0
for _epoch in range(2):
    optimizer.zero_grad()
    logits: torch.Tensor = model(x)
    loss = loss_of(logits, y)
    assert_type(loss, torch.Tensor)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    total += loss.item()
assert_type(layer.weight.grad, torch.Tensor | None)

model.eval()
with torch.no_grad():
    probabilities = F.softmax(model(x), dim=-1)
    assert_type(probabilities, torch.Tensor)
    best = probabilities.max(dim=1)
    assert_type(best, torch.return_types.max)
    assert_type(best.indices, torch.Tensor)
    values, indices = torch.topk(probabilities, 1)
    assert_type(values, torch.Tensor)
    accuracy = (best.indices == y).float().mean()
    assert_type(accuracy, torch.Tensor)
    assert_type(accuracy.item(), int | float | bool)
