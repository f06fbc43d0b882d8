"""Measures what `training.late_update` saves between hosts: the wait until the next forward pass begins, and the step.

The hosts are network namespaces of this machine, joined by a switch whose links have a limited rate in both directions
(tests/hosts.sh). ResNet-50 trains on them, one rank on each, with and without `training.late_update` in turns, so that
slow phases of the machine affect both. Figures come from traces of all steps but the first: the time of a step, that of
its slowest rank; the wait, from the end of a backward pass to the first layer of the next forward pass; and the seconds
of a step that training spent in communication, the mean over the ranks. At the rate that suits the machine, the sums
take about as long as the backward pass. All hosts share this machine's cores, which also carry the links. Asserts only
that both send the same bytes, end with the same weights, and that the hosts' clocks agree. Needs root. At the default
size it takes two and a half minutes on two cores:

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
from between_hosts import (add_options, bytes_of, check_clocks, on_hosts, parse_options, require_namespaces, run_traced,
                           step_s)
from run_check import call

NAMES = {True: "late", False: "at once"}
CLASSES = 8
BN_GROUP = 8
SETTINGS = ("hosts", "rate", "batch", "width", "steps", "repetitions", "threads")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "300mbit")
    parser.add_argument("--batch", type=whole_number(2), default=1024, help="images of a step on all hosts")
    parser.add_argument("--width", type=whole_number(16), default=64, help="channels of the first convolution")
    parser.add_argument("--steps", type=whole_number(3), default=4, help="of a run; the first one is not counted")
    parser.add_argument("--repetitions", type=whole_number(1), default=3, help="runs of each")
    options = parse_options(parser)
    if options.batch % BN_GROUP != 0:
        parser.error(f"--batch: must divide by {BN_GROUP}, got {options.batch}")
    return options


def write_config(options, folder, is_late):
    config = {"workload": "resnet50", "epochs": 1, "seed": 1, "threads": options.threads, "clear_caches": "never",
              "evaluation": {"per_epoch": 1},
              # A target that is reached: Open MPI takes seconds to end a job on several hosts with another exit code.
              "target": {"quality": 0.0001},
              "results": {"directory": str(folder / f"results_{NAMES[is_late]}"), "system": "here"},
              "dataset": {"train": str(folder / "data/train"), "validation": str(folder / "data/validation"),
                          "preprocess": "cifar"},
              "staging": {"mode": "stream"},
              "model": {"image_size": 32, "classes": CLASSES, "width": options.width},
              "training": {"global_batch_size": options.batch, "bn_group_samples": BN_GROUP, "late_update": is_late},
              "optimizer": {"name": "sgd", "momentum": 0.9},
              "schedule": {"name": "constant", "learning_rate": 0.01}}
    path = folder / f"{NAMES[is_late].replace(' ', '_')}.json"
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
    steps = [statistics.median(step_s(trace)) for trace in traces]
    waits = [statistics.median(waits_s(trace)) for trace in traces]
    exchange = [statistics.mean(rank["exchange_s"] / rank["steps"] for rank in trace["otherData"]["ranks"])
                for trace in traces]
    return {"step_s": steps, "wait_s": waits, "exchange_s": exchange, "bytes_sent": sum(bytes_of(traces[0]).values())}


def weights_of(folder, is_late):
    """Bytes of the first run's file of weights."""
    return (folder / f"results_{NAMES[is_late]}/here/resnet50/result_1.weights.h5").read_bytes()


def show(figures):
    print(f"{'update':<9}{'step s':>9}{'(range)':>18}{'wait s':>9}{'exchange s':>12}{'MB sent':>9}")
    for is_late, one in figures.items():
        medians = [statistics.median(one[key]) for key in ("step_s", "wait_s", "exchange_s")]
        spread = f"({min(one['step_s']):.3f} to {max(one['step_s']):.3f})"
        print(f"{NAMES[is_late]:<9}{medians[0]:>9.3f}{spread:>18}{medians[1]:>9.3f}{medians[2]:>12.3f}"
              f"{one['bytes_sent'] / 1e6:>9.2f}")
    at_once, late = (figures[is_late] for is_late in (False, True))
    for key, what in (("step_s", "step"), ("wait_s", "wait"), ("exchange_s", "exchange")):
        print(f"{what}: {statistics.median(at_once[key]) / statistics.median(late[key]):.2f} times shorter")


def main():
    options = parse_arguments()
    require_namespaces()
    busy = os.getloadavg()[0]
    traces = {False: [], True: []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        call([options.program, "generate", "resnet50", folder / "data", "--classes", CLASSES, "--validation-per-class", 16,
              "--train-per-class", options.batch * options.steps // CLASSES])
        configs = {is_late: write_config(options, folder, is_late) for is_late in traces}
        for _ in range(options.repetitions):
            for is_late, config in configs.items():
                traces[is_late].append(run_traced(options, config))
        telemetry = next((folder / "results_late/here/resnet50").glob("*.telemetry.json"))
        provenance = json.loads(telemetry.read_text())["provenance"]
        if weights_of(folder, True) != weights_of(folder, False):
            sys.exit("expected the same weights from late updates as from others")
    for is_late, found in traces.items():
        check_clocks(NAMES[is_late], found)
    figures = {is_late: summary(found) for is_late, found in traces.items()}
    if figures[True]["bytes_sent"] != figures[False]["bytes_sent"]:
        sys.exit("expected the same bytes from late updates as from others")
    show(figures)
    write_report(options, {
        "what": "training steps of ResNet-50 on hosts of one machine, with late updates and without",
        "settings": {name: getattr(options, name) for name in SETTINGS},
        "figures": {NAMES[is_late]: one for is_late, one in figures.items()}, "load_before": busy,
        "machine": machine_of(provenance), "build": provenance["build"], "libraries": provenance["libraries"]})


if __name__ == "__main__":
    main()
