// Forward product and source gradient of float convolutions of images in blocks of 16 channels, by
// the bf16x3 split in AMX tiles (Bf16x3Gemm).
// Hides the split weights, and how images are cut into pieces that fit the caches.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/bf16x3_axis.h"
#include "workloads/nn/products/bf16x3_rows.h"
#include "workloads/nn/products/product.h"

namespace nn {

/// Computes dst, or the gradient of src, [samples][channels / 16][rows][columns][16], for all
/// samples of a pass or of a slice. Infinities, and values that round to one, give NaN.
class Bf16x3Product final : public Product {
 public:
  /// Pairs of blocks of 16 channels that are split at a time, at most.
  static constexpr std::int64_t kMostSteps = 24;
  static bool supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                       const Planner& planner);
  /// Reads `from` and writes `to`. `samples`: the most in a slice; `moment`: that of all slices.
  Bf16x3Product(Planner& planner, const ConvolutionProblem& problem, ConvolutionProduct product,
                std::int64_t samples, int moment, const ValuePlace& from, const ValuePlace& to);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  /// Splits the weights for the first slice.
  void run(const Samples& samples, bool adds) override;

 private:
  /// A phase of both axes: where its weights begin, and its number of taps.
  struct Phase {
    std::int64_t row = 0, column = 0;
    std::int64_t first_tile = 0;  ///< first weight tile, in units of kParts tiles
    std::int64_t taps = 0;
  };
  /// Output computed at a time: rows of a strip of columns, in all phases.
  struct Group {
    std::int64_t first_row = 0, rows = 0, first_column = 0, columns = 0;
  };
  /// A thread's split rows of an image: a cache of those needed last.
  struct Rows {
    std::vector<std::int64_t> rows;    ///< row of the image in each slot, or kNone
    std::vector<std::int64_t> needed;  ///< rows that the current group reads
    std::vector<GemmOffsets> taps;     ///< for each row of the group, a phase's taps
    std::uint32_t* words = nullptr;
    /// Sums of a strip's last pixels, which do not fill a tile; or of a whole strip of two panels,
    /// if streaming stores write it; or of such a strip with gaps, and a row of zeros.
    float* sums = nullptr;
  };
  /// Whether most pixels are written as zeros: the source gradient of a strided 1x1 convolution.
  bool is_gapped() const { return taps_ == 1 && phases_.size() > 1; }
  void plan_strips(std::int64_t samples);
  void plan_phases();
  std::int64_t needed_rows() const;
  std::int64_t slot_words() const;
  std::int64_t sums_floats() const;
  std::int64_t scratch_words() const;
  void split_weights() const;
  void split_tile(std::int64_t written, std::int64_t step, std::int64_t tap,
                  std::uint32_t* to) const;
  std::int64_t cached_split_row(const float* from, std::int64_t row, const Group& group,
                                std::int64_t first_step, Rows& rows) const;
  void run_group(const float* from, const Group& group, float* to, Rows& rows) const;
  GemmOperands operands_of(const Phase& phase, std::int64_t first_step, const Rows& rows) const;
  void run_phase(const Phase& phase, const Group& group, std::int64_t first_step, float* to,
                 Rows& rows) const;
  void multiply(GemmOperands operands, std::int64_t count, std::int64_t first_step, float* to,
                Rows& rows) const;
  void run_gapped(const float* from, const Group& group, float* to, Rows& rows) const;

  Bf16x3Axis rows_, columns_;
  std::int64_t taps_ = 1, row_taps_ = 1;  ///< of the kernel, and of one of its rows
  std::int64_t read_ = 0, written_ = 0;   ///< blocks of 16 channels
  bool reads_in_ = true;                  ///< sums run over the weights' input channels
  std::int64_t steps_ = 0, piece_ = 0;    ///< pairs of blocks read, and split at a time
  std::int64_t strip_ = 0, group_ = 1;    ///< columns and rows of a group
  Bf16x3Rows read_rows_;                  ///< layout of split rows
  std::vector<Phase> phases_;
  bool streams_ = false;  ///< whether streaming stores write the current slice
  int threads_ = 1;
  ValuePlace from_, to_;
  ParameterId parameter_ = -1;
  BufferId tiles_buffer_ = -1, scratch_buffer_ = -1;
  const Kernels* kernels_ = nullptr;
  const float* source_ = nullptr;
  float* destination_ = nullptr;
  const float* weights_ = nullptr;
  /// [phases][blocks written][pieces][taps][steps][parts][16 pairs][16]
  std::uint32_t* tiles_ = nullptr;
  std::vector<Rows> threads_rows_;
};

}  // namespace nn
