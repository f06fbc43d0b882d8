// Sums over ranks whose values travel in fewer bytes than floats have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/narrow_format.h"
#include "workloads/parallel/piece_sums.h"

namespace parallel {

/// The half-open range of a piece of `floats` that `rank` owns.
std::pair<std::int64_t, std::int64_t> narrow_part_of(std::int64_t floats, int ranks, int rank);

/// Of each piece a rank owns a part, of whole blocks of the format, evenly divided. It sends what
/// others own to them, rounded once; adds what it gets to its own floats, in the order of ranks;
/// and sends the sums to all, rounded once more. An owner takes its sums rounded, too. A rank sends
/// bytes(n) of the format for the n floats of each part that another rank owns, and as many to each
/// other rank for its own part.
///
/// With error feedback, each value is rounded after what earlier roundings of it left out has been
/// added: of a value that another rank owns, when it is sent there; of an own one, when its sum is
/// rounded.
class NarrowSums final : public PieceSums {
 public:
  /// Collective. The pieces have equal sizes on all ranks. `rests` has for each piece what is left
  /// out so far, of the piece's size; empty without error feedback. All arguments but `format`
  /// outlive this. `name` says in the trace what is sent; a string literal.
  NarrowSums(const runner::Communicator& ranks, const std::vector<std::span<float>>& pieces,
             const std::vector<std::span<float>>& rests, std::unique_ptr<NarrowFormat> format,
             telemetry::Telemetry& telemetry, const char* name);
  ~NarrowSums() override;
  NarrowSums(const NarrowSums&) = delete;
  NarrowSums& operator=(const NarrowSums&) = delete;

  void begin(std::size_t piece) override;
  bool test() override;
  bool is_done(std::size_t piece) const override;

 private:
  class Sum;
  const runner::Communicator& ranks_;
  /// Sums are sent among messages of their own: when parts have arrived, and so in which order with
  /// the parts of other pieces, differs from rank to rank.
  const runner::Communicator spreading_;
  const std::unique_ptr<NarrowFormat> format_;
  std::vector<std::unique_ptr<Sum>> sums_;
};

}  // namespace parallel
