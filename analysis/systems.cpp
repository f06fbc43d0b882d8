// Which runs of a set count.
#include "analysis/systems.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "runner/mllog/benchmarks.h"

namespace analysis {

namespace fs = std::filesystem;

namespace {

/// The letters and digits of each organisation that a name joins.
std::set<std::string> organisations_in(const std::string& name) {
  std::set<std::string> all;
  std::string letters;
  for (const char c : name + '+') {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) letters += static_cast<char>(std::tolower(byte));
    const bool is_joint = std::string_view("+/&,").find(c) != std::string_view::npos;
    if (is_joint && !letters.empty()) all.insert(std::exchange(letters, ""));
  }
  return all;
}

}  // namespace

bool is_other_organisation(const std::string& one, const std::string& other) {
  const std::set<std::string> first = organisations_in(one), second = organisations_in(other);
  if (first.empty() || second.empty()) return false;
  return std::ranges::none_of(first, [&](const auto& name) { return second.contains(name); });
}

bool is_weak_folder(const fs::path& folder) { return folder.parent_path().filename() == "weak"; }

bool succeeded(const RunFacts& facts) {
  return facts.outcome == Outcome::kSuccess && !facts.resumed && facts.ttt_s.value_or(0.0) > 0.0;
}

namespace {

/// The run's name: that of its first part, whose folder of checkpoints all parts add to.
std::string run_name(const SetMember& log) {
  const std::string own = fs::path(log.file_name).stem().string();
  if (log.facts->resumed_from.empty()) return own;
  const fs::path folder = fs::path(log.facts->resumed_from).parent_path();
  return folder.extension() == ".checkpoints" ? folder.stem().string() : own;
}

/// Whether the run may go on elsewhere: it did not end by itself.
bool is_cut(const RunFacts& facts) {
  return facts.outcome == Outcome::kIncomplete || facts.outcome == Outcome::kAborted;
}

}  // namespace

std::vector<std::optional<std::size_t>> continuations(const std::vector<SetMember>& logs) {
  std::map<std::string, std::vector<std::size_t>> runs;
  for (std::size_t i = 0; i < logs.size(); ++i) runs[run_name(logs[i])].push_back(i);
  std::vector<std::optional<std::size_t>> next(logs.size());
  for (auto& [name, parts] : runs) {
    std::ranges::stable_sort(parts, {}, [&](std::size_t i) {
      return logs[i].facts->run_start_ms.value_or(logs[i].facts->launched_ms.value_or(0.0));
    });
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const bool goes_on = logs[parts[i + 1]].facts->resumed;
      if (goes_on && is_cut(*logs[parts[i]].facts)) next[parts[i]] = parts[i + 1];
    }
  }
  return next;
}

OlympicRange olympic_range(std::size_t valid, std::size_t failing, std::size_t dropped) {
  if (failing > dropped) return {};
  const std::size_t slowest = dropped - failing;
  if (valid <= dropped + slowest) return {};
  return {dropped, valid - slowest};
}

std::size_t dropped_each_end(const std::string& benchmark) {
  const mllog::Benchmark* const row = mllog::find_benchmark(benchmark);
  return row == nullptr ? 1 : static_cast<std::size_t>(row->dropped_each_end);
}

bool counts_for_a_set(const fs::path& folder) {
  constexpr std::array kLeftOut = {"pruned_results", "logs", "raw_logs", "power", "cut_off"};
  return std::find(kLeftOut.begin(), kLeftOut.end(), folder.filename()) == kLeftOut.end();
}

}  // namespace analysis
