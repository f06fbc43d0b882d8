// Transposed convolutions to few channels: one product for all taps, which are then added up.
// Hides primitive descriptors, and where products meet.
#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "workloads/nn/convolution_products.h"
#include "workloads/nn/layer.h"

namespace nn {
namespace {

using dnnl::memory;

/// The pointwise product of all taps of all channels.
ConvolutionProblem product_of(const Operation& operation, const Planner& planner,
                              dnnl::memory::data_type compute) {
  const SampleShape& src = planner.network().shape(operation.src);
  const std::int64_t taps = operation.kernel[0] * operation.kernel[1];
  Operation product;
  product.kind = OperationKind::kConvolution;
  product.name = operation.name;
  product.src = operation.src;
  product.kernel = product.stride = product.dilation = {1, 1};
  product.padding = uniform_padding(2, 0, 0);
  product.weights = operation.weights;
  product.dst = {operation.dst.channels * taps, src.spatial};
  return {product,
          planner.value_desc(operation.src),
          {product.dst.channels, src.channels, 1, 1},
          {.compute = compute, .gives_floats = true},
          planner.device()};
}

/// To few channels, given as floats, plain: all taps of all channels are the outputs of one
/// pointwise product, of which each destination point adds up those that meet there.
template <class T>
class NarrowDeconvolutionLayer final : public Layer {
 public:
  NarrowDeconvolutionLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;
  std::int64_t reorders_per_step() const override {
    std::int64_t sum = forward_.product().reorders();
    for (const SlicedPrimitive* product : gradients_.products()) sum += product->reorders();
    return sum;
  }
  std::string implementation() const override {
    return forward_.product().implementation() + ", own";
  }

 private:
  /// A source row and the row of taps by which it meets a destination row.
  struct Meeting {
    std::int64_t point, tap;
  };
  /// An output of the product: from where in the destination, beside `stride` times the source
  /// point, it goes to which channel; and which of a row's points do so within the destination.
  struct Output {
    std::int64_t channel, row, column, first, end;
  };
  /// Points of a row whose products stay in the nearest cache together, and the widest block.
  static constexpr std::int64_t kPiece = 64, kBlockWidth = 16;
  static memory::data_type compute_type() {
    return std::is_same_v<T, float> ? memory::data_type::f32 : memory::data_type::bf16;
  }
  std::vector<Output> all_outputs() const;
  std::vector<std::vector<Meeting>> meetings_of_rows() const;
  void plan_forward(Planner& planner);
  void plan_gradients(Planner& planner);
  void add_products(std::int64_t row, std::int64_t channel, const float* products,
                    float* dst) const;
  void spread_piece(std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t block,
                    const float* diff_dst, float* values) const;
  void spread_gradient(std::int64_t row, const float* diff_dst, T* products) const;

