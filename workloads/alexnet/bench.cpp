// The bench of AlexNet.
#include "workloads/images/bench.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "workloads/alexnet/model.h"
#include "workloads/alexnet/workload.h"

namespace alexnet {

runner::Bench declare_bench(CLI::App& app) {
  const auto own = std::make_shared<images::BenchOptions>();
  own->image_size = ModelConfig().image_size;
  const auto batch_norms = std::make_shared<bool>(false);
  app.add_flag("--batch-norms", *batch_norms, "AlexNet-BN in place of response norms");
  own->network = [batch_norms](const images::BenchOptions& options) {
    ModelConfig model;
    model.image_size = options.image_size;
    model.classes = options.classes;
    if (*batch_norms) model.normalization = Normalization::kBatch;
    return build_network(model);
  };
  return images::declare_bench(app, "alexnet", own);
}

}  // namespace alexnet
