// Measures the source, the network and the folders of a job's nodes one after the other.
#include "staging/rates.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "runner/base/for_each_index.h"
#include "runner/together.h"
#include "staging/folder_speed.h"
#include "staging/naming_host.h"
#include "staging/space.h"

namespace staging {
namespace {

constexpr std::int64_t kMebibytes = std::int64_t{1} << 20;
// Together 96 MiB of a node: read by one, read by all, exchanged, written and read back.
constexpr ProbeLimits kAlone{8 * kMebibytes, 0.4}, kTogether{16 * kMebibytes, 0.8},
    kFolder{28 * kMebibytes, 0.6};
constexpr std::int64_t kShiftBytes = 8 * kMebibytes;
constexpr std::int64_t kShifts = 2;
constexpr int kReaders = 4;

double since_s(const base::Clock& clock, std::int64_t begin_ns) {
  return static_cast<double>(std::max<std::int64_t>(clock.steady_ns() - begin_ns, 1)) * 1e-9;
}

/// The samples of ranges, by position.
class Positions {
 public:
  explicit Positions(const Ranges& ranges) : ranges_(ranges) {
    for (const auto& [first, last] : ranges_) count_ += last - first;
  }
  std::int64_t count() const { return count_; }
  /// Up to `most` indices from `position` on, from the beginning again after the last.
  std::vector<std::int64_t> from(std::int64_t position, std::int64_t most) const {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < std::min(most, count_); ++i) found.push_back(at(position + i));
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::int64_t at(std::int64_t position) const {
    position %= count_;
    for (const auto& [first, last] : ranges_) {
      if (position < last - first) return first + position;
      position -= last - first;
    }
    return 0;
  }

  const Ranges& ranges_;
  std::int64_t count_ = 0;
};

/// What a node has read.
struct SourceRead {
  std::int64_t bytes = 0, samples = 0;
  double seconds = 0.0;
};

/// Reads samples from `position` on until a limit is reached; at least one.
SourceRead read_some(const Probe& probe, const Positions& positions, std::int64_t position,
                     const ProbeLimits& limits, const base::Clock& clock) {
  if (positions.count() == 0) return {};
  const double sample_bytes = std::max(probe.sample_bytes, 1.0);
  const auto at_once = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(kMebibytes) / sample_bytes), 1, 64);
  const std::int64_t most = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(limits.bytes) / sample_bytes), 1,
      positions.count());
  const std::int64_t turns = (most + at_once - 1) / at_once;
  std::atomic<std::int64_t> bytes{0}, samples{0};
  const std::int64_t begin_ns = clock.steady_ns();
  base::for_each_index(
      static_cast<std::size_t>(turns), static_cast<int>(std::min<std::int64_t>(turns, kReaders)),
      [&](std::size_t turn) {
        if (turn > 0 && since_s(clock, begin_ns) >= limits.seconds) return;
        const std::int64_t begin = static_cast<std::int64_t>(turn) * at_once;
        const auto indices = positions.from(position + begin, std::min(at_once, most - begin));
        std::vector<std::byte> sample;  // each takes the place of the one before
        probe.source.read_many(indices, [&](std::int64_t, const dataset::Dataset::Stamp& found) {
          const std::int64_t sample_size = found.bytes;
          bytes += sample_size;
          ++samples;
          if (std::ssize(sample) < sample_size)
            sample.resize(static_cast<std::size_t>(sample_size));
          return std::span(sample).first(static_cast<std::size_t>(sample_size));
        });
      });
  return {bytes, samples, since_s(clock, begin_ns)};
}

/// Of all nodes, each of which has read `mine`; other ranks give {}.
SourceRead of_all(const SourceRead& mine, const runner::Communicator& world) {
  std::vector<std::int64_t> sums = {mine.bytes, mine.samples};
  world.allreduce_sum(std::span(sums));
  return {sums[0], sums[1], world.allreduce_max(mine.seconds)};
}

double rate_of(std::int64_t amount, double seconds) {
  return seconds > 0.0 ? static_cast<double>(amount) / seconds : 0.0;
}

