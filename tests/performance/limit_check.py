"""Compares the limit that `trainmark bench resnet50` prints with that of an independent program.

tests/performance/onednn_limit.cpp measures only ResNet-50's convolutions, as `trainmark bench` does for
limit_samples_per_s, but shares no code with it. Measurements alternate, so that slow phases of the machine affect both,
with the same batch, image size, precision, threads and repetitions. Prints the median and the best of each side's
measurements. Compare the best ones, as other processes can only increase times. No time is asserted. At the default
size it takes a few minutes on two cores:

    python3 tests/performance/limit_check.py build/release/trainmark build/release/tests/performance/onednn_limit

Exit code 2 for wrong arguments, 1 if a figure is not a positive number, that of a program which fails otherwise.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from beside_pytorch import check_writable, machine_of, whole_number

PRECISIONS = ("f32", "bf16")
BF16_FLAG = "avx512_bf16"
STEPS = 1  # of training. trainmark measures the limit after each step, so more steps would add repetitions
LIMIT = "limit_samples_per_s"
SETTINGS = ("batch", "image_size", "threads", "repetitions", "pairs")
SHARED = ("batch", "image_size")  # options with the same name in both programs


def usable_precisions():
    """Precisions for which this CPU has instructions."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    return PRECISIONS if BF16_FLAG in flags else PRECISIONS[:1]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainmark", help="path of trainmark")
    parser.add_argument("onednn_limit", help="path of the program that stands alone")
    parser.add_argument("--precision", choices=PRECISIONS,
                        help=f"default: f32, and bf16 where the CPU has {BF16_FLAG}")
    parser.add_argument("--batch", type=whole_number(1), default=32)
    parser.add_argument("--image-size", type=whole_number(8), default=224)
    parser.add_argument("--threads", type=whole_number(1), default=2)
    parser.add_argument("--repetitions", type=whole_number(STEPS), default=5,
                        help="of each convolution in a measurement; the best one counts")
    parser.add_argument("--pairs", type=whole_number(1), default=3, help="measurements of either side")
    parser.add_argument("--output", help="JSON file for settings, figures and machine")
    options = parser.parse_args()
    for path in (options.trainmark, options.onednn_limit):
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):
            parser.error(f"{path}: expected a program")
    if options.output:
        check_writable(parser, pathlib.Path(options.output))
    return options


def run(command, **environment):
    """Returns a program's standard output. Ends the script with its message and exit code if it fails."""
    command = list(map(str, command))
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}", end="", file=sys.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 1)
    return done.stdout


def shared_arguments(options, precision):
    arguments = ["--precision", precision]
    for name in SHARED:
        arguments += ["--" + name.replace("_", "-"), getattr(options, name)]
    return arguments


def bench(options, precision):
    """Returns the JSON result of `trainmark bench`."""
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        run([os.path.abspath(options.trainmark), "bench", "resnet50", *shared_arguments(options, precision),
             "--threads", options.threads, "--limit", options.repetitions, "--warmup", 0, "--steps", STEPS,
             "--json", path], **environment)
        return json.loads(path.read_text())


def stand_alone(options, precision):
    """Returns the result of onednn_limit, which like trainmark uses huge pages if the system provides them."""
    tunables = ":".join(filter(None, (os.environ.get("GLIBC_TUNABLES"), "glibc.malloc.hugetlb=1")))
    return json.loads(run([os.path.abspath(options.onednn_limit), *shared_arguments(options, precision),
                           "--repetitions", options.repetitions],
                          OMP_NUM_THREADS=str(options.threads), GLIBC_TUNABLES=tunables))


def check_positive(side, figures):
    for name, value in figures.items():
        if not (math.isfinite(value) and value > 0):
            sys.exit(f"{side}: {name}: expected a positive number, got {value}")


def measure_pairs(options, precision):
    """Results of trainmark and of onednn_limit, measured alternately."""
    ours, theirs = [], []
    for pair in range(1, options.pairs + 1):
        ours.append(bench(options, precision))
        check_positive("trainmark", {LIMIT: ours[-1][LIMIT]})
        theirs.append(stand_alone(options, precision))
        check_positive("onednn_limit", theirs[-1])
        print(f"{precision} pair {pair}: trainmark {ours[-1][LIMIT]:.4g} samples/s, onednn_limit "
              f"{theirs[-1][LIMIT]:.4g} samples/s, ratio {ours[-1][LIMIT] / theirs[-1][LIMIT]:.3f}", flush=True)
    return ours, theirs


def side(results):
    limits = [result[LIMIT] for result in results]
    return {LIMIT: limits, "median": statistics.median(limits), "best": max(limits)}


def summarize(ours, theirs):
    """Limits of both sides and their ratios, and the seconds in onednn_limit's best measurement."""
    ours, best = side(ours), max(theirs, key=lambda result: result[LIMIT])
    theirs = side(theirs) | {name: value for name, value in best.items() if name != LIMIT}
    return {"trainmark": ours, "onednn_limit": theirs, "ratio_of_medians": ours["median"] / theirs["median"],
            "ratio_of_bests": ours["best"] / theirs["best"]}


def show(precision, figures):
    for kind in ("median", "best"):
        print(f"{precision} {kind}: trainmark {figures['trainmark'][kind]:.4g} samples/s, onednn_limit "
              f"{figures['onednn_limit'][kind]:.4g} samples/s, ratio {figures[f'ratio_of_{kind}s']:.3f}", flush=True)


def main():
    options = parse_arguments()
    report = {"what": "limit that ResNet-50's convolutions alone set, samples/s: as trainmark bench tells it, and as "
                      "a program measures it that shares no code; ratios are the former over the latter",
              "settings": {name: getattr(options, name) for name in SETTINGS}, "precisions": {}}
    for precision in [options.precision] if options.precision else usable_precisions():
        ours, theirs = measure_pairs(options, precision)
        report["precisions"][precision] = summarize(ours, theirs)
        provenance = ours[-1]["provenance"]
        report |= {"build": provenance["build"], "libraries": provenance["libraries"],
                   "machine": machine_of(provenance)}
        show(precision, report["precisions"][precision])
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
