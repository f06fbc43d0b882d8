// Writes simulated universes as folders of samples.
// Hides threads, their simulators, and how an interrupted folder is continued.
#include "workloads/cosmoflow/universe_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/for_each_index.h"
#include "runner/base/narrow.h"

namespace cosmoflow {
namespace {

namespace fs = std::filesystem;

/// A whole file or none: an interrupted write leaves a name that the next run overwrites.
void write_file(const std::string& path, std::span<const std::byte> data) {
  const std::string begun = path + "~";
  std::ofstream out(begun, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  out.close();
  std::error_code error;
  if (out) fs::rename(begun, path, error);
  if (!out || error) throw base::system_error(path + ": write failed", errno);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw base::SystemError(path + ": cannot be created: " + error.message());
}

std::int64_t cubed(std::int64_t side) { return side * side * side; }

}  // namespace

UniverseWriter::UniverseWriter(const WriterOptions& options)
    : options_(options), cubes_(cubed(options.box_cells / options.size)) {}

std::int64_t UniverseWriter::thread_bytes(const WriterOptions& options) {
  constexpr std::int64_t kVoxelBytes = kRedshifts.size() * sizeof(std::int16_t);
  return Simulator::scratch_bytes(options.box_cells) +
         (cubed(options.box_cells) + 2 * cubed(options.size)) * kVoxelBytes;
}

std::int64_t UniverseWriter::write(const std::string& path, Split split, std::int64_t samples) {
  make_folder(path);
  std::atomic<std::int64_t> bytes = 0;
  const std::int64_t universes = (samples + cubes_ - 1) / cubes_;
  base::for_each_index(
      base::narrow<std::size_t>(universes), options_.threads, [&](std::size_t place) {
        const auto index = static_cast<std::int64_t>(place);
        const std::int64_t cubes = std::min(cubes_, samples - index * cubes_);
        bytes +=
            write_universe({fmt::format("{}/univ_ics_a{:08}", path, index), split, index, cubes});
      });
  return bytes;
}

/// The universe is simulated only if one of its files is missing.
std::int64_t UniverseWriter::write_universe(const Universe& universe) {
  std::int64_t bytes = 0;
  dataset::Universe box;
  for (std::int64_t cube = 0; cube < universe.cubes; ++cube) {
    const std::string file = file_of(universe, cube);
    std::error_code error;
    const auto there = fs::file_size(file, error);
    if (!error) {
      bytes += static_cast<std::int64_t>(there);
      continue;
    }
    if (box.counts.empty()) box = simulate(universe);
    const auto data = dataset::encode_universe(
        cubes_ == 1 ? box : cut_cube(box, options_.size, cube), options_.format);
    write_file(file, data);
    bytes += static_cast<std::int64_t>(data.size());
  }
  return bytes;
}

/// Named like the published files, of which a universe has several.
std::string UniverseWriter::file_of(const Universe& universe, std::int64_t cube) const {
  return fmt::format("{}_{:03}{}", universe.path, cube,
                     dataset::universe_extension(options_.format));
}

dataset::Universe UniverseWriter::simulate(const Universe& universe) {
  std::unique_ptr<Simulator> simulator = idle_simulator();
  dataset::Universe box = simulator->draw(options_.seed, universe.split, universe.index);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(simulator));
  return box;
}

/// One that no thread is using.
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
