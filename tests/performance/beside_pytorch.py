"""Measurements of training by `trainmark bench` beside PyTorch on the same machine, for the scripts *_peer.py.

PyTorch runs with its best settings. glibc's allocator keeps what was freed, by raised thresholds, as otherwise each step
gets new pages; --allocator leaves it as installed. Its threads are bound to the CPUs
that the script may use. Both are set before the script starts Python a second time.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

WARMUP = 1  # untimed steps at the beginning of each measurement of either side
#: Environment variables by allocator.
ALLOCATORS = {
    "installed": {},
    "thresholds": {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "17179869184"},
}
BINDING = {"OMP_PROC_BIND": "close", "OMP_PLACES": "threads"}
MARK = "PEER_SETTINGS"
CPUS = os.sched_getaffinity(0)  # before OpenMP binds this thread, and with it what it starts, to one of them


def whole_number(least):
    """The type of an argument: integers of at least `least`."""
    def parse(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or value < least:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got '{text}'")
        return value

    return parse


def add_options(parser, steps):
    """The options that all of these scripts have."""
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--threads", type=whole_number(1), default=2)
    parser.add_argument("--pairs", type=whole_number(1), default=5, help="measurements of either side")
    parser.add_argument("--steps", type=whole_number(1), default=steps, help="timed steps of a measurement")
    parser.add_argument("--allocator", choices=ALLOCATORS,
                        help="glibc's allocator for PyTorch: as installed (default with --memory), or with raised "
                             "thresholds (default)")
    parser.add_argument("--output", help="JSON file for settings, figures and machine")


def add_memory_options(parser, names):
    parser.add_argument("--memory", action="store_true", help="compare memory, not speed; once, not in pairs")
    parser.add_argument("--peak-of", choices=names, help=argparse.SUPPRESS)  # a script calls itself


def check_files(parser, options, program="trainmark"):
    """Makes the program's path absolute. Ends the script with exit code 2 if it, or --output, cannot be used."""
    if not (os.path.isfile(options.program) and os.access(options.program, os.X_OK)):
        parser.error(f"{options.program}: expected the program {program}")
    if options.output:
        check_writable(parser, pathlib.Path(options.output))
    options.program = os.path.abspath(options.program)


def check_options(parser, options):
    """Sets the default of --allocator. Ends the script with exit code 2 if an option cannot be used."""
    if options.allocator is None:
        options.allocator = "installed" if getattr(options, "memory", False) else "thresholds"
    check_files(parser, options)


def settle(options):
    """Starts the script again with PyTorch's settings in the environment, unless that has happened."""
    if os.environ.get(MARK) == options.allocator:
        return
    os.environ.update({**BINDING, **ALLOCATORS[options.allocator], MARK: options.allocator})
    os.execv(sys.executable, [sys.executable, *sys.argv])


def environment_of_trainmark():
    """The environment without PyTorch's settings."""
    settings = {MARK, *BINDING}.union(*ALLOCATORS.values())
    environment = {name: value for name, value in os.environ.items() if name not in settings}
    if os.getuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return environment


def facts_of(torch, options, way, by_way):
    """What a report says of PyTorch: version, settings, the fastest way and the speeds of all."""
    return {"torch": torch.__version__, "allocator": options.allocator,
            "environment": {**ALLOCATORS[options.allocator], **BINDING}, "way": way, "samples_per_s_by_way": by_way}


def check_writable(parser, path):
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        parser.error(f"--output: {path}: cannot be written")


def machine_of(provenance):
    """The facts on the machine to record with a figure."""
    return {key: provenance["machine"][key]
            for key in ("cpu_model", "cores", "memory_bytes", "instruction_set", "kernel", "operating_system")}


