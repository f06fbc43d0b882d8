// Operations on images, by plain loops.
#include "workloads/nn/plain_image.h"

#include <cmath>

#include "workloads/nn/plain_elements.h"

namespace plain {
namespace {

using nn::Network;
using nn::Operation;
using nn::OperationKind;

/// Calls body(image pixel, window, tap) for each tap of each window that lies within the image:
/// `small` windows over an image of `large` pixels.
template <class Body>
void for_each_meeting(const Operation& op, const std::vector<std::int64_t>& large,
                      const std::vector<std::int64_t>& small, const Body& body) {
  const std::int64_t apart = op.dilation.empty() ? 1 : op.dilation[0];
  for (std::int64_t y = 0; y < small[0]; ++y) {
    for (std::int64_t x = 0; x < small[1]; ++x) {
      for (std::int64_t tap = 0; tap < op.kernel[0] * op.kernel[1]; ++tap) {
        const std::int64_t row =
            y * op.stride[0] - op.padding.begin[0] + tap / op.kernel[1] * apart;
        const std::int64_t column =
            x * op.stride[1] - op.padding.begin[1] + tap % op.kernel[1] * apart;
        if (row < 0 || row >= large[0] || column < 0 || column >= large[1]) continue;
        body(row * large[1] + column, y * small[1] + x, tap);
      }
    }
  }
}

/// Calls body(src index, weight index, dst index) for every product of a depthwise or transposed
/// convolution.
template <class Body>
void for_each_image_product(const Network& net, const Operation& op, std::int64_t batch,
                            const Body& body) {
  const nn::SampleShape& in = net.shape(op.src);
  const std::int64_t points = in.spatial_size(), made = op.dst.spatial_size();
  const std::int64_t taps = op.kernel[0] * op.kernel[1];
  const bool is_depthwise = op.kind == OperationKind::kDepthwise;
  const auto each = [&](std::int64_t src, std::int64_t dst, std::int64_t tap) {
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t c = 0; c < in.channels; ++c) {
        if (is_depthwise) {
          body((n * in.channels + c) * points + src, c * taps + tap,
               (n * in.channels + c) * made + dst);
          continue;
        }
        for (std::int64_t o = 0; o < op.dst.channels; ++o) {
          body((n * in.channels + c) * points + src, (c * op.dst.channels + o) * taps + tap,
               (n * op.dst.channels + o) * made + dst);
        }
      }
    }
  };
  if (is_depthwise) {
    for_each_meeting(op, in.spatial, op.dst.spatial, each);
  } else {
    for_each_meeting(op, op.dst.spatial, in.spatial,
                     [&](auto dst, auto src, auto tap) { each(src, dst, tap); });
  }
}

/// Calls body(index of the source, offset in it, offset in the whole) for each element.
template <class Body>
void for_each_part(const Network& net, const Operation& op, std::int64_t batch, const Body& body) {
  std::vector<nn::ValueId> values = {op.src};
  values.insert(values.end(), op.others.begin(), op.others.end());
  const std::int64_t points = op.dst.spatial_size();
  std::int64_t first = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t channels = net.shape(values[i]).channels;
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t e = 0; e < channels * points; ++e) {
        body(i, n * channels * points + e, (n * op.dst.channels + first) * points + e);
      }
    }
    first += channels;
  }
}

/// Calls body(element, neighbour) for each element of an image and each one at its pixel whose
/// channel is in its window.
template <class Body>
void for_each_neighbour(const Operation& op, std::int64_t batch, const Body& body) {
  const std::int64_t points = op.dst.spatial_size(), half = op.response.size / 2;
  for (std::int64_t e = 0; e < batch * op.dst.size(); ++e) {
    const std::int64_t channel = e / points % op.dst.channels;
    for (std::int64_t shift = -half; shift <= half; ++shift) {
      const bool exists = channel + shift >= 0 && channel + shift < op.dst.channels;
      if (exists) body(e, e + shift * points);
    }
  }
}

/// k + alpha / size times the sum of squares in each element's window.
Array response_scales(const Operation& op, const Array& src, std::int64_t batch) {
  Array scales(src.size(), op.response.k);
  for_each_neighbour(op, batch, [&](auto e, auto other) {
    at(scales, e) +=
        op.response.alpha / static_cast<double>(op.response.size) * at(src, other) * at(src, other);
  });
  return scales;
}

