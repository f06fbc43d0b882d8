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

/// Rises when a member of the document changes its meaning.
inline constexpr int kReportFormat = 1;

/// What a node found of itself.
struct NodeReport {
  std::string host;
  std::int64_t ranks = 1, threads = 1, cpus = 1;  ///< threads and CPUs of all its ranks
  Findings findings;
};

struct Report {
  std::string configuration;  ///< "" for none
  bool quick = false;
  std::int64_t ranks = 1;          ///< that were judged for
  std::int64_t started_ranks = 1;  ///< fewer where --ranks plans
  std::vector<NodeReport> nodes;
  Findings between;  ///< rates of nodes against each other, and what concerns all; by host
  NetworkTimes network;
};

base::ExitCode exit_code(const Report& report);

/// What report_schema() tells, and docs/doctor.md in words.
nlohmann::json report_document(const Report& report);

/// The JSON Schema of that document.
nlohmann::ordered_json report_schema();

/// A count of what is fine, what was measured, and each thing that is not fine with its remedy;
/// what several nodes have in common once.
void print_report(const Report& report, std::ostream& out);

}  // namespace doctor
