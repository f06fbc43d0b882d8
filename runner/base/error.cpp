// Messages for failures that have none of their own: errno and the standard library's exceptions.
#include "runner/base/error.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "runner/base/system_facts.h"

namespace base {
namespace {

std::string out_of_memory() {
  constexpr std::int64_t kMebibyte = 1 << 20;
  std::string text = fmt::format("out of memory: an allocation was refused, {} MiB were resident",
                                 peak_rss_bytes() / kMebibyte);
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += fmt::format(" (address space is limited to {} MiB)", limit.rlim_cur / kMebibyte);
  }
  return text;
}

/// "PATH: cannot remove all: Permission denied". The library's text puts its own name first and the
/// paths last, and some of its operations ("status") are names of functions.
std::string file_system_text(const std::filesystem::filesystem_error& error) {
  const std::string reason = error.code().message();
  const std::string_view what = error.what();
  const std::size_t begin = what.find("cannot ");
  const std::size_t end = what.find(": " + reason);
  const bool is_told = begin < end && end != std::string_view::npos;
  std::string where = error.path1().string();
  if (!error.path2().empty()) where += ", " + error.path2().string();
  return fmt::format("{}{}{}: {}", where, where.empty() ? "" : ": ",
                     is_told ? what.substr(begin, end - begin) : "cannot be examined", reason);
}

}  // namespace

Failure failure_of(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) {
    return {error->code(), error->what()};
  }
  // A container of more elements than an address space holds is a length_error.
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
      dynamic_cast<const std::length_error*>(&exception) != nullptr) {
    return {ExitCode::kSystem, out_of_memory()};
  }
  using std::filesystem::filesystem_error;
  if (const auto* error = dynamic_cast<const filesystem_error*>(&exception)) {
    return {ExitCode::kSystem, file_system_text(*error)};
  }
  // Of the standard library: threads that cannot be started.
  if (dynamic_cast<const std::system_error*>(&exception) != nullptr) {
    return {ExitCode::kSystem, exception.what()};
  }
  return {ExitCode::kInternal, fmt::format("internal error: {}", exception.what())};
}

SystemError thread_error(const std::string& who, const std::system_error& error) {
  return SystemError(fmt::format(
      "{}: cannot start threads: {}; raise the limit of processes (ulimit -u, or pids.max "
      "of the control group), or use fewer threads",
      who, error.code().message()));
}

SystemError system_error(const std::string& message, int error_number) {
  return SystemError(message + ": " + std::generic_category().message(error_number));
}

}  // namespace base
