// Implements a hybrid-parallel step: lookups, exchanges, dense passes, table updates.
#include "workloads/parallel/hybrid/hybrid_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runner/base/error.h"

namespace parallel {
namespace {

using telemetry::Scope;
using telemetry::Subsystem;

/// The network's second input; dense features are the first.
constexpr nn::ValueId kEmbeddingsInput = 1;
/// Name of the layer in the trace.
constexpr const char* kTables = "embedding tables";

nn::TableOptions table_options(const EmbeddingConfig& config, int table) {
  const TableSpec& spec = config.tables.at(static_cast<std::size_t>(table));
  nn::TableOptions options;
  options.name = spec.name;
  options.rows = spec.rows;
  options.table_width = options.columns = spec.width;
  options.storage = config.storage;
  options.update = config.update.value_or(
      nn::best_update(config.rule, config.storage, static_cast<double>(spec.bag_size)));
  options.rule = config.rule;
  options.epsilon = config.epsilon;
  return options;
}

EmbeddingExchangeOptions exchange_options(const EmbeddingConfig& config,
                                          const DataParallelConfig& dense) {
  EmbeddingExchangeOptions options;
  options.variant = config.alltoall;
  options.values = dense.arithmetic.precision;
  options.payload = config.payload;
  options.instruction_set = dense.instruction_set;
  return options;
}

std::int64_t replicated_values(const EmbeddingConfig& config, const TablePlacement& placement) {
  std::int64_t values = 0;
  for (const int table : placement.replicated) {
    const TableSpec& spec = config.tables[static_cast<std::size_t>(table)];
    values += spec.rows * spec.width;
  }
  return values;
}

std::int64_t owned_bytes(const DataParallelConfig& dense, std::int64_t columns) {
  return dense.global_batch * columns * nn::bytes_of(dense.arithmetic.precision);
}

/// Adds the gradient of each bag's sum to the bag's rows in sums [rows, width].
template <class T>
void add_by_row(const nn::Bags& bags, const T* gradient, std::int64_t stride, std::int64_t width,
                float* sums) {
  for (std::int64_t n = 0; n < bags.count(); ++n) {
    const auto at = static_cast<std::size_t>(n);
    for (std::int64_t i = bags.offsets[at]; i < bags.offsets[at + 1]; ++i) {
      float* const row = sums + bags.ids[static_cast<std::size_t>(i)] * width;
      for (std::int64_t c = 0; c < width; ++c) row[c] += nn::as_float(gradient[n * stride + c]);
    }
  }
}

}  // namespace

TablePlacement place(const EmbeddingConfig& config, int ranks) {
  PlacementOptions options;
  options.ranks = ranks;
  options.memory_limit_bytes = config.memory_limit_bytes;
  options.replicate_up_to_rows = ranks > 1 ? config.replicate_up_to_rows : 0;
  const auto float_bytes = static_cast<std::int64_t>(sizeof(float));
  const nn::RuleState state = nn::state_of(config.rule);
  options.bytes_per_element = (1 + state.per_weight) * float_bytes;
  options.state_bytes_per_row = state.per_row * float_bytes;
  options.may_split = state.per_row == 0;  // state per row covers all columns of the row
  return place_tables(config.tables, options);
}

std::vector<nn::TableOptions> shards_of(const EmbeddingConfig& config,
                                        const TablePlacement& placement, int rank) {
  std::vector<nn::TableOptions> shards;
  for (const TableShard& shard : placement.shards) {
    if (shard.rank != rank) continue;
    shards.push_back(table_options(config, shard.table));
    shards.back().first_column = shard.first_column;
    shards.back().columns = shard.columns;
  }
  return shards;
}

std::vector<nn::TableOptions> replicated_tables(const EmbeddingConfig& config,
                                                const TablePlacement& placement) {
  std::vector<nn::TableOptions> tables;
  for (const int table : placement.replicated) tables.push_back(table_options(config, table));
  return tables;
}

std::int64_t table_bytes(const EmbeddingConfig& config,
                         const std::vector<nn::TableOptions>& tables) {
  std::int64_t floats = 0;
  for (const nn::TableOptions& table : tables) {
    floats += table.rows * (table.columns + nn::state_of(config.rule).of_row(table.columns));
  }
  return floats * static_cast<std::int64_t>(sizeof(float));
}

const EmbeddingConfig& require_fit(const nn::Network& network, const DataParallelConfig& dense,
                                   const EmbeddingConfig& embeddings) {
  if (dense.accumulation != 1) {
    throw base::ConfigError(fmt::format(
        "/training/gradient_accumulation_steps: expected 1 where there are embedding tables, got "
        "{}",
        dense.accumulation));
  }
  std::int64_t columns = 0;
  for (const TableSpec& table : embeddings.tables) {
    if (table.bag_size < 1) {
      throw base::ConfigError(
          fmt::format("table {}: expected bags of one id or more, all of one size, got size {}",
                      table.name, table.bag_size));
    }
    columns += table.width;
  }
  const bool has_two = network.inputs() == 2;
  const std::int64_t found = has_two ? network.shape(kEmbeddingsInput).size() : 0;
  if (!has_two || !network.has_gradient(kEmbeddingsInput) || found != columns) {
    throw base::ShapeError(fmt::format(
        "network beside embedding tables: expected two inputs, the second of {} columns that "
        "wants its gradient, got {} inputs, {} columns, a gradient that is {}",
        columns, network.inputs(), found,
        has_two && network.has_gradient(kEmbeddingsInput) ? "wanted" : "not wanted"));
  }
  return embeddings;
}

std::int64_t table_exchange_bytes(const EmbeddingConfig& embeddings,
                                  const DataParallelConfig& dense, const TablePlacement& placement,
                                  int rank) {
  const BatchSplit split = split_batch(dense, static_cast<int>(placement.ranks.size()));
  const ExchangeNeeds values = exchange_needs(embeddings.tables, placement, split.slices, rank,
                                              exchange_options(embeddings, dense));
  return id_needs(embeddings.tables, placement, split.slices, rank).bytes_sent +
         values.forward_bytes + values.backward_bytes +
         replicated_values(embeddings, placement) * static_cast<std::int64_t>(sizeof(float));
}

runner::MemoryNeeds::Parts HybridParallel::memory_bytes(const EmbeddingConfig& embeddings,
                                                        const DataParallelConfig& dense,
                                                        const TablePlacement& placement, int rank) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  const auto ranks = static_cast<int>(placement.ranks.size());
  const BatchSplit split = split_batch(dense, ranks);
  const auto shards = shards_of(embeddings, placement, rank);
  const ExchangeNeeds values = exchange_needs(embeddings.tables, placement, split.slices, rank,
                                              exchange_options(embeddings, dense));
  // A single rank that rounds nothing looks up straight into the network's input.
  const bool is_sent = ranks > 1 || values.at_samples_bytes > 0;
  return {
      {"embedding tables", table_bytes(embeddings, shards) +
                               table_bytes(embeddings, replicated_tables(embeddings, placement))},
      {"embeddings of all ranks' samples",
       is_sent ? 2 * owned_bytes(dense, values.owned_columns) : 0},
      {"embeddings on their way", values.at_owner_bytes + values.at_samples_bytes},
      {"ids",
       is_sent ? id_needs(embeddings.tables, placement, split.slices, rank).buffer_bytes : 0},
      {"gradients of replicated tables", kFloat * replicated_values(embeddings, placement)},
      {"tables on their way to files", writing_bytes(embeddings, shards, rank)}};
}

