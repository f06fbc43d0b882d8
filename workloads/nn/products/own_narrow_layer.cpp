#include "workloads/nn/products/own_narrow_layer.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "workloads/nn/products/line_vector.h"
#include "workloads/nn/products/narrow_taps.h"

namespace nn {
namespace {

using dnnl::memory;

constexpr std::int64_t kBlock = NarrowShape::kBlock, kPlaces = NarrowShape::kPlaces;

template <class T, class Factor>
class OwnNarrowLayer final : public Layer {
 public:
  OwnNarrowLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  std::string implementation() const override { return "narrow"; }
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;

 private:
  /// Numbers that are multiplied at a time.
  static constexpr std::int64_t kTogether = std::is_same_v<Factor, Bf16> ? 2 : 1;
  /// Rows of the source whose part of the weights' gradient is summed apart: as many whatever the
  /// threads are.
  static constexpr std::int64_t kRows = 16;
  /// Points whose products stay in the caches, and of whose gradients so many are multiplied
  /// together: fewer by vectors, which read each of them more often.
  static constexpr std::int64_t kNearPoints = 576, kVectorPoints = 56;
  /// Rows of the destination that are made of products which stay in the caches meanwhile.
  static constexpr std::int64_t kStripRows = 16;

  std::int64_t sums() const { return src_layout_.blocks * kPlaces * kBlock; }
  std::int64_t pieces() const { return (src_shape_.spatial[0] + kRows - 1) / kRows; }
  /// Rows of weights by output, of a block.
  std::int64_t output_rows() const { return kTogether > 1 ? kPlaces : taps_.outputs(); }
  std::int64_t strips() const { return (operation_.dst.spatial[0] + kStripRows - 1) / kStripRows; }
  NarrowTaps::Rows strip(std::int64_t index) const {
    const std::int64_t first = index * kStripRows;
    return {first, std::min(first + kStripRows, operation_.dst.spatial[0])};
  }
  NarrowShape shape() const;
  static bool is_in_tiles(const ChannelLayout& layout) { return layout.row_stride != kBlock; }
  static const NarrowKernels<T, Factor>& kernels_of(const Planner& planner,
                                                    const ChannelLayout& layout);
  /// values as factors.
  void convert(const float* values, std::int64_t count, Factor* to) const;
  void lay_out_for_products();
  void lay_out_for_gradients();
  std::int64_t most_rows() const;
  void make_strip(const Samples& samples, std::int64_t sample, const NarrowTaps::Rows& rows,
                  float* products) const;
  void find_gradients(const Samples& samples, std::int64_t sample, std::int64_t piece,
                      const NarrowShape& shape, float* sums_of_piece) const;
  void add_sums(std::int64_t parts, bool accumulate);

