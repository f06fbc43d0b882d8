// The tensors of an update, cut into blocks that threads and replicas share out, and the state kept
// beside them. Hides cells, where the state lies, and the order in which sums are added.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/optimizer/optimizer.h"

namespace nn {

/// A part of a tensor, of at most kUpdateCell elements.
struct UpdateBlock {
  std::size_t parameter;
  std::int64_t begin, count;
};

/// Of values from the first of a block on. The same for every instruction set.
double sum_of_squares(const float* values, std::int64_t count);

class UpdateBlocks {
 public:
  /// Per element of every tensor, one float in each of the named buffers, zeroed.
  void prepare(std::span<const ParameterView> parameters, UpdateShare share,
               std::vector<std::string> buffers);
  bool is_prepared() const { return !names_.empty(); }
  /// Throws ShapeError when they are not those of prepare().
  void require_same(std::span<const ParameterView> parameters) const;
  /// "<buffer>/<parameter>" of every buffer.
  std::vector<StateView> state() const;
  /// Of a buffer, the elements of a block.
  float* buffer(std::size_t index, const UpdateBlock& block) const {
    return memory_.data() + static_cast<std::int64_t>(index) * floats_ + places_[block.parameter] +
           block.begin;
  }

  /// Calls work(block) for each block of this replica, on all threads.
  template <class Work>
  void for_each(Work work) const {
    const auto blocks = static_cast<std::int64_t>(mine_.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) work(blocks_[mine_[static_cast<std::size_t>(b)]]);
  }

  /// Of each tensor, the sums over its blocks of the numbers that work(block) gives. Calls it as
  /// for_each() does; every replica has the sums over all blocks. Collective among replicas.
  template <std::size_t kNumbers, class Work>
  std::vector<std::array<double, kNumbers>> sums(Work work) const {
    // 0 for blocks of other replicas, so that adding theirs is exact.
    std::vector<double> partial(kNumbers * blocks_.size());
    const auto blocks = static_cast<std::int64_t>(mine_.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::size_t block = mine_[static_cast<std::size_t>(b)];
      const std::array<double, kNumbers> numbers = work(blocks_[block]);
      for (std::size_t n = 0; n < kNumbers; ++n) partial[kNumbers * block + n] = numbers[n];
    }
    if (share_.is_mine) share_.sum(partial);
    std::vector<std::array<double, kNumbers>> result(names_.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      std::array<double, kNumbers>& sum = result[blocks_[b].parameter];
      for (std::size_t n = 0; n < kNumbers; ++n) sum[n] += partial[kNumbers * b + n];
    }
    return result;
  }

 private:
  void add_blocks(const ParameterView& parameter);

  UpdateShare share_;
  std::vector<std::string> names_, buffers_;
  std::vector<std::int64_t> counts_, places_;  ///< of each tensor, its place in every buffer
  std::int64_t floats_ = 0;                    ///< of a buffer
  std::span<float> memory_;                    ///< of all buffers
  std::vector<UpdateBlock> blocks_;            ///< of all replicas
  std::vector<std::size_t> mine_;              ///< those of this one
};

/// Brings all copies of a block's weights up to date.
void update_copies(const ParameterView& parameter, const UpdateBlock& block);

}  // namespace nn
