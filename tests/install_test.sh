#!/usr/bin/env bash
# The installed tree and the Debian package of a build folder. Exit code 1 if something is missing or does not work.
#
#   install_test.sh BUILD
set -euo pipefail
readonly build=$1
# shellcheck source=tests/shell_test.sh
source tests/shell_test.sh

# Works from wherever it is moved to, without the source and the build.
check_tree() {
  local tree=$1 file
  for file in bin/trainmark share/man/man1/trainmark.1 share/man/man1/trainmark-run.1 \
    share/bash-completion/completions/trainmark share/zsh/vendor-completions/_trainmark \
    share/trainmark/configs/resnet50/mlperf.json share/trainmark/configs/rules/README.md \
    share/trainmark/jobs/resnet50.sbatch share/trainmark/schemas/analyze.json \
    share/trainmark/schemas/resnet50.json share/doc/trainmark/docs/analysis.md; do
    [[ -s $tree/$file ]] || fail "expected the file $file in the installed tree"
  done
  [[ $("$tree/bin/trainmark" --version) == "trainmark "* ]] || fail "the installed program does not start"
  (cd "$folder" && "$tree/bin/trainmark" config "$tree/share/trainmark/configs/resnet50/quickstart.json" >resolved.json)
  [[ -s $folder/resolved.json ]] || fail "the installed configuration is not read"
  if grep -rIlF -- "$PWD" "$tree/share"; then fail "files above name the source folder"; fi
}

cmake --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/moved"
check_tree "$folder/moved"

if ! command -v dpkg-shlibdeps >/dev/null; then
  echo "dpkg-dev is not installed: no Debian package is made"
  exit 0
fi
cpack --config "$build/CPackConfig.cmake" -B "$folder/package" -D CPACK_PACKAGE_CONTACT="A packager <packager@hpc-centre.eu>" \
  >"$folder/cpack.log" 2>&1 || fail "$(cat "$folder/cpack.log")"
package=$(echo "$folder"/package/*.deb)
[[ $(basename "$package") == trainmark_*_$(dpkg --print-architecture).deb ]] || fail "unexpected name: $package"
dpkg-deb --extract "$package" "$folder/debian"
[[ -s $folder/debian/usr/share/doc/trainmark/copyright ]] || fail "the package has no copyright file"
"$folder/debian/usr/bin/trainmark" --version >/dev/null || fail "the packaged program does not start"
dpkg-deb --field "$package" Depends | grep -q 'libc6' || fail "the package does not name its libraries"
dpkg --dry-run --install "$package" >"$folder/dpkg.log" 2>&1 || fail "$(cat "$folder/dpkg.log")"
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$package" || fail "lintian finds errors in $package"
fi
