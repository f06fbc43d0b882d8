"""Seconds to an AUC: DLRM by trainmark on 1 and 4 ranks in f32 and bf16, and by PyTorch, all from the same weights.

All train on the same generated clicks (400,000, a quarter of them positive, plus 100,000 for evaluation; see
`trainmark generate dlrm`) in the order of the file, in batches of 256, at the same learning rate, and evaluate 20 times
per epoch until they reach the target. There are two recipes: SGD at 0.1 and Adagrad at 0.02, for layers and tables. In
bf16, tables are split. Start-up is not counted: trainmark's time begins at run_start, PyTorch's at its first step, with
all batches in memory as tensors. PyTorch trains in f32 and uses the fastest of several variants, which are timed first:
sparse or dense gradients of tables, interaction by autograd or with a hand-written gradient, one thread or two.

The programs alternate for each seed. No time is asserted. It takes five minutes on two cores:

    python3 tests/parity/dlrm_time_to_auc.py build/release/trainmark --output /tmp/time_to_auc.json

The file is written after every run. Exit code 77 if PyTorch is absent, 1 if trainmark fails.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import tempfile
import time

import peer

torch, _ = peer.require("torch", "h5py")
import numpy

import accuracy
import dlrm_ours
import dlrm_reference as reference

BATCH, EVALUATIONS = 256, 20
EVALUATED = 4096  # samples that PyTorch evaluates at a time
EPSILON = 1e-8
#: By name: rate, and maximum number of epochs.
RECIPES = {"sgd": (0.1, 5), "adagrad": (0.02, 2)}
TRIED = 30  # steps of each of PyTorch's variants


def write_config(folder, data, recipe, precision):
    rate, epochs = RECIPES[recipe]
    return peer.write_config(f"{folder}/config.json", {
        "workload": "dlrm",
        "epochs": epochs,
        "clear_caches": "never",
        "evaluation": {"per_epoch": EVALUATIONS},
        "dataset": {"train": f"{data}/train.bin", "test": f"{data}/test.bin", "shuffle": "none"},
        "model": {**reference.MODEL, "tables": dlrm_ours.listed(reference.TABLES)},
        "embeddings": {"optimizer": recipe, "storage": "split_bf16" if precision == "bf16" else "f32"},
        "training": {"global_batch_size": BATCH},
        "optimizer": {"name": recipe} | ({"momentum": 0} if recipe == "sgd" else {}),
        "schedule": {"name": "constant", "learning_rate": rate},
    })


class Ours:
    """Runs of trainmark."""

    def __init__(self, options, data):
        self.options, self.data = options, data
        self.provenance = {}

    def train(self, recipe, ranks, precision, seed):
        with tempfile.TemporaryDirectory() as folder:
            config = write_config(folder, self.data, recipe, precision)
            run, self.provenance = accuracy.train(self.options.program, config, precision, ranks, seed,
                                                  self.options.target)
        for point in run["epochs"]:
            point["epoch"] -= 1.0  # the log counts from 1
        return {"program": "trainmark", "ranks": ranks, "precision": precision}, run["epochs"]


class Batches:
    """All records as tensors."""

    def __init__(self, data):
        self.train = self.read(f"{data}/train.bin", BATCH)
        self.test = self.read(f"{data}/test.bin", EVALUATED)
        self.labels = numpy.concatenate([labels.numpy() for _, _, labels in self.test])

    @staticmethod
    def read(path, size):
        dense, ids, labels = reference.inputs_of(reference.read_records(path), torch.float32)
        return [(part, list(bags.contiguous()), truth) for part, bags, truth in
                zip(dense.split(size), ids.split(size, dim=1), labels.split(size))]


class Theirs:
    """Training by a variant in PyTorch."""

    def __init__(self, batches, start, recipe, way):
        self.batches, self.recipe = batches, recipe
        self.model = reference.model_of(start, torch.float32)
        for table in self.model.emb_l:
            table.sparse = way["tables"] == "sparse"
        self.model.by_hand = way["interaction"] == "by hand"
        torch.set_num_threads(way["threads"])
        make = {"sgd": torch.optim.SGD, "adagrad": lambda *a, lr: torch.optim.Adagrad(*a, lr=lr, eps=EPSILON)}[recipe]
        self.optimizer = make(self.model.parameters(), lr=RECIPES[recipe][0])

    def step(self, batch):
        dense, ids, labels = batch
        self.optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.binary_cross_entropy_with_logits(self.model(dense, ids), labels).backward()
        self.optimizer.step()

    def evaluate(self):
        with torch.no_grad():
            logits = torch.cat([self.model(dense, ids) for dense, ids, _ in self.batches.test])
        return reference.roc_auc(logits.numpy(), self.batches.labels)

    def train(self, target):
        """Trains until the target is reached. Returns the points of the curve."""
        per_epoch = len(self.batches.train)
        period, curve, evaluating, began = per_epoch // EVALUATIONS, [], 0.0, time.perf_counter()
        for step, batch in enumerate(itertools.chain(*[self.batches.train] * RECIPES[self.recipe][1]), 1):
            self.step(batch)
            if step % per_epoch % period:
                continue
            paused = time.perf_counter()
            quality = self.evaluate()
            now = time.perf_counter()
            evaluating += now - paused
            curve.append({"epoch": step / per_epoch, "eval_accuracy": quality, "seconds": round(now - began, 3),
                          "evaluation_seconds": round(evaluating, 3)})
            if quality >= target:
                break
        return curve


def fastest_way(batches, start, recipe):
    """The fastest variant, and the seconds per step of each."""
    seconds = {}
    for tables, interaction, threads in itertools.product(("sparse", "dense"), ("autograd", "by hand"), (1, 2)):
        way = {"tables": tables, "interaction": interaction, "threads": threads}
        training, times = Theirs(batches, start, recipe, way), []
        for batch in batches.train[:TRIED]:
            began = time.perf_counter()
            training.step(batch)
            times.append(time.perf_counter() - began)
        seconds[json.dumps(way)] = statistics.median(times)
    best = min(seconds, key=seconds.get)
    print(f"PyTorch, {recipe}: {best}, {1e3 * seconds[best]:.2f} ms a step; others up to "
          f"{1e3 * max(seconds.values()):.2f} ms", flush=True)
    return json.loads(best), seconds


def reached(curve, target):
    """The first point that reaches the target, or None."""
    return next((point for point in curve if point["eval_accuracy"] >= target), None)


def summarize(runs):
    """By program and recipe: median epochs and seconds to the target over the seeds that reached it."""
    groups = {}
    for run in runs:
        name = run["program"] + (f", {run['ranks']} rank(s), {run['precision']}" if "ranks" in run else "")
        groups.setdefault(f"{run['recipe']}: {name}", []).append(run["reached"])
    summary = {}
    for name, points in groups.items():
        met = [point for point in points if point]
        summary[name] = {"runs": len(points), "met": len(met)}
        if met:
            summary[name] |= {
                "epochs": statistics.median(point["epoch"] for point in met),
                "seconds": statistics.median(point["seconds"] for point in met),
                "training_seconds": statistics.median(p["seconds"] - p["evaluation_seconds"] for p in met)}
    return summary


def show(summary):
    for name, figures in summary.items():
        met = f"{figures['met']} of {figures['runs']} runs met it"
        if figures["met"]:
            met += (f", after {figures['epochs']:.2f} epochs, {figures['seconds']:.2f} s, "
                    f"{figures['training_seconds']:.2f} s of them training")
        print(f"{name}: {met}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--precisions", nargs="+", choices=("f32", "bf16"), default=["f32", "bf16"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--samples", type=int, default=400_000, help="clicks to train on, at least "
                        f"{BATCH * EVALUATIONS}: fewer show that this works, and nothing more")
    parser.add_argument("--target", type=float, default=0.78, help="AUC")
    parser.add_argument("--output", required=True, help="JSON file for curves, figures and machine")
    options = parser.parse_args()
    if options.samples < BATCH * EVALUATIONS:
        parser.error(f"--samples: expected {BATCH * EVALUATIONS} or more, got {options.samples}")
    return options


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as data:
        peer.run(options.program, "generate", "dlrm", f"{data}/clicks", "--samples", options.samples, "--test-samples",
                 options.samples // 4, "--validation-samples", 0, "--tables", dlrm_ours.listed(reference.TABLES))
        measure(options, f"{data}/clicks")


def measure(options, data):
    program, ours, batches = dlrm_ours.Program(options.program, "mpirun"), Ours(options, data), Batches(data)
    block = reference.read_records(f"{data}/train.bin")[:BATCH]
    report = {"what": "seconds to an AUC, of trainmark and PyTorch, without start-up", "target": options.target, "samples": options.samples,
              "recipes": {name: RECIPES[name] for name in options.recipes}, "batch": BATCH, "torch": torch.__version__,
              "runs": []}

    def note(recipe, seed, what, curve):
        point = reached(curve, options.target)
        report["runs"].append({**what, "recipe": recipe, "seed": seed, "reached": point, "curve": curve})
        report["summary"] = summarize(report["runs"])
        report.update(ours.provenance)
        pathlib.Path(options.output).write_text(json.dumps(report, indent=1) + "\n")
        end = f"{point['seconds']:.2f} s, epoch {point['epoch']:.2f}" if point else "not met"
        print(f"{recipe}, seed {seed}, {what}: {end}, {curve[-1]['eval_accuracy']:.4f}", flush=True)

    starts = {seed: program.first_weights(seed, block) for seed in options.seeds}
    for recipe in options.recipes:
        way, by_way = fastest_way(batches, starts[options.seeds[0]], recipe)
        report.setdefault("pytorch_step_seconds", {})[recipe] = by_way
        for seed in options.seeds:
            note(recipe, seed, {"program": "pytorch", **way},
                 Theirs(batches, starts[seed], recipe, way).train(options.target))
            for ranks, precision in itertools.product(options.ranks, options.precisions):
                note(recipe, seed, *ours.train(recipe, ranks, precision, seed))
    show(report["summary"])


if __name__ == "__main__":
    main()
