// The output of doctor: text for people, and one JSON document.
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

/// Incremented when a member of the document changes its meaning.
inline constexpr int kReportFormat = 1;

/// The findings of one node about itself.
struct NodeReport {
  std::string host;
  std::int64_t ranks = 1, threads = 1, cpus = 1;  ///< threads and CPUs of all its ranks
  Findings findings;
};

struct Report {
  std::string configuration;  ///< "" for none
  bool quick = false;
  std::int64_t ranks = 1;          ///< number that was judged for
  std::int64_t started_ranks = 1;  ///< fewer if --ranks plans
  std::vector<NodeReport> nodes;
  Findings between;  ///< comparisons between nodes, and findings about all nodes; by host
  NetworkTimes network;
};

base::ExitCode exit_code(const Report& report);

/// The document described by report_schema() and docs/doctor.md.
nlohmann::json report_document(const Report& report);

/// The JSON Schema of report_document().
nlohmann::ordered_json report_schema();

/// Prints the number of good findings, the measurements, and each problem with its remedy; problems
/// that several nodes share are printed once.
void print_report(const Report& report, std::ostream& out);

}  // namespace doctor
