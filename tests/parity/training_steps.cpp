// Runs training steps of ResNet-50 or AlexNet on batches from a file, for comparison with another
// program.
//
//   [mpirun -n RANKS] training_steps CONFIG INPUT OUTPUT
//
// CONFIG has the key workload (resnet50 or alexnet), the sections model, training and optimizer,
// and optionally schedule; an epoch of the schedule has training.steps steps. INPUT (HDF5) has the
// weights and running statistics under their names, images [steps, batch, 3, side, side], labels
// [steps, batch] and, without a schedule, learning_rates [steps], all floating point. OUTPUT gets
// weights, statistics and momentum/<name> after the last step, the mean loss of every step, losses
// [steps], and outputs [steps, batch, classes].
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runner/base/system_facts.h"
#include "runner/communicator.h"
#include "staging/h5.h"
#include "workloads/alexnet/model.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/resnet50/model.h"

namespace {

using runner::Communicator;

enum class Workload { kResnet50, kAlexnet };

struct Setup {
  nn::Network network;
  parallel::DataParallelConfig parallel;
  double label_smoothing = 0.0;
  std::int64_t steps = 1;
  std::unique_ptr<nn::Optimizer> optimizer;
  std::optional<nn::Schedule> schedule;  ///< absent: INPUT has the learning rates
};

nn::Network parse_network(const base::ObjectReader& root) {
  const auto workload = root.choice<Workload>(
      "workload", Workload::kResnet50,
      {{"resnet50", Workload::kResnet50}, {"alexnet", Workload::kAlexnet}}, "what is trained");
  const base::ObjectReader model = root.object("model", "the network");
  if (workload == Workload::kAlexnet) return alexnet::build_network(alexnet::parse_model(model));
  return resnet50::build_network(resnet50::parse_model(model));
}

Setup parse_setup(const base::ObjectReader& root) {
  Setup setup;
  setup.network = parse_network(root);
  const base::ObjectReader training = root.object("training", "how an update is made");
  setup.steps = training.required<std::int64_t>("steps", "updates", base::at_least(1));
  setup.parallel.global_batch =
      training.required<std::int64_t>("global_batch_size", "samples", base::at_least(1));
  setup.parallel.accumulation = training.optional<std::int64_t>(
      "gradient_accumulation_steps", 1, "passes that make one update", base::at_least(1));
  setup.parallel.bn_group_size = training.required<std::int64_t>(
      "bn_group_samples", "samples that share statistics", base::at_least(1));
  setup.parallel.mode = training.choice<nn::Mode>(
      "statistics", nn::Mode::kTraining,
      {{"batch", nn::Mode::kTraining}, {"frozen", nn::Mode::kFrozenStatistics}},
      "that batch norm normalises with");
  setup.parallel.instruction_set = base::usable_instruction_set();
  setup.label_smoothing =
      training.optional<double>("label_smoothing", 0.0, "share spread", base::between(0.0, 1.0));
  setup.optimizer = nn::make_optimizer(root.object("optimizer", "how gradients change weights"));
  if (root.has("schedule")) {
    setup.schedule = nn::parse_schedule(root.object("schedule", "learning rate by update"),
                                        setup.parallel.global_batch, setup.steps, 1);
  }
  root.reject_unknown();
  return setup;
}

class Trial {
 public:
  Trial(const Communicator& world, Setup setup, const std::string& input);
  void run();
  void save(const std::string& output);

 private:
  void load_state();
  double learning_rate(std::int64_t step) const;
  void load_samples(std::int64_t step, std::int64_t pass);
  void finish_pass(std::int64_t step);
  nn::Executor& executor() { return model_.executor(); }

