// The tensors of an update, cut into blocks that threads and replicas divide among them, and the
// optimizer state of each. Sums are added in a fixed order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/optimizer/optimizer.h"

namespace nn {

/// A part of a tensor, at most kUpdateCell elements.
struct UpdateBlock {
  std::size_t parameter;
  std::int64_t begin, count;
  std::int64_t offset;  ///< in the memory blocks that contain weights and gradient
  std::int64_t place;   ///< in every buffer; -1: the state is on another node
};

/// Calls use(begin, count) for each block of a parameter. Blocks end at cell boundaries of the
/// offset, so that the owner of a cell owns whole blocks.
template <class Use>
void for_each_block(const ParameterView& parameter, Use use) {
  for (std::int64_t begin = 0; begin < parameter.count;) {
    const std::int64_t into_cell = (parameter.offset + begin) % kUpdateCell;
    const std::int64_t count = std::min(kUpdateCell - into_cell, parameter.count - begin);
    use(begin, count);
    begin += count;
  }
}

/// The sum of squares of `count` values; the same for every instruction set.
double sum_of_squares(const float* values, std::int64_t count);

class UpdateBlocks {
 public:
  /// Allocates the named buffers, zeroed: one float in each per element of every tensor.
  void prepare(std::span<const ParameterView> parameters, UpdateShare share,
               std::vector<std::string> buffers);
  bool is_prepared() const { return !names_.empty(); }
  /// Throws ShapeError if the parameters differ from those of prepare().
  void require_same(std::span<const ParameterView> parameters) const;
  /// Views named "<buffer>/<parameter>", for every buffer.
  std::vector<StateView> state() const;
  /// The elements of a block in a buffer.
  float* buffer(std::size_t index, const UpdateBlock& block) const {
    return memory_.data() + static_cast<std::int64_t>(index) * floats_ + block.place;
  }

  ParameterRange all() const { return {0, names_.size()}; }

  /// Calls work(block) for each block of this replica in a range, on all threads.
  template <class Work>
  void for_each(ParameterRange range, Work work) const {
    const std::vector<std::size_t> mine = mine_of(range);
#pragma omp parallel for schedule(static)
    for (std::size_t b = 0; b < mine.size(); ++b) work(blocks_[mine[b]]);
  }

  /// Returns for each tensor of a range the sums over its blocks of the numbers that work(block)
  /// returns. Calls work as for_each() does; every replica gets the sums over all blocks, of whole
  /// tensors. Collective among replicas.
  template <std::size_t kNumbers, class Work>
  std::vector<std::array<double, kNumbers>> sums(ParameterRange range, Work work) const {
    const std::size_t first = first_blocks_[range.first], last = first_blocks_[range.last];
    // Blocks of other replicas have 0 here, so adding theirs is exact.
    std::vector<double> partial(kNumbers * (last - first));
    const std::vector<std::size_t> mine = mine_of(range);
#pragma omp parallel for schedule(static)
    for (std::size_t b = 0; b < mine.size(); ++b) {
      const std::array<double, kNumbers> numbers = work(blocks_[mine[b]]);
      const std::size_t at = kNumbers * (mine[b] - first);
      for (std::size_t n = 0; n < kNumbers; ++n) partial[at + n] = numbers[n];
    }
    if (share_.is_mine) share_.sum(partial);
    std::vector<std::array<double, kNumbers>> result(range.size());
    for (std::size_t b = first; b < last; ++b) {
      std::array<double, kNumbers>& sum = result[blocks_[b].parameter - range.first];
      for (std::size_t n = 0; n < kNumbers; ++n) sum[n] += partial[kNumbers * (b - first) + n];
    }
    if (share_.sum_parts && !result.empty()) {
      share_.sum_parts({result.front().data(), kNumbers * result.size()});
    }
    return result;
  }

 private:
  void add_blocks(const ParameterView& parameter);
  StateView view_of(std::size_t buffer, std::size_t parameter) const;
  /// Indices of this replica's blocks.
  std::vector<std::size_t> mine_of(ParameterRange range) const;

  UpdateShare share_;
  std::vector<std::string> names_, buffers_;
  std::vector<std::int64_t> counts_;       ///< elements of each tensor
  std::int64_t floats_ = 0;                ///< of a buffer
  std::span<float> memory_;                ///< of all buffers
  std::vector<UpdateBlock> blocks_;        ///< of all replicas, tensor by tensor
  std::vector<std::size_t> first_blocks_;  ///< of each tensor, and the number of blocks
};

/// Updates all copies of a block's weights.
void update_copies(const ParameterView& parameter, std::int64_t begin, std::int64_t count);
inline void update_copies(const ParameterView& parameter, const UpdateBlock& block) {
  update_copies(parameter, block.begin, block.count);
}

}  // namespace nn
