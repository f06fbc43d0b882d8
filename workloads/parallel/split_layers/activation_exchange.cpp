// Chooses collectives, and performs them as redistributions.
#include "workloads/parallel/split_layers/activation_exchange.h"

#include "runner/base/error.h"

namespace parallel {
namespace {

constexpr const char* kForwardTransfer = "activations";
constexpr const char* kBackwardTransfer = "gradients of activations";

std::vector<Share> shares_of(const Distribution& distribution, const ActivationEdge& edge,
                             int ranks) {
  std::vector<Share> shares;
  for (int rank = 0; rank < ranks; ++rank) {
    shares.push_back(share_of(distribution, rank, ranks, edge.samples, edge.shape));
  }
  return shares;
}

/// One redistribution of a forward pass.
struct Move {
  std::vector<Share> from, wanted;
  Sources sources;
};

/// An allreduce is a reduce-scatter and an all-gather, which send less than every rank's sums to
/// all others would.
std::vector<Move> forward_moves(const ActivationEdge& edge, int ranks) {
  const std::vector<Share> made = made_shares(edge, ranks), wanted = wanted_shares(edge, ranks);
  if (!edge.has_partial_sums) return {{made, wanted, Sources::kOne}};
  if (collective_of(edge.from, edge.to, true) != ActivationCollective::kAllreduce) {
    return {{made, wanted, Sources::kAll}};
  }
  const std::vector<Share> parts = shares_of(edge.from, edge, ranks);
  return {{made, parts, Sources::kAll}, {parts, wanted, Sources::kOne}};
}

}  // namespace

ActivationCollective collective_of(const Distribution& from, const Distribution& to,
                                   bool has_partial_sums) {
  using enum ActivationCollective;
  if (!has_partial_sums) return from == to ? kNone : kAlltoall;
  if (from == to) return kReduceScatter;
  if (to.group == 1) return kReduceScatterToSamples;
  if (to.group == from.group) return kAllreduce;
  return kReduceAlltoall;
}

const char* forward_name(ActivationCollective collective) {
  switch (collective) {
    case ActivationCollective::kNone:
      return "none";
    case ActivationCollective::kReduceScatter:
    case ActivationCollective::kReduceScatterToSamples:
      return "reduce-scatter";
    case ActivationCollective::kAllreduce:
      return "allreduce";
    case ActivationCollective::kAlltoall:
      return "alltoall";
    case ActivationCollective::kReduceAlltoall:
      return "reduce and alltoall";
  }
  throw base::Error(base::ExitCode::kInternal, "no such exchange of activations");
}

const char* backward_name(ActivationCollective collective) {
  switch (collective) {
    case ActivationCollective::kNone:
    case ActivationCollective::kAllreduce:
      return "none";
    case ActivationCollective::kReduceScatter:
    case ActivationCollective::kReduceScatterToSamples:
      return "all-gather";
    case ActivationCollective::kAlltoall:
    case ActivationCollective::kReduceAlltoall:
      return "alltoall";
  }
  throw base::Error(base::ExitCode::kInternal, "no such exchange of activations");
}

std::vector<Share> made_shares(const ActivationEdge& edge, int ranks) {
  std::vector<Share> shares = shares_of(edge.from, edge, ranks);
  for (Share& share : shares) {
    if (edge.has_partial_sums) share.features = {0, edge.shape.count()};
  }
  return shares;
}

std::vector<Share> wanted_shares(const ActivationEdge& edge, int ranks) {
  return shares_of(edge.to, edge, ranks);
}

std::int64_t activation_bytes(const ActivationEdge& edge, int ranks) {
  std::int64_t bytes =
      bytes_between(wanted_shares(edge, ranks), made_shares(edge, ranks), Sources::kOne);
  for (const Move& move : forward_moves(edge, ranks)) {
    bytes += bytes_between(move.from, move.wanted, move.sources);
  }
  return bytes;
}

ActivationExchange::ActivationExchange(const runner::Communicator& world,
                                       telemetry::Telemetry& telemetry, const ActivationEdge& edge)
    : backward_(world, telemetry, kBackwardTransfer, wanted_shares(edge, world.size()),
                made_shares(edge, world.size()), Sources::kOne) {
  const auto me = static_cast<std::size_t>(world.rank());
  made_ = made_shares(edge, world.size())[me];
  wanted_ = wanted_shares(edge, world.size())[me];
  const std::vector<Move> moves = forward_moves(edge, world.size());
  for (const Move& move : moves) {
    forward_.emplace_back(world, telemetry, kForwardTransfer, move.from, move.wanted, move.sources);
  }
  if (moves.size() > 1) between_.resize(static_cast<std::size_t>(moves[0].wanted[me].count()));
}

void ActivationExchange::forward(std::span<const float> made, std::span<float> wanted) {
  if (forward_.size() == 1) return forward_[0].run(made, wanted);
  forward_[0].run(made, between_);
  forward_[1].run(between_, wanted);
}

void ActivationExchange::backward(std::span<const float> wanted, std::span<float> made) {
  backward_.run(wanted, made);
}

}  // namespace parallel
