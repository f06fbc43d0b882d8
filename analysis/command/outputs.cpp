// Output files of commands.
#include "analysis/command/outputs.h"

#include <fmt/format.h>

#include <map>
#include <ostream>
#include <system_error>

#include "analysis/report/output_file.h"
#include "runner/base/error.h"
#include "runner/base/printable.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;

/// The absolute path, with links resolved as far as it exists.
fs::path resolved(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, failed), failed);
  return failed ? path : whole;
}

}  // namespace

void require_files(const std::vector<std::pair<std::string, std::string>>& options) {
  std::map<fs::path, std::string> names;
  for (const auto& [option, value] : options) {
    if (value.empty()) continue;
    if (value == kStandardOutput && option != "--json" && option != "--plot") {
      throw ConfigError(fmt::format("{}: expected a file or folder, got '-'", option));
    }
    const auto [place, is_new] = names.emplace(resolved(value), option);
    if (!is_new) {
      throw ConfigError(fmt::format("{} {}: {} already goes there", option, value, place->second));
    }
  }
}

void refuse_to_overwrite(const fs::path& output, const std::vector<fs::path>& read) {
  const fs::path place = resolved(output);
  for (const fs::path& one : read) {
    std::error_code failed;
    if (fs::is_directory(one, failed)) {
      const fs::path inside = place.lexically_relative(resolved(one));
      if (!inside.empty() && *inside.begin() != "..") {
        throw ConfigError(
            fmt::format("{}: lies in the folder {}, which is read", output.string(), one.string()));
      }
    } else if (fs::equivalent(output, one, failed)) {
      throw ConfigError(output.string() + ": is one of the files that are read");
    }
  }
}

void end_output(std::ostream& out) {
  out.flush();
  if (!out) throw base::SystemError("standard output: cannot be written");
}

void write_files(const std::vector<OutputFile>& files, std::ostream& messages, bool quiet) {
  for (const auto& [path, content] : files) {
    report::write_output_file(path, content);
    if (!quiet) messages << "wrote " << base::printable(path.string()) << '\n';
  }
}

}  // namespace analysis::command
