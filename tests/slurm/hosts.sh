#!/usr/bin/env bash
# A real Slurm cluster on one machine: munged, slurmctld and N slurmd, each node in namespaces of its own (network,
# UTS, mount, pid, ipc). The system is not changed, and stop removes everything. hosts.sh --help lists the commands.
#
#   hosts.sh start 4                              # takes less than a second
#   hosts.sh run sbatch --wait job.sbatch         # all nodes see the folder in which the cluster was started
#   hosts.sh node 3 kill                          # like a power failure
#   hosts.sh stop
#   hosts.sh with 4 -- sbatch --wait job.sbatch   # start, run and stop in one line, for tests
#
# Debian 12: apt-get install slurm-wlm munge iproute2 (13 MB). srun --mpi=pmix also needs libpmix-dev, since Slurm opens
# libpmix.so, which libpmix2 lacks; libopenmpi-dev installs it. Needs root.
#
# Configuration of the cluster
#   names      nodes have addresses outside of loopback, and /etc/hosts lists them: otherwise getaddrinfo fails
#   munge      all hosts use one munged by its socket in the state; a socket's path has at most 107 characters
#   slurmd     UTS namespaces give each a host name, so --enable-multiple-slurmd is not needed; config_overrides lets
#              nodes have more CPUs than the machine; CgroupPlugin=cgroup/v1, since its detection fails if no control
#              groups are mounted, although none are used
#   proctrack  linuxproc needs no control groups, but loses processes whose parents have ended, so the epilog kills
#              the processes that a job left on a node. scancel has the same effect on a job as with proctrack/cgroup
#   task       none. --conf TaskPlugin=task/affinity binds to the same first CPUs of the machine on every node
#   select     cons_tres with CR_Core: jobs share nodes unless --exclusive
#   requeue    cred_expire=5: a requeued job waits 5 s, not two minutes
#   accounts   no slurmdbd; sacct -c reads jobcomp/filetxt, with state and exit code (for arrays it complains on stderr)
#   times      SlurmdTimeout is 10 s instead of 300: jobs on a lost node end within 30 s. KillWait is 30 s, the default
#   ranks      nodes share CPUs, so waiting ranks and threads yield: this made four ranks on two CPUs five times faster
#   storage    a node without network or power still sees the shared folders, and its /tmp remains visible from outside
#
# Behaviour of Slurm 22.05.8 and Open MPI 4.1.4, both of Debian 12
#   mpirun in sbatch and salloc   works: 100 of 100 starts of 8 ranks on 4 busy nodes
#   srun --mpi=pmix               works, but about 1 in 15 of such starts has a segmentation fault in MPI_Init: a rank
#                                 gets a message before it is ready for one (open-mpi/ompi#12495; with
#                                 SLURM_PMIX_DIRECT_CONN=false 2 of 180). The other ranks then wait forever without
#                                 --kill-on-bad-exit=1
#   srun, srun --mpi=pmi2         MPI_Init fails on every rank: Open MPI has neither PMI-1 nor PMI-2
#   environment under mpirun      SLURM_NTASKS, SLURM_NODEID and SLURM_PROCID describe orted, not the rank
#   mpirun without --bind-to      binds a rank to one core if a node has one or two ranks
#   node lost                     mpirun waits for its orted until Slurm ends the job; TCP keepalive does not help once
#                                 data was sent to the lost node. srun ends after KillWait
#   scancel JOB                   one SIGTERM to all processes of the job. A batch script that does not trap it ends,
#                                 and Slurm immediately kills its children; with a trap they have KillWait
#   time limit                    SIGTERM, SIGCONT, SIGTERM to the processes of steps within milliseconds; SIGCONT,
#                                 SIGTERM to those of the script (mpirun, its ranks there, srun), up to half a minute
#                                 after the limit
#   scancel --signal=S JOB        only to processes of steps: under mpirun on a single node, no process gets it
#   scancel --batch --signal=S    only to the shell of the script, which the signal ends unless the script traps it
#   sbatch --signal=B:S@T         the same, up to a minute earlier than T seconds before the limit
#   sbatch --wait                 polls the job ever more rarely, and may return half a minute late
#   scontrol requeue              SIGTERM to all processes, like scancel. SLURM_RESTART_COUNT counts restarts; the nodes
#                                 may be others
set -euo pipefail

