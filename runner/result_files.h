// The files of one run in results/<system>/<workload>/, with a result number that no other run
// gets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runner/mllog/log_writer.h"

namespace runner {

/// The names of all files and folders of a run begin with this and its number.
inline constexpr std::string_view kResultPrefix = "result_";

/// The n of "result_<n>.anything"; 0 for other names.
std::int64_t result_number(std::string_view name);

/// The files result_<number>.* of one run. Created on rank 0 only.
class ResultFiles {
 public:
  /// Claims the lowest number above all in `folder` and cut_off/. Uses base::create_exclusively(),
  /// so it is safe against runs that start at the same time on any node. Creates the folder. Throws
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

/// The n of all logs result_<n>.txt in `folder`, which must exist. Throws SystemError.
std::vector<std::int64_t> result_numbers(const std::string& folder);

/// Moves all files result_<number>.* of an interrupted run to the subfolder cut_off/, where no set
/// counts them. It is no error if another process moved them first. Throws SystemError.
void move_cut_off(const std::string& folder, std::int64_t number);

}  // namespace runner
