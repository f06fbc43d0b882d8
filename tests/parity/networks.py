"""Networks that torchvision lacks: ResNet v2 and Caffe's AlexNet. Parameters have this program's names."""

import torch
import torchvision
from torch.nn import functional

NORMALIZATIONS = ("response", "batch", "batch_affine", "batch_first")


class Preactivated(torch.nn.Module):
    """A block of ResNet v2: norm and ReLU before each convolution, and nothing behind the addition."""

    def __init__(self, channels, width, stride, projects, norm):
        super().__init__()
        self.bn1 = norm(channels)
        self.conv1 = torch.nn.Conv2d(channels, width, 1, bias=False)
        self.bn2 = norm(width)
        self.conv2 = torch.nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn3 = norm(width)
        self.conv3 = torch.nn.Conv2d(width, 4 * width, 1, bias=False)
        if projects:
            self.downsample = torch.nn.Sequential(torch.nn.Conv2d(channels, 4 * width, 1, stride, bias=False))
        self.projects = projects

    def forward(self, x):
        activated = functional.relu(self.bn1(x))
        shortcut = self.downsample(activated) if self.projects else x
        x = self.conv1(activated)
        x = self.conv2(functional.relu(self.bn2(x)))
        x = self.conv3(functional.relu(self.bn3(x)))
        return x + shortcut


class ResNetV2(torch.nn.Module):
    """ResNet-50 v2 (He et al., arXiv:1603.05027) with the padding of torchvision's resnet50."""

    def __init__(self, classes, norm=torch.nn.BatchNorm2d, width=64, blocks=(3, 4, 6, 3)):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, width, 7, 2, 3, bias=False)
        channels = width
        for stage, count in enumerate(blocks):
            layer = []
            for block in range(count):
                layer.append(Preactivated(channels, width, 2 if stage > 0 and block == 0 else 1, block == 0, norm))
                channels = 4 * width
            self.add_module(f"layer{stage + 1}", torch.nn.Sequential(*layer))
            width *= 2
        self.bn_last = norm(channels)
        self.fc = torch.nn.Linear(channels, classes)
        for module in self.modules():
            if isinstance(module, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = functional.max_pool2d(self.conv1(x), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(functional.relu(self.bn_last(x)).mean((2, 3)))


def strides_of_v1(model):
    """Moves the stride of down-sampling blocks of torchvision's resnet50 from the 3x3 convolution to the first 1x1."""
    for module in model.modules():
        if isinstance(module, torchvision.models.resnet.Bottleneck):
            module.conv1.stride, module.conv2.stride = module.conv2.stride, module.conv1.stride
    return model


class AlexNet(torch.nn.Module):
    """Caffe's bvlc_alexnet and three forms of alexnet_bn, without dropout. Pools round output sizes up.

    normalization: "response": local response norms; "batch", "batch_affine": batch norms of what conv2 to conv5 read,
    behind pools and ReLUs, without or with gamma and beta; "batch_first": batch norms before each ReLU.
    stem: "imagenet", or "small", a 5x5 convolution without a stride. Sources: BVLC/caffe, borisgin/nvcaffe-0.16.
    """

    STEMS = {"imagenet": (96, 11, 4, 0, 1), "small": (96, 5, 1, 2, 1)}
    LAYERS = ((256, 5, 1, 2, 2), (384, 3, 1, 1, 1), (384, 3, 1, 1, 2), (256, 3, 1, 1, 2))
    POOLED = (1, 2, 5)

    def __init__(self, classes, normalization="response", stem="imagenet", width=96, hidden=4096, image_size=227):
        super().__init__()
        assert normalization in NORMALIZATIONS
        self.normalization = normalization
        self.relu = torch.nn.ReLU()  # modules, so that hooks see what ReLUs and pools read
        self.pool = torch.nn.MaxPool2d(3, 2, ceil_mode=True)
        self.response = {"size": 5, "alpha": 1e-4, "beta": 0.75, "k": 1.0}  # alpha is divided by the size
        source = 3
        for number, (of_96, kernel, stride, padding, groups) in enumerate((self.STEMS[stem], *self.LAYERS), 1):
            channels = of_96 * width // 96
            has_bias = normalization != "batch_first" or number == 5
            self.add_module(f"conv{number}", torch.nn.Conv2d(source, channels, kernel, stride, padding, groups=groups,
                                                             bias=has_bias))
            if self.norms_first() or self.norms_behind(number):
                self.add_module(f"bn{number}", torch.nn.BatchNorm2d(channels, 1e-4, affine=normalization != "batch"))
            source = channels
        with torch.no_grad():
            # In training, batch norms of one value per channel are refused.
            features = self.eval().features(torch.zeros(1, 3, image_size, image_size)).shape[1]
        self.train()
        self.fc6 = torch.nn.Linear(features, hidden)
        self.fc7 = torch.nn.Linear(hidden, hidden)
        self.fc8 = torch.nn.Linear(hidden, classes)

    def norms_first(self):
        return self.normalization == "batch_first"

    def norms_behind(self, number):
        return self.normalization in ("batch", "batch_affine") and number < 5

    def features(self, x):
        """What fc6 reads: [N, channels * rows * columns]."""
        for number in range(1, 6):
            x = self.get_submodule(f"conv{number}")(x)
            if self.norms_first():
                x = self.get_submodule(f"bn{number}")(x)
            x = self.relu(x)
            if self.normalization == "response" and number <= 2:
                x = functional.local_response_norm(x, **self.response)
            if number in self.POOLED:
                x = self.pool(x)
            if self.norms_behind(number):
                x = self.get_submodule(f"bn{number}")(x)
        return x.flatten(1)

    def forward(self, x):
        x = self.relu(self.fc6(self.features(x)))
        return self.fc8(self.relu(self.fc7(x)))
