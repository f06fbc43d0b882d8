#!/usr/bin/env python3
"""Turns the official CIFAR-10 archive into the two tar files of configs/resnet50/cifar10.json.

    curl -LO https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz
    python3 workloads/resnet50/cifar10.py cifar-10-binary.tar.gz

Writes build/cifar10/train.tar and test.tar with PNG images (32x32, the archive's pixels) in one folder per class: the
first 2,000 of each class for training, the first 400 for validation. Needs Python alone. The same archive and options
give the same bytes.

Exit code: 0 success, 1 the archive cannot be used or a file not be written, 2 an option is wrong.
"""

import argparse
import hashlib
import io
import os
import pathlib
import struct
import sys
import tarfile
import zlib

OFFICIAL_MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
FOLDER = "cifar-10-batches-bin"
SIDE = 32
PIXELS = SIDE * SIDE
#: A record is a class, then all red, all green and all blue pixels, row by row.
RECORD = 1 + 3 * PIXELS
SETS = {"train": [f"data_batch_{number}.bin" for number in range(1, 6)], "test": ["test_batch.bin"]}


class BadArchive(Exception):
    pass


def md5_of(path):
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def png(record):
    """The image of a record as a PNG file: 8 bits a channel, no filter."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rgb = bytearray(3 * PIXELS)
    for channel in range(3):
        rgb[channel::3] = record[1 + channel * PIXELS:1 + (channel + 1) * PIXELS]
    rows = b"".join(b"\0" + rgb[3 * SIDE * row:3 * SIDE * (row + 1)] for row in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def member(archive, name):
    try:
        return archive.extractfile(f"{FOLDER}/{name}").read()
    except KeyError:
        raise BadArchive(f"expected {FOLDER}/{name} in it, as the binary version has it") from None


def class_names(archive):
    names = member(archive, "batches.meta.txt").decode().split()
    if len(names) != 10:
        raise BadArchive(f"{FOLDER}/batches.meta.txt: expected 10 names of classes, got {len(names)}")
    return names


def images_of(archive, batches, per_class, names):
    """The first images of each class, as lists of records by class."""
    found = [[] for _ in names]
    for batch in batches:
        data = member(archive, batch)
        if not data or len(data) % RECORD:
            raise BadArchive(f"{FOLDER}/{batch}: expected records of {RECORD} bytes, got {len(data)} bytes")
        for start in range(0, len(data), RECORD):
            kind = data[start]
            if kind >= len(names):
                raise BadArchive(f"{FOLDER}/{batch}: expected a class below {len(names)} at byte {start}, got {kind}")
            if len(found[kind]) < per_class:
                found[kind].append(data[start:start + RECORD])
    for name, images in zip(names, found):
        if len(images) < per_class:
            raise BadArchive(f"expected {per_class} images of class {name}, got {len(images)}")
    return found


def write_tar(path, names, images):
    """Writes the images under another name first, so that no unfinished file has the final one."""
    unfinished = path.with_name(path.name + ".part")
    with tarfile.open(unfinished, "w", format=tarfile.USTAR_FORMAT) as output:
        for name, records in sorted(zip(names, images)):
            for number, record in enumerate(records):
                data = png(record)
                entry = tarfile.TarInfo(f"{name}/{number:04d}.png")
                entry.size = len(data)
                output.addfile(entry, io.BytesIO(data))
    os.replace(unfinished, path)


def count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a positive number, got {text}")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", help="cifar-10-binary.tar.gz")
    parser.add_argument("--output", type=pathlib.Path, default="build/cifar10", help="folder (default: %(default)s)")
    parser.add_argument("--train", type=count, default=2000, metavar="N", help="images per class for training (2000)")
    parser.add_argument("--test", type=count, default=400, metavar="N", help="images per class for validation (400)")
    parser.add_argument("--md5", default=OFFICIAL_MD5, help="what the archive must have (default: the official one)")
    options = parser.parse_args()
    try:
        if (found := md5_of(options.archive)) != options.md5:
            raise BadArchive(f"expected the MD5 {options.md5}, got {found}: is it complete, and the binary version?")
        with tarfile.open(options.archive) as archive:
            names = class_names(archive)
            options.output.mkdir(parents=True, exist_ok=True)
            for kind, per_class in (("train", options.train), ("test", options.test)):
                path = options.output / f"{kind}.tar"
                write_tar(path, names, images_of(archive, SETS[kind], per_class, names))
                print(f"{path}: {per_class * len(names)} images, {path.stat().st_size / 1e6:.1f} MB", flush=True)
    except (BadArchive, tarfile.TarError) as error:
        sys.exit(f"{options.archive}: {error}")
    except OSError as error:
        sys.exit(f"{error.filename or options.archive}: {error.strerror or error}")


if __name__ == "__main__":
    main()
