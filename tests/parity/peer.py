"""What the comparisons with PyTorch share: its presence, running the program, HDF5 files.

Hides how a missing peer is told to ctest, and where files lie meanwhile.
"""

import importlib
import json
import pathlib
import subprocess
import sys

SKIPPED = 77


def skip(reason):
    """Ends the script as a skipped test, for `reason`."""
    print(f"peer: Skipped\n{reason}\n[  SKIPPED ] peer")
    sys.exit(SKIPPED)


def require(*names):
    """These modules, or the end of the script as a skipped test."""
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        packages = ", ".join(f"python3-{name}" for name in names)
        skip(f"needed for {sys.executable}: {packages}: {error}")


def require_peer():
    """PyTorch, torchvision and h5py, likewise."""
    torch, torchvision, h5py = require("torch", "torchvision", "h5py")
    torch.manual_seed(7)
    return torch, torchvision, h5py


def run(program, *arguments, allowed=(0,)):
    """The program's output; ends the test with its messages when it fails."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_weights(h5py, path, state):
    """A PyTorch state dict as the program reads it: fp32 arrays under the parameters' names."""
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
    """By name, as the program reads weights."""
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file[name] = values.astype("float32")
    return path


def logged(log, key):
    """Values of a key in the text of a log, in order; the log has seven digits of a loss."""
    records = [json.loads(line.split(":::MLLOG ")[1]) for line in log.splitlines()]
    return [record["value"] for record in records if record["key"] == key]


def run_on(ranks, launcher, program, *arguments, allowed=(0,)):
    """As run(), on several ranks. Behind an exit code other than 0, Open MPI's launcher would wait for seconds."""
    if ranks == 1:
        return run(program, *arguments, allowed=allowed)
    return run(launcher, "--oversubscribe", "--bind-to", "none", "--mca", "odls_base_sigkill_timeout", 0, "-n", ranks,
               program, *arguments, allowed=allowed)


def write_config(path, config):
    pathlib.Path(path).write_text(json.dumps(config))
    return path


def images(folder):
    """Paths of class folders' images in dataset order, with their class ids."""
    found = []
    for label, name in enumerate(sorted(p.name for p in pathlib.Path(folder).iterdir())):
        found += [(p, label) for p in sorted((pathlib.Path(folder) / name).iterdir(), key=lambda p: p.name)]
    return found


def evaluate(program, h5py, config, weights, outputs, labels):
    """The program's outputs, whose labels must be these."""
    run(program, "evaluate", config, "--weights", weights, "--outputs", outputs)
    with h5py.File(outputs) as file:
        assert list(file["labels"][:]) == labels, "labels differ"
        return file["outputs"][:]


def largest_difference(ours, expected):
    """max |a - b| / max |b|."""
    assert ours.shape == expected.shape, f"shape {ours.shape}, expected {expected.shape}"
    return float(abs(ours - expected).max() / abs(expected).max())
