// What the runs of a set disclose of how they train, as people read it.
#pragma once

#include <functional>
#include <string>

#include "analysis/value.h"

namespace analysis {

/// From the keys that MLPerf Training has since 6.0, and wants of every log since 6.1.
struct Disclosure {
  /// The lowest numerical precision: "bfloat16" where it is the same everywhere, else what is told
  /// of each, "linear mxfp4, attention bfloat16, communication bfloat16"; "" where nothing is told.
  std::string precision;
  /// What is used, "tensor 8, pipeline 4"; "data" where all that is told is 1; "" where nothing is.
  std::string parallelism;
  Value micro_batch_size;
  std::string config_filename;

  bool is_told() const {
    return !precision.empty() || !parallelism.empty() || micro_batch_size != Value();
  }
};

/// `value_of` gives the value of a key of the log, none where it is not there.
Disclosure disclosure_of(const std::function<Value(const std::string& key)>& value_of);

}  // namespace analysis
