// The AlexNet workload: its target and what its logs say.
#include "workloads/alexnet/workload.h"

#include "runner/mllog/keys.h"
#include "workloads/alexnet/config.h"
#include "workloads/images/classifier.h"
#include "workloads/images/log_fields.h"
#include "workloads/parallel/training_scale.h"

namespace alexnet {
namespace {

/// Top-1 accuracy on ImageNet, central crop: the baseline that the large-batch papers keep to.
constexpr double kTarget = 0.58;

class AlexNet final : public images::Classifier {
 public:
  AlexNet(const Config& config, const std::shared_ptr<images::ImageData>& data,
          const runner::RunConfig& run, const runner::Surroundings& around)
      : Classifier(
            {.name = "alexnet",
             .benchmark = "alexnet",
             .target = {mllog::keys::kEvalAccuracy, {{"", "", mllog::Direction::kRises, kTarget}}}},
            build_network(config.model), config.images, data, run, around),
        bn_group_samples_(config.images.model.has_norms ? config.images.training.bn_group_samples
                                                        : 0) {}

  std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const override {
    return images::optimizer_log_fields(optimizer().hyperparameters(), schedule(),
                                        info().steps_per_epoch, bn_group_samples_);
  }
  std::map<std::string, std::string> log_settings() const override {
    auto settings = images::log_settings();
    if (bn_group_samples_ == 0) settings.erase(mllog::keys::kModelBnSpan);
    return settings;
  }

 private:
  const std::int64_t bn_group_samples_;  ///< 0: no batch norms
};

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& run,
                                                const runner::Surroundings& around) {
  const Config config = parse_config(run.reader);
  const auto data = images::open_images(config.images, run, around, memory_needs);
  return std::make_unique<AlexNet>(config, data, run, around);
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

}  // namespace alexnet
