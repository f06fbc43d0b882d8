"""DeepCAM in PyTorch: the network by its reference's names, loss, score, training steps in fp32 or float64.

A result is a dictionary of float64 arrays by name. The network is DeepLabv3+ with a modified Xception, as in
mlcommons/hpc, deepcam; see workloads/deepcam/README.md. Options other than the defaults serve as negative controls in
tests: each does one thing wrong.
"""

import dataclasses

import numpy
import torch
from torch.nn import functional

import adaptive
import batch_norm
from deepcam_schedule import learning_rates

INPUTS, CLASSES = 16, 3
#: 1 / frequency^(1/8) of background, tropical cyclone, atmospheric river.
FREQUENCIES = (0.986267818390377, 0.0004578708870701058, 0.01327431072255291)
CLASS_WEIGHTS = tuple(frequency ** -0.125 for frequency in FREQUENCIES)
RATES = (1, 6, 12, 18)
#: As in the section "model" of a configuration.
PUBLISHED = {
    "height": 768, "width": 1152, "middle_blocks": 16,
    "widths": {"conv1": 32, "conv2": 64, "block1": 128, "block2": 256, "middle": 728, "block20": 1024, "conv3": 1536,
               "conv4": 1536, "conv5": 2048, "aspp": 256, "low_level": 48, "decoder": 256},
}


def narrow(height, width, channels, middle_blocks, middle=None):
    """A small model: `channels` channels near its ends, twice as many in the next layers, `middle` or three times as
    many in the middle."""
    widths = {name: channels * times for name, times in
              (("conv1", 1), ("conv2", 1), ("block1", 2), ("block2", 2), ("aspp", 2), ("low_level", 1), ("decoder", 2))}
    widths |= {name: middle or 3 * channels for name in ("middle", "block20", "conv3", "conv4", "conv5")}
    return {"height": height, "width": width, "widths": widths, "middle_blocks": middle_blocks}


@dataclasses.dataclass(frozen=True)
class Scenes:
    """Samples as in files: fields [N, H, W, inputs] and labels [N, H, W]."""

    fields: numpy.ndarray
    labels: numpy.ndarray

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, which):
        """The samples of a slice or a list of indices."""
        return Scenes(self.fields[which], self.labels[which])

    def nearby(self, seed):
        """The scenes with each value of the fields randomly kept or moved to the next fp32 number above or below."""
        to = numpy.random.default_rng(seed).choice(numpy.array([-numpy.inf, numpy.nan, numpy.inf], "float32"),
                                                   self.fields.shape)
        return Scenes(numpy.where(numpy.isnan(to), self.fields, numpy.nextafter(self.fields, to)), self.labels)


#: Lowest and highest values of each channel in the statistics file, as of winds, temperatures and pressures.
LOWEST = numpy.resize(numpy.array([-30.0, 180.0, 9e4, -1e-7], dtype="float32"), INPUTS)
HIGHEST = numpy.resize(numpy.array([50.0, 320.0, 1.05e5, 1.4e-6], dtype="float32"), INPUTS)


def random_scenes(count, height, width, seed):
    """Fields with large and small structure, mostly between the channel's minimum and maximum; labels depend on two."""
    source = torch.Generator().manual_seed(seed)
    coarse = torch.randn(count, INPUTS, 4, 4, generator=source)
    smooth = functional.interpolate(coarse, size=(height, width), mode="bicubic", align_corners=False)
    shares = 0.5 + 0.12 * (smooth + 0.5 * torch.randn(count, INPUTS, height, width, generator=source))
    labels = torch.where(shares[:, 0] > 0.62, 2, torch.where(shares[:, 1] > 0.66, 1, 0))
    fields = LOWEST + (HIGHEST - LOWEST) * shares.permute(0, 2, 3, 1).numpy()
    return Scenes(fields.astype("float32"), labels.numpy())


def inputs_of(scenes, dtype):
    """Fields [N, inputs, H, W] scaled by the channels' ranges, and labels [N, H, W]."""
    numbers = numpy.float64 if dtype == torch.float64 else numpy.float32
    lowest, highest = LOWEST.astype(numbers), HIGHEST.astype(numbers)
    fields = (scenes.fields.astype(numbers) - lowest) / (highest - lowest)
    return torch.from_numpy(fields).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(scenes.labels).long()


