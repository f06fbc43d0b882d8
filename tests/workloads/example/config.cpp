// Parsing of the example's sections, and its network.
#include "workloads/example/config.h"

#include <cmath>

#include "runner/base/system_facts.h"
#include "workloads/example/points.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer_config.h"

namespace example {
namespace {

base::ObjectReader optimizer_section(const base::ObjectReader& root) {
  return root.object("optimizer", "how gradients change weights");
}

nn::ValueId add_layer(nn::Network& network, nn::ValueId src, const char* name, std::int64_t outputs,
                      bool relu) {
  nn::FullyConnectedSpec spec;
  spec.name = name;
  spec.outputs = outputs;
  const auto inputs = static_cast<double>(network.shape(src).channels);
  spec.weights = {nn::Distribution::kNormal, std::sqrt(2.0 / inputs), 0.0};
  spec.relu = relu;
  return network.fully_connected(src, spec);
}

}  // namespace

Config parse_config(const base::ObjectReader& root) {
  Config config;
  const base::ObjectReader data = root.object("dataset", "where samples come from");
  config.train = data.required<std::string>("train", "file of points", base::not_empty());
  config.validation = data.required<std::string>("validation", "file of points", base::not_empty());
  parallel::parse_read_keys(data, config.read);
  config.staging = staging::parse_staging(root.object("staging", "node-local copies"));
  config.epochs = root.required<std::int64_t>("epochs", "passes over the training set at most",
                                              base::at_least(1));
  config.hidden = root.object("model", "the network")
                      .optional<std::int64_t>("hidden", config.hidden, "outputs of the first layer",
                                              base::within(1, 4096));
  parallel::parse_update_keys(root.object("training", "how an update is made"), config);
  config.learning_rate = optimizer_section(root).optional<double>(
      "learning_rate", config.learning_rate, "of every update", base::positive());
  return config;
}

std::unique_ptr<nn::Optimizer> make_optimizer(const base::ObjectReader& root) {
  return nn::make_sgd(nn::parse_sgd(optimizer_section(root)));
}

void check_config(const base::ObjectReader& root) {
  const Config config = parse_config(root);
  (void)make_optimizer(root);
  parallel::check_batch_fits(root, config.global_batch_size, config.read.train_samples);
}

nn::Network build_network(std::int64_t hidden) {
  nn::Network network;
  const nn::ValueId input = network.input({kCoordinates, {}});
  const nn::ValueId middle = add_layer(network, input, "hidden", hidden, true);
  (void)add_layer(network, middle, "output", kClasses, false);
  return network;
}

parallel::DataParallelConfig training_of(const Config& config) {
  parallel::DataParallelConfig training;
  training.global_batch = config.global_batch_size;
  training.accumulation = config.gradient_accumulation_steps;
  training.instruction_set = base::usable_instruction_set();
  return training;
}

}  // namespace example
