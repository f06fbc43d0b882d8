"""DLRM by `trainmark`: evaluations and training steps with the data types of dlrm_reference.py.

No command trains from given weights: a run draws its own from its seed. They are found by an update whose rate is too
small to change weights in single precision.
"""

import json
import pathlib
import tempfile

import h5py
import numpy

import dlrm_reference
import peer

NO_RATE = 1e-30
TARGET_MISSED = 6


class Program:
    """The program, and the launcher that starts it on several ranks."""

    def __init__(self, path, launcher):
        self.path, self.launcher = path, launcher

    def generate(self, folder, samples):
        """Generates `samples` records for dlrm_reference's tables."""
        peer.run(self.path, "generate", "dlrm", folder, "--tables", listed(dlrm_reference.TABLES), "--samples", samples,
                 "--test-samples", 2, "--validation-samples", 0)
        return dlrm_reference.read_records(f"{folder}/train.bin")

    def evaluate(self, state, records, ranks=1, **sections):
        """Logits and AUC of records with the arrays `state`."""
        with tempfile.TemporaryDirectory() as folder:
            config = write_config(folder, records, 100, **sections)
            peer.write_arrays(h5py, f"{folder}/weights.h5", state)
            peer.run_on(ranks, self.launcher, self.path, "evaluate", config, "--weights", f"{folder}/weights.h5",
                        "--outputs", f"{folder}/outputs.h5", "--json", f"{folder}/result.json")
            with h5py.File(f"{folder}/outputs.h5") as file:
                assert (file["labels"][:] == records[:, 0]).all(), "labels differ"
                logits = file["outputs"][:, 0]
            return logits, json.loads(pathlib.Path(folder, "result.json").read_text())["value"]

    def first_weights(self, seed, block):
        """The initial weights of a run with this seed."""
        found = self.train(seed, [block], "sgd", NO_RATE)
        found.pop("losses")
        return found

    def train(self, seed, blocks, rule, rate, ranks=1, epochs=1, **sections):
        """Weights after `epochs` epochs of steps on these blocks of records, and the mean loss of each epoch.

        `sections` change keys of a section: embeddings={"payload": "bf16"}.
        """
        with tempfile.TemporaryDirectory() as folder:
            test = write_draw(folder, blocks[0][0])
            changed = {**sections, "embeddings": {"optimizer": rule, **sections.get("embeddings", {})},
                       "dataset": {"test": test}}
            config = write_config(folder, numpy.concatenate(blocks), len(blocks[0]), seed, rate, epochs, **changed)
            peer.run_on(ranks, self.launcher, self.path, "run", config, allowed=(TARGET_MISSED,))
            weights = next(pathlib.Path(folder).rglob("*.weights.h5"))
            log = weights.with_name("result_1.txt").read_text()
            return peer.read_arrays(h5py, weights) | {"losses": numpy.array(peer.logged(log, "train_loss"))}


def listed(numbers):
    return ",".join(map(str, numbers))


def write_draw(folder, record):
    """Writes a test file on which no model reaches the target: this record with both labels."""
    both = numpy.stack([record, record])
    both[:, 0] = 0, 1
    both.astype("<i4").tofile(f"{folder}/draw.bin")
    return f"{folder}/draw.bin"


def write_config(folder, records, batch, seed=1, rate=NO_RATE, epochs=1, **sections):
    """Configures training and evaluation on these records in their order."""
    records.astype("<i4").tofile(f"{folder}/clicks.bin")
    config = {
        "workload": "dlrm",
        "seed": seed,
        "epochs": epochs,
        "clear_caches": "never",
        "target": {"quality": 1.0},
        "results": {"directory": f"{folder}/results"},
        "dataset": {"train": f"{folder}/clicks.bin", "test": f"{folder}/clicks.bin", "shuffle": "none"},
        "model": {**dlrm_reference.MODEL, "tables": listed(dlrm_reference.TABLES)},
        "embeddings": {"epsilon": dlrm_reference.EPSILON},
        "training": {"global_batch_size": batch},
        "optimizer": {"name": "sgd", "momentum": 0},
        "schedule": {"name": "constant", "learning_rate": rate},
    }
    for section, keys in sections.items():
        config[section].update(keys)
    return peer.write_config(f"{folder}/config.json", config)
