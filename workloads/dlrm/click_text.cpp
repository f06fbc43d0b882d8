// Writes generated samples in the text form that Criteo publishes.
#include "workloads/dlrm/click_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"
#include "runner/base/hash_chain.h"
#include "staging/dataset/file.h"
#include "staging/output_file.h"

namespace dlrm {
namespace {

using base::chain;
using base::mix;

constexpr int kTrainingDays = ClickText::kDays - 1;
constexpr std::int64_t kPieceSamples = 4096;
constexpr std::uint64_t kMaxIndRange = dataset::kCriteoIndRange;

std::string day_path(const std::string& folder, int day) {
  return fmt::format("{}/day_{}", folder, day);
}

/// The value written for an id in the text. A plain hash would make some ids collide modulo
/// kMaxIndRange, so that text and records would differ. Here the remainder is a permutation of the
/// ids, and the hash only adds a multiple of kMaxIndRange.
std::uint32_t value_of(std::uint64_t table, std::uint64_t id) {
  constexpr std::uint64_t kMultiples = (std::uint64_t{1} << 32) / kMaxIndRange;
  constexpr std::uint64_t kStride = 24'721'359;  // coprime to kMaxIndRange
  const std::uint64_t remainder = (id * kStride + mix(table) % kMaxIndRange) % kMaxIndRange;
  return static_cast<std::uint32_t>(remainder + chain({table, id}) % kMultiples * kMaxIndRange);
}

/// Appends `record`, as made by PlantedModel::draw_raw(), as one line.
void append_line(std::span<const std::int32_t> record, std::size_t dense, std::string& text) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{}", record[0]);
  for (const std::int32_t count : record.subspan(1, dense)) {
    text += '\t';
    if (count != kMissingCount) fmt::format_to(out, "{}", count);
  }
  const auto ids = record.subspan(1 + dense);
  for (std::size_t table = 0; table < ids.size(); ++table) {
    fmt::format_to(out, "\t{:08x}", value_of(table, static_cast<std::uint64_t>(ids[table])));
  }
  text += '\n';
}

}  // namespace

bool are_halves(const SplitSizes& sizes) {
  return sizes.test - sizes.validation == 0 || sizes.test - sizes.validation == 1;
}

void check_text_shape(const PlantedShape& shape) {
  for (const std::int64_t rows : shape.tables) {
    if (std::cmp_less_equal(rows, kMaxIndRange)) continue;
    throw base::ConfigError(
        fmt::format("generate: --tables: with --tsv, whose ids are taken modulo {}, tables must "
                    "have at most so many rows, got {}",
                    kMaxIndRange, rows));
  }
}

std::int64_t most_line_bytes(const dataset::ClickFormat& format) {
  constexpr std::int64_t kTabAndCount = 1 + 1 + std::numeric_limits<std::int32_t>::digits10;
  constexpr std::int64_t kTabAndId = 1 + 8, kLabelAndEnd = 2;
  return kLabelAndEnd + format.dense * kTabAndCount + format.tables * kTabAndId;
}

std::int64_t ClickText::write(const std::string& folder, const SplitSizes& sizes) const {
  std::int64_t bytes = 0;
  for (int day = 0; day < kDays; ++day) {
    const std::string path = day_path(folder, day);
    // A day is begun only after the previous one is complete.
    std::error_code error;
    const bool is_whole = std::filesystem::exists(day_path(folder, day + 1), error);
    bytes += is_whole ? dataset::stamp_of(path).size : write_day(path, day, sizes);
  }
  return bytes;
}

std::int64_t ClickText::write_day(const std::string& path, int day, const SplitSizes& sizes) const {
  staging::OutputFile out(path, 0);
  const auto append = [&](const std::string& lines) {
    out.append(std::as_bytes(std::span(lines)));
  };
  if (day < kTrainingDays) {
    draw_lines(ClickSplit::kTrain, sizes.train * day / kTrainingDays,
               sizes.train * (day + 1) / kTrainingDays, append);
  } else {
    draw_lines(ClickSplit::kTest, 0, sizes.test, append);
    draw_lines(ClickSplit::kValidation, 0, sizes.validation, append);
  }
  out.finish();
  return out.size();
}

/// Calls use(lines) for all lines in order. Draws a bounded number of pieces at a time, in
/// parallel.
template <class Use>
void ClickText::draw_lines(ClickSplit split, std::int64_t first, std::int64_t last, Use use) const {
  constexpr std::int64_t kWavePieces = 32;
  while (first < last) {
    const std::int64_t wave_end = std::min(last, first + kWavePieces * kPieceSamples);
    const std::int64_t pieces = base::ceil_div(wave_end - first, kPieceSamples);
    std::vector<std::string> lines(static_cast<std::size_t>(pieces));
    base::for_each_index(lines.size(), threads_, [&](std::size_t piece) {
      const std::int64_t begin = first + static_cast<std::int64_t>(piece) * kPieceSamples;
      lines[piece] = lines_of(split, begin, std::min(begin + kPieceSamples, wave_end));
    });
    for (const std::string& each : lines) use(each);
    first = wave_end;
  }
}

std::string ClickText::lines_of(ClickSplit split, std::int64_t first, std::int64_t last) const {
  std::vector<std::int32_t> record(static_cast<std::size_t>(model_.format().record_values()));
  std::string text;
  for (std::int64_t i = first; i < last; ++i) {
    model_.draw_raw(split, i, record);
    append_line(record, static_cast<std::size_t>(model_.shape().dense), text);
  }
  return text;
}

}  // namespace dlrm
