// Matrix-product layers: fully connected, and convolutions that give one point per channel.
// Hides that a kernel tap meets just one source point there, so that the convolution is one product
// per tap. Small images end in such layers, where the library's convolutions run at a tenth of its
// matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runner/base/error.h"
#include "workloads/nn/layer.h"

namespace nn {
namespace {

/// C [m, n] = A [m, k] B [k, n] (+ C); leading dimensions are row strides.
struct Matrix {
  const float* data;
  std::int64_t stride;
  char transposed = 'N';
};
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
              float* c, std::int64_t stride, bool add) {
  const dnnl::status status = dnnl::sgemm(a.transposed, b.transposed, m, n, k, 1.0F, a.data,
                                          a.stride, b.data, b.stride, add ? 1.0F : 0.0F, c, stride);
  if (status != dnnl::status::success) {
    throw base::SystemError(
        fmt::format("oneDNN refused a matrix product of {} x {} x {}", m, n, k));
  }
}

/// A kernel tap and the source point that it meets.
struct Tap {
  std::int64_t kernel_index = 0, point = 0;
};

std::vector<Tap> taps_of(const Operation& operation, const SampleShape& src) {
  std::vector<Tap> taps = {{0, 0}};
  for (std::size_t axis = 0; axis < operation.kernel.size(); ++axis) {
    std::vector<Tap> extended;
    for (const Tap& tap : taps) {
      for (std::int64_t k = 0; k < operation.kernel[axis]; ++k) {
        const std::int64_t at = k - operation.padding.begin[axis];
        if (at < 0 || at >= src.spatial[axis]) continue;
        extended.push_back(
            {tap.kernel_index * operation.kernel[axis] + k, tap.point * src.spatial[axis] + at});
      }
    }
    taps = std::move(extended);
  }
  return taps;
}

/// Weights [out, in, kernel...] in memory as [kernel...][out][in]: each tap a plain matrix.
dnnl::memory::desc tap_major(const std::vector<std::int64_t>& shape) {
  dnnl::memory::dims strides(shape.size());
  strides[1] = 1;
  strides[0] = shape[1];
  std::int64_t stride = shape[0] * shape[1];
  for (std::size_t axis = shape.size(); axis-- > 2;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return {shape, dnnl::memory::data_type::f32, strides};
}

class DenseLayer final : public Layer {
 public:
  DenseLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode) override;
  void backward(bool accumulate) override;
  std::string implementation() const override { return "sgemm"; }

 private:
  bool direct() const { return src_layout_.rows == 1; }
  /// Source point `point` of every sample as a matrix [batch, in].
  Matrix source(std::int64_t point);
  void scatter(std::int64_t point, const float* rows);
  void backward_data();
  void backward_bias(bool accumulate);

  const Operation operation_;
  const Kernels& kernels_;
  std::int64_t batch_, rows_, in_, out_;
  std::vector<Tap> taps_;
  ChannelLayout src_layout_;
  bool first_;
  GradientTarget weights_target_, bias_target_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, gathered_buffer_ = -1, gathered_again_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  std::int64_t diff_src_floats_ = 0, weights_floats_ = 0;
  const float* src_ = nullptr;
  float* dst_ = nullptr;
  float* gathered_forward_ = nullptr;
  float* gathered_backward_ = nullptr;
  float* gathered_ = nullptr;
  const float* diff_dst_ = nullptr;
  float* diff_src_ = nullptr;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
};

DenseLayer::DenseLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels()),
      batch_(planner.batch()),
      rows_(std::max(batch_, kLeastRows)),
      in_(planner.network().shape(operation.src).channels),
      out_(operation.dst.channels),
      taps_(taps_of(operation, planner.network().shape(operation.src))),
      src_layout_(channel_layout(planner.value_desc(operation.src))),
      first_(operation.src == 0) {
  if (direct() && src_layout_.sample_stride < in_) {
    throw base::ShapeError(operation.name + ": source samples overlap");
  }
  planner.use_value(operation.src, true);
  planner.define_value(plain_desc(batch_dims(batch_, operation.dst)));
  const auto& parameters = planner.network().parameters();
  planner.set_parameter_desc(
      operation.weights, tap_major(parameters[static_cast<std::size_t>(operation.weights)].shape));
  if (operation.bias >= 0) planner.set_parameter_desc(operation.bias, plain_desc({out_}));
  src_buffer_ = planner.value_buffer(operation.src);
  dst_buffer_ = planner.value_buffer(planner.forward_moment());
  if (!direct()) {
    gathered_buffer_ =
        planner.temporary(rows_ * in_ * 4, planner.forward_moment(), "gathered points");
  }
}

