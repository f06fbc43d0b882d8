"""One training step with frozen batch-norm statistics equals PyTorch's in float64 to 1e-5, for every tensor.

With fixed statistics, small last gammas and no ReLU input near the kink, nothing magnifies rounding, so a wrong formula
shows. The learning rate is 20, so that the step exceeds the rounding of weights. Each negative control does one thing
wrong and must exceed the bound.
"""

import sys

import peer

peer.require_peer()
import torch

import clear
import distance
import ours
import reference

BOUND = 1e-5
SAMPLES = 8
POOL_CLEARANCE = 1e-5  # fp32 errors of the first layer are below 1e-6
RECIPE = {**reference.RECIPE, "frozen": True, "learning_rates": [20.0]}


def draw(seed):
    model, images, labels = clear.draw(seed, SAMPLES, True, POOL_CLEARANCE, last_gammas=(0.1, 0.3))
    return model, images[None], labels[None]


def worst(found):
    """The largest error of any tensor or of all tensors of a kind, and its name."""
    return max((distance.relative(error), name) for kind in ("update", "momentum", "losses")
               for name, error in ((f"all of {kind}", distance.whole(found, kind)),
                                   *distance.per_tensor(found, kind).items()))


def report(what, start, result, exact):
    """Prints and returns the largest error; infinity if statistics changed."""
    found = distance.errors(start, result, exact)
    error, name = worst(found)
    moved = [n for n in exact if "running_" in n and (result[n] != exact[n]).any()]
    update, momentum = (distance.relative(distance.whole(found, kind)) for kind in ("update", "momentum"))
    print(f"{what}: update {update:.2e}, momentum {momentum:.2e}, worst {error:.2e} in {name}"
          + (f"; {len(moved)} statistics moved" if moved else ""), flush=True)
    return float("inf") if moved else error


def mirrored(start):
    changed = dict(start)
    changed["layer2.1.conv2.weight"] = start["layer2.1.conv2.weight"][..., ::-1].copy()
    return changed


def compare(program, start, images, labels, exact):
    return all([report(f"{ranks} ranks", start, program.train(start, images, labels, RECIPE, ranks), exact) <= BOUND
                for ranks in (1, 2)])


def controls_fail(program, model, images, labels, exact):
    start = reference.state_of(model)
    everything_decays = reference.train(model, images, labels, RECIPE, torch.float64,
                                        lambda *a: reference.make_sgd(*a, decays=lambda _: True))

    def ours_with(**overrides):
        return program.train(start, images, labels, RECIPE, **overrides)

    mirrored_result = program.train(mirrored(start), images, labels, RECIPE)
    mirrored_result["layer2.1.conv2.weight"] = mirrored_result["layer2.1.conv2.weight"][..., ::-1]
    cases = {
        "a mirrored kernel": (mirrored_result, exact),
        "weight decay on batch norm": (ours_with(), everything_decays),
        "twice the weight decay": (ours_with(optimizer={"weight_decay_mode": "keras_l2"}), exact),
        "learning rate inside the momentum": (ours_with(optimizer={"form": "keras"}), exact),
        "no Nesterov": (ours_with(optimizer={"nesterov": False}), exact),
        "statistics of the batch": (ours_with(training={"statistics": "batch"}), exact),
    }
    return all([report(f"control, {what}", start, *pair) > BOUND for what, pair in cases.items()])


def main(program):
    model, images, labels = draw(1)
    start = reference.state_of(model)
    exact = reference.train(model, images, labels, RECIPE, torch.float64)
    report("PyTorch in fp32", start, reference.train(model, images, labels, RECIPE, torch.float32), exact)
    passed = compare(program, start, images, labels, exact)
    print(f"bound {BOUND:.0e}")
    return controls_fail(program, model, images, labels, exact) and passed


sys.exit(0 if main(ours.Program(*sys.argv[1:])) else 1)
