// Transposed convolutions to few channels: one oneDNN product for all taps, whose results are then
// summed.
#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "workloads/nn/products/convolution_products.h"
#include "workloads/nn/products/make_layers.h"
#include "workloads/nn/products/method_table.h"
#include "workloads/nn/products/narrow_taps.h"
#include "workloads/nn/products/widened_convolution.h"

namespace nn {
namespace {

using dnnl::memory;

/// The 1x1 convolution whose outputs are all taps of all channels.
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

/// The destination is plain floats. All taps of all channels are the outputs of one 1x1
/// convolution; each destination pixel sums the outputs that fall on it.
template <class T>
class NarrowLayer final : public Layer {
 public:
  NarrowLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;
  std::int64_t reorders_per_step() const override {
    std::int64_t sum = forward_->reorders();
    for (const Product* product : gradients_.products()) sum += product->reorders();
    return sum;
  }
  std::string implementation() const override {
    return names_of({forward_.get()}, {Method::kLibrary}) + ", narrow";
  }

 private:
  static constexpr std::int64_t kBlockWidth = 16;  ///< at most
  static constexpr std::int64_t kNearPoints = 56;  ///< pixels whose gradients stay in the L1 cache
  static memory::data_type compute_type() {
    return std::is_same_v<T, float> ? memory::data_type::f32 : memory::data_type::bf16;
  }
  void plan_forward(Planner& planner);
  void plan_gradients(Planner& planner);
  void spread_gradient(std::int64_t row, const float* diff_dst, T* products) const;

