#!/usr/bin/env python3
"""Compares whole published rounds with MLCommons' checkers: logs, scores, energy, RCP tests, packages.

    rounds.py PROGRAM LOGGING ROUND... [--only logs scores energy rcp packages] [--hpc-0.7 FORK] [--json FILE]

PROGRAM is trainmark, LOGGING a clone of mlcommons/logging, ROUND a folder with the submissions of one round,
whose name contains the round: training_v5.1, hpc_results_v3.0. LOGGING has no rules for HPC 0.7. FORK is a clone
of mlperf-hpc/logging, branch hpc-0.5.0, which has them. Nothing is written into ROUND.
Verdicts and failing keys of logs, minutes and joules of scores, outcomes and factors of RCP tests, and the numbers
of folders with each kind of error in a submission must be equal. rounds_known.json (or --known FILE) lists
differences that the text of the rules explains, each with a reason and the place of the rule. These are counted,
and listed with --verbose. All others are always listed. A log that stops a checker must fail here.
Needs numpy, scipy, pandas and yaml, as the checkers do.
Exit code 0: every difference is explained; 1: one is not; 77: no clone.
"""

import argparse
import collections
import contextlib
import fnmatch
import functools
import io
import json
import logging
import math
import pathlib
import re
import subprocess
import sys
import warnings

import rounds_rcp
import rules_mutants

KINDS = ("logs", "scores", "energy", "rcp", "packages")
SCORE_TOLERANCE = 1e-8  # relative; doubles of seconds in 2019 are 2.4e-7 s apart
SKIP = 77
# Factors for rounds whose logs have seconds, which the summarizer takes for milliseconds.
TIMES_TOO_SMALL = {"training-0.6": 1000}
# Keys that the checkers read from a log after its verdict.
LATER_KEYS = {"run_start", "run_stop", "seed", "number_of_nodes", "accelerators_per_node"}
# Messages of the package checker on a folder, and our rules with the same meaning.
ERRORS = {
    "number of runs": (r"^Expected at least|^Incorrect number of files", r"package\.file-count"),
    "failing runs": (r"^ \d+ files do not comply", r"package\.failing-runs"),
    "seeds": (r"^Seed checker failed$", r"seed\."),
    "convergence": (r"^RCP Test Failed", r"rcp\."),
    "description": (r"^ *System description checker failed", r"system\."),
}


def quiet():
    return contextlib.redirect_stdout(io.StringIO())


class Fork(rules_mutants.Official):
    """The checker of a clone of mlperf-hpc/logging, in which HPC 0.7 is called hpc_0.5.0."""

    def start(self, usage, number):
        return self.module.make_checker("hpc_0.5.0", True, False), "hpc_0.5.0/common.yaml"


def load_fork(path):
    """Loads the fork's modules, which have the names of modules already loaded. These stay loaded."""
    def take():
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "mlperf_logging"}

    kept = take()
    fork = Fork(str(path))
    take()
    sys.modules.update(kept)
    return fork


