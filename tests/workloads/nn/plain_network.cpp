// Every operation by plain loops, over any number of spatial axes.
#include "workloads/nn/plain_network.h"

#include <cmath>
#include <limits>

#include "workloads/nn/plain_batch_norm.h"
#include "workloads/nn/plain_elements.h"
#include "workloads/nn/plain_image.h"
#include "workloads/nn/plain_interaction.h"
#include "workloads/nn/plain_volume.h"

namespace plain {
namespace {

using Index = std::vector<std::int64_t>;
using nn::Network;
using nn::Operation;
using nn::OperationKind;
using nn::SampleShape;

std::int64_t product(const Index& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

Index unravel(std::int64_t flat, const Index& extents) {
  Index index(extents.size());
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    index[axis] = flat % extents[axis];
    flat /= extents[axis];
  }
  return index;
}

/// The source pixel of tap `k` for destination pixel `d`, or -1 in the padding.
std::int64_t source_point(const Operation& op, const Index& in, std::int64_t d, std::int64_t k) {
  const Index at = unravel(d, op.dst.spatial);
  const Index tap = unravel(k, op.kernel);
  std::int64_t flat = 0;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    const std::int64_t apart = op.dilation.empty() ? 1 : op.dilation[axis];
    const std::int64_t i = at[axis] * op.stride[axis] + tap[axis] * apart - op.padding.begin[axis];
    if (i < 0 || i >= in[axis]) return -1;
    flat = flat * in[axis] + i;
  }
  return flat;
}

struct Sizes {
  std::int64_t n, ci, co, pi, po, taps;
  Sizes(const Network& net, const Operation& op, std::int64_t batch)
      : n(batch),
        ci(net.shape(op.src).channels),
        co(op.dst.channels),
        pi(net.shape(op.src).spatial_size()),
        po(op.dst.spatial_size()),
        taps(product(op.kernel)) {}
};

/// Calls body(src index, weight index, dst index) for every product of a convolution.
template <class Body>
void for_each_product(const Network& net, const Operation& op, std::int64_t batch,
                      const Body& body) {
  const Sizes s(net, op, batch);
  const Index& in = net.shape(op.src).spatial;
  for (std::int64_t d = 0; d < s.po; ++d) {
    for (std::int64_t k = 0; k < s.taps; ++k) {
      const std::int64_t p = source_point(op, in, d, k);
      if (p < 0) continue;
      for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t o = 0; o < s.co; ++o) {
          const std::int64_t shared = s.ci / op.groups, first = o / (s.co / op.groups) * shared;
          for (std::int64_t c = 0; c < shared; ++c) {
            body((n * s.ci + first + c) * s.pi + p, (o * shared + c) * s.taps + k,
                 (n * s.co + o) * s.po + d);
          }
        }
      }
    }
  }
}

void convolution(const Network& net, const Operation& op, const Array& w, const Array& src,
                 std::int64_t batch, Array& dst) {
  for_each_product(net, op, batch,
                   [&](auto s, auto k, auto d) { at(dst, d) += at(src, s) * at(w, k); });
}

void max_pool(const Network& net, const Operation& op, const Array& src, std::int64_t batch,
              Array& dst, std::vector<std::int64_t>& winners) {
  const Sizes s(net, op, batch);
  winners.assign(dst.size(), -1);
  for (std::int64_t plane = 0; plane < s.n * s.co; ++plane) {
    for (std::int64_t d = 0; d < s.po; ++d) {
      double best = -std::numeric_limits<double>::infinity();
      for (std::int64_t k = 0; k < s.taps; ++k) {
        const std::int64_t p = source_point(op, net.shape(op.src).spatial, d, k);
        if (p >= 0 && at(src, plane * s.pi + p) > best) {
          best = at(src, plane * s.pi + p);
          winners[static_cast<std::size_t>(plane * s.po + d)] = plane * s.pi + p;
        }
      }
      at(dst, plane * s.po + d) = best;
    }
  }
}

