// The rest of gradients, parameter by parameter.
#include "workloads/parallel/rest_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "runner/base/error.h"

namespace parallel {
namespace {

using nn::ParameterId;
using Shape = std::vector<std::int64_t>;

std::string array_of(const nn::ParameterSpec& parameter) {
  return std::string(base::kResumeGroup) + "gradient_rest/" + parameter.name;
}

Shape shape_of(const nn::ParameterSpec& parameter, std::int64_t nodes) {
  Shape shape = {nodes};
  shape.insert(shape.end(), parameter.shape.begin(), parameter.shape.end());
  return shape;
}

/// The rest of a parameter that this node takes, in the parameter's plain order: its own if there
/// were as many nodes, else all on the first node.
std::vector<float> rest_of(const base::StateSource& source, const nn::ParameterSpec& parameter,
                           const GradientExchange& exchange) {
  const std::string name = array_of(parameter);
  const Shape shape = source.shape(name);
  if (shape.empty() || shape != shape_of(parameter, shape.front())) {
    throw base::DataError(fmt::format("{}: is of shape [{}], expected [nodes, {}]", name,
                                      fmt::join(shape, ", "), fmt::join(parameter.shape, ", ")));
  }
  const bool is_same = shape.front() == exchange.nodes();
  std::int64_t row_number = is_same ? exchange.node_index() : 0;
  const std::int64_t end = is_same                      ? row_number + 1
                           : exchange.node_index() == 0 ? shape.front()
                                                        : 0;
  const auto floats = static_cast<std::size_t>(parameter.count());
  std::vector<float> sum(floats), row(floats);
  for (; row_number < end; ++row_number) {
    source.read_rows(name, base::ElementType::kFloat32, row_number,
                     std::as_writable_bytes(std::span(row)));
    for (std::size_t i = 0; i < floats; ++i) sum[i] += row[i];
  }
  return sum;
}

}  // namespace

std::vector<base::StateArray> rest_state(const nn::Executor& executor,
                                         const GradientExchange& exchange, bool is_first) {
  std::vector<base::StateArray> arrays;
  if (!exchange.keeps_rest()) return arrays;
  const auto& specs = executor.network().parameters();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto bytes = [&executor, &exchange, is_first,
                        id = static_cast<ParameterId>(i)](std::vector<std::byte>& scratch) {
      if (!is_first) return std::span<const std::byte>();
      const nn::Parameters& parameters = executor.parameters();
      const std::vector<float> plain =
          parameters.to_plain(id, exchange.rest(parameters.first(id), parameters.count(id)));
      scratch.resize(plain.size() * sizeof(float));
      std::memcpy(scratch.data(), plain.data(), scratch.size());
      return std::span<const std::byte>(scratch);
    };
    arrays.push_back({array_of(specs[i]), base::ElementType::kFloat32,
                      shape_of(specs[i], exchange.nodes()), base::Holding::kRowsOfRanks,
                      exchange.node_index(), is_first ? 1 : 0, bytes});
  }
  return arrays;
}

void restore_rest(const base::StateSource& source, const nn::Executor& executor,
                  GradientExchange& exchange, bool is_first) {
  if (!exchange.keeps_rest() || !is_first) return;
  const nn::Parameters& parameters = executor.parameters();
  const auto& specs = executor.network().parameters();
  const bool has_rest = source.has(array_of(specs.front()));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto id = static_cast<ParameterId>(i);
    std::vector<float> elements(static_cast<std::size_t>(parameters.count(id)));
    if (has_rest) parameters.from_plain(id, rest_of(source, specs[i], exchange), elements);
    exchange.set_rest(parameters.first(id), elements);
  }
}

std::int64_t rest_state_bytes(const nn::Network& network, const GradientTravel& travel,
                              std::int64_t nodes) {
  if (nodes <= 1 || !travel.keeps_rest()) return 0;
  return nodes * network.parameter_count() * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace parallel
