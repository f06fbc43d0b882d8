// What doctor hands out: lines for people, and one JSON document.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "runner/doctor/comparison.h"
#include "runner/doctor/finding.h"
#include "runner/doctor/network.h"

namespace doctor {

/// What a node found of itself.
struct NodeReport {
  std::string host;
  std::int64_t ranks = 1, threads = 1, cpus = 1;  ///< threads and CPUs of all its ranks
  Findings findings;
};

struct Report {
  std::string configuration;  ///< "" for none
  bool quick = false;
  std::int64_t ranks = 1;
  std::vector<NodeReport> nodes;
  Findings between;  ///< rates of nodes against each other, and what concerns all; by host
  NetworkTimes network;
};

base::ExitCode exit_code(const Report& report);

/// {"format", "configuration", "quick", "ranks", "verdict", "exit_code", "counts", "nodes",
/// "between_nodes", "network", "checks"}; docs/doctor.md describes it.
nlohmann::json report_document(const Report& report);

/// A count of what is fine, what was measured, and each thing that is not fine with its remedy;
/// what several nodes have in common once.
void print_report(const Report& report, std::ostream& out);

}  // namespace doctor
