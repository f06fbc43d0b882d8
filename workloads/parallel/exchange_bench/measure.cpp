// Times of one collective at one size.
#include "workloads/parallel/exchange_bench/measure.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "runner/base/clock.h"
#include "runner/base/median.h"
#include "runner/base/units.h"

namespace exchange_bench {
namespace {

/// As many as a network has layers: how often training looks after its exchanges in a pass.
constexpr int kPieces = 64;
constexpr int kOverlaps = 5;  ///< repetitions, of which medians are taken

/// Seconds on the slowest rank, from a barrier on.
double seconds_of(const runner::Communicator& world, const std::function<void()>& work) {
  const base::SystemClock clock;
  world.barrier();
  const std::int64_t begin = clock.steady_ns();
  work();
  const auto mine = static_cast<double>(std::max<std::int64_t>(clock.steady_ns() - begin, 1));
  return world.allreduce_max(mine) / base::kNsPerSecond;
}

/// Arithmetic in registers on all threads of the rank. Returns what it computed, so that it must.
double compute(std::int64_t turns) {
  double sum = 0.0;
#pragma omp parallel reduction(+ : sum)
  {
    std::array<double, 8> values{1, 2, 3, 4, 5, 6, 7, 8};
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      for (double& value : values) value = value * 0.999 + 0.001;
    }
    for (const double value : values) sum += value;
  }
  return sum;
}

/// Computation in kPieces pieces that takes about as long as `seconds`.
class Computation {
 public:
  Computation(double seconds, const runner::Communicator& world) : world_(world) {
    constexpr double kEnough = 1e-3;  // of a measurement
    while (all_pieces() < kEnough) turns_ *= 2;
    for (int i = 0; i < 2; ++i) {
      turns_ = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(turns_) * seconds / all_pieces()));
    }
  }
  Work work() {
    return {kPieces, [this] { computed_ = computed_ + compute(turns_); }};
  }
  /// Its time alone.
  double all_pieces() {
    const Work pieces = work();
    return seconds_of(world_, [&] {
      for (int i = 0; i < pieces.pieces; ++i) pieces.piece();
    });
  }

 private:
  const runner::Communicator& world_;
  std::int64_t turns_ = 1;
  volatile double computed_ = 0.0;
};

/// The calls of a row.
class Measurement {
 public:
  Measurement(const Kind& kind, std::int64_t bytes, const Effort& effort,
              const runner::Surroundings& around)
      : effort_(effort),
        world_(around.world),
        operation_(kind.make(bytes / static_cast<std::int64_t>(sizeof(float)), around)) {
    row_.kind = &kind;
    row_.bytes = bytes;
  }

  Row go() {
    check();
    warm_up();
    take_times();
    check();
    const double exchange = row_.training.median();
    if (row_.kind->hides && exchange >= effort_.shortest_overlap) row_.overlap = overlap(exchange);
    return row_;
  }

 private:
  void check() {
    for (const auto& [side, times] : sides_) {
      check(*times, side, [&, which = side] { operation_->run(which); });
    }
  }
  void check(Times& times, Side side, const std::function<void()>& run) {
    if (!effort_.checks) return;
    world_.barrier();
    operation_->fill();
    world_.barrier();
    run();
    world_.barrier();
    std::array<std::int64_t, 1> wrong = {operation_->wrong(side)};
    world_.allreduce_sum(std::span<std::int64_t>(wrong));
    times.wrong = times.wrong.value_or(0) + wrong.front();
  }
  void warm_up() {
    double took = 0.0;
    for (int i = 0; i < effort_.warmup && took < effort_.seconds; ++i) {
      took += seconds_of(world_, [&] {
        for (const auto& [side, times] : sides_) operation_->run(side);
      });
    }
  }
  void take_times() {
    double took = 0.0;
    for (int i = 0; i < effort_.iterations; ++i) {
      if (i >= Effort::kFewest && took > effort_.seconds) return;
      for (const auto& [side, times] : sides_) {
        times->seconds.push_back(seconds_of(world_, [&, which = side] { operation_->run(which); }));
        took += times->seconds.back();
      }
      std::reverse(sides_.begin(), sides_.end());  // neither always comes after the other
    }
  }
  Overlap overlap(double exchange) {
    const int times = 3 * kOverlaps * exchange > effort_.seconds ? 1 : kOverlaps;
    Computation computation(exchange, world_);
    const Work work = computation.work();
    check(row_.training, Side::kTraining, [&] { operation_->run_beside(work); });
    std::vector<double> alone, computing, both;
    for (int i = 0; i < times; ++i) {
      alone.push_back(seconds_of(world_, [&] { operation_->run(Side::kTraining); }));
      computing.push_back(computation.all_pieces());
      both.push_back(seconds_of(world_, [&] { operation_->run_beside(work); }));
    }
    return {base::median_of(computing), base::median_of(alone), base::median_of(both)};
  }

  const Effort& effort_;
  const runner::Communicator& world_;
  const std::unique_ptr<Operation> operation_;
  Row row_;
  std::array<std::pair<Side, Times*>, 2> sides_ = {
      {{Side::kTraining, &row_.training}, {Side::kMpi, &row_.mpi}}};
};

}  // namespace

double Times::median() const { return base::median_of(seconds); }

double Overlap::hidden() const {
  return std::clamp((computation + exchange - both) / exchange, 0.0, 1.0);
}

Row measure(const Kind& kind, std::int64_t bytes, const Effort& effort,
            const runner::Surroundings& around) {
  return Measurement(kind, bytes, effort, around).go();
}

}  // namespace exchange_bench
