"""One training step: our error against PyTorch in float64 is at most 1.5 times that of PyTorch's own fp32.

The gradient of a ReLU jumps at zero: a single unit whose sign differs between fp32 and float64 moves the whole gradient
by 1e-3 to 1e-2, in either program, by chance. So there are two settings:

clear: batch-norm biases are shifted slightly, until no ReLU and no max pool has inputs close to its kink. Only rounding
    remains (4e-5 of the update), the same in every draw. The bound holds for each tensor's root mean square over the
    trials, and for all tensors together in every trial. One trial has batch-norm groups of half the batch.
plain: weights and batches as drawn, with images so large that there are many such units and chance averages out. The
    bound holds for the geometric mean of the ratio over the trials, of all tensors together and of the median tensor.
    The ratio of one tensor in one trial varies by a factor of 3 by chance alone.

Kinds: update (w1 - w0), momentum, statistics (the change of running means and variances), outputs. Negative controls do
one thing wrong and must exceed the bound tenfold.
"""

import sys

import peer

peer.require_peer()
import torch

import batch_norm
import clear
import distance
import ours
import reference
from trial import KINDS, Trial, compare_plain

BOUND = 1.5
SIDE, SAMPLES = 32, 16
CLEAR_GROUPS = (None, None, SAMPLES // 2)  # by trial; None: the whole batch
PLAIN_SIZES = ((96, 8), (224, 4))  # by trial: side, samples
POOL_CLEARANCE = 2e-6  # fp32 errors of the first layer are a tenth of it


def draw_clear(seed, group):
    return clear.draw(seed, SAMPLES, False, POOL_CLEARANCE, side=SIDE, group=group)


def draw_plain(seed, side, samples):
    torch.manual_seed(seed)
    return reference.random_model(), *reference.random_batch(samples, side)


def compare_clear(program, trials):
    def judge(ranks, some):
        found = [trial.errors(trial.of(program, ranks)) for trial in some]
        return distance.judge(f"clear, {ranks} ranks", some, found, KINDS, BOUND)

    return all([judge(1, trials), judge(2, trials[1:])])


def controls_fail(program, trial):
    right, exact = trial.of(program), trial.exact
    everything_decays = trial.in_torch(torch.float64, lambda *a: reference.make_sgd(*a, decays=lambda _: True))
    cases = {
        "weight decay on batch norm": (right, everything_decays),
        "biased running variances": (right, batch_norm.with_biased_variance(
            reference.random_model(), trial.images[0], trial.start, exact)),
        "learning rate inside the momentum": (trial.of(program, optimizer={"form": "keras"}), exact),
        "no Nesterov": (trial.of(program, optimizer={"nesterov": False}), exact),
        "no label smoothing": (trial.of(program, training={"label_smoothing": 0.0}), exact),
        "groups of half the batch": (trial.of(program, training={"bn_group_samples": SAMPLES // 2}), exact),
    }
    passed = True
    for what, (result, oracle) in cases.items():
        ratio = distance.worst_ratio(trial, distance.errors(trial.start, result, oracle), KINDS)
        print(f"control, {what}: ratio {ratio:.0f} at worst", flush=True)
        passed = passed and ratio > 10 * BOUND
    return passed


def main(program):
    trials = [Trial(draw_clear(seed, group), group=group) for seed, group in enumerate(CLEAR_GROUPS)]
    plain = (Trial(draw_plain(seed, *size)) for seed, size in enumerate(PLAIN_SIZES, 200))
    results = [compare_clear(program, trials), controls_fail(program, trials[0]), compare_plain(program, plain, BOUND)]
    print(f"bound {BOUND}")
    return all(results)


sys.exit(0 if main(ours.Program(*sys.argv[1:])) else 1)
