"""Random models and batches without ReLU or max pool inputs near a kink: two programs differ only by rounding."""

import copy
import itertools

import torch
import torchvision
from torch.nn import functional

import batch_norm
import reference

#: Least distance of values (of unit deviation) from zero, times the number of values in a channel. It must exceed their
#: errors in fp32 (1e-6 at the first ReLU with 10,000 values, 5e-4 at the last with 32), and gaps so wide must be common.
CLEARANCE = 0.4


def shift_away_from_zero(values):
    """The smallest shift of each channel of `values` that moves zero into a gap between the values.

    The gap is wider for channels with fewer values: late layers have fewer values and larger errors.
    """
    ordered = values.transpose(0, 1).flatten(1).sort(dim=1).values
    margin = CLEARANCE / ordered.shape[1]
    infinity = torch.full_like(ordered[:, :1], float("inf"))
    low = torch.cat([-infinity, ordered], dim=1) + margin
    high = torch.cat([ordered, infinity], dim=1) - margin
    threshold = torch.zeros_like(low).maximum(low).minimum(high)  # the place nearest to zero between two values
    cost = threshold.abs().masked_fill(low > high, float("inf"))
    return -threshold.gather(1, cost.argmin(dim=1, keepdim=True)).squeeze(1)


def keep_relus_clear(model, images, frozen):
    """Shifts batch-norm biases slightly, so that no ReLU has an input near zero on these images.

    The gradient of a ReLU jumps at zero: a single unit whose sign differs between fp32 and float64 moves the whole
    gradient by 1e-3 to 1e-2. Without such units both gradients differ only by rounding.
    """
    exact = copy.deepcopy(model).double()
    reference.train_mode(exact, frozen)
    pairs, handles = [], []

    def watch(relu, its_norms, their_norms):
        turn = itertools.cycle(range(len(its_norms)))

        def before(_, inputs):
            at = next(turn)
            bias = its_norms[at].bias.detach()
            wanted = bias + shift_away_from_zero(inputs[0])
            rounded = wanted.float()
            pairs.append((their_norms[at], rounded))
            return (inputs[0] + (rounded.double() - bias)[None, :, None, None],)

        handles.append(relu.register_forward_pre_hook(before))

    watch(exact.relu, [exact.bn1], [model.bn1])
    for name, block in exact.named_modules():
        if isinstance(block, torchvision.models.resnet.Bottleneck):
            twin = model.get_submodule(name)
            watch(block.relu, [block.bn1, block.bn2, block.bn3], [twin.bn1, twin.bn2, twin.bn3])
    with torch.no_grad():
        exact(images.double())
        for norm, bias in pairs:
            norm.bias.copy_(bias)
    for handle in handles:
        handle.remove()


def draw(seed, samples, frozen, pool_clearance_wanted, last_gammas=(0.5, 1.5), side=32, group=None):
    """A model and a batch without ReLU or max pool inputs near a kink. If `frozen`, running statistics fit them."""
    torch.manual_seed(seed)
    model = reference.random_model(last_gammas=last_gammas, group=group)
    while True:
        images, labels = reference.random_batch(samples, side)
        if frozen:
            batch_norm.use_statistics_of(model, images)
        if pool_clearance(model, images, frozen) <= pool_clearance_wanted:
            continue  # the shifts that follow would hardly change it
        keep_relus_clear(model, images, frozen)
        if pool_clearance(model, images, frozen) > pool_clearance_wanted:
            return model, images, labels


def pool_clearance(model, images, frozen):
    """The smallest lead of a max pool's maximum over the next value: of close ones, either may get the gradient."""
    exact = torch.nn.Sequential(*copy.deepcopy([model.conv1, model.bn1, model.relu])).double()
    reference.train_mode(exact, frozen)
    with torch.no_grad():
        values = exact(images.double())
        windows = functional.unfold(values, kernel_size=3, stride=2, padding=1)  # zeros outside never win
        windows = windows.view(values.shape[0], values.shape[1], 9, -1)
        best = windows.topk(2, dim=2).values
        return (best[:, :, 0] - best[:, :, 1])[best[:, :, 0] > 0].min().item()


def alexnet_clearance(model, images):
    """How close the nearest input of a ReLU or a max pool is to a kink, in units of the layer's largest error in fp32:
    above 1, all of fp32's decisions are those of float64."""
    def inputs_of(twin, batch):
        found = []
        for module in (twin.relu, twin.pool):
            module.register_forward_pre_hook(lambda layer, inputs: found.append((layer, inputs[0].clone())))
        with torch.no_grad():
            twin.train()(batch)
        return found

    nearest = float("inf")
    for (layer, exact), (_, single) in zip(inputs_of(copy.deepcopy(model).double(), images.double()),
                                           inputs_of(copy.deepcopy(model), images)):
        error = (single - exact).abs().max().item()
        if isinstance(layer, torch.nn.MaxPool2d):
            nearest = min(nearest, pool_lead(exact) / (2 * error))
        else:
            nearest = min(nearest, exact.abs().min().item() / error)
    return nearest


def pool_lead(values):
    """The smallest lead of a maximum over the next value in windows of 3 with stride 2, of values that are not
    negative. Where all are 0, a ReLU lets no gradient pass. Windows beyond the end see zeros, which never win."""
    padding = [0, (values.shape[3] - 3) % 2, 0, (values.shape[2] - 3) % 2]
    windows = functional.unfold(functional.pad(values, padding), kernel_size=3, stride=2)
    best = windows.view(values.shape[0], values.shape[1], 9, -1).topk(2, dim=2).values
    return (best[:, :, 0] - best[:, :, 1])[best[:, :, 0] > 0].min().item()


def draw_alexnet(seed, side, samples, least=2.0, tries=1000, **options):
    """A model and a batch with an alexnet_clearance() of at least `least`."""
    torch.manual_seed(seed)
    for _ in range(tries):
        model = reference.random_alexnet(image_size=side, **options)
        images, labels = reference.random_batch(samples, side)
        if alexnet_clearance(model, images) >= least:
            return model, images, labels
    raise RuntimeError(f"no draw of {tries} is clear of kinks")
