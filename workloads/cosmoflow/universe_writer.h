// Writes simulated universes as folders of samples.
// Hides threads, their simulators, and how an interrupted folder is continued.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "staging/dataset/universe.h"
#include "workloads/cosmoflow/universe.h"

namespace cosmoflow {

struct WriterOptions {
  std::int64_t size;       ///< voxels along each axis of a sample
  std::int64_t box_cells;  ///< of a box that is cut into samples: a multiple of `size`
  double voxel;            ///< Mpc/h
  dataset::UniverseFormat format;
  std::uint64_t seed;
  int threads;  ///< 0: as many as CPUs may be used
};

class UniverseWriter {
 public:
  explicit UniverseWriter(const WriterOptions& options);
  /// Makes the folder `path` hold the first `samples` samples of `set`, one file each, and
  /// returns their bytes. Files that it holds already are kept. Throws SystemError.
  std::int64_t write(const std::string& path, SampleSet set, std::int64_t samples);
  /// What each thread takes: a simulator, a box, a cube and that encoded.
  static std::int64_t thread_bytes(const WriterOptions& options);

 private:
  struct Universe {
    std::string path;  ///< of its files, but for what is behind the universe's number
    SampleSet set;
    std::int64_t index, cubes;  ///< samples wanted of it
  };
  std::int64_t write_universe(const Universe& universe);
  std::string file_of(const Universe& universe, std::int64_t cube) const;
  dataset::Universe simulate(const Universe& universe);
  std::unique_ptr<Simulator> idle_simulator();

  WriterOptions options_;
  std::int64_t cubes_;  ///< of a box
  std::mutex mutex_;
  std::vector<std::unique_ptr<Simulator>> idle_;  ///< guarded by mutex_
};

}  // namespace cosmoflow
