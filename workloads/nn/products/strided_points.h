// Products of a convolution of single points with a stride on floats of few channels: forward, and
// the gradient of its source.
// Hides how rows are shared out among threads.
#pragma once

#include <cstdint>

#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/product.h"

namespace nn {

/// The library first copies the points that are seen to where they are neighbours, and goes over a
/// gradient twice: with zeros, and with the points that are seen.
class StridedPoints final : public Product {
 public:
  /// Weights stand as tiled_weights_desc() has them.
  static bool supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                       const Planner& planner);
  /// `from` is read and `to` written. `moment`: of all slices.
  StridedPoints(Planner& planner, const ConvolutionProblem& problem, ConvolutionProduct product,
                int moment, const ValuePlace& from, const ValuePlace& to);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;

 private:
  /// Of blocks of channels; points that are met are so many apart, in floats.
  struct Image {
    ValuePlace place;
    std::int64_t blocks = 0, rows = 0, columns = 0;
    std::int64_t row_step = 1, point_step = PointKernels::kBlock;
    std::int64_t row_floats() const { return columns * PointKernels::kBlock; }
    std::int64_t block_floats() const { return rows * row_floats(); }
    /// Where a row that is met begins, in floats.
    std::int64_t at(const Samples& samples, std::int64_t sample, std::int64_t row) const {
      return place.row_of(sample, samples) * blocks * block_floats() +
             row * row_step * row_floats();
    }
  };
  void turn_weights() const;

  Image from_, to_;
  std::int64_t rows_ = 0, points_ = 0;  ///< that are met
  bool turns_weights_ = false;          ///< of the gradient, which goes from outputs to inputs
  int threads_ = 0;
  ParameterId parameter_ = -1;
  BufferId turned_buffer_ = -1;
  const Kernels* kernels_ = nullptr;
  const float* weights_ = nullptr;
  float* turned_ = nullptr;  ///< [blocks of to][blocks of from][16 of from][16 of to]
  const float* source_ = nullptr;
  float* destination_ = nullptr;
};

}  // namespace nn
