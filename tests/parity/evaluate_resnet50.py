"""The same weights give the same outputs as torchvision's resnet50, over real JPEG files.

Hides nothing: random weights with random batch-norm statistics and nonzero last gammas go through HDF5 into
`trainmark evaluate`; the bound on max |a - b| / max |b| is 1e-4. A second run with one weight changed must exceed it.
"""

import sys
import tempfile

import peer

torch, torchvision, h5py = peer.require_peer()
import numpy
from PIL import Image
from torchvision import transforms

BOUND = 1e-4
CLASSES = 4
PER_CLASS = 18
STYLES = {
    # name: (image side on disk, network input, PyTorch's transform)
    "cifar": (32, 32, [transforms.ToTensor(), transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))]),
    "torchvision": (80, 64, [transforms.Resize(73), transforms.CenterCrop(64), transforms.ToTensor(),
                             transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]),
}


def random_model():
    model = torchvision.models.resnet50(num_classes=CLASSES)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, 0.0, 0.2)
            torch.nn.init.normal_(module.running_mean, 0.0, 0.2)
            torch.nn.init.uniform_(module.running_var, 0.5, 2.0)
    return model.eval()


def expected_outputs(model, folder, steps):
    transform = transforms.Compose(steps)
    listed = peer.images(folder)
    batch = torch.stack([transform(Image.open(path).convert("RGB")) for path, _ in listed])
    with torch.no_grad():
        return model(batch).numpy(), [label for _, label in listed]


def error(program, folder, style, size, state, expected, labels):
    weights, outputs = f"{folder}/weights.h5", f"{folder}/outputs.h5"
    peer.write_weights(h5py, weights, state)
    config = peer.write_config(f"{folder}/{style}.json", {
        "workload": "resnet50",
        "epochs": 1,
        "dataset": {"train": f"{folder}/data/train", "validation": f"{folder}/data/validation", "preprocess": style},
        "model": {"image_size": size, "classes": CLASSES, "padding": "torchvision"},
        "training": {"global_batch_size": 20, "bn_group_size": 20},  # does not divide the images: the last batch is short
        "schedule": {"learning_rate": 0.1},
    })
    peer.run(program, "evaluate", config, "--weights", weights, "--outputs", outputs)
    with h5py.File(outputs) as file:
        ours = file["outputs"][:]
        assert list(file["labels"][:]) == labels, "labels differ"
    assert ours.shape == expected.shape, f"shape {ours.shape}, expected {expected.shape}"
    return float(numpy.abs(ours - expected).max() / numpy.abs(expected).max())


def compare(program, style):
    disk_size, size, steps = STYLES[style]
    with tempfile.TemporaryDirectory() as folder:
        peer.run(program, "generate", "resnet50", "--output", f"{folder}/data", "--classes", CLASSES, "--train-per-class", 5,
                 "--validation-per-class", PER_CLASS, "--image-size", disk_size)
        model = random_model()
        state = model.state_dict()
        expected, labels = expected_outputs(model, f"{folder}/data/validation", steps)
        measured = error(program, folder, style, size, state, expected, labels)
        state["layer3.0.conv2.weight"] = state["layer3.0.conv2.weight"].flip(3)
        wrong = error(program, folder, style, size, state, expected, labels)
    print(f"{style}: {len(labels)} images, max |a - b| / max |b| = {measured:.2e} (bound {BOUND:.0e}); mirrored kernel {wrong:.2e}")
    return measured <= BOUND < wrong


results = [compare(sys.argv[1], style) for style in STYLES]
sys.exit(0 if all(results) else 1)
