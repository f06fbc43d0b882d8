"""Runs of trainmark on hosts that are network namespaces of this machine (tests/hosts.sh), and what their traces say.

The options that these functions take have hosts, rate, threads, steps and program.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

from beside_pytorch import check_files, whole_number
from run_check import call

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "parity"))
import peer

HOSTS = TESTS / "hosts.sh"


def add_options(parser, rate):
    """The options that all such scripts have; `rate` is the default of --rate."""
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--hosts", type=int, choices=(2, 3, 4), default=2)
    parser.add_argument("--rate", default=rate, help="of each link, as tc takes it, or unlimited")
    parser.add_argument("--threads", type=whole_number(1), default=1, help="of a rank")
    parser.add_argument("--output", help="JSON file for settings, figures and machine")


def parse_options(parser):
    """The options of the command line; exits with 2 for files and rates that cannot be."""
    options = parser.parse_args()
    check_files(parser, options)
    if not re.fullmatch(r"unlimited|[0-9.]+([kmgt]?bit|[kmgt]?bps)", options.rate):
        parser.error(f"--rate: expected unlimited or a rate such as 1gbit, got '{options.rate}'")
    return options


def require_namespaces():
    done = subprocess.run([HOSTS, "--probe"], capture_output=True, text=True)
    if done.returncode != 0:
        peer.skip(f"network namespaces cannot be made here: {done.stderr.strip()}")


def on_hosts(options, *arguments):
    """Runs `trainmark` with a rank on each host."""
    hosts = ",".join(f"host{number}:1" for number in range(1, options.hosts + 1))
    # If hosts share cores, waiting ranks must yield.
    is_shared = options.hosts * options.threads > len(os.sched_getaffinity(0))
    shared = ["--mca", "mpi_yield_when_idle", 1] if is_shared else []
    call([HOSTS, options.hosts, options.rate, "mpirun", "-n", options.hosts, "--host", hosts, "--bind-to", "none",
          *shared, options.program, *arguments])


def run_traced(options, config):
    """Trains and returns the trace of all steps but the first."""
    on_hosts(options, "run", config, "--trace", f"2:{options.steps}")
    written = json.loads(config.read_text())
    results = pathlib.Path(written["results"]["directory"]) / "here" / written["workload"]
    return json.loads(max(results.glob("*.trace.json"), key=lambda path: path.stat().st_mtime_ns).read_text())


def period_s(trace):
    """Mean seconds from the beginning of a step to that of the next, on the slowest rank: what is between steps counts."""
    begins = {}
    for event in trace["traceEvents"]:
        if event.get("cat") == "step":
            begins.setdefault(event["pid"], []).append(event["ts"] * 1e-6)
    return max((max(of_rank) - min(of_rank)) / (len(of_rank) - 1) for of_rank in begins.values())


def times_of(trace, names):
    """Exposed and hidden seconds per step of all transfers with these names, or of all transfers if `names` is empty;
    means over the ranks."""
    ranks = trace["otherData"]["ranks"]
    sums = {"exposed_s": 0.0, "hidden_s": 0.0}
    for rank in ranks:
        for times in rank["transfers"] if names else [rank["all_transfers"]]:
            if not names or times["name"] in names:
                for key in sums:
                    sums[key] += times[key] / rank["steps"] / len(ranks)
    return sums


def bytes_of(trace):
    """Bytes that all ranks sent per step, by name."""
    sent = {}
    for rank in trace["otherData"]["ranks"]:
        for times in rank["transfers"]:
            sent[times["name"]] = sent.get(times["name"], 0) + times["bytes"] / rank["steps"]
    return sent


def check_clocks(name, traces):
    """Namespaces share one clock, so measured offsets must be 0 within the stated uncertainty."""
    for trace in traces:
        for rank in trace["otherData"]["ranks"]:
            for when in ("start", "end"):
                clock = rank["clock"][when]
                if abs(clock["offset_s"]) > clock["uncertainty_s"]:
                    sys.exit(f"{name}: rank {rank['rank']}: expected a clock that is no more than "
                             f"{clock['uncertainty_s']} s off, found {clock['offset_s']} s")
