"""Tests DeepCAM in PyTorch itself with known counts, values and rates, without the program.

Counts of parameters are those of the parts of the published model. Values of losses, scores and optimizers were
computed by hand. A step in fp32 is close to one in float64.
"""

import math

import peer

torch, = peer.require("torch")
import numpy

import adaptive
import batch_norm
import deepcam_reference as reference
import distance
from deepcam_schedule import learning_rates

TENSORS, NORMS, NORM_PARAMETERS, COUNT = 301, 76, 97_760, 56_454_720
#: Parameters in each part of the published model, by prefixes of names.
PARTS = {
    ("xception_features.conv1.", "xception_features.bn1."): 4_672,
    ("xception_features.conv2.", "xception_features.bn2."): 18_560,
    ("xception_features.block1.",): 52_800,
    ("xception_features.block2.",): 203_904,
    ("xception_features.block3.",): 1_452_480,
    **{(f"xception_features.block{number}.",): 1_613_976 for number in range(4, 20)},
    ("xception_features.block20.",): 3_097_376,
    ("xception_features.conv3.", "xception_features.bn3."): 1_585_152,
    ("xception_features.conv4.", "xception_features.bn4."): 2_376_192,
    ("xception_features.conv5.", "xception_features.bn5."): 3_163_648,
    ("bottleneck.aspp1.",): 524_800,
    **{(f"bottleneck.aspp{number}.",): 4_719_104 for number in (2, 3, 4)},
    ("bottleneck.global_avg_pool.",): 524_800,
    ("bottleneck.conv.", "bottleneck.bn."): 328_192,
    ("conv2.", "bn2."): 6_240,
    ("upsample.deconv1.",): 1_180_672,
    ("upsample.conv1.",): 1_357_056,
    ("upsample.deconv2.",): 590_336,
    ("upsample.last_deconv.",): 6_912,
    ("xception_features.",): 37_778_400,
    ("bottleneck.",): 15_535_104,
    ("upsample.",): 3_134_976,
    ("",): COUNT,
}
#: Some names and shapes that files of weights must have.
SHAPES = {
    "xception_features.conv1.weight": (32, 16, 3, 3),
    "xception_features.bn1.bn.running_mean": (32,),
    "xception_features.block1.rep.0.conv1.weight": (64, 1, 3, 3),
    "xception_features.block1.rep.5.pointwise.weight": (128, 128, 1, 1),
    "xception_features.block3.skipbn.bn.weight": (728,),
    "xception_features.block19.rep.7.bn.bias": (728,),
    "xception_features.block20.rep.5.conv1.weight": (1024, 1, 3, 3),
    "xception_features.conv5.pointwise.weight": (2048, 1536, 1, 1),
    "bottleneck.aspp4.atrous_convolution.weight": (256, 2048, 3, 3),
    "bottleneck.global_avg_pool.global_average_pool.1.weight": (256, 2048, 1, 1),
    "bottleneck.global_avg_pool.global_average_pool.2.weights": (256, 1, 1),
    "bottleneck.bn.bn.running_var": (256,),
    "bn2.bn.weight": (48,),
    "upsample.deconv1.4.bn.weight": (256,),
    "upsample.conv1.0.weight": (256, 304, 3, 3),
    "upsample.conv1.6.bias": (256,),
    "upsample.last_deconv.0.weight": (256, 3, 3, 3),
}
SMALL = reference.narrow(32, 48, 8, 2)
ADAM = {"name": "adam", "weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6}


def check(what, found, expected, bound=1e-9):
    """Asserts that numbers, or lists of numbers, agree within the relative bound."""
    found, expected = numpy.array(found, dtype=float), numpy.array(expected, dtype=float)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    off = float((abs(found - expected) / numpy.maximum(abs(expected), 1e-12)).max())
    print(f"{what}: off by {off:.1e} (bound {bound:.0e})")
    assert off <= bound, f"{what}: {found}, expected {expected}"


def counts():
    model = reference.DeepCam(reference.PUBLISHED)
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    for prefixes, expected in PARTS.items():
        found = sum(size for name, size in sizes.items() if name.startswith(prefixes))
        assert found == expected, f"{prefixes}: {found} parameters, expected {expected}"
    norms = batch_norm.norms(model)
    found = len(sizes), len(norms), sum(norm.weight.numel() + norm.bias.numel() for norm in norms)
    assert found == (TENSORS, NORMS, NORM_PARAMETERS), f"tensors, batch norms, their parameters: {found}"
    state = model.state_dict()
    for name, shape in SHAPES.items():
        assert tuple(state[name].shape) == shape, f"{name}: {tuple(state[name].shape)}, expected {shape}"
    print(f"{sum(sizes.values())} parameters in {len(sizes)} tensors, {len(PARTS)} parts as they should be")


def sines(*shape, a, b, c):
    return torch.tensor([a * math.sin(b * i + c) for i in range(math.prod(shape))], dtype=torch.float64).view(shape)


def layers():
    """Compares a separable convolution by its sum, and a transposed one with a result computed by hand."""
    values = sines(1, 3, 5, 5, a=1, b=0.41, c=0.3)
    for dilation, expected in ((1, -1.73047642253), (2, -0.75641225717)):
        layer = reference.SeparableConvolution(3, 4, dilation=dilation).double()
        layer.load_state_dict({"conv1.weight": sines(3, 1, 3, 3, a=0.5, b=0.33, c=0.2),
                               "pointwise.weight": sines(4, 3, 1, 1, a=0.6, b=0.57, c=0.1)})
        check(f"separable convolution, dilation {dilation}", layer(values).sum().item(), expected)
    layer = reference.doubled(1, 1).double()
    layer.load_state_dict({"weight": torch.arange(1.0, 10.0).view(1, 1, 3, 3)})
    check("transposed convolution", layer(torch.ones(1, 1, 2, 2).double())[0, 0].detach(),
          [[5, 10, 5, 6], [10, 20, 10, 12], [5, 10, 5, 6], [8, 16, 8, 9]])


def loss_and_score():
    logits = torch.tensor([[1.0, 0, -1], [0, 2, 0], [0.5, 0.5, 0.5]], dtype=torch.float64).T[None, :, :, None]
    labels = torch.arange(3)[None, :, None]
    check("weights of classes", reference.CLASS_WEIGHTS, [1.001729912, 2.614611224, 1.716419748])
    check("loss", reference.pixel_loss(logits, labels).item(), 0.9734357830)
    check("loss over the weights", reference.pixel_loss(logits, labels, by_weights=True).item(), 0.5476164059)
    scores = [reference.intersections_over_unions(*pixels(numpy.array(confusion)))[0] for confusion in
              ([[50, 2, 3], [1, 4, 0], [5, 0, 10]], [[70, 0, 5], [0, 0, 0], [0, 0, 0]])]
    check("intersection over union", scores, [0.6488854194, 0.6444444444])


def pixels(confusion):
    """Logits and labels of a sample with this confusion matrix: pixels by label (rows) and prediction."""
    truth, predicted = (numpy.repeat(which.ravel(), confusion.ravel()) for which in numpy.indices(confusion.shape))
    return numpy.eye(3)[predicted].T[None, :, :, None], truth[None, :, None]


def optimizers():
    wanted = {"adam": [[0.9900000323, -1.9900000833], [0.9881801949, -1.9950801606]],
              "adamw": [[0.9899000333, -1.9898001], [0.9883558437, -1.9951961357]],
              "lamb": [[0.9842666395, -1.984110967], [0.9781756857, -2.0054052854]]}
    for name, expected in wanted.items():
        weights, found = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64)), []
        optimizer = adaptive.Adaptive([weights], {**ADAM, "name": name})
        for gradient in ([0.3, -0.1], [-0.2, 0.4]):
            weights.grad = torch.tensor(gradient, dtype=torch.float64)
            optimizer.step(0.01)
            found.append(weights.detach().clone().numpy())
        check(name, found, expected)


