// Memory descriptors of oneDNN, read and made.
#include "workloads/nn/onednn.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "workloads/kernels/tiling.h"
#include "workloads/nn/library_check.h"
#include "workloads/nn/version.h"

namespace nn {
namespace {

[[noreturn]] void refuse(const dnnl::memory::desc& desc) {
  throw base::ShapeError(fmt::format("oneDNN chose a layout that no kernel supports for [{}]",
                                     fmt::join(dims_of(desc), ", ")));
}

bool multiplies_bf16_in_tiles() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
#if DNNL_VERSION_MAJOR >= 3
  if (isa == dnnl::cpu_isa::avx512_core_amx_fp16) return true;
#endif
  return isa == dnnl::cpu_isa::avx512_core_amx;
}

bool all_are(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  return std::all_of(values.begin(), values.end(),
                     [wanted](std::int64_t value) { return value == wanted; });
}

ElementType element_type_of(const dnnl::memory::desc& desc) {
  switch (type_of(desc)) {
    case dnnl::memory::data_type::f32:
      return ElementType::kF32;
    case dnnl::memory::data_type::bf16:
      return ElementType::kBf16;
    default:
      return ElementType::kOther;
  }
}

/// A batch with this layout: strided, or in one block of channels. Throws ShapeError for others.
dnnl::memory::desc batch_desc(const BlockedLayout& layout, dnnl::memory::data_type type) {
  using Tag = dnnl::memory::format_tag;
  if (layout.blocks.empty()) return {layout.dims, type, layout.strides};
  constexpr std::size_t kMostAxes = 5;
  const auto& block = layout.blocks.front();
  const std::size_t axes = layout.dims.size();
  Tag tag = Tag::undef;
  if (layout.blocks.size() == 1 && block.axis == 1 && axes >= 3 && axes <= kMostAxes) {
    constexpr Tag kTags[][3] = {{Tag::aBc4b, Tag::aBc8b, Tag::aBc16b},
                                {Tag::aBcd4b, Tag::aBcd8b, Tag::aBcd16b},
                                {Tag::aBcde4b, Tag::aBcde8b, Tag::aBcde16b}};
    if (block.extent == 4) tag = kTags[axes - 3][0];
    if (block.extent == 8) tag = kTags[axes - 3][1];
    if (block.extent == 16) tag = kTags[axes - 3][2];
  }
  const auto refuse_layout = [&] {
    throw base::ShapeError(fmt::format("oneDNN chose blocks that are not known for [{}]",
                                       fmt::join(layout.dims, ", ")));
  };
  if (tag == Tag::undef) refuse_layout();
  dnnl::memory::desc desc(layout.dims, type, tag);
  if (layout_of(desc)->strides != layout.strides) refuse_layout();
  return desc;
}

}  // namespace

Device::Device() {
  // oneDNN refuses this once a primitive exists; the first Device is made before any.
  if (base::usable_instruction_set() < base::InstructionSet::kAmx) {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
  }
  multiplies_in_tiles = multiplies_bf16_in_tiles();
  // Once: if it throws, the next Device looks again.
  static const bool trusted = [this] {
    refuse_if_lost(elements_lost(engine, stream), library_version());
    return true;
  }();
  static_cast<void>(trusted);
}

