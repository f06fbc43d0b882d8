"""Measures what `training.late_update` and `training.divided_update` save between hosts: the wait until the next forward
pass begins, the step, and memory.

The hosts are network namespaces of this machine, joined by a switch whose links have a limited rate in both directions
(tests/hosts.sh). ResNet-50 trains on them, one rank on each, with updates at once, late ones, and late ones that hosts
divide, in turns, so that slow phases of the machine affect all. Figures come from traces of all steps but the first: the
time from the beginning of a step to that of the next, on the slowest rank; the wait, from the end of a backward pass to the first layer of the next forward
pass; the seconds of a step that training spent in communication, the mean over the ranks; and the peak memory of the
largest rank. At the rate that suits the machine, the sums take about as long as the backward pass. All hosts share this
machine's cores, which also carry the links. Asserts only that all send the same bytes (1 % where hosts divide
updates: their shards are whole cells), that all end with the same weights, and that the hosts' clocks agree.
Needs root. At the default size it takes six minutes on two cores:

    python3 tests/performance/late_update.py build/release/trainmark --rate 300mbit --output /tmp/late_update.json

Exit code 1 if bytes, weights or clocks differ, 2 for wrong arguments, 77 if network namespaces cannot be created,
trainmark's exit code if it fails.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

from beside_pytorch import machine_of, whole_number, write_report
from between_hosts import (add_options, bytes_of, check_clocks, on_hosts, parse_options, period_s, require_namespaces,
                           run_traced)
from run_check import call

VARIANTS = {"at once": {"late_update": False}, "late": {"late_update": True},
            "divided": {"late_update": True, "divided_update": True}}
CLASSES = 8
BN_GROUP = 8
PIECE_KIB = 4096  # the same for all, in place of sizes that the first steps try
SETTINGS = ("hosts", "rate", "batch", "width", "steps", "repetitions", "threads")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "300mbit")
    parser.add_argument("--batch", type=whole_number(2), default=1024, help="images of a step on all hosts")
    parser.add_argument("--width", type=whole_number(16), default=64, help="channels of the first convolution")
    parser.add_argument("--steps", type=whole_number(3), default=8, help="of a run; the first one is not counted")
    parser.add_argument("--repetitions", type=whole_number(1), default=3, help="runs of each")
    options = parse_options(parser)
    if options.batch % BN_GROUP != 0:
        parser.error(f"--batch: must divide by {BN_GROUP}, got {options.batch}")
    return options


def write_config(options, folder, variant):
    config = {"workload": "resnet50", "epochs": 1, "seed": 1, "threads": options.threads, "clear_caches": "never",
              "evaluation": {"per_epoch": 1},
              # A target that is reached: Open MPI takes seconds to end a job on several hosts with another exit code.
              "target": {"quality": 0.0001},
              "results": {"directory": str(folder / variant), "system": "here"},
              "dataset": {"train": str(folder / "data/train"), "validation": str(folder / "data/validation"),
                          "preprocess": "cifar"},
              "staging": {"mode": "stream"},
              "model": {"image_size": 32, "classes": CLASSES, "width": options.width},
              "training": {"global_batch_size": options.batch, "bn_group_samples": BN_GROUP,
                           "gradient_piece_kib": PIECE_KIB, **VARIANTS[variant]},
              "optimizer": {"name": "sgd", "momentum": 0.9},
              "schedule": {"name": "constant", "learning_rate": 0.01}}
    path = folder / f"{variant.replace(' ', '_')}.json"
    path.write_text(json.dumps(config))
    return path


def waits_s(trace):
    """Seconds between the backward pass and the next forward pass's first layer, of all steps and ranks."""
    waits = []
    ranks = {event["pid"] for event in trace["traceEvents"] if event.get("cat") == "step"}
    for rank in ranks:
        events = [event for event in trace["traceEvents"] if event.get("pid") == rank and "dur" in event]
        starts = sorted(event["ts"] for event in events if event["cat"] == "layer" and event["name"] == "conv1")
        for event in events:
            if event["cat"] != "scope" or event["name"] != "backward":
                continue
            end = event["ts"] + event["dur"]
            following = [start for start in starts if start > end]
            if following:
                waits.append((following[0] - end) * 1e-6)
    return waits


