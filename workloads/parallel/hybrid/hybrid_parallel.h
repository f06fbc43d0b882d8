// Training of recommendation models: dense layers data parallel, embedding tables model parallel.
// Hides who has which table, and how the exchanges hide behind the passes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runner/base/state.h"
#include "runner/workload.h"
#include "workloads/embedding/tables.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/hybrid/embedding_exchange.h"
#include "workloads/parallel/hybrid/table_placement.h"

namespace parallel {

struct EmbeddingConfig {
  std::vector<TableSpec> tables;
  nn::TableStorage storage = nn::TableStorage::kF32;
  std::optional<nn::TableUpdate> update;  ///< nothing: the one that suits the tables best
  nn::SparseRule rule = nn::SparseRule::kSgd;
  double epsilon = 1e-8;  ///< of the Adagrad rules
  AlltoallVariant alltoall = AlltoallVariant::kAlltoall;
  nn::Precision payload = nn::Precision::kF32;  ///< of floats between ranks
  std::int64_t memory_limit_bytes = 0;          ///< of a rank for its tables; 0: none
  std::int64_t replicate_up_to_rows = 0;
};

/// Where tables go on `ranks` ranks. Throws ConfigError as place_tables() does.
TablePlacement place(const EmbeddingConfig& config, int ranks);
/// The shards of `rank`, as tables; and the tables that all ranks have.
std::vector<nn::TableOptions> shards_of(const EmbeddingConfig& config,
                                        const TablePlacement& placement, int rank);
std::vector<nn::TableOptions> replicated_tables(const EmbeddingConfig& config,
                                                const TablePlacement& placement);
/// Bytes of weights and optimizer state of such tables.
std::int64_t table_bytes(const EmbeddingConfig& config,
                         const std::vector<nn::TableOptions>& tables);

/// `embeddings`. Throws ShapeError unless the network has two inputs, the second as wide as all
/// tables side by side and wanting its gradient; ConfigError for accumulation, and for bags whose
/// sizes vary.
const EmbeddingConfig& require_fit(const nn::Network& network, const DataParallelConfig& dense,
                                   const EmbeddingConfig& embeddings);
/// Bytes that a rank gives to the exchanges of a step for the tables' sake: ids, sums of rows and
/// their gradients to other ranks, and gradients of the rows of replicated tables.
std::int64_t table_exchange_bytes(const EmbeddingConfig& embeddings,
                                  const DataParallelConfig& dense, const TablePlacement& placement,
                                  int rank);

/// A network with two inputs, dense features and embeddings of all tables side by side, and the
/// tables. On any number of ranks a step does the mathematics of one rank with the whole batch:
/// gradients are those of the mean loss over the global batch, for tables, too, so that these take
/// the learning rate as it is.
/// Source: Kalamkar et al., arXiv:2005.04680, hybrid parallelism and the order of its exchanges.
class HybridParallel final : public Model, private nn::PassListener {
 public:
  using Ids = std::span<const std::int32_t>;  ///< [table][sample][id], as many as its bag_size says

  /// Collective. All outlive this. Throws as require_fit(), place() and DataParallel do, before
  /// tables are allocated.
  HybridParallel(const nn::Network& network, const DataParallelConfig& dense,
                 const EmbeddingConfig& embeddings, const runner::Communicator& world,
                 const runner::Communicator& node, telemetry::Telemetry& telemetry);

  /// Of training beside the dense layers, by part, as this would allocate on `rank`; what it takes
  /// to write tables to files included.
  static runner::MemoryNeeds::Parts memory_bytes(const EmbeddingConfig& embeddings,
                                                 const DataParallelConfig& dense,
                                                 const TablePlacement& placement, int rank);

  void initialize(std::uint64_t seed, nn::Optimizer& optimizer) override;
  /// Collective. One update from `ids` of this rank's samples; the others as for
  /// DataParallel::step. Ids are below the rows of their tables: who reads them has checked that.
  void step(Ids ids, const DataParallel::Load& load, const DataParallel::Loss& loss,
            nn::Optimizer& optimizer, double learning_rate);
  /// Collective. A forward pass without statistics or gradients: outputs() of the executor.
  void infer(Ids ids, const std::function<void()>& load);

