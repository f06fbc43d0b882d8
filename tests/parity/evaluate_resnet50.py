"""With the same weights, the program's outputs equal those of torchvision's resnet50 on JPEG files, and of the same
with the strides of v1.

Random weights with random batch-norm statistics and nonzero last gammas are passed to `trainmark evaluate` in an HDF5
file. The bound on max |a - b| / max |b| is 1e-4. A second run with a mirrored kernel must exceed it. The images are
CIFAR-10's where workloads/resnet50/cifar10.py wrote them or ../shared has them, otherwise generated.
"""

import pathlib
import sys
import tarfile
import tempfile

import peer

torch, torchvision, h5py = peer.require_peer()
import reference

BOUND = 1e-4
PROJECT = pathlib.Path(__file__).resolve().parents[2]
ARCHIVES = (PROJECT / "build/cifar10/test.tar", PROJECT.parent / "shared/data/cifar10/test.tar")
PER_CLASS = {True: 8, False: 18}  # True: real images of ten classes; False: generated ones of four
STYLES = {"cifar": 32, "torchvision": 64}


def unpack(archive_path, folder):
    """Unpacks the first images of each class into class folders. Returns the number of classes."""
    taken = {}
    with tarfile.open(archive_path) as archive:
        for member in sorted((m for m in archive.getmembers() if m.isfile()), key=lambda m: m.name):
            path = pathlib.PurePath(member.name)
            taken[path.parent.name] = taken.get(path.parent.name, 0) + 1
            if taken[path.parent.name] > PER_CLASS[True]:
                continue
            target = pathlib.Path(folder, path.parent.name, path.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.extractfile(member).read())
    return len(taken)


def find_images(program, folder):
    """A folder with images, and the number of classes."""
    for archive in filter(pathlib.Path.exists, ARCHIVES):
        return f"{folder}/images", unpack(archive, f"{folder}/images")
    print(f"{ARCHIVES[0]} is absent: the images are generated")
    peer.run(program, "generate", "resnet50", "--output", f"{folder}/data", "--classes", 4, "--train-per-class", 5,
             "--validation-per-class", PER_CLASS[False], "--image-size", 80)
    return f"{folder}/data/validation", 4


def error(program, folder, config, state, expected, labels):
    """max |a - b| / max |b| of the program's outputs with these weights."""
    peer.write_weights(h5py, f"{folder}/weights.h5", state)
    ours = peer.evaluate(program, h5py, config, f"{folder}/weights.h5", f"{folder}/outputs.h5", labels)
    return peer.largest_difference(ours, expected)


def compare(program, folder, images, classes, style, version):
    size = STYLES[style]
    model = reference.random_model(classes, version=version).eval()
    expected, labels = reference.expected_outputs(model, images, style, size)
    config = peer.write_config(f"{folder}/{style}.json", {
        "workload": "resnet50",
        "epochs": 1,
        "dataset": {"train": images, "validation": images, "preprocess": style},
        "model": {"image_size": size, "classes": classes, "padding": "torchvision", "version": version},
        # The batch does not divide the number of images, so the last batch is short.
        "training": {"global_batch_size": 22, "bn_group_samples": 22},
        "schedule": {"learning_rate": 0.1},
    })
    state = model.state_dict()
    measured = error(program, folder, config, state, expected, labels)
    state["layer3.0.conv2.weight"] = state["layer3.0.conv2.weight"].flip(3)
    wrong = error(program, folder, config, state, expected, labels)
    print(f"{style}, {version}: {len(labels)} images, max |a - b| / max |b| = {measured:.2e} (bound {BOUND:.0e}); "
          f"mirrored kernel {wrong:.2e}")
    assert len(labels) >= 64
    return measured <= BOUND < wrong


with tempfile.TemporaryDirectory() as place:
    found = find_images(sys.argv[1], place)
    results = [compare(sys.argv[1], place, *found, style, version)
               for style, version in (("cifar", "v1.5"), ("torchvision", "v1.5"), ("cifar", "v1"))]
sys.exit(0 if all(results) else 1)
