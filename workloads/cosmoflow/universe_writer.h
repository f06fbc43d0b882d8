// Writes simulated universes as folders of samples.
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
  std::int64_t box_cells;  ///< the same of a box to cut into samples: a multiple of `size`
  double voxel;            ///< Mpc/h
  dataset::UniverseFormat format;
  std::uint64_t seed;
  int threads;  ///< 0: the number of CPUs that this process may use
};

class UniverseWriter {
 public:
  explicit UniverseWriter(const WriterOptions& options);
  /// Writes the first `samples` samples of `set` to the folder `path`, one file each, keeping files
  /// that already exist. Returns the bytes of all files. Throws SystemError.
  std::int64_t write(const std::string& path, SampleSet set, std::int64_t samples);
  /// Memory of each thread in bytes: a simulator, a box, a cube, and the encoded cube.
  static std::int64_t thread_bytes(const WriterOptions& options);

 private:
  struct Universe {
    std::string path;  ///< of its files, up to and including the universe's number
    SampleSet set;
    std::int64_t index, cubes;  ///< cubes: number of samples wanted of this universe
  };
  std::int64_t write_universe(const Universe& universe);
  std::string file_of(const Universe& universe, std::int64_t cube) const;
  dataset::Universe simulate(const Universe& universe);
  std::unique_ptr<Simulator> idle_simulator();

  WriterOptions options_;
  std::int64_t cubes_;  ///< samples per box
  std::mutex mutex_;
  std::vector<std::unique_ptr<Simulator>> idle_;  ///< guarded by mutex_
};

}  // namespace cosmoflow
