"""torchvision's resnet50, and networks.py, in PyTorch: outputs, recipes, training steps in fp32 or float64.

A result is a dictionary of float64 arrays by name.
"""

import copy
import math

import torch
import torchvision
from PIL import Image
from torch.nn import functional
from torchvision import transforms

import networks
import peer
from batch_norm import norm_over, norms, state_of

CLASSES = 10
#: Defaults of the recipes. Learning rates are large, so that a step exceeds the fp32 rounding of weights, and not 1,
#: at which both forms of momentum agree.
RECIPE = {"momentum": 0.9, "nesterov": True, "weight_decay": 5e-4, "label_smoothing": 0.1, "learning_rates": [2.0],
          "frozen": False}
LARGE = 64.0  # deviation of pixels to 255


def make_model(classes, group=None, **options):
    """torchvision's resnet50 with its initialisation; batch norm over groups of `group` samples, or over the batch."""
    return torchvision.models.resnet50(num_classes=classes, norm_layer=norm_over(group), **options)


def learning_rates(schedule, batch, steps_per_epoch, epochs):
    """The rate of every update of a run, by a configuration's section "schedule" with the name one_cycle: a linear
    rise, then a linear or cosine fall, with the defaults and positions of torch.optim.lr_scheduler.OneCycleLR."""
    scaling = schedule.get("scaling", "none")
    ratio = 1.0 if scaling == "none" else batch / schedule["reference_batch"]
    peak = schedule["learning_rate"] * {"none": 1.0, "linear": ratio, "sqrt": math.sqrt(ratio)}[scaling]
    start = peak / schedule.get("div_factor", 25.0)
    end = start / schedule.get("final_div_factor", 1e4)
    steps = schedule.get("decay_steps", math.floor(schedule.get("decay_epochs", epochs) * steps_per_epoch + 0.5))
    top, last = max(schedule.get("peak_at", 0.3) * steps - 1, 0.0), steps - 1.0

    def rate(step):
        if step < top:
            return start + (peak - start) * step / top
        if step >= last:
            return end
        share = (step - top) / (last - top)
        if schedule.get("anneal", "cosine") == "linear":
            return peak + (end - peak) * share
        return end + (peak - end) * (1 + math.cos(math.pi * share)) / 2

    return [rate(step) for step in range(epochs * steps_per_epoch)]


def random_norms(model):
    """Random batch-norm parameters and statistics."""
    for norm in norms(model):
        if norm.affine:
            torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
            torch.nn.init.normal_(norm.bias, 0.0, 0.2)
        torch.nn.init.normal_(norm.running_mean, 0.0, 0.2)
        torch.nn.init.uniform_(norm.running_var, 0.5, 2.0)


def random_model(classes=CLASSES, last_gammas=(0.5, 1.5), group=None, version="v1.5"):
    """Random weights, batch-norm parameters and statistics. No last gamma of a block is zero."""
    model = networks.ResNetV2(classes, norm_over(group)) if version == "v2" else make_model(classes, group)
    if version == "v1":
        networks.strides_of_v1(model)
    random_norms(model)
    for module in model.modules():
        if isinstance(module, torchvision.models.resnet.Bottleneck):
            torch.nn.init.uniform_(module.bn3.weight, *last_gammas)
    return model


def random_alexnet(classes=CLASSES, **options):
    """AlexNet with random weights, biases and statistics. Before response norms, values are as large as those of images
    with pixels to 255, so that the norms change them."""
    model = networks.AlexNet(classes, **options)
    for module in model.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            torch.nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
            if module.bias is not None:
                torch.nn.init.normal_(module.bias, 0.0, 0.1)
    if model.normalization == "response":
        model.conv1.weight.data *= LARGE
        model.conv3.weight.data /= LARGE
    random_norms(model)
    return model


def random_batch(samples, side):
    """Images with large and small structure, and labels."""
    coarse = functional.interpolate(torch.randn(samples, 3, 4, 4), size=side, mode="bilinear", align_corners=False)
    return coarse + 0.5 * torch.randn(samples, 3, side, side), torch.randint(0, CLASSES, (samples,))


def expected_outputs(model, folder, style, size):
    """Outputs for the images in class folders after torchvision's transforms, and the labels."""
    steps = {
        "cifar": [transforms.Resize(size), transforms.ToTensor(),
                  transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))],
        "torchvision": [transforms.Resize(round(size * 256 / 224)), transforms.CenterCrop(size), transforms.ToTensor(),
                        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))],
    }
    transform = transforms.Compose(steps[style])
    listed = peer.images(folder)
    batch = torch.stack([transform(Image.open(path).convert("RGB")) for path, _ in listed])
    with torch.no_grad():
        return model(batch).numpy(), [label for _, label in listed]


def train_mode(model, frozen):
    model.train()
    for norm in norms(model):
        norm.train(not frozen)


def decays(parameter):
    """Whether the parameter has weight decay; batch norm and biases do not."""
    return parameter.dim() > 1


def make_sgd(model, recipe, decays=decays):
    groups = [{"params": [p for p in model.parameters() if decays(p)], "weight_decay": recipe["weight_decay"]},
              {"params": [p for p in model.parameters() if not decays(p)], "weight_decay": 0.0}]
    return torch.optim.SGD(groups, lr=1.0, momentum=recipe["momentum"], nesterov=recipe["nesterov"])


def train(model, images, labels, recipe, dtype, make_optimizer=make_sgd):
    """Trains from `model`'s weights on images [steps, N, ...]. Returns weights, statistics and momentum after the last
    step, and losses and outputs of each step."""
    model = copy.deepcopy(model).to(dtype)
    train_mode(model, recipe["frozen"])
    optimizer = make_optimizer(model, recipe)
    losses, outputs = [], []
    for batch, target, rate in zip(images, labels, recipe["learning_rates"]):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        output = model(batch.to(dtype))
        loss = functional.cross_entropy(output, target, label_smoothing=recipe["label_smoothing"])
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        outputs.append(output.detach())
    result = state_of(model)
    for name, parameter in model.named_parameters():
        result[f"momentum/{name}"] = optimizer.state[parameter]["momentum_buffer"].double().numpy()
    result["losses"] = torch.stack(losses).double().numpy()
    result["outputs"] = torch.stack(outputs).double().numpy()
    return result


def sample_losses(outputs, labels, smoothing):
    """Losses [steps, N] of outputs [steps, N, classes]."""
    logits = torch.from_numpy(outputs).flatten(0, 1)
    losses = functional.cross_entropy(logits, labels.flatten(), label_smoothing=smoothing, reduction="none")
    return losses.view(labels.shape).numpy()
