"""Training steps of CosmoFlow: our error against PyTorch in float64 is at most twice that of PyTorch's own fp32.

Batches are chosen on which no LeakyReLU and no max pool has inputs near its kink: there, fp32 may by chance decide
differently from float64. Trials are: one step, with every other seed on samples with empty space; a step on each of
five batches with momentum; and ten steps on the same batch with momentum, weight decay and a rate that rises and falls,
with the loss of every step from the log. They run on one rank, whole and in two passes; on two ranks, with different
samples or sharing each sample; and on four, in pairs that share samples or sharing each sample in thin slices. The
bound holds for the update (w1 - w0) of all tensors together in every trial, and of each tensor over the trials. The
losses have the same bound plus half of the seventh digit, the last one in the log.

Why twice: for the gradient of a kernel, more voxels are summed into one float than in PyTorch.
Negative controls do one thing wrong and must exceed the bound tenfold.
"""

import dataclasses
import sys

import peer

torch, _ = peer.require("torch", "h5py")
import numpy

import cosmoflow_ours
import cosmoflow_reference as reference
import distance

BOUND, LOG_ROUNDING = 2.0, 5e-7
SEEDS = (1, 2, 3, 4, 5, 6)
#: Least distance of inputs of a LeakyReLU or a maximum from its kink, in standard deviations. The root mean square of
#: errors in fp32 is a tenth to a quarter of it; errors of the few inputs near the kink are hardly larger.
LEAST_LEAD = 2e-6
MODELS = {"small": {"size": 16, "channels": [16, 32], "dense": [32, 16], "dropout": 0},
          "deep": {"size": 32, "channels": [16, 32, 48, 64], "dense": [24], "dropout": 0}}
#: Rates of one step are large, so that the step exceeds the rounding of weights; of many, small, to avoid divergence.
ONE_STEP = {"learning_rate": 3.0}
RISE_AND_FALL = {"learning_rate": 0.001, "peak_learning_rate": 0.01, "warmup_epochs": 4,
                 "decay_boundary_epochs": [5, 7], "decay_factors": [0.5, 0.25]}
LOW, STEADY = {"learning_rate": 3e-6}, {"learning_rate": 0.005}
DECAY, MOMENTUM, BOTH = ({"momentum": momentum, "weight_decay": decay}
                         for momentum, decay in ((0, 0.01), (0.9, 0), (0.9, 0.01)))


def shared(depth, height):
    return {"training": {"sample_split": {"depth": depth, "height": height}}}


#: By model: number of ranks, and changed sections.
PLACES = {
    "small": {"1 rank": (1, {}), "1 rank, two passes": (1, {"training": {"gradient_accumulation_steps": 2}}),
              "2 ranks": (2, {}), "2 ranks share each sample": (2, shared(2, 1)),
              "4 ranks, pairs share each sample": (4, shared(1, 2))},
    "deep": {"1 rank": (1, {}), "2 ranks": (2, {}), "2 ranks share each sample": (2, shared(2, 1)),
             "4 ranks share each sample": (4, shared(4, 1))},
}


class Draw:
    """Generated samples of a model, each used once, and initial weights by seed."""

    def __init__(self, program, name, samples):
        self.program, self.model, self.taken = program, MODELS[name], 0
        self.universes = program.generate(samples, self.model["size"])
        self.starts = {seed: program.first_weights(seed, self.model, self.universes) for seed in SEEDS}

    def take(self, count, emptied):
        self.taken += count
        assert self.taken <= len(self.universes), "no samples left"
        universes = self.universes[self.taken - count:self.taken]
        return empty(universes) if emptied else universes

    def clear(self, seed, recipe, count, emptied):
        """`count` batches without inputs near a kink during the training on them, in the order of training."""
        while True:
            batches = [self.first_clear(seed, recipe, emptied) for _ in range(count)]
            training = reference.Training(self.starts[seed], recipe, torch.float64)
            if all(self.goes_on(training, recipe, epoch, batch) for epoch in range(recipe.epochs) for batch in batches):
                return batches

    def first_clear(self, seed, recipe, emptied):
        training = reference.Training(self.starts[seed], recipe, torch.float64)
        while True:
            batch = self.take(recipe.batch, emptied)
            if training.least_lead(batch) >= LEAST_LEAD:
                return batch

    @staticmethod
    def goes_on(training, recipe, epoch, batch):
        if training.least_lead(batch) < LEAST_LEAD:
            return False
        training.step(batch, reference.learning_rate(recipe.schedule, epoch))
        return True


