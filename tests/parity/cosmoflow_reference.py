"""CosmoFlow in PyTorch: outputs and training steps in fp32 or float64, with arrays by Keras's names.

Converts Keras's layout of arrays (taps first, channels last, matrices transposed), and follows its rules for momentum,
weight decay and the learning rate. A result is a dictionary of float64 arrays by name. The architecture, its dropout,
L2 and rates are those of mlcommons/hpc, cosmoflow. Options other than the defaults serve as negative controls in tests:
each does one thing wrong.
"""

import dataclasses

import numpy
import torch
from torch.nn import functional

SLOPE, SCALE, TARGETS = 0.3, 1.2, 4
#: As in the section "model" of a configuration. Without dropout, which is random.
PUBLISHED = {"size": 128, "channels": [32, 64, 128, 256, 512], "dense": [128, 64], "dropout": 0}
REDSHIFTS = 4
#: In standard deviations. float64 values closer than this differ only by rounding.
EQUAL = 1e-12


@dataclasses.dataclass(frozen=True)
class Universes:
    """Samples as in files: counts [N, D, H, W, redshifts] and targets [N, 4]."""

    counts: numpy.ndarray
    targets: numpy.ndarray

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, which):
        """The samples of a slice or a list of indices."""
        return Universes(self.counts[which], self.targets[which])


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A run without its data: sections of a configuration, and numbers from other sections."""

    model: dict
    batch: int
    schedule: dict
    epochs: int = 1
    optimizer: dict = dataclasses.field(default_factory=lambda: {"momentum": 0, "weight_decay": 0})


class CosmoFlow(torch.nn.Module):
    """Predicts cosmological parameters [N, 4] from logarithms of counts [N, redshifts, D, H, W]."""

    def __init__(self, model, slope=SLOPE, scale=SCALE, flatten="channels last", pool_first=False):
        super().__init__()
        self.slope, self.scale, self.flatten, self.pool_first = slope, scale, flatten, pool_first
        channels, side = [REDSHIFTS, *model["channels"]], model["size"] >> len(model["channels"])
        widths = [channels[-1] * side ** 3, *model["dense"], TARGETS]
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv3d(*pair, kernel_size=3, padding=1) for pair in zip(channels, channels[1:]))
        self.dense = torch.nn.ModuleList(torch.nn.Linear(*pair) for pair in zip(widths, widths[1:]))
        self.dropout = torch.nn.Dropout(model["dropout"])

    def halved(self, values):
        """LeakyReLU and max pooling of 2 x 2 x 2. As LeakyReLU is increasing, their order changes only the speed."""
        if self.pool_first:
            return functional.leaky_relu(functional.max_pool3d(values, 2), self.slope)
        return functional.max_pool3d(functional.leaky_relu(values, self.slope), 2)

    def vectors(self, volumes):
        return (volumes.permute(0, 2, 3, 4, 1) if self.flatten == "channels last" else volumes).flatten(1)

    def forward(self, volumes):
        for convolution in self.convolutions:
            volumes = self.halved(convolution(volumes))
        values = self.vectors(volumes)
        for layer in self.dense[:-1]:
            values = self.dropout(functional.leaky_relu(layer(values), self.slope))
        return self.scale * torch.tanh(self.dense[-1](values))

    def decaying(self):
        """The weights with L2: kernels of all dense layers but the last."""
        return [layer.weight for layer in self.dense[:-1]]

    def least_lead(self, volumes):
        """The smallest distance of a LeakyReLU input from zero, or of a maximum from the next value, in standard
        deviations of the layer's values. Equal values do not count: they come from equal neighbourhoods and have equal
        gradients. Nor do zeros, which come from empty space and are exact in any precision."""
        leads = []

        def note(distances, deviation):
            leads.append((distances[distances > EQUAL * deviation].min() / deviation).item())

        for convolution in self.convolutions:
            values = convolution(volumes)
            best, second = windows_of(values).topk(2, dim=-1).values.unbind(-1)
            note(best.abs(), values.std())
            note(best - second, values.std())
            volumes = self.halved(values)
        values = self.vectors(volumes)
        for layer in self.dense[:-1]:
            values = layer(values)
            note(values.abs(), values.std())
            values = functional.leaky_relu(values, self.slope)
        return min(leads)


def windows_of(values):
    """The 2 x 2 x 2 windows: [N, C, D, H, W] -> [N, C, D/2, H/2, W/2, 8]."""
    return values.unfold(2, 2, 2).unfold(3, 2, 2).unfold(4, 2, 2).flatten(-3)


def keras_names(count, kind):
    """Keras's names of the layers of a kind. The first one has no number."""
    return [kind if index == 0 else f"{kind}_{index}" for index in range(count)]


def keras_layers(model):
    """Keras's name of each layer, the layer, and the permutation of its kernel's axes from Keras to PyTorch."""
    yield from ((name, layer, (4, 3, 0, 1, 2))
                for name, layer in zip(keras_names(len(model.convolutions), "conv3d"), model.convolutions))
    yield from ((name, layer, (1, 0)) for name, layer in zip(keras_names(len(model.dense), "dense"), model.dense))


