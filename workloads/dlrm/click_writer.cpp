// Writes generated samples as click files.
#include "workloads/dlrm/click_writer.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "runner/base/ceil_div.h"
#include "runner/base/for_each_index.h"
#include "staging/output_file.h"

namespace dlrm {

ClickWriter::ClickWriter(const PlantedModel& model, int threads)
    : model_(model), threads_(threads), format_(model.format()) {}

std::int64_t ClickWriter::wave_samples() const {
  constexpr std::int64_t kWaveBytes = 32 << 20;
  return std::max<std::int64_t>(kWaveBytes / format_.record_bytes(), 1);
}

std::int64_t ClickWriter::write(const std::string& path, ClickSplit split, std::int64_t samples,
                                LogitHistogram* judge) const {
  const std::int64_t kept = judge != nullptr ? 0 : kept_samples(path, samples);
  staging::OutputFile out(path, kept * format_.record_bytes());
  std::int64_t clicks = kept > 0 ? clicks_in(path) : 0;
  for (std::int64_t first = kept; first < samples; first += wave_samples()) {
    const Wave wave = draw(split, first, std::min(wave_samples(), samples - first));
    clicks += count_clicks(wave.records);
    if (judge != nullptr) {
      for (const double logit : wave.logits) judge->add(logit);
    }
    out.append(std::as_bytes(std::span(wave.records)));
  }
  out.finish();
  return clicks;
}

std::int64_t ClickWriter::kept_samples(const std::string& path, std::int64_t samples) const {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : std::min(static_cast<std::int64_t>(size) / format_.record_bytes(), samples);
}

std::int64_t ClickWriter::clicks_in(const std::string& path) const {
  const dataset::ClickFile file(path, format_);
  std::vector<std::int32_t> records;
  std::int64_t clicks = 0;
  for (std::int64_t first = 0; first < file.samples(); first += wave_samples()) {
    const std::int64_t count = std::min(wave_samples(), file.samples() - first);
    records.resize(static_cast<std::size_t>(count * format_.record_values()));
    file.read(first, count, records);
    clicks += count_clicks(records);
  }
  return clicks;
}

std::int64_t ClickWriter::count_clicks(const std::vector<std::int32_t>& records) const {
  const auto width = static_cast<std::size_t>(format_.record_values());
  std::int64_t clicks = 0;
  for (std::size_t label = 0; label < records.size(); label += width) clicks += records[label];
  return clicks;
}

ClickWriter::Wave ClickWriter::draw(ClickSplit split, std::int64_t first,
                                    std::int64_t count) const {
  constexpr std::size_t kPieceSamples = 4096;
  const auto width = static_cast<std::size_t>(format_.record_values());
  const auto samples = static_cast<std::size_t>(count);
  Wave wave{std::vector<std::int32_t>(samples * width), std::vector<double>(samples)};
  const std::size_t pieces = base::ceil_div(samples, kPieceSamples);
  base::for_each_index(pieces, threads_, [&](std::size_t piece) {
    const std::size_t end = std::min((piece + 1) * kPieceSamples, samples);
    for (std::size_t i = piece * kPieceSamples; i < end; ++i) {
      wave.logits[i] = model_.draw(split, first + static_cast<std::int64_t>(i),
                                   std::span(wave.records).subspan(i * width, width));
    }
  });
  return wave;
}

}  // namespace dlrm
