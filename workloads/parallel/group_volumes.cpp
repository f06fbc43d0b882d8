// Packs, exchanges and unpacks margins.
#include "workloads/parallel/group_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/narrow.h"

namespace parallel {

using nn::StoredVolume;
using nn::VolumePart;
using telemetry::Scope;
using telemetry::Subsystem;

namespace {

/// Rows of a stored volume: half-open ranges of planes and rows, counted from the margin on.
struct Box {
  std::int64_t first_plane = 0, last_plane = 0, first_row = 0, last_row = 0;
};

/// Half-open range, along an axis of `extent` voxels, that is exchanged with the neighbour at
/// `step` (-1, 0 or 1) on that axis: the margin on that side, or this rank's own border voxels.
std::pair<std::int64_t, std::int64_t> along(std::int64_t step, std::int64_t extent, bool margin) {
  if (step == 0) return {1, extent + 1};
  const std::int64_t at = step < 0 ? (margin ? 0 : 1) : (margin ? extent + 1 : extent);
  return {at, at + 1};
}

Box box_of(const StoredVolume& volume, std::int64_t depth_step, std::int64_t height_step,
           bool margin) {
  const auto [first_plane, last_plane] = along(depth_step, volume.depth, margin);
  const auto [first_row, last_row] = along(height_step, volume.height, margin);
  return {first_plane, last_plane, first_row, last_row};
}

std::int64_t bytes_of(const StoredVolume& volume, const Box& box) {
  return (box.last_plane - box.first_plane) * (box.last_row - box.first_row) * volume.width *
         volume.point_bytes;
}

/// Calls use(row, bytes) for each row of the box: its first voxel and its length, without the
/// margins at both ends of the row.
template <class Use>
void for_each_row(const StoredVolume& volume, const Box& box, const Use& use) {
  const std::int64_t row_bytes = (volume.width + 2) * volume.point_bytes;
  const std::int64_t plane_bytes = (volume.height + 2) * row_bytes;
  for (std::int64_t plane = box.first_plane; plane < box.last_plane; ++plane) {
    for (std::int64_t row = box.first_row; row < box.last_row; ++row) {
      use(static_cast<std::byte*>(volume.first) + plane * plane_bytes + row * row_bytes +
              volume.point_bytes,
          static_cast<std::size_t>(volume.width * volume.point_bytes));
    }
  }
}

/// Calls use(rank in the group, depth step, height step) for each neighbour, by rank.
template <class Use>
void for_each_neighbour(const VolumePart& part, const Use& use) {
  for (std::int64_t depth = -1; depth <= 1; ++depth) {
    for (std::int64_t height = -1; height <= 1; ++height) {
      if (depth == 0 && height == 0) continue;
      const std::int64_t at_depth = part.depth + depth, at_height = part.height + height;
      if (at_depth < 0 || at_depth >= part.depth_parts) continue;
      if (at_height < 0 || at_height >= part.height_parts) continue;
      use(static_cast<std::size_t>(at_depth * part.height_parts + at_height), depth, height);
    }
  }
}

int group_of(const runner::Communicator& world, std::int64_t parts) {
  if (world.size() % parts != 0) {
    throw base::ConfigError(
        fmt::format("/training/sample_split: expected ranks in a multiple of {} parts, got {}",
                    parts, world.size()));
  }
  return base::narrow<int>(world.rank() / parts);
}

}  // namespace

std::int64_t margin_bytes(const VolumePart& part, const StoredVolume& volume) {
  std::int64_t bytes = 0;
  for_each_neighbour(part, [&](std::size_t, std::int64_t depth, std::int64_t height) {
    bytes += bytes_of(volume, box_of(volume, depth, height, false));
  });
  return bytes;
}

/// An exchange in progress. Its buffers hold the data sent and received, neighbour after neighbour.
struct GroupVolumes::Exchange {
  StoredVolume volume;
  std::vector<std::byte> sent, received;
  std::unique_ptr<Transfer> transfer;
};

GroupVolumes::GroupVolumes(const runner::Communicator& world, std::int64_t depth_parts,
                           std::int64_t height_parts, telemetry::Telemetry& telemetry)
    : part_{depth_parts, height_parts, 0, 0},
      group_(world.split(group_of(world, part_.count()), world.rank())),
      telemetry_(telemetry) {
  part_.depth = group_.rank() / height_parts;
  part_.height = group_.rank() % height_parts;
}

GroupVolumes::~GroupVolumes() = default;

/// A return sends the margin and receives gradients of the border; a fill sends the border and
/// receives the margin.
void GroupVolumes::begin(const StoredVolume& volume, bool returns, std::list<Exchange>& queue) {
  const auto ranks = static_cast<std::size_t>(group_.size());
  runner::RankParts sent = {std::vector<std::int64_t>(ranks), std::vector<std::int64_t>(ranks)};
  runner::RankParts received = sent;
  Exchange& exchange = queue.emplace_back();
  exchange.volume = volume;
  for (auto* const buffer : {&exchange.sent, &exchange.received}) {
    if (!spare_.empty()) {
      *buffer = std::move(spare_.back());
      spare_.pop_back();
    }
    buffer->clear();
  }
  std::int64_t to_receive = 0;
  for_each_neighbour(part_, [&](std::size_t rank, std::int64_t depth, std::int64_t height) {
    const Box given = box_of(volume, depth, height, returns);
    sent.counts[rank] = bytes_of(volume, given);
    sent.places[rank] = static_cast<std::int64_t>(exchange.sent.size());
    for_each_row(volume, given, [&](const std::byte* row, std::size_t bytes) {
      exchange.sent.insert(exchange.sent.end(), row, row + bytes);
    });
    received.counts[rank] = bytes_of(volume, box_of(volume, depth, height, !returns));
    received.places[rank] = to_receive;
    to_receive += received.counts[rank];
  });
  exchange.received.resize(static_cast<std::size_t>(to_receive));
  bytes_ += static_cast<std::int64_t>(exchange.sent.size());
  exchange.transfer = std::make_unique<Transfer>(telemetry_);
  const char* const name = returns ? "margin gradients" : "margins";
  exchange.transfer->add(
      name, start({name, std::move(sent), std::move(received)}, exchange.sent, exchange.received));
}

void GroupVolumes::begin_fill(const StoredVolume& volume) { begin(volume, false, fills_); }

void GroupVolumes::begin_return(const StoredVolume& volume) { begin(volume, true, returns_); }

GroupVolumes::Exchange GroupVolumes::finished(std::list<Exchange>& queue) {
  const Scope scope(telemetry_, Subsystem::kExchange);
  Exchange exchange = std::move(queue.front());
  queue.pop_front();
  exchange.transfer->wait_all();
  return exchange;
}

void GroupVolumes::finish_fill() {
  Exchange exchange = finished(fills_);
  const std::byte* from = exchange.received.data();
  for_each_neighbour(part_, [&](std::size_t, std::int64_t depth, std::int64_t height) {
    for_each_row(exchange.volume, box_of(exchange.volume, depth, height, true),
                 [&](std::byte* row, std::size_t bytes) {
                   std::memcpy(row, from, bytes);
                   from += bytes;
                 });
  });
  spare_.push_back(std::move(exchange.sent));
  spare_.push_back(std::move(exchange.received));
}

void GroupVolumes::finish_return() {
  Exchange exchange = finished(returns_);
  const std::byte* from = exchange.received.data();
  for_each_neighbour(part_, [&](std::size_t, std::int64_t depth, std::int64_t height) {
    for_each_row(exchange.volume, box_of(exchange.volume, depth, height, false),
                 [&](std::byte* row, std::size_t bytes) {
                   auto* const sums = reinterpret_cast<float*>(row);
                   const auto* const parts = reinterpret_cast<const float*>(from);
                   for (std::size_t i = 0; i < bytes / sizeof(float); ++i) sums[i] += parts[i];
                   from += bytes;
                 });
  });
  spare_.push_back(std::move(exchange.sent));
  spare_.push_back(std::move(exchange.received));
}

void GroupVolumes::poll() {
  for (std::list<Exchange>* const queue : {&fills_, &returns_}) {
    for (Exchange& exchange : *queue) exchange.transfer->test();
  }
}

void GroupVolumes::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const Scope scope(telemetry_, Subsystem::kExchange);
  const auto ranks = static_cast<std::size_t>(group_.size());
  const auto bytes = static_cast<std::int64_t>(mine.size());
  Sizes sizes = {"parts of volumes", runner::same_part(group_.size(), bytes),
                 runner::consecutive_parts(std::vector<std::int64_t>(ranks, bytes))};
  Transfer transfer(telemetry_);
  transfer.add(sizes.name, start(std::move(sizes), mine, all));
  transfer.wait_all();
}

runner::Pending GroupVolumes::start(Sizes sizes, std::span<const std::byte> send,
                                    std::span<std::byte> receive) {
  runner::Pending pending = group_.start_alltoall(send, sizes.sent, receive, sizes.received);
  if (const std::int64_t step = telemetry_.traced_step(); step != 0) {
    if (step != noted_step_) noted_.clear();
    noted_step_ = step;
    noted_.push_back(std::move(sizes));
  }
  return pending;
}

void GroupVolumes::exchange_alone() {
  const auto end_of = [](const runner::RankParts& parts) {
    std::int64_t end = 0;
    for (std::size_t rank = 0; rank < parts.counts.size(); ++rank) {
      end = std::max(end, parts.places[rank] + parts.counts[rank]);
    }
    return static_cast<std::size_t>(end);
  };
  for (const Sizes& sizes : noted_) {
    const std::vector<std::byte> send(end_of(sizes.sent));
    std::vector<std::byte> receive(end_of(sizes.received));
    Transfer transfer(telemetry_);
    transfer.add(sizes.name, group_.start_alltoall(send, sizes.sent, receive, sizes.received));
    transfer.wait_all();
  }
}

}  // namespace parallel
