// Plain twins of embedding tables, in the precision that a test chooses, and bags for them.
#pragma once

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/embedding/table.h"

namespace plain {

/// Of weights, bags and gradients.
inline constexpr std::uint64_t kSeed = 17;
/// A power of two: the steps of whole numbers are exact.
inline constexpr double kRate = 0.125;

inline float number(float value) { return value; }
inline float number(nn::Bf16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

/// The nearest T. REQUIRES: the value is not halfway between two.
template <class T>
T of(double value) {
  const auto single = static_cast<float>(value);
  if constexpr (std::is_same_v<T, float>) {
    return single;
  } else {
    return {static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(single) + 0x8000u) >> 16)};
  }
}

/// Ids and offsets of bags.
struct BagList {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> offsets = {0};
  void add(const std::vector<std::int32_t>& bag) {
    ids.insert(ids.end(), bag.begin(), bag.end());
    offsets.push_back(static_cast<std::int64_t>(ids.size()));
  }
  nn::Bags view() const { return {ids, offsets}; }
};

/// Bags of 0, 1 and up to 39 ids; half of the ids are among the first three rows.
inline BagList varied_bags(std::int64_t rows, std::int64_t bags, std::uint64_t seed) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
  BagList list;
  for (std::int64_t n = 0; n < bags; ++n) {
    std::vector<std::int32_t> bag(n % 4 == 0 ? 0 : n % 4 == 1 ? 1 : random.below(40));
    for (auto& id : bag) {
      const auto range = random.below(2) == 0 ? std::min<std::int64_t>(rows, 3) : rows;
      id = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(range)));
    }
    list.add(bag);
  }
  return list;
}

template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 1);
  std::vector<T> values(count);
  for (T& value : values) value = of<T>(random.uniform(-1.0, 1.0));
  return values;
}

inline std::vector<float> all_rows(const nn::EmbeddingTable& table) {
  std::vector<float> rows(static_cast<std::size_t>(table.rows() * table.columns()));
  table.read_rows(0, rows);
  return rows;
}

inline std::vector<float> all_state(const nn::EmbeddingTable& table) {
  std::vector<float> rows(static_cast<std::size_t>(table.rows() * table.state_columns()));
  table.read_state_rows(0, rows);
  return rows;
}

/// A table [rows, columns] whose arithmetic is in Real.
template <class Real>
struct Table {
  std::int64_t columns = 0;
  std::vector<Real> weights;
  std::vector<Real> state;

  explicit Table(const nn::EmbeddingTable& from) : columns(from.columns()) {
    for (const float value : all_rows(from)) weights.push_back(Real{value});
    for (const float value : all_state(from)) state.push_back(Real{value});
  }

  /// One step for each lookup, in order.
  template <class T>
  void step_each(const nn::Bags& bags, const std::vector<T>& gradient, std::int64_t stride,
                 Real rate) {
    for_each(bags, [&](std::int64_t id, std::int64_t bag) {
      for (std::int64_t c = 0; c < columns; ++c) {
        at(weights, id * columns + c) -= rate * Real{number(at(gradient, bag * stride + c))};
      }
    });
  }

  /// Sum of the gradients of each row, in order.
  template <class T>
  std::map<std::int64_t, std::vector<Real>> sums(const nn::Bags& bags,
                                                 const std::vector<T>& gradient,
                                                 std::int64_t stride) const {
    std::map<std::int64_t, std::vector<Real>> all;
    for_each(bags, [&](std::int64_t id, std::int64_t bag) {
      auto& sum = all.try_emplace(id, static_cast<std::size_t>(columns), Real{}).first->second;
      for (std::int64_t c = 0; c < columns; ++c) {
        at(sum, c) += Real{number(at(gradient, bag * stride + c))};
      }
    });
    return all;
  }

  /// One step of the rule for each row.
  template <class T>
  void step_sums(const nn::Bags& bags, const std::vector<T>& gradient, std::int64_t stride,
                 Real rate, nn::SparseRule rule, Real epsilon) {
    for (const auto& [id, sum] : sums(bags, gradient, stride)) {
      Real squares{};
      for (const Real g : sum) squares += g * g;
      if (rule == nn::SparseRule::kRowwiseAdagrad) {
        at(state, id) += squares / static_cast<Real>(columns);
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        const Real g = at(sum, c);
        Real divisor{1};
        if (rule == nn::SparseRule::kAdagrad) {
          divisor = std::sqrt(at(state, id * columns + c) += g * g) + epsilon;
        } else if (rule == nn::SparseRule::kRowwiseAdagrad) {
          divisor = std::sqrt(at(state, id)) + epsilon;
        }
        at(weights, id * columns + c) -= rate * g / divisor;
      }
    }
  }

  template <class Vector>
  static auto& at(Vector& values, std::int64_t i) {
    return values[static_cast<std::size_t>(i)];
  }
  template <class Use>
  static void for_each(const nn::Bags& bags, const Use& use) {
    for (std::int64_t n = 0; n < bags.count(); ++n) {
      for (auto i = at(bags.offsets, n); i < at(bags.offsets, n + 1); ++i) use(at(bags.ids, i), n);
    }
  }
};

/// Runs `work` with `threads` OpenMP threads.
template <class Work>
void with_threads(int threads, const Work& work) {
  const int usual = omp_get_max_threads();
  omp_set_num_threads(threads);
  work();
  omp_set_num_threads(usual);
}

inline std::vector<base::InstructionSet> usable_sets() {
  std::vector<base::InstructionSet> sets;
  for (const auto set :
       {base::InstructionSet::kBaseline, base::InstructionSet::kAvx2, base::InstructionSet::kAvx512,
        base::InstructionSet::kAvx512Bf16, base::InstructionSet::kAmx}) {
    if (set <= base::usable_instruction_set()) sets.push_back(set);
  }
  return sets;
}

inline nn::TableOptions whole_table(std::int64_t rows, std::int64_t width) {
  nn::TableOptions options;
  options.name = "a table";
  options.rows = rows;
  options.table_width = options.columns = width;
  return options;
}

}  // namespace plain