  const Operation operation_;
  Device& device_;
  const Kernels& kernels_;
  const SampleShape src_shape_;
  const std::int64_t taps_, outputs_;  ///< of a channel, and of all
  const ConvolutionProblem product_;
  memory::desc src_desc_, dst_desc_, products_desc_, diff_products_desc_, weights_view_;
  ChannelLayout products_layout_, diff_products_layout_;
  std::vector<Output> products_of_;         ///< of each source point
  std::vector<std::vector<Meeting>> rows_;  ///< by destination row
  ForwardProduct forward_;
  BackwardProducts gradients_;
  ValuePlace dst_place_;
  BufferId products_buffer_ = -1, diff_products_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1;
  float* products_ = nullptr;
  float* dst_ = nullptr;
  const float* diff_dst_ = nullptr;
  T* diff_products_ = nullptr;
};

template <class T>
NarrowDeconvolutionLayer<T>::NarrowDeconvolutionLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      device_(planner.device()),
      kernels_(planner.kernels()),
      src_shape_(planner.network().shape(operation.src)),
      taps_(operation.kernel[0] * operation.kernel[1]),
      outputs_(operation.dst.channels * taps_),
      product_(product_of(operation, planner, compute_type())),
      src_desc_(planner.value_desc(operation.src)) {
  // Weights [in, channels, taps] as the product's [channels * taps, in].
  weights_view_ = {product_.weights_dims(), memory::data_type::f32,
                   memory::dims{1, outputs_, 1, 1}};
  products_of_ = all_outputs();
  rows_ = meetings_of_rows();
  translated(described_convolution(operation, planner), [&] { plan_forward(planner); });
}

template <class T>
std::vector<typename NarrowDeconvolutionLayer<T>::Output> NarrowDeconvolutionLayer<T>::all_outputs()
    const {
  const std::int64_t width = operation_.dst.spatial[1], stride = operation_.stride[1];
  std::vector<Output> outputs;
  for (std::int64_t i = 0; i < outputs_; ++i) {
    const std::int64_t tap = i % taps_;
    Output output = {i / taps_, tap / operation_.kernel[1] - operation_.padding.begin[0],
                     tap % operation_.kernel[1] - operation_.padding.begin[1], 0, 0};
    while (output.first * stride + output.column < 0) ++output.first;
    output.end = output.first;
    while (output.end < src_shape_.spatial[1] && output.end * stride + output.column < width) {
      ++output.end;
    }
    outputs.push_back(output);
  }
  return outputs;
}

template <class T>
std::vector<std::vector<typename NarrowDeconvolutionLayer<T>::Meeting>>
NarrowDeconvolutionLayer<T>::meetings_of_rows() const {
  std::vector<std::vector<Meeting>> meetings(static_cast<std::size_t>(operation_.dst.spatial[0]));
  for (std::int64_t point = 0; point < src_shape_.spatial[0]; ++point) {
    for (std::int64_t tap = 0; tap < operation_.kernel[0]; ++tap) {
      const std::int64_t to = point * operation_.stride[0] - operation_.padding.begin[0] + tap;
      if (to < 0 || to >= operation_.dst.spatial[0]) continue;
      meetings[static_cast<std::size_t>(to)].push_back({point, tap});
    }
  }
  return meetings;
}

template <class T>
void NarrowDeconvolutionLayer<T>::plan_forward(Planner& planner) {
  const Slices& slices = planner.forward_slices();
  const std::int64_t most = slices.sizes().back();
  products_desc_ = with_samples(
      product_.forward(slices.sizes().front()).query_md(dnnl::query::exec_arg_md, DNNL_ARG_DST),
      most);
  products_layout_ = channel_layout(products_desc_);
  dst_desc_ = plain_desc(batch_dims(planner.batch(), operation_.dst));
  planner.use_value(operation_.src, true);
  planner.define_value(dst_desc_);
  planner.set_parameter_desc(
      operation_.weights,
      plain_desc(
          planner.network().parameters()[static_cast<std::size_t>(operation_.weights)].shape));
  products_buffer_ = planner.temporary(static_cast<std::int64_t>(products_desc_.get_size()),
                                       planner.forward_moment(), "products to add");
  dst_place_ = planner.value_place(planner.made());
  forward_.plan(planner, product_, {src_desc_, products_desc_, weights_view_}, slices,
                planner.forward_moment(), planner.value_place(operation_.src),
                {products_buffer_, true});
}

template <class T>
void NarrowDeconvolutionLayer<T>::plan_backward(Planner& planner) {
  translated(described_convolution(operation_, planner), [&] { plan_gradients(planner); });
}

template <class T>
void NarrowDeconvolutionLayer<T>::plan_gradients(Planner& planner) {
  const Slices& slices = planner.backward_slices();
  diff_products_desc_ =
      is_widened(product_, src_desc_, products_desc_)
          ? products_desc_
          : memory::desc(product_.source_gradient(slices.sizes().front())
                             .query_md(dnnl::query::exec_arg_md, DNNL_ARG_DIFF_DST));
  diff_products_desc_ = with_samples(diff_products_desc_, slices.sizes().back());
  diff_products_layout_ = channel_layout(diff_products_desc_);
  diff_dst_buffer_ = planner.incoming().front();
  diff_products_buffer_ =
      planner.temporary(static_cast<std::int64_t>(diff_products_desc_.get_size()),
                        planner.backward_moment(), "products to add");
  gradients_.plan(planner, product_, {src_desc_, diff_products_desc_, weights_view_},
                  {planner.value_again(operation_.src),
                   {diff_products_buffer_, true},
                   planner.contribute(operation_.src)});
}

template <class T>
void NarrowDeconvolutionLayer<T>::bind(const Arena& arena) {
  products_ = arena.at(products_buffer_);
  dst_ = arena.at(dst_place_.buffer);
  forward_.bind(arena, device_, kernels_);
  if (diff_dst_buffer_ < 0) return;
  diff_dst_ = arena.at(diff_dst_buffer_);
  diff_products_ = arena.at<T>(diff_products_buffer_);
  gradients_.bind(arena, device_, kernels_);
}

/// A row of the destination, of one channel; piece by piece, so that a point's products are still
/// near when the next tap reads its own of them.
template <class T>
void NarrowDeconvolutionLayer<T>::add_products(std::int64_t row, std::int64_t channel,
                                               const float* products, float* dst) const {
  const ChannelLayout& layout = products_layout_;
  const std::int64_t stride = operation_.stride[1], step = layout.row_stride;
  const std::int64_t columns = src_shape_.spatial[1];
  std::fill(dst, dst + operation_.dst.spatial[1], 0.0F);
  for (std::int64_t begin = 0; begin < columns; begin += kPiece) {
    for (const Meeting& line : rows_[static_cast<std::size_t>(row)]) {
      const std::int64_t first = channel * taps_ + line.tap * operation_.kernel[1];
      for (std::int64_t i = first; i < first + operation_.kernel[1]; ++i) {
        const Output& output = products_of_[static_cast<std::size_t>(i)];
        const float* const from = products + layout.offset(0, i / layout.width) + i % layout.width +
                                  line.point * columns * step;
        const std::int64_t end = std::min(output.end, begin + kPiece);
        for (std::int64_t x = std::max(output.first, begin); x < end; ++x) {
          dst[x * stride + output.column] += from[x * step];
        }
      }
    }
  }
}

template <class T>
void NarrowDeconvolutionLayer<T>::forward(Mode /*mode*/, const Samples& samples) {
  forward_.run(samples);
  const std::int64_t height = operation_.dst.spatial[0], width = operation_.dst.spatial[1];
  const std::int64_t channels = operation_.dst.channels;
#pragma omp parallel for collapse(3) schedule(static)
  for (std::int64_t i = 0; i < samples.count; ++i) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      for (std::int64_t row = 0; row < height; ++row) {
        const std::int64_t at = dst_place_.row_of(samples.first + i, samples);
        add_products(row, channel, products_ + products_layout_.offset(i, 0),
                     dst_ + ((at * channels + channel) * height + row) * width);
      }
    }
  }
}

