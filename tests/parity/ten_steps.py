"""The losses of ten training steps: our error against PyTorch in float64 is at most 1.5 times that of PyTorch's fp32.

Compares the loss of every sample at every step: the mean loss of a batch is a single number, whose error is often near
zero by chance. Trials start like a real run: new weights with zero last gammas, a one-cycle schedule, new batches.
Rates are low, since at those of real runs errors grow so fast that losses of two programs are unrelated after ten
steps. The bound holds for the geometric mean of the ratio over the steps of all trials. The mean losses agree to 1e-5.

Both programs compute the learning rates from the same section "schedule". Negative controls do one thing wrong and must
exceed the bound tenfold at some step.
"""

import sys

import peer

peer.require_peer()
import numpy
import torch

import distance
import ours
import reference

BOUND, LOSS_BOUND = 1.5, 1e-5
STEPS, SAMPLES, SIDE = 10, 8, 32
SCHEDULES = (
    {"learning_rate": 5e-5, "peak_at": 0.4},
    {"learning_rate": 1e-5, "scaling": "linear", "reference_batch": 2, "peak_at": 0.6, "anneal": "linear",
     "div_factor": 10.0, "final_div_factor": 50.0},
)


class Trial:
    """Ten steps from one random model on random batches, with the errors of PyTorch's sample losses."""

    def __init__(self, seed, schedule):
        torch.manual_seed(seed)
        self.model = reference.make_model(reference.CLASSES, zero_init_residual=True)
        batches = [reference.random_batch(SAMPLES, SIDE) for _ in range(STEPS)]
        self.images, self.labels = (torch.stack(parts) for parts in zip(*batches))
        self.recipe = {**reference.RECIPE, "schedule": schedule,
                       "learning_rates": reference.learning_rates(schedule, SAMPLES, STEPS, 1)}
        self.start = reference.state_of(self.model)
        exact = self.in_torch(torch.float64)
        self.exact = self.losses(exact)
        # At least the errors from rounding the exact outputs: smaller ones are due to chance.
        attainable = self.errors({"outputs": exact["outputs"].astype("float32").astype("float64")})
        self.theirs = numpy.maximum(self.errors(self.in_torch(torch.float32)), attainable)

    def in_torch(self, dtype):
        return reference.train(self.model, self.images, self.labels, self.recipe, dtype)

    def losses(self, result):
        return reference.sample_losses(result["outputs"], self.labels, self.recipe["label_smoothing"])

    def errors(self, result):
        """Root mean square over samples, by step."""
        return ((self.losses(result) - self.exact) ** 2).mean(axis=1) ** 0.5

    def of(self, program, ranks=1, **overrides):
        return program.train(self.start, self.images, self.labels, self.recipe, ranks, **overrides)

    def ratios(self, result):
        """Ratio of our error to PyTorch's, by step."""
        return list(self.errors(result) / self.theirs)


def listed(numbers, form):
    return " ".join(format(number, form) for number in numbers)


def compare(trials, results, what):
    ratios, passed = [], True
    for trial, result in zip(trials, results):
        exact = trial.exact.mean(axis=1)
        error = max(abs(result["losses"] - exact) / exact)
        ratios += trial.ratios(result)
        print(f"{what}: ratios {listed(trial.ratios(result), '.2f')}; mean losses {listed(exact, '.3f')}, off by at "
              f"most {error:.1e} (bound {LOSS_BOUND:.0e})", flush=True)
        passed = passed and error <= LOSS_BOUND
    mean = distance.geometric_mean(ratios)
    print(f"{what}: ratio {mean:.2f} (bound {BOUND})", flush=True)
    return passed and mean <= BOUND


def controls_fail(program, trial):
    schedule = trial.recipe["schedule"]
    cases = {
        "no Nesterov": {"optimizer": {"nesterov": False}},
        "learning rate inside the momentum": {"optimizer": {"form": "keras"}},
        "momentum 0.89": {"optimizer": {"momentum": 0.89}},
        "peak a step later": {"schedule": {"peak_at": schedule["peak_at"] + 1 / STEPS}},
        "straight down": {"schedule": {"anneal": "linear"}},
    }
    passed = True
    for what, overrides in cases.items():
        ratio = max(trial.ratios(trial.of(program, **overrides)))
        print(f"control, {what}: ratio {ratio:.0f} at worst", flush=True)
        passed = passed and ratio > 10 * BOUND
    return passed


def main(program):
    trials = [Trial(seed, schedule) for seed, schedule in enumerate(SCHEDULES, 1)]
    for trial in trials:
        print(f"PyTorch's errors in fp32: {listed(trial.theirs, '.1e')}", flush=True)
    results = [compare(some, [trial.of(program, ranks) for trial in some], f"{ranks} ranks")
               for ranks, some in ((1, trials), (2, trials[:1]))]
    return all([*results, controls_fail(program, trials[0])])


sys.exit(0 if main(ours.Program(*sys.argv[1:])) else 1)
