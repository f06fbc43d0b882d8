"""Short trainings of the four workloads, which take seconds on a shared machine, and readers of their results."""

import hashlib
import json
import pathlib
import subprocess

WORKLOADS = ("resnet50", "dlrm", "cosmoflow", "deepcam")
SEED = 7
KEPT_CHECKPOINTS = 2

GENERATE = {
    "resnet50": ["--classes", "2", "--train-per-class", "36", "--validation-per-class", "6", "--image-size", "32"],
    "dlrm": ["--samples", "1800", "--test-samples", "120", "--validation-samples", "0", "--seed", "3", "--dense", "5",
             "--tables", "50,7,200,3,31"],
    "cosmoflow": ["--train-samples", "48", "--validation-samples", "12", "--seed", "3", "--size", "8"],
    "deepcam": ["--train-samples", "36", "--validation-samples", "6", "--seed", "3", "--height", "16", "--width", "16"],
}


def _resnet50(data):
    return {
        "epochs": 6,
        "target": {"quality": 1.0},
        "dataset": {"train": f"{data}/train", "validation": f"{data}/validation", "preprocess": "cifar"},
        "model": {"depth": 26, "width": 8, "image_size": 32, "classes": 2},
        "training": {"global_batch_size": 12, "bn_group_samples": 3},
        "optimizer": {"name": "sgd"},
        "schedule": {"name": "constant", "learning_rate": 1e-6},
    }


def _dlrm(data):
    return {
        "epochs": 3,
        "target": {"quality": 1.5},
        "evaluation": {"per_epoch": 4},
        "dataset": {"train": f"{data}/train.bin", "test": f"{data}/test.bin"},
        "model": {"dense_features": 5, "embedding_width": 8, "bottom": [16, 8], "top": [16, 1],
                  "tables": "50,7,200,3,31"},
        "training": {"global_batch_size": 12},
        "optimizer": {"name": "sgd", "momentum": 0},
        "schedule": {"name": "constant", "learning_rate": 0.1},
        "staging": {"mode": "shard"},
    }


def _cosmoflow(data):
    return {
        "epochs": 24,
        "target": {"quality": 0.0001},
        "dataset": {"train": f"{data}/train", "validation": f"{data}/validation"},
        "staging": {"mode": "shard"},
        "model": {"size": 8, "channels": [16, 16], "dense": [8]},
        "training": {"global_batch_size": 12},
        "schedule": {"learning_rate": 0.001, "scaling": "none"},
    }


def _deepcam(data):
    parts = ("conv1", "conv2", "block1", "block2", "middle", "block20", "conv3", "conv4", "conv5", "aspp", "low_level",
             "decoder")
    return {
        "epochs": 4,
        "target": {"quality": 0.9999},
        "dataset": {"train": f"{data}/train", "validation": f"{data}/validation"},
        "staging": {"mode": "shard"},
        "model": {"height": 16, "width": 16, "middle_blocks": 1, "widths": {part: 16 for part in parts}},
        "training": {"global_batch_size": 12},
        "schedule": {"learning_rate": 0.001},
    }


_CONFIGURATIONS = {"resnet50": _resnet50, "dlrm": _dlrm, "cosmoflow": _cosmoflow, "deepcam": _deepcam}
# Steps between checkpoints: every training writes some, without spending most of its time on them.
_CHECKPOINT_STEPS = {"resnet50": 8, "dlrm": 90, "cosmoflow": 16, "deepcam": 3}


def generate(trainmark, folder):
    """Generates the data of all workloads, unless they exist."""
    for workload in WORKLOADS:
        target = pathlib.Path(folder) / workload
        if not target.exists():
            subprocess.run([trainmark, "generate", workload, *GENERATE[workload], "--threads", "1", "--output",
                            str(target)], check=True, capture_output=True)


def configuration(workload, data, results, scratch):
    config = _CONFIGURATIONS[workload](f"{data}/{workload}")
    config.update({
        "workload": workload,
        "seed": SEED,
        "threads": 1,
        "clear_caches": "never",
        "results": {"directory": str(results), "system": "cluster"},
        "checkpoint": {"every_steps": _CHECKPOINT_STEPS[workload], "keep_last": KEPT_CHECKPOINTS},
    })
    config.setdefault("staging", {})["directory"] = str(scratch)
    return config


class Log:
    """The log of one run, which may be incomplete."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.damaged = 0
        self.records = []
        for line in self.path.read_text(errors="replace").splitlines():
            try:
                self.records.append(json.loads(line[line.index("{"):]))
            except ValueError:
                self.damaged += 1

    def values(self, key):
        return [record["value"] for record in self.records if record["key"] == key]

    def has(self, key):
        return any(record["key"] == key for record in self.records)

    @property
    def stop(self):
        """Metadata of run_stop; None if the log was not closed."""
        stops = [record["metadata"] for record in self.records if record["key"] == "run_stop"]
        return stops[-1] if stops else None

    def evaluations(self):
        """Quality by epoch."""
        return {round(record["metadata"]["epoch_num"], 9): record["value"] for record in self.records
                if record["key"] in ("eval_accuracy", "eval_error") and "epoch_num" in record["metadata"]}


class Results:
    """The folder of a configuration's results."""

    def __init__(self, config):
        self.folder = pathlib.Path(config["results"]["directory"]) / "cluster" / config["workload"]

    def numbers(self):
        if not self.folder.is_dir():
            return []
        return sorted(int(name.name[7:-4]) for name in self.folder.glob("result_*.txt") if name.name[7:-4].isdigit())

    def log(self, number):
        return Log(self.folder / f"result_{number}.txt")

    def weights(self, number):
        """Hash of the weights file; None if there is none."""
        path = self.folder / f"result_{number}.weights.h5"
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None

    def checkpoints(self):
        """Paths of checkpoints, newest first."""
        return sorted(self.folder.glob("result_*.checkpoints/checkpoint_*.h5"), key=lambda path: path.stat().st_mtime,
                      reverse=True)

    def stray_files(self, damaged=None, unremoved=()):
        """Files that do not belong to the results of a finished run, and folders with too many checkpoints. A `damaged`
        one stays until as many are saved after it as are kept, and so do those with the names `unremoved`, which a run
        said that it could not remove."""
        known = (".txt", ".config.json", ".telemetry.json", ".weights.h5")
        stray = []
        if not self.folder.is_dir():
            return stray
        for path in self.folder.rglob("*"):
            name = path.name
            inside = path.parent.name.endswith(".checkpoints")
            if path.is_dir() and (name.endswith(".checkpoints") or name == "cut_off"):
                continue
            if inside and (name in ("owner.lock", "finished") or name.startswith("checkpoint_") and name.endswith(".h5")):
                continue
            if not inside and name.startswith("result_") and name.endswith(known):
                continue
            stray.append(str(path.relative_to(self.folder)))
        for folder in self.folder.glob("result_*.checkpoints"):
            if len([path for path in folder.glob("*.h5") if path != damaged and path.name not in unremoved]) > KEPT_CHECKPOINTS:
                stray.append(f"{folder.name}: more than {KEPT_CHECKPOINTS} checkpoints")
        return stray
