"""Training steps by the program `training_steps`, with the data types of reference.py."""

import tempfile

import h5py
import numpy

import peer
import reference


class Program:
    """`training_steps`, and the launcher that starts it on several ranks."""

    def __init__(self, path, launcher):
        self.path, self.launcher = path, launcher

    def train(self, start, images, labels, recipe, ranks=1, **overrides):
        """Trains from the arrays `start`. `overrides` change keys of a section: optimizer={"nesterov": False}."""
        with tempfile.TemporaryDirectory() as folder:
            with h5py.File(f"{folder}/in.h5", "w") as file:
                for name, values in start.items():
                    file[name] = values.astype("float32")
                file["images"] = images.numpy().astype("float32")
                file["labels"] = labels.numpy().astype("float32")
                if "schedule" not in recipe:
                    file["learning_rates"] = numpy.array(recipe["learning_rates"], dtype="float32")
            config = configuration(images, recipe)
            for section, keys in overrides.items():
                config[section].update(keys)
            path = peer.write_config(f"{folder}/config.json", config)
            peer.run_on(ranks, self.launcher, self.path, path, f"{folder}/in.h5", f"{folder}/out.h5")
            return peer.read_arrays(h5py, f"{folder}/out.h5")


def configuration(images, recipe):
    steps, samples, side = images.shape[0], images.shape[1], images.shape[3]
    optimizer = {key: recipe[key] for key in ("momentum", "nesterov", "weight_decay")}
    config = {
        "workload": recipe.get("workload", "resnet50"),
        "model": {"image_size": side, "classes": reference.CLASSES, **recipe.get("model", {"padding": "torchvision"})},
        "training": {"steps": steps, "global_batch_size": samples, "bn_group_samples": recipe.get("group") or samples,
                     "label_smoothing": recipe["label_smoothing"],
                     "statistics": "frozen" if recipe["frozen"] else "batch"},
        "optimizer": {"name": "sgd", **optimizer},
    }
    if "schedule" in recipe:
        config["schedule"] = {"name": "one_cycle", **recipe["schedule"]}
    return config
