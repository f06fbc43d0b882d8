"""The Slurm cluster of tests/slurm/hosts.sh seen from outside: jobs, processes, and files of nodes."""

import functools
import os
import pathlib
import signal
import subprocess
import threading
import time

PATIENCE_S = 60.0
SKIPPED = 77
# As in hosts.sh: jobs run as root, and ranks share CPUs.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_WAIT_POLICY": "passive",
               "OMPI_MCA_mpi_yield_when_idle": "1"}


def can_run(hosts):
    """Whether this machine can run such a cluster. If not, prints the reason in the form that ./check reads."""
    probe = subprocess.run([hosts, "probe"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        print(f"soak: Skipped\na real Slurm of several nodes: {probe.stderr.strip()}\n[  SKIPPED ] soak")
    return probe.returncode == 0


def comes(condition, seconds=PATIENCE_S, every=0.1):
    """Waits for `condition()`. Returns false if it does not hold within `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True


def _read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


class Process:
    """A process of the machine, whatever namespace it is in."""

    def __init__(self, number):
        self.number = number
        self.command = _read(f"/proc/{number}/cmdline").rstrip(b"\0").split(b"\0")

    @functools.cached_property
    def environment(self):
        return _read(f"/proc/{self.number}/environ").split(b"\0")

    @property
    def name(self):
        return os.path.basename(self.command[0].decode(errors="replace"))

    def variable(self, name):
        prefix = name.encode() + b"="
        for entry in self.environment:
            if entry.startswith(prefix):
                return entry[len(prefix):].decode(errors="replace")
        return None

    def state(self):
        text = _read(f"/proc/{self.number}/stat")
        return text[text.rfind(b")") + 2:][:1].decode()

    def namespace(self):
        try:
            return os.readlink(f"/proc/{self.number}/ns/uts")
        except OSError:
            return None

    def kill(self, number):
        try:
            os.kill(self.number, number)
        except ProcessLookupError:
            pass


def processes(wanted=lambda process: True):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            process = Process(int(entry))
            # Zombies do not count.
            if process.command != [b""] and wanted(process) and process.state() not in ("Z", "X", ""):
                found.append(process)
    return found


class Cluster:
    """Nodes 1 to `nodes`. All see the folders `shared`; each has its own /tmp."""

    def __init__(self, hosts, state, nodes, shared, settings=()):
        self.changing = threading.Lock()
        self.hosts, self.state, self.nodes = hosts, pathlib.Path(state), nodes
        self.options = [part for folder in shared for part in ("--share", str(folder))]
        self.options += [part for setting in ("KillWait=5", *settings) for part in ("--conf", setting)]

    def start(self):
        self._hosts("start", str(self.nodes), *self.options)

    def stop(self):
        self._hosts("stop", check=False)

    def node(self, number, what):
        """Runs `hosts.sh node NUMBER WHAT`: kill, start, cut or join."""
        self._hosts("node", str(number), what)

    def run(self, *command):
        """Runs a command on login and returns its output, like `hosts.sh run` but ten times faster."""
        login = (self.state / "login/pid").read_text().split()[0]
        ended = subprocess.run(["nsenter", "-t", login, "-m", "-p", "-n", "-u", "-i", *command], capture_output=True,
                               text=True, check=False, env={**os.environ, **ENVIRONMENT,
                                                            "SLURM_CONF": f"{self.state}/slurm.conf"})
        if ended.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit code {ended.returncode}: {ended.stderr.strip()}")
        return ended.stdout

    def on_node(self, number, *command):
        return self._hosts("node", str(number), "run", *command, check=False)

    def submit(self, script, *options):
        return self.run("sbatch", "--parsable", *options, str(script)).strip()

    def job(self, number):
        """Slurm's fields of the job: JobState, ExitCode and others."""
        text = self.run("scontrol", "show", "job", "-o", number)
        return dict(field.split("=", 1) for field in text.split() if "=" in field)

    def has_ended(self, number):
        return self.job(number)["JobState"] not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")

    def is_idle(self, nodes=()):
        """Whether these nodes, or by default all, are idle."""
        wanted = nodes or range(1, self.nodes + 1)
        names = ",".join(f"node{node}" for node in wanted)
        return self.run("sinfo", "-h", "-t", "idle", "-n", names, "-o", "%D").strip() == str(len(wanted))

    def init_of(self, number):
        """The first process of a node's namespaces."""
        line = [b"--state", str(self.state).encode(), b"--inside", b"node_init", str(number).encode()]
        found = processes(lambda p: p.name == "bash" and p.command[-5:] == line)
        return max(found, key=lambda p: p.number) if found else None

    def is_on(self, process, number):
        """Whether the process is in the node's namespaces."""
        init = self.init_of(number)
        return init is not None and process.namespace() == init.namespace()

    def root_of(self, number):
        """The path of the node's root folder on the machine."""
        return pathlib.Path(f"/proc/{self.init_of(number).number}/root")

    def mount(self, number, *arguments):
        subprocess.run(["nsenter", "-t", str(self.init_of(number).number), "-m", "-p", "mount", *arguments], check=True)

    def unmount(self, number, folder):
        if self.init_of(number) is not None:
            subprocess.run(["nsenter", "-t", str(self.init_of(number).number), "-m", "-p", "umount", "-l", folder], check=False)

    def _hosts(self, *arguments, check=True):
        # In a new session, so that signals from the terminal reach only the soak. One call at a time.
        with self.changing:
            ended = subprocess.run([self.hosts, "--state", str(self.state), *arguments], capture_output=True, text=True,
                                   cwd="/", start_new_session=True, check=False)
        if check and ended.returncode != 0:
            raise RuntimeError(f"hosts.sh {' '.join(arguments)}: exit code {ended.returncode}: {ended.stderr.strip()}")
        return ended.stdout


SIGNALS = {"KILL": signal.SIGKILL, "STOP": signal.SIGSTOP, "CONT": signal.SIGCONT, "TERM": signal.SIGTERM,
           "USR2": signal.SIGUSR2}

