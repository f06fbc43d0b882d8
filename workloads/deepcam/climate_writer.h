// Writes climate samples as folders of files, and computes their statistics.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "staging/dataset/climate_statistics.h"
#include "workloads/deepcam/climate_simulator.h"

namespace deepcam {

struct WriterOptions {
  std::int64_t height, width;
  std::uint64_t seed;
  int threads;  ///< 0: the number of CPUs that this process may use
};

/// Size and statistics of a written folder.
struct WrittenFolder {
  std::int64_t bytes = 0;           ///< of its files
  dataset::ClimateSummary summary;  ///< of all samples; independent of the number of threads
};

class ClimateWriter {
 public:
  explicit ClimateWriter(const WriterOptions& options);
  /// Writes the first `samples` samples of `set` to the folder `path`, one file each. Files that
  /// already exist are kept, and read for the summary. Throws SystemError, and DataError for
  /// existing files that are no such samples.
  WrittenFolder write(const std::string& path, SampleSet set, std::int64_t samples);
  /// Memory of each thread in bytes: a simulator, a sample, and the encoded sample.
  static std::int64_t thread_bytes(std::int64_t height, std::int64_t width);

 private:
  /// The working memory of one thread.
  struct Desk {
    ClimateSimulator simulator;
    dataset::ClimateSample sample;
  };
  std::int64_t write_sample(const std::string& path, SampleSet set, std::int64_t index,
                            dataset::ClimateSummary& summary);
  std::unique_ptr<Desk> idle_workspace();

  const WriterOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Desk>> idle_;  ///< guarded by mutex_
};

}  // namespace deepcam