class Norm(torch.nn.Module):
    """A batch norm whose arrays are named NAME.bn.weight and so on."""

    def __init__(self, channels, kind):
        super().__init__()
        self.bn = kind(channels)

    def forward(self, values):
        return self.bn(values)


class SeparableConvolution(torch.nn.Module):
    """Depthwise 3 x 3, then 1 x 1, with nothing in between."""

    def __init__(self, inputs, outputs, stride=1, dilation=1):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(inputs, inputs, 3, stride, dilation, dilation, groups=inputs, bias=False)
        self.pointwise = torch.nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, values):
        return self.pointwise(self.conv1(values))


class Block(torch.nn.Module):
    """Separable convolutions with batch norm, with ReLU in between; a skip; ReLU at the end unless `ends_plain`.

    `widths`: channels of the input and of each convolution's output. `trailing`: stride of one more convolution without
    batch norm; the skip then has a convolution, too.
    """

    def __init__(self, widths, norm, trailing=None, ends_plain=False):
        super().__init__()
        layers = []
        for inputs, outputs in zip(widths, widths[1:]):
            layers += [SeparableConvolution(inputs, outputs), Norm(outputs, norm), torch.nn.ReLU()]
        layers.pop()
        if trailing is not None:
            layers.append(SeparableConvolution(widths[-1], widths[-1], trailing))
            self.skip = torch.nn.Conv2d(widths[0], widths[-1], 1, trailing, bias=False)
            self.skipbn = Norm(widths[-1], norm)
        self.rep = torch.nn.Sequential(*layers)
        self.last = torch.nn.Identity() if ends_plain else torch.nn.ReLU()

    def forward(self, values):
        return self.last(self.sum(values))

    def sum(self, values):
        return self.rep(values) + (self.skipbn(self.skip(values)) if hasattr(self, "skip") else values)


class Xception(torch.nn.Module):
    def __init__(self, widths, middle_blocks, norm, is_low_level_raw):
        super().__init__()
        w, self.middle_blocks, self.is_low_level_raw = widths, middle_blocks, is_low_level_raw
        self.conv1 = torch.nn.Conv2d(INPUTS, w["conv1"], 3, 2, 1, bias=False)
        self.bn1 = Norm(w["conv1"], norm)
        self.conv2 = torch.nn.Conv2d(w["conv1"], w["conv2"], 3, 1, 1, bias=False)
        self.bn2 = Norm(w["conv2"], norm)
        entry = [w[name] for name in ("conv2", "block1", "block2", "middle")]
        for number, (inputs, outputs) in enumerate(zip(entry, entry[1:]), 1):
            self.add_module(f"block{number}", Block([inputs, outputs, outputs], norm, trailing=2))
        for number in range(4, 4 + middle_blocks):
            self.add_module(f"block{number}", Block([w["middle"]] * 4, norm))
        last = Block([w["middle"], w["middle"], w["block20"]], norm, trailing=1, ends_plain=True)
        self.add_module(f"block{4 + middle_blocks}", last)
        for number, (inputs, outputs) in enumerate((("block20", "conv3"), ("conv3", "conv4"), ("conv4", "conv5")), 3):
            self.add_module(f"conv{number}", SeparableConvolution(w[inputs], w[outputs], dilation=2))
            self.add_module(f"bn{number}", Norm(w[outputs], norm))
        self.relus = torch.nn.ModuleList(torch.nn.ReLU() for _ in range(5))

    def forward(self, values):
        """The bottleneck's input, and the low-level features."""
        values = self.relus[0](self.bn1(self.conv1(values)))
        values = self.relus[1](self.bn2(self.conv2(values)))
        raw = self.block1.sum(values)
        values = low_level = self.block1.last(raw)
        for number in range(2, 5 + self.middle_blocks):
            values = self.get_submodule(f"block{number}")(values)
        for number in (3, 4, 5):
            convolution, norm = self.get_submodule(f"conv{number}"), self.get_submodule(f"bn{number}")
            values = self.relus[number - 1](norm(convolution(values)))
        return values, raw if self.is_low_level_raw else low_level


