"""With the same weights, the program's outputs equal those of AlexNet in PyTorch on JPEG files: in all four forms, with
either stem.

Random weights and statistics are passed to `trainmark evaluate` in an HDF5 file. The bound on max |a - b| / max |b| is
1e-4. A second run with a mirrored kernel must exceed it. Images: see evaluation.py.
"""

import sys
import tempfile

import peer

peer.require_peer()
import evaluation
import networks
import reference

STEMS = {"cifar": "small", "torchvision": "imagenet"}
#: At both sizes the output of the first pool is rounded up.
CASES = [(style, normalization) for style in STEMS for normalization in networks.NORMALIZATIONS]


def compare(program, folder, found, style, normalization):
    model = {"normalization": normalization, "stem": STEMS[style], "width": 48, "hidden": 128,
             "image_size": evaluation.STYLES[style], "classes": found[1]}
    # The batch does not divide the number of images, so the last batch is short.
    training = {"global_batch_size": 22}
    if normalization != "response":
        training["bn_group_samples"] = 22
    return evaluation.compare(program, folder, found, f"{STEMS[style]} stem, {normalization}", style,
                              reference.random_alexnet(**model), "conv3.weight", "alexnet",
                              {"model": model, "training": training})


with tempfile.TemporaryDirectory() as place:
    images = evaluation.find_images(sys.argv[1], place)
    results = [compare(sys.argv[1], place, images, *case) for case in CASES]
sys.exit(0 if all(results) else 1)