  const Operation operation_;
  const Kernels& all_kernels_;
  const SampleShape src_shape_;
  const int threads_;
  const NarrowTaps taps_;
  const ChannelLayout src_layout_;
  const NarrowKernels<T, Factor>& kernels_;
  const ChannelLayout planes_;                 ///< of a strip's products
  LineVector<Factor> by_channel_, by_output_;  ///< weights as the kernels have them
  ValuePlace src_place_, src_place_again_, dst_place_;
  BufferId products_buffer_ = -1, sums_buffer_ = -1, diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  GradientTarget target_;
  const float* weights_ = nullptr;  ///< [in][outputs]
  const T* src_forward_ = nullptr;
  const T* src_again_ = nullptr;
  float* products_ = nullptr;  ///< [threads][32][points that a strip meets]
  float* dst_ = nullptr;
  const float* diff_dst_ = nullptr;
  T* diff_src_ = nullptr;
  float* sums_ = nullptr;  ///< [samples of a slice][pieces][blocks][32][16]
};

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

/// Planes [32][points], of which so many outputs are used.
ChannelLayout layout_of_planes(std::int64_t outputs, std::int64_t points) {
  ChannelLayout layout;
  layout.channels = layout.blocks = outputs;
  layout.width = 1;
  layout.rows = layout.block_stride = points;
  layout.row_stride = 1;
  layout.sample_stride = points * kPlaces;
  return layout;
}

template <class T, class Factor>
OwnNarrowLayer<T, Factor>::OwnNarrowLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      all_kernels_(planner.kernels()),
      src_shape_(planner.network().shape(operation.src)),
      threads_(planner.threads()),
      taps_(operation, src_shape_),
      src_layout_(channel_layout(planner.value_desc(operation.src))),
      kernels_(kernels_of(planner, src_layout_)),
      planes_(layout_of_planes(taps_.outputs(), most_rows() * src_shape_.spatial[1])),
      by_channel_(static_cast<std::size_t>(src_layout_.blocks * kBlock * kPlaces)) {
  planner.use_value(operation.src, true);
  planner.define_value(plain_desc(batch_dims(planner.batch(), operation.dst)));
  const auto& weights = planner.network().parameters()[static_cast<std::size_t>(operation.weights)];
  planner.set_parameter_desc(operation.weights, plain_desc(weights.shape));
  products_buffer_ = planner.temporary(threads_ * planes_.sample_stride * kFloatBytes,
                                       planner.forward_moment(), "products to add");
  src_place_ = planner.value_place(operation.src);
  src_place_again_ = planner.value_again(operation.src);
  dst_place_ = planner.value_place(planner.made());
}

/// Those in tiles, of channels that are last.
template <class T, class Factor>
const NarrowKernels<T, Factor>& OwnNarrowLayer<T, Factor>::kernels_of(const Planner& planner,
                                                                      const ChannelLayout& layout) {
  if constexpr (std::is_same_v<Factor, Bf16>) {
    if (is_in_tiles(layout)) return planner.kernels().bf16_narrow_tiles;
  }
  return planner.kernels().narrow<T, Factor>();
}

template <class T, class Factor>
NarrowShape OwnNarrowLayer<T, Factor>::shape() const {
  return {src_layout_.blocks, src_layout_.block_stride, taps_.outputs(), Stores::kCached,
          src_layout_.row_stride};
}

/// Of the source, that a strip meets.
template <class T, class Factor>
std::int64_t OwnNarrowLayer<T, Factor>::most_rows() const {
  std::int64_t most = 0;
  for (std::int64_t index = 0; index < strips(); ++index) {
    const NarrowTaps::Rows met = taps_.sources_of(strip(index));
    most = std::max(most, met.end - met.begin);
  }
  return most;
}

template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::plan_backward(Planner& planner) {
  diff_dst_buffer_ = planner.incoming().front();
  const std::int64_t slice = planner.backward_slices().sizes().back();
  sums_buffer_ = planner.temporary(slice * pieces() * sums() * kFloatBytes,
                                   planner.backward_moment(), "sums of gradients");
  by_output_.resize(static_cast<std::size_t>(src_layout_.blocks * kBlock * output_rows()));
  target_.plan(planner, src_shape_.channels * taps_.outputs() * kFloatBytes);
  if (planner.network().has_gradient(operation_.src)) {
    diff_src_buffer_ = planner.contribute(operation_.src);
  }
}

template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::bind(const Arena& arena) {
  weights_ = arena.parameters.weights(operation_.weights);
  src_forward_ = arena.at<T>(src_place_.buffer);
  src_again_ = arena.at<T>(src_place_again_.buffer);
  products_ = arena.at(products_buffer_);
  dst_ = arena.at(dst_place_.buffer);
  if (diff_dst_buffer_ < 0) return;
  diff_dst_ = arena.at(diff_dst_buffer_);
  diff_src_ = arena.at<T>(diff_src_buffer_);
  sums_ = arena.at(sums_buffer_);
  target_.bind(arena, operation_.weights, all_kernels_);
}

template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::convert(const float* values, std::int64_t count, Factor* to) const {
  if constexpr (std::is_same_v<Factor, float>) {
    std::copy_n(values, count, to);
  } else {
    all_kernels_.round_to_bf16(values, to, count);
  }
}

template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::lay_out_for_products() {
  const std::int64_t outputs = taps_.outputs();
  std::vector<float> values(by_channel_.size());
  for (std::int64_t channel = 0; channel < src_shape_.channels; ++channel) {
    const std::int64_t first = channel / kTogether * kPlaces * kTogether + channel % kTogether;
    for (std::int64_t i = 0; i < outputs; ++i) {
      values[static_cast<std::size_t>(first + i * kTogether)] = weights_[channel * outputs + i];
    }
  }
  convert(values.data(), static_cast<std::int64_t>(values.size()), by_channel_.data());
}

template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::lay_out_for_gradients() {
  const std::int64_t outputs = taps_.outputs();
  std::vector<float> values(by_output_.size());
  for (std::int64_t channel = 0; channel < src_shape_.channels; ++channel) {
    const std::int64_t block = channel / kBlock * output_rows() * kBlock;
    for (std::int64_t i = 0; i < outputs; ++i) {
      const std::int64_t row = block + i / kTogether * kBlock * kTogether;
      const std::int64_t place = row + channel % kBlock * kTogether + i % kTogether;
      values[static_cast<std::size_t>(place)] = weights_[channel * outputs + i];
    }
  }
  convert(values.data(), static_cast<std::int64_t>(values.size()), by_output_.data());
}

template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::forward(Mode /*mode*/, const Samples& samples) {
  lay_out_for_products();
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_)
  for (std::int64_t i = 0; i < samples.count; ++i) {
    for (std::int64_t index = 0; index < strips(); ++index) {
      make_strip(samples, samples.first + i, strip(index),
                 products_ + omp_get_thread_num() * planes_.sample_stride);
    }
  }
}

/// Neighbouring strips find the products that both need, each for itself.
template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::make_strip(const Samples& samples, std::int64_t sample,
                                           const NarrowTaps::Rows& rows, float* products) const {
  const NarrowTaps::Rows met = taps_.sources_of(rows);
  const std::int64_t columns = src_shape_.spatial[1], points = (met.end - met.begin) * columns;
  const T* const src = src_forward_ + src_layout_.offset(src_place_.row_of(sample, samples), 0) +
                       met.begin * columns * src_layout_.row_stride;
  alignas(64) std::array<float, kNearPoints * kPlaces> near;
  for (std::int64_t first = 0; first < points; first += kNearPoints) {
    const std::int64_t count = std::min(points - first, kNearPoints);
    kernels_.forward(src + first * src_layout_.row_stride, by_channel_.data(), shape(), count,
                     near.data());
    kernels_.part(near.data(), count, planes_.block_stride, products + first);
  }
  const std::int64_t height = operation_.dst.spatial[0], width = operation_.dst.spatial[1];
  const std::int64_t at = dst_place_.row_of(sample, samples), channels = operation_.dst.channels;
  // All channels of a row in turns, as each reads the same lines of products.
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      taps_.add(row, channel, products, met.begin, planes_,
                dst_ + ((at * channels + channel) * height + row) * width);
    }
  }
}

