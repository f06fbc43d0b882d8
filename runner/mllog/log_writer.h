// Writes MLPerf log records (":::MLLOG {...}"), each passed to the operating system before the call
// returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <source_location>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/descriptor.h"

namespace mllog {

/// Destination of records; tests supply their own. write_line() must return only after a complete
/// write.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void write_line(const std::string& line) = 0;
};

/// kNew: the log is created with O_EXCL. kClaimed: it was created to claim its name and is
/// truncated.
enum class LogFile { kNew, kClaimed };

/// A file with one write(2) per record, so that a crash of the process loses no record, and a full
/// disk leaves whole ones. Call sync() for fsync. Throws SystemError naming the path.
class FileSink final : public RecordSink {
 public:
  explicit FileSink(const std::string& path, LogFile state = LogFile::kNew);
  void write_line(const std::string& line) override;
  void sync();
  /// Throws SystemError if the path no longer refers to this log, because the file or its folder
  /// was removed or renamed.
  void require_in_place() const;

 private:
  void remove_end(std::size_t bytes);
  std::string path_;
  base::Descriptor file_;
};

/// One MLPerf log. Its times begin with the calendar's and go on by the steady clock, so that
/// durations are right even if the calendar clock is set. Format as in mlcommons/logging: members
/// namespace, time_ms, event_type, key, value, metadata (file, lineno, then the caller's),
/// separators ", " and ": ", non-ASCII as \uXXXX, NaN and infinities as bare tokens.
class LogWriter {
 public:
  using Json = nlohmann::ordered_json;
  /// `sink` may be null, on a rank that writes no log.
  LogWriter(RecordSink* sink, const base::Clock& clock);

  void event(const std::string& key, const Json& value, const Json& metadata = Json::object(),
             std::source_location where = std::source_location::current());
  void start(const std::string& key, const Json& metadata = Json::object(),
             std::source_location where = std::source_location::current());
  void end(const std::string& key, const Json& metadata = Json::object(),
           std::source_location where = std::source_location::current());

  /// Milliseconds by which the calendar clock was set since this object was created: positive if it
  /// is ahead of the log.
  std::int64_t clock_step_ms() const { return clock_.unix_ms() - time_ms(); }

 private:
  std::int64_t time_ms() const;
  void write(const char* event_type, const std::string& key, const Json& value,
             const Json& metadata, const std::source_location& where);
  RecordSink* sink_;
  const base::Clock& clock_;
  const std::int64_t began_ms_, began_ns_;  ///< on the calendar and on the steady clock
};

}  // namespace mllog
