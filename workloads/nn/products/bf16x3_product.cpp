// Bf16x3Product: splitting of weights and rows, and multiplication strip by strip.
#include "workloads/nn/products/bf16x3_product.h"

#include <algorithm>
#include <array>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/tiling.h"
#include "workloads/nn/products/bf16x3_support.h"

namespace nn {
namespace {

using dnnl::memory;

constexpr std::int64_t kBeyond = Bf16x3Rows::kBeyond, kNone = -2;  ///< special row indices
constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::uint32_t));
/// Most columns of a strip, of windows and of single pixels. With weights of 32 channels, the split
/// rows of 3x3 windows without stride stay in the L2 cache for up to 320 channels; for more, those
/// that come from the L3 cache are still read in order. A group has two rows if the rows that it
/// reads fit into kCachedBytes.
constexpr std::int64_t kWindowColumns = 96, kPointColumns = 128;
constexpr std::int64_t kCachedBytes = 1100 << 10;

}  // namespace

bool Bf16x3Product::supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                             const Planner& planner) {
  if (!supports_bf16x3(problem, layouts, planner)) return false;
  const Operation& operation = problem.operation();
  return !has_gaps(operation) ||
         (!has_taps(operation) && !problem.is_transposed() &&
          std::all_of(operation.padding.begin.begin(), operation.padding.begin.end(),
                      [](std::int64_t of) { return of == 0; }));
}

/// Rows of an image that a group reads, at most.
std::int64_t Bf16x3Product::needed_rows() const {
  std::vector<std::int64_t> needed;
  for (std::int64_t row = 0; row < group_; ++row) {
    for (const auto& phase : rows_.phases) {
      for (const Bf16x3Axis::Tap& tap : phase) needed.push_back(row * rows_.step + tap.offset);
    }
  }
  std::sort(needed.begin(), needed.end());
  return std::unique(needed.begin(), needed.end()) - needed.begin();
}

void Bf16x3Product::plan_strips(std::int64_t samples) {
  read_rows_ = {rows_, columns_, read_};
  const std::int64_t columns = columns_.count(0);
  const std::int64_t grain = taps_ > 1 ? kLanes : 2 * kLanes;
  const auto cut = [&](std::int64_t strips) {
    strip_ = base::ceil_div(base::ceil_div(columns, strips), grain) * grain;
    read_rows_.set_strip(strip_);
  };
  cut(base::ceil_div(columns, taps_ > 1 ? kWindowColumns : kPointColumns));
  group_ = std::min<std::int64_t>(2, rows_.count(0));
  if (taps_ == 1 || needed_rows() * slot_words() * kWord > kCachedBytes) group_ = 1;
  // Narrows strips until every thread has work, if there are enough columns: a pixel has the same
  // bits in any strip.
  const std::int64_t rows = samples * base::ceil_div(rows_.count(0), group_);
  if (rows * base::ceil_div(columns, strip_) < threads_) cut(base::ceil_div(threads_, rows));
}

void Bf16x3Product::plan_phases() {
  std::int64_t tile = 0;
  for (std::int64_t row = 0; row < rows_.phase_count(); ++row) {
    for (std::int64_t column = 0; column < columns_.phase_count(); ++column) {
      const auto taps =
          static_cast<std::int64_t>(rows_.phases[static_cast<std::size_t>(row)].size() *
                                    columns_.phases[static_cast<std::size_t>(column)].size());
      phases_.push_back({row, column, tile, taps});
      tile += taps * written_ * steps_;
    }
  }
}

