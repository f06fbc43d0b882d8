// Gathers and scatters the optimizer's state, array by array.
#include "workloads/parallel/divided_state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "runner/base/error.h"
#include "workloads/optimizer/update_blocks.h"

namespace parallel {
namespace {

struct Tensor {
  const nn::ParameterView& view;
  nn::ParameterId id;
  const nn::ParameterSpec& spec;
};

Tensor tensor_of(const nn::StateView& state, const std::vector<nn::ParameterView>& views,
                 const nn::Network& network) {
  const nn::ParameterView& view = views[static_cast<std::size_t>(state.parameter_index)];
  const auto& specs = network.parameters();
  const auto spec = std::ranges::find(specs, view.name, &nn::ParameterSpec::name);
  if (spec == specs.end()) {
    throw base::Error(base::ExitCode::kInternal,
                      "optimizer state of an unknown parameter: " + view.name);
  }
  return {view, static_cast<nn::ParameterId>(spec - specs.begin()), *spec};
}

/// Collective. The elements of a tensor's state, on `root` alone; padding is 0.
std::vector<float> gathered(const nn::StateView& state, const Tensor& tensor,
                            const GradientExchange& exchange, const runner::Communicator& world,
                            int root) {
  std::vector<float> mine;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> blocks(
      static_cast<std::size_t>(world.size()));
  nn::for_each_block(tensor.view, [&](std::int64_t begin, std::int64_t count) {
    const int rank = exchange.rank_of(tensor.view.offset + begin);
    blocks[static_cast<std::size_t>(rank)].emplace_back(begin, count);
    if (rank != world.rank()) return;
    const std::span<const float> values = state.block(begin);
    mine.insert(mine.end(), values.begin(), values.end());
  });
  const std::vector<float> all = world.gather(std::span<const float>(mine), root);
  if (world.rank() != root) return {};
  std::vector<float> elements(static_cast<std::size_t>(tensor.view.count));
  auto from = all.begin();
  for (const auto& of_rank : blocks) {
    for (const auto& [begin, count] : of_rank) {
      std::copy_n(from, count, elements.begin() + begin);
      from += count;
    }
  }
  return elements;
}

}  // namespace

std::int64_t gathered_state_bytes(const nn::Network& network, std::int64_t buffers, int ranks) {
  std::int64_t largest = 0;
  for (const nn::ParameterSpec& spec : network.parameters()) {
    largest = std::max(largest, std::accumulate(spec.shape.begin(), spec.shape.end(),
                                                std::int64_t{1}, std::multiplies<>()));
  }
  // A share, which one tensor may exceed; and copies of a tensor while it is gathered.
  constexpr std::int64_t kCopies = 3;
  return (buffers * network.parameter_count() / ranks + (1 + kCopies) * largest) *
         static_cast<std::int64_t>(sizeof(float));
}

std::vector<base::StateArray> divided_state(const nn::Executor& executor, nn::Optimizer& optimizer,
                                            const GradientExchange& exchange,
                                            const runner::Communicator& world) {
  std::vector<base::StateArray> arrays;
  std::vector<std::int64_t> floats(static_cast<std::size_t>(world.size()));  // of each rank
  const std::vector<nn::ParameterView> views = executor.parameters().views();
  for (const nn::StateView& state : optimizer.state()) {
    if (!state.block) continue;
    const Tensor tensor = tensor_of(state, views, executor.network());
    const auto least = std::ranges::min_element(floats);
    *least += tensor.view.count;
    const auto root = static_cast<int>(least - floats.begin());
    const auto elements =
        std::make_shared<const std::vector<float>>(gathered(state, tensor, exchange, world, root));
    const auto bytes = [&executor, elements, id = tensor.id](std::vector<std::byte>& scratch) {
      if (elements->empty()) return std::span<const std::byte>();
      const std::vector<float> plain = executor.parameters().to_plain(id, *elements);
      scratch.resize(plain.size() * sizeof(float));
      std::memcpy(scratch.data(), plain.data(), scratch.size());
      return std::span<const std::byte>(scratch);
    };
    arrays.push_back({base::kResumeGroup + state.name, base::ElementType::kFloat32,
                      tensor.spec.shape, base::Holding::kRowsOfRanks, 0,
                      world.rank() == root ? tensor.spec.shape.front() : 0, bytes});
  }
  return arrays;
}

void restore_divided_state(const base::StateSource& source, const nn::Executor& executor,
                           nn::Optimizer& optimizer, bool is_first) {
  const nn::Parameters& parameters = executor.parameters();
  const std::vector<nn::ParameterView> views = parameters.views();
  for (const nn::StateView& state : optimizer.state()) {
    if (!state.block) continue;
    const Tensor tensor = tensor_of(state, views, executor.network());
    const auto plain =
        base::read_array<float>(source, base::kResumeGroup + state.name, tensor.spec.shape);
    if (!is_first) continue;
    std::vector<float> elements(static_cast<std::size_t>(tensor.view.count));
    parameters.from_plain(tensor.id, plain, elements);
    nn::for_each_block(tensor.view, [&](std::int64_t begin, std::int64_t /*count*/) {
      const std::span<float> values = state.block(begin);
      std::copy_n(elements.begin() + begin, values.size(), values.begin());
    });
  }
}

}  // namespace parallel
