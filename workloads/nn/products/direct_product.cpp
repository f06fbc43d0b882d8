// DirectProduct, one image row after the other.
#include "workloads/nn/products/direct_product.h"

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/stores.h"
#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

using dnnl::memory;

bool has_single_points(const Operation& operation) {
  const auto are = [](const std::vector<std::int64_t>& all, std::int64_t number) {
    return std::all_of(all.begin(), all.end(), [=](std::int64_t one) { return one == number; });
  };
  return operation.kernel.size() == 2 && are(operation.kernel, 1) &&
         are(operation.padding.begin, 0) && are(operation.padding.end, 0);
}

}  // namespace

bool DirectProduct::supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                             const Planner& /*planner*/) {
  const Operation& operation = problem.operation();
  if (problem.compute() != memory::data_type::bf16) return false;
  if (problem.is_transposed() || !has_single_points(operation) || operation.bias >= 0) return false;
  if (!is_channels_last_bf16(layouts.src) || !is_channels_last_bf16(layouts.dst)) return false;
  const std::int64_t in = problem.image_of(Side::kSource).channels;
  const std::int64_t out = problem.image_of(Side::kDestination).channels;
  return in % kLanes == 0 && out % kLanes == 0 && operation.dst.spatial[1] >= kLanes;
}

DirectProduct::DirectProduct(Planner& planner, const ConvolutionProblem& problem,
                             const ConvolutionLayouts& layouts, ConvolutionProduct product,
                             int moment, const ValuePlace& from, const ValuePlace& to) {
  const SampleShape& src = problem.image_of(Side::kSource);
  const SampleShape& dst = problem.image_of(Side::kDestination);
  const auto& stride = problem.operation().stride;
  const bool is_forward = product == ConvolutionProduct::kForward;
  const Image large = {{}, src.spatial[0], src.spatial[1] * src.channels, stride[0]};
  const Image small = {{}, dst.spatial[0], dst.spatial[1] * dst.channels, 1};
  from_ = is_forward ? large : small;
  to_ = is_forward ? small : large;
  from_.place = from;
  to_.place = to;
  rows_ = dst.spatial[0];
  points_ = dst.spatial[1];
  threads_ = planner.threads();
  const std::int64_t read = is_forward ? src.channels : dst.channels;
  const std::int64_t written = is_forward ? dst.channels : src.channels;
  windows_.parts = read / TileGemm::kRows;
  windows_.has_half = read % TileGemm::kRows != 0;
  windows_.channels = written;
  windows_.point_step = read * (is_forward ? stride[1] : 1);
  // Forward [out / 16][in / 32][16 pairs][16][2], else [out / 32][in / 16][16 pairs][16][2].
  using Tag = memory::format_tag;
  given_ = layouts.weights;
  wanted_ = {dims_of(given_), memory::data_type::bf16,
             is_forward ? Tag::OIhw16i16o2i : Tag::OIhw16o16i2o};
  windows_.part_words = is_forward ? kTileWords : written / kLanes * kTileWords;
  windows_.panel_words =
      is_forward ? base::ceil_div(read, TileGemm::kRows) * kTileWords : kTileWords;
  parameter_ = problem.operation().weights;
  copy_ = planner.copy_weights(parameter_, wanted_);
  if (copy_) return;
  converted_buffer_ =
      planner.temporary(static_cast<std::int64_t>(wanted_.get_size()), moment, "converted layouts");
}

void DirectProduct::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  device_ = &device;
  kernels_ = &kernels;
  from_.data = arena.at<Bf16>(from_.place.buffer);
  to_.data = arena.at<Bf16>(to_.place.buffer);
  const dnnl::engine& engine = device.engine;
  if (copy_) {
    tiles_ = memory(wanted_, engine, arena.parameters.copy(*copy_));
    return;
  }
  weights_ = memory(given_, engine, arena.parameters.weights(parameter_));
  tiles_ = memory(wanted_, engine, arena.at<void>(converted_buffer_));
  conversion_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine, given_, engine, wanted_));
}

void DirectProduct::run(const Samples& samples, bool /*adds*/) {
  if (!copy_ && samples.first == 0) {
    conversion_.execute(device_->stream, {{DNNL_ARG_FROM, weights_}, {DNNL_ARG_TO, tiles_}});
  }
  TileGemm::Windows windows = windows_;
  windows.stores = stores_of<Bf16>(samples.count * to_.rows * to_.numbers, true);
  const auto* const weights = static_cast<const std::uint32_t*>(tiles_.get_data_handle());
  const std::int64_t end = samples.first + samples.count;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_)
  for (std::int64_t sample = samples.first; sample < end; ++sample) {
    for (std::int64_t row = 0; row < rows_; ++row) {
      kernels_->tile_gemm.multiply_windows(from_.row(sample, samples, row), weights, windows, 1,
                                           points_, to_.row(sample, samples, row));
    }
  }
}

}  // namespace nn
