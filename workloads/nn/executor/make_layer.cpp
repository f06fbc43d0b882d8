// The layer that an operation needs.
#include "workloads/nn/executor/make_layer.h"

#include "runner/base/error.h"
#include "workloads/nn/layers/make_layers.h"
#include "workloads/nn/products/make_layers.h"

namespace nn {
namespace {

/// Whether it is the last layer and has one output and a bias.
bool is_projection(const Network& network, const Operation& operation) {
  return operation.dst.channels == 1 && !operation.relu && operation.bias >= 0 &&
         &operation == &network.operations().back();
}

}  // namespace

std::unique_ptr<Layer> make_layer(const Operation& operation, Planner& planner) {
  switch (operation.kind) {
    case OperationKind::kInput:
      break;  // the executor fills these
    case OperationKind::kConvolution:
    case OperationKind::kDeconvolution:
    case OperationKind::kDepthwise:
      return make_convolution(operation, planner);
    case OperationKind::kFullyConnected:
      if (!planner.network().is_vector_layer(operation)) return make_dense(operation, planner);
      return is_projection(planner.network(), operation) ? make_projection(operation, planner)
                                                         : make_inner_product(operation, planner);
    case OperationKind::kDotInteraction:
      return make_interaction(operation, planner);
    case OperationKind::kConvolutionPool:
      return make_convolution_pool(operation, planner);
    case OperationKind::kGatherVolume:
      return make_gather_volume(operation, planner);
    case OperationKind::kActivation:
      return make_activation(operation, planner);
    case OperationKind::kConcatenation:
      return make_concatenation(operation, planner);
    case OperationKind::kSpread:
      return make_spread(operation, planner);
    case OperationKind::kBiased:
      return make_biased(operation, planner);
    case OperationKind::kSum:
      return make_sum(operation, planner);
    case OperationKind::kResponseNorm:
      return make_response_norm(operation, planner);
    case OperationKind::kFlatten:
      return make_flatten(operation, planner);
    case OperationKind::kBatchNorm:
      return make_batch_norm(operation, planner);
    case OperationKind::kMaxPool:
      return make_max_pool(operation, planner);
    case OperationKind::kGlobalAveragePool:
      return make_global_average_pool(operation, planner);
  }
  throw base::Error(base::ExitCode::kInternal, "no layer for " + operation.name);
}

}  // namespace nn
