"""Shows what `training.gradient_payload` does to convergence: the same trainings with each payload, for several seeds.

ResNet-50 trains on the quickstart's images, one rank on each of several hosts (tests/hosts.sh), with all payloads for
each seed: only what travels between the hosts differs. Prints the accuracy after the last epoch by payload and seed, and
the mean difference of pairs of seeds. Asserts only that bf16 sends half of the bytes. Needs root. At the default size
it takes three and a half minutes on two cores:

    python3 tests/performance/gradient_payload.py build/release/trainmark --output /tmp/gradient_payload.json

Exit code 1 if bytes are not halved, 2 for wrong arguments, 77 if network namespaces cannot be created,
trainmark's exit code if it fails.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

from beside_pytorch import machine_of, whole_number, write_report
from between_hosts import add_options, bytes_of, on_hosts, parse_options, require_namespaces
from run_check import call

PAYLOADS = ("f32", "bf16")
SETTINGS = ("hosts", "rate", "epochs", "width", "seeds", "per_class", "threads")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "unlimited")
    parser.add_argument("--epochs", type=whole_number(1), default=10)
    parser.add_argument("--width", type=whole_number(16), default=32, help="channels of the first convolution")
    parser.add_argument("--seeds", type=whole_number(2), default=3, help="trainings with each payload")
    parser.add_argument("--per-class", type=whole_number(16), default=250, help="training images of each of 8 classes")
    return parse_options(parser)


def write_config(options, folder, payload, seed):
    results = folder / f"{payload}_{seed}"
    config = {"workload": "resnet50", "epochs": options.epochs, "seed": seed, "threads": options.threads,
              "clear_caches": "never", "evaluation": {"every_epochs": options.epochs},
              # Reached, so that all trainings end alike after the last epoch.
              "target": {"quality": 0.0001}, "results": {"directory": str(results), "system": "here"},
              "dataset": {"train": str(folder / "data/train"), "validation": str(folder / "data/validation"),
                          "preprocess": "cifar"},
              "staging": {"mode": "stream"},
              "model": {"image_size": 32, "classes": 8, "width": options.width, "zero_init_last_gamma": True},
              "training": {"global_batch_size": 48, "bn_group_samples": 24, "label_smoothing": 0.1,
                           "gradient_payload": payload},
              "optimizer": {"name": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.0005},
              "schedule": {"name": "cosine", "learning_rate": 0.05}}
    path = folder / f"{payload}_{seed}.json"
    path.write_text(json.dumps(config))
    return path, results / "here/resnet50"


def train(options, folder, payload, seed):
    """Accuracy and bytes of a training, and its provenance."""
    config, results = write_config(options, folder, payload, seed)
    on_hosts(options, "run", config, "--trace", "2:3")
    log = (results / "result_1.txt").read_text()
    records = [json.loads(line.split(":::MLLOG", 1)[1]) for line in log.splitlines() if ":::MLLOG" in line]
    trace = json.loads((results / "result_1.trace.json").read_text())
    return {"accuracy": [record["value"] for record in records if record["key"] == "eval_accuracy"][-1],
            "bytes": bytes_of(trace)["gradients between nodes"],
            "provenance": json.loads((results / "result_1.telemetry.json").read_text())["provenance"]}


def show(accuracies):
    print(f"{'payload':<9}{'mean accuracy':>14}{'deviation':>11}  by seed")
    for payload, all_seeds in accuracies.items():
        by_seed = ", ".join(f"{one:.4f}" for one in all_seeds)
        print(f"{payload:<9}{statistics.mean(all_seeds):>14.4f}{statistics.stdev(all_seeds):>11.4f}  {by_seed}")
    gains = [narrow - wide for narrow, wide in zip(accuracies["bf16"], accuracies["f32"])]
    print(f"bf16 minus f32, pairs of seeds: mean {statistics.mean(gains):+.4f}, "
          f"standard error {statistics.stdev(gains) / len(gains) ** 0.5:.4f}")


def main():
    options = parse_arguments()
    require_namespaces()
    busy = os.getloadavg()[0]
    trained = {payload: [] for payload in PAYLOADS}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        call([options.program, "generate", "resnet50", folder / "data", "--train-per-class", options.per_class])
        for seed in range(1, options.seeds + 1):
            for payload, done in trained.items():
                done.append(train(options, folder, payload, seed))
    sent = {payload: done[0]["bytes"] for payload, done in trained.items()}
    if sent["f32"] != 2 * sent["bf16"]:
        sys.exit(f"expected half of the bytes of f32 in bf16, sent {sent['f32']} and {sent['bf16']}")
    accuracies = {payload: [one["accuracy"] for one in done] for payload, done in trained.items()}
    show(accuracies)
    provenance = trained["f32"][0]["provenance"]
    write_report(options, {
        "what": "accuracy of ResNet-50 after trainings whose gradients travel between hosts with each payload",
        "settings": {name: getattr(options, name) for name in SETTINGS}, "accuracy": accuracies,
        "bytes_of_a_step": sent, "load_before": busy, "machine": machine_of(provenance),
        "build": provenance["build"], "libraries": provenance["libraries"]})


if __name__ == "__main__":
    main()
