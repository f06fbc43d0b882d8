// The output of a batch norm: its source normalised, with residual sum and ReLU, computed in the
// forward pass and recomputed where the backward pass needs it.
// Hides where either pass finds values, and residuals that are normalised on the fly.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "runner/base/error.h"
#include "workloads/nn/layer.h"
#include "workloads/nn/layers/batch_norm_columns.h"

namespace nn {

template <class T>
class BatchNormOutput {
 public:
  enum class Pass { kForward, kAgain };

  /// Plans the values that the operation reads and its own, which may be deferred to its only
  /// reader. `factors` outlives the layers. Throws ShapeError for a residual in another layout.
  void plan(const Operation& operation, Planner& planner, const BatchNormFactors& factors);
  void bind(const Arena& arena, const ColumnKernels<T>& kernels);
  /// Whether the output is never stored, as its reader computes it.
  bool is_deferred() const { return is_deferred_; }
  /// The source as the forward pass finds it, whole; and as the backward pass does.
  const T* source() const { return streams_[0].src.data; }
  const T* source_again() const { return streams_[1].src.data; }
  const ValuePlace& place_again() const { return streams_[1].src.place; }
  /// Writes the column; its signs go to `passed` unless that is null.
  void write(Pass pass, const Samples& slice, const NormColumn& where, PassedBits* passed) const;

 private:
  /// A value as one pass finds it; `data`: its first sample there.
  template <class U>
  struct Stream {
    U* data = nullptr;
    ValuePlace place;
    void bind(const Arena& arena) { data = arena.at<std::remove_const_t<U>>(place.buffer); }
  };
  struct Streams {
    Stream<const T> src, residual;
    Stream<T> dst;
  };
  template <class U>
  U* column_of(const Stream<U>& stream, const NormColumn& where, const Samples& slice) const {
    const std::int64_t first = where.sample - stream.place.row_of(where.sample, slice);
    return stream.data + where.offset - layout_.offset(first, 0);
  }

  ChannelLayout layout_;
  bool relu_ = false, adds_ = false, is_deferred_ = false, has_tiles_ = false;
  const BatchNormFactors* factors_ = nullptr;
  const ChannelMap* residual_map_ = nullptr;  ///< of a residual that is deferred
  const ColumnKernels<T>* kernels_ = nullptr;
  std::array<Streams, 2> streams_;  ///< by Pass
};

template <class T>
void BatchNormOutput<T>::plan(const Operation& operation, Planner& planner,
                              const BatchNormFactors& factors) {
  const dnnl::memory::desc& desc = planner.value_desc(operation.src);
  layout_ = planner.row_layout(desc);
  relu_ = operation.relu;
  has_tiles_ = planner.kernels().has_tiles();
  factors_ = &factors;
  auto& [forward, again] = streams_;
  planner.use_value(operation.src, true);
  if (operation.residual) {
    if (planner.value_desc(*operation.residual) != desc) {
      throw base::ShapeError(operation.name + ": residual and source differ in layout");
    }
    adds_ = true;
    const Planner::Deferred& deferred = planner.deferred(*operation.residual);
    residual_map_ = deferred.map;
    const ValueId added = residual_map_ == nullptr ? *operation.residual : deferred.source;
    planner.use_value(added, false);
    forward.residual.place = planner.value_place(added);
    again.residual.place = planner.recomputed_value(added);
  }
  is_deferred_ = nn::is_deferred(planner.network(), static_cast<std::size_t>(planner.made()));
  if (is_deferred_) {
    planner.defer_value(factors, operation.src);
  } else {
    planner.define_value(desc);
  }
  forward.src.place = planner.value_place(operation.src);
  forward.dst.place = planner.value_place(planner.made());
  again.src.place = planner.recomputed_value(operation.src);
  again.dst.place = planner.recomputed_value(planner.made());
}

template <class T>
void BatchNormOutput<T>::bind(const Arena& arena, const ColumnKernels<T>& kernels) {
  kernels_ = &kernels;
  for (Streams& streams : streams_) {
    streams.src.bind(arena);
    streams.residual.bind(arena);
    streams.dst.bind(arena);
  }
}

template <class T>
void BatchNormOutput<T>::write(Pass pass, const Samples& slice, const NormColumn& where,
                               PassedBits* passed) const {
  const Streams& streams = streams_[static_cast<std::size_t>(pass)];
  Normalization residual_norm;
  Residual<T> residual;
  if (adds_) residual.src = column_of(streams.residual, where, slice);
  if (residual_map_ != nullptr) {
    residual_norm = residual_map_->norm(where.at);
    residual.norm = &residual_norm;
  }
  kernels_->normalize(column_of(streams.src, where, slice), factors_->norm(where.at), residual,
                      column_of(streams.dst, where, slice), passed,
                      layout_.column(where.block, where.piece), relu_,
                      stores_of<T>(slice.count * layout_.sample_elements(), has_tiles_));
}

}  // namespace nn
