"""Weights written by a run give the same outputs in torchvision's resnet50 as in `trainmark evaluate`.

The weights file of a short run on generated images is loaded into PyTorch by name. The bound on max |a - b| / max |b|
is 1e-4, and a mirrored kernel must exceed it.
"""

import pathlib
import sys
import tempfile

import peer

torch, torchvision, h5py = peer.require_peer()
import reference

BOUND = 1e-4
CLASSES, PER_CLASS, SIZE = 4, 16, 32


def train(program, folder):
    """Trains two epochs of a dozen steps. Returns the paths of weights, validation images and configuration."""
    peer.run(program, "generate", "resnet50", "--output", f"{folder}/data", "--classes", CLASSES,
             "--train-per-class", 48, "--validation-per-class", PER_CLASS, "--image-size", SIZE)
    config = peer.write_config(f"{folder}/config.json", {
        "workload": "resnet50",
        "seed": 3,
        "epochs": 2,
        "clear_caches": "never",
        "target": {"quality": 1.0},
        "results": {"directory": f"{folder}/results", "system": "box"},
        "dataset": {"train": f"{folder}/data/train", "validation": f"{folder}/data/validation", "preprocess": "cifar"},
        "staging": {"mode": "stream"},
        "model": {"image_size": SIZE, "classes": CLASSES, "padding": "torchvision"},
        "training": {"global_batch_size": 16, "bn_group_samples": 16},
        "optimizer": {"name": "sgd", "momentum": 0.9, "weight_decay": 0.0005},
        "schedule": {"learning_rate": 0.02},
    })
    peer.run(program, "run", config, allowed=(0, 6))  # whether the target is reached does not matter here
    return next(pathlib.Path(folder, "results").rglob("*.weights.h5")), f"{folder}/data/validation", config


def load(weights):
    """torchvision's model with the file's arrays, which must be exactly its own."""
    model = torchvision.models.resnet50(num_classes=CLASSES)
    arrays = {name: torch.from_numpy(values).float() for name, values in peer.read_arrays(h5py, weights).items()}
    missing, unexpected = model.load_state_dict(arrays, strict=False)
    assert not unexpected and all(name.endswith("num_batches_tracked") for name in missing), (missing, unexpected)
    return model.eval()


def difference(ours, model, images):
    return peer.largest_difference(ours, reference.expected_outputs(model, images, "cifar", SIZE)[0])


with tempfile.TemporaryDirectory() as place:
    trained, validation, configuration = train(sys.argv[1], place)
    model = load(trained)
    labels = [label for _, label in peer.images(validation)]
    ours = peer.evaluate(sys.argv[1], h5py, configuration, trained, f"{place}/outputs.h5", labels)
    measured = difference(ours, model, validation)
    kernel = model.layer3[0].conv2.weight
    kernel.data = kernel.data.flip(3)
    wrong = difference(ours, model, validation)
print(f"{len(labels)} images, max |a - b| / max |b| = {measured:.2e} (bound {BOUND:.0e}); mirrored kernel {wrong:.2e}")
sys.exit(0 if measured <= BOUND < wrong else 1)
