// Reads what a log of this program says about its staging.
#include "analysis/staging_facts.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runner/base/printable.h"
#include "runner/base/rate_text.h"
#include "runner/base/strict_json.h"
#include "runner/base/units.h"

namespace analysis {
namespace {

using Json = nlohmann::json;

/// A run has two sets, and tells three hosts of each.
constexpr std::size_t kMostSets = 16, kMostHosts = 16;
constexpr std::size_t kLongestName = 256;

/// The members of one object. Notes what is not as expected, and leaves it out.
class SetMembers {
 public:
  SetMembers(const Json& object, std::string path, std::vector<std::string>& problems)
      : object_(object), path_(std::move(path)), problems_(problems) {}

  bool has(const char* key) const { return object_.contains(key); }
  const Json& at(const char* key) const { return object_.at(key); }
  SetMembers inner(const char* key) const { return {at(key), path_of(key), problems_}; }

  std::optional<std::string> text(const char* key) const {
    if (!has(key)) return std::nullopt;
    const Json& value = at(key);
    const bool fits = value.is_string() && !value.get_ref<const std::string&>().empty() &&
                      value.get_ref<const std::string&>().size() <= kLongestName;
    if (fits) return value.get<std::string>();
    return refuse(key, fmt::format("a text of 1 to {} bytes", kLongestName));
  }

  std::optional<std::int64_t> count(const char* key) const {
    if (!has(key)) return std::nullopt;
    const Json& value = at(key);
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const bool fits = value.is_number_unsigned()
                          ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMost)
                          : value.is_number_integer() && value.get<std::int64_t>() >= 0;
    if (fits) return value.get<std::int64_t>();
    return refuse(key, fmt::format("an integer from 0 to {}", kMost));
  }

  std::optional<bool> flag(const char* key) const {
    if (!has(key)) return std::nullopt;
    if (at(key).is_boolean()) return at(key).get<bool>();
    return refuse(key, "true or false");
  }

  std::optional<double> number(const char* key) const {
    if (!has(key)) return std::nullopt;
    const Json& value = at(key);
    if (value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0.0) {
      return value.get<double>();
    }
    return refuse(key, "a finite number that is not negative");
  }

  /// Notes a problem, and returns "absent".
  std::nullopt_t refuse(const char* key, const std::string& expected) const {
    problems_.push_back(
        fmt::format("{}: expected {}, got {}", path_of(key), expected, base::brief_json(at(key))));
    return std::nullopt;
  }

 private:
  std::string path_of(const char* key) const { return base::json_path(path_, key); }

  const Json& object_;
  std::string path_;
  std::vector<std::string>& problems_;
};

/// Absent figures are in any order.
bool is_ascending(const NodeExtent& extent) {
  double before = 0.0;
  for (const std::optional<double>& value : {extent.min, extent.median, extent.max}) {
    if (value && *value < before) return false;
    before = value.value_or(before);
  }
  const double mean = extent.mean.value_or(extent.min.value_or(0.0));
  // A mean of equal values may differ from them by its rounding.
  constexpr double kRounding = 1e-9;
  return mean >= extent.min.value_or(0.0) * (1.0 - kRounding) &&
         mean <= extent.max.value_or(mean) * (1.0 + kRounding);
}

/// Earlier versions wrote a number where only the largest was known.
NodeExtent extent_of(const SetMembers& set, const char* key) {
  if (!set.has(key)) return {};
  if (set.at(key).is_number()) return {{}, {}, {}, set.number(key)};
  if (!set.at(key).is_object()) {
    set.refuse(key, "an object or a number");
    return {};
  }
  const SetMembers in = set.inner(key);
  const NodeExtent extent = {in.number("min"), in.number("median"), in.number("mean"),
                             in.number("max")};
  if (is_ascending(extent)) return extent;
  set.refuse(key, "min, median and max to ascend, and mean to lie between them");
  return {};
}

std::vector<SlowNode> slowest_of(const SetMembers& set, std::vector<std::string>& problems,
                                 const std::string& path) {
  if (!set.has("slowest")) return {};
  const Json& list = set.at("slowest");
  if (!list.is_array() || list.size() > kMostHosts) {
    set.refuse("slowest", fmt::format("an array of at most {} nodes", kMostHosts));
    return {};
  }
  std::vector<SlowNode> nodes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const SetMembers node(list[i], base::json_path(path + "/slowest", std::to_string(i)), problems);
    if (!list[i].is_object() || !node.has("host") || !node.has("seconds") ||
        !node.has("bytes_per_second")) {
      set.refuse("slowest", "nodes with host, seconds and bytes_per_second");
      return {};
    }
    const auto host = node.text("host");
    const auto seconds = node.number("seconds"), rate = node.number("bytes_per_second");
    if (host && seconds && rate) nodes.push_back({*host, *seconds, *rate});
  }
  return nodes;
}

