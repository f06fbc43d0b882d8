// How the runs of a set train (precision, parallelism, micro-batch), as text for reports.
#pragma once

#include <functional>
#include <string>

#include "analysis/value.h"

namespace analysis {

/// From keys that MLPerf Training has since 6.0 and requires in every log since 6.1.
struct Disclosure {
  /// The lowest numerical precision: "bfloat16" if all three are known and equal, else each known
  /// one, "linear mxfp4, attention bfloat16, communication bfloat16"; "" if none is known.
  std::string precision;
  /// The degrees other than 1, "tensor 8, pipeline 4"; "data" if all known degrees are 1; "" if
  /// none is known.
  std::string parallelism;
  /// How gradients travel between nodes if not in full, "int8 with error feedback"; a key of this
  /// project's logs.
  std::string gradients;
  Value micro_batch_size;
  std::string config_filename;

  bool is_told() const {
    return !precision.empty() || !parallelism.empty() || micro_batch_size != Value();
  }
};

/// `value_of` returns the log's value of a key, an empty Value if the log has none.
Disclosure disclosure_of(const std::function<Value(const std::string& key)>& value_of);

}  // namespace analysis
