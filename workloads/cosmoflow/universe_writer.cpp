// Writes simulated universes as folders of samples.
#include "workloads/cosmoflow/universe_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/base/for_each_index.h"
#include "runner/base/make_folder.h"
#include "runner/base/narrow.h"
#include "staging/generated_files.h"

namespace cosmoflow {
namespace {

std::int64_t cubed(std::int64_t side) { return side * side * side; }

}  // namespace

UniverseWriter::UniverseWriter(const WriterOptions& options)
    : options_(options), cubes_(cubed(options.box_cells / options.size)) {}

std::int64_t UniverseWriter::thread_bytes(const WriterOptions& options) {
  constexpr std::int64_t kVoxelBytes = kRedshifts.size() * sizeof(std::int16_t);
  return Simulator::scratch_bytes(options.box_cells) +
         (cubed(options.box_cells) + 2 * cubed(options.size)) * kVoxelBytes;
}

std::int64_t UniverseWriter::write(const std::string& path, SampleSet set, std::int64_t samples) {
  base::make_folder(path);
  std::atomic<std::int64_t> bytes = 0;
  const std::int64_t universes = base::ceil_div(samples, cubes_);
  base::for_each_index(
      base::narrow<std::size_t>(universes), options_.threads, [&](std::size_t place) {
        const auto index = static_cast<std::int64_t>(place);
        const std::int64_t cubes = std::min(cubes_, samples - index * cubes_);
        bytes +=
            write_universe({fmt::format("{}/univ_ics_a{:08}", path, index), set, index, cubes});
      });
  return bytes;
}

/// Simulates the universe only if one of its files is missing.
std::int64_t UniverseWriter::write_universe(const Universe& universe) {
  std::int64_t bytes = 0;
  dataset::Universe box;
  for (std::int64_t cube = 0; cube < universe.cubes; ++cube) {
    bytes += staging::keep_or_write(file_of(universe, cube), [&] {
      if (box.counts.empty()) box = simulate(universe);
      return dataset::encode_universe(cubes_ == 1 ? box : cut_cube(box, options_.size, cube),
                                      options_.format);
    });
  }
  return bytes;
}

/// Named like the published files, several of which belong to one universe.
std::string UniverseWriter::file_of(const Universe& universe, std::int64_t cube) const {
  return fmt::format("{}_{:03}{}", universe.path, cube,
                     dataset::universe_extension(options_.format));
}

dataset::Universe UniverseWriter::simulate(const Universe& universe) {
  std::unique_ptr<Simulator> simulator = idle_simulator();
  dataset::Universe box = simulator->draw(options_.seed, universe.set, universe.index);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(simulator));
  return box;
}

/// Returns a simulator that no thread is using.
std::unique_ptr<Simulator> UniverseWriter::idle_simulator() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Simulator> simulator = std::move(idle_.back());
      idle_.pop_back();
      return simulator;
    }
  }
  return std::make_unique<Simulator>(options_.box_cells, options_.voxel);
}

}  // namespace cosmoflow
