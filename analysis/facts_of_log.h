// Computes the facts of one log: outcome, times, evaluations, rates.
#pragma once

#include <string>

#include "analysis/facts.h"

namespace analysis {

/// `round`: the round whose facts of the benchmark apply, "3.1"; "" for the newest.
RunFacts facts_of(const ParsedLog& log, const std::string& round = "");

}  // namespace analysis
