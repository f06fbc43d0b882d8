// Matrix-product layers: fully connected, and convolutions that give few points per channel.
// Hides that a kernel tap then meets few source points, so that the convolution is one product per
// meeting. Small images end in such layers, where the library's convolutions run at a tenth to a
// half of its matrix products.
#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "runner/base/error.h"
#include "workloads/nn/products/make_layers.h"

namespace nn {
namespace {

using Matrix = VectorGemm::Matrix<const float>;

/// Calls work(first, count) for parts of [0, count), multiples of `grain` but for the last, one per
/// thread; on one thread where all products together are not worth the others.
template <class Work>
void share(std::int64_t count, std::int64_t grain, std::int64_t products, int threads,
           const Work& work) {
  constexpr std::int64_t kWorthAThread = 1 << 15;
  const std::int64_t grains = (count + grain - 1) / grain;
  const std::int64_t parts =
      std::clamp<std::int64_t>(std::min(products / kWorthAThread, grains), 1, threads);
  const auto team = static_cast<int>(parts);
#pragma omp parallel for schedule(static) num_threads(team)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = grains * part / parts * grain;
    const std::int64_t end = std::min(count, grains * (part + 1) / parts * grain);
    work(first, end - first);
  }
}

/// Outputs, or channels, that threads get together.
constexpr std::int64_t kGrain = 4, kColumnGrain = 64;

/// A source point, the destination point that it adds to, and the kernel tap between them.
struct Meeting {
  std::int64_t src_point = 0, dst_point = 0, tap = 0;
};

/// The meetings along one axis, `extent` source points long.
std::vector<Meeting> meetings_along(const Operation& operation, std::size_t axis,
                                    std::int64_t extent) {
  std::vector<Meeting> meetings;
  for (std::int64_t to = 0; to < operation.dst.spatial[axis]; ++to) {
    for (std::int64_t tap = 0; tap < operation.kernel[axis]; ++tap) {
      const std::int64_t at = to * operation.stride[axis] - operation.padding.begin[axis] +
                              tap * operation.dilation[axis];
      if (at >= 0 && at < extent) meetings.push_back({at, to, tap});
    }
  }
  return meetings;
}

std::vector<Meeting> meetings_of(const Operation& operation, const SampleShape& src) {
  std::vector<Meeting> meetings = {{0, 0, 0}};
  for (std::size_t axis = 0; axis < operation.kernel.size(); ++axis) {
    const std::vector<Meeting> along = meetings_along(operation, axis, src.spatial[axis]);
    std::vector<Meeting> extended;
    for (const Meeting& outer : meetings) {
      for (const Meeting& inner : along) {
        extended.push_back({outer.src_point * src.spatial[axis] + inner.src_point,
                            outer.dst_point * operation.dst.spatial[axis] + inner.dst_point,
                            outer.tap * operation.kernel[axis] + inner.tap});
      }
    }
    meetings = std::move(extended);
  }
  return meetings;
}

/// The meetings in the order of one of their members; within equal ones the order is kept.
std::vector<Meeting> ordered(std::vector<Meeting> meetings, std::int64_t Meeting::*by) {
  std::stable_sort(meetings.begin(), meetings.end(),
                   [by](const Meeting& a, const Meeting& b) { return a.*by < b.*by; });
  return meetings;
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

/// Weights [in, out] in memory as [out][in].
dnnl::memory::desc outputs_major(const std::vector<std::int64_t>& shape) {
  return {shape, dnnl::memory::data_type::f32, dnnl::memory::dims{1, shape[0]}};
}

class DenseLayer final : public Layer {
 public:
  DenseLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;
  std::string implementation() const override { return "dense"; }

 private:
  /// Whether each source point is a matrix [samples, in] where it stands.
  bool direct() const { return src_layout_.block_stride == src_layout_.width; }
  /// Whether one product takes all points: a kernel of one tap on neighbouring rows.
  bool takes_all_points() const;
  std::int64_t gathered_bytes() const;
  Matrix source(std::int64_t point) const;
  Matrix incoming(const Meeting& meeting) const {
    return {diff_dst_ + meeting.dst_point * out_, dst_stride_};
  }
  std::int64_t products() const { return rows_ * in_ * out_; }
  const float* tap(const Meeting& meeting) const { return weights_ + meeting.tap * out_ * in_; }
  /// Copies the points of `src`, as matrices [samples, in], one after the other.
  void gather(const float* src, float* to);
  void scatter(std::int64_t point, const float* rows);
  void backward_weights(bool accumulate);
  void backward_bias(bool accumulate);
  void backward_data();

  const Operation operation_;
  const Kernels& kernels_;
  const int threads_;
  std::int64_t batch_, points_, in_, out_;
  ChannelLayout src_layout_;
  std::vector<Meeting> by_dst_, by_src_, by_tap_;
  /// Of each product: rows, and their distances.
  std::int64_t rows_, src_stride_, dst_stride_;
  bool first_, meets_all_;
  GradientTarget weights_target_, bias_target_;
  BufferId src_buffer_ = -1, src_again_buffer_ = -1, dst_buffer_ = -1, gathered_buffer_ = -1,
           gathered_again_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  std::int64_t diff_src_floats_ = 0, weights_floats_ = 0;
  const float* src_forward_ = nullptr;
  const float* src_backward_ = nullptr;
  const float* src_ = nullptr;  ///< of the pass at hand
  float* dst_ = nullptr;
  float* gathered_forward_ = nullptr;
  float* gathered_backward_ = nullptr;
  const float* gathered_ = nullptr;
  const float* diff_dst_ = nullptr;
  float* diff_src_ = nullptr;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
};

DenseLayer::DenseLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels()),
      threads_(planner.threads()),
      batch_(planner.batch()),
      points_(operation.dst.points()),
      in_(planner.network().shape(operation.src).channels),
      out_(operation.dst.channels),
      src_layout_(channel_layout(planner.value_desc(operation.src))),
      by_dst_(ordered(meetings_of(operation, planner.network().shape(operation.src)),
                      &Meeting::dst_point)),
      rows_(batch_),
      src_stride_(direct() ? src_layout_.sample_stride : in_),
      dst_stride_(points_ * out_),
      first_(!planner.network().has_gradient(operation.src)) {
  if (direct() && src_layout_.sample_stride < in_) {
    throw base::ShapeError(operation.name + ": source samples overlap");
  }
  by_src_ = ordered(by_dst_, &Meeting::src_point);
  by_tap_ = ordered(by_dst_, &Meeting::tap);
  std::set<std::int64_t> met;
  for (const Meeting& meeting : by_dst_) met.insert(meeting.src_point);
  meets_all_ = static_cast<std::int64_t>(met.size()) == src_layout_.rows;
  if (takes_all_points()) {
    by_dst_ = by_src_ = by_tap_ = {{0, 0, 0}};
    rows_ *= points_;
    src_stride_ = src_layout_.row_stride;
    dst_stride_ = out_;
  }
  planner.use_value(operation.src, true);
  const dnnl::memory::dims dims = batch_dims(batch_, operation.dst);
  // Each point's channels of all samples are a plain matrix.
  planner.define_value(points_ == 1 ? plain_desc(dims) : channels_last_desc(dims));
  const auto& parameters = planner.network().parameters();
  const auto& shape = parameters[static_cast<std::size_t>(operation.weights)].shape;
  planner.set_parameter_desc(operation.weights,
                             operation.inputs_first ? outputs_major(shape) : tap_major(shape));
  if (operation.bias >= 0) planner.set_parameter_desc(operation.bias, plain_desc({out_}));
  src_buffer_ = planner.value_place(operation.src).buffer;
  src_again_buffer_ = planner.value_again(operation.src).buffer;
  dst_buffer_ = planner.value_place(planner.made()).buffer;
  if (!direct()) {
    gathered_buffer_ =
        planner.temporary(gathered_bytes(), planner.forward_moment(), "gathered points");
  }
}

bool DenseLayer::takes_all_points() const {
  const bool meets_itself = std::all_of(by_dst_.begin(), by_dst_.end(), [](const Meeting& meeting) {
    return meeting.tap == 0 && meeting.src_point == meeting.dst_point;
  });
  return meets_itself && points_ == src_layout_.rows && direct() &&
         src_layout_.sample_stride == points_ * src_layout_.row_stride;
}

std::int64_t DenseLayer::gathered_bytes() const {
  return src_layout_.rows * batch_ * in_ * static_cast<std::int64_t>(sizeof(float));
}

void DenseLayer::plan_backward(Planner& planner) {
  diff_dst_buffer_ = planner.incoming().front();
  const auto& specs = planner.network().parameters();
  weights_floats_ = specs[static_cast<std::size_t>(operation_.weights)].count();
  weights_target_.plan(planner, weights_floats_ * 4);
  if (operation_.bias >= 0) bias_target_.plan(planner, out_ * 4);
  if (!direct()) {
    gathered_again_buffer_ =
        planner.temporary(gathered_bytes(), planner.backward_moment(), "gathered points");
  }
  if (first_) return;
  diff_src_buffer_ = planner.contribute(operation_.src);
  diff_src_floats_ = static_cast<std::int64_t>(planner.value_desc(operation_.src).get_size()) / 4;
}

void DenseLayer::bind(const Arena& arena) {
  src_forward_ = arena.at(src_buffer_);
  src_backward_ = arena.at(src_again_buffer_);
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

Matrix DenseLayer::source(std::int64_t point) const {
  if (direct()) return {src_ + point * src_layout_.row_stride, src_stride_};
  return {gathered_ + point * batch_ * in_, src_stride_};
}

void DenseLayer::gather(const float* src, float* to) {
  src_ = src;
  gathered_ = to;
  if (direct()) return;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t point = 0; point < src_layout_.rows; ++point) {
    for (std::int64_t sample = 0; sample < batch_; ++sample) {
      float* const row = to + (point * batch_ + sample) * in_;
      for (std::int64_t block = 0; block < src_layout_.blocks; ++block) {
        const std::int64_t first = block * src_layout_.width;
        const std::int64_t count = std::min<std::int64_t>(src_layout_.width, in_ - first);
        std::memcpy(row + first,
                    src_ + src_layout_.offset(sample, block) + point * src_layout_.row_stride,
                    static_cast<std::size_t>(count) * sizeof(float));
      }
    }
  }
}

void DenseLayer::scatter(std::int64_t point, const float* rows) {
#pragma omp parallel for schedule(static)
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < src_layout_.blocks; ++block) {
      const std::int64_t first = block * src_layout_.width;
      const std::int64_t count = std::min<std::int64_t>(src_layout_.width, in_ - first);
      std::memcpy(diff_src_ + src_layout_.offset(sample, block) + point * src_layout_.row_stride,
                  rows + sample * in_ + first, static_cast<std::size_t>(count) * sizeof(float));
    }
  }
}

