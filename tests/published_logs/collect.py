#!/usr/bin/env python3
"""Collects the published result logs that the tests read, from clones of MLCommons' results repositories.

    for round in hpc_results_v0.7 training_results_v4.0; do
      git clone --depth 1 --filter=blob:none --no-checkout https://github.com/mlcommons/$round
    done
    tests/published_logs/collect.py hpc_results_v0.7 training_results_v4.0

Each argument is a clone, with or without a work tree, that is called as its repository is. Without a work tree git
fetches the few files that are needed. They are copied to build/published_logs, unchanged, and kept there: rounds can be
added one after the other. The tests run when all rounds are there. expected.json names the files and has the figures
that an independent program computed from them.

Exit code: 0 all files are there, 1 some are missing or differ, 2 an argument is wrong.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


def content(clone, path):
    """The file of the clone, or None."""
    if (file := clone / path).is_file():
        return file.read_bytes()
    shown = subprocess.run(["git", "-C", str(clone), "show", f"HEAD:{path}"], capture_output=True)
    return shown.stdout if shown.returncode == 0 else None


def round_of(clone):
    name = re.fullmatch(r"(hpc|training)_results_(v\d\.\d)(\.git)?", clone.absolute().name)
    if not name or not clone.is_dir():
        sys.stderr.write(f"{clone}: expected a clone called as its repository is, such as hpc_results_v1.0\n")
        sys.exit(2)
    return f"{name[1]}_{name[2]}"


def copy_round(clone, names, sizes, output):
    """Copies the files of one round. Returns what is wrong."""
    problems = []
    for name in names:
        data = content(clone, name.split("/", 1)[1])
        if data is None:
            problems.append(f"{clone}/{name.split('/', 1)[1]}: is missing")
        elif len(data) != sizes.get(name, len(data)):
            problems.append(f"{clone}/{name.split('/', 1)[1]}: expected {sizes[name]} bytes, got {len(data)}")
        else:
            target = output / name
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(target.name + ".part")
            unfinished.write_bytes(data)
            os.replace(unfinished, target)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", nargs="+", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default="build/published_logs", help="default: %(default)s")
    options = parser.parse_args()
    expected = json.loads((FOLDER / "expected.json").read_text())
    sizes = {name: figures["bytes"] for name, figures in expected["files"].items()}
    rounds = {}
    for name in [*expected["files"], *expected["side_files"]]:
        rounds.setdefault(name.split("/")[0], []).append(name)
    problems = []
    for clone in options.clone:
        problems += copy_round(clone, rounds.get(round_of(clone), []), sizes, options.output)
    for problem in problems:
        print(problem, file=sys.stderr)
    for name, names in rounds.items():
        there = sum((options.output / file).is_file() for file in names)
        repository = name.replace("_", "_results_", 1)
        print(f"{name}: {there} of {len(names)} files" + (f"; give a clone of {repository}" if there == 0 else ""))
    complete = all((options.output / file).is_file() for names in rounds.values() for file in names)
    sys.exit(0 if complete and not problems else 1)


if __name__ == "__main__":
    main()
