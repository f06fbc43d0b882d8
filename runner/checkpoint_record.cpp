// The JSON form of a checkpoint's record, and the comparison of configurations.
#include "runner/checkpoint_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/renamed_keys.h"

namespace runner {
namespace {

using Json = nlohmann::json;

constexpr char kPosition[] = "position";
constexpr char kConfig[] = "config";
constexpr char kData[] = "data";
constexpr char kEnvironment[] = "environment";

Json to_json(const RunPosition& at) {
  Json epochs = Json::array(), qualities = Json::array(), times = Json::array();
  for (const EvaluationPoint& one : at.evaluations) {
    epochs.push_back(one.epoch_num);
    qualities.push_back(one.quality);
    times.push_back(one.since_run_start_s);
  }
  return {{"epoch_num", at.epoch_num},   {"steps_in_epoch", at.steps_in_epoch},
          {"steps_done", at.steps_done}, {"loss_sum", at.loss_sum},
          {"samples", at.samples},       {"elapsed_s", at.elapsed_s},
          {"evaluation_epochs", epochs}, {"evaluation_qualities", qualities},
          {"evaluation_times_s", times}};
}

RunPosition parse_position(const base::ObjectReader& in) {
  RunPosition at;
  at.epoch_num = in.required<std::int64_t>("epoch_num", "epoch under way", base::at_least(1));
  at.steps_in_epoch = in.required<std::int64_t>("steps_in_epoch", "done of it", base::at_least(0));
  at.steps_done = in.required<std::int64_t>("steps_done", "of the run", base::at_least(0));
  at.loss_sum = in.required<double>("loss_sum", "over samples");
  at.samples = in.required<std::int64_t>("samples", "of the epoch under way", base::at_least(0));
  at.elapsed_s = in.required<double>("elapsed_s", "since run_start", base::not_negative());
  const auto epochs = in.required<std::vector<double>>("evaluation_epochs", "epochs");
  const auto qualities = in.required<std::vector<double>>("evaluation_qualities", "qualities");
  const auto times = in.required<std::vector<double>>("evaluation_times_s", "seconds");
  if (qualities.size() != epochs.size() || times.size() != epochs.size()) {
    throw base::DataError(
        fmt::format("{}: expected as many qualities and times as the {} "
                    "evaluations, found {} and {}",
                    in.where(), epochs.size(), qualities.size(), times.size()));
  }
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    at.evaluations.push_back({epochs[i], qualities[i], times[i]});
  }
  in.reject_unknown();
  return at;
}

Json object_in(const Json& all, const char* key, const std::string& name) {
  const auto found = all.is_object() ? all.find(key) : all.end();
  if (found == all.end() || !found->is_object()) {
    throw base::DataError(fmt::format("{}: /{}: expected an object, found {}", name, key,
                                      found == all.end() ? "nothing" : base::brief_json(*found)));
  }
  return *found;
}

const Json* member(const Json& value, const std::string& key) {
  const auto found = value.is_object() ? value.find(key) : value.end();
  return found == value.end() ? nullptr : &*found;
}

std::string shown(const Json* value) {
  return value == nullptr ? "nothing" : base::brief_json(*value);
}

std::optional<ConfigDifference> difference_at(const std::string& path, const Json* then,
                                              const Json* now,
                                              const std::vector<std::string>& except) {
  if (std::find(except.begin(), except.end(), path) != except.end()) return std::nullopt;
  const bool both = then != nullptr && now != nullptr;
  if (both && *then == *now) return std::nullopt;
  if (!both || !then->is_object() || !now->is_object()) {
    return ConfigDifference{path, shown(then), shown(now)};
  }
  std::set<std::string> keys;
  for (const Json* object : {then, now}) {
    for (const auto& [key, value] : object->items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const auto found =
        difference_at(base::json_path(path, key), member(*then, key), member(*now, key), except);
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace

std::string to_text(const CheckpointRecord& record) {
  return Json{{kPosition, to_json(record.position)},
              {kConfig, record.config},
              {kData, record.data},
              {kEnvironment, record.environment}}
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

CheckpointRecord parse_record(const std::string& text, const std::string& name) {
  const Json all = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  CheckpointRecord record;
  try {
    record.position =
        parse_position(base::ObjectReader(object_in(all, kPosition, name), name + ": /position"));
  } catch (const base::ConfigError& e) {
    throw base::DataError(e.what());  // not a configuration, but a damaged file that a program
                                      // wrote
  }
  record.config = object_in(all, kConfig, name);
  rename_old_keys(record.config, name);  // so that it compares with today's keys
  record.data = object_in(all, kData, name);
  record.environment = object_in(all, kEnvironment, name);
  return record;
}

std::optional<ConfigDifference> config_difference(const Json& then, const Json& now,
                                                  const std::vector<std::string>& except) {
  return difference_at("", &then, &now, except);
}

}  // namespace runner
