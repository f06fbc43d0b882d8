// StemLayer. With channels last, a row of a window is contiguous in memory and is loaded as one or
// several tile rows, so that windows need not be gathered.
#include "workloads/nn/products/stem_layer.h"

#include <algorithm>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/stores.h"
#include "workloads/kernels/tiling.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/precision.h"
#include "workloads/nn/products/line_vector.h"
#include "workloads/nn/products/weights_gradient_tiles.h"

namespace nn {
namespace {

using dnnl::memory;

/// Also true of a single block that holds all channels.
bool has_channels_last(const memory::desc& desc) {
  return is_channels_last_bf16(desc) ||
         (dims_of(desc)[1] == kLanes && desc == memory::desc(dims_of(desc), memory::data_type::bf16,
                                                             memory::format_tag::nChw16c));
}

class StemLayer final : public Layer {
 public:
  StemLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  std::string implementation() const override { return "stem"; }
  void forward(Mode /*mode*/, const Samples& samples) override { make(samples, src_, dst_); }
  void recompute(const Samples& samples) override { make(samples, src_again_, dst_again_); }
  void backward(bool accumulate, const Samples& samples) override;

 private:
  /// A value where a pass finds it.
  struct Stream {
    ValuePlace place;
    Bf16* data = nullptr;
    void bind(const Arena& arena) { data = arena.at<Bf16>(place.buffer); }
    Bf16* at(std::int64_t sample, const Samples& slice, std::int64_t numbers) const {
      return data + place.row_of(sample, slice) * numbers;
    }
  };
  /// Destination rows of a strip, whose weights gradient is summed separately: independent of the
  /// number of threads, and few enough that the elements they read stay in the L2 cache.
  std::int64_t strip_rows() const {
    constexpr std::int64_t kMostRows = 32, kCachedNumbers = 1 << 18;
    const std::int64_t met = operation_.stride[0] * source_row_elements();
    return std::clamp<std::int64_t>(kCachedNumbers / met, 1, kMostRows);
  }
  struct Strip {
    std::int64_t first = 0, rows = 0;
  };
  std::int64_t strips() const { return base::ceil_div(height_, strip_rows()); }
  Strip strip(std::int64_t i) const {
    const std::int64_t first = i * height_ / strips();
    return {first, (i + 1) * height_ / strips() - first};
  }
  std::int64_t lines() const { return operation_.kernel[0]; }
  /// Elements of one row of a window.
  std::int64_t row_elements() const { return operation_.kernel[1] * from_.channels; }
  /// Elements read for one row of a window: at least a tile row.
  std::int64_t read_elements() const {
    return std::max<std::int64_t>(row_elements(), TileGemm::kRows);
  }
  std::int64_t blocks() const { return read_elements() / kLanes; }
  /// Tiles of one row of a window, the last of which may be half a tile.
  std::int64_t parts() const { return base::ceil_div(read_elements(), TileGemm::kRows); }
  /// Elements that a strip's windows read: of one source row, and of all.
  std::int64_t source_row_elements() const;
  std::int64_t strip_elements() const;
  void lay_out_row(const Bf16* image, std::int64_t row, std::int64_t points, Bf16* to) const;
  /// Copies the part of the image that the strip's windows read, with zeros around the image.
  void lay_out(const Bf16* image, const Strip& strip, Bf16* to) const;
  void pack_weights();
  void make(const Samples& samples, const Stream& src, const Stream& dst);
  std::int64_t sums() const { return lines() * blocks() * out_panels() * kTileWords; }
  std::int64_t out_panels() const { return operation_.dst.channels / kLanes; }
  TileGradient gradient_of(const Strip& strip) const;
  void add_sums(std::int64_t parts, bool accumulate);
  std::size_t gradient_scratch_words() const {
    return static_cast<std::size_t>(gradient_of(strip(0)).scratch_bytes()) / sizeof(std::uint32_t);
  }

