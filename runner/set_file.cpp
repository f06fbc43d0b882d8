// Reads, writes and compares set.json.
#include "runner/set_file.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <random>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exclusive_file.h"
#include "runner/base/make_folder.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/checkpoint_record.h"
#include "runner/renamed_keys.h"
#include "runner/run_config.h"

namespace runner {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kSetFileSchema = 1;
constexpr std::int64_t kMostRuns = 1000000;
constexpr char kSetConfig[] = "config";
constexpr char kOneByOne[] = "one_by_one";
constexpr char kTogether[] = "together";

/// Keys that may differ between hosts and jobs: file locations and timeouts.
constexpr const char* kFreeKeys[] = {
    "/seed", "/results", "/checkpoint", "/staging/directory", "/hang_timeout_s", "/lost_timeout_s"};

std::string text_of(const SetDefinition& set) {
  Json config = set.config;
  config.erase("seed");
  const Json json = {{"schema", kSetFileSchema},
                     {"runs", set.runs},
                     {"master_seed", set.master_seed},
                     {"mode", to_string(set.kind)},
                     {"ranks", set.ranks},
                     {"created_ms", set.created_ms},
                     {"created_by", base::unique_token()},
                     {kSetConfig, std::move(config)}};
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

SetDefinition parse(const std::string& text, const std::string& path) {
  Json json = base::parse_strict_json(text, path, base::JsonComments::kRefused);
  SetDefinition set;
  if (!json.is_object() || !json.contains(kSetConfig) || !json[kSetConfig].is_object()) {
    throw base::DataError(path + ": /config: expected an object, found none");
  }
  set.config = json[kSetConfig];
  rename_old_keys(set.config, path);
  json.erase(kSetConfig);
  try {
    const base::ObjectReader in(json, path);
    in.required<std::int64_t>("schema", "of this file",
                              base::within(kSetFileSchema, kSetFileSchema));
    set.runs = in.required<std::int64_t>("runs", "members", base::within(2, kMostRuns));
    set.master_seed = in.required<std::uint64_t>("master_seed", "all seeds derive from it");
    set.kind = in.choice<SetKind>(
        "mode", static_cast<SetKind>(-1),
        {{kOneByOne, SetKind::kOneByOne}, {kTogether, SetKind::kTogether}}, "how members run");
    set.ranks = in.required<std::int64_t>("ranks", "of each member", base::at_least(1));
    set.created_ms = in.required<std::int64_t>("created_ms", "when", base::at_least(0));
    in.required<std::string>("created_by", "host, process and a random number");
    in.reject_unknown();
  } catch (const base::ConfigError& e) {
    throw base::DataError(e.what());  // not a configuration, but a damaged file that a program
                                      // wrote
  }
  return set;
}

/// Nothing if there is no set.
std::optional<SetDefinition> read(const std::string& path) {
  const auto text = base::read_created(path);
  return text ? std::optional(parse(*text, path)) : std::nullopt;
}

/// "expected runs 5, found 3"; "" if they agree.
std::string difference(const SetDefinition& there, const SetDefinition& wanted) {
  const auto differ = [](const char* what, const auto& have, const auto& want) {
    return fmt::format("{}: expected {}, as the set in this folder has, found {}", what, have,
                       want);
  };
  if (there.runs != wanted.runs) return differ("--runs", there.runs, wanted.runs);
  if (wanted.master_seed != 0 && there.master_seed != wanted.master_seed) {
    return differ("/seed", there.master_seed, wanted.master_seed);
  }
  if (there.kind != wanted.kind) {
    return there.kind == SetKind::kTogether ? "--together: expected, as in this folder's set"
                                            : "--together: not expected in this folder's set";
  }
  if (there.ranks != wanted.ranks) return differ("ranks", there.ranks, wanted.ranks);
  const auto found =
      config_difference(there.config, wanted.config, {std::begin(kFreeKeys), std::end(kFreeKeys)});
  return found ? differ(found->key.c_str(), found->then, found->found) : "";
}

}  // namespace

const char* to_string(SetKind kind) { return kind == SetKind::kTogether ? kTogether : kOneByOne; }

std::string set_path(const std::string& folder) { return folder + "/set.json"; }

SetDefinition open_set(const std::string& folder, const SetDefinition& wanted) {
  base::make_folder(folder);
  const std::string path = set_path(folder);
  auto there = read(path);
  if (!there) {
    SetDefinition made = wanted;
    if (made.master_seed == 0) made.master_seed = seed_from_system();
    if (base::create_exclusively(path, text_of(made))) return made;
    there = read(path);  // another host was faster
    if (!there) throw base::DataError(path + ": expected a run set, found no file");
  }
  const std::string found = difference(*there, wanted);
  if (found.empty()) return *there;
  throw base::ConfigError(
      fmt::format("{}: {}; a set has one configuration: change it back, or give another folder "
                  "with --set results.directory=DIR",
                  path, found));
}

std::uint64_t member_seed(const SetDefinition& set, std::int64_t member) {
  return derive_seeds(set.master_seed, set.runs).at(static_cast<std::size_t>(member - 1));
}

std::uint64_t seed_from_system() {
  std::random_device device;
  std::uint64_t seed = 0;
  while (seed == 0) seed = (std::uint64_t{device()} << 32U) | device();
  return seed;
}

}  // namespace runner
