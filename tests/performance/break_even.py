"""Holds the epochs after which staging pays off, as `staging.mode: auto` predicts them, against a measurement.

    python3 tests/performance/break_even.py build/release/trainmark

Hosts in network namespaces of their own, one rank on each, train CosmoFlow on a set that a server behind a slow link
has (tests/hosts.sh; needs root, sshfs, openssh-sftp-server and socat). First all samples are streamed; from that run
`auto` knows the compute time of an epoch. Then `auto` chooses by rates that it measures, and copies. Measured is the
time of staging, without the measurement of rates, over what an epoch takes less from the copies.

Exit code 2 for wrong arguments, 77 if this machine cannot make such hosts, trainmark's exit code if it fails.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from beside_pytorch import check_files, whole_number, write_report
from cache import HOSTS, TARGET_MISSED, config_of, make_set, peer
from run_check import call


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--hosts", type=int, choices=(1, 2, 3, 4), default=1)
    parser.add_argument("--rate", default="20mbit", help="of the server's link, as tc takes it")
    parser.add_argument("--samples", type=whole_number(4), default=80, help="of the training set, 262 KB each")
    parser.add_argument("--epochs", type=whole_number(2), default=5)
    parser.add_argument("--rounds", type=whole_number(1), default=3)
    parser.add_argument("--folder", help="where to work; default: the folder for temporary files")
    parser.add_argument("--output", help="JSON file for settings and figures")
    options = parser.parse_args()
    check_files(parser, options)
    return options


def train(options, served, folder, mode):
    """Trains once. Returns the seconds of an epoch, and what the log tells of staging."""
    config = config_of(options, served, folder, {})
    call([HOSTS, options.hosts, "unlimited", "mpirun", "-n", options.hosts, "--oversubscribe", "--bind-to", "none",
          "--host", ",".join(f"host{n}:1" for n in range(1, options.hosts + 1)), "--mca", "mpi_yield_when_idle", 1,
          options.program, "run", config, "--set", f"staging.mode={mode}", "--set", "staging.rates.cache_bytes=0",
          "--set", "clear_caches=never"], TARGET_MISSED)
    logs = sorted((folder / "results").rglob("result_*.txt"), key=lambda path: path.stat().st_mtime)
    epochs, staging = [], None
    for line in logs[-1].read_text().splitlines():
        if not line.startswith(":::MLLOG "):
            continue
        record = json.loads(line[len(":::MLLOG "):])
        if record["key"] in ("epoch_start", "epoch_stop"):
            epochs.append(record["time_ms"])
        elif record["key"] == "staging_stop":
            staging = record["metadata"]["staging"]
    return (epochs[-1] - epochs[0]) / 1000 / options.epochs, staging


def measure_once(options, served, folder):
    shutil.rmtree(folder / "results", ignore_errors=True)
    streamed_s, _ = train(options, served, folder, "stream")
    copied_s, staging = train(options, served, folder, "auto")
    choice = staging["choice"]
    if choice["break_even_epochs"] is None or choice["chosen"] == "stream":
        sys.exit(f"auto chose {choice['chosen']}: {choice['reason']}")
    staging_s = sum(staging[name]["planning_s"] + staging[name]["seconds"]["max"] for name in ("train", "validation"))
    return {"streamed_epoch_s": streamed_s, "copied_epoch_s": copied_s, "staging_s": staging_s,
            "measured": staging_s / (streamed_s - copied_s), "predicted": choice["break_even_epochs"]}


def main():
    options = parse_arguments()
    done = subprocess.run([HOSTS, "--probe-server"], capture_output=True, text=True)
    if done.returncode != 0:
        peer.skip(f"hosts with a server cannot be made here: {done.stderr.strip()}")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        served = folder / "served"
        make_set(options, served)
        os.environ.update(SERVED=str(served), PRIVATE=str(folder / "near"), SERVER_RATE=options.rate)
        rounds = [measure_once(options, served, folder) for _ in range(options.rounds)]
    report = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    off = statistics.median(one["predicted"] / one["measured"] - 1 for one in rounds)
    print(f"{options.hosts} hosts, {options.samples} samples, server {options.rate}; medians of {options.rounds}")
    print(f"  an epoch takes {report['streamed_epoch_s']:.2f} s streamed and {report['copied_epoch_s']:.2f} s from "
          f"copies; staging takes {report['staging_s']:.2f} s")
    print(f"  break-even after {report['measured']:.3f} epochs measured, {report['predicted']:.3f} predicted: "
          f"{100 * off:+.1f} %")
    settings = {key: getattr(options, key) for key in ("hosts", "rate", "samples", "epochs", "rounds")}
    write_report(options, {"settings": settings, "figures": {**report, "off": off}})


if __name__ == "__main__":
    main()
