"""Compares the RCP tests of published rounds, and every reference point, with MLCommons' RCP checker.

    rounds_rcp.py PROGRAM LOGGING [ROUND...]

PROGRAM is trainmark, LOGGING a clone of mlcommons/logging, ROUND a folder with the submissions of one round,
whose name contains the round: training_v5.1, hpc_results_v3.0. Needs numpy and scipy, as the checker does.
"""

import argparse
import contextlib
import io
import json
import logging
import math
import pathlib
import re
import subprocess
import sys

# The checker's messages, and our names of the outcomes.
OUTCOMES = {
    "RCP found": "found",
    "RCP Interpolation": "interpolated",
    "RCP not found but slower convergence on smaller batch size": "slower convergence on a smaller batch size",
    "Missing RCP": "missing",
    "Cannot find any RCPs": "no reference points",
    "Insufficient convergence": "insufficient convergence",
    "Could not detect global_batch_size": "no batch size",
}
# Contains the instances that a throughput leaves out.
NO_BENCHMARK_FOLDER = "pruned_results"
FACTOR_TOLERANCE = 1e-6
# For the statistics of a point. The least mean is found by bisection to 1e-4.
POINT_TOLERANCE = 1e-9
LEAST_MEAN_TOLERANCE = 2e-4


def load_checker(clone):
    """Loads the RCP checker of a clone of mlcommons/logging. Its table of runs lacks benchmarks that only earlier
    rounds have (dlrm); the package checker's table adds them."""
    logging.disable(logging.CRITICAL)  # the checker logs every run
    sys.path.insert(0, str(clone))
    from mlperf_logging.benchmark_meta import get_result_file_counts
    from mlperf_logging.rcp_checker import rcp_checker
    for usage, runs in rcp_checker.submission_runs.items():
        runs.update(get_result_file_counts(usage) | runs)
    return rcp_checker


def round_of(folder):
    """("training", "5.1") from a path that contains them."""
    found = re.findall(r"(training|hpc)(?:_results)?_v(\d+\.\d+)", str(folder))
    if not found:
        sys.exit(f"{folder}: expected a name such as training_v5.1")
    return found[-1]


def official(checker, folder, usage, number):
    """(outcome, passed, factor) of one folder, or the exception's text."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            passed, message, factor = checker.check_directory(
                str(folder), usage, number + ".0", False, False, rcp_pass="pruned_rcps")
    except FileNotFoundError as error:
        if "rcps_" in str(error.filename):
            return "no reference points", False, 1.0
        return repr(error)
    except Exception as error:  # any exception counts as a result
        return repr(error)
    outcome = next(word for start, word in OUTCOMES.items() if message.startswith(start))
    return outcome, bool(passed), float(factor)


def run_program(program, *arguments):
    """The JSON document of a check. Exit codes for failing logs are accepted."""
    done = subprocess.run([program, "check", "--json", "-", *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 3, 5, 8, 10):
        sys.exit(f"{program} check {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def program_results(program, folder, usage, number):
    """(outcome, passed, factor) by folder."""
    answer = run_program(program, "--rcp", "--round", f"{usage}-{number}", str(folder))
    return {name: (one["rcp"]["outcome"], one["rcp"]["passed"], one["rcp"]["normalization"])
            for name, one in answer["sets"].items()}


def agree(ours, theirs):
    """Whether two results are equal. The checker fails a mean of no runs, which is NaN; ours has too few runs."""
    if math.isnan(theirs[2]):
        return ours[0] == "too few runs" and not ours[1] and not theirs[1]
    return ours[:2] == theirs[:2] and math.isclose(ours[2], theirs[2], rel_tol=FACTOR_TOLERANCE)


def official_results(checker, folder, usage, number):
    """(outcome, passed, factor), or the text of an exception, by folder below `folder`."""
    found = sorted({path.parent for path in pathlib.Path(folder).rglob("result_*.txt")
                    if path.parent.name != NO_BENCHMARK_FOLDER})
    return {str(one.relative_to(folder)): official(checker, one, usage, number) for one in found}


def compare_results(ours, theirs):
    """{"equal": [(folder, ours)], "different": [(folder, ours, theirs)], "stopped": [(folder, ours, why)]}."""
    result = {"equal": [], "different": [], "stopped": []}
    for name, their in theirs.items():
        mine = ours.get(name, ("not told", False, 1.0))
        if isinstance(their, str):
            result["stopped"].append((name, mine, their))
        elif agree(mine, their):
            result["equal"].append((name, mine))
        else:
            result["different"].append((name, mine, their))
    return result


def compare_round(program, checker, folder):
    """compare_results() of every folder with result_*.txt below `folder`, whose name contains the round."""
    usage, number = round_of(folder)
    return compare_results(program_results(program, folder, usage, number),
                           official_results(checker, folder, usage, number))


def point_differences(mine, record, pruned, leeway):
    """Yields the differences between our point and the checker's record of it."""
    figures = [("mean", "RCP Mean", POINT_TOLERANCE), ("stdev", "RCP Stdev", POINT_TOLERANCE)]
    for key, theirs, tolerance in figures:
        if not math.isclose(mine[key], record[theirs], rel_tol=tolerance, abs_tol=1e-12):
            yield f"{key}: {mine[key]}, theirs {record[theirs]}"
    least = record["Min Epochs"] - leeway
    if abs(mine["least_mean"] - least) > LEAST_MEAN_TOLERANCE:
        yield f"least mean: {mine['least_mean']}, theirs {least}"
    if mine["pruned"] != pruned:
        yield f"pruned: {mine['pruned']}, theirs {pruned}"


