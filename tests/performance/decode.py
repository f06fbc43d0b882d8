"""Measures decoding and augmentation of JPEGs of ImageNet's usual size beside torchvision, on one core.

    python3 tests/performance/decode.py build/release/tests/performance/decode_benchmark

Both sides decode the same files from memory and draw random resized crops of 224 x 224 pixels, mirrored or not, normalised
to floats. torchvision does so in two ways: by Pillow, as its ImageFolder does, and by its own decoder on tensors.
Measurements alternate, so that slow phases of the machine affect all; figures are medians of images per second.

Exit code 2 for wrong arguments, 77 if torchvision is absent.
"""

import argparse
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from beside_pytorch import check_writable, whole_number, write_report

WIDTH, HEIGHT, QUALITY = 500, 375, 92
SIZE = 224
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of decode_benchmark")
    parser.add_argument("--images", type=whole_number(1), default=200)
    parser.add_argument("--rounds", type=whole_number(1), default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--output", help="JSON file for settings and figures")
    options = parser.parse_args()
    if not (os.path.isfile(options.program) and os.access(options.program, os.X_OK)):
        parser.error(f"{options.program}: expected the program decode_benchmark")
    if options.output:
        check_writable(parser, pathlib.Path(options.output))
    return options


def make_images(folder, count):
    """Noise of several scales, which takes about as many bytes as ImageNet's photographs do: 110 KB."""
    import numpy
    from PIL import Image

    random = numpy.random.default_rng(1)
    sizes = []
    for i in range(count):
        picture = numpy.full((HEIGHT, WIDTH, 3), 128.0)
        for scale, height in ((64, 60.0), (16, 30.0), (4, 16.0), (1, 6.0)):
            noise = random.normal(0.0, height, (HEIGHT // scale + 2, WIDTH // scale + 2, 3)).clip(-127, 127) + 128
            layer = Image.fromarray(noise.astype(numpy.uint8)).resize((WIDTH, HEIGHT), Image.BICUBIC)
            picture += numpy.asarray(layer, dtype=float) - 128.0
        path = folder / f"{i:05}.jpg"
        Image.fromarray(picture.clip(0, 255).astype(numpy.uint8)).save(path, quality=QUALITY)
        sizes.append(path.stat().st_size)
    return statistics.mean(sizes)


def ours(options, folder):
    """Images per second by style."""
    made = subprocess.run([options.program, str(folder), f"--benchmark_min_time={options.seconds}",
                           "--benchmark_format=json"], capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{options.program}: exit code {made.returncode}: {made.stderr.strip()}")
    return {one["name"]: one["items_per_second"] for one in json.loads(made.stdout)["benchmarks"]}


def ways_of_torchvision():
    """Functions from a file's bytes to a tensor, by name."""
    import torch
    import torchvision
    from PIL import Image
    from torchvision import transforms

    torch.set_num_threads(1)
    last = [transforms.Normalize(MEAN, DEVIATION)]
    crop = transforms.RandomResizedCrop(SIZE, antialias=True)
    by_pillow = transforms.Compose([crop, transforms.RandomHorizontalFlip(), transforms.ToTensor(), *last])
    by_tensor = transforms.Compose([crop, transforms.RandomHorizontalFlip(),
                                    transforms.ConvertImageDtype(torch.float32), *last])

    def pillow(data):
        with Image.open(io.BytesIO(data)) as image:
            return by_pillow(image.convert("RGB"))

    def tensor(data):
        encoded = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return by_tensor(torchvision.io.decode_jpeg(encoded, mode=torchvision.io.ImageReadMode.RGB))

    return torchvision.__version__, {"torchvision, Pillow": pillow, "torchvision, tensors": tensor}


def rate_of(way, files, seconds):
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        way(files[done % len(files)])
        done += 1
    return done / (time.perf_counter() - began)


def main():
    options = parse_arguments()
    try:
        version, ways = ways_of_torchvision()
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mean_bytes = make_images(folder, options.images)
        files = [path.read_bytes() for path in sorted(folder.iterdir())]
        rates = {}
        for _ in range(options.rounds):
            for style, rate in ours(options, folder).items():
                rates.setdefault(f"trainmark, {style}", []).append(rate)
            for way, call in ways.items():
                rates.setdefault(way, []).append(rate_of(call, files, options.seconds))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    fastest = max(medians[way] for way in ways)
    print(f"{options.images} images of {WIDTH} x {HEIGHT}, {mean_bytes / 1000:.0f} KB each; torchvision {version}; "
          f"medians of {options.rounds}, one core")
    for name, rate in medians.items():
        print(f"  {name:22} {rate:8.1f} images/s   {rate / fastest:.2f} of the faster torchvision")
    write_report(options, {"mean_bytes": mean_bytes, "torchvision": version, "images_per_s": medians,
                           "over_torchvision": {name: rate / fastest for name, rate in medians.items()}})


if __name__ == "__main__":
    main()