  const Operation operation_;
  Device& device_;
  const Kernels& kernels_;
  const SampleShape src_shape_;
  const NarrowTaps taps_;
  const ConvolutionProblem product_;
  memory::desc src_desc_, dst_desc_, products_desc_, diff_products_desc_, weights_view_;
  ChannelLayout products_layout_, diff_products_layout_;
  std::unique_ptr<Product> forward_;
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
NarrowLayer<T>::NarrowLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      device_(planner.device()),
      kernels_(planner.kernels()),
      src_shape_(planner.network().shape(operation.src)),
      taps_(operation, src_shape_),
      product_(product_of(operation, planner, compute_type())),
      src_desc_(planner.value_desc(operation.src)) {
  // Weights [in, channels, taps] viewed as the product's [channels * taps, in].
  weights_view_ = {product_.weights_dims(), memory::data_type::f32,
                   memory::dims{1, taps_.outputs(), 1, 1}};
  translated(described_convolution(operation, planner), [&] { plan_forward(planner); });
}

template <class T>
void NarrowLayer<T>::plan_forward(Planner& planner) {
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
  const ConvolutionLayouts layouts = {src_desc_, products_desc_, weights_view_};
  forward_ = make_forward_product(
      planner, choose_method(ConvolutionProduct::kForward, product_, layouts, planner), product_,
      layouts, slices, planner.forward_moment(), planner.value_place(operation_.src),
      {products_buffer_, true});
}

template <class T>
void NarrowLayer<T>::plan_backward(Planner& planner) {
  translated(described_convolution(operation_, planner), [&] { plan_gradients(planner); });
}

template <class T>
void NarrowLayer<T>::plan_gradients(Planner& planner) {
  const Slices& slices = planner.backward_slices();
  diff_products_desc_ =
      WidenedForward::supports(product_, {src_desc_, products_desc_, weights_view_}, planner)
          ? products_desc_
          : memory::desc(product_.source_gradient(slices.sizes().front())
                             .query_md(dnnl::query::exec_arg_md, DNNL_ARG_DIFF_DST));
  diff_products_desc_ = with_samples(diff_products_desc_, slices.sizes().back());
  diff_products_layout_ = channel_layout(diff_products_desc_);
  diff_dst_buffer_ = planner.incoming().front();
  diff_products_buffer_ =
      planner.temporary(static_cast<std::int64_t>(diff_products_desc_.get_size()),
                        planner.backward_moment(), "products to add");
  const ConvolutionLayouts layouts = {src_desc_, diff_products_desc_, weights_view_};
  MethodChoice choice;
  choice.source_gradient =
      choose_method(ConvolutionProduct::kSourceGradient, product_, layouts, planner);
  choice.weights_gradient =
      choose_method(ConvolutionProduct::kWeightsGradient, product_, layouts, planner);
  gradients_ = {planner,
                choice,
                product_,
                layouts,
                {planner.recomputed_value(operation_.src),
                 {diff_products_buffer_, true},
                 planner.contribute(operation_.src)}};
}

template <class T>
void NarrowLayer<T>::bind(const Arena& arena) {
  products_ = arena.at(products_buffer_);
  dst_ = arena.at(dst_place_.buffer);
  forward_->bind(arena, device_, kernels_);
  if (diff_dst_buffer_ < 0) return;
  diff_dst_ = arena.at(diff_dst_buffer_);
  diff_products_ = arena.at<T>(diff_products_buffer_);
  gradients_.bind(arena, device_, kernels_);
}

template <class T>
void NarrowLayer<T>::forward(Mode /*mode*/, const Samples& samples) {
  forward_->run(samples, false);
  const std::int64_t height = operation_.dst.spatial[0], width = operation_.dst.spatial[1];
  const std::int64_t channels = operation_.dst.channels;
  // All channels of a row one after the other, as they read the same cache lines of products.
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t i = 0; i < samples.count; ++i) {
    for (std::int64_t row = 0; row < height; ++row) {
      const std::int64_t at = dst_place_.row_of(samples.first + i, samples);
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        taps_.add(row, channel, products_ + products_layout_.offset(i, 0), 0, products_layout_,
                  dst_ + ((at * channels + channel) * height + row) * width);
      }
    }
  }
}

/// Writes the gradients of all products of one row of source pixels.
template <class T>
void NarrowLayer<T>::spread_gradient(std::int64_t row, const float* diff_dst, T* products) const {
  const ChannelLayout& layout = diff_products_layout_;
  const std::int64_t columns = src_shape_.spatial[1];
  const auto put = [&](const float* from, std::int64_t count, T* to) {
    if constexpr (std::is_same_v<T, float>) {
      std::copy_n(from, count, to);
    } else {
      kernels_.round_to_bf16(from, to, count);
    }
  };
  std::vector<float> scratch(static_cast<std::size_t>(taps_.scratch_numbers()));
  std::vector<const float*> rows(static_cast<std::size_t>(taps_.outputs()));
  taps_.gradients_of(row, diff_dst, scratch.data(), rows.data());
  std::array<float, kNearPoints * kBlockWidth> values;
  for (std::int64_t begin = 0; begin < columns; begin += kNearPoints) {
    const std::int64_t count = std::min(columns - begin, kNearPoints);
    for (std::int64_t block = 0; block < layout.blocks; ++block) {
      const std::int64_t first = block * layout.width;
      const std::int64_t outputs = std::min<std::int64_t>(layout.width, taps_.outputs() - first);
      std::fill_n(values.begin(), count * layout.width, 0.0F);
      for (std::int64_t i = 0; i < outputs; ++i) {
        const float* const from = rows[static_cast<std::size_t>(first + i)] + begin;
        for (std::int64_t x = 0; x < count; ++x) {
          values[static_cast<std::size_t>(x * layout.width + i)] = from[x];
        }
      }
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
void NarrowLayer<T>::backward(bool accumulate, const Samples& samples) {
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

std::unique_ptr<Layer> make_narrow(const Operation& operation, Planner& planner) {
  if (planner.compute_type(operation.name) == memory::data_type::bf16) {
    return std::make_unique<NarrowLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<NarrowLayer<float>>(operation, planner);
}

}  // namespace nn
