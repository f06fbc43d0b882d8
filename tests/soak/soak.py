"""Injects random faults into short trainings of all workloads on a real Slurm of several nodes.

For each fault: the reference is an undisturbed training with the same seed. The fault happens at a random moment. The
job must end in time with its log closed and no wrong result. The next run must give the same bits as the reference and
leave nothing behind.

  soak.py --trainmark build/check/trainmark --faults 200 --seed 1 --work /tmp/soak
  soak.py --trainmark build/check/trainmark --seed 1 --only 17 --work /tmp/soak    # that fault again, files kept
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback

import faults
import trainings
from cluster import SKIPPED, Cluster, can_run, comes
from jobs import Job, Layout

NODES = 4
LAUNCHERS = ("mpirun", "srun")
SCRATCH = "/tmp/scratch"
# Age from which later runs remove memory segments of dead ranks (docs/faults.md).
SEGMENT_AGE_S = 30.0
SWEPT_FROM = 20  # least number of faults after which the removal of segments is tested

LAYOUTS = (Layout(1, 1, 1), Layout(1, 2, 2), Layout(2, 1, 2), Layout(3, 1, 3), Layout(4, 1, 4))

class Case:
    """A fault, the training that it disturbs, and the problems found."""

    def __init__(self, soak, number, fault=None, workload=None, layout=None, launcher=None):
        self.soak, self.cluster, self.number = soak, soak.cluster, number
        self.rng = random.Random(f"{soak.seed}-{number}")
        self.fault = fault or self.rng.choice(faults.ALL)()
        self.workload = workload or self.rng.choice(trainings.WORKLOADS)
        self.launcher = launcher or self.rng.choice(LAUNCHERS)
        layouts = list(LAYOUTS)
        self.rng.shuffle(layouts)
        for self.layout in [layout] if layout else layouts:
            if self.fault.suits(self):
                break
        self.nodes = sorted(self.rng.sample(range(1, NODES + 1), self.layout.nodes))
        self.moment = self.rng.uniform(0.02, 0.85)
        self.victim, self.hit_node, self.damaged_checkpoint = None, None, None
        self.cut_node = None
        self.scratch, self.small_disk = SCRATCH, soak.small_disk
        self.problems, self.notes = [], []
        self.run = None
        self.folder = soak.work / f"case-{number}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        on_small = getattr(self.fault, "results_on_small_disk", False)
        results = (self.small_disk / f"case-{number}") if on_small else self.folder / "results"
        self.results_root = results
        self.config = trainings.configuration(self.workload, soak.data, results, SCRATCH)
        self.config_path = self.folder / "config.json"
        self.config_path.write_text(json.dumps(self.config, indent=1))
        self.results = trainings.Results(self.config)

    def __str__(self):
        return (f"{self.number}: {self.fault.name}; {self.workload}, {self.launcher}, {self.layout.ranks} ranks on "
                f"{','.join(map(str, self.nodes))}, at {self.moment:.2f}")

    # The interface for faults.

    @property
    def job(self):
        return self.run.job

    def note(self, text):
        self.notes.append(text)

    def problem(self, text):
        self.problems.append(text)

    def processes(self):
        return self.run.processes()

    def staying(self):
        """Processes that must still end. The launcher's on a node that is cut off do not count: they wait for a message
        from Slurm, which cannot arrive before the network is back."""
        return [process for process in self.processes()
                if process.name == "trainmark" or not self.cut_node or not self.cluster.is_on(process, self.cut_node)]

    def has_ended(self):
        return self.run.has_ended()

    def ranks(self):
        return self.run.ranks()

    def launcher_process(self):
        return self.run.launcher_process()

    def is_training(self):
        numbers = self.results.numbers()
        if not numbers:
            return False
        log = self.results.log(numbers[-1])
        return log.has("run_start") and log.stop is None

    def scratch_on(self, node):
        return self.cluster.root_of(node) / SCRATCH[1:]

    # The case itself.

    def start(self, number, options=()):
        return Job(self.cluster, self.soak.trainmark, self.folder, f"{self.soak.tag}-{self.number}", number, self.nodes, self.layout,
                   self.launcher, self.config_path, options)

    def go(self, reference):
        self.fault.before(self)
        self.run = self.start(1)
        if not comes(lambda: self.run.has_started() or self.has_ended(), 60, 0.05):
            return self.problem("the job did not start")
        self.wait_for_moment(reference)
        late = (self.run.code() is not None or self.has_ended()) and not self.fault.has_struck
        told = None if late else self.fault.strike(self)
        struck = time.monotonic()
        self.note(f"struck {told}" if told else "too late" if late else "nothing to strike")
        if told and not comes(lambda: not self.staying(), self.fault.gone_s, 0.2):
            left = [f"{p.name} {p.number}" for p in self.staying()]
            self.problem(f"after {self.fault.gone_s:.0f} s there are still {', '.join(left)}")
        self.note(f"gone after {time.monotonic() - struck:.1f} s")
        if not self.run.wait(120):
            self.problem(f"Slurm's job did not end: {self.cluster.job(self.job)['JobState']}")
        facts = self.cluster.job(self.job)
        self.note(f"exit {self.run.code()}, {facts['JobState']} {facts['ExitCode']}")
        self.check_end(told is not None, reference)
        if told or self.fault.has_struck:
            self.fault.after(self)
        if not comes(self.cluster.is_idle, 90, 0.5):
            return self.problem("nodes are not idle again")
        self.recover(reference)

    def wait_for_moment(self, reference):
        """Waits for `moment`, a fraction of the training: measured by time during the start, then by evaluations."""
        starting = 0.25
        if self.moment < starting:
            due = self.run.started_at() + self.moment / starting * min(reference.seconds, 3.0)
            comes(lambda: time.time() >= due, 60, 0.02)
            return
        done = (self.moment - starting) / (1 - starting) * len(reference.evaluations)

        def evaluations():
            numbers = self.results.numbers()
            return len(self.results.log(numbers[-1]).evaluations()) if numbers else 0

        comes(lambda: evaluations() >= done or self.run.code() is not None or self.has_ended(), 120, 0.05)

    def check_end(self, struck, reference):
        code = self.run.code()
        # MPI's start under srun sometimes fails by itself (see hosts.sh).
        failed_start = self.launcher == "srun" and "Segmentation fault" in self.run.errors()
        allowed = (self.fault.codes if struck else ()) + faults.UNDISTURBED
        script_lost = self.hit_node == self.nodes[0]
        if code not in allowed and not (script_lost and code is None) and not failed_start:
            self.problem(f"exit code {code}, expected one of {allowed}: {self.run.errors()[-600:]}")
        numbers = self.results.numbers()
        for number in numbers:
            self.check_log(number, struck, reference)
        if code == faults.TARGET_MISSED:
            self.check_result(numbers, reference)

    def check_result(self, numbers, reference):
        """Checks that results are complete and correct if the launcher reports that the run finished."""
        if not numbers or self.results.log(numbers[-1]).stop is None:
            self.problem("the run went through, but its log is lost or open")
        elif self.results.weights(numbers[-1]) != reference.weights:
            self.problem(f"the run went through, but result_{numbers[-1]}.weights.h5 is not there or not the same")

    def check_log(self, number, struck, reference):
        log = self.results.log(number)
        stop = log.stop
        may_stay_open = struck and (not self.fault.closes_log or not self.fault.spares_rank_0(self))
        may_stay_open = may_stay_open or not log.records  # the log was only just created
        if stop is None and not may_stay_open:
            last = log.records[-1]["key"] if log.records else "nothing"
            self.problem(f"{log.path.name}: no run_stop; its last record is {last}")
        if stop is not None and stop.get("status") != "success" and not stop.get("reason"):
            self.problem(f"{log.path.name}: run_stop without a reason")
        if stop is not None:
            self.note(f"reason: {stop.get('reason')}")
        if log.damaged and not may_stay_open:
            self.problem(f"{log.path.name}: {log.damaged} damaged lines")
        self.compare(log, reference)

    def compare(self, log, reference):
        for epoch, value in log.evaluations().items():
            if reference.evaluations.get(epoch) != value:
                self.problem(f"{log.path.name}: quality {value} in epoch {epoch}, undisturbed "
                             f"{reference.evaluations.get(epoch)}")
        if log.stop is not None and log.stop.get("status") == "success":
            self.problem(f"{log.path.name}: claims success")

    def recover(self, reference):
        """Checks that the next run, from a checkpoint if there is one, ends with the same bits."""
        options = ["--resume"] if self.results.checkpoints() else []
        for attempt in range(2, 6):
            before = self.results.numbers()
            run = self.start(attempt, options)
            if not run.wait():
                return self.problem(f"the next run ({' '.join(options)}) did not end")
            if run.code() == faults.TARGET_MISSED:
                break
            if self.launcher == "srun" and "Segmentation fault" in run.errors():
                self.note("srun's start failed by itself")
                continue
            if run.code() == faults.DATA and self.damaged_checkpoint and len(self.results.checkpoints()) == 1:
                self.note("the only checkpoint is damaged, and was refused")
                options = []
                self.damaged_checkpoint = None
                continue
            return self.problem(f"the next run ({' '.join(options)}) ended with {run.code()}: {run.errors()[-900:]}")
        else:
            return self.problem("the next run did not start")
        number = max(set(self.results.numbers()) - set(before), default=None)
        if number is None:
            return self.problem("the next run left no log")
        self.compare(self.results.log(number), reference)
        if self.results.weights(number) != reference.weights:
            self.problem(f"result_{number}.weights.h5 ({' '.join(options)}) differs from the undisturbed run's")
        self.note(f"next run {' '.join(options) or 'anew'}: same bits")
        self.check_left_behind()

    def check_left_behind(self):
        for node in self.nodes:
            scratch = self.scratch_on(node)
            left = sorted(path.name for path in scratch.iterdir()) if scratch.exists() else []
            if left:
                self.problem(f"node {node}: scratch holds {left}")
        # In a folder that became read-only between a checkpoint and the removal of an older one.
        unremoved = {pathlib.Path(path).name for path in re.findall(r"cannot remove: [^[]*\[([^]]+)\]", self.run.errors())}
        for name in self.results.stray_files(self.damaged_checkpoint, unremoved):
            self.problem(f"results hold {name}")

    def clear(self):
        """Removes all traces of this case, so that it does not affect the next."""
        for process in self.run.processes() if self.run else []:
            process.kill(9)
        for node in range(1, NODES + 1):
            if self.cluster.init_of(node) is None:
                self.cluster.node(node, "start")
            shutil.rmtree(self.scratch_on(node), ignore_errors=True)
        if self.results_root.is_relative_to(self.small_disk):
            shutil.rmtree(self.results_root, ignore_errors=True)
        comes(self.cluster.is_idle, 60, 0.5)


class Reference:
    """The undisturbed training of a workload on a layout."""

    def __init__(self, soak, workload, layout):
        class Nothing(faults.Fault):
            name = "none"

        case = Case(soak, f"reference-{workload}-{layout.nodes}x{layout.per_node}", Nothing(), workload, layout,
                    "mpirun")
        case.run = case.start(1)
        if not case.run.wait() or case.run.code() != faults.TARGET_MISSED:
            raise RuntimeError(f"the undisturbed training ended with {case.run.code()}: {case.run.errors()}")
        self.seconds = case.run.seconds()
        self.evaluations = case.results.log(1).evaluations()
        self.weights = case.results.weights(1)
        case.check_left_behind()
        if case.problems:
            raise RuntimeError(f"the undisturbed training: {case.problems}")


class Soak:
    def __init__(self, options):
        self.seed = options.seed
        self.work = pathlib.Path(options.work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        # A copy that all nodes see and that no build replaces during the soak.
        self.trainmark = self.work / "trainmark"
        shutil.copy(options.trainmark, self.trainmark)
        self.data = self.work / "data"
        self.small_disk = self.work / "small"
        self.small_disk.mkdir(exist_ok=True)
        self.tag = f"{os.getpid()}"
        self.cluster = Cluster(os.path.abspath(options.hosts), options.state, NODES, [self.work, self.small_disk])
        self.references = {}
        self.report = open(self.work / "report.jsonl", "a", encoding="utf-8")

    def __enter__(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(self.small_disk)], check=True)
        trainings.generate(self.trainmark, self.data)
        self.cluster.start()
        return self

    def __exit__(self, *_):
        self.cluster.stop()
        subprocess.run(["umount", "-l", str(self.small_disk)], check=False)

    def reference(self, workload, layout):
        key = (workload, layout)
        if key not in self.references:
            self.references[key] = Reference(self, workload, layout)
        return self.references[key]

    def one(self, case):
        """Runs a case. Returns whether it found no problem."""
        began = time.monotonic()
        try:
            case.go(self.reference(case.workload, case.layout))
        except Exception:  # a failure of the harness proves nothing, so it is a problem
            case.problem(traceback.format_exc())
        if case.problems and case.run is not None:
            case.note(f"files: {case.folder}")
        case.clear()
        line = {"case": str(case), "seconds": round(time.monotonic() - began, 1), "problems": case.problems,
                "notes": case.notes}
        self.report.write(json.dumps(line) + "\n")
        self.report.flush()
        verdict = "FAULT" if case.problems else "ok"
        print(f"{verdict:5} {case} ({line['seconds']} s): {'; '.join(case.notes)}", flush=True)
        for problem in case.problems:
            print(f"      {problem}", flush=True)
        if not case.problems:
            shutil.rmtree(case.folder, ignore_errors=True)
        return not case.problems

    def segments_are_swept(self):
        """Checks that a later run removes memory segments of ranks that died."""
        time.sleep(SEGMENT_AGE_S + 1)
        self.references.clear()
        Reference(self, "dlrm", LAYOUTS[-1])
        left = {}
        for node in range(1, NODES + 1):
            names = sorted(os.listdir(self.cluster.root_of(node) / "dev/shm"))
            if names:
                left[node] = names
        if left:
            print(f"FAULT /dev/shm after a last run: {left}", flush=True)
        return not left


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--trainmark", required=True, help="the program")
    parser.add_argument("--hosts", default=str(here.parent / "slurm/hosts.sh"), help="the harness of the cluster")
    parser.add_argument("--state", default="/tmp/slurm-soak", help="where the cluster keeps its state")
    parser.add_argument("--work", required=True, help="a folder for data, results and the report")
    parser.add_argument("--faults", type=int, default=8, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the fault of that number alone")
    parser.add_argument("--kind", default="", help="faults of that kind alone: a part of its name")
    parser.add_argument("--without", action="append", default=[], help="no faults of that kind; may be given again")
    parser.add_argument("--workload", action="append", default=[], help="of that alone; may be given again")
    parser.add_argument("--ranks", type=int, help="of jobs with so many ranks alone")
    return parser.parse_args()


def is_wanted(case, options):
    """Whether the options select the case. Cases left out keep their numbers, so the others do not change."""
    return (options.kind in case.fault.name and case.fault.name not in options.without
            and (not options.workload or case.workload in options.workload)
            and options.ranks in (None, case.layout.ranks))


def cases(soak, options):
    if options.only is not None:
        yield Case(soak, options.only)
        return
    drawn = 0
    for number in range(options.first, 1 << 30):
        if drawn == options.faults:
            return
        case = Case(soak, number)
        if not is_wanted(case, options):
            shutil.rmtree(case.folder)
            continue
        drawn += 1
        yield case


def main():
    options = arguments()
    if not can_run(options.hosts):
        return SKIPPED
    # These signals also end the cluster.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    failed, done = [], 0
    with Soak(options) as soak:
        for case in cases(soak, options):
            done += 1
            if not soak.one(case):
                failed.append(case.number)
        # Takes half a minute, so only after many faults.
        if done >= SWEPT_FROM and not soak.segments_are_swept():
            failed.append("shared memory")
    print(f"{done} faults, {len(failed)} not as they must be{': ' if failed else ''}{', '.join(map(str, failed))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