/// Absent for one without a usable mode.
std::optional<StagedSet> set_of(const std::string& name, const Json& members,
                                std::vector<std::string>& problems) {
  const std::string path = base::json_path("/staging", name);
  const SetMembers in(members, path, problems);
  const auto mode = in.text("mode");
  if (!mode) return std::nullopt;
  StagedSet set;
  set.name = name;
  set.mode = *mode;
  set.nodes = in.count("nodes");
  set.reused_nodes = in.count("reused_nodes");
  set.packs = in.count(in.has("packs") ? "packs" : "files");  // their name in earlier versions
  set.samples = in.count("samples");
  set.bytes = in.count("bytes");
  set.resumed_bytes = in.count("resumed_bytes");
  set.source_reads = in.count("source_reads");
  set.source_bytes = in.count("source_bytes");
  set.network_bytes = in.count("network_bytes");
  set.written_bytes = in.count("written_bytes");
  set.direct_bytes = in.count("direct_bytes");
  set.memory_bytes = in.count("memory_bytes");
  set.overlaps = in.flag("overlap");
  set.left_bytes = in.count("left_bytes");
  set.planning_s = in.number("planning_s");
  set.imbalance = in.number("imbalance");
  set.seconds = extent_of(in, "seconds");
  set.bytes_per_second = extent_of(in, "bytes_per_second");
  set.slowest = slowest_of(in, problems, path);
  if (set.nodes && set.reused_nodes && *set.reused_nodes > *set.nodes) {
    set.reused_nodes = in.refuse("reused_nodes", fmt::format("at most {} nodes", *set.nodes));
  }
  return set;
}

WarmData warm_of(const Json& members, std::vector<std::string>& problems) {
  const SetMembers in(members, "/staging/page_cache", problems);
  WarmData warm;
  warm.nodes = in.count("nodes");
  warm.known_nodes = in.count("known_nodes");
  warm.files = in.count("files");
  warm.files_by_mincore = in.count("files_by_mincore");
  warm.files_by_reading = in.count("files_by_reading");
  warm.bytes = in.count("bytes");
  warm.looked_at_bytes = in.count("bytes_looked_at");
  warm.share = extent_of(in, "warm");
  if (warm.share.max.value_or(0.0) > 1.0) {
    in.refuse("warm", "shares from 0 to 1");
    warm.share = {};
  }
  warm.warmest = in.text("warmest").value_or("");
  warm.unknown = in.text("unknown").value_or("");
  return warm;
}

}  // namespace

std::optional<std::int64_t> WarmData::looked_at_files() const {
  if (!files_by_mincore || !files_by_reading) return std::nullopt;
  return *files_by_mincore + *files_by_reading;
}

std::optional<double> WarmData::looked_at_percent() const {
  const auto looked_at = looked_at_files();
  if (!files || !bytes || !looked_at_bytes || *files == 0 || *bytes == 0) return std::nullopt;
  if (looked_at.value_or(0) == 0) return std::nullopt;
  const double of_these = static_cast<double>(*looked_at_bytes) / static_cast<double>(*bytes);
  return base::kPercent * of_these * static_cast<double>(*looked_at) / static_cast<double>(*files);
}

std::string WarmData::looked_at_by() const {
  const bool by_mincore = files_by_mincore.value_or(0) > 0;
  const bool by_reading = files_by_reading.value_or(0) > 0;
  return fmt::format("{}{}{}", by_mincore ? "mincore" : "", by_mincore && by_reading ? " and " : "",
                     by_reading ? "reads that do not wait" : "");
}

std::string warm_text(const WarmData& warm) {
  if (!warm.is_told()) return "";
  if (!warm.share.max) return "unknown" + (warm.unknown.empty() ? "" : ": " + warm.unknown);
  const std::string most = fmt::format("{:.1f} %", base::kPercent * *warm.share.max);
  const bool differ = warm.nodes.value_or(1) > 1 && warm.share.min;
  std::string text = differ ? fmt::format("{:.1f} to {} (most on {})",
                                          base::kPercent * *warm.share.min, most, warm.warmest)
                            : most;
  if (const auto looked_at = warm.looked_at_percent()) {
    text += fmt::format(", by {:.1f} % of the bytes in {} of {} files; {}", *looked_at,
                        *warm.looked_at_files(), *warm.files, warm.looked_at_by());
  }
  if (!warm.unknown.empty()) text += "; unknown: " + warm.unknown;
  return text;
}

std::string slowest_text(const StagedSet& set) {
  std::string text;
  for (const SlowNode& node : set.slowest) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", node.host,
                        base::rate_text(node.bytes_per_second));
  }
  return text;
}

std::string overlap_text(const StagedSet& set) {
  const std::int64_t left = set.left_bytes.value_or(0);
  return fmt::format("{} was copied while training{}", set.name,
                     left > 0 ? fmt::format("; {} were not copied", base::bytes_text(left)) : "");
}

std::string StagedSets::problem() const {
  if (problems.size() < 2) return problems.empty() ? "" : problems.front();
  return fmt::format("{} (and {} more such)", problems.front(), problems.size() - 1);
}

StagedSets staged_sets(mllog::JsonText text) {
  StagedSets found;
  if (text.is_absent()) return found;
  const Json staging = text.decoded();
  if (!staging.is_object()) {
    found.problems.push_back("/staging: expected an object, got " + base::brief_json(staging));
    return found;
  }
  if (const auto cached = staging.find("page_cache");
      cached != staging.end() && cached->is_object()) {
    found.warm = warm_of(*cached, found.problems);
  }
  for (const auto& [name, members] : staging.items()) {
    if (!members.is_object() || !members.contains("mode")) continue;
    if (found.sets.size() == kMostSets || name.empty() || name.size() > kLongestName) {
      found.problems.push_back(
          fmt::format("/staging: expected at most {} sets with names of 1 to {} bytes", kMostSets,
                      kLongestName));
      break;
    }
    if (auto set = set_of(name, members, found.problems)) found.sets.push_back(std::move(*set));
  }
  return found;
}

}  // namespace analysis
