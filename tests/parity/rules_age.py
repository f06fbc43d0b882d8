#!/usr/bin/env python3
"""Lists differences between our rules of submissions and those of a clone of mlcommons/logging.

    rules_age.py [MLCOMMONS_LOGGING] [--round training-6.1] [--configs configs]

Without MLCOMMONS_LOGGING, the environment variable TRAINMARK_MLCOMMONS_LOGGING names the clone.
Compares, for each round for which the clone has rules: the benchmarks listed in each division, the rule files, their
keys, how often each must occur, the figures and texts with which it is compared (except 0, 0.5 and 1, which formulas
spell differently), the tensors that must be initialized, the runs that a result takes, and the reference convergence
points. If the clone has its history, also lists the files that changed since the revision that our round follows.
Differences with a known reason (KNOWN) are listed with it.
Exit code 0: no difference without a reason; 1: at least one; 77: no clone.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import peer

NUMBER = r"(?<![\w.\]])\d[\d_]*\.?\d*(?:e[-+]?\d+)?"
# Round, a regular expression for whole lines of differences, and the reason why they are right.
DISCLOSED = "(lowest_numerical_precision_in_\\w+|\\w+_parallelism|micro_batch_size|config_filename)"
KNOWN = [
    ("training-0.6", r"minigo, (eval_result|init_stop): figures of ours alone: .*",
     "logs of 0.6 count seconds, ours milliseconds"),
    ("training-6.1", r".*dlrmv4.*", "pull request 470, which the clone lacks"),
    ("training-6.1", rf"common, {DISCLOSED}: .*(the clone asks for optional|of the clone alone: none)",
     "pull request 472, which the clone lacks"),
]
SPELLED_DIFFERENTLY = {0.0, 0.5, 1.0, 9e99}  # 9e99 means: no time yet


def read_json(path):
    """JSON with lines of // comments."""
    with open(path, encoding="utf-8") as file:
        return json.loads("".join(line for line in file if not line.lstrip().startswith("//")))


def expanded(pattern):
    """The names that a pattern such as a{1,2}_{3..5} stands for."""
    found = re.search(r"\{([^}]*)\}", pattern)
    if not found:
        return [pattern]
    names = []
    for item in found[1].split(","):
        if ".." in item:
            first, last = item.split("..")
            choices = [str(i) for i in range(int(first), int(last) + 1)]
        else:
            choices = [item]
        for choice in choices:
            names += expanded(pattern[:found.start()] + choice + pattern[found.end():])
    return names


def numbers_in(text):
    """Figures of a formula, without indices of lists and quoted text."""
    plain = re.sub(r"\[\d+\]|'[^']*'|\"[^\"]*\"|10\*\*", "", text)
    return {float(number.replace("_", "")) for number in re.findall(NUMBER, plain)}