def model_of(state, model, dtype, **options):
    """The model with these arrays, which must be exactly its own."""
    made = CosmoFlow(model, **options).to(dtype)
    left = dict(state)
    with torch.no_grad():
        for name, layer, axes in keras_layers(made):
            for values, into in ((left.pop(f"{name}/kernel:0").transpose(axes), layer.weight),
                                 (left.pop(f"{name}/bias:0"), layer.bias)):
                assert values.shape == tuple(into.shape), f"{name}: {values.shape}, expected {tuple(into.shape)}"
                into.copy_(torch.from_numpy(numpy.ascontiguousarray(values)))
    assert not left, f"unknown: {', '.join(left)}"
    return made


def state_of(model):
    found = {}
    for name, layer, axes in keras_layers(model):
        kernel = layer.weight.detach().double().numpy()
        found[f"{name}/kernel:0"] = kernel.transpose(numpy.argsort(axes)).copy()
        found[f"{name}/bias:0"] = layer.bias.detach().double().numpy().copy()
    return found


def random_state(model, seed):
    """Random weights, as rounded to single precision, that keep the deviation of values from layer to layer; nonzero
    biases; outputs where tanh is not flat."""
    torch.manual_seed(seed)
    made = CosmoFlow(model)
    for _, layer, _ in keras_layers(made):
        torch.nn.init.normal_(layer.weight, 0.0, (1.6 / layer.weight[0].numel()) ** 0.5)
        torch.nn.init.uniform_(layer.bias, -0.2, 0.2)
    return state_of(made)


def inputs_of(universes, dtype, apply_log=True):
    """Volumes [N, redshifts, D, H, W] and targets."""
    counts = torch.from_numpy(universes.counts).to(dtype).permute(0, 4, 1, 2, 3).contiguous()
    volumes = torch.log(counts + 1) if apply_log else counts / counts.mean(dim=(1, 2, 3, 4), keepdim=True)
    return volumes, torch.from_numpy(universes.targets).to(dtype)


def outputs(state, model, universes, dtype=torch.float64, apply_log=True, **options):
    """Outputs [N, 4]. Computed sample by sample, as samples of the published size take gigabytes."""
    made = model_of(state, model, dtype, **options)
    with torch.no_grad():
        each = [made(inputs_of(universes[at:at + 1], dtype, apply_log)[0]) for at in range(len(universes))]
    return torch.cat(each).double().numpy()


def learning_rate(schedule, epochs_done):
    """Warm-up from the base rate, not from zero, then factors of the peak. Boundaries take effect one epoch late."""
    base, warmup = schedule["learning_rate"], schedule.get("warmup_epochs", 0)
    peak = schedule.get("peak_learning_rate", base)
    if epochs_done < warmup:
        return base + (peak - base) * epochs_done / warmup
    rate = peak
    for boundary, factor in zip(schedule.get("decay_boundary_epochs", []), schedule.get("decay_factors", [])):
        if epochs_done > boundary:
            rate = peak * factor
    return rate


class Training:
    """Training steps from the arrays `start`. `form` is that of momentum. The loss contains l2_factor * weight_decay *
    sum of squares. `options` are the model's."""

    def __init__(self, start, recipe, dtype, form="keras", l2_factor=1.0, **options):
        self.model, self.dtype = model_of(start, recipe.model, dtype, **options), dtype
        self.recipe, self.form, self.l2_factor = recipe, form, l2_factor
        self.velocities = [torch.zeros_like(parameter) for parameter in self.model.parameters()]

    def step(self, universes, rate):
        """Updates once. Returns the mean loss before the update, without L2."""
        volumes, targets = inputs_of(universes, self.dtype)
        self.model.zero_grad(set_to_none=True)
        loss = functional.mse_loss(self.model(volumes), targets)
        squares = sum(weight.square().sum() for weight in self.model.decaying())
        (loss + self.l2_factor * self.recipe.optimizer["weight_decay"] * squares).backward()
        self.update(rate)
        return loss.item()

    def update(self, rate):
        """Keras's v = m v - lr g, w += v; PyTorch's own v = m v + g, w -= lr v differs when the rate changes."""
        with torch.no_grad():
            for parameter, velocity in zip(self.model.parameters(), self.velocities):
                velocity.mul_(self.recipe.optimizer["momentum"])
                if self.form == "keras":
                    velocity.sub_(parameter.grad, alpha=rate)
                    parameter.add_(velocity)
                else:
                    velocity.add_(parameter.grad)
                    parameter.sub_(velocity, alpha=rate)

    def gradient(self, universes):
        """Gradient of the mean loss, by the names of a result."""
        volumes, targets = inputs_of(universes, self.dtype)
        self.model.zero_grad(set_to_none=True)
        functional.mse_loss(self.model(volumes), targets).backward()
        twin = CosmoFlow(self.recipe.model).to(self.dtype)
        with torch.no_grad():
            for values, into in zip(self.model.parameters(), twin.parameters()):
                into.copy_(values.grad)
        return state_of(twin)

    def least_lead(self, universes):
        with torch.no_grad():
            return self.model.least_lead(inputs_of(universes, self.dtype)[0])


def train(start, batches, recipe, dtype, **options):
    """Weights after training on these batches for recipe.epochs epochs, and the mean loss of each epoch."""
    training = Training(start, recipe, dtype, **options)
    losses = [numpy.mean([training.step(batch, learning_rate(recipe.schedule, epoch)) for batch in batches])
              for epoch in range(recipe.epochs)]
    return state_of(training.model) | {"losses": numpy.array(losses)}
