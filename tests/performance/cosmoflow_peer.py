"""Compares the speed of `trainmark bench cosmoflow` with PyTorch training the same model on the same machine.

Both do the same work: batch, size of samples, layers, threads, precision; logarithms of random counts in memory;
squared error; SGD with Keras's momentum; no dropout. PyTorch is first timed in both memory formats, with LeakyReLU
before max pooling, as published, and after it, which gives the same values from an eighth of the voxels; the fastest
variant is used, with the settings of beside_pytorch.py. Measurements alternate, so that slow phases of the machine affect
both. No time is asserted. At the default size it takes five to fifteen minutes on two cores:

    python3 tests/performance/cosmoflow_peer.py build/release/trainmark --precision bf16 --output /tmp/peer.json

Exit code 2 for wrong arguments, 77 if PyTorch is absent, trainmark's exit code if it fails.
"""

import argparse
import itertools
import pathlib
import sys

from beside_pytorch import (TimedSteps, add_options, check_options, facts_of, fastest, measure_pairs, run_bench,
                            settle, show, summarize, whole_number, write_report)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "parity"))
import peer

RATE, MOMENTUM = 0.001, 0.9
SPREAD = 1.2  # standard deviation of the logarithm of densities, as in `trainmark bench`
HALVINGS = 5  # of a sample's size, by the model's max pooling
FORMATS = ("contiguous_format", "channels_last_3d")
SETTINGS = ("precision", "batch", "size", "threads", "steps")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, steps=3)
    parser.add_argument("--batch", type=whole_number(1), default=2)
    parser.add_argument("--size", type=whole_number(1 << HALVINGS), default=128)
    options = parser.parse_args()
    check_options(parser, options)
    if options.size % (1 << HALVINGS) != 0:
        parser.error(f"--size: must divide by {1 << HALVINGS}, got {options.size}")
    settle(options)
    return options


def bench(options):
    return run_bench(options.program, "cosmoflow", **{name: getattr(options, name) for name in SETTINGS})


class Training(TimedSteps):
    """Training by a variant in PyTorch."""

    def __init__(self, torch, options, memory_format, pool_first):
        import cosmoflow_reference as reference

        torch.manual_seed(7)
        torch.set_num_threads(options.threads)
        self.torch, layout = torch, getattr(torch, memory_format)
        shape = options.batch, reference.REDSHIFTS, *[options.size] * 3
        counts = torch.exp(SPREAD * torch.randn(shape) - SPREAD / 2).floor()
        self.volumes = torch.log(counts + 1).contiguous(memory_format=layout)
        self.targets = 2 * torch.rand(options.batch, reference.TARGETS) - 1
        self.model = reference.CosmoFlow({**reference.PUBLISHED, "size": options.size}, pool_first=pool_first)
        self.model.to(memory_format=layout).train()
        # At a constant rate, PyTorch's form of momentum gives the same steps as Keras's.
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=RATE, momentum=MOMENTUM)
        self.is_mixed = options.precision == "bf16"

    def parameters(self):
        return sum(parameter.numel() for parameter in self.model.parameters())

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.torch.autocast("cpu", dtype=self.torch.bfloat16, enabled=self.is_mixed):
            outputs = self.model(self.volumes)
        self.torch.nn.functional.mse_loss(outputs.float(), self.targets).backward()
        self.optimizer.step()


def ways(torch, options):
    return {f"{memory_format}, {'maxima first' if pool_first else 'LeakyReLU first'}":
                Training(torch, options, memory_format, pool_first)
            for memory_format, pool_first in itertools.product(FORMATS, (False, True))}


def main():
    options = parse_arguments()
    torch, = peer.require("torch")
    # A short run first: settings that fail here, or another model, are reported before PyTorch takes minutes.
    tiny = bench(argparse.Namespace(**vars(options) | {"batch": 1, "steps": 1}))
    trainings = ways(torch, options)
    parameters = next(iter(trainings.values())).parameters()
    if parameters != tiny["parameters"]:
        sys.exit(f"{tiny['parameters']} parameters in trainmark, {parameters} in PyTorch")
    best, by_way = fastest(torch, trainings, options)
    settings = {name: getattr(options, name) for name in (*SETTINGS, "pairs")}
    report = summarize("cosmoflow", settings, *measure_pairs(options, bench, trainings[best]))
    report["pytorch"] |= facts_of(torch, options, best, by_way)
    show(report)
    write_report(options, report)


if __name__ == "__main__":
    main()
