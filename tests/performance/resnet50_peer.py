"""Compares the speed of `trainmark bench resnet50` with PyTorch training torchvision's resnet50 on the same machine.

Both do the same work: batch, image size, classes, threads, precision; random images in memory; cross entropy with label
smoothing; SGD with Nesterov momentum and weight decay. PyTorch is first timed in both memory formats, and the faster
one is used, with the settings of beside_pytorch.py. Measurements alternate, so that slow phases of the machine affect
both. No time is asserted. At the default size it takes two to four minutes on two cores:

    python3 tests/performance/resnet50_peer.py build/release/trainmark --precision bf16 --output /tmp/peer.json

With --memory it prints the peak resident set of both instead, each measured in its own process.

Exit code 2 for wrong arguments, 77 if PyTorch is absent, trainmark's exit code if it fails.
"""

import argparse
import contextlib
import pathlib
import sys

from beside_pytorch import (TimedSteps, add_memory_options, add_options, check_options, facts_of, fastest,
                            measure_memory, measure_pairs, run_bench, settle, show, summarize, tell_peak, whole_number,
                            write_report)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "parity"))
import peer

FORMATS = ("contiguous_format", "channels_last")
TINY = {"batch": 2, "image_size": 32, "classes": 10, "steps": 1}
STRIDE = 32  # of the last layers, which reduce smaller images to one pixel
SETTINGS = ("precision", "batch", "image_size", "classes", "threads", "pairs", "steps")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, steps=3)
    parser.add_argument("--batch", type=whole_number(1), default=32)
    parser.add_argument("--image-size", type=whole_number(8), default=224)
    parser.add_argument("--classes", type=whole_number(2), default=1000)
    add_memory_options(parser, FORMATS)
    options = parser.parse_args()
    check_options(parser, options)
    if options.batch == 1 and options.image_size <= STRIDE:
        parser.error(f"--batch: PyTorch's batch norm needs at least 2 with images of up to {STRIDE}, got 1")
    settle(options)
    return options


def require_pytorch():
    """Imports PyTorch and torchvision. Ends the script as a skipped test if one is missing."""
    try:
        import torch
        import torchvision
    except ImportError as error:
        peer.skip(f"python3-torch and python3-torchvision are needed, for {sys.executable}: {error}")
    return torch, torchvision


def bench(options):
    names = ("precision", "batch", "image_size", "classes", "threads", "steps")
    return run_bench(options.program, "resnet50", **{name: getattr(options, name) for name in names})


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
    report["pytorch"] |= facts_of(torch, options, memory_format, by_format)
    report["pytorch"]["torchvision"] = torchvision.__version__
    show(report)
    write_report(options, report)


if __name__ == "__main__":
    main()