HybridParallel::HybridParallel(const nn::Network& network, const DataParallelConfig& dense,
                               const EmbeddingConfig& embeddings, const runner::Communicator& world,
                               const runner::Communicator& node, telemetry::Telemetry& telemetry)
    : world_(world),
      telemetry_(telemetry),
      config_(require_fit(network, dense, embeddings)),
      placement_(place(embeddings, world.size())),
      dense_(network, dense, world, node, telemetry),
      tables_(shards_of(embeddings, placement_, world.rank())),
      replicated_(replicated_tables(embeddings, placement_)),
      exchange_(world, telemetry, config_.tables, placement_, dense_.split().slices,
                exchange_options(embeddings, dense)) {
  std::int64_t column = 0;
  for (const TableSpec& table : config_.tables) {
    columns_.push_back(column);
    column += table.width;
  }
  if (!exchange_.is_local()) {
    owned_ = nn::aligned_bytes(owned_bytes(dense, exchange_.owned_columns()));
    owned_gradient_ = nn::aligned_bytes(owned_bytes(dense, exchange_.owned_columns()));
  }
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < replicated_.size(); ++i) {
    rows = std::max(rows, replicated_[i].rows());
  }
  std::int64_t ids = 0;
  for (std::size_t table = 0; table < config_.tables.size(); ++table) {
    if (exchange_.is_local() || is_replicated(table)) {
      first_id_.push_back(static_cast<std::size_t>(ids));
      local_offsets_.emplace_back();
      for (std::int64_t n = 0; n <= local_batch(); ++n) {
        local_offsets_.back().push_back(n * config_.tables[table].bag_size);
      }
    }
    ids += config_.tables[table].bag_size * local_batch();
  }
  ids_of_step_ = static_cast<std::size_t>(ids);
  row_gradients_.resize(static_cast<std::size_t>(replicated_values(config_, placement_)));
  each_row_.resize(static_cast<std::size_t>(rows));
  each_offset_.resize(static_cast<std::size_t>(rows) + 1);
  std::iota(each_row_.begin(), each_row_.end(), 0);
  std::iota(each_offset_.begin(), each_offset_.end(), 0);
}

