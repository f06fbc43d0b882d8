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

/// The sum of rows [first, first + rows) of an array.
std::vector<float> sum_of_rows(const base::StateSource& source, const std::string& name,
                               std::int64_t first, std::int64_t rows, std::size_t row_floats) {
  std::vector<float> sum(row_floats), row(row_floats);
  for (std::int64_t at = first; at < first + rows; ++at) {
    source.read_rows(name, base::ElementType::kFloat32, at, std::as_writable_bytes(std::span(row)));
    for (std::size_t i = 0; i < row_floats; ++i) sum[i] += row[i];
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
  if (!exchange.keeps_rest()) return;
  const nn::Parameters& parameters = executor.parameters();
  const auto& specs = executor.network().parameters();
  const bool has_rest = source.has(array_of(specs.front()));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto id = static_cast<ParameterId>(i);
    std::vector<float> elements(static_cast<std::size_t>(parameters.count(id)));
    if (has_rest) {
      const std::string name = array_of(specs[i]);
      const Shape shape = source.shape(name);
      if (shape.empty() || shape != shape_of(specs[i], shape.front())) {
        throw base::DataError(fmt::format("{}: is of shape [{}], expected [nodes, {}]", name,
                                          fmt::join(shape, ", "), fmt::join(specs[i].shape, ", ")));
      }
      const bool is_same = shape.front() == exchange.nodes();
      const bool takes = is_first && (is_same || exchange.node_index() == 0);
      const auto floats = static_cast<std::size_t>(specs[i].count());
      if (takes) {
        parameters.from_plain(id,
                              is_same ? sum_of_rows(source, name, exchange.node_index(), 1, floats)
                                      : sum_of_rows(source, name, 0, shape.front(), floats),
                              elements);
      }
    }
    if (is_first) exchange.set_rest(parameters.first(id), elements);
  }
}

std::int64_t rest_state_bytes(const nn::Network& network, const GradientTravel& travel,
                              std::int64_t nodes) {
  if (nodes <= 1 || !travel.keeps_rest()) return 0;
  return nodes * network.parameter_count() * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace parallel
