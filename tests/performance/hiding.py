"""Shows how much of the exchange between hosts training hides, for each workload, beside the least that it cannot hide.

ResNet-50, a DLRM and CosmoFlow, whose samples are split over the hosts, train on network namespaces of this machine, one
rank on each, joined by links of a limited rate (tests/hosts.sh), with `--trace`. Of a step: its time, from the beginning
of one to that of the next on the slowest rank; then means over steps and ranks: computation, reading included;
communication alone, which ranks measure after training with nothing beside it; and what was exposed. Computation hides at
best its own length of communication, and the link carries one transfer after the other. So what takes longer than the
computation that it can be behind cannot be hidden: for embeddings and their gradients that of the bottom layers, for
others all the rest. Each transfer counts there with its bytes at the rate of the link, or with what it took alone if that
is less. All hosts share this machine's cores, which also carry the links.
Asserts only that clocks agree. Needs root. At the default size it takes a minute and a half on two
cores:

    python3 tests/performance/hiding.py build/release/trainmark --hosts 2 --rate 1gbit --output /tmp/hiding.json

Exit code 1 if clocks differ, 2 for wrong arguments, 77 if network namespaces cannot be created, trainmark's exit code if
it fails.
"""

import argparse
import bisect
import json
import os
import pathlib
import sys
import tempfile

from beside_pytorch import machine_of, whole_number, write_report
from between_hosts import add_options, check_clocks, on_hosts, parse_options, period_s, require_namespaces
from run_check import call

CLASSES = 8
# Steps before the traced ones: in the first ones training tries sizes of pieces, of which the last traced one must not be.
FIRST_STEPS = 20
SETTINGS = ("hosts", "rate", "steps", "threads", "images", "clicks", "volume", "progress", "piece_kib")
REACHED = {"quality": 0.0001}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "1gbit")
    parser.add_argument("--steps", type=whole_number(4), default=8, help="that are traced, after 20 others")
    parser.add_argument("--images", type=whole_number(8), default=256, help="of a step of ResNet-50, 32 x 32 pixels")
    parser.add_argument("--clicks", type=whole_number(64), default=8192, help="samples of a step of DLRM")
    parser.add_argument("--volume", type=int, choices=(32, 64, 128), default=64, help="voxels of CosmoFlow, each side")
    parser.add_argument("--progress", choices=("auto", "layers", "thread"), default="auto",
                        help="what goes on with exchanges while a rank computes: the key of cpus")
    parser.add_argument("--piece-kib", type=whole_number(0), default=0,
                        help="gradients sent at a time, a multiple of 16; 0: the best of sizes that training tries first")
    options = parse_options(parser)
    if options.volume % (2 * options.hosts) != 0:
        parser.error(f"--hosts: {options.hosts} cannot split {options.volume} voxels in parts of even size")
    if options.images % (4 * options.hosts) != 0:
        parser.error(f"--images: must divide by 4 for each of {options.hosts} hosts, got {options.images}")
    return options


def steps_of(options):
    return FIRST_STEPS + options.steps


