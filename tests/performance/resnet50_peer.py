"""Compares the speed of `trainmark bench resnet50` with PyTorch training torchvision's resnet50 on the same machine.

Both do the same work: batch, image size, classes, threads, precision; random images in memory; cross entropy with label
smoothing; SGD with Nesterov momentum and weight decay. PyTorch is first timed in both memory formats, and the faster
one is used. Otherwise PyTorch is as installed, and gets new pages of memory in each step unless MALLOC_MMAP_THRESHOLD_
and MALLOC_TRIM_THRESHOLD_ are set in the environment. Measurements alternate, so that slow phases of the machine affect
both. No time is asserted. At the default size it takes two to four minutes on two cores:

    python3 tests/performance/resnet50_peer.py build/release/trainmark --precision bf16 --output /tmp/peer.json

With --memory it prints the peak resident set of both instead, each measured in its own process.

Exit code 2 for wrong arguments, 77 if PyTorch is absent, trainmark's exit code if it fails.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "parity"))
import peer

FORMATS = ("contiguous_format", "channels_last")
WARMUP = 1  # untimed steps at the beginning of each measurement of either side
TINY = {"batch": 2, "image_size": 32, "classes": 10, "steps": 1}
STRIDE = 32  # of the last layers, which reduce smaller images to one pixel
SETTINGS = ("precision", "batch", "image_size", "classes", "threads", "pairs", "steps")


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


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--batch", type=whole_number(1), default=32)
    parser.add_argument("--image-size", type=whole_number(8), default=224)
    parser.add_argument("--classes", type=whole_number(2), default=1000)
    parser.add_argument("--threads", type=whole_number(1), default=2)
    parser.add_argument("--pairs", type=whole_number(1), default=5, help="measurements of either side")
    parser.add_argument("--steps", type=whole_number(1), default=3, help="timed steps of a measurement")
    parser.add_argument("--memory", action="store_true", help="compare memory, not speed; once, not in pairs")
    parser.add_argument("--peak-of", choices=FORMATS, help=argparse.SUPPRESS)  # this script calls itself
    parser.add_argument("--output", help="JSON file for settings, figures and machine")
    options = parser.parse_args()
    if not (os.path.isfile(options.program) and os.access(options.program, os.X_OK)):
        parser.error(f"{options.program}: expected the program trainmark")
    if options.batch == 1 and options.image_size <= STRIDE:
        parser.error(f"--batch: PyTorch's batch norm needs at least 2 with images of up to {STRIDE}, got 1")
    if options.output:
        check_writable(parser, pathlib.Path(options.output))
    return options


def check_writable(parser, path):
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        parser.error(f"--output: {path}: cannot be written")


def machine_of(provenance):
    """The facts on the machine to record with a figure."""
    return {key: provenance["machine"][key]
            for key in ("cpu_model", "cores", "memory_bytes", "instruction_set", "kernel", "operating_system")}


def require_pytorch():
    """Imports PyTorch and torchvision. Ends the script as a skipped test if one is missing."""
    try:
        import torch
        import torchvision
    except ImportError as error:
        peer.skip(f"python3-torch and python3-torchvision are needed, for {sys.executable}: {error}")
    return torch, torchvision


def run_bench(program, workload, **settings):
    """Returns the JSON result of `trainmark bench`. Ends the script with its message and exit code if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        command = [os.path.abspath(program), "bench", workload, "--warmup", WARMUP, "--json", path]
        for name, value in settings.items():
            command += ["--" + name.replace("_", "-"), value]
        environment = dict(os.environ)
        if os.getuid() == 0:
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True)
        if done.returncode != 0 or not path.exists():
            print(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}",
                  end="", file=sys.stderr)
            sys.exit(done.returncode if done.returncode > 0 else 1)
        return json.loads(path.read_text())


def bench(options):
    names = ("precision", "batch", "image_size", "classes", "threads", "steps")
    return run_bench(options.program, "resnet50", **{name: getattr(options, name) for name in names})


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


class Training(TimedSteps):
    """PyTorch's training of resnet50 in one memory format."""

    def __init__(self, torch, torchvision, options, memory_format):
        torch.manual_seed(7)
        torch.set_num_threads(options.threads)
        layout = getattr(torch, memory_format)
        images = torch.randn(options.batch, 3, options.image_size, options.image_size)
        self.images = images.contiguous(memory_format=layout)
        self.labels = torch.randint(options.classes, (options.batch,))
        self.model = torchvision.models.resnet50(num_classes=options.classes).to(memory_format=layout).train()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9, nesterov=True,
                                         weight_decay=5e-5)
        self.criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
        bf16 = options.precision == "bf16"
        self.arithmetic = lambda: torch.autocast("cpu", dtype=torch.bfloat16) if bf16 else contextlib.nullcontext()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.arithmetic():
            outputs = self.model(self.images)
        self.criterion(outputs.float(), self.labels).backward()
        self.optimizer.step()


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
    print(f"PyTorch {torch.__version__}: " + ", ".join(f"{name} {speed:.4g}" for name, speed in speeds.items()) +
          f" samples/s; {best} is used", flush=True)
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
        arguments = [sys.executable, script, options.program, "--peak-of", name]
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


def main():
    options = parse_arguments()
    torch, torchvision = require_pytorch()
    if options.peak_of:
        return tell_peak(Training(torch, torchvision, options, options.peak_of), options.steps)
    # A short run first: settings that fail here are reported before PyTorch takes minutes.
    bench(argparse.Namespace(**vars(options) | TINY))
    if options.memory:
        report = measure_memory("resnet50", __file__, options, bench, FORMATS,
                                [name for name in SETTINGS if name != "pairs"])
        return write_report(options, report | {"torch": torch.__version__, "torchvision": torchvision.__version__})
    trainings = {name: Training(torch, torchvision, options, name) for name in FORMATS}
    memory_format, by_format = fastest(torch, trainings, options)
    settings = {name: getattr(options, name) for name in SETTINGS}
    report = summarize("resnet50", settings, *measure_pairs(options, bench, trainings[memory_format]))
    report["pytorch"] |= {"torch": torch.__version__, "torchvision": torchvision.__version__,
                          "memory_format": memory_format, "samples_per_s_by_format": by_format}
    show(report)
    write_report(options, report)


if __name__ == "__main__":
    main()