void HybridParallel::initialize(std::uint64_t seed, nn::Optimizer& optimizer) {
  dense_.initialize(seed, optimizer);
  tables_.initialize(seed);
  replicated_.initialize(seed);
}

void HybridParallel::require_ids(Ids ids) const {
  if (ids.size() == ids_of_step_) return;
  throw base::ShapeError(fmt::format("step: expected {} ids for {} samples, got {}", ids_of_step_,
                                     local_batch(), ids.size()));
}

void HybridParallel::send_ahead() {
  if (!next_ids_ || exchange_.is_local() || exchange_.sends_ids()) return;
  const Ids ids = next_ids_();
  if (ids.empty()) return;
  require_ids(ids);
  exchange_.start_ids(ids);
}

void HybridParallel::begin(Ids ids) {
  require_ids(ids);
  if (!exchange_.is_local() && !exchange_.sends_ids()) exchange_.start_ids(ids);
  local_bags_.clear();
  for (std::size_t i = 0; i < local_offsets_.size(); ++i) {
    const auto count = static_cast<std::size_t>(local_offsets_[i].back());
    local_bags_.push_back({ids.subspan(first_id_[i], count), local_offsets_[i]});
  }
  owned_bags_ = exchange_.is_local() ? local_bags_ : exchange_.finish_ids();
  for_values([&]<class T>(T) { look_up<T>(); });
}

template <class T>
void HybridParallel::look_up() {
  T* const value = executor().input<T>(kEmbeddingsInput).data();
  T* const owned = exchange_.is_local() ? value : reinterpret_cast<T*>(owned_.data());
  {
    const Scope scope(telemetry_, Subsystem::kForward);
    telemetry_.enter_layer(kTables, nullptr);
    tables_.forward(owned_bags_, owned, exchange_.owned_columns());
    telemetry_.leave_layer();
  }
  if (!exchange_.is_local()) exchange_.start_forward(owned);
}

void HybridParallel::input_needed(nn::ValueId /*value*/) {
  for_values([&]<class T>(T) { finish_look_up(executor().input<T>(kEmbeddingsInput).data()); });
}

template <class T>
void HybridParallel::finish_look_up(T* value) {
  if (!exchange_.is_local()) exchange_.finish_forward(value);
  for (std::size_t i = 0; i < replicated_.size(); ++i) {
    const auto table = static_cast<std::size_t>(placement_.replicated[i]);
    replicated_[i].forward(local_bags_[i], value + columns_[table], exchange_.value_columns());
  }
  send_ahead();
}

void HybridParallel::input_gradient_ready(nn::ValueId /*value*/) {
  if (exchange_.is_local()) return;
  for_values([&]<class T>(T) { start_gradients<T>(); });
}

