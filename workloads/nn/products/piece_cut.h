// How the values of a convolution's products are cut into pieces of floats.
// Hides which of samples, points and strips of rows suit a product.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>
#include <vector>

#include "workloads/nn/pass_plan.h"
#include "workloads/nn/products/convolution_problem.h"

namespace nn {

/// Some samples of a pass, or some of the units that a sample is cut into.
struct Piece {
  std::int64_t sample = 0, samples = 0;
  std::int64_t unit = 0, units = 0;  ///< units 0: all
};

/// What a product reads or writes of a value for a piece. Points before a sample's first or behind
/// its last lie beyond the image: they are zero where they are read, and of no use where written.
struct ValuePiece {
  std::int64_t sample = 0, samples = 0;
  std::int64_t point = 0, points = 0;  ///< points 0: all
  bool operator==(const ValuePiece&) const = default;
};

/// What pieces should be like.
struct PieceSizes {
  std::int64_t bytes = 0;        ///< of floats
  std::int64_t strip_bytes = 0;  ///< the same where they are strips of rows
  std::int64_t strip_rows = 0;   ///< strips have a multiple of these; 0: there are none
};

class PieceCut {
 public:
  PieceCut() = default;
  /// Between samples; where a sample's floats are more than a piece should have and the problem
  /// allows it, between points or strips of rows.
  PieceCut(const ConvolutionProblem& problem, const Slices& slices, std::int64_t sample_bytes,
           const PieceSizes& wanted);
  const ConvolutionProblem& problem() const { return *problem_; }
  /// Of pieces: samples, or units.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  std::int64_t most() const;
  /// The pieces of a slice, in order.
  std::vector<Piece> pieces_of(const Samples& slice) const;
  /// What SlicedPrimitive knows a piece by.
  Samples key_of(const Piece& piece) const;
  ValuePiece value_of(const Piece& piece, ConvolutionProduct product, Side side) const;

  /// The product of a piece of that size. Throws the library's errors.
  dnnl::primitive_desc describe(ConvolutionProduct product, std::int64_t size) const;
  /// Floats of a piece as the product reads or writes them, beside values laid out as `values`.
  dnnl::memory::desc floats_desc(const dnnl::memory::desc& values, std::int64_t size,
                                 ConvolutionProduct product, Side side) const;

 private:
  enum class Kind { kSamples, kPoints, kRows };
  Slices cut(std::int64_t units) const;
  /// Of a sample: points, or so many rows.
  std::int64_t units() const;
  std::optional<ConvolutionProblem> problem_;
  Kind kind_ = Kind::kSamples;
  std::int64_t unit_rows_ = 1, most_ = 1;
  std::vector<std::int64_t> sizes_;
};

}  // namespace nn
