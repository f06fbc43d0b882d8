// The parts of the audit of one log, each in its own file, and their common types.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/audit_rules.h"
#include "analysis/facts.h"
#include "analysis/log_parser.h"

namespace analysis {

/// Copies of one record by several ranks, and clocks of several hosts, differ by milliseconds; a
/// second or more is reported.
inline constexpr double kHarmlessMs = 1000.0;

/// Input of every part of the audit.
struct AuditInput {
  const ParsedLog& log;
  const RunFacts& facts;
  const mllog::Benchmark* benchmark = nullptr;  ///< null if unknown
  bool closed = false;                          ///< the log says that it is of the closed division

  /// How the log's round evaluates the benchmark; null if unknown.
  const mllog::EvaluationFacts* evaluation() const;
};

class AuditFindings {
 public:
  void add_finding(Rule rule, Place place, std::string text) {
    list_.push_back(make_finding(rule, place, std::move(text)));
  }
  std::vector<Finding> take() && { return std::move(list_); }

 private:
  std::vector<Finding> list_;
};

inline Place place_of(const Mark& mark) { return {mark.line, mark.column}; }

// The parts, each in its own file.
void audit_end(const AuditInput& input, AuditFindings& findings);
void audit_stop(const AuditInput& input, AuditFindings& findings);
void audit_clocks(const AuditInput& input, AuditFindings& findings);
void audit_intervals(const AuditInput& input, AuditFindings& findings);
void audit_epochs(const AuditInput& input, AuditFindings& findings);
void audit_schedule(const AuditInput& input, AuditFindings& findings);
void audit_form(const AuditInput& input, AuditFindings& findings);
void audit_settings(const AuditInput& input, AuditFindings& findings);

}  // namespace analysis
