"""Measures PyTorch's learning curves under the recipe of a configuration, to which our accuracy is compared.

The recipe is read from a configuration of `trainmark run`. Keys that this script does not understand are errors, and so
are missing ones whose default it does not know. Trains all epochs and ignores the target. workloads/resnet50/cifar10.py
makes the data. Run it in the project's folder:

    OMP_NUM_THREADS=2 python3 tests/parity/train_cifar10.py --seeds 1 2 3 \\
        --output build/cifar10/pytorch.json

The file is rewritten after every epoch. Seeds that it already contains are not trained again. `--steps N` stops each
seed after N updates, for a quick test.
"""

import argparse
import io
import json
import os
import pathlib
import platform
import sys
import tarfile
import time

import peer

torch, torchvision, _ = peer.require_peer()
import numpy
from PIL import Image
from torch.nn import functional

import reference

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
DEVIATION = torch.tensor([0.2470, 0.2435, 0.2616]).view(1, 3, 1, 1)
#: Required keys of a recipe, and the values that this script supports; None: any.
REQUIRED = {
    "epochs": None,
    "dataset": {"train": None, "validation": None, "train_samples": None, "validation_samples": None,
                "preprocess": ["cifar"]},
    "model": {"image_size": [32], "classes": None, "padding": ["torchvision"], "initialization": ["torchvision"],
              "zero_init_last_gamma": [True, False]},
    "training": {"global_batch_size": None, "bn_group_samples": None, "label_smoothing": None},
    "optimizer": {"name": ["sgd"], "momentum": None, "nesterov": [True, False], "weight_decay": None},
    "schedule": {"name": ["one_cycle"], "learning_rate": None},
}
#: Optional keys. Those with any value are either handled here or do not affect learning.
OPTIONAL = {
    "workload": ["resnet50"], "seed": None, "target": None, "submission": None, "evaluation": None, "results": None,
    "staging": None, "checkpoint": None, "clear_caches": None, "threads": None, "hang_timeout_s": None,
    "dataset": {"largest_shift": None, "decode_threads": None, "prefetch_batches": None, "evaluation_resize": [0, 32], "shards": [1],
                "on_corrupt": ["error"]},
    "model": {"depth": [50], "width": [64]},
    "training": {"gradient_accumulation_steps": [1], "precision": ["f32"]},
    "optimizer": {"form": ["torch"], "weight_decay_mode": ["l2"]},
    "schedule": {"scaling": ["none", "linear", "sqrt"], "reference_batch": None, "div_factor": None,
                 "final_div_factor": None, "peak_at": None, "anneal": ["linear", "cosine"], "decay_epochs": None,
                 "decay_steps": None},
}


def check_known(section, required, optional, where=""):
    for key in required:
        if key not in section:
            sys.exit(f"{where}/{key}: is missing; this script does not know the program's default")
    for key, value in section.items():
        place = f"{where}/{key}"
        if key not in required and key not in optional:
            sys.exit(f"{place}: this script does not know the key; it would train something else")
        known = required.get(key, optional.get(key))
        if isinstance(known, dict):
            check_known(value, required.get(key, {}), optional.get(key, {}), place)
        elif known is not None and value not in known:
            sys.exit(f"{place}: expected one of {known}, got {value}")


def make_model(config):
    return reference.make_model(config["model"]["classes"], config["training"]["bn_group_samples"],
                                zero_init_residual=config["model"]["zero_init_last_gamma"])


def load_images(path, expected):
    """Pixels [N, 3, 32, 32] as bytes, and labels, in the order of the archive's sorted names."""
    pixels, labels = [], []
    with tarfile.open(path) as archive:
        members = sorted((m for m in archive.getmembers() if m.isfile()), key=lambda m: m.name)
        classes = sorted({pathlib.PurePath(m.name).parent.name for m in members})
        for member in members:
            image = Image.open(io.BytesIO(archive.extractfile(member).read())).convert("RGB")
            pixels.append(numpy.asarray(image).transpose(2, 0, 1))
            labels.append(classes.index(pathlib.PurePath(member.name).parent.name))
    if len(pixels) != expected:
        sys.exit(f"{path}: expected {expected} images, found {len(pixels)}")
    return torch.from_numpy(numpy.stack(pixels)), torch.tensor(labels)


def to_input(pixels):
    return (pixels.float() / 255.0 - MEAN) / DEVIATION


