"""Training steps of DeepCAM: our error against PyTorch in float64 is at most twice that of PyTorch's own fp32.

Batches are chosen on which no ReLU has inputs near its kink: there, fp32 may by chance decide differently from float64.
Trials are: one step of narrow, broad, wide and thick models; a step on each of two batches; and steps on the same batch
with a rate that rises and falls, with the loss and rate of every step from the log. The optimizer is the last argument.
They run on one rank and on two that share statistics of batch norm; and, with statistics of half a batch, on two ranks
and on four in pairs. For one step, the bound holds for the update (w1 - w0) and the change of running statistics of all
tensors together in every trial, and of each tensor over the trials. The losses have the same bound plus half of the
seventh digit, the last one in the log.

Chance has more influence on many steps, whose errors depend on the order of roundings, and on groups, which have few
pixels. There the models are tiny, so that scenes without ReLU inputs near a kink can be found. On scenes so chosen,
PyTorch's fp32 is more exact than usual, down to a tenth of its usual error. So errors are measured on neighbouring
scenes, and the bound holds for geometric means over seeds. With the published epsilon, too, it holds for the mean over
seeds. All other trials use a larger epsilon. With a small one, most gradients are far above it and move their weights
by about the rate, whatever their size; the error then comes from the few with gradients near epsilon.
Negative controls do one thing wrong and must exceed the bound tenfold.
"""

import dataclasses
import itertools
import sys

import peer

torch, _ = peer.require("torch", "h5py")
import numpy

import batch_norm
import deepcam_ours
import deepcam_reference as reference
import distance
from deepcam_schedule import learning_rates

BOUND, LOG_ROUNDING, RATE_BOUND = 2.0, 5e-7, 1e-6
KINDS = ("update", "statistics")
SEEDS = (1, 2, 3, 4, 5, 6)
MANY_SEEDS = tuple(range(1, 17))  # for means of small tensors' ratios
NEIGHBOURS = 3  # variants of a trial's scenes
BATCH, HALF = 4, 2
#: Least distance of ReLU inputs from zero, in multiples of the largest error of PyTorch's fp32 in the channel, which is
#: about four times the errors' root mean square.
LEAST_LEAD = 1.0
#: All but the tiny model have tensors of enough elements that the error of a tensor is not due to chance. The thick one
#: has so many channels that CPUs with AMX compute its products in tiles, by the bf16x3 split.
MODELS = {"narrow": reference.narrow(32, 48, 8, 2), "broad": reference.narrow(16, 32, 16, 1),
          "wide": reference.narrow(16, 304, 4, 1), "thick": reference.narrow(16, 32, 4, 1, middle=192),
          "tiny": reference.narrow(16, 32, 4, 1)}
#: Rates of one step are large, so that the step exceeds the rounding of weights; of many, small, to avoid divergence.
ONE_STEP, STEADY = deepcam_ours.constant(0.5), deepcam_ours.constant(1e-4)
RISE_AND_FALL = {"type": "multistep", "learning_rate": 2e-4, "warmup_steps": 3, "milestones": [1], "decay_rate": 0.3}
COSINE = {"type": "cosine_annealing", "learning_rate": 2e-4, "warmup_steps": 2, "t_max": 3, "eta_min": 1e-5}
UPDATES = 5
#: Smaller for LAMB, which clips gradients.
USUAL_EPSILON, PUBLISHED_EPSILON = {"lamb": 1e-3, "adam": 1e-2, "adamw": 1e-2}, 1e-6
LARGEST_NORM = 0.05  # LAMB's gradients have larger norms, so they are clipped

#: Numbers of ranks with batch-norm groups of the whole batch, or of half of it.
TOGETHER = {"1 rank": 1, "2 ranks": 2}
APART = {"2 ranks, statistics of each": 2, "4 ranks, statistics of pairs": 4}


def optimizer(name, epsilon=None):
    section = {"name": name, "weight_decay": 0.1, "beta1": 0.8, "beta2": 0.95,
               "epsilon": epsilon or USUAL_EPSILON[name]}
    return section | ({"max_gradient_norm": LARGEST_NORM} if name == "lamb" else {})


