// Agreement on success.
#include "runner/together.h"

#include <fmt/format.h>

#include <exception>
#include <string>

#include "runner/agreed_error.h"

namespace runner {

void together(const Communicator& world, const std::function<void()>& work) {
  // First byte: the exit code; then the message.
  std::string failure;
  try {
    work();
  } catch (const std::exception& e) {
    const base::Failure found = base::failure_of(e);
    failure = static_cast<char>(found.code) + found.message;
  }
  const std::int64_t nobody = world.size();
  const std::int64_t first =
      world.allreduce_min(failure.empty() ? nobody : std::int64_t{world.rank()});
  if (first == nobody) return;
  failure = world.broadcast(failure, static_cast<int>(first));
  const std::string message = failure.substr(1);
  throw AgreedError(static_cast<base::ExitCode>(failure.front()),
                    first == 0 ? message : fmt::format("{} (on rank {})", message, first));
}

void on_rank_0(const Communicator& world, const std::function<void()>& work) {
  together(world, [&] {
    if (world.rank() == 0) work();
  });
}

}  // namespace runner
