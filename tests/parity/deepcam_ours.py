"""DeepCAM by `trainmark`: evaluations and training steps with the data types of deepcam_reference.py.

No command trains from given weights: a run draws its own from its seed. They are found by an update whose rate is too
small to change weights in single precision.
"""

import json
import pathlib
import tempfile

import h5py
import numpy

import deepcam_reference as reference
import peer

NO_RATE, MOVED_ZERO = 1e-30, 1e-20
TARGET_MISSED = 6
PLAIN_ADAM = {"name": "adam", "weight_decay": 0.0, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6}


class Program:
    """The program, and the launcher that starts it on several ranks."""

    def __init__(self, path, launcher):
        self.path, self.launcher = path, launcher

    def evaluate(self, state, model, scenes, ranks=1, **sections):
        """Outputs [N, classes, H, W] and score of samples with the arrays `state`."""
        with tempfile.TemporaryDirectory() as folder:
            recipe = reference.Recipe(model, ranks, constant(NO_RATE), PLAIN_ADAM)
            config = write_config(folder, scenes, recipe, **sections)
            peer.write_arrays(h5py, f"{folder}/weights.h5", state)
            peer.run_on(ranks, self.launcher, self.path, "evaluate", config, "--weights", f"{folder}/weights.h5",
                        "--outputs", f"{folder}/outputs.h5", "--json", f"{folder}/result.json")
            with h5py.File(f"{folder}/outputs.h5") as file:
                assert (file["labels"][:].reshape(scenes.labels.shape) == scenes.labels).all(), "labels differ"
                outputs = file["outputs"][:].reshape(len(scenes), reference.CLASSES, *scenes.labels.shape[1:])
            return outputs, json.loads(pathlib.Path(folder, "result.json").read_text())["value"]

    def first_weights(self, seed, model):
        """The initial weights of a run with this seed, for any samples. Biases are zeros, which even that rate moves.
        The step changes the running statistics, but their initial values are always the same."""
        scenes = reference.random_scenes(2, model["height"], model["width"], 1)
        found = self.train(seed, scenes, reference.Recipe(model, 2, constant(NO_RATE), PLAIN_ADAM))
        weights = {name: numpy.where(abs(values) < MOVED_ZERO, 0.0, values) for name, values in found.items()
                   if name not in ("losses", "learning_rates")}
        return weights | {name: numpy.full_like(values, float(name.endswith("running_var")))
                          for name, values in weights.items() if "running_" in name}

    def train(self, seed, scenes, recipe, ranks=1, **sections):
        """Arrays after the epochs of a run on these samples, and the mean loss and last rate of each epoch. The run
        shuffles the samples, which matters if an epoch has more than one step or a batch more than one group.

        `sections` change keys of a section: optimizer={"epsilon": 1e-8}.
        """
        with tempfile.TemporaryDirectory() as folder:
            config = write_config(folder, scenes, recipe, seed, ranks, **sections)
            peer.run_on(ranks, self.launcher, self.path, "run", config, allowed=(TARGET_MISSED,))
            weights = next(pathlib.Path(folder).rglob("*.weights.h5"))
            log = weights.with_name("result_1.txt").read_text()
            arrays = {name: values for name, values in peer.read_arrays(h5py, weights).items()
                      if not name.endswith("num_batches_tracked")}
            return arrays | {"losses": numpy.array(peer.logged(log, "train_loss")),
                             "learning_rates": numpy.array(peer.logged(log, "learning_rate"))}


def constant(rate):
    return {"type": "multistep", "learning_rate": rate, "milestones": []}


def write_scenes(folder, scenes):
    pathlib.Path(folder).mkdir()
    for at, (fields, labels) in enumerate(zip(scenes.fields, scenes.labels)):
        with h5py.File(f"{folder}/data-{at:06d}.h5", "w") as file:
            file["climate/data"], file["climate/labels_0"] = fields.astype("<f4"), labels.astype("<i4")
    return folder


def write_statistics(path):
    """Writes all arrays of the published file. Only the channels' minima and maxima are used."""
    middle = (reference.LOWEST + reference.HIGHEST) / 2
    with h5py.File(path, "w") as file:
        for name, values in (("minval", reference.LOWEST), ("maxval", reference.HIGHEST), ("mean", middle),
                             ("sqmean", middle ** 2), ("count", numpy.ones_like(middle))):
            file[f"climate/{name}"] = values
    return path


def ranks_that_share(recipe, ranks):
    """The number of ranks whose samples make a group of batch norm."""
    shared = (recipe.group or recipe.batch) * ranks
    assert shared % recipe.batch == 0, f"groups of {recipe.group} samples on {ranks} ranks with {recipe.batch}"
    return shared // recipe.batch


def write_config(folder, scenes, recipe, seed=1, ranks=1, **sections):
    """Configures training and evaluation on these samples. No model reaches the target."""
    data = write_scenes(f"{folder}/scenes", scenes)
    config = {
        "workload": "deepcam",
        "seed": seed,
        "epochs": recipe.epochs,
        "clear_caches": "never",
        "target": {"quality": 1.0},
        "results": {"directory": f"{folder}/results"},
        "dataset": {"train": data, "validation": data, "statistics": write_statistics(f"{folder}/stats.h5")},
        "staging": {"mode": "stream"},
        "model": dict(recipe.model),
        "training": {"global_batch_size": recipe.batch, "bn_group_ranks": ranks_that_share(recipe, ranks)},
        "optimizer": dict(recipe.optimizer),
        "schedule": dict(recipe.schedule),
    }
    for section, keys in sections.items():
        config[section].update(keys)
    return peer.write_config(f"{folder}/config.json", config)