def summary(traces):
    steps = [period_s(trace) for trace in traces]
    waits = [statistics.median(waits_s(trace)) for trace in traces]
    exchange = [statistics.mean(rank["exchange_s"] / rank["steps"] for rank in trace["otherData"]["ranks"])
                for trace in traces]
    return {"step_s": steps, "wait_s": waits, "exchange_s": exchange, "bytes_sent": sum(bytes_of(traces[0]).values())}


def results_of(folder, variant):
    return folder / variant / "here/resnet50"


def peak_bytes(folder, variant):
    """Of the largest rank, by run."""
    reports = [json.loads(path.read_text()) for path in sorted(results_of(folder, variant).glob("*.telemetry.json"))]
    return [max(rank["peak_rss_bytes"] for rank in report["ranks"]) for report in reports]


def check_weights(folder):
    """Compares the files of weights of the first runs."""
    weights = {variant: (results_of(folder, variant) / "result_1.weights.h5").read_bytes() for variant in VARIANTS}
    for variant, one in weights.items():
        if one != weights["at once"]:
            sys.exit(f"{variant}: expected the same weights as from updates at once")


def check_bytes(figures):
    expected = figures["at once"]["bytes_sent"]
    for variant, one in figures.items():
        if abs(one["bytes_sent"] / expected - 1.0) > (0.01 if variant == "divided" else 0.0):
            sys.exit(f"{variant}: expected {expected} bytes a step as with updates at once, sent {one['bytes_sent']}")


def show(figures):
    print(f"{'update':<9}{'step s':>9}{'(range)':>18}{'wait s':>9}{'exchange s':>12}{'MB sent':>9}{'peak MB':>9}")
    for variant, one in figures.items():
        medians = [statistics.median(one[key]) for key in ("step_s", "wait_s", "exchange_s", "peak_bytes")]
        spread = f"({min(one['step_s']):.3f} to {max(one['step_s']):.3f})"
        print(f"{variant:<9}{medians[0]:>9.3f}{spread:>18}{medians[1]:>9.3f}{medians[2]:>12.3f}"
              f"{one['bytes_sent'] / 1e6:>9.2f}{medians[3] / 1e6:>9.1f}")
    for variant in ("late", "divided"):
        for key, what in (("step_s", "step"), ("wait_s", "wait"), ("exchange_s", "exchange")):
            gain = statistics.median(figures["at once"][key]) / statistics.median(figures[variant][key])
            print(f"{variant}: {what} {gain:.2f} times shorter")


def main():
    options = parse_arguments()
    require_namespaces()
    busy = os.getloadavg()[0]
    traces = {variant: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        call([options.program, "generate", "resnet50", folder / "data", "--classes", CLASSES, "--validation-per-class", 16,
              "--train-per-class", options.batch * options.steps // CLASSES])
        configs = {variant: write_config(options, folder, variant) for variant in VARIANTS}
        for _ in range(options.repetitions):
            for variant, config in configs.items():
                traces[variant].append(run_traced(options, config))
        telemetry = next(results_of(folder, "late").glob("*.telemetry.json"))
        provenance = json.loads(telemetry.read_text())["provenance"]
        check_weights(folder)
        figures = {variant: dict(summary(found), peak_bytes=peak_bytes(folder, variant))
                   for variant, found in traces.items()}
    for variant, found in traces.items():
        check_clocks(variant, found)
    check_bytes(figures)
    show(figures)
    write_report(options, {
        "what": "training steps of ResNet-50 on hosts of one machine, with updates at once, late, and late and divided",
        "settings": {name: getattr(options, name) for name in SETTINGS},
        "figures": figures, "load_before": busy,
        "machine": machine_of(provenance), "build": provenance["build"], "libraries": provenance["libraries"]})


if __name__ == "__main__":
    main()
