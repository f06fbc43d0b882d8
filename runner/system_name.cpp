// The default name of a system, with short CPU names.
#include "runner/system_name.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runner/base/system_facts.h"
#include "runner/launch/launcher.h"

namespace runner {
namespace {

constexpr char kModel[] = "cpu_model";

std::string text_fact(const nlohmann::json& facts, const char* key) {
  const auto found = facts.find(key);
  return found != facts.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Words of a model name that do not distinguish models.
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

/// `text` as one path component in lower case.
std::string folder_name(const std::string& text) {
  std::string name = sanitized(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

launch::Allocation allocation() { return launch::allocation_of(launch::environment()); }

}  // namespace

std::string default_system_name() {
  const launch::Allocation job = allocation();
  if (!job.cluster.empty()) return folder_name(job.cluster);
  const nlohmann::json facts = base::machine_facts();
  // The jobs of an array run on different hosts, and are to find each other's results.
  if (!job.scheduler.empty()) return shared_system_name(1, {text_fact(facts, kModel)});
  return folder_name(text_fact(facts, "host") + " " + short_cpu_name(text_fact(facts, kModel)));
}

std::string shared_system_name(std::int64_t nodes, const std::vector<std::string>& cpu_models) {
  std::set<std::string> names;
  for (const std::string& model : cpu_models) names.insert(short_cpu_name(model));
  std::string name = std::to_string(nodes) + "x";
  for (const std::string& one : names) name += " " + one;
  return folder_name(name);
}

void name_system(RunConfig& config, const Communicator& world, const Topology& topology) {
  const nlohmann::json given = config.reader.resolved();
  const nlohmann::json::json_pointer key("/results/system");
  const bool is_named = given.contains(key) && given[key] != "";
  if (is_named || topology.node_count == 1 || !allocation().cluster.empty()) return;
  // Other ranks than node leaders send nothing; a leader's model may be unknown.
  const bool leads = topology.is_node_leader();
  const auto models = world.gather(leads ? "=" + text_fact(base::machine_facts(), kModel) : "", 0);
  std::string name;
  if (world.rank() == 0) {
    std::vector<std::string> of_nodes;
    for (const std::string& model : models) {
      if (!model.empty()) of_nodes.push_back(model.substr(1));
    }
    name = shared_system_name(topology.node_count, of_nodes);
  }
  config.system_name = world.broadcast(name, 0);
}

}  // namespace runner
