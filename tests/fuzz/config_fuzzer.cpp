// Arbitrary bytes as a configuration file and its overrides: a ConfigError or a value, never a
// crash. The overrides precede the first empty line, one per line.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "tests/fuzz/memory_file.h"

namespace {

std::vector<std::string> take_overrides(std::string_view& text) {
  std::vector<std::string> overrides;
  const std::size_t end = text.find("\n\n");
  if (end == std::string_view::npos) return overrides;
  std::string_view head = text.substr(0, end);
  text.remove_prefix(end + 2);
  while (!head.empty()) {
    const std::size_t stop = std::min(head.find('\n'), head.size());
    overrides.emplace_back(head.substr(0, stop));
    head.remove_prefix(std::min(stop + 1, head.size()));
  }
  return overrides;
}

void read_every_type(const base::ObjectReader& in) {
  in.optional<bool>("b", false, "a switch");
  in.optional<std::int64_t>("i", 1, "an integer", base::within(-5, 1000000));
  in.optional<std::uint64_t>("u", 1, "a seed");
  in.optional<double>("d", 1.0, "a number", base::positive());
  in.optional<std::string>("s", "x", "a text", base::not_empty());
  in.optional<std::vector<std::int64_t>>("li", {}, "integers");
  in.optional<std::vector<double>>("ld", {}, "numbers");
  in.optional<std::vector<std::string>>("ls", {}, "texts");
  in.choice<int>("c", 0, {{"one", 0}, {"two", 1}}, "a choice");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> overrides = take_overrides(text);
  const fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  try {
    const nlohmann::json config = base::load_config(file.path(), overrides);
    const base::ObjectReader reader(config, "fuzz.json");
    read_every_type(reader);
    read_every_type(reader.object("inner", "a section"));
    reader.reject_unknown();
    // Accepted values are written next to the log, so they must be printable.
    fuzz::require(!reader.resolved().dump().empty());
  } catch (const base::ConfigError&) {
  }
  return 0;
}
