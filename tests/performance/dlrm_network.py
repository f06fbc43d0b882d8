"""Measures which exchange of embeddings between hosts is fastest, and how much `trainmark run` overlaps with work.

The hosts are network namespaces of this machine, joined by a switch whose links have a limited rate in both directions
(tests/hosts.sh). A small DLRM trains on them, one rank on each, with every variant of `embeddings.alltoall` and every
`embeddings.payload` in turn, so that slow phases of the machine affect all. Figures come from traces of all steps but
the first. The time of a step goes to the beginning of the next, on the slowest rank. Of the time during which transfers
are in flight, the part that training spends in communication is exposed, the rest hidden; both are means over the ranks.
Asserts only that the bytes sent equal a formula, and that the hosts' clocks agree. All hosts share this machine's cores,
so computation is slower than on real hosts, and hides more. Needs root. At the default size it takes about two minutes on two cores:

    python3 tests/performance/dlrm_network.py build/release/trainmark --hosts 2 --rate 1gbit --output /tmp/network.json

Exit code 1 if bytes differ from the formula or clocks differ, 2 for wrong arguments, 77 if network namespaces cannot be
created, trainmark's exit code if it fails.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import sys
import tempfile

from beside_pytorch import machine_of, whole_number, write_report
from between_hosts import (add_options, bytes_of, check_clocks, on_hosts, parse_options, period_s, require_namespaces,
                           run_traced, times_of)
from run_check import call

VARIANTS = ("alltoall", "scatter", "scatter_list")
VALUE_BYTES = {"f32": 4, "bf16": 2}
ID_BYTES = 4
EXCHANGED = ("embeddings", "gradients of embeddings")
SETTINGS = ("hosts", "rate", "batch", "width", "steps", "repetitions", "threads")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "1gbit")
    parser.add_argument("--batch", type=whole_number(2), default=2048, help="samples of a step on all hosts")
    parser.add_argument("--width", type=whole_number(1), default=64, help="numbers in a row of a table")
    parser.add_argument("--steps", type=whole_number(3), default=12, help="of a run; the first one is not counted")
    parser.add_argument("--repetitions", type=whole_number(1), default=5, help="runs of each variant and payload")
    options = parse_options(parser)
    if options.batch % options.hosts != 0:
        parser.error(f"--batch: must divide by {options.hosts} hosts, got {options.batch}")
    return options


def generate(options, folder):
    call([options.program, "generate", "dlrm", "--samples", options.batch * options.steps, "--test-samples", 64,
          "--validation-samples", 0, "--threads", 1, "--seed", 1, "--tables", "small", "--output", folder / "data"])


def write_config(options, folder, variant, payload):
    config = {"workload": "dlrm", "epochs": 1, "seed": 1, "threads": options.threads, "clear_caches": "never",
              "evaluation": {"per_epoch": 1},
              # A target that is reached: Open MPI takes seconds to end a job on several hosts with another exit code.
              "target": {"quality": 0.01}, "results": {"directory": str(folder / "results"), "system": "here"},
              "dataset": {"train": str(folder / "data/train.bin"), "test": str(folder / "data/test.bin")},
              "staging": {"mode": "stream"},
              "model": {"embedding_width": options.width, "bottom": [128, options.width], "top": [256, 128, 1],
                        "tables": "small"},
              "embeddings": {"alltoall": variant, "payload": payload},
              "training": {"global_batch_size": options.batch, "gradient_piece_kib": 4096},
              "optimizer": {"name": "sgd", "momentum": 0},
              "schedule": {"name": "constant", "learning_rate": 0.001}}
    path = folder / f"{variant}_{payload}.json"
    path.write_text(json.dumps(config))
    return path


def expected_bytes(options, folder, config, payload):
    """Bytes that all ranks send in a step, by name. Each rank keeps its own share of the samples' values and ids."""
    plan = folder / "plan.json"
    on_hosts(options, "run", config, "--dry-run", "--json", plan)
    shards = [shard for rank in json.loads(plan.read_text())["placement"]["ranks"] for shard in rank["shards"]]
    elsewhere = options.batch * (options.hosts - 1) // options.hosts
    values = VALUE_BYTES[payload] * elsewhere * sum(shard["columns"] for shard in shards)
    return {**dict.fromkeys(EXCHANGED, values), "ids": ID_BYTES * elsewhere * len(shards)}


