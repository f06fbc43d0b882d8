"""DLRM in bfloat16 with split tables: errors of logits and steps against PyTorch in float64.

Errors of layers and of tables are root mean squares over draws. They must be below absolute bounds and below 1.5 times
the errors of PyTorch's mixed precision, whose tables are in single precision. Ten steps at a low rate move most weights
by less than the rounding of bfloat16, which shows whether the lower halves of split tables are kept. Negative controls
do one thing wrong and must exceed a bound. Skipped on CPUs without avx512_bf16.
"""

import pathlib
import sys
import tempfile

import peer

torch, _ = peer.require("torch", "h5py")

import distance
import dlrm_ours
import dlrm_reference as reference

BATCH, SEEDS, EVALUATED = 256, (1, 2, 3), 2000
#: Rule, rate, number of steps.
TRIALS = (("sgd", 10.0, 1), ("sgd", 0.1, 10), ("adagrad", 0.02, 10), ("rowwise_adagrad", 0.02, 10))
BOUNDS, BOUND_TO_PEER = {"layers": 0.02, "tables": 0.1}, 1.5
LOSS_BOUND, LOGIT_BOUND = 1e-3, 2e-2
OURS = {"training": {"precision": "bf16"}, "embeddings": {"storage": "split_bf16"}}


class LossyTraining(reference.Training):
    """Wrong on purpose: keeps only the upper halves of table elements."""

    def step(self, records):
        loss = super().step(records)
        with torch.no_grad():
            for table in self.model.tables():
                table.copy_(table.bfloat16())
        return loss


def part_errors(start, result, exact):
    """Relative errors of the changes of layers and of tables."""
    found = distance.per_tensor(distance.errors(start, result, exact), "update")
    parts = {part: [error for name, error in found.items() if name.startswith("emb_l") == (part == "tables")]
             for part in BOUNDS}
    return {part: distance.relative(tuple(map(sum, zip(*errors)))) for part, errors in parts.items()}


def over_draws(errors):
    return {part: distance.root_mean_square(error[part] for error in errors) for part in BOUNDS}


class Draws:
    """For one rule: initial weights, blocks of records, and exact steps on them, by seed."""

    def __init__(self, starts, blocks, rule, rate, steps):
        self.what, self.rule, self.rate = f"{rule}, {steps} steps at {rate}", rule, rate
        self.starts = starts
        self.blocks = {seed: blocks[steps * i:steps * (i + 1)] for i, seed in enumerate(starts)}
        self.exact = {seed: self.in_torch(seed, torch.float64) for seed in starts}
        self.theirs = self.errors(lambda seed: self.in_torch(seed, torch.float32, mixed=True))

    def in_torch(self, seed, dtype, **options):
        return reference.train(self.starts[seed], self.blocks[seed], self.rule, self.rate, dtype, **options)

    def ours(self, program, seed, ranks):
        return program.train(seed, self.blocks[seed], self.rule, self.rate, ranks, **OURS)

    def errors(self, steps_of):
        """Errors of the changes made by these steps, over the seeds."""
        return over_draws([part_errors(self.starts[seed], steps_of(seed), self.exact[seed]) for seed in self.starts])


def described(errors):
    return ", ".join(f"{part} {error:.1e}" for part, error in errors.items())


def within(errors, theirs):
    return all(errors[part] <= min(bound, BOUND_TO_PEER * theirs[part]) for part, bound in BOUNDS.items())


def compare_steps(program, draws):
    passed = True
    for ranks in (1, 2):
        results = {seed: draws.ours(program, seed, ranks) for seed in draws.starts}
        errors = draws.errors(results.get)
        losses = [(result["losses"][0], draws.exact[seed]["losses"][0]) for seed, result in results.items()]
        loss_error = max(abs(a - b) / b for a, b in losses)
        print(f"{draws.what}, {ranks} rank(s): {described(errors)} (PyTorch's: {described(draws.theirs)}); losses off "
              f"by {loss_error:.1e} (bound {LOSS_BOUND:.0e})", flush=True)
        passed = passed and within(errors, draws.theirs) and loss_error <= LOSS_BOUND
    return passed


def controls_fail(draws):
    wrong = {"upper triangle": {"triangle": "upper"}, "rate of tables over two ranks": {"table_rate": draws.rate / 2}}
    if draws.rate < 1 and draws.rule == "sgd":
        wrong["upper halves alone"] = {"kind": LossyTraining}
    passed = True
    for what, options in wrong.items():
        errors = draws.errors(lambda seed: draws.in_torch(seed, torch.float64, **options))
        print(f"{draws.what}, control, {what}: {described(errors)}", flush=True)
        passed = passed and not within(errors, draws.theirs)
    return passed


def compare_logits(program, records):
    torch.manual_seed(7)
    model = reference.random_model()
    features, ids, _ = reference.inputs_of(records, torch.float64)
    state = reference.state_of(model)
    with torch.no_grad():
        expected = model.double()(features, ids).numpy()
    logits, _ = program.evaluate(state, records, **OURS)
    error = peer.largest_difference(logits, expected)
    changed = {**state, "emb_l.0.weight": -state["emb_l.0.weight"]}
    wrong = peer.largest_difference(program.evaluate(changed, records, **OURS)[0], expected)
    print(f"logits: max |a - b| / max |b| = {error:.1e} (bound {LOGIT_BOUND:.0e}); one table negated {wrong:.1e}")
    return error <= LOGIT_BOUND < wrong


def main(program):
    if "avx512_bf16" not in pathlib.Path("/proc/cpuinfo").read_text():
        peer.skip("this CPU has no avx512_bf16")
    with tempfile.TemporaryDirectory() as folder:
        records = program.generate(f"{folder}/data", 10 * len(SEEDS) * BATCH)
    blocks = list(records.reshape(-1, BATCH, records.shape[1]))
    starts = {seed: program.first_weights(seed, blocks[0]) for seed in SEEDS}
    passed = compare_logits(program, records[:EVALUATED])
    for trial in TRIALS:
        draws = Draws(starts, blocks, *trial)
        passed = compare_steps(program, draws) and passed
        passed = controls_fail(draws) and passed
    print(f"bounds: {described(BOUNDS)}, {BOUND_TO_PEER} times PyTorch's")
    return passed


sys.exit(0 if main(dlrm_ours.Program(*sys.argv[1:])) else 1)
