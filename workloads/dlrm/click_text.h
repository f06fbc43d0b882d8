// Writes generated samples in the text form that Criteo publishes: one file of lines for each day.
// Hides the values of ids and the threads.
#pragma once

#include <cstdint>
#include <string>

#include "staging/dataset/criteo.h"
#include "workloads/dlrm/planted_model.h"

namespace dlrm {

/// Numbers of samples in each split.
struct SplitSizes {
  std::int64_t train = 0, test = 0, validation = 0;
};

/// Whether the test and validation samples are the halves of one day (the test half may have one
/// more), as the benchmark's preprocessing cuts it.
bool are_halves(const SplitSizes& sizes);

/// Throws ConfigError for a table with more rows than there are distinct ids modulo 40,000,000.
void check_text_shape(const PlantedShape& shape);

/// Upper bound of the bytes of a line, newline included.
std::int64_t most_line_bytes(const dataset::ClickFormat& format);

/// A line is label, counts and ids, separated by tabs. Counts may be missing (empty) or -1, which
/// records store as 0. An id is eight hexadecimal digits; the rows of a table have distinct ids
/// modulo 40,000,000, the modulus of the benchmark. All days but the last have equal numbers of
/// training samples, in order. The last day has the test samples, then the validation samples.
class ClickText {
 public:
  static constexpr int kDays = 24;
  /// `model` must outlive this. threads: 0 means one for each usable CPU.
  ClickText(const PlantedModel& model, int threads) : model_(model), threads_(threads) {}
  /// Writes day_0 to day_23 into `folder` and returns their bytes. Keeps days that an interrupted
  /// call for the same samples finished. Throws SystemError, DataError.
  std::int64_t write(const std::string& folder, const SplitSizes& sizes) const;

 private:
  std::int64_t write_day(const std::string& path, int day, const SplitSizes& sizes) const;
  template <class Use>
  void draw_lines(ClickSplit split, std::int64_t first, std::int64_t last, Use use) const;
  std::string lines_of(ClickSplit split, std::int64_t first, std::int64_t last) const;

  const PlantedModel& model_;
  int threads_;
};

}  // namespace dlrm