/// What each product's gradient is, of the points [begin, end) of a row of the source: of one block
/// of products to values [end - begin][width of a block].
template <class T>
void NarrowDeconvolutionLayer<T>::spread_piece(std::int64_t row, std::int64_t begin,
                                               std::int64_t end, std::int64_t block,
                                               const float* diff_dst, float* values) const {
  const std::int64_t height = operation_.dst.spatial[0], width = operation_.dst.spatial[1];
  const std::int64_t stride = operation_.stride[1], step = diff_products_layout_.width;
  std::fill(values, values + (end - begin) * step, 0.0F);
  const std::int64_t last = std::min(outputs_, (block + 1) * step);
  for (std::int64_t i = block * step; i < last; ++i) {
    const Output& output = products_of_[static_cast<std::size_t>(i)];
    const std::int64_t to = row * operation_.stride[0] + output.row;
    if (to < 0 || to >= height) continue;
    const float* const from = diff_dst + (output.channel * height + to) * width + output.column;
    float* const lane = values + i % step;
    const std::int64_t beyond = std::min(end, output.end);
    for (std::int64_t x = std::max(begin, output.first); x < beyond; ++x) {
      lane[(x - begin) * step] = from[x * stride];
    }
  }
}

template <class T>
void NarrowDeconvolutionLayer<T>::spread_gradient(std::int64_t row, const float* diff_dst,
                                                  T* products) const {
  const ChannelLayout& layout = diff_products_layout_;
  const std::int64_t columns = src_shape_.spatial[1];
  const auto put = [&](const float* from, std::int64_t count, T* to) {
    if constexpr (std::is_same_v<T, float>) {
      std::copy_n(from, count, to);
    } else {
      kernels_.round_to_bf16(from, to, count);
    }
  };
  std::array<float, kPiece * kBlockWidth> values;
  for (std::int64_t begin = 0; begin < columns; begin += kPiece) {
    const std::int64_t count = std::min(columns - begin, kPiece);
    for (std::int64_t block = 0; block < layout.blocks; ++block) {
      spread_piece(row, begin, begin + count, block, diff_dst, values.data());
      T* const to =
          products + layout.offset(0, block) + (row * columns + begin) * layout.row_stride;
      if (layout.row_stride == layout.width) {
        put(values.data(), count * layout.width, to);
        continue;
      }
      for (std::int64_t x = 0; x < count; ++x) {
        put(&values[static_cast<std::size_t>(x * layout.width)], layout.column(block).width,
            to + x * layout.row_stride);
      }
    }
  }
}

template <class T>
void NarrowDeconvolutionLayer<T>::backward(bool accumulate, const Samples& samples) {
  const std::int64_t rows = src_shape_.spatial[0];
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t i = 0; i < samples.count; ++i) {
    for (std::int64_t row = 0; row < rows; ++row) {
      spread_gradient(row, diff_dst_ + (samples.first + i) * operation_.dst.size(),
                      diff_products_ + diff_products_layout_.offset(i, 0));
    }
  }
  gradients_.run(accumulate, samples);
}

}  // namespace

std::unique_ptr<Layer> make_narrow_deconvolution(const Operation& operation, Planner& planner) {
  if (planner.compute_type(operation.name) == memory::data_type::bf16) {
    return std::make_unique<NarrowDeconvolutionLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<NarrowDeconvolutionLayer<float>>(operation, planner);
}

}  // namespace nn
