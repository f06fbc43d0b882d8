// Sums the ranks' entries.
#include "analysis/trace_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

namespace analysis {
namespace {

constexpr std::ptrdiff_t kMostNames = 1000;
/// Of which sums over ranks are finite.
constexpr double kMost = 1e18;
constexpr int kRank = 4, kTransfer = 6, kAllTransfers = 5;

void add(const TracedTransfers& one, double steps, TracedTransfers& sum) {
  sum.count += one.count / steps;
  sum.bytes += one.bytes / steps;
  sum.in_flight_s += one.in_flight_s / steps;
  sum.exposed_s += one.exposed_s / steps;
  sum.isolated_s += one.isolated_s / steps;
}

void divide(TracedTransfers& sum, double ranks) {
  for (double* const value :
       {&sum.count, &sum.bytes, &sum.in_flight_s, &sum.exposed_s, &sum.isolated_s}) {
    *value /= ranks;
  }
}

}  // namespace

TracedTransfers TraceEntries::not_measured() {
  TracedTransfers one;
  one.isolated_s = std::numeric_limits<double>::quiet_NaN();
  return one;
}

bool TraceEntries::is_in_transfer(int depth) const {
  if (!is_in_rank()) return false;
  return (depth == kTransfer && keys_[kRank] == "transfers") ||
         (depth == kAllTransfers && keys_[kRank] == "all_transfers");
}

void TraceEntries::key(const std::string& key, int depth) {
  if (depth <= kDeepest) keys_[static_cast<std::size_t>(depth)] = key;
}

void TraceEntries::number(double value, int depth) {
  const bool is_rank = depth == kRank && is_in_rank();
  if (!is_rank && !is_in_transfer(depth)) return;
  const std::string& key = keys_[static_cast<std::size_t>(depth)];
  const std::map<std::string, double*> places =
      is_rank ? std::map<std::string, double*>{{"steps", &rank_.steps},
                                               {"steps_s", &rank_.seconds},
                                               {"exchange_s", &rank_.exchange_s}}
              : std::map<std::string, double*>{{"count", &one_.count},
                                               {"bytes", &one_.bytes},
                                               {"in_flight_s", &one_.in_flight_s},
                                               {"exposed_s", &one_.exposed_s},
                                               {"isolated_s", &one_.isolated_s}};
  const auto place = places.find(key);
  if (place == places.end()) return;
  if (!(value >= 0.0 && value <= kMost) && problem_.empty()) {
    problem_ =
        fmt::format("/otherData/ranks: {}: expected 0 to {:g}, found {:g}", key, kMost, value);
  }
  *place->second = value;
}

void TraceEntries::text(const std::string& value, int depth) {
  if (is_in_transfer(depth) && keys_[static_cast<std::size_t>(depth)] == "name") one_.name = value;
}

void TraceEntries::end_object(int depth) {
  if (is_in_transfer(depth)) {
    if (depth == kTransfer) rank_.transfers.push_back(one_);
    if (depth == kAllTransfers) rank_.all = one_;
    one_ = not_measured();
  } else if (depth == kRank && is_in_rank()) {
    add_rank();
    rank_ = {};
  }
}

void TraceEntries::add_rank() {
  ++ranks_;
  const double steps = std::max(1.0, rank_.steps);
  sums_.seconds += rank_.seconds / steps;
  sums_.exchange_s += rank_.exchange_s / steps;
  for (const TracedTransfers& one : rank_.transfers) {
    auto sum = std::ranges::find(sums_.transfers, one.name, &TracedTransfers::name);
    if (sum == sums_.transfers.end()) {
      sum = sums_.transfers.insert(sum, TracedTransfers{.name = one.name});
    }
    add(one, steps, *sum);
  }
  add(rank_.all, steps, all_);
  if (std::ssize(sums_.transfers) > kMostNames && problem_.empty()) {
    problem_ = fmt::format("/otherData/ranks: expected at most {} names of transfers", kMostNames);
  }
}

TracedStep TraceEntries::means() const {
  TracedStep means = sums_;
  const double ranks = std::max(1.0, ranks_);
  means.seconds /= ranks;
  means.exchange_s /= ranks;
  if (!means.transfers.empty()) {
    means.transfers.push_back(all_);
    means.transfers.back().name = "all";
  }
  for (TracedTransfers& one : means.transfers) divide(one, ranks);
  return means;
}

}  // namespace analysis
