// Collects the remarks of all ranks.
#include "runner/remarks.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/base/clock.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"

namespace runner {

std::vector<std::string> report_remarks(const Communicator& world, Workload& workload,
                                        Console& console) {
  using Json = nlohmann::json;
  Json mine = Json::array();
  for (const std::string& remark : workload.take_remarks()) mine.push_back(base::printable(remark));
  std::vector<std::string> all;
  for (const std::string& part : world.gather(base::json_line(mine), 0)) {
    for (const Json& remark : Json::parse(part)) {
      auto text = remark.get<std::string>();
      if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
    }
  }
  for (const std::string& remark : all) console.warn(remark);
  return all;
}

void report_remarks(const Communicator& world, Workload& workload) {
  const base::SystemClock clock;
  Console console(std::cerr, Console::style_of_stderr(world.rank()), clock);
  report_remarks(world, workload, console);
}

}  // namespace runner
