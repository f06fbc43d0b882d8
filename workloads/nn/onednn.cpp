// Memory descriptors of oneDNN, read and made.
#include "workloads/nn/onednn.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

[[noreturn]] void refuse(const dnnl::memory::desc& desc) {
  throw base::ShapeError(fmt::format("oneDNN chose a layout that no kernel supports for [{}]",
                                     fmt::join(desc.dims(), ", ")));
}

}  // namespace

Device::Device() {
  // oneDNN refuses this once a primitive exists; the first Device is made before any.
  if (base::usable_instruction_set() < base::InstructionSet::kAmx) {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
  }
  multiplies_in_tiles = dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_amx;
}

ChannelLayout ChannelLayout::in_wide_columns() const {
  constexpr std::int64_t kLineChannels = 64;  // so that a column's rows are whole cache lines
  constexpr std::int64_t kPieceRows = 512;
  if (!is_last()) return *this;
  ChannelLayout wide = *this;
  wide.pieces = std::max<std::int64_t>(1, rows / kPieceRows);
  if (blocks == 1) return wide;
  const std::int64_t columns = base::ceil_div(channels, Column::kMostChannels);
  const std::int64_t lines = base::ceil_div(channels, kLineChannels);
  wide.block_stride = base::ceil_div(lines, columns) * kLineChannels;
  wide.width = static_cast<int>(wide.block_stride);
  wide.blocks = base::ceil_div(channels, wide.block_stride);
  return wide;
}

Column ChannelLayout::column(std::int64_t block) const {
  const std::int64_t left = padded ? width : channels - block * width;
  return {rows, row_stride, static_cast<int>(std::min<std::int64_t>(width, left))};
}

Column ChannelLayout::column(std::int64_t block, std::int64_t piece) const {
  Column part = column(block);
  part.rows = first_row(piece + 1) - first_row(piece);
  return part;
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
  return desc.dims().size() == 4 &&
         desc == memory::desc(desc.dims(), memory::data_type::f32, memory::format_tag::nChw16c);
}

dnnl::memory::desc tiled_weights_desc(const dnnl::memory::dims& dims) {
  using Tag = dnnl::memory::format_tag;
  const Tag tag = dims.size() == 3   ? Tag::OIw16i16o
                  : dims.size() == 4 ? Tag::OIhw16i16o
                                     : Tag::OIdhw16i16o;
  return {dims, dnnl::memory::data_type::f32, tag};
}

bool is_channels_last_bf16(const dnnl::memory::desc& desc) {
  return desc == channels_last_desc(desc.dims(), dnnl::memory::data_type::bf16);
}

dnnl::memory::desc any_desc(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  return {dims, type, dnnl::memory::format_tag::any};
}

dnnl::memory::desc like(const dnnl::memory::desc& desc, const SampleShape& shape) {
  const ChannelLayout layout = channel_layout(desc);
  const dnnl::memory::dims dims = batch_dims(desc.dims().front(), shape);
  const bool is_blocked = !layout_of(desc)->blocks.empty();
  if (!is_blocked && layout.width == 1) return plain_desc(dims, desc.data_type());
  if (!is_blocked) return channels_last_desc(dims, desc.data_type());
  constexpr int kHalf = 8;
  using Tag = dnnl::memory::format_tag;
  if (dims.size() != 4 || (layout.width != kHalf && layout.width != 2 * kHalf)) refuse(desc);
  return {dims, desc.data_type(), layout.width == kHalf ? Tag::nChw8c : Tag::nChw16c};
}

dnnl::memory::desc retyped(const dnnl::memory::desc& desc, dnnl::memory::data_type type) {
  dnnl::memory::desc other = desc;
  other.data.data_type = dnnl::memory::convert_to_c(type);
  return other;
}

std::optional<BlockedLayout> layout_of(const dnnl::memory::desc& desc) {
  const auto& data = desc.data;
  const bool is_known = data.format_kind == dnnl_blocked && data.offset0 == 0 &&
                        data.extra.flags == dnnl_memory_extra_flag_none;
  if (!is_known) return std::nullopt;
  const auto& blocking = data.format_desc.blocking;
  BlockedLayout layout;
  layout.type = desc.data_type() == dnnl::memory::data_type::f32    ? ElementType::kF32
                : desc.data_type() == dnnl::memory::data_type::bf16 ? ElementType::kBf16
                                                                    : ElementType::kOther;
  layout.dims.assign(data.dims, data.dims + data.ndims);
  layout.padded.assign(data.padded_dims, data.padded_dims + data.ndims);
  layout.strides.assign(blocking.strides, blocking.strides + data.ndims);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    layout.blocks.push_back({static_cast<int>(blocking.inner_idxs[i]), blocking.inner_blks[i]});
  }
  return layout;
}

dnnl::memory::desc desc_of(const BlockedLayout& layout) {
  const auto type = layout.type == ElementType::kBf16 ? dnnl::memory::data_type::bf16
                                                      : dnnl::memory::data_type::f32;
  // Some orders of blocks have no format tag.
  dnnl::memory::desc desc = plain_desc(layout.dims, type);
  auto& blocking = desc.data.format_desc.blocking;
  std::copy(layout.strides.begin(), layout.strides.end(), blocking.strides);
  blocking.inner_nblks = static_cast<int>(layout.blocks.size());
  for (std::size_t i = 0; i < layout.blocks.size(); ++i) {
    blocking.inner_idxs[i] = layout.blocks[i].axis;
    blocking.inner_blks[i] = layout.blocks[i].extent;
  }
  std::copy(layout.padded.begin(), layout.padded.end(), desc.data.padded_dims);
  return desc;
}

dnnl::memory::desc with_samples(const dnnl::memory::desc& desc, std::int64_t samples) {
  const std::optional<BlockedLayout> layout = layout_of(desc);
  const bool is_apart = layout && layout->block_extent(0) == 1 &&
                        std::all_of(layout->strides.begin(), layout->strides.end(),
                                    [&](std::int64_t of) { return of <= layout->strides[0]; });
  if (!is_apart) throw base::ShapeError("oneDNN chose a layout that mixes samples");
  dnnl::memory::desc other = desc;
  other.data.dims[0] = other.data.padded_dims[0] = samples;
  return other;
}

std::int64_t sample_bytes(const dnnl::memory::desc& desc) {
  return desc.data.format_desc.blocking.strides[0] *
         static_cast<std::int64_t>(dnnl::memory::data_type_size(desc.data_type()));
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
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
