// The options --rules and --round of a command that trains.
// Hides their help.
#pragma once

#include "runner/run_rules.h"

namespace CLI {
class App;
}

namespace runner {

/// `rules` outlives `app`. A round that is not there is a ConfigError that leaves the parser.
void declare_rules(CLI::App& app, RulesOptions& rules);

}  // namespace runner
