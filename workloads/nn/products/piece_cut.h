// Cuts the values of a convolution's products into pieces of floats.
// Hides whether a product's pieces are samples, pixels or strips of rows.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>
#include <vector>

#include "workloads/nn/pass_plan.h"
#include "workloads/nn/products/convolution_problem.h"

namespace nn {

/// Samples of a pass, or units (pixels, strips of rows) of one sample.
struct Piece {
  std::int64_t sample = 0, samples = 0;
  std::int64_t unit = 0, units = 0;  ///< units 0: all
};

/// The part of a value that a product reads or writes for a piece. Pixels before a sample's first
/// or after its last lie outside the image: they are read as zero, and ignored when written.
struct ValuePiece {
  std::int64_t sample = 0, samples = 0;
  std::int64_t point = 0, points = 0;  ///< points 0: all
  bool operator==(const ValuePiece&) const = default;
};

/// Wanted sizes of pieces.
struct PieceSizes {
  std::int64_t bytes = 0;        ///< bytes of a piece's floats
  std::int64_t strip_bytes = 0;  ///< the same for strips of rows
  std::int64_t strip_rows = 0;   ///< rows of a strip are a multiple of this; 0: no strips
};

class PieceCut {
 public:
  PieceCut() = default;
  /// Cuts between samples. If `sample_bytes`, the floats of a sample, exceed the wanted size and
  /// the problem allows it, cuts between pixels or between strips of rows.
  PieceCut(const ConvolutionProblem& problem, const Slices& slices, std::int64_t sample_bytes,
           const PieceSizes& wanted);
  const ConvolutionProblem& problem() const { return *problem_; }
  /// The sizes of pieces that occur, in samples or units.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  std::int64_t most() const;
  /// The pieces of a slice, in order.
  std::vector<Piece> pieces_of(const Samples& slice) const;
  /// The samples by which SlicedPrimitive identifies a piece.
  Samples key_of(const Piece& piece) const;
  ValuePiece value_of(const Piece& piece, ConvolutionProduct product, Side side) const;

  /// The product of a piece of `size` samples or units. Throws dnnl::error.
  dnnl::primitive_desc describe(ConvolutionProduct product, std::int64_t size) const;
  /// Layout of a piece's floats as the product reads or writes them; `values`: layout of the whole
  /// value.
  dnnl::memory::desc floats_desc(const dnnl::memory::desc& values, std::int64_t size,
                                 ConvolutionProduct product, Side side) const;

 private:
  enum class Kind { kSamples, kPoints, kRows };
  Slices cut(std::int64_t units) const;
  /// Units of a sample: pixels, or groups of unit_rows_ rows.
  std::int64_t units() const;
  std::optional<ConvolutionProblem> problem_;
  Kind kind_ = Kind::kSamples;
  std::int64_t unit_rows_ = 1, most_ = 1;
  std::vector<std::int64_t> sizes_;
};

}  // namespace nn
