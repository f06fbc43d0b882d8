// What staging did, in the HTML report.
#include "analysis/report/html/staging.h"

#include <fmt/format.h>

#include "analysis/definitions.h"
#include "analysis/numbers.h"
#include "analysis/report/html/chart_sections.h"
#include "runner/base/units.h"

namespace analysis::report {
namespace {

using Kind = HtmlTable::Kind;

std::string sets_table(const Report& report) {
  FigureTable table(
      "The sets of samples that runs staged; rest the pointer on a heading for its "
      "definition");
  const auto add = [&table](const char* heading, const char* field, Kind kind = Kind::kNumber) {
    table.column(heading, kind, definition_of(std::string("staged_sets.") + field));
  };
  table.column("log", Kind::kText);
  table.column("set", Kind::kText);
  add("mode", "mode", Kind::kText);
  add("nodes", "nodes");
  add("reused", "reused_nodes");
  add("samples", "samples");
  add("bytes", "bytes");
  add("from the source", "source_bytes");
  add("over the network", "network_bytes");
  add("resumed", "resumed_bytes");
  add("while training", "overlap", Kind::kText);
  add("left", "left_bytes");
  add("copying s, min", "seconds_min");
  add("median", "seconds_median");
  add("max", "seconds_max");
  add("rate of a node, min", "bytes_per_second_min");
  add("median", "bytes_per_second_median");
  add("max", "bytes_per_second_max");
  add("imbalance", "imbalance");
  add("slowest nodes", "slowest", Kind::kText);
  for (const RunReport& run : report.runs) {
    for (const StagedSet& set : run.facts.staged_sets) {
      if (!table.row()) continue;
      for (const std::string& text : {run.name, set.name, set.mode}) table.cell(text);
      for (const auto& count : {set.nodes, set.reused_nodes, set.samples}) {
        table.cell(count_or_dash(count));
      }
      for (const auto& bytes :
           {set.bytes, set.source_bytes, set.network_bytes, set.resumed_bytes}) {
        table.cell(bytes_or_dash(bytes));
      }
      table.cell(set.overlaps ? (*set.overlaps ? "yes" : "no") : "-");
      table.cell(bytes_or_dash(set.left_bytes));
      const NodeExtent &seconds = set.seconds, &rates = set.bytes_per_second;
      for (const auto& value : {seconds.min, seconds.median, seconds.max}) {
        table.cell(short_number(value));
      }
      for (const auto& rate : {rates.min, rates.median, rates.max}) {
        table.cell(rate_or_dash(rate));
      }
      table.cell(short_number(set.imbalance));
      table.cell(slowest_text(set));
    }
  }
  return table.rows() > 0 ? table.str() : "";
}

void add_levels(FigureTable& table, const std::optional<SampleLevels>& levels) {
  if (!levels) {
    for (int i = 0; i < 5; ++i) table.cell("-");
    return;
  }
  table.cell(std::to_string(levels->copy_samples));
  table.cell(bytes_or_dash(levels->copy_bytes));
  table.cell(std::to_string(levels->source_samples));
  table.cell(bytes_or_dash(levels->source_bytes));
  table.cell(std::to_string(levels->repaired_samples));
}

/// The time to train by both ways of accounting, and where samples were read.
std::string accounting_table(const Report& report) {
  FigureTable table("Staging in the time to train, and where samples were read");
  table.column("log", Kind::kText);
  for (const auto& [heading, name] :
       {std::pair{"time to train s, staging counted", "ttt_including_staging_s"},
        {"staging, % of it", "staging_percent"},
        {"time to train s, staging not counted", "ttt_excluding_staging_s"},
        {"staging would add %", "staging_on_top_percent"},
        {"samples from copies", "samples_from_copy"},
        {"bytes from copies", "bytes_from_copy"},
        {"samples from the source", "samples_from_source"},
        {"bytes from the source", "bytes_from_source"},
        {"repaired samples", "repaired_samples"},
        {"data in memory before, %, least", "warm_percent_min"},
        {"most", "warm_percent_max"}}) {
    table.column(heading, Kind::kNumber, definition_of(name));
  }
  table.column("how much was looked at, and how", Kind::kText, definition_of("warm_looked_at_by"));
  for (const RunReport& run : report.runs) {
    if (run.facts.staged_sets.empty() || !table.row()) continue;
    const WarmData& warm = run.facts.warm_data;
    table.cell(run.name);
    table.cell(short_number(run.facts.ttt_including_staging_s()));
    table.cell(percent_text(run.facts.staging_percent()));
    table.cell(short_number(run.facts.ttt_excluding_staging_s()));
    table.cell(percent_text(run.facts.staging_on_top_percent()));
    add_levels(table, run.telemetry ? run.telemetry->levels : std::nullopt);
    for (const auto& share : {warm.share.min, warm.share.max}) {
      table.cell(share ? percent_text(*share * base::kPercent) : "-");
    }
    table.cell(warm.is_told() ? warm_text(warm) : "-");
  }
  return table.str();
}

/// Of the runs whose caches gave samples; else "".
std::string cache_table(const Report& report) {
  FigureTable table("Samples that caches gave");
  table.column("log", Kind::kText);
  for (const auto& [heading, name] : {std::pair{"samples from memory", "samples_from_cache_memory"},
                                      {"bytes from memory", "bytes_from_cache_memory"},
                                      {"samples from disk", "samples_from_cache_disk"},
                                      {"bytes from disk", "bytes_from_cache_disk"},
                                      {"samples from other ranks", "samples_from_peers"},
                                      {"bytes from other ranks", "bytes_from_peers"}}) {
    table.column(heading, Kind::kNumber, definition_of(name));
  }
  for (const RunReport& run : report.runs) {
    if (!run.telemetry || !run.telemetry->cache || !run.telemetry->cache->is_used()) continue;
    if (!table.row()) continue;
    const CacheLevels& cache = *run.telemetry->cache;
    table.cell(run.name);
    for (const auto& [samples, bytes] : {std::pair{cache.memory_samples, cache.memory_bytes},
                                         {cache.disk_samples, cache.disk_bytes},
                                         {cache.peer_samples, cache.peer_bytes}}) {
      table.cell(std::to_string(samples));
      table.cell(bytes_or_dash(bytes));
    }
  }
  return table.rows() > 0 ? table.str() : "";
}

}  // namespace

std::string staging_section(const Report& report) {
  const std::string sets = sets_table(report);
  if (sets.empty()) return "";
  return "<section><h2>Staging</h2>\n" + sets + accounting_table(report) + cache_table(report) +
         "</section>\n";
}

}  // namespace analysis::report
