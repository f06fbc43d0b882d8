"""Jobs of the soak's cluster, each with one run of the program."""

import collections
import time

from cluster import comes, processes

CASE_VARIABLE = "TRAINMARK_SOAK_CASE"
# Names of the processes of a job. The script's shell is not among them: Slurm ends it.
PROGRAMS = ("trainmark", "mpirun", "orted", "orterun", "srun")
# Timeout of MPI's start, which takes a few seconds on a busy machine.
MPI_TIMEOUT_S = 30
Layout = collections.namedtuple("Layout", "nodes per_node ranks")

SCRIPT = """#!/bin/bash
export {variable}={tag} SLURM_PMIX_DIRECT_CONN=false OMP_NUM_THREADS=1
code_file={folder}/code.{number}
rm -f "$code_file"
{command} >{folder}/out.{number} 2>{folder}/err.{number} &
launcher=$!
# Slurm signals the script as well, and ends what is left as soon as it has ended.
trap : TERM
date +%s.%N >{folder}/started.{number}
while kill -0 "$launcher" 2>/dev/null; do wait "$launcher"; done
wait "$launcher"
code=$?
echo "$code" >"$code_file"
exit "$code"
"""


class Job:
    """One run of the program in its own job. `tag` is in the environment of all of its processes."""

    def __init__(self, cluster, trainmark, folder, tag, number, nodes, layout, launcher, config, options=()):
        self.cluster, self.folder, self.tag, self.launcher = cluster, folder, tag, launcher
        self.number, self.config = number, str(config).encode()
        self.ended, self.asked_s = False, 0.0
        program = f"{trainmark} run {config} --mpi-timeout {MPI_TIMEOUT_S} {' '.join(options)}"
        if launcher == "mpirun":
            command = f"mpirun --map-by ppr:{layout.per_node}:node --bind-to none {program}"
        else:
            command = f"srun --mpi=pmix -K1 --cpu-bind=none {program}"
        script = folder / f"job.{number}.sh"
        script.write_text(SCRIPT.format(variable=CASE_VARIABLE, tag=tag, folder=folder, number=number, command=command))
        self.job = self.cluster.submit(script, "--no-requeue", "-N", str(layout.nodes), "-w",
                                       ",".join(f"node{node}" for node in nodes), "--ntasks-per-node",
                                       str(layout.per_node), "-t", "10", "-o", f"{folder}/slurm.{number}", "-D",
                                       str(folder))

    def has_started(self):
        path = self.folder / f"started.{self.number}"
        return path.exists() and path.read_text().endswith("\n")

    def started_at(self):
        return float((self.folder / f"started.{self.number}").read_text())

    def seconds(self):
        """Seconds from the start of the script to the end of the launcher."""
        return (self.folder / f"code.{self.number}").stat().st_mtime - self.started_at()

    def code(self):
        """Exit code of the launcher; None if the script ended before it."""
        path = self.folder / f"code.{self.number}"
        text = path.read_text().strip() if path.exists() else ""
        # Bash sometimes reports srun's 255 as -1.
        return int(text) % 256 if text else None

    def errors(self):
        path = self.folder / f"err.{self.number}"
        return path.read_text(errors="replace") if path.exists() else ""

    def processes(self):
        return processes(lambda process: process.name in PROGRAMS and process.variable(CASE_VARIABLE) == self.tag)

    def ranks(self):
        """The program's processes by rank."""
        return {int(process.variable("PMIX_RANK")): process for process in self.processes()
                if process.name == "trainmark" and process.variable("PMIX_RANK") is not None}

    def launcher_process(self):
        found = [process for process in self.processes() if process.name == self.launcher
                 and self.config in process.command]
        return min(found, key=lambda process: process.number) if found else None

    def has_ended(self):
        """Whether Slurm reports the end of the job. Asks Slurm at most once a second."""
        if not self.ended and time.monotonic() - self.asked_s > 1.0:
            self.ended = self.cluster.has_ended(self.job)
            self.asked_s = time.monotonic()
        return self.ended

    def wait(self, seconds=180.0):
        if not comes(self.has_ended, seconds):
            self.cluster.run("scancel", "--signal=KILL", "--full", self.job)
            return False
        return True