PATH=$PATH:/usr/sbin:/sbin
self=$(realpath "$0")
readonly self network=10.78.0 login=254 marker=slurm_hosts.state patience=60
state=/tmp/slurm-hosts

complain() { echo "hosts.sh: $*" >&2; }

fail() {
  complain "$@"
  exit 1
}

refuse() {
  complain "$@"
  exit 2
}

usage() {
  cat <<'TEXT'
usage: hosts.sh [--state DIR] COMMAND

  start N [OPTIONS]        starts a cluster of N nodes, node1 to nodeN, and its controller, login
    --cpus C               CPUs of each node (default: 2)
    --rate MBIT            rate of each node's link, to and from it (default: unlimited)
    --share FOLDER         a folder below /tmp or /var/tmp that all nodes see; may be given again
    --conf KEY=VALUE       a line of slurm.conf, in place of the one with that key; may be given again
  run COMMAND...           runs a command on login, and ends with its exit code
  node K run COMMAND...    runs a command on node K
  node K kill              takes its power away: slurmd, steps and link are gone and tell nobody; its disk stays
  node K start             switches a killed node on again
  node K cut               takes its network cable out
  node K join              puts it in again
  status                   what runs
  logs                     the last lines of all logs
  stop                     ends all of it, and removes the state
  with N [OPTIONS] -- COMMAND...
                           starts, runs the command on login, and stops, whatever happens to it or to this script
  probe                    whether this machine can do that, and why not

The state (default: /tmp/slurm-hosts) is a folder that start makes and stop removes. Clusters with states of their own
run side by side. All nodes see the machine's files, but /tmp, /var/tmp and /dev/shm are a node's own; of those all see
DIR/shared, the folder that the cluster was started in, and --share. From outside, a node's /tmp is DIR/nodeK/tmp.

Exit code: that of the command that was run, else 0; 1 where something failed, 2 for a wrong command line.
TEXT
}

# --- Processes and their namespaces.

# PID: prints when that process started, in ticks since boot; nothing if there is no such process or it is a zombie.
started_at() {
  local line
  line=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  # The program's name, in parentheses, may contain blanks.
  read -ra line <<<"${line##*) }"
  [[ ${line[0]} == [ZX] ]] || echo "${line[19]}"
}

# FILE: writes this process's id, in the namespace in which /proc was mounted, and its start time.
write_own_pid() {
  local pid
  read -r pid _ </proc/self/stat
  echo "$pid $(started_at "$pid")" >"$1.new"
  mv "$1.new" "$1"
}

# FILE: prints the id written there if that process still lives. A later process with its id has another start time.
living() {
  local pid start
  read -r pid start 2>/dev/null <"$1" || return 1
  [[ -n $start && $(started_at "$pid") == "$start" ]] && echo "$pid"
}

lives() { living "$1" >/dev/null; }
dead() { ! lives "$1"; }

# COMMAND...: repeats the command until it succeeds, for at most `patience` seconds.
wait_for() {
  local end=$((SECONDS + patience))
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.02
  done
}

# PID COMMAND...: replaces this shell by the command in the namespaces of process PID and, if it exists, this folder.
enter() {
  local pid=$1
  shift
  # shellcheck disable=SC2016 # the inner shell expands them
  exec nsenter -t "$pid" -m -p -n -u -i -- bash -c 'cd "$1" 2>/dev/null || cd /; shift; exec "$@"' bash "$PWD" "$@"
}

# COMMAND...: runs the command on login.
on_login() {
  local pid
  pid=$(living "$state/login/pid") || fail "no cluster runs in $state"
  (enter "$pid" "$@")
}

# FUNCTION ARGUMENTS...: runs a function of this script on login.
inside() { on_login "$state/hosts.sh" --state "$state" --inside "$@"; }

# FOLDER FILE FUNCTION ARGUMENTS...: runs a function of this script as the first process of new namespaces. Returns when
# the function has made the file. All processes in the namespaces end with the first one, which ends with unshare.
in_new_namespaces() {
  local folder=$1 file=$2
  shift 2
  setsid "${tie[@]}" unshare --mount --pid --net --uts --ipc --fork --kill-child \
    "$state/hosts.sh" --state "$state" --inside "$@" </dev/null >>"$folder/out" 2>&1 {lock}<&- &
  wait_for made_or_ended "$file" $!
  [[ -e $file ]]
}

