// The default folder name of a system.
// Hides how a CPU's marketing name becomes short.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "runner/base/system_facts.h"
#include "runner/run_config.h"

namespace runner {
namespace {

std::string text_fact(const nlohmann::json& facts, const char* key) {
  const auto found = facts.find(key);
  return found != facts.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Words of a model name that tell nothing apart.
bool is_noise(const std::string& word) {
  return word == "Intel" || word == "AMD" || word == "CPU" || word == "Processor" ||
         word.ends_with("-Core");
}

/// "Intel(R) Xeon(R) Platinum 8368 CPU @ 2.40GHz" -> "Xeon Platinum 8368".
std::string short_cpu_name(const std::string& model) {
  std::string plain = model.substr(0, model.find('@'));
  for (const std::string mark : {"(R)", "(TM)", "(r)", "(tm)"}) {
    for (auto at = plain.find(mark); at != std::string::npos; at = plain.find(mark)) {
      plain.replace(at, mark.size(), " ");
    }
  }
  std::istringstream words(plain);
  std::string name;
  for (std::string word; words >> word;) {
    if (!is_noise(word)) name += (name.empty() ? "" : " ") + word;
  }
  return name;
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
