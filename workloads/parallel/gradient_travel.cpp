// Names and sizes of payloads.
#include "workloads/parallel/gradient_travel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/base/ceil_div.h"
#include "workloads/nn/precision.h"

namespace parallel {

const char* to_string(GradientPayload payload) {
  switch (payload) {
    case GradientPayload::kBf16:
      return "bf16";
    case GradientPayload::kInt8:
      return "int8";
    case GradientPayload::kTopK:
      return "top_k";
    case GradientPayload::kF32:
      break;
  }
  return "f32";
}

const char* logged_name(GradientPayload payload) {
  if (payload == GradientPayload::kBf16) return nn::logged_name(nn::Precision::kBf16);
  if (payload == GradientPayload::kInt8) return "int8";
  return nn::logged_name(nn::Precision::kF32);
}

std::vector<std::string> idle_keys(const GradientTravel& travel) {
  std::vector<std::string> keys = {"/training/late_update"};
  if (travel.payload != GradientPayload::kTopK) keys.emplace_back("/training/gradient_density");
  if (travel.is_exact()) {
    // Sums are added in the order of nodes, whichever node adds them up.
    for (const char* key : {"error_feedback", "divided_update", "gradient_piece_kib"}) {
      keys.push_back(std::string("/training/") + key);
    }
  }
  return keys;
}

std::string description_of(const GradientTravel& travel) {
  if (travel.is_exact()) return "";
  const bool is_sparse = travel.payload == GradientPayload::kTopK;
  return fmt::format("{}{} {} error feedback", to_string(travel.payload),
                     is_sparse ? fmt::format(" {}", travel.density) : "",
                     travel.error_feedback ? "with" : "without");
}

std::int64_t narrow_bytes(GradientPayload payload, std::int64_t count) {
  switch (payload) {
    case GradientPayload::kBf16:
      return count * nn::bytes_of(nn::Precision::kBf16);
    case GradientPayload::kInt8:
      return count + base::ceil_div(count, kFormatBlock) * nn::kFloatBytes;
    case GradientPayload::kF32:
    case GradientPayload::kTopK:
      break;
  }
  return count * nn::kFloatBytes;
}

std::int64_t top_k_of(double density, std::int64_t count) {
  const auto k = static_cast<std::int64_t>(std::ceil(density * static_cast<double>(count)));
  return std::clamp<std::int64_t>(k, 1, count);
}

}  // namespace parallel
