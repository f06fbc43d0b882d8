// Selected values to all ranks, which add them up.
#include "workloads/parallel/sparse_sum.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "workloads/parallel/gradient_travel.h"
#include "workloads/parallel/transfer.h"

namespace parallel {
/// A selected value, as it is sent.
struct SparseSums::PlacedValue {
  float value;
  std::int32_t place;
};

/// The sum of one piece.
class SparseSums::Sum {
  static_assert(sizeof(PlacedValue) == kSparseValueBytes);

 public:
  Sum(const runner::Communicator& ranks, std::span<float> data, std::span<float> rest,
      double density, telemetry::Telemetry& telemetry, const char* name)
      : data_(data),
        rest_(rest),
        k_(top_k_of(density, std::ssize(data))),
        name_(name),
        sent_(static_cast<std::size_t>(k_)),
        received_(static_cast<std::size_t>(k_ * ranks.size())),
        transfer_(telemetry) {
    const std::int64_t bytes = k_ * kSparseValueBytes;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks.size()), bytes);
    sent_parts_ = runner::same_part(ranks.size(), bytes);
    received_parts_ = runner::consecutive_parts(std::move(counts));
  }

  void begin(const runner::Communicator& ranks, LargestValues& largest) {
    if (!rest_.empty()) add_rest();
    const std::span<const std::int32_t> places = largest.select(data_, k_);
    for (std::size_t i = 0; i < places.size(); ++i) {
      sent_[i] = {data_[static_cast<std::size_t>(places[i])], places[i]};
    }
    if (!rest_.empty()) {
      for (const PlacedValue& one : sent_) rest_[static_cast<std::size_t>(one.place)] = 0.0F;
    }
    transfer_.add_gradients(
        name_, ranks.start_alltoall(std::as_bytes(std::span(sent_)), sent_parts_,
                                    std::as_writable_bytes(std::span(received_)), received_parts_));
    is_under_way_ = true;
  }
  bool is_under_way() const { return is_under_way_; }
  /// Adds up what was sent if all of it has arrived.
  void take_if_arrived() {
    if (!is_under_way_ || !transfer_.test()) return;
    clear();
    for (const PlacedValue& one : received_)
      data_[static_cast<std::size_t>(one.place)] += one.value;
    is_under_way_ = false;
  }

 private:
  /// Both become values and rest together.
  void add_rest() {
#pragma omp parallel for simd schedule(static)
    for (std::size_t i = 0; i < data_.size(); ++i) rest_[i] = data_[i] = data_[i] + rest_[i];
  }
  void clear() {
#pragma omp parallel for simd schedule(static)
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = 0.0F;
  }

  const std::span<float> data_, rest_;
  const std::int64_t k_;
  const char* const name_;
  bool is_under_way_ = false;
  std::vector<PlacedValue> sent_, received_;  ///< k_ values, and those of each rank
  runner::RankParts sent_parts_, received_parts_;
  Transfer transfer_;  ///< last member: its requests must end before their buffers do
};

SparseSums::SparseSums(const runner::Communicator& ranks,
                       const std::vector<std::span<float>>& pieces,
                       const std::vector<std::span<float>>& rests, double density,
                       telemetry::Telemetry& telemetry, const char* name)
    : ranks_(ranks) {
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const std::span<float> rest = rests.empty() ? std::span<float>() : rests[piece];
    sums_.push_back(std::make_unique<Sum>(ranks, pieces[piece], rest, density, telemetry, name));
  }
}

SparseSums::~SparseSums() = default;

void SparseSums::begin(std::size_t piece) { sums_.at(piece)->begin(ranks_, largest_); }

bool SparseSums::test() {
  bool is_done = true;
  for (const auto& sum : sums_) {
    sum->take_if_arrived();
    is_done = is_done && !sum->is_under_way();
  }
  return is_done;
}

bool SparseSums::is_done(std::size_t piece) const { return !sums_.at(piece)->is_under_way(); }

}  // namespace parallel
