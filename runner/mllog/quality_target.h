// What ends a run: the values that an evaluation must reach.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace mllog {

/// Which way a quality improves.
enum class Direction { kRises, kFalls };
/// The better of two qualities; a NaN loses.
double better(Direction direction, double one, double other);

/// One number of an evaluation and the value that it must reach.
struct TargetPart {
  std::string member;  ///< of the record's value, an object; "" where the value is the number
  std::string metric;  ///< metadata.metric of the records with this number; "" where none has it
  Direction direction = Direction::kRises;
  double value = 0.0;   ///< in the unit of the log: 0.759, a perplexity's 3.3
  bool beyond = false;  ///< must pass the value: reaching it is not enough

  bool met_by(double quality) const;
  const char* sign() const;  ///< ">=", ">", "<=" or "<"
  /// ">= 0.759".
  std::string words() const;
  /// "BBOX", "FID"; "" for a target's only part.
  const std::string& name() const { return member.empty() ? metric : member; }
};

/// What ends a run: an evaluation whose every part is met. The first part is the main one, which
/// curves and tables show.
struct QualityTarget {
  std::string key;  ///< the log key of evaluations: eval_accuracy, eval_error
  std::vector<TargetPart> parts;

  const TargetPart& main() const { return parts.front(); }
  /// `qualities`: one of each part, in their order.
  bool met_by(std::span<const double> qualities) const;
  /// "BBOX >= 0.377 and SEGM >= 0.339".
  std::string words() const;
};

}  // namespace mllog
