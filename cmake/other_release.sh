#!/usr/bin/env bash
# Runs a command in a bare Debian system of another release, in a copy of this project's folder:
#
#   cmake/other_release.sh RELEASE COMMAND [ARGUMENT...]      RELEASE: bookworm (12), trixie (13), ...
#
# The system is kept in TRAINMARK_SYSTEMS (default ~/.cache/trainmark), so that its packages, and what was built in it, are
# there the next time. Needs root, and debootstrap, which it installs. DEBIAN_MIRROR names another mirror. Exit code: the
# command's, or 2 for wrong arguments, 4 if the system cannot be made.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=cmake/steps.sh
source cmake/steps.sh

readonly project=/work/trainmark

fail() {
  echo "other_release.sh: $2" >&2
  exit "$1"
}

(($# >= 2)) || fail 2 "expected a release and a command; the file's head has an example"
readonly release=$1
shift
[[ $release =~ ^[a-z]+$ ]] || fail 2 "expected the name of a release such as trixie, got '$release'"
((EUID == 0)) || fail 2 "only root can make and enter another system"
readonly system=${TRAINMARK_SYSTEMS:-${XDG_CACHE_HOME:-$HOME/.cache}/trainmark}/$release

make_system() {
  if [[ -e $system/.complete ]]; then return; fi
  command -v debootstrap >/dev/null || quietly build/logs/packages.log apt-get -qq -y install --no-install-recommends debootstrap
  rm -rf --one-file-system "$system"
  mkdir -p "$system"
  quietly "build/logs/system-$release.log" \
    debootstrap --variant=minbase --include=ca-certificates "$release" "$system" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} || return 4
  # Certificates and proxies by which this system reaches the mirror.
  cp /etc/resolv.conf /etc/hosts "$system/etc/"
  if [[ -d /usr/local/share/ca-certificates ]]; then cp -r /usr/local/share/ca-certificates "$system/usr/local/share/"; fi
  touch "$system/.complete"
}

# The tracked files with their times, so that what did not change is not built again.
copy_project() {
  mkdir -p "$system$project"
  find "$system$project" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z | tar --create --null --files-from=- | tar --extract --directory="$system$project"
}

# Mounts end with the command, as they lie in a namespace of its own.
enter() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  SYSTEM=$system PROJECT=$project SHARED=$(realpath ../shared 2>/dev/null || true) unshare --mount --propagation private bash -c '
    set -e
    mount --bind "$SYSTEM" "$SYSTEM"
    mount -t proc proc "$SYSTEM/proc"
    for shared in /sys /dev; do mount --rbind "$shared" "$SYSTEM$shared"; done
    if [[ -d $SHARED ]]; then
      mkdir -p "$SYSTEM/work/shared"
      mount --bind "$SHARED" "$SYSTEM/work/shared"
    fi
    # Not chroot alone: tests make mount namespaces, and whoever enters one by nsenter is at its root. Where this
    # machine runs from a RAM disk it is not possible, and such tests are skipped.
    cd "$SYSTEM"
    if pivot_root . . 2>/dev/null; then umount --lazy .; fi
    exec chroot . env -i HOME=/root LANG=C.UTF-8 ${TERM:+TERM="$TERM"} ${CI:+CI="$CI"} \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
      bash -c "cd $PROJECT && exec \"\$@\"" enter "$@"' enter "$@"
}

make_system || fail 4 "the system $system cannot be made"
copy_project
enter "$@"