void measure_source(const Probe& probe, const runner::Communicator& world,
                    const runner::Topology& topology, const base::Clock& clock,
                    MeasuredRates& found) {
  const Positions positions(probe.ranges);
  const std::int64_t count = std::max<std::int64_t>(positions.count(), 1);
  // Nodes that need the same samples begin at different ones.
  const auto begin =
      static_cast<std::int64_t>(probe.varied_by % static_cast<std::uint64_t>(count)) +
      topology.node_index * (count / topology.node_count);
  const auto read_by = [&](bool reads, std::int64_t position, const ProbeLimits& limits) {
    SourceRead mine;
    runner::together(world, [&] {
      if (!reads) return;
      mine = naming_host([&] { return read_some(probe, positions, position, limits, clock); });
    });
    const SourceRead all = of_all(mine, world);
    found.counts.source_bytes += all.bytes;
    found.counts.source_samples += all.samples;
    return all;
  };
  std::int64_t read_before = 0;
  if (topology.node_count > 1) {
    const SourceRead one = read_by(world.rank() == 0, begin, kAlone);
    found.rates.source_of_node = rate_of(one.bytes, one.seconds);
    read_before = one.samples;
  }
  const SourceRead all = read_by(topology.is_node_leader(), begin + read_before, kTogether);
  found.rates.source = rate_of(all.bytes, all.seconds);
  if (topology.node_count == 1) found.rates.source_of_node = found.rates.source;
  if (positions.count() > 0 && !probe.source.path(probe.ranges.front().first).empty()) {
    found.rates.source_files = rate_of(all.samples, all.seconds);
  }
  // Samples that lie on several nodes are files on all of them or on none.
  found.rates.source_files = world.allreduce_max(found.rates.source_files);
}

void measure_network(const runner::Communicator& world, const runner::Topology& topology,
                     const base::Clock& clock, MeasuredRates& found) {
  if (topology.node_count == 1) return;
  const bool leads = topology.is_node_leader();
  const runner::Communicator ring = world.split(leads ? 0 : -1, topology.node_index);
  double seconds = 0.0;
  if (leads) {
    std::vector<std::byte> send(static_cast<std::size_t>(kShiftBytes)), receive(send.size());
    const int right = (ring.rank() + 1) % ring.size();
    const int left = (ring.rank() + ring.size() - 1) % ring.size();
    const auto shift = [&](std::size_t bytes) {
      ring.start_shift(std::span(send).first(bytes), right, std::span(receive).first(bytes), left)
          .wait();
    };
    shift(static_cast<std::size_t>(kMebibytes / 16));  // connects
    const std::int64_t begin_ns = clock.steady_ns();
    for (std::int64_t i = 0; i < kShifts; ++i) shift(send.size());
    seconds = since_s(clock, begin_ns);
  }
  found.rates.network = rate_of(kShifts * kShiftBytes, world.allreduce_max(seconds));
  found.counts.sent_bytes = kShifts * kShiftBytes * topology.node_count;
}

void measure_folders(const Probe& probe, const runner::Communicator& world,
                     const runner::Topology& topology, const base::Clock& clock,
                     MeasuredRates& found) {
  FolderSpeed mine;
  const bool leads = topology.is_node_leader();
  const auto measure_mine = [&] {
    const std::string folder = nearest_folder(probe.directory);
    ProbeLimits limits = kFolder;
    limits.bytes = std::min(limits.bytes, space_at(folder).free_bytes / 8);
    mine = measure_folder(folder, limits, clock);
  };
  runner::together(world, [&] {
    if (leads) naming_host(measure_mine);
  });
  constexpr double kNoBound = std::numeric_limits<double>::max();
  const auto slowest = [&](double rate) { return -world.allreduce_max(leads ? -rate : -kNoBound); };
  found.rates.local_write = slowest(mine.write_bytes_per_s);
  found.rates.local_read = slowest(mine.read_bytes_per_s);
  std::vector<std::int64_t> sum = {mine.bytes};
  world.allreduce_sum(std::span(sum));
  found.counts.written_bytes = sum[0];
}

}  // namespace

nlohmann::json to_json(const ProbeCounts& counts) {
  return {{"source_bytes", counts.source_bytes},
          {"source_samples", counts.source_samples},
          {"sent_bytes", counts.sent_bytes},
          {"written_bytes", counts.written_bytes},
          {"seconds", counts.seconds}};
}

MeasuredRates measure_rates(const Probe& probe, const runner::Communicator& world,
                            const runner::Topology& topology, const base::Clock& clock) {
  MeasuredRates found;
  const std::int64_t begin_ns = clock.steady_ns();
  measure_source(probe, world, topology, clock, found);
  world.activity().progress();
  measure_network(world, topology, clock, found);
  measure_folders(probe, world, topology, clock, found);
  world.activity().progress();
  found.counts.seconds = world.allreduce_max(since_s(clock, begin_ns));
  return found;
}

}  // namespace staging