/// All samples at once, as is_dense() promised the pass plan.
void DenseLayer::forward(Mode /*mode*/, const Samples& /*samples*/) {
  gather(src_forward_, gathered_forward_);
  std::int64_t begun = -1;
  for (const Meeting& meeting : by_dst_) {
    const bool add = std::exchange(begun, meeting.dst_point) == meeting.dst_point;
    const Matrix src = source(meeting.src_point);
    float* const dst = dst_ + meeting.dst_point * out_;
    share(out_, kGrain, products(), threads_, [&](std::int64_t first, std::int64_t count) {
      kernels_.vector_gemm.dots({rows_, count, in_}, src, {tap(meeting) + first * in_, in_},
                                {dst + first, dst_stride_}, add);
    });
  }
  if (bias_ == nullptr) return;
  for (std::int64_t row = 0; row < batch_ * points_; ++row) {
    kernels_.f32.accumulate(dst_ + row * out_, bias_, out_);
  }
}

void DenseLayer::backward_bias(bool accumulate) {
  std::vector<double> sums(static_cast<std::size_t>(out_), 0.0);
  for (std::int64_t row = 0; row < batch_ * points_; ++row) {
    for (std::int64_t o = 0; o < out_; ++o) {
      sums[static_cast<std::size_t>(o)] += static_cast<double>(diff_dst_[row * out_ + o]);
    }
  }
  float* const bias = bias_target_.begin(accumulate);
  std::transform(sums.begin(), sums.end(), bias,
                 [](double sum) { return static_cast<float>(sum); });
  bias_target_.finish(accumulate);
}

