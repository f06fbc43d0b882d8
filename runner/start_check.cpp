// The first sum of a job.
#include "runner/start_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runner/base/error.h"

namespace runner {
namespace {

/// MPI sends short messages in another way than long ones. A few kilobytes, and a megabyte.
constexpr std::size_t kShort = std::size_t{1} << 10, kLong = std::size_t{1} << 18;

void check_sum(const Communicator& world, std::size_t floats) {
  std::vector<float> sums(floats, 1.0F);
  Pending pending = world.start_allreduce_sum(sums);
  while (!pending.test()) {
  }
  const auto expected = static_cast<float>(world.size());
  const auto wrong =
      std::find_if(sums.begin(), sums.end(), [&](float sum) { return sum != expected; });
  if (wrong == sums.end()) return;
  throw base::SystemError(fmt::format(
      "MPI_Isend: element {} of the first sum: expected {} ones to be {}, found {}. Messages "
      "are damaged between these ranks. In containers, where ranks may not read each other's "
      "memory, give Open MPI --mca btl_vader_single_copy_mechanism none (version 4) or "
      "--mca smsc ^cma (version 5)",
      wrong - sums.begin(), world.size(), expected, *wrong));
}

}  // namespace

void check_first_sum(const Communicator& world) {
  check_sum(world, kShort);
  check_sum(world, kLong);
}

}  // namespace runner
