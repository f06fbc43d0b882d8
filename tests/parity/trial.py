"""One training step by PyTorch in fp32 and float64, and by this program; comparisons over several of them."""

import torch

import distance
import reference

KINDS = ("update", "momentum", "statistics", "outputs")


class Trial:
    """One step from one draw, with the errors of PyTorch's fp32. `recipe` changes keys of reference.RECIPE."""

    def __init__(self, drawn, **recipe):
        self.model, images, labels = drawn
        self.images, self.labels = images[None], labels[None]
        self.recipe = {**reference.RECIPE, **recipe}
        self.start = reference.state_of(self.model)
        self.exact = self.in_torch(torch.float64)
        self.theirs = self.errors(self.in_torch(torch.float32))

    def in_torch(self, dtype, *optimizer):
        return reference.train(self.model, self.images, self.labels, self.recipe, dtype, *optimizer)

    def errors(self, result):
        return distance.errors(self.start, result, self.exact)

    def kinds_of(self, kinds=KINDS):
        """Those of `kinds` that the step has: without batch norms there are no statistics."""
        return [kind for kind in kinds if any(k == kind for k, _ in self.theirs)]

    def of(self, program, ranks=1, **overrides):
        return program.train(self.start, self.images, self.labels, self.recipe, ranks, **overrides)


def compare_plain(program, trials, bound, what="plain", ranks=1, kinds=KINDS):
    """Whether geometric means over trials are within the bound, of the ratio of all tensors together and of that of the
    median tensor. `trials` may be a generator, so that one trial at a time is in memory."""
    ratios, medians = {}, {}
    for trial in trials:
        mine = trial.errors(trial.of(program, ranks))
        for kind in trial.kinds_of(kinds):
            ratios.setdefault(kind, []).append(distance.whole_ratio(trial, mine, kind))
            each = sorted(distance.tensor_ratios([trial], [mine], kind).values())
            medians.setdefault(kind, []).append(each[len(each) // 2])
    passed = True
    for kind, values in ratios.items():
        means = [distance.geometric_mean(numbers) for numbers in (values, medians[kind])]
        print(f"{what}, {kind}: ratio {means[0]:.2f} as a whole, {means[1]:.2f} of the median tensor (single trials "
              f"{min(values):.2f} to {max(values):.2f})", flush=True)
        passed = passed and max(means) <= bound
    return passed
