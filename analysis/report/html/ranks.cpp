// Charts of runs with telemetry: ranks, steps, timelines.
#include "analysis/report/html/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/definitions.h"
#include "analysis/numbers.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;
using Kind = HtmlTable::Kind;

/// Limits of the runs shown rank by rank and of the ranks per run; JSON and CSV have the rest.
constexpr std::size_t kMostRuns = 10, kMostRanks = 64, kMostTimelineRanks = 16;

std::string of_run(const std::string& what, const RunReport& run) {
  return fmt::format("{}: {}", what, run.name);
}

void add_rank_parts(const RunReport& run, int number, std::ptrdiff_t of_runs,
                    ChartSections& sections) {
  const RunTelemetry& telemetry = *run.telemetry;
  const std::size_t shown = std::min(telemetry.by_rank.size(), kMostRanks);
  Json labels = Json::array(), parts = Json::array();
  FigureTable table("Seconds of each rank: " + definition_of("subsystems"));
  table.column("rank", Kind::kText);
  for (const Part& part : telemetry.subsystems.parts) {
    table.column(part.name + " s", Kind::kNumber, part.definition);
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const RankParts& rank = telemetry.by_rank[i];
    labels.push_back(base::printable(fmt::format("rank {} on {}", rank.rank, rank.host)));
    if (!table.row()) continue;
    table.cell(fmt::format("{} on {}", rank.rank, rank.host));
    for (const double seconds : rank.seconds) table.cell(short_number(seconds));
  }
  for (std::size_t p = 0; p < telemetry.subsystems.parts.size(); ++p) {
    Json seconds = Json::array(), percent = Json::array();
    for (std::size_t i = 0; i < shown; ++i) {
      const double value = telemetry.by_rank[i].seconds[p];
      double wall_s = 0.0;
      for (const double one : telemetry.by_rank[i].seconds) wall_s += one;
      seconds.push_back(charted(value));
      percent.push_back(charted(wall_s > 0.0 ? base::kPercent * value / wall_s : 0.0));
    }
    parts.push_back(
        {{"name", telemetry.subsystems.parts[p].name}, {"seconds", seconds}, {"percent", percent}});
  }
  std::string title = of_run("Ranks", run);
  if (shown < telemetry.by_rank.size()) {
    title += fmt::format(" (the first {} of {})", shown, telemetry.by_rank.size());
  }
  const std::string note =
      of_runs > static_cast<std::ptrdiff_t>(kMostRuns)
          ? fmt::format("The first {} of {} runs with telemetry are shown rank by rank.", kMostRuns,
                        of_runs)
          : "";
  sections.add(title, number == 0 ? note : "",
               {{"id", fmt::format("ranks{}", number)},
                {"kind", "breakdown"},
                {"labels", labels},
                {"parts", parts}},
               "in", {{"seconds", "seconds"}, {"percent", "percent"}}, table);
}

/// The buckets with the empty ones between them, so that the axis has no gaps.
Json gapless(const std::vector<StepCount>& histogram) {
  constexpr std::size_t kMostBuckets = 400;
  constexpr double kHalf = 0.5;
  Json buckets = Json::array();
  double end_s = histogram.front().low_s;
  for (const StepCount& one : histogram) {
    const double growth = one.high_s / one.low_s;
    // Half a bucket of tolerance, as powers are rounded.
    while (buckets.size() < kMostBuckets && end_s * (1.0 + kHalf * (growth - 1.0)) < one.low_s) {
      buckets.push_back(
          {charted(base::kMsPerSecond * end_s), charted(base::kMsPerSecond * end_s * growth), 0});
      end_s *= growth;
    }
    buckets.push_back({charted(base::kMsPerSecond * one.low_s),
                       charted(base::kMsPerSecond * one.high_s), one.steps});
    end_s = one.high_s;
  }
  return buckets;
}

void add_steps(const RunReport& run, int number, ChartSections& sections) {
  const std::vector<StepCount>& histogram = run.telemetry->step_histogram;
  if (histogram.empty()) return;
  FigureTable table("Training steps of all ranks by their wall time");
  table.column("from ms", Kind::kNumber);
  table.column("to ms", Kind::kNumber);
  table.column("steps", Kind::kNumber);
  for (const StepCount& one : histogram) {
    if (!table.row()) continue;
    table.cell(short_number(base::kMsPerSecond * one.low_s));
    table.cell(short_number(base::kMsPerSecond * one.high_s));
    table.cell(std::to_string(one.steps));
  }
  sections.add(of_run("Steps", run), "How long training steps took, on all ranks.",
               {{"id", fmt::format("steps{}", number)},
                {"kind", "histogram"},
                {"buckets", gapless(histogram)}},
               table);
}

