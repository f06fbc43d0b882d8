// Means of each channel over an image, and images filled with one value per channel.
// Hides layouts, and the pieces of rows that threads share.
#pragma once

#include <cstdint>

#include "workloads/nn/layer.h"

namespace nn {

template <class T>
class ImageMeans {
 public:
  /// `images`: their layout.
  ImageMeans(Planner& planner, const dnnl::memory::desc& images)
      : kernels_(planner.kernels().on<T>()), layout_(planner.row_layout(images)) {}
  /// Plans the memory of find(), for up to `samples` samples at a time.
  void plan(Planner& planner, std::int64_t samples, int moment) {
    means_buffer_ = planner.temporary(samples * piece_means() * std::int64_t{sizeof(float)}, moment,
                                      "means of pieces");
  }
  void bind(const Arena& arena) { means_ = arena.at(means_buffer_); }
  const ChannelLayout& layout() const { return layout_; }

  /// Calls put(sample, channel, mean over the image) for every channel of these samples, one after
  /// the other. The same bits on any number of threads.
  template <class Put>
  void find(const T* images, const ValuePlace& place, const Samples& samples,
            const Put& put) const {
    for_each_column(samples, [&](std::int64_t sample, std::int64_t block, std::int64_t piece) {
      kernels_.row_mean(images + at(place.row_of(sample, samples), block, piece),
                        layout_.column(block, piece),
                        means_of(sample - samples.first, piece) + block * layout_.width);
    });
    for (std::int64_t i = 0; i < samples.count; ++i) {
      for (std::int64_t channel = 0; channel < layout_.channels; ++channel) {
        double sum = 0.0;
        for (std::int64_t piece = 0; piece < layout_.pieces; ++piece) {
          const auto rows = static_cast<double>(layout_.column(0, piece).rows);
          sum += static_cast<double>(means_of(i, piece)[channel]) * rows;
        }
        put(samples.first + i, channel,
            static_cast<float>(sum / static_cast<double>(layout_.rows)));
      }
    }
  }

  /// Sets every pixel of these samples' images to value(sample, channel).
  template <class Value>
  void fill(T* images, const ValuePlace& place, const Samples& samples, const Value& value) const {
    for_each_column(samples, [&](std::int64_t sample, std::int64_t block, std::int64_t piece) {
      const Column column = layout_.column(block, piece);
      float values[Column::kMostChannels];
      for (int lane = 0; lane < column.width; ++lane) {
        const std::int64_t channel = block * layout_.width + lane;
        values[lane] = channel < layout_.channels ? value(sample, channel) : 0.0F;
      }
      kernels_.fill_rows(images + at(place.row_of(sample, samples), block, piece), column, values);
    });
  }

 private:
  /// Calls body(sample, block, piece) for all blocks and pieces, on all threads.
  template <class Body>
  void for_each_column(const Samples& samples, const Body& body) const {
    const std::int64_t end = samples.first + samples.count;
#pragma omp parallel for collapse(3) schedule(static)
    for (std::int64_t sample = samples.first; sample < end; ++sample) {
      for (std::int64_t piece = 0; piece < layout_.pieces; ++piece) {
        for (std::int64_t block = 0; block < layout_.blocks; ++block) body(sample, block, piece);
      }
    }
  }
  std::int64_t at(std::int64_t row, std::int64_t block, std::int64_t piece) const {
    return layout_.offset(row, block) + layout_.first_row(piece) * layout_.row_stride;
  }
  /// Means of a sample's pieces.
  std::int64_t piece_means() const { return layout_.pieces * layout_.padded_channels(); }
  float* means_of(std::int64_t i, std::int64_t piece) const {
    return means_ + i * piece_means() + piece * layout_.padded_channels();
  }

  const ColumnKernels<T>& kernels_;
  ChannelLayout layout_;
  BufferId means_buffer_ = -1;
  float* means_ = nullptr;  ///< [samples of a slice][pieces][padded channels]
};

}  // namespace nn
