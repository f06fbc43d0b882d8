// Local response normalization across channels, by oneDNN.
#include "workloads/nn/layers/library_layer.h"
#include "workloads/nn/layers/make_layers.h"

namespace nn {

std::unique_ptr<Layer> make_response_norm(const Operation& operation, Planner& planner) {
  const dnnl::memory::desc values = planner.value_desc(operation.src);
  const dnnl::engine& engine = planner.device().engine;
  const auto kind =
      planner.training() ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const auto forward = [=, numbers = operation.response](std::int64_t samples) {
    return describe_response_norm(engine, kind, with_samples(values, samples), numbers);
  };
  const auto gradient = [=, numbers = operation.response](std::int64_t samples) {
    return describe_response_norm_gradient(engine, forward(samples), with_samples(values, samples),
                                           numbers);
  };
  return std::make_unique<LibraryLayer>(
      operation, planner,
      LibraryLayer::Primitives{"response norm ", "response-norm workspaces", true, forward,
                               gradient});
}

}  // namespace nn
