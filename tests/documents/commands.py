#!/usr/bin/env python3
"""Checks the commands that README.md, the pages of docs/ and workloads/ and all --help texts show, and the links between pages.

  commands.py TRAINMARK SOURCE

Each command of trainmark is started in a scratch folder as it stands: without mpirun, `run` with --dry-run, nothing submitted. It must
not end with a usage error (exit code 2) within seconds; one that still works then is stopped. Other commands must name scripts,
presets, targets and options that there are. Lines that are no commands (output, configuration) are passed over.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

USAGE = 2
SECONDS = 4.0  # a usage error shows at once
PROGRAMS = ("trainmark", "build/release/trainmark", "build/check/trainmark", "build/analysis/trainmark")
#: Usage errors that are not the command's: a file that an earlier step makes, an instruction set that this CPU lacks, ranks.
NOT_HERE = re.compile(r"\.json: (cannot open|cannot be read|expected a regular file)|expected a CPU with |expected at least 2 ranks")
PLACEHOLDER = re.compile(r"^[A-Z_]{2,}(\.{3})?$|\.\.\.")  # FILE, NAME, "..."


def fenced_lines(page):
    """The lines of all fenced blocks with their numbers; those that end with a backslash are joined with the next."""
    inside, held, first = False, "", 0
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.strip().startswith("```"):
            inside, held = not inside, ""
        elif inside:
            first = first if held else number
            held += " " + line.strip()
            if held.endswith("\\"):
                held = held[:-1]
            else:
                yield first, held.strip()
                held = ""


def words_of(line):
    """The words of the commands on a line, without comments; [] where it is none."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;")
        lexer.whitespace_split, lexer.commenters = True, "#"
        return list(lexer)
    except ValueError:
        return []


def commands_of(line):
    """Each command of "A && B" as words, without leading assignments of the environment."""
    command = []
    words = words_of(line)
    if ">" in words:
        words = words[:words.index(">")]
    for word in words + ["&&"]:
        if word in ("&&", ";", "|", "||"):
            while command and re.match(r"^[A-Z_][A-Z_0-9]*=", command[0]):
                command = command[1:]
            if command:
                yield command
            command = []
        else:
            command.append(word)


def without_launcher(words):
    """The words from the program's on, where mpirun or srun stands before it."""
    if words[0] not in ("mpirun", "srun"):
        return words
    for i, word in enumerate(words):
        if word in PROGRAMS:
            return words[i:]
    return []


def trial(words):
    """How the command is tried: nothing is trained or submitted."""
    words = [word for word in words if word != "--submit"]
    if len(words) > 1 and words[1] == "run" and not {"--dry-run", "--trace"} & set(words):
        words.append("--dry-run")
    return words


