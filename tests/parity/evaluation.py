"""Outputs of `trainmark evaluate` and of PyTorch for the same images and weights.

The images are CIFAR-10's where workloads/resnet50/cifar10.py wrote them or ../shared has them, otherwise generated.
"""

import pathlib
import tarfile

import h5py

import peer
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


def compare(program, folder, found, what, style, model, mirrored, workload, sections):
    """Compares the outputs of `model`, and those with the kernel `mirrored`, which must differ. `found` is a result of
    find_images(); `sections` are model and training of the configuration. Returns whether both are as they must."""
    images, classes = found
    size = sections["model"]["image_size"]
    expected, labels = reference.expected_outputs(model.eval(), images, style, size)
    config = peer.write_config(f"{folder}/config.json", {
        "workload": workload,
        "epochs": 1,
        "dataset": {"train": images, "validation": images, "preprocess": style},
        "schedule": {"learning_rate": 0.1},
        **sections,
    })
    state = model.state_dict()
    measured = error(program, folder, config, state, expected, labels)
    state[mirrored] = state[mirrored].flip(3)
    wrong = error(program, folder, config, state, expected, labels)
    print(f"{style}, {what}: {len(labels)} images, max |a - b| / max |b| = {measured:.2e} (bound {BOUND:.0e}); "
          f"mirrored kernel {wrong:.2e}", flush=True)
    assert len(labels) >= 64
    return measured <= BOUND < wrong
