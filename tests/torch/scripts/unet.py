"""Segmentation by a U-Net: cells in noisy images.

Skip connections with cat, max pooling, bilinear interpolation and transposed convolution, padding where
sizes are odd, a Dice loss beside the binary one with pos_weight, RMSprop with StepLR, IoU, mixed precision's idiom.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Subset

torch.set_default_dtype(torch.float64)
torch.manual_seed(5)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Cells(Dataset):
    """Images of 18 x 18 pixels, so that the second halving is odd."""

    def __init__(self, count):
        rng = np.random.default_rng(21)
        row, column = np.mgrid[:18, :18]
        self.masks = np.zeros((count, 18, 18))
        for mask in self.masks:
            for _ in range(rng.integers(1, 4)):
                y, x, r = *rng.uniform(2, 16, 2), rng.uniform(2, 4)
                mask[(row - y) ** 2 + (column - x) ** 2 < r * r] = 1
        self.images = 0.7 * self.masks + rng.normal(0, 0.3, self.masks.shape)

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, i):
        return {
            "image": torch.as_tensor(self.images[i].copy()).unsqueeze(0),
            "mask": torch.as_tensor(self.masks[i].copy()).long().contiguous(),
        }


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        mid_channels = mid_channels or out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.InstanceNorm2d(out_channels, affine=True),
            nn.PReLU(),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diff_y = x2.size()[2] - x1.size()[2]
        diff_x = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diff_x // 2, diff_x - diff_x // 2, diff_y // 2, diff_y - diff_y // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels=1):
        super().__init__()
        self.inc = DoubleConv(n_channels, 6)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(6, 12))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(12, 12))
        self.up1 = Up(24, 6, bilinear=True)
        self.up2 = Up(12, 6, bilinear=False)
        self.aux = nn.Conv2d(12, 1, 1)
        self.outc = nn.Conv2d(6, 1, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        aux = F.interpolate(self.aux(x3), size=x.shape[-2:], mode="bilinear", align_corners=False)
        x = self.up1(x3, x2)
        x = self.up2(torch.cat([x, x], dim=1), x1)
        return self.outc(x).squeeze(1), aux.squeeze(1)


def dice_coeff(input, target, epsilon=1e-6):
    inter = 2 * (input * target).sum(dim=(-1, -2))
    sets_sum = input.sum(dim=(-1, -2)) + target.sum(dim=(-1, -2))
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


@torch.inference_mode()
def evaluate(net, dataloader, device):
    net.eval()
    dice, intersection, union = 0.0, 0, 0
    for batch in dataloader:
        image, mask = batch["image"].to(device), batch["mask"].to(device)
        pred = torch.sigmoid(net(image)[0]) > 0.5
        dice += dice_coeff(pred.to(image.dtype), mask.to(image.dtype)).item()
        intersection += (pred & mask.bool()).sum().item()
        union += (pred | mask.bool()).sum().item()
    net.train()
    return dice / max(len(dataloader), 1), intersection / union


cells = Cells(72)
train_loader = DataLoader(Subset(cells, range(56)), batch_size=8, shuffle=True)
val_loader = DataLoader(Subset(cells, range(56, 72)), batch_size=8)
model = UNet().to(device)
optimizer = torch.optim.RMSprop(
    model.parameters(), lr=2e-3, weight_decay=1e-8, momentum=0.9, foreach=True
)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))

losses, metrics = [], {}
for epoch in range(4):
    for batch in train_loader:
        images, true_masks = batch["image"].to(device), batch["mask"].to(device)
        with torch.autocast(device.type, enabled=False):
            masks_pred, aux = model(images)
            target = true_masks.double()
            loss = criterion(masks_pred, target) + 0.3 * criterion(aux, target)
            loss += 1 - dice_coeff(torch.sigmoid(masks_pred), target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    metrics[f"epoch {epoch}"] = evaluate(model, val_loader, device)
    print(f"epoch {epoch}: loss {losses[-1]:.4f}, Dice and IoU", metrics[f"epoch {epoch}"])