void DenseLayer::plan_backward(Planner& planner) {
  diff_dst_buffer_ = planner.incoming().front();
  const auto& specs = planner.network().parameters();
  weights_floats_ = specs[static_cast<std::size_t>(operation_.weights)].count();
  weights_target_.plan(planner, weights_floats_ * 4);
  if (operation_.bias >= 0) bias_target_.plan(planner, out_ * 4);
  if (!direct()) {
    gathered_again_buffer_ =
        planner.temporary(rows_ * in_ * 4, planner.backward_moment(), "gathered points");
  }
  if (first_) return;
  diff_src_buffer_ = planner.contribute(operation_.src);
  diff_src_floats_ = static_cast<std::int64_t>(planner.value_desc(operation_.src).get_size()) / 4;
}

void DenseLayer::bind(const Arena& arena) {
  src_ = arena.at(src_buffer_);
  dst_ = arena.at(dst_buffer_);
  gathered_forward_ = arena.at(gathered_buffer_);
  gathered_backward_ = arena.at(gathered_again_buffer_);
  diff_dst_ = arena.at(diff_dst_buffer_);
  diff_src_ = arena.at(diff_src_buffer_);
  weights_ = arena.parameters.weights(operation_.weights);
  weights_target_.bind(arena, operation_.weights, kernels_);
  if (operation_.bias < 0) return;
  bias_ = arena.parameters.weights(operation_.bias);
  bias_target_.bind(arena, operation_.bias, kernels_);
}

Matrix DenseLayer::source(std::int64_t point) {
  if (direct()) return {src_, src_layout_.sample_stride};
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < src_layout_.blocks; ++block) {
      const std::int64_t first = block * src_layout_.width;
      const std::int64_t count = std::min<std::int64_t>(src_layout_.width, in_ - first);
      std::memcpy(gathered_ + sample * in_ + first,
                  src_ + src_layout_.offset(sample, block) + point * src_layout_.row_stride,
                  static_cast<std::size_t>(count) * sizeof(float));
    }
  }
  return {gathered_, in_};
}

void DenseLayer::scatter(std::int64_t point, const float* rows) {
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < src_layout_.blocks; ++block) {
      const std::int64_t first = block * src_layout_.width;
      const std::int64_t count = std::min<std::int64_t>(src_layout_.width, in_ - first);
      std::memcpy(diff_src_ + src_layout_.offset(sample, block) + point * src_layout_.row_stride,
                  rows + sample * in_ + first, static_cast<std::size_t>(count) * sizeof(float));
    }
  }
}

void DenseLayer::forward(Mode /*mode*/) {
  gathered_ = gathered_forward_;
  bool add = false;
  for (const Tap& tap : taps_) {
    const float* weights = weights_ + tap.kernel_index * out_ * in_;
    multiply(rows_, out_, in_, source(tap.point), {weights, in_, 'T'}, dst_, out_, add);
    add = true;
  }
  if (bias_ == nullptr) return;
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    kernels_.accumulate(dst_ + sample * out_, bias_, out_);
  }
}

void DenseLayer::backward_bias(bool accumulate) {
  std::vector<double> sums(static_cast<std::size_t>(out_), 0.0);
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t o = 0; o < out_; ++o) {
      sums[static_cast<std::size_t>(o)] += static_cast<double>(diff_dst_[sample * out_ + o]);
    }
  }
  float* const bias = bias_target_.begin(accumulate);
  std::transform(sums.begin(), sums.end(), bias,
                 [](double sum) { return static_cast<float>(sum); });
  bias_target_.finish(accumulate);
}

void DenseLayer::backward_data() {
  if (!direct() || src_layout_.padded) {
    std::memset(diff_src_, 0, static_cast<std::size_t>(diff_src_floats_) * sizeof(float));
  }
  for (const Tap& tap : taps_) {
    const float* weights = weights_ + tap.kernel_index * out_ * in_;
    float* const rows = direct() ? diff_src_ : gathered_;
    const std::int64_t stride = direct() ? src_layout_.sample_stride : in_;
    multiply(rows_, in_, out_, {diff_dst_, out_}, {weights, in_}, rows, stride, false);
    if (!direct()) scatter(tap.point, rows);
  }
}

void DenseLayer::backward(bool accumulate) {
  gathered_ = gathered_backward_;
  float* const gradient = weights_target_.begin(accumulate);
  if (accumulate) {  // taps that meet padding alone have no gradient; in place they are zero for
                     // good
    std::memset(gradient, 0, static_cast<std::size_t>(weights_floats_) * sizeof(float));
  }
  for (const Tap& tap : taps_) {
    const Matrix src = source(tap.point);
    multiply(out_, in_, batch_, {diff_dst_, out_, 'T'}, src,
             gradient + tap.kernel_index * out_ * in_, in_, false);
  }
  weights_target_.finish(accumulate);
  if (bias_ != nullptr) backward_bias(accumulate);
  if (diff_src_ != nullptr) backward_data();
}

}  // namespace

std::unique_ptr<Layer> make_dense(const Operation& operation, Planner& planner) {
  return std::make_unique<DenseLayer>(operation, planner);
}

}  // namespace nn
