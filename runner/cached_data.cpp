// Lists the data's files and asks each node's kernel for their pages.
#include "runner/cached_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "runner/base/archive_path.h"
#include "runner/base/ceil_div.h"
#include "runner/base/file_walk.h"
#include "runner/base/printable.h"
#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "runner/base/units.h"

namespace runner {
namespace {

using base::LookedBy;

/// Keeps at most about `most` of the files that are added, evenly spread over them.
class EvenSample {
 public:
  explicit EvenSample(std::int64_t most) : most_(std::max<std::int64_t>(most, 1)) {}

  void add(const std::string& file) {
    if (added_++ % stride_ != 0) return;
    files_.push_back(file);
    if (std::ssize(files_) < 2 * most_) return;
    for (std::size_t i = 1; 2 * i < files_.size(); ++i) files_[i] = std::move(files_[2 * i]);
    files_.resize(static_cast<std::size_t>(most_));
    stride_ *= 2;
  }
  std::int64_t added() const { return added_; }
  /// In an order such that the first of them are like all.
  std::vector<std::string> take() {
    std::ranges::sort(files_, {}, [](const std::string& file) { return base::hash_name(file); });
    if (std::ssize(files_) > most_) files_.resize(static_cast<std::size_t>(most_));
    return std::move(files_);
  }

 private:
  std::int64_t most_, added_ = 0, stride_ = 1;
  std::vector<std::string> files_;
};

/// What a rank, a node or all nodes found, as numbers that can be added up.
enum Sum { kFiles, kBytes, kLookedAtBytes, kWarmBytes, kBy, kSums = kBy + base::kLookedByCount };
using Sums = std::array<std::int64_t, kSums>;

base::WalkShare share_of(const Topology& topology) {
  return {topology.node.rank(), topology.node.size()};
}

class RankLook {
 public:
  RankLook(base::Probes probes, const base::PageCalls& calls, const LookLimits& limits,
           const base::Clock& clock, const Topology& topology)
      : look_(probes, base::ceil_div(limits.reads, topology.node.size()), calls),
        sample_(base::ceil_div(limits.files, topology.node.size())),
        seconds_(limits.seconds),
        clock_(clock),
        begin_ns_(clock.steady_ns()),
        topology_(topology) {}

  Sums look(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      base::walk_files(path, share_of(topology_), [&](const std::string& file) {
        sample_.add(file);
        return elapsed_s() < seconds_ / 2.0;
      });
    }
    Sums sums{};
    sums[kFiles] = sample_.added();
    for (const std::string& file : sample_.take()) {
      add(look_.look(file), sums);
      topology_.node.activity().progress();
      if (elapsed_s() >= seconds_ || !look_.may_go_on()) break;
    }
    look_.undo();
    return sums;
  }

 private:
  static void add(const base::FilePages& pages, Sums& sums) {
    ++sums[static_cast<std::size_t>(kBy) + static_cast<std::size_t>(pages.by)];
    if (pages.looked_at_bytes == 0) return;
    sums[kBytes] += pages.bytes;
    sums[kLookedAtBytes] += pages.looked_at_bytes;
    sums[kWarmBytes] += pages.warm_bytes;
  }
  double elapsed_s() const {
    return static_cast<double>(clock_.steady_ns() - begin_ns_) / base::kNsPerSecond;
  }

  base::PageLook look_;
  EvenSample sample_;
  double seconds_;
  const base::Clock& clock_;
  std::int64_t begin_ns_;
  const Topology& topology_;
};

double warm_share(const Sums& node) {
  return static_cast<double>(node[kWarmBytes]) / static_cast<double>(node[kBytes]);
}

/// Adds a node's sums to those of all.
void add_node(const Sums& node, CachedData& data) {
  data.files += node[kFiles];
  data.bytes += node[kBytes];
  data.looked_at_bytes += node[kLookedAtBytes];
  data.warm_bytes += node[kWarmBytes];
  for (std::size_t i = 0; i < data.looked_by.size(); ++i) data.looked_by[i] += node[kBy + i];
  if (node[kBytes] == 0) return;
  const double share = warm_share(node);
  data.warm_min = data.known_nodes == 0 ? share : std::min(data.warm_min, share);
  data.warm_max = std::max(data.warm_max, share);
  ++data.known_nodes;
}

}  // namespace

