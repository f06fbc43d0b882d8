// Drawn samples in the text form that Criteo publishes: a file of lines for each day.
// Hides columns, values of ids, threads, and which samples make a day.
#pragma once

#include <cstdint>
#include <string>

#include "staging/dataset/criteo.h"
#include "workloads/dlrm/planted_model.h"

namespace dlrm {

/// Samples of each file of records.
struct SplitSizes {
  std::int64_t train = 0, test = 0, validation = 0;
};

/// Whether test and validation samples are the halves of one day, the larger one first, as the
/// benchmark's preprocessing cuts it.
bool are_halves(const SplitSizes& sizes);

/// Throws ConfigError for a table of more rows than there are values of ids.
void check_text_shape(const PlantedShape& shape);

/// What a line takes at most, its end included.
std::int64_t most_line_bytes(const dataset::ClickFormat& format);

/// A line is label, counts and ids, separated by tabs. A count that is missing is empty, and -1
/// occurs: records have 0 for both. An id is eight hexadecimal digits; modulo 40,000,000, as the
/// benchmark takes it, its value is another one for every row of a table of at most so many.
/// Training samples fill all days but the last in order and evenly; the last one has the test
/// samples, then those for validation.
class ClickText {
 public:
  static constexpr int kDays = 24;
  /// `model` must outlive this. threads: 0 means as many as CPUs may be used.
  ClickText(const PlantedModel& model, int threads) : model_(model), threads_(threads) {}
  /// Makes `folder` hold day_0 to day_23 and returns their bytes. Days that an interrupted call for
  /// the same samples finished are kept. Throws SystemError, DataError.
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