def empty(universes):
    """The samples with an empty box in the middle at all redshifts, across the parts of several ranks."""
    counts, size = universes.counts.copy(), universes.counts.shape[1]
    inner = slice(size // 4, size // 4 * 3)
    counts[:, inner, inner, inner] = 0
    return reference.Universes(counts, universes.targets)


def joined(batches):
    return reference.Universes(numpy.concatenate([batch.counts for batch in batches]),
                               numpy.concatenate([batch.targets for batch in batches]))


def flat(arrays):
    """All arrays but the losses as one vector."""
    return numpy.concatenate([arrays[name].ravel() for name in sorted(arrays) if name != "losses"])


def places_of_samples(program, seed, universes, recipe, start):
    """The step of the epoch that uses each sample. At a rate so low that gradients do not change, momentum m counts a
    gradient (1 - m^n) / (1 - m) times, n steps later. The change of weights gives these factors."""
    probe = dataclasses.replace(recipe, schedule=LOW, epochs=1, optimizer=MOMENTUM)
    found = program.train(seed, universes, probe)
    training = reference.Training(start, probe, torch.float64)
    gradients = [flat(training.gradient(universes[at:at + 1])) for at in range(len(universes))]
    factors = numpy.linalg.lstsq(numpy.stack(gradients, axis=1), flat(start) - flat(found), rcond=None)[0]
    factors *= recipe.batch / LOW["learning_rate"]
    steps = len(universes) // recipe.batch
    known = numpy.array([(1 - 0.9 ** (steps - step)) / 0.1 for step in range(steps)])
    step_of = abs(factors[:, None] - known).argmin(axis=1)
    assert abs(factors - known[step_of]).max() < 0.1, f"factors {factors}, expected {known}"
    assert (numpy.bincount(step_of) == recipe.batch).all(), f"steps {step_of}"
    return step_of


class Trial:
    """A training on some batches, with the errors of PyTorch's fp32."""

    def __init__(self, draw, seed, schedule, optimizer, batch=4, count=1, epochs=1, emptied=False):
        self.seed = seed
        self.recipe = reference.Recipe(draw.model, batch, schedule, epochs, optimizer)
        self.start = draw.starts[seed]
        self.batches = self.ordered(draw, count) if count > 1 else draw.clear(seed, self.recipe, 1, emptied)
        self.exact = self.in_torch(torch.float64)
        single = self.in_torch(torch.float32)
        self.theirs, self.their_loss_error = self.errors(single), self.loss_error(single)

    def ordered(self, draw, count):
        """Batches in the program's order in an epoch. A seed permutes the positions of samples whatever their content,
        so samples can be put at the positions where they are wanted."""
        batch = self.recipe.batch
        step_of = places_of_samples(draw.program, self.seed, draw.universes[:count * batch], self.recipe, self.start)
        self.places = numpy.argsort(numpy.argsort(step_of, kind="stable"))
        return draw.clear(self.seed, self.recipe, count, False)

    def universes(self):
        """All samples in the order of files."""
        universes = joined(self.batches)
        return universes[self.places] if len(self.batches) > 1 else universes

    def in_torch(self, dtype, recipe=None, **options):
        return reference.train(self.start, self.batches, recipe or self.recipe, dtype, **options)

    def errors(self, result):
        return distance.errors(self.start, result, self.exact)

    def of(self, program, ranks=1, **sections):
        return program.train(self.seed, self.universes(), self.recipe, ranks, **sections)

    def loss_error(self, result):
        return max(abs(result["losses"] - self.exact["losses"]) / self.exact["losses"])


def compare(program, name, what, trials):
    passed = True
    loss_bound = LOG_ROUNDING + BOUND * max(trial.their_loss_error for trial in trials)
    for where, (ranks, sections) in PLACES[name].items():
        results = [trial.of(program, ranks, **sections) for trial in trials]
        error = max(trial.loss_error(result) for trial, result in zip(trials, results))
        losses = " ".join(f"{loss:.4f}" for trial in trials for loss in trial.exact["losses"])
        print(f"{name}, {what}, {where}: losses {losses}, off by at most {error:.1e} (bound {loss_bound:.1e})")
        found = [trial.errors(result) for trial, result in zip(trials, results)]
        passed = distance.judge(f"{name}, {what}, {where}", trials, found, ["update"], BOUND) and passed
        passed = passed and error <= loss_bound
    return passed


def early(schedule):
    """Wrong on purpose: boundaries take effect one epoch earlier."""
    return {**schedule, "decay_boundary_epochs": [boundary - 1 for boundary in schedule["decay_boundary_epochs"]]}


def controls_fail(program, one, several, ten):
    """Compares results with oracles that each do one thing wrong, which must exceed the bound tenfold."""
    exact = torch.float64
    wrong = {
        "LeakyReLU 0.01": (one, one.in_torch(exact, slope=0.01)),
        "flattened channels first": (one, one.in_torch(exact, flatten="channels first")),
        "L2 with factor 1": (one, one.in_torch(exact, l2_factor=0.5)),
        "PyTorch's form of momentum": (ten, ten.in_torch(exact, form="torch")),
        "boundaries an epoch early": (ten, ten.in_torch(exact, dataclasses.replace(
            ten.recipe, schedule=early(ten.recipe.schedule)))),
        "batches in another order": (several, reference.train(several.start, several.batches[::-1], several.recipe,
                                                              exact)),
    }
    results, passed = {trial: trial.of(program) for trial in (one, several, ten)}, True
    for what, (trial, oracle) in wrong.items():
        ratio = distance.whole_ratio(trial, distance.errors(trial.start, results[trial], oracle), "update")
        print(f"control, {what}: ratio {ratio:.0f} as a whole", flush=True)
        passed = passed and ratio > 10 * BOUND
    return passed


def one_steps(draw, batch):
    return [Trial(draw, seed, ONE_STEP, DECAY, batch, emptied=seed % 2 == 0) for seed in SEEDS]


def main(program):
    small, deep = Draw(program, "small", 1200), Draw(program, "deep", 200)
    ones = one_steps(small, 4)
    several = [Trial(small, seed, STEADY, MOMENTUM, batch=2, count=5) for seed in (1, 2)]
    ten = [Trial(small, seed, RISE_AND_FALL, BOTH, batch=2, epochs=10) for seed in (3, 4)]
    return all([compare(program, "small", "one step", ones), compare(program, "small", "many", [*several, *ten]),
                controls_fail(program, ones[0], several[0], ten[0]),
                compare(program, "deep", "one step", one_steps(deep, 2))])


if __name__ == "__main__":
    sys.exit(0 if main(cosmoflow_ours.Program(*sys.argv[1:])) else 1)