def augment(pixels, border):
    """Shifts each image by up to `border` pixels over black, and mirrors it at random."""
    size = pixels.shape[-1]
    bordered = functional.pad(pixels, (border,) * 4)
    out = torch.empty_like(pixels)
    for i in range(len(pixels)):
        down, right = torch.randint(0, 2 * border + 1, (2,)).tolist()
        view = bordered[i, :, down:down + size, right:right + size]
        out[i] = view.flip(2) if torch.rand(()) < 0.5 else view
    return out


def accuracy(model, pixels, labels, batch):
    model.eval()
    correct = 0
    with torch.no_grad():
        for part, target in zip(pixels.split(batch), labels.split(batch)):
            correct += (model(to_input(part)).argmax(1) == target).sum().item()
    return correct / len(labels)


def train(seed, config, data, most_steps, on_epoch):
    """Trains, and calls on_epoch with the figures of each epoch."""
    torch.manual_seed(seed)
    (pixels, labels), validation = data
    batch, epochs = config["training"]["global_batch_size"], config["epochs"]
    border = config["dataset"].get("largest_shift", 4)
    steps_per_epoch = len(labels) // batch
    model = make_model(config)
    optimizer = reference.make_sgd(model, config["optimizer"])
    rates = reference.learning_rates(config["schedule"], batch, steps_per_epoch, epochs)
    step, began = 0, time.monotonic()
    for epoch in range(1, epochs + 1):
        model.train()
        losses = []
        for chosen in torch.randperm(len(labels))[:steps_per_epoch * batch].split(batch):
            for group in optimizer.param_groups:
                group["lr"] = rates[step]
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(to_input(augment(pixels[chosen], border))), labels[chosen],
                                            label_smoothing=config["training"]["label_smoothing"])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
            if step == most_steps:
                break
        quality = accuracy(model, *validation, batch)
        on_epoch({"epoch": epoch, "steps": step, "train_loss": sum(losses) / len(losses),
                  "learning_rate": optimizer.param_groups[0]["lr"], "eval_accuracy": quality,
                  "seconds": round(time.monotonic() - began, 1)})
        if step == most_steps:
            return


def machine():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {"cpu": names[0] if names else platform.processor(), "cores": os.cpu_count(), "system": platform.platform(),
            "python": platform.python_version(), "torch": torch.__version__, "torchvision": torchvision.__version__,
            "threads": torch.get_num_threads()}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", default="configs/resnet50/cifar10.json")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--steps", type=int, default=0, help="stop each seed after so many updates")
    parser.add_argument("--data", type=pathlib.Path, help="folder of train.tar and test.tar instead of the configured")
    parser.add_argument("--output", help="JSON file for curves and machine")
    return parser.parse_args()


def whole_runs(found, config):
    """The finished runs of an earlier call."""
    if found["recipe"] != config:
        sys.exit("the output holds runs of another recipe; name another file")
    return [run for run in found["runs"] if len(run["epochs"]) == config["epochs"]]


def main():
    options = parse_arguments()
    config = json.loads(pathlib.Path(options.config).read_text())
    check_known(config, REQUIRED, OPTIONAL)
    sizes = config["training"]
    if sizes["global_batch_size"] % sizes["bn_group_samples"] != 0:
        sys.exit(f"/training/bn_group_samples: must divide the batch of {sizes['global_batch_size']}, got "
                 f"{sizes['bn_group_samples']}")
    recipe = config["dataset"]
    if options.data:
        recipe |= {"train": str(options.data / "train.tar"), "validation": str(options.data / "test.tar")}
    for key in ("train", "validation"):
        if not pathlib.Path(recipe[key]).exists():
            peer.skip(f"{recipe[key]}: is absent; workloads/resnet50/cifar10.py makes it")
    data = [load_images(recipe[key], recipe[f"{key}_samples"]) for key in ("train", "validation")]
    report = {"what": "curves of PyTorch under this recipe", "config": options.config, "recipe": config, "runs": []}
    if options.output and pathlib.Path(options.output).exists():
        report["runs"] = whole_runs(json.loads(pathlib.Path(options.output).read_text()), config)
    for seed in options.seeds:
        if any(run["seed"] == seed for run in report["runs"]):
            continue
        report["runs"].append({"seed": seed, "machine": machine(), "epochs": []})

        def note(figures):
            report["runs"][-1]["epochs"].append(figures)
            print(f"seed {seed}: {json.dumps(figures)}", flush=True)
            if options.output:
                pathlib.Path(options.output).write_text(json.dumps(report, indent=1) + "\n")

        train(seed, config, data, options.steps, note)


if __name__ == "__main__":
    main()
