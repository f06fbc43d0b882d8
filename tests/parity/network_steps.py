"""One training step of ResNet-50 v1 or v2, or of a form of AlexNet: our error against PyTorch in float64 is at most 1.5
times that of PyTorch's own fp32.

    network_steps.py PROGRAM LAUNCHER v1 | v2 | response | batch | batch_affine | batch_first

A unit whose ReLU decides differently, or a pool's maximum, moves the gradient by chance, in either program. ResNet has
many of them in each draw. In AlexNet many draws have none, and one makes the ratio 20 to 1,000 or its inverse; so of
AlexNet there are two kinds of draws:

clear: no ReLU and no pool has inputs close to its kink. Update, momentum and statistics are compared.
plain: larger, as drawn. Outputs, which have no such jumps, are compared. oneDNN's fully connected layers have the
    error of sums in one chain, PyTorch's that of four, which is half of it; the outputs of small networks without batch
    norms come to twice PyTorch's error by that.

The bound holds for the geometric mean of the ratio over draws, of all tensors together and of the median tensor; kinds
of tensors: see training_step.py. Negative controls do one thing wrong and must exceed the bound tenfold.
"""

import sys

import peer

peer.require_peer()
import torch

import batch_norm
import clear
import distance
import networks
import ours
import reference
from trial import Trial, compare_plain

BOUND = 1.5
RESNET_SIZES = ((96, 8), (224, 4))  # by draw: side, samples
#: By stem and draw: side, samples. Of larger ones too few are clear.
CLEAR_SIZES = {"small": ((32, 4), (33, 4), (40, 2), (47, 2), (48, 2), (64, 2)),
               "imagenet": ((131, 2), (131, 2), (148, 2), (148, 2), (163, 1), (195, 1))}
CLEAR_WIDTHS = {"small": {"width": 24, "hidden": 96}, "imagenet": {"width": 48, "hidden": 96}}
PLAIN_SIZES = {"small": ((32, 32), (40, 24), (48, 16), (64, 16)),
               "imagenet": ((131, 8), (163, 8), (195, 8), (227, 8))}
PLAIN_WIDTHS = {"width": 48, "hidden": 128}


def resnet_trial(version, seed, side, samples):
    torch.manual_seed(seed)
    drawn = reference.random_model(version=version), *reference.random_batch(samples, side)
    return Trial(drawn, model={"padding": "torchvision", "version": version})


def clear_trial(normalization, stem, seed, side, samples):
    options = {"normalization": normalization, "stem": stem, **CLEAR_WIDTHS[stem]}
    drawn = clear.draw_alexnet(seed, side, samples, **options)
    return Trial(drawn, workload="alexnet", model={"dropout": 0.0, **options})


def plain_trial(normalization, stem, seed, side, samples):
    torch.manual_seed(seed)
    options = {"normalization": normalization, "stem": stem, **PLAIN_WIDTHS}
    drawn = reference.random_alexnet(image_size=side, **options), *reference.random_batch(samples, side)
    return Trial(drawn, workload="alexnet", model={"dropout": 0.0, **options})


def compare_resnet(program, version):
    trials = (resnet_trial(version, seed, *size) for seed, size in enumerate(RESNET_SIZES, 200))
    return compare_plain(program, trials, BOUND)


def compare_alexnet(program, normalization):
    def trials(make, sizes, stem):
        return (make(normalization, stem, seed, *size) for seed, size in enumerate(sizes[stem], 200))

    def compare_clear(some, stem, ranks=1):
        return compare_plain(program, some, BOUND, f"clear, {stem} stem, ranks {ranks}", ranks,
                             ("update", "momentum", "statistics"))

    def compare_outputs(stem):
        return compare_plain(program, trials(plain_trial, PLAIN_SIZES, stem), BOUND, f"plain, {stem} stem",
                             kinds=("outputs",))

    small = list(trials(clear_trial, CLEAR_SIZES, "small"))
    return all([compare_clear(small, "small"), compare_clear(small, "small", 2),
                compare_clear(trials(clear_trial, CLEAR_SIZES, "imagenet"), "imagenet"),
                compare_outputs("small"), compare_outputs("imagenet")])


def resnet_controls(program, version):
    """A trial; and pairs of a result and of what it is held against, by what is wrong."""
    wrong = {"v1": ("strides of v1.5", {"version": "v1.5"}), "v2": ("pool with SAME padding", {"padding": "mlperf"})}
    what, changed = wrong[version]
    trial = resnet_trial(version, 200, *RESNET_SIZES[0])
    return trial, {what: (trial.of(program, model=changed), trial.exact)}


def alexnet_controls(program, normalization):
    """See resnet_controls()."""
    trial = clear_trial(normalization, "small", 200, *CLEAR_SIZES["small"][0])
    model, right = trial.model, trial.of(program)
    everything_decays = trial.in_torch(torch.float64, lambda *a: reference.make_sgd(*a, decays=lambda _: True))
    cases = {"weight decay on biases": (right, everything_decays)}
    handle = model.conv2.register_forward_pre_hook(lambda _, inputs: torch.cat(inputs[0].chunk(2, 1)[::-1], 1))
    cases["groups exchanged"] = (right, trial.in_torch(torch.float64))
    handle.remove()
    if normalization == "response":
        model.response["alpha"] *= model.response["size"]
        cases["alpha not divided by the size"] = (right, trial.in_torch(torch.float64))
    else:
        for norm in batch_norm.norms(model):
            norm.eps = 1e-5
        cases["epsilon 1e-5"] = (right, trial.in_torch(torch.float64))
    return trial, cases


def controls_fail(trial, cases):
    passed = True
    for what, (result, oracle) in cases.items():
        ratio = distance.worst_ratio(trial, distance.errors(trial.start, result, oracle), trial.kinds_of())
        print(f"control, {what}: ratio {ratio:.0f} at worst", flush=True)
        passed = passed and ratio > 10 * BOUND
    return passed


def main(path, launcher, kind):
    program = ours.Program(path, launcher)
    is_alexnet = kind in networks.NORMALIZATIONS
    compare, controls = (compare_alexnet, alexnet_controls) if is_alexnet else (compare_resnet, resnet_controls)
    results = [compare(program, kind), controls_fail(*controls(program, kind))]
    print(f"{kind}: bound {BOUND}")
    return all(results)


sys.exit(0 if main(*sys.argv[1:]) else 1)
