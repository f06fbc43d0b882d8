// Copying beside training of what nodes pass on to each other.
#include "staging/ring_copy.h"

#include <exception>
#include <future>
#include <system_error>
#include <utility>

#include "runner/base/error.h"

namespace staging {

RingCopy::RingCopy(std::vector<Transfer> transfers, const base::Clock& clock,
                   base::Activity& activity)
    : CopyBeside(std::move(transfers)), clock_(clock), activity_(activity) {
  begin();
}

RingCopy::~RingCopy() {
  // What fails in end() ends the process, and with it the job: others wait for this rank.
  if (std::uncaught_exceptions() == 0) RingCopy::end();
}

void RingCopy::begin() {
  if (is_done() || transfers()[current_].route.packs.empty()) return;
  const Transfer& transfer = transfers()[current_];
  began_ns_ = clock_.steady_ns();
  const auto start = [&] {
    give_way();  // and so do the threads that begin here
    pipeline_.emplace(*transfer.source, *transfer.list, transfer.store, transfer.route,
                      transfer.limits, transfer.writing, Watch{activity_, [] { return false; }},
                      OnFailure::kGoOn);
  };
  try {
    std::async(std::launch::async, start).get();
  } catch (const std::system_error& e) {
    throw base::thread_error("staging beside training", e);
  }
}

void RingCopy::finish_current() {
  shifts_.push_back(0);
  if (pipeline_) {
    Result& found = result(current_);
    found = {pipeline_->moved(), clock_.steady_ns() - began_ns_, pipeline_->failure()};
    shifts_.back() = pipeline_->shifts();
    pipeline_.reset();  // its memory is free before the next one takes any
  }
  ++current_;
}

void RingCopy::advance() {
  while (!is_done()) {
    if (pipeline_ && pipeline_->poll() == Pipeline::Progress::kUnderWay) return;
    finish_current();
    begin();
  }
}

void RingCopy::end() {
  if (std::exchange(has_ended_, true)) return;
  for (std::size_t i = 0; i < transfers().size(); ++i) {
    const auto& ring = transfers()[i].route.ring;
    if (i < current_) {
      if (ring) (void)ring->allreduce_max(shifts_[i]);
      continue;
    }
    const std::int64_t furthest =
        ring ? ring->allreduce_max(pipeline_ ? pipeline_->shifts() : 0) : 0;
    if (!pipeline_ && furthest > 0) begin();
    if (pipeline_) pipeline_->end_after(furthest);
    finish_current();
  }
}

}  // namespace staging
