// The ResNet-50 workload: what its logs say.
#include "workloads/resnet50/workload.h"

#include "runner/mllog/benchmarks.h"
#include "workloads/images/classifier.h"
#include "workloads/images/log_fields.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/parallel/training_scale.h"
#include "workloads/resnet50/config.h"
#include "workloads/resnet50/rule_breaks.h"

namespace resnet50 {
namespace {

class ResNet50 final : public images::Classifier {
 public:
  ResNet50(const Config& config, const std::shared_ptr<images::ImageData>& data,
           const runner::RunConfig& run, const runner::Surroundings& around)
      : Classifier({.name = "resnet50",
                    .benchmark = "resnet",
                    .target = mllog::find_benchmark("resnet")->evaluation().target},
                   build_network(config.model), config.images, data, run, around),
        config_(config),
        optimizer_section_(run.reader.object("optimizer", "how gradients change weights")) {}

  std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const override {
    return images::optimizer_log_fields(optimizer().hyperparameters(), schedule(),
                                        info().steps_per_epoch,
                                        config_.images.training.bn_group_samples);
  }
  std::vector<std::string> log_tensor_names() const override {
    // The reference names no tensors of v2.
    return config_.model.version == Version::kV2 ? Classifier::log_tensor_names()
                                                 : mlperf_tensor_names(config_.model);
  }
  std::map<std::string, std::string> log_settings() const override {
    return images::log_settings();
  }

 private:
  std::vector<std::string> model_rule_breaks() const override {
    Training training{optimizer().hyperparameters(), std::nullopt, schedule()};
    if (training.optimizer.name == "lars") training.lars = nn::parse_lars(optimizer_section_);
    return resnet50::closed_rule_breaks(config_, training);
  }

  const Config config_;
  const base::ObjectReader optimizer_section_;
};

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& run,
                                                const runner::Surroundings& around) {
  const Config config = parse_config(run.reader);
  const auto data = images::open_images(config.images, run, around, memory_needs);
  return std::make_unique<ResNet50>(config, data, run, around);
}

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  return images::memory_needs(build_network(config.model), config.images, run, place);
}

runner::TrainingScale training_scale(const runner::RunConfig& run,
                                     const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  return images::training_scale(build_network(config.model), config.images, place);
}

}  // namespace resnet50
