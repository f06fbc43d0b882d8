// Finds ranks whose own work lasts longer than the median rank's while the others wait in exchange.
#include "analysis/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "runner/base/units.h"
#include "runner/telemetry/report_file.h"

namespace analysis {
namespace {

using telemetry::RankReport;
using telemetry::Subsystem;
using Figures = std::vector<double>;  ///< one per rank

/// Smaller differences are noise: seconds, fraction of the phase and of the run, median deviations.
constexpr double kLeastSeconds = 0.5;
constexpr double kLeastPart = 0.05;
constexpr double kLeastOfRun = 0.02;
constexpr double kLeastDeviations = 6.0;
/// The others must have waited for at least this fraction of a rank's longer_s.
constexpr double kLeastWaited = 0.5;
/// Exchange is reported if it takes at least this fraction of the training on every rank.
constexpr double kMuchExchange = 1.0 / 3.0;
/// Parts of a rank's work below this fraction of its longer_s are left out.
constexpr double kLeastShown = 0.1;
constexpr std::size_t kShownHosts = 8;
constexpr double kMega = 1e6;

std::size_t index(Subsystem subsystem) { return static_cast<std::size_t>(subsystem); }

/// The smaller of the two in the middle for an even count, so that at most half are above it.
double median(Figures figures) {
  if (figures.empty()) return 0.0;
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>((figures.size() - 1) / 2);
  std::nth_element(figures.begin(), middle, figures.end());
  return *middle;
}

double median_deviation(const Figures& figures, double from) {
  Figures deviations;
  for (const double figure : figures) deviations.push_back(std::abs(figure - from));
  return median(std::move(deviations));
}

/// A part of the run at whose end ranks wait for each other. `work` is the sum of `parts`, all per
/// rank; `exchange` includes the waiting.
struct Phase {
  std::string name;
  std::vector<std::pair<std::string, Figures>> parts;
  Figures work, exchange;