class Ours:
    def __init__(self, configs):
        self.configs = configs
        self.rounds, self.files = {}, {}
        for usage in ("training", "hpc"):
            folder = os.path.join(configs, "rules", usage)
            self.rounds[usage] = read_json(os.path.join(folder, "rounds.json"))["rounds"]
            self.files[usage] = []
            for name in sorted(os.listdir(folder)):
                self.files[usage] += read_json(os.path.join(folder, name)).get("files", [])
        self.benchmarks = {one["name"]: one for one in read_json(os.path.join(configs, "benchmarks.json"))["benchmarks"]}

    def round(self, usage, number):
        return next((one for one in self.rounds[usage] if one["round"] == number), None)

    def holds(self, usage, number, dated):
        order = [one["round"] for one in self.rounds[usage]]
        here = order.index(number)
        if "since" in dated and here < order.index(dated["since"]):
            return False
        if "until" in dated and here > order.index(dated["until"]):
            return False
        return number not in dated.get("except", [])

    def rule_files(self, usage, number):
        """{file: {key: rule}} of a round."""
        files = {}
        for file in self.files[usage]:
            if not self.holds(usage, number, file):
                continue
            rules = files.setdefault(file["file"], {})
            for rule in file["rules"]:
                if self.holds(usage, number, rule):
                    rules.update({key: rule for key in expanded(rule["key"])})
        return files

    def target_numbers(self, benchmark, number):
        """All values of the target in a round, and the batch sizes that select them."""
        values = set()
        for one in self.benchmarks[benchmark]["evaluations"]:
            if "until" in one and version(number) > version(one["until"]):
                continue
            if "since" in one and version(number) < version(one["since"]):
                continue
            for part in one["target"]:
                values |= {float(part[side]) for side in ("at_least", "at_most", "above", "below") if side in part}
            if "batch_below" not in one:
                break
            values.add(float(one["batch_below"]))
        return values

    def constants(self, usage, number, file, rule):
        """Figures and texts with which a rule compares values."""
        figures, texts = set(), set()

        def take(value, name=""):
            if isinstance(value, dict):
                if "checks" not in value and not self.holds(usage, number, value):
                    return
                for key, item in value.items():
                    if key in ("since", "until", "except", "gathered", "then", "member", "key", "exactly_these",
                               "occurs", "times", "of", "has", "where_has", "after", "before", "minutes_since"):
                        continue
                    if key == "target":
                        benchmark = re.sub(r"^(closed|open)_", "", file)
                        figures.update(self.target_numbers(benchmark, number))
                    else:
                        take(item, key)
            elif isinstance(value, list):
                for item in value:
                    take(item, name)
            elif name in ("holds", "sets"):
                figures.update(numbers_in(value))
            elif isinstance(value, str):
                texts.add(value)
            elif not isinstance(value, bool):
                figures.add(float(value))

        take({**rule, "checks": rule.get("checks", [])})
        return figures, texts - {"boolean", "integer"}

    def points(self, benchmark, number):
        """{batch size: sorted points} in a round; None without a file."""
        path = os.path.join(self.configs, "submission", "rcp", benchmark + ".json")
        if not os.path.exists(path):
            return None
        return {point["batch_size"]: sorted(map(float, point["converged_after"]))
                for point in read_json(path)["points"] if number in point["rounds"]}

    def runs(self, benchmark, number):
        facts = self.benchmarks[benchmark]
        for earlier in facts.get("earlier_runs", []):
            if version(number) <= version(earlier["until"]):
                return earlier["runs"]
        return facts["runs"]


def version(number):
    return tuple(map(int, number.split(".")))


class Clone:
    def __init__(self, path):
        import yaml

        self.path = path
        self.checker = os.path.join(path, "mlperf_logging", "compliance_checker")
        self.yaml = yaml
        facts = {}
        with open(os.path.join(path, "mlperf_logging", "benchmark_meta.py"), encoding="utf-8") as file:
            exec(compile(file.read(), "benchmark_meta.py", "exec"), facts)
        self.counts = facts["_ALL_RESULT_FILE_COUNTS"]

    def rounds(self):
        found = [re.fullmatch(r"(training|hpc)_(\d+\.\d+)\.0", name) for name in os.listdir(self.checker)]
        return sorted((one[1], version(one[2]), one[2]) for one in found if one)

    def rule_files(self, usage, number):
        """{file: (keys, tensors)} of a round."""
        folder = os.path.join(self.checker, f"{usage}_{number}.0")
        files = {}
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".yaml") or name == "score.yaml":
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                items = self.yaml.load(file, Loader=self.yaml.BaseLoader) or []
            keys = {one["KEY"]["NAME"]: one["KEY"] for one in items if "KEY" in one}
            tensors = None
            for one in items:
                if "initialized_tensors" in str(one.get("END", "")):
                    listed = re.search(r"sorted\(\[(.*)\]\)", one["END"]["CHECK"], re.S)[1]
                    tensors = set(re.findall(r"['\"]([^'\"]+)['\"]", listed))
            begin = next((one["BEGIN"]["CODE"] for one in items if "BEGIN" in one), "")
            files[name[:-len(".yaml")]] = keys, tensors, begin
        return files

    def points(self, usage, number):
        """{benchmark: {batch size: sorted points}}"""
        folder = os.path.join(self.path, "mlperf_logging", "rcp_checker", f"{usage}_{number}.0")
        points = {}
        if not os.path.isdir(folder):
            return points
        for name in sorted(os.listdir(folder)):
            if not (found := re.fullmatch(r"rcps_(\w+)\.json", name)):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                records = json.load(file)
            points[found[1]] = {}
            for record in records.values():
                member = next(key for key in record if key.lower().endswith("to converge"))
                points[found[1]][record["BS"]] = sorted(map(float, record[member]))
        return points

    def changed_since(self, revision, folder):
        done = subprocess.run(["git", "-C", self.path, "diff", "--name-only", revision, "HEAD", "--", folder],
                              capture_output=True, text=True, check=False)
        return done.stdout.split() if done.returncode == 0 else []


