// What a rank is doing, readable from the thread that watches it.
#pragma once

#include <atomic>
#include <cstdint>

namespace base {

/// The phase whose steps are counted.
inline constexpr char kTrainingPhase[] = "training";

/// The rank's main thread writes, any thread reads. Names must be string literals: only the pointer
/// is stored.
class Activity {
 public:
  /// A snapshot. A name that was never set is null.
  struct Snapshot {
    const char* phase = nullptr;  ///< of the run: "training"
    std::int64_t steps = 0;       ///< completed training steps
    const char* work = nullptr;   ///< part of the phase: "input"
    const char* call = nullptr;   ///< the collective call in which the rank waits for other ranks
    std::uint64_t count = 0;      ///< changes with every call that reports progress
  };
  Snapshot look() const noexcept {
    return {phase_.load(std::memory_order_relaxed), steps_.load(std::memory_order_relaxed),
            work_.load(std::memory_order_relaxed), call_.load(std::memory_order_relaxed),
            count_.load(std::memory_order_relaxed)};
  }

  /// Reports progress inside a long piece of work: a file listed, a sample copied.
  void progress() noexcept {
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void enter_phase(const char* name) noexcept { store(phase_, name); }
  void set_steps(std::int64_t steps) noexcept { store(steps_, steps); }
  void finish_step() noexcept { set_steps(steps_.load(std::memory_order_relaxed) + 1); }
  void set_work(const char* name) noexcept { store(work_, name); }

  /// While this object lives, the rank waits for other ranks in `call`.
  class [[nodiscard]] Waiting {
   public:
    Waiting(Activity& activity, const char* call) noexcept : activity_(activity) {
      activity_.store(activity_.call_, call);
    }
    ~Waiting() { activity_.store(activity_.call_, static_cast<const char*>(nullptr)); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Activity& activity_;
  };

 private:
  template <class T>
  void store(std::atomic<T>& what, T value) noexcept {
    what.store(value, std::memory_order_relaxed);
    progress();
  }
  std::atomic<const char*> phase_{nullptr}, work_{nullptr}, call_{nullptr};
  std::atomic<std::int64_t> steps_{0};
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace base
