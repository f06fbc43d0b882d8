"""Measures how fast datasets are staged, beside what people use today.

    python3 tests/performance/staging.py build/release/trainmark large     # files of 57 MB: `cp -r` and `rsync -a`
    python3 tests/performance/staging.py build/release/trainmark small     # 60,000 small files: `cp -r`
    python3 tests/performance/staging.py build/release/trainmark hosts     # scatter beside full, behind a slow server

All copies are of one cold source: its pages are dropped from the page cache before each, and what was written is
flushed, untimed. Copies alternate, so that slow phases of the machine affect all; figures are medians. trainmark's
seconds are those that it states of planning and copying, without the start of MPI; it hashes every sample, while the
others check nothing. CPU seconds are of all of trainmark's processes, user and system.

`hosts`: network namespaces, one rank on each, joined by links of a limited rate, read the source from a server that has
such a link, too (tests/hosts.sh). `full` copies what each node needs, which is all, from the server; `scatter` reads it
once and sends it round. Bytes are those that trainmark states to have read from the source. Needs root, sshfs,
openssh-sftp-server and socat.

Exit code 2 for wrong arguments, 77 if this machine lacks what is compared, trainmark's exit code if it fails.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from beside_pytorch import check_files, whole_number, write_report
from run_check import call

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "parity"))
import peer

HOSTS = TESTS / "hosts.sh"
BLOCK = 1 << 20


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("what", choices=("large", "small", "hosts"))
    parser.add_argument("--files", type=whole_number(2), help="of the source; default: 24 large or 60,000 small ones")
    parser.add_argument("--file-bytes", type=whole_number(1), help="of one file; default: 57 MB, or 4 KiB")
    parser.add_argument("--pairs", type=whole_number(1), default=5, help="copies of each kind")
    parser.add_argument("--ranks", type=whole_number(1), default=1, help="of trainmark; with hosts one on each")
    parser.add_argument("--hosts", type=int, choices=(2, 3, 4), default=4)
    parser.add_argument("--rate", default="1gbit", help="of each host's link, as tc takes it")
    parser.add_argument("--set", action="append", default=[], help="further settings of trainmark")
    parser.add_argument("--folder", help="where to work; default: the folder for temporary files")
    parser.add_argument("--output", help="JSON file for settings and figures")
    options = parser.parse_args()
    check_files(parser, options)
    is_small = options.what == "small"
    options.files = options.files or (60_000 if is_small else 24)
    options.file_bytes = options.file_bytes or (4096 if is_small else 57_000_000)
    return options


def make_source(options, folder):
    """Class folders of files with the names of images. Staging never decodes; half the sizes are below the mean."""
    noise = random.Random(1)
    block = noise.randbytes(2 * BLOCK)
    per_class = 1000 if options.files >= 2000 else max(1, options.files // 2)
    for number in range(options.files):
        path = folder / f"class{number // per_class:03}" / f"{number:06}.jpg"
        if number % per_class == 0:
            path.parent.mkdir(parents=True)
        left = noise.randint(options.file_bytes // 2, options.file_bytes * 3 // 2)
        with path.open("wb") as file:
            while left > 0:
                begin = noise.randrange(BLOCK)
                left -= file.write(block[begin : begin + min(left, BLOCK)])
    return folder


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make_cold(folder):
    """Flushes everything, and drops the pages of a folder's files from the page cache."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def config_of(source, folder):
    """What the source is a training set of. The test set is one that does not count: two small files."""
    test = folder / "test"
    for label in sorted(path.name for path in source.iterdir()):
        (test / label).mkdir(parents=True, exist_ok=True)
        (test / label / "0.jpg").write_bytes(b"x")
    path = folder / "config.json"
    path.write_text(json.dumps({"workload": "resnet50", "epochs": 1,
                                "dataset": {"train": str(source), "validation": str(test)},
                                "training": {"global_batch_size": 8, "bn_group_samples": 8},
                                "optimizer": {"name": "sgd"},
                                "schedule": {"name": "constant", "learning_rate": 0.1}}))
    return path


