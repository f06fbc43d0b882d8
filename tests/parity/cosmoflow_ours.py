"""CosmoFlow by `trainmark`: evaluations and training steps with the data types of cosmoflow_reference.py.

No command trains from given weights: a run draws its own from its seed. They are found by an update whose rate is too
small to change weights in single precision.
"""

import json
import pathlib
import tempfile

import h5py
import numpy

import peer
from cosmoflow_reference import Recipe, Universes

NO_RATE, MOVED_ZERO = 1e-30, 1e-20
TARGET_MISSED = 6


class Program:
    """The program, and the launcher that starts it on several ranks."""

    def __init__(self, path, launcher):
        self.path, self.launcher = path, launcher

    def generate(self, samples, size, seed=1):
        """Generates `samples` samples."""
        with tempfile.TemporaryDirectory() as folder:
            peer.run(self.path, "generate", "cosmoflow", f"{folder}/data", "--train-samples", samples,
                     "--validation-samples", 1, "--size", size, "--seed", seed)
            return read_universes(f"{folder}/data/train")

    def evaluate(self, state, model, universes, ranks=1, **sections):
        """Outputs [N, 4] and mean absolute error of samples with the arrays `state`."""
        with tempfile.TemporaryDirectory() as folder:
            recipe = Recipe(model, ranks, {"learning_rate": NO_RATE})
            config = write_config(folder, universes, recipe, **sections)
            peer.write_arrays(h5py, f"{folder}/weights.h5", state)
            peer.run_on(ranks, self.launcher, self.path, "evaluate", config, "--weights", f"{folder}/weights.h5",
                        "--outputs", f"{folder}/outputs.h5", "--json", f"{folder}/result.json")
            with h5py.File(f"{folder}/outputs.h5") as file:
                assert (file["labels"][:] == universes.targets).all(), "targets differ"
                outputs = file["outputs"][:]
            return outputs, json.loads(pathlib.Path(folder, "result.json").read_text())["value"]

    def first_weights(self, seed, model, universes):
        """Initial weights of a run with this seed, for any samples. Biases are zeros, which even that rate moves."""
        found = self.train(seed, universes[:1], Recipe(model, 1, {"learning_rate": NO_RATE}))
        found.pop("losses")
        return {name: numpy.where(abs(values) < MOVED_ZERO, 0.0, values) for name, values in found.items()}

    def train(self, seed, universes, recipe, ranks=1, **sections):
        """Weights after the epochs of a run on these samples, and the mean loss of each epoch. The run shuffles the
        samples, which matters if an epoch has more than one step.

        `sections` change keys of a section: training={"sample_split": {"depth": 2}}.
        """
        with tempfile.TemporaryDirectory() as folder:
            config = write_config(folder, universes, recipe, seed, **sections)
            peer.run_on(ranks, self.launcher, self.path, "run", config, allowed=(TARGET_MISSED,))
            weights = next(pathlib.Path(folder).rglob("*.weights.h5"))
            log = weights.with_name("result_1.txt").read_text()
            return peer.read_arrays(h5py, weights) | {"losses": numpy.array(peer.logged(log, "train_loss"))}


def read_universes(folder):
    """The samples of all files in a folder, in the order of the file names."""
    counts, targets = [], []
    for path in sorted(pathlib.Path(folder).iterdir()):
        with h5py.File(path) as file:
            counts.append(file["x"][:])
            targets.append(file["y"][:])
    return Universes(numpy.stack(counts), numpy.stack(targets))


def write_universes(folder, universes):
    pathlib.Path(folder).mkdir()
    for at, (counts, targets) in enumerate(zip(universes.counts, universes.targets)):
        with h5py.File(f"{folder}/universe_{at:06d}.hdf5", "w") as file:
            file["x"], file["y"] = counts.astype("<i2"), targets.astype("<f4")
    return folder


def write_config(folder, universes, recipe, seed=1, **sections):
    """Configures training and evaluation on these samples. No model reaches the target."""
    data = write_universes(f"{folder}/universes", universes)
    config = {
        "workload": "cosmoflow",
        "seed": seed,
        "epochs": recipe.epochs,
        "clear_caches": "never",
        "target": {"quality": 1e-9},
        "results": {"directory": f"{folder}/results"},
        "dataset": {"train": data, "validation": data},
        "staging": {"mode": "stream"},
        "model": dict(recipe.model),
        "training": {"global_batch_size": recipe.batch},
        "optimizer": {"name": "sgd", **recipe.optimizer},
        "schedule": {"scaling": "none", **recipe.schedule},
    }
    for section, keys in sections.items():
        config[section].update(keys)
    return peer.write_config(f"{folder}/config.json", config)
