// Draws ids from a Zipf distribution.
#include "workloads/dlrm/zipf.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runner/base/hash_chain.h"

namespace dlrm {
namespace {

using base::mix;
using base::uniform_of;

constexpr double kFull = 0x1p32;  ///< the share of a slot that always yields its own id

/// Added to an id, which may be fractional, to form the base of the power.
constexpr double kFirstRank = 1.0, kOffset = kFirstRank + kZipfShift;

double weight_of(std::int64_t id, double exponent) {
  return std::pow(static_cast<double>(id) + kOffset, -exponent);
}

}  // namespace

Zipf::Zipf(std::int64_t count, double exponent) : count_(count), exponent_(exponent) {
  std::vector<double> weights(static_cast<std::size_t>(std::min(count, kHead)));
  for (std::size_t id = 0; id < weights.size(); ++id) {
    weights[id] = weight_of(static_cast<std::int64_t>(id), exponent);
  }
  if (count > kHead) {
    // The midpoint rule in reverse: each id represents the unit interval around it.
    tail_ = integral(static_cast<double>(count) - 0.5) - integral(static_cast<double>(kHead) - 0.5);
    weights.push_back(tail_);
  }
  total_ = std::accumulate(weights.begin(), weights.end(), 0.0);
  fill_slots(std::move(weights));
}

/// Walker's alias method: every slot is divided between its own outcome and one other.
/// Source: Vose, "A linear algorithm for generating random numbers with a given distribution",
/// IEEE Trans. Softw. Eng. 17 (1991).
void Zipf::fill_slots(std::vector<double> weights) {
  slots_.resize(weights.size());
  std::vector<std::size_t> small, large;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] *= static_cast<double>(weights.size()) / total_;
    (weights[i] < 1.0 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::size_t low = small.back(), high = large.back();
    small.pop_back();
    slots_[low] = {static_cast<std::uint32_t>(weights[low] * kFull),
                   static_cast<std::int32_t>(high)};
    weights[high] -= 1.0 - weights[low];
    if (weights[high] < 1.0) {
      large.pop_back();
      small.push_back(high);
    }
  }
  // The remaining slots are full, up to rounding.
  for (const auto* rest : {&small, &large}) {
    for (const std::size_t i : *rest) slots_[i] = {0, static_cast<std::int32_t>(i)};
  }
}

double Zipf::integral(double x) const {
  return -std::pow(x + kOffset, 1.0 - exponent_) / (exponent_ - 1.0);
}

std::int64_t Zipf::draw_tail(std::uint64_t hash) const {
  const double low = integral(static_cast<double>(kHead) - 0.5);
  const double reached = low + uniform_of(hash) * tail_;
  const double x = std::pow((1.0 - exponent_) * reached, 1.0 / (1.0 - exponent_)) - kOffset;
  return std::clamp(std::llround(x), static_cast<long long>(kHead),
                    static_cast<long long>(count_) - 1);
}

std::int64_t Zipf::draw(std::uint64_t hash) const {
  const auto upper = static_cast<std::uint64_t>(hash >> 32);
  const auto slot = static_cast<std::size_t>((upper * slots_.size()) >> 32);
  const bool is_own = static_cast<std::uint32_t>(hash) < slots_[slot].share;
  const std::int64_t id =
      is_own ? static_cast<std::int64_t>(slot) : std::int64_t{slots_[slot].other};
  return id < kHead ? id : draw_tail(mix(hash));
}

double Zipf::probability(std::int64_t id) const { return weight_of(id, exponent_) / total_; }

}  // namespace dlrm
