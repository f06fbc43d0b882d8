// The exchange of activations between two layers, and of their gradients on the way back, which
// follows from how the two layers are distributed.
// Source: Sridharan et al., arXiv:1801.08030, the five cases of its activation exchange.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/split_layers/distribution.h"
#include "workloads/parallel/split_layers/redistribution.h"

namespace parallel {

/// What the forward pass performs; the backward pass performs the reverse.
enum class ActivationCollective {
  kNone,
  kReduceScatter,           ///< of partial sums, in the same groups; backward: all-gather
  kAllreduce,               ///< all ranks of the same groups go on with everything; backward: none
  kReduceScatterToSamples,  ///< each rank goes on with samples of its own; backward: all-gather
  kAlltoall,                ///< without partial sums; backward: alltoall
  kReduceAlltoall           ///< partial sums, to groups of another size
};
ActivationCollective collective_of(const Distribution& from, const Distribution& to,
                                   bool has_partial_sums);
/// "reduce-scatter" ...: of the forward pass, and of the backward pass.
const char* forward_name(ActivationCollective collective);
const char* backward_name(ActivationCollective collective);

/// The value between two layers.
struct ActivationEdge {
  Distribution from, to;
  /// The first layer, which splits features, gives partial sums of all features.
  bool has_partial_sums = false;
  std::int64_t samples = 0;  ///< of a pass, on all ranks
  FeatureShape shape;
};
/// What each rank makes of it: all features where these are partial sums.
std::vector<Share> made_shares(const ActivationEdge& edge, int ranks);
/// What each rank goes on with.
std::vector<Share> wanted_shares(const ActivationEdge& edge, int ranks);
/// Bytes that all ranks together send in both passes.
std::int64_t activation_bytes(const ActivationEdge& edge, int ranks);

class ActivationExchange {
 public:
  /// `world` and `telemetry` outlive this.
  ActivationExchange(const runner::Communicator& world, telemetry::Telemetry& telemetry,
                     const ActivationEdge& edge);
  /// Collective. From this rank's made share to its wanted one.
  void forward(std::span<const float> made, std::span<float> wanted);
  /// Collective. From the gradient of what it wanted to that of what it made.
  void backward(std::span<const float> wanted, std::span<float> made);
  const Share& made() const { return made_; }
  const Share& wanted() const { return wanted_; }

 private:
  Share made_, wanted_;
  std::vector<Redistribution> forward_;  ///< one after the other
  std::vector<float> between_;           ///< of two
  Redistribution backward_;
};

}  // namespace parallel