/// Whether the output of `op`, which a classifier or a loss reads, is stored as floats at any
/// precision.
bool makes_floats(const Network& net, const Operation& op) {
  if (op.kind == OperationKind::kGlobalAveragePool) return true;
  if (op.kind == OperationKind::kActivation) {
    return makes_floats(net, net.operations()[static_cast<std::size_t>(op.src)]);
  }
  if (op.kind == OperationKind::kConvolutionPool) return op.dst.spatial.empty();
  if (op.kind == OperationKind::kDeconvolution) return &op == &net.operations().back();
  if (op.kind != OperationKind::kFullyConnected) return false;
  const Operation& maker = net.operations()[static_cast<std::size_t>(op.src)];
  return maker.kind == OperationKind::kGlobalAveragePool ||
         maker.kind == OperationKind::kConvolutionPool ||
         (maker.kind == OperationKind::kActivation && makes_floats(net, maker)) ||
         &op == &net.operations().back();
}

/// Rounds `values`, the output of `op`, if the options ask for it.
void store(const Network& net, const Operation& op, const Options& options, Array& values) {
  if (options.rounded == nullptr || makes_floats(net, op)) return;
  for (double& value : values) value = options.rounded(value);
}

/// The same for their gradient, or a contribution to it. Gradients of volumes are floats at any
/// precision.
void store_gradient(const Network& net, const Operation& op, const Options& options,
                    Array& values) {
  if (op.kind != OperationKind::kConvolutionPool) store(net, op, options, values);
}

/// Whether a batch norm's output is computed only where another one adds it, and is never stored.
bool is_made_where_added(const Network& net, std::size_t operation) {
  const Operation& op = net.operations()[operation];
  const auto value = static_cast<nn::ValueId>(operation);
  if (op.kind != OperationKind::kBatchNorm || op.relu || op.residual) return false;
  int readers = 0, adders = 0;
  for (const Operation& other : net.operations()) {
    readers += other.src == value ? 1 : 0;
    adders += other.residual == value ? 1 : 0;
  }
  return readers == 0 && adders == 1;
}

/// The gradients that one operation contributes: stored (rounded) first, then added.
class Parts {
 public:
  Parts(const Network& net, const Operation& op, const Options& options, Pass& pass)
      : net_(net), options_(options), pass_(pass), src_(zeros(op.src)) {
    if (op.residual) residual_ = zeros(*op.residual);
    if (op.features) features_ = zeros(*op.features);
    for (const nn::ValueId value : op.others) others_.push_back(zeros(value));
  }
  Array& src() { return src_; }
  Array* residual() { return residual_.empty() ? nullptr : &residual_; }
  Array& features() { return features_; }
  /// Of src and the others.
  std::vector<Array*> all() {
    std::vector<Array*> arrays = {&src_};
    for (Array& other : others_) arrays.push_back(&other);
    return arrays;
  }
  void add(const Operation& op) {
    add(op.src, src_);
    if (op.residual) add(*op.residual, residual_);
    if (op.features) add(*op.features, features_);
    for (std::size_t i = 0; i < others_.size(); ++i) add(op.others[i], others_[i]);
  }

 private:
  Array zeros(nn::ValueId value) const {
    return Array(pass_.value_gradients[static_cast<std::size_t>(value)].size(), 0.0);
  }
  void add(nn::ValueId value, Array& part) {
    const auto maker = static_cast<std::size_t>(value);
    store_gradient(net_, net_.operations()[maker], options_, part);
    for (std::size_t i = 0; i < part.size(); ++i) pass_.value_gradients[maker][i] += part[i];
  }
  const Network& net_;
  const Options& options_;
  Pass& pass_;
  Array src_, residual_, features_;
  std::vector<Array> others_;
};

/// The values that an operation reads: src and the others.
std::vector<const Array*> sources_of(const Operation& op, const Pass& pass) {
  std::vector<const Array*> sources = {&pass.values[static_cast<std::size_t>(op.src)]};
  for (const nn::ValueId value : op.others) {
    sources.push_back(&pass.values[static_cast<std::size_t>(value)]);
  }
  return sources;
}

}  // namespace

