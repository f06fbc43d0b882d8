// The default folder name of a system.
// Hides how a CPU's marketing name becomes short.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <regex>

#include "runner/base/system_facts.h"
#include "runner/run_config.h"

namespace runner {
namespace {

std::string text_fact(const nlohmann::json& facts, const char* key) {
  const auto found = facts.find(key);
  return found != facts.end() && found->is_string() ? found->get<std::string>() : "";
}

/// "Intel(R) Xeon(R) Platinum 8368 CPU @ 2.40GHz" -> "Xeon Platinum 8368".
std::string short_cpu_name(const std::string& model) {
  static const std::regex noise(
      R"(\((R|TM|r|tm)\)|@.*$|\b(Intel|AMD|CPU|Processor|[0-9]+-Core)\b)");
  return std::regex_replace(model, noise, " ");
}

}  // namespace

std::string default_system_name() {
  const nlohmann::json facts = base::machine_facts();
  std::string name =
      sanitized(text_fact(facts, "host") + " " + short_cpu_name(text_fact(facts, "cpu_model")));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace runner
