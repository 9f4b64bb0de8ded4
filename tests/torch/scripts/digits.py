"""Handwritten digits of scikit-learn are named by a convolutional net.

TensorDataset, random_split, dropout, AdamW with OneCycleLR, an averaged copy of the weights (SWA), early
stopping that goes back to the best state, a matrix of confusions.
"""

import copy

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"

images, labels = load_digits(return_X_y=True)
x = torch.from_numpy(images / 16.0).view(-1, 1, 8, 8)
y = torch.from_numpy(labels).long()
x = (x - x.mean()) / x.std()
data = TensorDataset(x[:900], y[:900])
train_data, valid_data, test_data = random_split(
    data, [500, 200, 200], generator=torch.Generator().manual_seed(3)
)
train_loader = DataLoader(train_data, batch_size=32, shuffle=True)
valid_loader = DataLoader(valid_data, batch_size=100)
test_loader = DataLoader(test_data, batch_size=100)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, kernel_size=3, padding="same")
        self.conv2 = nn.Conv2d(12, 24, kernel_size=3, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(24)
        self.dropout1 = nn.Dropout2d(0.1)
        self.dropout2 = nn.Dropout(0.3)
        self.fc1 = nn.Linear(24 * 16, 48)
        self.fc2 = nn.Linear(48, 10)

    def forward(self, x):
        x = F.leaky_relu(self.conv1(x), 0.1)
        x = self.dropout1(x)
        x = F.max_pool2d(F.gelu(self.norm(self.conv2(x))), 2)
        x = x.view(x.size(0), -1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=-1)


def test(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    confusion = torch.zeros(10, 10, dtype=torch.int64)
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
            confusion += torch.bincount(target * 10 + pred.squeeze(1), minlength=100).view(10, 10)
    return loss / len(loader.dataset), correct / len(loader.dataset), confusion


EPOCHS, PATIENCE = 6, 2
model = Net().to(device)
averaged = AveragedModel(model)
optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
scheduler = optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=8e-3, steps_per_epoch=len(train_loader), epochs=EPOCHS
)

losses, metrics = [], {}
best_loss, best_state, waited = float("inf"), None, 0
for epoch in range(1, EPOCHS + 1):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if batch_idx % 8 == 0:
            print(f"epoch {epoch} [{batch_idx * len(data)}/{len(train_data)}] {loss.item():.6f}")
    if epoch >= 3:
        averaged.update_parameters(model)
    valid_loss, valid_accuracy, _ = test(model, valid_loader)
    metrics[f"valid {epoch}"] = (valid_loss, valid_accuracy, scheduler.get_last_lr()[0])
    if valid_loss < best_loss:
        best_loss, best_state, waited = valid_loss, copy.deepcopy(model.state_dict()), 0
    else:
        waited += 1
        if waited >= PATIENCE:
            print("early stop")
            break

model.load_state_dict(best_state)
test_loss, test_accuracy, confusion = test(model, test_loader)
recall = confusion.diag() / confusion.sum(1)
update_bn(train_loader, averaged, device=device)
metrics["test"] = (test_loss, test_accuracy, *recall.tolist())
metrics["averaged"] = test(averaged, test_loader)[:2]
print(f"test {test_loss:.4f}, {test_accuracy:.1%}; of the mean", metrics["averaged"])
np.testing.assert_equal(confusion.sum().item(), len(test_data))
