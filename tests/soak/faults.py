"""Faults that a job may meet, each with what must hold when it has ended.

Hides how each is brought about from outside the job.
"""

import os
import pathlib
import shutil
import time

from cluster import SIGNALS, comes
from jobs import MPI_TIMEOUT_S

# Exit codes of the program.
SUCCESS, DATA, SYSTEM, TARGET_MISSED, STOPPED = 0, 3, 4, 6, 7
# What an undisturbed training of the soak ends with: its target is out of reach.
UNDISTURBED = (TARGET_MISSED,)
# mpirun tells 128 and the signal of a rank, and 1 where it was told to end; srun the same, and 143 where it ended the
# ranks itself.
KILLED_RANK = (137, 143)
MOST_FILLER_BYTES = 256 << 20


class Fault:
    """`strike` brings it about while the job runs; it may do nothing where the moment does not suit."""

    name = ""
    codes = UNDISTURBED  # that the launcher may end with once it struck
    gone_s = 40.0  # from the strike until no process of the job is left
    closes_log = True  # where rank 0 lives on
    has_struck = False  # before the job was submitted

    def suits(self, case):
        return True

    def before(self, case):
        """Before the job is submitted."""

    def strike(self, case):
        """What it did, in words; None when there was nothing to do it to."""
        raise NotImplementedError

    def after(self, case):
        """Mends what is no business of the next run."""

    def spares_rank_0(self, case):
        return case.victim != 0


class KillRank(Fault):
    name = "kill a rank"
    codes = KILLED_RANK
    gone_s = 25.0
    signal = "KILL"

    def strike(self, case):
        comes(lambda: len(case.ranks()) == case.layout.ranks or case.has_ended(), 20, 0.05)
        ranks = case.ranks()
        if not ranks:
            return None
        case.victim = case.rng.choice(sorted(ranks))
        ranks[case.victim].kill(SIGNALS[self.signal])
        return f"rank {case.victim}"


class StopRank(KillRank):
    name = "stop a rank"
    codes = (SYSTEM, 137, 143)
    gone_s = 40.0
    signal = "STOP"

    def suits(self, case):
        return case.layout.ranks > 1

    def strike(self, case):
        told = super().strike(case)
        if told and not case.is_training():
            # The limit of MPI's start, and the time until ranks of other hosts may speak.
            self.gone_s += MPI_TIMEOUT_S + 10.0
            told += ", while it started"
        return told


class KillLauncher(Fault):
    name = "kill the launcher"
    codes = (137,)
    closes_log = False  # nobody is left who would let ranks end well

    def strike(self, case):
        comes(lambda: case.launcher_process() or case.has_ended(), 20, 0.05)
        launcher = case.launcher_process()
        if launcher is None:
            return None
        launcher.kill(SIGNALS["KILL"])
        return launcher.name


class KillNode(Fault):
    name = "kill a node"
    # mpirun 4.1.4 itself may crash when it loses a node (139), or give up (205, 244). 255: srun saw it first. None: Slurm
    # ended the script before it could tell.
    codes = (SYSTEM, 1, 137, 139, 143, 205, 244, 255, None)
    gone_s = 60.0

    def strike(self, case):
        self.lost = case.rng.choice(case.nodes)
        if self.lost == case.nodes[0]:
            case.victim = 0
        case.hit_node = self.lost
        case.cluster.node(self.lost, "kill")
        return f"node {self.lost}"

    def after(self, case):
        case.cluster.node(self.lost, "start")


class CutNode(KillNode):
    name = "cut a node off"

    def suits(self, case):
        # Alone on its node, a job needs no network.
        return case.layout.nodes > 1

    def strike(self, case):
        self.lost = case.rng.choice(case.nodes)
        case.hit_node = self.lost
        case.cut_node = self.lost
        case.cluster.node(self.lost, "cut")
        return f"node {self.lost}"

    def after(self, case):
        case.cluster.node(self.lost, "join")


def fill(folder):
    """Takes all that is free there."""
    filler = pathlib.Path(folder) / "filler"
    block = bytes(1 << 16)
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.tell() < MOST_FILLER_BYTES:
                file.write(block)
        except OSError:
            pass
    return filler


class FullScratch(Fault):
    name = "full scratch"
    codes = UNDISTURBED + (SYSTEM,)

    def before(self, case):
        self.node = case.rng.choice(case.nodes)
        scratch = case.scratch_on(self.node)
        scratch.mkdir(parents=True, exist_ok=True)
        case.cluster.mount(self.node, "-t", "tmpfs", "-o", "size=16m", "tmpfs", case.scratch)
        self.has_struck = case.rng.random() < 0.5
        if self.has_struck:
            fill(case.scratch_on(self.node))

    def strike(self, case):
        if not self.has_struck:
            fill(case.scratch_on(self.node))
        return f"node {self.node}, {'before' if self.has_struck else 'while'} it ran"

    def after(self, case):
        case.cluster.unmount(self.node, case.scratch)


class FullResults(Fault):
    name = "full disk of results"
    codes = UNDISTURBED + (SYSTEM,)
    closes_log = False  # there is no room for the last record
    results_on_small_disk = True

    def strike(self, case):
        self.filler = fill(case.small_disk)
        return str(case.small_disk)

    def after(self, case):
        self.filler.unlink(missing_ok=True)


