"""With the same weights, the program's outputs equal those of CosmoFlow in PyTorch, in both directions.

    cosmoflow_evaluate.py PROGRAM MPIEXEC [--published]

Random weights of small models, or of the published one for samples of 128^3, are passed to `trainmark evaluate` in HDF5
files, on 1 rank and on several that share each sample. Weights that a run writes are loaded into PyTorch. The bound on
max |a - b| / max |b| of outputs against float64 is 1e-4. Ranks that share samples give the same bits as one rank. The
reported mean absolute error equals that of the program's outputs to 1e-6. Negative controls do one thing wrong and must
exceed the bound tenfold.
"""

import sys

import peer

torch, _ = peer.require("torch", "h5py")

import cosmoflow_ours
import cosmoflow_reference as reference

BOUND, MAE_BOUND = 1e-4, 1e-6
SMALL = {"size": 16, "channels": [16, 32], "dense": [32, 16], "dropout": 0}
DEEP = {"size": 32, "channels": [16, 32, 48, 64], "dense": [24], "dropout": 0}
#: Parameters of the published model.
COUNT = 8_907_556
#: How ranks share samples: depth x height. Some parts of DEEP are too thin to be halved by every pooling.
SPLITS = {"small": [(2, 1), (2, 2)], "deep": [(4, 1), (2, 2)], "published": [(2, 1), (2, 2)]}


def split(depth, height):
    return {"training": {"sample_split": {"depth": depth, "height": height}}}


def judge(what, universes, results, expected):
    outputs, mean_error = results
    error = peer.largest_difference(outputs, expected)
    mean_off = abs(mean_error - abs(outputs.astype("float64") - universes.targets).mean()) / mean_error
    print(f"{what}: {len(universes)} samples, max |a - b| / max |b| = {error:.2e} (bound {BOUND:.0e}); mean absolute "
          f"error {mean_error:.6f}, off by {mean_off:.1e} (bound {MAE_BOUND:.0e})", flush=True)
    return error <= BOUND and mean_off <= MAE_BOUND


def compare(program, name, model, universes):
    """Compares on one rank, then on several that share each sample."""
    state = reference.random_state(model, 7)
    expected = reference.outputs(state, model, universes)
    print(f"{name}: {sum(values.size for values in state.values())} parameters; largest outputs of each target "
          + " ".join(f"{value:.3f}" for value in abs(expected).max(axis=0)))
    whole = program.evaluate(state, model, universes)
    passed = judge(f"{name}, 1 rank", universes, whole, expected)
    for depth, height in SPLITS[name]:
        shared = program.evaluate(state, model, universes, depth * height, **split(depth, height))
        what = f"{name}, {depth} x {height} ranks"
        passed = judge(what, universes, shared, expected) and passed
        print(f"{what}: bits of one rank: {'yes' if (shared[0] == whole[0]).all() else 'no'}", flush=True)
        passed = passed and (shared[0] == whole[0]).all()
    return passed


def compare_other_inputs(program, universes):
    """Counts over their mean instead of logarithms; and two ranks with different samples."""
    state = reference.random_state(SMALL, 8)
    expected = reference.outputs(state, SMALL, universes, apply_log=False)
    mean = program.evaluate(state, SMALL, universes, dataset={"apply_log": False})
    passed = judge("small, counts over their mean", universes, mean, expected)
    apart = program.evaluate(state, SMALL, universes, ranks=2)
    return judge("small, 2 ranks", universes, apart, reference.outputs(state, SMALL, universes)) and passed


def there_and_back(program, universes):
    """Weights written after two epochs give the same outputs in PyTorch as in `evaluate`."""
    recipe = reference.Recipe(SMALL, 2, {"learning_rate": 0.05}, 2, {"momentum": 0.9, "weight_decay": 1e-3})
    trained = program.train(3, universes, recipe)
    trained.pop("losses")
    results = program.evaluate(trained, SMALL, universes)
    return judge("small, trained weights", universes, results, reference.outputs(trained, SMALL, universes))


def controls_fail(program, universes):
    state = reference.random_state(SMALL, 7)
    outputs, _ = program.evaluate(state, SMALL, universes)
    mirrored = {**state, "conv3d_1/kernel:0": state["conv3d_1/kernel:0"][:, :, ::-1]}
    unbiased = {**state, "conv3d/bias:0": 0 * state["conv3d/bias:0"]}
    turned = reference.Universes(universes.counts.transpose(0, 3, 2, 1, 4), universes.targets)
    nudged = reference.Universes(universes.counts.copy(), universes.targets)
    nudged.counts[0, 0, 0, 0, 0] += 1
    wrong = {
        "LeakyReLU 0.01": reference.outputs(state, SMALL, universes, slope=0.01),
        "flattened channels first": reference.outputs(state, SMALL, universes, flatten="channels first"),
        "tanh without its factor": reference.outputs(state, SMALL, universes, scale=1.0),
        "kernel mirrored along width": reference.outputs(mirrored, SMALL, universes),
        "no bias of the first layer": reference.outputs(unbiased, SMALL, universes),
        "depth and width exchanged": reference.outputs(state, SMALL, turned),
        "one more particle": reference.outputs(state, SMALL, nudged),
    }
    passed = True
    for what, expected in wrong.items():
        error = peer.largest_difference(outputs, expected)
        print(f"control, {what}: {error:.2e}")
        passed = passed and error > 10 * BOUND
    return passed


def compare_published(program):
    count = sum(values.size for values in reference.random_state(reference.PUBLISHED, 7).values())
    assert count == COUNT, f"{count} parameters, expected {COUNT}"
    return compare(program, "published", reference.PUBLISHED, program.generate(1, reference.PUBLISHED["size"]))


def compare_small(program):
    universes = program.generate(5, SMALL["size"])
    return all([compare(program, "small", SMALL, universes), compare_other_inputs(program, universes),
                there_and_back(program, universes), controls_fail(program, universes),
                compare(program, "deep", DEEP, program.generate(3, DEEP["size"]))])


published = sys.argv[3:] == ["--published"]
judged = cosmoflow_ours.Program(*sys.argv[1:3])
sys.exit(0 if (compare_published if published else compare_small)(judged) else 1)
