#!/usr/bin/env python3
"""Makes the inputs of the corpus: one small file for each kind of oddity that people really have.

    python3 tests/corpus/make_inputs.py          writes tests/corpus/inputs

The files are committed, so the tests need neither this script nor its packages (python3-h5py,
python3-pil, python3-numpy). cases.json says what is odd about each, and which commands read it.
"""

import gzip
import io
import json
import pathlib
import shutil
import struct
import tarfile

import h5py
import numpy
from PIL import Image

INPUTS = pathlib.Path(__file__).parent / "inputs"
START_MS = 1700000000000


def write(name, content):
    path = INPUTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


# Logs ----------------------------------------------------------------------------------------


def record(ms, key, value=None, **metadata):
    kind = "POINT_IN_TIME"
    if key.endswith("_start"):
        kind = "INTERVAL_START"
    if key.endswith("_stop"):
        kind = "INTERVAL_END"
    metadata.update(file="train.py", lineno=1)
    return {"namespace": "", "time_ms": START_MS + ms, "event_type": kind, "key": key, "value": value,
            "metadata": metadata}


def clean_log(run=0, epochs=3):
    """A CosmoFlow run of the closed division, HPC 3.0, that keeps the rules and reaches its target."""
    settings = {"submission_benchmark": "cosmoflow", "submission_org": "lab",
                "submission_division": "closed", "submission_status": "onprem",
                "submission_platform": "box", "seed": 100 + run, "global_batch_size": 64,
                "train_samples": 524288, "eval_samples": 65536, "number_of_nodes": 1,
                "accelerators_per_node": 0, "gradient_accumulation_steps": 1, "opt_name": "sgd",
                "opt_base_learning_rate": 0.001, "opt_learning_rate_warmup_epochs": 4,
                "opt_learning_rate_warmup_factor": 1,
                "opt_learning_rate_decay_boundary_epochs": [32, 64],
                "opt_learning_rate_decay_factor": [0.25, 0.125]}
    log = [record(0, "cache_clear", True), record(0, "init_start")]
    log += [record(1, key, value) for key, value in settings.items()]
    log += [record(900, "init_stop"), record(1000, "run_start"), record(1000, "staging_start"),
            record(4000, "staging_stop")]
    ms = 4000
    for epoch, error in enumerate([0.3] * (epochs - 1) + [0.12 - 0.0001 * run], start=1):
        log.append(record(ms, "epoch_start", epoch_num=epoch))
        ms += 10000
        log += [record(ms - 1000, "eval_start", epoch_num=epoch),
                record(ms, "eval_error", error, epoch_num=epoch),
                record(ms, "eval_stop", epoch_num=epoch), record(ms, "epoch_stop", epoch_num=epoch)]
    log.append(record(ms, "run_stop", status="success"))
    for one in log:
        one["time_ms"] += 100000 * run
    return log


def text_of(log, prefix=":::MLLOG "):
    return "".join(prefix + json.dumps(one) + "\n" for one in log)


def changed(key, number=0, **fields):
    """The clean log with other fields in record `number` of `key`."""
    log = clean_log()
    [one for one in log if one["key"] == key][number].update(fields)
    return log


def timed(time_of):
    log = clean_log()
    for one in log:
        one["time_ms"] = time_of(one["time_ms"])
    return text_of(log)