  void add_part(const telemetry::Report& report, const std::string& part,
                const std::function<double(const RankReport&)>& seconds) {
    Figures figures;
    for (const RankReport& rank : report.ranks) figures.push_back(seconds(rank));
    work.resize(figures.size());
    for (std::size_t r = 0; r < figures.size(); ++r) work[r] += figures[r];
    parts.emplace_back(part, std::move(figures));
  }
  double mean_s() const {
    double sum = 0.0;
    for (std::size_t r = 0; r < work.size(); ++r) sum += work[r] + exchange[r];
    return work.empty() ? 0.0 : sum / static_cast<double>(work.size());
  }
};

Phase training_of(const telemetry::Report& report) {
  Phase phase{"training", {}, {}, {}};
  for (const Subsystem part : {Subsystem::kInput, Subsystem::kForward, Subsystem::kBackward,
                               Subsystem::kOptimizer, Subsystem::kOther}) {
    phase.add_part(report, telemetry::to_string(part),
                   [&](const RankReport& rank) { return rank.subsystems_s[index(part)]; });
  }
  for (const RankReport& rank : report.ranks) {
    phase.exchange.push_back(rank.subsystems_s[index(Subsystem::kExchange)]);
  }
  return phase;
}

/// The phase of a subsystem whose seconds include its inner scopes: a part for each subsystem of
/// inner scopes, and the rest under its own name.
Phase phase_of(const telemetry::Report& report, Subsystem outer) {
  Phase phase{telemetry::to_string(outer), {}, {}, {}};
  for (int i = 0; i < telemetry::kSubsystemCount; ++i) {
    const auto part = static_cast<Subsystem>(i);
    if (part == outer || part == Subsystem::kExchange) continue;
    phase.add_part(report, telemetry::to_string(part), [&](const RankReport& rank) {
      return rank.within_s[index(outer)][index(part)];
    });
  }
  phase.add_part(report, telemetry::to_string(outer), [&](const RankReport& rank) {
    double rest = rank.subsystems_s[index(outer)];
    for (const double seconds : rank.within_s[index(outer)]) rest -= seconds;
    return std::max(rest, 0.0);
  });
  for (const RankReport& rank : report.ranks) {
    phase.exchange.push_back(rank.within_s[index(outer)][index(Subsystem::kExchange)]);
  }
  return phase;
}

std::vector<std::pair<std::string, double>> where_longer(const Phase& phase, std::size_t rank,
                                                         double longer_s) {
  std::vector<std::pair<std::string, double>> where;
  for (const auto& [name, figures] : phase.parts) {
    const double seconds = figures[rank] - median(figures);
    if (seconds >= kLeastShown * longer_s) where.emplace_back(name, seconds);
  }
  std::sort(where.begin(), where.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  return where;
}

void add_stragglers(const telemetry::Report& report, const Phase& phase,
                    std::vector<Straggler>& found) {
  const double usual_s = median(phase.work);
  const double least_s =
      std::max({kLeastSeconds, kLeastPart * phase.mean_s(), kLeastOfRun * report.wall_s().mean,
                kLeastDeviations * median_deviation(phase.work, usual_s)});
  Figures others;
  for (std::size_t r = 0; r < phase.work.size(); ++r) {
    if (phase.work[r] - usual_s < least_s) others.push_back(phase.exchange[r]);
  }
  const double others_s = median(others);
  for (std::size_t r = 0; r < phase.work.size(); ++r) {
    const double longer_s = phase.work[r] - usual_s;
    const double waited_s = others_s - phase.exchange[r];
    if (longer_s < least_s || waited_s < kLeastWaited * longer_s) continue;
    const telemetry::RankIdentity& who = report.ranks[r].identity;
    found.push_back({phase.name, who.rank, who.node, who.host, longer_s, waited_s,
                     where_longer(phase, r, longer_s)});
  }
}

double mean_rate(const telemetry::Report& report) {
  double bytes = 0.0, seconds = 0.0;
  for (const RankReport& rank : report.ranks) {
    bytes += static_cast<double>(
        rank.counters[static_cast<std::size_t>(telemetry::Counter::kBytesSent)]);
    seconds += base::kNanosecond *
               static_cast<double>(
                   rank.counters[static_cast<std::size_t>(telemetry::Counter::kExchangeTotalNs)]);
  }
  return seconds > 0.0 ? bytes / seconds : 0.0;
}

std::optional<SlowExchange> slow_exchange_of(const telemetry::Report& report,
                                             const Phase& training) {
  SlowExchange slow;
  slow.least_s = *std::min_element(training.exchange.begin(), training.exchange.end());
  const double whole_s = training.mean_s();
  if (slow.least_s < std::max(kLeastSeconds, kMuchExchange * whole_s)) return std::nullopt;
  slow.percent = base::kPercent * slow.least_s / whole_s;
  slow.bytes_per_s = mean_rate(report);
  std::set<int> nodes;
  for (const RankReport& rank : report.ranks) {
    if (nodes.insert(rank.identity.node).second) slow.hosts.push_back(rank.identity.host);
  }
  slow.nodes = static_cast<int>(nodes.size());
  return slow;
}

}  // namespace

Waiting find_waiting(const telemetry::Report& report) {
  Waiting waiting;
  if (report.ranks.size() < 2) return waiting;
  const Phase training = training_of(report);
  add_stragglers(report, training, waiting.stragglers);
  if (report.has_within) {
    for (const Subsystem outer :
         {Subsystem::kStaging, Subsystem::kEvaluation, Subsystem::kCheckpoint}) {
      add_stragglers(report, phase_of(report, outer), waiting.stragglers);
    }
  }
  std::stable_sort(waiting.stragglers.begin(), waiting.stragglers.end(),
                   [](const Straggler& a, const Straggler& b) { return a.longer_s > b.longer_s; });
  waiting.slow_exchange = slow_exchange_of(report, training);
  return waiting;
}

std::string sentence(const Straggler& straggler) {
  std::string where;
  for (const auto& [part, seconds] : straggler.where) {
    where += fmt::format("{}{:.1f} s more {}", where.empty() ? "" : ", ", seconds, part);
  }
  return fmt::format(
      "rank {} on host {} was waited for in {}: {:.1f} s longer than the median rank ({}); the "
      "others spent {:.1f} s more in exchange",
      straggler.rank, straggler.host, straggler.phase, straggler.longer_s, where,
      straggler.others_waited_s);
}

std::string sentence(const SlowExchange& exchange) {
  std::string hosts;
  for (std::size_t i = 0; i < std::min(exchange.hosts.size(), kShownHosts); ++i) {
    hosts += (i == 0 ? "" : ", ") + exchange.hosts[i];
  }
  if (exchange.hosts.size() > kShownHosts) hosts += ", ...";
  const std::string place = exchange.nodes == 1
                                ? fmt::format("within one node ({})", hosts)
                                : fmt::format("between {} nodes ({})", exchange.nodes, hosts);
  return fmt::format(
      "exchange dominates: every rank spent at least {:.1f} s ({:.0f} % of the training) in it, "
      "and gave {:.3g} MB/s while one was under way, {}",
      exchange.least_s, exchange.percent, exchange.bytes_per_s / kMega, place);
}

std::string straggler_definition() {
  return fmt::format(
      "ranks that the others waited for, in each of training (input, forward, backward, optimizer, "
      "other), staging, evaluation and checkpoint: a rank whose own work (all but exchange) is "
      "longer than the median rank's by at least {} s, {} % of the phase, {} % of the run and {} "
      "times the median deviation of the ranks, while the median exchange of the ranks that are "
      "not late exceeds its own by at least {} % of that difference. For an even number of ranks "
      "the median is the smaller of the two in the middle, so at most half of the ranks are "
      "stragglers",
      kLeastSeconds, base::kPercent * kLeastPart, base::kPercent * kLeastOfRun, kLeastDeviations,
      base::kPercent * kLeastWaited);
}

std::string slow_exchange_definition() {
  return fmt::format(
      "reported if the rank with the least exchange has at least {} s of it and a third of the "
      "training: the cause is no single rank, but the network, the communication library, or "
      "ranks that are late in turn; the rate is bytes_sent / exchange_total_ns of all ranks",
      kLeastSeconds);
}

}  // namespace analysis
