#!/usr/bin/env bash
# Simulates several hosts on one machine: network, UTS and mount namespaces joined by a switch with optional rate limits.
# Everything is removed when the command ends.
#
#   hosts.sh COUNT RATE COMMAND...   runs COMMAND on host1. RATE limits each link in both directions: a rate of tc, or
#                                    "unlimited"
#   hosts.sh --probe                 whether this machine can do that, and if not, why
#   hosts.sh --probe-server          the same with SERVED
#
# DELAY=SECONDS in the environment: each link delays every packet by so long (delay_link.py; package python3).
# STALL=SECONDS:FILE in the environment: once FILE exists, nothing passes host2's link for so long; connections stay.
#
# Folders, from the environment:
#   SERVED=FOLDER    the hosts read it from a server of its own, with such a link: a network file system (sshfs without
#                    ssh; packages sshfs, openssh-sftp-server and socat). SERVER_RATE limits its link in place of RATE
#   PRIVATE=FOLDER   each host has another one there: FOLDER.host1 and so on
#
# On host1, Open MPI can start processes on the others: mpirun --host host1:1,host2:1
set -euo pipefail

self=$(realpath "$0")
readonly self network=10.77.0 server=server port=2222 sftp=/usr/lib/openssh/sftp-server
readonly -a enter=(--net --uts --mount)

namespaces() { readlink "/proc/$1/ns/net" "/proc/$1/ns/uts" "/proc/$1/ns/mnt"; }

# Starts a process whose new namespaces live as long as it does, and adds its id to `holders`.
hold_namespaces() {
  unshare --net --uts --mount sleep infinity &
  holders+=($!)
  # Until unshare has made the namespaces, those of the process are still ours.
  until [[ $(namespaces $!) != "$(namespaces self)" ]]; do sleep 0.02; done
}

# NUMBER INSIDE IN_SWITCH: makes both ends of that host's link, with a delay in between. INSIDE and IN_SWITCH run commands
# in the namespaces of the ends.
lay_delay() {
  local end output
  exec {output}< <(exec $2 python3 "${self%/*}/delay_link.py" "$DELAY" net0 "${holders[0]}" "port$1")
  others+=($!)
  read -r <&"$output" # once both ends exist; nothing if it has failed, and said why
  # Each frame costs that process some time.
  for end in "$2 ip link set net0" "$3 ip link set port$1"; do $end mtu 65000; done
}

# NAME NUMBER PROCESS RATE: links that host, which has the process's namespaces, to the switch.
lay_link() {
  local host=$2 limit=$4 inside="nsenter -t $3 ${enter[*]}" in_switch="nsenter -t ${holders[0]} --net" end
  $inside hostname "$1"
  if [[ -n ${DELAY-} ]]; then
    lay_delay "$host" "$inside" "$in_switch"
  else
    $inside ip link add name net0 type veth peer name "port$host" netns "${holders[0]}"
  fi
  $in_switch ip link set "port$host" master switch up
  $inside ip address add "$network.$host/24" dev net0
  $inside ip link set net0 up
  $inside ip link set lo up
  [[ $limit == unlimited ]] && return
  for end in "$inside tc qdisc add dev net0" "$in_switch tc qdisc add dev port$host"; do
    $end root tbf rate "$limit" burst 256kb latency 100ms
  done
}