Pass forward(const Network& net, const std::vector<Array>& parameters, const Array& input,
             const Options& options) {
  Pass pass;
  for (const auto& s : net.statistics()) {
    pass.running_mean.emplace_back(static_cast<std::size_t>(s.channels), 0.0);
    pass.running_variance.emplace_back(static_cast<std::size_t>(s.channels), 0.9);
  }
  const auto inputs = static_cast<std::size_t>(net.inputs());
  for (std::size_t i = 0; i < inputs; ++i) {
    pass.values.push_back(i == 0 ? input : options.later_inputs.at(i - 1));
    store(net, net.operations()[i], options, pass.values.back());
  }
  for (std::size_t i = inputs; i < net.operations().size(); ++i) {
    const Operation& op = net.operations()[i];
    const Array& src = pass.values[static_cast<std::size_t>(op.src)];
    Array dst(static_cast<std::size_t>(options.batch * op.dst.channels * op.dst.spatial_size()),
              0.0);
    std::vector<std::int64_t> winners;
    if (op.kind == OperationKind::kConvolution || op.kind == OperationKind::kFullyConnected) {
      convolution(net, op, outputs_first(op, parameter(parameters, op.weights)), src, options.batch,
                  dst);
      if (op.bias >= 0) {
        for (std::int64_t e = 0; e < options.batch * op.dst.size(); ++e) {
          at(dst, e) +=
              at(parameter(parameters, op.bias), e / op.dst.spatial_size() % op.dst.channels);
        }
      }
      for (double& value : dst) value = op.relu && value < 0.0 ? 0.0 : value;
    } else if (op.kind == OperationKind::kDotInteraction) {
      interaction(net, op, src, pass.values[static_cast<std::size_t>(*op.features)], options.batch,
                  dst);
    } else if (is_of_images(op)) {
      dst = image_values(net, op, parameters, sources_of(op, pass), options.batch);
    } else if (op.kind == OperationKind::kConvolutionPool) {
      dst = volume_values(net, op, parameters, src, options.batch);
    } else if (op.kind == OperationKind::kActivation) {
      for (std::size_t e = 0; e < src.size(); ++e) dst[e] = activated(op, src[e]);
    } else if (op.kind == OperationKind::kSum) {
      const Array& other = pass.values[static_cast<std::size_t>(*op.residual)];
      for (std::size_t e = 0; e < src.size(); ++e) dst[e] = src[e] + other[e];
    } else if (op.kind == OperationKind::kBiased) {
      for (std::size_t e = 0; e < src.size(); ++e) {
        const std::int64_t channel = static_cast<std::int64_t>(e) / op.dst.spatial_size();
        const double bias =
            op.bias < 0 ? 0.0 : at(parameter(parameters, op.bias), channel % op.dst.channels);
        dst[e] = op.relu && src[e] + bias < 0.0 ? 0.0 : src[e] + bias;
      }
    } else if (op.kind == OperationKind::kMaxPool) {
      max_pool(net, op, src, options.batch, dst, winners);
    } else if (op.kind == OperationKind::kGlobalAveragePool) {
      const std::int64_t points = net.shape(op.src).spatial_size();
      for (std::size_t e = 0; e < src.size(); ++e) {
        dst[e / static_cast<std::size_t>(points)] += src[e] / static_cast<double>(points);
      }
    } else {
      const Array* residual =
          op.residual ? &pass.values[static_cast<std::size_t>(*op.residual)] : nullptr;
      batch_norm(op, parameters, options, src, residual, dst, pass);
    }
    if (!is_made_where_added(net, i)) store(net, op, options, dst);
    pass.values.push_back(std::move(dst));
  }
  return pass;
}

