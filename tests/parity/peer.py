"""Helpers for comparisons with PyTorch: skipping without it, running the program, HDF5 files."""

import importlib
import json
import pathlib
import subprocess
import sys

SKIPPED = 77


def skip(reason):
    """Ends the script as a skipped test, with the reason."""
    print(f"peer: Skipped\n{reason}\n[  SKIPPED ] peer")
    sys.exit(SKIPPED)


def require(*names):
    """Imports these modules. Ends the script as a skipped test if one is missing."""
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        packages = ", ".join(f"python3-{name}" for name in names)
        skip(f"needed for {sys.executable}: {packages}: {error}")


def require_peer():
    """require() of PyTorch, torchvision and h5py."""
    torch, torchvision, h5py = require("torch", "torchvision", "h5py")
    torch.manual_seed(7)
    return torch, torchvision, h5py


def run(program, *arguments, allowed=(0,)):
    """Returns the program's output. Ends the script with its messages if it fails."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_weights(h5py, path, state):
    """Writes a PyTorch state dict in the format of the program: fp32 arrays under the parameters' names."""
    with h5py.File(path, "w") as file:
        for name, tensor in state.items():
            if not name.endswith("num_batches_tracked"):
                file[name] = tensor.detach().numpy().astype("float32")


def read_arrays(h5py, path):
    """All arrays of a file, in float64, by name."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()].astype("float64")})
                        if isinstance(item, h5py.Dataset) else None)
    return found


def write_arrays(h5py, path, arrays):
    """Writes arrays by name, in the program's format of weights."""
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file[name] = values.astype("float32")
    return path


def logged(log, key):
    """Values of a key in the text of a log, in order. Losses have seven digits."""
    records = [json.loads(line.split(":::MLLOG ")[1]) for line in log.splitlines()]
    return [record["value"] for record in records if record["key"] == key]


def run_on(ranks, launcher, program, *arguments, allowed=(0,)):
    """Like run(), on several ranks. Without the timeout, mpirun waits seconds after an exit code other than 0."""
    if ranks == 1:
        return run(program, *arguments, allowed=allowed)
    return run(launcher, "--oversubscribe", "--bind-to", "none", "--mca", "odls_base_sigkill_timeout", 0, "-n", ranks,
               program, *arguments, allowed=allowed)


def write_config(path, config):
    pathlib.Path(path).write_text(json.dumps(config))
    return path


def images(folder):
    """Paths and class ids of the images in class folders, in the order of the dataset."""
    found = []
    for label, name in enumerate(sorted(p.name for p in pathlib.Path(folder).iterdir())):
        found += [(p, label) for p in sorted((pathlib.Path(folder) / name).iterdir(), key=lambda p: p.name)]
    return found


def evaluate(program, h5py, config, weights, outputs, labels):
    """Returns the program's outputs. Asserts that their labels are `labels`."""
    run(program, "evaluate", config, "--weights", weights, "--outputs", outputs)
    with h5py.File(outputs) as file:
        assert list(file["labels"][:]) == labels, "labels differ"
        return file["outputs"][:]


def largest_difference(ours, expected):
    """max |a - b| / max |b|."""
    assert ours.shape == expected.shape, f"shape {ours.shape}, expected {expected.shape}"
    return float(abs(ours - expected).max() / abs(expected).max())
