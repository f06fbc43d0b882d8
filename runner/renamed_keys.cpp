// The tables of renamed keys and values.
#include "runner/renamed_keys.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "runner/base/error.h"

namespace runner {
namespace {

struct RenamedKey {
  const char* section;
  const char* before;
  const char* now;
};
constexpr RenamedKey kRenamed[] = {{"training", "bn_group_size", "bn_group_samples"},
                                   {"training", "batchnorm_group_size", "bn_group_ranks"}};

struct RenamedValue {
  const char* section;
  const char* key;
  const char* before;
  const char* now;
};
constexpr RenamedValue kRenamedValues[] = {{"staging", "mode", "none", "stream"},
                                           {"staging", "mode", "node", "shard"}};

std::vector<std::string> rename_old_values(nlohmann::json& config, const std::string& file) {
  std::vector<std::string> warnings;
  for (const RenamedValue& value : kRenamedValues) {
    const auto section = config.find(value.section);
    if (section == config.end() || !section->is_object()) continue;
    const auto found = section->find(value.key);
    if (found == section->end() || *found != value.before) continue;
    *found = value.now;
    warnings.push_back(
        fmt::format("{}: /{}/{}: {} is called {} now; the next release will not take the old name",
                    file, value.section, value.key, value.before, value.now));
  }
  return warnings;
}

}  // namespace

std::vector<std::string> rename_old_keys(nlohmann::json& config, const std::string& file) {
  std::vector<std::string> warnings = rename_old_values(config, file);
  for (const RenamedKey& key : kRenamed) {
    const auto section = config.find(key.section);
    if (section == config.end() || !section->is_object() || !section->contains(key.before)) {
      continue;
    }
    const std::string where = fmt::format("{}: /{}/{}", file, key.section, key.before);
    if (section->contains(key.now)) {
      throw base::ConfigError(
          fmt::format("{}: stands beside {}, its new name; give one of them", where, key.now));
    }
    (*section)[key.now] = std::move((*section)[key.before]);
    section->erase(key.before);
    warnings.push_back(fmt::format(
        "{}: is called {} now; the next release will not take the old name", where, key.now));
  }
  return warnings;
}

}  // namespace runner
