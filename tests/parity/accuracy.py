"""Compares the accuracy after training with a peer's: three seeds each on 1, 2 and 4 ranks under one configuration.

Every run trains all epochs and ignores the target. Run it in the project's folder. It takes an hour and a half on two
cores, and continues where it was stopped:

    python3 tests/parity/accuracy.py build/release/trainmark --output build/cifar10/trainmark.json

workloads/resnet50/cifar10.py makes the data. The file is written after every run. The default peer is PyTorch, whose
curves on the same data come from train_cifar10.py.
To compare bf16 with our own f32:

    python3 tests/parity/accuracy.py build/release/trainmark --precision bf16 --ranks 2 \\
        --peer build/cifar10/trainmark.json --output build/cifar10/trainmark_bf16.json

Exit code 1 if, for a number of ranks, the mean accuracy differs from the peer's by more than 1.5 points, or a run takes
more than 10 minutes; in f32, if a run ends below 72 %; in bf16, if an exact permutation test of all our accuracies
against all of the peer's distinguishes the two at the level of 5 %.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MOST_POINTS, LEAST_ACCURACY, MOST_SECONDS, LEAST_CHANCE = 1.5, 0.72, 600.0, 0.05
TARGET_MISSED = 6


def read_log(path):
    """Curve and seconds of a run. evaluation_seconds is the time in all evaluations so far."""
    times, curve, evaluating = {}, [], 0
    for line in path.read_text().splitlines():
        record = json.loads(line.split(":::MLLOG ")[1])
        times.setdefault(record["key"], record["time_ms"])
        if record["key"] == "eval_stop":
            evaluating += record["time_ms"] - times.pop("eval_start")
        if record["key"] == "eval_accuracy":
            curve.append({"epoch": record["metadata"]["epoch_num"], "eval_accuracy": record["value"],
                          "seconds": round((record["time_ms"] - times["run_start"]) / 1e3, 3),
                          "evaluation_seconds": round(evaluating / 1e3, 3)})
    return curve, round((times["run_stop"] - times["run_start"]) / 1e3, 3)


def train(program, config, precision, ranks, seed, target=1):
    """Trains once; the ranks share the machine's cores. Returns the run and its provenance."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "run", config, "--set", f"seed={seed}", "--set", f"target.quality={target}",
                   "--set", f"training.precision={precision}", "--set", f"results.directory={folder}"]
        if ranks > 1:
            command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]
        environment = dict(os.environ, OMP_NUM_THREADS=str(max(1, (os.cpu_count() or 1) // ranks)))
        if os.getuid() == 0:
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode not in (0, TARGET_MISSED):
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        log = next(pathlib.Path(folder).glob("*/*/result_1.txt"))
        curve, seconds = read_log(log)
        account = json.loads(log.with_name("result_1.telemetry.json").read_text())["provenance"]
    machine = {key: account["machine"][key]
               for key in ("cpu_model", "cores", "memory_bytes", "instruction_set", "kernel", "operating_system")}
    return {"ranks": ranks, "seed": seed, "seconds": seconds, "eval_accuracy": curve[-1]["eval_accuracy"],
            "epochs": curve}, {"machine": machine, "build": account["build"], "libraries": account["libraries"]}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def chance_of_difference(ours, theirs):
    """p-value of an exact permutation test: the share of all regroupings whose means differ by at least as much."""
    everything = ours + theirs
    differences = []
    for chosen in itertools.combinations(range(len(everything)), len(ours)):
        rest = [value for i, value in enumerate(everything) if i not in chosen]
        differences.append(abs(mean(everything[i] for i in chosen) - mean(rest)))
    seen = abs(mean(ours) - mean(theirs))
    return sum(difference >= seen - 1e-12 for difference in differences) / len(differences)


def judge(runs, peer, precision):
    """Prints the comparison, and returns whether it holds."""
    ends = [run["epochs"][-1]["eval_accuracy"] for run in peer["runs"]]
    print(f"peer, seeds {' '.join(str(run['seed']) for run in peer['runs'])}: "
          f"{' '.join(f'{end:.4f}' for end in ends)}, mean {mean(ends):.4f}")
    holds = True
    for ranks in sorted({run["ranks"] for run in runs}):
        of_ranks = [run for run in runs if run["ranks"] == ranks]
        points = 100.0 * (mean(run["eval_accuracy"] for run in of_ranks) - mean(ends))
        accuracies = " ".join(f"{run['eval_accuracy']:.4f}" for run in of_ranks)
        seconds = " ".join(f"{run['seconds']:.0f}" for run in of_ranks)
        print(f"{ranks} ranks: {accuracies}, {points:+.2f} points; {seconds} s")
        holds &= abs(points) <= MOST_POINTS
        holds &= all(run["seconds"] <= MOST_SECONDS for run in of_ranks)
    accuracies = [run["eval_accuracy"] for run in runs]
    if precision == "f32":
        return holds and all(accuracy >= LEAST_ACCURACY for accuracy in accuracies)
    chance = chance_of_difference(accuracies, ends)
    print(f"chance of such a difference where there is none: {chance:.3f}")
    return holds and chance >= LEAST_CHANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--config", default="configs/resnet50/cifar10.json")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--peer", default="build/cifar10/pytorch.json")
    parser.add_argument("--output", required=True, help="JSON file for curves and machine")
    options = parser.parse_args()
    output, recipe = pathlib.Path(options.output), json.loads(pathlib.Path(options.config).read_text())
    report = {"what": "curves of trainmark under this recipe", "config": options.config, "recipe": recipe,
              "precision": options.precision, "runs": []}
    if output.exists():
        report = json.loads(output.read_text())
        if report["recipe"] != recipe or report.get("precision", "f32") != options.precision:
            sys.exit(f"{output}: holds runs of another recipe; name another file")
    for ranks in options.ranks:
        for seed in options.seeds:
            if any(run["ranks"] == ranks and run["seed"] == seed for run in report["runs"]):
                continue
            run, provenance = train(options.program, options.config, options.precision, ranks, seed)
            report["runs"].append(run | provenance)
            output.write_text(json.dumps(report, indent=1) + "\n")
            print(f"{ranks} ranks, seed {seed}: {run['eval_accuracy']:.4f} after {run['seconds']:.0f} s", flush=True)
    peer_path = pathlib.Path(options.peer)
    if not peer_path.exists():
        sys.exit(f"{peer_path}: expected a peer's curves; train_cifar10.py measures PyTorch's")
    peer = json.loads(peer_path.read_text())
    if peer["recipe"] != recipe:
        sys.exit(f"{peer_path}: holds curves of another recipe")
    sys.exit(0 if judge(report["runs"], peer, options.precision) else 1)


if __name__ == "__main__":
    main()
