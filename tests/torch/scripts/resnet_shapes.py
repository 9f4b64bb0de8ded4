"""Images of drawn shapes are classified by a small residual network.

BatchNorm, random flips and crops in a Dataset, SGD with Nesterov's momentum, parameter groups, a cosine
schedule, a checkpoint in the middle that another model takes over, evaluation with top-2 accuracy.
"""

import io

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, Dataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Shapes(Dataset):
    """Squares, discs, crosses and stripes in noise, 3 x 16 x 16."""

    classes = ("square", "disc", "cross", "stripes")

    def __init__(self, count, seed, train=True):
        rng = np.random.default_rng(seed)
        row, column = np.mgrid[:16, :16]
        self.labels = rng.integers(0, 4, count)
        self.train = train
        images = []
        for label in self.labels:
            y, x = rng.uniform(5, 11, 2)
            dy, dx = np.abs(row - y), np.abs(column - x)
            mask = (
                np.maximum(dy, dx) < 4,
                dy**2 + dx**2 < 18,
                np.minimum(dy, dx) < 1.5,
                (row + int(y)) % 4 < 2,
            )[label]
            colour = rng.uniform(0.3, 1.0, (3, 1, 1))
            images.append(mask * colour + rng.normal(0, 0.2, (3, 16, 16)))
        self.images = torch.tensor(np.stack(images), dtype=torch.get_default_dtype())

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if self.train:
            if torch.rand(1).item() < 0.5:
                image = image.flip(-1)
            padded = F.pad(image, (2, 2, 2, 2), mode="reflect")
            top, left = torch.randint(0, 5, (2,)).tolist()
            image = padded[:, top : top + 16, left : left + 16]
        return image, int(self.labels[index])


class Block(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, 1, stride=stride, bias=False),
                nn.BatchNorm2d(planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True)
        )
        self.layer1 = nn.Sequential(Block(8, 8), Block(8, 8))
        self.layer2 = nn.Sequential(Block(8, 16, stride=2), Block(16, 16))
        self.layer3 = nn.Sequential(Block(16, 32, stride=2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(32, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.stem(x))))
        return self.fc(torch.flatten(self.pool(x), 1))


def make_optimizer(model):
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.SGD(
        [{"params": decay, "weight_decay": 5e-4}, {"params": plain, "weight_decay": 0.0}],
        lr=0.05,
        momentum=0.9,
        nesterov=True,
    )


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    top1 = top2 = total = 0
    loss_sum = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        out = model(x)
        loss_sum += F.cross_entropy(out, y, reduction="sum").item()
        _, best = out.topk(2, dim=1)
        hit = best.eq(y.view(-1, 1))
        top1 += hit[:, 0].sum().item()
        top2 += hit.any(dim=1).sum().item()
        total += y.size(0)
    return loss_sum / total, top1 / total, top2 / total


train_loader = DataLoader(Shapes(160, seed=1), batch_size=16, shuffle=True, drop_last=True)
test_loader = DataLoader(Shapes(96, seed=2, train=False), batch_size=48)
EPOCHS = 3

model = ResNet().to(device)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = make_optimizer(model)
scheduler = CosineAnnealingLR(optimizer, T_max=EPOCHS * len(train_loader))

losses, metrics = [], {}
for epoch in range(EPOCHS):
    model.train()
    for images, targets in train_loader:
        images, targets = images.to(device), targets.to(device)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(images), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    metrics[f"test {epoch}"] = evaluate(model, test_loader)
    if epoch == 1:  # as if the program had been stopped here, and started again
        file = io.BytesIO()
        torch.save(
            {
                "epoch": epoch,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
            },
            file,
        )
        file.seek(0)
        checkpoint = torch.load(file, map_location=device)
        model = ResNet().to(device)
        print(model.load_state_dict(checkpoint["model"]))
        optimizer = make_optimizer(model)
        scheduler = CosineAnnealingLR(optimizer, T_max=EPOCHS * len(train_loader))
        optimizer.load_state_dict(checkpoint["optimizer"])
        scheduler.load_state_dict(checkpoint["scheduler"])
    print(
        f"epoch {epoch}: loss {losses[-1]:.4f}", "test %.4f %.3f %.3f" % metrics[f"test {epoch}"]
    )
