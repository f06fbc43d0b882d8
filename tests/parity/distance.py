"""Distances between the arrays of results, and their ratios to the errors of PyTorch's fp32.

An error is a tuple of three squared norms: of the distance, of the change by the step, and of rounding.
The attribute `theirs` of a trial holds PyTorch's errors in fp32.
"""

import math
import statistics

LEAST_RATIO = 1.0  # smaller ratios count as 1 in means, so that a seed with less error does not offset another


def kind_of(name):
    if name in ("losses", "outputs"):
        return name
    if "running_" in name:
        return "statistics"
    return "momentum" if name.startswith("momentum/") else "update"


def errors(start, result, exact):
    """By kind and name, squared norms: of `result` - `exact`, of `exact` - `start`, and of the rounding of `exact` to
    fp32."""
    found = {}
    for name, value in exact.items():
        change = value - start[name] if name in start else value
        parts = (result[name] - value, change, value.astype("float32") - value)
        found[kind_of(name), name] = tuple(float((part ** 2).sum()) for part in parts)
    return found


def per_tensor(found, kind):
    return {name: error for (k, name), error in found.items() if k == kind}


def whole(found, kind):
    return tuple(map(sum, zip(*per_tensor(found, kind).values())))


def relative(error):
    distance, change, _ = error
    return (distance / change) ** 0.5 if change > 0 else float(distance > 0)


def attainable(error):
    """The error, but at least two roundings, of a gradient and of the changed value. Smaller errors are chance."""
    distance, change, rounding = error
    return max(distance, 4 * rounding), change, rounding


def ratio(mine, theirs):
    """Ratio of our errors to theirs, each as root mean square over trials."""
    return quotient(root_mean_square(map(relative, mine)), root_mean_square(relative(attainable(e)) for e in theirs))


def root_mean_square(values):
    squares = [value ** 2 for value in values]
    return (sum(squares) / len(squares)) ** 0.5


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def quotient(a, b):
    return a / b if b > 0 else (float("inf") if a > 0 else 0.0)


def whole_ratio(trial, found, kind):
    return ratio([whole(found, kind)], [whole(trial.theirs, kind)])


def tensor_ratios(trials, found, kind):
    """Ratio of each tensor over all trials."""
    theirs = [per_tensor(trial.theirs, kind) for trial in trials]
    mine = [per_tensor(errors, kind) for errors in found]
    return {name: ratio([each[name] for each in mine], [each[name] for each in theirs]) for name in mine[0]}


def worst_ratio(trial, found, kinds):
    """The largest ratio over all kinds and tensors of one trial."""
    return max(max(tensor_ratios([trial], [found], kind).values()) for kind in kinds)


def mean_ratios(trials, found, kind):
    """Ratios of all tensors together and of each: the geometric mean over seeds of the quotient of medians over a
    seed's trials, so that no single seed or trial decides."""
    seeds = {}
    for trial, mine in zip(trials, found):
        seeds.setdefault(trial.seed, []).append((mine, trial.theirs))

    def mean(error_of):
        return geometric_mean([max(median_ratio([(error_of(mine), error_of(theirs)) for mine, theirs in pairs]),
                                   LEAST_RATIO) for pairs in seeds.values()])

    return (mean(lambda errors: whole(errors, kind)),
            {name: mean(lambda errors, name=name: errors[kind, name]) for name in per_tensor(found[0], kind)})


def median_ratio(pairs):
    mine, theirs = zip(*pairs)
    return quotient(statistics.median(map(relative, mine)), statistics.median(relative(attainable(e)) for e in theirs))


def largest_ratios(trials, found, kind):
    """The largest ratio of all tensors together in any trial, and the ratio of each tensor over all trials."""
    wholes = [whole_ratio(trial, mine, kind) for trial, mine in zip(trials, found)]
    return max(wholes), tensor_ratios(trials, found, kind)


def judge(what, trials, found, kinds, bound, ratios=largest_ratios):
    """Prints the ratios. Returns whether all tensors together and each of them are within the bound."""
    passed = True
    for kind in kinds:
        entire, by_name = ratios(trials, found, kind)
        worst = max(by_name, key=by_name.get)
        size = root_mean_square(relative(whole(mine, kind)) for mine in found)
        print(f"{what}, {kind}: error {size:.1e}; ratio to PyTorch's fp32 {entire:.2f} as a whole, "
              f"{by_name[worst]:.2f} at worst in {worst}", flush=True)
        passed = passed and max(entire, by_name[worst]) <= bound
    return passed
