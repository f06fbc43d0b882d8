#!/usr/bin/env python3
"""Breaks logs in every key and compares our verdicts with those of mlcommons/logging.

    rules_mutants.py MLCOMMONS_LOGGING LOG... [--program build/release/trainmark] [--round training-5.1]

MLCOMMONS_LOGGING is a clone of github.com/mlcommons/logging. Each LOG should pass its round, which is found in its
path unless --round is given. The records of each key are removed, changed, emptied, doubled and moved. Verdict and
failing keys of each mutant must be equal. If the official checker ends with an exception, ours must fail the log.
Exit code 0: no difference; 1: at least one; 77: no clone.
"""

import argparse
import json
import logging
import os
import re
import subprocess
import sys
import tempfile

TOKEN = ":::MLLOG "
SKIP = 77


class Official:
    """The compliance checker of a clone, called in this process. Caches its rule files."""

    def __init__(self, clone):
        sys.path.insert(0, clone)
        import yaml
        from mlperf_logging.compliance_checker import mlp_compliance

        read, kept = yaml.load, {}

        def load(stream, Loader):
            if stream.name not in kept:
                kept[stream.name] = read(stream, Loader=Loader)
            return kept[stream.name]

        mlp_compliance.yaml.load = load
        logging.disable(logging.CRITICAL)
        self.module = mlp_compliance

    def start(self, usage, number):
        """A checker for a round, and its first file of rules."""
        ruleset = number + ".0"
        return self.module.make_checker(usage, ruleset, True, False), f"{usage}_{ruleset}/common.yaml"

    def judge(self, path, usage, number):
        """(passes, keys named by messages, sets of keys of which one was required), or an exception's name."""
        checker, first_rules = self.start(usage, number)
        self.module.enqueued_configs.clear()
        try:
            passes = checker.check_file(path, first_rules)
        except Exception as error:
            return type(error).__name__
        keys, alternatives = set(checker.overwritable), []
        for message in checker.not_overwritable:
            if found := re.match(r"Failed checks for (\S+) : ", message):
                keys.add(found[1])
            elif message.startswith("Required AT_LEAST_ONE occurrence of '"):
                alternatives.append(set(re.findall(r"'(\w+)'", message)))
        return bool(passes), keys, alternatives


def same(official, ours):
    if isinstance(official, str):
        return ours[0] == "FAIL"
    passes, keys, alternatives = official
    verdict, failing = ours
    if (verdict == "SUCCESS") != passes:
        return False
    rest = set(failing)
    for names in alternatives:
        if not names & rest:
            return False
    extra = rest - keys
    return keys <= rest and all(any(key in names for names in alternatives) for key in extra)


def parse(line):
    at = line.rfind(TOKEN)
    if at < 0:
        return None
    try:
        record = json.loads(line[at + len(TOKEN):])
    except ValueError:
        return None
    return record if isinstance(record, dict) and "key" in record else None


def write(record):
    return TOKEN + json.dumps(record)


def other_values(value):
    """Values that may break a rule for this value."""
    values = [0, -1, 1, None, "text", "", True, False, [], [1, 2], {}, float("nan"), float("inf"), 0.5, 1e30]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        values += [value * 2, value + 1, value - 1, value * (1 + 1e-12), value * 1.01, str(value), -value]
        values += [float(value), [value], int(value) if abs(value) < 1e15 else 3]
    if isinstance(value, str):
        values += [value.upper(), value + " ", [value]]
    if isinstance(value, list) and value:
        values += [value[:-1], value + [7], ["x"] * len(value), [v * 1.5 if isinstance(v, float) else 3 for v in value]]
    if isinstance(value, dict):
        for name in value:
            values.append({k: v for k, v in value.items() if k != name})
            values += [{**value, name: other} for other in (0, None, 1e9, "x", -1)]
    return values


