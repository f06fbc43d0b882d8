// Checks and windows of a network's operations.
#include "workloads/nn/network_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runner/base/error.h"

namespace nn::network {

std::string to_text(const SampleShape& shape) {
  return fmt::format("[{}, {}]", shape.channels, fmt::join(shape.spatial, ", "));
}

void require(bool condition, const std::string& name, const std::string& expected,
             const std::string& found) {
  if (!condition) {
    throw base::ShapeError(fmt::format("network: {}: expected {}, got {}", name, expected, found));
  }
}

std::vector<std::int64_t> window_extents(const Operation& operation, const SampleShape& src) {
  std::vector<std::int64_t> extents;
  for (std::size_t axis = 0; axis < src.spatial.size(); ++axis) {
    const std::int64_t padded =
        src.spatial[axis] + operation.padding.begin[axis] + operation.padding.end[axis];
    const std::int64_t apart = operation.dilation.empty() ? 1 : operation.dilation[axis];
    const std::int64_t window = (operation.kernel[axis] - 1) * apart + 1;
    require(padded >= window, operation.name, fmt::format("a padded extent of at least {}", window),
            to_text(src));
    extents.push_back((padded - window) / operation.stride[axis] + 1);
  }
  return extents;
}

Operation windowed(OperationKind kind, const std::string& name, ValueId src, std::int64_t kernel,
                   std::int64_t stride, const Padding& padding, const SampleShape& shape) {
  const std::size_t axes = shape.spatial.size();
  require(kernel > 0 && stride > 0, name, "positive kernel and stride",
          fmt::format("{} and {}", kernel, stride));
  Operation operation;
  operation.kind = kind;
  operation.name = name;
  operation.src = src;
  operation.kernel.assign(axes, kernel);
  operation.stride.assign(axes, stride);
  operation.padding =
      padding.begin.empty() ? uniform_padding(static_cast<std::int64_t>(axes), 0, 0) : padding;
  require(operation.padding.begin.size() == axes && operation.padding.end.size() == axes, name,
          fmt::format("padding on {} axes", axes), to_text(shape));
  return operation;
}

}  // namespace nn::network