ChannelLayout channel_layout(const dnnl::memory::desc& desc) {
  const std::optional<BlockedLayout> known = layout_of(desc);
  if (!known || known->ndims() < 2) refuse(desc);
  const BlockedLayout& from = *known;
  ChannelLayout layout;
  layout.channels = from.dims[1];
  layout.sample_stride = from.strides[0];
  layout.rows = 1;
  for (std::size_t axis = 2; axis < from.dims.size(); ++axis) layout.rows *= from.dims[axis];
  const bool one_row = layout.rows == 1;
  if (from.blocks.size() == 1 && from.blocks[0].axis == 1 && from.blocks[0].extent <= kLanes) {
    layout.width = static_cast<int>(from.blocks[0].extent);
    layout.blocks = from.padded[1] / layout.width;
    layout.block_stride = from.strides[1];
    layout.row_stride = layout.width;
    layout.padded = from.padded[1] != from.dims[1];
  } else if (from.blocks.empty() && (one_row || from.strides[1] == 1)) {
    layout.width = kLanes;
    layout.blocks = base::ceil_div(layout.channels, kLanes);
    layout.block_stride = kLanes;
    layout.row_stride = one_row ? layout.channels : from.strides.back();
  } else if (from.blocks.empty() && from.strides.back() == 1) {
    layout.width = 1;
    layout.blocks = layout.channels;
    layout.block_stride = from.strides[1];
    layout.row_stride = 1;
  } else {
    refuse(desc);
  }
  return layout;
}

dnnl::memory::dims batch_dims(std::int64_t batch, const SampleShape& shape) {
  dnnl::memory::dims dims = {batch, shape.channels};
  const std::vector<std::int64_t> stored = shape.stored();
  dims.insert(dims.end(), stored.begin(), stored.end());
  return dims;
}

dnnl::memory::desc plain_desc(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis) {
    strides[axis - 1] = strides[axis] * dims[axis];
  }
  return {dims, type, strides};
}

dnnl::memory::desc channels_last_desc(const dnnl::memory::dims& dims,
                                      dnnl::memory::data_type type) {
  dnnl::memory::dims strides(dims.size(), 1);
  std::int64_t stride = dims[1];
  for (std::size_t axis = dims.size(); axis-- > 2;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  strides[0] = stride;
  return {dims, type, strides};
}

bool is_blocked_floats(const dnnl::memory::desc& desc) {
  using dnnl::memory;
  return dims_of(desc).size() == 4 &&
         desc == memory::desc(dims_of(desc), memory::data_type::f32, memory::format_tag::nChw16c);
}

dnnl::memory::desc tiled_weights_desc(const dnnl::memory::dims& dims) {
  using Tag = dnnl::memory::format_tag;
  const Tag tag = dims.size() == 3   ? Tag::OIw16i16o
                  : dims.size() == 4 ? Tag::OIhw16i16o
                                     : Tag::OIdhw16i16o;
  return {dims, dnnl::memory::data_type::f32, tag};
}

dnnl::memory::dims in_groups(dnnl::memory::dims weights, std::int64_t groups) {
  if (groups == 1) return weights;
  weights.front() /= groups;
  weights.insert(weights.begin(), groups);
  return weights;
}

bool is_channels_last_bf16(const dnnl::memory::desc& desc) {
  return desc == channels_last_desc(dims_of(desc), dnnl::memory::data_type::bf16);
}

dnnl::memory::desc any_desc(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  return {dims, type, dnnl::memory::format_tag::any};
}

dnnl::memory::desc like(const dnnl::memory::desc& desc, const SampleShape& shape) {
  const ChannelLayout layout = channel_layout(desc);
  const dnnl::memory::dims dims = batch_dims(dims_of(desc).front(), shape);
  const bool is_blocked = !layout_of(desc)->blocks.empty();
  if (!is_blocked && layout.width == 1) return plain_desc(dims, type_of(desc));
  if (!is_blocked) return channels_last_desc(dims, type_of(desc));
  constexpr int kHalf = 8;
  using Tag = dnnl::memory::format_tag;
  if (dims.size() != 4 || (layout.width != kHalf && layout.width != 2 * kHalf)) refuse(desc);
  return {dims, type_of(desc), layout.width == kHalf ? Tag::nChw8c : Tag::nChw16c};
}

dnnl::memory::desc retyped(const dnnl::memory::desc& desc, dnnl::memory::data_type type) {
  const std::optional<BlockedLayout> layout = layout_of(desc);
  if (!layout) refuse(desc);
  return batch_desc(*layout, type);
}

#if DNNL_VERSION_MAJOR >= 3

dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.get_dims(); }

dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) { return desc.get_data_type(); }

