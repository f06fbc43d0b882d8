// Moves packs from their source to the copies on nodes.
#include "staging/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "runner/base/error.h"
#include "staging/pack_buffers.h"
#include "staging/pack_file.h"
#include "staging/pack_writers.h"
#include "staging/prefetch_queue.h"

namespace staging {
namespace {

/// How often a waiting main thread looks for signals and reports progress.
constexpr double kLookSeconds = 0.2;

/// Beyond the images that threads read ahead or write: one that takes the place of an image that
/// was read, and one that arrives while another is passed on.
int images_in_hand(bool travel) { return travel ? 2 : 1; }

std::size_t largest_image(const PackList& list, const Route& route) {
  std::int64_t largest = 0;
  for (const auto& packs : route.packs) {
    for (const std::int64_t number : packs) {
      largest = std::max(largest, image_bytes(list, number));
    }
  }
  return static_cast<std::size_t>(largest);
}

int pack_count(const Route& route) {
  std::size_t packs = 0;
  for (const auto& of_rank : route.packs) packs += of_rank.size();
  return static_cast<int>(packs);
}

}  // namespace

int most_images(const PipelineLimits& limits, bool travel) {
  return static_cast<int>(PrefetchQueue::places(limits.readers)) + limits.writers +
         images_in_hand(travel);
}

NodeLimits limits_of_node(std::int64_t memory_bytes, const LargestPack& largest, int ranks,
                          const PipelineLimits& wanted, bool travel, const std::string& where) {
  const std::int64_t image = std::max<std::int64_t>(largest.image, 1);
  const auto bytes_for = [&](const PipelineLimits& limits) {
    return most_images(limits, travel) * image + limits.writers * largest.expanded;
  };
  PipelineLimits each = wanted;
  while (bytes_for(each) > memory_bytes && each.readers + each.writers > 2) {
    int& more = each.readers >= each.writers ? each.readers : each.writers;
    --more;
  }
  const std::int64_t needed = bytes_for(each);
  if (needed > memory_bytes) {
    const std::string expanded =
        largest.expanded == 0 ? "" : fmt::format(" and one of {} expanded", largest.expanded);
    throw base::ConfigError(
        fmt::format("{}: must hold {} packs of up to {} bytes{}, {} bytes in all, got {}", where,
                    most_images(each, travel), image, expanded, needed, memory_bytes));
  }
  const auto carriers = static_cast<int>(std::min<std::int64_t>(ranks, memory_bytes / needed));
  return {carriers, each, carriers * needed};
}

struct Pipeline::State {
  /// What failed, although copying goes on.
  class Failures {
   public:
    void note(const std::exception& failed) {
      if (count_++ == 0) first_ = base::failure_of(failed).message;
    }
    std::string text() const {
      return count_ < 2 ? first_ : fmt::format("{} (and {} more such)", first_, count_ - 1);
    }

   private:
    std::string first_;
    std::int64_t count_ = 0;
  };

  /// What a round does next.
  enum class Next { kTakeOwn, kStartShift, kCompleteShift };

  State(const dataset::Dataset& source_in, const PackList& list_in, const PackStore& store_in,
        Route route_in, const PipelineLimits& limits, const Writing& writing, Watch watch_in,
        OnFailure on_failure_in)
      : source(source_in),
        list(list_in),
        store(store_in),
        route(std::move(route_in)),
        own(route.packs.at(static_cast<std::size_t>(route.ring ? route.ring->rank() : 0))),
        watch(std::move(watch_in)),
        on_failure(on_failure_in),
        buffers(static_cast<std::size_t>(most_images(limits, route.ring != nullptr)),
                largest_image(list, route)),
        places(PrefetchQueue::places(limits.readers)),
        writers(std::min(limits.writers, pack_count(route)), store, writing, pack_count(route),
                [this](const PackImage& image, std::vector<std::byte>& memory) {
                  return stored_pack(image, memory);
                }) {
    for (const auto& packs : route.packs) rounds = std::max(rounds, packs.size());
    for (PackBuffer& place : places) place = buffers.take_within(0.0);
    readers.emplace(std::min(limits.readers, static_cast<int>(own.size())), limits.readers, 1, 0,
                    std::ssize(own), [this](std::int64_t turn, std::int64_t, std::size_t place) {
                      read(own[static_cast<std::size_t>(turn)], places[place]);
                    });
  }
  ~State() {
    is_ending = true;
    if (!passing.is_under_way() || std::uncaught_exceptions() == 0) return;
    // Messages may still arrive in this memory, which the end of the process frees.
    for (auto* const image : {&held, &arriving}) {
      if (*image) [[maybe_unused]]
        const auto* const kept = new PackBuffer((*image)->buffer);
    }
  }

