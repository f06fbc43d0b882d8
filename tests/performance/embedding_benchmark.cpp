// Measures the speed of embedding tables: sums of bags, the rate at which their rows can be read at
// all, and every kind of update. The optional argument is the maximum number of rows of a table.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runner/base/random.h"
#include "workloads/dlrm/tables.h"
#include "workloads/embedding/tables.h"
#include "workloads/embedding/work.h"

namespace {

using nn::Bags;
using nn::EmbeddingTables;
using nn::TableOptions;
using nn::TableStorage;
using nn::TableUpdate;

/// Batches used in turn: their rows exceed the caches.
constexpr std::size_t kBatches = 8;
constexpr std::int64_t kBags = 2048;
constexpr double kExponent = 1.05;
constexpr double kRate = 1e-6;
std::int64_t most_rows = 1000000;

/// Tables of a benchmark: the parameter set of libxsmm's sample for Kalamkar et al.
/// (arXiv:2005.04680), and the tables of the Criteo data, cut to at most most_rows rows.
struct Shape {
  std::string name;
  std::int64_t width = 0, lookups = 0;
  std::vector<std::int64_t> rows;
};
Shape pooled_shape() { return {"8x50x64", 64, 50, std::vector<std::int64_t>(8, 1000000)}; }
Shape single_shape() { return {"26x1x128", 128, 1, dlrm::parse_tables("criteo")}; }
enum class Ids { kUniform, kZipf };

/// Draws ids with P(id) proportional to (id + 1)^-kExponent, or uniformly.
class IdSource {
 public:
  IdSource(std::int64_t rows, Ids ids) : rows_(rows) {
    if (ids == Ids::kUniform) return;
    double sum = 0.0;
    for (std::int64_t r = 0; r < rows; ++r) {
      sum += std::pow(static_cast<double>(r + 1), -kExponent);
      sums_.push_back(sum);
    }
  }
  std::int32_t next(base::RandomStream& random) const {
    if (sums_.empty()) {
      return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(rows_)));
    }
    const auto found = std::ranges::upper_bound(sums_, random.uniform() * sums_.back());
    return static_cast<std::int32_t>(std::min(found - sums_.begin(), rows_ - 1));
  }

 private:
  std::int64_t rows_;
  std::vector<double> sums_;
};

struct Batch {
  std::vector<std::vector<std::int32_t>> ids;
  std::vector<Bags> bags;
};

/// Tables of a shape, batches for them, and memory for sums and gradients.
class Setting {
 public:
  Setting(const Shape& shape, TableStorage storage, Ids ids) : shape_(shape) {
    for (std::int64_t& rows : shape_.rows) rows = std::min(rows, most_rows);
    std::vector<TableOptions> options;
    for (const std::int64_t rows : shape_.rows) {
      TableOptions table;
      table.name = "table " + std::to_string(options.size());
      table.rows = rows;
      table.table_width = table.columns = shape_.width;
      table.storage = storage;
      options.push_back(table);
    }
    tables_ = std::make_unique<EmbeddingTables>(options);
    tables_->initialize(1);
    for (std::int64_t n = 0; n <= kBags; ++n) offsets_.push_back(n * shape_.lookups);
    batches_.resize(kBatches);
    for (std::size_t t = 0; t < shape_.rows.size(); ++t) add_ids(t, ids);
    values_.assign(static_cast<std::size_t>(kBags * tables_->width()), 1e-3F);
  }

  EmbeddingTables& tables() { return *tables_; }
  const Shape& shape() const { return shape_; }
  const std::vector<Bags>& next() { return batches_[turn_++ % kBatches].bags; }
  float* values() { return values_.data(); }
  std::int64_t lookups() const { return kBags * shape_.lookups * std::ssize(shape_.rows); }
  std::int64_t unique() const { return unique_; }

 private:
  void add_ids(std::size_t t, Ids ids) {
    const IdSource source(shape_.rows[t], ids);
    for (std::size_t b = 0; b < kBatches; ++b) {
      base::RandomStream random(1, base::Purpose::kGenerate, b, t);
      std::vector<std::int32_t> list(static_cast<std::size_t>(kBags * shape_.lookups));
      for (auto& id : list) id = source.next(random);
      if (b == 0) unique_ += std::ssize(std::unordered_set(list.begin(), list.end()));
      batches_[b].ids.push_back(std::move(list));
      batches_[b].bags.push_back({batches_[b].ids.back(), offsets_});
    }
  }

