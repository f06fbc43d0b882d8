// Reading of oneDNN's memory descriptors.
// Hides dnnl_memory_desc_t.
#include "workloads/nn/onednn.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runner/base/error.h"

namespace nn {
namespace {

constexpr int kLanes = 16;

[[noreturn]] void refuse(const dnnl::memory::desc& desc) {
  throw base::ShapeError(fmt::format("oneDNN chose a layout that no kernel knows for [{}]",
                                     fmt::join(desc.dims(), ", ")));
}

}  // namespace

Column ChannelLayout::column(std::int64_t block) const {
  const std::int64_t left = padded ? width : channels - block * width;
  return {rows, row_stride, static_cast<int>(std::min<std::int64_t>(width, left))};
}

ChannelLayout channel_layout(const dnnl::memory::desc& desc) {
  const auto& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.ndims < 2) refuse(desc);
  const auto& blocking = data.format_desc.blocking;
  ChannelLayout layout;
  layout.channels = data.dims[1];
  layout.sample_stride = blocking.strides[0];
  layout.rows = 1;
  for (int axis = 2; axis < data.ndims; ++axis) layout.rows *= data.dims[axis];
  const bool one_row = layout.rows == 1;
  if (blocking.inner_nblks == 1 && blocking.inner_idxs[0] == 1 &&
      blocking.inner_blks[0] <= kLanes) {
    layout.width = static_cast<int>(blocking.inner_blks[0]);
    layout.blocks = data.padded_dims[1] / layout.width;
    layout.block_stride = blocking.strides[1];
    layout.row_stride = layout.width;
    layout.padded = data.padded_dims[1] != data.dims[1];
  } else if (blocking.inner_nblks == 0 && (one_row || blocking.strides[1] == 1)) {
    layout.width = kLanes;
    layout.blocks = (layout.channels + kLanes - 1) / kLanes;
    layout.block_stride = kLanes;
    layout.row_stride = one_row ? layout.channels : blocking.strides[data.ndims - 1];
  } else if (blocking.inner_nblks == 0 && blocking.strides[data.ndims - 1] == 1) {
    layout.width = 1;
    layout.blocks = layout.channels;
    layout.block_stride = blocking.strides[1];
    layout.row_stride = 1;
  } else {
    refuse(desc);
  }
  return layout;
}

dnnl::memory::dims batch_dims(std::int64_t batch, const SampleShape& shape) {
  dnnl::memory::dims dims = {batch, shape.channels};
  dims.insert(dims.end(), shape.spatial.begin(), shape.spatial.end());
  return dims;
}

dnnl::memory::desc plain_desc(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis) {
    strides[axis - 1] = strides[axis] * dims[axis];
  }
  return {dims, type, strides};
}

dnnl::memory::desc any_desc(const dnnl::memory::dims& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

void reorder(Device& device, const dnnl::memory::desc& from, const float* src,
             const dnnl::memory::desc& to, float* dst) {
  dnnl::memory in(from, device.engine, const_cast<float*>(src));
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
