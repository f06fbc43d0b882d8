// Network: operations on volumes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workloads/kernels/volume_kernels.h"
#include "workloads/nn/network_checks.h"

namespace nn {

using network::require;
using network::to_text;

ValueId Network::convolution_pool(ValueId src, const ConvolutionPoolSpec& spec) {
  constexpr std::int64_t kTaps = 3, kMargin = 1;
  const SampleShape in = shape(src);
  const auto is_even = [](std::int64_t extent) { return extent > 0 && extent % 2 == 0; };
  require(in.spatial.size() == 3 && in.margin == kMargin &&
              std::all_of(in.spatial.begin(), in.spatial.end(), is_even),
          spec.name, "a volume of even extents with a margin of 1", to_text(in));
  require(spec.channels > 0 && spec.channels % Volume::kBlock == 0, spec.name,
          fmt::format("channels in a multiple of {}", Volume::kBlock),
          std::to_string(spec.channels));
  require(in.channels % Volume::kBlock == 0 || in.channels <= Volume::kNarrow, spec.name,
          fmt::format("source channels in a multiple of {}, or at most {}", Volume::kBlock,
                      Volume::kNarrow),
          to_text(in));
  require(spec.slope > 0.0, spec.name, "a slope above 0", std::to_string(spec.slope));
  Operation operation;
  operation.kind = OperationKind::kConvolutionPool;
  operation.name = spec.name;
  operation.src = src;
  operation.slope = spec.slope;
  operation.kernel.assign(in.spatial.size(), kTaps);
  operation.stride.assign(in.spatial.size(), 1);
  operation.padding =
      uniform_padding(static_cast<std::int64_t>(in.spatial.size()), kMargin, kMargin);
  using Gives = ConvolutionPoolSpec::Gives;
  operation.is_part = spec.is_part;
  operation.gives_floats = spec.gives == Gives::kVector || spec.gives == Gives::kPartOfVector;
  SampleShape dst = {spec.channels, in.spatial, spec.gives == Gives::kVolume ? kMargin : 0};
  for (std::int64_t& extent : dst.spatial) extent /= 2;
  operation.dst =
      spec.gives == Gives::kVector ? SampleShape{spec.channels * dst.spatial_size(), {}} : dst;
  operation.weights = add_parameter({spec.name + "/kernel:0",
                                     {kTaps, kTaps, kTaps, in.channels, spec.channels},
                                     spec.weights,
                                     false});
  operation.bias = add_parameter({spec.name + "/bias:0", {spec.channels}, spec.bias, false});
  return append(std::move(operation));
}

ValueId Network::gather_volume(ValueId src, std::int64_t depth_parts, std::int64_t height_parts,
                               bool flattens) {
  const SampleShape in = shape(src);
  require(in.spatial.size() == 3 && in.margin == 0 && depth_parts > 0 && height_parts > 0,
          "gather_volume", "parts of a volume without margin", to_text(in));
  const Operation& maker = operations_[static_cast<std::size_t>(src)];
  require(maker.gives_floats == flattens, "gather_volume",
          flattens ? "a part of a flattened volume, in floats" : "a part of a volume",
          "the output of '" + maker.name + "'");
  Operation operation;
  operation.kind = OperationKind::kGatherVolume;
  operation.name = "gather_volume";
  operation.src = src;
  operation.depth_parts = depth_parts;
  operation.height_parts = height_parts;
  SampleShape dst = {in.channels, in.spatial, 1};
  dst.spatial[0] *= depth_parts;
  dst.spatial[1] *= height_parts;
  operation.dst = flattens ? SampleShape{in.channels * dst.spatial_size(), {}} : dst;
  return append(std::move(operation));
}

}  // namespace nn