made_or_ended() { [[ -e $1 ]] || ! kill -0 "$2" 2>/dev/null; }

# FOLDER NAME: the first steps of login and of each node.
become_host() {
  write_own_pid "$1/pid"
  hostname "$2"
  mount -t proc proc /proc
  # Shows the host's own network devices. Control groups are not mounted below it.
  mount -t sysfs sysfs /sys
  mount_own_folders "$1"
  ip link set lo up
}

# FOLDER: mounts the host's own /tmp, /var/tmp and /dev/shm, and in them the shared folders.
mount_own_folders() {
  local shared fd seen=()
  while IFS= read -r shared; do
    exec {fd}<"$shared"
    seen+=("$fd" "$shared")
  done <"$state/shares"
  mount -t tmpfs tmpfs /dev/shm
  mount --bind "$1/var_tmp" /var/tmp
  mount --bind "$1/tmp" /tmp
  set -- "${seen[@]}"
  while (($#)); do
    fd=$1
    mkdir -p "$2"
    mount --no-canonicalize --bind "/proc/self/fd/$fd" "$2"
    exec {fd}<&-
    shift 2
  done
}

# --- Functions that run on login.

login_init() {
  become_host "$state/login" login
  mount --bind "$state/hosts" /etc/hosts
  ip link add switch type bridge
  ip address add "$network.$login/24" dev switch
  ip link set switch up
  munged --socket="$state/munge/socket" --key-file="$state/munge/key" --pid-file="$state/munge/pid" \
    --log-file="$state/munge/log" --seed-file="$state/munge/seed"
  slurmctld -D &
  echo >"$state/ready"
  # Orphans become children of the first process, and waiting reaps them.
  wait $! || true
}

# NUMBER: starts a node and links it to the switch.
start_node() {
  local folder=$state/node$1 pid
  ! lives "$folder/pid" || refuse "node $1 runs already"
  rm -f "$folder/pid" "$folder/linked"
  in_new_namespaces "$folder" "$folder/pid" node_init "$1" ||
    fail "node $1 does not start: $(tail -n 3 "$folder/out")"
  pid=$(living "$folder/pid")
  # The link of a killed node may still exist.
  ip link delete "port$1" 2>/dev/null || true
  # Like a rebooted machine, the node keeps its MAC address, which others may have cached.
  ip link add "port$1" type veth peer name net0 address "$(printf '02:00:00:00:%02x:%02x' $(($1 / 256)) $(($1 % 256)))" netns "$pid"
  nsenter -t "$pid" -n ip address add "$network.$1/24" dev net0
  nsenter -t "$pid" -n ip link set net0 up
  ip link set "port$1" master switch up
  if [[ -s $state/rate ]]; then
    limit_rate "port$1"
    nsenter -t "$pid" -n "$state/hosts.sh" --state "$state" --inside limit_rate net0
  fi
  echo >"$folder/linked"
}

limit_rate() { tc qdisc add dev "$1" root tbf rate "$(<"$state/rate")mbit" burst 256kb latency 100ms; }

node_init() {
  local folder=$state/node$1
  become_host "$folder" "node$1"
  wait_for test -e "$folder/linked" || fail "node $1 has no network"
  cd /
  slurmd -D -b -N "node$1" &
  # A node whose slurmd has ended is down.
  wait $! || true
}

node_pid() { living "$state/node$1/pid" || fail "node $1 does not run"; }

kill_node() {
  local pid
  pid=$(node_pid "$1")
  # The link goes first, so that the node cannot notify others.
  ip link set "port$1" down
  kill -KILL "$pid"
  wait_for dead "$state/node$1/pid" || fail "node $1 does not end"
}

cut_node() {
  node_pid "$1" >/dev/null
  ip link set "port$1" down
}

join_node() {
  node_pid "$1" >/dev/null
  ip link set "port$1" up
}

run_on_node() {
  local pid
  pid=$(node_pid "$1")
  shift
  enter "$pid" "$@"
}

all_idle() { [[ $(sinfo -h -t idle -o %D 2>/dev/null) == "$1" ]]; }

node_lost() {
  local node
  for ((node = 1; node <= $1; ++node)); do lives "$state/node$node/pid" || return 0; done
  return 1
}

idle_or_lost() { all_idle "$1" || node_lost "$1"; }

wait_for_nodes() { wait_for idle_or_lost "$1" && all_idle "$1"; }

# --- Configuration.

# NODES CPUS LINE...
write_configuration() {
  local nodes=$1 cpus=$2 node
  shift 2
  {
    echo "127.0.0.1 localhost"
    echo "$network.$login login"
    for ((node = 1; node <= nodes; ++node)); do echo "$network.$node node$node"; done
  } >"$state/hosts"
  echo "CgroupPlugin=cgroup/v1" >"$state/cgroup.conf"
  with_changes "$@" >"$state/slurm.conf" <<TEXT
ClusterName=hosts
SlurmctldHost=login($network.$login)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$state/munge/socket,cred_expire=5
StateSaveLocation=$state/slurmctld
SlurmctldPidFile=$state/slurmctld.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdSpoolDir=$state/%n/spool
SlurmdPidFile=$state/%n/slurmd.pid
SlurmdLogFile=$state/%n/slurmd.log
SlurmdParameters=config_overrides
Epilog=$state/epilog.sh
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
JobCompType=jobcomp/filetxt
JobCompLoc=$state/jobcomp.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=30
MailProg=/bin/true
NodeName=node[1-$nodes] Sockets=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
TEXT
  cat >"$state/epilog.sh" <<'TEXT'
#!/bin/bash
# Ends what a job has left on this node.
job=$SLURM_JOB_ID
# Not from the environment that this process began with, but from its children's.
unset SLURM_JOB_ID
for process in /proc/[0-9]*; do
  [[ $process != "/proc/$$" ]] && grep -qszx "SLURM_JOB_ID=$job" "$process/environ" && kill -KILL "${process#/proc/}"
done
exit 0
TEXT
  chmod +x "$state/epilog.sh"
}

# LINE...: prints standard input with these lines in place of those with the same keys.
with_changes() {
  local line change
  while IFS= read -r line; do
    for change in "$@"; do [[ ${line%%=*} != "${change%%=*}" ]] || continue 2; done
    echo "$line"
  done
  (($# == 0)) || printf '%s\n' "$@"
}

# --- Commands.

whole_number() { [[ $1 =~ ^[1-9][0-9]{0,5}$ ]]; }

# Parses the options of start and with into nodes, cpus, rate, shares, changes and command.
read_options() {
  cpus=2 rate='' shares=("$state") changes=() command=()
  if ! whole_number "${1-}" || (($1 > 200)); then refuse "expected a number of nodes from 1 to 200, got '${1-}'"; fi
  nodes=$1
  shift
  case $PWD in /tmp/?* | /var/tmp/?*) shares+=("$PWD") ;; esac
  while (($#)); do
    case $1 in
      --cpus | --rate)
        whole_number "${2-}" || refuse "$1: must be a whole number, got '${2-}'"
        if [[ $1 == --cpus ]]; then cpus=$2; else rate=$2; fi
        ;;
      --share)
        [[ -d ${2-} ]] || refuse "--share: no such folder: '${2-}'"
        shares+=("$(realpath "$2")")
        ;;
      --conf)
        [[ ${2-} == ?*=* ]] || refuse "--conf: expected KEY=VALUE, got '${2-}'"
        changes+=("$2")
        ;;
      --)
        shift
        command=("$@")
        return
        ;;
      *) refuse "unknown option '$1'; see hosts.sh --help" ;;
    esac
    shift 2
  done
}

