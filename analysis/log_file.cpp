// Parses whole logs from files and streams.
#include "analysis/log_file.h"

#include <optional>
#include <variant>

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

base::InputFile open_log(const fs::path& path) { return base::InputFile(path.string()); }

ParsedLog parse_log(const fs::path& path) {
  base::InputFile in = open_log(path);
  return parse_log(in);
}

}  // namespace analysis