def resnet50(options, folder):
    call([options.program, "generate", "resnet50", folder / "data", "--classes", CLASSES, "--validation-per-class", 16,
          "--train-per-class", -(-options.images * steps_of(options) // CLASSES)])
    return {"target": REACHED, "evaluation": {"per_epoch": 1},
            "dataset": {"train": str(folder / "data/train"), "validation": str(folder / "data/validation"),
                        "preprocess": "cifar"},
            "model": {"image_size": 32, "classes": CLASSES},
            "training": {"global_batch_size": options.images, "bn_group_samples": 4},
            "optimizer": {"name": "sgd", "momentum": 0.9}, "schedule": {"name": "constant", "learning_rate": 0.01}}


def dlrm(options, folder):
    call([options.program, "generate", "dlrm", "--samples", options.clicks * steps_of(options), "--test-samples", 64,
          "--validation-samples", 0, "--tables", "small", "--output", folder / "clicks"])
    return {"target": REACHED, "evaluation": {"per_epoch": 1},
            "dataset": {"train": str(folder / "clicks/train.bin"), "test": str(folder / "clicks/test.bin"),
                        "train_samples": options.clicks * steps_of(options), "test_samples": 64},
            "model": {"embedding_width": 64, "bottom": [512, 256, 64], "top": [1024, 1024, 512, 256, 1],
                      "tables": "small"},
            "training": {"global_batch_size": options.clicks}, "optimizer": {"name": "sgd", "momentum": 0},
            "schedule": {"name": "constant", "learning_rate": 0.001}}


def cosmoflow(options, folder):
    samples = steps_of(options)
    call([options.program, "generate", "cosmoflow", folder / "universes", "--train-samples", samples,
          "--validation-samples", options.hosts, "--size", options.volume])
    return {"target": {"quality": 1000.0}, "evaluation": {"every_epochs": 1},
            "dataset": {"train": str(folder / "universes/train"), "validation": str(folder / "universes/validation"),
                        "train_samples": samples, "validation_samples": options.hosts},
            "model": {"size": options.volume},
            "training": {"global_batch_size": 1, "sample_split": {"depth": options.hosts}},
            "optimizer": {"name": "sgd", "momentum": 0.9}, "schedule": {"learning_rate": 0.001, "scaling": "none"}}


WORKLOADS = {"resnet50": resnet50, "dlrm": dlrm, "cosmoflow": cosmoflow}


def train(options, folder, workload):
    """The trace of a training, and its telemetry."""
    config = {"workload": workload, "epochs": 1, "seed": 1, "threads": options.threads, "clear_caches": "never",
              "cpus": {"progress": options.progress},
              "results": {"directory": str(folder / "results"), "system": "here"}, "staging": {"mode": "stream"},
              **WORKLOADS[workload](options, folder)}
    config["training"]["gradient_piece_kib"] = options.piece_kib
    path = folder / f"{workload}.json"
    path.write_text(json.dumps(config))
    on_hosts(options, "run", path, "--trace", f"{FIRST_STEPS + 1}:{steps_of(options)}")
    results = folder / "results/here" / workload
    telemetry = json.loads((results / "result_1.telemetry.json").read_text())
    return json.loads((results / "result_1.trace.json").read_text()), telemetry


LINK_BYTES_PER_S = {"kbit": 125.0, "mbit": 125e3, "gbit": 125e6, "tbit": 125e9, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9,
                    "tbps": 1e12, "bit": 0.125, "bps": 1.0}


def link_rate(rate):
    """Bytes per second of a rate of tc; infinite for unlimited."""
    if rate == "unlimited":
        return float("inf")
    number = rate.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * LINK_BYTES_PER_S[rate[len(number):]]


def transfers_of(ranks, rate):
    """Of each kind of transfer: seconds of a step, means over the ranks. `alone_s` is what ranks measured with nothing
    beside it; `least_s` the time of its bytes on the link, if that is less."""
    transfers = {}
    for rank in ranks:
        share = 1.0 / rank["steps"] / len(ranks)
        for times in rank["transfers"]:
            one = transfers.setdefault(times["name"], {"alone_s": 0.0, "least_s": 0.0, "in_flight_s": 0.0,
                                                       "exposed_s": 0.0, "sent_bytes": 0.0})
            if times["isolated_s"] is None:
                sys.exit(f"{times['name']}: not measured alone")
            one["alone_s"] += times["isolated_s"] * share
            one["least_s"] += min(times["isolated_s"], times["bytes"] / rate) * share
            one["sent_bytes"] += times["bytes"] * share
            for key in ("in_flight_s", "exposed_s"):
                one[key] += times[key] * share
    return transfers


def seconds_in(trace, scope, layers):
    """Seconds of a step that ranks spend in layers whose names begin so, within scopes of that name; means over ranks."""
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    seconds = 0.0
    for rank in {event["pid"] for event in events}:
        of_rank = [event for event in events if event["pid"] == rank]
        scopes = sorted((event["ts"], event["ts"] + event["dur"]) for event in of_rank
                        if event["cat"] == "scope" and event["name"] == scope)
        begins = [begin for begin, _ in scopes]
        for event in of_rank:
            if event["cat"] != "layer" or not event["name"].startswith(layers):
                continue
            at = bisect.bisect_right(begins, event["ts"]) - 1
            if at >= 0 and event["ts"] < scopes[at][1]:
                seconds += event["dur"] * 1e-6
    ranks = trace["otherData"]["ranks"]
    return seconds / len(ranks) / ranks[0]["steps"]


def cannot_be_hidden_s(workload, trace, transfers, compute_s):
    """The least that is exposed of a step: what takes longer on the link than the computation that it can be behind."""
    left, compute_left = {name: one["least_s"] for name, one in transfers.items()}, compute_s
    exposed = 0.0
    if workload == "dlrm":
        # The interaction waits for embeddings, the tables for their gradients: only the bottom layers are beside these.
        for name, scope in (("embeddings", "forward"), ("gradients of embeddings", "backward")):
            alone, beside = left.pop(name), seconds_in(trace, scope, "bot_l")
            exposed += max(0.0, alone - beside)
            compute_left -= min(alone, beside)
    return exposed + max(0.0, sum(left.values()) - compute_left)


def summary(workload, trace, rate):
    """Seconds of a step, means over the ranks."""
    ranks = trace["otherData"]["ranks"]
    figures = {"step_s": period_s(trace), "compute_s": 0.0, "in_flight_s": 0.0, "exposed_s": 0.0}
    for rank in ranks:
        share = 1.0 / rank["steps"] / len(ranks)
        figures["compute_s"] += (rank["steps_s"] - rank["exchange_s"]) * share
        for key in ("in_flight_s", "exposed_s"):
            figures[key] += rank["all_transfers"][key] * share
    transfers = transfers_of(ranks, rate)
    figures["alone_s"] = sum(one["alone_s"] for one in transfers.values())
    figures["cannot_be_hidden_s"] = cannot_be_hidden_s(workload, trace, transfers, figures["compute_s"])
    return {**figures, "transfers": transfers}


def show(figures):
    columns = ("step_s", "compute_s", "alone_s", "in_flight_s", "exposed_s", "cannot_be_hidden_s")
    print(f"{'ms of a step':<28}" + "".join(f"{name[:-2].replace('_', ' '):>18}" for name in columns))
    for workload, one in figures.items():
        print(f"{workload:<28}" + "".join(f"{1e3 * one[name]:>18.1f}" for name in columns))
        for name, times in one["transfers"].items():
            cells = [f"{1e3 * times[key]:.1f}" if key in times else "" for key in columns]
            print(f"  {name:<26}" + "".join(f"{cell:>18}" for cell in cells))


def main():
    options = parse_arguments()
    require_namespaces()
    busy = os.getloadavg()[0]
    figures, pieces, provenance = {}, {}, None
    with tempfile.TemporaryDirectory() as name:
        for workload in WORKLOADS:
            trace, telemetry = train(options, pathlib.Path(name), workload)
            provenance, pieces[workload] = telemetry["provenance"], telemetry["ranks"][0]["gradient_pieces"]
            check_clocks(workload, [trace])
            figures[workload] = summary(workload, trace, link_rate(options.rate))
    show(figures)
    write_report(options, {
        "what": "of training steps on hosts of one machine, how much of the exchange is hidden",
        "settings": {name: getattr(options, name) for name in SETTINGS}, "figures": figures, "gradient_pieces": pieces,
        "load_before": busy, "machine": machine_of(provenance), "build": provenance["build"], "libraries": provenance["libraries"]})


if __name__ == "__main__":
    main()
