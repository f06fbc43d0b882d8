"""Compares the speed of `trainmark bench dlrm` with PyTorch training the same model on the same machine.

Both do the same work: batch, layers, tables, ids per bag, threads; random dense features and ids in memory, with eight
batches of ids in turn; binary cross entropy; SGD without momentum. PyTorch is first timed in several variants, and the
fastest is used: sparse gradients with PyTorch's SGD, or gradients of bags added to the rows with index_add; interaction
by autograd, or with a hand-written gradient; and with --precision bf16, for which trainmark splits its tables, layers
in bfloat16 or not; with the settings of beside_pytorch.py. Measurements alternate, so that slow phases of the machine affect
both. No time is asserted. It takes one to three minutes on two cores, and twice the memory of the tables, 2.1 GB
(small) or 4.3 GB (mlperf-mini):

    python3 tests/performance/dlrm_peer.py build/release/trainmark --config small --precision bf16 --output /tmp/p.json

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

RATE = 0.01
ID_BATCHES = 8
CAP = 1_000_000
CRITEO = [39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10, 2208, 11938, 155, 4,
          976, 14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36]
#: Those of `trainmark bench dlrm --config`, verified by the number of parameters.
CONFIGS = {
    "small": {"dense_features": 512, "embedding_width": 64, "bottom": [512, 64], "top": [1024, 1024, 1024, 1],
              "tables": [CAP] * 8, "lookups": 50},
    "mlperf-mini": {"dense_features": 13, "embedding_width": 128, "bottom": [512, 256, 128],
                    "top": [1024, 1024, 512, 256, 1], "tables": [min(rows, CAP) for rows in CRITEO], "lookups": 1},
}
SETTINGS = ("config", "precision", "batch", "threads", "steps")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, steps=5)
    parser.add_argument("--config", choices=CONFIGS, default="small")
    parser.add_argument("--batch", type=whole_number(1), default=2048)
    options = parser.parse_args()
    check_options(parser, options)
    settle(options)
    return options


def bench(options):
    return run_bench(options.program, "dlrm", **{name: getattr(options, name) for name in SETTINGS})


class Training:
    """PyTorch's model, its data, and the variants of training."""

    def __init__(self, torch, options):
        import dlrm_reference as reference

        torch.manual_seed(7)
        torch.set_num_threads(options.threads)
        config = CONFIGS[options.config]
        self.torch = torch
        self.model = reference.Dlrm(config, config["tables"])
        for table in self.model.tables():
            torch.nn.init.uniform_(table, -len(table) ** -0.5, len(table) ** -0.5)
        self.layer_optimizer = torch.optim.SGD(self.model.layers(), lr=RATE)
        self.table_optimizer = torch.optim.SGD(self.model.tables(), lr=RATE)
        self.dense = torch.rand(options.batch, config["dense_features"])
        self.labels = torch.randint(2, (options.batch,)).float()
        bags = options.batch, config["lookups"]
        self.ids = itertools.cycle([[torch.randint(rows, bags) for rows in config["tables"]]
                                    for _ in range(ID_BATCHES)])

    def parameters(self):
        return sum(parameter.numel() for parameter in self.model.parameters())

    def loss(self, outputs):
        return self.torch.nn.functional.binary_cross_entropy_with_logits(outputs.float(), self.labels)

    def step(self, tables, interaction, mixed):
        self.model.by_hand = interaction == "by hand"
        step = {"sparse": self.step_sparse, "index_add": self.step_index_add}[tables]
        self.layer_optimizer.zero_grad(set_to_none=True)
        step(next(self.ids), self.torch.autocast("cpu", dtype=self.torch.bfloat16, enabled=mixed))
        self.layer_optimizer.step()

    def step_sparse(self, ids, arithmetic):
        self.table_optimizer.zero_grad(set_to_none=True)
        with arithmetic:
            outputs = self.model(self.dense, ids)
        self.loss(outputs).backward()
        self.table_optimizer.step()

    def step_index_add(self, ids, arithmetic):
        with self.torch.no_grad():
            sums = [table(bags) for table, bags in zip(self.model.emb_l, ids)]
        for bags in sums:
            bags.requires_grad_()
        with arithmetic:
            outputs = self.model.outputs(self.dense, sums)
        self.loss(outputs).backward()
        with self.torch.no_grad():
            for table, bags, gradient in zip(self.model.tables(), ids, sums):
                each = gradient.grad.repeat_interleave(bags.shape[1], dim=0)
                table.index_add_(0, bags.flatten(), each, alpha=-RATE)


class Way(TimedSteps):
    """One variant of a Training."""

    def __init__(self, training, **way):
        self.training, self.way = training, way

    def step(self):
        self.training.step(**self.way)


def ways(training, precision):
    made, choices = {}, (False, True) if precision == "bf16" else (False,)
    for tables, interaction, mixed in itertools.product(("sparse", "index_add"), ("autograd", "by hand"), choices):
        name = f"{tables}, interaction {interaction}, {'bf16' if mixed else 'f32'}"
        made[name] = Way(training, tables=tables, interaction=interaction, mixed=mixed)
    return made


def main():
    options = parse_arguments()
    torch, = peer.require("torch")
    # A short run first: settings that fail here are reported before PyTorch takes minutes.
    tiny = bench(argparse.Namespace(**vars(options) | {"batch": 2, "steps": 1}))
    training = Training(torch, options)
    if training.parameters() != tiny["parameters"]:
        sys.exit(f"{options.config}: {tiny['parameters']} parameters in trainmark, {training.parameters()} in PyTorch")
    all_ways = ways(training, options.precision)
    best, by_way = fastest(torch, all_ways, options)
    settings = {name: getattr(options, name) for name in (*SETTINGS, "pairs")}
    report = summarize("dlrm", settings, *measure_pairs(options, bench, all_ways[best]))
    report["pytorch"] |= facts_of(torch, options, best, by_way)
    show(report)
    write_report(options, report)


if __name__ == "__main__":
    main()
