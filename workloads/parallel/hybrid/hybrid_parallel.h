// Hybrid-parallel training of recommendation models: data-parallel dense layers, model-parallel
// embedding tables. Hides the placement of tables and the overlap of exchanges with the passes.
#pragma once

#include <cstdint>
#include <functional>
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
  std::optional<nn::TableUpdate> update;  ///< empty: nn::best_update() chooses for each table
  nn::SparseRule rule = nn::SparseRule::kSgd;
  double epsilon = 1e-8;              ///< of the Adagrad rules
  double learning_rate_factor = 1.0;  ///< the tables' rate over the layers'
  AlltoallVariant alltoall = AlltoallVariant::kAlltoall;
  nn::Precision payload = nn::Precision::kF32;  ///< in which floats are sent between ranks
  std::int64_t memory_limit_bytes = 0;          ///< for the tables of a rank; 0: no limit
  std::int64_t replicate_up_to_rows = 0;        ///< see PlacementOptions
};

/// The placement of the tables on `ranks` ranks. Throws ConfigError as place_tables() does.
TablePlacement place(const EmbeddingConfig& config, int ranks);
/// The table options of the shards of `rank`, and of the replicated tables.
std::vector<nn::TableOptions> shards_of(const EmbeddingConfig& config,
                                        const TablePlacement& placement, int rank);
std::vector<nn::TableOptions> replicated_tables(const EmbeddingConfig& config,
                                                const TablePlacement& placement);
/// Bytes of weights and optimizer state of `tables`.
std::int64_t table_bytes(const EmbeddingConfig& config,
                         const std::vector<nn::TableOptions>& tables);

/// Returns `embeddings`. Throws ShapeError unless the network has two inputs, of which the second
/// is as wide as all tables side by side and has a gradient; ConfigError for gradient accumulation,
/// and for bags of varying size.
const EmbeddingConfig& require_fit(const nn::Network& network, const DataParallelConfig& dense,
                                   const EmbeddingConfig& embeddings);
/// Bytes that a rank contributes to a step's exchanges for the tables: ids, sums of rows and their
/// gradients that it sends to other ranks, and the gradients of all rows of replicated tables.
std::int64_t table_exchange_bytes(const EmbeddingConfig& embeddings,
                                  const DataParallelConfig& dense, const TablePlacement& placement,
                                  int rank);

/// A network with two inputs (dense features, and the embeddings of all tables side by side) and
/// its tables. A step on any number of ranks is mathematically the step of one rank with the whole
/// batch. Gradients, those of tables included, are of the mean loss over the global batch, so the
/// learning rate needs no scaling by ranks.
/// Source: Kalamkar et al., arXiv:2005.04680, hybrid parallelism and the order of its exchanges.
class HybridParallel final : public Model, private nn::PassListener {
 public:
  using Ids = std::span<const std::int32_t>;  ///< [table][sample][bag_size of the table]
  /// The ids of the next step if they are at hand, else an empty span.
  using NextIds = std::function<Ids()>;

  /// Collective. All outlive this. Throws as require_fit(), place() and DataParallel do, before
  /// tables are allocated.
  HybridParallel(const nn::Network& network, const DataParallelConfig& dense,
                 const EmbeddingConfig& embeddings, const runner::Communicator& world,
                 const runner::Communicator& node, telemetry::Telemetry& telemetry);

  /// Bytes by purpose that an instance takes on `rank` for training, without the dense layers but
  /// with the scratch memory for writing tables to files.
  static runner::MemoryNeeds::Parts memory_bytes(const EmbeddingConfig& embeddings,
                                                 const DataParallelConfig& dense,
                                                 const TablePlacement& placement, int rank);

  void initialize(std::uint64_t seed, nn::Optimizer& optimizer) override;
  /// Collective. One update with `ids` of this rank's samples; other arguments as for
  /// DataParallel::step(). Asks `next` during the passes until it gives ids, which then travel
  /// behind the dense layers; those of the following step must be the same, and infer() must not
  /// come before it. REQUIRES: each id is less than its table's number of rows.
  void step(Ids ids, const DataParallel::Load& load, const DataParallel::Loss& loss,
            nn::Optimizer& optimizer, double learning_rate, const NextIds& next = {});
  void finish_update() override { dense_.finish_update(); }
  /// Collective. An inference pass; the results are the executor's outputs.
  void infer(Ids ids, const std::function<void()>& load);

