"""Training steps of DLRM: our error against PyTorch in float64 is at most 1.5 times that of PyTorch's own fp32.

Batches are chosen on which no ReLU has inputs near its kink: there, fp32 may by chance decide differently from float64.
Trials are: one step; a step on each of ten batches; and ten steps on the same batch, with the loss of every step from
the log. Layers are trained by SGD, tables by the rule of the last argument: SGD or one of two forms of Adagrad. Trials
run on one rank, on two, and on two with copies of the small tables. The bound holds for the update (w1 - w0) of all
tensors together in every trial, and of each tensor, including embedding tables, over the trials. Losses have seven
digits in the log and agree to 5e-7.

Negative controls do one thing wrong and must exceed the bound tenfold.
"""

import sys
import tempfile

import peer

torch, _ = peer.require("torch", "h5py")

import distance
import dlrm_ours
import dlrm_reference as reference

BOUND, LOSS_BOUND = 1.5, 5e-7
BATCH, STEPS = 256, 10
#: By rule: rates of one step and of ten. One step must exceed the rounding of weights; ten must not diverge.
RATES = {"sgd": (10.0, 1.0), "adagrad": (0.1, 0.05), "rowwise_adagrad": (0.1, 0.05)}
#: Least distance of ReLU inputs from zero, in standard deviations. Errors in fp32 are a tenth of it.
LEAST_LEAD = 3e-6
ON_RANKS = {"1 rank": (1, {}), "2 ranks": (2, {}), "2 ranks, small tables on both": (2, {"replicate_up_to_rows": 100})}


class Draw:
    """Blocks of generated records, each used once, and initial weights by seed."""

    def __init__(self, program):
        with tempfile.TemporaryDirectory() as folder:
            records = program.generate(f"{folder}/data", 120 * BATCH)
        self.blocks = list(records.reshape(-1, BATCH, records.shape[1]))
        self.starts = {seed: program.first_weights(seed, self.blocks[0]) for seed in (1, 2)}

    def clear(self, start, rule, rate, count, epochs):
        """`count` blocks without ReLU inputs near the kink during the training on them."""
        training, chosen = reference.Training(start, rule, rate, torch.float64), []
        while len(chosen) < count:
            block = self.blocks.pop()
            if training.least_lead(block) < LEAST_LEAD:
                continue
            training.step(block)
            chosen.append(block)
        again = (training.least_lead(block) >= LEAST_LEAD and training.step(block)
                 for _ in range(epochs - 1) for block in chosen)
        return chosen if all(again) else self.clear(start, rule, rate, count, epochs)


class Trial:
    """A training on some blocks, with the errors of PyTorch's fp32."""

    def __init__(self, draw, seed, rule, rate, count=1, epochs=1):
        self.seed, self.rule, self.rate, self.epochs = seed, rule, rate, epochs
        self.start = draw.starts[seed]
        self.blocks = draw.clear(self.start, rule, rate, count, epochs)
        self.exact = self.in_torch(torch.float64)
        self.theirs = self.errors(self.in_torch(torch.float32))

    def in_torch(self, dtype, rule=None, **options):
        return reference.train(self.start, self.blocks, rule or self.rule, self.rate, dtype, self.epochs, **options)

    def errors(self, result):
        return distance.errors(self.start, result, self.exact)

    def of(self, program, ranks=1, **sections):
        return program.train(self.seed, self.blocks, self.rule, self.rate, ranks, self.epochs, **sections)

    def loss_error(self, result):
        return max(abs(result["losses"] - self.exact["losses"]) / self.exact["losses"])


def compare(program, rule, trials):
    passed = True
    for where, (ranks, placement) in ON_RANKS.items():
        results = [trial.of(program, ranks, embeddings=placement) for trial in trials]
        error = max(trial.loss_error(result) for trial, result in zip(trials, results))
        losses = " ".join(f"{loss:.4f}" for loss in trials[-1].exact["losses"])
        print(f"{rule}, {where}: losses {losses}, off by at most {error:.1e} (bound {LOSS_BOUND:.0e})")
        passed = passed and error <= LOSS_BOUND
        found = [trial.errors(result) for trial, result in zip(trials, results)]
        passed = distance.judge(f"{rule}, {where}", trials, found, ["update"], BOUND) and passed
    return passed


def controls(program, rule, trial, steps):
    """Name, result, and an oracle that does one thing wrong."""
    right = trial.of(program)
    yield "upper triangle", right, trial.in_torch(torch.float64, triangle="upper")
    yield "rate of tables over two ranks", right, trial.in_torch(torch.float64, table_rate=trial.rate / 2)
    if rule == "adagrad":
        yield "lookups squared before they are added", right, trial.in_torch(torch.float64, "hasty_adagrad")
    if rule == "rowwise_adagrad":
        yield "a number of state for each weight", right, trial.in_torch(torch.float64, "adagrad")
    backwards = reference.train(steps.start, steps.blocks[::-1], rule, steps.rate, torch.float64)
    yield "batches in another order", steps.of(program), backwards


def controls_fail(program, rule, trial, steps):
    passed = True
    for what, result, oracle in controls(program, rule, trial, steps):
        against = steps if "batches" in what else trial
        ratio = distance.whole_ratio(against, distance.errors(against.start, result, oracle), "update")
        print(f"{rule}, control, {what}: ratio {ratio:.0f} as a whole", flush=True)
        passed = passed and ratio > 10 * BOUND
    return passed


def main(program, rule):
    draw, (far, near) = Draw(program), RATES[rule]
    trials = [Trial(draw, 1, rule, far), Trial(draw, 2, rule, far), Trial(draw, 1, rule, near, STEPS),
              Trial(draw, 2, rule, near, 1, STEPS)]
    return all([compare(program, rule, trials), controls_fail(program, rule, trials[0], trials[2])])


sys.exit(0 if main(dlrm_ours.Program(*sys.argv[1:3]), sys.argv[3]) else 1)