class Draw:
    """Scenes of a model, each used once, and initial weights by seed."""

    def __init__(self, program, name, seeds=SEEDS):
        self.program, self.model, self.taken = program, MODELS[name], 0
        self.starts = {seed: program.first_weights(seed, self.model) for seed in seeds}

    def take(self, count):
        self.taken += 1
        return reference.random_scenes(count, self.model["height"], self.model["width"], 1000 + self.taken)

    def clear(self, start, recipe, epochs):
        """Scenes without ReLU inputs near the kink during training in this order of indices."""
        while True:
            scenes = self.take(1 + max(place for epoch in epochs for batch in epoch for place in batch))
            if all_clear(start, recipe, batches_of(scenes, epochs)):
                return scenes


def batches_of(scenes, epochs):
    return [[scenes[list(batch)] for batch in epoch] for epoch in epochs]


def all_clear(start, recipe, epochs):
    exact, single = (reference.Training(start, recipe, dtype) for dtype in (torch.float64, torch.float32))
    batches = list(itertools.chain(*epochs))
    for batch, rate in zip(batches, learning_rates(recipe.schedule, len(batches))):
        if least_lead(exact.before_relus(batch), single.before_relus(batch)) < LEAST_LEAD:
            return False
        exact.step(batch, rate)
        single.step(batch, rate)
    return True


def least_lead(exact, single):
    """The smallest distance of values from zero, in multiples of the largest error in their channel."""
    leads = []
    for values, theirs in zip(exact, single):
        values, theirs = (each.transpose(0, 1).flatten(1).double() for each in (values, theirs))
        leads.append((values.abs().amin(dim=1) / (values - theirs).abs().amax(dim=1)).min().item())
    return min(leads)


def deals(places, batch, group):
    """All ways to split indices into batches, and those of a batch into groups, whose order does not matter."""
    if not places:
        yield []
    for mine in itertools.combinations(places, batch) if places else ():
        rest = [place for place in places if place not in mine]
        for grouped, others in itertools.product(parted(list(mine), group), deals(rest, batch, group)):
            yield [grouped, *others]


def parted(places, group):
    """All ways to split indices into groups of `group`, one after the other in each result."""
    if not places:
        yield []
    for mates in itertools.combinations(places[1:], group - 1) if places else ():
        rest = [place for place in places[1:] if place not in mates]
        for others in parted(rest, group):
            yield [places[0], *mates, *others]


def order_of_places(draw, seed, recipe, count, ranks):
    """The files of each batch of an epoch, and of each group: the assignment that reproduces the run's update. A seed
    permutes positions whatever their content, so the order also holds for other scenes."""
    scenes, start = draw.take(count), draw.starts[seed]
    found = draw.program.train(seed, scenes, recipe, ranks)
    ways = list(deals(list(range(count)), recipe.batch, recipe.group or recipe.batch))
    off = []
    for way in ways:
        exact = reference.train(start, batches_of(scenes, [way]), recipe, torch.float64)
        off.append(distance.relative(distance.whole(distance.errors(start, found, exact), "statistics")))
    nearest = sorted(off)
    assert len(ways) == 1 or 10 * nearest[0] < nearest[1], f"orders {ways}: off by {off}"
    return ways[off.index(nearest[0])]


