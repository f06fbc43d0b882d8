// Writes MLPerf log records.
#include "runner/mllog/log_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <source_location>
#include <string_view>
#include <utility>

#include "runner/base/error.h"
#include "runner/mllog/python_json.h"
#include "runner/mllog/source_path.h"

namespace mllog {

namespace {

int creation_flags(LogFile state) { return state == LogFile::kNew ? O_CREAT | O_EXCL : O_TRUNC; }

}  // namespace

FileSink::FileSink(const std::string& path, LogFile state)
    : path_(path),
      file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | creation_flags(state), 0666)) {
  if (!file_) throw base::system_error(path + ": cannot create the log", errno);
}

void FileSink::write_line(const std::string& line) {
  const std::string text = line + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {  // a signal or a full disk may cause a short write
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      remove_end(text.size() - rest.size());
      throw base::system_error(path_ + ": cannot write the log", error);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Half a record would be taken for damage.
void FileSink::remove_end(std::size_t bytes) {
  struct stat state {};
  if (bytes == 0 || ::fstat(file_.get(), &state) != 0) return;
  [[maybe_unused]] const int failed =
      ::ftruncate(file_.get(), state.st_size - static_cast<off_t>(bytes));
}

void FileSink::sync() {
  if (::fsync(file_.get()) != 0) throw base::system_error(path_ + ": cannot sync the log", errno);
}

void FileSink::require_in_place() const {
  struct stat written {
  }, there{};
  if (::fstat(file_.get(), &written) == 0 && ::stat(path_.c_str(), &there) == 0 &&
      written.st_dev == there.st_dev && written.st_ino == there.st_ino) {
    return;
  }
  throw base::SystemError(path_ +
                          ": the log is lost: expected the file that was written, found none or "
                          "another; it was removed or renamed while the run went on");
}

LogWriter::LogWriter(RecordSink* sink, const base::Clock& clock)
    : sink_(sink), clock_(clock), began_ms_(clock.unix_ms()), began_ns_(clock.steady_ns()) {}

std::int64_t LogWriter::time_ms() const {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  return began_ms_ + (clock_.steady_ns() - began_ns_) / kNsPerMs;
}

void LogWriter::event(const std::string& key, const Json& value, const Json& metadata,
                      std::source_location where) {
  write("POINT_IN_TIME", key, value, metadata, where);
}

void LogWriter::start(const std::string& key, const Json& metadata, std::source_location where) {
  write("INTERVAL_START", key, nullptr, metadata, where);
}

void LogWriter::end(const std::string& key, const Json& metadata, std::source_location where) {
  write("INTERVAL_END", key, nullptr, metadata, where);
}

void LogWriter::write(const char* event_type, const std::string& key, const Json& value,
                      const Json& metadata, const std::source_location& where) {
  if (sink_ == nullptr) return;
  if (!metadata.is_object()) {
    throw base::Error(base::ExitCode::kInternal,
                      "LogWriter: metadata of " + key + " must be an object");
  }
  Json all = {{"file", path_in_project(where.file_name())}, {"lineno", where.line()}};
  all.update(metadata);
  const Json record = {{"namespace", ""}, {"time_ms", time_ms()}, {"event_type", event_type},
                       {"key", key},      {"value", value},       {"metadata", all}};
  sink_->write_line(":::MLLOG " + to_python_json(record));
}

}  // namespace mllog
