// The options --rules and --round.
#include "runner/rules_options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace runner {

void declare_rules(CLI::App& app, RulesOptions& rules) {
  const std::map<std::string, RulesMode> modes = {
      {"off", RulesMode::kOff}, {"warn", RulesMode::kWarn}, {"strict", RulesMode::kStrict}};
  app.add_option_function<std::string>(
         "--rules", [&rules, modes](const std::string& name) { rules.mode = modes.at(name); },
         "judge the run by MLPerf's rules before it begins, on its way and at its end: warn tells "
         "what it breaks, strict refuses or ends such a run with exit code 5 (--rules strict)")
      ->type_name("MODE")
      ->check(CLI::IsMember({"off", "warn", "strict"}))
      ->default_str("warn");
  app.add_option_function<std::string>(
         "--round",
         [&rules](const std::string& round) {
           require_round(round);
           rules.round = round;
         },
         "the round whose rules these are, such as training-4.0, hpc-3.0 or 4.0; without it the "
         "newest that has the benchmark. `trainmark check --rounds` lists them")
      ->type_name("ROUND");
}

}  // namespace runner
