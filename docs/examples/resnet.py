"""ResNet-18 and ResNet-50 as a script of PyTorch would write them, with the names of its modules.

He, Zhang, Ren and Sun, Deep residual learning for image recognition, 2015. The strides of the
bottlenecks are in their 3 x 3 convolutions, as in torchvision, so that its weights fit.

    python docs/examples/resnet.py        # a step of training and an evaluation, small images
    python docs/examples/resnet.py 224    # of the size of ImageNet's
"""

import sys
import time

import tapegrad.torch as torch
from tapegrad.torch import nn


def convolution(channels, width, size, stride=1):
    """A convolution that keeps the size of the image, or divides it by the stride."""
    return nn.Conv2d(channels, width, size, stride, padding=size // 2, bias=False)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(self, channels, width, stride=1, downsample=None):
        super().__init__()
        self.conv1 = convolution(channels, width, 3, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = convolution(width, width, 3)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += shortcut
        return self.relu(out)


class Bottleneck(nn.Module):
    """A 3 x 3 convolution between two 1 x 1 convolutions, beside a shortcut."""

    expansion = 4

    def __init__(self, channels, width, stride=1, downsample=None):
        super().__init__()
        self.conv1 = convolution(channels, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = convolution(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = convolution(width, width * self.expansion, 1)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += shortcut
        return self.relu(out)


class ResNet(nn.Module):
    """Four stages of blocks, each but the first at half the resolution of the one before."""

    def __init__(self, block, layers, num_classes=1000):
        super().__init__()
        self.inplanes = 64
        self.conv1 = convolution(3, 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._stage(block, 64, layers[0], 1)
        self.layer2 = self._stage(block, 128, layers[1], 2)
        self.layer3 = self._stage(block, 256, layers[2], 2)
        self.layer4 = self._stage(block, 512, layers[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def _stage(self, block, width, count, stride):
        downsample = None
        if stride != 1 or self.inplanes != width * block.expansion:
            downsample = nn.Sequential(
                convolution(self.inplanes, width * block.expansion, 1, stride),
                nn.BatchNorm2d(width * block.expansion),
            )
        blocks = [block(self.inplanes, width, stride, downsample)]
        self.inplanes = width * block.expansion
        blocks += [block(self.inplanes, width) for _ in range(1, count)]
        return nn.Sequential(*blocks)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18(**options):
    """ResNet of 18 layers: 11.7 million parameters."""
    return ResNet(BasicBlock, [2, 2, 2, 2], **options)


def resnet50(**options):
    """ResNet of 50 layers: 25.6 million parameters."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **options)


def main(size=64, batch=4):
    """Train one step, then evaluate without a history, and say what it took."""
    for build in (resnet18, resnet50):
        torch.manual_seed(0)
        model = build()
        count = sum(parameter.numel() for parameter in model.parameters())
        print(f"{build.__name__}: {count / 1e6:.1f} million parameters")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        images = torch.randn(batch, 3, size, size)
        labels = torch.randint(0, 1000, (batch,))
        start = time.perf_counter()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        print(f"  a step of training: loss {loss.item():.3f}, {time.perf_counter() - start:.2f} s")
        model.eval()
        start = time.perf_counter()
        with torch.no_grad():
            scores = model(images)
        print(f"  an evaluation: {tuple(scores.shape)}, {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