class Errors(logging.Handler):
    """Counts the folders with each kind of error in the package checker's log messages."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.told = collections.Counter()

    def emit(self, record):
        for kind, (words, _) in ERRORS.items():
            if re.search(words, record.getMessage()):
                self.told[kind] += 1


class Clone:
    """The checkers of a clone. Reads and judges each log once."""

    def __init__(self, path, fork):
        self.compliance = rules_mutants.Official(str(path))
        from mlperf_logging.package_checker import package_checker
        from mlperf_logging.result_summarizer import result_summarizer
        self.rcp = rounds_rcp.load_checker(path)
        self.package_checker, self.summarizer = package_checker, result_summarizer
        self.fork = load_fork(fork) if fork else None
        self.judged, self.parsed = {}, {}
        parser = self.compliance.module.mlp_parser
        self.parse_all, parser.parse_file, result_summarizer.parse_file = parser.parse_file, self.parse, self.parse
        self.rcp.read_submission_file = functools.cache(self.rcp.read_submission_file)
        for module in (self.compliance.module, package_checker.mlp_compliance, result_summarizer.mlp_compliance):
            module.main = lambda name, config, checker: (self.passes(name, config), None, None, None)
        # These functions write into the checked folders.
        self.rcp.RCP_Checker._set_results_scaling = lambda *_: None
        self.rcp.RCP_Checker._reset_results_scaling = lambda *_: None

    def parse(self, name, ruleset):
        """Records and faulty lines. From the second call for a log on, only records of LATER_KEYS."""
        if name in self.parsed:
            return self.parsed[name]
        records, faults = self.parse_all(name, ruleset)
        if pathlib.PurePath(name).name.startswith("result_"):
            self.parsed[name] = [record for record in records if record.key in LATER_KEYS], faults
        return records, faults

    def judge(self, log, usage, number):
        """(passes, keys, alternatives), or the name of the exception that stops the checker."""
        if (log, usage, number) not in self.judged:
            checker = self.fork if (usage, number) == ("hpc", "0.7") else self.compliance
            with quiet():
                self.judged[log, usage, number] = checker.judge(log, usage, number)
        return self.judged[log, usage, number]

    def passes(self, log, config):
        usage, number = config.split("/")[0].removesuffix(".0").split("_")
        judged = self.judge(str(log), usage, number)
        return judged[0] if isinstance(judged, tuple) else False

    def score(self, folder, usage, number):
        """Minutes, or None; the exception's text if the summarizer stops."""
        one = self.summarizer
        try:
            with quiet():
                if folder.parent.name == "weak":
                    scores, _ = one._compute_weak_score_standalone(
                        folder.name, "", False, str(folder), usage, number + ".0")
                    return scores.get(f"{folder.name}:time_to_train_all")
                minutes = one._compute_strong_score_standalone(
                    folder.name, "", False, str(folder), usage, number + ".0")[0]
            return minutes and minutes * TIMES_TOO_SMALL.get(f"{usage}-{number}", 1)
        except Exception as error:  # any exception counts as a result
            return repr(error)

    def energy(self, folder, usage, number):
        """Joules, or None; the exception's text if the summarizer stops."""
        try:
            with quiet():
                return self.summarizer._compute_strong_score_standalone(
                    folder.name, "", True, str(folder), usage, number + ".0")[1]
        except Exception as error:
            return repr(error)

    def package(self, folder, usage, number):
        """(whether it passes, folders with each kind of error); the exception's text if the checker stops."""
        errors, root = Errors(), logging.getLogger()
        handlers, root.handlers = root.handlers, [errors]
        logging.disable(logging.NOTSET)
        try:
            with quiet():
                systems = float(number) < 1 or self.package_checker.check_systems(
                    str(folder), usage, number + ".0")
                results = self.package_checker.check_training_result_files(
                    str(folder), usage, number + ".0", True, False, False, False, False)
            return bool(systems and results), dict(errors.told)
        except Exception as error:
            return repr(error)
        finally:
            logging.disable(logging.CRITICAL)
            root.handlers = handlers


