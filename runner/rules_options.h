// The options --rules and --round of a command that trains.
#pragma once

#include "runner/run_rules.h"

namespace CLI {
class App;
}

namespace runner {

/// `rules` outlives `app`. An unknown round makes the parser throw ConfigError.
void declare_rules(CLI::App& app, RulesOptions& rules);

}  // namespace runner
