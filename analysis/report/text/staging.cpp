// What staging did, as text.
#include "analysis/report/text/staging.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/numbers.h"
#include "runner/base/printable.h"
#include "runner/base/rate_text.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;

/// "0.5000 to 3": of the fastest and the slowest node.
std::string span_text(const NodeExtent& seconds) {
  if (!seconds.max) return "-";
  const std::string most = short_number(seconds.max);
  return seconds.min ? short_number(seconds.min) + " to " + most : most;
}

std::string span_of_rates(const NodeExtent& rates) {
  if (!rates.max || *rates.max == 0.0) return "-";
  return fmt::format("{}, {}, {}", rate_or_dash(rates.min),
                     rate_or_dash(rates.median ? rates.median : rates.mean),
                     rate_or_dash(rates.max));
}

/// Two tables, as one with all columns would be too wide.
void write_staged_sets(TextPage& page, const std::vector<StagedSet>& sets) {
  TextTable bytes, times;
  const auto add = [&page](TextTable& table, const char* label, const char* field) {
    table.add_column(page.defined(label, std::string("staged_sets.") + field), Align::kRight);
  };
  bytes.add_column("set", Align::kLeft);
  add(bytes, "mode", "mode");
  add(bytes, "nodes", "nodes");
  add(bytes, "samples", "samples");
  add(bytes, "bytes", "bytes");
  add(bytes, "from the source", "source_bytes");
  add(bytes, "over the network", "network_bytes");
  add(bytes, "resumed", "resumed_bytes");
  times.add_column("set", Align::kLeft);
  add(times, "reused nodes", "reused_nodes");
  add(times, "planning s", "planning_s");
  add(times, "copying s", "seconds_max");
  add(times, "rate: min, median, max", "bytes_per_second_median");
  add(times, "imbalance", "imbalance");
  for (const StagedSet& set : sets) {
    bytes.add_row({set.name, set.mode, count_or_dash(set.nodes), count_or_dash(set.samples),
                   bytes_or_dash(set.bytes), bytes_or_dash(set.source_bytes),
                   bytes_or_dash(set.network_bytes), bytes_or_dash(set.resumed_bytes)});
    if (!set.is_copied()) continue;
    times.add_row({set.name, count_or_dash(set.reused_nodes), short_number(set.planning_s),
                   span_text(set.seconds), span_of_rates(set.bytes_per_second),
                   short_number(set.imbalance)});
  }
  page.table(bytes);
  if (!times.empty()) page.table(times);
  for (const StagedSet& set : sets) {
    const std::string slowest = slowest_text(set);
    if (set.overlaps.value_or(false)) page.item(overlap_text(set));
    if (!slowest.empty()) page.item(fmt::format("slowest to copy {}: {}", set.name, slowest));
  }
}

/// The time to train by both ways of accounting.
void write_both_accountings(TextPage& page, const RunFacts& facts) {
  const auto write = [&page](const char* label, const std::optional<double>& seconds,
                             const char* name, const std::optional<double>& percent,
                             const char* percent_name, const char* what) {
    if (!seconds || !percent) return;
    page.fact(label,
              fmt::format("{}; {} {} %", seconds_text(*seconds), what, percent_text(percent)),
              {name, percent_name});
  };
  write("staging counted", facts.ttt_including_staging_s(), "ttt_including_staging_s",
        facts.staging_percent(), "staging_percent", "of which staging is");
  write("staging not counted", facts.ttt_excluding_staging_s(), "ttt_excluding_staging_s",
        facts.staging_on_top_percent(), "staging_on_top_percent", "to which staging would add");
}

std::string samples_and_bytes(std::int64_t samples, std::int64_t bytes) {
  return fmt::format("{} ({})", base::counted(samples, "sample"), base::bytes_text(bytes));
}

void write_where_read(TextPage& page, const SampleLevels& levels) {
  page.fact("read from copies", samples_and_bytes(levels.copy_samples, levels.copy_bytes),
            {"samples_from_copy", "bytes_from_copy"});
  page.fact("from the source", samples_and_bytes(levels.source_samples, levels.source_bytes),
            {"samples_from_source", "bytes_from_source"});
  if (levels.repaired_samples > 0) {
    page.fact("repaired", base::counted(levels.repaired_samples, "sample"), {"repaired_samples"});
  }
}

void write_warm(TextPage& page, const WarmData& warm) {
  if (!warm.is_told()) return;
  page.fact("data in memory", warm_text(warm),
            {"warm_percent_max", "warm_percent_min", "warm_node", "warm_looked_at_percent",
             "warm_looked_at_by"});
}

void write_what_caches_gave(TextPage& page, const CacheLevels& cache) {
  page.fact("cached in memory", samples_and_bytes(cache.memory_samples, cache.memory_bytes),
            {"samples_from_cache_memory", "bytes_from_cache_memory"});
  page.fact("cached on disk", samples_and_bytes(cache.disk_samples, cache.disk_bytes),
            {"samples_from_cache_disk", "bytes_from_cache_disk"});
  page.fact("from other ranks", samples_and_bytes(cache.peer_samples, cache.peer_bytes),
            {"samples_from_peers", "bytes_from_peers"});
}

}  // namespace

void write_staging(TextPage& page, const RunReport& run) {
  const std::vector<StagedSet>& sets = run.facts.staged_sets;
  const bool has_levels = run.telemetry && run.telemetry->levels;
  if (sets.empty() && !has_levels) return;
  page.heading("Staging", {"staged_sets"});
  if (!sets.empty()) write_staged_sets(page, sets);
  write_warm(page, run.facts.warm_data);
  write_both_accountings(page, run.facts);
  if (has_levels) write_where_read(page, *run.telemetry->levels);
  const bool has_cache = run.telemetry && run.telemetry->cache;
  if (has_cache && run.telemetry->cache->is_used()) {
    write_what_caches_gave(page, *run.telemetry->cache);
  }
}

void write_staging_lines(TextPage& page, const RunFacts& facts) {
  write_warm(page, facts.warm_data);
  for (const StagedSet& set : facts.staged_sets) {
    if (!set.is_copied() || !set.bytes || !set.nodes) continue;
    std::string text = fmt::format("{}: {} on {}", set.name, base::bytes_text(*set.bytes),
                                   base::counted(*set.nodes, "node"));
    const std::optional<double>& rate = set.bytes_per_second.median;
    if (rate.value_or(0.0) > 0.0) text += fmt::format(", {} a node", base::rate_text(*rate));
    // With fewer nodes the slowest one is no news.
    constexpr std::int64_t kNodesToCompare = 3;
    if (*set.nodes >= kNodesToCompare && !set.slowest.empty()) {
      text += fmt::format(", slowest {} {}", set.slowest.front().host,
                          base::rate_text(set.slowest.front().bytes_per_second));
    }
    page.fact("staged", text, {"staged_sets"});
  }
}

}  // namespace analysis::report
