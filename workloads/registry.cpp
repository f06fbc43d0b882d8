// The table of workloads: to add one, add its entry.
#include "workloads/registry.h"

#include "workloads/alexnet/config.h"
#include "workloads/alexnet/workload.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/cosmoflow/generate.h"
#include "workloads/cosmoflow/workload.h"
#include "workloads/deepcam/config.h"
#include "workloads/deepcam/generate.h"
#include "workloads/deepcam/mask_pictures.h"
#include "workloads/deepcam/workload.h"
#include "workloads/dlrm/config.h"
#include "workloads/dlrm/generate.h"
#include "workloads/dlrm/workload.h"
#include "workloads/gnmt/bleu_command.h"
#include "workloads/images/generate.h"
#include "workloads/parallel/exchange_bench/bench.h"
#include "workloads/parallel/split_layers/bench.h"
#include "workloads/resnet50/config.h"
#include "workloads/resnet50/workload.h"

namespace workloads {

std::vector<runner::WorkloadEntry> registry() {
  return {{.name = "resnet50",
           .summary = "ResNet-50 v1.5, image classification",
           .make = resnet50::make_workload,
           .check = resnet50::check_config,
           .memory_needs = resnet50::memory_needs,
           .scale = resnet50::training_scale,
           .declare_bench = resnet50::declare_bench,
           .declare_generate = images::declare_generate},
          {.name = "alexnet",
           .summary = "AlexNet and AlexNet-BN, image classification",
           .make = alexnet::make_workload,
           .check = alexnet::check_config,
           .memory_needs = alexnet::memory_needs,
           .scale = alexnet::training_scale,
           .declare_bench = alexnet::declare_bench,
           .declare_generate = images::declare_generate},
          {.name = "dlrm",
           .summary = "DLRM, click-through prediction from dense features and embedding tables",
           .make = dlrm::make_workload,
           .check = dlrm::check_config,
           .memory_needs = dlrm::memory_needs,
           .declare_bench = dlrm::declare_bench,
           .declare_generate = dlrm::declare_generate,
           .evaluations_per_epoch = dlrm::kEvaluationsPerEpoch},
          {.name = "cosmoflow",
           .summary = "CosmoFlow, parameters of a cosmology from volumes of dark matter",
           .make = cosmoflow::make_workload,
           .check = cosmoflow::check_config,
           .memory_needs = cosmoflow::memory_needs,
           .scale = cosmoflow::training_scale,
           .declare_bench = cosmoflow::declare_bench,
           .declare_generate = cosmoflow::declare_generate},
          {.name = "deepcam",
           .summary = "DeepCAM, segmentation of storms in climate simulations",
           .make = deepcam::make_workload,
           .check = deepcam::check_config,
           .memory_needs = deepcam::memory_needs,
           .scale = deepcam::training_scale,
           .declare_bench = deepcam::declare_bench,
           .declare_generate = deepcam::declare_generate,
           .draw = deepcam::draw_masks}};
}

std::vector<runner::MachineBench> machine_benches() {
  return {exchange_bench::bench(), split_layers_bench::bench()};
}

std::vector<base::Command> commands() { return {gnmt::bleu_command()}; }

}  // namespace workloads
