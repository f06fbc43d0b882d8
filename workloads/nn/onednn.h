// What the layers share of oneDNN: engine and stream, layouts as columns of channels, errors that
// name shapes. Hides what changed between oneDNN 2 and 3: descriptors, and how primitives are
// described.
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
  /// The first Device keeps oneDNN from AMX tiles where this process may not use them. Throws
  /// LibraryError if oneDNN computes wrong results on this machine.
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

dnnl::memory::dims dims_of(const dnnl::memory::desc& desc);
dnnl::memory::data_type type_of(const dnnl::memory::desc& desc);

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
/// Weights [C_out, C_in / groups, K...] as oneDNN takes them: with several groups [groups, C_out /
/// groups, C_in / groups, K...].
dnnl::memory::dims in_groups(dnnl::memory::dims weights, std::int64_t groups);
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
/// The same layout of a batch with elements of another type. Throws ShapeError as with_samples().
dnnl::memory::desc retyped(const dnnl::memory::desc& desc, dnnl::memory::data_type type);
constexpr dnnl::memory::data_type data_type_of(Precision precision) {
  return precision == Precision::kBf16 ? dnnl::memory::data_type::bf16
                                       : dnnl::memory::data_type::f32;
}

/// The layout as blocks and strides; nothing for a layout that only oneDNN knows.
std::optional<BlockedLayout> layout_of(const dnnl::memory::desc& desc);
/// `desc` for another number of samples. Throws ShapeError for a layout that mixes samples, or that
/// is neither strided nor in blocks of channels.
dnnl::memory::desc with_samples(const dnnl::memory::desc& desc, std::int64_t samples);
/// Bytes from one sample to the next.
std::int64_t sample_bytes(const dnnl::memory::desc& desc);

/// Attributes for scratchpads from the caller: they share the plan's memory.
dnnl::primitive_attr user_scratchpad();
/// Lets the primitive apply a ReLU to what it writes.
void append_relu(dnnl::primitive_attr& attributes);

/// The description of a forward primitive from the arguments of oneDNN's operation: kind,
/// algorithm, operands, windows. Throws dnnl::error.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe_forward(const dnnl::engine& engine,
                                                    const dnnl::primitive_attr& attributes,
                                                    const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, arguments..., attributes};
#else
  return {typename Primitive::desc(arguments...), attributes, engine};
#endif
}

/// The description of a backward primitive with the user's scratchpad. `forward`: the description
/// of its forward primitive. Throws dnnl::error.
template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine,
                                                     const Forward& forward,
                                                     const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, arguments..., forward, user_scratchpad()};
#else
  return {typename Primitive::desc(arguments...), user_scratchpad(), engine, forward};
#endif
}

/// Of what `describe` describes, the first implementation whose values have the layouts of the
/// forward product, so that none is converted; the first of all if there is none such. oneDNN 3
/// wants channels last for strided gradients of blocks of channels; oneDNN 2.6.3 crashes when asked
/// for further implementations of some, and its first has these layouts anyway.
template <class Describe>
auto with_layouts_of(const dnnl::convolution_forward::primitive_desc& forward,
                     const Describe& describe) {
#if DNNL_VERSION_MAJOR >= 3
  auto product = describe();
  do {
    if (product.diff_src_desc() == forward.src_desc() &&
        product.diff_dst_desc() == forward.dst_desc()) {
      return product;
    }
  } while (product.next_impl());
#else
  static_cast<void>(forward);
#endif
  return describe();
}

/// Whether oneDNN 2.6.3's weights gradient in AMX tiles may be wrong. It is wrong, and reads beyond
/// its operands, for windows of some images of more than 200 pixels a side (which ones depends on
/// how oneDNN blocks them), for atrous windows of many taps or of channels that are not a multiple
/// of 16, and for some images of a single column. No error was found for windows of a multiple of
/// 16 channels, with at most three taps a side if atrous, in images at least as large as the window
/// and at most 128 pixels a side. `skipped`: pixels between taps.
bool may_be_wrong_in_tiles(const SampleShape& src, const std::vector<std::int64_t>& kernel,
                           const std::vector<std::int64_t>& skipped);
/// Whether oneDNN 3.7.2's weights gradient of bf16 volumes without tiles is wrong: where a volume
/// of several planes has fewer than the window.
bool is_wrong_in_depth(const SampleShape& src, const std::vector<std::int64_t>& kernel);
/// Returns `product`, or oneDNN's next implementation that is not one of those that this version
/// may get wrong, as may_be_wrong_in_tiles() and is_wrong_in_depth() say. Throws dnnl::error if
/// there is none.
dnnl::convolution_backward_weights::primitive_desc correct_weights_gradient(
    dnnl::convolution_backward_weights::primitive_desc product,
    const std::vector<std::int64_t>& skipped);

struct PoolingWindows {
  dnnl::memory::dims stride, kernel, padding_begin, padding_end;
};
/// Descriptions of max pooling and its gradient with the user's scratchpad. Throw dnnl::error.
dnnl::pooling_forward::primitive_desc describe_pooling(const dnnl::engine& engine,
                                                       dnnl::prop_kind kind,
                                                       const dnnl::memory::desc& src,
                                                       const dnnl::memory::desc& dst,
                                                       const PoolingWindows& windows);
dnnl::pooling_backward::primitive_desc describe_pooling_gradient(
    const dnnl::engine& engine, const dnnl::pooling_forward::primitive_desc& forward,
    const dnnl::memory::desc& diff_src, const dnnl::memory::desc& diff_dst,
    const PoolingWindows& windows);

/// Descriptions of a response normalization across channels and of its gradient, with the user's
/// scratchpad; source, destination and gradients have the layout `values`. Throw dnnl::error.
dnnl::lrn_forward::primitive_desc describe_response_norm(const dnnl::engine& engine,
                                                         dnnl::prop_kind kind,
                                                         const dnnl::memory::desc& values,
                                                         const ResponseNorm& numbers);
dnnl::lrn_backward::primitive_desc describe_response_norm_gradient(
    const dnnl::engine& engine, const dnnl::lrn_forward::primitive_desc& forward,
    const dnnl::memory::desc& values, const ResponseNorm& numbers);

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
