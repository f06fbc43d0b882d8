// The first sum of a job.
#include "runner/start_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runner/base/error.h"

namespace runner {
namespace {

/// Floats. MPI sends short messages in another way than long ones, and a sum sends as much as its
/// size over the number of ranks.
constexpr std::size_t kSummed = std::size_t{1} << 10, kLong = std::size_t{1} << 18;
constexpr const char* kAdvice =
    "Messages are damaged between these ranks. In containers, where ranks may not read each "
    "other's memory, give Open MPI --mca btl_vader_single_copy_mechanism none (version 4) or "
    "--mca smsc ^cma (version 5)";

void wait_for(Pending pending) {
  while (!pending.test()) {
  }
}

void check_sum(const Communicator& world) {
  std::vector<float> sums(kSummed, 1.0F);
  wait_for(world.start_allreduce_sum(sums));
  const auto expected = static_cast<float>(world.size());
  const auto wrong =
      std::find_if(sums.begin(), sums.end(), [&](float sum) { return sum != expected; });
  if (wrong == sums.end()) return;
  throw base::SystemError(
      fmt::format("MPI_Isend: element {} of the first sum: expected {} ones to be {}, found {}. {}",
                  wrong - sums.begin(), world.size(), expected, *wrong, kAdvice));
}

/// Each rank sends to the next.
void check_long_message(const Communicator& world) {
  const int ranks = world.size(), from = (world.rank() + ranks - 1) % ranks;
  if (ranks == 1) return;
  const std::vector<float> sent(kLong, static_cast<float>(world.rank()));
  std::vector<float> got(kLong, -1.0F);
  wait_for(world.start_shift(std::as_bytes(std::span(sent)), (world.rank() + 1) % ranks,
                             std::as_writable_bytes(std::span(got)), from));
  const auto expected = static_cast<float>(from);
  const auto wrong =
      std::find_if(got.begin(), got.end(), [&](float value) { return value != expected; });
  if (wrong == got.end()) return;
  throw base::SystemError(
      fmt::format("MPI_Isend: element {} of the first long message, from rank {}: expected {}, "
                  "found {}. {}",
                  wrong - got.begin(), from, expected, *wrong, kAdvice));
}

}  // namespace

void check_first_sum(const Communicator& world) {
  check_sum(world);
  check_long_message(world);
}

}  // namespace runner
