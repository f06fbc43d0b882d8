// Messages for failures that have none of their own: errno, std::bad_alloc and std::system_error.
#include "runner/base/error.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <new>
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

}  // namespace

Failure failure_of(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) {
    return {error->code(), error->what()};
  }
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return {ExitCode::kSystem, out_of_memory()};
  }
  // Of the standard library: threads that cannot be started, files that cannot be reached.
  if (dynamic_cast<const std::system_error*>(&exception) != nullptr) {
    return {ExitCode::kSystem, exception.what()};
  }
  return {ExitCode::kInternal, exception.what()};
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
