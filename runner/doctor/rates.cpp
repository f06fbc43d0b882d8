// Measures memory and arithmetic with a team of threads.
#include "runner/doctor/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/machine_files.h"
#include "runner/base/usable_cpus.h"
#include "runner/together.h"

namespace doctor {
namespace {

constexpr int kRateRepetitions = 5;
constexpr std::int64_t kArrays = 3;
constexpr std::int64_t kMostArrayBytes = std::int64_t{1} << 30;    // total size of a node's arrays
constexpr std::int64_t kLeastArrayBytes = std::int64_t{48} << 20;  // minimum, used if cache sizes
                                                                   // are unknown
constexpr std::int64_t kBytesOfElement = 3 * sizeof(double);

/// Threads that do the same work at the same time; the caller is one of them.
class Team {
 public:
  using Work = std::function<void(int thread)>;
  /// Throws std::system_error if threads are refused, after those that started have ended.
  explicit Team(int threads) : meeting_(threads) {
    threads_.reserve(static_cast<std::size_t>(threads));
    try {
      for (int thread = 1; thread < threads; ++thread) {
        threads_.emplace_back([this, thread] { work(thread); });
      }
    } catch (...) {
      for (auto met = std::ssize(threads_) + 1; met < threads; ++met) meeting_.arrive_and_drop();
      end();
      throw;
    }
  }
  ~Team() { end(); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  void run(const Work& work) {
    work_ = &work;
    meeting_.arrive_and_wait();
    work(0);
    meeting_.arrive_and_wait();
  }

 private:
  void work(int thread) {
    base::use_process_cpus();
    for (;;) {
      meeting_.arrive_and_wait();
      if (work_ == nullptr) return;
      (*work_)(thread);
      meeting_.arrive_and_wait();
    }
  }
  void end() {
    work_ = nullptr;
    meeting_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  std::barrier<> meeting_;
  const Work* work_ = nullptr;
  std::vector<std::thread> threads_;
};

/// The shortest repetition, timed from the start to the end of all ranks.
double best_seconds(const runner::Communicator& node, Team& team, const Team::Work& work) {
  const base::SystemClock clock;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kRateRepetitions; ++i) {
    node.barrier();
    const std::int64_t begin = clock.steady_ns();
    team.run(work);
    node.barrier();
    best = std::min(best, std::max<std::int64_t>(clock.steady_ns() - begin, 1));
  }
  return node.allreduce_max(static_cast<double>(best) / 1e9);
}

/// A thread's part of the arrays, allocated by first touch.
struct Triad {
  std::int64_t elements = 0;
  std::unique_ptr<double[]> a, b, c;
  void allocate(std::int64_t count) {
    elements = count;
    const auto size = static_cast<std::size_t>(count);
    a = std::make_unique<double[]>(size);
    b = std::make_unique<double[]>(size);
    c = std::make_unique<double[]>(size);
    std::fill_n(b.get(), count, 1.0);
    std::fill_n(c.get(), count, 2.0);
  }
  void run() const {
    double* const to = a.get();
    const double *const first = b.get(), *const second = c.get();
    for (std::int64_t i = 0; i < elements; ++i) to[i] = first[i] + 3.0 * second[i];
  }
};

/// Total bytes of the node's three arrays, each four times as large as the last-level caches.
std::int64_t triad_bytes(int node_threads, std::int64_t memory_available) {
  std::int64_t cache = base::cache_bytes("/", 3, node_threads);
  if (cache == 0) cache = base::cache_bytes("/", 2, node_threads);
  const std::int64_t wanted = std::max(kLeastArrayBytes, kArrays * 4 * cache);
  return std::max<std::int64_t>(std::min({wanted, kMostArrayBytes, memory_available / 4}), 1 << 20);
}

constexpr std::int64_t kFlopSteps = 2'000'000;
constexpr int kChains = 16;

/// Multiply-adds in independent chains; the result must be used.
double multiply_adds(double start) {
  std::array<double, kChains> chains{};
  chains.fill(start);
  for (std::int64_t step = 0; step < kFlopSteps; ++step) {
    for (double& chain : chains) chain = chain * 0.999999 + 1e-6;
  }
  double sum = 0.0;
  for (const double chain : chains) sum += chain;
  return sum;
}

}  // namespace

NodeRates measure_node(const runner::Communicator& node, int threads,
                       std::int64_t memory_available) {
  std::array<std::int64_t, 1> all_threads = {threads};
  node.allreduce_sum(std::span<std::int64_t>(all_threads));
  const auto node_threads = static_cast<double>(all_threads[0]);
  NodeRates rates;
  rates.triad_bytes =
      node.allreduce_min(triad_bytes(static_cast<int>(all_threads[0]), memory_available));
  const std::int64_t elements = rates.triad_bytes / kBytesOfElement / all_threads[0];
  std::optional<Team> started;
  runner::together(node, [&] {
    try {
      started.emplace(threads);
    } catch (const std::system_error& e) {
      throw base::thread_error(fmt::format("with {} threads", threads), e);
    }
  });
  Team& team = *started;
  std::vector<Triad> parts(static_cast<std::size_t>(threads));
  team.run([&](int thread) { parts[static_cast<std::size_t>(thread)].allocate(elements); });
  const double triad_s =
      best_seconds(node, team, [&](int thread) { parts[static_cast<std::size_t>(thread)].run(); });
  rates.memory_bytes_per_s =
      static_cast<double>(elements * kBytesOfElement) * node_threads / triad_s;
  parts.clear();
  std::vector<double> sums(static_cast<std::size_t>(threads));
  const double flop_s = best_seconds(node, team, [&](int thread) {
    sums[static_cast<std::size_t>(thread)] += multiply_adds(thread);
  });
  rates.compute_flops_per_s =
      2.0 * kChains * static_cast<double>(kFlopSteps) * node_threads / flop_s;
  return rates;
}

}  // namespace doctor