Bf16x3Product::Bf16x3Product(Planner& planner, const ConvolutionProblem& problem,
                             ConvolutionProduct product, std::int64_t samples, int moment,
                             const ValuePlace& from, const ValuePlace& to) {
  const bool is_forward = product == ConvolutionProduct::kForward;
  const bool is_reverse = is_forward == problem.is_transposed();
  const std::int64_t src = base::ceil_div(problem.image_of(Side::kSource).channels, kLanes);
  const std::int64_t dst = base::ceil_div(problem.image_of(Side::kDestination).channels, kLanes);
  read_ = is_forward ? src : dst;
  written_ = is_forward ? dst : src;
  reads_in_ = !is_reverse;
  if (problem.is_pointwise()) {  // the whole image is one row
    const std::int64_t points = problem.image_of(Side::kSource).spatial_size();
    rows_ = Bf16x3Axis::of_points(1);
    columns_ = Bf16x3Axis::of_points(points);
  } else {
    rows_ = Bf16x3Axis::of(problem, 0, product);
    columns_ = Bf16x3Axis::of(problem, 1, product);
  }
  row_taps_ = problem.operation().kernel[1];
  taps_ = problem.operation().kernel[0] * row_taps_;
  steps_ = base::ceil_div(read_, 2);
  piece_ = base::ceil_div(steps_, base::ceil_div(steps_, kMostSteps));
  threads_ = planner.threads();
  plan_strips(samples);
  plan_phases();
  from_ = from;
  to_ = to;
  parameter_ = problem.operation().weights;
  tiles_buffer_ =
      planner.temporary(taps_ * written_ * steps_ * Bf16x3Gemm::kParts * kTileWords * kWord, moment,
                        "converted layouts");
  scratch_buffer_ = planner.temporary(threads_ * scratch_words() * kWord, moment, "scratchpads");
}

std::int64_t Bf16x3Product::slot_words() const { return read_rows_.words(piece_); }

std::int64_t Bf16x3Product::sums_floats() const {
  if (is_gapped()) return 3 * strip_ * columns_.phase_count() * kLanes;
  return std::max(written_ * kTileWords, 2 * strip_ * kLanes);
}

std::int64_t Bf16x3Product::scratch_words() const {
  return needed_rows() * slot_words() + sums_floats();
}

void Bf16x3Product::bind(const Arena& arena, Device& /*device*/, const Kernels& kernels) {
  kernels_ = &kernels;
  source_ = arena.at(from_.buffer);
  destination_ = arena.at(to_.buffer);
  weights_ = arena.parameters.weights(parameter_);
  tiles_ = arena.at<std::uint32_t>(tiles_buffer_);
  auto* scratch = arena.at<std::uint32_t>(scratch_buffer_);
  threads_rows_.resize(static_cast<std::size_t>(threads_));
  for (Rows& rows : threads_rows_) {
    rows.rows.assign(static_cast<std::size_t>(needed_rows()), kNone);
    rows.words = scratch;
    rows.sums = reinterpret_cast<float*>(scratch + needed_rows() * slot_words());
    scratch += scratch_words();
  }
}

/// Splits a pair of weight tiles, which are [16 of in][16 of out]; transposes them if sums run over
/// output channels.
void Bf16x3Product::split_tile(std::int64_t written, std::int64_t step, std::int64_t tap,
                               std::uint32_t* to) const {
  alignas(64) std::array<float, 2 * kTileWords> turned;
  std::array<const float*, 2> tiles = {};
  for (std::int64_t i = 0; i < 2 && 2 * step + i < read_; ++i) {
    const std::int64_t read = 2 * step + i;
    const std::int64_t block = reads_in_ ? written * read_ + read : read * written_ + written;
    const float*& tile = tiles[static_cast<std::size_t>(i)];
    tile = weights_ + (block * taps_ + tap) * kTileWords;
    if (reads_in_) continue;
    kernels_->weight_tiles.transpose(tile, turned.data() + i * kTileWords);
    tile = turned.data() + i * kTileWords;
  }
  kernels_->bf16x3_gemm.split({tiles[0], tiles[1], kLanes, kLanes, 0}, to, kTileWords);
}