def mutants_of_key(records, key):
    """(name, records) of each mutant of a key. Records that are None stay."""
    at = [i for i, one in enumerate(records) if one and one["key"] == key]
    first, last = at[0], at[-1]

    def changed(places, change):
        return [change(dict(one)) if i in places else one for i, one in enumerate(records)]

    def with_value(value):
        return lambda one: {**one, "value": value}

    yield "without", [one for i, one in enumerate(records) if i not in set(at)]
    yield "without the first", records[:first] + records[first + 1:]
    yield "without the last", records[:last] + records[last + 1:]
    yield "twice", records[:first] + [records[first]] + records[first:]
    yield "at the end", [one for i, one in enumerate(records) if i != first] + [records[first]]
    yield "at the beginning", [records[last]] + [one for i, one in enumerate(records) if i != last]
    value = records[first].get("value")
    for n, other in enumerate(other_values(value)):
        yield f"value {n}: {other!r}", changed({first}, with_value(other))
        if len(at) > 1:
            yield f"values {n}: {other!r}", changed(set(at), with_value(other))
            yield f"last value {n}: {other!r}", changed({last}, with_value(other))
        if n < 6:
            yield f"second value {n}: {other!r}", records[:first + 1] + [{**records[first], "value": other}] + records[first + 1:]
            yield f"value {n} before: {other!r}", records[:first] + [{**records[first], "value": other}] + records[first:]
    for other in ({}, None, "epoch_num samples_count tensor", 5, [], ["epoch_num"]):
        yield f"metadata {other!r}", changed({first}, lambda one: {**one, "metadata": other})
        if len(at) > 1:
            yield f"all metadata {other!r}", changed(set(at), lambda one: {**one, "metadata": other})
    metadata = records[first].get("metadata")
    if isinstance(metadata, dict):
        for name in metadata:
            if name in ("file", "lineno"):
                continue
            yield f"no {name}", changed({first}, lambda one: {**one, "metadata": {k: v for k, v in metadata.items() if k != name}})
            yield f"no {name} at all", changed(set(at), lambda one: {**one, "metadata": {k: v for k, v in (one.get("metadata") or {}).items() if k != name}})
            for other in (0, -1, 7.5, None, "x", "12", [], 1e12):
                yield f"{name} {other!r}", changed({first}, lambda one: {**one, "metadata": {**metadata, name: other}})
    for shift in (-3600e3, 3600e3, 25 * 3600e3):
        yield f"{shift / 1e3} s later", changed({first}, lambda one: {**one, "time_ms": one["time_ms"] + shift})


def mutants(text, most):
    lines = re.split(r"\r\n|\n|\r", text)
    records = [record for line in lines if (record := parse(line))]
    keys = list(dict.fromkeys(record["key"] for record in records))
    yield "the log itself", records
    for key in keys:
        for n, (name, mutant) in enumerate(mutants_of_key(records, key)):
            if n < most:
                yield f"{key}: {name}", mutant


def round_of(path, given):
    if given:
        usage, number = given.split("-")
        return usage, number
    found = re.findall(r"(training|hpc)(?:_results)?_v?(\d+\.\d+)", path)
    if not found:
        sys.exit(f"{path}: its path names no round; give it by --round")
    return found[-1]


def compare(official, program, log, given, most, shown):
    usage, number = round_of(os.path.abspath(log), given)
    with open(log, encoding="latin-1", newline="") as file:
        text = file.read()
    count = different = crashes = 0
    with tempfile.TemporaryDirectory() as folder:
        names, expected = [], []
        for i, (name, records) in enumerate(mutants(text, most)):
            path = os.path.join(folder, f"result_{i}.txt")
            with open(path, "w", encoding="latin-1") as file:
                file.write("\n".join(write(record) for record in records) + "\n")
            names.append(name)
            expected.append(official.judge(path, usage, number))
        ours = judged(program, folder, f"{usage}-{number}")
        for i, name in enumerate(names):
            count += 1
            crashes += isinstance(expected[i], str)
            if same(expected[i], ours[f"result_{i}.txt"]):
                continue
            different += 1
            if different <= shown:
                print(f"  {name}\n    official: {expected[i]}\n    ours:     {ours[f'result_{i}.txt']}")
        passes = not isinstance(expected[0], str) and expected[0][0]
    print(f"{different} of {count} differ ({crashes} official crashes{'' if passes else ', and the log itself fails'}): {usage}-{number} {log}", flush=True)
    return count, different, crashes


def judged(program, folder, round_name):
    report = os.path.join(folder, "verdicts.json")
    done = subprocess.run([program, "check", folder, "--round", round_name, "--json", report], capture_output=True)
    if done.returncode not in (0, 5, 8):
        sys.exit(f"{program} check {folder}: exit code {done.returncode}: {done.stderr.decode()[-2000:]}")
    with open(report, encoding="utf-8") as file:
        files = json.load(file)["files"]
    return {os.path.basename(path): (one["verdict"], one["failing_keys"]) for path, one in files.items()}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("clone", metavar="MLCOMMONS_LOGGING")
    options.add_argument("logs", nargs="+", metavar="LOG")
    options.add_argument("--program", default="build/release/trainmark")
    options.add_argument("--round", default="")
    options.add_argument("--most", type=int, default=1000, help="mutants of a key")
    options.add_argument("--shown", type=int, default=10, help="differences told of a log")
    given = options.parse_args()
    if not os.path.isdir(os.path.join(given.clone, "mlperf_logging", "compliance_checker")):
        print(f"skipped: {given.clone} is no clone of mlcommons/logging")
        return SKIP
    official = Official(os.path.abspath(given.clone))
    totals = [0, 0, 0]
    for log in given.logs:
        for i, one in enumerate(compare(official, given.program, log, given.round, given.most, given.shown)):
            totals[i] += one
    print(f"mutants {totals[0]}, different {totals[1]}, official crashes {totals[2]}")
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