def lamb_corners():
    """Gradients above the largest norm are scaled together. A tensor of zeros has no trust ratio."""
    tensors = [torch.nn.Parameter(torch.tensor(values, dtype=torch.float64)) for values in ([3.0, 4.0], [0.0])]
    optimizer = adaptive.Adaptive(tensors, {**ADAM, "name": "lamb"})
    tensors[0].grad, tensors[1].grad = torch.tensor([6.0, 8.0]).double(), torch.tensor([-24.0]).double()
    optimizer.step(0.1)
    scaled = numpy.array([6.0, 8.0, -24.0]) / 26
    direction = scaled / (abs(scaled) + 1e-6) + 0.01 * numpy.array([3, 4, 0])
    length = math.hypot(*direction[:2])
    check("lamb, two tensors", [*tensors[0].tolist(), tensors[1].item()],
          [*(numpy.array([3, 4]) - 0.1 * 5 / length * direction[:2]), -0.1 * direction[2]])


def schedules():
    multistep = {"type": "multistep", "learning_rate": 0.8, "warmup_steps": 4, "milestones": [2, 4], "decay_rate": 0.5}
    check("multistep", learning_rates(multistep, 10), [0.2, 0.4, 0.6, 0.6, 0.6, 0.6, 0.3, 0.3, 0.15, 0.15])
    check("multistep, factor 3", learning_rates({**multistep, "warmup_factor": 3}, 8),
          [1.2, 1.6, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0])
    no_warmup = {**multistep, "warmup_steps": 0}
    check("multistep, no warm-up", learning_rates(no_warmup, 6), [0.8, 0.8, 0.4, 0.4, 0.2, 0.2])
    check("multistep, a milestone twice", learning_rates({**no_warmup, "milestones": [1, 1]}, 3), [0.8, 0.2, 0.2])
    for warmup, top in ((0, 0.8), (4, 0.6)):
        cosine = {"type": "cosine_annealing", "learning_rate": 0.8, "warmup_steps": warmup, "t_max": 5, "eta_min": 0.1}
        expected = [0.1 + (top - 0.1) * (1 + math.cos(math.pi * e / 5)) / 2 for e in range(1, 6)]
        check(f"cosine, {warmup} updates of warm-up", learning_rates(cosine, warmup + 5)[warmup:], expected)
    check("cosine, beyond its end", learning_rates({**cosine, "warmup_steps": 0}, 23), theirs(0.8, 5, 0.1, 23))


