"""Checks that run_bench starts trainmark with all CPUs of the script, although OpenMP bound the script's thread to one."""

import os
import pathlib
import sys
import tempfile

from beside_pytorch import run_bench

# Stands for trainmark: `PROGRAM bench WORKLOAD --warmup N --json FILE` writes the number of its CPUs.
PROGRAM = f"""#!{sys.executable}
import json, os, sys
json.dump({{"cpus": len(os.sched_getaffinity(0))}}, open(sys.argv[sys.argv.index("--json") + 1], "w"))
"""


def main():
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        print("skipped: needs two CPUs")
        return 77
    os.sched_setaffinity(0, {min(cpus)})  # as OMP_PROC_BIND does
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        program.write_text(PROGRAM)
        program.chmod(0o700)
        found = run_bench(program, "resnet50")["cpus"]
    if found != len(cpus):
        print(f"expected {len(cpus)} CPUs, found {found}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