def compare_points(program, checker, usage, number, benchmark):
    """(number of the checker's points, differences from ours) for a benchmark in a round."""
    theirs = checker.RCP_Checker(usage, number + ".0", benchmark, False)
    answer = run_program(program, "--rcps", benchmark, "--round", f"{usage}-{number}")
    points = {point["batch_size"]: point for point in answer["points"]}
    kept = {record["BS"] for record in theirs.pruned_rcp_data.values()}
    leeway = 46080 if benchmark == "llama31_405b" else 0  # as in the checker's _eval_submission_record()
    differences = []
    for record in theirs.rcp_data.values():
        size = record["BS"]
        where = f"{usage}-{number} {benchmark} at {size}: "
        if size not in points:
            differences.append(where + "missing")
            continue
        differences += [where + text
                        for text in point_differences(points[size], record, size not in kept, leeway)]
    extra = set(points) - {record["BS"] for record in theirs.rcp_data.values()}
    differences += [f"{usage}-{number} {benchmark} at {size}: only ours" for size in sorted(extra)]
    return len(theirs.rcp_data), differences


def compare_all_points(program, checker):
    """(points compared, differences, each "round benchmark" without a number of runs) over the checker's rounds."""
    total, differences, refused = 0, [], []
    folder = pathlib.Path(checker.__file__).parent
    for path in sorted(folder.glob("*_*/rcps_*.json")):
        usage, number = path.parent.name.removesuffix(".0").split("_")
        benchmark = path.stem.removeprefix("rcps_")
        if benchmark not in checker.submission_runs[usage]:
            refused.append(f"{usage}-{number} {benchmark}")
            continue
        points, told = compare_points(program, checker, usage, number, benchmark)
        total += points
        differences += told
    return total, differences, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("logging", type=pathlib.Path)
    parser.add_argument("rounds", nargs="*", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true", help="name the folders that stop the checker too")
    arguments = parser.parse_args()
    checker = load_checker(arguments.logging)
    total, differences, refused = compare_all_points(arguments.program, checker)
    print(f"points: {total} compared, {len(differences)} differences; "
          f"the checker has no number of runs for {', '.join(refused) or 'none'}")
    for text in differences:
        print("  " + text)
    different = len(differences)
    for folder in arguments.rounds:
        result = compare_round(arguments.program, checker, folder)
        different += len(result["different"])
        print(f"{folder.name}: {len(result['equal'])} equal, {len(result['different'])} different, "
              f"{len(result['stopped'])} stop the checker")
        for name, ours, theirs in result["different"]:
            print(f"  {name}: {ours}, theirs {theirs}")
        for name, ours, why in result["stopped"] if arguments.verbose else []:
            print(f"  {name}: {why}; ours {ours}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
