// The dot interaction, by plain loops over pairs of vectors.
#include "workloads/nn/plain_interaction.h"

#include "workloads/nn/plain_elements.h"

namespace plain {
namespace {

using nn::Network;
using nn::Operation;

/// The vector `i` of sample `n`: its offset in the source, or in the features.
struct Feature {
  bool is_src;
  std::int64_t at;
};
Feature feature(const Network& net, const Operation& op, std::int64_t n, std::int64_t i) {
  const std::int64_t width = net.shape(op.src).channels;
  if (i == 0) return {true, n * width};
  return {false, n * net.shape(*op.features).channels + (i - 1) * width};
}

/// Calls body(feature i, feature j, offset in dst) for each product of the dot interaction.
template <class Body>
void for_each_pair(const Network& net, const Operation& op, std::int64_t batch, const Body& body) {
  const std::int64_t width = net.shape(op.src).channels;
  const std::int64_t count = 1 + net.shape(*op.features).channels / width;
  for (std::int64_t n = 0; n < batch; ++n) {
    std::int64_t to = n * op.dst.channels + width;
    for (std::int64_t i = 1; i < count; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        body(feature(net, op, n, i), feature(net, op, n, j), to++);
      }
    }
  }
}

}  // namespace

void interaction(const Network& net, const Operation& op, const Array& src, const Array& features,
                 std::int64_t batch, Array& dst) {
  const std::int64_t width = net.shape(op.src).channels;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t c = 0; c < width; ++c) {
      at(dst, n * op.dst.channels + c) = at(src, n * width + c);
    }
  }
  for_each_pair(net, op, batch, [&](const Feature& i, const Feature& j, std::int64_t to) {
    for (std::int64_t c = 0; c < width; ++c) {
      at(dst, to) +=
          at(i.is_src ? src : features, i.at + c) * at(j.is_src ? src : features, j.at + c);
    }
  });
}

void interaction_backward(const Network& net, const Operation& op, const Array& src,
                          const Array& features, std::int64_t batch, const Array& diff_dst,
                          Array& diff_src, Array& diff_features) {
  const std::int64_t width = net.shape(op.src).channels;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t c = 0; c < width; ++c) {
      at(diff_src, n * width + c) += at(diff_dst, n * op.dst.channels + c);
    }
  }
  for_each_pair(net, op, batch, [&](const Feature& i, const Feature& j, std::int64_t from) {
    for (std::int64_t c = 0; c < width; ++c) {
      const double g = at(diff_dst, from);
      at(i.is_src ? diff_src : diff_features, i.at + c) +=
          g * at(j.is_src ? src : features, j.at + c);
      at(j.is_src ? diff_src : diff_features, j.at + c) +=
          g * at(i.is_src ? src : features, i.at + c);
    }
  });
}

}  // namespace plain