def make_logs():
    clean = clean_log()
    text = text_of(clean)
    lines = text.splitlines(keepends=True)

    def log(name, content):
        write(f"log/{name}.txt", content)

    log("stamps_in_seconds", timed(lambda ms: ms // 1000))
    log("stamps_in_nanoseconds", timed(lambda ms: ms * 1000000))
    log("stamps_since_boot", timed(lambda ms: ms - START_MS + 4000000))
    log("clock_set_back", timed(lambda ms: ms - 3600000 if ms > START_MS + 20000 else ms))
    log("two_runs_in_one_file", text + text_of(clean_log(1)))
    log("cut_within_a_record", text[:-40])
    log("cut_before_run_stop", "".join(lines[:-1]))
    log("zeros_at_the_end", text.encode() + bytes(512))
    log("utf16", text.encode("utf-16"))
    log("latin1", text.replace('"lab"', '"Université"').encode("latin-1"))
    log("byte_order_mark", b"\xef\xbb\xbf" + text.encode())
    log("carriage_returns", text.replace("\n", "\r\n"))
    log("ranks_before_records", text.replace(":::MLLOG", "[1,0]<stdout>: :::MLLOG"))
    log("colours", text.replace(":::MLLOG", "\x1b[32m:::MLLOG").replace("}}\n", "}}\x1b[0m\n"))
    log("compressed", gzip.compress(text.encode(), mtime=0))
    log("empty", "")
    log("prose", "Epoch 1: loss 0.31\nEpoch 2: loss 0.12\nDone.\n")
    log("duplicate_key", text.replace('"value": 64', '"value": 64, "value": 128'))
    log("quality_not_a_number", text_of(changed("eval_error", 2)).replace("0.12,", "NaN,"))
    log("quality_as_text", text_of(changed("eval_error", 2, value="0.12")))
    log("status_forgotten", text_of(changed("run_stop", metadata={})))
    log("unknown_benchmark", text_of(changed("submission_benchmark", value="cosmoflux")))
    log("records_twice", "".join(line + line for line in lines))
    log("epochs_from_zero", text_of([dict(one, metadata=dict(one["metadata"], epoch_num=one["metadata"][
        "epoch_num"] - 1)) if "epoch_num" in one["metadata"] else one for one in clean]))
    log("batch_of_zero", text_of(changed("global_batch_size", value=0)))
    log("nested_deeply", text.replace('"value": 64', '"value": ' + "[" * 300 + "]" * 300))
    for run in range(10):
        write(f"base/submission/results/box/strong/cosmoflow/result_{run}.txt", text_of(clean_log(run, 9)))
    write("base/one_run/results/box/cosmoflow/result_0.txt", text)


# Descriptions and other files beside logs ---------------------------------------------------


def description():
    return {"submitter": "lab", "division": "closed", "status": "Available on-premise",
            "system_name": "box", "number_of_nodes": "1", "host_processors_per_node": "2",
            "host_processor_model_name": "Example CPU", "host_processor_core_count": "32",
            "host_processor_vcpu_count": "", "host_processor_frequency": "",
            "host_processor_caches": "", "host_processor_interconnect": "",
            "host_memory_capacity": "256 GB", "host_storage_type": "NVMe", "host_storage_capacity": "2 TB",
            "host_networking": "100 GbE", "host_networking_topology": "fat tree",
            "host_memory_configuration": "8 x 32 GB", "accelerators_per_node": "0",
            "accelerator_model_name": "", "accelerator_host_interconnect": "",
            "accelerator_frequency": "", "accelerator_on-chip_memories": "",
            "accelerator_memory_configuration": "", "accelerator_memory_capacity": "",
            "accelerator_interconnect": "", "accelerator_interconnect_topology": "", "cooling": "air",
            "hw_notes": "", "framework": "trainmark", "other_software_stack": {"oneDNN": "3.7"},
            "operating_system": "Debian 13", "sw_notes": ""}


def make_descriptions():
    whole = json.dumps(description(), indent=2)

    def system(name, content):
        write(f"system/{name}.json", content)

    write("base/submission/systems/box.json", whole)
    system("duplicate_key", whole.replace('"number_of_nodes": "1",', '"number_of_nodes": "1",\n  "number_of_nodes": "2",'))
    system("misspelt_key", whole.replace("host_memory_capacity", "host_memory_capcity"))
    system("other_submitter", whole.replace('"lab"', '"another lab"'))
    system("byte_order_mark", b"\xef\xbb\xbf" + whole.encode())
    system("utf16", whole.encode("utf-16"))
    system("trailing_comma", whole.replace('"sw_notes": ""', '"sw_notes": "",'))
    system("list_of_one", json.dumps([description()]))
    system("empty", "")
    system("units_in_a_count", whole.replace('"host_processors_per_node": "2"', '"host_processors_per_node": "two"'))
    system("nested_deeply", '{"submitter": ' + "[" * 300 + "]" * 300 + "}")

    write("scaling/zero.json", '{"scaling_factor": 0}')
    write("scaling/as_text.json", '{"scaling_factor": "1.02"}')
    write("scaling/absent_key.json", '{"factor": 1.02}')
    write("scaling/cut.json", '{"scaling_factor": 1.0')

    points = {"cosmoflow_ref_64": {"Benchmark": "cosmoflow", "BS": 64, "Hyperparams": {}, "Epochs to converge": [30, 32, 31]}}
    write("points/batch_as_text.json", json.dumps({"p": dict(points["cosmoflow_ref_64"], BS="sixty-four")}))
    write("points/no_epochs.json", json.dumps({"p": dict(points["cosmoflow_ref_64"], **{"Epochs to converge": []})}))
    write("points/not_finite.json", json.dumps(points).replace("30", "1e999"))

    write("suppress/no_reason.json", '{"suppressions": [{"rule": "time-goes-back", "path": "results/*"}]}')
    write("suppress/unknown_rule.json", '{"suppressions": [{"rule": "time-goes-bak", "path": "results/*", "reason": "accepted by the working group"}]}')
    write("overlay/unknown_operator.json", '{"usage": "hpc", "files": [{"file": "common", "rules": [{"key": "seed", "value": {"is_at_least": 0}}]}]}')


def telemetry():
    scopes = ["input", "augment", "forward", "backward", "optimizer", "exchange", "evaluation", "staging",
              "checkpoint", "logging", "other"]
    counters = ["bytes_read", "bytes_staged", "bytes_sent", "flops", "train_samples", "eval_samples", "steps",
                "exchange_total_ns", "skipped_samples", "flawed_samples"]
    rank = {"rank": 0, "host": "box", "node": 0, "threads": 2, "wall_s": 34.0,
            "subsystems_s": {name: 34.0 if name == "other" else 0.0 for name in scopes}, "counters": dict.fromkeys(counters, 0) | {"steps": 3},
            "step_s": {"count": 3, "mean": 9.0, "min": 9.0, "p50": 9.0, "p90": 9.0, "p99": 9.0, "max": 9.0},
            "peak_rss_bytes": 1000,
            "scopes": 10, "scope_cost_s": 0.001}
    return {"schema": 1, "workload": "cosmoflow", "ranks": [rank], "provenance": {}}


def make_run_files():
    def beside(kind, name, content):
        write(f"{kind}/{name}.json", content)

    whole = json.dumps(telemetry())
    beside("telemetry", "cut", whole[: len(whole) // 2])
    beside("telemetry", "another_schema", whole.replace('"schema": 1', '"schema": 99'))
    beside("telemetry", "negative_time", whole.replace('"wall_s": 34.0', '"wall_s": -34.0'))
    beside("telemetry", "ranks_twice", json.dumps(dict(telemetry(), ranks=telemetry()["ranks"] * 2)))
    beside("telemetry", "escapes", whole.replace('"provenance": {}', '"provenance": {"machine": {"cpu_model": "\\u001b]0;title\\u0007CPU"}}'))

    event = {"name": "forward", "cat": "scope", "ph": "X", "ts": 1.0, "dur": 5.0, "pid": 0, "tid": 0}
    trace = json.dumps({"traceEvents": [event]})
    beside("trace", "cut", trace[:-10])
    beside("trace", "times_as_text", trace.replace("5.0", '"five"'))
    beside("trace", "another_file", '{"events": 3}')

    beside("live", "cut", '{"schema": 1, "workload": "cosmo')
    beside("live", "another_file", '{"hello": "world"}')
    beside("live", "huge_numbers", '{"schema": 2, "workload": "cosmoflow", "alive_ms": 1e300, "pid": 99999999999999999999}')

    bench = {"workload": "resnet50", "samples_per_s": 12.5}
    beside("bench", "another_file", '{"hello": "world"}')
    beside("bench", "cut", json.dumps(bench)[:-8])

    power = [{"time_ms": START_MS + 1000 * i, "key": "power_reading", "value": 400.0} for i in range(40)]
    lines = [":::MLLOG " + json.dumps(record(1000 * i, "power_reading", 400.0)) + "\n" for i in range(40)]
    lines.insert(0, ":::MLLOG " + json.dumps(record(0, "power_measurement_start")) + "\n")
    lines.append(":::MLLOG " + json.dumps(record(40000, "power_measurement_stop")) + "\n")
    del power
    write("power/no_stop.txt", "".join(lines[:-1]))
    write("power/in_milliwatts_as_text.txt", "".join(lines).replace("400.0", '"400000 mW"'))
    write("power/negative.txt", "".join(lines).replace("400.0", "-400.0"))


# Configurations ------------------------------------------------------------------------------


def usual(workload):
    """Keys that do not depend on the workload."""
    return {"workload": workload, "epochs": 1, "seed": 3, "threads": 1, "clear_caches": "never",
            "staging": {"directory": "near"}, "results": {"directory": "results", "system": "box"},
            "training": {"global_batch_size": 4}}


def images(train, validation):
    return dict(usual("resnet50"), dataset={"train": train, "validation": validation, "preprocess": "cifar"},
                model={"depth": 26, "width": 8, "image_size": 32, "classes": 2},
                training={"global_batch_size": 4, "bn_group_samples": 2}, optimizer={"name": "sgd"},
                schedule={"name": "constant", "learning_rate": 0.0001})


def make_configurations():
    whole = json.dumps(images("train", "validation"), indent=2)

    def config(name, content):
        write(f"config/{name}.json", content)

    config("misspelt_key", whole.replace('"global_batch_size"', '"global_batchsize"'))
    config("duplicate_key", whole.replace('"epochs": 1,', '"epochs": 1,\n  "epochs": 2,'))
    config("trailing_comma", whole.replace('"threads": 1,', '"threads": 1,,'))
    config("text_for_a_number", whole.replace('"epochs": 1', '"epochs": "one"'))
    config("fraction_of_an_epoch", whole.replace('"epochs": 1', '"epochs": 1.5'))
    config("negative_batch", whole.replace('"global_batch_size": 4', '"global_batch_size": -4'))
    config("batch_beyond_all_numbers", whole.replace('"global_batch_size": 4', '"global_batch_size": 99999999999999999999'))
    config("rate_beyond_all_numbers", whole.replace("0.0001", "1e999"))
    config("rate_of_nan", whole.replace("0.0001", "NaN"))
    config("python_constants", whole.replace('"seed": 3', '"seed": None'))
    config("single_quotes", whole.replace('"', "'"))
    config("yaml", "workload: resnet50\nepochs: 1\n")
    config("list", "[" + whole + "]")
    config("utf16", whole.encode("utf-16"))
    config("latin1", whole.replace('"box"', '"Zürich"').encode("latin-1"))
    config("empty", "")
    config("cut", whole[:200])
    config("nested_deeply", '{"workload": ' + "[" * 300 + "]" * 300 + "}")
    config("unknown_workload", whole.replace('"resnet50"', '"resnet"'))
    config("unknown_optimizer", whole.replace('"sgd"', '"larz"'))
    config("tilde_in_a_path", whole.replace(': "train"', ': "~/train"'))
    config("variable_in_a_path", whole.replace(': "train"', ': "$SCRATCH/train"'))
    config("same_set_twice", whole.replace(': "validation"', ': "train"'))
    write("base/images/run.json", whole)
    write("base/images/tar.json", json.dumps(images("odd.tar", "validation.tar"), indent=2))
    write("base/universes/run.json", json.dumps(dict(
        usual("cosmoflow"), dataset={"train": "train", "validation": "validation"}, target={"quality": 0.001},
        model={"size": 8, "channels": [16, 16], "dense": [8]},
        schedule={"learning_rate": 0.001, "scaling": "none"}), indent=2))
    parts = ("conv1", "conv2", "block1", "block2", "middle", "block20", "conv3", "conv4", "conv5", "aspp", "low_level",
             "decoder")
    write("base/scenes/run.json", json.dumps(dict(
        usual("deepcam"), dataset={"train": "train", "validation": "validation"}, target={"quality": 0.999},
        model={"height": 32, "width": 48, "middle_blocks": 1, "widths": {part: 16 for part in parts}},
        schedule={"learning_rate": 0.001}), indent=2))
    write("base/clicks/run.json", json.dumps(dict(
        usual("dlrm"), dataset={"train": "train.bin", "test": "test.bin"}, target={"quality": 1.5},
        evaluation={"per_epoch": 1},
        model={"dense_features": 5, "embedding_width": 8, "bottom": [8, 8], "top": [8, 1], "tables": "50,7,200,3,31"},
        optimizer={"name": "sgd", "momentum": 0}, schedule={"name": "constant", "learning_rate": 0.1}), indent=2))


# Samples --------------------------------------------------------------------------------------


def picture(mode="RGB", size=(32, 32)):
    values = numpy.arange(size[0] * size[1] * 3, dtype=numpy.uint8).reshape(size[1], size[0], 3)
    return Image.fromarray(values).convert(mode)


def encoded(kind, mode="RGB", size=(32, 32), **options):
    out = io.BytesIO()
    picture(mode, size).save(out, kind, **options)
    return out.getvalue()


def make_images():
    jpeg = encoded("JPEG", quality=80)

    def image(name, content):
        write(f"image/{name}.JPEG", content)

    for part, count in (("train", 2), ("validation", 1)):
        for kind in ("cat", "dog"):
            for number in range(count):
                write(f"base/images/{part}/{kind}/{number}.JPEG", jpeg)

    image("cut_in_half", jpeg[: len(jpeg) // 2])
    image("stray_bytes_before_the_end", jpeg[:-2] + b"\x11" * 60 + jpeg[-2:])
    image("bytes_after_the_end", jpeg + b"appended by a camera" * 4)
    image("empty", b"")
    image("zeros", bytes(600))
    image("web_page", "<!DOCTYPE html><html><body>404 Not Found</body></html>")
    image("png_by_content", encoded("PNG"))
    image("gif", encoded("GIF", mode="P"))
    image("bitmap", encoded("BMP"))
    image("webp", encoded("WEBP"))
    image("four_inks", encoded("JPEG", mode="CMYK"))
    image("grey", encoded("JPEG", mode="L"))
    image("one_pixel", encoded("JPEG", size=(1, 1)))
    image("progressive", encoded("JPEG", progressive=True))
    image("no_tables", jpeg.replace(b"\xff\xdb", b"\xff\xe5"))
    frame = jpeg.index(b"\xff\xc0")
    image("size_of_another", jpeg[: frame + 5] + struct.pack(">HH", 65500, 65500) + jpeg[frame + 9 :])
    image("pointer_of_lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 10\n")


def add_member(archive, name, content, **fields):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for field, value in fields.items():
        setattr(member, field, value)
    archive.addfile(member, io.BytesIO(content))


def tar_of(members, kind=tarfile.GNU_FORMAT):
    """Bytes of an archive of (name, content, fields)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
        for name, content, fields in members:
            add_member(archive, name, content, **fields)
    content = out.getvalue().rstrip(b"\0")
    return content + bytes(-len(content) % 512 + 1024)


def make_archives():
    jpeg = encoded("JPEG", quality=60)
    both = [(f"{kind}/{number}.JPEG", jpeg, {}) for kind in ("cat", "dog") for number in (0, 1)]
    whole = tar_of(both)

    def archive(name, content):
        write(f"tar/{name}.tar", content)

    write("base/images/validation.tar", whole)
    archive("two_in_one", whole + tar_of([("cat/2.JPEG", jpeg, {}), ("dog/2.JPEG", jpeg, {})]))
    archive("hard_link", tar_of(both + [("dog/2.JPEG", b"", {"type": tarfile.LNKTYPE, "linkname": "dog/0.JPEG"})]))
    archive("hard_link_to_nothing", tar_of(both + [("dog/2.JPEG", b"", {"type": tarfile.LNKTYPE, "linkname": "dog/9.JPEG"})]))
    archive("symbolic_link", tar_of(both + [("dog/2.JPEG", b"", {"type": tarfile.SYMTYPE, "linkname": "../dog/0.JPEG"})]))
    archive("path_that_climbs", tar_of(both + [("../../climbs.JPEG", jpeg, {})]))
    archive("cut_in_a_member", whole[: len(whole) // 2 + 100])
    archive("compressed", gzip.compress(whole, mtime=0))
    archive("checksum_of_another", whole[:148] + b"0000000\0" + whole[156:])
    archive("empty", b"")
    archive("end_mark_alone", bytes(10240))
    archive("folders_alone", tar_of([("cat/", b"", {"type": tarfile.DIRTYPE}), ("dog/", b"", {"type": tarfile.DIRTYPE})]))
    archive("pax", tar_of(both, tarfile.PAX_FORMAT))
    archive("resource_forks", tar_of(both + [("dog/._0.JPEG", b"Mac OS X" + bytes(90), {})]))


def universe(path, data=None, target=None, **options):
    data = numpy.ones((8, 8, 8, 4), numpy.int16) if data is None else data
    target = numpy.zeros(4, numpy.float32) if target is None else target
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w", **options.pop("file", {})) as file:
        file.create_dataset("x", data=data, **options)
        file["y"] = target


def make_universes():
    def at(name):
        return INPUTS / f"universe/{name}.hdf5"

    ones = numpy.ones((8, 8, 8, 4), numpy.int16)
    universe(at("user_block"), file={"userblock_size": 512})
    universe(at("compressed_and_checked"), compression="gzip", shuffle=True, fletcher32=True)
    universe(at("filter_of_another_library"), compression="lzf")
    universe(at("negative_counts"), data=ones * -1)
    universe(at("floats"), data=ones.astype(numpy.float32) * 1.5)
    universe(at("another_size"), data=numpy.ones((4, 4, 4, 4), numpy.int16))
    universe(at("channels_first"), data=numpy.ones((4, 8, 8, 8), numpy.int16))
    universe(at("target_not_a_number"), target=numpy.full(4, numpy.nan, numpy.float32))
    universe(at("three_targets"), target=numpy.zeros(3, numpy.float32))
    with h5py.File(at("another_name"), "w") as file:
        file["volume"] = ones
        file["y"] = numpy.zeros(4, numpy.float32)
    with h5py.File(at("link_to_itself"), "w") as file:
        file["x"] = h5py.SoftLink("/x")
        file["y"] = numpy.zeros(4, numpy.float32)
    with h5py.File(at("link_to_another_file"), "w") as file:
        file["x"] = h5py.ExternalLink("absent.hdf5", "/x")
        file["y"] = numpy.zeros(4, numpy.float32)
    with h5py.File(at("group_for_a_dataset"), "w") as file:
        file.create_group("x")
        file["y"] = numpy.zeros(4, numpy.float32)
    for part, count in (("train", 4), ("validation", 2)):
        for number in range(count):
            universe(INPUTS / f"base/universes/{part}/{number}.hdf5", compression="gzip")
    universe(at("cut_in_half"))
    whole = at("cut_in_half").read_bytes()
    at("cut_in_half").write_bytes(whole[: len(whole) // 2])
    at("empty").write_bytes(b"")
    at("text").write_text("see README\n")


def scene(path, data=None, labels=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = numpy.ones((32, 48, 16), numpy.float32) if data is None else data
    labels = numpy.zeros((32, 48), numpy.float32) if labels is None else labels
    with h5py.File(path, "w") as file:
        file.create_dataset("climate/data", data=data, compression="gzip")
        file.create_dataset("climate/labels_0", data=labels, compression="gzip")


def make_scenes():
    def at(name):
        return INPUTS / f"scene/{name}.h5"

    bad = numpy.ones((32, 48, 16), numpy.float32)
    bad[3, 4, 5] = numpy.nan
    scene(at("value_not_a_number"), data=bad)
    scene(at("class_beyond_the_last"), labels=numpy.full((32, 48), 3, numpy.float32))
    scene(at("another_size"), data=numpy.ones((16, 48, 16), numpy.float32), labels=numpy.zeros((16, 48), numpy.float32))
    scene(at("channels_first"), data=numpy.ones((16, 32, 48), numpy.float32))
    for part, count in (("train", 4), ("validation", 2)):
        for number in range(count):
            labels = numpy.zeros((32, 48), numpy.float32)
            labels[:8], labels[8:16] = 1, 2
            scene(INPUTS / f"base/scenes/{part}/data-{number}.h5", labels=labels)
    with h5py.File(INPUTS / "base/scenes/stats.h5", "w") as file:
        file["climate/minval"] = numpy.zeros(16, numpy.float32)
        file["climate/maxval"] = numpy.full(16, 2, numpy.float32)
    with h5py.File(at("no_labels"), "w") as file:
        file.create_dataset("climate/data", data=numpy.ones((32, 48, 16), numpy.float32), compression="gzip")


def make_clicks():
    columns = 1 + 5 + 5
    whole = numpy.zeros((20, columns), numpy.int32)
    whole[::2, 0] = 1
    for part in ("train", "test"):
        write(f"base/clicks/{part}.bin", whole.tobytes())

    def clicks(name, change):
        values = whole.copy()
        change(values)
        write(f"clicks/{name}.bin", values.tobytes())

    clicks("label_of_two", lambda values: values.__setitem__((3, 0), 2))
    clicks("id_beyond_its_table", lambda values: values.__setitem__((4, 7), 7))
    clicks("negative_count", lambda values: values.__setitem__((5, 2), -3))
    clicks("big_endian", lambda values: values.byteswap(inplace=True))
    write("clicks/cut_within_a_record.bin", whole.tobytes()[:-6])
    row = "\t".join(["1"] + ["3"] * 13 + ["68fd1e64"] * 26) + "\n"
    write("clicks/text_of_criteo.bin", row * 20)
    write("clicks/compressed.bin", gzip.compress(whole.tobytes(), mtime=0))
    header = io.BytesIO()
    numpy.save(header, whole)
    write("clicks/array_of_numpy.bin", header.getvalue())
    write("clicks/empty.bin", b"")


def make_weights():
    def at(name):
        path = INPUTS / f"weights/{name}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    with h5py.File(at("names_of_a_wrapper"), "w") as file:
        file["module.conv2.weight"] = numpy.zeros((8, 3, 7, 7), numpy.float32)
    with h5py.File(at("another_shape"), "w") as file:
        file["conv1.weight"] = numpy.zeros((8, 3, 3, 3), numpy.float32)
    with h5py.File(at("one_layer_alone"), "w") as file:
        file["conv1.weight"] = numpy.zeros((8, 3, 7, 7), numpy.float32)
    with h5py.File(at("integers"), "w") as file:
        file["conv1.weight"] = numpy.zeros((8, 3, 7, 7), numpy.int64)
    write("weights/archive_of_pytorch.h5", b"PK\x03\x04" + bytes(200))
    write("weights/empty.h5", b"")


def main():
    shutil.rmtree(INPUTS, ignore_errors=True)
    for make in (make_logs, make_descriptions, make_run_files, make_configurations, make_images, make_archives,
                 make_universes, make_scenes, make_clicks, make_weights):
        make()


if __name__ == "__main__":
    main()
