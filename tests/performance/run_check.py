"""Compares the speed of a real run of ResNet-50 with that of `trainmark bench resnet50`.

`trainmark run` trains on generated JPEG images, which it reads, decodes and crops; bench has one batch in memory.
Measurements alternate, so that slow phases of the machine affect both, with the same batch, image size, precision and
threads. The run's samples/s are the mean of all steps but the longest: the first step, which touches memory for the
first time. bench has a warm-up step for that, and prints the speed of the median step. No time is asserted. At the
default size it takes a few minutes on two cores:

    python3 tests/performance/run_check.py build/release/trainmark --precision bf16

Exit code 2 for wrong arguments, trainmark's exit code if it fails.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from beside_pytorch import check_files, machine_of, whole_number

CLASSES = 8
TARGET_MISSED = 6
SETTINGS = ("precision", "batch", "image_size", "threads", "steps", "pairs")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--batch", type=whole_number(CLASSES), default=32)
    parser.add_argument("--image-size", type=whole_number(8), default=224)
    parser.add_argument("--threads", type=whole_number(1), default=2)
    parser.add_argument("--steps", type=whole_number(2), default=12, help="of a run")
    parser.add_argument("--pairs", type=whole_number(1), default=5, help="measurements of either side")
    parser.add_argument("--output", help="JSON file for settings, figures and machine")
    options = parser.parse_args()
    check_files(parser, options)
    return options


def call(command, expected=0):
    command = list(map(str, command))
    environment = dict(os.environ)
    if os.getuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != expected:
        print(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}", end="", file=sys.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 1)


def bench(options, folder):
    """The median step's samples/s, and the provenance of the measurement."""
    path = folder / "bench.json"
    call([options.program, "bench", "resnet50", "--precision", options.precision, "--batch", options.batch,
          "--image-size", options.image_size, "--classes", CLASSES, "--threads", options.threads, "--limit", 0,
          "--warmup", 1, "--steps", options.steps - 1, "--json", path])
    result = json.loads(path.read_text())
    return result["samples_per_s"], result["provenance"]


def generate(options, folder):
    """Generates enough images for the steps of a run, somewhat larger than the crops."""
    images = options.batch * options.steps
    call([options.program, "generate", "resnet50", "--output", folder / "data", "--classes", CLASSES,
          "--train-per-class", -(-images // CLASSES), "--validation-per-class", 1,
          "--image-size", options.image_size * 8 // 7])


def write_config(options, folder):
    config = {"workload": "resnet50", "epochs": 1, "threads": options.threads, "clear_caches": "never",
              "target": {"quality": 1.0}, "results": {"directory": str(folder / "results"), "system": "here"},
              "dataset": {"train": str(folder / "data/train"), "validation": str(folder / "data/validation")},
              "staging": {"mode": "stream"}, "model": {"image_size": options.image_size, "classes": CLASSES},
              "training": {"global_batch_size": options.batch, "bn_group_samples": options.batch,
                           "precision": options.precision},
              "optimizer": {"name": "sgd", "momentum": 0.9}, "schedule": {"learning_rate": 0.001}}
    path = folder / "run.json"
    path.write_text(json.dumps(config))
    return path


def run(options, folder, config, number):
    """Samples/s of all steps but the longest: the first one touches memory for the first time."""
    call([options.program, "run", config], TARGET_MISSED)
    path = folder / f"results/here/resnet50/result_{number}.telemetry.json"
    steps = json.loads(path.read_text())["ranks"][0]["step_s"]
    others = steps["count"] * steps["mean"] - steps["max"]
    return options.batch * (steps["count"] - 1) / others


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        generate(options, folder)
        config = write_config(options, folder)
        runs, benches = [], []
        for pair in range(1, options.pairs + 1):
            runs.append(run(options, folder, config, pair))
            speed, provenance = bench(options, folder)
            benches.append(speed)
            print(f"pair {pair}: run {runs[-1]:.4g} samples/s, bench {speed:.4g} samples/s, "
                  f"ratio {runs[-1] / speed:.3f}", flush=True)
    ratio = statistics.median(a / b for a, b in zip(runs, benches))
    print(f"median ratio {ratio:.3f}")
    if options.output:
        report = {"what": "training of resnet50 on images that are read and decoded, beside trainmark bench: samples/s",
                  "settings": {name: getattr(options, name) for name in SETTINGS}, "run": runs, "bench": benches,
                  "median_ratio": ratio, "machine": machine_of(provenance), "build": provenance["build"],
                  "libraries": provenance["libraries"]}
        pathlib.Path(options.output).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
