// Finds what one log means: outcome, evaluations, rates.
// Hides which of a log's records belong to the run.
#pragma once

#include <string>

#include "analysis/facts.h"

namespace analysis {

/// `round`: a number, whose facts of the benchmark hold; "" for the newest.
RunFacts facts_of(const ParsedLog& log, const std::string& round = "");

}  // namespace analysis
