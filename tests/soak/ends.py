"""Tests how jobs end that lose a rank or a node, under a real Slurm, as docs/faults.md describes.

Each time: all ranks end in time; the launcher ends with the documented exit code, and Slurm reports the same; the log
is closed with a reason that names the lost rank or host; and the next run continues.

  ends.py --trainmark build/check/trainmark --work build/slurm-ends
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import trainings
from cluster import SKIPPED, Cluster, can_run, comes
from jobs import Job, Layout

SYSTEM, TARGET_MISSED = 4, 6
TWO_NODES = Layout(2, 1, 2)
KILLED = 137
AT_ONCE = 3


class End:
    """A training on two nodes, rank 0 on the first, that runs until a fault ends it."""

    def __init__(self, name, launcher, strike, gone_s, code, states, named=(), mend=None):
        """`strike(self)` is called after the first checkpoint. `named`: words in the log's reason, None if rank 0 is
        lost; {other} is the second node. `mend(self)` repairs the cluster."""
        self.name, self.launcher, self.strike, self.mend = f"{name} under {launcher}", launcher, strike, mend
        self.gone_s, self.code, self.states, self.named = gone_s, code, states, named
        self.failures = []

    def expect(self, holds, what):
        if not holds:
            self.failures.append(f"{self.name}: {what}")
            print(f"FAILED {self.failures[-1]}", flush=True)

    def check(self, cluster, trainmark, work, nodes):
        self.cluster, self.trainmark, self.nodes = cluster, trainmark, nodes
        self.folder = work / self.name.replace(" ", "-")
        self.folder.mkdir()
        self.scratch = "/tmp/scratch"
        endless = trainings.configuration("cosmoflow", work / "data", self.folder / "results", self.scratch)
        endless["epochs"] = 100000
        self.results = trainings.Results(endless)
        began = time.monotonic()
        for attempt in (1, 5, 6):
            self.job = self.start(attempt, endless)
            comes(lambda: self.results.checkpoints() or self.job.has_ended(), 120)
            # Starts under srun sometimes fail by themselves (see hosts.sh).
            if self.launcher != "srun" or not self.job.has_ended() or "Segmentation fault" not in self.job.errors():
                break
        if not self.results.checkpoints() or self.job.has_ended():
            return self.expect(False, f"the training did not begin: {self.job.errors()[-500:]}")
        self.strike(self)
        struck = time.monotonic()
        self.expect(comes(lambda: not self.ranks_alive(), self.gone_s), f"ranks are there after {self.gone_s} s")
        ranks_s = time.monotonic() - struck
        self.expect(comes(self.job.has_ended, 90, 0.3), "the job does not end")
        ended_s = time.monotonic() - struck
        self.check_words()
        print(f"{self.name}: ranks gone after {ranks_s:.1f} s, job after {ended_s:.1f} s, exit code {self.job.code()}, "
              f"{self.state()}; reason: {self.reason()}", flush=True)
        if self.mend:
            self.mend(self)
        self.expect(comes(lambda: cluster.is_idle(nodes), 60, 0.3), "nodes are not idle again")
        self.goes_on(endless)
        print(f"{self.name}: {time.monotonic() - began:.1f} s", flush=True)

    def start(self, number, config, options=()):
        file = self.folder / f"config.{number}.json"
        file.write_text(json.dumps(config))
        return Job(self.cluster, self.trainmark, self.folder, f"ends-{os.getpid()}-{self.nodes[0]}-{number}", number,
                   self.nodes, TWO_NODES, self.launcher, file, options)

    def ranks_alive(self):
        return [process for process in self.job.processes() if process.name == "trainmark"]

    def state(self):
        facts = self.cluster.job(self.job.job)
        return f"{facts['JobState']} {facts['ExitCode']}"

    def reason(self):
        stop = self.results.log(1).stop
        return stop.get("reason", "") if stop else None

    def check_words(self):
        self.expect(self.job.code() in self.code,
                    f"exit code {self.job.code()}, expected {self.code}: {self.job.errors()[-800:]}")
        self.expect(self.state() in self.states, f"Slurm tells {self.state()}, expected {self.states}")
        # sacct -c shows the same, once Slurm has written it.
        self.expect(comes(lambda: self.state().split()[0] in self.told_by_sacct(), 20, 0.5),
                    f"sacct tells {self.told_by_sacct()}, scontrol {self.state()}")
        if self.named is None:
            return
        reason = self.reason()
        self.expect(reason is not None, "the log has no run_stop")
        for word in self.named:
            word = word.format(other=f"node{self.nodes[1]}")
            self.expect(reason and word in reason, f"the log's reason does not name {word}: {reason}")

    def told_by_sacct(self):
        return self.cluster.run("sacct", "-c", "-n", "-P", "-j", self.job.job, "-o", "State").strip()

    def goes_on(self, config):
        """Checks that the next run resumes, ends, and leaves nothing behind."""
        last = self.results.checkpoints()[0].name
        config["epochs"] = int(last.split("_step_")[1].split(".")[0]) // 4 + 3
        for attempt in (2, 3, 4):
            run = self.start(attempt, config, ["--resume", "--set", "checkpoint.every_steps=100000"])
            self.expect(run.wait(90), "the next run does not end")
            # Starts under srun sometimes fail by themselves (see hosts.sh).
            if "Segmentation fault" not in run.errors():
                break
        self.expect(run.code() == TARGET_MISSED, f"the next run ended with {run.code()}: {run.errors()[-800:]}")
        for node in self.nodes:
            scratch = self.cluster.root_of(node) / self.scratch[1:]
            left = [path.name for path in scratch.iterdir()] if scratch.exists() else []
            self.expect(not left, f"node {node}: scratch holds {left}")
        self.expect(not self.results.stray_files(), f"results hold {self.results.stray_files()}")


def kill_rank(end):
    end.job.ranks()[1].kill(signal.SIGKILL)


def node(which, what):
    """A strike on the first (0) or second (1) node of an end."""
    return lambda end: end.cluster.node(end.nodes[which], what)


LOST_NODE = ["rank 1 (host {other}", "has not been heard of"]
# Rank 0 kills an mpirun that waits for the lost node (137). mpirun 4.1.4 sometimes crashes by itself (139) or gives up
# (205, 244). Its exit code is 0 if Slurm ends it at the moment in which rank 0 ends.
LOST_CODES = (SYSTEM, KILLED, 139, 205, 244)


def slurm_major():
    """22 of "slurm 22.05.8" or "slurm-wlm 22.05.8"; 0 without Slurm, where nothing here runs."""
    try:
        told = subprocess.run(["slurmd", "-V"], capture_output=True, text=True,
                              env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"}).stdout
    except FileNotFoundError:
        return 0
    return int(told.split()[1].split(".")[0])


# Slurm 24.11 gives a lost node's job, and its srun if Slurm detects the loss before rank 0 does, other codes than 22.05.
NODE_LOST, SRUN_LOST, SRUN_NODE_LOST = (("NODE_FAIL 0:1", 1, "NODE_FAIL 0:1") if slurm_major() >= 24 else
                                        ("NODE_FAIL 0:0", 255, "NODE_FAIL 255:0"))
ENDS = [
    End("rank 1 killed", "mpirun", kill_rank, 15, (KILLED,), ("FAILED 137:0",), ["rank 1 (host {other}"]),
    End("rank 1 killed", "srun", kill_rank, 15, (KILLED,), ("FAILED 137:0",), ["rank 1 (host {other}"]),
    End("node 2 killed", "mpirun", node(1, "kill"), 25, (*LOST_CODES, 0, None),
        ("NODE_FAIL 0:0", *(f"{state} {code}:0" for state in ("NODE_FAIL", "FAILED") for code in LOST_CODES)), LOST_NODE,
        node(1, "start")),
    End("node 1 killed", "mpirun", node(0, "kill"), 25, (None,), (NODE_LOST,), None, node(0, "start")),
    End("node 2 cut", "srun", node(1, "cut"), 25, (SYSTEM, SRUN_LOST),
        ("FAILED 4:0", "NODE_FAIL 4:0", SRUN_NODE_LOST), LOST_NODE, node(1, "join")),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--trainmark", required=True, help="the program")
    parser.add_argument("--hosts", default=str(here.parent / "slurm/hosts.sh"), help="the harness of the cluster")
    parser.add_argument("--state", default="/tmp/slurm-ends", help="where the cluster keeps its state")
    parser.add_argument("--work", required=True, help="a folder for data and results")
    parser.add_argument("--only", default="", help="checks whose name holds that")
    options = parser.parse_args()
    if not can_run(options.hosts):
        return SKIPPED
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    work = pathlib.Path(options.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    trainmark = work / "trainmark"
    shutil.copy(options.trainmark, trainmark)
    trainings.generate(trainmark, work / "data")
    ends = [end for end in ENDS if options.only in end.name]
    cluster = Cluster(options.hosts, options.state, 2 * len(ends), [work], ["SlurmdTimeout=5"])
    cluster.start()
    try:
        # Each check mostly waits, for timeouts and for Slurm.
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            checks = [pool.submit(end.check, cluster, trainmark, work, (2 * i + 1, 2 * i + 2))
                      for i, end in enumerate(ends)]
        for check in checks:
            check.result()
    finally:
        cluster.stop()
    failures = sum(len(end.failures) for end in ends)
    print(f"{failures} expectations failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