def problem_of_trainmark(program, words, folder):
    words = [program] + trial(words)[1:]
    if any(PLACEHOLDER.search(word) for word in words[1:]):
        words = [program] + words[1:2] + ["--help"]  # what stands for something cannot be tried
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        os.symlink(pathlib.Path(SOURCE) / "configs", pathlib.Path(scratch) / "configs")
        try:
            ended = subprocess.run(words, cwd=scratch, env=environment, capture_output=True, text=True, errors="replace",
                                   stdin=subprocess.DEVNULL, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return ""
    if ended.returncode != USAGE or NOT_HERE.search(ended.stderr):
        return ""
    return f"usage error: {ended.stderr.strip()[-300:]}"


def problem_of_cmake(words):
    presets = json.loads((pathlib.Path(SOURCE) / "CMakePresets.json").read_text())
    names = {one["name"] for kind in ("configurePresets", "buildPresets") for one in presets[kind]}
    for flag, value in zip(words, words[1:]):
        if flag == "--preset" and value not in names:
            return f"no preset {value}"
    return ""


def problem_of_script(words):
    script = words[1] if words[0] in ("python3", "bash", "sh") else words[0]
    path = pathlib.Path(SOURCE) / script
    if not path.is_file():
        return f"no file {script}"
    text = path.read_text()
    for word in words[1:]:
        option = word.split("=")[0]
        if option.startswith("--") and option not in text:
            # Options of scripts that share their parser are told by --help.
            told = subprocess.run([str(path), "--help"] if os.access(path, os.X_OK) else ["python3", str(path), "--help"],
                                  capture_output=True, text=True, timeout=60, cwd=SOURCE)
            if option not in told.stdout + told.stderr:
                return f"{script} has no option {option}"
    return ""


def problem_of(program, words, folder):
    words = without_launcher(words)
    if not words:
        return ""
    for word in words:
        if word.startswith("configs/") and not (pathlib.Path(SOURCE) / word).exists():
            return f"no file {word}"
    if words[0] in PROGRAMS:
        return problem_of_trainmark(program, words, folder)
    if words[0] == "cmake":
        return problem_of_cmake(words)
    if words[0] in ("python3", "bash", "sh") and len(words) > 1 and not words[1].startswith("-"):
        return problem_of_script(words)
    if re.match(r"^(\./)?(quickstart|check)$|^(cmake|tests)/\S+\.(sh|py)$", words[0]):
        return problem_of_script([words[0].removeprefix("./")] + words[1:])
    return ""


def is_command(words):
    return bool(words) and (words[0] in PROGRAMS or words[0] in ("mpirun", "srun", "cmake", "python3", "bash", "./quickstart", "./check")
                            or re.match(r"^(cmake|tests)/\S+\.(sh|py)$", words[0]))


def help_text(command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout


def section(text, title):
    """The indented lines below a title of a --help text."""
    lines = text.split("\n")
    below = lines[lines.index(title) + 1:] if title in lines else []
    return list(itertools.takewhile(lambda line: line.startswith("  "), below))


def help_examples(program, command=("trainmark",)):
    """Each example of the command's --help and those of its subcommands, with the command that prints it."""
    text = help_text([program, *command[1:]])
    held = ""
    for line in section(text, "Example:") + section(text, "Examples:"):
        held += " " + line.strip()
        if held.endswith("\\"):
            held = held[:-1]
        else:
            yield " ".join(command), held.strip()
            held = ""
    for line in section(text, "Subcommands:"):
        if re.match(r"  \S", line):
            yield from help_examples(program, (*command, line.split()[0]))


def broken_links(page):
    """Links of the page to files that are not there, and names of files of results/reference that are not."""
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
            yield f"no file {target}"
    for name in re.findall(r"`([a-z0-9_-]+\.json)`", text):
        is_figure = re.match(r"(resnet50|dlrm|cosmoflow|deepcam|lars)_\w*(speed|memory|run|limit|network|time|split)", name)
        if is_figure and not (pathlib.Path(SOURCE) / "results/reference" / name).exists():
            yield f"no file results/reference/{name}"


def main():
    program = os.path.abspath(sys.argv[1])
    source = pathlib.Path(SOURCE)
    pages = [source / "README.md", source / "CONTRIBUTING.md", *sorted(source.glob("docs/*.md")), *sorted(source.glob("workloads/*/README.md"))]
    found = []
    for page in pages:
        for number, line in fenced_lines(page):
            found += [(page.relative_to(source), number, words) for words in commands_of(line) if is_command(words)]
    helped = set()
    for command, line in help_examples(program):
        helped.add(command)
        found += [(f"{command} --help", 0, words) for words in commands_of(line) if is_command(words)]
    for script in ("quickstart", "check"):
        text = help_text([source / script])
        examples = re.findall(r"^Example: (.*)", text, re.M) or [line.strip() for line in section(text, "Examples:")]
        found += [(f"{script} --help", 0, example.split()) for example in examples]
    problems = 0
    commands = list({tuple(words): words for _, _, words in found}.values())
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        tried = pool.map(lambda words: problem_of(program, words, folder), commands)
        problem_by_command = dict(zip(map(tuple, commands), tried))
    for page, number, words in found:
        if problem := problem_by_command[tuple(words)]:
            problems += 1
            print(f"{page}:{number}: {shlex.join(words)}: {problem}")
    for page in pages:
        for problem in broken_links(page):
            problems += 1
            print(f"{page.relative_to(source)}: {problem}")
    print(f"{len(found)} commands on {len(pages)} pages and in {len(helped)} help texts, {problems} with a problem")
    return 1 if problems or len(found) < 50 or len(helped) < 15 else 0


if __name__ == "__main__":
    SOURCE = os.path.abspath(sys.argv[2])
    sys.exit(main())