def summary(traces, expected):
    def median(values):
        return statistics.median(list(values))

    steps = [period_s(trace) for trace in traces]
    sent = bytes_of(traces[0])
    result = {"step_s": {"median": median(steps), "min": min(steps), "max": max(steps), "repetitions": steps}}
    for key, names in (("all_transfers", ()), ("embeddings", EXCHANGED)):
        times = [times_of(trace, names) for trace in traces]
        result[key] = {part: median(one[part] for one in times) for part in ("exposed_s", "hidden_s")}
    result["bytes_sent"] = sent
    result["bytes_expected"] = expected
    return result


def check_bytes(options, name, traces, expected):
    for trace in traces:
        sent = bytes_of(trace)
        for what, count in expected.items():
            # The ids of a step may travel in the one before, and so begin one step more or less.
            slack = count / (options.steps - 1) if what == "ids" else 0
            if abs(sent.get(what, 0) - count) > slack:
                sys.exit(f"{name}: expected {count} bytes of {what} in a step, sent {sent.get(what)}")


def show(ranked):
    print(f"{'rank':>4} {'variant':<13}{'payload':<8}{'step ms':>9}{'(range)':>18}{'exposed ms':>12}{'hidden ms':>11}"
          f"{'embeddings: exp.':>18}{'hidden':>9}{'MB sent':>9}{'formula':>9}")
    for number, (name, figures) in enumerate(ranked, 1):
        variant, payload = name.split(", ")
        step, every, embeddings = (figures[key] for key in ("step_s", "all_transfers", "embeddings"))
        sent, expected = (sum(figures[key][what] for what in EXCHANGED) for key in ("bytes_sent", "bytes_expected"))
        spread = f"({step['min'] * 1e3:.1f} to {step['max'] * 1e3:.1f})"
        print(f"{number:>4} {variant:<13}{payload:<8}{step['median'] * 1e3:>9.1f}{spread:>18}"
              f"{every['exposed_s'] * 1e3:>12.1f}{every['hidden_s'] * 1e3:>11.1f}{embeddings['exposed_s'] * 1e3:>18.1f}"
              f"{embeddings['hidden_s'] * 1e3:>9.1f}{sent / 1e6:>9.3f}{expected / 1e6:>9.3f}")


def main():
    options = parse_arguments()
    require_namespaces()
    busy = os.getloadavg()[0]
    traces, expected = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        generate(options, folder)
        configs = {f"{variant}, {payload}": (write_config(options, folder, variant, payload), payload)
                   for variant, payload in itertools.product(VARIANTS, VALUE_BYTES)}
        for what, (config, payload) in configs.items():
            expected[what] = expected_bytes(options, folder, config, payload)
        for _ in range(options.repetitions):
            for what, (config, _) in configs.items():
                traces.setdefault(what, []).append(run_traced(options, config))
        telemetry = next((folder / "results/here/dlrm").glob("*.telemetry.json"))
        provenance = json.loads(telemetry.read_text())["provenance"]
    for what in configs:
        check_bytes(options, what, traces[what], expected[what])
        check_clocks(what, traces[what])
    figures = {what: summary(traces[what], expected[what]) for what in configs}
    ranked = sorted(figures.items(), key=lambda item: item[1]["step_s"]["median"])
    show(ranked)
    write_report(options, {
        "what": "training steps of a small DLRM on hosts of one machine, by variant of alltoall and payload",
        "settings": {name: getattr(options, name) for name in SETTINGS}, "fastest_first": [name for name, _ in ranked],
        "figures": figures, "load_before": busy, "machine": machine_of(provenance), "build": provenance["build"],
        "libraries": provenance["libraries"]})


if __name__ == "__main__":
    main()