void add_timeline(const RunReport& run, int number, ChartSections& sections) {
  std::vector<std::string> names;
  const auto index_of = [&](const std::string& name) {
    auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) at = names.insert(at, name);
    return at - names.begin();
  };
  std::int64_t ranks = 0;
  Json spans = Json::array();
  FigureTable table("Time of each kind in what is shown");
  std::map<std::string, double> totals;
  for (const TraceSpan& span : run.trace->spans) {
    ranks = std::max(ranks, span.rank + 1);
    if (span.rank >= static_cast<std::int64_t>(kMostTimelineRanks)) continue;
    spans.push_back({index_of(base::printable(span.name)), span.rank,
                     charted(base::kMsPerSecond * span.begin_s),
                     charted(base::kMsPerSecond * span.end_s)});
    totals[span.name] += span.end_s - span.begin_s;
  }
  if (spans.empty()) return;
  table.column("scope", Kind::kText);
  table.column("ms, all ranks", Kind::kNumber, "an inner scope counts in its outer one, too");
  for (const auto& [name, seconds] : totals) {
    if (!table.row()) continue;
    table.cell(name);
    table.cell(short_number(base::kMsPerSecond * seconds));
  }
  std::string note =
      "Scopes of the traced steps, milliseconds since the first; result_<n>.trace.json has them "
      "with "
      "layers and transfers.";
  if (run.trace->spans_left_out > 0) {
    note += fmt::format(" The first {} of each rank; {} are left out.", RunTrace::kMostSpans,
                        run.trace->spans_left_out);
  }
  if (ranks > static_cast<std::int64_t>(kMostTimelineRanks)) {
    note += fmt::format(" Ranks 0 to {} of {}.", kMostTimelineRanks - 1, ranks);
  }
  sections.add(of_run("Timeline", run), note,
               {{"id", fmt::format("timeline{}", number)},
                {"kind", "timeline"},
                {"ranks", std::min(ranks, static_cast<std::int64_t>(kMostTimelineRanks))},
                {"names", names},
                {"spans", spans}},
               table);
}

void add_transfers(const RunReport& run, int number, ChartSections& sections) {
  const TracedStep& step = run.trace->step;
  if (step.transfers.empty()) return;
  Json labels = Json::array(), exposed = Json::array(), hidden = Json::array();
  FigureTable table("Transfers of a traced step: " + definition_of("transfers"));
  table.column("transfer", Kind::kText);
  for (const char* heading :
       {"count", "MB sent", "in flight ms", "exposed ms", "hidden ms", "alone ms"}) {
    table.column(heading, Kind::kNumber);
  }
  for (const TracedTransfers& one : step.transfers) {
    labels.push_back(base::printable(one.name));
    exposed.push_back(charted(one.exposed_s));
    hidden.push_back(charted(one.hidden_s()));
    if (!table.row()) continue;
    table.cell(one.name);
    table.cell(short_number(one.count));
    table.cell(short_number(one.megabytes()));
    for (const double seconds : {one.in_flight_s, one.exposed_s, one.hidden_s(), one.isolated_s}) {
      table.cell(std::isnan(seconds) ? "" : short_number(base::kMsPerSecond * seconds));
    }
  }
  sections.add(
      of_run("Communication", run),
      fmt::format("A traced step takes {} ms: {} ms of computation and {} ms in communication.",
                  short_number(base::kMsPerSecond * step.seconds),
                  short_number(base::kMsPerSecond * step.compute_s()),
                  short_number(base::kMsPerSecond * step.exchange_s)),
      {{"id", fmt::format("ranks_transfers{}", number)},
       {"kind", "breakdown"},
       {"labels", labels},
       {"parts",
        {{{"name", "exposed"}, {"seconds", exposed}}, {{"name", "hidden"}, {"seconds", hidden}}}}},
      table);
}

}  // namespace

void add_ranks(const Report& report, ChartSections& sections) {
  int number = 0;
  const auto measured =
      std::count_if(report.runs.begin(), report.runs.end(),
                    [](const RunReport& run) { return run.telemetry.has_value(); });
  for (const RunReport& run : report.runs) {
    if (!run.telemetry || number == static_cast<int>(kMostRuns)) continue;
    add_rank_parts(run, number, measured, sections);
    add_steps(run, number, sections);
    if (run.trace) add_transfers(run, number, sections);
    if (run.trace) add_timeline(run, number, sections);
    ++number;
  }
}

}  // namespace analysis::report
