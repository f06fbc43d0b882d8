// Forward product and source gradient of 1x1 convolutions in bfloat16, of images with channels
// last, in AMX tiles.
// Hides the weights in tiles.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/product.h"

namespace nn {

/// The forward product may have a stride, which skips pixels of `from`; the gradient may not.
class DirectProduct final : public Product {
 public:
  static bool supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                       const Planner& planner);
  /// Reads `from` and writes `to`. `moment`: that of all slices.
  DirectProduct(Planner& planner, const ConvolutionProblem& problem,
                const ConvolutionLayouts& layouts, ConvolutionProduct product, int moment,
                const ValuePlace& from, const ValuePlace& to);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  /// Converts the weights for the first slice, unless the planner keeps a converted copy.
  void run(const Samples& samples, bool adds) override;
  std::int64_t reorders() const override { return copy_ ? 0 : 1; }

 private:
  struct Image {
    ValuePlace place;
    std::int64_t rows = 0, numbers = 0;  ///< numbers: elements of a row
    std::int64_t row_step = 1;           ///< from one row that is used to the next
    Bf16* data = nullptr;
    Bf16* row(std::int64_t sample, const Samples& slice, std::int64_t row) const {
      return data + (place.row_of(sample, slice) * rows + row * row_step) * numbers;
    }
  };
  TileGemm::Windows windows_;
  const Kernels* kernels_ = nullptr;
  int threads_ = 1;
  Image from_, to_;
  std::int64_t rows_ = 0, points_ = 0;  ///< rows, and pixels of a row, that are used
  ParameterId parameter_ = -1;
  dnnl::memory::desc given_, wanted_;  ///< layouts of weights
  std::optional<CopyId> copy_;
  BufferId converted_buffer_ = -1;
  Device* device_ = nullptr;
  dnnl::memory weights_, tiles_;
  dnnl::reorder conversion_;
};

}  // namespace nn
