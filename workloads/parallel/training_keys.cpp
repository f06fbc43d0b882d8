// Reads the shared keys.
#include "workloads/parallel/training_keys.h"

#include <fmt/format.h>

#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/method_file.h"

namespace parallel {

void parse_read_keys(const base::ObjectReader& dataset, ReadKeys& keys) {
  keys.train_samples = dataset.optional(
      "train_samples", keys.train_samples,
      "when both counts are given no sample is read before run_start", base::at_least(0));
  keys.validation_samples = dataset.optional("validation_samples", keys.validation_samples,
                                             "likewise", base::at_least(0));
  keys.shards = dataset.optional("shards", keys.shards,
                                 "parts of the training set that batches draw from in fixed "
                                 "shares; a node stages only its own",
                                 base::at_least(1));
  keys.decode_threads = dataset.optional("decode_threads", keys.decode_threads,
                                         "threads that decode, per rank; 0: as many as compute",
                                         base::within(0, 1024));
  keys.prefetch_batches = dataset.optional("prefetch_batches", keys.prefetch_batches,
                                           "batches ready ahead of need", base::within(1, 1024));
}

std::int64_t parse_cache_bytes(const base::ObjectReader& dataset) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
  return dataset.optional<std::int64_t>("cache_bytes", 0,
                                        "memory of a rank for decoded samples that it reads again",
                                        base::within(0, kMostBytes));
}

void parse_update_keys(const base::ObjectReader& training, UpdateKeys& keys) {
  keys.global_batch_size = training.required<std::int64_t>(
      "global_batch_size", "samples of one update, on all ranks", base::at_least(1));
  keys.gradient_accumulation_steps =
      training.optional("gradient_accumulation_steps", keys.gradient_accumulation_steps,
                        "passes that make one update", base::at_least(1));
  if (keys.global_batch_size % keys.gradient_accumulation_steps != 0) {
    throw base::ConfigError(fmt::format("{}: must divide by {} gradient accumulation steps, got {}",
                                        training.where("global_batch_size"),
                                        keys.gradient_accumulation_steps, keys.global_batch_size));
  }
}

Choices<nn::Precision> precisions() {
  Choices<nn::Precision> choices;
  for (const nn::Precision one : {nn::Precision::kF32, nn::Precision::kBf16}) {
    choices.emplace_back(nn::to_string(one), one);
  }
  return choices;
}

Choices<nn::Products> products() {
  Choices<nn::Products> choices;
  for (const nn::Products one :
       {nn::Products::kFaster, nn::Products::kPairs, nn::Products::kFloats})
    choices.emplace_back(nn::to_string(one), one);
  return choices;
}

Choices<nn::Recompute> recomputes() {
  Choices<nn::Recompute> choices;
  for (const nn::Recompute one : nn::kAllRecompute) choices.emplace_back(nn::to_string(one), one);
  return choices;
}

nn::Arithmetic parse_arithmetic(const base::ObjectReader& training) {
  nn::Arithmetic arithmetic;
  arithmetic.precision =
      training.choice("precision", nn::Precision::kF32, precisions(),
                      "of activations and their gradients; bf16 needs a CPU with avx512_bf16");
  arithmetic.products = training.choice(
      "products", nn::Products::kFaster, products(),
      "operands of convolutions and perceptrons. In bf16: pairs of bfloat16 numbers, or floats "
      "widened from them; auto: whichever is faster on rank 0's CPU, as measured at start. In f32: "
      "floats; auto and pairs split each float into three bfloat16 terms where the CPU has matrix "
      "tiles (AMX) and that is faster");
  return arithmetic;
}

nn::Arithmetic parse_convolution_arithmetic(const base::ObjectReader& training) {
  nn::Arithmetic arithmetic = parse_arithmetic(training);
  const auto methods = training.optional<std::string>(
      "methods", "",
      "file of convolution methods, written by `bench --methods` on the same kind of machine. "
      "Empty: the program's built-in choice");
  if (!methods.empty()) arithmetic.methods = read_methods(methods);
  return arithmetic;
}

GradientTravel parse_gradient_travel(const base::ObjectReader& training) {
  GradientTravel travel;
  Choices<GradientPayload> payloads;
  for (const GradientPayload one : kGradientPayloads) payloads.emplace_back(to_string(one), one);
  travel.payload = training.choice(
      "gradient_payload", travel.payload, payloads,
      "what nodes send of their gradients, which are summed as f32: all as f32, rounded to bf16 or "
      "int8 with a scale for each 256, or as f32 those of largest magnitude (top_k)");
  travel.density =
      training.optional("gradient_density", travel.density,
                        "the share of gradients that top_k sends; other payloads ignore it",
                        base::between(kLeastDensity, 1.0));
  travel.error_feedback = training.optional("error_feedback", travel.error_feedback,
                                            "what a payload rounds off or leaves out is added to "
                                            "the next step's gradients; f32 leaves out "
                                            "nothing");
  travel.divided_update = training.optional(
      "divided_update", travel.divided_update,
      "nodes divide the update: each sums and updates a part of the weights, keeps the optimizer's "
      "state of that part alone, and sends the weights to the others");
  if (travel.divided_update && !travel.is_exact()) {
    throw base::ConfigError(fmt::format("{}: needs /training/gradient_payload f32, got {}",
                                        training.where("divided_update"),
                                        to_string(travel.payload)));
  }
  travel.late_update = training.optional(
      "late_update", travel.late_update,
      "between nodes, with f32: the next forward pass updates weights, each layer's when it needs "
      "them, so "
      "that other gradients have more time to travel; results have the same bits");
  constexpr std::int64_t kCellKib =
      nn::kUpdateCell * static_cast<std::int64_t>(sizeof(float)) / 1024;
  const auto piece_kib = training.optional<std::int64_t>(
      "gradient_piece_kib", 0,
      "gradients sent at a time between nodes, a multiple of 16; more if a rank had over 1000 "
      "pieces. 0: f32 tries several sizes, and whether the last overtake others, in the first "
      "steps, and keeps the fastest; others send at most 4096. With f32 results have the same bits",
      base::within(0, std::int64_t{1} << 20));
  if (piece_kib % kCellKib != 0) {
    throw base::ConfigError(fmt::format("{}: expected a multiple of {}, got {}",
                                        training.where("gradient_piece_kib"), kCellKib, piece_kib));
  }
  travel.piece_floats = piece_kib / kCellKib * nn::kUpdateCell;
  travel.tries_pieces = piece_kib == 0;
  return travel;
}

nn::Recompute parse_recompute(const base::ObjectReader& training, nn::Recompute fallback) {
  return training.choice(
      "recompute", fallback, recomputes(),
      "what the backward pass recomputes in place of keeping it: outputs of batch norms, which "
      "costs little, or also outputs of convolutions, for the least memory");
}

void check_batch_fits(const base::ObjectReader& root, std::int64_t global_batch_size,
                      std::int64_t train_samples) {
  if (train_samples == 0 || train_samples >= global_batch_size) return;
  throw base::ConfigError(fmt::format("{}: expected at most the {} training samples, got {}",
                                      root.object("training", "").where("global_batch_size"),
                                      train_samples, global_batch_size));
}

}  // namespace parallel
