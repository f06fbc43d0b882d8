// The first sum of a job.
#include "runner/start_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runner/base/error.h"

namespace runner {
namespace {

/// A megabyte: MPI sends short messages in another way than long ones.
constexpr std::size_t kFloats = std::size_t{1} << 18;

}  // namespace

void check_first_sum(const Communicator& world) {
  std::vector<float> sums(kFloats, 1.0F);
  Pending pending = world.start_allreduce_sum(sums);
  while (!pending.test()) {
  }
  const auto expected = static_cast<float>(world.size());
  const auto wrong =
      std::find_if(sums.begin(), sums.end(), [&](float sum) { return sum != expected; });
  if (wrong == sums.end()) return;
  throw base::SystemError(fmt::format(
      "MPI_Iallreduce: element {} of the first sum: expected {} ones to be {}, found {}. Messages "
      "are damaged between these ranks. In containers, where ranks may not read each other's "
      "memory, give Open MPI --mca btl_vader_single_copy_mechanism none (version 4) or "
      "--mca smsc ^cma (version 5)",
      wrong - sums.begin(), world.size(), expected, *wrong));
}

}  // namespace runner
