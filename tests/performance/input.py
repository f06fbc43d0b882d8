"""Measures how long training waits for samples in the page cache: the share of `input` in its time.

    python3 tests/performance/input.py build/release/trainmark

Trains each workload for some steps at the sizes of its MLPerf configuration, with batches that fit one node: ResNet-50 on
JPEGs of ImageNet's usual size (500 x 375), DLRM on tables that are cut to 100,000 rows, CosmoFlow on volumes of 128^3
voxels, DeepCAM on scenes of 768 x 1152 points. The share is that of the subsystem `input` in the time of all
subsystems but staging, evaluation and checkpoint, on the rank of the run, the wait for the first batch included.
No time is asserted. Takes half an hour on two cores.

Exit code 2 for wrong arguments, 77 if numpy or Pillow is absent, trainmark's exit code if it fails.
"""

import argparse
import json
import pathlib
import shutil
import tempfile

from beside_pytorch import check_files, whole_number, write_report
from cache import peer
from run_check import TARGET_MISSED, call

WORKLOADS = ("resnet50", "dlrm", "cosmoflow", "deepcam")
APART = ("staging", "evaluation", "checkpoint")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of trainmark")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--steps", type=whole_number(2), default=6, help="of a run; DLRM's has 100 times as many")
    parser.add_argument("--threads", type=whole_number(1), default=2)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--small", action="store_true", help="small samples and models, to see whether the script works")
    parser.add_argument("--folder", help="where to work; default: the folder for temporary files")
    parser.add_argument("--output", help="JSON file for settings and figures")
    options = parser.parse_args()
    check_files(parser, options)
    return options


def resnet50(options, data):
    """32 different pictures, each in several files."""
    import decode

    classes, batch = 8, 8 if options.small else 32
    decode.make_images(data, 32)
    for name, count in (("train", batch * options.steps // classes), ("validation", 1)):
        for label in range(classes):
            (data / name / str(label)).mkdir(parents=True)
            for i in range(count):
                shutil.copy(data / f"{(label * count + i) % 32:05}.jpg", data / name / str(label) / f"{i}.jpg")
    return {"dataset": {"preprocess": "mlperf"}, "model": {"classes": classes, "image_size": 32 if options.small else 224},
            "training": {"global_batch_size": batch, "bn_group_samples": batch, "precision": options.precision},
            "optimizer": {"name": "sgd", "momentum": 0.9}}


def dlrm(options, data):
    batch = 64 if options.small else 2048
    samples = batch * options.steps * (1 if options.small else 100)
    tables = "small" if options.small else "capped:100000"
    call([options.program, "generate", "dlrm", data, "--samples", samples, "--test-samples", batch,
          "--validation-samples", 0, "--tables", tables])
    return {"dataset": {"train": str(data / "train.bin"), "test": str(data / "test.bin"), "train_samples": samples,
                        "test_samples": batch},
            "model": {"embedding_width": 128, "bottom": [512, 256, 128], "top": [1024, 1024, 512, 256, 1],
                      "tables": tables},
            "training": {"global_batch_size": batch, "precision": options.precision}, "optimizer": {"name": "sgd"}}


def cosmoflow(options, data):
    size, batch = (16, 2) if options.small else (128, 4)
    call([options.program, "generate", "cosmoflow", data, "--size", size, "--train-samples", batch * options.steps,
          "--validation-samples", batch])
    model = {"size": size, "channels": [16, 32]} if options.small else {"size": size}
    return {"model": model, "training": {"global_batch_size": batch, "precision": options.precision},
            "optimizer": {"name": "sgd", "momentum": 0.9}}


def deepcam(options, data):
    height, width = (32, 48) if options.small else (768, 1152)
    call([options.program, "generate", "deepcam", data, "--height", height, "--width", width, "--train-samples",
          options.steps, "--validation-samples", 1])
    return {"model": {"height": height, "width": width},
            "training": {"global_batch_size": 1, "precision": options.precision}, "optimizer": {"name": "adamw"}}


MAKERS = {"resnet50": resnet50, "dlrm": dlrm, "cosmoflow": cosmoflow, "deepcam": deepcam}


def share_of(options, name, folder):
    """Trains, and returns seconds of input, of training, and samples."""
    data = folder / "data"
    data.mkdir()
    own = MAKERS[name](options, data)
    dataset = {} if name == "dlrm" else {"train": str(data / "train"), "validation": str(data / "validation")}
    config = {"workload": name, "epochs": 1, "threads": options.threads, "clear_caches": "never",
              "target": {"quality": 0.0 if name == "cosmoflow" else 1.0}, "staging": {"mode": "stream"},
              "results": {"directory": str(folder / "results"), "system": "here"}, "schedule": {"learning_rate": 1e-6},
              **own, "dataset": {**dataset, **own.get("dataset", {})}}
    path = folder / "run.json"
    path.write_text(json.dumps(config))
    call([options.program, "run", path], TARGET_MISSED)
    told = json.loads((folder / f"results/here/{name}/result_1.telemetry.json").read_text())["ranks"][0]
    seconds = told["subsystems_s"]
    training_s = sum(value for key, value in seconds.items() if key not in APART)
    return {"input_s": seconds["input"], "training_s": training_s, "samples": told["counters"]["train_samples"],
            "share": seconds["input"] / training_s}


def main():
    options = parse_arguments()
    try:
        import numpy
        import PIL.Image
    except ImportError as missing:
        peer.skip(f"needs {missing.name}")
    figures = {}
    for name in options.workloads:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            one = figures[name] = share_of(options, name, pathlib.Path(folder))
        print(f"{name}: input is {100 * one['share']:.3f} % of training: {one['input_s']:.3f} of {one['training_s']:.1f} s, "
              f"{one['samples']} samples", flush=True)
    settings = {key: getattr(options, key) for key in ("workloads", "steps", "threads", "precision", "small")}
    write_report(options, {"settings": settings, "figures": figures})


if __name__ == "__main__":
    main()