  PackImage image_of(std::int64_t number, PackBuffer buffer) const {
    return {number, std::move(buffer), static_cast<std::size_t>(image_bytes(list, number)),
            list[number].bytes};
  }

  /// On a reader's thread.
  void read(std::int64_t number, const PackBuffer& buffer) {
    const PackImage image = image_of(number, buffer);
    source_reads += read_pack(source, list, store.name(number), image.bytes(), [this] {
      ++samples;
      if (is_ending) throw base::Error(base::ExitCode::kStopped, "staging: stopped");
    });
    source_bytes += list[number].bytes;
  }

  /// On a writer's thread. The pack as the copy holds it.
  std::span<const std::byte> stored_pack(const PackImage& image,
                                         std::vector<std::byte>& memory) const {
    if (image.has_travelled) {
      check_pack(image.bytes(), store.name(image.number),
                 fmt::format("{}: from another node", store.path(image.number)));
    }
    if (list[image.number].more_bytes == 0) return image.bytes();
    const auto bytes = static_cast<std::size_t>(stored_bytes(list, image.number));
    const std::size_t needed = bytes + kDirectAlignment;
    if (memory.size() < needed) {
      std::vector<std::byte>().swap(memory);  // what is too small is free before more is taken
      memory.resize(needed);
    }
    const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) % kDirectAlignment;
    const auto room = std::span(memory).subspan(kDirectAlignment - past, bytes);
    return room.first(static_cast<std::size_t>(expand_pack(
        image.bytes(), list, store.name(image.number), source.most_expanded_bytes(), room)));
  }

  /// Tells what threads have done since the last call, and what a writer threw.
  void report() {
    const std::int64_t now = samples + writers.copied_bytes();
    if (std::exchange(reported, now) != now) watch.activity.progress();
    try {
      if (const auto failed = writers.take_failure()) std::rethrow_exception(failed);
    } catch (const std::exception& e) {
      if (on_failure == OnFailure::kThrow) throw;
      failures.note(e);
      // A damaged pack says nothing about others; storage that failed takes no more.
      if (dynamic_cast<const base::DataError*>(&e) == nullptr) is_writing = false;
    }
  }

  bool is_told() const {
    const bool told = watch.is_told_to_end();
    return route.ring ? route.ring->allreduce_max(std::int64_t{told ? 1 : 0}) != 0 : told;
  }

  // Each rank's pack of a round goes once round the ring: in step s, rank r passes on what rank r -
  // s has read. go_on() does the next thing of that, and returns whether it did: false when it
  // would have to wait longer than `seconds`.

  bool go_on(double seconds) {
    switch (next) {
      case Next::kTakeOwn:
        return take_own(seconds);
      case Next::kStartShift:
        return start_shift(seconds);
      case Next::kCompleteShift:
        return complete_shift(seconds);
    }
    return false;
  }

  bool take_own(double seconds) {
    if (round < own.size()) {
      held = next_own(seconds);
      if (!held) return false;
      write(*held);
    }
    next_step(0);
    return true;
  }

  /// The next pack that this rank reads.
  std::optional<PackImage> next_own(double seconds) {
    if (!spare) spare = buffers.take_within(seconds);
    if (!spare) return std::nullopt;
    if (!is_ending) {
      try {
        const auto ready = readers->next_within(seconds);
        if (!ready) return std::nullopt;
        std::swap(spare, places[ready->place]);
        return image_of(own[round], std::exchange(spare, nullptr));
      } catch (const std::exception& e) {
        if (on_failure == OnFailure::kThrow) throw;
        failures.note(e);
      }
    }
    // Others of the ring wait for something of this size.
    PackImage blank = image_of(own[round], std::exchange(spare, nullptr));
    make_blank(blank.bytes());
    return blank;
  }

  void write(const PackImage& image) {
    const bool is_left_out =
        on_failure == OnFailure::kGoOn && (is_ending || !is_writing || is_blank(image.bytes()));
    if (!is_left_out) writers.put(image);
  }

  /// The pack that rank `from` of the ring reads in this round.
  std::optional<std::int64_t> pack_of(int from) const {
    const std::vector<std::int64_t>& packs = route.packs[static_cast<std::size_t>(from)];
    return round < packs.size() ? std::optional(packs[round]) : std::nullopt;
  }

