// The files of one run below results/<system>/<workload>/, claimed so that no other run takes them.
// Hides how a number is claimed and how a file appears whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/mllog/log_writer.h"

namespace runner {

/// result_<number>.* of one run. Made on rank 0 only.
class ResultFiles {
 public:
  /// Claims the lowest number above all that are there, by creating result_<n>.txt with O_EXCL, and
  /// so is safe against runs that start at the same time on any node. Makes the folder. Throws
  /// SystemError.
  static ResultFiles claim(const std::string& folder);

  std::int64_t number() const { return number_; }
  mllog::FileSink& log() { return *log_; }
  std::string log_path() const { return path(".txt"); }
  std::string config_path() const { return path(".config.json"); }
  std::string telemetry_path() const { return path(".telemetry.json"); }
  std::string trace_path() const { return path(".trace.json"); }
  std::string weights_path() const { return path(".weights.h5"); }

 private:
  ResultFiles(std::string folder, std::int64_t number, std::unique_ptr<mllog::FileSink> log);
  std::string path(const char* ending) const;
  std::string folder_;
  std::int64_t number_;
  std::unique_ptr<mllog::FileSink> log_;
};

}  // namespace runner