  nn::Executor& executor() { return dense_.executor(); }
  const nn::Executor& executor() const { return dense_.executor(); }
  DataParallel& dense() { return dense_; }
  std::int64_t local_batch() const { return dense_.local_batch(); }
  const TablePlacement& placement() const { return placement_; }
  const nn::EmbeddingTables& tables() const { return tables_; }
  const EmbeddingExchange& exchange() const { return exchange_; }
  std::uint64_t replica_hash() const override;
  bool is_finite() const override {
    return dense_.is_finite() && tables_.is_finite() && replicated_.is_finite();
  }
  std::vector<nn::LayerFacts> layers() const override { return executor().layers(); }
  /// In addition to the layers': ids, embeddings, and their gradients.
  void exchange_alone() override;

  /// Each rank contributes its own parts of tables.
  std::vector<base::StateArray> state(nn::Optimizer& optimizer) override;
  /// Works on any number of ranks. Throws DataError on every rank when tables have another shape.
  void restore(const base::StateSource& source, nn::Optimizer& optimizer) override;
  /// Bytes of state() over all ranks, without the dense layers.
  static std::int64_t state_bytes(const EmbeddingConfig& config);
  /// Collective. Returns the whole table [rows, width] on rank 0, an empty vector elsewhere.
  std::vector<float> read_table(std::size_t table) const;
  /// Whether this rank has columns of the table.
  bool has_part_of(std::size_t table) const;
  /// Sets this rank's columns from the whole table `rows` [rows, width].
  void write_table(std::size_t table, std::span<const float> rows);
  /// Sets this rank's columns from a file of weights, or from a checkpoint, which may store the
  /// table transposed.
  void load_table(std::size_t table, const runner::StateReader& reader);

 private:
  void input_needed(nn::ValueId value) override;
  void input_gradient_ready(nn::ValueId value) override;
  void gradients_ready(std::int64_t floats) override;

  /// Sends the ids to the tables unless they have been sent, looks them up, and starts sending the
  /// sums of rows back.
  void begin(Ids ids);
  void require_ids(Ids ids) const;
  /// Starts sending the next step's ids if they are at hand.
  void send_ahead();
  template <class T>
  void look_up();
  template <class T>
  void finish_look_up(T* value);
  template <class T>
  void start_gradients();
  template <class T>
  void exchange_values();
  template <class T>
  void update_tables(double learning_rate);
  template <class T>
  void update_replicated(double learning_rate);
  /// Maximum scratch bytes of a rank for writing tables: a shard for a checkpoint; on rank 0, a
  /// whole table and pieces of it for a file of weights.
  static std::int64_t writing_bytes(const EmbeddingConfig& config,
                                    const std::vector<nn::TableOptions>& shards, int rank);
  /// The shards of a table on all ranks.
  std::vector<TableShard> shards_of_table(std::size_t table) const;
  bool is_replicated(std::size_t table) const;
  /// This rank's columns of a table; null if it has none.
  nn::EmbeddingTable* part_of(std::size_t table);
  const nn::EmbeddingTable* part_of(std::size_t table) const;
  /// Calls use(T()), where T is the type of embeddings and their gradients.
  template <class Use>
  void for_values(Use use) const {
    if (executor().precision() == nn::Precision::kBf16) {
      use(nn::Bf16());
    } else {
      use(float());
    }
  }

  const runner::Communicator& world_;
  telemetry::Telemetry& telemetry_;
  const EmbeddingConfig config_;
  const TablePlacement placement_;
  DataParallel dense_;
  nn::EmbeddingTables tables_;                ///< this rank's shards
  nn::EmbeddingTables replicated_;            ///< may be empty
  nn::AlignedFloats owned_, owned_gradient_;  ///< [global batch, W_r]; empty if is_local()
  EmbeddingExchange exchange_;                ///< after those buffers, which its requests use
  std::vector<std::int64_t> columns_;         ///< first column of each table in the value matrix
  std::span<const nn::Bags> owned_bags_;      ///< by shard, of all samples; until the next step
  std::size_t ids_of_step_ = 0;               ///< number of ids in a step of this rank
  NextIds next_ids_;                          ///< empty outside step()
  /// For the tables that are looked up with this rank's ids only (the replicated ones, or all if
  /// exchange_.is_local()): index of their first id in a step's ids, and bags of this rank's
  /// samples.
  std::vector<std::size_t> first_id_;
  std::vector<std::vector<std::int64_t>> local_offsets_;
  std::vector<nn::Bags> local_bags_;
  /// For the replicated tables: gradient sums of all rows, and bags that contain each row once.
  std::vector<float> row_gradients_;
  std::vector<std::int32_t> each_row_;
  std::vector<std::int64_t> each_offset_;
};

}  // namespace parallel
