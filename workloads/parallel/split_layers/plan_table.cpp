// The plan as text and as JSON.
#include "workloads/parallel/split_layers/plan_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace split_layers_bench {
namespace {

using nlohmann::json;
using parallel::Communication;
using parallel::PlannedLayer;
using parallel::SplitPlan;

constexpr double kMega = 1e6;

/// Of the bytes of all ranks together, the megabytes of one.
double megabytes(std::int64_t bytes, int ranks) {
  return static_cast<double>(bytes) / ranks / kMega;
}

json json_of(const Communication& communication, int ranks) {
  return {{"activations_bytes", static_cast<double>(communication.activations) / ranks},
          {"gradients_bytes", static_cast<double>(communication.gradients) / ranks}};
}

json json_of(const PlannedLayer& layer, int ranks) {
  json alternatives = json::array();
  for (const parallel::Alternative& one : layer.alternatives) {
    json entry = json_of(one.communication, ranks);
    entry["distribution"] = to_string(one.distribution, ranks);
    alternatives.push_back(std::move(entry));
  }
  return {{"name", layer.name},
          {"weights", layer.layer.weights},
          {"chosen", to_string(layer.chosen, ranks)},
          {"alternatives", alternatives},
          {"flops_per_gradient_byte", layer.computation_per_byte},
          {"best_data_parts", layer.best_data_parts > 0.0 ? json(layer.best_data_parts) : json()}};
}

/// What the best alternative of a layer would add to what a rank sends.
std::string alternative_text(const PlannedLayer& layer, const SplitPlan& plan, int ranks) {
  const parallel::Alternative* const next = layer.next_best();
  if (next == nullptr) return "none";
  const Communication &with = next->communication, &now = plan.communication;
  return fmt::format("{:<18}{:>+10.2f}{:>+14.2f}{:>+12.2f}", to_string(next->distribution, ranks),
                     megabytes(with.total() - now.total(), ranks),
                     megabytes(with.activations - now.activations, ranks),
                     megabytes(with.gradients - now.gradients, ranks));
}

std::string sent_text(const Communication& communication, int ranks) {
  return fmt::format(
      "{:.2f} MB (activations {:.2f}, gradients {:.2f})", megabytes(communication.total(), ranks),
      megabytes(communication.activations, ranks), megabytes(communication.gradients, ranks));
}

}  // namespace

std::string plan_text(const std::string& network, const SplitPlan& plan, std::int64_t samples,
                      int ranks) {
  std::string text = fmt::format(
      "{} on {} {}, {} samples a step: data parts x feature parts\n"
      "a rank sends {} a step, by data parallelism alone {}\n"
      "{:<10}{:>12}{:>12}{:>18}  {:<18}{:>10}{:>14}{:>12}\n",
      network, ranks, ranks == 1 ? "rank" : "ranks", samples, sent_text(plan.communication, ranks),
      sent_text(plan.data_parallel, ranks), "layer", "weights", "FLOP/byte", "chosen", "next best",
      "adds MB", "activations", "gradients");
  for (const PlannedLayer& layer : plan.layers) {
    text += fmt::format("{:<10}{:>12}{:>12.1f}{:>18}  {}\n", layer.name, layer.layer.weights,
                        layer.computation_per_byte, to_string(layer.chosen, ranks),
                        alternative_text(layer, plan, ranks));
  }
  return text;
}

json plan_json(const parallel::Chain& chain, const SplitPlan& plan, std::int64_t samples,
               int ranks) {
  json layers = json::array(), exchanges = json::array();
  for (const PlannedLayer& layer : plan.layers) layers.push_back(json_of(layer, ranks));
  const std::vector<parallel::Stage> stages = parallel::cut(chain, plan.distribution, 0, ranks);
  const auto edges = parallel::edges_of(stages, plan.distribution.loss, samples);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const parallel::ActivationEdge& edge = edges[i];
    const auto chosen = parallel::collective_of(edge.from, edge.to, edge.has_partial_sums);
    if (chosen == parallel::ActivationCollective::kNone) continue;
    exchanges.push_back({{"before", i < stages.size() ? stages[i].name : "loss"},
                         {"from", to_string(edge.from, ranks)},
                         {"to", to_string(edge.to, ranks)},
                         {"forward", forward_name(chosen)},
                         {"backward", i > 0 ? backward_name(chosen) : "none"}});
  }
  return {{"ranks", ranks},
          {"layers", layers},
          {"exchanges", exchanges},
          {"communication", json_of(plan.communication, ranks)},
          {"data_parallel", json_of(plan.data_parallel, ranks)}};
}

json plan_definitions() {
  return {{"activations_bytes",
           "planned: activations and their gradients that a rank sends in a step, mean"},
          {"gradients_bytes",
           "planned: gradients that a rank sends in a step, where each rank has a node of its own, "
           "mean; without what pads tensors"},
          {"alternatives",
           "of the whole network, if this layer is distributed so and all others as chosen"},
          {"exchanges", "of activations: before which layers, by which collective"},
          {"flops_per_gradient_byte",
           "FLOP of a step per byte of gradients that a rank exchanges by data parallelism alone"},
          {"best_data_parts",
           "of a fully connected layer: data parts of the fewest bytes, by formula"}};
}

}  // namespace split_layers_bench