  Shape shape_;
  std::unique_ptr<EmbeddingTables> tables_;
  std::vector<std::int64_t> offsets_;
  std::vector<Batch> batches_;
  std::vector<float> values_;
  std::int64_t unique_ = 0;
  std::size_t turn_ = 0;
};

/// Bytes moved by each pass according to the paper's model, with ids of 8 bytes.
struct Traffic {
  explicit Traffic(const Setting& s)
      : width(s.shape().width),
        lookups(s.lookups()),
        unique(s.unique()),
        bags(kBags * std::ssize(s.shape().rows)) {}
  std::int64_t forward() const {
    return (unique * width + 2 * bags * width) * 4 + (lookups + bags) * 8;
  }
  std::int64_t backward() const { return (2 * lookups * width + bags * width) * 4 + lookups * 8; }
  std::int64_t update() const { return (2 * unique * width + lookups * width) * 4 + lookups * 8; }
  std::int64_t width, lookups, unique, bags;
};

void count(benchmark::State& state, const Setting& setting, std::int64_t bytes) {
  state.SetBytesProcessed(state.iterations() * bytes);
  state.SetItemsProcessed(state.iterations() * setting.lookups());
}

using Line = std::uint32_t __attribute__((vector_size(64), aligned(4), may_alias));

/// Lookups in contiguous rows, and the prefetch distance in lookups.
struct RowBlock {
  const char* data = nullptr;
  const std::int32_t* ids = nullptr;
  std::int64_t lookups = 0;
  std::int64_t ahead = 0;
};

/// Reads rows of kLines cache lines each.
template <int kLines>
[[gnu::always_inline]] inline void read_lines(const RowBlock& rows, std::uint32_t* sink) {
  constexpr std::int64_t kLine = 64, kBytes = kLines * kLine;
  Line sums[kLines] = {};
  for (std::int64_t i = 0; i < rows.lookups; ++i) {
    if (i + rows.ahead < rows.lookups) {
      const char* later = rows.data + rows.ids[i + rows.ahead] * kBytes;
#pragma GCC unroll 8
      for (int line = 0; line < kLines; ++line) __builtin_prefetch(later + line * kLine);
    }
    const char* row = rows.data + rows.ids[i] * kBytes;
#pragma GCC unroll 8
    for (int line = 0; line < kLines; ++line) {
      sums[line] += *reinterpret_cast<const Line*>(row + line * kLine);
    }
  }
  for (const Line& sum : sums) {
    for (int lane = 0; lane < 16; ++lane) *sink += sum[lane];
  }
}

/// Reads rows of 128, 256 or 512 bytes and sums them, so that the compiler keeps the reads.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void read_rows(const RowBlock& rows, std::int64_t bytes, std::uint32_t* sink) {
  if (bytes == 128) return read_lines<2>(rows, sink);
  if (bytes == 256) return read_lines<4>(rows, sink);
  read_lines<8>(rows, sink);
}

/// The upper limit of forward: reads the same rows of plain blocks of the same sizes as the tables.
void gather(benchmark::State& state, const std::shared_ptr<Setting>& setting, std::int64_t bytes,
            std::int64_t ahead) {
  static std::vector<nn::AlignedFloats> blocks;
  static std::int64_t blocks_of = 0;
  const auto& rows = setting->shape().rows;
  const std::int64_t kind = std::ssize(rows) * 1000000 + bytes;
  if (blocks_of != kind) {
    blocks.clear();
    for (const std::int64_t count : rows) {
      blocks.emplace_back(count * bytes / 4);
      std::ranges::fill(blocks.back().span(), 1.0F);
    }
    blocks_of = kind;
  }
  for ([[maybe_unused]] auto _ : state) {
    const auto& bags = setting->next();
    std::uint32_t all = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : all)
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const RowBlock block = {reinterpret_cast<const char*>(blocks[t].data()), bags[t].ids.data(),
                              bags[t].lookups(), ahead};
      read_rows(block, bytes, &all);
    }
    benchmark::DoNotOptimize(all);
  }
  count(state, *setting, Traffic(*setting).forward());
}

void forward(benchmark::State& state, const std::shared_ptr<Setting>& setting) {
  EmbeddingTables& tables = setting->tables();
  for ([[maybe_unused]] auto _ : state) {
    tables.forward(setting->next(), setting->values(), tables.width());
  }
  count(state, *setting, Traffic(*setting).forward());
}

void update(benchmark::State& state, const std::shared_ptr<Setting>& setting, TableUpdate update) {
  EmbeddingTables& tables = setting->tables();
  for (std::size_t t = 0; t < tables.size(); ++t) tables[t].set_update(update);
  for ([[maybe_unused]] auto _ : state) {
    tables.update(setting->next(), setting->values(), tables.width(), kRate);
  }
  count(state, *setting, Traffic(*setting).update());
}

