"""The area under the ROC curve is scikit-learn's to 1e-9, on scores that are hard to rank.

Samples are on 1 to 4 ranks in the order of the case, most on the last rank and possibly none on the first. scikit-learn
gets the scores in double precision; as it refuses infinite ones, numbers beyond all floats replace them. As a negative
control, scikit-learn's area of scores changed by the mistake that a case tests for must be off by ten times the bound.
"""

import sys
import tempfile

import peer

peer.require("sklearn")
import numpy
from sklearn import metrics

BOUND = 1e-9
RANKS = (1, 2, 3, 4)
MANY = 1_000_000
FLOAT = numpy.finfo("float32")
LEAST_DENORMAL = numpy.float32(2.0**-149)


class Case:
    """Scores and labels. `wrongly`(scores, labels) returns the scores by which a wrong program would rank."""

    def __init__(self, name, scores, labels, wrongly=None):
        self.name, self.wrongly = name, wrongly
        self.scores, self.labels = numpy.asarray(scores, "float32"), numpy.asarray(labels, "float32")
        assert len(self.scores) == len(self.labels)

    def reordered(self, name, order):
        return Case(f"{self.name}, {name}", self.scores[order], self.labels[order], self.wrongly)

    def write(self, folder):
        path = f"{folder}/{self.name}"
        numpy.concatenate([self.scores, self.labels]).astype("<f4").tofile(path)
        return path

    def area(self, scores=None):
        """The area by scikit-learn, of these scores or by default the case's."""
        exact = (self.scores if scores is None else scores).astype("float64")
        return metrics.roc_auc_score(self.labels, numpy.nan_to_num(exact, posinf=1e300, neginf=-1e300))

    def wrong_area(self):
        return self.area(self.wrongly(self.scores, self.labels))


def ties_won(scores, labels):
    """Ranks positives above negatives of equal score."""
    return 2.0 * numpy.unique(scores, return_inverse=True)[1] + labels


def by_their_bits(scores, _):
    """Ranks -0 below 0."""
    bits = scores.view("int32").astype("int64")
    return numpy.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)


def flushed(scores, _):
    """Replaces denormals by zeros."""
    return numpy.where(abs(scores) < FLOAT.tiny, 0, scores)


def clipped(scores, _):
    """Replaces infinities by the largest floats."""
    return numpy.clip(scores, FLOAT.min, FLOAT.max)


def in_half(scores, _):
    with numpy.errstate(over="ignore"):
        return scores.astype("float16")


def reversed_signs(scores, _):
    return -scores.astype("float64")


class Draw:
    """Random cases, whose positives tend to have higher scores."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)

    def labels(self, count, rate):
        return (self.random.random(count) < rate).astype("float32")

    def one_of(self, count, at):
        """Labels that are all 0 except for one, at about this share of all."""
        return (numpy.arange(count) == int(at * count)).astype("float32")

    def normal(self, name, labels, wrongly):
        return Case(name, self.random.normal(labels, 1.0), labels, wrongly)

    def of_values(self, name, values, count, wrongly=ties_won, rate=0.3):
        """Scores drawn from these increasing values."""
        labels = self.labels(count, rate)
        steps = self.random.random((2, count)) * len(values)
        places = numpy.where(labels == 1, steps.max(axis=0), steps[0]).astype("int64")
        return Case(name, numpy.asarray(values, "float32")[places], labels, wrongly)


def in_orders(case):
    """The case as drawn, and in orders that separate scores, or labels, by ranks."""
    by_score, by_label = numpy.argsort(case.scores, kind="stable"), numpy.argsort(case.labels, kind="stable")
    orders = {"sorted": by_score, "reversed": by_score[::-1], "negatives first": by_label,
              "positives first": by_label[::-1]}
    return [case, *(case.reordered(name, order) for name, order in orders.items())]


def make_cases():
    draw = Draw(7)
    finite = draw.random.integers(0, 0x7F800000, MANY, "int32").view("float32")
    whole_range = draw.random.choice([-1, 1], MANY).astype("float32") * finite
    denormals = LEAST_DENORMAL * numpy.arange(-9, 10, dtype="float32")
    beyond = [-numpy.inf, FLOAT.min, -1, 0, 1, FLOAT.max, numpy.inf]
    one = draw.one_of(10_001, 0.6)
    return [
        *in_orders(draw.of_values("a million of seven values", range(7), MANY)),
        *in_orders(draw.normal("a million of all values", draw.labels(MANY, 0.5), in_half)),
        *in_orders(draw.of_values("two values", [0.25, 0.75], 4001)),
        draw.of_values("all equal", [0.5], 4001),
        draw.of_values("a million equal", [0.5], MANY, rate=0.03),
        draw.normal("one positive", one, reversed_signs),
        draw.normal("one negative", 1 - one, reversed_signs),
        Case("one positive among equals", numpy.arange(10_001) // 2500, one, ties_won),
        Case("fewer samples than ranks", [0.2, 0.2], [1, 0], ties_won),
        Case("all pairs won", numpy.arange(1000), numpy.arange(1000) > 700, reversed_signs),
        Case("all pairs lost", numpy.arange(1000), numpy.arange(1000) < 300, reversed_signs),
        *in_orders(draw.of_values("denormals", denormals, 5000, flushed)),
        draw.of_values("zeros of both signs", [-0.0, 0.0], 5000, by_their_bits),
        draw.of_values("zeros among denormals", [-LEAST_DENORMAL, -0.0, 0.0, LEAST_DENORMAL], 5000, by_their_bits),
        *in_orders(draw.of_values("infinite and largest", beyond, 5000, clipped)),
        Case("every exponent", whole_range, draw.labels(MANY, 0.4), in_half),
        draw.of_values("neighbours of one", 1 + FLOAT.eps * numpy.arange(500), 5000, in_half),
        draw.normal("twenty positives in a million", draw.labels(MANY, 2e-5), in_half),
        draw.normal("twenty negatives in a million", draw.labels(MANY, 1 - 2e-5), in_half),
        draw.of_values("rare positives among few values", range(7), MANY, rate=1e-5),
    ]


def compare(ranks, launcher, program, cases, paths, expected):
    areas = [float(line) for line in peer.run_on(ranks, launcher, program, *paths).split()]
    assert len(areas) == len(cases), f"{len(areas)} areas of {len(cases)} cases"
    errors = {case.name: abs(area - wanted) for case, area, wanted in zip(cases, areas, expected)}
    worst = max(errors, key=errors.get)
    print(f"{ranks} rank(s): {len(cases)} cases, |a - b| = {errors[worst]:.1e} at worst, in '{worst}' "
          f"(bound {BOUND:.0e})", flush=True)
    return all(error <= BOUND for error in errors.values())


def controls_fail(cases, expected):
    errors = {case.name: abs(case.wrong_area() - area) for case, area in zip(cases, expected)}
    least = min(errors, key=errors.get)
    print(f"controls: wrong areas are off by {errors[least]:.1e} at least, in '{least}'")
    return errors[least] > 10 * BOUND


def main(program, launcher):
    cases = make_cases()
    expected = [case.area() for case in cases]
    with tempfile.TemporaryDirectory() as folder:
        paths = [case.write(folder) for case in cases]
        results = [compare(ranks, launcher, program, cases, paths, expected) for ranks in RANKS]
    return all([*results, controls_fail(cases, expected)])


sys.exit(0 if main(*sys.argv[1:]) else 1)