def theirs(rate, half, least, updates):
    """Rates of PyTorch's CosineAnnealingLR."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    schedule, rates = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, half, least), []
    for _ in range(updates):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    return rates


def small_steps():
    """A step in fp32 is close to float64's, except for ReLUs that decide differently. Three steps lower the loss."""
    scenes = reference.random_scenes(4, SMALL["height"], SMALL["width"], 1)
    torch.manual_seed(1)
    start = batch_norm.state_of(reference.DeepCam(SMALL))
    for name in ("adam", "adamw", "lamb"):
        schedule = {"type": "multistep", "learning_rate": 0.001, "milestones": []}
        recipe = reference.Recipe(SMALL, 4, schedule, {**ADAM, "name": name, "epsilon": 1e-3}, 3)
        exact, single = (reference.train(start, [[scenes]], recipe, dtype) for dtype in (torch.float64, torch.float32))
        error = distance.relative(distance.whole(distance.errors(start, single, exact), "update"))
        losses = reference.train(start, [[scenes]] * 3, recipe, torch.float64)["losses"]
        print(f"{name}: losses {losses}, update in fp32 off by {error:.1e}")
        assert error < 0.02 and losses[2] < losses[1] < losses[0] and 0.8 < losses[0] < 1.8


if __name__ == "__main__":
    for part in (counts, layers, loss_and_score, optimizers, lamb_corners, schedules, small_steps):
        part()