void DenseLayer::backward_weights(bool accumulate) {
  float* const gradient = weights_target_.begin(accumulate);
  if (accumulate) {
    // Taps that meet padding alone have no gradient; in place they are zero for good.
    std::memset(gradient, 0, static_cast<std::size_t>(weights_floats_) * sizeof(float));
  }
  std::int64_t begun = -1;
  for (const Meeting& meeting : by_tap_) {
    const bool add = std::exchange(begun, meeting.tap) == meeting.tap;
    const Matrix src = source(meeting.src_point), diff_dst = incoming(meeting);
    float* const to = gradient + meeting.tap * out_ * in_;
    share(out_, kGrain, products(), threads_, [&](std::int64_t first, std::int64_t count) {
      kernels_.vector_gemm.combine({count, in_, rows_}, {diff_dst.data + first, 1}, diff_dst.stride,
                                   src, {to + first * in_, in_}, add);
    });
  }
  weights_target_.finish(accumulate);
}

void DenseLayer::backward_data() {
  if (!meets_all_ || src_layout_.padded) {
    std::memset(diff_src_, 0, static_cast<std::size_t>(diff_src_floats_) * sizeof(float));
  }
  std::int64_t begun = -1;
  for (std::size_t i = 0; i < by_src_.size(); ++i) {
    const std::int64_t point = by_src_[i].src_point;
    const bool add = std::exchange(begun, point) == point;
    // What was gathered here has been used.
    float* const rows = direct() ? diff_src_ + point * src_layout_.row_stride : gathered_backward_;
    const Matrix diff_dst = incoming(by_src_[i]);
    const float* const weights = tap(by_src_[i]);
    share(in_, kColumnGrain, products(), threads_, [&](std::int64_t first, std::int64_t count) {
      kernels_.vector_gemm.combine({rows_, count, out_}, diff_dst, 1, {weights + first, in_},
                                   {rows + first, src_stride_}, add);
    });
    const bool is_last = i + 1 == by_src_.size() || by_src_[i + 1].src_point != point;
    if (!direct() && is_last) scatter(point, rows);
  }
}

void DenseLayer::backward(bool accumulate, const Samples& /*samples*/) {
  gather(src_backward_, gathered_backward_);
  backward_weights(accumulate);
  if (bias_ != nullptr) backward_bias(accumulate);
  if (diff_src_ != nullptr) backward_data();
}

}  // namespace

std::unique_ptr<Layer> make_dense(const Operation& operation, Planner& planner) {
  return std::make_unique<DenseLayer>(operation, planner);
}

}  // namespace nn
