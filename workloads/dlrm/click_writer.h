// Writes generated samples as click files.
// Hides threads and the continuation of an interrupted file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "staging/dataset/criteo.h"
#include "workloads/dlrm/logit_histogram.h"
#include "workloads/dlrm/planted_model.h"

namespace dlrm {

/// Draws a bounded number of records ("wave") at a time on all threads, then writes them.
class ClickWriter {
 public:
  /// `model` must outlive this. threads: 0 means one for each usable CPU.
  ClickWriter(const PlantedModel& model, int threads);
  /// Writes the first `samples` samples of `split` to `path` and returns the number of clicks among
  /// them. Keeps whole records already in the file, unless `judge` is given, to which every logit
  /// is added. Throws SystemError, DataError.
  std::int64_t write(const std::string& path, ClickSplit split, std::int64_t samples,
                     LogitHistogram* judge) const;

 private:
  struct Wave {
    std::vector<std::int32_t> records;
    std::vector<double> logits;
  };
  std::int64_t wave_samples() const;
  std::int64_t kept_samples(const std::string& path, std::int64_t samples) const;
  std::int64_t clicks_in(const std::string& path) const;
  std::int64_t count_clicks(const std::vector<std::int32_t>& records) const;
  Wave draw(ClickSplit split, std::int64_t first, std::int64_t count) const;

  const PlantedModel& model_;
  int threads_;
  dataset::ClickFormat format_;
};

}  // namespace dlrm