std::vector<std::string> data_paths(const nlohmann::json& resolved) {
  std::vector<std::string> paths;
  for (const char* const pointer : {"/dataset/train", "/dataset/validation", "/dataset/test"}) {
    const nlohmann::json::json_pointer at(pointer);
    if (!resolved.contains(at) || !resolved.at(at).is_string()) continue;
    std::string path = base::file_at(resolved.at(at).get<std::string>());
    const bool is_new = std::ranges::find(paths, path) == paths.end();
    if (is_new && !path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

std::int64_t CachedData::looked_at_files() const {
  return looked_by[static_cast<std::size_t>(LookedBy::kMincore)] +
         looked_by[static_cast<std::size_t>(LookedBy::kReading)];
}

bool CachedData::is_known() const {
  return nodes > 0 && known_nodes == nodes &&
         std::accumulate(looked_by.begin(), looked_by.end(), std::int64_t{0}) == looked_at_files();
}

std::string CachedData::unknown() const {
  if (is_known()) return "";
  const auto count = [&](LookedBy by) { return looked_by[static_cast<std::size_t>(by)]; };
  if (const auto some = count(LookedBy::kForeign); some > 0) {
    return fmt::format(
        "{} of the data's files are neither this user's nor writable, so that only reading them "
        "tells, which must wait for run_start",
        some);
  }
  if (const auto some = count(LookedBy::kUnsupported); some > 0) {
    return fmt::format("the file system of {} of the data's files does not tell what is in memory",
                       some);
  }
  if (const auto some = count(LookedBy::kUnreadable); some > 0) {
    return fmt::format("{} of the data's files cannot be opened", some);
  }
  return fmt::format("{} of {} nodes found no data", nodes - known_nodes, nodes);
}

CachedData look_at_data(const std::vector<std::string>& paths, base::Probes probes,
                        const LookLimits& limits, const Communicator& world,
                        const Topology& topology, const base::Clock& clock,
                        const base::PageCalls& calls) {
  CachedData data;
  if (paths.empty()) return data;
  Sums node = RankLook(probes, calls, limits, clock, topology).look(paths);
  topology.node.allreduce_sum(std::span<std::int64_t>(node));
  data.nodes = topology.node_count;
  const auto all = world.allgather(std::span<const std::int64_t>(node));
  std::vector<bool> is_added(static_cast<std::size_t>(topology.node_count));
  int warmest = 0;
  for (std::size_t rank = 0; rank < topology.node_of_rank.size(); ++rank) {
    const auto index = static_cast<std::size_t>(topology.node_of_rank[rank]);
    if (is_added[index]) continue;
    is_added[index] = true;
    const double before = data.warm_max;
    Sums one{};
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(rank * kSums), kSums, one.begin());
    add_node(one, data);
    if (data.warm_max > before) warmest = static_cast<int>(rank);
  }
  data.warmest = world.broadcast(base::printable(base::host_name()), warmest);
  return data;
}

void advise_data_out(const std::vector<std::string>& paths, const Communicator& world,
                     const Topology& topology) {
  if (topology.is_node_leader()) {
    for (const std::string& path : paths) base::write_out_near(path);
  }
  topology.node.barrier();
  for (const std::string& path : paths) {
    base::walk_files(path, share_of(topology), [&](const std::string& file) {
      base::advise_out(file);
      world.activity().progress();
      return true;
    });
  }
  world.barrier();
}

nlohmann::json to_json(const CachedData& data) {
  const auto count = [&](LookedBy by) { return data.looked_by[static_cast<std::size_t>(by)]; };
  nlohmann::json json = {{"nodes", data.nodes},
                         {"known_nodes", data.known_nodes},
                         {"files", data.files},
                         {"files_by_mincore", count(LookedBy::kMincore)},
                         {"files_by_reading", count(LookedBy::kReading)},
                         {"bytes", data.bytes},
                         {"bytes_looked_at", data.looked_at_bytes}};
  if (const std::string unknown = data.unknown(); !unknown.empty()) json["unknown"] = unknown;
  if (data.known_nodes == 0) return json;
  json["warm"] = {{"min", data.warm_min},
                  {"mean", static_cast<double>(data.warm_bytes) / static_cast<double>(data.bytes)},
                  {"max", data.warm_max}};
  json["warmest"] = data.warmest;
  return json;
}

}  // namespace runner
