// Writes climate samples as folders of files, and their statistics.
// Hides threads, their simulators, and how an interrupted folder is continued.
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
  int threads;  ///< 0: as many as CPUs may be used
};

/// What a folder holds.
struct WrittenFolder {
  std::int64_t bytes = 0;           ///< of its files
  dataset::ClimateSummary summary;  ///< of all samples; the same on any number of threads
};

class ClimateWriter {
 public:
  explicit ClimateWriter(const WriterOptions& options);
  /// Makes the folder `path` hold the first `samples` samples of `set`, one file each. Files that
  /// it holds already are kept, and read where the summary needs them. Throws SystemError, and
  /// DataError for files that are none.
  WrittenFolder write(const std::string& path, SampleSet set, std::int64_t samples);
  /// What each thread takes: a simulator, a sample and that encoded.
  static std::int64_t thread_bytes(std::int64_t height, std::int64_t width);

 private:
  /// What a thread works with.
  struct Desk {
    ClimateSimulator simulator;
    dataset::ClimateSample sample;
  };
  std::int64_t write_sample(const std::string& path, SampleSet set, std::int64_t index,
                            dataset::ClimateSummary& summary);
  std::unique_ptr<Desk> idle_desk();

  const WriterOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Desk>> idle_;  ///< guarded by mutex_
};

}  // namespace deepcam
