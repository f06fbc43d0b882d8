// Declares and reads the configurations of commands.
#include "runner/config_source.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/output_options.h"
#include "runner/console.h"
#include "runner/launch/launcher.h"
#include "runner/renamed_keys.h"

namespace runner {
namespace {

/// Before MPI starts, every rank reads the same configuration; only rank 0 prints warnings.
void warn(const std::vector<std::string>& texts) {
  if (texts.empty() || launch::launched_rank(launch::environment()) != 0) return;
  const base::SystemClock clock;
  Console console(std::cerr, Console::style_of_stderr(0), clock);
  for (const std::string& text : texts) console.warn(text);
}

/// A warning where the quality would be that of samples that are trained.
std::vector<std::string> doubts_about(const base::ObjectReader& reader) {
  using nlohmann::json;
  const json dataset = reader.resolved().value("dataset", json::object());
  const auto path_of = [&](const char* key) {
    const json path = dataset.value(key, json());
    return path.is_string() ? std::filesystem::path(path.get<std::string>()).lexically_normal()
                            : std::filesystem::path();
  };
  const std::filesystem::path train = path_of("train");
  std::vector<std::string> doubts;
  for (const char* const key : {"validation", "test"}) {
    if (train.empty() || path_of(key) != train) continue;
    doubts.push_back(
        fmt::format("{}/{}: is dataset.train, too: the quality will be that of "
                    "samples that were trained",
                    reader.where("dataset"), key));
  }
  return doubts;
}

struct Loaded {
  RunConfig config;
  const WorkloadEntry* entry = nullptr;
  std::vector<std::string> renamed;  ///< warnings
};

Loaded loaded_from(const ConfigSource& source, const std::vector<WorkloadEntry>& workloads,
                   const std::vector<std::string>& more) {
  std::vector<std::string> overrides = source.overrides;
  overrides.insert(overrides.end(), source.forced.begin(), source.forced.end());
  overrides.insert(overrides.end(), more.begin(), more.end());
  nlohmann::json config = base::load_config(source.path, overrides);
  std::vector<std::string> renamed = rename_old_keys(config, source.path);
  const base::ObjectReader reader(config, source.path);
  const WorkloadEntry* const entry =
      &find_workload(workloads, workload_name(reader), reader.where("workload"));
  RunConfig parsed = parse_run_config(reader, source.path, entry->evaluations_per_epoch);
  entry->check(reader);
  reader.reject_unknown();
  return {std::move(parsed), entry, std::move(renamed)};
}

void load(ConfigSource& source, const std::vector<WorkloadEntry>& workloads) {
  Loaded loaded = loaded_from(source, workloads, {});
  source.entry = loaded.entry;
  source.config.emplace(std::move(loaded.config));
  warn(loaded.renamed);
  warn(doubts_about(source.config->reader));
}

}  // namespace

RunConfig load_config(const ConfigSource& source, const std::vector<WorkloadEntry>& workloads,
                      const std::vector<std::string>& more) {
  return loaded_from(source, workloads, more).config;
}

std::shared_ptr<ConfigSource> declare_config(
    CLI::App& app, const std::vector<WorkloadEntry>& workloads,
    const std::function<void(const WorkloadEntry& entry)>& check, Presence presence) {
  auto source = std::make_shared<ConfigSource>();
  auto* const file =
      app.add_option("CONFIG", source->path, "configuration file (JSON, // comments allowed)")
          ->required(presence == Presence::kRequired);
  app.add_option("--set", source->overrides, "change one value, such as --set epochs=3")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all()
      ->needs(file);
  app.callback([source, &workloads, check] {
    if (source->path.empty()) return;
    load(*source, workloads);
    if (check) check(*source->entry);
  });
  return source;
}

void require_outputs(const ConfigSource& source,
                     const std::vector<std::pair<std::string, std::string>>& outputs,
                     std::vector<std::filesystem::path> more) {
  base::require_files(outputs);
  more.emplace_back(source.path);
  using nlohmann::json;
  const json dataset = source.config->reader.resolved().value("dataset", json::object()).flatten();
  for (const auto& [key, value] : dataset.items()) {
    if (value.is_string()) more.emplace_back(value.get<std::string>());
  }
  for (const auto& [option, value] : outputs) {
    if (!value.empty() && value != "-") base::refuse_to_overwrite(value, more);
  }
}

std::string names_of(const std::vector<WorkloadEntry>& workloads,
                     const std::function<bool(const WorkloadEntry& entry)>& take) {
  std::string names;
  for (const WorkloadEntry& entry : workloads) {
    if (take(entry)) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

const WorkloadEntry& find_workload(const std::vector<WorkloadEntry>& workloads,
                                   const std::string& name, std::string_view where,
                                   const std::vector<std::string>& others) {
  std::vector<std::string> names;
  for (const WorkloadEntry& entry : workloads) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  std::string message =
      std::string(where) + (name.empty() ? std::string(": expected the name of a workload")
                                         : ": no workload is called '" + name + "'");
  const std::string near = base::nearest_name(name, names);
  if (!near.empty()) message += "; did you mean '" + near + "'?";
  message += " (there are:";
  names.insert(names.end(), others.begin(), others.end());
  for (const std::string& known : names) message += " " + known;
  throw base::ConfigError(message + ")");
}

}  // namespace runner
