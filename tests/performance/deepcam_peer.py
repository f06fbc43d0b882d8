"""Compares the speed of `trainmark bench deepcam` with PyTorch training the same model on the same machine.

Both do the same work: batch, size of scenes, layers, threads, precision; random fields and labels in memory; weighted
cross entropy; LAMB. PyTorch is first timed in both memory formats, and the faster one is used, with the settings of
beside_pytorch.py. Measurements alternate, so that slow phases of the machine affect both. No time is asserted. At the
default size it takes a quarter of an hour or more on two cores:

    python3 tests/performance/deepcam_peer.py build/release/trainmark --precision bf16 --output /tmp/peer.json

With --memory it prints the peak resident set of both instead, each measured in its own process.

Exit code 2 for wrong arguments, 77 if PyTorch is absent, trainmark's exit code if it fails.
"""

import argparse
import pathlib
import sys

from beside_pytorch import (TimedSteps, add_memory_options, add_options, check_options, facts_of, fastest,
                            measure_memory, measure_pairs, run_bench, settle, show, summarize, tell_peak, whole_number,
                            write_report)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "parity"))
import peer

RATE = 0.001
FORMATS = ("contiguous_format", "channels_last")
LAMB = {"name": "lamb", "weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6}
DIVISOR = 16  # the model's height and width must be multiples of this
SETTINGS = ("precision", "batch", "height", "width", "threads", "steps")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, steps=3)
    parser.add_argument("--batch", type=whole_number(1), default=1)
    parser.add_argument("--height", type=whole_number(DIVISOR), default=768)
    parser.add_argument("--width", type=whole_number(DIVISOR), default=1152)
    add_memory_options(parser, FORMATS)
    options = parser.parse_args()
    check_options(parser, options)
    for name in ("height", "width"):
        if getattr(options, name) % DIVISOR != 0:
            parser.error(f"--{name}: must divide by {DIVISOR}, got {getattr(options, name)}")
    if options.batch * options.height * options.width <= DIVISOR ** 2:
        parser.error(f"--batch: PyTorch's batch norm needs more than one point, got {options.batch} scenes of one")
    settle(options)
    return options


def bench(options):
    return run_bench(options.program, "deepcam", **{name: getattr(options, name) for name in SETTINGS})


class Training(TimedSteps):
    """PyTorch's training in one memory format."""

    def __init__(self, torch, options, memory_format):
        import adaptive
        import deepcam_reference as reference

        torch.manual_seed(7)
        torch.set_num_threads(options.threads)
        self.torch, self.loss, layout = torch, reference.pixel_loss, getattr(torch, memory_format)
        shape = options.batch, reference.INPUTS, options.height, options.width
        self.fields = torch.rand(shape).contiguous(memory_format=layout)
        self.labels = torch.randint(reference.CLASSES, (options.batch, options.height, options.width))
        self.model = reference.DeepCam(reference.PUBLISHED).to(memory_format=layout).train()
        for module in self.model.modules():
            if isinstance(module, torch.nn.ReLU):
                module.inplace = True  # as in the reference
        self.optimizer = adaptive.Adaptive(self.model.parameters(), LAMB)
        self.is_mixed = options.precision == "bf16"

    def parameters(self):
        return sum(parameter.numel() for parameter in self.model.parameters())

    def step(self):
        self.model.zero_grad(set_to_none=True)
        with self.torch.autocast("cpu", dtype=self.torch.bfloat16, enabled=self.is_mixed):
            logits = self.model(self.fields)
        self.loss(logits.float(), self.labels).backward()
        self.optimizer.step(RATE)


def main():
    options = parse_arguments()
    torch, = peer.require("torch")
    if options.peak_of:
        return tell_peak(Training(torch, options, options.peak_of), options.steps)
    # A short run first: settings that fail here, or another model, are reported before PyTorch takes minutes.
    tiny = bench(argparse.Namespace(**vars(options) | {"batch": 2, "height": 32, "width": 48, "steps": 1}))
    if options.memory:
        report = measure_memory("deepcam", __file__, options, bench, FORMATS, SETTINGS)
        return write_report(options, report | {"torch": torch.__version__})
    trainings = {name: Training(torch, options, name) for name in FORMATS}
    parameters = trainings[FORMATS[0]].parameters()
    if parameters != tiny["parameters"]:
        sys.exit(f"{tiny['parameters']} parameters in trainmark, {parameters} in PyTorch")
    memory_format, by_format = fastest(torch, trainings, options)
    settings = {name: getattr(options, name) for name in (*SETTINGS, "pairs")}
    report = summarize("deepcam", settings, *measure_pairs(options, bench, trainings[memory_format]))
    report["pytorch"] |= facts_of(torch, options, memory_format, by_format)
    show(report)
    write_report(options, report)


if __name__ == "__main__":
    main()
