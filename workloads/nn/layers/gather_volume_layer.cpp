// Whole volumes assembled from their parts on all ranks that share samples; each of these ranks
// computes what follows.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runner/base/error.h"
#include "workloads/nn/layers/make_layers.h"
#include "workloads/nn/volume_exchange.h"

namespace nn {
namespace {

class GatherVolumeLayer final : public Layer {
 public:
  GatherVolumeLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        part_(planner.network().shape(operation.src)),
        batch_(planner.batch()),
        value_bytes_(static_cast<std::int64_t>(
            dnnl::memory::data_type_size(type_of(planner.value_desc(operation.src))))),
        margin_(operation.dst.margin) {
    planner.use_value(operation.src, false);
    const dnnl::memory::dims dims = batch_dims(batch_, operation.dst);
    planner.define_value(operation.dst.spatial.empty()
                             ? plain_desc(dims)
                             : channels_last_desc(dims, planner.value_type()));
    parts_ = operation.depth_parts * operation.height_parts;
    gathered_buffer_ =
        planner.temporary(parts_ * part_bytes(), planner.forward_moment(), "gathered parts");
    src_place_ = planner.value_place(operation.src);
    dst_place_ = planner.value_place(planner.made());
  }
  void plan_backward(Planner& planner) override {
    diff_dst_buffer_ = planner.incoming().front();
    diff_src_buffer_ = planner.contribute(
        operation_.src, batch_ * part_.size() * static_cast<std::int64_t>(sizeof(float)));
  }
  void bind(const Arena& arena) override {
    exchange_ = arena.volumes;
    src_ = arena.at<std::byte>(src_place_.buffer);
    dst_ = arena.at<std::byte>(dst_place_.buffer);
    gathered_ = arena.at<std::byte>(gathered_buffer_);
    diff_dst_ = arena.at(diff_dst_buffer_);
    diff_src_ = arena.at(diff_src_buffer_);
    const bool is_arranged = exchange_ != nullptr &&
                             exchange_->part().depth_parts == operation_.depth_parts &&
                             exchange_->part().height_parts == operation_.height_parts;
    if (!is_arranged) {
      throw base::Error(base::ExitCode::kInternal,
                        fmt::format("{}: expected ranks with {} x {} parts", operation_.name,
                                    operation_.depth_parts, operation_.height_parts));
    }
  }
  void forward(Mode /*mode*/, const Samples& /*samples*/) override {
    const auto bytes = static_cast<std::size_t>(part_bytes());
    exchange_->gather({src_, bytes}, {gathered_, bytes * static_cast<std::size_t>(parts_)});
    std::memset(dst_, 0, static_cast<std::size_t>(batch_ * operation_.dst.size() * value_bytes_));
    for (std::int64_t part = 0; part < parts_; ++part) {
      for_each_row(part, [&](std::int64_t in_part, std::int64_t in_whole) {
        std::memcpy(dst_ + in_whole * value_bytes_,
                    gathered_ + part * part_bytes() + in_part * value_bytes_,
                    static_cast<std::size_t>(row_values() * value_bytes_));
      });
    }
  }
  /// All ranks compute the same from here on, each from its share of the loss, so the gradient of
  /// the whole loss is this rank's times the number of ranks.
  void backward(bool /*accumulate*/, const Samples& /*samples*/) override {
    const auto ranks = static_cast<float>(parts_);
    for_each_row(exchange_->part().number(), [&](std::int64_t in_part, std::int64_t in_whole) {
      for (std::int64_t i = 0; i < row_values(); ++i) {
        diff_src_[in_part + i] = ranks * diff_dst_[in_whole + i];
      }
    });
  }

 private:
  std::int64_t part_bytes() const { return batch_ * part_.size() * value_bytes_; }
  std::int64_t row_values() const { return part_.spatial[2] * part_.channels; }
  /// Calls use(offset in the part, offset in the whole) for each row of `part`.
  template <class Use>
  void for_each_row(std::int64_t part, const Use& use) const {
    const std::int64_t depth = part_.spatial[0], height = part_.spatial[1];
    const std::int64_t first_plane = part / operation_.height_parts * depth + margin_;
    const std::int64_t first_row = part % operation_.height_parts * height + margin_;
    const std::int64_t whole_rows = height * operation_.height_parts + 2 * margin_;
    const std::int64_t whole_row = (part_.spatial[2] + 2 * margin_) * part_.channels;
    for (std::int64_t sample = 0; sample < batch_; ++sample) {
      for (std::int64_t plane = 0; plane < depth; ++plane) {
        for (std::int64_t row = 0; row < height; ++row) {
          use(((sample * depth + plane) * height + row) * row_values(),
              sample * operation_.dst.size() +
                  ((first_plane + plane) * whole_rows + first_row + row) * whole_row +
                  margin_ * part_.channels);
        }
      }
    }
  }

  const Operation operation_;
  const SampleShape part_;
  const std::int64_t batch_, value_bytes_, margin_;
  std::int64_t parts_ = 1;
  ValuePlace src_place_, dst_place_;
  BufferId gathered_buffer_ = -1, diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  VolumeExchange* exchange_ = nullptr;
  const std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
  std::byte* gathered_ = nullptr;
  const float* diff_dst_ = nullptr;
  float* diff_src_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_gather_volume(const Operation& operation, Planner& planner) {
  return std::make_unique<GatherVolumeLayer>(operation, planner);
}

}  // namespace nn