void backward(const Network& net, const std::vector<Array>& parameters, const Options& options,
              const Array& upstream, Pass& pass) {
  pass.parameter_gradients.clear();
  for (const auto& p : net.parameters())
    pass.parameter_gradients.emplace_back(static_cast<std::size_t>(p.count()), 0.0);
  pass.value_gradients.clear();
  for (const Array& value : pass.values) pass.value_gradients.emplace_back(value.size(), 0.0);
  pass.value_gradients.back() = upstream;
  for (std::size_t i = net.operations().size(); i-- > static_cast<std::size_t>(net.inputs());) {
    const Operation& op = net.operations()[i];
    const Array& src = pass.values[static_cast<std::size_t>(op.src)];
    // A batch norm adds up its gradient on the fly; for other operations the sum is stored.
    if (op.kind != OperationKind::kBatchNorm) {
      store_gradient(net, op, options, pass.value_gradients[i]);
    }
    const bool masks =
        op.kind == OperationKind::kFullyConnected || op.kind == OperationKind::kBiased;
    if (masks && op.relu) {
      for (std::size_t e = 0; e < pass.values[i].size(); ++e) {
        if (pass.values[i][e] <= 0.0) pass.value_gradients[i][e] = 0.0;
      }
    }
    const Array& diff_dst = pass.value_gradients[i];
    Parts parts(net, op, options, pass);
    Array& diff_src = parts.src();
    if (op.kind == OperationKind::kConvolution || op.kind == OperationKind::kFullyConnected) {
      const Array w = outputs_first(op, parameter(parameters, op.weights));
      Array diff_w(w.size(), 0.0);
      for_each_product(net, op, options.batch, [&](auto s, auto k, auto d) {
        at(diff_src, s) += at(diff_dst, d) * at(w, k);
        at(diff_w, k) += at(diff_dst, d) * at(src, s);
      });
      pass.parameter_gradients[static_cast<std::size_t>(op.weights)] = inputs_first(op, diff_w);
      for (std::int64_t e = 0; op.bias >= 0 && e < options.batch * op.dst.size(); ++e) {
        at(pass.parameter_gradients[static_cast<std::size_t>(op.bias)],
           e / op.dst.spatial_size() % op.dst.channels) += at(diff_dst, e);
      }
    } else if (op.kind == OperationKind::kDotInteraction) {
      interaction_backward(net, op, src, pass.values[static_cast<std::size_t>(*op.features)],
                           options.batch, diff_dst, diff_src, parts.features());
    } else if (is_of_images(op)) {
      image_backward(net, op, parameters, sources_of(op, pass), diff_dst, options.batch,
                     parts.all(), pass);
    } else if (op.kind == OperationKind::kConvolutionPool) {
      volume_backward(net, op, parameters, src, diff_dst, options.batch, diff_src, pass);
    } else if (op.kind == OperationKind::kActivation) {
      for (std::size_t e = 0; e < src.size(); ++e) {
        diff_src[e] += diff_dst[e] * activation_slope(op, src[e]);
      }
    } else if (op.kind == OperationKind::kSum) {
      for (Array* const part : {&diff_src, parts.residual()}) *part = diff_dst;
    } else if (op.kind == OperationKind::kBiased) {
      for (std::size_t e = 0; e < src.size(); ++e) {
        const std::int64_t channel = static_cast<std::int64_t>(e) / op.dst.spatial_size();
        diff_src[e] += diff_dst[e];
        if (op.bias >= 0) {
          at(pass.parameter_gradients[static_cast<std::size_t>(op.bias)],
             channel % op.dst.channels) += diff_dst[e];
        }
      }
    } else if (op.kind == OperationKind::kMaxPool) {
      Array dst(pass.values[i].size());
      std::vector<std::int64_t> winners;
      max_pool(net, op, src, options.batch, dst, winners);
      for (std::size_t e = 0; e < winners.size(); ++e) at(diff_src, winners[e]) += diff_dst[e];
    } else if (op.kind == OperationKind::kGlobalAveragePool) {
      const auto points = static_cast<std::size_t>(net.shape(op.src).spatial_size());
      for (std::size_t e = 0; e < diff_src.size(); ++e)
        diff_src[e] += diff_dst[e / points] / static_cast<double>(points);
    } else {
      batch_norm_backward(op, parameters, options, src, pass.values[i], diff_dst, diff_src,
                          parts.residual(), pass);
    }
    parts.add(op);
  }
}

double relative_l2(const Array& a, const Array& b) {
  double distance = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    distance += (a.at(i) - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return norm == 0.0 ? std::sqrt(distance) : std::sqrt(distance / norm);
}

double relative_l2(const std::vector<float>& a, const Array& b) {
  return relative_l2(Array(a.begin(), a.end()), b);
}

}  // namespace plain
