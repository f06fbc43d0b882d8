// Writes climate samples as folders of files.
#include "workloads/deepcam/climate_writer.h"

#include <fmt/core.h>

#include <atomic>
#include <utility>

#include "runner/base/for_each_index.h"
#include "runner/base/make_folder.h"
#include "runner/base/narrow.h"
#include "staging/generated_files.h"

namespace deepcam {

ClimateWriter::ClimateWriter(const WriterOptions& options) : options_(options) {}

std::int64_t ClimateWriter::thread_bytes(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kPointBytes =
      2 * (dataset::kClimateChannels * static_cast<std::int64_t>(sizeof(float)) +
           static_cast<std::int64_t>(sizeof(std::int64_t)));
  return ClimateSimulator::scratch_bytes(height, width) + height * width * kPointBytes;
}

WrittenFolder ClimateWriter::write(const std::string& path, SampleSet set, std::int64_t samples) {
  base::make_folder(path);
  std::atomic<std::int64_t> bytes = 0;
  std::vector<dataset::ClimateSummary> summaries(base::narrow<std::size_t>(samples));
  base::for_each_index(summaries.size(), options_.threads, [&](std::size_t place) {
    const auto index = static_cast<std::int64_t>(place);
    bytes +=
        write_sample(fmt::format("{}/data-{:06}.h5", path, index), set, index, summaries[place]);
  });
  WrittenFolder written;
  written.bytes = bytes;
  // Merged in the order of samples, so that the result does not depend on threads.
  for (const dataset::ClimateSummary& summary : summaries) merge(written.summary, summary);
  return written;
}

std::int64_t ClimateWriter::write_sample(const std::string& path, SampleSet set, std::int64_t index,
                                         dataset::ClimateSummary& summary) {
  std::unique_ptr<Desk> desk = idle_workspace();
  std::int64_t bytes = staging::bytes_left_at(path);
  if (bytes >= 0) {
    dataset::read_climate_into(dataset::File(path), {options_.height, options_.width},
                               desk->sample);
  } else {
    desk->simulator.draw(options_.seed, set, index, desk->sample);
    const std::vector<std::byte> file = dataset::encode_climate(desk->sample);
    staging::write_generated(path, file);
    bytes = static_cast<std::int64_t>(file.size());
  }
  summary = dataset::summarize(desk->sample);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(desk));
  return bytes;
}

/// Returns a desk that no thread is using.
std::unique_ptr<ClimateWriter::Desk> ClimateWriter::idle_workspace() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Desk> desk = std::move(idle_.back());
      idle_.pop_back();
      return desk;
    }
  }
  return std::make_unique<Desk>(Desk{ClimateSimulator(options_.height, options_.width), {}});
}

}  // namespace deepcam
