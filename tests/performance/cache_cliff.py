"""Shows an efficiency above 100 %: the set fits into the caches of several hosts, but not of one.

    python3 tests/performance/cache_cliff.py build/release/trainmark

Hosts in network namespaces of their own, one rank on each, train CosmoFlow on a set that a server behind a slow link has
(tests/hosts.sh; needs root, sshfs, openssh-sftp-server and socat). Each may keep a quarter of the set in memory, so that
1 and 2 hosts must read again what they dropped, and 4 read each sample once. Runs of 1, 2 and 4 hosts are laid out as a
submission, and `trainmark analyze --joint` relates them: throughput per host over that of one host is
`scaling_efficiency`, and `olympic_cached_fraction` is the part of the samples that came from caches. All hosts share
this machine's processors, so the source must be slower than the model for the efficiency to show.

Exit code 1 if the efficiency of 4 hosts is 100 % or less or the report does not name the cause, 2 for wrong arguments,
77 if this machine cannot make such hosts, trainmark's exit code if it fails.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from beside_pytorch import check_files, whole_number, write_report
from cache import HOSTS, config_of, make_set, peer
from run_check import call

COUNTS = (1, 2, 4)
FIGURES = ("scaling_efficiency", "olympic_cached_fraction", "olympic_mean_epoch_s")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--rate", default="2500kbit", help="of the server's link, as tc takes it")
    parser.add_argument("--samples", type=whole_number(8), default=8, help="of the set, each of 0.26 MB")
    parser.add_argument("--epochs", type=whole_number(2), default=16)
    parser.add_argument("--runs", type=whole_number(3), default=3, help="of each number of hosts, for one score")
    parser.add_argument("--folder", help="where to work; default: the folder for temporary files")
    parser.add_argument("--output", help="JSON file for settings and figures")
    options = parser.parse_args()
    check_files(parser, options)
    options.hosts = max(COUNTS)  # of the set and the batch, which are the same for all
    return options


def describe(folder, system, hosts):
    path = folder / "systems" / f"{system}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"division": "open", "submitter": "a test", "number_of_nodes": hosts,
                                "host_processors_per_node": 1, "host_processor_model_name": "a share of this machine",
                                "accelerators_per_node": 0}))


def train(options, served, folder, hosts, cache):
    """One run of the system of so many hosts. Its target is met at the end."""
    system = f"{hosts}_hosts"
    describe(folder, system, hosts)
    call([HOSTS, hosts, "1gbit", "mpirun", "-n", hosts, "--oversubscribe", "--bind-to", "none",
          "--host", ",".join(f"host{n}:1" for n in range(1, hosts + 1)), "--mca", "mpi_yield_when_idle", 1,
          options.program, "run", config_of(options, served, folder, cache), "--set", f"results.system={system}",
          "--set", "target.quality=1000"])


def relate(options, folder):
    """Figures by number of hosts, and the text of the report."""
    path = folder / "report.json"
    done = subprocess.run([options.program, "analyze", folder, "--joint", "--json", path], capture_output=True, text=True)
    if done.returncode not in (0, 5):  # 5: logs that break a rule
        sys.exit(f"analyze: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    systems = {pathlib.Path(name).parts[-2]: facts for name, facts in json.loads(path.read_text())["systems"].items()}
    return {hosts: {name: systems[f"{hosts}_hosts"].get(name) for name in FIGURES} for hosts in COUNTS}, done.stdout


def main():
    options = parse_arguments()
    done = subprocess.run([HOSTS, "--probe-server"], capture_output=True, text=True)
    if done.returncode != 0:
        peer.skip(f"hosts with a server cannot be made here: {done.stderr.strip()}")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        served = folder / "served"
        set_bytes = make_set(options, served)
        os.environ.update(SERVED=str(served), PRIVATE=str(folder / "near"), SERVER_RATE=options.rate)
        cache = {"policy": "next_use", "memory_bytes": set_bytes // max(COUNTS) + 1}
        for _ in range(options.runs):
            for hosts in COUNTS:
                train(options, served, folder, hosts, cache)
        figures, text = relate(options, folder)
    print(text)
    settings = {key: getattr(options, key) for key in ("rate", "samples", "epochs", "runs")}
    write_report(options, {"settings": settings, "set_bytes": set_bytes, "cache": cache, "figures": figures})
    many = figures[max(COUNTS)]
    if not many["scaling_efficiency"] or many["scaling_efficiency"] <= 1:
        sys.exit(f"expected an efficiency above 1 on {max(COUNTS)} hosts, found {many['scaling_efficiency']}")
    if "above 100 %, where caches gave " not in text:
        sys.exit("expected the report to name caches as the cause")


if __name__ == "__main__":
    main()
