// Collects from the records of a log what the check of a submission needs.
#include "analysis/submission/package_log.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runner/base/strict_json.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace analysis::submission {
namespace {

namespace keys = mllog::keys;
using mllog::JsonText;

void keep_first(std::optional<double>& held, const JsonText& value) {
  const std::optional<double> number = value.number();
  if (!held && number && std::isfinite(*number)) held = number;
}

void keep_first(std::optional<std::string>& held, const JsonText& value) {
  if (!held) held = value.string();
}

}  // namespace

void PackageLogCollector::add(const mllog::MalformedRecord& record) {
  if (log_.malformed_records++ == 0) log_.malformed_line = record.line;
}

PackageLog PackageLogCollector::log() const {
  PackageLog log = log_;
  log.rcp = rcp_.run();
  if (run_start_ms_ && run_stop_ms_) {
    log.time_to_train_s = (*run_stop_ms_ - *run_start_ms_) / base::kMsPerSecond;
  }
  return log;
}

void PackageLogCollector::add(const mllog::Record& record) {
  rcp_.add(record);
  if (record.key == keys::kSeed) {
    log_.seeds.push_back(seed_record(record));
  } else if (record.key == keys::kNumberOfNodes) {
    keep_first(log_.number_of_nodes, record.value);
  } else if (record.key == keys::kAcceleratorsPerNode) {
    keep_first(log_.accelerators_per_node, record.value);
  } else if (record.key == keys::kSubmissionOrg) {
    keep_first(log_.org, record.value);
  } else if (record.key == keys::kSubmissionDivision) {
    keep_first(log_.division, record.value);
  } else if (record.key == keys::kSubmissionStatus) {
    keep_first(log_.status, record.value);
  } else if (record.key == keys::kRunStart) {
    if (!run_start_ms_) run_start_ms_ = record.time_ms;
  } else if (record.key == keys::kRunStop) {
    if (!run_stop_ms_) run_stop_ms_ = record.time_ms;
  }
}

}  // namespace analysis::submission