/// As update(), but first writes a copy of the gradient for each lookup.
void unfused(benchmark::State& state, const std::shared_ptr<Setting>& setting, TableUpdate update) {
  EmbeddingTables& tables = setting->tables();
  const std::int64_t width = setting->shape().width, lookups = kBags * setting->shape().lookups;
  nn::AlignedFloats gradients(setting->lookups() * width);
  std::vector<std::int64_t> single;
  for (std::int64_t i = 0; i <= lookups; ++i) single.push_back(i);
  std::vector<nn::UpdateScratch> scratch;
  for (std::size_t t = 0; t < tables.size(); ++t) tables[t].set_update(update);
  for ([[maybe_unused]] auto _ : state) {
    const auto& bags = setting->next();
    const auto count = static_cast<std::int64_t>(tables.size());
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t t = 0; t < count; ++t) {
      for (std::int64_t bag = 0; bag < kBags; ++bag) {
        const auto& offsets = bags[static_cast<std::size_t>(t)].offsets;
        const float* from = setting->values() + bag * tables.width() + t * width;
        for (std::int64_t i = offsets[static_cast<std::size_t>(bag)];
             i < offsets[static_cast<std::size_t>(bag) + 1]; ++i) {
          std::copy_n(from, width, gradients.data() + (t * lookups + i) * width);
        }
      }
    }
    std::vector<nn::UpdateJob<float>> jobs;
    for (std::int64_t t = 0; t < count; ++t) {
      const auto table = static_cast<std::size_t>(t);
      jobs.push_back({&tables[table],
                      {bags[table].ids, single},
                      gradients.data() + t * lookups * width,
                      width});
    }
    nn::run(std::span<const nn::UpdateJob<float>>(jobs), kRate, scratch);
  }
  const Traffic traffic(*setting);
  ::count(state, *setting, traffic.backward() + traffic.update());
}

/// The setting of a benchmark. Only the last one used is kept in memory.
std::shared_ptr<Setting> setting_of(const Shape& shape, TableStorage storage, Ids ids) {
  static std::shared_ptr<Setting> current;
  static std::string current_name;
  const std::string name = shape.name + to_string(storage) + (ids == Ids::kZipf ? "z" : "u");
  if (name != current_name) {
    current.reset();
    current = std::make_shared<Setting>(shape, storage, ids);
    current_name = name;
  }
  return current;
}

template <class Run, class... More>
void add(const std::string& name, const Shape& shape, TableStorage storage, Ids ids, const Run& run,
         More... more) {
  benchmark::RegisterBenchmark(
      (shape.name + (ids == Ids::kZipf ? "/zipf/" : "/uniform/") + to_string(storage) + "/" + name)
          .c_str(),
      [=](benchmark::State& state) { run(state, setting_of(shape, storage, ids), more...); })
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime()
      ->UseRealTime();
}

void add_all(const Shape& shape, TableStorage storage, Ids ids) {
  const std::int64_t bytes = shape.width * (storage == TableStorage::kF32 ? 4 : 2);
  for (const std::int64_t ahead : {16, 64, 128}) {
    add("gather_ahead_" + std::to_string(ahead), shape, storage, ids, gather, bytes, ahead);
  }
  add("forward", shape, storage, ids, forward);
  for (const auto& [name, kind] : nn::table_updates()) {
    if (kind == TableUpdate::kAtomic && storage != TableStorage::kF32) continue;
    add("update_" + name, shape, storage, ids, update, kind);
  }
  add("unfused_race_free", shape, storage, ids, unfused, TableUpdate::kRaceFree);
  add("unfused_sorted", shape, storage, ids, unfused, TableUpdate::kSorted);
}

/// Sets most_rows; returns false unless `text` is a positive integer.
bool parse_rows(std::string_view text) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), most_rows);
  return error == std::errc() && end == text.data() + text.size() && most_rows >= 1;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc > 1 && !parse_rows(argv[1])) {
    std::cerr << "embedding_benchmark: ROWS: expected a number from 1 on, got " << argv[1] << '\n';
    return 2;
  }
  for (const Shape& shape : {pooled_shape(), single_shape()}) {
    for (const auto ids : {Ids::kZipf, Ids::kUniform}) {
      for (const auto storage : {TableStorage::kF32, TableStorage::kSplitBf16}) {
        add_all(shape, storage, ids);
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
