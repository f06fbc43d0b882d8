// The table of workloads.
// Hides nothing: to add a workload, add its entry.
#include "workloads/registry.h"

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
#include "workloads/resnet50/config.h"
#include "workloads/resnet50/generate.h"
#include "workloads/resnet50/workload.h"

namespace workloads {

std::vector<runner::WorkloadEntry> registry() {
  return {{"resnet50",
           "ResNet-50 v1.5, image classification",
           resnet50::make_workload,
           resnet50::check_config,
           resnet50::memory_needs,
           resnet50::run_bench,
           resnet50::declare_generate,
           {"--image-size", "--classes", "--recompute", "--methods", "--use-methods"}},
          {"dlrm",
           "DLRM, click-through prediction from dense features and embedding tables",
           dlrm::make_workload,
           dlrm::check_config,
           dlrm::memory_needs,
           dlrm::run_bench,
           dlrm::declare_generate,
           {"--config", "--table-update", "--table-storage", "--alltoall"},
           dlrm::kEvaluationsPerEpoch},
          {"cosmoflow",
           "CosmoFlow, parameters of a cosmology from volumes of dark matter",
           cosmoflow::make_workload,
           cosmoflow::check_config,
           cosmoflow::memory_needs,
           cosmoflow::run_bench,
           cosmoflow::declare_generate,
           {"--size", "--methods", "--use-methods"}},
          {"deepcam",
           "DeepCAM, segmentation of storms in climate simulations",
           deepcam::make_workload,
           deepcam::check_config,
           deepcam::memory_needs,
           deepcam::run_bench,
           deepcam::declare_generate,
           {"--height", "--width", "--recompute", "--methods", "--use-methods"},
           1,
           deepcam::draw_masks}};
}

}  // namespace workloads
