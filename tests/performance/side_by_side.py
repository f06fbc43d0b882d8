"""Measures what exchange costs ranks that share memory: a bench of several ranks beside as many benches of one rank at once.

Each rank has one thread and the same CPUs on both sides, its own, and the same number of samples per step. The single ranks
start together and exchange nothing; they are the baseline: what the machine does with the same work where nobody waits
for anybody. Both are measured in turns, so that slow phases of the machine affect both. The figure is the samples/s of
the ranks together over those of the single ones, the median over the pairs. Asserts nothing about it. This takes two
minutes on two cores:

    python3 tests/performance/side_by_side.py build/release/trainmark --pairs 5 --steps 10 --output /tmp/side_by_side.json

Exit code 2 for wrong arguments, 77 if this process may use fewer CPUs than ranks, trainmark's exit code if it fails.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from beside_pytorch import machine_of, whole_number, write_report

#: Options of a bench, and the samples of a rank.
BENCHES = {"resnet50": (["--image-size", "64", "--classes", "100"], 32),
           "dlrm": ([], 512)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--workload", choices=BENCHES, action="append", help="both by default")
    parser.add_argument("--ranks", type=whole_number(2), default=2)
    parser.add_argument("--batch", type=whole_number(1), help="samples of a rank and step")
    parser.add_argument("--steps", type=whole_number(1), default=20, help="timed steps of a measurement")
    parser.add_argument("--pairs", type=whole_number(1), default=7, help="measurements of either side")
    parser.add_argument("--output", help="JSON file for settings, figures and machine")
    options = parser.parse_args()
    if options.ranks > len(os.sched_getaffinity(0)):
        print(f"side_by_side: Skipped\nneeds two cores\n[  SKIPPED ] {options.ranks} ranks")
        sys.exit(77)
    return options


def start(command, output):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with open(output.with_suffix(".log"), "w") as log:
        return subprocess.Popen([*command, "--json", output], env=environment, stdout=log, stderr=subprocess.STDOUT)


def results(started):
    """What the started benches found; ends the script if one failed."""
    found = []
    codes = [process.wait() for process, _ in started]
    for code, (_, output) in zip(codes, started):
        if code != 0:
            print(output.with_suffix(".log").read_text(), file=sys.stderr)
            sys.exit(code)
        found.append(json.loads(output.read_text()))
    return found


def measure(options, workload, folder):
    """Samples/s of the ranks together, and the sum of the single ones'."""
    settings, batch = BENCHES[workload]
    bench = [options.program, "bench", workload, *settings, "--batch", str(options.batch or batch), "--threads", "1",
             "--steps", str(options.steps), "--warmup", "2", "--limit", "0"]
    together = ["mpirun", "-n", str(options.ranks), "--bind-to", "none", *bench]
    joint = results([(start(together, folder / "joint.json"), folder / "joint.json")])[0]
    singles = []
    for rank, place in enumerate(joint["provenance"]["binding"]):
        output = folder / f"single_{rank}.json"
        singles.append((start(["taskset", "-c", place["cpus"], *bench], output), output))
    single = results(singles)
    return {"together": joint["samples_per_s"], "side_by_side": sum(one["samples_per_s"] for one in single),
            "bound_by": joint["provenance"]["binding"][0]["bound_by"], "machine": machine_of(joint["provenance"])}


def main():
    options = parse_arguments()
    options.program = str(pathlib.Path(options.program).resolve())
    report = {"ranks": options.ranks, "steps": options.steps, "pairs": options.pairs, "workloads": {},
              "definitions": {"ratio": "samples/s of the ranks together over the sum of those of as many benches of one "
                                       "rank that run at the same time, median over the pairs"}}
    with tempfile.TemporaryDirectory() as place:
        for workload in options.workload or BENCHES:
            pairs = [measure(options, workload, pathlib.Path(place)) for _ in range(options.pairs)]
            report["machine"] = [pair.pop("machine") for pair in pairs][0]
            ratios = [pair["together"] / pair["side_by_side"] for pair in pairs]
            report["workloads"][workload] = {"batch": options.batch or BENCHES[workload][1],
                                             "ratio": statistics.median(ratios), "ratios": ratios, "pairs": pairs}
            print(f"{workload}: {options.ranks} ranks, {statistics.median(ratios):.3f} of as many side by side "
                  f"({min(ratios):.3f} to {max(ratios):.3f})")
    write_report(options, report)


if __name__ == "__main__":
    sys.exit(main())