def stage(options, config, scratch, mode, folder, on_hosts=False):
    """Stages once and returns the facts of the training set, with CPU seconds."""
    facts = folder / "facts.json"
    command = [options.program, "stage", config, "--no-verify", "--json", facts, "--set", f"staging.mode={mode}",
               "--set", f"staging.directory={scratch}"]
    for setting in options.set:
        command += ["--set", setting]
    command = ["mpirun", "-n", options.hosts if on_hosts else options.ranks, "--oversubscribe", "--bind-to", "none",
               *(["--host", ",".join(f"host{n}:1" for n in range(1, options.hosts + 1)),
                  "--mca", "mpi_yield_when_idle", 1] if on_hosts else []), *command]
    if on_hosts:
        command = [HOSTS, options.hosts, options.rate, *command]
    before = cpu_s()
    call(command)
    told = json.loads(facts.read_text())["train"]
    return {**told, "seconds": told["planning_s"] + told["seconds"]["max"], "cpu_seconds": cpu_s() - before}


def copy(command):
    before = cpu_s()
    begin = time.monotonic()
    subprocess.run(list(map(str, command)), check=True)
    return {"seconds": time.monotonic() - begin, "cpu_seconds": cpu_s() - before}


def medians(figures):
    return {key: statistics.median(figure[key] for figure in figures) for key in ("seconds", "cpu_seconds")}


def beside_copies(options, folder):
    source = make_source(options, folder / "source")
    config = config_of(source, folder)
    ways = {"cp -r": ["cp", "-r", source, folder / "copy"], "rsync -a": ["rsync", "-a", source, folder / "copy"]}
    if options.what == "small":
        del ways["rsync -a"]
    figures = {way: [] for way in ("trainmark", *ways)}
    for _ in range(options.pairs):
        for way in figures:
            make_cold(source)
            if way == "trainmark":
                figures[way].append(stage(options, config, folder / "copy", "shard", folder))
            else:
                figures[way].append(copy(ways[way]))
            shutil.rmtree(folder / "copy")
    return {"bytes": size_of(source), **{way: medians(found) for way, found in figures.items()}}


def on_hosts(options, folder):
    source = make_source(options, folder / "source")
    config = config_of(source, folder)
    os.environ.update(SERVED=str(source), PRIVATE=str(folder / "scratch"))
    figures = {"full": [], "scatter": []}
    for _ in range(options.pairs):
        for mode, found in figures.items():
            make_cold(source)
            found.append(stage(options, config, folder / "scratch", mode, folder, on_hosts=True))
            for number in range(1, options.hosts + 1):
                shutil.rmtree(folder / f"scratch.host{number}")
    return {"bytes": size_of(source),
            **{mode: {**medians(found), "source_bytes": found[0].get("source_bytes"),
                      "network_bytes": found[0].get("network_bytes")} for mode, found in figures.items()}}


def show(options, report):
    ours, others = ("scatter", ["full"]) if options.what == "hosts" else (
        "trainmark", [way for way in report if way not in ("bytes", "trainmark")])
    print(f"{options.files} files, {report['bytes'] / 1e6:.1f} MB; medians of {options.pairs}")
    for way in (ours, *others):
        figure = report[way]
        print(f"{way:>10}  {figure['seconds']:8.3f} s  {report['bytes'] / 1e6 / figure['seconds']:8.1f} MB/s  "
              f"{figure['cpu_seconds']:7.2f} s of CPU  {report[ours]['seconds'] / figure['seconds']:6.3f} of its time")
    if options.what == "hosts":
        for key in ("source_bytes", "network_bytes"):
            print(f"{key:>14}: full {report['full'][key]}, scatter {report['scatter'][key]}")


def require(options):
    if options.what == "hosts":
        done = subprocess.run([HOSTS, "--probe-server"], capture_output=True, text=True)
        if done.returncode != 0:
            peer.skip(f"hosts with a server cannot be made here: {done.stderr.strip()}")
    elif options.what == "large" and shutil.which("rsync") is None:
        peer.skip("rsync is not installed")


def main():
    options = parse_arguments()
    require(options)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        report = (on_hosts if options.what == "hosts" else beside_copies)(options, pathlib.Path(name))
    show(options, report)
    settings = {key: getattr(options, key) for key in ("what", "files", "file_bytes", "pairs", "ranks", "set")}
    write_report(options, {"settings": settings, "figures": report})


if __name__ == "__main__":
    main()
