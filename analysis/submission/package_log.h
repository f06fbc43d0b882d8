// What the check of a submission needs of one log, record by record.
// Hides which records those are.
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

/// One log, as far as its submission is concerned.
struct PackageLog {
  RcpRun rcp;
  std::vector<SeedRecord> seeds;
  std::int64_t malformed_records = 0;
  std::int64_t malformed_line = 0;  ///< of the first
  // The first value of each; absent where there is none.
  std::optional<double> number_of_nodes, accelerators_per_node;
  std::optional<std::string> division, status;
  std::optional<double> time_to_train_s;  ///< from the first run_start to the first run_stop
  bool complies = false;                  ///< with the round's rules, for the caller to set
  std::string unreadable;                 ///< why the file could not be read; "" when it was
};

/// Feed every item of a log in order (std::visit an mllog::LogItem), then ask for the log.
class PackageLogCollector {
 public:
  /// `round`: as RcpCollector's.
  explicit PackageLogCollector(const std::string& round = {}) : rcp_(round) {}
  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord& record);
  PackageLog log() const;

 private:
  RcpCollector rcp_;
  PackageLog log_;
  std::optional<double> run_start_ms_, run_stop_ms_;
};

/// How check_package() gets a log, read and judged.
using ReadPackageLog = std::function<PackageLog(const std::filesystem::path&)>;

}  // namespace analysis::submission