# SECONDS:FILE: as STALL.
stall_link() {
  local in_switch="nsenter -t ${holders[0]} --net"
  until [[ -e ${1#*:} ]]; do sleep 0.02; done
  $in_switch ip link set port2 nomaster
  sleep "${1%%:*}"
  $in_switch ip link set port2 master switch
}

# NUMBER PROCESS: what that host sees in FOLDERs of its own.
lay_folders() {
  local inside="nsenter -t $2 ${enter[*]}"
  if [[ -n ${PRIVATE-} ]]; then
    mkdir -p "$PRIVATE" "$PRIVATE.host$1"
    $inside mount --bind "$PRIVATE.host$1" "$PRIVATE"
  fi
  [[ -z ${SERVED-} ]] && return
  $inside sshfs -f -o "ro,directport=$port,max_read=1048576" "$network.250:$SERVED" "$SERVED" &
  others=($! "${others[@]}")  # ends before the server, which it would miss
  until $inside mountpoint -q "$SERVED"; do
    kill -0 $! # sshfs has failed, and said why
    sleep 0.02
  done
}

# In the server's namespaces.
serve() {
  # Its connections, each a process, end with it.
  nsenter -t "$1" "${enter[@]}" unshare --pid --fork --kill-child socat "TCP-LISTEN:$port,fork,reuseaddr" "EXEC:$sftp -R" &
  others+=($!)
  until nsenter -t "$1" --net bash -c "exec 3<>/dev/tcp/$network.250/$port" 2>/dev/null; do
    kill -0 $!
    sleep 0.02
  done
}

# Makes the switch, the other hosts and the links. Runs in host1's namespaces.
lay_network() {
  local host
  holders=() others=()
  # sshfs must not try to unmount what goes with its host, and unshare ignores other signals.
  trap 'kill -KILL "${others[@]}" 2>/dev/null || true; kill "${holders[@]}" 2>/dev/null || true' EXIT
  hold_namespaces
  nsenter -t "${holders[0]}" --net ip link add switch type bridge
  nsenter -t "${holders[0]}" --net ip link set switch up
  lay_link host1 1 $$ "$rate"
  for ((host = 2; host <= count; ++host)); do
    hold_namespaces
    lay_link "host$host" "$host" "${holders[-1]}" "$rate"
  done
  host_processes=("${holders[@]:1}")
  if [[ -n ${STALL-} ]]; then
    stall_link "$STALL" &
    others+=($!)
  fi
  if [[ -n ${SERVED-} ]]; then
    hold_namespaces
    lay_link $server 250 "${holders[-1]}" "${SERVER_RATE:-$rate}"
    serve "${holders[-1]}"
  fi
  lay_folders 1 $$
  for ((host = 2; host <= count; ++host)); do lay_folders "$host" "${host_processes[host - 2]}"; done
}

# HOST COMMAND...: what Open MPI calls in place of ssh. HOST_PROCESSES are those of host2 and so on, joined by "+".
on_host() {
  local processes number=${1#host}
  IFS=+ read -ra processes <<<"$HOST_PROCESSES"
  shift
  exec nsenter -t "${processes[number - 2]}" "${enter[@]}" sh -c "$*"
}

case ${1-} in
  --probe) exec "$self" 2 1mbit true ;;
  --probe-server)
    for program in sshfs socat "$sftp"; do
      command -v "$program" >/dev/null || { echo "hosts.sh: $program is not installed" >&2 && exit 1; }
    done
    SERVED=$(mktemp -d) && export SERVED
    trap 'rmdir "$SERVED"' EXIT
    "$self" 2 1mbit true
    ;;
  host[0-9]*) on_host "$@" ;;
  --inside)
    readonly count=$2 rate=$3
    shift 3
    lay_network
    HOST_PROCESSES=$(IFS=+ && echo "${host_processes[*]}")
    export HOST_PROCESSES OMPI_MCA_plm_rsh_agent=$self OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_btl=tcp,self \
      OMPI_MCA_btl_tcp_if_include="$network.0/24" OMPI_MCA_oob_tcp_if_include="$network.0/24"
    # The names that Open MPI 5 has for them.
    export PRTE_MCA_plm_ssh_agent=$OMPI_MCA_plm_rsh_agent PRTE_MCA_plm_ssh_no_tree_spawn=1 \
      PRTE_MCA_prte_if_include="$network.0/24"
    "$@"
    ;;
  *)
    if [[ -n ${DELAY-} && ! $DELAY =~ ^[0-9]*\.?[0-9]+$ ]]; then
      echo "hosts.sh: DELAY: expected seconds, got '$DELAY'" >&2
      exit 2
    fi
    if ! [[ ${1-} =~ ^[0-9]+$ && $1 -ge 1 && $1 -le 200 && $# -ge 3 ]]; then
      echo "hosts.sh: expected COUNT RATE COMMAND..., COUNT from 1 to 200" >&2
      exit 2
    fi
    exec unshare --net --uts --mount "$self" --inside "$@"
    ;;
esac