def occurrence(key):
    required = key.get("REQ", "")
    if required.startswith("AT_LEAST("):
        return "at_least " + re.search(r"\d+", required)[0]
    if required.startswith("AT_LEAST_ONE_OR"):
        return "at_least_one_of"
    return {"EXACTLY_ONE": "exactly_one", "AT_LEAST_ONE": "at_least_one", "OPTIONAL": "optional", "": "any"}[required]


def our_occurrence(rule):
    occurs = rule.get("occurs", "any")
    return f"at_least {rule['times']}" if occurs == "at_least" else occurs


def their_constants(key, keys, begin):
    """Figures and texts in a key's code. Names that BEGIN sets to figures count as these figures; limits that depend on
    the division count with both values."""
    figures, texts = set(), set()
    code = []
    for member in ("CHECK", "FIRST_CHECK", "ATLEAST_ONE_CHECK", "POST"):
        value = key.get(member, [])
        code += value if isinstance(value, list) else [value]
    for text in code:
        if "compile_time_mins" in text and key["NAME"] == "init_stop":
            figures |= numbers_in(keys["submission_division"]["POST"].split("compile_time_mins'] =")[1])
            text = ""
        for name in re.findall(r"s\['(\w+)'\](?! *=[^=])", text):
            if found := re.search(rf"'{name}' *: *({NUMBER})", begin):
                figures |= numbers_in(found[1])
        bare = re.sub(r"#.*|enqueue_config\(.*?\)\)?;?|s\['compile_time_mins'\] = .*|\[?'\w+'\]? in v(\['\w+'\]|$)|\['\w+'\]|float\('inf'\)", "", text)
        texts |= set(re.findall(r"'([^']*)'", bare))
        minutes = re.search(r"\((\d+)\*60(?:\*1e3)?\)", bare)
        figures |= {float(minutes[1])} if minutes else numbers_in(bare)
    return figures, texts


def compare_round(ours, clone, usage, number):
    """A line for each difference."""
    facts = ours.round(usage, number)
    if facts is None:
        return ["the clone has rules for this round, ours are none"]
    if "no_rules_because" in facts:
        return ["the clone has rules for this round, ours: " + facts["no_rules_because"]]
    lines = []
    theirs, files = clone.rule_files(usage, number), ours.rule_files(usage, number)
    for division in ("closed", "open"):
        lines += compare_benchmarks(facts, theirs, division)
    for name in sorted(set(theirs) | set(files)):
        if name not in files:
            lines.append(f"no file {name}")
        elif name not in theirs:
            lines.append(f"the clone has no file {name}")
        else:
            lines += compare_files(ours, usage, number, name, files[name], theirs[name])
    for benchmark in facts["benchmarks"] + facts.get("closed_benchmarks", []):
        counted = clone.counts[usage].get(benchmark)
        if counted != ours.runs(benchmark, number):
            lines.append(f"{benchmark}: {ours.runs(benchmark, number)} runs, the clone has {counted}")
    lines += compare_points(ours, clone, usage, number)
    if revision := re.search(r"mlcommons/logging ([0-9a-f]{7,})", facts.get("source", "")):
        for part in ("compliance_checker", "rcp_checker"):
            folder = f"mlperf_logging/{part}/{usage}_{number}.0"
            lines += [f"changed since {revision[1]}: {path}" for path in clone.changed_since(revision[1], folder)]
    return lines


