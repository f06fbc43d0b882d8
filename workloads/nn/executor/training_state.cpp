// The arrays of a network in training.
#include "workloads/nn/executor/training_state.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "runner/base/error.h"

namespace nn {
namespace {

using base::StateArray;

constexpr char kKept[] = "resume/statistics/kept";
constexpr char kPart[] = "resume/statistics/part";
constexpr char kDecay[] = "resume/statistics/decay";

std::string optimizer_name(const StateView& view) { return base::kResumeGroup + view.name; }

/// The parameter whose shape and layout an array of the optimizer's state has; -1: a plain vector.
ParameterId parameter_of(const StateView& view, std::span<const ParameterView> parameters,
                         const Network& network) {
  if (view.parameter_index < 0) return -1;
  const std::string& name = parameters[static_cast<std::size_t>(view.parameter_index)].name;
  const auto& specs = network.parameters();
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const ParameterSpec& spec) { return spec.name == name; });
  if (found == specs.end()) {
    throw base::Error(base::ExitCode::kInternal,
                      "optimizer state of an unknown parameter: " + name);
  }
  return static_cast<ParameterId>(found - specs.begin());
}

std::vector<std::int64_t> shape_of(const StateView& view, ParameterId id, const Network& network) {
  if (id < 0) return {static_cast<std::int64_t>(view.values.size())};
  return network.parameters()[static_cast<std::size_t>(id)].shape;
}

void add_weights(Executor& executor, std::vector<StateArray>& arrays) {
  const auto& specs = executor.network().parameters();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto id = static_cast<ParameterId>(i);
    arrays.push_back(base::replicated<float>(specs[i].name, specs[i].shape, [&executor, id] {
      return executor.parameters().read_weights(id);
    }));
  }
}

void add_optimizer(Executor& executor, Optimizer& optimizer, std::vector<StateArray>& arrays) {
  const std::vector<ParameterView> parameters = executor.parameters().views();
  for (const StateView& view : optimizer.state()) {
    if (view.block) continue;
    const ParameterId id = parameter_of(view, parameters, executor.network());
    const auto values = [&executor, id, view] {
      if (id >= 0) return executor.parameters().to_plain(id, view.values);
      return std::vector<float>(view.values.begin(), view.values.end());
    };
    arrays.push_back(base::replicated<float>(optimizer_name(view),
                                             shape_of(view, id, executor.network()), values));
  }
}

std::vector<float> as_floats(std::span<const double> values) {
  std::vector<float> floats;
  for (const double value : values) floats.push_back(static_cast<float>(value));
  return floats;
}

/// The statistics that an evaluation would use now: for readers of weights, not for a resume.
void add_visible_statistics(Executor& executor, const ReplicaPlace& place,
                            std::vector<StateArray>& arrays) {
  const auto copy = std::make_shared<RunningStatistics>(executor.statistics());
  copy->synchronize(place.sum_over_ranks);
  const auto& specs = executor.network().statistics();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const int index = static_cast<int>(i);
    arrays.push_back(
        base::replicated<float>(specs[i].name + ".running_mean", {specs[i].channels},
                                [copy, index] { return as_floats(copy->mean(index)); }));
    arrays.push_back(
        base::replicated<float>(specs[i].name + ".running_var", {specs[i].channels},
                                [copy, index] { return as_floats(copy->variance(index)); }));
  }
}

StateArray array_of(const char* name, std::span<const double> values) {
  return base::replicated<double>(name, {static_cast<std::int64_t>(values.size())}, [values] {
    return std::vector<double>(values.begin(), values.end());
  });
}

void add_statistics(Executor& executor, const ReplicaPlace& place,
                    std::vector<StateArray>& arrays) {
  const RunningStatistics::Parts parts = executor.statistics().parts();
  if (parts.kept.empty()) return;
  arrays.push_back(array_of(kKept, parts.kept));
  arrays.push_back(array_of(kDecay, parts.decay));
  const auto own = [part = parts.part](std::vector<std::byte>&) { return std::as_bytes(part); };
  arrays.push_back({kPart,
                    base::ElementType::kFloat64,
                    {place.ranks, static_cast<std::int64_t>(parts.part.size())},
                    base::Holding::kRowsOfRanks,
                    place.rank,
                    1,
                    own});
}

