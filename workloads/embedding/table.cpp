// Memory of a table, its first weights, and access to rows.
#include "workloads/embedding/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "runner/base/error.h"
#include "runner/base/random.h"

namespace nn {

namespace {

/// Floats that hold `count` 16-bit numbers.
std::int64_t floats_for_halves(std::int64_t count) { return (count + 1) / 2; }

Bf16* as_halves(const AlignedFloats& block) {
  return block.count() == 0 ? nullptr : reinterpret_cast<Bf16*>(block.data());
}

float joined(const TableRows& rows, std::int64_t at) {
  if (rows.upper == nullptr) return rows.weights[at];
  return std::bit_cast<float>(std::uint32_t{rows.upper[at].bits} << 16 | rows.lower[at].bits);
}

void put(const TableRows& rows, std::int64_t at, std::span<const float> values) {
  if (rows.upper == nullptr) {
    std::ranges::copy(values, rows.weights + at);
    return;
  }
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    rows.upper[at].bits = static_cast<std::uint16_t>(bits >> 16);
    rows.lower[at++].bits = static_cast<std::uint16_t>(bits);
  }
}

/// The finalizer of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

EmbeddingTable::EmbeddingTable(const TableOptions& options)
    : options_(options), kernels_(&kernels(options.instruction_set).sparse) {
  check_options(options);
  const std::int64_t count = rows() * columns();
  const std::int64_t state = rows() * state_columns();
  try {
    if (options.storage == TableStorage::kF32) {
      weights_ = AlignedFloats(count);
    } else {
      upper_ = AlignedFloats(floats_for_halves(count));
      lower_ = AlignedFloats(floats_for_halves(count));
    }
    if (state > 0) state_ = AlignedFloats(state);
  } catch (const base::SystemError& error) {
    const std::int64_t bytes = (count + state) * static_cast<std::int64_t>(sizeof(float));
    throw base::SystemError(fmt::format("table {}: {} rows of {} columns need {} bytes: {}",
                                        options.name, rows(), columns(), bytes, error.what()));
  }
  set_update(options.update);
}

std::int64_t EmbeddingTable::memory_bytes() const {
  return (weights_.count() + upper_.count() + lower_.count() + state_.count()) *
         static_cast<std::int64_t>(sizeof(float));
}

std::int64_t EmbeddingTable::state_columns() const {
  return state_of(options_.rule).of_row(columns());
}

TableRows EmbeddingTable::view() const {
  return {weights_.data(), as_halves(upper_), as_halves(lower_), state_.data(), columns()};
}

void EmbeddingTable::initialize(std::uint64_t seed) {
  const std::uint64_t key =
      base::RandomStream(seed, base::Purpose::kWeights, 0, base::hash_name(options_.name))
          .next_u64();
  const auto bound = static_cast<float>(std::sqrt(1.0 / static_cast<double>(rows())));
  const TableRows table = view();
#pragma omp parallel
  {
    std::vector<float> values(static_cast<std::size_t>(columns()));
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows(); ++row) {
      const std::int64_t at = row * columns();
      float* to = table.weights == nullptr ? values.data() : table.weights + at;
      kernels_->uniform_row(key, static_cast<std::uint32_t>(row), options_.first_column, columns(),
                            bound, to);
      if (table.weights == nullptr) put(table, at, values);
    }
  }
  std::ranges::fill(state_.span(), 0.0F);
}

void EmbeddingTable::check(const Bags& bags) const {
  const auto known = static_cast<std::int64_t>(bags.ids.size());
  if (bags.offsets.empty()) {
    throw base::DataError(fmt::format("table {}: bags need an offset at least", options_.name));
  }
  std::int64_t least = 0;
  for (std::size_t n = 0; n < bags.offsets.size(); ++n) {
    const std::int64_t offset = bags.offsets[n];
    if (offset < least || offset > known) {
      throw base::DataError(fmt::format("table {}: offset {} must be {}..{} (ids), got {}",
                                        options_.name, n, least, known, offset));
    }
    least = offset;
  }
  const std::int64_t first = bags.offsets.front();
  const std::int64_t bad = first + kernels_->first_outside(bags.ids.data() + first, bags.lookups(),
                                                           static_cast<std::int32_t>(rows()));
  if (bad == bags.offsets.back()) return;
  const auto bag = std::ranges::upper_bound(bags.offsets, bad) - bags.offsets.begin() - 1;
  throw base::DataError(fmt::format(
      "table {}: the id at position {} (bag {}) must be 0..{} as "
      "there are {} rows, got {}",
      options_.name, bad, bag, rows() - 1, rows(), bags.ids[static_cast<std::size_t>(bad)]));
}

std::int64_t EmbeddingTable::element(std::int64_t first, std::size_t values,
                                     std::int64_t width) const {
  const auto count = static_cast<std::int64_t>(values);
  if (width == 0 ? count != 0 : count % width != 0 || first < 0 || first + count / width > rows()) {
    throw base::ShapeError(
        fmt::format("table {}: {} values from row {} on must be rows of {} values among {} rows",
                    options_.name, count, first, width, rows()));
  }
  return first * width;
}

void EmbeddingTable::read_rows(std::int64_t first, std::span<float> out) const {
  std::int64_t at = element(first, out.size(), columns());
  const TableRows table = view();
  for (float& value : out) value = joined(table, at++);
}

void EmbeddingTable::write_rows(std::int64_t first, std::span<const float> values) {
  put(view(), element(first, values.size(), columns()), values);
}

void EmbeddingTable::read_state_rows(std::int64_t first, std::span<float> out) const {
  const std::int64_t at = element(first, out.size(), state_columns());
  std::copy_n(state_.data() + at, out.size(), out.data());
}

void EmbeddingTable::write_state_rows(std::int64_t first, std::span<const float> values) {
  const std::int64_t at = element(first, values.size(), state_columns());
  std::ranges::copy(values, state_.data() + at);
}

std::uint64_t EmbeddingTable::hash() const {
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;  // of splitmix64
  const std::uint64_t name = mixed(base::hash_name(options_.name));
  const TableRows table = view();
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (std::int64_t row = 0; row < rows(); ++row) {
    const auto first =
        static_cast<std::uint64_t>(row * options_.table_width + options_.first_column);
    for (std::int64_t c = 0; c < columns(); ++c) {
      const auto bits = std::bit_cast<std::uint32_t>(joined(table, row * columns() + c));
      const std::uint64_t place = mixed(name + (first + static_cast<std::uint64_t>(c)) * kStep);
      sum += mixed(place ^ bits);
    }
  }
  return sum;
}

bool EmbeddingTable::is_finite() const {
  const TableRows table = view();
  const std::int64_t elements = rows() * columns();
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(&& : finite)
  for (std::int64_t i = 0; i < elements; ++i) finite = finite && std::isfinite(joined(table, i));
  return finite;
}

}  // namespace nn
