// Volumes and activations by plain loops.
#include "workloads/nn/plain_volume.h"

#include <cmath>

#include "workloads/nn/plain_elements.h"

namespace plain {
namespace {

using nn::Network;
using nn::Operation;
using nn::SampleShape;

/// Calls body(src index, weight index, dst index) for every product of a convolution of volumes,
/// with 3 x 3 x 3 taps and zero padding; weights [27, in, out].
template <class Body>
void for_each_volume_product(const SampleShape& in, std::int64_t out, std::int64_t batch,
                             const Body& body) {
  const std::int64_t points = in.spatial_size(), d = in.spatial[0], h = in.spatial[1],
                     w = in.spatial[2];
  for (std::int64_t p = 0; p < points; ++p) {
    for (std::int64_t k = 0; k < 27; ++k) {
      const std::int64_t z = p / (h * w) + k / 9 - 1, y = p / w % h + k / 3 % 3 - 1;
      const std::int64_t x = p % w + k % 3 - 1;
      if (z < 0 || z >= d || y < 0 || y >= h || x < 0 || x >= w) continue;
      const std::int64_t q = (z * h + y) * w + x;
      for (std::int64_t n = 0; n < batch; ++n) {
        for (std::int64_t c = 0; c < in.channels; ++c) {
          for (std::int64_t o = 0; o < out; ++o) {
            body((n * in.channels + c) * points + q, (k * in.channels + c) * out + o,
                 (n * out + o) * points + p);
          }
        }
      }
    }
  }
}

/// A convolution_pool's forward pass: where each maximum is, and its value after the LeakyReLU.
struct VolumePass {
  std::vector<std::int64_t> winners;  ///< by index in dst: index of the convolution's value
  std::vector<std::int64_t> places;   ///< by pooled value, [N, out, voxels]: index in dst
  Array slopes;                       ///< by index in dst
  Array dst;
};

VolumePass volume_pass(const Network& net, const Operation& op,
                       const std::vector<Array>& parameters, const Array& src, std::int64_t batch) {
  const SampleShape& in = net.shape(op.src);
  const Array& bias = parameter(parameters, op.bias);
  const auto out = static_cast<std::int64_t>(bias.size());
  const std::int64_t points = in.spatial_size(), pooled = points / 8;
  const std::int64_t h = in.spatial[1], w = in.spatial[2];
  Array sums(static_cast<std::size_t>(batch * out * points), 0.0);
  const Array& weights = parameter(parameters, op.weights);
  for_each_volume_product(
      in, out, batch, [&](auto s, auto k, auto d) { at(sums, d) += at(src, s) * at(weights, k); });
  VolumePass pass;
  const auto values = static_cast<std::size_t>(batch * out * pooled);
  pass.winners.resize(values);
  pass.slopes.resize(values);
  pass.dst.resize(values);
  for (std::int64_t plane = 0; plane < batch * out; ++plane) {
    for (std::int64_t p = 0; p < pooled; ++p) {
      const std::int64_t z = p / (h * w / 4), y = p / (w / 2) % (h / 2), x = p % (w / 2);
      std::int64_t winner = -1;
      for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t q =
            plane * points + ((2 * z + i / 4) * h + 2 * y + i / 2 % 2) * w + 2 * x + i % 2;
        if (winner < 0 || at(sums, q) > at(sums, winner)) winner = q;
      }
      const double value = at(sums, winner) + at(bias, plane % out);
      const std::int64_t to = op.dst.spatial.empty()
                                  ? plane / out * out * pooled + p * out + plane % out
                                  : plane * pooled + p;
      const auto place = static_cast<std::size_t>(to);
      pass.winners[place] = winner;
      pass.slopes[place] = value > 0.0 ? 1.0 : op.slope;
      pass.dst[place] = value * pass.slopes[place];
    }
  }
  return pass;
}

}  // namespace

Array volume_values(const Network& net, const Operation& op, const std::vector<Array>& parameters,
                    const Array& src, std::int64_t batch) {
  return volume_pass(net, op, parameters, src, batch).dst;
}

void volume_backward(const Network& net, const Operation& op, const std::vector<Array>& parameters,
                     const Array& src, const Array& diff_dst, std::int64_t batch, Array& diff_src,
                     Pass& pass) {
  const SampleShape& in = net.shape(op.src);
  const auto out = static_cast<std::int64_t>(parameter(parameters, op.bias).size());
  const VolumePass inside = volume_pass(net, op, parameters, src, batch);
  Array diff_sums(static_cast<std::size_t>(batch * out * in.spatial_size()), 0.0);
  Array& diff_bias = pass.parameter_gradients[static_cast<std::size_t>(op.bias)];
  for (std::size_t i = 0; i < diff_dst.size(); ++i) {
    const double gradient = diff_dst[i] * inside.slopes[i];
    at(diff_sums, inside.winners[i]) += gradient;
    at(diff_bias, inside.winners[i] / in.spatial_size() % out) += gradient;
  }
  const Array& weights = parameter(parameters, op.weights);
  Array& diff_weights = pass.parameter_gradients[static_cast<std::size_t>(op.weights)];
  for_each_volume_product(in, out, batch, [&](auto s, auto k, auto d) {
    at(diff_src, s) += at(diff_sums, d) * at(weights, k);
    at(diff_weights, k) += at(diff_sums, d) * at(src, s);
  });
}

double activated(const Operation& op, double x) {
  if (op.function == nn::ActivationFunction::kTanh) return op.scale * std::tanh(x);
  return x > 0.0 ? x : x * op.slope;
}

double activation_slope(const Operation& op, double x) {
  if (op.function == nn::ActivationFunction::kTanh) {
    return op.scale * (1.0 - std::tanh(x) * std::tanh(x));
  }
  return x > 0.0 ? 1.0 : op.slope;
}

Array outputs_first(const Operation& op, const Array& weights) {
  if (!op.inputs_first) return weights;
  Array turned(weights.size());
  const auto out = static_cast<std::size_t>(op.dst.channels), in = weights.size() / out;
  for (std::size_t i = 0; i < weights.size(); ++i) turned[i % out * in + i / out] = weights[i];
  return turned;
}

Array inputs_first(const Operation& op, const Array& weights) {
  if (!op.inputs_first) return weights;
  Array turned(weights.size());
  const auto out = static_cast<std::size_t>(op.dst.channels), in = weights.size() / out;
  for (std::size_t i = 0; i < weights.size(); ++i) turned[i] = weights[i % out * in + i / out];
  return turned;
}

}  // namespace plain
