// Blocks of an update and their state.
#include "workloads/optimizer/update_blocks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runner/base/ceil_div.h"
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
  blocks_.clear();
  first_blocks_.clear();
  memory_ = {};
  floats_ = 0;
  for (const ParameterView& parameter : parameters) {
    names_.push_back(parameter.name);
    counts_.push_back(parameter.count);
    first_blocks_.push_back(blocks_.size());
    add_blocks(parameter);
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
    for (std::size_t p = 0; p < names_.size(); ++p) views.push_back(view_of(b, p));
  }
  return views;
}

StateView UpdateBlocks::view_of(std::size_t buffer, std::size_t parameter) const {
  StateView view = {
      buffers_[buffer] + "/" + names_[parameter], static_cast<std::int64_t>(parameter), {}};
  const std::size_t first = first_blocks_[parameter];
  if (!share_.is_here) {
    view.values = {this->buffer(buffer, blocks_[first]),
                   static_cast<std::size_t>(counts_[parameter])};
    return view;
  }
  view.block = [this, buffer, first,
                last = first_blocks_[parameter + 1]](std::int64_t begin) -> std::span<float> {
    const auto all = std::span(blocks_).subspan(first, last - first);
    const auto block = std::ranges::lower_bound(all, begin, {}, &UpdateBlock::begin);
    if (block->place < 0) return {};
    return {this->buffer(buffer, *block), static_cast<std::size_t>(block->count)};
  };
  return view;
}

/// Adds the next parameter's.
void UpdateBlocks::add_blocks(const ParameterView& parameter) {
  for_each_block(parameter, [&](std::int64_t begin, std::int64_t count) {
    const std::int64_t offset = parameter.offset + begin;
    const bool is_here = !share_.is_here || share_.is_here(offset);
    blocks_.push_back({names_.size() - 1, begin, count, offset, is_here ? floats_ : -1});
    if (is_here) floats_ += count;
  });
  // Where nodes divide the state, they have few values of many tensors.
  constexpr std::int64_t kLine = 16;
  floats_ = share_.is_here ? base::round_up(floats_, kLine) : aligned_floats(floats_);
}

std::vector<std::size_t> UpdateBlocks::mine_of(ParameterRange range) const {
  std::vector<std::size_t> mine;
  for (std::size_t b = first_blocks_.at(range.first); b < first_blocks_.at(range.last); ++b) {
    if (!share_.is_mine || share_.is_mine(blocks_[b].offset)) mine.push_back(b);
  }
  return mine;
}

void update_copies(const ParameterView& parameter, std::int64_t begin, std::int64_t count) {
  for (const KeptCopy& copy : parameter.copies) {
    copy.rule.update(parameter.weights, begin, count, copy.place);
  }
}

}  // namespace nn
