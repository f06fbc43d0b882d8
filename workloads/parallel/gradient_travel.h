// How gradients travel between nodes: keys of the section "training".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace parallel {

/// What nodes send of their gradients. Sums are f32 in any case.
enum class GradientPayload : std::uint8_t {
  kF32,   ///< all of them
  kBf16,  ///< rounded to bfloat16
  kInt8,  ///< rounded to bytes, with a scale for each kFormatBlock of them
  kTopK   ///< those of largest magnitude, as f32 with their places
};
inline constexpr std::array kGradientPayloads = {GradientPayload::kF32, GradientPayload::kBf16,
                                                 GradientPayload::kInt8, GradientPayload::kTopK};
const char* to_string(GradientPayload payload);

inline constexpr double kLeastDensity = 1e-6;

struct GradientTravel {
  GradientPayload payload = GradientPayload::kF32;
  double density = 0.01;  ///< of kTopK: the share of gradients that are sent
  /// Error feedback: what is not sent, or rounded off, is added to the next step's gradients.
  bool error_feedback = true;
  /// Whether nodes divide the update of weights, and each keeps its part of the optimizer's state
  /// alone. Needs kF32.
  bool divided_update = false;
  /// Whether weights are updated during the next forward pass, each when it is needed; what is
  /// needed first overtakes the rest.
  bool late_update = true;
  std::int64_t piece_floats = 0;  ///< sent at a time; whole cells (nn::kUpdateCell), or 0: a choice
  /// With kF32: whether the first steps of training try several cuts into pieces (PieceTrials),
  /// unless nodes divide updates. Of the replicas that a rank trains only one may.
  bool tries_pieces = false;

  bool is_exact() const { return payload == GradientPayload::kF32; }
  /// Whether nodes keep what was not sent.
  bool keeps_rest() const { return !is_exact() && error_feedback; }
};

/// The keys of the section "training" that change no bits with this payload.
std::vector<std::string> idle_keys(const GradientTravel& travel);
/// "int8 with error feedback", "top_k 0.01 without error feedback"; "" for f32.
std::string description_of(const GradientTravel& travel);
/// Values are rounded in blocks of this many, the last one maybe shorter; kInt8 has a scale for
/// each.
inline constexpr std::int64_t kFormatBlock = 256;
/// Of a value of kTopK: a float and its place.
inline constexpr std::int64_t kSparseValueBytes = 8;
/// Bytes of `count` values in a payload that is no kTopK.
std::int64_t narrow_bytes(GradientPayload payload, std::int64_t count);
/// The number of values that kTopK sends of `count`: 1 at least.
std::int64_t top_k_of(double density, std::int64_t count);
/// The format that `payload` has in MLPerf's logs.
const char* logged_name(GradientPayload payload);

}  // namespace parallel
