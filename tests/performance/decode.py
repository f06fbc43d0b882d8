"""Measures decoding and augmentation of JPEGs of ImageNet's usual size beside torchvision, on one core.

    python3 tests/performance/decode.py build/release/tests/performance/decode_benchmark

Both sides decode the same files from memory and draw random resized crops of 224 x 224 pixels, mirrored or not, normalised
to floats; ours also from decoded images that are kept (`dataset.cache_bytes`), and with `dataset.scaled_decoding`, of which
the mean absolute difference from exact views is printed, in the style's values (mlperf: levels of 0 to 255, torchvision:
about 1/57 of that). torchvision does so in two ways: by Pillow, as its ImageFolder does, and by its own decoder on tensors.
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

from beside_pytorch import check_files, whole_number, write_report

WIDTH, HEIGHT, QUALITY = 500, 375, 96
SIZE = 224
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of decode_benchmark")
    parser.add_argument("--images", type=whole_number(1), default=200)
    parser.add_argument("--times", type=whole_number(1), default=1, help="larger pictures, in each direction")
    parser.add_argument("--rounds", type=whole_number(1), default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--output", help="JSON file for settings and figures")
    options = parser.parse_args()
    check_files(parser, options, "decode_benchmark")
    return options


def make_images(folder, count, times=1):
    """Noise of several scales, which takes about as many bytes as ImageNet's photographs do: 110 KB at their usual size."""
    import numpy
    from PIL import Image

    random = numpy.random.default_rng(1)
    sizes = []
    height_all, width_all = times * HEIGHT, times * WIDTH
    for i in range(count):
        picture = numpy.full((height_all, width_all, 3), 128.0)
        for scale, height in ((64, 60.0), (16, 30.0), (4, 16.0), (1, 6.0)):
            noise = random.normal(0.0, height, (height_all // scale + 2, width_all // scale + 2, 3)).clip(-127, 127) + 128
            layer = Image.fromarray(noise.astype(numpy.uint8)).resize((width_all, height_all), Image.BICUBIC)
            picture += numpy.asarray(layer, dtype=float) - 128.0
        path = folder / f"{i:05}.jpg"
        Image.fromarray(picture.clip(0, 255).astype(numpy.uint8)).save(path, quality=QUALITY)
        sizes.append(path.stat().st_size)
    return statistics.mean(sizes)


def ours(options, folder):
    """Images per second by style, and differences of scaled views."""
    made = subprocess.run([options.program, str(folder), f"--benchmark_min_time={options.seconds}",
                           "--benchmark_format=json"], capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{options.program}: exit code {made.returncode}: {made.stderr.strip()}")
    all_of = json.loads(made.stdout)["benchmarks"]
    return ({one["name"]: one["items_per_second"] for one in all_of},
            {one["name"]: one["difference"] for one in all_of if "difference" in one})


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
        mean_bytes = make_images(folder, options.images, options.times)
        files = [path.read_bytes() for path in sorted(folder.iterdir())]
        rates = {}
        for _ in range(options.rounds):
            our_rates, differences = ours(options, folder)
            for style, rate in our_rates.items():
                rates.setdefault(f"trainmark, {style}", []).append(rate)
            for way, call in ways.items():
                rates.setdefault(way, []).append(rate_of(call, files, options.seconds))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    fastest = max(medians[way] for way in ways)
    print(f"{options.images} images of {options.times * WIDTH} x {options.times * HEIGHT}, {mean_bytes / 1000:.0f} KB each; torchvision {version}; "
          f"medians of {options.rounds}, one core")
    for name, rate in medians.items():
        print(f"  {name:29} {rate:8.1f} images/s   {rate / fastest:.2f} of the faster torchvision")
    for name, value in differences.items():
        print(f"  {name}: differs by {value:.3g} in the mean")
    write_report(options, {"times": options.times, "differences": differences, "mean_bytes": mean_bytes, "torchvision": version, "images_per_s": medians,
                           "over_torchvision": {name: rate / fastest for name, rate in medians.items()}})


if __name__ == "__main__":
    main()
