// Collects from the records of a log what the check of a submission needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/seed_record.h"
#include "analysis/submission/rcp_collector.h"

namespace analysis::submission {

/// What the check of a submission needs of one log.
struct PackageLog {
  RcpRun rcp;
  std::vector<SeedRecord> seeds;
  std::int64_t malformed_records = 0;
  std::int64_t malformed_line = 0;  ///< line of the first
  // The first value that is logged for each; absent if there is none.
  std::optional<double> number_of_nodes, accelerators_per_node;
  std::optional<std::string> org, division, status;
  std::optional<double> time_to_train_s;  ///< from the first run_start to the first run_stop
  bool complies = false;                  ///< with the round's rules; set by the caller
  std::string unreadable;                 ///< why the file could not be read; "" if it was
};

/// Add every item of a log in order (std::visit an mllog::LogItem), then call log().
class PackageLogCollector {
 public:
  /// `round`: as for RcpCollector.
  explicit PackageLogCollector(const std::string& round = {}) : rcp_(round) {}
  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord& record);
  PackageLog log() const;

 private:
  RcpCollector rcp_;
  PackageLog log_;
  std::optional<double> run_start_ms_, run_stop_ms_;
};

/// Reads and judges a log for check_package().
using ReadPackageLog = std::function<PackageLog(const std::filesystem::path&)>;

}  // namespace analysis::submission
