// Concatenation of values along the channel axis, in any layouts.
#include <algorithm>
#include <cstring>
#include <vector>

#include "workloads/kernels/stores.h"
#include "workloads/nn/layers/make_layers.h"

namespace nn {
namespace {

/// Copies all channels of a sample from one layout into channels [first, ...) of another, or back.
template <class T>
class ChannelCopy {
 public:
  ChannelCopy(const ChannelLayout& part, const ChannelLayout& whole, std::int64_t first)
      : part_(part), whole_(whole), first_(first) {}

  std::int64_t first() const { return first_; }
  void into_whole(const T* part, T* whole, std::int64_t block, std::int64_t piece) const {
    for_each_run(block, piece, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
      std::memcpy(whole + to, part + from, static_cast<std::size_t>(count) * sizeof(T));
    });
  }
  /// Also zeroes the channels that pad the part.
  void out_of_whole(const T* whole, T* part, std::int64_t block, std::int64_t piece) const {
    if (piece == 0) clear_behind(part_, part, block);
    for_each_run(block, piece, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
      std::memcpy(part + to, whole + from, static_cast<std::size_t>(count) * sizeof(T));
    });
  }

  /// Zeroes the channels that pad a layout's last block.
  static void clear_behind(const ChannelLayout& layout, T* sample, std::int64_t block) {
    const std::int64_t channels = layout.channels - block * layout.width;
    if (!layout.padded || channels >= layout.width) return;
    T* const first = sample + layout.offset(0, block);
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      std::fill(first + row * layout.row_stride + channels,
                first + row * layout.row_stride + layout.width, T{});
    }
  }

 private:
  /// Calls run(offset in the part, offset in the whole, elements) for the block's channels in a
  /// piece of its rows.
  template <class Run>
  void for_each_run(std::int64_t block, std::int64_t piece, const Run& run) const {
    const Column column = part_.column(block, piece);
    const std::int64_t first_row = part_.first_row(piece);
    const std::int64_t channel = block * part_.width;
    const std::int64_t behind = first_ + channel;
    const bool is_aligned = whole_.width == part_.width && behind % whole_.width == 0;
    const std::int64_t from = part_.offset(0, block) + first_row * column.stride;
    const std::int64_t row_to = first_row * whole_.row_stride;
    if (is_aligned && column.stride == column.width && whole_.row_stride == column.stride) {
      return run(from, whole_.offset(0, behind / whole_.width) + row_to,
                 column.rows * column.width);
    }
    const std::int64_t channels = std::min<std::int64_t>(column.width, part_.channels - channel);
    if (part_.is_last() && whole_.is_last()) {
      for (std::int64_t row = 0; row < column.rows; ++row) {
        run(from + row * column.stride, behind + row_to + row * whole_.row_stride, channels);
      }
      return;
    }
    for (std::int64_t lane = 0; lane < channels; ++lane) {
      const std::int64_t to = whole_.offset(0, (behind + lane) / whole_.width) +
                              (behind + lane) % whole_.width + row_to;
      for (std::int64_t row = 0; row < column.rows; ++row) {
        run(from + row * column.stride + lane, to + row * whole_.row_stride, 1);
      }
    }
  }

  const ChannelLayout part_, whole_;
  const std::int64_t first_;
};

template <class T>
class ConcatenationLayer final : public Layer {
 public:
  ConcatenationLayer(const Operation& operation, Planner& planner)
      : layout_(channel_layout(like(planner.value_desc(operation.src), operation.dst))),
        kernels_(planner.kernels()) {
    std::vector<ValueId> values = {operation.src};
    values.insert(values.end(), operation.others.begin(), operation.others.end());
    std::int64_t first = 0;
    for (const ValueId value : values) {
      const ChannelLayout part = planner.row_layout(planner.value_desc(value));
      planner.use_value(value, false);
      parts_.push_back({value, part, {part, layout_, first}, planner.value_place(value)});
      are_last_ = are_last_ && part.is_last();
      first += part.channels;
    }
    planner.define_value(like(planner.value_desc(operation.src), operation.dst));
    place_ = planner.value_place(planner.made());
  }

  void plan_backward(Planner& planner) override {
    diff_buffer_ = planner.incoming().front();
    for (Part& part : parts_) part.diff_buffer = planner.contribute(part.value);
  }

  void bind(const Arena& arena) override {
    dst_ = arena.at<T>(place_.buffer);
    diff_dst_ = arena.at<T>(diff_buffer_);
    for (Part& part : parts_) {
      part.src = arena.at<T>(part.place.buffer);
      part.diff_src = arena.at<T>(part.diff_buffer);
    }
  }

