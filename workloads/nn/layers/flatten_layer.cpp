// An image as a vector, ordered by channel, row and column, whatever order its memory has.
#include <algorithm>

#include "workloads/nn/layers/make_layers.h"

namespace nn {
namespace {

template <class T>
class FlattenLayer final : public Layer {
 public:
  FlattenLayer(const Operation& operation, Planner& planner)
      : operation_(operation), layout_(channel_layout(planner.value_desc(operation.src))) {
    planner.use_value(operation.src, false);
    planner.define_value(plain_desc({planner.batch(), operation.dst.channels},
                                    type_of(planner.value_desc(operation.src))));
    src_place_ = planner.value_place(operation.src);
    dst_place_ = planner.value_place(planner.made());
  }

  void plan_backward(Planner& planner) override {
    diff_dst_buffer_ = planner.incoming().front();
    diff_src_buffer_ = planner.contribute(operation_.src);
  }

  void bind(const Arena& arena) override {
    src_ = arena.at<T>(src_place_.buffer);
    dst_ = arena.at<T>(dst_place_.buffer);
    diff_dst_ = arena.at<T>(diff_dst_buffer_);
    diff_src_ = arena.at<T>(diff_src_buffer_);
  }

  void forward(Mode /*mode*/, const Samples& samples) override {
    for_each_pixel(samples, [&](std::int64_t sample, std::int64_t offset, std::int64_t element) {
      if (element < 0) return;
      dst_[dst_place_.row_of(sample, samples) * elements() + element] =
          src_[layout_.offset(src_place_.row_of(sample, samples), 0) + offset];
    });
  }

  void backward(bool /*accumulate*/, const Samples& samples) override {
    for_each_pixel(samples, [&](std::int64_t sample, std::int64_t offset, std::int64_t element) {
      diff_src_[layout_.offset(sample, 0) + offset] =
          element < 0 ? T{} : diff_dst_[sample * elements() + element];
    });
  }

 private:
  std::int64_t elements() const { return operation_.dst.channels; }
  /// Calls body(sample, offset within the image, element of the vector) for each channel of each
  /// pixel, on all threads; the element is -1 for channels that pad a block.
  template <class Body>
  void for_each_pixel(const Samples& samples, const Body& body) const {
    const std::int64_t end = samples.first + samples.count;
    const std::int64_t stored = layout_.padded ? layout_.padded_channels() : layout_.channels;
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t sample = samples.first; sample < end; ++sample) {
      for (std::int64_t block = 0; block < layout_.blocks; ++block) {
        const std::int64_t first = block * layout_.width;
        const std::int64_t lanes = std::min<std::int64_t>(layout_.width, stored - first);
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          const std::int64_t channel = first + lane;
          for (std::int64_t row = 0; row < layout_.rows; ++row) {
            body(sample, layout_.offset(0, block) + row * layout_.row_stride + lane,
                 channel < layout_.channels ? channel * layout_.rows + row : -1);
          }
        }
      }
    }
  }

  const Operation operation_;
  const ChannelLayout layout_;
  ValuePlace src_place_, dst_place_;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  const T* src_ = nullptr;
  T* dst_ = nullptr;
  const T* diff_dst_ = nullptr;
  T* diff_src_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_flatten(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == dnnl::memory::data_type::bf16) {
    return std::make_unique<FlattenLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<FlattenLayer<float>>(operation, planner);
}

}  // namespace nn