  const Communicator& world_;
  Communicator node_;
  Setup setup_;
  nn::Network network_;
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  parallel::DataParallel model_;
  staging::H5StateReader input_;
  std::vector<float> images_, labels_, learning_rates_;
  std::vector<std::int32_t> local_labels_;
  std::vector<double> losses_;  ///< by step: this rank's part of the mean
  std::vector<float> outputs_;  ///< of all ranks; on rank 0 only
};

Trial::Trial(const Communicator& world, Setup setup, const std::string& input)
    : world_(world),
      node_(world.split_node()),
      setup_(std::move(setup)),
      network_(std::move(setup_.network)),
      telemetry_(clock_),
      model_(network_, setup_.parallel, world, node_, telemetry_),
      input_(input),
      losses_(static_cast<std::size_t>(setup_.steps), 0.0) {
  const std::int64_t batch = setup_.parallel.global_batch, side = network_.shape(0).spatial.front();
  images_ = input_.read("images", {setup_.steps, batch, 3, side, side});
  labels_ = input_.read("labels", {setup_.steps, batch});
  if (!setup_.schedule) learning_rates_ = input_.read("learning_rates", {setup_.steps});
  local_labels_.resize(static_cast<std::size_t>(model_.local_batch()));
  model_.initialize(1, *setup_.optimizer);  // the drawn weights are replaced below
  load_state();
}

void Trial::load_state() {
  for (std::size_t i = 0; i < network_.parameters().size(); ++i) {
    const nn::ParameterSpec& spec = network_.parameters()[i];
    executor().parameters().write_weights(static_cast<int>(i), input_.read(spec.name, spec.shape));
  }
  executor().parameters().publish();
  for (std::size_t i = 0; i < network_.statistics().size(); ++i) {
    const nn::StatisticsSpec& spec = network_.statistics()[i];
    executor().statistics().set(static_cast<int>(i),
                                input_.read(spec.name + ".running_mean", {spec.channels}),
                                input_.read(spec.name + ".running_var", {spec.channels}));
  }
}

double Trial::learning_rate(std::int64_t step) const {
  if (setup_.schedule) return setup_.schedule->learning_rate(step);
  return static_cast<double>(learning_rates_[static_cast<std::size_t>(step)]);
}

void Trial::load_samples(std::int64_t step, std::int64_t pass) {
  const std::int64_t size = network_.shape(0).size();
  const std::int64_t first =
      step * setup_.parallel.global_batch + model_.split().slot(world_.rank(), pass, 0);
  std::copy_n(images_.begin() + first * size, executor().input().size(),
              executor().input().begin());
  for (std::size_t i = 0; i < local_labels_.size(); ++i) {
    local_labels_[i] = static_cast<std::int32_t>(labels_[static_cast<std::size_t>(first) + i]);
  }
}

void Trial::finish_pass(std::int64_t step) {
  const double scale = 1.0 / static_cast<double>(setup_.parallel.global_batch);
  const std::span<const float> outputs = executor().outputs();
  const nn::LossSums sums = nn::softmax_cross_entropy(
      outputs, local_labels_, setup_.label_smoothing, scale, executor().output_gradient());
  losses_[static_cast<std::size_t>(step)] += scale * sums.loss;
  // Ranks have a pass's samples in order, so rank order is the order of the batch.
  const std::vector<float> all = world_.gather(outputs, 0);
  outputs_.insert(outputs_.end(), all.begin(), all.end());
}

void Trial::run() {
  for (std::int64_t step = 0; step < setup_.steps; ++step) {
    model_.step([&](std::int64_t pass) { load_samples(step, pass); },
                [&](std::int64_t) { finish_pass(step); }, *setup_.optimizer, learning_rate(step));
  }
  world_.allreduce_sum(std::span<double>(losses_));
  model_.synchronize_statistics();
}

void Trial::save(const std::string& output) {
  if (world_.rank() != 0) return;
  staging::H5StateWriter writer(output);
  nn::Parameters& parameters = executor().parameters();
  std::map<std::string, int> ids;
  for (std::size_t i = 0; i < network_.parameters().size(); ++i) {
    const nn::ParameterSpec& spec = network_.parameters()[i];
    ids["momentum/" + spec.name] = static_cast<int>(i);
    writer.write(spec.name, spec.shape, parameters.read_weights(static_cast<int>(i)));
  }
  for (const nn::StateView& view : setup_.optimizer->state()) {
    if (view.parameter_index < 0) continue;
    const int id = ids.at(view.name);
    writer.write(view.name, network_.parameters()[static_cast<std::size_t>(id)].shape,
                 parameters.to_plain(id, view.values));
  }
  for (std::size_t i = 0; i < network_.statistics().size(); ++i) {
    const nn::StatisticsSpec& spec = network_.statistics()[i];
    const auto mean = executor().statistics().mean(static_cast<int>(i));
    const auto variance = executor().statistics().variance(static_cast<int>(i));
    writer.write(spec.name + ".running_mean", {spec.channels},
                 std::vector<float>(mean.begin(), mean.end()));
    writer.write(spec.name + ".running_var", {spec.channels},
                 std::vector<float>(variance.begin(), variance.end()));
  }
  writer.write("losses", {setup_.steps}, std::vector<float>(losses_.begin(), losses_.end()));
  const std::int64_t samples = setup_.steps * setup_.parallel.global_batch;
  const std::int64_t classes = static_cast<std::int64_t>(outputs_.size()) / samples;
  writer.write("outputs", {setup_.steps, setup_.parallel.global_batch, classes}, outputs_);
  writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  const runner::MpiEnvironment environment(argc, argv);
  const Communicator world = Communicator::world();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() != 3) throw base::ConfigError("usage: training_steps CONFIG INPUT OUTPUT");
    const base::ObjectReader config(base::load_config(arguments[0], {}), arguments[0]);
    Trial trial(world, parse_setup(config), arguments[1]);
    trial.run();
    trial.save(arguments[2]);
    return static_cast<int>(base::ExitCode::kSuccess);
  } catch (const base::Error& error) {
    world.abort(error.code(), error.what());
  } catch (const std::exception& error) {
    world.abort(base::ExitCode::kInternal, error.what());
  }
}