def compare_benchmarks(facts, theirs, division):
    name = division + "_common"
    if name not in theirs:
        return []
    listed = set(re.findall(r"'(\w+)'", theirs[name][0]["submission_benchmark"]["CHECK"].split(" in ")[1]))
    own = set(facts["benchmarks"] + (facts.get("closed_benchmarks", []) if division == "closed" else []))
    return [f"{division}: {'only the clone' if one in listed else 'ours alone'} lists {one}" for one in sorted(listed ^ own)]


def compare_files(ours, usage, number, name, own, theirs):
    keys, tensors, begin = theirs
    lines = []
    for key in sorted(set(keys) | set(own)):
        where = f"{name}, {key}"
        if key not in own or key not in keys:
            lines.append(f"{where}: {'only the clone has' if key in keys else 'ours alone have'} a rule")
            continue
        if our_occurrence(own[key]) != occurrence(keys[key]):
            lines.append(f"{where}: {our_occurrence(own[key])}, the clone asks for {occurrence(keys[key])}")
        if key != "submission_benchmark":  # its list was compared above
            compared = ours.constants(usage, number, name, own[key]), their_constants(keys[key], keys, begin)
            lines += compare_constants(where, *compared)
        if "exactly_these" in own[key]:
            names = {one for pattern in own[key]["exactly_these"]["names"] for one in expanded(pattern)}
            if names != (tensors or set()):
                lines.append(f"{where}: {len(names ^ (tensors or set()))} names of tensors differ")
        elif key == "weights_initialization" and tensors:
            lines.append(f"{where}: the clone asks for {len(tensors)} tensors")
    return lines


def compare_constants(where, own, theirs):
    lines = []
    for i, kind in enumerate(("figures", "texts")):
        ours_alone = own[i] - theirs[i] - SPELLED_DIFFERENTLY
        clones_alone = theirs[i] - own[i] - SPELLED_DIFFERENTLY
        if ours_alone or clones_alone:
            shown = [", ".join(map(repr, sorted(one))) or "none" for one in (ours_alone, clones_alone)]
            lines.append(f"{where}: {kind} of ours alone: {shown[0]}; of the clone alone: {shown[1]}")
    return lines


def compare_points(ours, clone, usage, number):
    lines = []
    for benchmark, points in clone.points(usage, number).items():
        own = ours.points(benchmark, number)
        if own is None:
            lines.append(f"{benchmark}: no reference points, the clone has {len(points)}")
            continue
        for batch in sorted(set(points) | set(own)):
            if batch not in own or batch not in points:
                lines.append(f"{benchmark}: {'only the clone has' if batch in points else 'ours alone have'} points at batch size {batch}")
            elif own[batch] != points[batch]:
                lines.append(f"{benchmark}: the points at batch size {batch} differ")
    return lines


def reason_of(name, line):
    """Why a difference of a round is right; None if unknown."""
    return next((why for known, lines, why in KNOWN if known == name and re.fullmatch(lines, line)), None)


def tell(name, lines):
    """Prints a round's differences, and returns the number of those without a reason."""
    reasons = [reason_of(name, line) for line in lines]
    print(f"{name}: {len(lines) or 'no'} difference{'' if len(lines) == 1 else 's'}")
    for line, reason in zip(lines, reasons):
        print(f"  {line}" + (f" ({reason})" if reason else ""))
    return reasons.count(None)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("clone", metavar="MLCOMMONS_LOGGING", nargs="?",
                         default=os.environ.get("TRAINMARK_MLCOMMONS_LOGGING", ""))
    options.add_argument("--round", default="", help="one alone, training-6.1")
    configs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs")
    options.add_argument("--configs", default=os.path.normpath(configs))
    given = options.parse_args()
    if not given.clone:
        peer.skip("needs TRAINMARK_MLCOMMONS_LOGGING: a clone of mlcommons/logging")
    if not os.path.isdir(os.path.join(given.clone, "mlperf_logging", "compliance_checker")):
        peer.skip(f"{given.clone} is no clone of mlcommons/logging")
    ours, clone = Ours(given.configs), Clone(given.clone)
    total = 0
    for usage, _, number in clone.rounds():
        if given.round not in ("", f"{usage}-{number}"):
            continue
        total += tell(f"{usage}-{number}", compare_round(ours, clone, usage, number))
    print(f"{total} differences without a known reason")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
