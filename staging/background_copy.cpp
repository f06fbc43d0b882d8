// Copying beside training of what each node reads for itself.
#include "staging/background_copy.h"

#include <exception>
#include <system_error>
#include <utility>

#include "runner/base/activity.h"
#include "runner/base/error.h"
#include "runner/base/usable_cpus.h"
#include "runner/stop_signals.h"

namespace staging {

BackgroundCopy::BackgroundCopy(std::vector<Transfer> transfers, const base::Clock& clock)
    : CopyBeside(std::move(transfers)), clock_(clock) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& e) {
    throw base::thread_error("staging beside training", e);
  }
}

BackgroundCopy::~BackgroundCopy() { BackgroundCopy::end(); }

void BackgroundCopy::end() {
  is_ending_ = true;
  if (thread_.joinable()) thread_.join();
}

void BackgroundCopy::work() {
  base::use_process_cpus();
  give_way();
  base::Activity unwatched;  // the rank's own tells of training
  const Watch watch{unwatched, [this] { return is_ending_ || runner::is_told_to_end(); }};
  for (std::size_t i = 0; i < transfers().size(); ++i) {
    if (!move_one(transfers()[i], watch, result(i))) break;
  }
  is_done_ = true;
}

bool BackgroundCopy::move_one(const Transfer& transfer, const Watch& watch, Result& result) const {
  const std::int64_t began_ns = clock_.steady_ns();
  bool is_whole = false;
  try {
    is_whole = move_all(transfer, watch, result.moved);
  } catch (const std::exception& e) {
    result.failure = base::failure_of(e).message;
  }
  result.took_ns = clock_.steady_ns() - began_ns;
  return is_whole;
}

}  // namespace staging