/// This rank's part; if the number of ranks has changed, the sum of all parts on rank 0, else
/// zeros.
std::vector<double> part_of(const base::StateSource& source, std::size_t size,
                            const ReplicaPlace& place) {
  const std::vector<std::int64_t> shape = source.shape(kPart);
  if (shape.size() != 2 || shape[1] != static_cast<std::int64_t>(size)) {
    throw base::DataError(std::string(kPart) + ": expected rows of " + std::to_string(size));
  }
  std::vector<double> part(size);
  const auto read = [&](std::int64_t row, std::span<double> into) {
    source.read_rows(kPart, base::ElementType::kFloat64, row, std::as_writable_bytes(into));
  };
  if (shape[0] == place.ranks) {
    read(place.rank, part);
  } else if (place.rank == 0) {
    std::vector<double> one(size);
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      read(row, one);
      for (std::size_t i = 0; i < size; ++i) part[i] += one[i];
    }
  }
  return part;
}

void restore_statistics(const base::StateSource& source, Executor& executor,
                        const ReplicaPlace& place) {
  RunningStatistics& statistics = executor.statistics();
  const RunningStatistics::Parts now = statistics.parts();
  if (now.kept.empty()) return;
  const auto count = [](std::span<const double> values) {
    return std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())};
  };
  const auto kept = base::read_array<double>(source, kKept, count(now.kept));
  const auto decay = base::read_array<double>(source, kDecay, count(now.decay));
  statistics.set_parts({kept, part_of(source, now.part.size(), place), decay});
}

}  // namespace

std::vector<StateArray> training_state(Executor& executor, Optimizer& optimizer,
                                       const ReplicaPlace& place) {
  std::vector<StateArray> arrays;
  add_weights(executor, arrays);
  add_visible_statistics(executor, place, arrays);
  add_optimizer(executor, optimizer, arrays);
  add_statistics(executor, place, arrays);
  return arrays;
}

void restore_training_state(const base::StateSource& source, Executor& executor,
                            Optimizer& optimizer, const ReplicaPlace& place) {
  const Network& network = executor.network();
  Parameters& parameters = executor.parameters();
  for (std::size_t i = 0; i < network.parameters().size(); ++i) {
    const ParameterSpec& spec = network.parameters()[i];
    parameters.write_weights(static_cast<ParameterId>(i),
                             base::read_array<float>(source, spec.name, spec.shape));
  }
  const std::vector<ParameterView> views = parameters.views();
  for (const StateView& view : optimizer.state()) {
    if (view.block) continue;
    const ParameterId id = parameter_of(view, views, network);
    const auto plain =
        base::read_array<float>(source, optimizer_name(view), shape_of(view, id, network));
    if (id >= 0) {
      if (parameters.is_writer()) parameters.from_plain(id, plain, view.values);
    } else {
      std::copy(plain.begin(), plain.end(), view.values.begin());
    }
  }
  parameters.publish();
  restore_statistics(source, executor, place);
}

std::int64_t training_state_bytes(const Network& network, const Optimizer& optimizer, int ranks) {
  constexpr std::int64_t kFloat = sizeof(float), kDouble = sizeof(double);
  const std::int64_t copies = 1 + optimizer.buffers();
  std::int64_t channels = 0;
  for (const StatisticsSpec& spec : network.statistics()) channels += spec.channels;
  const auto norms = static_cast<std::int64_t>(network.statistics().size());
  return (network.parameter_count() * copies + optimizer.other_floats()) * kFloat +
         2 * channels * kFloat + (2 * channels * (1 + ranks) + norms) * kDouble;
}

}  // namespace nn