missing_programs() {
  local program
  for program in munged slurmctld slurmd sinfo ip tc unshare nsenter setpriv mount hostname setsid flock; do
    command -v "$program" >/dev/null || echo "$program"
  done
}

probe() {
  local missing why
  ((EUID == 0)) || fail "only root can do that"
  missing=$(missing_programs | paste -sd ' ')
  [[ -z $missing ]] || fail "not installed: $missing (Debian: slurm-wlm munge iproute2)"
  why=$(unshare --mount --pid --net --uts --ipc --fork --kill-child bash -ec '
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t tmpfs tmpfs /dev/shm
    hostname probe
    ip link add switch type bridge
    ip link add port type veth peer name net0
    ip link set port master switch up
    tc qdisc add dev port root tbf rate 1mbit burst 256kb latency 100ms' 2>&1) ||
    fail "this system refuses namespaces, or what is needed in them: $why"
}

make_state() {
  local host
  if [[ -e $state && ! -e $state/$marker ]]; then refuse "$state is there, and is not a cluster's state"; fi
  ! lives "$state/login/pid" || refuse "a cluster runs in $state already"
  rm -rf "$state"
  mkdir "$state"
  echo >"$state/$marker"
  mkdir -m 700 "$state/slurmctld"
  mkdir "$state/munge" "$state/shared"
  for host in login $(seq -f 'node%.0f' "$nodes"); do
    mkdir "$state/$host" "$state/$host/spool"
    mkdir -m 1777 "$state/$host/tmp" "$state/$host/var_tmp"
  done
  (umask 077 && head -c 64 /dev/urandom >"$state/munge/key")
  # Nodes may not see the folder of this script.
  cp "$self" "$state/hosts.sh"
  printf '%s\n' "${shares[@]}" >"$state/shares"
  [[ -z $rate ]] || echo "$rate" >"$state/rate"
  write_configuration "$nodes" "$cpus" "${changes[@]}"
}

microseconds() { echo "${EPOCHREALTIME//[^0-9]/}"; }

start() {
  local began
  began=$(microseconds)
  read_options "$@"
  probe
  # A socket's path may have 107 characters.
  ((${#state} <= 60)) || refuse "--state: a path of more than 60 characters: $state"
  # Two scripts that start at the same time must not remove each other's state.
  exec {lock}<"$(dirname "$state")"
  flock "$lock"
  make_state
  if ! start_login || ! start_nodes; then
    logs >&2
    stop
    fail "the cluster did not start"
  fi
  printf '%d nodes in %d ms: %s\n' "$nodes" "$((($(microseconds) - began) / 1000))" "$state"
}

start_login() {
  in_new_namespaces "$state/login" "$state/ready" login_init || return 1
  exec {lock}<&-
}

start_nodes() {
  local node
  # In subshells, since the functions may exit.
  for ((node = 1; node <= nodes; ++node)); do (inside start_node "$node") || return 1; done
  (inside wait_for_nodes "$nodes")
}

stop() {
  local pid
  [[ -e $state/$marker ]] || refuse "no cluster's state: $state"
  if pid=$(living "$state/login/pid"); then
    kill -KILL "$pid"
    wait_for dead "$state/login/pid" || fail "process $pid does not end"
  fi
  rm -rf "$state"
}

logs() {
  local file
  for file in "$state"/*/out "$state"/munge/log "$state"/slurmctld.log "$state"/node*/slurmd.log; do
    [[ ! -s $file ]] || { echo "== $file" && tail -n 10 "$file"; }
  done
}

with_cluster() {
  local code=0
  read_options "$@"
  ((${#command[@]})) || refuse "with: expected -- COMMAND"
  # If this script is killed, the cluster ends, too.
  tie=(setpriv --pdeathsig KILL)
  start "$@" >&2
  trap stop EXIT
  on_login "${command[@]}" || code=$?
  exit "$code"
}

node() {
  local node=${1-} what=${2-}
  [[ -d $state/node$node ]] || refuse "no node '$node' in $state"
  case $what in
    kill | cut | join | start) inside "${what}_node" "$node" ;;
    run) inside run_on_node "$node" "${@:3}" ;;
    *) refuse "node: expected run, kill, start, cut or join, got '$what'" ;;
  esac
}

status() {
  on_login sinfo -N -l
  on_login squeue -l
}

if [[ ${1-} == --state ]]; then
  [[ -n ${2-} && $2 != *[[:space:]]* ]] || refuse "--state: expected a folder without blanks in its name"
  state=$(realpath -m "$2")
  shift 2
fi
readonly state
tie=() lock=9
export SLURM_CONF=$state/slurm.conf
# The cluster and its jobs run as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Nodes share CPUs, so waiting ranks and threads must yield.
export OMPI_MCA_mpi_yield_when_idle=1 OMP_WAIT_POLICY=passive

case ${1-} in
  start | node | status | logs | stop | probe) "$@" ;;
  run) on_login "${@:2}" ;;
  with) with_cluster "${@:2}" ;;
  --inside) "${@:2}" ;;
  -h | --help) usage ;;
  *) refuse "unknown command '${1-}'; see hosts.sh --help" ;;
esac