  const Operation operation_;
  const Kernels& kernels_;
  const SampleShape from_;
  const bool is_last_;                 ///< whether the source has channels last, too
  const std::int64_t height_, width_;  ///< of the destination
  Stream src_, src_again_, dst_, dst_again_, diff_dst_;
  BufferId sums_buffer_ = -1;
  const int threads_;
  GradientTarget target_;
  const float* weights_ = nullptr;    ///< [out][in][lines][columns]
  LineVector<std::uint32_t> packed_;  ///< [lines][parts][out / 16][16 pairs][16]
  float* sums_ = nullptr;  ///< [samples of a slice][strips][weights in TileGradient's order]
};

StemLayer::StemLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels()),
      from_(planner.network().shape(operation.src)),
      is_last_(has_channels_last(planner.value_desc(operation.src))),
      height_(operation.dst.spatial[0]),
      width_(operation.dst.spatial[1]),
      threads_(planner.threads()) {
  planner.use_value(operation.src, true);
  planner.define_value(
      channels_last_desc(batch_dims(planner.batch(), operation.dst), memory::data_type::bf16));
  const auto& weights = planner.network().parameters()[static_cast<std::size_t>(operation.weights)];
  planner.set_parameter_desc(operation.weights, plain_desc(weights.shape));
  src_.place = planner.value_place(operation.src);
  src_again_.place = planner.recomputed_value(operation.src);
  dst_.place = planner.value_place(planner.made());
  dst_again_.place = planner.recomputed_value(planner.made());
}

void StemLayer::plan_backward(Planner& planner) {
  diff_dst_.place = {planner.incoming().front(), false};
  const std::int64_t slice = planner.backward_slices().sizes().back();
  sums_buffer_ = planner.temporary(slice * strips() * sums() * kFloatBytes,
                                   planner.backward_moment(), "sums of gradients");
  target_.plan(planner, operation_.dst.channels * lines() * row_elements() * kFloatBytes);
}

void StemLayer::bind(const Arena& arena) {
  weights_ = arena.parameters.weights(operation_.weights);
  for (Stream* const stream : {&src_, &src_again_, &dst_, &dst_again_}) stream->bind(arena);
  if (diff_dst_.place.buffer < 0) return;
  diff_dst_.bind(arena);
  sums_ = arena.at(sums_buffer_);
  target_.bind(arena, operation_.weights, kernels_);
}

/// The last window of a row is read to the end of a tile row.
std::int64_t StemLayer::source_row_elements() const {
  return (width_ - 1) * operation_.stride[1] * from_.channels + read_elements();
}

std::int64_t StemLayer::strip_elements() const {
  return ((strip_rows() - 1) * operation_.stride[0] + lines()) * source_row_elements();
}

/// Copies `points` pixels of a row of the image, channels last.
void StemLayer::lay_out_row(const Bf16* image, std::int64_t row, std::int64_t points,
                            Bf16* to) const {
  const std::int64_t rows = from_.spatial[0], columns = from_.spatial[1];
  if (is_last_) {
    std::copy_n(image + row * columns * from_.channels, points * from_.channels, to);
    return;
  }
  for (std::int64_t channel = 0; channel < from_.channels; ++channel) {
    const Bf16* const from = image + (channel * rows + row) * columns;
    for (std::int64_t x = 0; x < points; ++x) to[x * from_.channels + channel] = from[x];
  }
}

void StemLayer::lay_out(const Bf16* image, const Strip& strip, Bf16* to) const {
  const std::int64_t rows = from_.spatial[0], columns = from_.spatial[1];
  const std::int64_t met_rows = (strip.rows - 1) * operation_.stride[0] + lines();
  const std::int64_t first_row = strip.first * operation_.stride[0] - operation_.padding.begin[0];
  const std::int64_t before = operation_.padding.begin[1] * from_.channels;
  // Pixels of a row of the image that windows can read.
  const std::int64_t met = std::min(columns, (source_row_elements() - before) / from_.channels);
  for (std::int64_t i = 0; i < met_rows; ++i, to += source_row_elements()) {
    const std::int64_t row = first_row + i;
    if (row < 0 || row >= rows) {
      std::fill_n(to, source_row_elements(), Bf16{0});
      continue;
    }
    std::fill_n(to, before, Bf16{0});
    lay_out_row(image, row, met, to + before);
    const std::int64_t end = before + met * from_.channels;
    std::fill_n(to + end, source_row_elements() - end, Bf16{0});
  }
}

/// Weights after the end of a window's row are zeros, so that the elements which a tile holds there
/// do not count.
void StemLayer::pack_weights() {
  const std::int64_t columns = operation_.kernel[1], channels = from_.channels;
  packed_.assign(static_cast<std::size_t>(lines() * parts() * out_panels() * kTileWords), 0);
  const auto bits_of = [&](std::int64_t out, std::int64_t line, std::int64_t number) {
    if (number >= row_elements()) return std::uint32_t{0};
    const std::int64_t channel = number % channels, column = number / channels;
    Bf16 rounded;
    kernels_.round_to_bf16(
        weights_ + ((out * channels + channel) * lines() + line) * columns + column, &rounded, 1);
    return std::uint32_t{rounded.bits};
  };
  std::size_t at = 0;
  for (std::int64_t i = 0; i < lines() * parts() * out_panels(); ++i) {
    const std::int64_t panel = i % out_panels(), line = i / out_panels() / parts();
    const std::int64_t first = i / out_panels() % parts() * TileGemm::kRows;
    for (std::int64_t number = first; number < first + TileGemm::kRows; number += 2) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const std::int64_t out = panel * kLanes + lane;
        packed_[at++] = bits_of(out, line, number) | bits_of(out, line, number + 1) << 16;
      }
    }
  }
}

