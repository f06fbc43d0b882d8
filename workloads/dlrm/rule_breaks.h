// Checks a DLRM configuration against the rules of the closed division.
#pragma once

#include <string>
#include <vector>

#include "workloads/dlrm/config.h"
#include "workloads/optimizer/optimizer.h"

namespace dlrm {

/// One message for each key that breaks the rules: the key, the required value, the value found.
/// Source: MLPerf Training rules, section 9: model, optimizer and hyperparameters of a closed
/// submission are the reference's, which trains all tables and layers by plain SGD. Sizes:
/// facebookresearch/dlrm, branch mlperf, bench/run_and_time.sh.
std::vector<std::string> closed_rule_breaks(const Config& config,
                                            const nn::Hyperparameters& layers);

}  // namespace dlrm