void Bf16x3Product::split_weights() const {
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (std::int64_t written = 0; written < written_; ++written) {
    for (const Phase& phase : phases_) {
      const auto& row_taps = rows_.phases[static_cast<std::size_t>(phase.row)];
      const auto& column_taps = columns_.phases[static_cast<std::size_t>(phase.column)];
      std::uint32_t* to = tiles_ + (phase.first_tile + written * phase.taps * steps_) *
                                       Bf16x3Gemm::kParts * kTileWords;
      for (std::int64_t first = 0; first < steps_; first += piece_) {
        for (const Bf16x3Axis::Tap& row : row_taps) {
          for (const Bf16x3Axis::Tap& column : column_taps) {
            const std::int64_t end = std::min(first + piece_, steps_);
            for (std::int64_t step = first; step < end;
                 ++step, to += Bf16x3Gemm::kParts * kTileWords) {
              split_tile(written, step, row.tap * row_taps_ + column.tap, to);
            }
          }
        }
      }
    }
  }
}

/// Splits the row unless a slot already holds it. Returns the slot's offset in bf16 pairs.
std::int64_t Bf16x3Product::cached_split_row(const float* from, std::int64_t row,
                                             const Group& group, std::int64_t first_step,
                                             Rows& rows) const {
  const auto place_of = [&](std::size_t slot) {
    return static_cast<std::int64_t>(slot) * slot_words();
  };
  std::size_t free = 0;
  for (std::size_t slot = 0; slot < rows.rows.size(); ++slot) {
    if (rows.rows[slot] == row) return place_of(slot);
    const auto& needed = rows.needed;
    if (std::find(needed.begin(), needed.end(), rows.rows[slot]) == needed.end()) free = slot;
  }
  rows.rows[free] = row;
  read_rows_.bring(from, row, {group.first_column, group.columns},
                   {first_step, std::min(piece_, steps_ - first_step)}, kernels_->bf16x3_gemm,
                   rows.words + place_of(free));
  return place_of(free);
}

/// Computes `count` neighbouring pixels of a phase. With streaming, up to two panels are summed in
/// scratch memory and copied from there; else whole tiles are summed in place, and only the rest in
/// scratch memory.
void Bf16x3Product::multiply(GemmOperands operands, std::int64_t count, std::int64_t first_step,
                             float* to, Rows& rows) const {
  const Bf16x3Gemm& tiles = kernels_->bf16x3_gemm;
  const std::int64_t block_stride = rows_.to * columns_.to * kLanes;
  if (streams_) {
    operands.blocks = base::ceil_div(count, kLanes);
    tiles.multiply(operands, {rows.sums, kTileWords, strip_ * kLanes, kLanes}, false);
    for (std::int64_t panel = 0; panel < operands.panels; ++panel) {
      kernels_->stream_copy(rows.sums + panel * strip_ * kLanes,
                            count * kLanes * std::int64_t{sizeof(float)},
                            to + panel * block_stride);
    }
    return;
  }
  const std::int64_t row_stride = columns_.phase_count() * kLanes;
  const std::int64_t whole = count / kLanes, rest = count % kLanes;
  operands.blocks = whole;
  if (whole > 0) {
    tiles.multiply(operands, {to, kLanes * row_stride, block_stride, row_stride}, first_step > 0);
  }
  if (rest == 0) return;
  operands.a += whole * kTileWords;
  operands.blocks = 1;
  const auto for_each_rest = [&](const auto& move) {
    for (std::int64_t panel = 0; panel < operands.panels; ++panel) {
      for (std::int64_t point = 0; point < rest; ++point) {
        move(to + panel * block_stride + (whole * kLanes + point) * row_stride,
             rows.sums + panel * kTileWords + point * kLanes);
      }
    }
  };
  if (first_step > 0) {
    for_each_rest([](float* place, float* sum) { std::copy_n(place, kLanes, sum); });
  }
  tiles.multiply(operands, {rows.sums, 0, kTileWords, kLanes}, first_step > 0);
  for_each_rest([](float* place, float* sum) { std::copy_n(sum, kLanes, place); });
}

