// Checks the options that name output files, and standard output.
#include "runner/base/output_options.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <system_error>

#include "runner/base/error.h"

namespace base {
namespace {

namespace fs = std::filesystem;

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
    if (value == "-" && option != "--json" && option != "--plot") {
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
  std::error_code failed;
  const bool is_there = fs::exists(place, failed);
  for (const fs::path& one : read) {
    if (fs::is_directory(one, failed)) {
      const fs::path inside = place.lexically_relative(resolved(one));
      if (!inside.empty() && *inside.begin() != "..") {
        throw ConfigError(
            fmt::format("{}: lies in the folder {}, which is read", output.string(), one.string()));
      }
    } else if (is_there && fs::equivalent(place, one, failed)) {
      throw ConfigError(output.string() + ": is one of the files that are read");
    }
  }
}

void end_output(std::ostream& out) {
  out << std::flush;
  if (out && (&out != &std::cout || std::ferror(stdout) == 0)) return;
  throw SystemError("standard output: cannot be written");
}

}  // namespace base