class Trial:
    """A training on some scenes, with the errors of PyTorch's fp32. `order`: indices of each batch of an epoch."""

    def __init__(self, seed, recipe, start, scenes, order):
        self.seed, self.recipe, self.start, self.scenes, self.order = seed, recipe, start, scenes, order
        self.exact = self.in_torch(torch.float64)
        single = self.in_torch(torch.float32)
        self.theirs, self.their_loss_error = self.errors(single), self.loss_error(single)

    @classmethod
    def drawn(cls, draw, seed, recipe, count=BATCH, ranks=1):
        """A trial on `count` scenes without ReLU inputs near the kink. An epoch uses each once."""
        order = [list(range(count))]
        if count > recipe.batch or recipe.group:
            assert recipe.epochs == 1, "epochs have orders of their own"
            order = order_of_places(draw, seed, recipe, count, ranks)
        start = draw.starts[seed]
        return cls(seed, recipe, start, draw.clear(start, recipe, [order] * recipe.epochs), order)

    def neighbours(self):
        """Trials on scenes that differ by roundings, since these were chosen by the results of PyTorch's fp32."""
        return [Trial(self.seed, self.recipe, self.start, self.scenes.nearby(seed), self.order)
                for seed in range(1, NEIGHBOURS + 1)]

    def epochs(self):
        return [self.order] * self.recipe.epochs

    def in_torch(self, dtype, recipe=None, **options):
        return reference.train(self.start, batches_of(self.scenes, self.epochs()), recipe or self.recipe, dtype,
                               **options)

    def errors(self, result):
        return distance.errors(self.start, result, self.exact)

    def of(self, program, ranks=1, **sections):
        return program.train(self.seed, self.scenes, self.recipe, ranks, **sections)

    def loss_error(self, result):
        return max(abs(result["losses"] - self.exact["losses"]) / self.exact["losses"])

    def rate_error(self, result):
        """The largest relative error of the epochs' last rates."""
        steps = len(self.order)
        rates = numpy.array(learning_rates(self.recipe.schedule, steps * self.recipe.epochs)[steps - 1::steps])
        return max(abs(result["learning_rates"] - rates) / rates)


def compare(program, what, trials, places, ratios=distance.largest_ratios):
    passed = True
    loss_bound = LOG_ROUNDING + BOUND * max(trial.their_loss_error for trial in trials)
    for where, ranks in places.items():
        results = [trial.of(program, ranks) for trial in trials]
        error = max(trial.loss_error(result) for trial, result in zip(trials, results))
        rate_error = max(trial.rate_error(result) for trial, result in zip(trials, results))
        losses = [loss for trial in trials for loss in trial.exact["losses"]]
        print(f"{what}, {where}: losses {min(losses):.4f} to {max(losses):.4f}, off by at most {error:.1e} (bound "
              f"{loss_bound:.1e}); rates by {rate_error:.1e} (bound {RATE_BOUND:.0e})")
        found = [trial.errors(result) for trial, result in zip(trials, results)]
        passed = distance.judge(f"{what}, {where}", trials, found, KINDS, BOUND, ratios) and passed
        passed = passed and error <= loss_bound and rate_error <= RATE_BOUND
    return passed


def compare_published_epsilon(program, trials):
    ratios = [distance.whole_ratio(trial, trial.errors(trial.of(program)), "update") for trial in trials]
    mean = distance.geometric_mean(ratios)
    print(f"epsilon {PUBLISHED_EPSILON:.0e}, update: ratio {mean:.2f} as a whole (single trials {min(ratios):.2f} to "
          f"{max(ratios):.2f})", flush=True)
    return mean <= BOUND


def changed(recipe, **optimizer_keys):
    return dataclasses.replace(recipe, optimizer={**recipe.optimizer, **optimizer_keys})


def is_matrix(parameter):
    return parameter.dim() == 4


def wrong_optimizers(name, one):
    """Names and oracles that each do one thing wrong."""
    recipe, exact = one.recipe, torch.float64
    yield "epsilon in the root", one.in_torch(exact, wrong={"root_of_sum": True})
    if name == "lamb":
        yield "no decay and no ratio but of kernels", one.in_torch(exact, wrong={"decays": is_matrix})
        yield "gradients not clipped", one.in_torch(exact, wrong={"clips": False})
        yield "no trust ratio", one.in_torch(exact, wrong={"has_ratio": False})
    else:
        other = {"adam": "adamw", "adamw": "adam"}[name]
        yield "decay in the other place", one.in_torch(exact, changed(recipe, name=other))
        yield "no decay but of kernels", one.in_torch(exact, wrong={"decays": is_matrix})


