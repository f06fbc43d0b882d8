// The target of a run: the values that an evaluation must reach.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace mllog {

/// The direction in which a quality improves.
enum class Direction { kRises, kFalls };
/// The better of two qualities; a NaN loses.
double better(Direction direction, double one, double other);

/// One value of an evaluation and its target.
struct TargetPart {
  std::string member;  ///< member of the record's value, if that is an object; "" if the value is
                       ///< the number itself
  std::string metric;  ///< metadata.metric of the records with this number; "" if not used
  Direction direction = Direction::kRises;
  double value = 0.0;   ///< in the unit of the log: 0.759, a perplexity of 3.3
  bool beyond = false;  ///< must exceed the value, not only reach it

  bool met_by(double quality) const;
  const char* sign() const;  ///< ">=", ">", "<=" or "<"
  /// ">= 0.759".
  std::string words() const;
  /// "BBOX", "FID"; "" if the target has only one part.
  const std::string& name() const { return member.empty() ? metric : member; }
};

/// The target of a run; an evaluation ends the run if it meets every part. Curves and tables show
/// the first part, the main one.
struct QualityTarget {
  std::string key;  ///< the log key of evaluations: eval_accuracy, eval_error
  std::vector<TargetPart> parts;

  const TargetPart& main() const { return parts.front(); }
  /// `qualities`: one per part, in the same order.
  bool met_by(std::span<const double> qualities) const;
  /// "BBOX >= 0.377 and SEGM >= 0.339".
  std::string words() const;
};

}  // namespace mllog
