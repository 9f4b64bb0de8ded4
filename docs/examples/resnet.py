"""ResNet-18 and ResNet-50 as a script of PyTorch would write them, and where their time goes.

He, Zhang, Ren and Sun, Deep residual learning for image recognition, 2015. The strides of the
bottlenecks are in their 3 x 3 convolutions, as in torchvision, so that its weights fit. A step of
training is profiled, and each kind of module has its share.

    python docs/examples/resnet.py [PICTURE]        # small images, of 64 x 64 pixels
    python docs/examples/resnet.py PICTURE 224      # of the size of ImageNet's
"""

import sys
import time

import tapegrad.torch as torch
from tapegrad.torch import nn

# %%
# The parts: two kinds of blocks beside a shortcut.


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


# %%
# The net, of both kinds.


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


# %%
# The published sizes: 11,689,512 and 25,557,032 parameters; 1.8 and 4.1 thousand million products
# for an image of 224 x 224 pixels. The products are counted by hooks on the modules.


def products(model, size):
    """How many products of two numbers the convolutions and the last layer take for an image."""
    counts = []

    def count(module, _inputs, out):
        each = module.weight.numel() // module.weight.shape[0]
        counts.append(each * out.numel())

    kinds = nn.Conv2d, nn.Linear
    hooks = [
        module.register_forward_hook(count)
        for module in model.modules()
        if isinstance(module, kinds)
    ]
    model.eval()
    with torch.no_grad():
        model(torch.zeros(1, 3, size, size))
    model.train()
    for hook in hooks:
        hook.remove()
    return sum(counts)


def check(models):
    """Hold both nets against what is known of them."""
    known = {"resnet18": (11_689_512, 1.81e9), "resnet50": (25_557_032, 4.09e9)}
    for name, (parameters, work) in known.items():
        assert sum(p.numel() for p in models[name].parameters()) == parameters
        # All but the last layer is proportional to the number of pixels.
        last = models[name].fc.weight.numel()
        scaled = (products(models[name], 32) - last) * (224 / 32) ** 2 + last
        assert abs(scaled / work - 1) < 0.01, (name, scaled)


# %%
# One step of training under PyTorch's profiler.


def profiled(model, size, batch=2):
    """The seconds of each operation in a step of training, forward and backward; and of all."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, 3, size, size)
    labels = torch.randint(0, 1000, (batch,))
    start = time.perf_counter()
    with torch.profiler.profile() as found:
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    seconds = time.perf_counter() - start
    print(f"  a step of training: loss {loss.item():.3f}, {seconds:.2f} s")
    shares = {e.key: e.self_cpu_time_total / 1e6 for e in found.key_averages()}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1])), seconds


def main(size=64):
    """Build, check, train a step of each, and draw where the time went."""
    import matplotlib.pyplot as plt  # here, as the nets do not need it

    start = time.perf_counter()
    torch.manual_seed(0)
    models = {"resnet18": resnet18(), "resnet50": resnet50()}
    check(models)
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    for (name, model), axis in zip(models.items(), axes, strict=True):
        count = sum(parameter.numel() for parameter in model.parameters())
        print(f"{name}: {count / 1e6:.1f} million parameters")
        shares, seconds = profiled(model, size)
        top = list(shares.items())[:8]
        names, times = zip(*reversed(top), strict=True)
        axis.barh(names, times)
        axis.set(title=f"{name}: {seconds:.2f} s a step", xlabel="seconds, without calls within")
    print(
        f"cost: {time.perf_counter() - start:.1f} s; a step of each net, its weights 46 and 102 MB"
    )
    print("read next: docs/torch.md, docs/looking-inside.md, docs/guides/performance.md")
    return figure


# %%
# Run it.
if __name__ == "__main__":
    import matplotlib.pyplot as plt

    figure = main(*map(int, sys.argv[2:3]))
    if len(sys.argv) > 1:  # a file for the picture
        figure.savefig(sys.argv[1])
    else:
        plt.show()
