"""With the same weights, the program's outputs equal those of torchvision's resnet50 on JPEG files, of the same with
the strides of v1, and of v2.

Random weights with random batch-norm statistics and nonzero last gammas are passed to `trainmark evaluate` in an HDF5
file. The bound on max |a - b| / max |b| is 1e-4. A second run with a mirrored kernel must exceed it. Images: see
evaluation.py.
"""

import sys
import tempfile

import peer

peer.require_peer()
import evaluation
import reference

CASES = (("cifar", "v1.5"), ("torchvision", "v1.5"), ("cifar", "v1"), ("torchvision", "v2"))


def compare(program, folder, found, style, version):
    classes = found[1]
    return evaluation.compare(
        program, folder, found, version, style, reference.random_model(classes, version=version),
        "layer3.0.conv2.weight", "resnet50",
        {"model": {"image_size": evaluation.STYLES[style], "classes": classes, "padding": "torchvision",
                   "version": version},
         # The batch does not divide the number of images, so the last batch is short.
         "training": {"global_batch_size": 22, "bn_group_samples": 22}})


with tempfile.TemporaryDirectory() as place:
    images = evaluation.find_images(sys.argv[1], place)
    results = [compare(sys.argv[1], place, images, *case) for case in CASES]
sys.exit(0 if all(results) else 1)