class Atrous(torch.nn.Module):
    def __init__(self, inputs, outputs, rate, norm):
        super().__init__()
        taps, padding = (1, 0) if rate == 1 else (3, rate)
        self.atrous_convolution = torch.nn.Conv2d(inputs, outputs, taps, 1, padding, rate, bias=False)
        self.bn = Norm(outputs, norm)
        self.relu = torch.nn.ReLU()

    def forward(self, values):
        return self.relu(self.bn(self.atrous_convolution(values)))


class Affine(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = torch.nn.Parameter(torch.zeros(channels, 1, 1))

    def forward(self, values):
        return self.weights * values + self.bias


class ImagePool(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.global_average_pool = torch.nn.Sequential(
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Conv2d(inputs, outputs, 1, bias=False), Affine(outputs),
            torch.nn.ReLU())

    def forward(self, values):
        return self.global_average_pool(values).expand(-1, -1, *values.shape[2:])


class Bottleneck(torch.nn.Module):
    def __init__(self, inputs, outputs, norm, rates):
        super().__init__()
        for number, rate in enumerate(rates, 1):
            self.add_module(f"aspp{number}", Atrous(inputs, outputs, rate, norm))
        self.global_avg_pool = ImagePool(inputs, outputs)
        self.conv = torch.nn.Conv2d(5 * outputs, outputs, 1, bias=False)
        self.bn = Norm(outputs, norm)
        self.relu = torch.nn.ReLU()

    def forward(self, values):
        views = [self.aspp1, self.aspp2, self.aspp3, self.aspp4, self.global_avg_pool]
        return self.relu(self.bn(self.conv(torch.cat([view(values) for view in views], dim=1))))


def doubled(inputs, outputs):
    """A transposed convolution that doubles height and width."""
    return torch.nn.ConvTranspose2d(inputs, outputs, 3, 2, 1, output_padding=1, bias=False)


class Upsampler(torch.nn.Module):
    def __init__(self, inputs, low_level, width, norm):
        super().__init__()

        def normed(layer):
            return [layer, Norm(width, norm), torch.nn.ReLU()]

        self.deconv1 = torch.nn.Sequential(*normed(doubled(inputs, width)), *normed(doubled(width, width)))
        self.conv1 = torch.nn.Sequential(
            *normed(torch.nn.Conv2d(width + low_level, width, 3, padding=1, bias=False)),
            *normed(torch.nn.Conv2d(width, width, 3, padding=1, bias=False)), torch.nn.Conv2d(width, width, 1))
        self.deconv2 = torch.nn.Sequential(*normed(doubled(width, width)))
        self.last_deconv = torch.nn.Sequential(doubled(width, CLASSES))

    def forward(self, values, low_level):
        values = self.conv1(torch.cat([self.deconv1(values), low_level], dim=1))
        return self.last_deconv(self.deconv2(values))


class DeepCam(torch.nn.Module):
    """Logits [N, classes, H, W] of fields [N, inputs, H, W]. `group`: samples per batch-norm group; None: the batch."""

    def __init__(self, model, group=None, is_low_level_raw=False, rates=RATES):
        super().__init__()
        norm, widths = batch_norm.norm_over(group), model["widths"]
        self.xception_features = Xception(widths, model["middle_blocks"], norm, is_low_level_raw)
        self.bottleneck = Bottleneck(widths["conv5"], widths["aspp"], norm, rates)
        self.conv2 = torch.nn.Conv2d(widths["block1"], widths["low_level"], 1, bias=False)
        self.bn2 = Norm(widths["low_level"], norm)
        self.relu = torch.nn.ReLU()
        self.upsample = Upsampler(widths["aspp"], widths["low_level"], widths["decoder"], norm)

    def forward(self, fields):
        values, low_level = self.xception_features(fields)
        return self.upsample(self.bottleneck(values), self.relu(self.bn2(self.conv2(low_level))))

    def before_relus(self, fields):
        """The input of each ReLU, in order of execution."""
        seen, relus = [], [module for module in self.modules() if isinstance(module, torch.nn.ReLU)]
        handles = [relu.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0])) for relu in relus]
        with torch.no_grad():
            self(fields)
        for handle in handles:
            handle.remove()
        return seen


def model_of(state, model, dtype, **options):
    """The model with these arrays, which must be exactly its own."""
    made = DeepCam(model, **options).to(dtype)
    arrays = {name: torch.from_numpy(values).to(dtype) for name, values in state.items()}
    missing, unexpected = made.load_state_dict(arrays, strict=False)
    assert all(name.endswith("num_batches_tracked") for name in (*missing, *unexpected)), (missing, unexpected)
    return made