  bool start_shift(double seconds) {
    const runner::Communicator& ring = *route.ring;
    const int ranks = ring.size(), rank = ring.rank();
    const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    const int reader = (rank + 2 * ranks - step - 1) % ranks;
    if (const auto number = pack_of(reader)) {
      PackBuffer buffer = buffers.take_within(seconds);
      if (!buffer) return false;
      arriving = image_of(*number, std::move(buffer));
      arriving->has_travelled = true;
    }
    const auto none = std::span<std::byte>();
    passing = ring.start_shift(held ? held->bytes() : none, right,
                               arriving ? arriving->bytes() : none, left);
    network_bytes += passing.sent().bytes;
    ++shifts;
    next = Next::kCompleteShift;
    return true;
  }

  bool complete_shift(double seconds) {
    if (seconds > 0.0) passing.wait();
    if (!passing.test()) return false;
    held = std::exchange(arriving, std::nullopt);
    if (held) write(*held);
    next_step(step + 1);
    return true;
  }

  void next_step(int number) {
    step = number;
    const int ranks = route.ring ? route.ring->size() : 1;
    next = Next::kStartShift;
    if (step + 1 < ranks) return;
    next = Next::kTakeOwn;
    held.reset();
    ++round;
  }

  Progress advance() {
    if (round == rounds) {
      if (!writers.are_done_within(kLookSeconds)) report();
      return writers.are_done_within(0.0) ? Progress::kDone : Progress::kUnderWay;
    }
    if (is_told()) return Progress::kStopped;
    for (const std::size_t now = round; round == now;) {
      const bool has_gone_on = go_on(kLookSeconds);
      if (next == Next::kCompleteShift) continue;  // a failure must not end it in the middle
      report();
      // Others of a ring wait for what this rank reads.
      if (!has_gone_on && !route.ring && watch.is_told_to_end()) return Progress::kStopped;
    }
    return Progress::kUnderWay;
  }

  Progress poll() {
    while (round < rounds && go_on(0.0)) continue;
    const bool is_done = round == rounds && writers.are_idle();
    report();  // of all that was written until then
    return is_done ? Progress::kDone : Progress::kUnderWay;
  }

  void end_after(std::int64_t last_shift) {
    is_ending = true;
    while (shifts < last_shift || next == Next::kCompleteShift) {
      go_on(kLookSeconds);
      report();
    }
  }

  const dataset::Dataset& source;
  const PackList& list;
  const PackStore& store;
  const Route route;
  const std::vector<std::int64_t>& own;  ///< what this rank reads
  const Watch watch;
  const OnFailure on_failure;
  Failures failures;
  bool is_writing = true;
  std::size_t rounds = 0, round = 0;
  int step = 0;  ///< of the round
  Next next = Next::kTakeOwn;
  std::int64_t shifts = 0, network_bytes = 0, reported = 0;
  std::atomic<bool> is_ending{false};
  std::atomic<std::int64_t> samples{0}, source_bytes{0}, source_reads{0};
  PackBuffers buffers;
  std::vector<PackBuffer> places;           ///< of the readers' queue
  PackBuffer spare;                         ///< takes the place of the next pack that is read
  std::optional<PackImage> held, arriving;  ///< what this rank passes on, and what it receives
  runner::Pending passing;                  ///< uses both
  PackWriters writers;
  std::optional<PrefetchQueue> readers;  ///< declared last: its threads end first
};

Pipeline::Pipeline(const dataset::Dataset& source, const PackList& list, const PackStore& store,
                   Route route, const PipelineLimits& limits, const Writing& writing, Watch watch,
                   OnFailure on_failure)
    : state_(std::make_unique<State>(source, list, store, std::move(route), limits, writing,
                                     std::move(watch), on_failure)) {}

Pipeline::~Pipeline() = default;

Pipeline::Progress Pipeline::advance() { return state_->advance(); }

Pipeline::Progress Pipeline::poll() { return state_->poll(); }

std::int64_t Pipeline::shifts() const { return state_->shifts; }

void Pipeline::end_after(std::int64_t shifts) { state_->end_after(shifts); }

std::string Pipeline::failure() const { return state_->failures.text(); }

Moved Pipeline::moved() const {
  return {state_->source_bytes,
          state_->source_reads,
          state_->network_bytes,
          state_->writers.copied_bytes(),
          state_->writers.written_bytes(),
          state_->writers.direct_bytes()};
}

}  // namespace staging
