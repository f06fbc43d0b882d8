// Reads entry.json of MLPerf Training 0.5.
#include "analysis/entry_file.h"

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <system_error>

#include "analysis/find_logs.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kRoundFolder[] = "v0.5.0";

std::optional<double> number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
}

/// "" if the member is absent, not a string, NA or N/A.
std::string name_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return "";
  std::string text = found->get<std::string>();
  return text == "NA" || text == "N/A" ? "" : text;
}

/// Returns 2 for "2x Intel(R) Xeon(R)" and "1-node 2x Intel(R) Xeon(R)", and removes "2x ".
std::optional<double> take_count(std::string& text) {
  static const std::regex form(R"((^|\s)(\d{1,4})x\s)");
  std::smatch match;
  if (!std::regex_search(text, match, form)) return std::nullopt;
  const double count = std::stod(match[2]);
  text = match.prefix().str() + match.suffix().str();
  return count;
}

/// The name of the folder below v0.5.0; "" if there is none.
std::string submitter_of(const fs::path& path) {
  const fs::path full = full_path(path);
  for (auto part = full.begin(); part != full.end(); ++part) {
    if (*part == kRoundFolder && std::next(part) != full.end()) return std::next(part)->string();
  }
  return "";
}

}  // namespace

fs::path entry_file_of(const fs::path& folder) {
  const fs::path entry = folder.parent_path() / "entry.json";
  std::error_code failed;
  const bool is_entry = folder.parent_path().parent_path().filename() == "results";
  return is_entry && fs::is_regular_file(entry, failed) ? entry : fs::path();
}

DescribedSystem read_entry(const json& entry, const fs::path& path) {
  DescribedSystem description;
  description.path = path;
  description.found = true;
  description.division = name_of(entry, "division");
  description.submitter = submitter_of(path);
  const auto nodes = entry.find("nodes");
  if (nodes == entry.end() || !nodes->is_array() || nodes->size() != 1) return description;
  const json& node = nodes->front();
  if (!node.is_object()) return description;
  description.nodes = number_of(node, "num_nodes");
  description.processor = name_of(node, "cpu");
  description.accelerator = name_of(node, "accelerator");
  description.processors_per_node = take_count(description.processor);
  if (!description.processors_per_node) {
    std::string hardware = name_of(entry, "hardware");
    description.processors_per_node = take_count(hardware);
  }
  const std::optional<double> accelerators = number_of(node, "num_accelerators");
  if (accelerators == 0.0 || description.nodes == 1.0) {
    description.accelerators_per_node = accelerators;
  } else {
    description.nodes.reset();
  }
  return description;
}

}  // namespace analysis
