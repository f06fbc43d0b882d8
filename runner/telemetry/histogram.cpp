// Durations in logarithmic buckets.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/units.h"
#include "runner/telemetry/telemetry.h"

namespace telemetry {

namespace {

/// Bucket i holds durations from kGrowth^i up to kGrowth^(i+1) nanoseconds.
constexpr double kGrowth = 1.05;

std::size_t bucket_of(std::int64_t nanoseconds) {
  if (nanoseconds <= 1) return 0;
  return static_cast<std::size_t>(std::log(static_cast<double>(nanoseconds)) / std::log(kGrowth));
}

double middle_ns(std::size_t bucket) {
  return std::pow(kGrowth, static_cast<double>(bucket) + 0.5);
}

}  // namespace

void Histogram::add(std::int64_t nanoseconds) {
  if (nanoseconds < 0) {
    throw base::Error(
        base::ExitCode::kInternal,
        "Histogram: a duration must not be negative, got " + std::to_string(nanoseconds) + " ns");
  }
  const std::size_t bucket = bucket_of(nanoseconds);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  min_ns_ = count_ == 0 ? nanoseconds : std::min(min_ns_, nanoseconds);
  max_ns_ = std::max(max_ns_, nanoseconds);
  total_ns_ += nanoseconds;
  ++count_;
}

double Histogram::quantile_s(double q) const {
  if (count_ == 0) return 0.0;
  if (q <= 0.0) return min_s();
  if (q >= 1.0) return max_s();
  const auto rank = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(count_)));
  std::int64_t passed = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    passed += buckets_[bucket];
    if (passed >= rank) return std::clamp(middle_ns(bucket) * base::kNanosecond, min_s(), max_s());
  }
  return max_s();
}

double Histogram::mean_s() const {
  if (count_ == 0) return 0.0;
  return static_cast<double>(total_ns_) / static_cast<double>(count_) * base::kNanosecond;
}

double Histogram::min_s() const { return static_cast<double>(min_ns_) * base::kNanosecond; }

double Histogram::max_s() const { return static_cast<double>(max_ns_) * base::kNanosecond; }

nlohmann::json Histogram::to_json() const {
  nlohmann::json buckets = nlohmann::json::array();
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (buckets_[bucket] > 0) buckets.push_back({bucket, buckets_[bucket]});
  }
  return {
      {"count", count_},         {"mean", mean_s()},         {"min", min_s()},
      {"p50", quantile_s(0.50)}, {"p90", quantile_s(0.90)},  {"p99", quantile_s(0.99)},
      {"max", max_s()},          {"bucket_growth", kGrowth}, {"bucket_counts", std::move(buckets)}};
}

}  // namespace telemetry