/// Writes one image row that has pixels, and the zero rows up to the next such row, with streaming
/// stores: cached stores would read every line first.
void Bf16x3Product::run_gapped(const float* from, const Group& group, float* to, Rows& rows) const {
  const Phase& phase =
      *std::find_if(phases_.begin(), phases_.end(), [](const Phase& one) { return one.taps > 0; });
  const std::int64_t step = columns_.phase_count(), strip = strip_ * step * kLanes;
  const float* const zeros = rows.sums + 2 * strip;
  const std::int64_t first_column = group.first_column * step;
  const std::int64_t columns =
      std::min((group.first_column + group.columns) * step, columns_.to) - first_column;
  const auto write = [&](std::int64_t block, std::int64_t row, const float* numbers) {
    float* const place = to + ((block * rows_.to + row) * columns_.to + first_column) * kLanes;
    kernels_->stream_copy(numbers, columns * kLanes * std::int64_t{sizeof(float)}, place);
  };
  const std::int64_t count =
      std::min(group.columns, columns_.count(phase.column) - group.first_column);
  const std::int64_t read = group.first_row < rows_.from ? group.first_row : kBeyond;
  rows.needed = {read};
  const GemmOffsets offset = {cached_split_row(from, read, group, 0, rows), 0};
  GemmOperands operands = operands_of(phase, 0, rows);
  operands.offsets = &offset;
  operands.blocks = base::ceil_div(count, kLanes);
  for (std::int64_t panel = 0; panel < written_; panel += 2) {
    operands.panels = std::min<std::int64_t>(2, written_ - panel);
    operands.b = tiles_ + (phase.first_tile + panel * steps_) * Bf16x3Gemm::kParts * kTileWords;
    float* const sums = rows.sums + phase.column * kLanes;
    kernels_->bf16x3_gemm.multiply(operands, {sums, kTileWords * step, strip, step * kLanes},
                                   false);
    for (std::int64_t i = 0; i < operands.panels; ++i) {
      for (std::int64_t row_phase = 0; row_phase < rows_.phase_count(); ++row_phase) {
        const std::int64_t row = group.first_row * rows_.phase_count() + row_phase;
        if (row >= rows_.to) continue;
        write(panel + i, row, row_phase == phase.row ? rows.sums + i * strip : zeros);
      }
    }
  }
}

/// The operands, except the taps' offsets and the panels.
GemmOperands Bf16x3Product::operands_of(const Phase& phase, std::int64_t first_step,
                                        const Rows& rows) const {
  return {.a = rows.words,
          .b_panel = phase.taps * steps_ * Bf16x3Gemm::kParts * kTileWords,
          .steps = std::min(piece_, steps_ - first_step),
          .batch = phase.taps,
          .a_step = read_rows_.step_words(),
          .a_part = read_rows_.part_words()};
}

void Bf16x3Product::run_phase(const Phase& phase, const Group& group, std::int64_t first_step,
                              float* to, Rows& rows) const {
  const std::int64_t count =
      std::min(group.first_column + group.columns, columns_.count(phase.column)) -
      group.first_column;
  const std::int64_t end_row = std::min(group.first_row + group.rows, rows_.count(phase.row));
  if (count <= 0) return;
  GemmOperands operands = operands_of(phase, first_step, rows);
  // All rows of the group use the panels of weights while these are cached.
  const std::int64_t together = group.rows == 1 && !streams_ ? written_ : 2;
  for (std::int64_t panel = 0; panel < written_; panel += together) {
    operands.panels = std::min(together, written_ - panel);
    operands.b =
        tiles_ + (phase.first_tile + panel * phase.taps * steps_ + first_step * phase.taps) *
                     Bf16x3Gemm::kParts * kTileWords;
    operands.offsets = rows.taps.data();
    for (std::int64_t row = group.first_row; row < end_row; ++row) {
      const std::int64_t at =
          (panel * rows_.to + row * rows_.phase_count() + phase.row) * columns_.to +
          group.first_column * columns_.phase_count() + phase.column;
      multiply(operands, count, first_step, to + at * kLanes, rows);
      operands.offsets += phase.taps;
    }
  }
}