  void forward(Mode /*mode*/, const Samples& samples) override {
    if (passes_caches(samples)) return put_rows_together(samples);
    for (std::int64_t i = 0; i < samples.count; ++i) {
      ChannelCopy<T>::clear_behind(
          layout_, dst_ + layout_.offset(place_.row_of(samples.first + i, samples), 0),
          layout_.blocks - 1);
    }
    for_each_piece(samples, [&](const Part& part, std::int64_t sample, std::int64_t block,
                                std::int64_t piece) {
      part.copy.into_whole(part.src + part.layout.offset(part.place.row_of(sample, samples), 0),
                           dst_ + layout_.offset(place_.row_of(sample, samples), 0), block, piece);
    });
  }

  void backward(bool /*accumulate*/, const Samples& samples) override {
    if (passes_caches(samples)) return take_rows_apart(samples);
    for_each_piece(samples, [&](const Part& part, std::int64_t sample, std::int64_t block,
                                std::int64_t piece) {
      part.copy.out_of_whole(diff_dst_ + layout_.offset(sample, 0),
                             part.diff_src + part.layout.offset(sample, 0), block, piece);
    });
  }

 private:
  struct Part {
    ValueId value;
    ChannelLayout layout;
    ChannelCopy<T> copy;
    ValuePlace place;
    BufferId diff_buffer = -1;
    const T* src = nullptr;
    T* diff_src = nullptr;
  };

  bool passes_caches(const Samples& samples) const {
    const std::int64_t numbers = samples.count * layout_.sample_elements();
    return are_last_ && layout_.is_last() &&
           stores_of<T>(numbers, kernels_.has_tiles()) == Stores::kStreamed;
  }
  /// Rows that are assembled in a cached buffer, and then streamed in whole cache lines.
  static constexpr std::int64_t kRowsAside = 32;
  /// Calls body(sample, first row, rows, memory to assemble them in).
  template <class Body>
  void for_each_rows(const Samples& samples, const Body& body) const {
    const std::int64_t end = samples.first + samples.count;
#pragma omp parallel
    {
      std::vector<T> aside(static_cast<std::size_t>(kRowsAside * layout_.channels));
#pragma omp for collapse(2) schedule(static)
      for (std::int64_t sample = samples.first; sample < end; ++sample) {
        for (std::int64_t row = 0; row < layout_.rows; row += kRowsAside) {
          body(sample, row, std::min(kRowsAside, layout_.rows - row), aside.data());
        }
      }
    }
  }
  void leave(const T* aside, std::int64_t numbers, T* to) const {
    kernels_.stream_copy(aside, numbers * static_cast<std::int64_t>(sizeof(T)), to);
  }
  static void copy_rows(const T* from, std::int64_t from_step, std::int64_t rows,
                        std::int64_t channels, T* to, std::int64_t to_step) {
    const auto bytes = static_cast<std::size_t>(channels) * sizeof(T);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(to + row * to_step, from + row * from_step, bytes);
    }
  }
  void put_rows_together(const Samples& samples) const {
    for_each_rows(samples, [&](std::int64_t sample, std::int64_t row, std::int64_t rows, T* aside) {
      for (const Part& part : parts_) {
        const std::int64_t channels = part.layout.channels;
        const T* const from =
            part.src + row * channels + part.layout.offset(part.place.row_of(sample, samples), 0);
        copy_rows(from, channels, rows, channels, aside + part.copy.first(), layout_.channels);
      }
      leave(aside, rows * layout_.channels,
            dst_ + layout_.offset(place_.row_of(sample, samples), 0) + row * layout_.channels);
    });
  }
  void take_rows_apart(const Samples& samples) const {
    for_each_rows(samples, [&](std::int64_t sample, std::int64_t row, std::int64_t rows, T* aside) {
      const T* const from = diff_dst_ + layout_.offset(sample, 0) + row * layout_.channels;
      for (const Part& part : parts_) {
        const std::int64_t channels = part.layout.channels;
        copy_rows(from + part.copy.first(), layout_.channels, rows, channels, aside, channels);
        leave(aside, rows * channels,
              part.diff_src + part.layout.offset(sample, 0) + row * channels);
      }
    });
  }
  template <class Body>
  void for_each_piece(const Samples& samples, const Body& body) const {
    const std::int64_t end = samples.first + samples.count;
    for (const Part& part : parts_) {
#pragma omp parallel for collapse(3) schedule(static)
      for (std::int64_t sample = samples.first; sample < end; ++sample) {
        for (std::int64_t block = 0; block < part.layout.blocks; ++block) {
          for (std::int64_t piece = 0; piece < part.layout.pieces; ++piece) {
            body(part, sample, block, piece);
          }
        }
      }
    }
  }

  const ChannelLayout layout_;
  const Kernels& kernels_;
  std::vector<Part> parts_;
  bool are_last_ = true;
  ValuePlace place_;
  BufferId diff_buffer_ = -1;
  T* dst_ = nullptr;
  const T* diff_dst_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_concatenation(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == dnnl::memory::data_type::bf16) {
    return std::make_unique<ConcatenationLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<ConcatenationLayer<float>>(operation, planner);
}

}  // namespace nn
