// Parses whole logs from files and streams.
#include "analysis/log_file.h"

#include <cerrno>
#include <optional>
#include <variant>

#include "runner/base/error.h"
#include "runner/mllog/record_reader.h"

namespace analysis {

namespace fs = std::filesystem;

ParsedLog parse_log(std::istream& in) {
  mllog::RecordReader reader(in);
  LogCollector collector(reader);
  while (const std::optional<mllog::LogItem> item = reader.next()) {
    std::visit([&](const auto& one) { collector.add(one); }, *item);
  }
  return std::move(collector).log();
}

std::ifstream open_log(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) {
    throw base::SystemError(path.string() + ": expected a regular file");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw base::system_error(path.string() + ": cannot be opened", errno);
  return in;
}

ParsedLog parse_log(const fs::path& path) {
  std::ifstream in = open_log(path);
  return parse_log(in);
}

}  // namespace analysis
