"""Faults injected into a job from outside, and the conditions that must hold when the job has ended."""

import os
import pathlib
import shutil
import time

from cluster import SIGNALS, comes
from jobs import MPI_TIMEOUT_S

# Exit codes of the program.
SUCCESS, DATA, SYSTEM, TARGET_MISSED, STOPPED = 0, 3, 4, 6, 7
# Exit code of an undisturbed training of the soak, whose target is out of reach.
UNDISTURBED = (TARGET_MISSED,)
# The exit code of mpirun is 128 plus the signal of a rank, or 1 if it was told to end; of srun, the same, or 143 if it
# ended the ranks itself.
KILLED_RANK = (137, 143)
MOST_FILLER_BYTES = 256 << 20


class Fault:
    """`strike` injects the fault while the job runs. It may do nothing if the moment does not suit."""

    name = ""
    codes = UNDISTURBED  # possible exit codes of the launcher after the fault
    gone_s = 40.0  # at most, from the fault until no process of the job is left
    closes_log = True  # if rank 0 survives
    has_struck = False  # whether before() has already injected the fault

    def suits(self, case):
        return True

    def before(self, case):
        """Called before the job is submitted."""

    def strike(self, case):
        """Returns a description of what was done, or None if there was nothing to do it to."""
        raise NotImplementedError

    def after(self, case):
        """Repairs damage that the next run need not handle."""

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
            # Adds the timeout of MPI's start, and the time until ranks of other hosts may report.
            self.gone_s += MPI_TIMEOUT_S + 10.0
            told += ", while it started"
        return told


class KillLauncher(Fault):
    name = "kill the launcher"
    codes = (137,)
    closes_log = False  # without the launcher, ranks are not ended in an orderly way

    def strike(self, case):
        comes(lambda: case.launcher_process() or case.has_ended(), 20, 0.05)
        launcher = case.launcher_process()
        if launcher is None:
            return None
        launcher.kill(SIGNALS["KILL"])
        return launcher.name


class KillNode(Fault):
    name = "kill a node"
    # mpirun 4.1.4 may crash when it loses a node (139), or give up (205, 244). 255: srun detected the loss first. None:
    # Slurm ended the script before it could write the exit code.
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
        # A job on a single node needs no network.
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
    """Fills the file system of `folder`, up to MOST_FILLER_BYTES."""
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
    closes_log = False  # no space for the last record
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
        """Shrinks the file system to the space in use."""
        shm = case.cluster.root_of(self.node) / "dev/shm"
        numbers = os.statvfs(shm)
        used = (numbers.f_blocks - numbers.f_bfree) * numbers.f_frsize
        case.cluster.mount(self.node, "-o", f"remount,size={max(used, 4096)}", "/dev/shm")

    def after(self, case):
        case.cluster.mount(self.node, "-o", "remount,size=50%", "/dev/shm")


class LostResults(Fault):
    name = "lost results folder"
    codes = UNDISTURBED + (SYSTEM,)
    closes_log = False  # the log is gone

    def strike(self, case):
        # Losses after the end of the run do not concern it.
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
    """As after a new mount of an export, or an error that makes a file system read-only. Here, only files that are
    already open remain writable."""
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
        """Strikes as soon as a complete copy exists: later, it might never be read again."""
        end = time.monotonic() + 10
        while time.monotonic() < end and not case.has_ended():
            for node in case.rng.sample(case.nodes, len(case.nodes)):
                copies = sorted(path for path in case.scratch_on(node).glob("*/pack-*")
                                if ".part." not in path.name + path.parent.name)
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
        """Signals as Slurm 22.05 does at the limit: processes of the batch script, including mpirun, get SIGCONT and
        SIGTERM; those of steps get another SIGTERM before. Slurm also signals srun, but notifies it before, so that the
        signal has no effect. Without the notice, srun would have its step killed, so it gets no signal here."""
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
        # Before MPI's start and after its end, the signal has its default action.
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
