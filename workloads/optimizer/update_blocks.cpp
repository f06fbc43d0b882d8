// Blocks of an update and their state.
#include "workloads/optimizer/update_blocks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runner/base/error.h"

namespace nn {
namespace {

constexpr int kLanes = 8;

}  // namespace

/// Squares of floats are exact in double and lanes are added in a fixed order, so that the sum is
/// the same for every instruction set.
double sum_of_squares(const float* values, std::int64_t count) {
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      lanes[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  for (int lane = 0; i < count; ++i, ++lane) {
    const double value = values[i];
    lanes[static_cast<std::size_t>(lane)] += value * value;
  }
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

void UpdateBlocks::prepare(std::span<const ParameterView> parameters, UpdateShare share,
                           std::vector<std::string> buffers) {
  share_ = std::move(share);
  buffers_ = std::move(buffers);
  names_.clear();
  counts_.clear();
  places_.clear();
  blocks_.clear();
  first_blocks_.clear();
  mine_.clear();
  memory_ = {};
  floats_ = 0;
  for (const ParameterView& parameter : parameters) {
    names_.push_back(parameter.name);
    counts_.push_back(parameter.count);
    places_.push_back(floats_);
    first_blocks_.push_back(blocks_.size());
    add_blocks(parameter);
    floats_ += aligned_floats(parameter.count);
  }
  first_blocks_.push_back(blocks_.size());
  if (buffers_.empty()) return;
  if (!share_.memory) share_.memory = std::make_shared<PrivateMemory>();
  memory_ = share_.memory->shared_block(static_cast<std::int64_t>(buffers_.size()) * floats_);
}

void UpdateBlocks::require_same(std::span<const ParameterView> parameters) const {
  bool same = parameters.size() == names_.size();
  for (std::size_t p = 0; same && p < names_.size(); ++p) {
    same = parameters[p].name == names_[p] && parameters[p].count == counts_[p];
  }
  if (!same) throw base::ShapeError("optimizer: step() got other parameters than prepare()");
}

std::vector<StateView> UpdateBlocks::state() const {
  std::vector<StateView> views;
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    for (std::size_t p = 0; p < names_.size(); ++p) {
      views.push_back({buffers_[b] + "/" + names_[p],
                       static_cast<std::int64_t>(p),
                       {buffer(b, {p, 0, counts_[p]}), static_cast<std::size_t>(counts_[p])}});
    }
  }
  return views;
}

/// Blocks end at cell boundaries of the offset, so that the owner of a cell owns whole blocks.
void UpdateBlocks::add_blocks(const ParameterView& parameter) {
  std::int64_t begin = 0;
  while (begin < parameter.count) {
    const std::int64_t into_cell = (parameter.offset + begin) % kUpdateCell;
    const std::int64_t count = std::min(kUpdateCell - into_cell, parameter.count - begin);
    if (!share_.is_mine || share_.is_mine(parameter.offset + begin)) {
      mine_.push_back(blocks_.size());
    }
    blocks_.push_back({names_.size() - 1, begin, count});
    begin += count;
  }
}

std::span<const std::size_t> UpdateBlocks::mine_of(ParameterRange range) const {
  const auto place = [&](std::size_t tensor) {
    return std::lower_bound(mine_.begin(), mine_.end(), first_blocks_.at(tensor));
  };
  return {place(range.first), place(range.last)};
}

void update_copies(const ParameterView& parameter, const UpdateBlock& block) {
  for (const KeptCopy& copy : parameter.copies) {
    copy.rule.update(parameter.weights, block.begin, block.count, copy.place);
  }
}

}  // namespace nn
