#!/usr/bin/env bash
# One training step, evaluation and saving under valgrind, on 1 and 2 ranks: no invalid access, no
# use of uninitialised memory, no leaks.
#
#   valgrind_step.sh TRAINMARK MPIEXEC
set -euo pipefail
readonly trainmark=$1 mpiexec=$2
here=$(cd "$(dirname "$0")" && pwd)
readonly here
if ! command -v valgrind >/dev/null; then
  echo "valgrind_step.sh: valgrind is not installed; ./check --all installs it" >&2
  exit 2
fi
folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT

"$trainmark" generate resnet50 --output "$folder/data" --classes 2 --train-per-class 2 --validation-per-class 1 \
  --image-size 16 --threads 1
cat >"$folder/step.json" <<JSON
{
  "workload": "resnet50", "epochs": 1, "seed": 1, "threads": 1, "clear_caches": "never", "hang_timeout_s": 0,
  "dataset": {"train": "$folder/data/train", "validation": "$folder/data/validation", "preprocess": "cifar"},
  "model": {"depth": 26, "width": 8, "image_size": 16, "classes": 2},
  "training": {"global_batch_size": 4, "bn_group_samples": 4},
  "optimizer": {"name": "sgd", "momentum": 0.9, "weight_decay": 0.0001},
  "schedule": {"name": "constant", "learning_rate": 0.1},
  "staging": {"mode": "shard", "directory": "$folder/near"},
  "results": {"directory": "$folder/results", "system": "box"}
}
JSON

# valgrind does not support AVX-512.
export TRAINMARK_MAX_ISA=avx2 ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=1
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
readonly found=99 missed=6
for ranks in 1 2; do
  status=0
  "$mpiexec" --oversubscribe --bind-to none -n "$ranks" \
    valgrind -q --keep-debuginfo=yes --num-callers=40 --error-exitcode=$found --leak-check=full --errors-for-leak-kinds=definite \
    --suppressions="$here/valgrind.supp" \
    "$trainmark" run "$folder/step.json" || status=$?
  # The single step does not reach the target.
  if ((status != missed)); then
    echo "valgrind_step.sh: $ranks ranks: expected exit code $missed, found $status" >&2
    exit 1
  fi
  echo "$ranks ranks: clean"
done
