"""Measures what caches that know the order of samples save, beside plain LRU and no cache.

    python3 tests/performance/cache.py build/release/trainmark              # 4 hosts behind a slow server
    python3 tests/performance/cache.py build/release/trainmark --hosts 1    # one host

Network namespaces, one rank on each, stream universes from a server whose link has a limited rate (tests/hosts.sh), so
the source is slower than all else. Sets have 1, 2 and 4 times the bytes that a host's
cache may hold in memory. `next_use` keeps what is drawn next, and hosts give each other what they keep; `lru` keeps on
each host what it drew last; `none` reads all. Runs of the three alternate, so that slow phases of the machine affect
all; seconds are medians of run_start to run_stop. Each run trains the same model on the same samples in the same order.
Samples are those that trainmark counts by where they were, over all ranks. Needs root, sshfs, openssh-sftp-server and
socat.

A cache of any kind has at most as many hits in an epoch as it holds samples, as the time from a sample's draw to its
next one spans the end of an epoch. So one host that holds a part f of the set is at most 1 / (1 - f) times as fast as
without a cache, and has the lead over LRU only that this leaves; several hosts hold more together.

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
from run_check import TARGET_MISSED, call

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "parity"))
import peer

HOSTS = TESTS / "hosts.sh"
POLICIES = {"next_use": {"policy": "next_use"}, "lru": {"policy": "lru", "peers": False}, "none": {"policy": "none"}}
LEVELS = ("source", "cache_memory", "cache_disk", "peers")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--hosts", type=int, choices=(1, 2, 3, 4), default=4)
    parser.add_argument("--rate", default="5mbit", help="of the server's link, as tc takes it")
    parser.add_argument("--host-rate", default="1gbit", help="of each host's link")
    parser.add_argument("--samples", type=whole_number(8), default=32, help="of the set, each of 0.26 MB")
    parser.add_argument("--epochs", type=whole_number(2), default=6)
    parser.add_argument("--times", type=whole_number(1), nargs="+", default=[1, 2, 4],
                        help="of the cache of a host, that the set has")
    parser.add_argument("--level", choices=("memory", "disk"), default="memory", help="of the cache")
    parser.add_argument("--rounds", type=whole_number(1), default=3, help="runs of each kind")
    parser.add_argument("--folder", help="where to work; default: the folder for temporary files")
    parser.add_argument("--output", help="JSON file for settings and figures")
    options = parser.parse_args()
    check_files(parser, options)
    return options


def make_set(options, folder):
    """Returns the bytes of the training set."""
    call([options.program, "generate", "cosmoflow", folder, "--train-samples", options.samples,
          "--validation-samples", options.hosts, "--threads", 2])
    return sum(path.stat().st_size for path in (folder / "train").iterdir() if path.suffix != ".json")


def config_of(options, served, folder, cache):
    path = folder / "config.json"
    path.write_text(json.dumps({
        "workload": "cosmoflow", "epochs": options.epochs, "threads": 1, "seed": 1,
        "evaluation": {"every_epochs": options.epochs},
        "dataset": {"train": str(served / "train"), "validation": str(served / "validation"),
                    "train_samples": options.samples, "validation_samples": options.hosts},
        "model": {"size": 32, "channels": [16, 16, 16], "dense": [8], "dropout": 0},
        "training": {"global_batch_size": options.hosts},
        "optimizer": {"name": "sgd"},
        "schedule": {"learning_rate": 0.001, "scaling": "none"},
        "staging": {"mode": "stream", "directory": str(folder / "near")},
        "results": {"directory": str(folder / "results")},
        "cache": cache}))
    return path


def seconds_of(log):
    at = {}
    for line in log.read_text().splitlines():
        if line.startswith(":::MLLOG "):
            record = json.loads(line[len(":::MLLOG "):])
            at[record["key"]] = record["time_ms"]
    return (at["run_stop"] - at["run_start"]) / 1000


def run(options, served, folder, cache):
    """Trains once; returns seconds, and samples by where they were."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    config = config_of(options, served, folder, cache)
    call([HOSTS, options.hosts, options.host_rate, "mpirun", "-n", options.hosts, "--oversubscribe", "--bind-to", "none",
          "--host", ",".join(f"host{n}:1" for n in range(1, options.hosts + 1)), "--mca", "mpi_yield_when_idle", 1,
          options.program, "run", config], TARGET_MISSED)
    telemetry = json.loads(next((folder / "results").rglob("*.telemetry.json")).read_text())
    counts = {level: sum(rank["counters"][f"samples_from_{level}"] for rank in telemetry["ranks"]) for level in LEVELS}
    return {"seconds": seconds_of(next((folder / "results").rglob("result_*.txt"))), **counts}


def measure(options, folder):
    served = folder / "served"
    set_bytes = make_set(options, served)
    os.environ.update(SERVED=str(served), PRIVATE=str(folder / "near"), SERVER_RATE=options.rate)
    figures = {}
    for times in options.times:
        cap = {f"{options.level}_bytes": set_bytes // times + 1}
        runs = {name: [] for name in POLICIES}
        for _ in range(options.rounds):
            for name, policy in POLICIES.items():
                runs[name].append(run(options, served, folder, {**policy, **cap}))
        figures[times] = {name: {key: statistics.median(one[key] for one in done) for key in done[0]}
                          for name, done in runs.items()}
        show(times, figures[times])
    return {"set_bytes": set_bytes, "times": figures}


def show(times, figures):
    print(f"a set of {times} times a host's cache")
    for name, figure in figures.items():
        print(f"{name:>10}  {figure['seconds']:8.2f} s  {figure['seconds'] / figures['next_use']['seconds']:6.2f} times "
              f"next_use  " + ", ".join(f"{figure[level]:.0f} {level}" for level in LEVELS), flush=True)


def main():
    options = parse_arguments()
    done = subprocess.run([HOSTS, "--probe-server"], capture_output=True, text=True)
    if done.returncode != 0:
        peer.skip(f"hosts with a server cannot be made here: {done.stderr.strip()}")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        report = measure(options, pathlib.Path(name))
    settings = {key: getattr(options, key) for key in ("hosts", "rate", "host_rate", "samples", "epochs", "level", "rounds")}
    write_report(options, {"settings": settings, "figures": report})


if __name__ == "__main__":
    main()
