"""With the same weights, the program's outputs equal those of DeepCAM in PyTorch, in both directions.

Random weights are passed to `trainmark evaluate` in HDF5 files: for the published layers on a small scene, and for
narrow layers on scenes wide and high enough for every tap of every dilation, on one rank and on two. Weights that a run
writes are loaded into PyTorch. The bound on max |a - b| / max |b| of outputs against float64 is 1e-4. The score, mean
intersection over union of each sample, equals that of the program's outputs to 1e-6. Negative controls do one thing
wrong and must exceed the bound tenfold.
"""

import sys

import peer

torch, _ = peer.require("torch", "h5py")

import deepcam_ours
import deepcam_reference as reference

BOUND, SCORE_BOUND = 1e-4, 1e-6
SMALL = reference.narrow(32, 48, 8, 2)
#: Maps after the Xception have 20 x 2 and 2 x 21 pixels; dilations reach 18.
HIGH, WIDE = reference.narrow(320, 32, 4, 1), reference.narrow(32, 336, 4, 1)
#: All layers as published. With a whole scene, float64 would take gigabytes.
PUBLISHED = {**reference.PUBLISHED, "height": 96, "width": 144}
COUNT = 56_454_720
LAMB = {"name": "lamb", "weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6}


def scenes_of(model, count, seed=11):
    return reference.random_scenes(count, model["height"], model["width"], seed)


def score_of(outputs, scenes, absent=1.0):
    return reference.intersections_over_unions(outputs, scenes.labels, absent).mean()


def judge(what, scenes, results, expected):
    outputs, score = results
    error, score_off = peer.largest_difference(outputs, expected), abs(score - score_of(outputs, scenes))
    print(f"{what}: {len(scenes)} samples, max |a - b| / max |b| = {error:.2e} (bound {BOUND:.0e}); score {score:.6f}, "
          f"off by {score_off:.1e} (bound {SCORE_BOUND:.0e}), float64's {score_of(expected, scenes):.6f}", flush=True)
    return error <= BOUND and score_off <= SCORE_BOUND


def compare(program, name, model, count, ranks=(1,)):
    scenes, state = scenes_of(model, count), reference.random_state(model, 7)
    expected = reference.outputs(state, model, scenes)
    shares = [(expected.argmax(axis=1) == each).mean() for each in range(reference.CLASSES)]
    print(f"{name}: {parameters(state)} parameters; shares of classes " + " ".join(f"{share:.3f}" for share in shares))
    return all([judge(f"{name}, {on} ranks", scenes, program.evaluate(state, model, scenes, on), expected)
                for on in ranks])


def parameters(state):
    return sum(values.size for name, values in state.items() if "running_" not in name)


def there_and_back(program):
    """Weights written after three epochs give the same outputs in PyTorch as in `evaluate`."""
    scenes = scenes_of(SMALL, 4)
    recipe = reference.Recipe(SMALL, 2, deepcam_ours.constant(0.01), LAMB, 3)
    trained = program.train(3, scenes, recipe)
    for name in ("losses", "learning_rates"):
        trained.pop(name)
    results = program.evaluate(trained, SMALL, scenes)
    return judge("small, trained weights", scenes, results, reference.outputs(trained, SMALL, scenes))


def controls_fail(program):
    scenes, state = scenes_of(WIDE, 2), reference.random_state(WIDE, 7)
    outputs, score = program.evaluate(state, WIDE, scenes)
    deconv, affine = "upsample.deconv1.0.weight", "bottleneck.global_avg_pool.global_average_pool.2.bias"
    mirrored = {**state, deconv: state[deconv][..., ::-1].copy()}
    unaffine = {**state, affine: 0 * state[affine]}
    shifted = reference.Scenes(scenes.fields + 0.01 * (reference.HIGHEST - reference.LOWEST), scenes.labels)
    turned = reference.Scenes(scenes.fields[..., ::-1].copy(), scenes.labels)
    wrong = {
        "low-level features before ReLU": reference.outputs(state, WIDE, scenes, is_low_level_raw=True),
        "dilation 17": reference.outputs(state, WIDE, scenes, rates=(1, 6, 12, 17)),
        "transposed kernel mirrored along width": reference.outputs(mirrored, WIDE, scenes),
        "image pool without its bias": reference.outputs(unaffine, WIDE, scenes),
        "a hundredth of the range added": reference.outputs(state, WIDE, shifted),
        "channels in another order": reference.outputs(state, WIDE, turned),
    }
    passed = True
    for what, expected in wrong.items():
        error = peer.largest_difference(outputs, expected)
        print(f"control, {what}: {error:.2e}")
        passed = passed and error > 10 * BOUND
    return controls_of_score_fail(program) and passed


def controls_of_score_fail(program):
    """Tests the score: only some samples have all classes, and the model never predicts one of them."""
    scenes, state = scenes_of(SMALL, 4), reference.random_state(SMALL, 7)
    kernels = state["upsample.last_deconv.0.weight"]
    kernels[:, 0], kernels[:, 1] = -kernels[:, 2], 0
    scenes.labels[:2][scenes.labels[:2] == 1] = 0
    outputs, score = program.evaluate(state, SMALL, scenes)
    together = reference.Scenes(scenes.fields, scenes.labels.reshape(1, -1, SMALL["width"]))
    wrong = {"absent classes as 0": score_of(outputs, scenes, 0.0),
             "all samples together": score_of(outputs.swapaxes(0, 1).reshape(1, *outputs.shape[1:2], -1,
                                                                             SMALL["width"]), together)}
    print(f"score {score:.6f}; " + ", ".join(f"control, {what}: {other:.6f}" for what, other in wrong.items()))
    return judge("small, a class that is absent", scenes, (outputs, score), reference.outputs(state, SMALL, scenes)) \
        and all(abs(score - other) > 10 * SCORE_BOUND for other in wrong.values())


def main(program):
    passed = [compare(program, "small", SMALL, 5, (1, 2)), compare(program, "high", HIGH, 2),
              compare(program, "wide", WIDE, 2), there_and_back(program), controls_fail(program)]
    count = parameters(reference.random_state(PUBLISHED, 7))
    assert count == COUNT, f"{count} parameters, expected {COUNT}"
    passed.append(compare(program, "published", PUBLISHED, 1))
    return all(passed)


if __name__ == "__main__":
    sys.exit(0 if main(deepcam_ours.Program(*sys.argv[1:])) else 1)