class FullSharedMemory(Fault):
    name = "full shared memory"
    codes = UNDISTURBED + (1, SYSTEM, 135, 137, 143)

    def before(self, case):
        self.node = case.rng.choice(case.nodes)
        self.has_struck = case.rng.random() < 0.5
        if self.has_struck:
            case.cluster.mount(self.node, "-o", "remount,size=64k", "/dev/shm")

    def strike(self, case):
        if not self.has_struck:
            self._shrink(case)
        return f"node {self.node}, {'before' if self.has_struck else 'while'} it ran"

    def _shrink(self, case):
        """Leaves no room beside what is in use."""
        shm = case.cluster.root_of(self.node) / "dev/shm"
        numbers = os.statvfs(shm)
        used = (numbers.f_blocks - numbers.f_bfree) * numbers.f_frsize
        case.cluster.mount(self.node, "-o", f"remount,size={max(used, 4096)}", "/dev/shm")

    def after(self, case):
        case.cluster.mount(self.node, "-o", "remount,size=50%", "/dev/shm")


class LostResults(Fault):
    name = "lost results folder"
    codes = UNDISTURBED + (SYSTEM,)
    closes_log = False  # it is not there any more

    def strike(self, case):
        # What is lost when the run is over is none of its business.
        comes(lambda: case.is_training() or case.has_ended(), 20, 0.05)
        if not case.is_training():
            return None
        if case.rng.random() < 0.5:
            shutil.rmtree(case.results.folder, ignore_errors=True)
            return "removed"
        lost = case.folder / "lost"
        case.results.folder.rename(lost)
        return "renamed"


class ReadOnlyResults(Fault):
    """As when an export is mounted anew, or a file system turns read-only because of an error: what is open stays
    writable here, nothing else does."""
    name = "read-only results folder"
    codes = UNDISTURBED + (SYSTEM,)

    def before(self, case):
        self.nodes = []
        self.has_struck = case.rng.random() < 0.4
        if self.has_struck:
            case.results.folder.mkdir(parents=True)
            self._make_read_only(case)

    def strike(self, case):
        if self.has_struck:
            return "before it ran"
        comes(lambda: case.is_training() or case.has_ended(), 20, 0.05)
        if not case.is_training():
            return None
        self._make_read_only(case)
        return "while it ran"

    def _make_read_only(self, case):
        folder = str(case.results.folder)
        for node in case.nodes:
            case.cluster.mount(node, "-o", "bind,ro", folder, folder)
            self.nodes.append(node)

    def after(self, case):
        for node in self.nodes:
            case.cluster.unmount(node, str(case.results.folder))


def flip_a_byte(path, rng):
    size = path.stat().st_size
    if size == 0:
        return None
    place = rng.randrange(size)
    with open(path, "r+b", buffering=0) as file:
        file.seek(place)
        old = file.read(1)[0]
        file.seek(place)
        file.write(bytes([old ^ (1 << rng.randrange(8))]))
    return place


class CorruptedCopy(Fault):
    name = "corrupted staged copy"
    codes = UNDISTURBED + (DATA,)

    def strike(self, case):
        """As soon as there is a whole copy: later it may have been read for the last time."""
        end = time.monotonic() + 10
        while time.monotonic() < end and not case.has_ended():
            for node in case.rng.sample(case.nodes, len(case.nodes)):
                copies = sorted(path for path in case.scratch_on(node).glob("*/part-*.bin")
                                if ".part." not in path.parent.name)
                if copies:
                    path = case.rng.choice(copies)
                    place = flip_a_byte(path, case.rng)
                    return f"node {node}, {path.name} at {place}" if place is not None else None
            time.sleep(0.02)
        return None


class CorruptedCheckpoint(KillRank):
    name = "corrupted checkpoint"

    def strike(self, case):
        comes(lambda: case.results.checkpoints() or case.has_ended(), 20, 0.05)
        told = super().strike(case)
        return told

    def after(self, case):
        checkpoints = case.results.checkpoints()
        if not checkpoints:
            return
        case.note(f"flipped byte {flip_a_byte(checkpoints[0], case.rng)} of {checkpoints[0].name}")
        case.damaged_checkpoint = checkpoints[0]


class TimeLimit(Fault):
    name = "time limit"
    codes = (STOPPED, 1, 137, 143)
    gone_s = 30.0

    def strike(self, case):
        """As Slurm 22.05 ends a job: processes of the batch script, mpirun among them, get SIGCONT and SIGTERM, those of
        steps another SIGTERM before. So does srun, but Slurm has told it before, so that it has no effect: without that,
        srun would have its step killed."""
        own = [process for process in case.processes() if process.name != "srun"]
        if not own:
            return None
        for process in own:
            if process.variable("SLURM_STEP_ID") is not None:
                process.kill(SIGNALS["TERM"])
        for name in ("CONT", "TERM"):
            for process in own:
                process.kill(SIGNALS[name])
        return f"{len(own)} processes"


class Cancel(Fault):
    name = "scancel"
    codes = (STOPPED, 1, 137, 143, None)
    gone_s = 30.0

    def strike(self, case):
        case.cluster.run("scancel", case.job)
        return f"job {case.job}"


class SaveAndEnd(Fault):
    name = "USR2"
    codes = (STOPPED,)
    gone_s = 30.0

    def strike(self, case):
        # Before MPI is there, and after its end, the signal has its usual effect.
        comes(lambda: case.is_training() or case.has_ended(), 20, 0.05)
        if not case.is_training():
            return None
        launcher = case.launcher_process()
        if case.launcher == "srun":
            case.cluster.run("scancel", "--signal=USR2", case.job)
        elif launcher is not None:
            launcher.kill(SIGNALS["USR2"])
        else:
            return None
        return f"job {case.job}"


ALL = (KillRank, StopRank, KillLauncher, KillNode, CutNode, FullScratch, FullResults, FullSharedMemory, LostResults,
       ReadOnlyResults, CorruptedCopy, CorruptedCheckpoint, TimeLimit, Cancel, SaveAndEnd)