void StemLayer::make(const Samples& samples, const Stream& src, const Stream& dst) {
  if (samples.first == 0) pack_weights();
  const std::int64_t channels = operation_.dst.channels;
  TileGemm::Windows windows;
  windows.line_step = source_row_elements();
  windows.row_step = operation_.stride[0] * source_row_elements();
  windows.point_step = operation_.stride[1] * from_.channels;
  windows.lines = lines();
  windows.parts = read_elements() / TileGemm::kRows;
  windows.has_half = read_elements() % TileGemm::kRows != 0;
  windows.channels = channels;
  windows.part_words = out_panels() * kTileWords;
  windows.panel_words = kTileWords;
  windows.stores = stores_of<Bf16>(samples.count * operation_.dst.size(), true);
#pragma omp parallel num_threads(threads_)
  {
    LineVector<Bf16> met(static_cast<std::size_t>(strip_elements()));
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t i = 0; i < samples.count; ++i) {
      for (std::int64_t part = 0; part < strips(); ++part) {
        const std::int64_t sample = samples.first + i;
        const Strip here = strip(part);
        lay_out(src.at(sample, samples, from_.size()), here, met.data());
        kernels_.tile_gemm.multiply_windows(
            met.data(), packed_.data(), windows, here.rows, width_,
            dst.at(sample, samples, operation_.dst.size()) + here.first * width_ * channels);
      }
    }
  }
}

/// Treats one row of a window as a pixel, which shares elements with the next ones.
TileGradient StemLayer::gradient_of(const Strip& strip) const {
  WindowShape shape;
  shape.rows = {(strip.rows - 1) * operation_.stride[0] + lines(), strip.rows, lines(),
                operation_.stride[0], 0};
  shape.columns = {width_, width_, 1, 1, 0};
  shape.in = read_elements();
  shape.out = operation_.dst.channels;
  const TileGradient::Pitch pitch = {operation_.stride[1] * from_.channels, source_row_elements()};
  return {shape, pitch, kernels_};
}

void StemLayer::backward(bool accumulate, const Samples& samples) {
  const std::int64_t parts = samples.count * strips(), channels = operation_.dst.channels;
#pragma omp parallel num_threads(threads_)
  {
    LineVector<Bf16> met(static_cast<std::size_t>(strip_elements()));
    LineVector<std::uint32_t> scratch(gradient_scratch_words());
#pragma omp for schedule(static)
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t sample = samples.first + part / strips();
      const Strip here = strip(part % strips());
      lay_out(src_again_.at(sample, samples, from_.size()), here, met.data());
      const Bf16* const diff_dst =
          diff_dst_.at(sample, samples, operation_.dst.size()) + here.first * width_ * channels;
      gradient_of(here).run(met.data(), diff_dst, 1, sums_ + part * sums(), false, scratch.data());
    }
  }
  add_sums(parts, accumulate || samples.first > 0);
}

void StemLayer::add_sums(std::int64_t parts, bool accumulate) {
  const std::int64_t columns = operation_.kernel[1], channels = from_.channels;
  float* const gradient = target_.begin(accumulate);
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_)
  for (std::int64_t line = 0; line < lines(); ++line) {
    for (std::int64_t number = 0; number < row_elements(); ++number) {
      const std::int64_t channel = number % channels, column = number / channels;
      for (std::int64_t out = 0; out < operation_.dst.channels; ++out) {
        const std::int64_t tile = (out / kLanes * blocks() + number / kLanes) * lines() + line;
        const float* const from = sums_ + (tile * kLanes + number % kLanes) * kLanes + out % kLanes;
        double sum = 0.0;
        for (std::int64_t part = 0; part < parts; ++part) {
          sum += static_cast<double>(from[part * sums()]);
        }
        gradient[((out * channels + channel) * lines() + line) * columns + column] =
            static_cast<float>(sum);
      }
    }
  }
  target_.finish(accumulate);
}

}  // namespace

bool suits_stem(const Operation& operation, const Planner& planner) {
  constexpr std::int64_t kMostNumbers = 128;
  if (!planner.kernels().has_tiles()) return false;
  const Network& network = planner.network();
  const bool is_first =
      network.operations()[static_cast<std::size_t>(operation.src)].kind == OperationKind::kInput;
  if (!is_first || operation.kernel.size() != 2 || operation.bias >= 0) return false;
  const memory::desc& src = planner.value_desc(operation.src);
  const SampleShape& from = network.shape(operation.src);
  const std::int64_t numbers = operation.kernel[1] * from.channels;  // of a window's row
  const memory::desc plain = plain_desc(batch_dims(planner.batch(), from), memory::data_type::bf16);
  return (src == plain || has_channels_last(src)) &&
         planner.compute_type(operation.name) == memory::data_type::bf16 && !is_atrous(operation) &&
         operation.padding.begin[1] < operation.kernel[1] &&
         (numbers <= TileGemm::kRows || (numbers <= kMostNumbers && numbers % kLanes == 0)) &&
         operation.dst.channels % kLanes == 0;
}

std::unique_ptr<Layer> make_stem(const Operation& operation, Planner& planner) {
  return std::make_unique<StemLayer>(operation, planner);
}

}  // namespace nn
