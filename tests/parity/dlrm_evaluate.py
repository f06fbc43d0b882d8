"""With the same weights, the program's logits equal those of DLRM in PyTorch, and its AUC is that of these logits.

Random weights are passed to `trainmark evaluate` in HDF5 files, on 1 and 2 ranks. Some of the generated records are
repeated with the other label, so that scores are equal. The bound on max |a - b| / max |b| of logits is 1e-4. The bound
on the AUC, against the exact AUC of the program's logits, is 1e-9. Negative controls do one thing wrong and must exceed
the bounds tenfold.
"""

import sys
import tempfile

import peer

torch, _ = peer.require("torch", "h5py")
import numpy

import dlrm_ours
import dlrm_reference as reference

BOUND, AUC_BOUND = 1e-4, 1e-9
SAMPLES, REPEATED = 3001, 500  # the last batch is short


def make_records(program):
    with tempfile.TemporaryDirectory() as folder:
        records = program.generate(f"{folder}/data", SAMPLES)
    again = records[:REPEATED].copy()
    again[:, 0] = 1 - again[:, 0]
    return numpy.concatenate([records, again])


def logits_in_torch(state, records, max_ind_range=0, **options):
    features, ids, _ = reference.inputs_of(records, torch.float64, max_ind_range=max_ind_range)
    with torch.no_grad():
        return reference.model_of(state, torch.float64, **options)(features, ids).numpy()


def area_without_ties(scores, labels):
    """Wrong on purpose: counts pairs of equal scores as won."""
    negatives, positives = numpy.sort(scores[labels == 0]), scores[labels == 1]
    return int(numpy.searchsorted(negatives, positives, "right").sum()) / (len(positives) * len(negatives))


def compare(program, what, state, records, ranks=1, max_ind_range=0):
    expected = logits_in_torch(state, records, max_ind_range)
    logits, area = program.evaluate(state, records, ranks, dataset={"max_ind_range": max_ind_range})
    error = peer.largest_difference(logits, expected)
    area_error = abs(area - reference.roc_auc(logits, records[:, 0]))
    print(f"{what}: {len(records)} samples, max |a - b| / max |b| = {error:.2e} (bound {BOUND:.0e}); AUC {area:.6f}, "
          f"off by {area_error:.1e} (bound {AUC_BOUND:.0e})", flush=True)
    return error <= BOUND and area_error <= AUC_BOUND


def controls_fail(program, state, records):
    logits, area = program.evaluate(state, records)
    ids = reference.FIRST_ID
    uncounted, rotated, nudged = records.copy(), records.copy(), records.copy()
    uncounted[:, 1:ids] = 0
    rotated[:, ids:] = numpy.roll(records[:, ids:], 1, axis=1) % reference.TABLES
    nudged[0, -1] = (nudged[0, -1] + 1) % reference.TABLES[-1]
    wrong = {
        "upper triangle": logits_in_torch(state, records, triangle="upper"),
        "no counts": logits_in_torch(state, uncounted),
        "ids of the table before": logits_in_torch(state, rotated),
        "one id of one sample": logits_in_torch(state, nudged),
    }
    passed = True
    for what, expected in wrong.items():
        error = peer.largest_difference(logits, expected)
        print(f"control, {what}: {error:.2e}")
        passed = passed and error > 10 * BOUND
    error = abs(area - area_without_ties(logits, records[:, 0]))
    print(f"control, equal scores as pairs won: AUC off by {error:.1e}")
    return passed and error > 10 * AUC_BOUND


def main(program):
    records = make_records(program)
    torch.manual_seed(7)
    state = reference.state_of(reference.random_model())
    results = [compare(program, f"{ranks} rank(s)", state, records, ranks) for ranks in (1, 2)]
    wide = records.copy()
    wide[:, reference.FIRST_ID:] += 7 * numpy.array(reference.TABLES, dtype="int32")
    results.append(compare(program, "ids modulo 3", state, wide, max_ind_range=3))
    return all([*results, controls_fail(program, state, records)])


sys.exit(0 if main(dlrm_ours.Program(*sys.argv[1:])) else 1)
