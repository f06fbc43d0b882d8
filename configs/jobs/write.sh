#!/usr/bin/env bash
# Writes the example job scripts of this folder anew.
#
#   configs/jobs/write.sh                                     # with the trainmark in PATH
#   configs/jobs/write.sh build/release/trainmark FOLDER      # with another one, into another folder
set -euo pipefail
cd "$(dirname "$0")/../.."
trainmark=${1:-trainmark}
folder=${2:-configs/jobs}

# FILE ARGUMENTS...
example() { "$trainmark" script "${@:2}" --output "$folder/$1"; }

resnet=(configs/resnet50/mlperf_8192.json --nodes 16 --ranks-per-node 2 --cpus-per-rank 32 --time 08:00:00)
example resnet50.sbatch slurm "${resnet[@]}" --partition standard --module openmpi
example resnet50.pbs pbs "${resnet[@]}" --queue normal
example resnet50.lsf lsf "${resnet[@]}" --queue normal
example resnet50.flux flux "${resnet[@]}"

dlrm=(configs/dlrm/mlperf_55296.json --nodes 4 --cpus-per-rank 64 --time 02:00:00 --runs 5)
example dlrm_set.sbatch slurm "${dlrm[@]}" --at-once 2
example dlrm_set.pbs pbs "${dlrm[@]}" --at-once 2
example dlrm_set.lsf lsf "${dlrm[@]}" --at-once 2
example dlrm_set.flux flux "${dlrm[@]}"

# Eight instances on 16 nodes each, started together: weak scaling.
example cosmoflow_together.sbatch slurm configs/cosmoflow/mlperf_128.json --nodes 16 --ranks-per-node 2 \
  --cpus-per-rank 32 --time 04:00:00 --runs 8 --together --launcher srun
