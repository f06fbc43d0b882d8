// Batch norm by plain loops.
#include "workloads/nn/plain_batch_norm.h"

#include <cmath>

#include "workloads/nn/plain_elements.h"

namespace plain {

using nn::Operation;

namespace {

struct Moments {
  double mean, variance;
};

Moments group_moments(const Array& src, std::int64_t channels, std::int64_t points,
                      std::int64_t first, std::int64_t size, std::int64_t c) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::int64_t n = first; n < first + size; ++n) {
    for (std::int64_t p = 0; p < points; ++p) sum += at(src, (n * channels + c) * points + p);
  }
  const double mean = sum / static_cast<double>(size * points);
  for (std::int64_t n = first; n < first + size; ++n) {
    for (std::int64_t p = 0; p < points; ++p)
      squares += std::pow(at(src, (n * channels + c) * points + p) - mean, 2);
  }
  return {mean, squares / static_cast<double>(size * points)};
}

Moments moments_for(const Operation& op, const Options& options, const Array& src,
                    std::int64_t first, std::int64_t c) {
  if (!options.training) {
    const auto s = static_cast<std::size_t>(op.statistics);
    return {at(options.running_mean[s], c), at(options.running_variance[s], c)};
  }
  return group_moments(src, op.dst.channels, op.dst.spatial_size(), first, options.group_size, c);
}

double gamma_of(const Operation& op, const std::vector<Array>& parameters, std::int64_t c) {
  return op.weights < 0 ? 1.0 : at(parameter(parameters, op.weights), c);
}

}  // namespace

void batch_norm(const Operation& op, const std::vector<Array>& parameters, const Options& options,
                const Array& src, const Array* residual, Array& dst, Pass& pass) {
  const std::int64_t channels = op.dst.channels;
  const std::int64_t points = op.dst.spatial_size();
  const auto s = static_cast<std::size_t>(op.statistics);
  const double groups = static_cast<double>(options.batch / options.group_size);
  const double count = static_cast<double>(options.group_size * points);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t first = 0; first < options.batch; first += options.group_size) {
      const Moments m = moments_for(op, options, src, first, c);
      at(pass.running_mean[s], c) += op.momentum * m.mean / groups;
      at(pass.running_variance[s], c) +=
          op.momentum * m.variance * (count > 1 ? count / (count - 1) : 1.0) / groups;
      for (std::int64_t n = first; n < first + options.group_size; ++n) {
        for (std::int64_t p = 0; p < points; ++p) {
          const std::int64_t i = (n * channels + c) * points + p;
          double y = (at(src, i) - m.mean) / std::sqrt(m.variance + op.epsilon) *
                         gamma_of(op, parameters, c) +
                     (op.bias < 0 ? 0.0 : at(parameter(parameters, op.bias), c));
          if (residual != nullptr) y += at(*residual, i);
          at(dst, i) = op.relu && y < 0.0 ? 0.0 : y;
        }
      }
    }
  }
}

void batch_norm_backward(const Operation& op, const std::vector<Array>& parameters,
                         const Options& options, const Array& src, const Array& dst,
                         const Array& diff_dst, Array& diff_src, Array* diff_residual, Pass& pass) {
  const std::int64_t channels = op.dst.channels;
  const std::int64_t points = op.dst.spatial_size();
  const double count = static_cast<double>(options.group_size * points);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t first = 0; first < options.batch; first += options.group_size) {
      const Moments m = moments_for(op, options, src, first, c);
      const double inverse = 1.0 / std::sqrt(m.variance + op.epsilon);
      // Batch statistics depend on the batch's values; running ones do not.
      const double moving = options.training ? 1.0 : 0.0;
      double sum = 0.0;
      double product_sum = 0.0;
      const auto each = [&](const auto& body) {
        for (std::int64_t n = first; n < first + options.group_size; ++n) {
          for (std::int64_t p = 0; p < points; ++p) {
            const std::int64_t i = (n * channels + c) * points + p;
            // The gradient that goes on to a residual is stored before it is used.
            const double g = op.relu && at(dst, i) <= 0.0 ? 0.0 : at(diff_dst, i);
            const bool is_stored = options.rounded != nullptr && options.training && op.residual;
            body(i, is_stored ? options.rounded(g) : g, (at(src, i) - m.mean) * inverse);
          }
        }
      };
      each([&](std::int64_t, double g, double x) {
        sum += g;
        product_sum += g * x;
      });
      if (op.weights >= 0) {
        at(pass.parameter_gradients[static_cast<std::size_t>(op.weights)], c) += product_sum;
        at(pass.parameter_gradients[static_cast<std::size_t>(op.bias)], c) += sum;
      }
      each([&](std::int64_t i, double g, double x) {
        at(diff_src, i) +=
            gamma_of(op, parameters, c) * inverse * (g - moving * (sum + x * product_sum) / count);
        if (diff_residual != nullptr) at(*diff_residual, i) += g;
      });
    }
  }
}

}  // namespace plain
