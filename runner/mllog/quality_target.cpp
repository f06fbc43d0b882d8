// The target of a run.
#include "runner/mllog/quality_target.h"

#include <fmt/format.h>

#include <cmath>

namespace mllog {

double better(Direction direction, double one, double other) {
  return direction == Direction::kRises ? std::fmax(one, other) : std::fmin(one, other);
}

bool TargetPart::met_by(double quality) const {
  if (quality == value) return !beyond;
  return direction == Direction::kRises ? quality > value : quality < value;
}

const char* TargetPart::sign() const {
  if (direction == Direction::kRises) return beyond ? ">" : ">=";
  return beyond ? "<" : "<=";
}

std::string TargetPart::words() const { return fmt::format("{} {}", sign(), value); }

bool QualityTarget::met_by(std::span<const double> qualities) const {
  if (qualities.size() != parts.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].met_by(qualities[i])) return false;
  }
  return true;
}

std::string QualityTarget::words() const {
  std::string words;
  for (const TargetPart& part : parts) {
    if (!words.empty()) words += " and ";
    if (!part.name().empty()) words += part.name() + " ";
    words += part.words();
  }
  return words;
}

}  // namespace mllog
