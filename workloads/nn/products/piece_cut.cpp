// Pieces of samples, pixels and rows.
#include "workloads/nn/products/piece_cut.h"

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {

using dnnl::memory;

PieceCut::PieceCut(const ConvolutionProblem& problem, const Slices& slices,
                   std::int64_t sample_bytes, const PieceSizes& wanted)
    : problem_(problem), unit_rows_(wanted.strip_rows) {
  if (problem.is_pointwise() && sample_bytes > wanted.bytes) kind_ = Kind::kPoints;
  if (problem.is_by_rows() && sample_bytes > wanted.strip_bytes && unit_rows_ > 0) {
    kind_ = Kind::kRows;
  }
  const std::int64_t bytes = kind_ == Kind::kRows ? wanted.strip_bytes : wanted.bytes;
  const std::int64_t unit_bytes = kind_ == Kind::kSamples ? sample_bytes : sample_bytes / units();
  most_ = std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, unit_bytes));
  for (const std::int64_t samples : slices.sizes()) {
    for (const std::int64_t size : cut(kind_ == Kind::kSamples ? samples : units()).sizes()) {
      if (std::find(sizes_.begin(), sizes_.end(), size) == sizes_.end()) sizes_.push_back(size);
    }
  }
}

std::int64_t PieceCut::units() const {
  if (kind_ == Kind::kRows) return base::ceil_div(problem_->rows(), unit_rows_);
  return problem_->operation().dst.spatial_size();
}

Slices PieceCut::cut(std::int64_t units) const { return {units, base::ceil_div(units, most_)}; }

std::int64_t PieceCut::most() const { return *std::max_element(sizes_.begin(), sizes_.end()); }

std::vector<Piece> PieceCut::pieces_of(const Samples& slice) const {
  std::vector<Piece> pieces;
  const bool is_within = kind_ != Kind::kSamples;
  const Slices slices = cut(is_within ? units() : slice.count);
  const std::int64_t times = is_within ? slice.count : 1;
  for (std::int64_t sample = slice.first; sample < slice.first + times; ++sample) {
    for (std::int64_t i = 0; i < slices.count; ++i) {
      const Samples part = slices.at(i);
      if (is_within) {
        pieces.push_back({sample, 1, part.first, part.count});
      } else {
        pieces.push_back({slice.first + part.first, part.count, 0, 0});
      }
    }
  }
  return pieces;
}

Samples PieceCut::key_of(const Piece& piece) const {
  if (kind_ == Kind::kSamples) return {piece.sample, piece.samples};
  return {piece.sample * units() + piece.unit, piece.units};
}

ValuePiece PieceCut::value_of(const Piece& piece, ConvolutionProduct product, Side side) const {
  if (kind_ != Kind::kRows) return {piece.sample, piece.samples, piece.unit, piece.units};
  const Rows rows =
      problem_->rows_of(product, side, {piece.unit * unit_rows_, piece.units * unit_rows_});
  const std::int64_t width = problem_->image_of(side).spatial.back();
  return {piece.sample, 1, rows.first * width, rows.count * width};
}

dnnl::primitive_desc PieceCut::describe(ConvolutionProduct product, std::int64_t size) const {
  switch (kind_) {
    case Kind::kPoints:
      return problem_->of_points(size).describe(product, 1);
    case Kind::kRows:
      return problem_->of_rows(product, size * unit_rows_).describe(product, 1);
    case Kind::kSamples:
      break;
  }
  return problem_->describe(product, size);
}

memory::desc PieceCut::floats_desc(const memory::desc& values, std::int64_t size,
                                   ConvolutionProduct product, Side side) const {
  const memory::desc floats = retyped(values, memory::data_type::f32);
  const Phases phases = problem_->phases_of(side);
  if (phases.apart > 1 && kind_ == Kind::kSamples) {
    const SampleShape image = {dims_of(values)[1], {phases.rows(), phases.columns()}};
    return with_samples(like(floats, image), size * phases.count());
  }
  if (kind_ == Kind::kSamples) return with_samples(floats, size);
  const memory::dims dims = dims_of(values);
  SampleShape shape = {dims[1], {dims.begin() + 2, dims.end()}};
  if (kind_ == Kind::kRows) {
    shape.spatial.front() = problem_->rows_of(product, side, {0, size * unit_rows_}).count;
  } else {
    std::fill(shape.spatial.begin(), shape.spatial.end(), 1);
    shape.spatial.back() = size;
  }
  return with_samples(like(floats, shape), 1);
}

}  // namespace nn
