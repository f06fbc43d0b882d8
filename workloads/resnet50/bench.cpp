// The bench of ResNet-50.
#include "workloads/images/bench.h"

#include <memory>

#include "workloads/resnet50/model.h"
#include "workloads/resnet50/workload.h"

namespace resnet50 {

runner::Bench declare_bench(CLI::App& app) {
  const auto own = std::make_shared<images::BenchOptions>();
  own->network = [](const images::BenchOptions& options) {
    ModelConfig model;
    model.image_size = options.image_size;
    model.classes = options.classes;
    return build_network(model);
  };
  return images::declare_bench(app, "resnet50", own);
}

}  // namespace resnet50