double spread_value(const Operation& op, const std::vector<Array>& parameters, double src,
                    std::int64_t channel) {
  return at(parameter(parameters, op.weights), channel) * src +
         at(parameter(parameters, op.bias), channel);
}

}  // namespace

bool is_of_images(const Operation& op) {
  return op.kind == OperationKind::kDepthwise || op.kind == OperationKind::kDeconvolution ||
         op.kind == OperationKind::kConcatenation || op.kind == OperationKind::kSpread ||
         op.kind == OperationKind::kResponseNorm || op.kind == OperationKind::kFlatten;
}

Array image_values(const Network& net, const Operation& op, const std::vector<Array>& parameters,
                   const std::vector<const Array*>& sources, std::int64_t batch) {
  Array dst(static_cast<std::size_t>(batch * op.dst.size()), 0.0);
  const Array& src = *sources.front();
  if (op.kind == OperationKind::kConcatenation) {
    for_each_part(net, op, batch,
                  [&](auto i, auto from, auto to) { at(dst, to) = at(*sources[i], from); });
  } else if (op.kind == OperationKind::kSpread) {
    const std::int64_t points = op.dst.spatial_size();
    for (std::int64_t e = 0; e < static_cast<std::int64_t>(dst.size()); ++e) {
      const double value =
          spread_value(op, parameters, at(src, e / points), e / points % op.dst.channels);
      at(dst, e) = value < 0.0 ? 0.0 : value;
    }
  } else if (op.kind == OperationKind::kFlatten) {
    dst = src;  // arrays are ordered by channel, row, column
  } else if (op.kind == OperationKind::kResponseNorm) {
    const Array scales = response_scales(op, src, batch);
    for (std::size_t e = 0; e < src.size(); ++e) {
      dst[e] = src[e] * std::pow(scales[e], -op.response.beta);
    }
  } else {
    const Array& weights = parameter(parameters, op.weights);
    for_each_image_product(
        net, op, batch, [&](auto s, auto k, auto d) { at(dst, d) += at(src, s) * at(weights, k); });
  }
  return dst;
}

void image_backward(const Network& net, const Operation& op, const std::vector<Array>& parameters,
                    const std::vector<const Array*>& sources, const Array& diff_dst,
                    std::int64_t batch, const std::vector<Array*>& diff_sources, Pass& pass) {
  const Array& src = *sources.front();
  Array& diff_src = *diff_sources.front();
  const auto gradient = [&](int id) -> Array& {
    return pass.parameter_gradients[static_cast<std::size_t>(id)];
  };
  if (op.kind == OperationKind::kConcatenation) {
    for_each_part(net, op, batch, [&](auto i, auto from, auto to) {
      at(*diff_sources[i], from) += at(diff_dst, to);
    });
  } else if (op.kind == OperationKind::kSpread) {
    const std::int64_t points = op.dst.spatial_size();
    for (std::int64_t e = 0; e < static_cast<std::int64_t>(diff_dst.size()); ++e) {
      const std::int64_t from = e / points, channel = from % op.dst.channels;
      if (spread_value(op, parameters, at(src, from), channel) <= 0.0) continue;
      at(gradient(op.weights), channel) += at(diff_dst, e) * at(src, from);
      at(gradient(op.bias), channel) += at(diff_dst, e);
      at(diff_src, from) += at(diff_dst, e) * at(parameter(parameters, op.weights), channel);
    }
  } else if (op.kind == OperationKind::kFlatten) {
    diff_src = diff_dst;
  } else if (op.kind == OperationKind::kResponseNorm) {
    const Array scales = response_scales(op, src, batch);
    const double factor =
        2.0 * op.response.alpha * op.response.beta / static_cast<double>(op.response.size);
    for (std::size_t e = 0; e < src.size(); ++e) {
      diff_src[e] += diff_dst[e] * std::pow(scales[e], -op.response.beta);
    }
    for_each_neighbour(op, batch, [&](auto e, auto other) {
      at(diff_src, other) -= factor * at(src, other) * at(diff_dst, e) * at(src, e) *
                             std::pow(at(scales, e), -op.response.beta - 1.0);
    });
  } else {
    const Array& weights = parameter(parameters, op.weights);
    for_each_image_product(net, op, batch, [&](auto s, auto k, auto d) {
      at(diff_src, s) += at(diff_dst, d) * at(weights, k);
      at(gradient(op.weights), k) += at(diff_dst, d) * at(src, s);
    });
  }
}

}  // namespace plain
