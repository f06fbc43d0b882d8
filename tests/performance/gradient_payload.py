"""Shows what `training.gradient_payload` does to convergence and to steps: the same trainings with each payload, for
several seeds.

ResNet-50 trains on the quickstart's images, one rank on each of several hosts (tests/hosts.sh), with all payloads for
each seed: only what travels between the hosts differs. Prints the accuracy after the last epoch by payload and seed,
the mean difference to f32 of pairs of seeds, bytes, and the median time of a step. Asserts that the bytes are those of
the payload's definition. Needs root. At the default size it takes a quarter of an hour on two cores:

    python3 tests/performance/gradient_payload.py build/release/trainmark --output /tmp/gradient_payload.json

Exit code 1 if the bytes are others, 2 for wrong arguments, 77 if network namespaces cannot be created, trainmark's exit
code if it fails.
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

# Keys of the section "training" by the name of a variant.
PAYLOADS = {"f32": {"gradient_payload": "f32"},
            "bf16": {"gradient_payload": "bf16"},
            "bf16 alone": {"gradient_payload": "bf16", "error_feedback": False},
            "int8": {"gradient_payload": "int8"},
            "int8 alone": {"gradient_payload": "int8", "error_feedback": False},
            "top_k": {"gradient_payload": "top_k"},
            "top_k alone": {"gradient_payload": "top_k", "error_feedback": False}}
SETTINGS = ("hosts", "rate", "epochs", "width", "seeds", "per_class", "threads", "density")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "unlimited")
    parser.add_argument("--epochs", type=whole_number(1), default=10)
    parser.add_argument("--width", type=whole_number(16), default=32, help="channels of the first convolution")
    parser.add_argument("--seeds", type=whole_number(2), default=3, help="trainings with each payload")
    parser.add_argument("--per-class", type=whole_number(16), default=250, help="training images of each of 8 classes")
    parser.add_argument("--density", type=float, default=0.01, help="share of gradients that top_k sends")
    parser.add_argument("--payloads", nargs="+", choices=PAYLOADS, default=list(PAYLOADS),
                        help='f32 is one of them in any case; "alone" is without error feedback')
    return parse_options(parser)


def write_config(options, folder, payload, seed):
    name = f"{payload.replace(' ', '_')}_{seed}"
    results = folder / name
    keys = dict(PAYLOADS[payload], gradient_density=options.density)
    config = {"workload": "resnet50", "epochs": options.epochs, "seed": seed, "threads": options.threads,
              "clear_caches": "never", "evaluation": {"every_epochs": options.epochs},
              # Reached, so that all trainings end alike after the last epoch.
              "target": {"quality": 0.0001}, "results": {"directory": str(results), "system": "here"},
              "dataset": {"train": str(folder / "data/train"), "validation": str(folder / "data/validation"),
                          "preprocess": "cifar"},
              "staging": {"mode": "stream"},
              "model": {"image_size": 32, "classes": 8, "width": options.width, "zero_init_last_gamma": True},
              "training": {"global_batch_size": 48, "bn_group_samples": 24, "label_smoothing": 0.1,
                           "gradient_piece_kib": 4096, **keys},
              "optimizer": {"name": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.0005},
              "schedule": {"name": "cosine", "learning_rate": 0.05}}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(config))
    return path, results / "here/resnet50"


def train(options, folder, payload, seed):
    """Accuracy, bytes and median time of a step of a training, and its provenance."""
    config, results = write_config(options, folder, payload, seed)
    on_hosts(options, "run", config, "--trace", "2:3")
    log = (results / "result_1.txt").read_text()
    records = [json.loads(line.split(":::MLLOG", 1)[1]) for line in log.splitlines() if ":::MLLOG" in line]
    trace = json.loads((results / "result_1.trace.json").read_text())
    telemetry = json.loads((results / "result_1.telemetry.json").read_text())
    return {"accuracy": [record["value"] for record in records if record["key"] == "eval_accuracy"][-1],
            "told": [record["value"] for record in records if record["key"] == "gradients_between_nodes"],
            "step_s": statistics.median(rank["step_s"]["p50"] for rank in telemetry["ranks"]),
            "bytes": bytes_of(trace)["gradients between nodes"], "provenance": telemetry["provenance"]}


def expected_share(options, payload):
    """Bytes over those of f32, but for pieces that are no multiples of what is sent together."""
    kind = PAYLOADS[payload]["gradient_payload"]
    if kind == "top_k":  # (n - 1) k 8 bytes in place of 2 (n - 1) / n d 4
        return options.density * options.hosts
    return {"f32": 1.0, "bf16": 0.5, "int8": 260 / 1024}[kind]


def check_bytes(options, sent):
    for payload, count in sent.items():
        share, expected = count / sent["f32"], expected_share(options, payload)
        if abs(share / expected - 1.0) > 0.01:
            sys.exit(f"{payload}: expected {expected:.4f} of the bytes of f32, sent {share:.4f}")


def told_of(options, payload):
    """What the log tells of the payload: nothing of f32."""
    keys = PAYLOADS[payload]
    kind = keys["gradient_payload"]
    if kind == "f32":
        return []
    density = f" {options.density:g}" if kind == "top_k" else ""
    return [f"{kind}{density} {'with' if keys.get('error_feedback', True) else 'without'} error feedback"]


def show(trained):
    print(f"{'payload':<12}{'accuracy':>9}{'deviation':>11}{'to f32':>9}{'error':>8}{'MB a step':>11}{'step ms':>9}  by seed")
    exact = [one["accuracy"] for one in trained["f32"]]
    for payload, done in trained.items():
        accuracies = [one["accuracy"] for one in done]
        gains = [here - there for here, there in zip(accuracies, exact)]
        by_seed = ", ".join(f"{one:.4f}" for one in accuracies)
        print(f"{payload:<12}{statistics.mean(accuracies):>9.4f}{statistics.stdev(accuracies):>11.4f}"
              f"{statistics.mean(gains):>+9.4f}{statistics.stdev(gains) / len(gains) ** 0.5:>8.4f}"
              f"{done[0]['bytes'] / 1e6:>11.3f}{1e3 * statistics.median(one['step_s'] for one in done):>9.1f}  {by_seed}")


def main():
    options = parse_arguments()
    require_namespaces()
    busy = os.getloadavg()[0]
    trained = {payload: [] for payload in PAYLOADS if payload == "f32" or payload in options.payloads}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        call([options.program, "generate", "resnet50", folder / "data", "--train-per-class", options.per_class])
        for seed in range(1, options.seeds + 1):
            for payload, done in trained.items():
                done.append(train(options, folder, payload, seed))
    for payload, done in trained.items():
        if done[0]["told"] != told_of(options, payload):
            sys.exit(f"{payload}: expected {told_of(options, payload)} in the log, found {done[0]['told']}")
    sent = {payload: done[0]["bytes"] for payload, done in trained.items()}
    check_bytes(options, sent)
    show(trained)
    provenance = trained["f32"][0]["provenance"]
    write_report(options, {
        "what": "ResNet-50 after trainings whose gradients travel between hosts with each payload",
        "settings": {name: getattr(options, name) for name in SETTINGS},
        "accuracy": {payload: [one["accuracy"] for one in done] for payload, done in trained.items()},
        "step_s": {payload: [one["step_s"] for one in done] for payload, done in trained.items()},
        "bytes_of_a_step": sent, "load_before": busy, "machine": machine_of(provenance),
        "build": provenance["build"], "libraries": provenance["libraries"]})


if __name__ == "__main__":
    main()