def controls(name, one, two, many, apart):
    """Name, kind of arrays, trial, and an oracle that does one thing wrong."""
    exact = torch.float64
    for what, oracle in wrong_optimizers(name, one):
        yield what, "update", one, oracle
    exchanged = changed(many.recipe, beta1=many.recipe.optimizer["beta2"], beta2=many.recipe.optimizer["beta1"])
    yield "betas exchanged", "update", many, many.in_torch(exact, exchanged)
    yield "low-level features before ReLU", "update", one, one.in_torch(exact, is_low_level_raw=True)
    yield "biased running variances", "statistics", one, batch_norm.with_biased_variance(
        reference.DeepCam(one.recipe.model), reference.inputs_of(one.scenes, torch.float32)[0], one.start, one.exact)
    whole = dataclasses.replace(apart.recipe, group=None)
    yield "statistics of the batch", "update", apart, apart.in_torch(exact, whole)
    yield "milestones an update early", "update", many, many.in_torch(exact, shift=-1)
    yield "warm-up to the full rate", "update", many, many.in_torch(exact, reaches_top=True)
    backwards = reference.train(two.start, batches_of(two.scenes, [two.order[::-1]]), two.recipe, exact)
    yield "batches in another order", "update", two, backwards


def controls_fail(program, name, one, two, many, apart):
    results, passed = {one: one.of(program), two: two.of(program), many: many.of(program),
                       apart: apart.of(program, 2)}, True
    for what, kind, trial, oracle in controls(name, one, two, many, apart):
        ratio = distance.whole_ratio(trial, distance.errors(trial.start, results[trial], oracle), kind)
        print(f"{name}, control, {what}: ratio {ratio:.0f} as a whole", flush=True)
        passed = passed and ratio > 10 * BOUND
    # The norm of all gradients hardly changes the update, but the log has the loss itself.
    wrong = one.in_torch(torch.float64, by_weights=True)["losses"]
    off = max(abs(results[one]["losses"] - wrong) / wrong)
    print(f"{name}, control, loss over the sum of weights: losses off by {off:.1e}", flush=True)
    return passed and off > 10 * (LOG_ROUNDING + BOUND * one.their_loss_error)


def recipe_of(draw, name, schedule=ONE_STEP, batch=BATCH, **others):
    return reference.Recipe(draw.model, batch, schedule, others.pop("optimizer", optimizer(name)), **others)


def main(program, name):
    narrow, tiny = Draw(program, "narrow"), Draw(program, "tiny", MANY_SEEDS)
    broad, wide, thick = Draw(program, "broad"), Draw(program, "wide"), Draw(program, "thick")
    ones = [Trial.drawn(narrow, seed, recipe_of(narrow, name)) for seed in SEEDS]
    shapes = {"broad": [Trial.drawn(broad, seed, recipe_of(broad, name)) for seed in SEEDS[:4]],
              "wide": [Trial.drawn(wide, seed, recipe_of(wide, name, batch=2), count=2) for seed in SEEDS[:4]],
              "thick": [Trial.drawn(thick, seed, recipe_of(thick, name)) for seed in SEEDS[:4]]}
    twos = [Trial.drawn(tiny, seed, recipe_of(tiny, name, STEADY, batch=2), count=4) for seed in MANY_SEEDS]
    many = [Trial.drawn(tiny, seed, recipe_of(tiny, name, schedule, epochs=UPDATES))
            for seed, schedule in zip(MANY_SEEDS, itertools.cycle((RISE_AND_FALL, COSINE)))]
    apart = [Trial.drawn(tiny, seed, recipe_of(tiny, name, group=HALF), ranks=2) for seed in MANY_SEEDS]
    published = [Trial.drawn(tiny, seed, recipe_of(tiny, name, optimizer=optimizer(name, PUBLISHED_EPSILON)))
                 for seed in SEEDS]
    passed = [compare(program, f"{name}, narrow, one step", ones, TOGETHER)]
    passed += [compare(program, f"{name}, {shape}, one step", some, TOGETHER) for shape, some in shapes.items()]
    passed += [compare(program, f"{name}, tiny, {what}", sum((trial.neighbours() for trial in trials), []), places,
                       distance.mean_ratios)
               for what, trials, places in (("two batches", twos, TOGETHER), ("five steps", many, TOGETHER),
                                            ("groups of half the batch", apart, APART))]
    passed += [compare_published_epsilon(program, published),
               controls_fail(program, name, ones[0], twos[0], many[0], apart[0])]
    return all(passed)


if __name__ == "__main__":
    sys.exit(0 if main(deepcam_ours.Program(*sys.argv[1:3]), sys.argv[3]) else 1)
