// What the layers share of oneDNN: engine and stream, layouts as columns of channels, errors that
// name shapes. Hides the library's descriptor structs, which change between its major versions.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>
#include <string>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/network.h"
#include "workloads/nn/precision.h"
#include "workloads/optimizer/blocked_layout.h"

namespace nn {

/// oneDNN's CPU engine and its one stream. oneDNN uses the calling thread's OpenMP team: one Device
/// per process, used from one thread.
struct Device {
  /// The first Device keeps oneDNN from AMX tiles where this process may not use them.
  Device();
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  /// Whether oneDNN multiplies bf16 elements in AMX tiles: then it wants channels last.
  bool multiplies_in_tiles = false;
  /// The products of bf16 operands that are faster on this CPU; set by the first measurement.
  std::optional<Products> faster;
};

/// An activation's memory as columns of channels, up to 16 of them, or wide ones: element (sample,
/// block, row, channel) is at sample * sample_stride + block * block_stride + row * row_stride +
/// channel. A row is a pixel or voxel.
struct ChannelLayout {
  std::int64_t channels = 0;
  std::int64_t blocks = 0;
  int width = 0;  ///< channels of a full block
  std::int64_t rows = 0, row_stride = 0, block_stride = 0, sample_stride = 0;
  bool padded = false;      ///< the last block is padded with zeros
  std::int64_t pieces = 1;  ///< that rows are cut into, to share them among threads

  /// Whether all channels of a pixel are contiguous.
  bool is_last() const { return !padded && width > 1 && (blocks == 1 || block_stride == width); }
  /// If channels are last, the same memory in as few columns as kernels support, whose rows are cut
  /// into pieces, depending on the number of rows alone. Other layouts are returned as they are.
  ChannelLayout in_wide_columns() const;
  Column column(std::int64_t block) const;
  Column column(std::int64_t block, std::int64_t piece) const;
  std::int64_t offset(std::int64_t sample, std::int64_t block) const {
    return sample * sample_stride + block * block_stride;
  }
  /// The first row of a piece, a multiple of 4.
  std::int64_t first_row(std::int64_t piece) const {
    constexpr std::int64_t kGroup = 4;
    return piece == pieces ? rows : rows * piece / pieces / kGroup * kGroup;
  }
  /// Elements of a sample, channels that pad the last block included.
  std::int64_t sample_elements() const { return rows * (padded ? padded_channels() : channels); }
  /// Length that per-channel arrays need so that every column can be read whole.
  std::int64_t padded_channels() const { return blocks * width; }
};

/// Layout of a [N, C, ...] descriptor: channel-blocked, channels-last or plain. Throws ShapeError
/// for any other.
ChannelLayout channel_layout(const dnnl::memory::desc& desc);

/// {batch, channels, spatial...}
dnnl::memory::dims batch_dims(std::int64_t batch, const SampleShape& shape);
/// Plain row-major descriptor.
dnnl::memory::desc plain_desc(const dnnl::memory::dims& dims,
                              dnnl::memory::data_type type = dnnl::memory::data_type::f32);
/// Whether it has floats [samples][channels / 16, rounded up][rows][columns][16] of images.
bool is_blocked_floats(const dnnl::memory::desc& desc);
/// Weights of a convolution on one, two or three axes: [out / 16][in / 16][kernel...][16 of in][16
/// of out].
dnnl::memory::desc tiled_weights_desc(const dnnl::memory::dims& dims);
/// Channels last: all channels of a pixel are contiguous.
dnnl::memory::desc channels_last_desc(const dnnl::memory::dims& dims,
                                      dnnl::memory::data_type type = dnnl::memory::data_type::f32);
/// Whether it is channels last, of bf16.
bool is_channels_last_bf16(const dnnl::memory::desc& desc);
/// Descriptor whose layout the library may choose.
dnnl::memory::desc any_desc(const dnnl::memory::dims& dims,
                            dnnl::memory::data_type type = dnnl::memory::data_type::f32);
/// A layout of the same kind for as many samples of another shape: the same block of channels,
/// channels last, or plain.
dnnl::memory::desc like(const dnnl::memory::desc& desc, const SampleShape& shape);
/// The same layout with elements of another type.
dnnl::memory::desc retyped(const dnnl::memory::desc& desc, dnnl::memory::data_type type);
constexpr dnnl::memory::data_type data_type_of(Precision precision) {
  return precision == Precision::kBf16 ? dnnl::memory::data_type::bf16
                                       : dnnl::memory::data_type::f32;
}

/// The layout as blocks and strides; nothing for a layout that only oneDNN knows.
std::optional<BlockedLayout> layout_of(const dnnl::memory::desc& desc);
dnnl::memory::desc desc_of(const BlockedLayout& layout);
/// `desc` for another number of samples. Throws ShapeError for a layout that mixes samples.
dnnl::memory::desc with_samples(const dnnl::memory::desc& desc, std::int64_t samples);
/// Bytes from one sample to the next.
std::int64_t sample_bytes(const dnnl::memory::desc& desc);

/// Attributes for scratchpads from the caller: they share the plan's memory.
dnnl::primitive_attr user_scratchpad();

/// Copies a tensor from one layout and type to another; returns when the copy is complete.
void reorder(Device& device, const dnnl::memory::desc& from, const void* src,
             const dnnl::memory::desc& to, void* dst);

[[noreturn]] void throw_translated(const std::string& what, const dnnl::error& error);

/// Runs `make`; an error of oneDNN becomes a SystemError when memory is short, else a ShapeError,
/// with a message that begins with `what`.
template <class Make>
auto translated(const std::string& what, const Make& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    throw_translated(what, error);
  }
}

}  // namespace nn