template <class T>
void HybridParallel::start_gradients() {
  exchange_.start_backward(executor().input_gradient<T>(kEmbeddingsInput).data(),
                           reinterpret_cast<T*>(owned_gradient_.data()));
}

void HybridParallel::gradients_ready(std::int64_t /*floats*/) {
  send_ahead();
  exchange_.progress();
}

void HybridParallel::step(Ids ids, const DataParallel::Load& load, const DataParallel::Loss& loss,
                          nn::Optimizer& optimizer, double learning_rate, const NextIds& next) {
  begin(ids);
  next_ids_ = next;
  dense_.step(load, loss, optimizer, learning_rate, this);
  const double table_rate = learning_rate * config_.learning_rate_factor;
  for_values([&]<class T>(T) { update_tables<T>(table_rate); });
  next_ids_ = nullptr;
}

template <class T>
void HybridParallel::update_tables(double learning_rate) {
  const T* gradient = executor().input_gradient<T>(kEmbeddingsInput).data();
  if (!exchange_.is_local()) {
    exchange_.finish_backward<T>();
    gradient = reinterpret_cast<const T*>(owned_gradient_.data());
  }
  if (replicated_.size() > 0) update_replicated<T>(learning_rate);
  const Scope scope(telemetry_, Subsystem::kOptimizer);
  telemetry_.enter_layer(kTables, nullptr);
  tables_.update(owned_bags_, gradient, exchange_.owned_columns(), learning_rate);
  telemetry_.leave_layer();
}

/// Each rank sums its samples' gradients by row, an allreduce sums over ranks, and every rank
/// applies the same update.
template <class T>
void HybridParallel::update_replicated(double learning_rate) {
  const T* const gradient = executor().input_gradient<T>(kEmbeddingsInput).data();
  std::vector<float*> sums;
  float* next = row_gradients_.data();
  for (std::size_t i = 0; i < replicated_.size(); ++i) {
    sums.push_back(next);
    next += replicated_[i].rows() * replicated_[i].columns();
  }
  {
    const Scope scope(telemetry_, Subsystem::kBackward);
    std::fill(row_gradients_.begin(), row_gradients_.end(), 0.0F);
#pragma omp parallel for schedule(dynamic, 1)
    for (std::size_t i = 0; i < replicated_.size(); ++i) {
      const auto table = static_cast<std::size_t>(placement_.replicated[i]);
      add_by_row(local_bags_[i], gradient + columns_[table], exchange_.value_columns(),
                 replicated_[i].columns(), sums[i]);
    }
  }
  world_.allreduce_sum(std::span<float>(row_gradients_));
  const Scope scope(telemetry_, Subsystem::kOptimizer);
  for (std::size_t i = 0; i < replicated_.size(); ++i) {
    const auto rows = static_cast<std::size_t>(replicated_[i].rows());
    const std::span<const std::int64_t> offsets(each_offset_.data(), rows + 1);
    const nn::Bags bags = {{each_row_.data(), rows}, offsets};
    replicated_[i].update(bags, sums[i], replicated_[i].columns(), learning_rate);
  }
}

void HybridParallel::infer(Ids ids, const std::function<void()>& load) {
  if (exchange_.sends_ids()) {
    throw base::Error(base::ExitCode::kInternal, "inference while ids of a step are under way");
  }
  begin(ids);
  load();
  const Scope scope(telemetry_, Subsystem::kForward);
  executor().forward(nn::Mode::kInference, this);
}

void HybridParallel::exchange_alone() {
  dense_.exchange_alone();
  if (exchange_.is_local()) return;
  exchange_.start_ids(std::vector<std::int32_t>(ids_of_step_));
  exchange_.finish_ids();
  for_values([&]<class T>(T) { exchange_values<T>(); });
}

template <class T>
void HybridParallel::exchange_values() {
  exchange_.start_forward(reinterpret_cast<const T*>(owned_.data()));
  exchange_.finish_forward(executor().input<T>(kEmbeddingsInput).data());
  start_gradients<T>();
  exchange_.finish_backward<T>();
}

std::uint64_t HybridParallel::replica_hash() const {
  return dense_.executor().parameters().weights_hash() + replicated_.hash();
}

}  // namespace parallel