/// Of the rows of a piece of the source: both gradients, while what they are made of is near.
template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::find_gradients(const Samples& samples, std::int64_t sample,
                                               std::int64_t piece, const NarrowShape& shape,
                                               float* sums_of_piece) const {
  const std::int64_t columns = src_shape_.spatial[1];
  const std::int64_t end = std::min((piece + 1) * kRows, src_shape_.spatial[0]);
  const T* const src = src_again_ + src_layout_.offset(src_place_again_.row_of(sample, samples), 0);
  const float* const diff_dst = diff_dst_ + sample * operation_.dst.size();
  std::fill_n(sums_of_piece, sums(), 0.0F);
  LineVector<float> scratch(static_cast<std::size_t>(taps_.scratch_numbers()));
  std::array<const float*, kPlaces> rows;
  alignas(64) std::array<Factor, kNearPoints * kPlaces> factors;
  const std::int64_t together = is_in_tiles(src_layout_) ? kNearPoints : kVectorPoints;
  for (std::int64_t row = piece * kRows; row < end; ++row) {
    taps_.gradients_of(row, diff_dst, scratch.data(), rows.data());
    for (std::int64_t begin = 0; begin < columns; begin += together) {
      const std::int64_t count = std::min(columns - begin, together);
      const std::int64_t at = (row * columns + begin) * src_layout_.row_stride;
      kernels_.join(rows.data(), taps_.outputs(), count, factors.data());
      for (std::int64_t i = 0; i < taps_.outputs(); ++i) rows[static_cast<std::size_t>(i)] += count;
      kernels_.weights_gradient(src + at, factors.data(), shape, count, sums_of_piece);
      if (diff_src_ == nullptr) continue;
      kernels_.source_gradient(factors.data(), by_output_.data(), shape, count,
                               diff_src_ + src_layout_.offset(sample, 0) + at);
    }
  }
}

