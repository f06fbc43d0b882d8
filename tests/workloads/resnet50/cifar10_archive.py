"""Makes archives in CIFAR-10's binary form from random pixels, and tests what workloads/resnet50/cifar10.py makes of them.

    python3 tests/workloads/resnet50/cifar10_archive.py TRAINMARK FOLDER

FOLDER keeps train.tar and test.tar with as many images as configs/resnet50/cifar10.json wants.
"""

import hashlib
import io
import pathlib
import random
import subprocess
import sys
import tarfile
import zlib

SCRIPT = "workloads/resnet50/cifar10.py"
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
PIXELS = 32 * 32
TARGET_MISSED = 6


def records(count, seed):
    """`count` records of each class, classes in turn."""
    generator = random.Random(seed)
    return [bytes([kind]) + generator.randbytes(3 * PIXELS) for _ in range(count) for kind in range(len(CLASSES))]


def write_archive(path, batches, names=CLASSES):
    """batches: bytes by file name. Returns the archive's MD5."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, data in {"batches.meta.txt": "\n".join(names).encode() + b"\n\n", **batches}.items():
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return hashlib.md5(path.read_bytes()).hexdigest()


def in_batches(train, test):
    fifth = len(train) // 5
    batches = {f"data_batch_{i + 1}.bin": b"".join(train[i * fifth:(i + 1) * fifth]) for i in range(5)}
    return batches | {"test_batch.bin": b"".join(test)}


def convert(archive, folder, md5, *options):
    return subprocess.run([sys.executable, SCRIPT, str(archive), "--output", str(folder), "--md5", md5,
                           *map(str, options)], capture_output=True, text=True)


def pixels(png):
    """The bytes of a PNG file of 8-bit RGB pixels without filters, as a record has them: by channel."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", png[:8]
    data, at = b"", 8
    while at < len(png):
        size = int.from_bytes(png[at:at + 4], "big")
        kind, body = png[at + 4:at + 8], png[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == int.from_bytes(png[at + 8 + size:at + 12 + size], "big")
        if kind == b"IDAT":
            data += body
        at += 12 + size
    rows = zlib.decompress(data)
    assert len(rows) == 32 * 97 and not any(rows[::97])
    rgb = b"".join(rows[row * 97 + 1:(row + 1) * 97] for row in range(32))
    return rgb[0::3] + rgb[1::3] + rgb[2::3]


def test_pixels(folder, train, test):
    """Each image is the record from which it was made: the first of its class in the order of the archive."""
    for name, made in (("train.tar", train), ("test.tar", test)):
        with tarfile.open(folder / name) as archive:
            members = archive.getmembers()
            assert len(members) == len(made), (len(members), len(made))
            for member in members[::37]:
                kind, number = member.name.removesuffix(".png").split("/")
                record = made[int(number) * len(CLASSES) + CLASSES.index(kind)]
                assert pixels(archive.extractfile(member).read()) == record[1:], member.name


def test_errors(folder):
    archive = folder / "bad.tar.gz"

    def refused(why, batches, *options, md5=None, names=CLASSES):
        made = write_archive(archive, batches, names)
        done = convert(archive, folder / "bad", md5 or made, *options)
        assert done.returncode == 1 and why in done.stderr, (why, done)
        assert not list((folder / "bad").glob("*.tar")), why

    good = in_batches(records(5, 1), records(1, 2))
    few = ("--train", 5, "--test", 1)
    refused("expected the MD5 0123, got ", good, *few, md5="0123")
    refused("expected 6 images of class airplane, got 5", good, "--train", 6, "--test", 1)
    refused("data_batch_2.bin: expected records of 3073 bytes, got 1 bytes", good | {"data_batch_2.bin": b"\0"}, *few)
    refused("data_batch_1.bin: expected a class below 10 at byte 3073, got 10",
            good | {"data_batch_1.bin": b"\0" * 3073 + b"\n" + b"\0" * 3072}, *few)
    refused("expected 10 names of classes, got 2", good, *few, names=CLASSES[:2])
    refused("expected cifar-10-batches-bin/data_batch_1.bin in it", {}, *few)
    missing = convert(folder / "none.tar.gz", folder / "bad", "0")
    assert missing.returncode == 1 and "none.tar.gz: No such file" in missing.stderr, missing
    assert convert(archive, folder / "bad", "0", "--train", 0).returncode == 2


def test_run(program, folder):
    """A small network trains an epoch under the configuration on what the script wrote."""
    done = subprocess.run(
        [program, "run", "configs/resnet50/cifar10.json", "--set", f"dataset.train={folder}/train.tar",
         "--set", f"dataset.validation={folder}/test.tar", "--set", "dataset.train_samples=20",
         "--set", "dataset.validation_samples=20", "--set", "epochs=1", "--set", "model.depth=26",
         "--set", "evaluation.every_epochs=1", "--set", "model.width=4", "--set", "training.global_batch_size=10",
         "--set", "training.bn_group_samples=10", "--set", f"results.directory={folder}/results"],
        capture_output=True, text=True)
    assert done.returncode == TARGET_MISSED, done


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    test_errors(folder)
    train, test = records(20, 3), records(20, 4)
    small = folder / "small"
    done = convert(folder / "small.tar.gz", small, write_archive(folder / "small.tar.gz", in_batches(train, test)),
                   "--train", 2, "--test", 2)
    assert done.returncode == 0 and f"{small}/test.tar: 20 images" in done.stdout, done
    test_pixels(small, train[:20], test[:20])
    test_run(program, small)
    train, test = records(2000, 5), records(400, 6)
    done = convert(folder / "archive.tar.gz", folder, write_archive(folder / "archive.tar.gz", in_batches(train, test)))
    assert done.returncode == 0, done
    test_pixels(folder, train, test)


if __name__ == "__main__":
    main()
