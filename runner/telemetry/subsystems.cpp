// Names and definitions of subsystems and counters.
#include <array>

#include "runner/telemetry/telemetry.h"

namespace telemetry {

namespace {

struct Term {
  const char* name;
  const char* definition;
};

constexpr std::array<Term, kSubsystemCount> kSubsystems = {{
    {"staging", "time between staging_start and staging_stop, all of it"},
    {"input", "time that training waited for data to be ready, and took to hand it over"},
    {"forward", "time in the forward pass of training steps, loss included"},
    {"backward", "time in the backward pass, without that in communication"},
    {"exchange",
     "time that training spent in communication between ranks: waiting for the others and for "
     "the network, moving data, adding it up"},
    {"optimizer", "time in updating the weights"},
    {"evaluation", "time in evaluating, its input and communication included"},
    {"checkpoint", "time in writing or reading checkpoints, all of it"},
    {"other", "wall time of the rank that belongs to none of the others"},
}};

constexpr std::array<Term, kCounterCount> kCounters = {{
    {"bytes_read", "bytes of samples read for training and evaluation"},
    {"bytes_staged", "bytes that this rank copied while staging"},
    {"bytes_sent", "bytes that this rank gave to collective operations with other ranks"},
    {"flops",
     "floating-point operations of convolutions and matrix products, counted as 2 per "
     "multiply-accumulate"},
    {"train_samples", "samples that this rank trained on"},
    {"eval_samples", "samples that this rank evaluated"},
    {"steps", "training steps"},
    {"exchange_total_ns",
     "nanoseconds during which at least one exchange was under way, from its start until its end "
     "was noticed, whether the rank waited for it or not; staging, evaluation and checkpoint "
     "included"},
    {"skipped_samples",
     "samples that did not decode and were left out, as the configuration allows: each once, "
     "however often this rank reads it"},
    {"flawed_samples",
     "samples that were used although their file has a flaw: stray bytes, or no end mark, but no "
     "pixel missing: each once, however often this rank reads it"},
    {"bytes_from_copy",
     "bytes of samples read from the node's copy for training and evaluation: each sample once a "
     "reading, and none that is still in memory"},
    {"bytes_from_source",
     "bytes of samples read for training and evaluation from where the configuration has them: "
     "if samples are streamed, all that no cache gave, else those that are not in the node's copy "
     "or damaged there"},
    {"samples_from_copy",
     "samples read from the node's copy, at each reading; of click logs, pieces of 1 MiB"},
    {"samples_from_source",
     "samples read from where the configuration has them, at each reading; of click logs, records "
     "if they are streamed, else pieces of 1 MiB"},
    {"repaired_samples",
     "samples that were damaged in the node's copy, and that reading replaced by the source's"},
    {"bytes_from_cache_memory",
     "bytes of samples that the rank's own caches gave from memory: encoded training samples, and "
     "decoded samples"},
    {"bytes_from_cache_disk",
     "bytes of training samples that the rank's own cache of encoded samples gave from the node's "
     "storage"},
    {"bytes_from_peers",
     "bytes of training samples that the cache of another rank gave, on this node or another"},
    {"samples_from_cache_memory",
     "samples that the rank's own caches gave from memory: encoded training samples, and decoded "
     "samples"},
    {"samples_from_cache_disk",
     "training samples that the rank's own cache of encoded samples gave from the node's storage"},
    {"samples_from_peers",
     "training samples that the cache of another rank gave, on this node or another"},
    {"gradient_bytes_sent",
     "bytes that this rank sent to other nodes for sums of gradients, and for weights where nodes "
     "divide updates: part of bytes_sent"},
    {"gradient_messages_sent",
     "messages that this rank sent to other nodes for sums of gradients, and for weights where "
     "nodes divide updates, one for each part of a piece and receiver"},
}};

}  // namespace

const char* to_string(Subsystem subsystem) {
  return kSubsystems.at(static_cast<std::size_t>(subsystem)).name;
}

const char* subsystem_definition(Subsystem subsystem) {
  return kSubsystems.at(static_cast<std::size_t>(subsystem)).definition;
}

const char* to_string(Counter counter) {
  return kCounters.at(static_cast<std::size_t>(counter)).name;
}

const char* counter_definition(Counter counter) {
  return kCounters.at(static_cast<std::size_t>(counter)).definition;
}

}  // namespace telemetry
