// A workload small enough for tests of the runner: its accuracy rises by a tenth per epoch.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <stdexcept>

#include "runner/mllog/keys.h"
#include "runner/workload.h"

namespace runner {

/// Faults and events of a toy run, by step (counted from 1).
struct ToyScript {
  std::int64_t not_finite_at_step = 0;
  std::int64_t throw_at_step = 0;
  int throwing_rank = 0;
  int drifting_rank = -1;
  std::int64_t copies_until_step = 0;  ///< staging goes on while training, up to this step
  std::function<void(std::int64_t step)> at_step;
  std::function<void(const std::string& call)> at_call;  ///< called in all other calls, with their
                                                         ///< names
  std::int64_t* hashes = nullptr;                        ///< counts calls of replica_hash()
  std::vector<std::string>* calls = nullptr;             ///< names of the calls, in order
};

class ToyWorkload final : public Workload {
 public:
  ToyWorkload(const Surroundings& around, std::uint64_t seed, ToyScript script)
      : around_(around), seed_(seed), script_(std::move(script)) {
    info_.name = "toy";
    info_.benchmark = "resnet";
    info_.global_batch_size = 4;
    info_.steps_per_epoch = 10;
    info_.parameters = 3;
    info_.disclosure.micro_batch_size = 4;
    info_.target = {mllog::keys::kEvalAccuracy, {{"", "", mllog::Direction::kRises, 0.45}}};
  }

  const WorkloadInfo& info() const override { return info_; }
  std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const override {
    return {{mllog::keys::kOptName, "sgd"}, {mllog::keys::kTrainSamples, info_.train_samples}};
  }
  std::vector<std::string> log_tensor_names() const override {
    return {"conv0_weight", "fc1_bias"};
  }
  void open_data() override {
    note("open_data");
    info_.train_samples = 40;
    info_.eval_samples = 8;
  }
  void initialize() override { note("initialize"); }
  nlohmann::json stage() override {
    note("stage");
    if (script_.copies_until_step > 0) return nullptr;
    return {{"bytes", 12}};
  }
  nlohmann::json finish_staging(StagingEnd end) override {
    const bool is_done = step_ >= script_.copies_until_step;
    if (end == StagingEnd::kWhenCopied && !is_done) return nullptr;
    return {{"bytes", is_done ? 12 : 5}};
  }
  TrainResult train(std::int64_t steps) override {
    const telemetry::Scope scope(around_.telemetry, telemetry::Subsystem::kForward);
    TrainResult result;
    for (std::int64_t i = 0; i < steps; ++i) {
      around_.telemetry.begin_step();
      ++step_;
      value_ = 0.875 * value_ + static_cast<double>(step_);
      part_ = 0.5 * part_ + static_cast<double>(around_.world.rank());
      if (script_.at_step) script_.at_step(step_);
      if (step_ == script_.throw_at_step && around_.world.rank() == script_.throwing_rank) {
        throw base::DataError("toy.tar: sample 5 is damaged");
      }
      around_.telemetry.end_step();
      result.mean_loss += 1.0 / static_cast<double>(step_) / static_cast<double>(steps);
      if (step_ == script_.not_finite_at_step) {
        result.mean_loss = std::numeric_limits<double>::quiet_NaN();
      }
    }
    result.learning_rate = 0.1;
    result.samples = steps * info_.global_batch_size;
    return result;
  }
  double evaluate(OutputSink* outputs) override {
    note("evaluate");
    if (outputs != nullptr && around_.world.rank() == 0) {
      const std::vector<float> rows = {0.25F, 0.75F};
      const std::vector<std::int32_t> labels = {1};
      outputs->write(0, 2, rows, labels);
    }
    return 0.1 * static_cast<double>(step_) / static_cast<double>(info_.steps_per_epoch);
  }
  void save_weights(StateWriter* writer) override {
    note("save_weights");
    if (around_.world.rank() != 0) return;
    const std::vector<float> weights = {1.0F, static_cast<float>(value_),
                                        static_cast<float>(seed_ % 1000)};
    writer->write("weights", {3}, weights);
  }
  void load_weights(const StateReader& reader) override { reader.read("weights", {3}); }
  std::vector<base::StateArray> state() override {
    note("state");
    const auto part = [this](std::vector<std::byte>&) {
      return std::as_bytes(std::span<const double>(&part_, 1));
    };
    return {base::replicated<double>("value", {1}, [this] { return std::vector{value_}; }),
            {"resume/part",
             base::ElementType::kFloat64,
             {around_.world.size(), 1},
             base::Holding::kRowsOfRanks,
             around_.world.rank(),
             1,
             part}};
  }
  void restore(const base::StateSource& source, std::int64_t steps_done) override {
    note("restore");
    value_ = base::read_array<double>(source, "value", {1}).front();
    if (source.shape("resume/part").front() == around_.world.size()) {
      source.read_rows("resume/part", base::ElementType::kFloat64, around_.world.rank(),
                       std::as_writable_bytes(std::span<double>(&part_, 1)));
    }
    step_ = steps_done;
  }
  std::int64_t state_bytes() const override { return 8 * (1 + around_.world.size()); }
  std::vector<std::string> keys_without_effect() const override {
    return {"/epochs",       "/model/kill_at_step", "/model/checkpoint_at_step",
            "/model/signal", "/model/signals",      "/model/signal_at_step",
            "/strike",       "/model/step_ms"};
  }
  /// The accumulated effect of all steps on this rank's state.
  std::pair<double, double> values() const { return {value_, part_}; }
  std::uint64_t replica_hash() const override {
    if (script_.hashes != nullptr) ++*script_.hashes;
    return around_.world.rank() == script_.drifting_rank ? ~0ULL : 42 + seed_;
  }
  StepCost step_cost() const override { return {4, 100, 12}; }
  void clean_up() override { note("clean_up"); }

 private:
  void note(const char* call) {
    if (script_.calls != nullptr) script_.calls->emplace_back(call);
    if (script_.at_call) script_.at_call(call);
  }
  const Surroundings& around_;
  std::uint64_t seed_;
  ToyScript script_;
  WorkloadInfo info_;
  std::int64_t step_ = 0;
  double value_ = 0.0, part_ = 0.0;
};

}  // namespace runner