std::optional<BlockedLayout> layout_of(const dnnl::memory::desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
  if (desc.get_submemory_offset() != 0) return std::nullopt;
  BlockedLayout layout;
  layout.type = element_type_of(desc);
  layout.dims = desc.get_dims();
  layout.padded = desc.get_padded_dims();
  layout.strides = desc.get_strides();
  const dnnl::memory::dims axes = desc.get_inner_idxs(), extents = desc.get_inner_blks();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    layout.blocks.push_back({static_cast<int>(axes[i]), extents[i]});
  }
  return layout;
}

#else

dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.dims(); }

dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) { return desc.data_type(); }

std::optional<BlockedLayout> layout_of(const dnnl::memory::desc& desc) {
  const auto& data = desc.data;
  const bool is_known = data.format_kind == dnnl_blocked && data.offset0 == 0 &&
                        data.extra.flags == dnnl_memory_extra_flag_none;
  if (!is_known) return std::nullopt;
  const auto& blocking = data.format_desc.blocking;
  BlockedLayout layout;
  layout.type = element_type_of(desc);
  layout.dims.assign(data.dims, data.dims + data.ndims);
  layout.padded.assign(data.padded_dims, data.padded_dims + data.ndims);
  layout.strides.assign(blocking.strides, blocking.strides + data.ndims);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    layout.blocks.push_back({static_cast<int>(blocking.inner_idxs[i]), blocking.inner_blks[i]});
  }
  return layout;
}

#endif

dnnl::memory::desc with_samples(const dnnl::memory::desc& desc, std::int64_t samples) {
  std::optional<BlockedLayout> layout = layout_of(desc);
  const bool is_apart = layout && layout->block_extent(0) == 1 &&
                        std::all_of(layout->strides.begin(), layout->strides.end(),
                                    [&](std::int64_t of) { return of <= layout->strides[0]; });
  if (!is_apart) throw base::ShapeError("oneDNN chose a layout that mixes samples");
  layout->dims[0] = layout->padded[0] = samples;
  return batch_desc(*layout, type_of(desc));
}