def random_state(model, seed):
    """Random weights and batch-norm parameters, and statistics close to those of random scenes, as rounded to single
    precision."""
    torch.manual_seed(seed)
    made = DeepCam(model)
    for parameter in made.parameters():
        if parameter.dim() == 4:
            torch.nn.init.normal_(parameter, 0.0, (2.0 / parameter[0].numel()) ** 0.5)
        else:
            torch.nn.init.uniform_(parameter, -0.3, 0.3)
    for module in made.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
        if isinstance(module, Affine):
            torch.nn.init.uniform_(module.weights, 0.5, 1.5)
    scenes = random_scenes(2, model["height"], model["width"], seed)
    batch_norm.use_statistics_of(made, inputs_of(scenes, torch.float32)[0])
    return batch_norm.state_of(made)


def outputs(state, model, scenes, dtype=torch.float64, **options):
    """Outputs [N, classes, H, W], computed sample by sample."""
    made = model_of(state, model, dtype, **options).eval()
    with torch.no_grad():
        each = [made(inputs_of(scenes[at:at + 1], dtype)[0]) for at in range(len(scenes))]
    return torch.cat(each).double().numpy()


def pixel_loss(logits, labels, by_weights=False):
    """Mean over pixels of cross entropy times the class's weight. `by_weights` wrongly divides by the weights' sum."""
    weights = torch.tensor(CLASS_WEIGHTS, dtype=logits.dtype)
    if by_weights:
        return functional.cross_entropy(logits, labels, weights)
    return functional.cross_entropy(logits, labels, weights, reduction="none").mean()


def intersections_over_unions(logits, labels, absent=1.0):
    """Of each sample: the mean over classes of TP / (TP + FP + FN), or `absent` for a class in neither array."""
    predicted, scores = logits.argmax(axis=1), numpy.empty((len(labels), CLASSES))
    for each in range(CLASSES):
        ours, theirs = predicted == each, labels == each
        both, either = (ours & theirs).sum(axis=(1, 2)), (ours | theirs).sum(axis=(1, 2))
        scores[:, each] = numpy.where(either > 0, both / numpy.maximum(either, 1), absent)
    return scores.mean(axis=1)


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A run without its data: sections of a configuration. `group`: samples per group of batch norm; None: the batch.
    """

    model: dict
    batch: int
    schedule: dict
    optimizer: dict
    epochs: int = 1
    group: int = None


class Training:
    """Training steps from the arrays `start`. `by_weights` is of pixel_loss(); `wrong` has options of the optimizer."""

    def __init__(self, start, recipe, dtype, by_weights=False, wrong=(), **options):
        self.model = model_of(start, recipe.model, dtype, group=recipe.group, **options).train()
        self.dtype, self.by_weights = dtype, by_weights
        self.optimizer = adaptive.Adaptive(self.model.parameters(), recipe.optimizer, **dict(wrong))

    def step(self, scenes, rate):
        """Updates once. Returns the mean loss before the update."""
        fields, labels = inputs_of(scenes, self.dtype)
        self.model.zero_grad(set_to_none=True)
        loss = pixel_loss(self.model(fields), labels, self.by_weights)
        loss.backward()
        self.optimizer.step(rate)
        return loss.item()

    def before_relus(self, scenes):
        """Inputs of the ReLUs. Leaves running statistics unchanged."""
        kept = {name: values.clone() for name, values in self.model.state_dict().items()}
        seen = self.model.before_relus(inputs_of(scenes, self.dtype)[0])
        self.model.load_state_dict(kept)
        return seen


def train(start, epochs, recipe, dtype, shift=0, reaches_top=False, **options):
    """Arrays after the steps of these epochs, each a list of batches, and the mean loss of each epoch. `shift` and
    `reaches_top` are passed to learning_rates()."""
    training = Training(start, recipe, dtype, **options)
    rates = iter(learning_rates(recipe.schedule, sum(map(len, epochs)), reaches_top, shift))
    losses = [numpy.mean([training.step(batch, next(rates)) for batch in batches]) for batches in epochs]
    return batch_norm.state_of(training.model) | {"losses": numpy.array(losses)}
