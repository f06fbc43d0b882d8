#!/usr/bin/env python3
"""Whole published rounds, held against MLCommons' checkers: logs, scores, RCP tests, packages.

    rounds.py PROGRAM LOGGING ROUND... [--only logs scores rcp packages] [--explained FILE] [--json FILE]

PROGRAM is trainmark, LOGGING a clone of mlcommons/logging, ROUND a folder with the submissions of one round
whose name tells which: training_v5.1, hpc_results_v3.0. What differs is listed. FILE holds differences that the
text of the rules explains, as {"training-1.1": {"scores": {"FOLDER": "reason"}}}: they are counted apart.
Nothing is written into ROUND. Needs numpy, scipy, pandas and yaml, as the checkers do.
Exit code 0: every difference is explained; 1: one is not.
"""

import argparse
import contextlib
import io
import json
import logging
import math
import pathlib
import subprocess
import sys

import rounds_rcp
import rules_mutants

KINDS = ("logs", "scores", "rcp", "packages")
SCORE_TOLERANCE = 1e-9


def quiet():
    return contextlib.redirect_stdout(io.StringIO())


class Clone:
    """The checkers of a clone, each log's verdict computed once."""

    def __init__(self, path):
        self.compliance = rules_mutants.Official(str(path))
        from mlperf_logging.package_checker import package_checker
        from mlperf_logging.result_summarizer import result_summarizer
        self.rcp = rounds_rcp.load_checker(path)
        self.package_checker, self.summarizer = package_checker, result_summarizer
        self.judged = {}
        for module in (self.compliance.module, package_checker.mlp_compliance, result_summarizer.mlp_compliance):
            module.main = lambda name, config, checker: (self.passes(name, config), None, None, None)
        # They write into the folders that they check.
        self.rcp.RCP_Checker._set_results_scaling = lambda *_: None
        self.rcp.RCP_Checker._reset_results_scaling = lambda *_: None

    def judge(self, log, usage, number):
        """(passes, keys, alternatives), or the name of the exception that stops the checker."""
        if (log, usage, number) not in self.judged:
            self.judged[log, usage, number] = self.compliance.judge(log, usage, number)
        return self.judged[log, usage, number]

    def passes(self, log, config):
        usage, number = config.split("/")[0].removesuffix(".0").split("_")
        judged = self.judge(str(log), usage, number)
        return judged[0] if isinstance(judged, tuple) else False

    def score(self, folder, usage, number):
        """Minutes, or None; where the summarizer stops, the exception's text."""
        one = self.summarizer
        try:
            with quiet():
                if folder.parent.name == "weak":
                    scores, _ = one._compute_weak_score_standalone(
                        folder.name, "", False, str(folder), usage, number + ".0")
                    return scores.get(f"{folder.name}:time_to_train_all")
                return one._compute_strong_score_standalone(
                    folder.name, "", False, str(folder), usage, number + ".0")[0]
        except Exception as error:  # whatever stops it
            return repr(error)

    def package(self, folder, usage, number):
        """Whether it passes; where the checker stops, the exception's text."""
        try:
            with quiet():
                systems = usage == "training" and float(number) < 1 or self.package_checker.check_systems(
                    str(folder), usage, number + ".0")
                results = self.package_checker.check_training_result_files(
                    str(folder), usage, number + ".0", True, False, False, False, False)
            return bool(systems and results)
        except Exception as error:
            return repr(error)


def document(program, command, *arguments):
    """The JSON of a command; a log that fails is no failure of the program."""
    done = subprocess.run([program, command, "--json", "-", *map(str, arguments)], capture_output=True, text=True)
    if not done.stdout.lstrip().startswith("{"):
        sys.exit(f"{program} {command} {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


class Tally:
    """What is equal, and what is not, of one kind in one round."""

    def __init__(self, explained):
        self.explained_by = explained
        self.equal, self.explained, self.stopped, self.different = 0, [], [], []

    def add(self, name, same, ours, theirs):
        if same:
            self.equal += 1
        elif isinstance(theirs, str):
            self.stopped.append((name, ours, theirs))
        elif name in self.explained_by:
            self.explained.append((name, self.explained_by[name]))
        else:
            self.different.append((name, ours, theirs))

    def line(self):
        return (f"{self.equal} equal, {len(self.different)} different, {len(self.explained)} explained, "
                f"{len(self.stopped)} stop the checker")


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


def compare_rcp(program, clone, folder, usage, number, tally):
    if float(number) < 1:
        return  # there was none
    theirs = rounds_rcp.official_results(clone.rcp, folder, usage, number)
    ours = rounds_rcp.program_results(program, folder, usage, number)
    for name, their in theirs.items():
        mine = ours.get(name, ("not told", False, 1.0))
        tally.add(name, not isinstance(their, str) and rounds_rcp.agree(mine, their), mine, their)


def compare_packages(program, clone, folder, usage, number, tally):
    for one in sorted(path for path in folder.iterdir() if (path / "results").is_dir()):
        answer = document(program, "check", "--submission", "--round", f"{usage}-{number}", one)
        ours = answer["submission"]["verdict"] == "SUCCESS"
        theirs = clone.package(one, usage, number)
        tally.add(one.name, ours == theirs, ours, theirs)


COMPARE = {"logs": compare_logs, "scores": compare_scores, "rcp": compare_rcp, "packages": compare_packages}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("logging", type=pathlib.Path)
    parser.add_argument("rounds", nargs="+", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--explained", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, help="every difference, as JSON")
    arguments = parser.parse_args()
    explained = json.loads(arguments.explained.read_text()) if arguments.explained else {}
    clone = Clone(arguments.logging)
    logging.disable(logging.CRITICAL)
    told, different = {}, 0
    for folder in map(pathlib.Path.resolve, arguments.rounds):
        usage, number = rounds_rcp.round_of(folder)
        for kind in arguments.only:
            tally = Tally(explained.get(f"{usage}-{number}", {}).get(kind, {}))
            COMPARE[kind](arguments.program, clone, folder, usage, number, tally)
            print(f"{usage}-{number} {kind}: {tally.line()}", flush=True)
            for name, ours, theirs in tally.different:
                print(f"  {name}: {ours}, theirs {theirs}")
            different += len(tally.different)
            told[f"{usage}-{number} {kind}"] = {
                "equal": tally.equal, "different": tally.different, "explained": tally.explained,
                "stopped": tally.stopped}
    if arguments.json:
        arguments.json.write_text(json.dumps(told, indent=1, default=list))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