template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::backward(bool accumulate, const Samples& samples) {
  lay_out_for_gradients();
  NarrowShape of_gradients = shape();
  of_gradients.stores =
      stores_of<T>(samples.count * src_layout_.sample_numbers(), all_kernels_.has_tiles());
  const std::int64_t parts = samples.count * pieces();
#pragma omp parallel for schedule(static)
  for (std::int64_t part = 0; part < parts; ++part) {
    find_gradients(samples, samples.first + part / pieces(), part % pieces(), of_gradients,
                   sums_ + part * sums());
  }
  add_sums(parts, accumulate || samples.first > 0);
}

template <class T, class Factor>
void OwnNarrowLayer<T, Factor>::add_sums(std::int64_t parts, bool accumulate) {
  const std::int64_t outputs = taps_.outputs();
  float* const gradient = target_.begin(accumulate);
#pragma omp parallel for schedule(static)
  for (std::int64_t channel = 0; channel < src_shape_.channels; ++channel) {
    const float* const from = sums_ + channel / kBlock * kPlaces * kBlock + channel % kBlock;
    for (std::int64_t i = 0; i < outputs; ++i) {
      double sum = 0.0;
      for (std::int64_t part = 0; part < parts; ++part) {
        sum += static_cast<double>(from[part * sums() + i * kBlock]);
      }
      gradient[channel * outputs + i] = static_cast<float>(sum);
    }
  }
  target_.finish(accumulate);
}

}  // namespace

bool suits_own_narrow(const Operation& operation, const Planner& planner) {
  const memory::desc& src = planner.value_desc(operation.src);
  const ChannelLayout layout = channel_layout(src);
  const std::int64_t outputs = operation.dst.channels * operation.kernel[0] * operation.kernel[1];
  if (outputs > NarrowShape::kMost || layout.width != kBlock ||
      !(layout.padded || layout.channels % kBlock == 0)) {
    return false;
  }
  const bool has_floats = planner.compute_type(operation.name) == memory::data_type::f32;
  if (layout.row_stride == kBlock) {
    return has_floats || planner.kernels().has_pairs();
  }
  return !has_floats && is_channels_last_bf16(src) && planner.kernels().has_tiles();
}

std::unique_ptr<Layer> make_own_narrow(const Operation& operation, Planner& planner) {
  const auto bf16 = memory::data_type::bf16;
  if (planner.compute_type(operation.name) == bf16) {
    return std::make_unique<OwnNarrowLayer<Bf16, Bf16>>(operation, planner);
  }
  if (planner.value_desc(operation.src).data_type() == bf16) {
    return std::make_unique<OwnNarrowLayer<Bf16, float>>(operation, planner);
  }
  return std::make_unique<OwnNarrowLayer<float, float>>(operation, planner);
}

}  // namespace nn