  nn::Executor& executor() { return dense_.executor(); }
  const nn::Executor& executor() const { return dense_.executor(); }
  DataParallel& dense() { return dense_; }
  std::int64_t local_batch() const { return dense_.local_batch(); }
  const TablePlacement& placement() const { return placement_; }
  const nn::EmbeddingTables& tables() const { return tables_; }
  const EmbeddingExchange& exchange() const { return exchange_; }
  std::uint64_t replica_hash() const override;
  std::vector<nn::LayerFacts> layers() const override { return executor().layers(); }

  /// Each table is on the ranks that have it.
  std::vector<base::StateArray> state(nn::Optimizer& optimizer) override;
  /// On any number of ranks. Throws DataError on every rank when tables are of another shape.
  void restore(const base::StateSource& source, nn::Optimizer& optimizer) override;
  /// Bytes of state() on all ranks together, the dense layers' apart.
  static std::int64_t state_bytes(const EmbeddingConfig& config);
  /// Collective. A whole table [rows, width] on rank 0, elsewhere nothing.
  std::vector<float> read_table(std::size_t table) const;
  /// Whether this rank has a part of it.
  bool has_part_of(std::size_t table) const;
  /// Takes this rank's part of a whole table.
  void write_table(std::size_t table, std::span<const float> rows);
  /// Takes it from a file of weights, or from a checkpoint, which may have the table by columns.
  void load_table(std::size_t table, const runner::StateReader& reader);

 private:
  void input_needed(nn::ValueId value) override;
  void input_gradient_ready(nn::ValueId value) override;
  void gradients_ready(std::int64_t floats) override;

  /// Ids to the tables, sums of their rows on the way back.
  void begin(Ids ids);
  template <class T>
  void look_up();
  template <class T>
  void finish_look_up(T* value);
  template <class T>
  void start_gradients();
  template <class T>
  void update_tables(double learning_rate);
  template <class T>
  void update_replicated(double learning_rate);
  /// Most bytes that a rank takes to copy tables when they are written: a shard to a checkpoint,
  /// and on rank 0 a whole table and pieces of it to a file of weights.
  static std::int64_t writing_bytes(const EmbeddingConfig& config,
                                    const std::vector<nn::TableOptions>& shards, int rank);
  /// The shards of a table, those of all ranks.
  std::vector<TableShard> shards_of_table(std::size_t table) const;
  bool is_replicated(std::size_t table) const;
  /// This rank's part of a table; null if it has none.
  nn::EmbeddingTable* part_of(std::size_t table);
  const nn::EmbeddingTable* part_of(std::size_t table) const;
  bool is_bf16() const { return dense_.executor().precision() == nn::Precision::kBf16; }

  const runner::Communicator& world_;
  telemetry::Telemetry& telemetry_;
  const EmbeddingConfig config_;
  const TablePlacement placement_;
  DataParallel dense_;
  nn::EmbeddingTables tables_;                ///< this rank's shards
  nn::EmbeddingTables replicated_;            ///< maybe none
  nn::AlignedFloats owned_, owned_gradient_;  ///< [global batch, W]; none where nothing is sent
  EmbeddingExchange exchange_;                ///< its requests end before those buffers
  std::vector<std::int64_t> columns_;         ///< where each table begins in the value
  std::span<const nn::Bags> owned_bags_;      ///< of the shards, all samples; until the next step
  std::size_t ids_of_step_ = 0;
  /// Of the tables whose ids stay here, the replicated ones or, where nothing is sent, all: where
  /// their ids begin in a step's, and bags of this rank's samples.
  std::vector<std::size_t> first_id_;
  std::vector<std::vector<std::int64_t>> local_offsets_;
  std::vector<nn::Bags> local_bags_;
  /// Of the replicated tables: sums of gradients by row, and bags that name each row once.
  std::vector<float> row_gradients_;
  std::vector<std::int32_t> each_row_;
  std::vector<std::int64_t> each_offset_;
};

}  // namespace parallel