def run_bench(program, workload, **settings):
    """Returns the JSON result of `trainmark bench`. Ends the script with its message and exit code if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        command = [os.path.abspath(program), "bench", workload, "--warmup", WARMUP, "--json", path]
        for name, value in settings.items():
            command += ["--" + name.replace("_", "-"), value]
        done = subprocess.run(list(map(str, command)), env=environment_of_trainmark(), capture_output=True, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, CPUS))
        if done.returncode != 0 or not path.exists():
            print(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}",
                  end="", file=sys.stderr)
            sys.exit(done.returncode if done.returncode > 0 else 1)
        return json.loads(path.read_text())


class TimedSteps:
    """Base of classes with step(): times and warms up."""

    def timed_step(self):
        """Runs a step and returns its seconds."""
        began = time.perf_counter()
        self.step()
        return time.perf_counter() - began

    def warm_up(self):
        for _ in range(WARMUP):
            self.step()


def samples_per_s(batch, seconds):
    """Speed by the median of these step times."""
    return batch / statistics.median(seconds)


def fastest(torch, trainings, options):
    """The name of the fastest of these trainings (name -> training), and samples/s by name."""
    for training in trainings.values():
        training.warm_up()
    seconds = {name: [] for name in trainings}
    for _ in range(options.steps):  # alternately, too
        for name, training in trainings.items():
            seconds[name].append(training.timed_step())
    speeds = {name: samples_per_s(options.batch, times) for name, times in seconds.items()}
    best = max(speeds, key=speeds.get)
    print(f"PyTorch {torch.__version__}, allocator {options.allocator}: " +
          ", ".join(f"{name} {speed:.4g}" for name, speed in speeds.items()) + f" samples/s; {best} is used", flush=True)
    return best, speeds


def measure_pairs(options, bench, training):
    """trainmark's results and PyTorch's samples/s, measured alternately."""
    ours, theirs = [], []
    for pair in range(1, options.pairs + 1):
        ours.append(bench(options))
        training.warm_up()
        theirs.append(samples_per_s(options.batch, [training.timed_step() for _ in range(options.steps)]))
        speed = ours[-1]["samples_per_s"]
        print(f"pair {pair}: trainmark {speed:.4g} samples/s, PyTorch {theirs[-1]:.4g} samples/s, "
              f"ratio {speed / theirs[-1]:.3f}", flush=True)
    return ours, theirs


def peak_rss_bytes():
    """The peak resident set of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    sys.exit("/proc/self/status: expected VmHWM")


def tell_peak(training, steps):
    """Trains and prints the peak resident set. For use in a separate process."""
    for _ in range(WARMUP + steps):
        training.step()
    print(peak_rss_bytes())


def measure_memory(what, script, options, bench, names, settings):
    """Peak resident sets of trainmark and of PyTorch in each variant, as measured by `script` --peak-of NAME, and their
    ratios."""
    ours, theirs = bench(options), {}
    for name in names:
        arguments = [sys.executable, script, options.program, "--allocator", options.allocator, "--peak-of", name]
        for setting in settings:
            arguments += ["--" + setting.replace("_", "-"), str(getattr(options, setting))]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"PyTorch, {name}: exit code {done.returncode}\n{done.stderr}")
        theirs[name] = int(done.stdout)
    report = {"what": f"largest resident sets of trainmark bench {what} and of PyTorch, bytes",
              "settings": {name: getattr(options, name) for name in settings} | {"warmup": WARMUP},
              "trainmark": ours["peak_rss_bytes"], "pytorch": theirs,
              "ratios": {name: ours["peak_rss_bytes"] / peak for name, peak in theirs.items()},
              "machine": machine_of(ours["provenance"]), "build": ours["provenance"]["build"],
              "libraries": ours["provenance"]["libraries"]}
    for name, peak in theirs.items():
        print(f"trainmark {ours['peak_rss_bytes'] / 1e9:.3f} GB, PyTorch {name} {peak / 1e9:.3f} GB, "
              f"ratio {report['ratios'][name]:.3f}")
    return report


def side(speeds):
    return {"samples_per_s": speeds, "median_samples_per_s": statistics.median(speeds)}


def summarize(what, settings, ours, theirs):
    """All measurements in the format of --output. The caller adds the facts on PyTorch."""
    speeds, limits = [result["samples_per_s"] for result in ours], [result["fraction_of_limit"] for result in ours]
    ratios = [a / b for a, b in zip(speeds, theirs)]
    provenance = ours[-1]["provenance"]
    return {"what": f"training of {what} by trainmark beside PyTorch, samples/s by the median step of a measurement",
            "settings": settings | {"warmup": WARMUP},
            "trainmark": side(speeds) | {"fraction_of_limit": limits,
                                         "median_fraction_of_limit": statistics.median(limits),
                                         "build": provenance["build"], "libraries": provenance["libraries"]},
            "pytorch": side(theirs),
            "ratio_of_medians": statistics.median(speeds) / statistics.median(theirs),
            "ratios": ratios, "smallest_ratio": min(ratios), "largest_ratio": max(ratios), "machine": machine_of(provenance)}


def show(report):
    ours, theirs = report["trainmark"], report["pytorch"]
    print(f"medians: trainmark {ours['median_samples_per_s']:.4g} samples/s, "
          f"PyTorch {theirs['median_samples_per_s']:.4g} samples/s")
    print(f"ratio of medians {report['ratio_of_medians']:.3f}, "
          f"pairs {report['smallest_ratio']:.3f} to {report['largest_ratio']:.3f}")
    print(f"trainmark's fraction_of_limit: median {ours['median_fraction_of_limit']:.3f}")


def write_report(options, report):
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(report, indent=1) + "\n")