void Bf16x3Product::run_group(const float* from, const Group& group, float* to, Rows& rows) const {
  const auto image_row = [&](std::int64_t row, const Bf16x3Axis::Tap& tap) {
    const std::int64_t at = row * rows_.step + tap.offset;
    return at >= 0 && at < rows_.from ? at : kBeyond;
  };
  rows.needed.clear();
  for (std::int64_t row = group.first_row; row < group.first_row + group.rows; ++row) {
    for (const auto& phase : rows_.phases) {
      for (const Bf16x3Axis::Tap& tap : phase) rows.needed.push_back(image_row(row, tap));
    }
  }
  for (std::int64_t first = 0; first < steps_; first += piece_) {
    if (piece_ < steps_) std::fill(rows.rows.begin(), rows.rows.end(), kNone);
    for (const Phase& phase : phases_) {
      const std::int64_t tap_words =
          std::min(piece_, steps_ - first) * Bf16x3Gemm::kParts * kTileWords;
      rows.taps.clear();
      for (std::int64_t row = group.first_row; row < group.first_row + group.rows; ++row) {
        std::int64_t weights = 0;
        for (const Bf16x3Axis::Tap& row_tap : rows_.phases[static_cast<std::size_t>(phase.row)]) {
          const std::int64_t place =
              cached_split_row(from, image_row(row, row_tap), group, first, rows);
          for (const Bf16x3Axis::Tap& tap :
               columns_.phases[static_cast<std::size_t>(phase.column)]) {
            rows.taps.push_back({place + read_rows_.place_of(tap), weights});
            weights += tap_words;
          }
        }
      }
      run_phase(phase, group, first, to, rows);
    }
  }
}

/// A thread goes down its strips, so that groups below each other share split rows.
void Bf16x3Product::run(const Samples& samples, bool /*adds*/) {
  if (samples.first == 0) split_weights();
  const std::int64_t columns = columns_.count(0), rows = rows_.count(0);
  const std::int64_t strips = base::ceil_div(columns, strip_),
                     groups = base::ceil_div(rows, group_);
  const std::int64_t sample_from = rows_.from * columns_.from * read_ * kLanes;
  const std::int64_t sample_to = rows_.to * columns_.to * written_ * kLanes;
  const std::int64_t all = samples.count * strips * groups;
  streams_ = piece_ == steps_ && phases_.size() == 1 &&
             stores_of<float>(samples.count * sample_to, true) == Stores::kStreamed;
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int thread = 0; thread < threads_; ++thread) {
    Rows& own = threads_rows_[static_cast<std::size_t>(thread)];
    const std::int64_t begin = all * thread / threads_, end = all * (thread + 1) / threads_;
    if (is_gapped()) std::fill_n(own.sums, sums_floats(), 0.0F);
    for (std::int64_t i = begin; i < end; ++i) {
      if (i == begin || i % groups == 0) std::fill(own.rows.begin(), own.rows.end(), kNone);
      const std::int64_t strip = i / groups % strips, row = i % groups * group_;
      const std::int64_t sample = samples.first + i / groups / strips;
      const Group group = {row, std::min(group_, rows - row), strip * strip_,
                           std::min(strip_, columns - strip * strip_)};
      const float* const from = source_ + from_.row_of(sample, samples) * sample_from;
      float* const to = destination_ + to_.row_of(sample, samples) * sample_to;
      is_gapped() ? run_gapped(from, group, to, own) : run_group(from, group, to, own);
    }
  }
}

}  // namespace nn