std::int64_t sample_bytes(const dnnl::memory::desc& desc) {
  const std::optional<BlockedLayout> layout = layout_of(desc);
  if (!layout) refuse(desc);
  return layout->strides[0] *
         static_cast<std::int64_t>(dnnl::memory::data_type_size(type_of(desc)));
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool may_be_wrong_in_tiles(const SampleShape& src, const std::vector<std::int64_t>& kernel,
                           const std::vector<std::int64_t>& skipped) {
  constexpr std::int64_t kMostPoints = 128, kFewTaps = 3;
  if (all_are(kernel, 1)) return false;
  const std::int64_t most_taps = all_are(skipped, 0) ? kMostPoints : kFewTaps;
  bool is_known = src.channels % kLanes == 0;
  for (std::size_t axis = 0; axis < kernel.size(); ++axis) {
    is_known &= kernel[axis] <= most_taps && src.spatial[axis] >= kernel[axis] &&
                src.spatial[axis] <= kMostPoints;
  }
  return !is_known;
}

bool is_wrong_in_depth(const SampleShape& src, const std::vector<std::int64_t>& kernel) {
  return kernel.size() == 3 && src.spatial[0] > 1 && src.spatial[0] < kernel[0];
}

dnnl::convolution_backward_weights::primitive_desc correct_weights_gradient(
    dnnl::convolution_backward_weights::primitive_desc product,
    const std::vector<std::int64_t>& skipped) {
  constexpr std::ptrdiff_t kKernelAxis = 2;
  const dnnl::memory::dims weights = dims_of(product.diff_weights_desc());
  const dnnl::memory::dims src = dims_of(product.src_desc());
  const auto axes = static_cast<std::ptrdiff_t>(src.size()) - kKernelAxis;
  const std::vector<std::int64_t> kernel(weights.end() - axes, weights.end());
  const SampleShape shape = {src[1], {src.begin() + kKernelAxis, src.end()}};
  const bool no_tiles = may_be_wrong_in_tiles(shape, kernel, skipped);
  const bool no_bf16 = DNNL_VERSION_MAJOR >= 3 && is_wrong_in_depth(shape, kernel);
  const auto is_named = [&product](const char* part) {
    return std::string_view(product.impl_info_str()).find(part) != std::string_view::npos;
  };
  while ((no_tiles && is_named("amx")) || (no_bf16 && is_named("jit_bf16"))) {
    if (!product.next_impl()) throw dnnl::error(dnnl_unimplemented, "no correct weights gradient");
  }
  return product;
}

void append_relu(dnnl::primitive_attr& attributes) {
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#else
  after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#endif
  attributes.set_post_ops(after);
}

dnnl::pooling_forward::primitive_desc describe_pooling(const dnnl::engine& engine,
                                                       dnnl::prop_kind kind,
                                                       const dnnl::memory::desc& src,
                                                       const dnnl::memory::desc& dst,
                                                       const PoolingWindows& windows) {
  return describe_forward<dnnl::pooling_forward>(
      engine, user_scratchpad(), kind, dnnl::algorithm::pooling_max, src, dst, windows.stride,
      windows.kernel,
#if DNNL_VERSION_MAJOR >= 3
      dnnl::memory::dims(windows.kernel.size(), 0),  // pixels between taps
#endif
      windows.padding_begin, windows.padding_end);
}

dnnl::pooling_backward::primitive_desc describe_pooling_gradient(
    const dnnl::engine& engine, const dnnl::pooling_forward::primitive_desc& forward,
    const dnnl::memory::desc& diff_src, const dnnl::memory::desc& diff_dst,
    const PoolingWindows& windows) {
  return describe_backward<dnnl::pooling_backward>(engine, forward, dnnl::algorithm::pooling_max,
                                                   diff_src, diff_dst, windows.stride,
                                                   windows.kernel,
#if DNNL_VERSION_MAJOR >= 3
                                                   dnnl::memory::dims(windows.kernel.size(), 0),
#endif
                                                   windows.padding_begin, windows.padding_end);
}

dnnl::lrn_forward::primitive_desc describe_response_norm(const dnnl::engine& engine,
                                                         dnnl::prop_kind kind,
                                                         const dnnl::memory::desc& values,
                                                         const ResponseNorm& numbers) {
  return describe_forward<dnnl::lrn_forward>(
      engine, user_scratchpad(), kind, dnnl::algorithm::lrn_across_channels, values,
#if DNNL_VERSION_MAJOR >= 3
      values,
#endif
      numbers.size, static_cast<float>(numbers.alpha), static_cast<float>(numbers.beta),
      static_cast<float>(numbers.k));
}

dnnl::lrn_backward::primitive_desc describe_response_norm_gradient(
    const dnnl::engine& engine, const dnnl::lrn_forward::primitive_desc& forward,
    const dnnl::memory::desc& values, const ResponseNorm& numbers) {
  return describe_backward<dnnl::lrn_backward>(
      engine, forward, dnnl::algorithm::lrn_across_channels,
#if DNNL_VERSION_MAJOR >= 3
      values, values, values,
#else
      values, values,
#endif
      numbers.size, static_cast<float>(numbers.alpha), static_cast<float>(numbers.beta),
      static_cast<float>(numbers.k));
}

void reorder(Device& device, const dnnl::memory::desc& from, const void* src,
             const dnnl::memory::desc& to, void* dst) {
  dnnl::memory in(from, device.engine, const_cast<void*>(src));
  dnnl::memory out(to, device.engine, dst);
  dnnl::reorder(in, out).execute(device.stream, in, out);
  device.stream.wait();
}

void throw_translated(const std::string& what, const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) {
    throw base::SystemError(what + ": oneDNN is out of memory");
  }
  throw base::ShapeError(fmt::format("{}: oneDNN refused: {}", what, error.what()));
}

}  // namespace nn