def document(program, command, *arguments):
    """The JSON of a command. Exit codes for failing logs are accepted."""
    done = subprocess.run([program, command, "--json", "-", *map(str, arguments)], capture_output=True, text=True)
    if not done.stdout.lstrip().startswith("{"):
        sys.exit(f"{program} {command} {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


class Known:
    """Differences with a reason: members "rounds", "kind", "where" (a pattern of names), and optionally the regular
    expressions "ours" and "theirs" for both results."""

    def __init__(self, path):
        self.entries = json.loads(path.read_text())["known"]

    def reason(self, round_name, kind, name, ours, theirs):
        for one in self.entries:
            if (round_name in one["rounds"] and kind == one["kind"] and fnmatch.fnmatchcase(name, one["where"])
                    and re.search(one.get("ours", ""), str(ours)) and re.search(one.get("theirs", ""), str(theirs))):
                return f"{one['because']} ({one['rule']})"
        return None


class Tally:
    """Counts equal results and differences of one kind in one round."""

    def __init__(self, known, round_name, kind):
        self.known, self.round_name, self.kind = known, round_name, kind
        self.equal, self.explained, self.unexplained = 0, [], []

    def add(self, name, same, ours, theirs):
        if same:
            self.equal += 1
            return
        reason = self.known.reason(self.round_name, self.kind, name, ours, theirs)
        if reason:
            self.explained.append((name, ours, theirs, reason))
        else:
            self.unexplained.append((name, ours, theirs))

    def tell(self, verbose):
        print(f"{self.round_name} {self.kind}: {self.equal} equal, {len(self.explained)} explained, "
              f"{len(self.unexplained)} unexplained", flush=True)
        for reason, count in collections.Counter(one[3] for one in self.explained).items():
            print(f"  {count} explained: {reason}")
        for name, ours, theirs, _ in self.explained if verbose else []:
            print(f"    {name}: {ours}, theirs {theirs}")
        for name, ours, theirs in self.unexplained:
            print(f"  unexplained: {name}: {ours}, theirs {theirs}")


def compare_logs(program, clone, folder, usage, number, tally):
    files = document(program, "check", "--round", f"{usage}-{number}", folder)["files"]
    for log in sorted(folder.rglob("result_*.txt")):
        name = str(log.relative_to(folder))
        found = files.get(name)
        ours = (found["verdict"], found["failing_keys"]) if found else ("not told", [])
        theirs = clone.judge(str(log), usage, number)
        tally.add(name, rules_mutants.same(theirs, ours), ours, theirs)


def same_number(ours, theirs):
    if ours is None or theirs is None or isinstance(theirs, str):
        return ours is None and theirs is None
    return math.isclose(ours, theirs, rel_tol=SCORE_TOLERANCE)


def score_of(system, is_weak):
    if system is None:
        return None
    if not is_weak:
        return system["score_min"]
    return None if system["ttta_s"] is None else system["ttta_s"] / 60


def compare_scores(program, clone, folder, usage, number, tally):
    systems = document(program, "analyze", folder)["systems"]
    for one in sorted({log.parent for log in folder.rglob("result_*.txt")}):
        if one.name == rounds_rcp.NO_BENCHMARK_FOLDER:
            continue
        name = str(one.relative_to(folder))
        ours = score_of(systems.get(name), one.parent.name == "weak")
        theirs = clone.score(one, usage, number)
        tally.add(name, same_number(ours, theirs), ours, theirs)


def compare_energy(program, clone, folder, usage, number, tally):
    systems = document(program, "analyze", folder)["systems"]
    for one in sorted(power.parent for power in folder.rglob("power") if power.is_dir()):
        if not any(one.glob("result_*.txt")):
            continue
        name = str(one.relative_to(folder))
        energy = systems[name]["energy"] if name in systems else None
        ours = energy and energy["energy_j"]
        theirs = clone.energy(one, usage, number)
        tally.add(name, same_number(ours, theirs), ours, theirs)


def compare_rcp(program, clone, folder, usage, number, tally):
    if float(number) < 1:
        return  # rounds before 1.0 had no RCP test
    theirs = rounds_rcp.official_results(clone.rcp, folder, usage, number)
    ours = rounds_rcp.program_results(program, folder, usage, number)
    for name, their in theirs.items():
        mine = ours.get(name, ("not told", False, 1.0))
        tally.add(name, not isinstance(their, str) and rounds_rcp.agree(mine, their), mine, their)


def package_errors(submission):
    """Counts folders and descriptions with each kind of error."""
    places = collections.defaultdict(set)
    for found in submission["findings"]:
        if found["severity"] != "error":
            continue
        kind = next((kind for kind, (_, rules) in ERRORS.items() if re.match(rules, found["rule"])), found["rule"])
        path = pathlib.PurePath(found["path"])
        places[kind].add(path.parent if path.suffix == ".txt" else path)
    return {kind: len(where) for kind, where in places.items()}


def compare_packages(program, clone, folder, usage, number, tally):
    for one in sorted(path for path in folder.iterdir() if (path / "results").is_dir()):
        submission = document(program, "check", "--submission", "--round", f"{usage}-{number}", one)["submission"]
        ours = submission["verdict"] == "SUCCESS", package_errors(submission)
        theirs = clone.package(one, usage, number)
        tally.add(one.name, ours == theirs, ours, theirs)


COMPARE = {"logs": compare_logs, "scores": compare_scores, "energy": compare_energy, "rcp": compare_rcp,
           "packages": compare_packages}


def compare_round(arguments, clone, known, folder, told):
    """Returns the number of unexplained differences."""
    usage, number = rounds_rcp.round_of(folder)
    name = f"{usage}-{number}"
    if name == "hpc-0.7" and not clone.fork:
        print("hpc-0.7: skipped, as its rules need --hpc-0.7 FORK")
        return 0
    unexplained = 0
    for kind in arguments.only:
        tally = Tally(known, name, kind)
        COMPARE[kind](arguments.program, clone, folder, usage, number, tally)
        tally.tell(arguments.verbose)
        unexplained += len(tally.unexplained)
        told[f"{name} {kind}"] = {
            "equal": tally.equal, "explained": tally.explained, "unexplained": tally.unexplained}
    return unexplained


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("logging", type=pathlib.Path)
    parser.add_argument("rounds", nargs="+", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--hpc-0.7", dest="fork", type=pathlib.Path, metavar="FORK")
    parser.add_argument("--known", type=pathlib.Path, default=pathlib.Path(__file__).with_name("rounds_known.json"))
    parser.add_argument("--verbose", action="store_true", help="list what is explained too")
    parser.add_argument("--json", type=pathlib.Path, help="every difference, as JSON")
    arguments = parser.parse_args()
    for clone in filter(None, (arguments.logging, arguments.fork)):
        if not (clone / "mlperf_logging").is_dir():
            print(f"{clone}: no clone of mlcommons/logging")
            return SKIP
    known = Known(arguments.known)
    clone = Clone(arguments.logging, arguments.fork)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    told = {}
    unexplained = sum(compare_round(arguments, clone, known, folder.resolve(), told) for folder in arguments.rounds)
    if arguments.json:
        arguments.json.write_text(json.dumps(told, indent=1, default=list))
    print(f"{unexplained} unexplained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
