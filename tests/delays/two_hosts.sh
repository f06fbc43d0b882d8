#!/usr/bin/env bash
# Two hosts of their own names on one machine, joined by a link whose rate may be limited.
# Hides network and UTS namespaces; all of it goes with the command that was run.
#
#   two_hosts.sh RATE COMMAND...   runs COMMAND on host "near"; RATE as tc takes it, or "unlimited"
#   two_hosts.sh --probe           whether this machine can do that, and why not
#
# On near, Open MPI finds its way to far: mpirun --host near:1,far:1, with the addresses in 10.77.0.0/24.
set -euo pipefail

self=$(realpath "$0")
readonly self near_address=10.77.0.1 far_address=10.77.0.2

namespaces() { readlink "/proc/$1/ns/net" "/proc/$1/ns/uts"; }

# Inside of near's namespaces: makes far and the link.
lay_link() {
  local rate=$1 end
  hostname near
  unshare --net --uts sleep infinity &
  far=$!
  trap 'kill "$far" 2>/dev/null || true' EXIT
  # Until unshare has made its namespaces, far is still in ours.
  until [[ $(namespaces "$far") != "$(namespaces self)" ]]; do sleep 0.02; done
  nsenter -t "$far" --uts hostname far
  ip link add name near0 type veth peer name far0 netns "$far"
  ip address add "$near_address/24" dev near0
  ip link set near0 up
  ip link set lo up
  nsenter -t "$far" --net ip address add "$far_address/24" dev far0
  nsenter -t "$far" --net ip link set far0 up
  nsenter -t "$far" --net ip link set lo up
  [[ $rate == unlimited ]] && return
  for end in "tc qdisc add dev near0" "nsenter -t $far --net tc qdisc add dev far0"; do
    $end root tbf rate "$rate" burst 64kb latency 100ms
  done
}

# What Open MPI calls in place of ssh: HOST COMMAND LINE.
on_far() {
  local pid=$1
  shift 2 # the host's name: there is only one
  exec nsenter -t "$pid" --net --uts sh -c "$*"
}

case ${1-} in
  --probe) exec "$self" 1mbit true ;;
  --on-far)
    shift
    on_far "$@"
    ;;
  --inside)
    shift
    lay_link "$1"
    shift
    OMPI_MCA_plm_rsh_agent="$self --on-far $far" "$@"
    ;;
  *) exec unshare --net --uts "$self" --inside "$@" ;;
esac
